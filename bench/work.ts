// One thing that is measured, and how. A figure is a file that makes works; `main.ts` runs them all.

import { Bench, type FnReturnedObject } from 'tinybench'

export interface Work<T = unknown> {
  /** What is done, in words: figure, colon, what. */
  readonly name: string
  /** Calls a sample: 1 unless a call takes less than about a microsecond. A sample is then the mean of a batch. */
  readonly calls?: number
  /** Where others decide the same: what this one decides of it, and what it leaves open. */
  readonly decides?: ReadonlySet<Part>
  /** How many bytes a call reads, where that is the point. */
  readonly bytes?: number
  /** What the paper reports for the same, ms. */
  readonly paper_ms?: number
  /** What this project promises itself for the median, ms. */
  readonly target_ms?: number | undefined
  /** Prepares one sample; not timed. */
  before?(): void
  run(): T
  /** Clears up after one sample; not timed. */
  after?(): void
  /** Whether it did what its name says: a benchmark of something that was refused would be a fast one. */
  didIt(result: T): boolean
}

/** The parts of a decision, each with the letter that stands for it in the table. */
export const PARTS = {
  C: 'the conditions of each action',
  P: 'prerequisites: what rests on something withheld is withheld too',
  A: 'age and validity of every value read',
  B: 'binding: a digest of exactly what was judged, under a token that opens one crossing',
  F: "the frame's bytes",
} as const
export type Part = keyof typeof PARTS

export interface Effort {
  /** How long samples are taken, not counting what is around them. */
  readonly time_ms: number
  readonly warmup_ms: number
}

/** What a sample took, a call; in ms. */
export interface Measured {
  readonly name: string
  readonly unit: 'ms'
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  readonly samples: number
  /** Calls a sample. */
  readonly batch: number
  /** What reading the clock costs: subtracted from each sample. */
  readonly timer: number
  readonly paper: number | undefined
  readonly target: number | undefined
  /** Letters of PARTS. */
  readonly decides: string | undefined
  readonly bytes: number | undefined
}

/** Does the work once, with all around it. Throws where it does not do what its name says. */
export function once(work: Work): void {
  work.before?.()
  const result = work.run()
  const did = work.didIt(result)
  work.after?.()
  if (!did) throw new Error(`${work.name}: the work did not do what its name says`)
}

/** Warms up, then samples. Throws what the work throws. */
export function measure(work: Work, { time_ms, warmup_ms }: Effort): Measured {
  const calls = work.calls ?? 1
  const bench = new Bench({ time: time_ms, warmupTime: warmup_ms, subtractTimerOverhead: true, throws: true })
  const timer_ms = bench.timerOverhead ?? 0
  // tinybench subtracts the timer only from what it timed itself.
  const batch = (): FnReturnedObject => {
    const start_ms = bench.now()
    for (let i = 0; i < calls; i++) work.run()
    const elapsed_ms = bench.now() - start_ms
    return { overriddenDuration: Math.max(0, elapsed_ms - timer_ms) / calls, overriddenIterationCost: elapsed_ms }
  }
  bench.add(work.name, batch, {
    async: false,
    beforeEach: () => work.before?.(),
    afterEach: () => work.after?.(),
  })
  bench.runSync()
  const { result } = bench.tasks[0]!
  if (!('latency' in result)) throw new Error(`${work.name}: ${result.state}`)
  const { p50, p99, p999, max, samplesCount } = result.latency
  return {
    name: work.name,
    unit: 'ms',
    p50,
    p99,
    p999,
    max,
    samples: samplesCount,
    batch: calls,
    timer: timer_ms,
    paper: work.paper_ms,
    target: work.target_ms,
    decides: work.decides && [...work.decides].join(''),
    bytes: work.bytes,
  }
}

/** Whether a sample is long enough for the clock: its reading costs some ten nanoseconds, and jitters by as many. */
export const isLongEnough = ({ p50, batch }: Measured): boolean => p50 * batch >= 0.001
