// The airframe: a point with limited acceleration above flat ground, flown by demands. The limits are fitted to flights of a
// PX4 in software: 10 m/s to a position, about 3.7 m/s left at 1.5 m from it, no overshoot; 7 m of run-on out of 4.4 m/s.

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

const SPEED_UP_MPS2 = 4
const SLOW_DOWN_MPS2 = 9
const BRAKE_MPS2 = 2.94
const APPROACH_MPS2 = 6.5
const APPROACH_PER_S = 2.8
const VERTICAL_MPS2 = 3
const CLIMB_MPS = 3
const DESCEND_MPS = 1.5
const GRAVITY_MPS2 = 9.81
const TOUCH_M = 0.001

/** Speed at which a vehicle may still be `distance` metres from where it wants to stop. */
function approachSpeed(distance_m: number, limit_mps: number): number {
  const linear_mps = APPROACH_MPS2 / APPROACH_PER_S
  const linear_m = linear_mps / APPROACH_PER_S
  const speed_mps =
    distance_m < linear_m
      ? APPROACH_PER_S * distance_m
      : Math.sqrt(linear_mps ** 2 + 2 * APPROACH_MPS2 * (distance_m - linear_m))
  return Math.min(limit_mps, speed_mps)
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

export class Body {
  position: Vector = { north: 0, east: 0, down: 0 }
  velocity: Vector = { north: 0, east: 0, down: 0 }

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
    if (demand.kind === 'brake') return { north: 0, east: 0, acceleration: BRAKE_MPS2 }
    if (demand.kind === 'velocity') return { north: demand.north, east: demand.east, acceleration: SPEED_UP_MPS2 }
    const dn = demand.north - this.position.north
    const de = demand.east - this.position.east
    const distance_m = Math.hypot(dn, de)
    if (distance_m === 0) return { north: 0, east: 0, acceleration: SLOW_DOWN_MPS2 }
    const speed_mps = approachSpeed(distance_m, demand.speed_mps)
    return {
      north: (dn / distance_m) * speed_mps,
      east: (de / distance_m) * speed_mps,
      acceleration: speed_mps > this.speed_mps ? SPEED_UP_MPS2 : SLOW_DOWN_MPS2,
    }
  }

  #vertical(demand: VerticalDemand): { down: number; acceleration: number } {
    if (demand.kind === 'velocity') {
      return { down: clamp(demand.down, -CLIMB_MPS, CLIMB_MPS), acceleration: demand.acceleration }
    }
    return { down: clamp(demand.down - this.position.down, -CLIMB_MPS, DESCEND_MPS), acceleration: VERTICAL_MPS2 }
  }
}
