// The final dispatch gate and what crosses it: offers, leases under way, and how each ends (PROTOCOL 7 and 8). The order in
// which these are asked within a step stands in `runtime.ts`.

import { Kind, Phase, Reason } from '../../../build/abi.ts'
import type { ContingencyName } from '../../autopilot/profile.ts'
import type { ComponentType, Effect, Lease as LeaseEffect } from '../../catalog/catalog.ts'
import { kindWord } from '../../catalog/published.ts'
import { Barrier, type CoreFrame, type Gate } from '../../core/core.ts'
import type { ReportedTarget } from '../../telemetry/report.ts'
import type { Consent } from '../operator/consent.ts'
import type { Control } from '../operator/control.ts'
import type { Speaker } from '../plan/agent.ts'
import type { Ledger } from '../plan/lifecycle.ts'
import { type Instance, isAction, isLive, movesVehicle, type Plan } from '../plan/plan.ts'
import type { Publisher } from '../plan/publisher.ts'
import { isWaiting } from '../plan/waiting.ts'
import { footprint, payloadByName } from '../plan/wording.ts'
import { type Enforced, Enforcement, named } from '../rules/enforcement.ts'
import type { Ruling } from '../rules/policy.ts'
import { isHere, isOurs } from '../vehicle/target.ts'
import { type Aftermath, type Owed, resourcesOf } from './aftermath.ts'
import { type Flight, stamp } from './flight.ts'
import { CommandLease, type Ending, type Lease, needsControl, type SetpointEffect, SetpointLease } from './lease.ts'

export class Dispatch implements Enforced {
  /** Rules, where there are any. */
  readonly enforcement: Enforcement | undefined
  readonly #flight: Flight
  readonly #control: Control
  readonly #ledger: Ledger
  readonly #aftermath: Aftermath
  readonly #publisher: Publisher
  /** Under way, by sequence and in its order. */
  readonly #leases = new Map<number, Lease>()
  /** Waiting until the disk has their intent, and how often it had answered when they were last looked at. */
  readonly #intending = new Set<Instance>()
  #answers = 0

  constructor(flight: Flight, control: Control, ledger: Ledger, aftermath: Aftermath, publisher: Publisher) {
    this.#flight = flight
    this.#control = control
    this.#ledger = ledger
    this.#aftermath = aftermath
    this.#publisher = publisher
    const { policy } = flight
    this.enforcement = policy && new Enforcement(policy, flight, ledger, publisher, this)
  }

  get leases(): readonly Lease[] {
    return [...this.#leases.values()]
  }

  /** Every lease: session, pause; `within`; `done`; then the frame's checks, and the frame if it is due. */
  judgeLeases(now_ms: number): void {
    for (const lease of this.leases) {
      // A handoff that completes ends the others.
      if (!this.#leases.has(lease.instance.sequence)) continue
      const ended = this.#judge(lease, now_ms)
      if (ended !== undefined) this.#end(lease, ended, now_ms)
    }
  }

  #judge(lease: Lease, now_ms: number): Ending | undefined {
    const { instance } = lease
    // One report of the mode may be an old one: it ends nothing.
    if (this.#flight.takeover.doubted) return lease.hold(now_ms)
    if (this.#control.paused) return failed(Reason.paused)
    if (lease.elapsed_ms(now_ms) >= lease.effect.within_ms) return failed(Reason.time_exceeded)
    if (lease.isDone(now_ms)) return { phase: Phase.completed, reason: Reason.none, detail: undefined }
    const ended = lease.advance(this.#identityBarriers(instance), now_ms)
    if (ended === undefined) this.#acknowledge(lease)
    const silent = ended && this.#flight.silence.explains(ended.reason, ended.detail, now_ms)
    return silent === undefined ? ended : { ...ended!, reason: Reason.link_lost, detail: silent }
  }

  /** A command's frames are all confirmed. */
  #acknowledge({ instance, isConfirmed }: Lease): void {
    if (!isConfirmed || instance.is.kind !== Kind.command || instance.phase !== Phase.dispatched) return
    this.#control.intents.settle(instance)
    this.#ledger.reach(instance, Phase.acknowledged)
  }

  /**
   * Every retained component that may have another answer than before, in order of sequence; then what was woken behind, until
   * nothing more crosses.
   */
  offerAll(now_ms: number): void {
    const { waiting } = this.#ledger
    this.#wakeIntending()
    waiting.wakeAnswerable(
      {
        speaksAgainst: ({ plan, is, fence }) => {
          const fenced = is.uses !== undefined && this.#aftermath.resources.fenceOf(is.uses) !== fence
          return plan.over || fenced || this.#identityBarriers({ plan, is }) !== 0
        },
        isBusy: (queue) => this.#isBusy(queue, now_ms),
        isUsable: (field) =>
          field === MODE
            ? !this.#flight.takeover.doubted && !this.#flight.takeover.awaitsMode(now_ms)
            : this.#flight.core.read(field, now_ms).validity === 'usable',
      },
      now_ms,
    )
    for (let instance = waiting.next(); instance !== undefined; instance = waiting.next()) {
      this.#offer(instance, now_ms)
      if (isWaiting(instance) && instance.parked === undefined) waiting.later(instance)
    }
  }

  #offer(instance: Instance, now_ms: number): void {
    const { uses } = instance.is
    if (uses !== undefined && this.#aftermath.resources.isFenced(uses, instance.snapshot)) {
      return this.#ledger.lose(instance, Phase.blocked, Reason.evidence_stale, undefined, now_ms)
    }
    const { consents } = this.#flight
    if (!consents.covers(instance)) {
      // G2: no consent is inherited by an instance that nobody was shown.
      return this.#ledger.lose(instance, Phase.blocked, Reason.prerequisite_failed, 'consent', now_ms)
    }
    const own = this.#ownBarriers(instance, now_ms)
    const effect = this.#effectBarriers(instance, now_ms)
    // Whoever takes what many wait for leaves the others as they were: the core would say the same.
    if (instance.rests && own === 0 && (effect & Barrier.resource_busy) !== 0) {
      return this.defer(instance, Reason.resource_busy, -1, now_ms)
    }
    const verdict = this.#gate(instance, own | effect, now_ms)
    if (verdict === undefined) return
    if (verdict.decision === 'allow') return this.#cross(instance, verdict.frame, now_ms)
    const { reason } = verdict
    const unfit = this.#preflightProblem(instance, reason)
    const silent = unfit === undefined ? this.#flight.silence.explains(reason, verdict.detail, now_ms) : undefined
    const detail = unfit ?? verdict.detail
    if (verdict.decision === 'defer') this.defer(instance, reason, detail, now_ms)
    else if (reason === Reason.superseded) this.#ledger.end(instance, Phase.superseded, reason, undefined)
    else if (silent !== undefined) this.#ledger.lose(instance, Phase.blocked, Reason.link_lost, silent, now_ms)
    else this.#ledger.lose(instance, reason === Reason.expired ? Phase.expired : Phase.blocked, reason, detail, now_ms)
  }

  /** What the autopilot's parameters have against a setpoint is told in words, for whoever can set them. */
  #preflightProblem({ is }: Instance, reason: Reason): string | undefined {
    const guarded = reason === Reason.not_in_control && is.kind === Kind.setpoint
    return guarded ? this.#flight.preflight() : undefined
  }

  /**
   * The core's verdict. Rules are asked about what it would allow, and it is asked again behind them (PROTOCOL 13). An
   * irreversible intent is on the disk first; that takes its time, so the gate is asked when it is there, as late as ever.
   */
  #gate(instance: Instance, barriers: number, now_ms: number): Verdict | undefined {
    const { core, takeover } = this.#flight
    const { intents } = this.#control
    const { is, plan, sequence } = instance
    const awaited = takeover.doubted ? movesVehicle(is.kind) : takeover.awaitsMode(now_ms) && isGuarded(instance)
    if (awaited) return this.#awaitMode(instance, barriers, now_ms)
    if (intents.isRefused(instance)) {
      const denied = core.gate(sequence, barriers | Barrier.uncertain_outcome, now_ms, stamp(now_ms))
      return denied.decision === 'allow' ? denied : { ...denied, detail: 'the journal cannot be written' }
    }
    const intends = isIrreversible(instance) && !intents.isDurable(instance)
    const waits = intents.isOpen(instance) && intends
    if (this.enforcement !== undefined || intends) {
      const rehearsed = core.rehearse(sequence, barriers, now_ms)
      if (rehearsed.decision !== 'allow') return rehearsed
      if (!waits && this.enforcement?.mayCross(instance, now_ms) === false) return undefined
    }
    if (!intends) return core.gate(sequence, barriers, now_ms, stamp(now_ms))
    if (!waits) {
      const payload = payloadByName(is, core.payload(sequence))
      intents.open(instance, { agent: plan.speaker.agent.name, type: is.name, payload })
    }
    this.#intending.add(instance)
    this.#ledger.waiting.park(instance, 'held', this.#fenceOf(instance), instance.admitted_ms + is.wait_ms)
    return undefined
  }

  /** The mode is to be heard first: what comes before the world in the gate's order decides, and everything else waits. */
  #awaitMode({ sequence }: Instance, barriers: number, now_ms: number): Verdict {
    const busy = (barriers & Barrier.resource_busy) !== 0
    const verdict = this.#flight.core.rehearse(sequence, barriers | Barrier.resource_busy, now_ms)
    if (busy || verdict.decision === 'allow' || verdict.reason !== Reason.resource_busy) return verdict
    return { decision: 'defer', reason: Reason.state_awaited, detail: 'mode' }
  }

  defer(instance: Instance, reason: Reason, detail: number | string, now_ms: number): void {
    // Time counts against `expires` only while nothing but the world holds it back.
    if (reason === Reason.state_awaited) {
      instance.readySince_ms ??= now_ms
      if (typeof detail === 'number') instance.awaited_ms ??= now_ms
    } else if (instance.readySince_ms !== undefined) {
      instance.ready_ms += now_ms - instance.readySince_ms
      instance.readySince_ms = undefined
    }
    this.#park(instance, reason, detail, now_ms)
    if (instance.deferred) return
    instance.deferred = true
    this.#publisher.outcome(instance, reason, detail)
  }

  /** Not asked again before something that decides about it has changed. What is held by something else is. */
  #park(instance: Instance, reason: Reason, detail: number | string, now_ms: number): void {
    const { is, admitted_ms, ready_ms, readySince_ms, awaited_ms } = instance
    const { waiting } = this.#ledger
    const fence = this.#fenceOf(instance)
    const due_ms = admitted_ms + is.wait_ms
    switch (reason) {
      case Reason.resource_busy:
        instance.rests = true
        if (this.#isBusy(instance, now_ms)) waiting.park(instance, 'busy', fence, due_ms)
        return
      case Reason.state_awaited: {
        instance.rests = true
        const over_ms = readySince_ms! + is.expires_ms - ready_ms
        // Patience is for fields: whoever waits for the mode behind a stall waits for it alone.
        const isField = typeof detail === 'number'
        const impatient_ms = isField ? awaited_ms! + is.patience_ms - 1 : Number.POSITIVE_INFINITY
        return waiting.park(
          instance,
          'awaiting',
          fence,
          Math.min(due_ms, over_ms, impatient_ms),
          isField ? detail : MODE,
        )
      }
      default:
        if (typeof detail === 'string') return waiting.park(instance, 'held', fence, due_ms)
        if (instance.unmet > 0) waiting.park(instance, 'others', fence, due_ms)
    }
  }

  #fenceOf({ is }: Instance): number {
    return is.uses === undefined ? 0 : this.#aftermath.resources.fenceOf(is.uses)
  }

  /** The disk has answered: those whose intent it has, or does not take, are asked again. */
  #wakeIntending(): void {
    const { intents } = this.#control
    if (this.#answers === intents.answers) return
    this.#answers = intents.answers
    for (const instance of this.#intending) {
      if (isWaiting(instance) && !intents.isDurable(instance) && !intents.isRefused(instance)) continue
      this.#intending.delete(instance)
      this.#ledger.waiting.wake(instance)
    }
  }

  #identityBarriers({ is, plan }: Pick<Instance, 'is' | 'plan'>): number {
    let barriers = 0
    if (this.#control.isRevoked(plan.speaker.agent.name)) barriers |= Barrier.agent_revoked
    if (this.#control.paused && isAction(is.kind)) barriers |= Barrier.paused
    if (this.#control.pilotControl && movesVehicle(is.kind)) barriers |= Barrier.pilot_control
    if (this.#control.intents.isUncertain(is.name)) barriers |= Barrier.uncertain_outcome
    return barriers
  }

  // What the engine knows and the core does not; the core puts it in its order.

  /** Of the instance itself: these come before what it rests on. */
  #ownBarriers(instance: Instance, now_ms: number): number {
    let barriers = this.#identityBarriers(instance)
    if (instance.plan.over) barriers |= Barrier.superseded
    if (isExpired(instance, now_ms)) barriers |= Barrier.expired
    return barriers
  }

  /** Of its effect: these come after. */
  #effectBarriers(instance: Instance, now_ms: number): number {
    let barriers = 0
    const effect = leaseEffect(instance.is)
    if (effect === undefined) return barriers
    const { takeover } = this.#flight
    if (this.#isBusy(instance, now_ms)) barriers |= Barrier.resource_busy
    // The core asks what it rests on first: while that is missing, who has the vehicle need not be found out.
    if (instance.unmet > 0) return barriers | Barrier.not_in_control
    const engages = instance.is.kind === Kind.setpoint
    const unfit = engages && (takeover.foundEngaged || this.#flight.preflight() !== undefined)
    const guarded = isGuarded(instance) && !takeover.awaitsMode(now_ms)
    if (unfit || (guarded && !takeover.inControl(now_ms))) barriers |= Barrier.not_in_control
    return barriers
  }

  /** Its resource is held, one of its MAV_CMDs is outstanding, or its agent has as many effects under way as it may. */
  #isBusy({ is, plan }: Pick<Instance, 'is' | 'plan'>, now_ms: number): boolean {
    const effect = leaseEffect(is)
    if (effect === undefined) return false
    if (is.uses !== undefined && !this.#aftermath.resources.isFree(is.uses, plan)) return true
    const { speaker } = plan
    if (speaker.leases >= speaker.quota.leases) return true
    return effect.steps.some((step) => this.#flight.acks.isBusy(step.command, now_ms))
  }

  /** The token is leased. What goes to the vehicle leaves here, in the same synchronous step. */
  #cross(instance: Instance, frame: CoreFrame | undefined, now_ms: number): void {
    const effect = leaseEffect(instance.is)
    const isRequest = instance.is.kind === Kind.request
    const asked = isRequest ? this.#flight.consents.propose(instance) : undefined
    if (isRequest && asked === undefined) {
      return this.#ledger.lose(instance, Phase.failed, Reason.no_capacity, 'consents', now_ms)
    }
    if (effect === undefined) {
      this.#ledger.reach(instance, Phase.released)
      this.#release(instance, asked, now_ms)
      if (!isRequest) {
        this.#ledger.close(instance)
        instance.plan.speaker.completed(instance.type)
      }
      return
    }
    if (frame === undefined || !this.#flight.port.send(frame)) {
      return this.#ledger.lose(instance, Phase.failed, Reason.link_lost, undefined, now_ms)
    }
    const lease =
      instance.is.kind === Kind.setpoint
        ? new SetpointLease(this.#flight, instance, effect as SetpointEffect, now_ms)
        : new CommandLease(this.#flight, instance, effect, now_ms)
    instance.lease = lease
    this.#leases.set(instance.sequence, lease)
    instance.plan.speaker.leases++
    for (const name of resourcesOf(instance)) this.#aftermath.resources.take(name, instance)
    if (effect.leads.length > 0) this.#aftermath.crossed(effect.endsWithHold, resourcesOf(instance))
    this.#ledger.reach(instance, Phase.dispatched)
  }

  /** A notice, report or request is for people: what is published is what was bound. */
  #release(instance: Instance, asked: Consent | undefined, now_ms: number): void {
    const { core, catalog, consents } = this.#flight
    const { effect } = instance.is
    if (asked !== undefined) consents.ask(asked)
    const slots = core.payload(instance.sequence)
    const text = effect.kind === 'notice' || effect.kind === 'request' ? effect.text : undefined
    const notice = {
      kind: kindWord(instance.is.kind),
      severity: effect.kind === 'notice' ? effect.severity : 'info',
      text: text === undefined ? undefined : slots[text],
      fields: effect.kind === 'report' ? footprint(catalog, core, effect.fields, now_ms) : undefined,
    }
    this.#publisher.notice(instance, notice, asked && consents.shown(asked, now_ms, this.#publisher.wall()))
  }

  /** `follow` takes the place of the lease's own contingency. */
  #end(lease: Lease, ending: Ending, now_ms: number, follow?: readonly ContingencyName[]): void {
    const { instance, effect } = lease
    const onGround = this.#flight.view.isOnGround(now_ms)
    // The lease is gone last, or what it owes stands before: if the core traps in between, the next session sends it.
    if (ending.phase === Phase.completed) {
      this.#acknowledge(lease)
      this.#ledger.end(instance, Phase.completed, Reason.none, undefined)
      this.#close(lease, now_ms)
      this.#aftermath.handOver(instance, { ...owes(lease), names: effect.then === 'none' ? [] : [effect.then] }, 'any')
      instance.plan.speaker.completed(instance.type)
      if (instance.is.kind === Kind.handoff) this.#handedOff(instance, now_ms)
      else this.enforcement?.happened('after_action', instance.plan, now_ms)
      return
    }
    const names = follow ?? (ending.reason === Reason.taken_over ? [] : lease.contingency(onGround))
    if (ending.phase === Phase.superseded) {
      this.#ledger.end(instance, Phase.superseded, Reason.superseded, undefined)
      this.#close(lease, now_ms)
      this.#aftermath.handOver(instance, { ...owes(lease), names }, instance.plan.speaker.plan!)
      return
    }
    const { intents } = this.#control
    // Refused, it is known to have done nothing. Otherwise, without an answer, it may have.
    if (ending.reason === Reason.refused) intents.settle(instance)
    const phase = intents.isOpen(instance) ? Phase.uncertain : ending.phase
    for (const name of resourcesOf(instance)) this.#aftermath.resources.release(name, instance)
    if (names.length > 0) this.#aftermath.owe([{ ...owes(lease), names }])
    this.#close(lease, now_ms)
    this.#aftermath.advance(now_ms) // at once: silence is not a stop
    this.#ledger.lose(instance, phase, ending.reason, ending.detail, now_ms)
    intents.doubt(instance) // last: if the core traps before, the session's last word still knows of it
  }

  #close(lease: Lease, now_ms: number): void {
    this.#leases.delete(lease.instance.sequence)
    lease.instance.plan.speaker.leases--
    lease.finish(now_ms)
  }

  /** The pilot has it: the plan ends, and nothing moves the vehicle until the operator resumes. */
  #handedOff(instance: Instance, now_ms: number): void {
    const { plan } = instance
    this.#publisher.notice(instance, { kind: 'handoff', severity: 'warning', text: 'the vehicle is with the pilot' })
    this.#ledger.retire(plan, 'ended')
    for (const each of [...plan.instances.values()]) {
      if (isLive(each) && !this.#leases.has(each.sequence)) {
        this.#ledger.end(each, Phase.superseded, Reason.ended, undefined)
      }
    }
    this.#ledger.forget(plan)
    this.takenOver(now_ms)
  }

  /** A new plan of the same agent: the old one's uncrossed components are gone, its setpoints are handed over. */
  supersede(plan: Plan, now_ms: number): void {
    this.#ledger.retire(plan, 'superseded') // first: from here on the ledger knows it, whatever happens
    for (const instance of [...plan.instances.values()]) {
      const lease = this.#leases.get(instance.sequence)
      if (lease instanceof SetpointLease) {
        this.#end(lease, { phase: Phase.superseded, reason: Reason.superseded, detail: undefined }, now_ms)
      } else if (lease === undefined && isLive(instance)) {
        this.#ledger.end(instance, Phase.superseded, Reason.superseded, undefined)
      }
    }
    this.#ledger.forget(plan)
  }

  /**
   * The agent may not speak any more: nothing of it is left but what is under way, which ends when it is judged in this step
   * or, a command, before its next frame (PROTOCOL 10).
   */
  revoke({ plan }: Speaker): void {
    if (plan === undefined || plan.over) return
    this.#ledger.retire(plan, 'ended')
    for (const instance of [...plan.instances.values()]) {
      if (isLive(instance) && !this.#leases.has(instance.sequence)) {
        this.#ledger.block(instance, Reason.agent_revoked, undefined)
      }
    }
    this.#ledger.forget(plan)
  }

  /** The pilot, a failsafe or a handoff has the vehicle: all leases end without contingency, and no action crosses. */
  takenOver(now_ms: number): void {
    if (!this.#control.pilotControl) {
      this.#publisher.log('warn', 'pilot control', { mode: this.#flight.view.mode(now_ms)?.mode })
      this.#control.latch()
    }
    for (const lease of this.leases) this.#end(lease, failed(Reason.taken_over), now_ms)
    this.#aftermath.abandon(now_ms)
  }

  /** Nobody knows any more who is heard and obeyed: leases end with their contingency, and no action crosses. */
  alarm(text: string, now_ms: number): void {
    this.#publisher.log('error', 'alarm', { text })
    if (this.#control.pilotControl) return
    this.#publisher.notice(undefined, { kind: 'alarm', severity: 'alert', text })
    this.#control.latch()
    const ending = { phase: Phase.failed, reason: Reason.pilot_control, detail: text }
    for (const lease of this.leases) this.#end(lease, ending, now_ms)
  }

  /** What rules invoke takes the place of everything under way. Never against the pilot. */
  replace(ruling: Ruling, now_ms: number): void {
    if (ruling.invoke.length === 0 || this.#control.pilotControl) return
    // At rest there is nothing to hold or bring down. To land what has landed would be undone by the HOLD that follows a
    // landing, a change of mode that can violate the same rule again, and so on for ever.
    const { view } = this.#flight
    if (this.#leases.size === 0 && view.standsDisarmed(now_ms)) return
    const ending = { phase: Phase.failed, reason: Reason.rule, detail: named(ruling) }
    for (const lease of this.leases) this.#end(lease, ending, now_ms, [])
    // An older contingency that is not shown yet would go on to be sent, against this one.
    this.#aftermath.abandon(now_ms)
    this.#aftermath.startAlone(
      ruling.invoke.map(({ name }) => name),
      now_ms,
    )
  }

  /** A person's answer to a consent (PROTOCOL 10). */
  answer(consent: Consent, approved: boolean, now_ms: number): void {
    const { asker } = consent
    if (asker.phase === Phase.retained) {
      if (approved) {
        this.#flight.consents.approve(consent)
        this.#ledger.waiting.wake(asker)
      } else this.enforcement!.refuse(asker, now_ms)
    } else if (!approved) this.#ledger.refuse(asker)
    else {
      this.#flight.consents.answered(consent, now_ms)
      asker.plan.speaker.completed(asker.type)
      this.#ledger.end(asker, Phase.completed, Reason.none, undefined)
    }
  }

  /** The process is about to end. */
  shutDown(now_ms: number): void {
    for (const lease of this.leases) this.#end(lease, failed(Reason.shutdown), now_ms)
    for (const instance of this.#ledger.live) this.#ledger.block(instance, Reason.shutdown, undefined)
  }

  /** A target that the autopilot reports: true when somebody else commands inside our mode. */
  isForeign(target: ReportedTarget, now_ms: number): boolean {
    const { core, view } = this.#flight
    return this.leases.some((lease) => {
      const { is, sequence } = lease.instance
      const ours =
        is.effect.kind === 'setpoint'
          ? isOurs(target, is.effect.setpoint, payloadByName(is, core.payload(sequence)))
          : isHere(target, view.place(now_ms))
      return ours !== undefined && lease.isForeign(ours, now_ms)
    })
  }

  /**
   * What a new session has to send for the leases of this one: whatever ends a lease, its contingency is owed. But a vehicle
   * that has been up for less time than the lease is not under way any more.
   */
  owed(onGround: boolean, now_ms: number, up_ms = Number.POSITIVE_INFINITY): Owed[] {
    const owed = this.leases.map((l) => ({ ...owes(l), names: l.contingency(onGround) }))
    return [...owed, ...this.#aftermath.owed()].filter(
      ({ names, since_ms }) => names.length > 0 && up_ms >= now_ms - since_ms,
    )
  }
}

/** The core's, with words where the engine knows more. */
type Verdict = Gate | { readonly decision: 'deny' | 'defer'; readonly reason: Reason; readonly detail: string }

/** Its effect changes the mode or arms: the mode guard is asked. */
function isGuarded({ is }: Instance): boolean {
  return is.kind === Kind.setpoint || (leaseEffect(is)?.steps.some(needsControl) ?? false)
}

/** Stands for the mode that is awaited, behind a stall or in doubt, among the fields that are. */
const MODE = -1

const isIrreversible = ({ is: { effect } }: Instance): boolean => effect.kind === 'command' && effect.irreversible

/** Of what follows a lease. */
const owes = ({ instance, begun_ms }: Lease): Omit<Owed, 'names'> => ({
  resources: resourcesOf(instance),
  since_ms: begun_ms,
})

const failed = (reason: Reason): Ending => ({ phase: Phase.failed, reason, detail: undefined })

/** Ready for longer than `expires`, or admitted longer ago than `wait`. */
function isExpired({ is, admitted_ms, ready_ms, readySince_ms }: Instance, now_ms: number): boolean {
  const ready = ready_ms + (readySince_ms === undefined ? 0 : now_ms - readySince_ms)
  return ready > is.expires_ms || now_ms - admitted_ms > is.wait_ms
}

/** The effect of a type that goes to the vehicle. */
function leaseEffect({ effect }: ComponentType): Extract<Effect, LeaseEffect> | undefined {
  return effect.kind === 'command' || effect.kind === 'setpoint' || effect.kind === 'handoff' ? effect : undefined
}
