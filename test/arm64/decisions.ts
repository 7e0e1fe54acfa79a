// What HALO decides, as a hash, on whatever machine this runs (G7): `decisions.ts PART` writes one line of JSON to stdout.
// `main.ts` compares two machines.

import { createHash } from 'node:crypto'
import type { CoreFactory } from '../../src/core/core.ts'
import { loadCore } from '../../src/core/wasm.ts'
import { evaluate } from '../evaluation/evaluation.ts'
import { written } from '../evaluation/table.ts'
import { dags, digraphs } from '../exhaustive/digraph.ts'
import { Trial } from '../exhaustive/trial.ts'
import { fly } from '../unit/engine/whole-flight.ts'

export interface Decided {
  /** SHA-256 of what was decided. */
  readonly hash: string
  /** That decided it. */
  readonly machine: string
}

/** Every answer of `admit` over all acyclic graphs of four components and all graphs of three, with every support. */
function admissions(): string {
  const hash = createHash('sha256')
  const heard: CoreFactory = (image, session, environment) => {
    const core = loadCore(image, session, environment)
    const admit = core.admit.bind(core)
    core.admit = (batch, now_ms) => {
      const admitted = admit(batch, now_ms)
      hash.update(JSON.stringify(admitted))
      return admitted
    }
    return core
  }
  const trial = new Trial(heard)
  const mismatch = trial.judgeAll(dags(4)) ?? trial.judgeAll(digraphs(3))
  if (mismatch !== undefined) throw new Error(JSON.stringify(mismatch))
  return hash.digest('hex')
}

const PARTS: Readonly<Record<string, () => string>> = {
  flight: () => fly().hash,
  admissions,
  evaluation: () => createHash('sha256').update(written(evaluate())).digest('hex'),
}

const part = PARTS[process.argv[2] ?? '']
if (part === undefined) throw new RangeError(`a part must be one of ${Object.keys(PARTS).join(', ')}`)
const decided: Decided = { hash: part(), machine: `${process.arch}, Node ${process.version}` }
console.log(JSON.stringify(decided))
