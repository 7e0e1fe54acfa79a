// What each reason means and what to do about it, in the words that agents are given with their catalog (PROTOCOL 12, 14). One list:
// the table of PROTOCOL 14 has the same sentences.

import type { ReasonWord } from '../../build/abi.ts'

/** Those that an agent never hears: there was none, the core's callers or the operator alone hear it, or it is not given yet. */
type Unheard = 'none' | 'not_retained' | 'token_spent' | 'token_revoked' | 'operator_conflict' | 'cleared'

export const REMEDIES: Readonly<Record<Exclude<ReasonWord, Unheard>, string>> = {
  retained_message:
    'Delivered as a retained message. Publish without the retain flag, and clear what the broker keeps.',
  too_large: 'A limit of size; the detail names it. Say less, in several responses.',
  malformed:
    'Not CBOR as the protocol has it, or not the shape of a response. The detail names byte or key: fix the encoder, or fill in the schema.',
  unknown_agent: 'The catalog has no such agent. Check the topic, or add the agent.',
  agent_revoked:
    'The operator, or a trap of the core, has revoked the agent. Say nothing until a person has said `operator/restore`.',
  rate_limited: "More than the agent's `rate`. Wait for the next snapshot.",
  response_not_fresh: 'This name was accepted before. Use a new one.',
  generation_not_fresh:
    "Not greater than the last accepted one, which the detail and the snapshot's `agents` show. Count on from there; after 9007199254740991 comes none, and only a new session (`operator/restart`) begins again at 1.",
  unknown_snapshot: 'Not of this session, or no longer kept. Cite the newest `snapshot`.',
  evidence_expired: 'The cited snapshot is older than `evidence.max_age`. Look again, and plan again.',
  no_such_plan: '`recovers` names no live plan of this agent. Start a new plan, without `recovers`.',
  no_capacity:
    "The agent's own part is full; the detail has the numbers. Let things end, say less at once, or start a new plan, which ends the old one. Detail `consents`: four of the agent's consents wait already, or this one has no room beside them.",
  duplicate_id: 'An id stands twice in the response. Give each component an id of its own.',
  unknown_type:
    'No such type in the catalog; the detail repeats it, and names those of yours that are near. Use a type of your catalog.',
  type_not_permitted: "Not under the agent's `may`. Use a type of your catalog; what is missing there a person adds.",
  payload_invalid:
    'A field is missing, unknown, of the wrong type, no finite number or out of bounds; the detail says which and the bound. Recover it with that field set right.',
  unknown_prerequisite:
    '`requires` names an id that is neither in the response nor kept in the plan, or gave way since it completed. Bring that one again, or leave it out.',
  prerequisite_not_allowed:
    "The type's `may_require` does not list the type of the one named. Leave it out of `requires`.",
  prerequisite_missing:
    'The type must name a component of the type in the detail. Bring one, and name it under `requires`.',
  prerequisite_cycle: 'Components wait for each other in a circle. Take one of the `requires` away.',
  out_of_scope:
    'A recovery brought an action or handoff that no open obligation covers. Bring what `scope` lists, or start a new plan.',
  evidence_stale:
    'The snapshot is not later than the obligation, or than a contingency that landed or came home. Cite the newest.',
  attempts_exhausted:
    'Three recoveries of this type without one completed. Leave it: the operator looks, then says `operator/clear`.',
  paused: 'The operator has paused. Wait for `resume`; notices and reports still pass.',
  pilot_control:
    'The pilot, a failsafe or a handoff has the vehicle, or there was an alarm. Wait for `resume`; notices and reports still pass.',
  state_unknown: 'The field in the detail has no value. Check its source; wait until a snapshot has it, and recover.',
  state_stale:
    "The field in the detail is older than its `max_age`. Check the message's rate and the link; wait until a snapshot has it, and recover.",
  changed: 'A watched field has another version than in the cited snapshot. Read the new one and plan anew.',
  unsupported:
    'The clause in the detail does not hold, for the values beside it. The obligation has its text and all values. Change the payload so that it holds, or wait for the world to, and recover.',
  prerequisite_withheld: 'It rests on a withheld one, named by `cause`. Recover both.',
  session_changed: 'The session it belonged to is over. Begin again from the newest snapshot.',
  superseded: 'A newer plan, or a newer candidate with its id, has taken its place. Nothing is to be done.',
  uncertain_outcome:
    'Nobody knows whether the last one of this irreversible type happened, or the journal cannot be written or does not answer (detail). Leave it: the operator looks, then says `operator/clear`.',
  expired: '`wait` or `expires` was over before it could cross; for an obligation, its 10 minutes. Propose it again.',
  binding_mismatch:
    'Record or frames are not what was bound: memory is corrupt. Stop; a person restarts, and reports it.',
  prerequisite_failed: 'What it rests on, named in the detail, ended without its phase. Recover that one and this.',
  prerequisite_not_ready: 'It waits for the one in the detail. Wait.',
  approval_pending:
    'It waits for a person only: for a request that it requires, or for the rules in the detail. Wait; `control` shows it.',
  resource_busy: 'Another effect or a contingency holds the resource, or the same MAV_CMD is unanswered. Wait.',
  state_awaited:
    'A field, named in the detail, is unknown or stale; `patience` has not run out. Wait. Detail `mode`: behind a stall it must be heard first.',
  not_in_control:
    'The mode guard: the mode is not ours, not settled, not fresh, or the system is critical. Wait for HOLD, and recover. With a parameter in the detail: the preflight, for whoever can set it.',
  prerequisite_lost:
    "What the one in the detail `holds`, or a report's support, is no longer true. Bring that about again: recover with a fresh one of it.",
  unencodable:
    'A value does not fit its frame, is not finite, is position 0, 0 or no place on earth; or no autopilot is known yet. Change the payload, or wait for the autopilot.',
  time_exceeded: 'Not done after `within`. Look where the vehicle is, and recover with something nearer.',
  tick_missed: 'The companion was late by the time in the detail. Recover; a person looks for load on the machine.',
  out_of_tolerance:
    'The reference in the detail moved farther than `tolerance` since the first frame. Look again, and recover.',
  taken_over: 'Pilot, failsafe or another sender has the vehicle; `pilot_control` is latched. Wait for `resume`.',
  refused: 'The autopilot refused; the detail is its result. Look at the state for what it lacks, and recover.',
  unacknowledged:
    'No answer in time; `not shown`: acknowledged, but the state did not show it. Look at the state before you recover: it may have happened.',
  link_lost:
    'The frame could not be put on the wire, or nothing at all is heard of the vehicle, for as long as the detail says. Wait, and recover; a person looks at wire, plug and router, and `notice` (`kind: "link"`) says what is missing.',
  shutdown: 'The companion was stopped. Wait for `status` online and its first snapshot.',
  rule: 'The rules in the detail do not allow it, or have invoked something in its place. Propose something else.',
  consent_refused: 'A person refused the request, or what the rules in the detail hold. Do not ask the same again.',
  recovered: 'Every member of the scope has been retained afresh. Nothing is to be done.',
  ended: 'Its plan, by a handoff or a revocation, or its session has ended. Begin a new plan when you may.',
}
