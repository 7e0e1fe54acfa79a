// The result of a run: how many mutants the tests told from the core.

import type { Mutant, Operator } from './mutator.ts'

/** Not counted: `invalid` does not compile, `same` is byte for byte the core. `hung` is found out too: a test never ended. */
export type Outcome = 'killed' | 'hung' | 'survived' | 'same' | 'invalid'
export type Tally = Record<Outcome, number>
/** The mutants of one operator in one file: how many there are, and what became of those that were judged. */
export type Stratum = Tally & { of: number }

export interface Result {
  /** SHA-256 of the core, and the commit it was judged at. */
  readonly core: string
  readonly commit: string
  /** The most mutants of a stratum that were judged, drawn by this seed; `all` were. */
  readonly sample: { readonly most: number; readonly seed: number } | 'all'
  /** Killed or hung, per cent of these and the survivors. */
  readonly score: number
  /** The same for all mutants there are: each stratum weighs as many as it has. A sample takes too few of the large ones. */
  readonly estimate: number
  readonly total: Stratum
  readonly files: Readonly<Record<string, Partial<Record<Operator, Stratum>>>>
  /** Their ids; survivors.yaml explains each. */
  readonly survivors: readonly string[]
}

const EMPTY: Stratum = { of: 0, killed: 0, hung: 0, survived: 0, same: 0, invalid: 0 }

/** Per cent, to two places. */
const percent = (share: number): number => Math.round(10_000 * share) / 100
const found = ({ killed, hung, survived }: Tally): number => (killed + hung) / (killed + hung + survived)

/**
 * Counts the outcomes of some of `every` mutant; `last` is a result in which the same ones survived, and which this one
 * brings up to date.
 */
export function count(
  every: readonly Mutant[],
  outcomes: ReadonlyMap<Mutant, Outcome>,
  about: Pick<Result, 'core' | 'commit' | 'sample'>,
  last?: Result,
): Result {
  const files: Record<string, Partial<Record<Operator, Stratum>>> = {}
  const total = { ...(last?.total ?? EMPTY), of: every.length }
  for (const mutant of every) {
    const { file, operator } = mutant
    files[file] ??= {}
    files[file][operator] ??= { ...(last?.files[file]?.[operator] ?? EMPTY), of: 0 }
    const stratum = files[file][operator]
    stratum.of++
    const outcome = outcomes.get(mutant)
    if (!outcome) continue
    for (const tally of [total, stratum]) {
      tally[outcome]++
      if (last) tally.survived--
    }
  }
  const strata = Object.values(files)
    .flatMap((operators) => Object.values(operators))
    .filter(({ killed, hung, survived }) => killed + hung + survived > 0)
  const sum = (of: (stratum: Stratum) => number): number => strata.reduce((all, stratum) => all + of(stratum), 0)
  const estimate = percent(sum((stratum) => stratum.of * found(stratum)) / sum(({ of }) => of))
  const survivors = [...outcomes].filter(([, outcome]) => outcome === 'survived').map(([{ id }]) => id)
  return { ...about, score: percent(found(total)), estimate, total, files, survivors }
}
