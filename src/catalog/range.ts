// What values an expression can take, whatever the world is like: an interval. A clause whose interval ends below true can
// never hold, and a catalog that says such a thing is wrong (PROTOCOL 3, "folds to false").
//
// Operands are taken as independent, so an interval may be too wide and never too narrow. Rounding keeps order, so the
// ends computed in doubles are exact. Booleans are 0 and 1. A value that can never be finite is NEVER.

import { EARTH_RADIUS_M, type Expression } from '../core/expression.ts'

export interface Range {
  readonly lo: number
  readonly hi: number
}

export const ANY: Range = { lo: Number.NEGATIVE_INFINITY, hi: Number.POSITIVE_INFINITY }
export const BOOLEAN: Range = { lo: 0, hi: 1 }
const NEVER: Range = { lo: Number.POSITIVE_INFINITY, hi: Number.NEGATIVE_INFINITY }
const POSITIVE: Range = { lo: 0, hi: Number.POSITIVE_INFINITY }

/** The ranges of what an expression names, by number. An absent optional slot is not among its values. */
export interface Ranges {
  field(field: number): Range
  slot(slot: number): Range
  optional(slot: number): boolean
}

/** True where the expression, as a clause, can hold. */
export function canHold(e: Expression, of: Ranges): boolean {
  return range(e, of).hi >= 1
}

/** True where the expression, as a clause, holds whenever all that it names is known. */
export function mustHold(e: Expression, of: Ranges): boolean {
  const { lo, hi } = range(e, of)
  return lo >= 1 && hi >= lo
}

export function range(e: Expression, of: Ranges): Range {
  const args = 'args' in e ? e.args.map((arg) => range(arg, of)) : []
  // Both sides of everything are evaluated, and what is not finite makes the whole not hold.
  if (args.some(isNever)) return NEVER
  const result = apply(e, args as [Range, Range, Range, Range], of)
  return isNever(result) ? NEVER : result
}

const isNever = ({ lo, hi }: Range): boolean =>
  !(lo <= hi) || lo === Number.POSITIVE_INFINITY || hi === Number.NEGATIVE_INFINITY
const point = (value: number): Range => ({ lo: value, hi: value })
const truth = (canBeTrue: boolean, canBeFalse: boolean): Range => ({ lo: canBeFalse ? 0 : 1, hi: canBeTrue ? 1 : 0 })
const hull = (a: Range, b: Range): Range => ({ lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi) })
const negative = (a: Range): Range => ({ lo: 0 - a.hi, hi: 0 - a.lo })
const single = (a: Range): boolean => a.lo === a.hi

function apply(e: Expression, [a, b, c]: readonly [Range, Range, Range, Range], of: Ranges): Range {
  switch (e.op) {
    case 'number':
      return point(e.value)
    case 'now':
    case 'cited':
      return of.field(e.field)
    case 'age':
    case 'elapsed':
      return POSITIVE
    case 'unchanged':
      return BOOLEAN
    case 'drift':
      return e.angle ? { lo: 0, hi: 180 } : POSITIVE
    case 'payload':
      return guarded(e, of.slot(e.slot), of)
    case 'text':
      return BOOLEAN
    case 'length':
      return POSITIVE
    case 'has':
      return of.optional(e.slot) ? BOOLEAN : point(1)
    case 'target':
      return { lo: 0, hi: 255 }
    case 'neg':
      return negative(a)
    case 'not':
      return { lo: 1 - a.hi, hi: 1 - a.lo }
    case 'abs':
      return a.lo >= 0 ? a : a.hi <= 0 ? negative(a) : { lo: 0, hi: Math.max(-a.lo, a.hi) }
    case 'add':
      return { lo: a.lo + b.lo, hi: a.hi + b.hi }
    case 'sub':
      return { lo: a.lo - b.hi, hi: a.hi - b.lo }
    case 'mul':
      return corners(a, b, (x, y) => x * y)
    case 'div':
      if (b.lo === 0 && b.hi === 0) return NEVER
      return b.lo <= 0 && b.hi >= 0 ? ANY : corners(a, b, (x, y) => x / y)
    case 'min':
      return { lo: Math.min(a.lo, b.lo), hi: Math.min(a.hi, b.hi) }
    case 'max':
      return { lo: Math.max(a.lo, b.lo), hi: Math.max(a.hi, b.hi) }
    case 'lt':
      return truth(a.lo < b.hi, a.hi >= b.lo)
    case 'le':
      return truth(a.lo <= b.hi, a.hi > b.lo)
    case 'gt':
      return truth(a.hi > b.lo, a.lo <= b.hi)
    case 'ge':
      return truth(a.hi >= b.lo, a.lo < b.hi)
    case 'eq':
      return truth(a.lo <= b.hi && b.lo <= a.hi, !(single(a) && single(b) && a.lo === b.lo))
    case 'ne':
      return truth(!(single(a) && single(b) && a.lo === b.lo), a.lo <= b.hi && b.lo <= a.hi)
    case 'and':
      return { lo: Math.min(a.lo, b.lo), hi: Math.min(a.hi, b.hi) }
    case 'or':
      return { lo: Math.max(a.lo, b.lo), hi: Math.max(a.hi, b.hi) }
    case 'select':
      return a.lo === 1 ? b : a.hi === 0 ? c : hull(b, c)
    case 'distance':
      return { lo: 0, hi: EARTH_RADIUS_M * (Math.PI + 1e-9) } // a hair more, for rounding
  }
}

/** Where a `has` stands around it, an absent value counts as 0. */
function guarded(e: { slot: number; guarded: boolean }, present: Range, of: Ranges): Range {
  return e.guarded && of.optional(e.slot) ? hull(present, point(0)) : present
}

/** 0 times infinity is 0 here: the ends stand for finite values as large as one likes. */
function corners(a: Range, b: Range, f: (x: number, y: number) => number): Range {
  const ends = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)].map((end) => (Number.isNaN(end) ? 0 : end))
  return { lo: Math.min(...ends), hi: Math.max(...ends) }
}
