// A small catalog for the figures about the core itself: actions with four clauses over the present, the snapshot and the
// payload; as a leg, they stream a setpoint, as a flight, they are three commands.

import { CANDIDATES_MAX, Kind, Phase, Reason } from '../build/abi.ts'
import {
  type Admitted,
  type Candidate,
  type Core,
  type CoreFactory,
  type Standing,
  standing,
} from '../src/core/core.ts'
import type { TypeImage } from '../src/core/image.ts'
import {
  batch,
  both,
  candidate,
  clauses,
  entry,
  field,
  frame,
  image,
  load,
  now,
  num,
  retain,
  slot,
  type,
} from '../test/oracle/sketch.ts'

/** Index = field. */
const WORLD = [
  { name: 'battery', value: 90 },
  { name: 'lat', value: 47.397742 },
  { name: 'lon', value: 8.545594 },
  { name: 'height', value: 10 },
  { name: 'fix', value: 3 },
  { name: 'armed', value: 1 },
] as const
export const [BATTERY, LAT, LON, HEIGHT, FIX, ARMED] = [0, 1, 2, 3, 4, 5] as const
export const FIELDS = WORLD.map(({ name }) => field(name, 1000, name === 'armed'))
/** What an action of this catalog says: where to. */
export const PAYLOAD = ['lat', 'lon', 'alt'].map((name) => ({ name, kind: 'number', optional: false }) as const)
/** Legs rest on legs, and everything on everything: at the phase in which its kind is completed. */
export const LEG = 0
export const FLIGHT = 1
export const REPORT = 2
export const NOTICE = 3
const mayRequire = [LEG, FLIGHT, REPORT, NOTICE].map((other) => ({
  type: other,
  phase: other === LEG || other === FLIGHT ? Phase.completed : Phase.released,
}))

const action: Partial<TypeImage> = {
  payload: PAYLOAD,
  support: clauses(
    both('ge', now(BATTERY), num(25)),
    both('le', { op: 'distance', args: [slot(0), slot(1), now(LAT), now(LON)] }, num(300)),
    both('and', both('ge', now(FIX), num(3)), both('le', now(HEIGHT), num(60))),
    both('le', { op: 'drift', field: HEIGHT, angle: false }, num(5)),
  ),
  holds: clauses(both('eq', now(ARMED), num(1)), both('ge', now(HEIGHT), num(2))),
  watches: [ARMED],
  mayRequire,
}
const command = frame([entry(0, 'f32', num(1)), entry(24, 'f32', slot(2)), entry(28, 'u16', num(176))], {
  message: 76,
  length: 33,
})
const setpoint = frame(
  [
    entry(4, 'i32', both('mul', slot(0), num(1e7))),
    entry(8, 'i32', both('mul', slot(1), num(1e7))),
    entry(12, 'f32', slot(2)),
  ],
  { message: 86, length: 53, stamp: 0, sends: Number.POSITIVE_INFINITY },
)
const IMAGE = image(FIELDS, [
  type(Kind.setpoint, { ...action, frames: [setpoint, command] }),
  type(Kind.command, { ...action, frames: [command, command, command] }),
  type(Kind.report, {
    support: clauses(both('ge', now(BATTERY), num(0)), both('ge', now(FIX), num(3))),
    mayRequire,
  }),
  type(Kind.notice, { mayRequire }),
])

const NEAR = [47.3978, 8.5456, 10]
const FAR = [48.3978, 8.5456, 10]

/** A component that is supported, unless its payload is `FAR`. */
export const component = (i: number, of: number, requires: readonly number[], far = false): Candidate =>
  candidate(of, { id: `leg-${i}`, payload: of === LEG || of === FLIGHT ? (far ? FAR : NEAR) : [], requires })

/** n legs in a row that rest on `edges` others in all, as evenly as it can be: always on the nearest before them. */
export function legs(n: number, edges: number, firstFar = false): Candidate[] {
  let left = edges
  return Array.from({ length: n }, (_, i) => {
    // What the first ones cannot name, the last ones do.
    const count = Math.min(i, Math.ceil(left / (n - i)))
    left -= count
    return component(
      i,
      LEG,
      Array.from({ length: count }, (_, back) => i - 1 - back),
      firstFar && i === 0,
    )
  })
}

/** Retained components as they stand beside later ones, behind the `before` that stand already. */
export const stood = (part: readonly Candidate[], sequences: readonly number[], before: number): Standing[] =>
  sequences.map((sequence, i) => ({ sequence, requires: part[i]!.requires.map((to) => standing(before + to)) }))

/** A core in flight, on virtual time. */
export class Flying {
  readonly core: Core
  readonly snapshot: number
  /** What is received in each beat, by field. */
  world: readonly number[]
  now_ms = 0

  constructor(make: CoreFactory, what = IMAGE, world: readonly number[] = WORLD.map(({ value }) => value)) {
    this.core = load(make, what)
    this.world = world
    this.core.target(1, 1)
    this.beat()
    this.snapshot = this.core.snapshot(this.now_ms)
  }

  /** A tenth of a second later: every field is received again. */
  beat(): void {
    this.now_ms += 100
    for (const [i, value] of this.world.entries()) this.core.observe(i, value, this.now_ms)
  }

  admit(candidates: readonly Candidate[], standing: readonly Standing[] = []): readonly Admitted[] {
    return this.core.admit(batch(this.snapshot, candidates, { standing }), this.now_ms)
  }

  /** Retained, or an error. */
  retain(candidates: readonly Candidate[], standing: readonly Standing[] = []): number[] {
    return retain(this.core, batch(this.snapshot, candidates, { standing }), this.now_ms)
  }

  /** `count` legs that stand already, with `each` prerequisites each but for the first ones, as a later response meets them. */
  stand(count: number, each: number): Standing[] {
    const kept: Standing[] = []
    while (kept.length < count) {
      const n = Math.min(CANDIDATES_MAX, count - kept.length)
      const part = legs(n, each * n)
      kept.push(...stood(part, this.retain(part), kept.length))
    }
    return kept
  }

  /** Through the gate, and to its end. */
  complete(sequence: number, phase: Phase): void {
    const { decision } = this.core.gate(sequence, 0, this.now_ms, 0)
    if (decision !== 'allow') throw new Error(`sequence ${sequence} did not cross`)
    this.core.reach(sequence, phase)
    this.core.end(sequence, Phase.completed)
  }
}

export const isRetained = ({ reason }: Admitted): boolean => reason === Reason.none
