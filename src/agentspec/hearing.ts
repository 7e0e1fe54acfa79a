// One event before the rules (PROTOCOL 13). Each distinct predicate is asked at most once, whatever the number of rules that
// name it, so all rules judge the same answers.
//
// G5: a predicate that throws, is unknown or answers no boolean is faulty, and counts as true with or without `!`.

import { type Scene, Unknown, type Variables } from './clause.ts'
import type { Rule } from './rule.ts'
import type { Fault } from './verdict.ts'
import type { Context } from './vocabulary.ts'

/** A predicate with its arguments. */
export interface Atom {
  readonly index: number
  /** As rules write it, without `!`. */
  readonly written: string
  readonly asynchronous: boolean
  /** A clause of the step's variables, or a function of the host, which may throw. */
  readonly clause: ((scene: Scene) => boolean | Unknown) | undefined
  readonly host: ((context: Context) => unknown) | undefined
}

export interface CompiledRule {
  readonly rule: Rule
  /** Without constants: an empty alternative is true. */
  readonly alternatives: readonly (readonly { readonly atom: number; readonly negated: boolean }[])[]
}

/** A predicate whose answer has to be waited for. */
export interface Awaited {
  readonly atom: Atom
  readonly rule: Rule
  readonly promise: Promise<unknown>
}

const UNASKED = 0
const FALSE = 1
const TRUE = 2
const FAULTY = 3
const PROMISED = 4

export class Hearing {
  readonly faults: Fault[] = []
  readonly #context: Context
  readonly #atoms: readonly Atom[]
  readonly #variables: Variables
  readonly #answers: Uint8Array
  #scene: Scene | undefined
  #awaited: Awaited | undefined

  constructor(context: Context, atoms: readonly Atom[], variables: Variables) {
    this.#context = context
    this.#atoms = atoms
    this.#variables = variables
    this.#answers = new Uint8Array(atoms.length)
  }

  /** What is violated of these, in their order; or whose answer is missing: `answer` or `miss` it, then ask again. */
  violated(rules: readonly CompiledRule[]): readonly CompiledRule[] | Awaited {
    const violated: CompiledRule[] = []
    for (let i = 0; i < rules.length; i++) {
      const compiled = rules[i]!
      if (this.#holds(compiled)) violated.push(compiled)
      else if (this.#awaited !== undefined) return this.#awaited
    }
    return violated
  }

  answer(atom: Atom, rule: Rule, said: unknown): void {
    if (typeof said === 'boolean') this.#settle(atom, said ? TRUE : FALSE)
    else this.miss(atom, rule, 'answers no boolean')
  }

  miss(atom: Atom, { id }: Rule, reason: string): void {
    this.#settle(atom, FAULTY)
    this.faults.push({ rule: id, what: atom.written, reason })
  }

  #settle({ index }: Atom, answer: number): void {
    this.#answers[index] = answer
    this.#awaited = undefined
  }

  #holds({ rule, alternatives }: CompiledRule): boolean {
    for (let i = 0; i < alternatives.length; i++) {
      const literals = alternatives[i]!
      let j = 0
      for (; j < literals.length; j++) {
        const { atom, negated } = literals[j]!
        const known = this.#answers[atom]!
        const answer = known === UNASKED ? this.#ask(this.#atoms[atom]!, rule) : known
        if (answer === PROMISED) return false
        if (answer === (negated ? TRUE : FALSE)) break
      }
      if (j === literals.length) return true
    }
    return false
  }

  #ask(atom: Atom, rule: Rule): number {
    try {
      if (atom.clause !== undefined) {
        this.#scene ??= this.#variables.read(this.#context)
        const said = atom.clause(this.#scene)
        if (said instanceof Unknown) this.miss(atom, rule, why(said))
        else this.answer(atom, rule, said)
      } else {
        const said = atom.host!(this.#context)
        if (said instanceof Promise) {
          this.#awaited = { atom, rule, promise: said }
          return PROMISED
        }
        this.answer(atom, rule, said)
      }
    } catch (error) {
      this.miss(atom, rule, why(error))
    }
    return this.#answers[atom.index]!
  }
}

/** In words, lower-case where they are ours. */
export function why(error: unknown): string {
  if (error instanceof Unknown) return `${error.what} is unknown`
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : 'threw something that is no error'
}
