// How a figure is spread, from a histogram of nanoseconds.

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

export interface Spread {
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly p999_ms: number
  readonly max_ms: number
}

/** Times in ms, any number of them in the same memory; three digits of each are kept. */
export class Times {
  readonly #histogram: RecordableHistogram = createHistogram()

  add(time_ms: number): void {
    this.#histogram.record(Math.max(1, Math.round(time_ms * 1e6)))
  }

  get spread(): Spread {
    const { count, max } = this.#histogram
    const at = (percent: number): number => (count === 0 ? Number.NaN : this.#histogram.percentile(percent) / 1e6)
    return { count, p50_ms: at(50), p99_ms: at(99), p999_ms: at(99.9), max_ms: count === 0 ? Number.NaN : max / 1e6 }
  }
}
