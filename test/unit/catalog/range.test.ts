// Interval analysis: never too narrow, and narrow enough to refuse a clause that can never hold (PROTOCOL 3).

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { range } from '../../../src/catalog/range.ts'
import type { Expression } from '../../../src/core/expression.ts'
import { evaluate, type Scene } from '../../oracle/clause.ts'
import { changed, problems } from './example.ts'

const BATTERY = 'battery: state.battery.remaining >= 40 '
const CONSTANTS = 'constants: { ROOF: 20, NEVER: false }\n\nagents:'

/** The example with another clause in takeoff, whose payload is alt, 4 to 30 m, and an optional turn, 0 to 90. */
function withClause(clause: string): readonly string[] {
  const text = changed(BATTERY, `battery: ${clause} #`)
  const alt = '      alt: { type: number, unit: m, min: 4, max: 30, description: height above home }'
  return problems(
    text
      .replace('\nagents:', CONSTANTS)
      .replace(alt, `${alt}\n      turn: { type: number, min: 0, max: 90, optional: true }`),
  )
}

test.each([
  "'false'",
  "'1 > 2'",
  'constants.NEVER',
  '"!(constants.ROOF > 3)"',
  'mode.HOLD == mode.LAND',
  'state.armed && constants.NEVER',
  'payload.alt > 30',
  'payload.alt < constants.ROOF - 17',
  'payload.alt * payload.alt > 900',
  'payload.alt - 31 >= 0',
  'abs(payload.alt) < 4',
  '-payload.alt > -4',
  'min(payload.alt, 3) > 3',
  'payload.alt / 2 > 15',
  'payload.alt / 0 < 1',
  'age(state.armed) < 0',
  'drift(state.home.lat) > 180',
  'distance(payload.alt, 0, 0, 0) < 0',
  'has(payload.turn) && payload.turn > 90',
  '"has(payload.turn) ? payload.turn > 90 : payload.alt > 30"',
  'has(payload.turn) && !has(payload.alt)',
  'payload.alt != payload.alt * 1.0 && 1 == 2',
])('G5 can never hold: %s', (clause) => {
  expect(withClause(clause)).toEqual([
    expect.stringMatching(/^\d+:16: components\.takeoff\.support\.battery: can never hold, whatever the state is$/),
  ])
})

test.each([
  "'true'",
  'payload.alt >= 30',
  'payload.alt <= 4',
  'state.armed',
  '"!state.armed"',
  'state.battery.remaining > 1e300',
  'state.mode == mode.LAND',
  'payload.alt / (payload.alt - 5) > 1000',
  '"!has(payload.turn)"',
  'payload.turn == 0',
  'age(state.armed) > 1e9',
  'constants.NEVER || state.armed',
])('can hold: %s', (clause) => expect(withClause(clause)).toEqual([]))

const { expression } = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4 },
    fc.double({ min: -10, max: 10, noNaN: true }).map((value): Expression => ({ op: 'number', value })),
    fc.constantFrom<Expression>(
      { op: 'now', field: 0 },
      { op: 'payload', slot: 0, guarded: false },
      { op: 'payload', slot: 1, guarded: true },
      { op: 'has', slot: 1 },
      { op: 'elapsed' },
    ),
    fc.tuple(fc.constantFrom('neg', 'abs'), tie('expression')).map(([op, a]) => ({ op, args: [a] }) as Expression),
    fc
      .tuple(
        fc.constantFrom('add', 'sub', 'mul', 'div', 'min', 'max', 'lt', 'le', 'gt', 'ge', 'eq', 'ne'),
        tie('expression'),
        tie('expression'),
      )
      .map(([op, a, b]) => ({ op, args: [a, b] }) as Expression),
  ),
}))

test('a range is never too narrow: whatever an expression comes to lies within it', () => {
  const sight = (value: number) => ({ value, received_ms: 0, version: 0, validity: 'usable' as const })
  const ranges = {
    field: () => ({ lo: Number.NEGATIVE_INFINITY, hi: Number.POSITIVE_INFINITY }),
    slot: (slot: number) => (slot === 0 ? { lo: -3, hi: 2 } : { lo: 1, hi: 4 }),
    optional: (slot: number) => slot === 1,
  }
  const world = fc.record({
    state: fc.double({ noNaN: true, noDefaultInfinity: true }),
    first: fc.double({ min: -3, max: 2, noNaN: true }),
    second: fc.option(fc.double({ min: 1, max: 4, noNaN: true }), { nil: undefined }),
    elapsed_ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
  })
  fc.assert(
    fc.property(expression, world, (e, { state, first, second, elapsed_ms }) => {
      const scene: Scene = {
        now_ms: 0,
        now: [sight(state)],
        cited: [],
        payload: [first, second],
        elapsed_ms,
        target: undefined,
      }
      const value = evaluate(e, scene)
      const { lo, hi } = range(e, ranges)
      return Number.isNaN(value) || (lo <= value && value <= hi)
    }),
    { numRuns: 2000 },
  )
})
