// Rules beside the catalog: AgentSpec over what the engine does (PROTOCOL 13). Their predicates are clauses of the catalog,
// judged in the core, or functions of the host; everything here answers at once, since the gate waits for nobody.
//
// No rule lets anything across: rules are asked about what the core would allow, and the core is asked again behind them.

import { createHash } from 'node:crypto'
import { checkRules } from '../../agentspec/check.ts'
import { ANY, type Event, type HostPredicate, type Outcome, type Rule, type RuleSet } from '../../agentspec/index.ts'
import { parseRules } from '../../agentspec/parse.ts'
import { refuse } from '../../agentspec/problem.ts'
import type { ContingencyName } from '../../autopilot/profile.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Core } from '../../core/core.ts'
import { type Instance, isAction } from '../plan/plan.ts'

export interface RuleFile {
  readonly file: string
  readonly text: string
}

/** What the rules say about one event. */
export interface Ruling {
  readonly outcome: Outcome
  /** Ids of the violated rules, in the order of the files. */
  readonly rules: readonly string[]
  /** The texts of those that ask the model to examine itself: they go into the obligation. */
  readonly examine: string | undefined
  readonly invoke: readonly Invoked[]
  /** What was counted as violated because it could not be known, and the rules that count for that alone. */
  readonly faults: readonly string[]
  readonly unknown: readonly string[]
}

/** A contingency, and the rule that invokes it. */
export interface Invoked {
  readonly rule: string
  readonly name: ContingencyName
}

/** What a predicate is asked about. */
interface Subject {
  readonly core: Core
  readonly instance: Instance | undefined
  readonly now_ms: number
}

/** What `invoke_action` may name: the contingencies that a catalog can name too. */
export const INVOCABLE: readonly ContingencyName[] = ['hold', 'land', 'return']
/** What can be enforced where no component is at the gate. */
const WITHOUT_COMPONENT: ReadonlySet<string> = new Set(['stop', 'invoke_action', 'none'])

export class Policy {
  /** SHA-256, hex, of the files' texts: part of the environment. */
  readonly hash: string
  readonly #actions: RuleSet
  /** Of what is no action: only the rules that name its type, or `any`. */
  readonly #others: RuleSet

  /** Throws RuleError with everything that is wrong in any of the files. */
  constructor(files: readonly RuleFile[], catalog: Catalog, host: Readonly<Record<string, HostPredicate>> = {}) {
    const rules = files.flatMap(({ file, text }) => parseRules(text, file))
    const vocabulary = vocabularyOf(catalog, host)
    this.#actions = checkRules(rules, vocabulary)
    refuse(rules.flatMap((rule) => [...misplaced(rule, catalog), ...unreadable(rule, catalog)]))
    const types = new Set(catalog.types.filter(({ kind }) => !isAction(kind)).map(({ name }) => name))
    const others = rules.filter(({ triggers }) => triggers.some(({ event }) => event === ANY || types.has(event)))
    this.#others = checkRules(others, vocabulary)
    this.hash = createHash('sha256')
      .update(JSON.stringify(files.map(({ text }) => text)))
      .digest('hex')
  }

  /** In the order of the files. */
  get rules(): readonly Rule[] {
    return this.#actions.rules
  }

  /** A component that the core would let across now. */
  atGate(core: Core, instance: Instance, now_ms: number): Ruling {
    const rules = isAction(instance.is.kind) ? this.#actions : this.#others
    const subject: Subject = { core, instance, now_ms }
    const examined = instance.plan.speaker.attempts(instance.type)
    return ruling(rules.judge({ name: 'before_action', action: instance.is.name }, { subject, examined }))
  }

  /** Something that happened: a discrete change, an action that was completed, a plan with nothing live left. */
  after(core: Core, name: 'state_change' | 'after_action' | 'agent_finish', now_ms: number): Ruling {
    const event: Event = { name }
    const subject: Subject = { core, instance: undefined, now_ms }
    return ruling(this.#actions.judge(event, { subject }))
  }
}

function ruling(verdict: ReturnType<RuleSet['judge']>): Ruling {
  const { outcome, violated, applied, faults } = verdict
  const examine = applied.flatMap(({ rule, enforcement }) =>
    enforcement.kind === 'llm_self_examine' ? (enforcement.message ?? `rule @${rule.id}`) : [],
  )
  return {
    outcome,
    rules: violated.map(({ id }) => id),
    examine: examine.length === 0 ? undefined : examine.join('; '),
    invoke: applied.flatMap(({ rule, enforcement }) =>
      enforcement.kind === 'invoke_action' ? { rule: rule.id, name: enforcement.action as ContingencyName } : [],
    ),
    faults: faults.map(({ rule, what, reason }) => `@${rule}: ${what}: ${reason}`),
    unknown: faults.map(({ rule }) => rule),
  }
}

function vocabularyOf(catalog: Catalog, host: Readonly<Record<string, HostPredicate>>) {
  const ofCatalog = catalog.predicates.map((predicate): [string, HostPredicate] => {
    const test: HostPredicate['test'] = (_, context) => {
      const { core, instance, now_ms } = context.subject as Subject
      const ofType = instance === undefined ? undefined : predicate.types.get(instance.type)
      const index = predicate.state ?? ofType
      if (index === undefined) throw new Error('reads a payload that is not there')
      const truth = core.predicate(index, predicate.state === undefined ? instance!.sequence : 0, now_ms)
      if (truth === undefined) throw new Error('unknown, stale or not finite')
      return truth
    }
    return [predicate.name, { parameters: [], test }]
  })
  return {
    events: ['state_change', 'before_action', 'after_action', 'agent_finish'] as const,
    actions: catalog.types.map(({ name }) => name),
    predicates: { ...host, ...Object.fromEntries(ofCatalog) },
    invocable: INVOCABLE,
    settings: [],
    state: {},
    payload: {},
    gate: true,
  }
}

/** Skipping, asking and examining need a component at the gate. */
function misplaced(rule: Rule, catalog: Catalog) {
  const gate = new Set(['before_action', ...catalog.types.map(({ name }) => name)])
  const elsewhere = rule.triggers.find(({ event }) => !gate.has(event))?.event
  if (elsewhere === undefined) return []
  return rule.enforcements.flatMap(({ kind, at }) =>
    WITHOUT_COMPONENT.has(kind)
      ? []
      : [{ ...at, message: `\`${kind}\` needs a component at the gate, and \`${elsewhere}\` has none` }],
  )
}

/** A predicate over a payload can only be asked of the types that have it. */
function unreadable(rule: Rule, catalog: Catalog) {
  return rule.check.flat().flatMap((literal) => {
    const predicate = literal.kind === 'predicate' && catalog.predicates.find(({ name }) => name === literal.name)
    if (!predicate || predicate.state !== undefined) return []
    const having = [...predicate.types.keys()].map((type) => catalog.types[type]!.name)
    const without = rule.triggers.find(({ event }) => !having.includes(event))?.event
    if (without === undefined) return []
    const message = `\`${predicate.name}\` reads a payload that ${having.join(', ')} have: trigger on those, not on \`${without}\``
    return [{ ...literal.at, message }]
  })
}
