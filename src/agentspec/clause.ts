// A CEL clause as a function of a step (PROTOCOL 3, "Clauses"; G5). The catalog's compiler reads and types it, so rules and
// catalog speak one language; here the tree becomes closures. A clause is true, false or unknown: any variable that it
// names and that is absent, of another type or not finite makes it unknown, and so does any result that is not finite.

import type { PayloadField } from '../catalog/catalog.ts'
import { ClauseError, compileClause, type Scope, type ScopeField } from '../catalog/clause.ts'
import { ANY, BOOLEAN, type Ranges, range } from '../catalog/range.ts'
import { EARTH_RADIUS_M, type Expression } from '../core/expression.ts'
import type { Context, Variable, Vocabulary } from './vocabulary.ts'

/** Thrown where a clause is unknown. Not an Error: nobody needs a stack, and a gate has no time for one. */
export class Unknown {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
}

export interface Clause {
  /** Throws Unknown. */
  readonly test: (context: Context) => boolean
  /** Whether some values make it true, and some false. */
  readonly canBe: { readonly true: boolean; readonly false: boolean }
}

type Reader = (context: Context) => number

/** The variables of a vocabulary, ready for the clauses of its predicates. */
export class Variables {
  readonly #fields: ReadonlyMap<string, ScopeField>
  readonly #state: readonly (readonly [name: string, type: Variable])[]
  readonly #payload: readonly PayloadField[]

  constructor({ state, payload }: Pick<Vocabulary, 'state' | 'payload'>) {
    this.#state = Object.entries(state)
    this.#fields = new Map(this.#state.map(([name, type], index) => [name, field(name, type, index)]))
    this.#payload = Object.entries(payload).map(([name, type]) => slot(name, type))
  }

  /** Throws ClauseError. */
  compile(text: string, constants: ReadonlyMap<string, number>): Clause {
    const scope: Scope = { fields: this.#fields, payload: this.#payload, constants, role: 'clause' }
    const expression = compileClause(text, scope)
    const value = this.#reader(expression)
    const { lo, hi } = range(expression, this.#ranges())
    return { test: (context) => value(context) === 1, canBe: { true: hi >= 1, false: lo <= 0 && hi >= 0 } }
  }

  #ranges(): Ranges {
    const of = (type: Variable) =>
      type === 'boolean' ? BOOLEAN : typeof type === 'string' ? ANY : { lo: 0, hi: type.length - 1 }
    return {
      field: (index) => of(this.#state[index]![1]),
      slot: (index) => {
        const { kind, values } = this.#payload[index]!
        return of(values ?? (kind === 'boolean' ? 'boolean' : 'number'))
      },
      optional: () => true,
    }
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
        const [name, type] = this.#state[e.field]!
        const unknown = new Unknown(`state.${name}`)
        const read = numberOf(type, unknown)
        return ({ state }) => read(own(state, name))
      }
      case 'payload': {
        const { name, kind, values } = this.#payload[e.slot]!
        const unknown = new Unknown(`payload.${name}`)
        const read = numberOf(values ?? (kind === 'boolean' ? 'boolean' : 'number'), unknown)
        if (!e.guarded) return ({ payload }) => read(own(payload, name))
        return ({ payload }) => {
          const value = own(payload, name)
          return value === undefined ? 0 : read(value)
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

function numberOf(type: Variable, unknown: Unknown): (value: unknown) => number {
  if (type === 'boolean') {
    return (value) => {
      if (typeof value !== 'boolean') throw unknown
      return value ? 1 : 0
    }
  }
  if (type === 'number' || type === 'string') {
    return (value) => {
      if (typeof value !== 'number' || value - value !== 0) throw unknown
      return value
    }
  }
  const members = new Map(type.map((member, i) => [member, i]))
  return (value) => {
    const number = typeof value === 'string' ? members.get(value) : undefined
    if (number === undefined) throw unknown
    return number
  }
}

const NOT_FINITE = new Unknown('a result that is not finite')

function finite(value: number): number {
  if (value - value !== 0) throw NOT_FINITE
  return value
}

/** Great circle, haversine; degrees in. */
function distance_m(lat1: number, lon1: number, lat2: number, lon2: number): number {
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
