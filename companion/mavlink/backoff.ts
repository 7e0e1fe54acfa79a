// When to try again what is lost: soon, then more and more rarely, and never in step with others that lost the same thing.

const SHORTEST_ms = 250
const LONGEST_ms = 4000

export class Backoff {
  readonly #random: () => number
  #period_ms = SHORTEST_ms
  #due_ms: number | undefined

  /** `random` gives 0 to 1, as `Math.random`. */
  constructor(random: () => number) {
    this.#random = random
  }

  /** Whether to try now. The first call after a loss or an attempt begins the wait: half to the whole of a period. */
  due(now_ms: number): boolean {
    this.#due_ms ??= now_ms + (this.#period_ms * (1 + this.#random())) / 2
    if (now_ms < this.#due_ms) return false
    this.#due_ms = undefined
    this.#period_ms = Math.min(2 * this.#period_ms, LONGEST_ms)
    return true
  }

  /** It works: the next loss begins with the shortest period again. */
  reset(): void {
    this.#due_ms = undefined
    this.#period_ms = SHORTEST_ms
  }
}
