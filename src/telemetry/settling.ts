// Readings that no vehicle can make true: farther from the last one than it can move (PROTOCOL 3). What rests on such a
// reading is unknown until it has stayed plausible for 3 s; the new value may be right, as when the GPS comes back.

import { EARTH_RADIUS_M } from '../core/expression.ts'
import { turn_deg } from './angle.ts'

const RADIANS = Math.PI / 180
/** How long nothing that rests on a reading counts after it jumped, ms. */
const SETTLING_ms = 3000

interface Motion {
  /** State fields of one message that are one thing together: a place, a velocity, a height. */
  readonly of: readonly string[]
  /** How far the second is from the first, in the unit of the bounds. */
  apart(before: readonly number[], now: readonly number[]): number
  /** The farthest that can be true after a second, on top of `slack`: what noise and rounding do between two messages. */
  readonly perSecond: number
  readonly slack: number
  /** State fields that a jump makes unknown. */
  readonly unsettles: readonly string[]
}

const GLOBAL = ['position.lat', 'position.lon', 'position.amsl']
const LOCAL = ['local.north', 'local.east', 'local.down']
const VELOCITY = ['velocity.north', 'velocity.east', 'velocity.down']
const HOME = ['home.lat', 'home.lon', 'home.amsl']
/** One estimate stands behind all of these: when one jumps, none is trusted (PROTOCOL 3). */
const ESTIMATE = [...GLOBAL, 'position.alt', 'position.accuracy', ...LOCAL, ...VELOCITY]

/** m/s */
const SPEED_MAX = 20

const MOTIONS: readonly Motion[] = [
  { of: GLOBAL, apart: separation_m, perSecond: SPEED_MAX, slack: 0, unsettles: ESTIMATE },
  { of: LOCAL, apart: straight, perSecond: SPEED_MAX, slack: 0, unsettles: ESTIMATE },
  // 3 g, and the estimator's own corrections.
  { of: VELOCITY, apart: straight, perSecond: 30, slack: 1.5, unsettles: ESTIMATE },
  // Its zero is home: that moves with the place standing still.
  { of: ['position.alt'], apart: straight, perSecond: SPEED_MAX, slack: 0, unsettles: ['position.alt'] },
  { of: HOME, apart: separation_m, perSecond: SPEED_MAX, slack: 0, unsettles: [...HOME, 'position.alt'] },
  { of: ['heading'], apart: turned, perSecond: 360, slack: 5, unsettles: ['heading'] },
  // Less charge is always believed, and at once; more only once it has stayed.
  { of: ['battery.remaining'], apart: rise, perSecond: 0, slack: 5, unsettles: ['battery.remaining'] },
]

interface Reading {
  readonly values: readonly number[]
  readonly boot_ms: number | undefined
  readonly received_ms: number
}

export class Settling {
  readonly #last = new Map<Motion, Reading>()
  /** Fields, and since when they are unsettled. */
  readonly #jumped_ms = new Map<string, number>()

  /** Every reading is followed, also one that does not count: the jump when GPS comes back starts from such a one. */
  follow(said: ReadonlyMap<string, number>, boot_ms: number | undefined, received_ms: number): void {
    for (const motion of MOTIONS) {
      if (!said.has(motion.of[0]!)) continue
      const values = motion.of.map((name) => said.get(name)!)
      if (!values.every(Number.isFinite)) continue
      const before = this.#last.get(motion)
      this.#last.set(motion, { values, boot_ms, received_ms })
      if (before === undefined) continue
      // Messages that waited together are received together: the autopilot's own time may say that more has passed.
      const booted_ms = boot_ms === undefined || before.boot_ms === undefined ? 0 : (boot_ms - before.boot_ms) | 0
      const elapsed_s = Math.max(received_ms - before.received_ms, booted_ms) / 1e3
      if (motion.apart(before.values, values) <= motion.slack + motion.perSecond * elapsed_s) continue
      for (const name of motion.unsettles) this.#jumped_ms.set(name, received_ms)
    }
  }

  isSettled(name: string, received_ms: number): boolean {
    return received_ms - (this.#jumped_ms.get(name) ?? Number.NEGATIVE_INFINITY) >= SETTLING_ms
  }
}

/** The fields that a message which carries `name` can unsettle. */
export const unsettledBy = (name: string): readonly string[] =>
  MOTIONS.filter(({ of }) => of.includes(name)).flatMap(({ unsettles }) => unsettles)

function straight(before: readonly number[], now: readonly number[]): number {
  return Math.hypot(...now.map((value, i) => value - before[i]!))
}

function rise([before]: readonly number[], [now]: readonly number[]): number {
  return now! - before!
}

function turned([before]: readonly number[], [now]: readonly number[]): number {
  return Math.abs(turn_deg(before!, now!))
}

/** Straight distance of two places (deg, deg, m) that are close to each other or far apart: great circle and height, m. */
function separation_m([latA, lonA, amslA]: readonly number[], [latB, lonB, amslB]: readonly number[]): number {
  const h =
    Math.sin(((latB! - latA!) * RADIANS) / 2) ** 2 +
    Math.cos(latA! * RADIANS) * Math.cos(latB! * RADIANS) * Math.sin(((lonB! - lonA!) * RADIANS) / 2) ** 2
  return Math.hypot(2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h))), amslB! - amslA!)
}
