// What the rules say about one step (PROTOCOL 13).

import type { Enforcement, EventName, Outcome, Rule } from './rule.ts'
import type { Context } from './vocabulary.ts'

/** Something that happens to an agent. `action` is looked at for `before_action` only: the action's name is its event. */
export interface Event {
  readonly name: EventName
  readonly action?: string
}

export interface Verdict {
  /** The strictest of what applied. An answer of a person counts as what it led to: `stop`, or nothing. */
  readonly outcome: Outcome
  /** Every enforcement of every violated rule: rules in the order of the file, enforcements in that of the rule. */
  readonly applied: readonly Applied[]
  readonly violated: readonly Rule[]
  /** What made a rule count as violated although its check was not known to be true, and what could not be carried out. */
  readonly faults: readonly Fault[]
  /** After a self-examination: the step that is judged in the place of the first. */
  readonly candidate: Step | undefined
}

export interface Step {
  readonly event: Event
  readonly context: Context
}

export interface Applied {
  readonly rule: Rule
  readonly enforcement: Enforcement
  /** Of an invocation, with its references looked up. */
  readonly arguments: Readonly<Record<string, unknown>> | undefined
  readonly result: Result
}

/**
 * `applied`; `pending`: the caller of `judge` has it before them; `moot`: not asked, since the step is held back in any case;
 * `approved`, `refused`: a person's answer; `examined`: the model proposed another step, `withdrawn`: it proposed none, or
 * had its three chances; `failed`: it could not be carried out, and the step is skipped.
 */
export type Result = 'applied' | 'pending' | 'moot' | 'approved' | 'refused' | 'examined' | 'withdrawn' | 'failed'

export interface Fault {
  readonly rule: string
  /** The predicate or enforcement, as the rule has it. */
  readonly what: string
  /** Lower-case. */
  readonly reason: string
}
