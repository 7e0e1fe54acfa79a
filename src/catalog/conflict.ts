// Clauses that can never hold at once, whatever the vehicle does: each of them alone may well.
//
// What a clause says of a field narrows what the field can be while the clause holds; a clause that cannot hold within what all
// the others leave is in conflict with them. Too little is narrowed rather than too much, so a conflict that is found is one.

import type { Expression } from '../core/expression.ts'
import { canHold, type Range, type Ranges, range } from './range.ts'

/** Clauses over one payload. */
export interface Clauses {
  readonly expressions: readonly Expression[]
  readonly ranges: Ranges
}

/** True where all clauses together can never hold, although each of `parts` can. The parts have different payloads. */
export function inConflict(...parts: readonly Clauses[]): boolean {
  const canAllHold = (group: readonly Clauses[]): boolean => {
    const fields = new Map<number, Range>()
    const narrowed = group.map(({ expressions, ranges }) => {
      const within: Ranges = { ...ranges, field: (field) => fields.get(field) ?? ranges.field(field) }
      for (const e of expressions) narrow(e, within, fields)
      return { expressions, within }
    })
    return narrowed.every(({ expressions, within }) => expressions.every((e) => canHold(e, within)))
  }
  return parts.every((part) => canAllHold([part])) && !canAllHold(parts)
}

const FLIPPED = { lt: 'gt', le: 'ge', gt: 'lt', ge: 'le', eq: 'eq' } as const

/** What the fields can be where `e` holds. */
function narrow(e: Expression, of: Ranges, fields: Map<number, Range>): void {
  const cut = (field: number, { lo, hi }: Range): void => {
    const before = of.field(field)
    fields.set(field, { lo: Math.max(before.lo, lo), hi: Math.min(before.hi, hi) })
  }
  switch (e.op) {
    case 'now':
      cut(e.field, { lo: 1, hi: 1 })
      break
    case 'not':
      if (e.args[0].op === 'now') cut(e.args[0].field, { lo: 0, hi: 0 })
      break
    case 'and':
      for (const arg of e.args) narrow(arg, of, fields)
      break
    case 'eq':
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge': {
      const [left, right] = e.args
      if (left.op === 'now') cut(left.field, side(e.op, range(right, of)))
      if (right.op === 'now') cut(right.field, side(FLIPPED[e.op], range(left, of)))
    }
  }
}

/** Where a field can be that compares so with something in this range. */
function side(op: keyof typeof FLIPPED, { lo, hi }: Range): Range {
  if (op === 'eq') return { lo, hi }
  return op === 'lt' || op === 'le' ? { lo: Number.NEGATIVE_INFINITY, hi } : { lo, hi: Number.POSITIVE_INFINITY }
}
