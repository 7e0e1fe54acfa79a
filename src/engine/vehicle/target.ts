// Whose target the autopilot flies to (PROTOCOL 8, Takeover).

import type { SetpointName } from '../../autopilot/profile.ts'
import { turn_deg } from '../../telemetry/angle.ts'
import type { ReportedTarget } from '../../telemetry/report.ts'

/** How far a reported target may be from ours: rounding, and the autopilot's own conversion. */
const NEAR_DEG = 3e-5
const NEAR_M = 4
const NEAR_M_S = 0.5

type Payload = Readonly<Record<string, unknown>>

/** Whether a reported target is that of our setpoint; undefined where the two cannot be compared. */
export function isOurs(reported: ReportedTarget, setpoint: SetpointName, payload: Payload): boolean | undefined {
  const { lat, lon, north, east, velocity } = reported
  const number = (name: string): number => Number(payload[name])
  const nearLon = lon === undefined ? undefined : Math.abs(turn_deg(number('lon'), lon)) <= NEAR_DEG
  const near = (value: number | undefined, ours: number, by: number): boolean | undefined =>
    value === undefined ? undefined : Math.abs(value - ours) <= by
  switch (setpoint) {
    case 'position-global':
      if (velocity !== undefined) return false
      return near(lat, number('lat'), NEAR_DEG) && nearLon
    case 'position-local':
      if (velocity !== undefined) return false
      return near(north, number('north'), NEAR_M) && near(east, number('east'), NEAR_M)
    case 'velocity-local':
      return velocity !== undefined && isAlong(velocity, { north: number('north'), east: number('east') })
    case 'velocity-body': {
      if (velocity === undefined) return false
      const speed = Math.hypot(number('forward'), number('right'))
      return Math.hypot(velocity.north, velocity.east) <= speed + NEAR_M_S
    }
  }
}

interface Velocity {
  readonly north: number
  readonly east: number
}

/** The way we want it to go, and no faster: the autopilot has limits of its own, and reaches a speed in time. */
function isAlong(reported: Velocity, ours: Velocity): boolean {
  const square = ours.north ** 2 + ours.east ** 2
  const share = square === 0 ? 0 : (reported.north * ours.north + reported.east * ours.east) / square
  const part = Math.min(1, Math.max(0, share))
  return Math.hypot(reported.north - part * ours.north, reported.east - part * ours.east) <= NEAR_M_S
}

/** Whether a reported place is where the vehicle is, deg: a take-off goes nowhere else. Undefined where either is unknown. */
export function isHere({ lat, lon }: ReportedTarget, here: { lat: number; lon: number }): boolean | undefined {
  if (lat === undefined || lon === undefined || Number.isNaN(here.lat + here.lon)) return undefined
  return Math.abs(lat - here.lat) <= NEAR_DEG && Math.abs(turn_deg(here.lon, lon)) <= NEAR_DEG
}
