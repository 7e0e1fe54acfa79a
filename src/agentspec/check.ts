// Rules against a vocabulary: every name known, every argument typed, no rule that is written for nothing (PROTOCOL 13).

import { ClauseError } from '../catalog/clause.ts'
import { suggestion } from '../catalog/suggestion.ts'
import { type Clause, Variables } from './clause.ts'
import type { Atom, CompiledRule } from './hearing.ts'
import { printLiteral } from './print.ts'
import { type Problem, refuse } from './problem.ts'
import {
  ANY,
  type Asked,
  type Assignment,
  type Invocation,
  isAction,
  type Literal,
  type Position,
  type Reference,
  type Rule,
  type Value,
} from './rule.ts'
import { RuleSet } from './ruleset.ts'
import type { ClausePredicate, HostPredicate, Parameter, Predicate, Vocabulary } from './vocabulary.ts'

/** The rules, compiled and indexed. Throws RuleError with everything that is wrong with any of them. */
export function checkRules(rules: readonly Rule[], vocabulary: Vocabulary): RuleSet {
  const checker = new Checker(vocabulary)
  const compiled = rules.map((rule) => checker.compile(rule))
  duplicates(rules, checker.problems)
  refuse(checker.problems)
  // Only sound rules are compared: what shadows another must itself mean something.
  shadows(compiled, checker.problems)
  refuse(checker.problems)
  return new RuleSet(compiled, [...checker.atoms.values()], checker.variables)
}

/** One predicate with its arguments, and whether it can come out as true and as false. */
interface Meaning extends Atom {
  readonly canBe: Clause['canBe']
}

const EITHER = { true: true, false: true }

class Checker {
  readonly problems: Problem[] = []
  /** By how they are written, so that rules share them: a predicate is asked once an event. */
  readonly atoms = new Map<string, Meaning>()
  readonly variables: Variables
  readonly #vocabulary: Vocabulary

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary
    this.variables = new Variables(vocabulary)
  }

  compile(rule: Rule): CompiledRule {
    const gate = this.#triggers(rule) && this.#vocabulary.gate
    const alternatives = rule.check.map((literals) => literals.map((literal) => this.#literal(literal, gate)))
    const possible = alternatives.filter((literals) => !literals.includes('false'))
    if (possible.every(isHopeless)) this.#problem(rule.check[0]![0]!.at, 'this check can never be true')
    for (const enforcement of rule.enforcements) {
      if (enforcement.kind === 'invoke_action') this.#invocation(enforcement)
      if (enforcement.kind === 'assign') this.#assignment(enforcement)
    }
    // A clause that can never be true stays: while it is unknown it counts as true (G5).
    return { rule, alternatives: possible.map((literals) => literals.filter((literal) => typeof literal !== 'string')) }
  }

  /** Whether the rule is about something that is judged before an action. */
  #triggers({ triggers }: Rule): boolean {
    const { events, actions } = this.#vocabulary
    for (const { event, at } of triggers) {
      if (isAction(event)) {
        if (!actions.includes(event)) {
          this.#problem(at, `unknown event \`${event}\`${suggestion(event, [ANY, ...events, ...actions])}`)
        }
      } else if (event !== ANY && !events.some((raised) => raised === event)) {
        this.#problem(at, `event \`${event}\` is not raised here`)
      }
    }
    return triggers.some(({ event }) => event === 'before_action' || event === ANY || isAction(event))
  }

  #literal(literal: Literal, gate: boolean): CompiledLiteral {
    if (literal.kind === 'constant') return literal.value ? 'true' : 'false'
    const atom = this.#atom(literal)
    if (atom === undefined) return 'true'
    const { negated, name, at } = literal
    if (gate && atom.asynchronous) {
      this.#problem(at, `predicate \`${name}\` answers later, and this rule is judged in a gate`)
    }
    const { canBe } = atom
    const isKnowable = canBe.true || canBe.false
    if (!isKnowable) this.#problem(at, `\`${printLiteral(literal)}\` can never be known`)
    return { atom: atom.index, negated, hopeless: isKnowable && !(negated ? canBe.false : canBe.true) }
  }

  #atom(literal: Asked): Meaning | undefined {
    const { predicates } = this.#vocabulary
    const { name, at } = literal
    const predicate = Object.hasOwn(predicates, name) ? predicates[name] : undefined
    if (predicate === undefined) {
      this.#problem(at, `unknown predicate \`${name}\`${suggestion(name, Object.keys(predicates))}`)
      return undefined
    }
    if (!this.#arguments(literal, predicate.parameters ?? [])) return undefined
    const written = printLiteral({ ...literal, negated: false })
    const known = this.atoms.get(written)
    if (known !== undefined) return known
    const meaning = this.#meaning(predicate, literal, written)
    if (meaning !== undefined) this.atoms.set(written, meaning)
    return meaning
  }

  #meaning(predicate: Predicate, { name, arguments: args, at }: Asked, written: string): Meaning | undefined {
    const index = this.atoms.size
    if (isHost(predicate)) {
      const { test, asynchronous = false } = predicate
      return { index, written, asynchronous, canBe: EITHER, clause: undefined, host: (context) => test(args, context) }
    }
    const constants = new Map((predicate.parameters ?? []).map((parameter, i) => [parameter.name, args[i] as number]))
    try {
      const { test, canBe } = this.variables.compile(predicate.clause, constants)
      return { index, written, asynchronous: false, canBe, clause: test, host: undefined }
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      const { position, message } = error
      this.#problem(at, `the clause of \`${name}\`, \`${predicate.clause}\`, at character ${position + 1}: ${message}`)
      return undefined
    }
  }

  #arguments({ name, arguments: args, at }: Asked, parameters: readonly Parameter[]): boolean {
    const wanted = parameters.map((parameter) => `${parameter.name}: ${parameter.type}`).join(', ')
    const wrong =
      args.length !== parameters.length
        ? `${args.length} argument${args.length === 1 ? '' : 's'}`
        : args.find((argument, i) => typeof argument !== parameters[i]!.type)
    if (wrong === undefined) return true
    const got = args.length !== parameters.length ? wrong : JSON.stringify(wrong)
    this.#problem(at, `predicate \`${name}\` takes (${wanted}), not ${got}`)
    return false
  }

  #invocation({ action, arguments: map, at }: Invocation): void {
    const { invocable } = this.#vocabulary
    if (!invocable.includes(action)) {
      this.#problem(at, `unknown action \`${action}\` to invoke${suggestion(action, invocable)}`)
    }
    for (const [, value] of map.entries) this.#value(value)
  }

  #value(value: Value): void {
    if (value.kind === 'list') for (const item of value.items) this.#value(item)
    if (value.kind === 'map') for (const [, inner] of value.entries) this.#value(inner)
    if (value.kind === 'invoke_action') this.#problem(value.at, 'an invocation inside another has no answer')
    if (value.kind === 'reference') this.#reference(value)
  }

  #reference({ root, path, at }: Reference): void {
    if (root !== 'state' && root !== 'payload') {
      this.#problem(at, `unknown value \`${root}\`: a reference begins with \`state\` or \`payload\``)
      return
    }
    const [first] = path
    const names = Object.keys(this.#vocabulary[root])
    if (first !== undefined && !names.includes(first)) {
      this.#problem(at, `\`${root}\` has no \`${first}\`${suggestion(first, names)}`)
    }
  }

  #assignment({ setting, at }: Assignment): void {
    const { settings } = this.#vocabulary
    if (!settings.includes(setting)) {
      this.#problem(at, `unknown setting \`${setting}\`${suggestion(setting, settings)}`)
    }
  }

  #problem({ file, line, column }: Position, message: string): void {
    this.problems.push({ file, line, column, message })
  }
}

/** A literal and whether it is false for all values that its clause can see, or a constant. */
type CompiledLiteral =
  | (CompiledRule['alternatives'][number][number] & { readonly hopeless: boolean })
  | 'true'
  | 'false'

const isHost = (predicate: HostPredicate | ClausePredicate): predicate is HostPredicate => 'test' in predicate

/** One literal can never be true, or two contradict each other: `p & !p`. */
function isHopeless(literals: readonly CompiledLiteral[]): boolean {
  const asked = literals.filter((literal) => typeof literal !== 'string')
  return asked.some((a) => a.hopeless || asked.some((b) => a.atom === b.atom && a.negated !== b.negated))
}

function duplicates(rules: readonly Rule[], problems: Problem[]): void {
  const seen = new Map<string, Rule>()
  for (const rule of rules) {
    const first = seen.get(rule.id)
    if (first === undefined) seen.set(rule.id, rule)
    else problems.push({ ...rule.at, message: `rule \`${rule.id}\` stands already in ${place(first)}` })
  }
}

/**
 * A rule is unreachable where an earlier one stops the agent at every event and in every case of its own: nothing that it
 * decides or asks can change the outcome. What it would invoke or set, it still does; such a rule is left alone.
 */
function shadows(rules: readonly CompiledRule[], problems: Problem[]): void {
  rules.forEach((later, i) => {
    if (later.rule.enforcements.some(({ kind }) => kind === 'invoke_action' || kind === 'assign')) return
    const earlier = rules.slice(0, i).find((candidate) => shadow(candidate, later))
    if (earlier === undefined) return
    const { id } = earlier.rule
    const message = `rule \`${later.rule.id}\` is unreachable: \`${id}\` in ${place(earlier.rule)} stops before it`
    problems.push({ ...later.rule.at, message })
  })
}

function shadow(earlier: CompiledRule, later: CompiledRule): boolean {
  return (
    earlier.rule.enforcements.some(({ kind }) => kind === 'stop') &&
    later.rule.triggers.every(({ event }) => covers(earlier.rule, event)) &&
    later.alternatives.every((case_) => earlier.alternatives.some((weaker) => implies(case_, weaker)))
  )
}

function covers({ triggers }: Rule, event: string): boolean {
  const has = (wanted: string): boolean => triggers.some((trigger) => trigger.event === wanted)
  return has(event) || has(ANY) || (isAction(event) && has('before_action'))
}

type Alternative = CompiledRule['alternatives'][number]

/** Every literal of the weaker stands in the stronger. */
function implies(stronger: Alternative, weaker: Alternative): boolean {
  return weaker.every(({ atom, negated }) => stronger.some((other) => other.atom === atom && other.negated === negated))
}

const place = ({ at }: Rule): string => `${at.file}:${at.line}:${at.column}`
