// Whether the simulated vehicle knows where it is, and how long it goes on believing so: the measured times of a PX4 whose
// GPS was switched off and on again. Positions keep streaming long after they are worth nothing.

import type { Random } from './random.ts'

const FIX_LOST_MS = 20
const FLAGS_LOST_MS = 5_300
const FLAGS_WORSE_MS = 8_300
const MODE_LOST_MS = 5_400
const MODE_LOST_SPREAD_MS = 600
const STREAM_LOST_MS = 20_000
const JUMP_AFTER_MS = 700
const USABLE_AFTER_MS = 2_700
const JUMP_M = 42.8
const ACCURACY_GOOD_M = 0.29
const ACCURACY_LOST_M = 2.9
const ALIGNING_MS = 1_000

/** ESTIMATOR_STATUS.flags; a good estimate has (flags & 55) == 55. */
const FLAGS = { booting: 1152, aligning: 229, ground: 1023, air: 831, lost: 869, worse: 101 } as const

/** One loss of the GPS, until the position is usable again. */
interface Outage {
  readonly lost_ms: number
  readonly modeLost_ms: number
  back_ms: number | undefined
  jumped: boolean
}

export class Estimator {
  readonly #random: Random
  #boot_ms = 0
  #aligned_ms = 0
  #outage: Outage | undefined

  constructor(random: Random) {
    this.#random = random
  }

  /** Boots at `now_ms`; its first position is there at `aligned_ms`. */
  boot(now_ms: number, aligned_ms: number): void {
    this.#boot_ms = now_ms
    this.#aligned_ms = aligned_ms
    this.#outage = undefined
  }

  lose(now_ms: number): void {
    if (this.#outage !== undefined && this.#outage.back_ms === undefined) return
    const modeLost_ms = now_ms + MODE_LOST_MS + MODE_LOST_SPREAD_MS * this.#random()
    this.#outage = { lost_ms: now_ms, modeLost_ms, back_ms: undefined, jumped: false }
  }

  /** A short outage leaves nothing behind; a long one ends with a jump. */
  regain(now_ms: number): void {
    const outage = this.#outage
    if (outage === undefined || outage.back_ms !== undefined) return
    if (now_ms - outage.lost_ms < FLAGS_LOST_MS) this.#outage = undefined
    else outage.back_ms = now_ms
  }

  /** Metres north and east by which the estimate jumps now, once for each return of the GPS; undefined otherwise. */
  takeJump(now_ms: number): { readonly north: number; readonly east: number } | undefined {
    const outage = this.#outage
    if (outage?.back_ms === undefined || outage.jumped || now_ms - outage.back_ms < JUMP_AFTER_MS) return undefined
    outage.jumped = true
    const bearing = 2 * Math.PI * this.#random()
    return { north: JUMP_M * Math.cos(bearing), east: JUMP_M * Math.sin(bearing) }
  }

  /** GPS_FIX_TYPE: the first thing to show a loss. */
  fix(now_ms: number): 0 | 3 {
    const outage = this.#outage
    return outage !== undefined && outage.back_ms === undefined && now_ms - outage.lost_ms >= FIX_LOST_MS ? 0 : 3
  }

  flags(now_ms: number, inAir: boolean): number {
    if (now_ms < this.#aligned_ms) return now_ms - this.#boot_ms < ALIGNING_MS ? FLAGS.booting : FLAGS.aligning
    const outage = this.#outage
    if (outage !== undefined && !outage.jumped) {
      if (now_ms - outage.lost_ms >= FLAGS_WORSE_MS) return FLAGS.worse
      if (now_ms - outage.lost_ms >= FLAGS_LOST_MS) return FLAGS.lost
    }
    return inAir ? FLAGS.air : FLAGS.ground
  }

  /** m, one standard deviation, horizontal */
  accuracy(now_ms: number): number {
    const outage = this.#outage
    if (outage === undefined || outage.jumped) return ACCURACY_GOOD_M
    return ACCURACY_GOOD_M + ((ACCURACY_LOST_M - ACCURACY_GOOD_M) * (now_ms - outage.lost_ms)) / FLAGS_LOST_MS
  }

  /** Whether GLOBAL_POSITION_INT and LOCAL_POSITION_NED are sent. */
  streams(now_ms: number): boolean {
    const outage = this.#outage
    return (
      now_ms >= this.#aligned_ms && (outage === undefined || outage.jumped || now_ms - outage.lost_ms < STREAM_LOST_MS)
    )
  }

  /** Whether a mode that needs a position can be flown: false later than the flags, true again later than the jump. */
  usable(now_ms: number): boolean {
    if (now_ms < this.#aligned_ms) return false
    const outage = this.#outage
    if (outage === undefined) return true
    if (outage.back_ms === undefined) return now_ms < outage.modeLost_ms
    if (now_ms - outage.back_ms < USABLE_AFTER_MS) return false
    this.#outage = undefined
    return true
  }
}
