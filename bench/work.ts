// One thing that is measured, and how. A figure is a file that makes works; `main.ts` runs them all.

import { Bench, type FnReturnedObject } from 'tinybench'

export interface Work<T = unknown> {
  /** What is done, in words: figure, colon, what. */
  readonly name: string
  /** Calls a sample: 1 unless a call takes less than about a microsecond. A sample is then the mean of a batch. */
  readonly calls?: number
  /** What the paper reports for the same, ms. */
  readonly paper_ms?: number
  /** What this project promises itself for the median, ms. */
  readonly target_ms?: number
  /** Prepares one sample; not timed. */
  before?(): void
  run(): T
  /** Clears up after one sample; not timed. */
  after?(): void
  /** Whether it did what its name says: a benchmark of something that was refused would be a fast one. */
  didIt(result: T): boolean
}

export interface Measured {
  readonly name: string
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  readonly samples: number
  readonly calls: number
  /** Calls a second, from the median. */
  readonly ops: number
  readonly paper_ms: number | undefined
  readonly target_ms: number | undefined
}

/** Does the work once, with all around it. Throws where it does not do what its name says. */
export function once(work: Work): void {
  work.before?.()
  const result = work.run()
  const did = work.didIt(result)
  work.after?.()
  if (!did) throw new Error(`${work.name}: the work did not do what its name says`)
}

/** Warms up for 300 ms, then samples for `time_ms`. */
export function measure(work: Work, time_ms: number): Measured {
  const calls = work.calls ?? 1
  const bench = new Bench({ time: time_ms, warmupTime: 300 })
  const batch = (): FnReturnedObject => {
    const start_ms = bench.now()
    for (let i = 0; i < calls; i++) work.run()
    const elapsed_ms = bench.now() - start_ms
    return { overriddenDuration: elapsed_ms / calls, overriddenIterationCost: elapsed_ms }
  }
  bench.add(work.name, batch, {
    async: false,
    beforeEach: () => work.before?.(),
    afterEach: () => work.after?.(),
  })
  bench.runSync()
  const { result } = bench.tasks[0]!
  if (!('latency' in result))
    throw new Error(`${work.name}: ${result.state}`, 'error' in result ? { cause: result.error } : {})
  const { p50, p99, max, samplesCount } = result.latency
  return {
    name: work.name,
    p50_ms: p50,
    p99_ms: p99,
    max_ms: max,
    samples: samplesCount,
    calls,
    ops: 1000 / p50,
    paper_ms: work.paper_ms,
    target_ms: work.target_ms,
  }
}
