// Short ways to write images, clauses and responses in tests.

import { Kind, Phase, Reason } from '../../build/abi.ts'
import type { Admitted, Batch, Candidate, Core, CoreFactory } from '../../src/core/core.ts'
import type { BinaryOp, Expression } from '../../src/core/expression.ts'
import type { ClauseImage, EntryImage, FieldImage, FrameImage, Image, TypeImage } from '../../src/core/image.ts'

export const SESSION = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8])
export const ENVIRONMENT = new Uint8Array(32).fill(9)

export const num = (value: number): Expression => ({ op: 'number', value })
export const now = (field: number): Expression => ({ op: 'now', field })
export const cited = (field: number): Expression => ({ op: 'cited', field })
export const slot = (index: number): Expression => ({ op: 'payload', slot: index, guarded: false })
export const both = (op: BinaryOp, a: Expression, b: Expression): Expression => ({ op, args: [a, b] })
export const not = (a: Expression): Expression => ({ op: 'not', args: [a] })
export const TRUE = both('eq', num(1), num(1))

export const clause = (expression: Expression, name = 'clause'): ClauseImage => ({ name, expression })
export const clauses = (...expressions: readonly Expression[]): ClauseImage[] => expressions.map((e) => clause(e))
export const field = (name: string, maxAge_ms: number, discrete = false): FieldImage => ({ name, maxAge_ms, discrete })
export const entry = (offset: number, format: EntryImage['format'], value: EntryImage['value']): EntryImage => ({
  offset,
  format,
  value,
})

export function frame(entries: readonly EntryImage[], rest: Partial<FrameImage> = {}): FrameImage {
  return { message: 84, length: 32, entries, stamp: -1, sends: 1, ...rest }
}

/** A type that supports everything and does nothing, but for what `rest` says. */
export function type(kind: Kind, rest: Partial<TypeImage> = {}): TypeImage {
  return {
    name: `type${kind}`,
    kind,
    payload: [],
    bounds: [],
    support: [],
    gate: [],
    holds: [],
    done: undefined,
    watches: [],
    requires: [],
    mayRequire: [],
    patience_ms: 0,
    frames: [],
    tolerance: [],
    ...rest,
  }
}

export const image = (fields: readonly FieldImage[], types: readonly TypeImage[]): Image => ({
  fields,
  types,
  contingencies: [],
  predicates: [],
})

export function candidate(typeIndex: number, rest: Partial<Candidate> = {}): Candidate {
  return {
    type: typeIndex,
    id: 'component',
    payload: [],
    requires: [],
    form: Reason.none,
    scope: Reason.none,
    barrier: Reason.none,
    ...rest,
  }
}

export function batch(snapshot: number, candidates: readonly Candidate[], rest: Partial<Batch> = {}): Batch {
  return { agent: 0, plan: 'agent/response', generation: 1, snapshot, standing: [], candidates, ...rest }
}

export const load = (make: CoreFactory, what: Image): Core => make(what, SESSION, ENVIRONMENT)

/** Admits, and throws where anything is withheld: for tests about what comes after. */
export function retain(core: Core, what: Batch, now_ms: number): number[] {
  const admitted = core.admit(what, now_ms)
  const withheld = admitted.findIndex(({ reason }) => reason !== Reason.none)
  if (withheld >= 0) throw new Error(`candidate ${withheld} withheld: ${JSON.stringify(admitted[withheld])}`)
  return admitted.map(({ sequence }) => sequence)
}

/** Ends and forgets what a batch brought in, last first, so that the next one finds an empty ledger. */
export function forget(core: Core, admitted: readonly Pick<Admitted, 'sequence'>[]): void {
  for (const { sequence } of admitted) if (sequence !== 0) core.end(sequence, Phase.superseded)
  for (const { sequence } of admitted) if (sequence !== 0) core.release(sequence)
}

/** Whole numbers below `n` from a seed (mulberry32): one seed reproduces a whole run. */
export function dice(seed: number): (n: number) => number {
  let state = seed >>> 0
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n)
  }
}

/** The phases that a kind has, in order (PROTOCOL 3). */
export const PHASES: Readonly<Record<Kind, readonly Phase[]>> = {
  [Kind.notice]: [Phase.retained, Phase.released],
  [Kind.report]: [Phase.retained, Phase.released],
  [Kind.request]: [Phase.retained, Phase.released, Phase.completed],
  [Kind.handoff]: [Phase.retained, Phase.dispatched, Phase.completed],
  [Kind.command]: [Phase.retained, Phase.dispatched, Phase.acknowledged, Phase.completed],
  [Kind.setpoint]: [Phase.retained, Phase.dispatched, Phase.completed],
}
