// Admission on every directed graph of four components, cycles and self-loops included (PROTOCOL 5).

import { expect, test } from 'vitest'
import { loadCore } from '../../src/core/wasm.ts'
import { oracle } from '../oracle/oracle.ts'
import { digraphs, every } from './digraph.ts'
import { Trial } from './trial.ts'

const SLOW_MS = 300_000

test.each([
  ['core: every digraph of 4', loadCore, 1],
  ['oracle, which is slow: every 15th digraph of 4', oracle, 15],
] as const)(
  'G1 G6: %s components with every support, against the union of all closed subsets',
  (_, make, stride) => {
    const trial = new Trial(make)
    expect(trial.judgeAll(every(stride, digraphs(4)))).toBeUndefined()
    expect(trial.graphs).toBe(Math.ceil(2 ** 16 / stride))
    expect(trial.cases).toBe(trial.graphs * 16)
  },
  SLOW_MS,
)
