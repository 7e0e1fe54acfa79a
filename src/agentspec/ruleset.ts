// Checked rules at work (PROTOCOL 13). All rules of an event are looked at and all that are violated apply, in the order of
// the file; no rule's answer depends on another rule.
//
// G5: what cannot be known counts against the step. In a gate, a predicate that does not answer at once counts as true; an
// inspection that is not answered with yes is refused; what cannot be carried out skips the step.

import { own, Unknown, type Variables } from './clause.ts'
import { type Atom, type CompiledRule, Hearing, why } from './hearing.ts'
import { printEnforcement } from './print.ts'
import {
  ANY,
  type Assignment,
  type Enforcement,
  EVENTS,
  type Invocation,
  isAction,
  type MapValue,
  type Outcome,
  outcomeOf,
  type Reference,
  type Rule,
  strictest,
  type Value,
} from './rule.ts'
import type { Applied, Event, Fault, Result, Step, Verdict } from './verdict.ts'
import type { Context } from './vocabulary.ts'

/** How often the model may examine itself over one step; then the step is skipped. */
export const EXAMINATIONS_MAX = 3

/** What carries out the enforcements that take their time. */
export interface Hooks {
  /** Asks a person. Anything but true is a refusal. */
  readonly inspect: (inquiry: Inquiry) => boolean | Promise<boolean>
  /** Asks the model for another step; undefined: it has none. */
  readonly examine: (inquiry: Inquiry) => Step | undefined | Promise<Step | undefined>
  /** Does what an invocation or an assignment says; the arguments of an assignment are empty. Throwing, it has failed. */
  readonly invoke: (
    enforcement: Invocation | Assignment,
    args: Readonly<Record<string, unknown>>,
    step: Step,
  ) => unknown
}

export interface Inquiry {
  readonly rule: Rule
  readonly message: string | undefined
  /** All rules that the step violates. */
  readonly violated: readonly Rule[]
  readonly step: Step
}

export class RuleSet {
  readonly rules: readonly Rule[]
  readonly #atoms: readonly Atom[]
  readonly #variables: Variables
  /** By trigger word of the event; actions have all of `before_action` in theirs. What no rule names answers to `any`. */
  readonly #byEvent: ReadonlyMap<string, readonly CompiledRule[]>
  readonly #byAction: ReadonlyMap<string, readonly CompiledRule[]>

  /** Made by `checkRules`. */
  constructor(compiled: readonly CompiledRule[], atoms: readonly Atom[], variables: Variables) {
    this.rules = compiled.map(({ rule }) => rule)
    this.#atoms = atoms
    this.#variables = variables
    const under = (...words: string[]) =>
      compiled.filter(({ rule }) => rule.triggers.some(({ event }) => words.includes(event)))
    const names = this.rules.flatMap(({ triggers }) => triggers.map(({ event }) => event)).filter(isAction)
    this.#byEvent = new Map(EVENTS.map((event) => [event, under(event, ANY)]))
    this.#byAction = new Map(names.map((action) => [action, under(action, 'before_action', ANY)]))
  }

  /**
   * The verdict at once, for a gate: nothing is awaited or carried out. Questions and invocations are `pending` and the
   * caller's business; while its outcome is stricter than `invoke_action` the step must not happen.
   */
  judge(event: Event, context: Context): Verdict {
    const hearing = new Hearing(context, this.#atoms, this.#variables)
    const rules = this.#rulesOf(event)
    let violated = hearing.violated(rules)
    while ('promise' in violated) {
      const { atom, rule, promise } = violated
      // Nobody waits for it, but its failure must not become an unhandled rejection.
      promise.catch(() => undefined)
      hearing.miss(atom, rule, 'did not answer at once')
      violated = hearing.violated(rules)
    }
    return decide(violated, context, hearing.faults)
  }

  /** The verdict, with everything carried out: persons and the model asked, actions invoked, in order. */
  async evaluate(event: Event, context: Context, hooks: Hooks): Promise<Verdict> {
    const hearing = new Hearing(context, this.#atoms, this.#variables)
    const rules = this.#rulesOf(event)
    let violated = hearing.violated(rules)
    while ('promise' in violated) {
      const { atom, rule, promise } = violated
      try {
        hearing.answer(atom, rule, await promise)
      } catch (error) {
        hearing.miss(atom, rule, why(error))
      }
      violated = hearing.violated(rules)
    }
    const decided = decide(violated, context, hearing.faults)
    const { verdict, next } = await carryOut(decided, { event, context }, hooks)
    if (next === undefined) return verdict
    const examined = (context.examined ?? 0) + 1
    const after = await this.evaluate(next.event, { ...next.context, examined }, hooks)
    return {
      outcome: strictest(verdict.outcome, after.outcome),
      applied: [...verdict.applied, ...after.applied],
      violated: [...new Set([...verdict.violated, ...after.violated])],
      faults: [...verdict.faults, ...after.faults],
      candidate: after.candidate ?? next,
    }
  }

  #rulesOf({ name, action }: Event): readonly CompiledRule[] {
    const ofAction = name === 'before_action' && action !== undefined ? this.#byAction.get(action) : undefined
    return ofAction ?? this.#byEvent.get(name)!
  }
}

const NOTHING: Verdict = Object.freeze({
  outcome: 'none',
  applied: Object.freeze([]),
  violated: Object.freeze([]),
  faults: Object.freeze([]),
  candidate: undefined,
})

const holdsBack = (outcome: Outcome): boolean => outcome === 'stop' || outcome === 'skip'

/** What can be said without waiting for anybody. */
function decide(compiled: readonly CompiledRule[], context: Context, faults: Fault[]): Verdict {
  if (compiled.length === 0 && faults.length === 0) return NOTHING
  const violated = compiled.map(({ rule }) => rule)
  const held = violated.some(({ enforcements }) => enforcements.some((e) => holdsBack(outcomeOf(e))))
  let outcome: Outcome = 'none'
  const applied: Applied[] = []
  for (const rule of violated) {
    for (const enforcement of rule.enforcements) {
      let counts = outcomeOf(enforcement)
      let result: Result = 'pending'
      let args: Record<string, unknown> | undefined
      switch (enforcement.kind) {
        case 'stop':
        case 'skip':
        case 'none':
          result = 'applied'
          break
        case 'user_inspection':
          if (held) result = 'moot'
          break
        case 'llm_self_examine':
          if (held) result = 'moot'
          else if ((context.examined ?? 0) >= EXAMINATIONS_MAX) [counts, result] = ['skip', 'withdrawn']
          break
        case 'invoke_action':
          try {
            args = record(enforcement.arguments, context)
          } catch (error) {
            faults.push(failure(rule, enforcement, error))
            ;[counts, result] = ['skip', 'failed']
          }
      }
      outcome = strictest(outcome, counts)
      applied.push({ rule, enforcement, arguments: args, result })
    }
  }
  return { outcome, applied, violated, faults, candidate: undefined }
}

/** Does what is pending, in order. Once the step is held back nobody is asked; what is to be invoked still is. */
async function carryOut(
  { applied, violated, faults: before, outcome: decided }: Verdict,
  step: Step,
  hooks: Hooks,
): Promise<{ verdict: Verdict; next: Step | undefined }> {
  const faults = [...before]
  const done: Applied[] = []
  let outcome: Outcome = holdsBack(decided) ? decided : 'none'
  let next: Step | undefined

  const attempt = async <T>({ rule, enforcement }: Applied, act: () => T | Promise<T>): Promise<T | Error> => {
    try {
      return await act()
    } catch (error) {
      const fault = failure(rule, enforcement, error)
      faults.push(fault)
      return new Error(fault.reason)
    }
  }
  const carry = async (pending: Applied): Promise<[Outcome, Result]> => {
    const { rule, enforcement } = pending
    if (enforcement.kind === 'invoke_action' || enforcement.kind === 'assign') {
      const args = pending.arguments ?? {}
      const failed = (await attempt(pending, () => hooks.invoke(enforcement, args, step))) instanceof Error
      return failed ? ['skip', 'failed'] : ['invoke_action', 'applied']
    }
    if (!('message' in enforcement) || holdsBack(outcome) || next !== undefined) return ['none', 'moot']
    const inquiry: Inquiry = { rule, message: enforcement.message, violated, step }
    if (enforcement.kind === 'user_inspection') {
      const approved = (await attempt(pending, () => hooks.inspect(inquiry))) === true
      return approved ? ['none', 'approved'] : ['stop', 'refused']
    }
    const proposed = (await attempt(pending, () => hooks.examine(inquiry))) ?? undefined
    if (proposed === undefined || proposed instanceof Error) return ['skip', 'withdrawn']
    next = proposed
    return ['none', 'examined']
  }

  for (const entry of applied) {
    if (entry.result !== 'pending') {
      done.push(entry)
      continue
    }
    const [counts, result] = await carry(entry)
    outcome = strictest(outcome, counts)
    done.push({ ...entry, result })
  }
  const verdict: Verdict = { outcome, applied: done, violated, faults, candidate: undefined }
  return { verdict, next: holdsBack(outcome) ? undefined : next }
}

function failure(rule: Rule, enforcement: Enforcement, error: unknown): Fault {
  return { rule: rule.id, what: printEnforcement(enforcement), reason: why(error) }
}

/** The arguments of an invocation as plain data. Throws Unknown where a reference leads nowhere. */
function record({ entries }: MapValue, context: Context): Record<string, unknown> {
  return Object.fromEntries(entries.map(([key, value]) => [key, plain(value, context)]))
}

function plain(value: Value, context: Context): unknown {
  switch (value.kind) {
    case 'scalar':
      return value.value
    case 'list':
      return value.items.map((item) => plain(item, context))
    case 'map':
      return record(value, context)
    case 'reference':
      return look(value, context)
    case 'invoke_action':
      throw new Error('an invocation inside another has no answer')
  }
}

function look({ root, path }: Reference, context: Context): unknown {
  let at: unknown = root === 'state' ? context.state : context.payload
  for (const key of path)
    at = typeof at === 'object' && at !== null ? own(at as Record<string, unknown>, key) : undefined
  if (at === undefined) throw new Unknown([root, ...path].join('.'))
  return at
}
