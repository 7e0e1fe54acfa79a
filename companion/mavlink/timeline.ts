// Which frame of the autopilot is news: one that is older than the newest of its message is late and one that was heard before
// is a repetition, and neither says anything. One frame decides nothing that cannot be taken back: another line of time since
// boot is believed once its frames agree with each other (PROTOCOL 8 "Alarm", 11).
//
// Times since boot are compared modulo 2^32, and within one message: PX4 mixes 206 ms between two. How far behind a frame is,
// is read from the autopilot's own time: when it was received may be dated too early after a stall.

import { fieldOf, layout, layoutOf } from '../../src/autopilot/frame.ts'
import type { Frame } from './framer.ts'

/** As late as a frame may come on a link that is still one: 3 s, and what two messages differ by. */
export const LATE_ms = 3500
/** What two messages of one instant may differ by. */
const MIXED_ms = 500
/** A simulated autopilot may run so many times as fast as we do. */
const FASTEST = 4
/** What the frames of another line are compared with, from one to the next. */
const STEP_ms = 250
/** A new line is believed with so many frames over so long. */
const FRAMES = 3
const SPAN_ms = 300
/** Two lines are believed once the other has come again so often between frames of ours. */
const TURNS = 4
/** No reboot is as short as this, ms: a frame that is late comes between others. */
const SILENCE_ms = 200
/** An autopilot may have sent its last frame so much later than that of a new boot allows. */
const SLACK_ms = 500
/** A frame without a time comes so soon behind the newest, by its sequence number, or it may be a repetition. */
const NEXT = 8
const COPIES_MAX = 4096
const MODULUS = 2 ** 32

/** What one estimator alone fills in: these are evidence. */
const CLOCKS = new Set(
  ['SYSTEM_TIME', 'ATTITUDE', 'GLOBAL_POSITION_INT', 'LOCAL_POSITION_NED'].map((name) => layout(name).id),
)
/** Several of them send by turns, each with its own time. */
const DISTANCE_SENSOR = layout('DISTANCE_SENSOR').id
const SENSOR = fieldOf('DISTANCE_SENSOR', 'id').offset

export type News =
  /** `boot_ms` where the message carries one. */
  | { readonly kind: 'new'; readonly boot_ms: number | undefined }
  | { readonly kind: 'late'; readonly boot_ms: number | undefined }
  | { readonly kind: 'repeated' }
  /** The autopilot has been up for `up_ms`; this frame is the new boot's. */
  | { readonly kind: 'rebooted'; readonly up_ms: number }
  /** `alternates`: ours goes on as well. */
  | { readonly kind: 'twin'; readonly text: string; readonly boot_ms: number; readonly alternates: boolean }

interface Point {
  readonly boot_ms: number
  readonly received_ms: number
}

/** Frames that are not on our line, and on one of their own. */
interface Other {
  last: Point
  /** Since ours was last heard: the first, and how many. */
  since: Point
  count: number
  /** Ours was heard since the last of it. */
  interrupted: boolean
  turns: number
}

export class Timeline {
  /** By message, and sensor. */
  readonly #newest = new Map<number, Point & { readonly payload: Uint8Array }>()
  /** The newest of our line, whatever its message. */
  #line: Point | undefined
  /** When it was sent, by our clock: a late one does not count from its arrival. */
  #sent_ms = 0
  #other: Other | undefined
  /** Where the boot before this one ended, and until when its frames may still come. */
  #before:
    | { readonly boot_ms: number; readonly until_ms: number; readonly usec: ReadonlyMap<number, bigint> }
    | undefined
  /** Frames without a time since boot, by message and sequence number. */
  readonly #copies = new Map<number, { readonly payload: Uint8Array; received_ms: number }>()
  #received_ms = 0
  #usec = new Map<number, bigint>()
  #sequence = 0

  judge(frame: Frame, received_ms: number): News {
    this.#pass(received_ms)
    const news = this.#judge(frame, received_ms)
    if (news.kind === 'new') this.#sequence = frame.sequence
    return news
  }

  /** What was read behind a stall is dated when that began, and may have come when it ended: its copies are as late. */
  #pass(received_ms: number): void {
    const before_ms = this.#received_ms
    this.#received_ms = received_ms
    if (received_ms - before_ms <= SILENCE_ms) return
    for (const copy of this.#copies.values()) if (copy.received_ms === before_ms) copy.received_ms = received_ms
  }

  #judge(frame: Frame, received_ms: number): News {
    const { message, payload } = frame
    const field = layoutOf(message)?.fields.time_boot_ms
    if (field === undefined) return this.#untimed(frame, received_ms)
    const boot_ms = view(payload).getUint32(field.offset, true)
    const point = { boot_ms, received_ms }
    const key = message * 256 + (message === DISTANCE_SENSOR ? payload[SENSOR]! : 0)
    const newest = this.#newest.get(key)
    const where = this.#locate(point, newest)
    if (where === 'elsewhere') {
      const news: News = CLOCKS.has(message) ? this.#elsewhere(point) : { kind: 'late', boot_ms }
      // It counts, so that a copy of it does not.
      if (news.kind === 'rebooted') this.#newest.set(key, { ...point, payload })
      return news
    }
    if (where === 'late') return { kind: 'late', boot_ms }
    if (newest?.boot_ms === boot_ms && isSame(newest.payload, payload)) return { kind: 'repeated' }
    this.#newest.set(key, { ...point, payload })
    if (CLOCKS.has(message)) this.#goOn(point)
    return { kind: 'new', boot_ms }
  }

  /** On our line, behind what it has said, or on another. */
  #locate(point: Point, newest: Point | undefined): 'here' | 'late' | 'elsewhere' {
    const line = this.#line
    const before = newest ?? line
    if (before === undefined) return 'here'
    const advance_ms = advance(before, point)
    const elapsed_ms = point.received_ms - before.received_ms
    if (advance_ms < (newest === undefined ? -MIXED_ms : 0)) {
      if (this.#mayHaveRebooted(point)) return 'elsewhere'
      return line === undefined || advance(point, line) <= LATE_ms ? 'late' : 'elsewhere'
    }
    if (this.#isOfBefore(point) && !isNext(line ?? before, point)) return 'late'
    // Nothing leaps: between two frames passes what passes here, or less where these are dated too early.
    if (advance_ms > FASTEST * Math.max(0, elapsed_ms) + LATE_ms) return 'elsewhere'
    if (this.#isOfOther(point, line ?? before)) return 'elsewhere'
    return elapsed_ms - advance_ms > LATE_ms && this.#mayHaveRebooted(point) ? 'elsewhere' : 'here'
  }

  /** A line that frames agree on keeps its own, however far ours could have come in its silence. */
  #isOfOther(point: Point, ours: Point): boolean {
    const other = this.#other
    if (other === undefined || other.count < FRAMES || other.interrupted || !isNext(other.last, point)) return false
    return Math.abs(drift(other.last, point)) < Math.abs(drift(ours, point))
  }

  /** Nobody has been up for longer than since the last frame of the boot before; a late frame's boot has. */
  #mayHaveRebooted({ boot_ms, received_ms }: Point): boolean {
    if (this.#line === undefined || received_ms - this.#line.received_ms < SILENCE_ms) return false
    return boot_ms <= received_ms - this.#sent_ms + SLACK_ms
  }

  /** A frame of the boot before this one, on its way since then. */
  #isOfBefore(point: Point): boolean {
    const before = this.#before
    return before !== undefined && point.received_ms < before.until_ms && advance(point, before) >= 0
  }

  #goOn(point: Point): void {
    const line = this.#line
    if (line === undefined) this.#sent_ms = point.received_ms
    else {
      const due_ms = this.#sent_ms + Math.max(0, advance(line, point))
      this.#sent_ms = Math.max(Math.min(point.received_ms, due_ms), point.received_ms - LATE_ms)
    }
    if (line === undefined || advance(line, point) >= 0) this.#line = point
    if (this.#other !== undefined) {
      this.#other.interrupted = true
      if (point.received_ms - this.#other.last.received_ms > LATE_ms) this.#other = undefined
    }
  }

  /** One more frame of another line: what it comes to. */
  #elsewhere(point: Point): News {
    const other = this.#other
    if (other === undefined || !isNext(other.last, point)) {
      this.#other = { last: point, since: point, count: 1, interrupted: false, turns: 0 }
      return { kind: 'late', boot_ms: point.boot_ms }
    }
    other.last = point
    if (other.interrupted) {
      other.interrupted = false
      other.turns++
      other.since = point
      other.count = 0
    }
    other.count++
    const { boot_ms } = point
    if (other.turns >= TURNS) return { kind: 'twin', text: 'two clocks alternate', boot_ms, alternates: true }
    if (other.count < FRAMES || point.received_ms - other.since.received_ms < SPAN_ms) {
      return { kind: 'late', boot_ms }
    }
    // Ours has been silent meanwhile.
    if (!this.#mayHaveRebooted(point)) {
      return { kind: 'twin', text: 'its clock has leapt, and it has not rebooted', boot_ms, alternates: false }
    }
    const before = { boot_ms: this.#line!.boot_ms, until_ms: point.received_ms + LATE_ms, usec: this.#usec }
    this.begin()
    this.#before = before
    this.#line = point
    this.#sent_ms = point.received_ms
    return { kind: 'rebooted', up_ms: boot_ms }
  }

  #untimed(frame: Frame, received_ms: number): News {
    const { message, sequence, payload } = frame
    const other = this.#other
    // Nobody knows of which boot it is.
    if (other !== undefined && !other.interrupted && this.#mayHaveRebooted({ ...other.last, received_ms })) {
      if (received_ms - other.last.received_ms < LATE_ms) return { kind: 'late', boot_ms: undefined }
      this.#other = undefined
    }
    const key = message * 256 + sequence
    const heard = this.#copies.get(key)
    // Sequence numbers come round within seconds: what is said a second time of one time is a repetition then as well.
    const isNext = timeOf(message, payload) === undefined && ((sequence - this.#sequence - 1) & 0xff) < NEXT
    if (
      heard !== undefined &&
      !isNext &&
      received_ms - heard.received_ms <= LATE_ms &&
      isSame(heard.payload, payload)
    ) {
      return { kind: 'repeated' }
    }
    if (this.#isBehind(message, payload, received_ms)) return { kind: 'late', boot_ms: undefined }
    if (this.#copies.size >= COPIES_MAX) this.#copies.clear()
    this.#copies.set(key, { payload, received_ms })
    return { kind: 'new', boot_ms: undefined }
  }

  /** By a time in µs, where the message has one; a receiver may set that anew, so that it is no time since boot. */
  #isBehind(message: number, payload: Uint8Array, received_ms: number): boolean {
    const usec = timeOf(message, payload)
    if (usec === undefined) return false
    const isLate = (behind_us: bigint): boolean => behind_us >= 0n && behind_us <= BigInt(LATE_ms) * 1000n
    const newest = this.#usec.get(message)
    if (newest !== undefined && newest !== usec && isLate(newest - usec)) return true
    // Of the boot before, and on its way since then.
    const before = this.#before
    const last = before !== undefined && received_ms < before.until_ms ? before.usec.get(message) : undefined
    if (last !== undefined && isLate(last - usec)) return true
    this.#usec.set(message, usec)
    return false
  }

  /** Nothing is known any more. */
  begin(): void {
    this.#newest.clear()
    this.#line = undefined
    this.#other = undefined
    this.#before = undefined
    this.#usec = new Map()
  }
}

/** Two frames of one clock, whatever lies between their messages. */
function isNext(last: Point, point: Point): boolean {
  const advance_ms = advance(last, point)
  const elapsed_ms = Math.max(0, point.received_ms - last.received_ms)
  return advance_ms >= elapsed_ms / FASTEST - STEP_ms && advance_ms <= elapsed_ms * FASTEST + STEP_ms
}

/** ms by which the sender's clock has gone faster than ours. */
const drift = (from: Point, to: Point): number => advance(from, to) - (to.received_ms - from.received_ms)

/** A time of its own in µs, from whatever beginning: 0 is none. */
function timeOf(message: number, payload: Uint8Array): bigint | undefined {
  const at = layoutOf(message)?.usec
  return at === undefined ? undefined : view(payload).getBigUint64(at, true) || undefined
}

/** ms from one time since boot to another, the short way round: it wraps after 49 days. */
function advance(from: { readonly boot_ms: number }, to: { readonly boot_ms: number }): number {
  const forward_ms = (to.boot_ms - from.boot_ms + MODULUS) % MODULUS
  return forward_ms < MODULUS / 2 ? forward_ms : forward_ms - MODULUS
}

const view = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
