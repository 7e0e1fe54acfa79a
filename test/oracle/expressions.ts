// Arbitrary clauses over a small world: well typed, otherwise as wild as the catalog's checker would let through.

import fc from 'fast-check'
import type { BinaryOp, Expression } from '../../src/core/expression.ts'
import type { FieldImage, SlotImage } from '../../src/core/image.ts'
import { field } from './sketch.ts'

/** Two angles (deg), two continuous and two discrete fields. */
export const FIELDS: readonly FieldImage[] = [
  field('lat', 100),
  field('lon', 40),
  field('level', 100),
  field('rate', 60),
  field('mode', 100, true),
  field('map', 50, true),
]
export const isAngle = (f: number): boolean => f < 2
export const isDiscrete = (f: number): boolean => FIELDS[f]!.discrete

export const SLOTS: readonly SlotImage[] = [
  { name: 'count', kind: 'number', optional: false },
  { name: 'speed', kind: 'number', optional: true },
  { name: 'label', kind: 'string', optional: true },
]
export const TEXTS = ['', 'pad', 'päd', 'pads']

const VALUES = [0, 1, -1, 2, 0.5, 25, 1e308, -1e308, 1e-300]
const ANGLES = [0, 1, -1, 47.5, 89, -33, 0.001]
/** What a field may be observed as. */
export const valuesOf = (f: number): readonly number[] => (isAngle(f) ? ANGLES : isDiscrete(f) ? [0, 1, 2] : VALUES)

const fields = (is: (f: number) => boolean): fc.Arbitrary<number> =>
  fc.constantFrom(...FIELDS.map((_, f) => f).filter(is))
const any = fields(() => true)
const angle = fields(isAngle)
const guarded = fc.boolean()
const number = (values: readonly number[]): fc.Arbitrary<Expression> =>
  fc.constantFrom(...values).map((value) => ({ op: 'number', value }))

const place: fc.Arbitrary<Expression> = fc.oneof(
  number(ANGLES),
  angle.map((f): Expression => ({ op: 'now', field: f })),
  angle.map((f): Expression => ({ op: 'cited', field: f })),
)

const { numeric, logical } = fc.letrec<{ numeric: Expression; logical: Expression }>((tie) => ({
  numeric: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    number(VALUES),
    any.map((f): Expression => ({ op: 'now', field: f })),
    any.map((f): Expression => ({ op: 'cited', field: f })),
    any.map((f): Expression => ({ op: 'age', field: f })),
    any.map((f): Expression => ({ op: 'drift', field: f, angle: isAngle(f) })),
    fc.tuple(fc.constantFrom(0, 1), guarded).map(([s, g]): Expression => ({ op: 'payload', slot: s, guarded: g })),
    guarded.map((g): Expression => ({ op: 'length', slot: 2, guarded: g })),
    fc.tuple(fc.constantFrom('neg', 'abs'), tie('numeric')).map(([op, a]) => ({ op, args: [a] }) as Expression),
    fc
      .tuple(fc.constantFrom<BinaryOp>('add', 'sub', 'mul', 'div', 'min', 'max'), tie('numeric'), tie('numeric'))
      .map(([op, a, b]): Expression => ({ op, args: [a, b] })),
    fc
      .tuple(tie('logical'), tie('numeric'), tie('numeric'))
      .map(([c, a, b]): Expression => ({ op: 'select', args: [c, a, b] })),
    fc.tuple(place, place, place, place).map((args): Expression => ({ op: 'distance', args })),
  ),
  logical: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    fc
      .tuple(fc.constantFrom<BinaryOp>('lt', 'le', 'gt', 'ge', 'eq', 'ne'), tie('numeric'), tie('numeric'))
      .map(([op, a, b]): Expression => ({ op, args: [a, b] })),
    fields(isDiscrete).map((f): Expression => ({ op: 'unchanged', field: f })),
    fc.constantFrom(0, 1, 2).map((s): Expression => ({ op: 'has', slot: s })),
    fc
      .tuple(fc.constantFrom(...TEXTS), guarded)
      .map(([value, g]): Expression => ({ op: 'text', slot: 2, value, guarded: g })),
    tie('logical').map((a): Expression => ({ op: 'not', args: [a] })),
    fc
      .tuple(fc.constantFrom<BinaryOp>('and', 'or', 'eq', 'ne'), tie('logical'), tie('logical'))
      .map(([op, a, b]): Expression => ({ op, args: [a, b] })),
    fc
      .tuple(tie('logical'), tie('logical'), tie('logical'))
      .map(([c, a, b]): Expression => ({ op: 'select', args: [c, a, b] })),
  ),
}))

/** A clause. */
export const clauseTree: fc.Arbitrary<Expression> = logical
/** A predicate over a payload: a clause of the present, in which what was cited is what is. */
export const predicateTree: fc.Arbitrary<Expression> = logical.map((e) => present(e, true))
/** A predicate over state alone: where the payload was read stands a number. */
export const stateTree: fc.Arbitrary<Expression> = logical.map((e) => present(e, false))

function present(e: Expression, payload: boolean): Expression {
  if ('args' in e) return { ...e, args: e.args.map((arg) => present(arg, payload)) } as unknown as Expression
  if (e.op === 'cited' || e.op === 'drift') return { op: 'now', field: e.field }
  if (e.op === 'unchanged') {
    return {
      op: 'eq',
      args: [
        { op: 'now', field: e.field },
        { op: 'number', value: 1 },
      ],
    }
  }
  if (payload || !('slot' in e)) return e
  const zero: Expression = { op: 'number', value: 0 }
  return e.op === 'has' || e.op === 'text' ? { op: 'eq', args: [zero, zero] } : zero
}

/** A value in a frame. */
export const valueTree: fc.Arbitrary<Expression> = numeric
