// What rules may speak about: the host's events and actions, the predicates it answers, what it can be asked to do, and the
// variables that its steps carry (PROTOCOL 13).

import type { EventName } from './rule.ts'

export interface Vocabulary {
  /** The events that the host raises. */
  readonly events: readonly EventName[]
  /** Tools, component types: what may be named as a trigger, since `before_action` is raised for it. */
  readonly actions: readonly string[]
  readonly predicates: Readonly<Record<string, Predicate>>
  /** What `invoke_action` may name. */
  readonly invocable: readonly string[]
  /** What an assignment may set, with its colons. */
  readonly settings: readonly string[]
  /** What clauses may name as `state.x` and `payload.x`. Names may contain dots. */
  readonly state: Readonly<Record<string, Exclude<Variable, 'string'>>>
  readonly payload: Readonly<Record<string, Variable>>
  /** `before_action` is judged in a gate, by `judge`: a predicate that answers later may not stand in such a rule. */
  readonly gate: boolean
}

/** The type of a variable; a list holds the members of an enumeration, which a step carries as strings. */
export type Variable = 'number' | 'boolean' | 'string' | readonly string[]

export type Predicate = HostPredicate | ClausePredicate

/** A function of the host. What it throws, and anything but a boolean, counts as a violation and is reported (G5). */
export interface HostPredicate {
  readonly parameters: readonly Parameter[]
  readonly test: (args: readonly (number | string)[], context: Context) => boolean | Promise<boolean>
  /** It returns a promise. */
  readonly asynchronous?: boolean
}

/**
 * A CEL clause over `state.*` and `payload.*` in the language of the catalog (PROTOCOL 3), but for what only the core
 * knows: `cited`, `age`, `unchanged`, `drift`. Its parameters, all numbers, are `constants.<name>` in it.
 */
export interface ClausePredicate {
  readonly parameters?: readonly (Parameter & { readonly type: 'number' })[]
  readonly clause: string
}

export interface Parameter {
  readonly name: string
  readonly type: 'number' | 'string'
}

/** What is known of a step when it is judged. What is absent here is unknown. */
export interface Context {
  readonly state?: Readonly<Record<string, unknown>>
  readonly payload?: Readonly<Record<string, unknown>>
  /** Whatever the host's predicates need beside these. */
  readonly subject?: unknown
  /** How often the model has examined itself over this step. */
  readonly examined?: number
}
