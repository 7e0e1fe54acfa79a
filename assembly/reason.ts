// Every word with which HALO says no, or says how something ended (PROTOCOL 14). This is the only list: the build exports
// it from the module, generates the host's constants from there, and verdicts, outcomes, logs and documentation use those.

export enum Reason {
  none = 0,

  // A response rejected as a whole (PROTOCOL 4), in the order in which it is judged.
  retained_message,
  too_large,
  malformed,
  unknown_agent,
  agent_revoked,
  rate_limited,
  response_not_fresh,
  generation_not_fresh,
  unknown_snapshot,
  evidence_expired,
  no_such_plan,
  no_capacity,

  // Admission (PROTOCOL 5), steps 1 to 5.
  duplicate_id,
  unknown_type,
  type_not_permitted,
  payload_invalid,
  unknown_prerequisite,
  prerequisite_not_allowed,
  prerequisite_missing,
  prerequisite_cycle,
  out_of_scope,
  evidence_stale,
  attempts_exhausted,
  paused,
  pilot_control,
  state_unknown,
  state_stale,
  changed,
  unsupported,
  prerequisite_withheld,

  // The gate (PROTOCOL 7): identity, prerequisites, deferrals, the world.
  session_changed,
  superseded,
  uncertain_outcome,
  not_retained,
  token_spent,
  token_revoked,
  expired,
  binding_mismatch,
  prerequisite_failed,
  prerequisite_not_ready,
  approval_pending,
  resource_busy,
  state_awaited,
  not_in_control,
  prerequisite_lost,
  unencodable,

  // How an effect ends (PROTOCOL 8, 14).
  time_exceeded,
  tick_missed,
  out_of_tolerance,
  taken_over,
  refused,
  unacknowledged,
  link_lost,
  shutdown,
  rule,
  consent_refused,

  // How an obligation closes (PROTOCOL 9).
  recovered,
  ended,
  cleared,

  // A verb of the operator that named an older counter (PROTOCOL 10).
  operator_conflict,
}
