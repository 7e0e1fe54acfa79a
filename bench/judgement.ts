// Judging alone: steps 2 to 5 of admission in the core (PROTOCOL 5), without the host that hands the candidates over before and
// without their binding behind. Eight types with four clauses each, of which one reads the payload.

import { CANDIDATE_BYTES, CANDIDATES_AT, INPUT_AT, Kind, Phase, Reason } from '../build/abi.ts'
import type { Candidate } from '../src/core/core.ts'
import type { Expression } from '../src/core/expression.ts'
import { loadCore } from '../src/core/wasm.ts'
import { both, candidate, clauses, field, image, load, now, num, slot, type } from '../test/oracle/sketch.ts'
import { legs } from './core.ts'
import type { Work } from './work.ts'

const WORLD = { battery: 90, lat: 47.397742, lon: 8.545594, height: 10, fix: 3, armed: 1 } as const
const [BATTERY, LAT, LON, HEIGHT, FIX, ARMED] = [0, 1, 2, 3, 4, 5] as const
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

function judging(name: string, own: Expression): Work<number> {
  const types = Array.from({ length: TYPES }, (_, t) =>
    type(Kind.setpoint, {
      payload: ['lat', 'lon', 'alt'].map((field) => ({ name: field, kind: 'number', optional: false })),
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
  const core = load(
    loadCore,
    image(
      Object.keys(WORLD).map((f) => field(f, 1000, f === 'armed')),
      types,
    ),
  )
  for (const [i, value] of Object.values(WORLD).entries()) core.observe(i, value, 0)
  const snapshot = core.snapshot(0)
  const candidates = legs(COMPONENTS, 2 * COMPONENTS).map(({ id, requires }, i) =>
    candidate(i % TYPES, { id, payload: [47.3978, 8.5456, 10], requires }),
  )
  const halfway = core as unknown as Halfway
  const said = (i: number, word: number): number => halfway.words[(CANDIDATES_AT + i * CANDIDATE_BYTES) / 4 + word]!
  const judge = (): number => {
    halfway.core.judge()
    return said(COMPONENTS - 1, 0)
  }
  return {
    name: `judge: ${name}`,
    before: () => {
      halfway.core.openAdmission(COMPONENTS, 0, 0, 1, snapshot, halfway.writeText('agent/plan', INPUT_AT), 0)
      for (const each of candidates) halfway.offer(each)
    },
    run: judge,
    after: () => {
      halfway.core.bindRetained()
      const sequences = candidates.map((_, i) => said(i, 3))
      for (const sequence of sequences) core.end(sequence, Phase.superseded)
      for (const sequence of sequences) core.release(sequence)
    },
    didIt: (reason) => reason === Reason.none && candidates.every((_, i) => said(i, 0) === Reason.none),
  }
}

export function judgement(): Work[] {
  const distance: Expression = { op: 'distance', args: [slot(0), slot(1), now(LAT), now(LON)] }
  return [
    judging('32 components, 64 prerequisites', both('le', slot(2), num(120))),
    judging('32 components, 64 prerequisites, a distance in each', both('le', distance, num(300))),
  ]
}
