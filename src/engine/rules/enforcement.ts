// What the rules say, carried out: at the gate, and on what happens beside it (PROTOCOL 13).

import { Phase, Reason } from '../../../build/abi.ts'
import type { Flight } from '../dispatch/flight.ts'
import type { Ledger } from '../plan/lifecycle.ts'
import type { Instance, Plan } from '../plan/plan.ts'
import type { Publisher } from '../plan/publisher.ts'
import type { Policy, Ruling } from './policy.ts'

/** What a rule can bring about on the vehicle and in the plans. */
export interface Enforced {
  defer(instance: Instance, reason: Reason, detail: string, now_ms: number): void
  supersede(plan: Plan, now_ms: number): void
  /** Contingencies take the place of everything under way. */
  replace(ruling: Ruling, now_ms: number): void
}

export class Enforcement {
  readonly #policy: Policy
  readonly #flight: Flight
  readonly #ledger: Ledger
  readonly #publisher: Publisher
  readonly #dispatch: Enforced
  /** What holds a component for a person. */
  readonly #held = new WeakMap<Instance, Ruling>()
  /** Rules that the last discrete change violated, and whether that was known. */
  #stands: ReadonlyMap<string, boolean> = new Map()
  /** Rules that have already been carried out because of a component that they let on: once each. */
  readonly #carried = new WeakMap<Instance, Set<string>>()

  constructor(policy: Policy, flight: Flight, ledger: Ledger, publisher: Publisher, dispatch: Enforced) {
    this.#policy = policy
    this.#flight = flight
    this.#ledger = ledger
    this.#publisher = publisher
    this.#dispatch = dispatch
  }

  /** Asked about a component that the core would let across now; false where it does not go on in this step. */
  mayCross(instance: Instance, now_ms: number): boolean {
    const ruling = this.#policy.atGate(this.#flight.core, instance, now_ms)
    if (ruling.rules.length === 0) return true
    switch (ruling.outcome) {
      case 'none':
      case 'invoke_action':
        return this.#carryOut(instance, ruling, now_ms)
      case 'user_inspection':
        if (!this.#flight.consents.inspect(instance, ruling.rules)) {
          this.#held.set(instance, ruling)
          this.#dispatch.defer(instance, Reason.approval_pending, named(ruling), now_ms)
          return false
        }
        if (ruling.examine === undefined) return this.#carryOut(instance, ruling, now_ms)
        // A person's yes answers the rules that ask a person, and not those that ask the model.
        this.#deny(instance, { ...ruling, outcome: 'llm_self_examine' }, now_ms)
        return false
      case 'llm_self_examine':
      case 'skip':
        this.#deny(instance, ruling, now_ms)
        return false
      case 'stop':
        this.#stop(instance, ruling, Reason.rule, now_ms)
        return false
    }
  }

  /** A person said no to what rules hold. It ends now, whatever the rules would say of it later. */
  refuse(instance: Instance, now_ms: number): void {
    this.#stop(instance, { ...this.#held.get(instance)!, outcome: 'stop' }, Reason.consent_refused, now_ms)
  }

  /** An event without a component at the gate; `plan` is the one that it is about, if it is about one. */
  happened(name: 'state_change' | 'after_action' | 'agent_finish', plan: Plan | undefined, now_ms: number): void {
    const ruling = this.#policy.after(this.#flight.core, name, now_ms)
    const stands = name === 'state_change' ? this.#stands : new Map<string, boolean>()
    // What cannot be known stops agents, and moves nothing; what goes on being violated moves the vehicle once.
    const isKnown = (rule: string): boolean => !ruling.unknown.includes(rule)
    const invoke = ruling.invoke.filter(({ rule }) => isKnown(rule) && stands.get(rule) !== true)
    const isNew = ruling.rules.some((rule) => stands.get(rule) !== isKnown(rule))
    if (name === 'state_change') this.#stands = new Map(ruling.rules.map((rule) => [rule, isKnown(rule)]))
    if (isNew) this.#tell(undefined, ruling)
    if (ruling.outcome === 'stop') {
      for (const each of plan === undefined ? this.#ledger.plans : [plan]) this.#dispatch.supersede(each, now_ms)
    }
    this.#dispatch.replace({ ...ruling, invoke }, now_ms)
  }

  /** These have nothing live left: the agent's run is over. */
  judgeFinished(plans: readonly Plan[], now_ms: number): void {
    for (const plan of plans) this.happened('agent_finish', plan, now_ms)
  }

  /** The component is denied; a fresh candidate may take its place. */
  #deny(instance: Instance, ruling: Ruling, now_ms: number): void {
    this.#tell(instance, ruling)
    this.#ledger.lose(instance, Phase.blocked, Reason.rule, named(ruling), now_ms, ruling.examine)
    this.#dispatch.replace(ruling, now_ms)
  }

  /** The component is denied, and its plan ends. */
  #stop(instance: Instance, ruling: Ruling, reason: Reason, now_ms: number): void {
    this.#tell(instance, ruling)
    this.#ledger.end(instance, Phase.blocked, reason, named(ruling))
    if (!instance.plan.over) this.#dispatch.supersede(instance.plan, now_ms)
    this.#dispatch.replace(ruling, now_ms)
  }

  /** The component goes on; what is invoked because of it comes before it, once, and holds what it holds. */
  #carryOut(instance: Instance, ruling: Ruling, now_ms: number): boolean {
    const carried = this.#carried.get(instance) ?? new Set()
    this.#carried.set(instance, carried)
    if (ruling.rules.every((rule) => carried.has(rule))) return true
    const invoke = ruling.invoke.filter(({ rule }) => !carried.has(rule))
    for (const rule of ruling.rules) carried.add(rule)
    this.#tell(instance, ruling)
    this.#dispatch.replace({ ...ruling, invoke }, now_ms)
    return invoke.length === 0
  }

  #tell(instance: Instance | undefined, ruling: Ruling): void {
    const { rules, faults, outcome } = ruling
    const text = `${outcome} by ${named(ruling)}`
    this.#publisher.notice(instance, { kind: 'rule', severity: 'warning', text, rules, faults })
  }
}

/** As an outcome's detail names them. */
export const named = ({ rules }: Ruling): string => rules.map((id) => `@${id}`).join(' ')
