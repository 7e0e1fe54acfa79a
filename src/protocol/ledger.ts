// What becomes of instances: their phases, their losses, and when the core may forget them (PROTOCOL 3, 7, 9). The tokens
// themselves are in the core.

import { Kind, Phase, Reason, ReasonWords } from '../../build/abi.ts'
import type { Core } from '../core/core.ts'
import { ATTEMPTS_MAX } from './agent.ts'
import type { Control } from './control.ts'
import type { Member } from './obligation.ts'
import { type Instance, idOf, isLive, type Plan } from './plan.ts'
import type { Publisher } from './publisher.ts'
import type { Session } from './session.ts'
import { conditionText, detailWords, footprint, phaseWord } from './verdict.ts'

export class Ledger {
  /** Retained and not crossed, by sequence and in its order. */
  readonly waiting = new Map<number, Instance>()
  /** Counts phases and ends: while it stands still, nobody's prerequisites change. */
  progress = 0
  readonly #session: Session
  readonly #core: Core
  readonly #control: Control
  readonly #publisher: Publisher
  /** Superseded plans that the core has not forgotten yet. */
  readonly #retired = new Set<Plan>()
  /** Something ended, or was replaced, since the core was last told what to forget. */
  #ended = false

  constructor(session: Session, control: Control, publisher: Publisher) {
    this.#session = session
    this.#core = session.core
    this.#control = control
    this.#publisher = publisher
  }

  reach(instance: Instance, phase: Phase): void {
    // The core first: if it traps, the instance still has its last word to come.
    this.#core.reach(instance.sequence, phase)
    this.progress++
    this.waiting.delete(instance.sequence)
    instance.phase = phase
    this.#publisher.outcome(instance, Reason.none, undefined)
  }

  end(instance: Instance, phase: Phase, reason: Reason, detail: number | string | undefined): void {
    this.#core.end(instance.sequence, phase)
    if (instance.phase === Phase.retained) this.#control.intents.settle(instance) // it has not left
    this.progress++
    this.waiting.delete(instance.sequence)
    this.#ended = true
    instance.phase = phase
    this.#publisher.outcome(instance, reason, detail)
  }

  /** Another has taken the place of a completed instance: nothing asks for that one any more but what rests on it. */
  replaced(): void {
    this.#ended = true
  }

  /** Everything that is retained or crossed, and not ended. */
  get live(): Instance[] {
    return [...this.plans, ...this.#retired].flatMap((plan) => [...plan.instances].filter(isLive))
  }

  /** Nothing of a released notice or report is still to come: its token closes. */
  close(instance: Instance): void {
    this.#core.end(instance.sequence, Phase.completed)
  }

  /** An uncrossed instance may not cross any more, without an obligation of its own. */
  block(instance: Instance, reason: Reason, cause: string | undefined): void {
    this.end(instance, Phase.blocked, reason, cause)
  }

  /** A person said no: the request fails, what rests on it is withdrawn, and no obligation opens (PROTOCOL 9, 10). */
  refuse(request: Instance): void {
    this.end(request, Phase.failed, Reason.consent_refused, undefined)
    for (const dependent of request.plan.uncrossedDependents(request)) {
      this.block(dependent, Reason.prerequisite_failed, request.id)
    }
  }

  /** A denial, a failure or an expiry: opens an obligation and withdraws the uncrossed dependents into it. */
  lose(
    instance: Instance,
    phase: Phase,
    reason: Reason,
    detail: number | string | undefined,
    now_ms: number,
    condition?: string,
  ): void {
    const { plan, id } = instance
    const about = { agent: plan.speaker.agent.name, plan: plan.name, component: id }
    this.#publisher.log('warn', 'component lost', { ...about, phase: phaseWord(phase), reason: ReasonWords[reason] })
    this.end(instance, phase, reason, detail)
    const dependents = plan.uncrossedDependents(instance)
    for (const dependent of dependents) this.block(dependent, Reason.prerequisite_failed, id)
    if (!plan.over) this.oblige(plan, instance, reason, detail, dependents, now_ms, condition)
  }

  /** Opens an obligation, or updates the component's own. Returns its name. */
  oblige(
    plan: Plan,
    lost: Member & { readonly generation: number },
    reason: Reason,
    detail: number | string | undefined,
    dependents: readonly Member[],
    now_ms: number,
    condition?: string,
  ): string {
    const { catalog } = this.#publisher
    const type = catalog.types[lost.type]!
    // Nothing that an agent says brings this back before a person has spoken.
    const needsOperator = plan.speaker.attempts(lost.type) >= ATTEMPTS_MAX || this.#control.intents.concern(type.name)
    const listed = [...plan.members.values()].filter((m) => type.scope.includes(m.type) && m.phase === Phase.retained)
    const loss = {
      id: lost.id,
      type: lost.type,
      generation: lost.generation,
      reason,
      detail: detailWords(catalog, type, reason, detail, (sequence) => idOf(plan, sequence)),
      condition: condition ?? conditionText(catalog, type, reason, detail),
      footprint: footprint(catalog, this.#core, type.footprint.now, now_ms),
      scope: [...dependents, ...listed],
      route: needsOperator ? ('operator' as const) : ('agent' as const),
    }
    return plan.obligations.lose(loss, this.#session.newest, now_ms, this.#publisher.wall())
  }

  /** The live plans of the session. */
  get plans(): Plan[] {
    return this.#session.plans
  }

  /** Live plans of which no component is live any more, each once. */
  finished(): Plan[] {
    const finished = this.plans.filter((plan) => !plan.finished && ![...plan.instances].some(isLive))
    for (const plan of finished) plan.finished = true
    return finished
  }

  /** The plan is over: the core forgets what of it is not under way any more. */
  retire(plan: Plan): void {
    this.#retired.add(plan)
    this.#forget(plan)
  }

  /** What waited too long, and what the core need not remember any more. */
  tidy(now_ms: number): void {
    for (const plan of this.plans) {
      plan.obligations.expire(now_ms)
      this.#expireRequests(plan, now_ms)
      if (this.#ended) this.#forget(plan)
    }
    this.#ended = false
    for (const plan of this.#retired) {
      this.#forget(plan)
      if (plan.instances.size === 0) this.#retired.delete(plan)
    }
  }

  #forget(plan: Plan): void {
    for (const { sequence } of plan.prune()) this.#core.release(sequence)
  }

  /** A request expires after its `wait`, or once nothing uncrossed requires it any more (PROTOCOL 10). */
  #expireRequests(plan: Plan, now_ms: number): void {
    for (const request of plan.instances) {
      if (request.is.kind !== Kind.request || request.phase !== Phase.released) continue
      const dependents = [...plan.instances].filter((i) => i.prerequisites.includes(request))
      if (now_ms - request.admitted_ms > request.is.wait_ms) {
        this.lose(request, Phase.expired, Reason.expired, undefined, now_ms)
      } else if (dependents.length > 0 && dependents.every((i) => i.phase !== Phase.retained)) {
        this.end(request, Phase.expired, Reason.expired, undefined)
      }
    }
  }
}
