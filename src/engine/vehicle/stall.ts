// A stall: time in which nothing was judged (PROTOCOL 8, "Stall"). What lies in the sockets behind it tells of the time before, and
// of the newest the kernel may have lost some; so what the vehicle does now must be heard anew.

/** A step of the engine that comes so long after the last one ends a stall, ms. Ten ticks. */
export const STALL_MS = 100

export class Stall {
  #stepped_ms = Number.NEGATIVE_INFINITY
  #ended_ms = Number.NEGATIVE_INFINITY

  /** A step begins. The first one ends the stall that was before it. */
  step(now_ms: number): void {
    if (!Number.isFinite(now_ms)) return // traps the core
    const gap_ms = now_ms - this.#stepped_ms
    if (gap_ms > STALL_MS || gap_ms < 0) this.#ended_ms = now_ms
    this.#stepped_ms = now_ms
  }

  /** Since the last one ended. */
  since_ms(now_ms: number): number {
    return now_ms - this.#ended_ms
  }
}
