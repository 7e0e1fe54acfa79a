// A rule as data: what `parseRules` makes of the text, `printRule` writes and `checkRules` puts to work (PROTOCOL 13).

/** A rule is violated when one of its events occurs and its check is true; then its enforcements apply, in order. */
export interface Rule {
  readonly id: string
  /** One of them must occur. Not empty. */
  readonly triggers: readonly Trigger[]
  /** Alternatives of literals: true when every literal of one alternative is. Neither level is empty. */
  readonly check: readonly (readonly Literal[])[]
  /** Not empty. */
  readonly enforcements: readonly Enforcement[]
  readonly at: Position
}

/** An event word, `any`, or the name of an action. */
export interface Trigger {
  readonly event: string
  readonly at: Position
}

/** Lines and columns count from 1. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

export type Literal = Constant | Asked

/** `true`, `false` and their negations. */
export interface Constant {
  readonly kind: 'constant'
  readonly value: boolean
  readonly at: Position
}

/** A predicate with its arguments, asked or denied. */
export interface Asked {
  readonly kind: 'predicate'
  readonly negated: boolean
  readonly name: string
  readonly arguments: readonly (number | string)[]
  readonly at: Position
}

export type Enforcement = Decision | Question | Invocation | Assignment

/** `stop` ends the agent's run, `skip` holds back this step only, `none` is recorded and changes nothing. */
export interface Decision {
  readonly kind: 'stop' | 'skip' | 'none'
  readonly at: Position
}

/** The step waits: for a person, or for the model to propose another. `message` is what the rule says about it. */
export interface Question {
  readonly kind: 'user_inspection' | 'llm_self_examine'
  readonly message: string | undefined
  readonly at: Position
}

/** `invoke_action(name, {...})`: the host does this. */
export interface Invocation {
  readonly kind: 'invoke_action'
  readonly action: string
  readonly arguments: MapValue
  readonly at: Position
}

/** `real:preference:Max_planning_speed = 8.33`: the host sets this. `setting` keeps its colons. */
export interface Assignment {
  readonly kind: 'assign'
  readonly setting: string
  readonly value: number
  readonly at: Position
}

/** What an argument of an invocation can be: JSON, a part of the step (`payload["to"]`), the answer of an invocation. */
export type Value = Scalar | ListValue | MapValue | Reference | Invocation

export interface Scalar {
  readonly kind: 'scalar'
  readonly value: number | string | boolean | null
}

export interface ListValue {
  readonly kind: 'list'
  readonly items: readonly Value[]
}

export interface MapValue {
  readonly kind: 'map'
  /** Keys are unique. */
  readonly entries: readonly (readonly [key: string, value: Value])[]
}

export interface Reference {
  readonly kind: 'reference'
  readonly root: string
  readonly path: readonly string[]
  readonly at: Position
}

/** What can happen to an agent. Any other word after `trigger` names an action: the event is that it is about to be taken. */
export const EVENTS = ['state_change', 'before_action', 'after_action', 'agent_finish'] as const
export type EventName = (typeof EVENTS)[number]

/** The trigger that every event answers to. */
export const ANY = 'any'

/** A trigger word that is no event's, and so an action's. */
export const isAction = (word: string): boolean => word !== ANY && !EVENTS.some((event) => event === word)

/** Outcomes of a step, the strictest first. An assignment counts as `invoke_action`. */
export const OUTCOMES = ['stop', 'skip', 'user_inspection', 'llm_self_examine', 'invoke_action', 'none'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const outcomeOf = ({ kind }: Enforcement): Outcome => (kind === 'assign' ? 'invoke_action' : kind)

const RANK = Object.fromEntries(OUTCOMES.map((outcome, rank) => [outcome, rank])) as Readonly<Record<Outcome, number>>

/** The stricter of two outcomes. */
export const strictest = (a: Outcome, b: Outcome): Outcome => (RANK[a] < RANK[b] ? a : b)
