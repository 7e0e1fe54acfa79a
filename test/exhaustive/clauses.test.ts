// Clauses: the core's programs say what the oracle's walk over the tree says, and what is not known is never a yes (PROTOCOL 3).

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Kind, Reason } from '../../build/abi.ts'
import type { Admitted, Core, CoreFactory, SlotValue, Validity } from '../../src/core/core.ts'
import { type Expression, reads } from '../../src/core/expression.ts'
import { cores } from '../oracle/cores.ts'
import {
  clauseTree,
  FIELDS,
  predicateTree,
  SLOTS,
  stateTree,
  TEXTS,
  valuesOf,
  valueTree,
} from '../oracle/expressions.ts'
import { oracle } from '../oracle/oracle.ts'
import {
  batch,
  both,
  candidate,
  cited,
  clause,
  clauses,
  entry,
  frame,
  image,
  load,
  not,
  now,
  num,
  slot,
  TRUE,
  type,
} from '../oracle/sketch.ts'

/** For each field what was received, and how long before the snapshot or the judgement: NaN is unknown. */
type World = readonly { readonly value: number; readonly age_ms: number }[]

const worldOf = (odds: number): fc.Arbitrary<World> =>
  fc.tuple(
    ...FIELDS.map((_, f) =>
      fc.record({
        value: fc.oneof(
          { weight: odds, arbitrary: fc.constantFrom(...valuesOf(f)) },
          { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY) },
        ),
        age_ms: fc.oneof({ weight: odds, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.nat(110) }),
      }),
    ),
  )
const payloads: fc.Arbitrary<SlotValue[]> = fc.tuple(
  fc.constantFrom(0, 1, -3.5, 1e308),
  fc.constantFrom(undefined, 0, 2),
  fc.constantFrom(undefined, ...TEXTS),
)

const SNAPSHOT_MS = 1000
const JUDGED_MS = 1200

/** What was seen of each field, at the snapshot and now. */
interface Seen {
  readonly core: Core
  readonly ordinal: number
  readonly then: readonly Validity[]
  readonly here: readonly Validity[]
}

function live(make: CoreFactory, expressions: readonly Expression[], before: World, after: World): Seen {
  const types = expressions.map((e) => type(Kind.notice, { payload: SLOTS, support: [clause(e)] }))
  const core = load(make, image(FIELDS, types))
  const see = (world: World, now_ms: number): Validity[] => {
    for (const [f, { value, age_ms }] of world.entries()) core.observe(f, value, now_ms - age_ms)
    return FIELDS.map((_, f) => core.read(f, now_ms).validity)
  }
  const then = see(before, SNAPSHOT_MS)
  const ordinal = core.snapshot(SNAPSHOT_MS)
  return { core, ordinal, then, here: see(after, JUDGED_MS) }
}

describe.each(cores)('%s', (_, make) => {
  test('G5: any clause over any world is judged as the oracle judges it, and never yes over what is not known', () => {
    const count = { held: 0, fell: 0, unseen: 0 }
    fc.assert(
      fc.property(
        fc.array(clauseTree, { minLength: 12, maxLength: 12 }),
        worldOf(12),
        worldOf(12),
        payloads,
        (expressions, before, after, payload) => {
          const subject = live(make, expressions, before, after)
          const model = live(oracle, expressions, before, after)
          expect(subject.here).toEqual(model.here)
          const what = batch(
            subject.ordinal,
            expressions.map((_, t) => candidate(t, { id: `c${t}`, payload })),
          )
          const said = subject.core.admit(what, JUDGED_MS)
          expect(said).toEqual(model.core.admit(what, JUDGED_MS))
          for (const [i, e] of expressions.entries()) {
            const { now, known, cited } = reads(e)
            const isSeen =
              [...now].every((f) => subject.here[f] === 'usable') &&
              [...known].every((f) => subject.here[f] !== 'unknown') &&
              [...cited].every((f) => subject.then[f] === 'usable')
            if (!isSeen) expect([Reason.state_unknown, Reason.state_stale]).toContain(said[i]!.reason)
            count[isSeen ? (said[i]!.reason === Reason.none ? 'held' : 'fell') : 'unseen']++
          }
        },
      ),
      { numRuns: 120, seed: 7 },
    )
    // The worlds are not so wild that one of the three would go untested.
    expect(Math.min(count.held, count.fell, count.unseen)).toBeGreaterThan(100)
  })

  test('G5: any predicate is judged as the oracle judges it, and undefined over what is not known or not finite', () => {
    const count = { true: 0, false: 0, unseen: 0, unfinished: 0 }
    fc.assert(
      fc.property(
        fc.array(predicateTree, { minLength: 12, maxLength: 12 }),
        fc.array(stateTree, { minLength: 12, maxLength: 12 }),
        worldOf(12),
        payloads,
        (ofPayload, ofState, world, payload) => {
          const predicates = [
            ...ofPayload.map((expression) => ({ name: 'predicate', type: 0, expression })),
            ...ofState.map((expression) => ({ name: 'predicate', type: undefined, expression })),
          ]
          const [a, b] = [oracle, make].map((factory) => {
            const core = load(factory, { ...image(FIELDS, [type(Kind.notice, { payload: SLOTS })]), predicates })
            const [{ sequence }] = core.admit(batch(core.snapshot(0), [candidate(0, { payload })]), 0) as [Admitted]
            for (const [f, { value, age_ms }] of world.entries()) core.observe(f, value, JUDGED_MS - age_ms)
            const here = FIELDS.map((_, f) => core.read(f, JUDGED_MS).validity)
            const said = predicates.map((p, i) => core.predicate(i, p.type === undefined ? 0 : sequence, JUDGED_MS))
            return { here, said }
          })
          expect(b).toEqual(a)
          for (const [i, { expression }] of predicates.entries()) {
            const { now, known } = reads(expression)
            const isSeen =
              [...now].every((f) => b!.here[f] === 'usable') && [...known].every((f) => b!.here[f] !== 'unknown')
            const said = b!.said[i]
            if (!isSeen) expect(said).toBeUndefined()
            count[!isSeen ? 'unseen' : said === undefined ? 'unfinished' : said ? 'true' : 'false']++
          }
        },
      ),
      { numRuns: 120, seed: 13 },
    )
    expect(Math.min(...Object.values(count))).toBeGreaterThan(100)
  })

  test('G2 G5: any value in a frame has the bytes that the oracle gives it, or is unencodable', () => {
    let allowed = 0
    fc.assert(
      fc.property(
        fc.array(valueTree, { minLength: 6, maxLength: 6 }),
        worldOf(60),
        payloads,
        (values, world, payload) => {
          const types = values.map((v) =>
            type(Kind.command, { payload: SLOTS, frames: [frame([entry(0, 'f32', v), entry(4, 'i16', v)])] }),
          )
          const [a, b] = [oracle, make].map((factory) => {
            const core = load(factory, image(FIELDS, types))
            for (const [f, { value, age_ms }] of world.entries()) core.observe(f, value, 1000 - age_ms)
            const what = batch(
              core.snapshot(1000),
              values.map((_, t) => candidate(t, { id: `c${t}`, payload })),
            )
            return core.admit(what, 1000).map(({ sequence }) => {
              const said = core.gate(sequence, 0, 1000, 0)
              return said.decision === 'allow' ? Buffer.from(said.frame!.payload).toString('hex') : said
            })
          })
          allowed += a!.filter((said) => typeof said === 'string').length
          expect(b).toEqual(a)
        },
      ),
      { numRuns: 100, seed: 11 },
    )
    expect(allowed).toBeGreaterThan(100)
  })

  test('G5: no negation, disjunction or choice turns a value that is not finite, or an absent one, into a yes', () => {
    const half = both('div', num(0), num(0))
    const poisons: readonly Expression[] = [
      both('div', num(1), num(0)),
      half,
      both('mul', num(1e308), num(10)),
      both('sub', both('mul', num(1e308), num(10)), both('mul', num(1e308), num(10))),
      both('min', num(1), half),
      slot(1),
      { op: 'length', slot: 2, guarded: false },
    ]
    const isPoisoned = poisons.flatMap((p): Expression[] => [
      both('or', TRUE, both('gt', p, num(0))),
      not(both('gt', p, num(0))),
      both('ne', p, num(0)),
      not(both('and', both('ne', num(1), num(1)), both('eq', p, num(0)))),
      { op: 'select', args: [TRUE, TRUE, both('eq', p, p)] },
      both('gt', { op: 'select', args: [TRUE, num(1), p] }, num(0)),
      both('eq', both('mul', num(0), p), num(0)),
      both('le', both('max', num(0), p), num(1e308)),
    ])
    const said = (expressions: readonly Expression[]): Reason[] =>
      expressions.map((e) => {
        const core = load(make, image([], [type(Kind.notice, { payload: SLOTS, support: clauses(e) })]))
        return core.admit(batch(core.snapshot(0), [candidate(0, { payload: [1, undefined, undefined] })]), 0)[0]!.reason
      })
    expect(said(isPoisoned)).toEqual(isPoisoned.map(() => Reason.unsupported))

    const absent: readonly Expression[] = [
      { op: 'not', args: [{ op: 'text', slot: 2, value: 'x', guarded: false }] },
      both('or', TRUE, { op: 'text', slot: 2, value: '', guarded: false }),
    ]
    expect(said(absent)).toEqual([Reason.unsupported, Reason.unsupported])
    const isGuarded: readonly Expression[] = [
      both('or', not({ op: 'has', slot: 1 }), both('gt', { op: 'payload', slot: 1, guarded: true }, num(5))),
      both('eq', { op: 'payload', slot: 1, guarded: true }, num(0)),
      not({ op: 'text', slot: 2, value: '', guarded: true }),
    ]
    expect(said(isGuarded)).toEqual([Reason.none, Reason.none, Reason.none])
  })

  test('G5: what is cited is what was stored, however the world has moved on', () => {
    const core = load(
      make,
      image(FIELDS, [
        type(Kind.notice, { support: clauses(both('eq', cited(2), num(25)), both('eq', now(2), num(1))) }),
      ]),
    )
    core.observe(2, 25, 0)
    const ordinal = core.snapshot(0)
    core.observe(2, 1, 1)
    const [admitted] = core.admit(batch(ordinal, [candidate(0)]), 1)
    expect(admitted!.reason).toBe(Reason.none)
    // Many snapshots later that one is gone, but the record keeps what was cited.
    for (let i = 0; i < 300; i++) core.snapshot(1)
    expect(core.taken(ordinal)).toBeUndefined()
    expect(core.gate(admitted!.sequence, 0, 1, 0).decision).toBe('allow')
  })
})
