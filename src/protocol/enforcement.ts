// What the rules say, carried out: at the gate, and on what happens beside it (PROTOCOL 13).

import { Phase, Reason } from '../../build/abi.ts'
import type { Flight } from './flight.ts'
import type { Ledger } from './ledger.ts'
import type { Instance, Plan } from './plan.ts'
import type { Policy, Ruling } from './policy.ts'
import type { Publisher } from './publisher.ts'

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
      case 'user_inspection': {
        const answer = this.#flight.consents.inspect(instance, ruling.rules)
        if (answer === true) return this.#carryOut(instance, ruling, now_ms)
        if (answer === undefined) this.#dispatch.defer(instance, Reason.approval_pending, named(ruling), now_ms)
        else this.#stop(instance, ruling, now_ms)
        return false
      }
      case 'llm_self_examine':
      case 'skip':
        this.#tell(instance, ruling)
        this.#ledger.lose(instance, Phase.blocked, Reason.rule, named(ruling), now_ms, ruling.examine)
        break
      case 'stop':
        this.#stop(instance, ruling, now_ms)
        break
    }
    this.#dispatch.replace(ruling, now_ms)
    return false
  }

  /** An event without a component at the gate; `plan` is the one that it is about, if it is about one. */
  happened(name: 'state_change' | 'after_action' | 'agent_finish', plan: Plan | undefined, now_ms: number): void {
    const ruling = this.#policy.after(this.#flight.core, name, now_ms)
    if (ruling.rules.length === 0) return
    this.#tell(undefined, ruling)
    if (ruling.outcome === 'stop') {
      for (const each of plan === undefined ? this.#ledger.plans : [plan]) this.#dispatch.supersede(each, now_ms)
    }
    this.#dispatch.replace(ruling, now_ms)
  }

  /** Plans that have nothing live left: the agent's run is over. */
  judgeFinished(now_ms: number): void {
    for (const plan of this.#ledger.finished()) this.happened('agent_finish', plan, now_ms)
  }

  /** The component is denied, and its plan ends. */
  #stop(instance: Instance, ruling: Ruling, now_ms: number): void {
    this.#tell(instance, ruling)
    this.#ledger.end(instance, Phase.blocked, Reason.rule, named(ruling))
    if (!instance.plan.over) this.#dispatch.supersede(instance.plan, now_ms)
  }

  /** The component goes on; what is invoked because of it comes before it, once, and holds what it holds. */
  #carryOut(instance: Instance, ruling: Ruling, now_ms: number): boolean {
    const carried = this.#carried.get(instance) ?? new Set()
    this.#carried.set(instance, carried)
    if (ruling.rules.every((rule) => carried.has(rule))) return true
    for (const rule of ruling.rules) carried.add(rule)
    this.#tell(instance, ruling)
    this.#dispatch.replace(ruling, now_ms)
    return ruling.invoke.length === 0
  }

  #tell(instance: Instance | undefined, ruling: Ruling): void {
    const { rules, faults, outcome } = ruling
    const text = `${outcome} by ${named(ruling)}`
    this.#publisher.notice(instance, { kind: 'rule', severity: 'warning', text, rules, faults })
  }
}

/** As an outcome's detail names them. */
export const named = ({ rules }: Ruling): string => rules.map((id) => `@${id}`).join(' ')
