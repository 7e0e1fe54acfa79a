// Checked rules at work (PROTOCOL 13). All rules of an event are looked at and all that are violated apply, in the order of
// the file. No rule's answer depends on another rule, and each distinct predicate is asked once an event.
//
// G5: a predicate that throws, is unknown, answers no boolean or, in a gate, does not answer at once counts as true, with or
// without `!`; so does an inspection that is not answered with yes count as refused.

import { own, Unknown } from './clause.ts'
import { printEnforcement } from './print.ts'
import {
  ANY,
  type Assignment,
  type Enforcement,
  EVENTS,
  type Invocation,
  type Outcome,
  outcomeOf,
  type Question,
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
  /** Does what an invocation or an assignment says. Its answer is the value of an invocation inside another. */
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

/** A predicate with its arguments. */
export interface Atom {
  readonly index: number
  /** As rules write it, without `!`. */
  readonly written: string
  readonly asynchronous: boolean
  /** Throws Unknown, or whatever a host throws. */
  readonly test: (context: Context) => unknown
}

export interface CompiledRule {
  readonly rule: Rule
  /** Without constants: an empty alternative is true. */
  readonly alternatives: readonly (readonly { readonly atom: number; readonly negated: boolean }[])[]
}

/** Of an atom, in one event. */
const UNASKED = 0
const FALSE = 1
const TRUE = 2
const FAULTY = 3

export class RuleSet {
  readonly rules: readonly Rule[]
  readonly #atoms: readonly Atom[]
  /** By trigger word of the event; actions have all of `before_action` in theirs. What no rule names answers to `any`. */
  readonly #byEvent: ReadonlyMap<string, readonly CompiledRule[]>
  readonly #byAction: ReadonlyMap<string, readonly CompiledRule[]>

  /** Made by `checkRules`. */
  constructor(compiled: readonly CompiledRule[], atoms: readonly Atom[]) {
    this.rules = compiled.map(({ rule }) => rule)
    this.#atoms = atoms
    const under = (...words: string[]) =>
      compiled.filter(({ rule }) => rule.triggers.some((trigger) => words.includes(trigger)))
    const words = new Set(this.rules.flatMap(({ triggers }) => triggers))
    this.#byEvent = new Map(EVENTS.map((event) => [event, under(event, ANY)]))
    this.#byAction = new Map([...words].map((action) => [action, under(action, 'before_action', ANY)]))
  }

  /**
   * The verdict at once, for a gate: nothing is awaited or carried out. Questions and invocations are `pending` and the
   * caller's business; while its outcome is stricter than `invoke_action` the step must not happen.
   */
  judge(event: Event, context: Context): Verdict {
    const faults: Fault[] = []
    const run = this.#violations(event, context, faults)
    let round = run.next()
    while (!round.done) {
      // Nobody waits for it, but its failure must not become an unhandled rejection.
      round.value.catch(() => undefined)
      round = run.throw(new Late())
    }
    const violated = round.value
    return violated.length === 0 && faults.length === 0 ? NOTHING : decide(violated, context, faults)
  }

  /** The verdict, with everything carried out: persons and the model asked, actions invoked, in order. */
  async evaluate(event: Event, context: Context, hooks: Hooks): Promise<Verdict> {
    const faults: Fault[] = []
    const run = this.#violations(event, context, faults)
    let round = run.next()
    while (!round.done) {
      let answer: unknown
      try {
        answer = await round.value
      } catch (error) {
        round = run.throw(error)
        continue
      }
      round = run.next(answer)
    }
    const violated = round.value.map(({ rule }) => rule)
    const { verdict, next } = await new Enforcer({ event, context }, violated, faults, hooks).run()
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

  /** Yields what predicates promise; is given the answer, or thrown why there is none. */
  *#violations(
    event: Event,
    context: Context,
    faults: Fault[],
  ): Generator<Promise<unknown>, readonly CompiledRule[], unknown> {
    const answers = new Uint8Array(this.#atoms.length)
    const violated: CompiledRule[] = []
    for (const compiled of this.#rulesOf(event)) {
      for (const literals of compiled.alternatives) {
        let holds = true
        for (const { atom, negated } of literals) {
          let answer = answers[atom]!
          if (answer === UNASKED) {
            const { test, written } = this.#atoms[atom]!
            try {
              let said = test(context)
              if (said instanceof Promise) said = yield said
              if (typeof said !== 'boolean') throw new Unknown('the answer, which is no boolean,')
              answer = said ? TRUE : FALSE
            } catch (error) {
              answer = FAULTY
              faults.push({ rule: compiled.rule.id, what: written, reason: why(error) })
            }
            answers[atom] = answer
          }
          if (answer !== FAULTY && (answer === TRUE) === negated) {
            holds = false
            break
          }
        }
        if (holds) {
          violated.push(compiled)
          break
        }
      }
    }
    return violated
  }
}

const NOTHING: Verdict = Object.freeze({
  outcome: 'none',
  applied: Object.freeze([]),
  violated: Object.freeze([]),
  faults: Object.freeze([]),
  candidate: undefined,
})

class Late extends Error {
  override readonly message = 'did not answer at once'
}

function why(error: unknown): string {
  if (error instanceof Unknown) return `${error.what} is unknown`
  return error instanceof Error ? error.message : String(error)
}

const isQuestion = (enforcement: Enforcement): enforcement is Question =>
  enforcement.kind === 'user_inspection' || enforcement.kind === 'llm_self_examine'

/** Whether the step is held back whatever the answers are, so that nobody need be asked. */
const isHeld = (rules: readonly Rule[]): boolean =>
  rules.some(({ enforcements }) => enforcements.some(({ kind }) => kind === 'stop' || kind === 'skip'))

function decide(compiled: readonly CompiledRule[], context: Context, faults: Fault[]): Verdict {
  const violated = compiled.map(({ rule }) => rule)
  const held = isHeld(violated)
  let outcome: Outcome = 'none'
  const applied: Applied[] = []
  for (const rule of violated) {
    for (const enforcement of rule.enforcements) {
      let counts = outcomeOf(enforcement)
      let result: Result = 'pending'
      let args: Record<string, unknown> | undefined
      if (enforcement.kind === 'invoke_action') {
        try {
          args = entries(enforcement.arguments, ({ action }) => {
            throw new Error(`\`${action}\` inside another invocation answers later`)
          }, context) as Record<string, unknown>
        } catch (error) {
          faults.push(failure(rule, enforcement, error))
          ;[counts, result] = ['skip', 'failed']
        }
      } else if (isQuestion(enforcement)) {
        if (held) result = 'moot'
        else if (enforcement.kind === 'llm_self_examine' && exhausted(context)) [counts, result] = ['skip', 'withdrawn']
      } else if (enforcement.kind !== 'assign') {
        result = 'applied'
      }
      outcome = strictest(outcome, counts)
      applied.push({ rule, enforcement, arguments: args, result })
    }
  }
  return { outcome, applied, violated, faults, candidate: undefined }
}
