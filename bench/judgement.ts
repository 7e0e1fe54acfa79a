// Judging alone: steps 2 to 5 of admission in the core (PROTOCOL 5), without the host that hands the candidates over before and
// without their binding behind. Eight types with four clauses each, of which one reads the payload.

import { CANDIDATE_BYTES, CANDIDATES_AT, INPUT_AT, Kind, Phase, Reason } from '../build/abi.ts'
import type { Candidate, Standing } from '../src/core/core.ts'
import type { Expression } from '../src/core/expression.ts'
import type { TypeImage } from '../src/core/image.ts'
import { loadCore } from '../src/core/wasm.ts'
import { both, clauses, forget, image, now, num, slot, type } from '../test/oracle/sketch.ts'
import { ARMED, BATTERY, FIELDS, FIX, Flying, HEIGHT, LAT, LON, legs, PAYLOAD } from './core.ts'
import type { Work } from './work.ts'

const TYPES = 8

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
    addStanding(sequence: number, prerequisites: number): void
    judge(): void
    bindRetained(): void
  }
  readonly words: Uint32Array
  writeText(text: string, at: number): number
  writeEdges(requires: readonly number[]): void
  offer(candidate: Candidate): void
}

/** An admission that stops before it is judged: `components` with `each` prerequisites each, beside others that stand. */
class Offered {
  readonly #flying: Flying
  readonly #halfway: Halfway
  readonly #candidates: readonly Candidate[]
  readonly #kept: readonly Standing[]

  constructor(types: readonly TypeImage[], components: number, each: number, beside: number) {
    this.#flying = new Flying(loadCore, image(FIELDS, types))
    this.#halfway = this.#flying.core as unknown as Halfway
    this.#candidates = legs(components, each * components).map((leg, i) => ({ ...leg, type: i % TYPES }))
    this.#kept = this.#flying.stand(beside, each)
  }

  offer(): void {
    const { core } = this.#halfway
    const { snapshot, now_ms } = this.#flying
    const planBytes = this.#halfway.writeText('agent/plan', INPUT_AT)
    core.openAdmission(this.#candidates.length, this.#kept.length, 0, 1, snapshot, planBytes, now_ms)
    for (const each of this.#candidates) this.#halfway.offer(each)
    for (const { sequence, requires } of this.#kept) {
      this.#halfway.writeEdges(requires)
      core.addStanding(sequence, requires.length)
    }
  }

  judge(): void {
    this.#halfway.core.judge()
  }

  forget(): void {
    this.#halfway.core.bindRetained()
    forget(
      this.#flying.core,
      this.#candidates.map((_, i) => ({ sequence: this.#said(i, 3) })),
    )
  }

  get retained(): boolean {
    return this.#candidates.every((_, i) => this.#said(i, 0) === Reason.none)
  }

  #said(i: number, word: number): number {
    return this.#halfway.words[(CANDIDATES_AT + i * CANDIDATE_BYTES) / 4 + word]!
  }
}

/** One response for each of `beside`: in a core of its own, so that all of them can be judged one after the other. */
function judging(
  name: string,
  own: Expression,
  components: number,
  each: number,
  beside: readonly number[],
  target_ms?: number,
): Work<void> {
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
  const responses = beside.map((standing) => new Offered(types, components, each, standing))
  return {
    name: `judge: ${name}`,
    target_ms,
    before: () => {
      for (const response of responses) response.offer()
    },
    run: () => {
      for (const response of responses) response.judge()
    },
    after: () => {
      for (const response of responses) response.forget()
    },
    didIt: () => responses.every(({ retained }) => retained),
  }
}

export function judgement(): Work[] {
  const payload = both('le', slot(2), num(120))
  const distance: Expression = { op: 'distance', args: [slot(0), slot(1), now(LAT), now(LON)] }
  const near = both('le', distance, num(300))
  return [
    judging('32 components, 64 prerequisites', payload, 32, 2, [0], 0.0015),
    judging('32 components, 64 prerequisites, a distance in each', near, 32, 2, [0], 0.003),
    judging('256 components beside 768: 1,024, 4,096 prerequisites', payload, 256, 4, [768]),
    judging('1,024 components, 4,096 prerequisites, four responses', payload, 256, 4, [0, 256, 512, 768]),
  ]
}
