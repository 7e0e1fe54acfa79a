// Effects: frame templates, leases, and contingencies (PROTOCOL 6, 8). The only place where bytes for the vehicle are made.
//
// A lease:  instance u32 · used u32 · furthest u32 · body bytes u32 · sent u32[8] · f_e at 48 · body at 80
// Its body: the references as read at the first frame, f64 each, then the payloads of all frames, packed. f_e is its SHA-256.

import {
  frameCount, frameOf, Fault, isSealed, isToleranceOfAngle, setFrame, toleranceCount, toleranceFieldOf, toleranceOf,
} from './catalog'
import { same, sha256 } from './digest'
import { LATITUDE_MAX, LONGITUDE_MAX, shortWay } from './distance'
import { CONTINGENCIES_AT, DIGEST_AT, ENTRIES_AT, FRAME_BYTES, GRANTS_AT, LEASE_BYTES, LEASES_AT, OUTPUT_AT } from './layout'
import {
  CONTINGENCIES_MAX, CONTINGENCY_SENDS_MAX, ENTRIES_MAX, ENTRIES_TOTAL_MAX, FRAMES_MAX, GRANTS_MAX, LEASES_MAX,
} from './limits'
import { evaluate, see } from './program'
import { valueOf } from './state'

/** How a value stands in a frame, little-endian. Integers are rounded to nearest, ties to even. */
export enum Format {
  u8 = 0,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  /** The quiet NaN 0x7FC00000 that MAVLink itself wants. */
  nan,
}

/**
 * Latitude or longitude of a frame's position, as MAVLink has them: degrees in a float, 1e-7 deg in an integer. Both exactly 0
 * are no position, and what lies beyond the poles or half a turn is no place.
 */
export enum Part {
  none = 0,
  lat,
  lon,
}

/** `sends` of a stream. */
const STREAM: u32 = u32.MAX_VALUE

let entries: u32 = 0
let contingencies: u32 = 0
let grants: u32 = 0

// A frame, as in `setFrame`.

// @ts-ignore: decorator
@inline
function messageOf(frame: usize): u32 {
  return load<u32>(frame)
}
// @ts-ignore: decorator
@inline
function lengthOf(frame: usize): u32 {
  return load<u32>(frame, 4)
}
// @ts-ignore: decorator
@inline
function stampOf(frame: usize): i32 {
  return load<i32>(frame, 8)
}
// @ts-ignore: decorator
@inline
function sendsOf(frame: usize): u32 {
  return load<u32>(frame, 12)
}

// Loading

/** Where the next frame's entries begin. */
export function entryCount(): u32 {
  return entries
}

function size(format: Format): u32 {
  if (format <= Format.i8) return 1
  return format <= Format.i16 ? 2 : 4
}

function addEntry(frame: usize, offset: u32, format: u32, part: u32, program: u32): Fault {
  if (format > <u32>Format.nan || part > <u32>Part.lon) return Fault.format_out_of_range
  const length = lengthOf(frame)
  const bytes = size(format)
  if (bytes > length || offset > length - bytes) return Fault.entry_out_of_range
  const count = load<u32>(frame, 20)
  if (count >= ENTRIES_MAX) return Fault.too_many_entries
  if (entries >= ENTRIES_TOTAL_MAX) return Fault.too_many_entries_in_all
  const at = ENTRIES_AT + (<usize>entries << 3)
  entries++
  store<u8>(at, <u8>offset)
  store<u8>(at, <u8>format, 1)
  store<u8>(at, <u8>part, 2)
  store<u32>(at, program, 4)
  store<u32>(frame, count + 1, 20)
  return Fault.none
}

/** A value of the type's frame added last. */
export function addFrameEntry(type: u32, offset: u32, format: u32, part: u32, program: u32): Fault {
  assert(!isSealed() && frameCount(type) > 0)
  return addEntry(frameOf(type, frameCount(type) - 1), offset, format, part, program)
}

// @ts-ignore: decorator
@inline
function contingencyAt(index: u32): usize {
  return CONTINGENCIES_AT + <usize>index * FRAME_BYTES
}

export function addContingency(message: u32, length: u32): Fault {
  assert(!isSealed())
  if (contingencies >= CONTINGENCIES_MAX) return Fault.too_many_contingencies
  return setFrame(contingencyAt(contingencies++), message, length, -1, 1, entries)
}

export function addContingencyEntry(offset: u32, format: u32, part: u32, program: u32): Fault {
  assert(!isSealed() && contingencies > 0)
  return addEntry(contingencyAt(contingencies - 1), offset, format, part, program)
}

// Filling in

/** Writes a frame's payload to `to`; false where a value cannot be written. `see` came before. */
function fill(frame: usize, to: usize): bool {
  memory.fill(to, 0, lengthOf(frame))
  let lat = true // not zero
  let lon = true
  const end = ENTRIES_AT + (<usize>(load<u32>(frame, 16) + load<u32>(frame, 20)) << 3)
  for (let entry = ENTRIES_AT + (<usize>load<u32>(frame, 16) << 3); entry < end; entry += 8) {
    const at = to + load<u8>(entry)
    const format: Format = load<u8>(entry, 1)
    const part: Part = load<u8>(entry, 2)
    if (format == Format.nan) {
      store<u32>(at, 0x7fc00000)
      continue
    }
    const value = evaluate(load<u32>(entry, 4))
    let written: f64
    if (format == Format.f32) {
      const single = <f32>value
      if (!isFinite(single)) return false
      store<f32>(at, single)
      written = <f64>single
    } else {
      written = nearest(value)
      if (!write(at, format, written)) return false
    }
    if (part == Part.none) continue
    const degrees = format == Format.f32 ? written : written / 1e7
    if (!(abs(degrees) <= (part == Part.lat ? LATITUDE_MAX : LONGITUDE_MAX))) return false
    if (part == Part.lat) lat = written != 0
    else lon = written != 0
  }
  return lat || lon
}

/** An integral value into an integer of the format; false if it does not fit, NaN among it. */
function write(at: usize, format: Format, value: f64): bool {
  switch (format) {
    case Format.u8:
      if (!(value >= 0 && value <= 255)) return false
      store<u8>(at, <u8>(<i32>value))
      return true
    case Format.i8:
      if (!(value >= -128 && value <= 127)) return false
      store<i8>(at, <i8>(<i32>value))
      return true
    case Format.u16:
      if (!(value >= 0 && value <= 65535)) return false
      store<u16>(at, <u16>(<i32>value))
      return true
    case Format.i16:
      if (!(value >= -32768 && value <= 32767)) return false
      store<i16>(at, <i16>(<i32>value))
      return true
    case Format.u32:
      if (!(value >= 0 && value <= 4294967295)) return false
      store<u32>(at, <u32>value)
      return true
    default:
      if (!(value >= -2147483648 && value <= 2147483647)) return false
      store<i32>(at, <i32>value)
      return true
  }
}

// Leases

// @ts-ignore: decorator
@inline
function leaseAt(lease: u32): usize {
  return LEASES_AT + <usize>lease * LEASE_BYTES
}
// @ts-ignore: decorator
@inline
function body(lease: usize): usize {
  return lease + 80
}

/** A slot that no lease uses, or -1. */
export function freeLease(): i32 {
  for (let i: u32 = 0; i < LEASES_MAX; i++) if (load<u32>(leaseAt(i), 4) == 0) return i
  return -1
}

/** Fills in every frame of the type's effect in a slot that no lease uses; false where a value cannot be written. */
export function draft(lease: u32, type: u32): bool {
  const at = leaseAt(lease)
  let to = body(at)
  for (let i: u32 = 0; i < toleranceCount(type); i++, to += 8) store<f64>(to, valueOf(toleranceFieldOf(type, i)))
  for (let i: u32 = 0; i < frameCount(type); i++) {
    const frame = frameOf(type, i)
    if (!fill(frame, to)) return false
    to += lengthOf(frame)
  }
  assert(to <= at + LEASE_BYTES)
  store<u32>(at, <u32>(to - body(at)), 12)
  return true
}

/** Makes a lease of what was drafted in the same call, and keeps f_e (G2). */
export function openLease(lease: u32, slot: u32): void {
  const at = leaseAt(lease)
  store<u32>(at, slot)
  store<u32>(at, 1, 4)
  store<u32>(at, 0, 8)
  for (let i: u32 = 0; i < FRAMES_MAX; i++) store<u32>(at + (i << 2), 0, 16)
  sha256(body(at), load<u32>(at, 12), at + 48)
}

export function closeLease(lease: i32): void {
  if (lease >= 0) store<u32>(leaseAt(lease), 0, 4)
}

/** Are the frames still those of the first crossing (G2)? */
export function leaseIntact(lease: u32, slot: u32): bool {
  const at = leaseAt(lease)
  if (load<u32>(at, 4) != 1 || load<u32>(at) != slot) return false
  sha256(body(at), load<u32>(at, 12), DIGEST_AT)
  return same(at + 48, DIGEST_AT)
}

/** The first reference that moved farther than it may since the first frame, or -1. */
export function outOfTolerance(lease: u32, type: u32): i32 {
  const references = body(leaseAt(lease))
  for (let i: u32 = 0; i < toleranceCount(type); i++) {
    const field = toleranceFieldOf(type, i)
    const moved = abs(valueOf(field) - load<f64>(references + (i << 3)))
    if (!((isToleranceOfAngle(type, i) ? shortWay(moved) : moved) <= toleranceOf(type, i))) return field
  }
  return -1
}

/**
 * Hands out a copy of a frame with its stamp, at OUTPUT. Frames come in order, each at most as often as it may; a stream's
 * any number of times, also after later ones. Anything else traps (G3).
 */
export function hand(lease: u32, type: u32, index: u32, stamp: u32): void {
  const at = leaseAt(lease)
  assert(index < frameCount(type))
  const frame = frameOf(type, index)
  const furthest = load<u32>(at, 8) // frames begun
  const stream = sendsOf(frame) == STREAM
  assert(index <= furthest && (index + 1 >= furthest || stream))
  const sent = load<u32>(at + (index << 2), 16)
  assert(stream || sent < sendsOf(frame))
  if (!stream) store<u32>(at + (index << 2), sent + 1, 16)
  if (index == furthest) store<u32>(at, furthest + 1, 8)

  let from = body(at) + (toleranceCount(type) << 3)
  for (let i: u32 = 0; i < index; i++) from += lengthOf(frameOf(type, i))
  address(frame)
  memory.copy(OUTPUT_AT + 16, from, lengthOf(frame))
  if (stampOf(frame) >= 0) store<u32>(OUTPUT_AT + stampOf(frame), stamp, 16)
}

/** OUTPUT:  reason u32 · detail i32 · message u32 · length u32 · payload. */
function address(frame: usize): void {
  store<u32>(OUTPUT_AT, messageOf(frame), 8)
  store<u32>(OUTPUT_AT, lengthOf(frame), 12)
}

// Contingencies: a token of its own, a grant, with a number of sends. A grant:  token u32 · contingency u32 · sends left u32

// @ts-ignore: decorator
@inline
function grantAt(token: u32): usize {
  return GRANTS_AT + (<usize>(token % GRANTS_MAX) << 4)
}

/** A token for CONTINGENCY_SENDS_MAX sends. */
export function grant(contingency: u32): u32 {
  assert(isSealed() && contingency < contingencies)
  const token = ++grants
  assert(token != 0)
  store<u32>(grantAt(token), token)
  store<u32>(grantAt(token), contingency, 4)
  store<u32>(grantAt(token), CONTINGENCY_SENDS_MAX, 8)
  return token
}

/** Its bytes at OUTPUT, once more; false when the token is spent, or a value (the target) cannot be written. */
export function redeem(token: u32): bool {
  assert(token != 0 && token <= grants)
  const at = grantAt(token)
  const left = load<u32>(at, 8)
  if (load<u32>(at) != token || left == 0) return false
  const frame = contingencyAt(load<u32>(at, 4))
  see(0, 0, NaN) // it was proven to read no payload and no state
  if (!fill(frame, OUTPUT_AT + 16)) return false
  address(frame)
  store<u32>(at, left - 1, 8)
  return true
}
