// The ABI: every export of the core stands here. A call that breaks the contract traps, and a core that trapped is not used
// again (PROTOCOL 11). `src/core/wasm.ts` is the only caller.

import * as admission from './admission'
import * as catalog from './catalog'
import * as digest from './digest'
import * as effect from './effect'
import * as gates from './gate'
import { INPUT_AT, OUTPUT_AT, proveLayout, SESSION_AT } from './layout'
import * as ledger from './ledger'
import { recordOf } from './binding'
import { Phase } from './phase'
import * as predicates from './predicate'
import * as program from './program'
import { Reason } from './reason'
import * as state from './state'

export { Reason } from './reason'
export { Kind, Phase } from './phase'
export { Fault, NO_TYPE, Role } from './catalog'
export { Op } from './program'
export { Format, Part } from './effect'
export { Validity } from './state'
export { Decision } from './gate'
export { Truth } from './predicate'
export { INPUT_AT, INPUT_EDGES_AT, INPUT_TEXT_AT, OUTPUT_AT, CANDIDATES_AT, CANDIDATE_BYTES } from './layout'
export { RECORD_HEADER } from './catalog'
export { RECORD_TYPE, RECORD_PRESENT } from './binding'
export * from './limits'

// Loading (PROTOCOL 3): in the order of these functions; what is refused says why.

/** The session (8 bytes) and the environment (32) stand at INPUT. */
export function configure(fields: u32, types: u32): catalog.Fault {
  proveLayout()
  assert(!catalog.isSealed())
  memory.copy(SESSION_AT, INPUT_AT, 40)
  state.declareFields(fields)
  return catalog.declareTypes(types)
}
export function declareField(field: u32, maxAge_ms: f64, discrete: bool): void {
  assert(!catalog.isSealed())
  state.declareField(field, maxAge_ms, discrete)
}
export function declareType(type: u32, kind: u32, slots: u32, strings: u32, patience_ms: f64): catalog.Fault {
  return catalog.declareType(type, kind, slots, strings, patience_ms)
}
export function addMayRequire(type: u32, other: u32, phase: u32): catalog.Fault {
  return catalog.addMayRequire(type, other, phase)
}
export function addRequires(type: u32, other: u32): catalog.Fault {
  return catalog.addRequires(type, other)
}
export function addWatch(type: u32, field: u32): catalog.Fault {
  return catalog.addWatch(type, field)
}
/** The program of `words` words stands at INPUT. */
export function addClause(type: u32, role: catalog.Role, words: u32): catalog.Fault {
  const fault = program.loadProgram(type, role, words)
  return fault != catalog.Fault.none ? fault : catalog.addClause(type, role, program.lastProgram())
}
export function addFrame(type: u32, message: u32, length: u32, stamp: i32, sends: u32): catalog.Fault {
  return catalog.addFrame(type, message, length, stamp, sends, effect.entryCount())
}
export function addFrameEntry(type: u32, offset: u32, format: u32, part: u32, words: u32): catalog.Fault {
  if (format == effect.Format.nan) return effect.addFrameEntry(type, offset, format, part, 0)
  const fault = program.loadProgram(type, catalog.Role.effect, words)
  return fault != catalog.Fault.none ? fault : effect.addFrameEntry(type, offset, format, part, program.lastProgram())
}
export function addTolerance(type: u32, field: u32, value: f64, angle: bool): catalog.Fault {
  return catalog.addTolerance(type, field, value, angle)
}
export function layOut(type: u32): catalog.Fault {
  return catalog.layOut(type)
}
export function addContingency(message: u32, length: u32): catalog.Fault {
  return effect.addContingency(message, length)
}
export function addContingencyEntry(offset: u32, format: u32, part: u32, words: u32): catalog.Fault {
  if (format == effect.Format.nan) return effect.addContingencyEntry(offset, format, part, 0)
  const fault = program.loadProgram(catalog.NO_TYPE, catalog.Role.contingency, words)
  return fault != catalog.Fault.none ? fault : effect.addContingencyEntry(offset, format, part, program.lastProgram())
}
/** Of a type, or of NO_TYPE: over state alone. */
export function addPredicate(type: u32, words: u32): catalog.Fault {
  const fault = program.loadProgram(type, catalog.Role.predicate, words)
  return fault != catalog.Fault.none ? fault : predicates.addPredicate(type, program.lastProgram())
}
export function seal(): void {
  catalog.seal()
}
export function setTarget(system: u32, component: u32): void {
  program.setTarget(system, component)
}

// State (PROTOCOL 2)

export function observe(field: u32, value: f64, received_ms: f64): void {
  state.observe(field, value, received_ms)
}
/** OUTPUT:  value f64 · age f64 · version u32. */
export function read(field: u32, now_ms: f64): state.Validity {
  assert(field < state.fieldCount())
  state.advance(now_ms)
  store<f64>(OUTPUT_AT, state.valueOf(field))
  store<f64>(OUTPUT_AT, now_ms - state.receivedOf(field), 8)
  store<u32>(OUTPUT_AT, state.versionOf(field), 16)
  return state.validityOf(field, now_ms)
}
export function snapshot(now_ms: f64): u32 {
  state.advance(now_ms)
  return state.takeSnapshot(now_ms)
}
export function taken(ordinal: u32): f64 {
  return state.takenAt(ordinal)
}

// Admission (PROTOCOL 5)

export function instancesLeft(): u32 {
  return ledger.instancesLeft()
}
export function edgesLeft(): u32 {
  return ledger.edgesLeft()
}
export function openAdmission(
  candidates: u32, standing: u32, agent: u32, generation: f64, snapshot: u32, planBytes: u32, now_ms: f64,
): void {
  state.advance(now_ms)
  admission.open(candidates, standing, agent, generation, snapshot, planBytes, now_ms)
}
export function addCandidate(
  type: u32, form: Reason, scope: Reason, barrier: Reason, present: u32, idBytes: u32, textBytes: u32, prerequisites: u32,
): void {
  admission.addCandidate(type, form, scope, barrier, present, idBytes, textBytes, prerequisites)
}
export function addStanding(sequence: u32, prerequisites: u32): void {
  admission.addStanding(sequence, prerequisites)
}
export function addSettled(sequence: u32, type: u32): void {
  admission.addSettled(sequence, type)
}
export function judge(): void {
  admission.judge()
}
export function bindRetained(): void {
  admission.bindRetained()
}

// The gate and the ledger (PROTOCOL 6, 7, 8)

export function gate(sequence: u32, barriers: u32, now_ms: f64, stamp: u32): gates.Decision {
  state.advance(now_ms)
  return gates.gate(sequence, barriers, now_ms, stamp)
}
export function rehearse(sequence: u32, barriers: u32, now_ms: f64): gates.Decision {
  state.advance(now_ms)
  return gates.rehearse(sequence, barriers, now_ms)
}
export function frame(sequence: u32, index: u32, barriers: u32, now_ms: f64, stamp: u32): gates.Decision {
  state.advance(now_ms)
  return gates.frame(sequence, index, barriers, now_ms, stamp)
}
export function done(sequence: u32, elapsed_ms: f64, now_ms: f64): bool {
  state.advance(now_ms)
  return gates.done(sequence, elapsed_ms, now_ms)
}

/** PROTOCOL 13. */
export function predicate(index: u32, sequence: u32, now_ms: f64): predicates.Truth {
  state.advance(now_ms)
  return predicates.judge(index, sequence, now_ms)
}

function known(sequence: u32): u32 {
  const slot = ledger.find(sequence)
  assert(slot != ledger.NOWHERE)
  return slot
}
export function reach(sequence: u32, phase: Phase): void {
  ledger.reach(known(sequence), phase)
}
export function end(sequence: u32, phase: Phase): void {
  const slot = known(sequence)
  ledger.end(slot, phase)
  effect.closeLease(ledger.leaseOf(slot))
  ledger.setLease(slot, -1)
}
export function release(sequence: u32): void {
  ledger.release(known(sequence))
}
/** Addresses and lengths, for the host to read. */
export function recordAt(sequence: u32): usize {
  return recordOf(known(sequence))
}
export function recordBytes(sequence: u32): u32 {
  return ledger.recordLength(known(sequence))
}
export function bindingAt(sequence: u32): usize {
  return ledger.digestOf(known(sequence))
}

// Contingencies (PROTOCOL 8)

export function contingency(index: u32): u32 {
  return effect.grant(index)
}
export function contingencyFrame(token: u32): bool {
  return effect.redeem(token)
}

/** SHA-256 of the first `length` bytes at INPUT, to OUTPUT: for the tests of the digest. */
export function sha256(length: u32): void {
  digest.sha256(INPUT_AT, length, OUTPUT_AT)
}
