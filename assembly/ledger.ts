// The ledger (PROTOCOL 2, 6): instances, how far each has come, and its token, which goes one way only:
//
//      issued ──► leased ──► closed          G3: no arrow leads back, and none leads to `leased` twice.
//         └──────────┴─────► revoked
//
// An entry (80 bytes, before its binding record):
//   sequence u32 · type u32 · token u32 · reached u32 · ended u32 · record length u32 · lease + 1 u32 · next u32 ·
//   awaited since f64 · prerequisites u32 · b_e at 48

import { CHAINS_AT, CHAINS_MAX, INSTANCE_BYTES, INSTANCES_AT } from './layout'
import { EDGES_MAX, INSTANCES_MAX, TYPES_MAX } from './limits'
import { Phase } from './phase'

export enum Token {
  issued = 0,
  leased,
  closed,
  revoked,
}

/** No slot. */
export const NOWHERE: u32 = 0xffff
/** In place of a slot, with a type: a released notice or report that the ledger has forgotten, of which nothing else is known. */
const SETTLED: u32 = 0x8000

// @ts-ignore: decorator
@inline
export function settledSlot(type: u32): u32 {
  return SETTLED + type
}
// @ts-ignore: decorator
@inline
export function isSettled(slot: u32): bool {
  return slot - SETTLED < TYPES_MAX
}
// @ts-ignore: decorator
@inline
export function settledType(slot: u32): u32 {
  return slot - SETTLED
}

let sequences: u32 = 0
let unused: u32 = 0       // slots from here on were never used
let free: u32 = NOWHERE   // those given back, chained by `next`
let held: u32 = 0
let edges: u32 = 0

// @ts-ignore: decorator
@inline
function entry(slot: u32): usize {
  return INSTANCES_AT + <usize>slot * INSTANCE_BYTES
}

// @ts-ignore: decorator
@inline
export function sequenceOf(slot: u32): u32 {
  return load<u32>(entry(slot))
}
// @ts-ignore: decorator
@inline
export function typeOf(slot: u32): u32 {
  return load<u32>(entry(slot), 4)
}
// @ts-ignore: decorator
@inline
export function tokenOf(slot: u32): Token {
  return load<u32>(entry(slot), 8)
}
// @ts-ignore: decorator
@inline
export function reachedBy(slot: u32): Phase {
  return load<u32>(entry(slot), 12)
}
// @ts-ignore: decorator
@inline
export function hasEnded(slot: u32): bool {
  return load<u32>(entry(slot), 16) != 0
}
// @ts-ignore: decorator
@inline
export function recordLength(slot: u32): u32 {
  return load<u32>(entry(slot), 20)
}
/** The lease's slot, or -1. */
// @ts-ignore: decorator
@inline
export function leaseOf(slot: u32): i32 {
  return load<i32>(entry(slot), 24) - 1
}
// @ts-ignore: decorator
@inline
export function setLease(slot: u32, lease: i32): void {
  store<i32>(entry(slot), lease + 1, 24)
}
/** When it first waited for a field, ms; NaN if never. */
// @ts-ignore: decorator
@inline
export function awaitedSince(slot: u32): f64 {
  return load<f64>(entry(slot), 32)
}
// @ts-ignore: decorator
@inline
export function setAwaited(slot: u32, since_ms: f64): void {
  store<f64>(entry(slot), since_ms, 32)
}
// @ts-ignore: decorator
@inline
export function digestOf(slot: u32): usize {
  return entry(slot) + 48
}

export function instancesLeft(): u32 {
  return INSTANCES_MAX - held
}
export function edgesLeft(): u32 {
  return EDGES_MAX - edges
}

// @ts-ignore: decorator
@inline
function chain(sequence: u32): usize {
  return CHAINS_AT + (<usize>(sequence & (CHAINS_MAX - 1)) << 1)
}

/** The slot of a sequence, or NOWHERE. */
export function find(sequence: u32): u32 {
  if (sequence == 0) return NOWHERE
  // A chain stores slot + 1, so that a fresh memory is an empty ledger.
  for (let next: u32 = load<u16>(chain(sequence)); next != 0; next = load<u32>(entry(next - 1), 28)) {
    if (sequenceOf(next - 1) == sequence) return next - 1
  }
  return NOWHERE
}

/** An instance had this sequence, and is not known any more. */
export function isForgotten(sequence: u32): bool {
  return sequence != 0 && sequence <= sequences && find(sequence) == NOWHERE
}

/** A slot for a candidate's record. It has no sequence yet: nothing finds it. */
export function take(): u32 {
  let slot = free
  if (slot != NOWHERE) free = load<u32>(entry(slot), 28)
  else {
    assert(unused < INSTANCES_MAX)
    slot = unused++
  }
  held++
  return slot
}

/** Gives back a slot that was never retained, or is no longer known. */
export function giveBack(slot: u32): void {
  store<u32>(entry(slot), 0)
  store<u32>(entry(slot), free, 28)
  free = slot
  held--
}

/** Retains what stands in the slot: the next sequence, an issued token (G4: a sequence is never used again). */
export function retain(slot: u32, type: u32, length: u32, prerequisites: u32): u32 {
  const sequence = ++sequences
  assert(sequence != 0 && prerequisites <= edgesLeft())
  edges += prerequisites
  const at = entry(slot)
  store<u32>(at, sequence)
  store<u32>(at, type, 4)
  store<u32>(at, Token.issued, 8)
  store<u32>(at, Phase.retained, 12)
  store<u32>(at, 0, 16)
  store<u32>(at, length, 20)
  store<u32>(at, 0, 24)
  store<u32>(at, load<u16>(chain(sequence)), 28)
  store<f64>(at, NaN, 32)
  store<u32>(at, prerequisites, 40)
  store<u16>(chain(sequence), <u16>(slot + 1))
  return sequence
}

/** G3: issued → leased, once. */
export function lease(slot: u32): void {
  assert(tokenOf(slot) == Token.issued)
  store<u32>(entry(slot), Token.leased, 8)
}

/** No crossing any more, and no further frame. */
export function revoke(slot: u32): void {
  if (tokenOf(slot) == Token.issued || tokenOf(slot) == Token.leased) store<u32>(entry(slot), Token.revoked, 8)
}

/** A phase reached: only forward, and none after the end. */
export function reach(slot: u32, phase: Phase): void {
  assert(!hasEnded(slot) && phase > reachedBy(slot) && phase <= Phase.completed)
  store<u32>(entry(slot), phase, 12)
}

/** The end, once. What was leased is closed, what was only issued is revoked. */
export function end(slot: u32, phase: Phase): void {
  assert(!hasEnded(slot) && phase >= Phase.completed && phase <= Phase.uncertain)
  store<u32>(entry(slot), 1, 16)
  if (phase == Phase.completed) store<u32>(entry(slot), phase, 12)
  if (tokenOf(slot) == Token.leased) store<u32>(entry(slot), Token.closed, 8)
  else revoke(slot)
}

/** Forgets an ended instance. */
export function release(slot: u32): void {
  assert(hasEnded(slot))
  const sequence = sequenceOf(slot)
  const next = load<u32>(entry(slot), 28)
  if (<u32>load<u16>(chain(sequence)) == slot + 1) store<u16>(chain(sequence), <u16>next)
  else {
    let before: u32 = load<u16>(chain(sequence))
    while (load<u32>(entry(before - 1), 28) != slot + 1) before = load<u32>(entry(before - 1), 28)
    store<u32>(entry(before - 1), next, 28)
  }
  edges -= load<u32>(entry(slot), 40)
  giveBack(slot)
}
