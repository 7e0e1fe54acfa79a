// Admission on every directed acyclic graph of five components (PROTOCOL 5).

import { expect, test } from 'vitest'
import { loadCore } from '../../src/core/wasm.ts'
import { oracle } from '../oracle/oracle.ts'
import { deep } from './deep.ts'
import { DAGS, dags, every } from './digraph.ts'
import { Trial } from './trial.ts'

const SLOW_MS = 300_000

test.each([
  ['core: every DAG of 5', loadCore, 1],
  ['oracle, which is slow: every 15th DAG of 5', oracle, 15],
] as const)(
  'G1 G6: %s components with every support, against the union of all closed subsets',
  (_, make, stride) => {
    const trial = new Trial(make)
    expect(trial.judgeAll(every(stride, dags(5)))).toBeUndefined()
    expect(trial.graphs).toBe(Math.ceil(DAGS[5]! / stride))
    expect(trial.cases).toBe(trial.graphs * 32)
  },
  SLOW_MS,
)

test.each([...DAGS.entries()].slice(1))('labelled DAGs of %i components: as many as are known, %i', (n, count) => {
  // The graphs of the last size are too many to be kept and compared.
  const isKept = n < DAGS.length - 1
  const seen = new Set<string>()
  let found = 0
  for (const rows of dags(n)) {
    found++
    if (isKept) seen.add(rows.join())
  }
  expect(found).toBe(count)
  if (isKept) expect(seen.size).toBe(count)
})

test('G1 G6: the deep run judges every DAG of its size once, over all its processes', async () => {
  const { graphs, cases, mismatches } = await deep({ components: 4 })
  expect({ graphs, cases, mismatches }).toEqual({ graphs: DAGS[4], cases: DAGS[4]! * 16, mismatches: [] })
})
