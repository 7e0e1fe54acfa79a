// What a user is told when frames come and nothing happens.

import type { Framer } from './framer.ts'
import type { Refusal } from './signing.ts'

const LOOK_ms = 1000
/** Not more often than this is something told. */
const TELL_ms = 10_000

/** Of a frame whose time stamp is on its way to the disk there is nothing to tell: the next one is taken. */
const ADVICE: Readonly<Record<Exclude<Refusal, 'unwritten'>, string>> = {
  version1: 'MAVLink 1 frames dropped on a signed link: set the autopilot to MAVLink 2',
  unsigned: 'unsigned frames dropped on a signed link: is the key set on the autopilot?',
  forged: 'frames with a wrong signature dropped: is it the same key on both sides?',
  old:
    'signed frames with an old time stamp dropped: said again, out of order, by a clock more than a minute behind, or in the ' +
    'seconds after HALO was killed',
  crowded: 'signed frames dropped: more components and links sign here than are kept apart',
}

export interface Told {
  warn(text: string): void
}

/** What counts them. */
export interface Dropped {
  readonly framer: Framer
  readonly late: number
  readonly repeated: number
}

export class DropReport {
  readonly #listener: Told
  #due_ms = -Infinity
  readonly #told = new Map<string, number>()

  constructor(listener: Told) {
    this.#listener = listener
  }

  tick(dropped: Dropped, now_ms: number): void {
    if (now_ms < this.#due_ms) return
    const texts: string[] = []
    for (const [advice, count] of counters(dropped)) {
      const more = count - (this.#told.get(advice) ?? 0)
      if (more > 0) texts.push(`${more} ${advice}`)
      this.#told.set(advice, count)
    }
    this.#due_ms = now_ms + (texts.length > 0 ? TELL_ms : LOOK_ms)
    for (const text of texts) this.#listener.warn(text)
  }
}

/** Frames of messages that we have no definition of are left out: autopilots send some all the time. */
function counters({ framer, late, repeated }: Dropped): [advice: string, count: number][] {
  return [
    ...Object.entries(ADVICE).map(([refusal, advice]): [string, number] => [
      advice,
      framer.refused[refusal as Refusal],
    ]),
    ['frames with a wrong checksum dropped: a wrong baud rate, or a lossy link', framer.badCrc],
    ['frames with an unknown incompatibility flag dropped', framer.badFlags],
    ['bytes outside of frames dropped: a wrong baud rate, or another program on the same port', framer.junkBytes],
    [
      'frames dropped that were older than the newest of their kind: a slow way beside a fast one, or a router that reorders',
      late,
    ],
    ['frames dropped that were heard before: two ways lead to the autopilot, or a router sends in a circle', repeated],
  ]
}
