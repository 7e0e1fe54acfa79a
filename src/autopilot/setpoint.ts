// Setpoints as the built-in profiles write them: frames and masks that were measured to be safe, and no others.
//
// A set bit of the mask says *ignore*. Bits 0-2 position, 3-5 velocity, 6-8 acceleration, 10 yaw, 11 yaw rate.

import { PLAUSIBLE } from './plausibility.ts'
import type { Argument, FrameTemplate, SetpointProfile } from './profile.ts'

export const POSITION = 0x01f8
export const VELOCITY = 0x01c7
const YAW = 0x0800
export const YAW_RATE = 0x0400
export const NEITHER = 0x0c00

export const FRAME_LOCAL_NED = 1
/**
 * Above the sea, on both: home goes into the bytes and its `tolerance` ends a lease when it moves. Frame 6, relative to home,
 * holds a wrong height in PX4 v1.16 (asked 8 m, held 2.7), and a home that moves would move the target; frame 11 descends
 * to the ground where ArduPilot has no terrain.
 */
const FRAME_GLOBAL_AMSL = 5
const FRAME_BODY_NED = 8

export type Has = (payload: string) => boolean

const argument = (unit: string, field: string): Argument => ({ unit, range: PLAUSIBLE[field]! })
export const ALTITUDE = argument('m', 'position.alt')
export const SPEED: Argument = { unit: 'm/s' }
export const HEADING: Argument = {
  unit: 'deg',
  range: { least: -360, most: 360, why: 'once round, either way' },
  optional: true,
}

/** Mask and yaw: the nose turns to `heading` (deg) where the payload has one; `without` is the mask's part where not. */
export function yaw(has: Has, mask: number | string, without: number): FrameTemplate['values'] {
  if (!has('heading')) return { type_mask: typeof mask === 'number' ? mask + without : `${mask} + ${without}.0` }
  const base = typeof mask === 'number' ? `${mask}.0` : mask
  return {
    type_mask: `${base} + (has(payload.heading) ? ${YAW}.0 : ${without}.0)`,
    yaw: 'has(payload.heading) ? payload.heading * 0.017453292519943295 : 0.0',
  }
}

const target = { target_system: 'target.system', target_component: 'target.component' } as const

/** A SET_POSITION_TARGET_LOCAL_NED. */
export const local = (coordinate_frame: number, values: FrameTemplate['values']): FrameTemplate => ({
  message: 'SET_POSITION_TARGET_LOCAL_NED',
  values: { ...values, ...target, coordinate_frame },
  stamp: 'time_boot_ms',
})

export const positionGlobal: Omit<SetpointProfile, 'kept'> = {
  frame: (has) => ({
    message: 'SET_POSITION_TARGET_GLOBAL_INT',
    values: {
      lat_int: 'payload.lat * 10000000.0',
      lon_int: 'payload.lon * 10000000.0',
      alt: 'payload.alt + state.home.amsl',
      ...yaw(has, POSITION, NEITHER),
      ...target,
      coordinate_frame: FRAME_GLOBAL_AMSL,
    },
    position: { lat: 'lat_int', lon: 'lon_int' },
    stamp: 'time_boot_ms',
  }),
  payload: {
    lat: argument('deg', 'position.lat'),
    lon: argument('deg', 'position.lon'),
    alt: ALTITUDE,
    heading: HEADING,
  },
}

export const positionLocal: Omit<SetpointProfile, 'kept'> = {
  frame: (has) =>
    local(FRAME_LOCAL_NED, {
      x: 'payload.north',
      y: 'payload.east',
      z: 'payload.down',
      ...yaw(has, POSITION, NEITHER),
    }),
  payload: {
    north: argument('m', 'local.north'),
    east: argument('m', 'local.east'),
    down: argument('m', 'local.down'),
    heading: HEADING,
  },
}

/** No height in the body frame, so `down` must be given; the yaw rate is held at zero unless there is a heading. */
export const velocityBody: Omit<SetpointProfile, 'kept'> = {
  frame: (has) =>
    local(FRAME_BODY_NED, {
      vx: 'payload.forward',
      vy: 'payload.right',
      vz: 'payload.down',
      ...yaw(has, VELOCITY, YAW_RATE),
    }),
  payload: { forward: SPEED, right: SPEED, down: SPEED, heading: HEADING },
}
