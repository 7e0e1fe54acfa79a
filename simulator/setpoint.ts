// What PX4 makes of a position target: which of its numbers count, in which frame, and the two that it gets wrong.

import { common } from 'node-mavlink'
import type { Demand, HorizontalDemand, VerticalDemand } from './body.ts'
import { type Place, type Vector, vectorTo } from './geodesy.ts'

/** A received target, with NaN for whatever its mask ignores. */
export interface Setpoint {
  readonly north: number
  readonly east: number
  readonly down: number
  readonly velocityNorth: number
  readonly velocityEast: number
  readonly velocityDown: number
  /** rad */
  readonly yaw: number
  /** rad/s */
  readonly yawRate: number
}

const LOCAL_NED = 1
const BODY_NED = 8
const GLOBAL_FRAMES = [0, 5]
const RELATIVE_FRAMES = [3, 6]
const POSITION_SPEED_MPS = 10
const VELOCITY_ACCELERATION_MPS2 = 3
/** Frame 6 asked for 8 m and held 2.7. */
const RELATIVE_ERROR_M = -5.3
/** A pure velocity setpoint of 0 down drifts 3 m in 15 s. */
const VELOCITY_DRIFT_MPS = 0.2

export type TargetMessage = common.SetPositionTargetLocalNed | common.SetPositionTargetGlobalInt

/** The setpoint in metres from `origin`; undefined where PX4 ignores it: a frame that it does not know, or nothing to follow. */
export function readSetpoint(
  target: TargetMessage,
  origin: Place,
  home: Place,
  heading_rad: number,
): Setpoint | undefined {
  const frame = target.coordinateFrame as number
  const mask = target.typeMask as number
  const unless = (bit: number, value: number): number => ((mask >> bit) & 1 ? Number.NaN : value)
  let position: Vector
  let vx = target.vx
  let vy = target.vy
  if (target instanceof common.SetPositionTargetGlobalInt) {
    const relative = RELATIVE_FRAMES.includes(frame)
    if (!relative && !GLOBAL_FRAMES.includes(frame)) return undefined
    const amsl = relative ? home.amsl + target.alt + RELATIVE_ERROR_M : target.alt
    // A latitude and longitude of exactly 0 is a place like any other, far away: the vehicle flies off to it.
    position = vectorTo(origin, { lat: target.latInt / 1e7, lon: target.lonInt / 1e7, amsl })
  } else {
    if (frame !== LOCAL_NED && frame !== BODY_NED) return undefined
    position = { north: target.x, east: target.y, down: target.z }
    if (frame === BODY_NED) {
      // Body positions are not followed; body velocities turn with the nose.
      position = { north: Number.NaN, east: Number.NaN, down: Number.NaN }
      vx = target.vx * Math.cos(heading_rad) - target.vy * Math.sin(heading_rad)
      vy = target.vx * Math.sin(heading_rad) + target.vy * Math.cos(heading_rad)
    }
  }
  const setpoint: Setpoint = {
    north: unless(0, position.north),
    east: unless(1, position.east),
    down: unless(2, position.down),
    velocityNorth: unless(3, vx),
    velocityEast: unless(4, vy),
    velocityDown: unless(5, target.vz),
    yaw: unless(10, target.yaw),
    yawRate: unless(11, target.yawRate),
  }
  const followed =
    Number.isFinite(setpoint.north + setpoint.east) ||
    Number.isFinite(setpoint.velocityNorth + setpoint.velocityEast) ||
    Number.isFinite(setpoint.down) ||
    Number.isFinite(setpoint.velocityDown)
  return followed ? setpoint : undefined
}

export function demandOf(setpoint: Setpoint): Demand {
  const { north, east, down, velocityNorth, velocityEast, velocityDown } = setpoint
  let horizontal: HorizontalDemand = { kind: 'brake' }
  if (Number.isFinite(north + east)) horizontal = { kind: 'position', north, east, speed_mps: POSITION_SPEED_MPS }
  else if (Number.isFinite(velocityNorth + velocityEast)) {
    horizontal = { kind: 'velocity', north: velocityNorth, east: velocityEast }
  }
  const climb = Number.isFinite(velocityDown) ? velocityDown + VELOCITY_DRIFT_MPS : 0
  const vertical: VerticalDemand = Number.isFinite(down)
    ? { kind: 'height', down }
    : { kind: 'velocity', down: climb, acceleration: VELOCITY_ACCELERATION_MPS2 }
  return { horizontal, vertical }
}
