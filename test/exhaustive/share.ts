// One process's share of a deep run: `share.ts COMPONENTS STRIDE FIRST` judges every STRIDE-th DAG from the FIRST-th.

import { loadCore } from '../../src/core/wasm.ts'
import { dags, every } from './digraph.ts'
import { type Mismatch, Trial } from './trial.ts'

/** What it says: now and then, at its end, and of a mismatch, at which it ends. */
export interface Share {
  readonly graphs: number
  readonly cases: number
  readonly mismatch?: Mismatch
}

const GRAPHS_A_REPORT = 2000

const [components, stride, first] = process.argv.slice(2).map(Number) as [number, number, number]
const trial = new Trial(loadCore)
const tell = (rest: Pick<Share, 'mismatch'> = {}): void => {
  process.send?.({ graphs: trial.graphs, cases: trial.cases, ...rest } satisfies Share)
}

for (const rows of every(stride, dags(components), first)) {
  const mismatch = trial.judgeAll([rows])
  if (mismatch !== undefined) {
    tell({ mismatch })
    break
  }
  if (trial.graphs % GRAPHS_A_REPORT === 0) tell()
}
tell()
