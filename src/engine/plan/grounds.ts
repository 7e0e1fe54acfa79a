// The grounds of an `unsupported`: the values on which a clause did not hold, in words (PROTOCOL 5). The core has decided; this
// looks again at what it looked at, only for what is refused, and where it cannot see (what the snapshot said) it says no number.

import { type Catalog, type ComponentType, SPEED_CLAUSE } from '../../catalog/catalog.ts'
import type { Core, Reading, SlotValue } from '../../core/core.ts'
import { type BinaryOp, EARTH_RADIUS_M, type Expression } from '../../core/expression.ts'
import { fieldValue } from './wording.ts'

/** The autopilot's own checks: what it says against arming is told where this field does not hold. */
export const READY = 'ready'

/** The bounds of a comparison, by what it asks, and what it asks where it must not hold. */
const BOUNDS: Readonly<Partial<Record<BinaryOp, readonly [words: string, otherwise: BinaryOp, turned: BinaryOp]>>> = {
  lt: ['below', 'ge', 'gt'],
  le: ['at most', 'gt', 'ge'],
  gt: ['above', 'le', 'lt'],
  ge: ['at least', 'lt', 'le'],
  eq: ['must be', 'ne', 'eq'],
  ne: ['must not be', 'eq', 'ne'],
}
const SIGNS: Readonly<Partial<Record<BinaryOp, string>>> = { add: '+', sub: '-', mul: '*', div: '/' }

export class Grounds {
  readonly #catalog: Catalog
  readonly #core: Core
  /** What the autopilot says against arming. */
  readonly #objections: () => string | undefined

  constructor(catalog: Catalog, core: Core, objections: () => string | undefined) {
    this.#catalog = catalog
    this.#core = core
    this.#objections = objections
  }

  /** Of a clause (index in `support`, then `gate`) that does not hold for this payload now: its name, and why. */
  of(type: number, clause: number, payload: readonly SlotValue[], now_ms: number): string | undefined {
    const { support, gate } = this.#catalog.image.types[type]!
    const failed = [...support, ...gate][clause]
    if (failed === undefined) return undefined
    const sight = new Sight(this.#catalog, this.#core, this.#catalog.types[type]!, payload, now_ms)
    const seen = failed.name === SPEED_CLAUSE ? sight.speed(failed.expression) : sight.against(failed.expression, true)
    const objections = sight.names(READY) ? this.#objections() : undefined
    const why = [seen === '' ? undefined : seen, objections && `the autopilot says: ${objections}`]
    return [failed.name, why.filter((words) => words !== undefined).join('; ')]
      .filter((words) => words !== '')
      .join(': ')
  }
}

class Sight {
  readonly #fields: Catalog['fields']
  readonly #payload: ComponentType['payload']
  readonly #slots: readonly SlotValue[]
  readonly #read: (field: number) => Reading
  readonly #named = new Set<string>()

  constructor(catalog: Catalog, core: Core, type: ComponentType, slots: readonly SlotValue[], now_ms: number) {
    this.#fields = catalog.fields
    this.#payload = type.payload
    this.#slots = slots
    this.#read = (field) => core.read(field, now_ms)
  }

  /** A field stands in what was said. */
  names(field: string): boolean {
    return this.#named.has(field)
  }

  /** What speaks against the expression's being what is wanted; empty where nothing can be named. */
  against(e: Expression, wanted: boolean): string {
    switch (e.op) {
      case 'not':
        return this.against(e.args[0], !wanted)
      case 'and':
      case 'or': {
        // Of those that all must be so what is not; of those of which one must be so all.
        const isNot = e.args.filter((arg) => this.#value(arg) === Number(!wanted))
        const unseen = e.args.filter((arg) => Number.isNaN(this.#value(arg)))
        const all = (e.op === 'and') === wanted
        const against = !all ? e.args : isNot.length > 0 ? isNot : unseen
        return against
          .map((arg) => this.against(arg, wanted))
          .filter((words) => words !== '')
          .join(all ? ', ' : ' and ')
      }
      case 'lt':
      case 'le':
      case 'gt':
      case 'ge':
      case 'eq':
      case 'ne':
        return this.#comparison(e.op, e.args, wanted)
      case 'now':
      case 'payload':
        return `${this.#label(e)} ${this.#value(e) !== 0}`
      case 'has':
        return `${this.#payload[e.slot]!.name} ${wanted ? 'absent' : 'present'}`
      case 'text': {
        const bound = wanted ? 'must be' : 'must not be'
        return `${this.#payload[e.slot]!.name} ${quoted(this.#slots[e.slot])}, ${bound} ${quoted(e.value)}`
      }
      case 'unchanged':
        return `${this.#label(e)} ${wanted ? 'changed' : 'unchanged'}`
      default:
        return ''
    }
  }

  /** Of the clause that every velocity has: its length's square is at most that of a number. */
  speed(e: Expression): string {
    if (e.op !== 'le') return ''
    const [speed, most] = e.args.map((arg) => Math.sqrt(this.#value(arg))) as [number, number]
    const [seen, bound] = apart(speed, most, 'm/s')
    return `speed ${seen}, at most ${bound}`
  }

  #comparison(op: BinaryOp, [left, right]: readonly [Expression, Expression], wanted: boolean): string {
    const isTurned = left.op === 'number' && right.op !== 'number'
    const [seen, bound] = isTurned ? [right, left] : [left, right]
    const turned = isTurned ? BOUNDS[op]![2] : op
    const asked = wanted ? turned : BOUNDS[turned]![1]
    const unit = this.#unit(seen) ?? this.#unit(bound)
    const [value, limit] = apart(this.#value(seen), this.#value(bound), unit)
    const members = this.#members(seen) ?? this.#members(bound)
    const shown = (e: Expression, number: string): string => members?.[this.#value(e)] ?? number
    const label = (e: Expression): string => (e.op === 'number' ? '' : this.#label(e))
    return `${words(label(seen), shown(seen, value))}, ${words(BOUNDS[asked]![0], label(bound), shown(bound, limit))}`
  }

  /** What a number is called. */
  #label(e: Expression): string {
    switch (e.op) {
      case 'now':
      case 'cited':
      case 'age':
      case 'drift':
      case 'unchanged': {
        const { name } = this.#fields[e.field]!
        this.#named.add(name)
        return e.op === 'now' || e.op === 'unchanged' ? name : e.op === 'cited' ? `cited ${name}` : `${e.op} of ${name}`
      }
      case 'payload':
        return this.#payload[e.slot]!.name
      case 'length':
        return `length of ${this.#payload[e.slot]!.name}`
      case 'number':
        return String(e.value)
      case 'add':
      case 'sub':
      case 'mul':
      case 'div':
        return `${this.#label(e.args[0])} ${SIGNS[e.op]} ${this.#label(e.args[1])}`
      case 'neg':
        return `-${this.#label(e.args[0])}`
      case 'abs':
      case 'min':
      case 'max':
        return `${e.op}(${e.args.map((arg) => this.#label(arg)).join(', ')})`
      default:
        return e.op
    }
  }

  #unit(e: Expression): string | undefined {
    switch (e.op) {
      case 'now':
      case 'cited':
      case 'drift':
        return this.#fields[e.field]!.unit
      case 'payload':
        return this.#payload[e.slot]!.unit
      case 'distance':
        return 'm'
      case 'age':
      case 'elapsed':
        return 'ms'
      case 'neg':
      case 'abs':
      case 'add':
      case 'sub':
      case 'min':
      case 'max': {
        const units = e.args.filter(({ op }) => op !== 'number').map((arg) => this.#unit(arg))
        return units.every((unit) => unit === units[0]) ? units[0] : undefined
      }
      default:
        return undefined
    }
  }

  #members(e: Expression): readonly string[] | undefined {
    if (e.op === 'payload') return this.#payload[e.slot]!.values
    if (e.op !== 'now' && e.op !== 'cited') return undefined
    const field = this.#fields[e.field]!
    return field.members ?? (field.type === 'boolean' ? [0, 1].map((n) => String(fieldValue(field, n))) : undefined)
  }

  /** NaN where it cannot be seen from here, or is none. */
  #value(e: Expression): number {
    switch (e.op) {
      case 'number':
        return e.value
      case 'now': {
        const { validity, value } = this.#read(e.field)
        return validity === 'usable' ? value : Number.NaN
      }
      case 'age':
        return this.#read(e.field).age_ms
      case 'payload': {
        const value = this.#slots[e.slot]
        return typeof value === 'number' ? value : e.guarded ? 0 : Number.NaN
      }
      case 'has':
        return Number(this.#slots[e.slot] !== undefined)
      case 'text':
        return this.#slots[e.slot] === undefined && !e.guarded ? Number.NaN : Number(this.#slots[e.slot] === e.value)
      case 'length':
        return Buffer.byteLength(String(this.#slots[e.slot] ?? ''))
      case 'and':
      case 'or': {
        const [a, b] = e.args.map((arg) => this.#value(arg)) as [number, number]
        const decides = e.op === 'and' ? 0 : 1
        return a === decides || b === decides ? decides : a + b - (1 - decides)
      }
      case 'select': {
        const [asked, yes, no] = e.args.map((arg) => this.#value(arg)) as [number, number, number]
        return Number.isNaN(asked) ? Number.NaN : asked !== 0 ? yes : no
      }
      case 'distance':
        return distance_m(e.args.map((arg) => this.#value(arg)) as [number, number, number, number])
      case 'neg':
        return -this.#value(e.args[0])
      case 'abs':
        return Math.abs(this.#value(e.args[0]))
      case 'not':
        return 1 - this.#value(e.args[0])
      case 'cited':
      case 'unchanged':
      case 'drift':
      case 'elapsed':
      case 'target':
        return Number.NaN
      default:
        return computed(e.op, this.#value(e.args[0]), this.#value(e.args[1]))
    }
  }
}

function computed(op: BinaryOp, a: number, b: number): number {
  switch (op) {
    case 'add':
      return a + b
    case 'sub':
      return a - b
    case 'mul':
      return a * b
    case 'div':
      return a / b
    case 'min':
      return Math.min(a, b)
    case 'max':
      return Math.max(a, b)
    default:
      return Number.isNaN(a + b) ? Number.NaN : Number(compared(op, a, b))
  }
}

function compared(op: BinaryOp, a: number, b: number): boolean {
  switch (op) {
    case 'lt':
      return a < b
    case 'le':
      return a <= b
    case 'gt':
      return a > b
    case 'ge':
      return a >= b
    case 'ne':
      return a !== b
    default:
      return a === b
  }
}

const words = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ')
const quoted = (text: SlotValue): string => (text === undefined ? 'absent' : JSON.stringify(text))

/** Great circle, as the core measures it; NaN where there is no such place. */
function distance_m([lat1, lon1, lat2, lon2]: readonly [number, number, number, number]): number {
  if (Math.max(Math.abs(lat1), Math.abs(lat2)) > 90 || Math.max(Math.abs(lon1), Math.abs(lon2)) > 180) return Number.NaN
  const rad = (deg: number): number => (deg * Math.PI) / 180
  const half = (deg: number): number => Math.sin(rad(deg) / 2) ** 2
  const h = half(lat2 - lat1) + Math.cos(rad(lat1)) * Math.cos(rad(lat2)) * half(lon2 - lon1)
  return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(Math.min(1, h)))
}

/** Two numbers of one unit with as few digits as tell them apart, four at least; empty for what is none. */
function apart(a: number, b: number, unit: string | undefined): readonly [string, string] {
  for (let digits = 4; digits < 17; digits++) {
    const shown = [written(a, unit, digits), written(b, unit, digits)] as const
    if (a === b || shown[0] !== shown[1]) return shown
  }
  return [String(a), String(b)]
}

/** From 10,000 m on in km, from 10,000 ms on in s. */
const LARGER: Readonly<Record<string, string>> = { m: 'km', ms: 's' }

function written(value: number, unit: string | undefined, digits: number): string {
  if (!Number.isFinite(value)) return ''
  const larger = unit === undefined || Math.abs(value) < 10_000 ? undefined : LARGER[unit]
  const number = larger === undefined ? value : value / 1000
  const whole = Math.trunc(Math.abs(number)).toString().length
  const rounded = whole > 15 ? number : Number(number.toPrecision(Math.min(Math.max(digits, whole), 17)))
  const [before, after] = String(rounded).split('.')
  const grouped = before!.includes('e') ? before! : before!.replace(/\B(?=(\d{3})+$)/g, ',')
  return words(after === undefined ? grouped : `${grouped}.${after}`, larger ?? unit ?? '')
}
