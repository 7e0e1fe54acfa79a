// Predicates of rules and the rehearsal of the gate, on both cores (PROTOCOL 7, 13).

import { describe, expect, test } from 'vitest'
import { Kind, Phase, PREDICATES_MAX, Reason } from '../../../build/abi.ts'
import { Barrier, type CoreFactory, CorePoisoned } from '../../../src/core/core.ts'
import type { Expression } from '../../../src/core/expression.ts'
import type { PredicateImage, TypeImage } from '../../../src/core/image.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { cores } from '../../oracle/cores.ts'
import {
  batch,
  both,
  candidate,
  cited,
  clauses,
  entry,
  field,
  frame,
  image,
  load,
  not,
  now,
  num,
  retain,
  slot,
  TRUE,
  type,
} from '../../oracle/sketch.ts'

const FIELDS = [field('battery', 100), field('map', 1000, true)]
const GOTO = type(Kind.setpoint, {
  payload: [
    { name: 'alt', kind: 'number', optional: false },
    { name: 'speed', kind: 'number', optional: true },
  ],
  frames: [frame([entry(0, 'f32', slot(0)), entry(4, 'u8', slot(0))], { sends: Number.POSITIVE_INFINITY })],
})
const NOTICE = type(Kind.notice)

function made(
  make: CoreFactory,
  types: readonly TypeImage[],
  ...expressions: readonly (readonly [number | undefined, Expression])[]
) {
  const predicates = expressions.map(([of, expression]): PredicateImage => ({ name: 'low', type: of, expression }))
  const core = load(make, { ...image(FIELDS, types), predicates })
  core.target(1, 1)
  return core
}

describe.each(cores)('%s', (_, make) => {
  test('G5: a predicate is yes, no, or unknown: unseen, not finite, absent, and no negation makes that a yes', () => {
    const low = both('lt', now(0), num(20))
    const poison = both('gt', both('div', now(0), num(0)), num(0))
    const age = both('gt', { op: 'age', field: 0 }, num(50))
    const core = made(
      make,
      [],
      [undefined, low],
      [undefined, not(low)],
      [undefined, both('or', TRUE, poison)],
      [undefined, age],
    )
    const said = (now_ms: number) => [0, 1, 2, 3].map((i) => core.predicate(i, 0, now_ms))
    expect(said(0)).toEqual([undefined, undefined, undefined, undefined])
    core.observe(0, 19, 1)
    expect(said(1)).toEqual([true, false, undefined, false])
    core.observe(0, 20, 2)
    expect(said(2)).toEqual([false, true, undefined, false])
    // Stale: only its age is still known.
    expect(said(103)).toEqual([undefined, undefined, undefined, true])
    core.observe(0, Number.NaN, 104)
    expect(said(104)).toEqual([undefined, undefined, undefined, undefined])
  })

  test('G2 G5: a payload is that of the bound instance, verified before it is read', () => {
    const core = made(
      make,
      [GOTO, NOTICE],
      [0, both('gt', slot(0), num(20))],
      [0, both('gt', slot(1), num(1))],
      [0, TRUE],
    )
    const [a, b] = retain(
      core,
      batch(core.snapshot(0), [candidate(0, { id: 'a', payload: [30, 2] }), candidate(0, { id: 'b', payload: [10] })]),
      0,
    )
    const said = (sequence: number) => [0, 1, 2].map((i) => core.predicate(i, sequence, 0))
    expect(said(a!)).toEqual([true, true, true])
    expect(said(b!)).toEqual([false, undefined, true])
    core.end(a!, Phase.failed)
    expect(said(a!)).toEqual([true, true, true])
    core.record(a!)[20]! ^= 1
    expect(said(a!)).toEqual([undefined, undefined, undefined])
    expect(said(b!)).toEqual([false, undefined, true])
  })

  test('an instance of another type, or none, traps; one for a predicate of state alone is a RangeError', () => {
    const fresh = () => {
      const core = made(make, [GOTO, NOTICE], [0, TRUE], [undefined, TRUE])
      retain(core, batch(core.snapshot(0), [candidate(1)]), 0)
      return core
    }
    for (const sequence of [0, 1, 2]) expect(() => fresh().predicate(0, sequence, 0)).toThrow(CorePoisoned)
    const core = fresh()
    expect(() => core.predicate(1, 1, 0)).toThrow(RangeError)
    expect(core.predicate(1, 0, 0)).toBe(true)
    expect(core.predicate(1, 0, 5)).toBe(true)
    expect(() => core.predicate(1, 0, 4)).toThrow(CorePoisoned)
  })

  test('what a predicate reads joins no footprint: the component crosses though it is unknown', () => {
    const core = made(make, [GOTO], [0, both('gt', now(0), slot(0))], [undefined, both('gt', now(1), num(0))])
    const [sequence] = retain(core, batch(core.snapshot(0), [candidate(0, { payload: [1] })]), 0)
    expect(core.predicate(0, sequence!, 0)).toBeUndefined()
    expect(core.gate(sequence!, 0, 0, 0).decision).toBe('allow')
  })

  test('G3: a rehearsal allows without a lease, any number of times, and the gate then says the same', () => {
    const core = made(make, [GOTO])
    const [sequence] = retain(core, batch(core.snapshot(0), [candidate(0, { payload: [7] })]), 0)
    for (let i = 0; i < 100; i++)
      expect(core.rehearse(sequence!, 0, 0)).toEqual({ decision: 'allow', frame: undefined })
    expect(core.gate(sequence!, 0, 0, 0)).toMatchObject({ decision: 'allow', frame: { message: 84 } })
    expect(core.rehearse(sequence!, 0, 0)).toMatchObject({ decision: 'deny', reason: Reason.token_spent })
    // That changes nothing of the lease.
    expect(core.frame(sequence!, 0, 0, 0, 0).decision).toBe('allow')
  })

  test('G3 G5: a denial of a rehearsal is final, that of a value that cannot be written among them', () => {
    const core = made(make, [GOTO])
    const whole = [candidate(0, { id: 'a', payload: [7] }), candidate(0, { id: 'b', payload: [256] })]
    const [a, b] = retain(core, batch(core.snapshot(0), whole), 0)
    expect(core.rehearse(a!, Barrier.not_in_control, 0)).toMatchObject({ reason: Reason.not_in_control })
    expect(core.gate(a!, 0, 0, 0)).toMatchObject({ decision: 'deny', reason: Reason.token_revoked })
    expect(core.rehearse(b!, 0, 0)).toMatchObject({ decision: 'deny', reason: Reason.unencodable })
    expect(core.gate(b!, 0, 0, 0)).toMatchObject({ decision: 'deny', reason: Reason.token_revoked })
  })

  test('a rehearsal starts the patience that the gate counts', () => {
    const patient = type(Kind.notice, { patience_ms: 50, gate: clauses(both('ge', now(0), num(0))) })
    const first = type(Kind.command, { mayRequire: [] })
    const core = made(make, [{ ...patient, mayRequire: [{ type: 1, phase: Phase.completed }] }, first])
    core.observe(0, 1, 0)
    const [sequence] = retain(core, batch(core.snapshot(0), [candidate(0)]), 0)
    expect(core.rehearse(sequence!, 0, 150)).toMatchObject({
      decision: 'defer',
      reason: Reason.state_awaited,
      detail: 0,
    })
    expect(core.gate(sequence!, 0, 199, 0)).toMatchObject({ decision: 'defer', reason: Reason.state_awaited })
    expect(core.gate(sequence!, 0, 200, 0)).toMatchObject({ decision: 'deny', reason: Reason.state_stale })
  })
})

test('G5: what a predicate may not read is refused when it is loaded, by its name', () => {
  const low: readonly (readonly [string, number | undefined, Expression, string])[] = [
    ['cited', 0, cited(0), 'predicate low: not allowed here'],
    ['drift', 0, { op: 'drift', field: 0, angle: false }, 'predicate low: not allowed here'],
    ['unchanged', undefined, { op: 'unchanged', field: 1 }, 'predicate low: not allowed here'],
    ['elapsed()', 0, { op: 'elapsed' }, 'predicate low: not allowed here'],
    ['the target', 0, { op: 'target', part: 0 }, 'predicate low: not allowed here'],
    ['a payload without a type', undefined, slot(0), 'predicate low: not allowed here'],
    ['a slot too many', 0, slot(2), 'predicate low: slot out of range'],
    ['a type too many', 2, TRUE, 'predicate low: type must be an integer from 0 to 1, got 2'],
  ]
  for (const [what, of, e, words] of low) expect(() => made(loadCore, [GOTO, NOTICE], [of, e]), what).toThrow(words)
  const most = Array.from({ length: PREDICATES_MAX }, () => [undefined, TRUE] as const)
  const core = made(loadCore, [], ...most)
  expect(core.predicate(PREDICATES_MAX - 1, 0, 0)).toBe(true)
  expect(() => core.predicate(PREDICATES_MAX, 0, 0)).toThrow(RangeError)
  expect(() => made(loadCore, [], ...most, [undefined, TRUE])).toThrow(
    `too many predicates (at most ${PREDICATES_MAX})`,
  )
})
