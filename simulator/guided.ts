// What ArduPilot makes of a position target in GUIDED: what it flies, what means "stop", and what is the end of it.

import { common } from 'node-mavlink'
import { type Place, type Vector, vectorTo } from './geodesy.ts'
import type { Setpoint, TargetMessage } from './setpoint.ts'

const { MavFrame } = common
const AMSL: readonly number[] = [MavFrame.GLOBAL, MavFrame.GLOBAL_INT]
const RELATIVE: readonly number[] = [MavFrame.GLOBAL_RELATIVE_ALT, MavFrame.GLOBAL_RELATIVE_ALT_INT]
/** Without terrain data, as here, it comes down to the ground. */
const TERRAIN: readonly number[] = [MavFrame.GLOBAL_TERRAIN_ALT, MavFrame.GLOBAL_TERRAIN_ALT_INT]
const BODY: readonly number[] = [MavFrame.BODY_NED, MavFrame.BODY_OFFSET_NED]
const LOCAL: readonly number[] = [MavFrame.LOCAL_NED, MavFrame.LOCAL_OFFSET_NED, ...BODY]

/** Any of the three ignored, and all three are. */
const POSITION = 0x007
const VELOCITY = 0x038
const ACCELERATION = 0x1c0
const YAW = 0x400
const YAW_RATE = 0x800

const NOWHERE: Vector = { north: Number.NaN, east: Number.NaN, down: Number.NaN }

export type GuidedTarget =
  /** `body`: in the body frame, in which the yaw that came was relative to the nose of that instant. */
  | { readonly kind: 'position' | 'velocity'; readonly setpoint: Setpoint; readonly body: boolean }
  | { readonly kind: 'stop' }
  | { readonly kind: 'crash' }

/** `home` is what relative heights start from, `here` what offsets start from; the setpoint is in metres from `origin`. */
export function readGuidedTarget(
  target: TargetMessage,
  origin: Place,
  home: Place,
  here: Vector,
  heading_rad: number,
): GuidedTarget {
  const mask = target.typeMask as number
  const positioned = (mask & POSITION) === 0
  const moving = (mask & VELOCITY) === 0
  const accelerated = (mask & ACCELERATION) === 0
  const frame = target.coordinateFrame as number
  // A position with an acceleration and no velocity is none of its combinations; a mere acceleration is left out here.
  if (positioned ? !moving && accelerated : !moving) return { kind: 'stop' }

  const body = !(target instanceof common.SetPositionTargetGlobalInt) && BODY.includes(frame)
  const turned = body ? heading_rad : 0
  const turn = (x: number, y: number): { north: number; east: number } => ({
    north: x * Math.cos(turned) - y * Math.sin(turned),
    east: x * Math.sin(turned) + y * Math.cos(turned),
  })
  let position = NOWHERE
  if (target instanceof common.SetPositionTargetGlobalInt) {
    if (![...AMSL, ...RELATIVE, ...TERRAIN].includes(frame)) return { kind: 'stop' }
    const lat = target.latInt / 1e7
    const lon = target.lonInt / 1e7
    if (positioned && (Math.abs(lat) > 90 || Math.abs(lon) > 180)) return { kind: 'stop' }
    const amsl = target.alt + (AMSL.includes(frame) ? 0 : home.amsl)
    // A latitude and longitude of exactly 0 is a place like any other, far away: the vehicle flies off to it.
    position = vectorTo(origin, { lat, lon, amsl })
    if (TERRAIN.includes(frame)) position = { ...position, down: Number.isNaN(target.alt) ? Number.NaN : 0 }
  } else {
    if (!LOCAL.includes(frame)) return { kind: 'stop' }
    const from = frame === MavFrame.LOCAL_NED ? { north: 0, east: 0, down: 0 } : here
    const { north, east } = turn(target.x, target.y)
    position = { north: from.north + north, east: from.east + east, down: from.down + target.z }
  }
  if (positioned && Number.isNaN(position.north + position.east + position.down)) return { kind: 'crash' }
  const velocity = moving && !positioned ? { ...turn(target.vx, target.vy), down: target.vz } : NOWHERE
  const { north, east, down } = positioned ? position : NOWHERE
  return {
    kind: positioned ? 'position' : 'velocity',
    body,
    setpoint: {
      north,
      east,
      down,
      velocityNorth: velocity.north,
      velocityEast: velocity.east,
      velocityDown: velocity.down,
      yaw: mask & YAW ? Number.NaN : turned + target.yaw,
      yawRate: mask & YAW_RATE ? Number.NaN : target.yawRate,
    },
  }
}
