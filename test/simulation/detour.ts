// What a link does to time: frames are held back, come a second time, overtake one another by seconds; old reports come again.

import type { Chance } from './chance.ts'

const HELD_MS = 3000
const HEARTBEAT = 0
const CURRENT_MODE = 436
/** GLOBAL_POSITION_INT, LOCAL_POSITION_NED, SYS_STATUS, EXTENDED_SYS_STATE, GPS_RAW_INT, ESTIMATOR_STATUS and the modes. */
const CARRIERS = [33, 33, 32, 1, 245, 24, 230, HEARTBEAT, CURRENT_MODE, CURRENT_MODE]

export const messageOf = (datagram: Uint8Array): number => datagram[7]! | (datagram[8]! << 8) | (datagram[9]! << 16)

export class Detour {
  /** The next frame of a message takes this much longer. */
  readonly #held = new Map<number, number>()
  #echo: { readonly until_ms: number; readonly after_ms: number } | undefined
  #disorder: { readonly until_ms: number; readonly share: number; readonly chance: Chance } | undefined
  /** Mode reports of the last seconds, for whoever has a stale one. */
  #modes: { readonly at_ms: number; readonly datagram: Uint8Array }[] = []

  /** Something happens to the link; `again` brings a datagram in now. Returns what it is, in words. */
  begin(chance: Chance, now_ms: number, again: (datagram: Uint8Array, sent_ms: number) => void): string | undefined {
    const for_ms = chance.real(300, 4000)
    switch (chance.int(0, 3)) {
      case 0: {
        const message = chance.pick(CARRIERS)
        const by_ms = Math.round(chance.real(50, HELD_MS))
        this.#held.set(message, by_ms)
        return `message ${message} is held back for ${by_ms} ms`
      }
      case 1: {
        const after_ms = Math.round(chance.happens(0.5) ? chance.real(1, 200) : chance.real(1, HELD_MS))
        this.#echo = { until_ms: now_ms + for_ms, after_ms }
        return `every frame comes again: after ${after_ms} ms`
      }
      case 2:
        this.#disorder = { until_ms: now_ms + for_ms, share: chance.real(0.02, 0.5), chance: chance.fork() }
        return `frames overtake one another for ${Math.round(for_ms)} ms`
      default: {
        const newest = this.#modes.at(-1)
        const stale = this.#modes.find((m) => [12, 13].some((at) => m.datagram[at] !== newest?.datagram[at]))
        const old = stale ?? this.#modes[0]
        if (old === undefined) return undefined
        again(old.datagram, old.at_ms)
        return `a mode report comes again: ${Math.round(now_ms - old.at_ms)} ms old`
      }
    }
  }

  /** How much longer than usual each copy of a datagram takes, ms. */
  delays(datagram: Uint8Array, now_ms: number): readonly number[] {
    const message = messageOf(datagram)
    if (message === CURRENT_MODE) {
      this.#modes = [...this.#modes.filter((m) => now_ms - m.at_ms < HELD_MS), { at_ms: now_ms, datagram }]
    }
    const held_ms = this.#held.get(message)
    if (held_ms !== undefined) {
      this.#held.delete(message)
      return [held_ms]
    }
    const { share, chance, until_ms = now_ms } = this.#disorder ?? {}
    const late_ms = now_ms < until_ms && chance!.happens(share!) ? chance!.real(0, HELD_MS) : 0
    const echo = this.#echo
    return echo === undefined || now_ms >= echo.until_ms
      ? [late_ms]
      : [late_ms, Math.min(HELD_MS, late_ms + echo.after_ms)]
  }
}
