// Every case on every variant, counted by column.

import { isDeepStrictEqual } from 'node:util'
import { loadCore } from '../../src/core/wasm.ts'
import { fly, type Score } from './flight.ts'
import { COLUMNS, type Column, type Trial, trials } from './scenario.ts'
import { FULL, VARIANTS } from './variant.ts'

export interface Evaluation {
  /** What each column counts, and of how many. */
  readonly columns: Readonly<Record<Column, { readonly title: string; readonly counts: string; readonly of: number }>>
  /** By variant and column: how many were right. */
  readonly rows: Readonly<Record<string, Readonly<Record<Column, number>>>>
  readonly cases: readonly CaseResult[]
}

export interface CaseResult {
  readonly case: string
  readonly column: Column
  /** The variants that lost a component which must be kept, or did what must not happen. */
  readonly wrong: readonly string[]
  /** What HALO-Full got wrong, in words; and where the core and the oracle do not come to the same. */
  readonly findings: readonly string[]
}

const columns = Object.keys(COLUMNS) as Column[]
const isRight = ({ missed, broken }: Score): boolean => missed.length === 0 && broken.length === 0

/** How many of a case count in its column. */
const weight = ({ column, expected }: Trial): number =>
  COLUMNS[column].counts === 'components' ? expected.goes!.length : 1
const right = ({ column }: Trial, { kept, broken }: Score): number =>
  COLUMNS[column].counts === 'components' ? kept.length : Number(broken.length === 0)

/** Flies everything; `flown` is told after each case. HALO-Full flies on the wasm core, and on the oracle beside it. */
export function evaluate(flown: (done: number, of: number) => void = () => undefined): Evaluation {
  const all = trials()
  const count = (of: (trial: Trial, i: number) => number) =>
    Object.fromEntries(
      columns.map((column) => [column, all.reduce((sum, t, i) => sum + (t.column === column ? of(t, i) : 0), 0)]),
    ) as Record<Column, number>
  const scores = all.map((trial, i) => {
    const flights = VARIANTS.map((variant) => fly(trial, variant, variant === FULL ? loadCore : variant.core))
    flown(i + 1, all.length)
    return flights
  })
  const of = count(weight)
  return {
    columns: Object.fromEntries(
      columns.map((column) => [column, { ...COLUMNS[column], of: of[column] }]),
    ) as unknown as Evaluation['columns'],
    rows: Object.fromEntries(VARIANTS.map(({ name }, v) => [name, count((trial, i) => right(trial, scores[i]![v]!))])),
    cases: all.map((trial, i) => {
      const full = scores[i]!.at(-1)!
      const naive = fly(trial, FULL)
      const differ = isDeepStrictEqual(full, naive) ? [] : [`core ${words(full)}, oracle ${words(naive)}`]
      return {
        case: trial.name,
        column: trial.column,
        wrong: VARIANTS.filter((_, v) => !isRight(scores[i]![v]!)).map(({ name }) => name),
        findings: [...(isRight(full) ? [] : [words(full)]), ...differ],
      }
    }),
  }
}

const words = ({ missed, broken }: Score): string =>
  [...missed.map((id) => `${id} did not go out`), ...broken].join(', ') || 'right'
