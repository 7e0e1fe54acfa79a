// Time stamps of MAVLink 2 signing: 10 µs steps since 2015, each greater than any before, over restarts and a clock that goes back.
//
// A file holds a bound that no stamp has reached. It is moved ahead in steps of a minute, behind the back of whoever signs: a
// disk that is slow or gone costs the exact time in the stamps, never a wait and never a stamp twice. This is the only place
// that reads the wall clock to decide something.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { replaceFile } from '../machine/durable.ts'

const EPOCH_ms = Date.UTC(2015, 0, 1)
const STEPS_PER_ms = 100
export const STAMP_MAX = 2 ** 48 - 1
/** A minute, in steps. */
export const MINUTE = 60_000 * STEPS_PER_ms
const RETRY_ms = 5000

const schema = z.strictObject({ signing: z.literal(1), reserved: z.int().min(0).max(STAMP_MAX) })

export interface StampOptions {
  /** Where the bound is kept; its folder must be writable. */
  readonly file: string
  /** ms since 1970, as `Date.now`. */
  readonly wall: () => number
  /** Hears of a bound that could not be written. */
  readonly failed: (error: Error) => void
}

export class Stamps {
  /** The bound that the file held at the start; 0 where there was none. Nobody with the key had been heard beyond it. */
  readonly before: number
  readonly #options: StampOptions
  /** The last one given out. */
  #last = 0
  /** All that are given out are smaller. 0: none are, for nobody can know what has been used. */
  #reserved = 0
  /** The newest time that is known beside the wall clock: somebody with the key said it, or the file. */
  #known: number
  #writing: Promise<void> | undefined
  #again_ms = -Infinity

  private constructor(options: StampOptions, before: number | undefined) {
    this.#options = options
    this.before = before ?? 0
    this.#last = this.before
    this.#known = before === undefined ? 0 : before - MINUTE
  }

  /** Rejects where the bound cannot be read, or the next one cannot be written. */
  static async open(options: StampOptions): Promise<Stamps> {
    const stamps = new Stamps(options, readBound(options.file))
    await stamps.#reserve()
    return stamps
  }

  /** The time by the wall clock, by the file and by what `adopt` heard: the latest of them. */
  get now(): number {
    return Math.max(this.#wall, this.#known)
  }

  /**
   * A stamp greater than all before. Undefined where that cannot be promised: without the file and with a clock before 2015
   * (until that is set or `adopt` hears the time), or with all of the reservation used up on a disk that takes no new one.
   */
  next(): number | undefined {
    const now = Math.max(this.#last + 1, this.now)
    const stamp = now < this.#reserved ? now : this.#last + 1
    if (stamp >= this.#reserved) return undefined
    this.#last = stamp
    return stamp
  }

  /** Somebody with the key has stamped so. Ours must not stay behind, or he takes them for old ones. */
  adopt(stamp: number): void {
    this.#known = Math.max(this.#known, stamp)
  }

  /** Moves the bound ahead when half of it is used. Call it a few times a second; the time is any monotonic one. */
  tick(now_ms: number): void {
    const ahead = Math.max(this.#last, this.now)
    if (ahead <= 0 || this.#reserved - ahead >= MINUTE / 2) return
    if (this.#writing !== undefined || now_ms < this.#again_ms) return
    this.#again_ms = now_ms + RETRY_ms
    this.#writing = this.#reserve()
      .catch(this.#options.failed)
      .finally(() => {
        this.#writing = undefined
      })
  }

  /** Gives back what is reserved and not used; there is no stamp after it. */
  async close(): Promise<void> {
    await this.#writing
    if (this.#reserved === 0) return
    this.#reserved = 0
    await writeBound(this.#options.file, this.#last + 1)
  }

  get #wall(): number {
    return Math.floor((this.#options.wall() - EPOCH_ms) * STEPS_PER_ms)
  }

  async #reserve(): Promise<void> {
    const ahead = Math.max(this.#last, this.now)
    if (ahead <= 0) return
    const reserved = Math.min(ahead + MINUTE, STAMP_MAX)
    await writeBound(this.#options.file, reserved)
    this.#last = Math.max(this.#last, ahead)
    this.#reserved = reserved
  }
}

function readBound(file: string): number | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`signing ${file}: ${(error as Error).message}`)
  }
  try {
    return schema.parse(JSON.parse(text)).reserved
  } catch {
    throw new Error(
      `signing ${file}: not readable, so which time stamps have been used is unknown; ` +
        'if the clock of this machine is right, delete the file and start again',
    )
  }
}

function writeBound(file: string, reserved: number): Promise<void> {
  return replaceFile('signing', file, `${JSON.stringify({ signing: 1, reserved })}\n`)
}
