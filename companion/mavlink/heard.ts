// The newest time stamp heard of every stream (system, component, link id), over restarts: what was said once is not heard twice.
//
// A file holds bounds that are ahead of everything taken. They are moved ahead behind the back of whoever listens, before they
// are reached; what is beyond them is not taken until they have been moved, so a kill opens no window. Afterwards what is
// genuine is refused too, until its own time has passed the bound: for AHEAD at most. A clean stop writes what was really heard. A
// disk that takes nothing, or takes too long, does not cost the link: what is beyond the bounds is taken then, and told.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { replaceFile } from '../machine/durable.ts'
import { MINUTE, STAMP_MAX } from './stamp.ts'

/** How far the bounds are moved ahead, in steps of 10 µs: 6 s. */
export const AHEAD = MINUTE / 10
const STREAMS_MAX = 64
const RETRY_ms = 5000
/** A disk that takes so long for a few bytes is not waited for. */
const STALLED_ms = 1000

const stamp = z.int().min(0).max(STAMP_MAX)
const schema = z.strictObject({
  heard: z.literal(1),
  /** Of every stream that has no bound of its own. */
  others: stamp,
  streams: z.record(z.string().regex(/^\d{1,3}\/\d{1,3}\/\d{1,3}$/), stamp),
})

export interface HeardOptions {
  /** Its folder must be writable. */
  readonly file: string
  /** Where there is no file yet: nothing that is not newer is taken. */
  readonly since: number
  /** The time in steps of 10 µs since 2015, as well as it is known. */
  readonly now: () => number
  /** Hears of bounds that could not be written; once until they can be again. */
  readonly failed: (error: Error) => void
}

interface Stream {
  /** Everything taken is not newer. */
  last: number
  /** The newest stamp that was taken, or could not be taken yet, since the process began; 0: none. */
  reached: number
  /** On the disk: its own, or that of all others as long as it has none. */
  bound: number
  own: boolean
}

/** Why a stamp is not taken: it is no newer than one that was, its bound is on its way to the disk, or too many speak. */
export type Unheard = 'old' | 'unwritten' | 'crowded'

export class Heard {
  readonly #options: HeardOptions
  readonly #streams = new Map<number, Stream>()
  /** Of all streams that have no bound of their own. */
  readonly #others: { last: number; bound: number }
  #writing: Promise<void> | undefined
  #begun_ms = 0
  #again_ms = -Infinity
  #now_ms = 0
  /** Somebody is not heard for want of a bound. */
  #wanted = false
  #failing = false
  #closed = false

  private constructor(options: HeardOptions, kept: z.output<typeof schema>) {
    this.#options = options
    this.#others = { last: kept.others, bound: kept.others }
    for (const [name, bound] of Object.entries(kept.streams)) {
      this.#streams.set(numberOf(name), { last: bound, reached: 0, bound, own: true })
    }
  }

  /** Rejects where the file cannot be read and written. */
  static async open(options: HeardOptions): Promise<Heard> {
    const heard = new Heard(options, read(options.file) ?? { heard: 1, others: options.since, streams: {} })
    await heard.#write()
    return heard
  }

  /** Why a stamp would not be taken now. */
  judge(stream: number, stamp: number): Unheard | undefined {
    const known = this.#streams.get(stream)
    if (stamp <= (known?.last ?? this.#floor(stream))) return 'old'
    if (known === undefined && this.#streams.size >= STREAMS_MAX && this.#dispensable === undefined) return 'crowded'
    if (this.#closed) return 'unwritten'
    return this.#failing || stamp <= (known ?? this.#others).bound ? undefined : 'unwritten'
  }

  /** Takes it, or says why not. */
  take(stream: number, stamp: number): Unheard | undefined {
    const why = this.judge(stream, stamp)
    if (why === 'old' || why === 'crowded') return why
    const isNew = !this.#streams.has(stream)
    const known = isNew ? this.#admit(stream) : this.#streams.get(stream)!
    known.reached = Math.max(known.reached, stamp)
    if (why === undefined) known.last = stamp
    else this.#wanted = true
    // A new one gets a bound of its own soon: that of the others may be far ahead of its clock.
    if (isNew || this.#wanted) this.#begin()
    return why
  }

  /** Moves the bounds ahead when half of one is used. Call it a few times a second; the time is any monotonic one. */
  tick(now_ms: number): void {
    this.#now_ms = now_ms
    if (this.#writing === undefined) {
      if (this.#wanted || this.#isUsed) this.#begin()
    } else if (this.#wanted && now_ms - this.#begun_ms >= STALLED_ms) {
      this.#fail(new Error(`signing ${this.#options.file}: the disk has taken nothing for ${STALLED_ms / 1000} s`))
    }
  }

  /** Writes what was really heard. Nothing is taken after it. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#writing
    const streams = [...this.#streams].map(([stream, { last }]) => [nameOf(stream), last])
    await this.#put(this.#others.last, Object.fromEntries(streams))
  }

  get #isUsed(): boolean {
    if (this.#options.now() > this.#others.bound - AHEAD / 2) return true
    for (const { reached, bound, own } of this.#streams.values()) if (!own || reached > bound - AHEAD / 2) return true
    return false
  }

  /**
   * What the first frame of a stream must be newer than: a minute ago, what is known of all others, and what its component said
   * over its other links, lest that be said again over this one.
   */
  #floor(stream: number): number {
    let newest = Math.max(this.#options.now() - MINUTE, this.#others.last)
    for (const [other, { last }] of this.#streams) if (other >> 8 === stream >> 8) newest = Math.max(newest, last)
    return newest
  }

  /** The stream that has been silent longest, if for more than a minute: its next frame is as good as its first. */
  get #dispensable(): number | undefined {
    const [stream, { last }] = [...this.#streams].reduce((a, b) => (b[1].last < a[1].last ? b : a))
    return last < this.#options.now() - MINUTE ? stream : undefined
  }

  #admit(stream: number): Stream {
    if (this.#streams.size >= STREAMS_MAX) {
      const gone = this.#dispensable!
      this.#others.last = Math.max(this.#others.last, this.#streams.get(gone)!.last)
      this.#streams.delete(gone)
    }
    const made = { last: this.#floor(stream), reached: 0, bound: this.#others.bound, own: false }
    this.#streams.set(stream, made)
    return made
  }

  #begin(): void {
    if (this.#writing !== undefined || this.#closed || this.#now_ms < this.#again_ms) return
    this.#begun_ms = this.#now_ms
    this.#writing = this.#write()
      .then(() => {
        this.#failing = false
      })
      .catch((error: Error) => {
        this.#again_ms = this.#now_ms + RETRY_ms
        this.#fail(error)
      })
      .finally(() => {
        this.#writing = undefined
      })
  }

  #fail(error: Error): void {
    if (this.#failing) return
    this.#failing = true
    this.#options.failed(error)
  }

  /** Moves all bounds ahead; they hold once they are on the disk. */
  async #write(): Promise<void> {
    this.#wanted = false
    const ahead = (stamp: number, bound: number): number => Math.min(Math.max(bound, stamp + AHEAD), STAMP_MAX)
    const others = ahead(this.#options.now(), this.#others.bound)
    const streams = [...this.#streams.values()].map((stream): [Stream, number] => {
      const { reached, bound } = stream
      if (reached === 0) return [stream, bound]
      if (stream.own) return [stream, ahead(reached, bound)]
      // That of the others held for it, and may be far ahead of its clock. The lower one holds from now on.
      const own = ahead(reached, 0)
      stream.bound = Math.min(bound, own)
      return [stream, own]
    })
    const names = [...this.#streams.keys()].map(nameOf)
    await this.#put(others, Object.fromEntries(streams.map(([, bound], i) => [names[i], bound])))
    this.#others.bound = others
    for (const [stream, bound] of streams) Object.assign(stream, { bound, own: true })
  }

  #put(others: number, streams: z.output<typeof schema>['streams']): Promise<void> {
    return replaceFile('signing', this.#options.file, `${JSON.stringify({ heard: 1, others, streams })}\n`)
  }
}

const nameOf = (stream: number): string => `${stream >> 16}/${(stream >> 8) & 0xff}/${stream & 0xff}`
const numberOf = (name: string): number => name.split('/').reduce((number, byte) => (number << 8) | Number(byte), 0)

function read(file: string): z.output<typeof schema> | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`signing ${file}: ${(error as Error).message}`)
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw new Error(
      `signing ${file}: not readable, so what was heard before is unknown, and could be said again by somebody who has ` +
        'recorded it; keep the vehicle on the ground and out of reach of others for a minute, delete the file and start again',
    )
  }
}
