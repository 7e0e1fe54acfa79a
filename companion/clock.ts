// The one clock: monotonic ms, and when what is being read now was received at the latest (PROTOCOL 2).

import { performance } from 'node:perf_hooks'

/**
 * What one turn of the event loop reads counts as received at the end of the turn before: it may have lain in the socket
 * since then, so a stall makes values older, never younger. Every callback that brings input begins with `turn()`.
 */
export class Clock {
  #ended_ms: number
  #scheduled = false

  constructor() {
    this.#ended_ms = this.now()
  }

  /** ms since the process started; never goes back. */
  now(): number {
    return performance.now()
  }

  /** When the input of this turn counts as received. Also marks the turn, so that its end is noted. */
  turn(): number {
    if (!this.#scheduled) {
      this.#scheduled = true
      // Immediates run once a turn, behind all of its timers and sockets.
      setImmediate(() => {
        this.#scheduled = false
        this.#ended_ms = this.now()
      })
    }
    return this.#ended_ms
  }
}
