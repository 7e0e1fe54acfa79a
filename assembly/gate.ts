// The final dispatch gate (PROTOCOL 7), and the checks of each further frame (PROTOCOL 8). What speaks first decides.

import {
  isIntact, prerequisiteCount, prerequisitePhase, prerequisiteSequence, prerequisiteSlot, recordOf, recordType,
} from './binding'
import { clauseCount, clauseOf, frameCount, kindOf, patienceOf, readsRecord, Role } from './catalog'
import { isAction } from './admission'
import { closeLease, draft, freeLease, hand, leaseIntact, openLease, outOfTolerance } from './effect'
import { OUTPUT_AT } from './layout'
import {
  awaitedSince, digestOf, find, hasEnded, isSettled, lease, leaseOf, NOWHERE, reachedBy, recordLength, revoke, sequenceOf, setAwaited,
  setLease, settledType, Token, tokenOf, typeOf,
} from './ledger'
import { INSTANCES_MAX } from './limits'
import { Kind, Phase } from './phase'
import { evaluate, see, setElapsed } from './program'
import { Reason } from './reason'
import { look } from './state'
import { changed, detailOf, firstFallen, unseen, unsupported } from './support'

export enum Decision {
  allow = 0,
  deny,
  defer,
}

// What the engine knows and the core does not; the bits of `Barrier` in src/core/core.ts.
const SESSION_CHANGED: u32 = 1 << 0
const SUPERSEDED: u32 = 1 << 1
const AGENT_REVOKED: u32 = 1 << 2
const PAUSED: u32 = 1 << 3
const PILOT_CONTROL: u32 = 1 << 4
const UNCERTAIN_OUTCOME: u32 = 1 << 5
const EXPIRED: u32 = 1 << 6
const RESOURCE_BUSY: u32 = 1 << 7
const NOT_IN_CONTROL: u32 = 1 << 8

let detail: i32 = -1

/** Writes the reason and detail to OUTPUT. */
function say(decision: Decision, reason: Reason, ofDetail: i32): Decision {
  store<u32>(OUTPUT_AT, reason)
  store<i32>(OUTPUT_AT, ofDetail, 4)
  store<u32>(OUTPUT_AT, 0, 12)
  return decision
}

/** A denial is final: the token is revoked, and a lease with it. */
function deny(slot: u32, reason: Reason, ofDetail: i32): Decision {
  closeLease(leaseOf(slot))
  setLease(slot, -1)
  revoke(slot)
  return say(Decision.deny, reason, ofDetail)
}

function identity(barriers: u32): Reason {
  if ((barriers & SESSION_CHANGED) != 0) return Reason.session_changed
  if ((barriers & SUPERSEDED) != 0) return Reason.superseded
  if ((barriers & AGENT_REVOKED) != 0) return Reason.agent_revoked
  if ((barriers & PAUSED) != 0) return Reason.paused
  if ((barriers & PILOT_CONTROL) != 0) return Reason.pilot_control
  if ((barriers & UNCERTAIN_OUTCOME) != 0) return Reason.uncertain_outcome
  return Reason.none
}

/** The slot of the i-th prerequisite, or what stands for it when it has settled; NOWHERE if that very instance is not known. */
function rests(record: usize, type: u32, i: u32): u32 {
  const slot = prerequisiteSlot(record, type, i)
  if (isSettled(slot)) return slot
  return slot < INSTANCES_MAX && sequenceOf(slot) == prerequisiteSequence(record, type, i) ? slot : NOWHERE
}

/**
 * prerequisite_failed: one ended without its phase, or is gone. Otherwise, with the first that is missing,
 * prerequisite_not_ready, or approval_pending when only requests are missing (G1).
 */
function missing(record: usize, type: u32): Reason {
  let reason = Reason.none
  for (let i: u32 = 0; i < prerequisiteCount(record); i++) {
    const slot = rests(record, type, i)
    if (isSettled(slot) || (slot != NOWHERE && reachedBy(slot) >= prerequisitePhase(record, type, i))) continue
    const sequence = prerequisiteSequence(record, type, i)
    if (slot == NOWHERE || hasEnded(slot)) {
      detail = sequence
      return Reason.prerequisite_failed
    }
    const request = kindOf(typeOf(slot)) == Kind.request
    if (reason == Reason.prerequisite_not_ready || (request && reason != Reason.none)) continue
    detail = sequence
    reason = request ? Reason.approval_pending : Reason.prerequisite_not_ready
  }
  return reason
}

/** prerequisite_lost: what a completed action `holds`, or a released report's support, is not true now (G1). */
function lost(record: usize, type: u32, now_ms: f64): Reason {
  for (let i: u32 = 0; i < prerequisiteCount(record); i++) {
    const slot = rests(record, type, i)
    if (isSettled(slot) ? staysSettled(settledType(slot), now_ms) : slot != NOWHERE && stands(slot, now_ms)) continue
    detail = prerequisiteSequence(record, type, i)
    return Reason.prerequisite_lost
  }
  return Reason.none
}

function stands(slot: u32, now_ms: f64): bool {
  const type = typeOf(slot)
  let role = Role.holds
  if (isAction(type)) {
    if (reachedBy(slot) != Phase.completed) return true
  } else {
    if (kindOf(type) != Kind.report || reachedBy(slot) < Phase.released) return true
    role = Role.support
  }
  if (clauseCount(type, role) == 0) return true
  const record = recordOf(slot)
  // A record is verified before anything is read from it; clauses over the present alone read nothing of it.
  if (readsRecord(type, role) && !isIntact(record, recordLength(slot), digestOf(slot))) return false
  if (unseen(type, role, record) != Reason.none) return false
  see(record, type, now_ms)
  return firstFallen(type, role) < 0
}

/** A settled report stands while its support does, which reads nothing of the record that is gone. */
function staysSettled(type: u32, now_ms: f64): bool {
  if (kindOf(type) != Kind.report || clauseCount(type, Role.support) == 0) return true
  if (unseen(type, Role.support, 0) != Reason.none) return false
  see(0, type, now_ms)
  return firstFallen(type, Role.support) < 0
}

/** The slot in which the last allowed `rehearse` drafted its frames. */
let room: i32 = -1

/**
 * The gate's whole decision, its final denials among it, but no crossing: nothing is leased and no frame is handed out. What
 * its frames would be is drafted in a slot that no lease uses, to see that they can be written.
 */
export function rehearse(sequence: u32, barriers: u32, now_ms: f64): Decision {
  const slot = find(sequence)
  let reason = identity(barriers)
  if (slot == NOWHERE) return say(Decision.deny, reason == Reason.none ? Reason.not_retained : reason, -1)
  const token = tokenOf(slot)
  if (reason == Reason.none) {
    if (token == Token.leased || token == Token.closed) reason = Reason.token_spent
    else if (token == Token.revoked) reason = Reason.token_revoked
    else if ((barriers & EXPIRED) != 0) reason = Reason.expired
  }
  // G3: an offer of a token that is spent changes nothing of the lease that it opened.
  if (reason != Reason.none) return token == Token.issued ? deny(slot, reason, -1) : say(Decision.deny, reason, -1)

  const record = recordOf(slot)
  if (!isIntact(record, recordLength(slot), digestOf(slot))) return deny(slot, Reason.binding_mismatch, -1)
  const type = recordType(record)

  reason = missing(record, type)
  if (reason == Reason.prerequisite_failed) return deny(slot, reason, detail)
  if (reason != Reason.none) return say(Decision.defer, reason, detail)
  const frames = frameCount(type)
  room = frames == 0 ? 0 : freeLease()
  if ((barriers & RESOURCE_BUSY) != 0 || room < 0) return say(Decision.defer, Reason.resource_busy, -1)

  look(now_ms)
  const dark = unseen(type, Role.crossing, record)
  const field = detailOf()
  if (dark != Reason.none && patienceOf(type) > 0) {
    if (isNaN(awaitedSince(slot))) setAwaited(slot, now_ms)
    if (now_ms - awaitedSince(slot) < patienceOf(type)) return say(Decision.defer, Reason.state_awaited, field)
  }

  if ((barriers & NOT_IN_CONTROL) != 0) return deny(slot, Reason.not_in_control, -1)
  if (lost(record, type, now_ms) != Reason.none) return deny(slot, Reason.prerequisite_lost, detail)
  if (dark != Reason.none) return deny(slot, dark, field)
  reason = changed(type, record)
  if (reason != Reason.none) return deny(slot, reason, detailOf())
  see(record, type, now_ms)
  reason = unsupported(type, true)
  if (reason != Reason.none) return deny(slot, reason, detailOf())

  if (frames > 0 && !draft(room, type)) return deny(slot, Reason.unencodable, -1)
  return say(Decision.allow, Reason.none, -1)
}

/** Offers a retained component. On allow its token is leased, all its frames are filled in, and the first is at OUTPUT. */
export function gate(sequence: u32, barriers: u32, now_ms: f64, stamp: u32): Decision {
  const decision = rehearse(sequence, barriers, now_ms)
  if (decision != Decision.allow) return decision
  const slot = find(sequence)
  const type = typeOf(slot)
  lease(slot)
  if (frameCount(type) == 0) return Decision.allow
  openLease(room, slot)
  setLease(slot, room)
  hand(room, type, 0, stamp)
  return Decision.allow
}

/** The next, or the same, frame of a lease. Gate clauses are judged again for setpoints only. */
export function frame(sequence: u32, index: u32, barriers: u32, now_ms: f64, stamp: u32): Decision {
  const slot = find(sequence)
  assert(slot != NOWHERE)
  const opened = tokenOf(slot) == Token.leased
  let reason = identity(barriers)
  if (reason == Reason.none && !opened) reason = Reason.token_revoked
  if (reason != Reason.none) return opened ? deny(slot, reason, -1) : say(Decision.deny, reason, -1)

  const record = recordOf(slot)
  const held = leaseOf(slot)
  if (!isIntact(record, recordLength(slot), digestOf(slot))) return deny(slot, Reason.binding_mismatch, -1)
  assert(held >= 0)
  if (!leaseIntact(held, slot)) return deny(slot, Reason.binding_mismatch, -1)
  const type = recordType(record)
  if (missing(record, type) == Reason.prerequisite_failed) return deny(slot, Reason.prerequisite_failed, detail)

  const streamed = kindOf(type) == Kind.setpoint
  if ((barriers & NOT_IN_CONTROL) != 0) return deny(slot, Reason.not_in_control, -1)
  look(now_ms)
  if (lost(record, type, now_ms) != Reason.none) return deny(slot, Reason.prerequisite_lost, detail)
  reason = unseen(type, streamed ? Role.setpoint : Role.command, record)
  if (reason == Reason.none) reason = changed(type, record)
  if (reason == Reason.none) {
    see(record, type, now_ms)
    reason = unsupported(type, streamed)
  }
  if (reason != Reason.none) return deny(slot, reason, detailOf())
  const moved = outOfTolerance(held, type)
  if (moved >= 0) return deny(slot, Reason.out_of_tolerance, moved)

  say(Decision.allow, Reason.none, -1)
  hand(held, type, index, stamp)
  return Decision.allow
}

/** `done`, judged now; false for a type that has none. */
export function done(sequence: u32, elapsed_ms: f64, now_ms: f64): bool {
  const slot = find(sequence)
  assert(slot != NOWHERE)
  const type = typeOf(slot)
  const record = recordOf(slot)
  if (clauseCount(type, Role.done) == 0) return false
  if (readsRecord(type, Role.done) && !isIntact(record, recordLength(slot), digestOf(slot))) return false
  look(now_ms)
  if (unseen(type, Role.done, record) != Reason.none) return false
  see(record, type, now_ms)
  setElapsed(elapsed_ms)
  return evaluate(clauseOf(type, Role.done, 0)) == 1
}
