// The binding record (PROTOCOL 6): what a component was retained with, in a fixed layout, and b_e, its SHA-256.
//
//        0 ┌──────────────────────────────────────────────────────────────────┐
//          │ version u32 · agent u32 · session 8 · environment 32             │
//       48 │ generation f64 · snapshot u32 · plan bytes u32                   │
//       64 │ sequence u32 · type u32 · present u32                            │
//       76 │ prerequisites u16 · id bytes u16                                 │
//       80 ├──────────────────────────────────────────────────────────────────┤
//          │ payload      slots × 8      f64, or offset u32 and length u32    │
//          │ cited        fields × 16    value f64 · version u32 · validity   │
//          │ versions     fields × 4     of the footprint, as judged          │
//          │ prerequisites   n × 8       sequence u32 · phase u16 · slot u16  │   0x8000 + type: it has settled
//          │ text                        id, plan, the payload's strings      │
//          └──────────────────────────────────────────────────────────────────┘
//
// The first 64 bytes are those of the response: one block of SHA-256, compressed once for all its components.
//
// The gate and the frames read what they decide from in here and nowhere else, after the digest was found to match (G2).

import {
  citedCount, citedIndex, citedOf, citedSection, prerequisitesSection, RECORD_HEADER, slotsOf, stringsOf, versionCount,
  versionFieldOf, versionsSection,
} from './catalog'
import { DIGEST_AT, ENTRY_BYTES, INPUT_AT, INPUT_BYTES, INPUT_TEXT_AT, INSTANCES_AT, INSTANCE_BYTES, PLAN_AT, RECORD_BYTES, SESSION_AT } from './layout'
import { PAYLOAD_BYTES_MAX, PREREQUISITES_MAX, TEXT_BYTES_MAX } from './limits'
import { same, sha256Alike, sha256Lane } from './digest'
import { citedValidity, citedValue, citedVersion, Validity, versionOf } from './state'
import { Phase } from './phase'

const RECORD_VERSION: u32 = 1

/** Where in a record its type and the bits of its present slots stand. */
export const RECORD_TYPE: u32 = 68
export const RECORD_PRESENT: u32 = 72

// @ts-ignore: decorator
@inline
export function recordOf(slot: u32): usize {
  return INSTANCES_AT + <usize>slot * INSTANCE_BYTES + ENTRY_BYTES
}

// @ts-ignore: decorator
@inline
export function recordType(record: usize): u32 {
  return load<u32>(record, RECORD_TYPE)
}

// @ts-ignore: decorator
@inline
export function prerequisiteCount(record: usize): u32 {
  return load<u16>(record, 76)
}

// @ts-ignore: decorator
@inline
function prerequisiteAt(record: usize, type: u32, i: u32): usize {
  return record + prerequisitesSection(type) + (i << 3)
}

// @ts-ignore: decorator
@inline
export function prerequisiteSequence(record: usize, type: u32, i: u32): u32 {
  return load<u32>(prerequisiteAt(record, type, i))
}

// @ts-ignore: decorator
@inline
export function prerequisitePhase(record: usize, type: u32, i: u32): Phase {
  return load<u16>(prerequisiteAt(record, type, i), 4)
}

// @ts-ignore: decorator
@inline
export function prerequisiteSlot(record: usize, type: u32, i: u32): u32 {
  return load<u16>(prerequisiteAt(record, type, i), 6)
}

// @ts-ignore: decorator
@inline
export function isPresent(record: usize, slot: u32): bool {
  return ((load<u32>(record, RECORD_PRESENT) >>> slot) & 1) != 0
}

// @ts-ignore: decorator
@inline
export function slotValue(record: usize, slot: u32): f64 {
  return load<f64>(record + (slot << 3), RECORD_HEADER)
}

// @ts-ignore: decorator
@inline
export function textAt(record: usize, slot: u32): usize {
  return record + load<u32>(record + (slot << 3), RECORD_HEADER)
}

// @ts-ignore: decorator
@inline
export function textLength(record: usize, slot: u32): u32 {
  return load<u32>(record + (slot << 3), RECORD_HEADER + 4)
}

// @ts-ignore: decorator
@inline
function citedAt(record: usize, type: u32, i: u32): usize {
  return record + citedSection(type) + (i << 4)
}

// @ts-ignore: decorator
@inline
export function boundValue(record: usize, type: u32, field: u32): f64 {
  return load<f64>(citedAt(record, type, citedIndex(type, field)))
}

// @ts-ignore: decorator
@inline
export function boundVersion(record: usize, type: u32, field: u32): u32 {
  return load<u32>(citedAt(record, type, citedIndex(type, field)), 8)
}

/** Validity of the i-th cited field of the type. */
// @ts-ignore: decorator
@inline
export function boundValidity(record: usize, type: u32, i: u32): Validity {
  return load<u32>(citedAt(record, type, i), 12)
}

/**
 * Writes the record of a candidate, all but its sequence and its prerequisites, from what the host wrote to INPUT:
 * slots f64[32] (a string: offset and length in the text), and from INPUT_TEXT_AT the text: the id, then the strings.
 * Returns the record's length.
 */
export function writeRecord(
  record: usize,
  agent: u32, generation: f64, snapshot: u32, planLength: u32, // of the batch
  type: u32, present: u32, idLength: u32, textBytes: u32, prerequisites: u32, // of the candidate
): u32 {
  assert(idLength <= TEXT_BYTES_MAX && textBytes <= idLength + PAYLOAD_BYTES_MAX && idLength <= textBytes)
  assert(prerequisites <= PREREQUISITES_MAX && textBytes <= INPUT_BYTES - <u32>(INPUT_TEXT_AT - INPUT_AT))
  const slots = slotsOf(type)
  assert(slots == 32 || present >>> slots == 0)

  store<u32>(record, RECORD_VERSION)
  store<u32>(record, agent, 4)
  memory.copy(record + 8, SESSION_AT, 40)
  store<f64>(record, generation, 48)
  store<u32>(record, snapshot, 56)
  store<u32>(record, planLength, 60)
  store<u32>(record, 0, 64)
  store<u32>(record, type, RECORD_TYPE)
  store<u32>(record, present, RECORD_PRESENT)
  store<u16>(record, <u16>prerequisites, 76)
  store<u16>(record, <u16>idLength, 78)

  const strings = stringsOf(type)
  const text = prerequisitesSection(type) + 8 * prerequisites
  // The plan stands between the id and the strings.
  const shift = text + planLength
  for (let slot: u32 = 0; slot < slots; slot++) {
    const to = record + (slot << 3)
    const from = INPUT_AT + (slot << 3)
    if (((present >>> slot) & 1) == 0) store<u64>(to, 0, RECORD_HEADER)
    else if (((strings >>> slot) & 1) != 0) {
      const offset = load<u32>(from)
      const length = load<u32>(from, 4)
      assert(offset >= idLength && offset <= textBytes && length <= textBytes - offset)
      store<u32>(to, shift + offset, RECORD_HEADER)
      store<u32>(to, length, RECORD_HEADER + 4)
    } else {
      const value = load<f64>(from)
      // One NaN only: the bits of others differ between machines, and they are hashed (G7).
      if (value == value) store<f64>(to, value, RECORD_HEADER)
      else store<u64>(to, 0x7ff8000000000000, RECORD_HEADER)
    }
  }
  for (let i: u32 = 0; i < citedCount(type); i++) {
    const field = citedOf(type, i)
    const to = citedAt(record, type, i)
    const validity = citedValidity(snapshot, field)
    store<f64>(to, validity == Validity.unknown ? 0 : citedValue(snapshot, field))
    store<u32>(to, citedVersion(snapshot, field), 8)
    store<u32>(to, validity, 12)
  }
  const versions = versionCount(type)
  const versionsAt = record + versionsSection(type)
  if ((versions & 1) != 0) store<u32>(versionsAt + (versions << 2), 0)
  for (let i: u32 = 0; i < versions; i++) store<u32>(versionsAt + (i << 2), versionOf(versionFieldOf(type, i)))

  memory.copy(record + text, INPUT_TEXT_AT, idLength)
  memory.copy(record + text + idLength, PLAN_AT, planLength)
  memory.copy(record + shift + idLength, INPUT_TEXT_AT + idLength, textBytes - idLength)
  const length = shift + textBytes
  assert(length <= <u32>RECORD_BYTES)
  return length
}

export function writePrerequisite(record: usize, type: u32, i: u32, sequence: u32, phase: Phase, slot: u32): void {
  const to = prerequisiteAt(record, type, i)
  store<u32>(to, sequence)
  store<u16>(to, <u16>phase, 4)
  store<u16>(to, <u16>slot, 6)
}

export function writeSequence(record: usize, sequence: u32): void {
  store<u32>(record, sequence, 64)
}

/** b_e of a record of this admission, to `digest`; `sha256Rest` follows the last. */
export function bind(record: usize, length: u32, digest: usize): void {
  sha256Lane(record, length, digest)
}

/** Is the record still what b_e says (G2)? */
export function isIntact(record: usize, length: u32, digest: usize): bool {
  sha256Alike(record, length, DIGEST_AT)
  return same(digest, DIGEST_AT)
}
