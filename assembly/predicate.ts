// Predicates of rules (PROTOCOL 13): a truth over the present state and, where it has a type, over the bound payload of one
// instance of that type. Its footprint is its own: what a rule looks at becomes no prerequisite of any component.
//
// A predicate:  program u32 · type u32 · footprint 96

import { isIntact, recordOf } from './binding'
import { Fault, isSealed, NO_TYPE } from './catalog'
import { PREDICATE_BYTES, PREDICATES_AT } from './layout'
import { digestOf, find, NOWHERE, recordLength, typeOf } from './ledger'
import { PREDICATES_MAX } from './limits'
import { evaluate, see } from './program'
import { knownNow, look, usableNow } from './state'

/** What a predicate says; `unknown` is neither yes nor no, and the caller fails closed. */
export enum Truth {
  no = 0,
  yes,
  unknown,
}

let predicates: u32 = 0

// @ts-ignore: decorator
@inline
function at(predicate: u32): usize {
  return PREDICATES_AT + <usize>predicate * PREDICATE_BYTES
}

/** Where the footprint of the predicate that is loaded next is marked; of one too many, in the last, and it is refused. */
export function nextFootprint(): usize {
  return at(min(predicates, PREDICATES_MAX - 1)) + 8
}

/** Keeps a program that was proven for it. `type` is NO_TYPE for one over state alone. */
export function addPredicate(type: u32, program: u32): Fault {
  assert(!isSealed())
  if (predicates >= PREDICATES_MAX) return Fault.too_many_predicates
  store<u32>(at(predicates), program)
  store<u32>(at(predicates), type, 4)
  predicates++
  return Fault.none
}

/** Is every field that it names seen? `look` came before. */
function seen(footprint: usize): bool {
  for (let word: u32 = 0; word < 4; word++) {
    const fresh = load<u64>(footprint + (word << 3))
    const known = load<u64>(footprint + (word << 3), 32)
    if (((fresh & ~usableNow(word)) | (known & ~knownNow(word))) != 0) return false
  }
  return true
}

/** Its truth now. One over a payload is asked of an instance of its type, one over state alone of none (0); else it traps. */
export function judge(predicate: u32, sequence: u32, now_ms: f64): Truth {
  assert(predicate < predicates)
  const type = load<u32>(at(predicate), 4)
  let record: usize = 0
  if (type == NO_TYPE) assert(sequence == 0)
  else {
    const slot = find(sequence)
    assert(slot != NOWHERE && typeOf(slot) == type)
    record = recordOf(slot)
    // G2: a record is verified before anything is read from it.
    if (!isIntact(record, recordLength(slot), digestOf(slot))) return Truth.unknown
  }
  look(now_ms)
  if (!seen(at(predicate) + 8)) return Truth.unknown
  see(record, type, now_ms)
  const value = evaluate(load<u32>(at(predicate)))
  // G5: what is not finite is unknown, under a negation as well.
  if (isNaN(value)) return Truth.unknown
  return value == 1 ? Truth.yes : Truth.no
}
