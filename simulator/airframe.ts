// What an autopilot flies, whichever it is: body, nose, battery, the pilot's sticks, what is still to be said, what is observed.

import type { MavLinkData } from 'node-mavlink'
import { Body, type BodyLimits, PX4_LIMITS } from './body.ts'
import { type Place, placeAt, vectorTo } from './geodesy.ts'
import { type ArmingObservation, type ModeObservation, observe, type VehicleMode } from './observation.ts'
import type { Random } from './random.ts'

const HOME_NEAR_M = 3
const RADIANS = Math.PI / 180

export class Airframe {
  readonly body: Body
  /** Where it stands at its first boot. */
  readonly origin: Place
  readonly random: Random
  heading_rad = 0
  battery_percent: number
  /** The pilot holds the sticks fully down. */
  sticks = false
  /** Whether the pilot's transmitter is heard. */
  rc = true
  /** Told to show a critical system. */
  critical = false
  readonly modes: ModeObservation[] = []
  readonly armings: ArmingObservation[] = []
  readonly #turn_radps: number
  #later: { readonly at_ms: number; readonly data: MavLinkData }[] = []

  constructor(origin: Place, random: Random, battery_percent: number, limits: BodyLimits = PX4_LIMITS) {
    this.origin = origin
    this.random = random
    this.battery_percent = battery_percent
    this.body = new Body(limits)
    this.#turn_radps = limits.turn * RADIANS
  }

  between(range: { readonly min: number; readonly max: number }): number {
    return range.min + (range.max - range.min) * this.random()
  }

  observeMode(at_ms: number, mode: VehicleMode, intended: VehicleMode): void {
    observe(this.modes, { at_ms, mode, intended })
  }

  observeArming(at_ms: number, armed: boolean): void {
    observe(this.armings, { at_ms, armed })
  }

  /** Puts it back onto the ground where it stood first; nothing is left to say. */
  reset(): void {
    this.body.position = { north: 0, east: 0, down: 0 }
    this.body.velocity = { north: 0, east: 0, down: 0 }
    this.#later = []
  }

  say(data: MavLinkData, at_ms: number): void {
    this.#later.push({ at_ms, data })
  }

  /** What is to be said by now, in order; once. */
  said(now_ms: number): MavLinkData[] {
    if (this.#later.length === 0) return []
    const due = this.#later.filter((entry) => entry.at_ms <= now_ms).sort((a, b) => a.at_ms - b.at_ms)
    this.#later = this.#later.filter((entry) => entry.at_ms > now_ms)
    return due.map((entry) => entry.data)
  }

  /** Towards a yaw (rad), else at a rate (rad/s), no faster than `most_radps`; NaN: neither. */
  turn(yaw: number, yawRate: number, dt_s: number, most_radps = this.#turn_radps): void {
    if (Number.isFinite(yaw)) {
      const error = Math.atan2(Math.sin(yaw - this.heading_rad), Math.cos(yaw - this.heading_rad))
      this.heading_rad += Math.sign(error) * Math.min(Math.abs(error), most_radps * dt_s)
    } else if (Number.isFinite(yawRate)) {
      this.heading_rad += Math.max(-most_radps, Math.min(most_radps, yawRate)) * dt_s
    }
  }

  /** Home as an autopilot sets it: the place below, or where it was if that is near, and off by this much. */
  homeNear(home: Place | undefined, by_m: number): Place {
    const { north, east } = this.body.position
    const old = home === undefined ? undefined : vectorTo(this.origin, home)
    const near = old !== undefined && Math.hypot(old.north - north, old.east - east) < HOME_NEAR_M
    const from = near ? old : { north, east, down: 0 }
    const bearing = 2 * Math.PI * this.random()
    const rise = this.random() < 0.5 ? -0.8 : 0.8
    return placeAt(this.origin, {
      north: from.north + 0.6 * by_m * Math.cos(bearing),
      east: from.east + 0.6 * by_m * Math.sin(bearing),
      down: from.down + rise * by_m,
    })
  }
}
