// The result of a run: how many mutants the tests told from the core.

import type { Mutant, Operator } from './mutator.ts'

/** Not counted: `invalid` does not compile, `same` is byte for byte the core. `hung` is found out too: a test never ended. */
export const OUTCOMES = ['killed', 'hung', 'survived', 'same', 'invalid'] as const
export type Outcome = (typeof OUTCOMES)[number]
export type Tally = Record<Outcome, number>

export interface Result {
  /** SHA-256 of the core, and the commit it was judged at. */
  readonly core: string
  readonly commit: string
  /** Mutants of which this is a sample, at most `most` of one operator in one file, drawn by `seed`. */
  readonly sample: { readonly of: number; readonly most: number; readonly seed: number } | 'all'
  /** Killed or hung, per cent of these and the survivors. */
  readonly score: number
  readonly total: Tally
  readonly operators: Partial<Record<Operator, Tally>>
  readonly files: Readonly<Record<string, Tally>>
  /** Their ids; survivors.yaml explains each. */
  readonly survivors: readonly string[]
}

const none = (): Tally => ({ killed: 0, hung: 0, survived: 0, same: 0, invalid: 0 })

export function score({ killed, hung, survived }: Tally): number {
  return Math.round((10_000 * (killed + hung)) / (killed + hung + survived)) / 100
}

/** Counts the outcomes; `last` is a result in which the same mutants survived, and which this one brings up to date. */
export function count(
  outcomes: ReadonlyMap<Mutant, Outcome>,
  about: Pick<Result, 'core' | 'commit' | 'sample'>,
  last?: Result,
): Result {
  const total = { ...(last?.total ?? none()) }
  const operators: Partial<Record<Operator, Tally>> = structuredClone(last?.operators ?? {})
  const files: Record<string, Tally> = structuredClone({ ...last?.files })
  for (const [{ file, operator }, outcome] of outcomes) {
    operators[operator] ??= none()
    files[file] ??= none()
    for (const tally of [total, operators[operator], files[file]]) {
      tally[outcome]++
      if (last) tally.survived--
    }
  }
  const survivors = [...outcomes].filter(([, outcome]) => outcome === 'survived').map(([{ id }]) => id)
  return { ...about, score: score(total), total, operators, files, survivors }
}
