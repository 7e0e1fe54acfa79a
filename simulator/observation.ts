// What a test may know of the simulated vehicle without asking over the link.

import type { CopterMode } from './copter-mode.ts'
import type { Place, Vector } from './geodesy.ts'
import type { Px4Mode } from './mode.ts'
import type { Setpoint, TargetMessage } from './setpoint.ts'
import type { LandedState } from './telemetry.ts'

/** A mode by the autopilot's own name: HALO's common vocabulary is a translation, and the double inherits no mistake of it. */
export type VehicleMode = Px4Mode | CopterMode

export interface SetpointObservation {
  readonly at_ms: number
  readonly system: number
  readonly component: number
  readonly message: 'SET_POSITION_TARGET_LOCAL_NED' | 'SET_POSITION_TARGET_GLOBAL_INT'
  readonly values: TargetMessage
  /** MAV_FRAME and type mask of the message. */
  readonly frame: number
  readonly mask: number
  /** What the vehicle makes of it; undefined: ignored. */
  readonly target: Setpoint | undefined
  /** Mode and arming at its arrival. */
  readonly mode: VehicleMode
  readonly armed: boolean
  readonly datagram: Uint8Array
}

export interface CommandObservation {
  readonly at_ms: number
  readonly system: number
  readonly component: number
  /** MAV_CMD */
  readonly command: number
  readonly params: readonly number[]
  /** MAV_RESULT of the acknowledgement, sent or lost. */
  readonly result: number
  /** Mode and arming at its arrival. */
  readonly mode: VehicleMode
  readonly armed: boolean
  readonly datagram: Uint8Array
}

/** A DO_SET_SERVO or DO_GRIPPER that had its effect. */
export interface ReleaseObservation {
  readonly at_ms: number
  /** MAV_CMD */
  readonly command: number
  readonly params: readonly number[]
}

export interface ModeObservation {
  readonly at_ms: number
  readonly mode: VehicleMode
  readonly intended: VehicleMode
}

export interface ArmingObservation {
  readonly at_ms: number
  readonly armed: boolean
}

export interface TextObservation {
  readonly at_ms: number
  readonly severity: number
  readonly text: string
}

export interface Observations {
  readonly setpoints: readonly SetpointObservation[]
  readonly commands: readonly CommandObservation[]
  readonly releases: readonly ReleaseObservation[]
  /** Every change of the mode or the intended mode. */
  readonly modes: readonly ModeObservation[]
  readonly armings: readonly ArmingObservation[]
  readonly texts: readonly TextObservation[]
  /** Heartbeats received of others, by `system/component`. */
  readonly heartbeats: ReadonlyMap<string, number>
  /** Datagrams that were no frame, or had a wrong CRC. */
  readonly malformed: number
  /** Frames dropped on a signed link: unsigned, signed with another key, or older than what was accepted before. */
  readonly unsigned: number
  /** False from a `reboot` or a crash until it boots again. */
  readonly running: boolean
  readonly mode: VehicleMode
  /** ArduPilot has none of its own: the mode. */
  readonly intended: VehicleMode
  readonly armed: boolean
  readonly landed: LandedState
  readonly ready: boolean
  readonly critical: boolean
  /** Without wandering. */
  readonly position: Place
  readonly height_m: number
  readonly velocity: Vector
  readonly home: Place | undefined
  readonly battery_percent: number
}

/** Each list keeps the newest half when it has grown to this. */
const OBSERVATIONS_MAX = 200_000

export function observe<T>(list: T[], entry: T): void {
  list.push(entry)
  if (list.length >= OBSERVATIONS_MAX) list.splice(0, OBSERVATIONS_MAX / 2)
}
