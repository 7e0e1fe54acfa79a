// Admission in the core: n candidates with four clauses each and twice as many prerequisites, judged and bound (PROTOCOL 5, 6).

import { Reason } from '../build/abi.ts'
import type { Admitted, CoreFactory, Standing } from '../src/core/core.ts'
import { loadCore } from '../src/core/wasm.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { forget } from '../test/oracle/sketch.ts'
import { Flying, isRetained, legs } from './core.ts'
import type { Work } from './work.ts'

/** What the paper reports for 32 components and 64 prerequisites. */
const PAPER = { paper_ms: 0.333 }

type Rest = Partial<Work<readonly Admitted[]>>

export function admit(n: number, make: CoreFactory, name: string, standing = 0, firstFar = false, rest: Rest = {}) {
  const flying = new Flying(make)
  const candidates = legs(n, 2 * n, firstFar)
  const kept: Standing[] = []
  while (kept.length < standing) {
    const first = kept.length
    const part = legs(Math.min(256, standing - first), 512)
    const sequences = flying.retain(part)
    for (const [i, sequence] of sequences.entries()) {
      kept.push({ sequence, requires: part[i]!.requires.map((to) => -2 - (first + to)) })
    }
  }
  let admitted: readonly Admitted[] = []
  const work: Work<readonly Admitted[]> = {
    name: `admit: ${name}`,
    before: () => flying.beat(),
    run: () => {
      admitted = flying.admit(candidates, kept)
      return admitted
    },
    after: () => forget(flying.core, admitted),
    didIt: (all) => all.length === n && all.every(isRetained),
    ...rest,
  }
  return work
}

export function admission(): Work[] {
  const withheld: Rest = {
    didIt: ([root, ...others]) =>
      root?.reason === Reason.unsupported &&
      others.length === 31 &&
      others.every(({ reason, cause }) => reason === Reason.prerequisite_withheld && cause === 0),
  }
  return [
    admit(32, loadCore, '32 components, 64 prerequisites', 0, false, PAPER),
    admit(32, loadCore, '32 components, 64 prerequisites, all fall with the first', 0, true, withheld),
    admit(256, loadCore, '256 components, 512 prerequisites'),
    admit(256, loadCore, '256 components beside 768 standing: 1,024, 2,048 prerequisites', 768),
    admit(32, oracle, '32 components, 64 prerequisites, by the oracle'),
  ]
}
