// What the simulated vehicle asks of an autopilot: PX4 and ArduPilot answer each in their own way.

import type { MavLinkData } from 'node-mavlink'
import type { Place, Vector } from './geodesy.ts'
import type { VehicleMode } from './observation.ts'
import type { Setpoint, TargetMessage } from './setpoint.ts'
import type { LandedState } from './telemetry.ts'

/** Where the vehicle believes that it is, and how it moves: what no autopilot adds anything to. */
export interface Sight {
  readonly place: Place
  readonly local: Vector
  readonly velocity: Vector
}

/** A parameter as the autopilot has it. */
export interface Parameter {
  readonly value: number
  /** MAV_PARAM_TYPE */
  readonly type: number
}

export interface Autopilot {
  readonly parameters: Readonly<Record<string, Parameter>>
  /** How long it takes to acknowledge. */
  readonly ack_ms: { readonly min: number; readonly max: number }
  readonly mode: VehicleMode
  readonly intended: VehicleMode
  readonly armed: boolean
  readonly critical: boolean
  readonly home: Place | undefined
  landed(now_ms: number): LandedState
  ready(now_ms: number): boolean
  /** Starts on the ground, disarmed; whatever was set before is gone. */
  boot(now_ms: number): void
  /** As somebody has flown it to this height, m. */
  raise(height_m: number, now_ms: number): void
  /** Flies on by `dt_ms`, until `now_ms`. */
  fly(dt_ms: number, now_ms: number): void
  /** Does a MAV_CMD and returns its MAV_RESULT. */
  execute(command: number, params: readonly number[], now_ms: number): number
  /** What it makes of a position target, followed or not; undefined: ignored. 'crash': it is the end of the process. */
  follow(target: TargetMessage, now_ms: number): Setpoint | 'crash' | undefined
  /** The pilot's mode switch. Throws an Error where the autopilot has no such mode. */
  pilot(mode: VehicleMode, now_ms: number): void
  gps(on: boolean, now_ms: number): void
  /** PARAM_VALUE as it answers a request of this parameter. */
  parameterMessage(id: string, parameter: Parameter): MavLinkData
  /** The messages of its streams that are due; `sight` is asked only if there are any. */
  due(now_ms: number, sight: () => Sight): MavLinkData[]
  /** REQUEST_MESSAGE: the MAV_RESULT and, where there is something to say, the message. */
  request(id: number, sight: Sight, now_ms: number): { result: number; message: MavLinkData | undefined }
}

/** The parameters with other values, where the options say so; Error where the autopilot does not have one. */
export function overridden(
  parameters: Readonly<Record<string, Parameter>>,
  values: Readonly<Record<string, number | null>> = {},
): Record<string, Parameter> {
  const changed: Record<string, Parameter> = { ...parameters }
  for (const [name, value] of Object.entries(values)) {
    const parameter = changed[name]
    if (parameter === undefined) {
      throw new Error(`simulated vehicle: no parameter "${name}", one of ${Object.keys(parameters).join(', ')}`)
    }
    if (value !== null) changed[name] = { ...parameter, value }
  }
  return changed
}
