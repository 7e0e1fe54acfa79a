// The state table, its versions, and snapshots of it (PROTOCOL 2).
//
// A field is *known* once a finite value came and until one that is not finite does; it is *usable* while it is known and
// not older than its maximum age. Both are kept as 256-bit masks, computed once for a time, so that "is every field of this
// footprint usable" is four ANDs (G5).

import { FIELD_BYTES, FIELDS_AT, SIGHT_AT, SNAPSHOT_BYTES, SNAPSHOTS_AT } from './layout'
import { FIELDS_MAX, SNAPSHOTS_MAX } from './limits'

/** How well a field can be seen in a tense. */
export enum Validity {
  unknown = 0,
  stale,
  usable,
}

let fields: u32 = 0
let snapshots: u32 = 0
let latest: f64 = -Infinity
/** The time for which the masks at SIGHT_AT hold; NaN after an observation. */
let sighted: f64 = NaN
/** Counts the states that were looked at, each at its time: what is found of the state alone is true for one of them. */
let glances: u64 = 0

// A field:  value f64 · received f64 · max_age f64 · version u32 · known u16 · discrete u16

// @ts-ignore: decorator
@inline
function fieldAt(field: u32): usize {
  return FIELDS_AT + <usize>field * FIELD_BYTES
}

// @ts-ignore: decorator
@inline
export function valueOf(field: u32): f64 {
  return load<f64>(fieldAt(field))
}

// @ts-ignore: decorator
@inline
export function receivedOf(field: u32): f64 {
  return load<f64>(fieldAt(field), 8)
}

// @ts-ignore: decorator
@inline
export function versionOf(field: u32): u32 {
  return load<u32>(fieldAt(field), 24)
}

// @ts-ignore: decorator
@inline
export function isDiscrete(field: u32): bool {
  return load<u16>(fieldAt(field), 30) != 0
}

// @ts-ignore: decorator
@inline
export function fieldCount(): u32 {
  return fields
}

/** How many words of a mask the fields take. */
// @ts-ignore: decorator
@inline
export function maskWords(): u32 {
  return (fields + 63) >>> 6
}

/** Declares the table. */
export function declareFields(count: u32): void {
  assert(count <= FIELDS_MAX)
  fields = count
}

/** Declares one field: unknown until something is received. */
export function declareField(field: u32, maxAge_ms: f64, discrete: bool): void {
  assert(field < fields && maxAge_ms >= 0)
  const at = fieldAt(field)
  store<f64>(at, NaN)
  store<f64>(at, NaN, 8)
  store<f64>(at, maxAge_ms, 16)
  store<u32>(at, 0, 24)
  store<u16>(at, 0, 28)
  store<u16>(at, discrete ? 1 : 0, 30)
}

/** The clock of all calls: finite, and never back (PROTOCOL 8). */
export function advance(now_ms: f64): void {
  assert(isFinite(now_ms) && now_ms >= latest)
  latest = now_ms
}

/** A value received. An older one than the last is ignored; a discrete change, or return, is a new version. */
export function observe(field: u32, value: f64, received_ms: f64): void {
  assert(field < fields && isFinite(received_ms))
  const at = fieldAt(field)
  const before = load<f64>(at, 8)
  if (received_ms < before) return
  const wasKnown = load<u16>(at, 28) != 0
  const known = isFinite(value)
  const returned = !wasKnown || received_ms - before > load<f64>(at, 16)
  if (known && isDiscrete(field) && (returned || value != load<f64>(at))) store<u32>(at, versionOf(field) + 1, 24)
  store<f64>(at, known ? value : NaN)
  store<f64>(at, received_ms, 8)
  store<u16>(at, known ? 1 : 0, 28)
  sighted = NaN
}

// @ts-ignore: decorator
@inline
export function glance(): u64 {
  return glances
}

/** Is the field known, and usable at `now_ms`? */
export function validityOf(field: u32, now_ms: f64): Validity {
  const at = fieldAt(field)
  if (load<u16>(at, 28) == 0) return Validity.unknown
  return now_ms - load<f64>(at, 8) <= load<f64>(at, 16) ? Validity.usable : Validity.stale
}

/** Computes the masks for `now_ms`, unless they are for that time already. */
export function look(now_ms: f64): void {
  if (sighted == now_ms) return
  for (let word: u32 = 0; word < maskWords(); word++) {
    let known: u64 = 0
    let usable: u64 = 0
    for (let bit: u32 = 0, field = word << 6; bit < 64 && field < fields; bit++, field++) {
      const validity = validityOf(field, now_ms)
      known |= <u64>(validity != Validity.unknown) << bit
      usable |= <u64>(validity == Validity.usable) << bit
    }
    store<u64>(SIGHT_AT + (word << 3), known)
    store<u64>(SIGHT_AT + (word << 3), usable, 32)
  }
  sighted = now_ms
  glances++
}

// @ts-ignore: decorator
@inline
export function knownNow(word: u32): u64 {
  return load<u64>(SIGHT_AT + (word << 3))
}

// @ts-ignore: decorator
@inline
export function usableNow(word: u32): u64 {
  return load<u64>(SIGHT_AT + (word << 3), 32)
}

// A snapshot:  ordinal u32 · taken f64 · known u256 · usable u256 · values f64[256] · versions u32[256]

// @ts-ignore: decorator
@inline
function snapshotAt(ordinal: u32): usize {
  return SNAPSHOTS_AT + <usize>((ordinal - 1) % SNAPSHOTS_MAX) * SNAPSHOT_BYTES
}

/** Copies the table and returns the snapshot's ordinal, from 1. The newest SNAPSHOTS_MAX are kept. */
export function takeSnapshot(now_ms: f64): u32 {
  look(now_ms)
  const ordinal = ++snapshots
  assert(ordinal != 0)
  const at = snapshotAt(ordinal)
  store<u32>(at, ordinal)
  store<f64>(at, now_ms, 8)
  memory.copy(at + 16, SIGHT_AT, 64)
  for (let field: u32 = 0; field < fields; field++) {
    store<f64>(at + (field << 3), valueOf(field), 80)
    store<u32>(at + (field << 2), versionOf(field), 80 + FIELDS_MAX * 8)
  }
  return ordinal
}

export function snapshotKept(ordinal: u32): bool {
  return ordinal != 0 && ordinal <= snapshots && load<u32>(snapshotAt(ordinal)) == ordinal
}

/** When it was taken, ms; NaN if it is not kept (any more). */
export function takenAt(ordinal: u32): f64 {
  return snapshotKept(ordinal) ? load<f64>(snapshotAt(ordinal), 8) : NaN
}

// @ts-ignore: decorator
@inline
export function citedValue(ordinal: u32, field: u32): f64 {
  return load<f64>(snapshotAt(ordinal) + (field << 3), 80)
}

// @ts-ignore: decorator
@inline
export function citedVersion(ordinal: u32, field: u32): u32 {
  return load<u32>(snapshotAt(ordinal) + (field << 2), 80 + FIELDS_MAX * 8)
}

/** How well the field could be seen when the snapshot was taken. */
export function citedValidity(ordinal: u32, field: u32): Validity {
  const at = snapshotAt(ordinal) + ((field >>> 6) << 3)
  const bit = <u64>1 << (field & 63)
  if ((load<u64>(at, 48) & bit) != 0) return Validity.usable
  return (load<u64>(at, 16) & bit) != 0 ? Validity.stale : Validity.unknown
}
