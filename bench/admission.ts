// Admission in the core: n candidates with four clauses each and twice as many prerequisites, judged and bound (PROTOCOL 5, 6).

import { CANDIDATES_MAX, INSTANCES_MAX, Reason } from '../build/abi.ts'
import type { Admitted, CoreFactory } from '../src/core/core.ts'
import { loadCore } from '../src/core/wasm.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { forget } from '../test/oracle/sketch.ts'
import { Flying, isRetained, legs, stood } from './core.ts'
import type { Work } from './work.ts'

/** What the paper reports for 32 components and 64 prerequisites. */
const PAPER = { paper_ms: 0.333 }

type Admission = Partial<Work<readonly Admitted[]>> & {
  /** Components of the plan beside which the response comes; they have prerequisites as its own do. */
  readonly standing?: number
  /** Prerequisites a component, but for the first ones. */
  readonly each?: number
  /** The first one fails, and nothing else. */
  readonly firstFar?: boolean
}

export function admit(n: number, make: CoreFactory, name: string, what: Admission = {}): Work<readonly Admitted[]> {
  const { standing: beside = 0, each = 2, firstFar = false, ...rest } = what
  const flying = new Flying(make)
  const candidates = legs(n, each * n, firstFar)
  const kept = flying.stand(beside, each)
  let admitted: readonly Admitted[] = []
  return {
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
}

/** As many components as the core can know, in as few responses as can hold them: each beside all that came before it. */
export function admitAll(make: CoreFactory, name: string): Work<readonly Admitted[]> {
  const flying = new Flying(make)
  const part = legs(CANDIDATES_MAX, 4 * CANDIDATES_MAX)
  // Only their sequences differ from round to round: what an agent's plan is made of is not what is measured here.
  const before = Array.from({ length: INSTANCES_MAX / CANDIDATES_MAX }, (_, r) => r * CANDIDATES_MAX)
  const standing = before.flatMap((n) => stood(part, Array(CANDIDATES_MAX).fill(0), n).map((each) => ({ ...each })))
  const responses = before.map((n) => standing.slice(0, n))
  let admitted: Admitted[] = []
  return {
    name: `admit: ${name}`,
    before: () => flying.beat(),
    run: () => {
      admitted = []
      for (const kept of responses) {
        for (const each of flying.admit(part, kept)) {
          standing[admitted.length]!.sequence = each.sequence
          admitted.push(each)
        }
      }
      return admitted
    },
    after: () => forget(flying.core, admitted),
    didIt: () => admitted.length === INSTANCES_MAX && admitted.every(isRetained),
  }
}

export function admission(): Work[] {
  const withheld: Admission = {
    firstFar: true,
    didIt: ([root, ...others]) =>
      root?.reason === Reason.unsupported &&
      others.length === 31 &&
      others.every(({ reason, cause }) => reason === Reason.prerequisite_withheld && cause === 0),
  }
  return [
    admit(32, loadCore, '32 components, 64 prerequisites', PAPER),
    admit(32, loadCore, '32 components, 64 prerequisites, all fall with the first', withheld),
    admit(256, loadCore, '256 components, 512 prerequisites'),
    admit(256, loadCore, '256 components beside 768: 1,024, 4,096 prerequisites', { standing: 768, each: 4 }),
    admitAll(loadCore, '1,024 components, 4,096 prerequisites, four responses'),
    admit(32, oracle, '32 components, 64 prerequisites, by the oracle'),
  ]
}
