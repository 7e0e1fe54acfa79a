// What becomes of instances: their phases, their losses, and when the core may forget them (PROTOCOL 3, 7, 9). The tokens
// themselves are in the core.

import { Kind, Phase, Reason, ReasonWords } from '../../../build/abi.ts'
import { phaseWord } from '../../catalog/published.ts'
import type { Core } from '../../core/core.ts'
import type { Control } from '../operator/control.ts'
import type { Session } from '../session.ts'
import { ATTEMPTS_MAX } from './agent.ts'
import type { Grounds } from './grounds.ts'
import { clipped } from './message.ts'
import type { Member } from './obligation.ts'
import { type Instance, idOf, isCompleted, isLive, type Plan, phaseNeeded } from './plan.ts'
import type { Publisher } from './publisher.ts'
import { Waiting } from './waiting.ts'
import { conditionText, detailWords, footprint } from './wording.ts'

/** Footprints as they are judged now, by type: many losses of one response have the same. */
export type Footprints = Map<number, ReturnType<typeof footprint>>

/** Why something is lost: the reason, its detail, and the text of the clause that failed. */
export interface Grounded {
  readonly reason: Reason
  readonly words: string | undefined
  readonly condition: string | undefined
}

/** Of the text of a condition, in an obligation. */
const CONDITION_BYTES_MAX = 1024

export class Ledger {
  /** Retained and not crossed. */
  readonly waiting = new Waiting()
  readonly grounds: Grounds
  readonly #session: Session
  readonly #core: Core
  readonly #control: Control
  readonly #publisher: Publisher
  /** Superseded plans that the core has not forgotten yet. */
  readonly #retired = new Set<Plan>()
  /** Ended, or replaced, since the core was last told what to forget. */
  #ended: Instance[] = []
  /** Requests that a person may still answer. */
  readonly #requests = new Set<Instance>()
  /** Something reached a phase or ended since they were looked at. */
  #moved = false

  constructor(session: Session, control: Control, publisher: Publisher, grounds: Grounds) {
    this.grounds = grounds
    this.#session = session
    this.#core = session.core
    this.#control = control
    this.#publisher = publisher
  }

  reach(instance: Instance, phase: Phase): void {
    // The core first: if it traps, the instance still has its last word to come.
    this.#core.reach(instance.sequence, phase)
    this.#move(instance, phase)
    if (instance.is.kind === Kind.request && phase === Phase.released) this.#requests.add(instance)
    if (isCompleted(instance)) instance.plan.ended(instance, Reason.none, undefined)
    this.#publisher.outcome(instance, Reason.none, undefined)
  }

  end(instance: Instance, phase: Phase, reason: Reason, detail: number | string | undefined, opensNone = false): void {
    this.#core.end(instance.sequence, phase)
    if (instance.phase === Phase.retained) this.#control.intents.settle(instance) // it has not left
    this.#move(instance, phase)
    this.#requests.delete(instance)
    this.#ended.push(instance)
    const words = this.#publisher.outcome(instance, reason, detail, opensNone)
    instance.plan.ended(instance, reason, words)
  }

  /** Whoever waits for this phase and for nothing else is asked again; each prerequisite is looked at once a phase. */
  #move(instance: Instance, phase: Phase): void {
    this.waiting.unpark(instance)
    const { phase: before, plan, is } = instance
    const wasLive = isLive(instance)
    instance.phase = phase
    this.#moved = true
    if (wasLive && !isLive(instance)) plan.live--
    if (plan.over) return // nothing of it waits for anything any more
    for (const dependent of instance.dependents) {
      if (dependent.phase !== Phase.retained) continue
      const needed = phaseNeeded(dependent, instance)
      const met = before < needed && phase >= needed && --dependent.unmet === 0
      // A request asks for what came with it: who came later is told as soon as it has asked.
      const uncovered = is.kind === Kind.request && dependent.generation !== instance.generation
      if (met || uncovered) this.waiting.wake(dependent)
    }
  }

  /** Another has taken the place of a completed instance: nothing asks for that one any more but what rests on it. */
  replaced(old: Instance): void {
    this.#ended.push(old)
  }

  /** Everything that is retained or crossed, and not ended. */
  get live(): Instance[] {
    return [...this.plans, ...this.#retired].flatMap((plan) => [...plan.instances.values()].filter(isLive))
  }

  /** Nothing of a released notice or report is still to come: its token closes. */
  close(instance: Instance): void {
    this.#core.end(instance.sequence, Phase.completed)
    this.#ended.push(instance)
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
    const { plan, id, is } = instance
    const { catalog } = this.#publisher
    const nameOf = (sequence: number): string | undefined => idOf(plan, sequence)
    const grounds = (clause: number): string | undefined =>
      this.grounds.of(instance.type, clause, this.#core.payload(instance.sequence), now_ms)
    const words = detailWords(catalog, is, reason, detail, nameOf, grounds)
    const text = condition ?? conditionText(catalog, is, reason, detail)
    const about = { agent: plan.speaker.agent.name, plan: plan.name, component: id, generation: instance.generation }
    const why = { phase: phaseWord(phase), reason: ReasonWords[reason], detail: words }
    this.#publisher.log('warn', 'component lost', { ...about, ...why })
    this.end(instance, phase, reason, words, !plan.over && !plan.obligations.hasRoom(id))
    const dependents = plan.uncrossedDependents(instance)
    for (const dependent of dependents) this.block(dependent, Reason.prerequisite_failed, id)
    if (!plan.over) this.oblige(plan, instance, { reason, words, condition: text }, dependents, now_ms)
  }

  /** Opens an obligation, or updates the component's own. Returns its name; undefined where the agent has too many open. */
  oblige(
    plan: Plan,
    lost: Member & { readonly generation: number },
    { reason, words, condition }: Grounded,
    dependents: readonly Member[],
    now_ms: number,
    footprints: Footprints = new Map(),
  ): string | undefined {
    if (!plan.obligations.hasRoom(lost.id)) return undefined
    const { catalog } = this.#publisher
    const type = catalog.types[lost.type]!
    const seen = footprints.get(lost.type) ?? footprint(catalog, this.#core, type.footprint.now, now_ms)
    footprints.set(lost.type, seen)
    // Nothing that an agent says brings this back before a person has spoken.
    const needsOperator =
      reason === Reason.paused ||
      reason === Reason.pilot_control ||
      plan.speaker.attempts(lost.type) >= ATTEMPTS_MAX ||
      this.#control.intents.concern(type.name)
    const listed =
      type.scope.length === 0
        ? []
        : [...plan.members.values()].filter((m) => m.phase === Phase.retained && type.scope.includes(m.type))
    const loss = {
      id: lost.id,
      type: lost.type,
      generation: lost.generation,
      reason,
      detail: words === undefined ? undefined : clipped(words),
      condition: condition === undefined ? undefined : clipped(condition, CONDITION_BYTES_MAX),
      footprint: seen,
      scope: [...dependents, ...listed],
      route: needsOperator ? ('operator' as const) : ('agent' as const),
    }
    return plan.obligations.lose(loss, this.#session.newest, now_ms, this.#publisher.wall())
  }

  /** The live plans of the session. */
  get plans(): Plan[] {
    return this.#session.plans
  }

  /** Tells each plan of which no component is live any more that it has ended, once. Those that a recovery may begin again. */
  finished(): Plan[] {
    const finished: Plan[] = []
    for (const { plan } of this.#session.speakers.values()) {
      if (plan !== undefined && !plan.over && this.#finish(plan)) finished.push(plan)
    }
    for (const plan of this.#retired) this.#finish(plan)
    return finished
  }

  #finish(plan: Plan): boolean {
    if (plan.finished || plan.live > 0) return false
    plan.finished = true
    this.#publisher.end(plan)
    return true
  }

  /** The plan is over: nothing more of it crosses, and its obligations close. */
  retire(plan: Plan, why: 'superseded' | 'ended'): void {
    plan.obligations.closeAll(why)
    plan.over = true
    plan.why = Reason[why]
    this.#retired.add(plan)
  }

  /** Every plan that has not been told to be over is told so: its session is. */
  endSession(): void {
    for (const plan of [...this.plans, ...this.#retired]) {
      if (plan.finished) continue
      plan.finished = true
      if (!plan.over) plan.why = Reason.session_changed
      this.#publisher.end(plan)
    }
  }

  /** The core forgets what of a plan that is over is not under way any more. */
  forget(plan: Plan): void {
    this.#forget([...plan.instances.values()])
  }

  /** Completed ones that give way to what comes: the core forgets them, and nobody may name them any more. */
  drop(spare: readonly Instance[]): void {
    for (const instance of spare) {
      instance.plan.remove(instance)
      this.#core.release(instance.sequence)
    }
  }

  /** What waited too long, and what the core need not remember any more. */
  tidy(now_ms: number): void {
    for (const { obligations } of this.plans) obligations.expire(now_ms)
    this.#expireRequests(now_ms)
    this.#forget(this.#ended)
    this.#ended = []
    for (const plan of this.plans) plan.dropOldestSettled()
    for (const plan of this.#retired) if (plan.instances.size === 0) this.#retired.delete(plan)
  }

  /** Of these what is done and what nothing that stays rests on, and then what they rested on. */
  #forget(instances: readonly Instance[]): void {
    const gone = [...instances]
    for (const i of gone) {
      const { plan } = i
      if (i.resting > 0 || !plan.instances.has(i.sequence) || !plan.isDone(i)) continue
      const { prerequisites } = i
      plan.remove(i)
      this.#core.release(i.sequence)
      for (const p of prerequisites) if (p.resting === 0) gone.push(p) // walked in their turn
    }
  }

  /** A request expires after its `wait`, or once nothing uncrossed requires it any more (PROTOCOL 10). */
  #expireRequests(now_ms: number): void {
    const moved = this.#moved
    this.#moved = false
    for (const request of this.#requests) {
      const { dependents, resting, admitted_ms, is } = request
      if (now_ms - admitted_ms > is.wait_ms) this.lose(request, Phase.expired, Reason.expired, undefined, now_ms)
      else if (moved && resting > 0 && !dependents.some(({ phase }) => phase === Phase.retained)) {
        this.end(request, Phase.expired, Reason.expired, undefined)
      }
    }
  }
}
