// Judging alone: steps 2 to 5 of admission in the core (PROTOCOL 5), without the host that hands the candidates over before and
// without their binding behind. Eight types with four clauses each, of which one reads the payload.

import { CANDIDATE_BYTES, CANDIDATES_AT, INPUT_AT, Kind, Phase, Reason } from '../build/abi.ts'
import type { Candidate } from '../src/core/core.ts'
import type { Expression } from '../src/core/expression.ts'
import { loadCore } from '../src/core/wasm.ts'
import { both, clauses, forget, image, now, num, slot, type } from '../test/oracle/sketch.ts'
import { ARMED, BATTERY, FIELDS, FIX, Flying, HEIGHT, LAT, LON, legs, PAYLOAD } from './core.ts'
import type { Work } from './work.ts'

const TYPES = 8
const COMPONENTS = 32

/** What is private to the host of the core: a benchmark may stop half-way, nobody else. */
interface Halfway {
  readonly core: {
    openAdmission(
      count: number,
      standing: number,
      agent: number,
      generation: number,
      snapshot: number,
      plan: number,
      now_ms: number,
    ): void
    judge(): void
    bindRetained(): void
  }
  readonly words: Uint32Array
  writeText(text: string, at: number): number
  offer(candidate: Candidate): void
}

function judging(name: string, own: Expression): Work<void> {
  const types = Array.from({ length: TYPES }, (_, t) =>
    type(Kind.setpoint, {
      payload: PAYLOAD,
      support: clauses(
        both('ge', now(BATTERY), num(25 + t)),
        own,
        both('and', both('ge', now(FIX), num(3)), both('le', now(HEIGHT), num(60))),
        both('eq', now(ARMED), num(1)),
      ),
      watches: [ARMED],
      mayRequire: Array.from({ length: TYPES }, (_, other) => ({ type: other, phase: Phase.completed })),
    }),
  )
  const { core, snapshot, now_ms } = new Flying(loadCore, image(FIELDS, types))
  const candidates = legs(COMPONENTS, 2 * COMPONENTS).map((leg, i) => ({ ...leg, type: i % TYPES }))
  const halfway = core as unknown as Halfway
  const said = (i: number, word: number): number => halfway.words[(CANDIDATES_AT + i * CANDIDATE_BYTES) / 4 + word]!
  return {
    name: `judge: ${name}`,
    before: () => {
      halfway.core.openAdmission(COMPONENTS, 0, 0, 1, snapshot, halfway.writeText('agent/plan', INPUT_AT), now_ms)
      for (const each of candidates) halfway.offer(each)
    },
    run: () => halfway.core.judge(),
    after: () => {
      halfway.core.bindRetained()
      forget(
        core,
        candidates.map((_, i) => ({ sequence: said(i, 3) })),
      )
    },
    didIt: () => candidates.every((_, i) => said(i, 0) === Reason.none),
  }
}

export function judgement(): Work[] {
  const distance: Expression = { op: 'distance', args: [slot(0), slot(1), now(LAT), now(LON)] }
  return [
    judging('32 components, 64 prerequisites', both('le', slot(2), num(120))),
    judging('32 components, 64 prerequisites, a distance in each', both('le', distance, num(300))),
  ]
}
