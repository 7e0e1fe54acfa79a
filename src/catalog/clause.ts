// Clauses: CEL text to the core's expressions (PROTOCOL 3, "Clauses"). cel-js parses; this file decides what the words mean
// and refuses every node that the protocol does not list. All numbers are doubles; a boolean is 0 or 1; a member of an
// enumeration is its number, and each enumeration is a type of its own.

import { type ASTNode, parse } from '@marcbachmann/cel-js'
import { ENUMERATIONS } from '../autopilot/profile.ts'
import type { BinaryOp, Expression } from '../core/expression.ts'
import type { PayloadField, StateField } from './catalog.ts'
import { oversize } from './size.ts'
import { suggestion } from './suggestion.ts'

/** What a clause may name. */
export interface Scope {
  /** By name: the field's number in the state table, and what it is. */
  readonly fields: ReadonlyMap<string, ScopeField>
  readonly payload: readonly PayloadField[]
  readonly constants: ReadonlyMap<string, number | boolean>
  /**
   * `done` may ask for `elapsed()`. A `frame` is a profile's template: it may read `target.*` and any field of the profile,
   * and may ask `has` of a payload field that this type does not declare, which is then absent. A `parameter` is a number
   * that a catalog writes into a frame: only declared fields and the payload. A `predicate` is asked without a snapshot: it
   * reads the present state and the payload.
   */
  readonly role: 'clause' | 'done' | 'frame' | 'parameter' | 'predicate'
}

export interface ScopeField extends StateField {
  readonly index: number
  /** The name of the enumeration, of fields of type `enum` of the profile: members are then written `mode.HOLD`. */
  readonly enumeration: string | undefined
  readonly angle: boolean
}

/** What is wrong with a clause, and where in its text. */
export class ClauseError extends Error {
  override readonly name = 'ClauseError'
  readonly position: number
  constructor(position: number, message: string) {
    super(message)
    this.position = position
  }
}

/** A clause as an expression that is 0 or 1. Throws ClauseError. */
export function compileClause(text: string, scope: Scope): Expression {
  return compile('boolean', text, scope)
}

/** A number of a frame as an expression. Throws ClauseError. */
export function compileNumber(text: string, scope: Scope): Expression {
  return compile('number', text, scope)
}

function compile(type: 'boolean' | 'number', text: string, scope: Scope): Expression {
  const node = tree(text)
  const expression = expect(type, node, new Compiler(scope).compile(node, NOTHING))
  const excess = oversize(expression)
  if (excess !== undefined) throw new ClauseError(0, excess)
  return expression
}

/** The payload fields that a clause names, in order. Throws ClauseError where it is not CEL. */
export function payloadFields(text: string): ReadonlySet<string> {
  const names = new Set<string>()
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) for (const inner of part) visit(inner)
    else if (typeof part === 'object' && part !== null && 'op' in part) {
      const node = part as ASTNode
      const asked = asks(node)
      if (asked !== undefined) names.add(asked)
      else visit(node.args)
    }
  }
  visit(tree(text))
  return names
}

/** Deeper ones are walked no more: a chain of `&&` is as deep as it is long. */
const DEPTH_MAX = 1000
const tooDeep = (most: number | string): string => `is nested deeper than ${most}: split it into several clauses`

function tree(text: string): ASTNode {
  const ast = parsed(text)
  let level: unknown[] = [ast]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) throw new ClauseError(0, tooDeep(DEPTH_MAX))
    level = level.flatMap((part) => {
      if (typeof part !== 'object' || part === null || !('op' in part)) return []
      const { args } = part as ASTNode
      return Array.isArray(args) ? args.flat(2) : [args]
    })
  }
  return ast
}

function parsed(text: string): ASTNode {
  try {
    return parse(text).ast
  } catch (error) {
    if (error instanceof RangeError) throw new ClauseError(0, tooDeep(DEPTH_MAX))
    const { summary, range, message } = error as Error & { summary?: string; range?: { start: number } }
    const said = summary ?? message
    const most = /maxDepth \((\d+)\)/.exec(said)?.[1]
    if (most !== undefined) throw new ClauseError(range?.start ?? 0, tooDeep(most))
    throw new ClauseError(
      range?.start ?? 0,
      `is not CEL: ${said.charAt(0).toLowerCase()}${said.slice(1)}${meant(text)}`,
    )
  }
}

/** How other languages write what CEL writes otherwise. */
const ELSEWHERE: readonly (readonly [RegExp, string, string])[] = [
  [/\band\b/i, 'and', '&&'],
  [/\bor\b/i, 'or', '||'],
  [/\bnot\b/i, 'not', '!'],
  [/<>/, '<>', '!='],
  [/(?<![=!<>])=(?!=)/, '=', '=='],
]

/** What the author may have meant, of a text that is not CEL. */
function meant(text: string): string {
  const code = text.replace(/"[^"]*"|'[^']*'/g, '')
  const words = ELSEWHERE.filter(([pattern]) => pattern.test(code)).map(([, is, cel]) => `\`${is}\` is \`${cel}\``)
  return words.length === 0 ? '' : `; in CEL ${words.join(', ')}`
}

type Type = 'number' | 'boolean' | Enumerated

interface Enumerated {
  /** `mode`, or the field that declares the values: two enumerations are the same if these are. */
  readonly name: string
  readonly members: readonly string[]
  /** Members are written as strings. */
  readonly quoted: boolean
}

/** What a node is: a value that the core can compute, a string of the payload, or a string that stands in the text. */
type Meaning =
  | { readonly is: 'value'; readonly type: Type; readonly e: Expression }
  | { readonly is: 'string'; readonly slot: number; readonly guarded: boolean }
  | { readonly is: 'literal'; readonly text: string }

/** Optional payload fields that are known to be present where a node's value matters. */
type Present = ReadonlySet<string>
const NOTHING: Present = new Set()

const value = (type: Type, e: Expression): Meaning => ({ is: 'value', type, e })
const number = (n: number): Expression => ({ op: 'number', value: n })
const not = (e: Expression): Expression => ({ op: 'not', args: [e] })

const ARITHMETIC: Readonly<Record<string, BinaryOp>> = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div' }
const ORDER: Readonly<Record<string, BinaryOp>> = { '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' }
const ROOTS = ['state', 'cited', 'payload', 'constants', 'target', ...Object.keys(ENUMERATIONS)]
const FUNCTIONS = ['age', 'unchanged', 'drift', 'distance', 'abs', 'min', 'max', 'has', 'elapsed']

const REFUSED: Readonly<Record<string, string>> = {
  '%': '`%` is not allowed: all numbers are doubles',
  in: '`in` is not allowed',
  list: 'lists are not allowed',
  map: 'maps are not allowed',
  '[]': 'indexing is not allowed',
  '[?]': 'indexing is not allowed',
  '.?': 'optional selection is not allowed: ask `has`',
  rcall: 'methods and macros are not allowed',
}

class Compiler {
  readonly #scope: Scope
  constructor(scope: Scope) {
    this.#scope = scope
  }

  compile(node: ASTNode, present: Present): Meaning {
    const inner = (child: ASTNode, type: 'number' | 'boolean', known = present) =>
      expect(type, child, this.compile(child, known))
    switch (node.op) {
      case 'value':
        return literal(node)
      case 'id':
      case '.':
        return this.#named(node, present)
      case 'call':
        return this.#call(node, present)
      case '!_':
        return value('boolean', not(inner(node.args, 'boolean')))
      case '-_': {
        const e = inner(node.args, 'number')
        return value('number', e.op === 'number' ? number(0 - e.value) : { op: 'neg', args: [e] })
      }
      case '&&':
      case '||': {
        const [left, right] = node.args
        const known = union(present, assured(left, node.op === '&&'))
        const args = [inner(left, 'boolean'), inner(right, 'boolean', known)] as const
        return value('boolean', { op: node.op === '&&' ? 'and' : 'or', args })
      }
      case '?:': {
        const [condition, yes, no] = node.args
        const a = this.compile(yes, union(present, assured(condition, true)))
        const b = this.compile(no, union(present, assured(condition, false)))
        if (a.is !== 'value' || b.is !== 'value') throw new ClauseError(node.start, 'strings only with == and !=')
        if (!same(a.type, b.type)) throw new ClauseError(no.start, `the branches of ?: differ: ${say(a)} and ${say(b)}`)
        return value(a.type, { op: 'select', args: [inner(condition, 'boolean'), a.e, b.e] })
      }
      case '==':
      case '!=':
        return this.#equality(node, present)
      case '+':
      case '-':
      case '*':
      case '/':
        return value('number', {
          op: ARITHMETIC[node.op]!,
          args: [inner(node.args[0], 'number'), inner(node.args[1], 'number')],
        })
      case '<':
      case '<=':
      case '>':
      case '>=':
        return value('boolean', {
          op: ORDER[node.op]!,
          args: [inner(node.args[0], 'number'), inner(node.args[1], 'number')],
        })
      default:
        throw new ClauseError(node.pos, REFUSED[node.op] ?? `\`${node.op}\` is not allowed`)
    }
  }

  #equality(node: ASTNode & { op: '==' | '!=' }, present: Present): Meaning {
    const [left, right] = node.args
    const a = this.compile(left, present)
    const b = this.compile(right, present)
    const result = (e: Expression) => value('boolean', node.op === '==' ? e : not(e))
    const string = a.is === 'string' ? a : b.is === 'string' ? b : undefined
    const text = a.is === 'literal' ? a.text : b.is === 'literal' ? b.text : undefined
    if (string !== undefined && text !== undefined) {
      return result({ op: 'text', slot: string.slot, value: text, guarded: string.guarded })
    }
    const [x, y] = [member(a, b, left), member(b, a, right)]
    if (x.is !== 'value' || y.is !== 'value') {
      throw new ClauseError(node.start, 'a string can only be compared: a payload field with a quoted text')
    }
    if (!same(x.type, y.type)) throw new ClauseError(right.start, `${say(y)} is compared with ${say(x)}`)
    return value('boolean', { op: node.op === '==' ? 'eq' : 'ne', args: [x.e, y.e] })
  }

  #named(node: ASTNode, present: Present): Meaning {
    const { root, name } = path(node)
    if (name === '') throw new ClauseError(node.start, `unknown name \`${root}\`${suggestion(root, ROOTS)}`)
    switch (root) {
      case 'state':
      case 'cited': {
        if (root === 'cited' && this.#inFrame())
          throw new ClauseError(node.start, 'a frame reads only the present state')
        if (root === 'cited' && this.#scope.role === 'predicate')
          throw new ClauseError(node.start, 'a predicate reads only the present state')
        const field = this.#field(node, name)
        return value(fieldType(field), { op: root === 'state' ? 'now' : 'cited', field: field.index })
      }
      case 'payload': {
        const slot = this.#slot(node, name)
        const guarded = present.has(name)
        if (slot === -1) {
          if (guarded) return value('number', number(0))
          throw this.#unknownPayload(node, name)
        }
        const field = this.#scope.payload[slot]!
        if (field.kind === 'string') return { is: 'string', slot, guarded }
        return value(slotType(field), { op: 'payload', slot, guarded })
      }
      case 'constants': {
        const constant = this.#scope.constants.get(name)
        if (constant === undefined) {
          throw new ClauseError(
            node.start,
            `unknown constant \`${name}\`${suggestion(name, this.#scope.constants.keys())}`,
          )
        }
        return value(typeof constant === 'number' ? 'number' : 'boolean', number(Number(constant)))
      }
      case 'target': {
        const part = ['system', 'component'].indexOf(name)
        if (this.#scope.role !== 'frame' || part === -1) break
        return value('number', { op: 'target', part: part as 0 | 1 })
      }
    }
    if (Object.hasOwn(ENUMERATIONS, root)) {
      const members: readonly string[] = ENUMERATIONS[root as keyof typeof ENUMERATIONS]
      const index = members.indexOf(name)
      if (index === -1)
        throw new ClauseError(node.start, `\`${root}\` has no member \`${name}\`${suggestion(name, members)}`)
      return value({ name: root, members, quoted: false }, number(index))
    }
    throw new ClauseError(node.start, `unknown name \`${root}.${name}\`${suggestion(root, ROOTS)}`)
  }

  #call(node: ASTNode & { op: 'call' }, present: Present): Meaning {
    const [name, args] = node.args
    const take = (count: number): readonly ASTNode[] => {
      if (args.length === count) return args
      throw new ClauseError(
        node.start,
        `\`${name}\` takes ${count} argument${count === 1 ? '' : 's'}, not ${args.length}`,
      )
    }
    const numbers = (count: number) => take(count).map((arg) => expect('number', arg, this.compile(arg, present)))
    switch (name) {
      case 'age':
      case 'unchanged':
      case 'drift':
        return this.#observed(name, take(1)[0]!)
      case 'distance':
        return value('number', { op: 'distance', args: numbers(4) as [Expression, Expression, Expression, Expression] })
      case 'abs':
        return value('number', { op: 'abs', args: numbers(1) as [Expression] })
      case 'min':
      case 'max':
        return value('number', { op: name, args: numbers(2) as [Expression, Expression] })
      case 'has': {
        const asked = asks(take(1)[0]!)
        if (asked === undefined) throw new ClauseError(node.start, '`has` asks for a payload field: has(payload.x)')
        const slot = this.#slot(args[0]!, asked)
        if (slot !== -1) return value('boolean', { op: 'has', slot })
        if (this.#scope.role !== 'frame') throw this.#unknownPayload(args[0]!, asked)
        return value('boolean', number(0))
      }
      case 'elapsed':
        take(0)
        if (this.#scope.role !== 'done') throw new ClauseError(node.start, '`elapsed()` has a meaning in `done` only')
        return value('number', { op: 'elapsed' })
      default:
        throw new ClauseError(node.start, `unknown function \`${name}\`${suggestion(name, FUNCTIONS)}`)
    }
  }

  /** `age`, `unchanged` and `drift` take a field itself, not its value. */
  #observed(name: 'age' | 'unchanged' | 'drift', arg: ASTNode): Meaning {
    if (this.#inFrame()) throw new ClauseError(arg.start, `\`${name}\` is not allowed in a frame`)
    if (this.#scope.role === 'predicate' && name !== 'age')
      throw new ClauseError(arg.start, `\`${name}\` is not allowed in a predicate: it reads only the present state`)
    const named = arg.op === '.' || arg.op === 'id' ? path(arg) : undefined
    if (named?.root !== 'state' || named.name === '') {
      throw new ClauseError(arg.start, `\`${name}\` takes a state field: ${name}(state.x)`)
    }
    const field = this.#field(arg, named.name)
    if (name === 'age') return value('number', { op: 'age', field: field.index })
    if (name === 'unchanged') {
      if (!field.continuous) return value('boolean', { op: 'unchanged', field: field.index })
      throw new ClauseError(arg.start, `\`${field.name}\` is continuous and has no version: use drift`)
    }
    if (fieldType(field) === 'number') return value('number', { op: 'drift', field: field.index, angle: field.angle })
    throw new ClauseError(arg.start, `\`${field.name}\` is not a number: use unchanged`)
  }

  #field(node: ASTNode, name: string): ScopeField {
    const field = this.#scope.fields.get(name)
    if (field !== undefined && (field.declared || this.#scope.role === 'frame')) return field
    const declared = [...this.#scope.fields.values()].filter((f) => f.declared).map((f) => f.name)
    if (field !== undefined) throw new ClauseError(node.start, `field \`${name}\` is not under \`state\``)
    throw new ClauseError(node.start, `unknown field \`${name}\`${suggestion(name, declared)}`)
  }

  #slot(node: ASTNode, name: string): number {
    const slot = this.#scope.payload.findIndex((field) => field.name === name)
    if (slot === -1 && this.#scope.role !== 'frame') throw this.#unknownPayload(node, name)
    return slot
  }

  #unknownPayload(node: ASTNode, name: string): ClauseError {
    const names = this.#scope.payload.map((field) => field.name)
    return new ClauseError(node.start, `this type has no payload field \`${name}\`${suggestion(name, names)}`)
  }

  #inFrame(): boolean {
    return this.#scope.role === 'frame' || this.#scope.role === 'parameter'
  }
}

/** `a.b.c` as its root and the rest: names of fields contain dots. */
function path(node: ASTNode): { root: string; name: string } {
  const names: string[] = []
  let at = node
  while (at.op === '.') {
    names.unshift(at.args[1])
    at = at.args[0]
  }
  if (at.op !== 'id') throw new ClauseError(at.pos, 'only names have parts')
  return { root: at.args, name: names.join('.') }
}

/** The field that `payload.x` names. */
function asks(node: ASTNode): string | undefined {
  if (node.op !== '.') return undefined
  const { root, name } = path(node)
  return root === 'payload' ? name : undefined
}

/** The payload fields that must be present for a condition to come out as `outcome`. */
function assured(node: ASTNode, outcome: boolean): Present {
  if (node.op === '!_') return assured(node.args, !outcome)
  if (node.op === (outcome ? '&&' : '||')) {
    const [left, right] = node.args as [ASTNode, ASTNode]
    return union(assured(left, outcome), assured(right, outcome))
  }
  if (node.op !== 'call' || node.args[0] !== 'has' || !outcome) return NOTHING
  const asked = node.args[1][0] && asks(node.args[1][0])
  return asked === undefined ? NOTHING : new Set([asked])
}

const union = (a: Present, b: Present): Present => (b.size === 0 ? a : new Set([...a, ...b]))

function literal(node: ASTNode & { op: 'value' }): Meaning {
  const written: unknown = node.args
  if (typeof written === 'boolean') return value('boolean', number(Number(written)))
  if (typeof written === 'string') return { is: 'literal', text: written }
  const n = Number(written)
  if (typeof written === 'bigint' && !Number.isSafeInteger(n))
    throw new ClauseError(node.start, 'no double is this integer')
  if (typeof written !== 'bigint' && typeof written !== 'number') {
    throw new ClauseError(node.start, 'only numbers, booleans and strings can be written')
  }
  return value('number', number(n))
}

/** A quoted text, where the other side is an enumeration of quoted values: its number. */
function member(a: Meaning, other: Meaning, node: ASTNode): Meaning {
  if (a.is !== 'literal' || other.is !== 'value' || typeof other.type === 'string') return a
  const { name, members, quoted } = other.type
  if (!quoted) throw new ClauseError(node.start, `members are written without quotes: ${name}.${members[0]}`)
  const index = members.indexOf(a.text)
  if (index !== -1) return value(other.type, number(index))
  throw new ClauseError(node.start, `\`${name}\` is never "${a.text}", but one of ${members.join(', ')}`)
}

function fieldType(field: ScopeField): Type {
  if (field.type === 'boolean') return 'boolean'
  if (field.type !== 'enum') return 'number'
  const quoted = field.enumeration === undefined
  return { name: field.enumeration ?? `state.${field.name}`, members: field.members!, quoted }
}

function slotType(field: PayloadField): Type {
  if (field.kind === 'boolean') return 'boolean'
  return field.kind === 'enum' ? { name: `payload.${field.name}`, members: field.values!, quoted: true } : 'number'
}

const same = (a: Type, b: Type): boolean =>
  typeof a === 'string' || typeof b === 'string' ? a === b : a.name === b.name

function say(meaning: Meaning): string {
  if (meaning.is !== 'value') return 'a string'
  return typeof meaning.type === 'string' ? `a ${meaning.type}` : `a member of \`${meaning.type.name}\``
}

function expect(type: 'number' | 'boolean', node: ASTNode, meaning: Meaning): Expression {
  if (meaning.is === 'value' && meaning.type === type) return meaning.e
  throw new ClauseError(node.start, `must be a ${type}, not ${say(meaning)}`)
}
