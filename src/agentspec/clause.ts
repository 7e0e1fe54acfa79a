// A CEL clause as a function of a step (PROTOCOL 3, "Clauses"; G5). The catalog's compiler reads and types it, so rules and
// catalog speak one language; here the tree becomes closures. A clause is true, false or unknown: any variable that it
// names and that is absent, of another type or not finite makes it unknown, and so does any result that is not finite.

import type { PayloadField } from '../catalog/catalog.ts'
import { ClauseError, compileClause, type Scope, type ScopeField } from '../catalog/clause.ts'
import { ANY, BOOLEAN, type Ranges, range } from '../catalog/range.ts'
import { EARTH_RADIUS_M, type Expression } from '../core/expression.ts'
import type { Context, Variable, Vocabulary } from './vocabulary.ts'

/** Why a clause is neither true nor false. Not an Error: nobody needs a stack, and a gate has no time for one. */
export class Unknown {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
}

export interface Clause {
  readonly test: (scene: Scene) => boolean | Unknown
  /** Whether some values make it true, and some false. */
  readonly canBe: { readonly true: boolean; readonly false: boolean }
}

/** What clauses see of a step: read once, however many clauses name a variable. */
export interface Scene {
  /** By number: those of the state, then those of the payload. NaN is unknown. A member of an enumeration is its number. */
  readonly values: Float64Array
  readonly payload: Context['payload']
}

type Reader = (scene: Scene) => number

interface Entry {
  readonly name: string
  readonly type: Variable
  readonly read: (value: unknown) => number
}

/** The variables of a vocabulary, ready for the clauses of its predicates. */
export class Variables {
  readonly #state: readonly Entry[]
  readonly #payload: readonly Entry[]
  readonly #fields: ReadonlyMap<string, ScopeField>
  readonly #slots: readonly PayloadField[]

  constructor({ state, payload }: Pick<Vocabulary, 'state' | 'payload'>) {
    this.#state = Object.entries(state).map(([name, type]) => ({ name, type, read: numberOf(type) }))
    this.#payload = Object.entries(payload).map(([name, type]) => ({ name, type, read: numberOf(type) }))
    this.#fields = new Map(this.#state.map(({ name, type }, index) => [name, field(name, type, index)]))
    this.#slots = this.#payload.map(({ name, type }) => slot(name, type))
  }

  read({ state, payload }: Context): Scene {
    const fields = this.#state.length
    const values = new Float64Array(fields + this.#payload.length)
    for (let i = 0; i < fields; i++) {
      const { name, read } = this.#state[i]!
      values[i] = read(own(state, name))
    }
    for (let i = 0; i < this.#payload.length; i++) {
      const { name, read } = this.#payload[i]!
      values[fields + i] = read(own(payload, name))
    }
    return { values, payload }
  }

  /** Throws ClauseError. */
  compile(text: string, constants: ReadonlyMap<string, number>): Clause {
    const scope: Scope = { fields: this.#fields, payload: this.#slots, constants, role: 'clause' }
    const expression = compileClause(text, scope)
    const needs = this.#needs(expression)
    const value = this.#reader(expression)
    const test = (scene: Scene): boolean | Unknown => {
      for (let i = 0; i < needs.length; i++) {
        const { index, unknown } = needs[i]!
        if (Number.isNaN(scene.values[index])) return unknown
      }
      try {
        return value(scene) === 1
      } catch (unknown) {
        if (unknown instanceof Unknown) return unknown
        throw unknown
      }
    }
    const { lo, hi } = range(expression, this.#ranges())
    return { test, canBe: { true: hi >= 1, false: lo <= 0 && hi >= 0 } }
  }

  #ranges(): Ranges {
    const of = (type: Variable) =>
      type === 'boolean' ? BOOLEAN : typeof type === 'string' ? ANY : { lo: 0, hi: type.length - 1 }
    return {
      field: (index) => of(this.#state[index]!.type),
      slot: (index) => of(this.#payload[index]!.type),
      optional: () => true,
    }
  }

  /** Every number that is named must be known, whichever branch would have been taken; after a `has` it may be absent. */
  #needs(e: Expression): readonly { readonly index: number; readonly unknown: Unknown }[] {
    if (e.op === 'now') return [{ index: e.field, unknown: new Unknown(`state.${this.#state[e.field]!.name}`) }]
    if (e.op === 'payload' && !e.guarded) {
      const unknown = new Unknown(`payload.${this.#payload[e.slot]!.name}`)
      return [{ index: this.#state.length + e.slot, unknown }]
    }
    return 'args' in e ? e.args.flatMap((arg) => this.#needs(arg)) : []
  }

  #reader(e: Expression): Reader {
    const args = 'args' in e ? e.args.map((arg) => this.#reader(arg)) : []
    const [a, b, c, d] = args as [Reader, Reader, Reader, Reader]
    switch (e.op) {
      case 'number': {
        const { value } = e
        return () => value
      }
      case 'now': {
        const { field: index } = e
        return ({ values }) => values[index]!
      }
      case 'payload': {
        const { name } = this.#payload[e.slot]!
        const index = this.#state.length + e.slot
        if (!e.guarded) return ({ values }) => values[index]!
        const unknown = new Unknown(`payload.${name}`)
        return ({ values, payload }) => {
          const value = values[index]!
          if (!Number.isNaN(value)) return value
          if (own(payload, name) === undefined) return 0
          throw unknown
        }
      }
      case 'has': {
        const { name } = this.#payload[e.slot]!
        return ({ payload }) => Number(own(payload, name) !== undefined)
      }
      case 'text': {
        const { guarded, value: wanted } = e
        const { name } = this.#payload[e.slot]!
        const unknown = new Unknown(`payload.${name}`)
        return ({ payload }) => {
          const value = own(payload, name)
          if (typeof value === 'string') return Number(value === wanted)
          if (guarded && value === undefined) return 0
          throw unknown
        }
      }
      case 'neg':
        return (x) => -a(x)
      case 'not':
        return (x) => 1 - a(x)
      case 'abs':
        return (x) => Math.abs(a(x))
      case 'add':
        return (x) => finite(a(x) + b(x))
      case 'sub':
        return (x) => finite(a(x) - b(x))
      case 'mul':
        return (x) => finite(a(x) * b(x))
      case 'div':
        return (x) => finite(a(x) / b(x))
      case 'min':
        return (x) => Math.min(a(x), b(x))
      case 'max':
        return (x) => Math.max(a(x), b(x))
      case 'lt':
        return (x) => (a(x) < b(x) ? 1 : 0)
      case 'le':
        return (x) => (a(x) <= b(x) ? 1 : 0)
      case 'gt':
        return (x) => (a(x) > b(x) ? 1 : 0)
      case 'ge':
        return (x) => (a(x) >= b(x) ? 1 : 0)
      case 'eq':
        return (x) => (a(x) === b(x) ? 1 : 0)
      case 'ne':
        return (x) => (a(x) === b(x) ? 0 : 1)
      // Both sides always: what one of them does not know, the whole does not.
      case 'and':
        return (x) => a(x) & b(x)
      case 'or':
        return (x) => a(x) | b(x)
      case 'select':
        return (x) => {
          const [condition, yes, no] = [a(x), b(x), c(x)]
          return condition === 1 ? yes : no
        }
      case 'distance':
        return (x) => finite(distance_m(a(x), b(x), c(x), d(x)))
      case 'cited':
      case 'age':
      case 'unchanged':
      case 'drift':
      case 'length':
      case 'elapsed':
      case 'target':
        throw new ClauseError(0, `\`${e.op}\` is known to the core of HALO only`)
    }
  }
}

/** Only what the record itself holds: a field called `constructor` is absent unless somebody set it. Null means absent. */
export function own(record: Readonly<Record<string, unknown>> | undefined, name: string): unknown {
  return record !== undefined && Object.hasOwn(record, name) ? (record[name] ?? undefined) : undefined
}

/** How a value of this type is read; NaN for what is not one, or not finite. Strings are never numbers. */
function numberOf(type: Variable): (value: unknown) => number {
  if (type === 'boolean') return (value) => (value === true ? 1 : value === false ? 0 : Number.NaN)
  if (typeof type === 'string') return (value) => (Number.isFinite(value) ? (value as number) : Number.NaN)
  const members = new Map<unknown, number>(type.map((member, i) => [member, i]))
  return (value) => members.get(value) ?? Number.NaN
}

const NOT_FINITE = new Unknown('a result that is not finite')

function finite(value: number): number {
  if (!Number.isFinite(value)) throw NOT_FINITE
  return value
}

/** Great circle, haversine; degrees in. NaN from or to what is no place, as in the core. */
function distance_m(lat1: number, lon1: number, lat2: number, lon2: number): number {
  if (Math.max(Math.abs(lat1), Math.abs(lat2)) > 90 || Math.max(Math.abs(lon1), Math.abs(lon2)) > 180) return Number.NaN
  const rad = Math.PI / 180
  const haversine = (angle: number): number => Math.sin((angle * rad) / 2) ** 2
  const h = haversine(lat2 - lat1) + Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * haversine(lon2 - lon1)
  return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(Math.min(1, h)))
}

function field(name: string, type: Variable, index: number): ScopeField {
  return {
    name,
    index,
    source: 'context',
    type: type === 'boolean' ? 'boolean' : typeof type === 'string' ? 'number' : 'enum',
    members: typeof type === 'string' ? undefined : type,
    enumeration: undefined,
    unit: undefined,
    angle: false,
    continuous: type === 'number',
    maxAge_ms: Number.POSITIVE_INFINITY,
    declared: true,
    retainedAllowed: false,
  }
}

/** Steps differ in what they carry, so every variable of the payload is optional: a clause may ask `has`. */
function slot(name: string, type: Variable): PayloadField {
  return {
    name,
    kind: typeof type === 'string' ? type : 'enum',
    optional: true,
    unit: undefined,
    min: undefined,
    max: undefined,
    maxLength: undefined,
    values: typeof type === 'string' ? undefined : type,
  }
}
