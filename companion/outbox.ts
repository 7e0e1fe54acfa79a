// Publications on their way out, in the order in which the engine said them. What the largest response of an agent brings about
// takes longer to encode than it took to decide: it goes out in slices, between which ticks and sockets have their turn.

import type { Publication } from '../src/engine/port.ts'

/** Publications of one slice: well under a millisecond. */
export const SLICE_MAX = 64

export class Outbox {
  readonly #out: (publication: Publication) => void
  readonly #later: (slice: () => void) => void
  #waiting: Publication[] = []
  /** A slice is to come. */
  #isUnderWay = false

  /** `out` takes each once; what it throws comes to whoever called, and that publication is gone. `later` is called in another turn. */
  constructor(out: (publication: Publication) => void, later: (slice: () => void) => void) {
    this.#out = out
    this.#later = later
  }

  /** Behind all that waits; at once where nothing does, as far as one slice goes. */
  put(publications: readonly Publication[]): void {
    for (const publication of publications) this.#waiting.push(publication)
    if (!this.#isUnderWay) this.#slice()
  }

  /** All that still waits, now; what cannot go out is left out, and the first such error thrown in the end. */
  flush(): void {
    const errors: unknown[] = []
    while (this.#waiting.length > 0) {
      try {
        this.#next(this.#waiting.length)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }

  #slice(): void {
    try {
      this.#next(SLICE_MAX)
    } finally {
      this.#isUnderWay = this.#waiting.length > 0
      if (this.#isUnderWay) this.#later(() => this.#slice())
    }
  }

  /** So many at most; of what throws and what went before it nothing waits any more. */
  #next(most: number): void {
    let taken = 0
    try {
      while (taken < most && taken < this.#waiting.length) this.#out(this.#waiting[taken++]!)
    } finally {
      this.#waiting.splice(0, taken)
    }
  }
}
