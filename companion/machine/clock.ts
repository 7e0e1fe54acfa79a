// The one clock: monotonic ms (PROTOCOL 2). Unlike the process's own it goes on while the system is suspended.

import { uptime } from 'node:os'
import { performance } from 'node:perf_hooks'

/** The kernel gives its uptime in hundredths of a second. */
const RESOLUTION_MS = 10

export class Clock {
  readonly #uptime_s: () => number
  /** How far the uptime has been seen ahead of the process's clock. */
  #ahead_ms: number
  #suspended_ms = 0
  #looked = false

  /** `uptime_s`: seconds since boot, suspended ones included. */
  constructor(uptime_s: () => number = uptime) {
    this.#uptime_s = uptime_s
    this.#ahead_ms = this.#measure()
  }

  /**
   * ms since the process started, time in which the system was suspended included; never goes back. A suspend is noticed in
   * every callback of the loop anew, so before anything that is read behind it is used.
   */
  now(): number {
    if (!this.#looked) {
      // Reading the uptime takes 7 us: once a callback is enough.
      this.#looked = true
      queueMicrotask(() => {
        this.#looked = false
      })
      this.#notice()
    }
    return running_ms() + this.#suspended_ms
  }

  #notice(): void {
    const ahead_ms = this.#measure()
    const more_ms = ahead_ms - this.#ahead_ms
    if (more_ms <= 0) return
    this.#ahead_ms = ahead_ms
    // Up to two steps of the uptime are none of a suspend; of one, the step that may be missing is added: older, never younger.
    if (more_ms > 2 * RESOLUTION_MS) this.#suspended_ms += more_ms + RESOLUTION_MS
  }

  /** The uptime first: a process that is stopped in between seems to be behind, never ahead. */
  #measure(): number {
    const uptime_ms = this.#uptime_s() * 1000
    return uptime_ms - running_ms()
  }
}

/** Of the process. It stands still while the system is suspended. */
const running_ms = (): number => performance.now()
