// Payload fields, and their bounds as clauses that the core judges (PROTOCOL 3, "Payload fields"; PROTOCOL 5, step 1).

import type { Expression } from '../core/expression.ts'
import type { ClauseImage } from '../core/image.ts'
import type { PayloadField, StateField } from './catalog.ts'
import type { Range } from './range.ts'
import { ANY, BOOLEAN } from './range.ts'
import type { PayloadShape } from './schema.ts'

export function payloadField(name: string, shape: PayloadShape): PayloadField {
  const numeric = shape.type === 'number' || shape.type === 'integer'
  return {
    name,
    description: shape.description,
    kind: shape.type,
    optional: shape.optional,
    unit: numeric ? shape.unit : undefined,
    min: numeric ? shape.min : undefined,
    max: numeric ? shape.max : undefined,
    maxLength: shape.type === 'string' ? shape.max_length : undefined,
    values: shape.type === 'enum' ? shape.values : undefined,
  }
}

/** The values that a state field can have by its type. */
export function fieldRange(field: StateField): Range {
  if (field.type === 'boolean') return BOOLEAN
  return field.type === 'enum' ? { lo: 0, hi: field.members!.length - 1 } : ANY
}

/** The values that a field can have once it is within its bounds. */
export function slotRange(field: PayloadField): Range {
  if (field.kind === 'boolean') return BOOLEAN
  if (field.kind === 'enum') return { lo: 0, hi: field.values!.length - 1 }
  return { lo: field.min ?? ANY.lo, hi: field.max ?? ANY.hi }
}

/** A bound: the clause, named like its field, and the same in words. */
export interface Bound {
  readonly clause: ClauseImage
  readonly bound: string
}

export function boundsOf(payload: readonly PayloadField[]): readonly Bound[] {
  return payload.flatMap((field, slot) => {
    const read: Expression = { op: field.kind === 'string' ? 'length' : 'payload', slot, guarded: field.optional }
    const most = (n: number): Expression => ({ op: 'le', args: [read, { op: 'number', value: n }] })
    const least = (n: number): Expression => ({ op: 'ge', args: [read, { op: 'number', value: n }] })
    const bound = (expression: Expression, words: string): Bound => ({
      clause: { name: field.name, expression: field.optional ? absentOr(slot, expression) : expression },
      bound: words,
    })
    const unit = field.unit === undefined ? '' : ` ${field.unit}`
    const bounds: Bound[] = []
    if (field.min !== undefined) bounds.push(bound(least(field.min), `at least ${field.min}${unit}`))
    if (field.max !== undefined) bounds.push(bound(most(field.max), `at most ${field.max}${unit}`))
    if (field.maxLength !== undefined) bounds.push(bound(most(field.maxLength), `at most ${field.maxLength} bytes`))
    if (field.values !== undefined) {
      const inside: Expression = { op: 'and', args: [least(0), most(field.values.length - 1)] }
      bounds.push(bound(inside, `one of ${field.values.join(', ')}`))
    }
    return bounds
  })
}

const absentOr = (slot: number, e: Expression): Expression => ({
  op: 'or',
  args: [{ op: 'not', args: [{ op: 'has', slot }] }, e],
})
