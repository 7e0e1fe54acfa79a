// The clause machine (PROTOCOL 3): a stack machine without jumps, loops or allocation.
//
// A word is  opcode u8 · flag u8 · index u16 · extra u32;  `constant` is followed by its f64, `text` by its bytes. Both sides
// of `and`, `or` and `select` are evaluated. Whatever was produced on the way, if one value was not finite the result is
// NaN, which holds nothing: so no negation turns an unknown into a yes (G5).
//
// INVARIANT: what stands in the table was proven by `loadProgram`: opcodes, indices, literal lengths and the depth of the
// stack. So the machine itself checks nothing.

import {
  Fault, footprintAt, isSealed, markCited, markKnown, markNow, markRecord, NO_TYPE, Role, slotsOf, stringsOf, typeCount,
} from './catalog'
import { boundValue, boundVersion, isPresent, slotValue, textAt, textLength } from './binding'
import { distance, shortWay } from './distance'
import { INPUT_AT, PROGRAM_BYTES, PROGRAMS_AT, STACK_AT, WORDS_AT } from './layout'
import { INSTRUCTIONS_MAX, PAYLOAD_BYTES_MAX, PROGRAM_WORDS_MAX, PROGRAMS_MAX, STACK_MAX } from './limits'
import { nextFootprint } from './predicate'
import { fieldCount, glance, isDiscrete, receivedOf, valueOf, versionOf } from './state'

export enum Op {
  constant = 0,
  now,
  cited,
  age,
  unchanged,
  drift,
  payload,
  has,
  text,
  length,
  elapsed,
  target,
  neg,
  not,
  abs,
  add,
  sub,
  mul,
  div,
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  and,
  or,
  select,
  distance,
}

let words: u32 = 0
let programs: u32 = 0
let loaded: u32 = 0

// What a program can see; set by `see` before it runs.
let record: usize = 0
let type: u32 = 0
let now: f64 = 0
let elapsed: f64 = NaN
let system: f64 = NaN
let component: f64 = NaN

/** The autopilot's ids; until then every frame that reads them is not finite. */
export function setTarget(systemId: u32, componentId: u32): void {
  system = <f64>systemId
  component = <f64>componentId
}

/** From here on programs read this record (of this type) at this time. */
export function see(recordAt: usize, ofType: u32, now_ms: f64): void {
  record = recordAt
  type = ofType
  now = now_ms
  elapsed = NaN
}

/** `elapsed()`, until the next `see`. */
export function setElapsed(elapsed_ms: f64): void {
  elapsed = elapsed_ms
}

// A program:  words u32 · length u16 · shared u16 · glance and truth u64
//
// A shared program reads nothing but the state: within one glance it has one value, however many components ask for it.

// @ts-ignore: decorator
@inline
function programAt(program: u32): usize {
  return PROGRAMS_AT + <usize>program * PROGRAM_BYTES
}

// @ts-ignore: decorator
@inline
function wordsOf(program: u32): usize {
  return WORDS_AT + (<usize>load<u32>(programAt(program)) << 3)
}

// @ts-ignore: decorator
@inline
function lengthOf(program: u32): u32 {
  return load<u16>(programAt(program), 4)
}

/** The program's value, or NaN if anything on the way was not finite. */
export function evaluate(program: u32): f64 {
  let word = wordsOf(program)
  const end = word + (<usize>lengthOf(program) << 3)
  // The topmost operand is in a variable, those below it on the stack.
  let x: f64 = NaN
  let top: usize = STACK_AT
  let poison: f64 = 0
  while (word < end) {
    const code = load<u32>(word)
    const index = code >>> 16
    const flag = (code >>> 8) & 0xff
    const extra = load<u32>(word, 4)
    word += 8
    const op: Op = code & 0xff
    if (op < Op.neg) {
      store<f64>(top, x)
      top += 8
    }
    switch (op) {
      case Op.constant:
        x = load<f64>(word)
        word += 8
        break
      case Op.now:
        x = valueOf(index)
        break
      case Op.cited:
        x = boundValue(record, type, index)
        break
      case Op.age:
        x = now - receivedOf(index)
        break
      case Op.unchanged:
        x = versionOf(index) == boundVersion(record, type, index) ? 1 : 0
        break
      case Op.drift:
        x = abs(valueOf(index) - boundValue(record, type, index))
        if (flag != 0) x = shortWay(x)
        break
      case Op.payload:
        x = isPresent(record, index) ? slotValue(record, index) : flag != 0 ? 0 : NaN
        break
      case Op.has:
        x = isPresent(record, index) ? 1 : 0
        break
      case Op.text:
        x = isPresent(record, index) ? equals(index, word, extra) : flag != 0 ? 0 : NaN
        word += (extra + 7) & ~7
        break
      case Op.length:
        x = isPresent(record, index) ? <f64>textLength(record, index) : flag != 0 ? 0 : NaN
        break
      case Op.elapsed:
        x = elapsed
        break
      case Op.target:
        x = index == 0 ? system : component
        break
      case Op.neg:
        x = -x
        break
      case Op.not:
        x = 1 - x
        break
      case Op.abs:
        x = abs(x)
        break
      case Op.add:
        top -= 8
        x = load<f64>(top) + x
        break
      case Op.sub:
        top -= 8
        x = load<f64>(top) - x
        break
      case Op.mul:
        top -= 8
        x = load<f64>(top) * x
        break
      case Op.div:
        top -= 8
        x = load<f64>(top) / x
        break
      case Op.min:
        top -= 8
        x = min<f64>(load<f64>(top), x)
        break
      case Op.max:
        top -= 8
        x = max<f64>(load<f64>(top), x)
        break
      case Op.lt:
        top -= 8
        x = load<f64>(top) < x ? 1 : 0
        break
      case Op.le:
        top -= 8
        x = load<f64>(top) <= x ? 1 : 0
        break
      case Op.gt:
        top -= 8
        x = load<f64>(top) > x ? 1 : 0
        break
      case Op.ge:
        top -= 8
        x = load<f64>(top) >= x ? 1 : 0
        break
      case Op.eq:
        top -= 8
        x = load<f64>(top) == x ? 1 : 0
        break
      case Op.ne:
        top -= 8
        x = load<f64>(top) != x ? 1 : 0
        break
      case Op.and:
        top -= 8
        x = <f64>(<i32>(load<f64>(top) == 1) & <i32>(x == 1))
        break
      case Op.or:
        top -= 8
        x = <f64>(<i32>(load<f64>(top) == 1) | <i32>(x == 1))
        break
      case Op.select:
        top -= 16
        x = load<f64>(top) == 1 ? load<f64>(top, 8) : x
        break
      case Op.distance:
        top -= 24
        x = distance(load<f64>(top), load<f64>(top, 8), load<f64>(top, 16), x)
        break
    }
    poison += x - x // 0 while finite, NaN for ever once not
  }
  return poison == 0 ? x : NaN
}

/** Only true holds (G5). The fields of its footprint must have been found usable before. */
// @ts-ignore: decorator
@inline
export function holds(program: u32): bool {
  const remembered = load<u64>(programAt(program), 8)
  return remembered >>> 1 == glance() ? (remembered & 1) != 0 : judge(program)
}

function judge(program: u32): bool {
  const truth = evaluate(program) == 1
  const at = programAt(program)
  if (load<u16>(at, 6) != 0) store<u64>(at, (glance() << 1) | <u64>truth, 8)
  return truth
}

/** Is the string in the slot these bytes? */
function equals(slot: u32, literal: usize, length: u32): f64 {
  if (textLength(record, slot) != length) return 0
  const at = textAt(record, slot)
  for (let i: u32 = 0; i < length; i++) if (load<u8>(at + i) != load<u8>(literal + i)) return 0
  return 1
}

/** How many operands an opcode takes from the stack; each leaves one. */
function operands(op: Op): u32 {
  if (op == Op.distance) return 4
  if (op == Op.select) return 3
  if (op >= Op.add) return 2
  return op >= Op.neg ? 1 : 0
}

/**
 * Proves the program of `count` words at INPUT for a role of a type (NO_TYPE: it reads no payload), adds what it reads to
 * the type's footprint, or to that of the predicate to come, and keeps it; `lastProgram` is its number. Equal programs are
 * kept once.
 */
export function loadProgram(ofType: u32, role: Role, count: u32): Fault {
  assert(!isSealed())
  if (count > INSTRUCTIONS_MAX) return Fault.too_many_words
  const own = ofType != NO_TYPE
  const asked = role == Role.predicate
  assert(role <= Role.effect ? own : asked || (role == Role.contingency && !own))
  assert(!own || ofType < typeCount())
  const stateful = role != Role.bounds && role != Role.contingency
  const footprint = asked ? nextFootprint() : stateful ? footprintAt(ofType, role) : 0
  let depth: u32 = 0
  let shared = true
  for (let i: u32 = 0; i < count; i++) {
    const code = load<u32>(INPUT_AT + (i << 3))
    const op: Op = code & 0xff
    const index = code >>> 16
    const extra = load<u32>(INPUT_AT + (i << 3), 4)
    if (op > Op.distance) return Fault.unknown_opcode
    const taken = operands(op)
    if (depth < taken) return Fault.stack_underflow
    depth = depth - taken + 1
    if (depth > STACK_MAX) return Fault.stack_too_deep

    if (op == Op.constant) {
      if (++i >= count) return Fault.text_out_of_range
    } else if (op >= Op.now && op <= Op.drift) {
      if (!stateful || (asked && op != Op.now && op != Op.age)) return Fault.not_allowed_here
      if (index >= fieldCount()) return Fault.field_out_of_range
      if (op == Op.unchanged && !isDiscrete(index)) return Fault.not_discrete
      if (op == Op.age) markKnown(footprint, index)
      else if (op != Op.cited) markNow(footprint, index)
      if (op != Op.age && op != Op.now) {
        shared = false
        markCited(footprint, index)
        markRecord(ofType, role)
      }
    } else if (op >= Op.payload && op <= Op.length) {
      if (!own) return Fault.not_allowed_here
      if (index >= slotsOf(ofType)) return Fault.slot_out_of_range
      const isString = ((stringsOf(ofType) >>> index) & 1) != 0
      if (op != Op.has && isString == (op == Op.payload)) return Fault.slot_of_other_kind
      shared = false
      markRecord(ofType, role)
      if (op == Op.text) {
        if (extra > PAYLOAD_BYTES_MAX) return Fault.text_out_of_range
        i += (extra + 7) >>> 3
        if (i >= count) return Fault.text_out_of_range
      }
    } else if (op == Op.elapsed) {
      if (role != Role.done) return Fault.not_allowed_here
      shared = false
    } else if (op == Op.target) {
      if (role != Role.effect && role != Role.contingency) return Fault.not_allowed_here
      if (index > 1) return Fault.value_out_of_range
      shared = false
    }
  }
  if (depth != 1) return Fault.result_not_one

  for (let program: u32 = 0; program < programs; program++) {
    if (lengthOf(program) == count && memory.compare(wordsOf(program), INPUT_AT, count << 3) == 0) {
      loaded = program
      return Fault.none
    }
  }
  if (programs >= PROGRAMS_MAX) return Fault.too_many_programs
  if (words + count > PROGRAM_WORDS_MAX) return Fault.too_many_words
  const at = programAt(programs)
  store<u32>(at, words)
  store<u16>(at, <u16>count, 4)
  store<u16>(at, <u16>shared, 6)
  store<u64>(at, u64.MAX_VALUE, 8)
  memory.copy(WORDS_AT + (<usize>words << 3), INPUT_AT, count << 3)
  words += count
  loaded = programs++
  return Fault.none
}

/** The number of the program that was loaded last. */
export function lastProgram(): u32 {
  return loaded
}
