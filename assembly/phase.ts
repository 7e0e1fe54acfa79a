// What a component can be and how far it can come (PROTOCOL 2 and 3).

/** The kinds of a component. `command` and `setpoint` are the two kinds of action: what they cross as differs. */
export enum Kind {
  notice = 0,
  report,
  request,
  handoff,
  command,
  setpoint,
}

/**
 * How far an instance has come. The numbers are ordered as the phases are, so "has reached" is a comparison; from
 * `withheld` on they are ends, which no further phase follows. A kind skips the phases that it does not have.
 */
export enum Phase {
  none = 0,
  retained,
  released,
  dispatched,
  acknowledged,
  completed,
  withheld = 16,
  blocked,
  failed,
  expired,
  superseded,
  uncertain,
}
