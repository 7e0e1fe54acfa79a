// What one message of the autopilot says, as the engine takes it.

/** One reading: the number of the field in the catalog's table and its value; NaN makes it unknown. */
export interface Observation {
  readonly field: number
  readonly value: number
}

/** What one MAVLink message of the autopilot says. */
export interface Report {
  /** MAVLink message id. */
  readonly message: number
  readonly observations: readonly Observation[]
  /** The target that the autopilot says it flies to: somebody else's shows here. */
  readonly target: ReportedTarget | undefined
}

/** A place, in as many frames as it can be told in, or a velocity. */
export interface ReportedTarget {
  /** deg */
  readonly lat?: number
  readonly lon?: number
  /** m in the local frame */
  readonly north?: number
  readonly east?: number
  /** m/s, where no place is meant */
  readonly velocity?: { readonly north: number; readonly east: number }
}
