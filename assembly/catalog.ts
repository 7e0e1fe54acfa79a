// The catalog inside the core: what a component type is (PROTOCOL 3). Loaded once, then sealed.
//
// A type's footprint is derived here from its programs while they are proven, so no host can forget a field of it (G5).
//
//   ┌ type ───────────────────────────────────────────────────────────────────────────────────────────────┐
//   │ kind · slots · strings · patience · clauses by role · frames · watches · cited · versions · requires │
//   │ where the sections of its binding records begin · frames 8 × 24 · footprints 13 × 96                  │
//   └─────────────────────────────────────────────────────────────────────────────────────────────────────┘

import { FOOTPRINT_BYTES, FRAME_BYTES, RECORD_BYTES, TYPE_BYTES, TYPES_AT } from './layout'
import {
  CITED_MAX, CLAUSES_MAX, FRAMES_MAX, FRAME_BYTES_MAX, PAYLOAD_BYTES_MAX, PLAN_BYTES_MAX, PREREQUISITES_MAX, SLOTS_MAX,
  TEXT_BYTES_MAX, TOLERANCES_MAX, TYPES_MAX,
} from './limits'
import { Kind, Phase } from './phase'
import { fieldCount, isDiscrete } from './state'

/** What a program is for. The first eight number a type's own footprints, the rest are unions of them. */
export enum Role {
  bounds = 0,
  support,
  gate,
  holds,
  done,
  effect,
  watches,
  tolerance,
  /** Judged at admission: support and watches. */
  admission,
  /** The same with the gate clauses. */
  admission_gate,
  /** Judged in the gate. */
  crossing,
  /** Judged before each further frame of a command, and of a setpoint. */
  command,
  setpoint,
  /** A frame of a contingency: no state, no payload. */
  contingency,
  /** A predicate of a rule: the present alone; its footprint is its own and no type's. */
  predicate,
}

/** What a program over no payload belongs to. */
export const NO_TYPE: u32 = u32.MAX_VALUE

/** Why something of an image was refused. */
export enum Fault {
  none = 0,
  unknown_opcode,
  field_out_of_range,
  slot_out_of_range,
  slot_of_other_kind,
  not_discrete,
  not_allowed_here,
  stack_underflow,
  stack_too_deep,
  result_not_one,
  text_out_of_range,
  too_many_words,
  too_many_programs,
  too_many_clauses,
  clauses_out_of_order,
  too_many_frames,
  too_many_entries,
  too_many_entries_in_all,
  too_many_tolerances,
  too_many_fields,
  too_many_types,
  too_many_slots,
  too_many_contingencies,
  too_many_predicates,
  entry_out_of_range,
  format_out_of_range,
  record_too_large,
  type_out_of_range,
  phase_out_of_range,
  requires_not_allowed,
  value_out_of_range,
}

/** A bit for each tolerance of an angle. */
const TOLERANCE_ANGLES: usize = 12
const PATIENCE: usize = 16
const CLAUSE_COUNTS: usize = 24
const CLAUSE_FIRSTS: usize = 44
const FRAMES: usize = 64
const WATCH_COUNT: usize = 68
const CITED_COUNT: usize = 72
const VERSION_COUNT: usize = 76
const TOLERANCE_COUNT: usize = 80
const REQUIRES_COUNT: usize = 84
const READS_RECORD: usize = 88
const CITED_AT: usize = 92
const VERSIONS_AT: usize = 96
const PREREQUISITES_AT: usize = 100
const PHASES: usize = 104
const REQUIRES: usize = 168
const WATCHES: usize = 232
const CITED: usize = 296
const VERSIONS: usize = 360
const INVERSE: usize = 616
const CLAUSES: usize = 872
const TOLERANCE_FIELDS: usize = 1000
const TOLERANCES: usize = 1016
const FRAME_TABLE: usize = 1144
const FOOTPRINTS: usize = 1336

/** Bytes of a binding record before its sections. */
export const RECORD_HEADER: u32 = 80
/** What a type's own sections may take, so that the largest payload and the most prerequisites always fit. */
const SECTIONS_END_MAX: u32 =
  <u32>RECORD_BYTES - 8 * PREREQUISITES_MAX - (TEXT_BYTES_MAX + PLAN_BYTES_MAX + PAYLOAD_BYTES_MAX)

let types: u32 = 0
let sealed: bool = false

// @ts-ignore: decorator
@inline
function at(type: u32): usize {
  return TYPES_AT + <usize>type * TYPE_BYTES
}

// @ts-ignore: decorator
@inline
export function kindOf(type: u32): Kind {
  return load<u32>(at(type))
}
// @ts-ignore: decorator
@inline
export function slotsOf(type: u32): u32 {
  return load<u32>(at(type), 4)
}
// @ts-ignore: decorator
@inline
export function stringsOf(type: u32): u32 {
  return load<u32>(at(type), 8)
}
// @ts-ignore: decorator
@inline
export function patienceOf(type: u32): f64 {
  return load<f64>(at(type), PATIENCE)
}
// @ts-ignore: decorator
@inline
export function clauseCount(type: u32, role: Role): u32 {
  return load<u32>(at(type) + (<usize>role << 2), CLAUSE_COUNTS)
}
/** The program of the role's i-th clause. */
// @ts-ignore: decorator
@inline
export function clauseOf(type: u32, role: Role, i: u32): u32 {
  const first = load<u32>(at(type) + (<usize>role << 2), CLAUSE_FIRSTS)
  return load<u16>(at(type) + ((first + i) << 1), CLAUSES)
}
// @ts-ignore: decorator
@inline
export function frameCount(type: u32): u32 {
  return load<u32>(at(type), FRAMES)
}
// @ts-ignore: decorator
@inline
export function frameOf(type: u32, index: u32): usize {
  return at(type) + FRAME_TABLE + <usize>index * FRAME_BYTES
}
// @ts-ignore: decorator
@inline
export function watchCount(type: u32): u32 {
  return load<u32>(at(type), WATCH_COUNT)
}
// @ts-ignore: decorator
@inline
export function watchOf(type: u32, i: u32): u32 {
  return load<u8>(at(type) + i, WATCHES)
}
// @ts-ignore: decorator
@inline
export function citedCount(type: u32): u32 {
  return load<u32>(at(type), CITED_COUNT)
}
// @ts-ignore: decorator
@inline
export function citedOf(type: u32, i: u32): u32 {
  return load<u8>(at(type) + i, CITED)
}
/** Where in a record's cited section a field stands. */
// @ts-ignore: decorator
@inline
export function citedIndex(type: u32, field: u32): u32 {
  return load<u8>(at(type) + field, INVERSE)
}
// @ts-ignore: decorator
@inline
export function versionCount(type: u32): u32 {
  return load<u32>(at(type), VERSION_COUNT)
}
// @ts-ignore: decorator
@inline
export function versionFieldOf(type: u32, i: u32): u32 {
  return load<u8>(at(type) + i, VERSIONS)
}
// @ts-ignore: decorator
@inline
export function toleranceCount(type: u32): u32 {
  return load<u32>(at(type), TOLERANCE_COUNT)
}
// @ts-ignore: decorator
@inline
export function toleranceFieldOf(type: u32, i: u32): u32 {
  return load<u8>(at(type) + i, TOLERANCE_FIELDS)
}
// @ts-ignore: decorator
@inline
export function toleranceOf(type: u32, i: u32): f64 {
  return load<f64>(at(type) + (i << 3), TOLERANCES)
}
/** Is it degrees, to be measured the short way round? */
// @ts-ignore: decorator
@inline
export function isToleranceOfAngle(type: u32, i: u32): bool {
  return ((load<u32>(at(type), TOLERANCE_ANGLES) >>> i) & 1) != 0
}
// @ts-ignore: decorator
@inline
export function requiresCount(type: u32): u32 {
  return load<u32>(at(type), REQUIRES_COUNT)
}
// @ts-ignore: decorator
@inline
export function requiresOf(type: u32, i: u32): u32 {
  return load<u8>(at(type) + i, REQUIRES)
}
/** The phase that a prerequisite of type `other` must have reached; none if it may not be named. */
// @ts-ignore: decorator
@inline
export function phaseNeeded(type: u32, other: u32): Phase {
  return load<u8>(at(type) + other, PHASES)
}
/** Does a clause of the role read the binding record (payload or cited)? */
// @ts-ignore: decorator
@inline
export function readsRecord(type: u32, role: Role): bool {
  return (load<u32>(at(type), READS_RECORD) & (1 << role)) != 0
}
/** What is released of the type stands by itself: it is a notice or a report whose support reads nothing of its record. */
export function settles(type: u32): bool {
  return (kindOf(type) == Kind.notice || kindOf(type) == Kind.report) && !readsRecord(type, Role.support)
}
// @ts-ignore: decorator
@inline
export function citedSection(type: u32): u32 {
  return load<u32>(at(type), CITED_AT)
}
// @ts-ignore: decorator
@inline
export function versionsSection(type: u32): u32 {
  return load<u32>(at(type), VERSIONS_AT)
}
// @ts-ignore: decorator
@inline
export function prerequisitesSection(type: u32): u32 {
  return load<u32>(at(type), PREREQUISITES_AT)
}

// Footprints: three 256-bit masks each, `now` (known and fresh), `known` (only known), `cited` (fresh at the snapshot).

// @ts-ignore: decorator
@inline
export function footprintAt(type: u32, role: Role): usize {
  return at(type) + FOOTPRINTS + <usize>role * FOOTPRINT_BYTES
}
// @ts-ignore: decorator
@inline
export function readsNow(type: u32, role: Role, word: u32): u64 {
  return load<u64>(footprintAt(type, role) + (word << 3))
}
// @ts-ignore: decorator
@inline
export function readsKnown(type: u32, role: Role, word: u32): u64 {
  return load<u64>(footprintAt(type, role) + (word << 3), 32)
}
// @ts-ignore: decorator
@inline
export function readsCited(type: u32, role: Role, field: u32): bool {
  return ((load<u64>(footprintAt(type, role) + ((field >>> 6) << 3), 64) >>> (field & 63)) & 1) != 0
}

function mark(footprint: usize, field: u32, tense: usize): void {
  const word = footprint + ((field >>> 6) << 3) + tense
  store<u64>(word, load<u64>(word) | (<u64>1 << (field & 63)))
}
export function markNow(footprint: usize, field: u32): void {
  mark(footprint, field, 0)
}
export function markKnown(footprint: usize, field: u32): void {
  mark(footprint, field, 32)
}
export function markCited(footprint: usize, field: u32): void {
  mark(footprint, field, 64)
}
export function markRecord(type: u32, role: Role): void {
  store<u32>(at(type), load<u32>(at(type), READS_RECORD) | (1 << role), READS_RECORD)
}

function unite(type: u32, into: Role, from: Role): void {
  const a = footprintAt(type, into)
  const b = footprintAt(type, from)
  for (let i: usize = 0; i < FOOTPRINT_BYTES; i += 8) store<u64>(a + i, load<u64>(a + i) | load<u64>(b + i))
}

// Loading

export function isSealed(): bool {
  return sealed
}
export function typeCount(): u32 {
  return types
}

export function declareTypes(count: u32): Fault {
  assert(!sealed)
  if (count > TYPES_MAX) return Fault.too_many_types
  types = count
  return Fault.none
}

/** `strings` has a bit for each slot that is a string. */
export function declareType(type: u32, kind: u32, slots: u32, strings: u32, patience_ms: f64): Fault {
  assert(!sealed && type < types)
  if (kind > <u32>Kind.setpoint) return Fault.value_out_of_range
  if (slots > SLOTS_MAX) return Fault.too_many_slots
  if (!(patience_ms >= 0)) return Fault.value_out_of_range
  const t = at(type)
  store<u32>(t, kind)
  store<u32>(t, slots, 4)
  store<u32>(t, strings, 8)
  store<f64>(t, patience_ms, PATIENCE)
  return Fault.none
}

/** Clauses come in the order of their roles: bounds, support, gate, holds, done. */
export function addClause(type: u32, role: Role, program: u32): Fault {
  assert(!sealed && type < types)
  if (role > Role.done) return Fault.not_allowed_here
  let before: u32 = 0
  for (let r: Role = Role.bounds; r <= Role.done; r++) {
    if (r <= role) before += clauseCount(type, r)
    else if (clauseCount(type, r) != 0) return Fault.clauses_out_of_order
  }
  if (before >= CLAUSES_MAX) return Fault.too_many_clauses
  if (role == Role.done && clauseCount(type, role) != 0) return Fault.too_many_clauses
  const count = clauseCount(type, role)
  const slot = at(type) + (<usize>role << 2)
  store<u32>(slot, before - count, CLAUSE_FIRSTS)
  store<u32>(slot, count + 1, CLAUSE_COUNTS)
  store<u16>(at(type) + (before << 1), <u16>program, CLAUSES)
  return Fault.none
}

/** A watched field is read in both tenses. */
export function addWatch(type: u32, field: u32): Fault {
  assert(!sealed && type < types)
  if (field >= fieldCount()) return Fault.field_out_of_range
  if (!isDiscrete(field)) return Fault.not_discrete
  const count = watchCount(type)
  if (count >= CITED_MAX) return Fault.too_many_fields
  store<u8>(at(type) + count, <u8>field, WATCHES)
  store<u32>(at(type), count + 1, WATCH_COUNT)
  markNow(footprintAt(type, Role.watches), field)
  markCited(footprintAt(type, Role.watches), field)
  return Fault.none
}

export function addMayRequire(type: u32, other: u32, phase: u32): Fault {
  assert(!sealed && type < types)
  if (other >= types) return Fault.type_out_of_range
  if (phase < <u32>Phase.retained || phase > <u32>Phase.completed) return Fault.phase_out_of_range
  store<u8>(at(type) + other, <u8>phase, PHASES)
  return Fault.none
}

/** After all that it may require. */
export function addRequires(type: u32, other: u32): Fault {
  assert(!sealed && type < types)
  if (other >= types) return Fault.type_out_of_range
  if (phaseNeeded(type, other) == Phase.none) return Fault.requires_not_allowed
  const count = requiresCount(type)
  if (count >= TYPES_MAX) return Fault.too_many_types
  store<u8>(at(type) + count, <u8>other, REQUIRES)
  store<u32>(at(type), count + 1, REQUIRES_COUNT)
  return Fault.none
}

/** `angle`: degrees, measured the short way round. */
export function addTolerance(type: u32, field: u32, value: f64, angle: bool): Fault {
  assert(!sealed && type < types)
  if (field >= fieldCount()) return Fault.field_out_of_range
  if (!(value >= 0)) return Fault.value_out_of_range
  const count = toleranceCount(type)
  if (count >= TOLERANCES_MAX) return Fault.too_many_tolerances
  store<u8>(at(type) + count, <u8>field, TOLERANCE_FIELDS)
  store<f64>(at(type) + (count << 3), value, TOLERANCES)
  if (angle) store<u32>(at(type), load<u32>(at(type), TOLERANCE_ANGLES) | (1 << count), TOLERANCE_ANGLES)
  store<u32>(at(type), count + 1, TOLERANCE_COUNT)
  markNow(footprintAt(type, Role.tolerance), field)
  return Fault.none
}

/** A frame's header: message, length, stamp, sends, first entry, entries. `sends` is u32.MAX_VALUE for a stream. */
export function setFrame(frame: usize, message: u32, length: u32, stamp: i32, sends: u32, firstEntry: u32): Fault {
  if (message > 0xffffff || length > FRAME_BYTES_MAX || sends == 0) return Fault.value_out_of_range
  if (stamp < -1 || (stamp >= 0 && stamp > <i32>length - 4)) return Fault.entry_out_of_range
  store<u32>(frame, message)
  store<u32>(frame, length, 4)
  store<i32>(frame, stamp, 8)
  store<u32>(frame, sends, 12)
  store<u32>(frame, firstEntry, 16)
  store<u32>(frame, 0, 20)
  return Fault.none
}

export function addFrame(type: u32, message: u32, length: u32, stamp: i32, sends: u32, firstEntry: u32): Fault {
  assert(!sealed && type < types)
  const count = frameCount(type)
  if (count >= FRAMES_MAX) return Fault.too_many_frames
  const fault = setFrame(frameOf(type, count), message, length, stamp, sends, firstEntry)
  if (fault == Fault.none) store<u32>(at(type), count + 1, FRAMES)
  return fault
}

/** Unites the footprints and lays out the type's binding record. The last step for a type. */
export function layOut(type: u32): Fault {
  assert(!sealed && type < types)
  unite(type, Role.admission, Role.support)
  unite(type, Role.admission, Role.watches)
  unite(type, Role.admission_gate, Role.admission)
  unite(type, Role.admission_gate, Role.gate)
  unite(type, Role.command, Role.admission)
  unite(type, Role.command, Role.tolerance)
  unite(type, Role.setpoint, Role.admission_gate)
  unite(type, Role.setpoint, Role.tolerance)
  unite(type, Role.crossing, Role.setpoint)
  unite(type, Role.crossing, Role.effect)

  let cited: u32 = 0
  let versions: u32 = 0
  for (let field: u32 = 0; field < fieldCount(); field++) {
    const word = field >>> 6
    const bit = <u64>1 << (field & 63)
    let read: u64 = 0
    let past = false
    for (let role: Role = Role.bounds; role <= Role.tolerance; role++) {
      read |= readsNow(type, role, word) | readsKnown(type, role, word)
      past = past || readsCited(type, role, field)
    }
    if (past) {
      if (cited >= CITED_MAX) return Fault.too_many_fields
      store<u8>(at(type) + cited, <u8>field, CITED)
      store<u8>(at(type) + field, <u8>cited, INVERSE)
      cited++
    }
    if (isDiscrete(field) && (past || (read & bit) != 0)) {
      store<u8>(at(type) + versions, <u8>field, VERSIONS)
      versions++
    }
  }
  const citedAt = RECORD_HEADER + 8 * slotsOf(type)
  const versionsAt = citedAt + 16 * cited
  const end = versionsAt + 8 * ((versions + 1) >>> 1)
  if (end > SECTIONS_END_MAX) return Fault.record_too_large
  store<u32>(at(type), cited, CITED_COUNT)
  store<u32>(at(type), versions, VERSION_COUNT)
  store<u32>(at(type), citedAt, CITED_AT)
  store<u32>(at(type), versionsAt, VERSIONS_AT)
  store<u32>(at(type), end, PREREQUISITES_AT)
  return Fault.none
}

/** No more is loaded from here on. */
export function seal(): void {
  assert(!sealed)
  sealed = true
}
