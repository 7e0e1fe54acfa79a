import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Kind, Reason } from '../../../build/abi.ts'
import { type Expression, reads } from '../../../src/core/expression.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { batch, both, candidate, clauses, field, image, load, not, now, num, type } from '../../oracle/sketch.ts'

const FIELDS = 4
const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map(num),
  fc
    .integer({ min: 0, max: FIELDS - 1 })
    .chain((f) =>
      fc.constantFrom<Expression>(
        now(f),
        { op: 'cited', field: f },
        { op: 'age', field: f },
        { op: 'unchanged', field: f },
        { op: 'drift', field: f, angle: f % 2 === 0 },
      ),
    ),
)
const { tree } = fc.letrec<{ tree: Expression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    leaf,
    fc
      .tuple(fc.constantFrom('add', 'sub', 'div', 'lt', 'ge', 'eq', 'ne', 'and', 'or', 'min'), tie('tree'), tie('tree'))
      .map(([op, a, b]) => both(op, a, b)),
    tie('tree').map(not),
    fc.tuple(tie('tree'), tie('tree'), tie('tree')).map((args): Expression => ({ op: 'select', args })),
  ),
}))

const FRESH_MS = 100
/** What holds whatever its argument says, if only that could be seen. */
const always = (e: Expression): Expression => both('or', both('eq', e, e), both('ne', e, e))

test('G5: nothing holds over a field that is unknown or stale, in whichever tense, and the field is named', () => {
  fc.assert(
    fc.property(
      tree,
      fc.integer({ min: 0, max: FIELDS - 1 }),
      fc.constantFrom('unknown', 'stale'),
      (expression, dark, how) => {
        const fields = Array.from({ length: FIELDS }, (_, i) => field(`f${i}`, FRESH_MS, true))
        const core = load(loadCore, image(fields, [type(Kind.notice, { support: clauses(always(expression)) })]))
        for (let f = 0; f < FIELDS; f++) if (f !== dark || how === 'stale') core.observe(f, 1, f === dark ? 0 : 150)
        const snapshot = core.snapshot(200)
        const [verdict] = core.admit(batch(snapshot, [candidate(0)]), 200)
        const read = reads(expression)
        const seen = read.now.has(dark) || read.cited.has(dark) || (how === 'unknown' && read.known.has(dark))
        if (!seen) expect([Reason.none, Reason.unsupported]).toContain(verdict!.reason)
        else
          expect(verdict).toMatchObject({
            reason: how === 'unknown' ? Reason.state_unknown : Reason.state_stale,
            detail: dark,
          })
      },
    ),
    { numRuns: 400, seed: 3 },
  )
})

test.each([
  ['a division by zero', both('div', num(1), num(0))],
  ['its reciprocal', both('div', num(1), both('div', num(1), num(0)))],
  ['0 / 0', both('div', num(0), num(0))],
  ['an overflow', both('mul', num(1e200), num(1e200))],
  ['an absent payload field', { op: 'payload', slot: 0, guarded: false } as const],
])('G5: %s holds nothing, negated or in a branch that is not taken', (_, poison) => {
  const around: readonly Expression[] = [
    both('ge', poison, num(0)),
    not(both('ge', poison, num(0))),
    both('or', num(1), both('eq', poison, num(0))),
    { op: 'select', args: [num(1), num(1), poison] },
  ]
  for (const expression of around) {
    const optional = [{ name: 'p', kind: 'number', optional: true } as const]
    const core = load(loadCore, image([], [type(Kind.notice, { payload: optional, support: clauses(expression) })]))
    const [verdict] = core.admit(batch(core.snapshot(0), [candidate(0)]), 0)
    expect(verdict).toMatchObject({ reason: Reason.unsupported, detail: 0 })
  }
})
