// The airframe: a point with limited acceleration above flat ground, flown by demands. The limits are fitted to flights in
// software. PX4: 10 m/s to a position, about 3.7 m/s left at 1.5 m from it, no overshoot; 7 m of run-on out of 4.4 m/s.
// ArduPilot: 12 m in 5 s with half a metre of overshoot, 9 m of run-on out of 5 m/s.

import type { Vector } from './geodesy.ts'

export type HorizontalDemand =
  | { readonly kind: 'position'; readonly north: number; readonly east: number; readonly speed_mps: number }
  | { readonly kind: 'velocity'; readonly north: number; readonly east: number }
  | { readonly kind: 'brake' }

export type VerticalDemand =
  | { readonly kind: 'height'; readonly down: number }
  | { readonly kind: 'velocity'; readonly down: number; readonly acceleration: number }

export interface Demand {
  readonly horizontal: HorizontalDemand
  readonly vertical: VerticalDemand
}

/** m/s², m/s, deg/s, and 1/s: the speed that the last metre is flown at, by its length. */
export interface BodyLimits {
  readonly speedUp: number
  readonly slowDown: number
  readonly brake: number
  /** The deceleration that an approach to a position counts on: above `slowDown` it overshoots. */
  readonly approach: number
  readonly approachPerS: number
  readonly climb: number
  readonly descend: number
  /** deg/s */
  readonly turn: number
}

export const PX4_LIMITS: BodyLimits = {
  speedUp: 4,
  slowDown: 9,
  brake: 2.94,
  approach: 6.5,
  approachPerS: 2.8,
  climb: 3,
  descend: 1.5,
  turn: 160,
}
export const COPTER_LIMITS: BodyLimits = {
  speedUp: 2.5,
  slowDown: 1.7,
  brake: 2,
  approach: 1.9,
  approachPerS: 1.8,
  climb: 2.5,
  descend: 1.5,
  turn: 72,
}

const VERTICAL_MPS2 = 3
const VERTICAL_MPS = 3
const GRAVITY_MPS2 = 9.81
const TOUCH_M = 0.001

/** Speed at which a vehicle may still be `distance` metres from where it wants to stop. */
function approachSpeed({ approach, approachPerS }: BodyLimits, distance_m: number, limit_mps: number): number {
  const linear_mps = approach / approachPerS
  const linear_m = linear_mps / approachPerS
  const speed_mps =
    distance_m < linear_m
      ? approachPerS * distance_m
      : Math.sqrt(linear_mps ** 2 + 2 * approach * (distance_m - linear_m))
  return Math.min(limit_mps, speed_mps)
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

export class Body {
  position: Vector = { north: 0, east: 0, down: 0 }
  velocity: Vector = { north: 0, east: 0, down: 0 }
  readonly #limits: BodyLimits

  constructor(limits: BodyLimits = PX4_LIMITS) {
    this.#limits = limits
  }

  get height_m(): number {
    return 0 - this.position.down
  }

  get touching(): boolean {
    return this.height_m <= TOUCH_M
  }

  get speed_mps(): number {
    return Math.hypot(this.velocity.north, this.velocity.east)
  }

  /** Flies `dt_s` seconds; without a demand the motors are off. */
  advance(dt_s: number, demand: Demand | undefined): void {
    let { north: vn, east: ve, down: vd } = this.velocity
    if (demand === undefined) {
      vd += GRAVITY_MPS2 * dt_s
    } else {
      const wanted = this.#horizontal(demand.horizontal)
      const dn = wanted.north - vn
      const de = wanted.east - ve
      const change = Math.hypot(dn, de)
      const scale = change > wanted.acceleration * dt_s ? (wanted.acceleration * dt_s) / change : 1
      vn += dn * scale
      ve += de * scale
      const vertical = this.#vertical(demand.vertical)
      vd += clamp(vertical.down - vd, -vertical.acceleration * dt_s, vertical.acceleration * dt_s)
    }
    let down = this.position.down + vd * dt_s
    if (down >= 0) {
      // The ground holds whatever touches it.
      down = 0
      vd = Math.min(vd, 0)
      vn = 0
      ve = 0
    }
    this.velocity = { north: vn, east: ve, down: vd }
    this.position = { north: this.position.north + vn * dt_s, east: this.position.east + ve * dt_s, down }
  }

  #horizontal(demand: HorizontalDemand): { north: number; east: number; acceleration: number } {
    if (demand.kind === 'brake') return { north: 0, east: 0, acceleration: this.#limits.brake }
    if (demand.kind === 'velocity')
      return { north: demand.north, east: demand.east, acceleration: this.#limits.speedUp }
    const dn = demand.north - this.position.north
    const de = demand.east - this.position.east
    const distance_m = Math.hypot(dn, de)
    if (distance_m === 0) return { north: 0, east: 0, acceleration: this.#limits.slowDown }
    const speed_mps = approachSpeed(this.#limits, distance_m, demand.speed_mps)
    return {
      north: (dn / distance_m) * speed_mps,
      east: (de / distance_m) * speed_mps,
      acceleration: speed_mps > this.speed_mps ? this.#limits.speedUp : this.#limits.slowDown,
    }
  }

  #vertical(demand: VerticalDemand): { down: number; acceleration: number } {
    if (demand.kind === 'velocity') {
      return { down: clamp(demand.down, -VERTICAL_MPS, VERTICAL_MPS), acceleration: demand.acceleration }
    }
    const { climb, descend } = this.#limits
    return { down: clamp(demand.down - this.position.down, -climb, descend), acceleration: VERTICAL_MPS2 }
  }
}
