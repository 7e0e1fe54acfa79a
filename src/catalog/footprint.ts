// The footprint: the state fields that a component's clauses, watches and effect read, per tense (PROTOCOL 2).

import { type Expression, reads } from '../core/expression.ts'
import type { FrameImage } from '../core/image.ts'

export interface Footprint {
  readonly now: readonly number[]
  readonly cited: readonly number[]
}

/** Derived syntactically: a watched field is read in both tenses, a reported one now. Field numbers ascend. */
export function footprint(
  clauses: readonly Expression[],
  watches: readonly number[],
  frames: readonly FrameImage[],
  reported: readonly number[],
): Footprint {
  const { now, known, cited } = reads(...clauses)
  return {
    now: ascending([...now, ...known, ...watches, ...reported, ...frameReads(frames)]),
    cited: ascending([...cited, ...watches]),
  }
}

/** The fields that go into the bytes of frames. */
export function frameReads(frames: readonly FrameImage[]): readonly number[] {
  const values = frames.flatMap(({ entries }) => entries.map(({ value }) => value))
  return ascending(reads(...values.filter((value) => value !== 'nan')).now)
}

/** The payload slots whose values go into the bytes of frames. */
export function payloadReads(frames: readonly FrameImage[]): ReadonlySet<number> {
  const values = frames.flatMap(({ entries }) => entries.map(({ value }) => value))
  return new Set(values.flatMap((value) => (value === 'nan' ? [] : slotsOf(value))))
}

/** The payload slots that an expression reads or asks for. */
export function slotsOf(e: Expression): readonly number[] {
  if ('slot' in e) return [e.slot]
  return 'args' in e ? e.args.flatMap(slotsOf) : []
}

function ascending(fields: Iterable<number>): readonly number[] {
  return [...new Set(fields)].sort((a, b) => a - b)
}
