// The result of a run: how it is counted, and that the last one leaves nothing unexplained.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Mutant, mutantsOf } from './mutator.ts'
import { count, type Outcome, type Result } from './result.ts'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const about = { core: 'c', commit: 'd', sample: 'all' } as const
const mutants = mutantsOf('f.ts', 'function f(): void { a(); b(); c += d }')
const judged = (...outcomes: Outcome[]) => new Map(outcomes.map((outcome, i) => [mutants[i]!, outcome]))

test('a hang counts as killed, what is the same or invalid not at all', () => {
  const result = count(mutants, judged('killed', 'hung', 'survived', 'same'), about)
  expect(result.score).toBe(66.67)
  expect(result.total).toEqual({ of: 4, killed: 1, hung: 1, survived: 1, same: 1, invalid: 0 })
  expect(result.files['f.ts']!.statement).toEqual({ of: 3, killed: 1, hung: 1, survived: 1, same: 0, invalid: 0 })
  expect(result.survivors).toEqual(['f.ts f: c += d → ;'])
})

test('of a sample each stratum weighs as many mutants as it has', () => {
  const result = count(
    mutants,
    new Map([mutants[0]!, mutants[3]!].map((m, i) => [m, i === 0 ? 'killed' : 'survived'])),
    about,
  )
  expect([result.score, result.estimate]).toEqual([50, 75])
})

test('a survivor that is judged again is counted once', () => {
  const last = count(mutants, judged('killed', 'survived', 'survived'), about)
  const [, b, c] = mutants
  const outcomes = new Map<Mutant, Outcome>([
    [b!, 'killed'],
    [c!, 'survived'],
  ])
  const again = count(mutants, outcomes, about, last)
  expect(again.total).toEqual({ of: 4, killed: 2, hung: 0, survived: 1, same: 0, invalid: 0 })
  expect(again.files['f.ts']!.statement).toEqual({ ...again.total, of: 3 })
  expect(again.survivors).toEqual([c!.id])
})

test('each survivor of the last result is explained', () => {
  const { survivors }: Result = JSON.parse(read('core.json'))
  const explained = parse(read('survivors.yaml')).flatMap(({ mutants }: { mutants: string[] }) => mutants)
  expect(survivors.filter((id) => !explained.includes(id))).toEqual([])
})
