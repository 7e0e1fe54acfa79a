// The engine: inputs in, effects out, no I/O, no clock, no timers (PROTOCOL 5 to 12). Every call is one whole step; the
// order within a step stands in `#settle`, and most sentences of PROTOCOL 8 are about that order.
//
// Only the core allows, and what it allows goes through `port.send` before the next line runs: nothing waits between the
// gate and the wire. What is to be published is returned.

import { createHash } from 'node:crypto'
import { Kind, Phase, Reason, ReasonWords } from '../../build/abi.ts'
import type { Catalog, ComponentType, Effect, Lease as LeaseEffect, StateField } from '../catalog/catalog.ts'
import { type Admitted, Barrier, type CoreFactory, type CoreFrame } from '../core/core.ts'
import type { ContingencyName } from '../profile/profile.ts'
import { read, type ValueMap } from '../response/read.ts'
import { Acknowledgements } from './acknowledgement.ts'
import { ATTEMPTS_MAX, type Speaker } from './agent.ts'
import { ask, type Question } from './batch.ts'
import { Contingency } from './contingency.ts'
import { Control } from './control.ts'
import { type Flight, stamp } from './flight.ts'
import { CommandLease, type Ending, type Lease, type SetpointEffect, SetpointLease } from './lease.ts'
import { type Member, Obligations } from './obligation.ts'
import { type Instance, isAction, isEnded, isLive, movesVehicle, Plan } from './plan.ts'
import type { Acknowledgement, Journal, Port, Publication, Report } from './port.ts'
import { type Accepted, judgeWhole, wireDigest } from './reception.ts'
import { Resources } from './resource.ts'
import { Session } from './session.ts'
import { SnapshotSchedule, snapshotValue } from './snapshot.ts'
import { Takeover } from './takeover.ts'
import { VehicleView } from './vehicle.ts'
import {
  catalogValue,
  conditionText,
  detailWords,
  footprint,
  kindWord,
  outcome,
  payloadByName,
  phaseWord,
} from './verdict.ts'

export interface RuntimeOptions {
  readonly catalog: Catalog
  readonly core: CoreFactory
  /** SHA-256 of the core's module, hex: part of the environment. */
  readonly coreHash: string
  readonly port: Port
  readonly journal: Journal
  /** 8 random bytes: a session's id. */
  readonly random: () => Uint8Array
  /** Wall-clock ms: informative, no decision rests on it. */
  readonly wall: () => number
  readonly version: string
  readonly log?: (event: LogEvent) => void
}

export interface LogEvent {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
  readonly [key: string]: unknown
}

/** A contingency under way and the resource that it holds. */
interface Running {
  readonly contingency: Contingency
  readonly resource: string | undefined
}

/** Between two effects of one step: what is sent if nothing takes the resource (`then`, and the end of a superseded lease). */
interface Handover {
  readonly resource: string | undefined
  readonly names: readonly ContingencyName[]
}

type SessionEnd = 'restart' | 'trap' | 'reboot' | 'identity'

export class Runtime {
  readonly #options: RuntimeOptions
  readonly #catalog: Catalog
  readonly #control: Control
  readonly environment: string
  #out: Publication[] = []
  #stopping = false
  #identity: { system: number; component: number } | undefined
  #obligationCount = 0
  /** Of the last step that was judged: what a session's end is judged at. */
  #now_ms = 0

  // Everything below belongs to one session and is made anew by `#begin`.
  #session!: Session
  #flight!: Flight
  #resources!: Resources
  #schedule!: SnapshotSchedule
  /** Retained and not crossed, in order of sequence. */
  #waiting!: Map<number, Instance>
  /** In order of sequence. */
  #leases!: Map<number, Lease>
  #running!: Set<Running>
  #handovers!: Handover[]
  /** Superseded plans of which a command is still under way. */
  #leaving!: Set<Plan>
  #orphanJudged!: boolean
  /** A landing effect of ours was sent: HOLD follows once disarmed. */
  #holdOnceDisarmed!: boolean
  /** Something ended since the core was last told what to forget. */
  #ended = false

  constructor(options: RuntimeOptions) {
    this.#options = options
    this.#catalog = options.catalog
    this.#control = new Control(options.journal)
    this.environment = environmentOf(options)
    this.#begin()
  }

  /** 16 hex digits. */
  get session(): string {
    return this.#session.id
  }

  /** No effect is under way. */
  get settled(): boolean {
    return this.#leases.size === 0 && this.#running.size === 0
  }

  // Inputs. Each applies itself, then everything that follows from it, and returns what is to be published.

  start(now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#announce())
  }

  /** The autopilot was found. Another identity than before is a new session, without contingency (PROTOCOL 11). */
  connected(system: number, component: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      const known = this.#identity
      this.#identity = { system, component }
      if (known === undefined) this.#session.core.target(system, component)
      else if (known.system !== system || known.component !== component) this.#renew('identity')
    })
  }

  /** What a message of the autopilot says, received at `received_ms`. */
  observe(report: Report, received_ms: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      const { boot_ms, message } = report
      if (boot_ms !== undefined && this.#session.boot.fell(message, boot_ms)) this.#renew('reboot')
      for (const { field, value } of report.observations) this.#observe(field, value, received_ms, now_ms)
      if (report.target !== undefined) this.#judgeTarget(report.target, now_ms)
    })
  }

  acknowledge(ack: Acknowledgement, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#flight.acks.deliver(ack, now_ms))
  }

  /** A `context/<field>` message: what the ground sets (PROTOCOL 2). */
  context(field: string, bytes: Uint8Array, retained: boolean, received_ms: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#context(field, bytes, retained, received_ms, now_ms))
  }

  /** A `response/<agent>` message (PROTOCOL 4 to 6). A trap revokes the agent. */
  receive(agent: string, bytes: Uint8Array, retained: boolean, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#receive(agent, bytes, retained, now_ms), agent)
  }

  /** An `operator/<verb>` message (PROTOCOL 10). */
  operate(verb: string, bytes: Uint8Array, retained: boolean, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#operate(verb, bytes, retained, now_ms))
  }

  tick(now_ms: number): Publication[] {
    return this.#step(now_ms, () => undefined)
  }

  /** The process is about to end: leases end with their contingency. Tick on until `settled`. */
  stop(now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#stopping = true
      for (const lease of [...this.#leases.values()]) {
        this.#endLease(lease, { phase: Phase.failed, reason: Reason.shutdown, detail: undefined }, now_ms)
      }
      for (const instance of [...this.#waiting.values()]) this.#block(instance, Reason.shutdown, undefined)
    })
  }

  // The step

  /** One input, whole. A trap poisons the core and is a verdict: everything is denied and a new session begins. */
  #step(now_ms: number, apply: () => void, agent?: string): Publication[] {
    try {
      apply()
      this.#settle(now_ms)
      this.#now_ms = now_ms
    } catch (error) {
      if (!this.#session.core.poisoned) throw error
      this.#log('error', 'core trapped', { error: String(error), agent })
      // G5: whoever fed the core what it could not judge may not try again before the operator has looked.
      if (agent !== undefined && this.#session.speakers.has(agent)) this.#control.revoke(agent)
      this.#renew('trap')
    }
    const out = this.#out
    this.#out = []
    return out
  }

  /** What follows from any input, in this order (PROTOCOL 8). */
  #settle(now_ms: number): void {
    if (this.#flight.takeover.judge(now_ms)) this.#takenOver(now_ms) // before anything else
    this.#judgeOrphan(now_ms)
    for (const lease of [...this.#leases.values()]) this.#judgeLease(lease, now_ms)
    this.#offerAll(now_ms) // all `done` have been judged
    this.#handOver(now_ms) // `then` is decided last
    this.#runContingencies(now_ms)
    this.#forget(now_ms)
    if (this.#schedule.isDue(now_ms)) this.#takeSnapshot(now_ms)
  }

  /** Session, pause; `within`; `done`; then the frame's checks. Takeover came before, supersession is in its own step. */
  #judgeLease(lease: Lease, now_ms: number): void {
    const ended = this.#judge(lease, now_ms)
    if (ended !== undefined) this.#endLease(lease, ended, now_ms)
  }

  #judge(lease: Lease, now_ms: number): Ending | undefined {
    const failed = (reason: Reason): Ending => ({ phase: Phase.failed, reason, detail: undefined })
    const { instance } = lease
    if (this.#control.paused && isAction(instance.is.kind)) return failed(Reason.paused)
    if (lease.elapsed_ms(now_ms) >= lease.effect.within_ms) return failed(Reason.time_exceeded)
    if (lease.isDone(now_ms)) return { phase: Phase.completed, reason: Reason.none, detail: undefined }
    const ended = lease.advance(this.#identityBarriers(instance), now_ms)
    if (ended === undefined && lease instanceof CommandLease && lease.isConfirmed) this.#acknowledged(instance)
    return ended
  }

  /** A command's frames are all confirmed. */
  #acknowledged(instance: Instance): void {
    if (instance.is.kind === Kind.command && instance.phase === Phase.dispatched) {
      this.#reach(instance, Phase.acknowledged)
    }
  }

  /** Every retained component, in order of sequence, until a pass lets nothing more across. */
  #offerAll(now_ms: number): void {
    for (let crossed = true; crossed; ) {
      crossed = false
      for (const instance of [...this.#waiting.values()]) {
        if (this.#waiting.has(instance.sequence) && this.#offer(instance, now_ms)) crossed = true
      }
    }
  }

  /** True when it crossed. */
  #offer(instance: Instance, now_ms: number): boolean {
    const { uses } = instance.is
    if (uses !== undefined && isAction(instance.is.kind) && this.#resources.isFenced(uses, instance.snapshot)) {
      this.#deny(instance, Reason.evidence_stale, undefined, now_ms)
      return false
    }
    const barriers = this.#barriers(instance, now_ms)
    const verdict = this.#session.core.gate(instance.sequence, barriers, now_ms, stamp(now_ms))
    if (verdict.decision === 'allow') return this.#cross(instance, verdict.frame, now_ms)
    if (verdict.decision === 'deny') this.#deny(instance, verdict.reason, verdict.detail, now_ms)
    else this.#defer(instance, verdict.reason, verdict.detail, now_ms)
    return false
  }

  #defer(instance: Instance, reason: Reason, detail: number, now_ms: number): void {
    // Time counts against `expires` only while nothing but the world holds it back.
    if (reason === Reason.state_awaited) instance.readySince_ms ??= now_ms
    else if (instance.readySince_ms !== undefined) {
      instance.ready_ms += now_ms - instance.readySince_ms
      instance.readySince_ms = undefined
    }
    if (instance.deferred) return
    instance.deferred = true
    this.#tellOutcome(instance, reason, detail)
  }

  #identityBarriers(instance: Instance): number {
    const { kind } = instance.is
    let barriers = 0
    if (this.#control.isRevoked(instance.plan.speaker.agent.name)) barriers |= Barrier.agent_revoked
    if (this.#control.paused && isAction(kind)) barriers |= Barrier.paused
    if (this.#control.pilotControl && movesVehicle(kind)) barriers |= Barrier.pilot_control
    return barriers
  }

  #barriers(instance: Instance, now_ms: number): number {
    let barriers = this.#identityBarriers(instance)
    if (instance.plan.over) barriers |= Barrier.superseded
    if (this.#isExpired(instance, now_ms)) barriers |= Barrier.expired
    const effect = leaseEffect(instance.is)
    if (effect === undefined) return barriers
    const { takeover, acks } = this.#flight
    const { uses } = instance.is
    const steps = 'engagement' in effect ? [...effect.steps, effect.engagement] : effect.steps
    const busy = uses !== undefined && !this.#resources.isFree(uses, instance.plan)
    if (busy || steps.some((step) => acks.isBusy(step.command, now_ms))) barriers |= Barrier.resource_busy
    const engages = instance.is.kind === Kind.setpoint
    const changesMode = engages || steps.some((step) => step.changesMode)
    if ((changesMode && !takeover.inControl(now_ms)) || (engages && takeover.foundEngaged)) {
      barriers |= Barrier.not_in_control
    }
    return barriers
  }

  #isExpired(instance: Instance, now_ms: number): boolean {
    const since_ms = instance.readySince_ms
    const ready_ms = instance.ready_ms + (since_ms === undefined ? 0 : now_ms - since_ms)
    return ready_ms > instance.is.expires_ms || now_ms - instance.admitted_ms > instance.is.wait_ms
  }

  // Crossing and ending

  /** The token is leased. What goes to the vehicle leaves here, in the same synchronous step. */
  #cross(instance: Instance, frame: CoreFrame | undefined, now_ms: number): boolean {
    this.#waiting.delete(instance.sequence)
    const effect = leaseEffect(instance.is)
    if (effect === undefined) {
      this.#reach(instance, Phase.released)
      this.#release(instance, now_ms)
      // Nothing of a notice or a report is still to come: its token closes.
      if (instance.is.kind !== Kind.request) this.#session.core.end(instance.sequence, Phase.completed)
      return true
    }
    if (frame === undefined || !this.#options.port.send(frame)) {
      this.#lose(instance, Phase.failed, Reason.link_lost, undefined, now_ms)
      return false
    }
    const { uses } = instance.is
    const lease =
      instance.is.kind === Kind.setpoint
        ? new SetpointLease(this.#flight, instance, effect as SetpointEffect, now_ms)
        : new CommandLease(this.#flight, instance, effect, now_ms)
    instance.lease = lease
    this.#leases.set(instance.sequence, lease)
    if (uses !== undefined) this.#resources.take(uses, instance)
    if (lease.effect.endsWithHold) this.#holdOnceDisarmed = true
    else if (lease.effect.leads.length > 0) this.#holdOnceDisarmed = false
    this.#reach(instance, Phase.dispatched)
    return true
  }

  /** A notice, report or request is for people: what is published is what was bound. */
  #release(instance: Instance, now_ms: number): void {
    const { effect } = instance.is
    const slots = this.#session.core.payload(instance.sequence)
    const text = effect.kind === 'notice' || effect.kind === 'request' ? effect.text : undefined
    this.#publish('notice', {
      v: 1,
      ...this.#about(instance),
      kind: kindWord(instance.is.kind),
      severity: effect.kind === 'notice' ? effect.severity : 'info',
      text: text === undefined ? undefined : slots[text],
      fields:
        effect.kind === 'report' ? footprint(this.#catalog, this.#session.core, effect.fields, now_ms) : undefined,
      payload: effect.kind === 'request' ? payloadByName(instance.is, slots) : undefined,
    })
  }

  #about(instance: Instance) {
    return {
      agent: instance.plan.speaker.agent.name,
      plan: instance.plan.name,
      component: instance.id,
      generation: instance.generation,
      sequence: instance.sequence,
      at: this.#options.wall(),
    }
  }

  #endLease(lease: Lease, ending: Ending, now_ms: number): void {
    const { instance, effect } = lease
    const onGround = this.#flight.view.isOnGround(now_ms)
    this.#leases.delete(instance.sequence)
    lease.finish(now_ms)
    const resource = instance.is.uses
    if (ending.phase === Phase.completed) {
      instance.plan.speaker.completed(instance.type)
      this.#acknowledged(instance)
      this.#end(instance, Phase.completed, Reason.none, undefined)
      this.#after(instance, resource, effect.then === 'none' ? [] : [effect.then], 'any')
      if (instance.is.kind === Kind.handoff) this.#handedOff(instance, now_ms)
      return
    }
    const names = ending.reason === Reason.taken_over ? [] : lease.contingency(onGround)
    if (ending.reason === Reason.superseded) {
      this.#end(instance, Phase.superseded, Reason.superseded, undefined)
      this.#after(instance, resource, names, instance.plan.speaker.plan!)
      return
    }
    if (resource !== undefined) this.#resources.release(resource, instance)
    if (names.length > 0) this.#start(names, resource, now_ms) // at once: silence is not a stop
    this.#lose(instance, ending.phase, ending.reason, ending.detail, now_ms)
  }

  /** The effect has ended and left the vehicle to whoever takes it in this step; otherwise `names` follow. */
  #after(by: Instance, resource: string | undefined, names: readonly ContingencyName[], openTo: Plan | 'any'): void {
    if (names.length === 0) {
      if (resource !== undefined) this.#resources.release(resource, by)
      return
    }
    const handover: Handover = { resource, names }
    if (resource !== undefined) this.#resources.handOver(resource, handover, openTo)
    this.#handovers.push(handover)
  }

  #handOver(now_ms: number): void {
    const handovers = this.#handovers
    this.#handovers = []
    for (const handover of handovers) {
      const { resource } = handover
      if (resource !== undefined && !this.#resources.isHeldBy(resource, handover)) continue // taken
      if (resource !== undefined) this.#resources.release(resource, handover)
      this.#start(handover.names, resource, now_ms)
    }
  }

  #handedOff(instance: Instance, now_ms: number): void {
    this.#publish('notice', {
      v: 1,
      ...this.#about(instance),
      kind: 'handoff',
      severity: 'warning',
      text: 'the vehicle is with the pilot',
    })
    this.#endPlan(instance.plan)
    this.#takenOver(now_ms)
  }

  /** A denial by the gate: final. */
  #deny(instance: Instance, reason: Reason, detail: number | undefined, now_ms: number): void {
    this.#waiting.delete(instance.sequence)
    if (reason === Reason.superseded) this.#end(instance, Phase.superseded, reason, undefined)
    else this.#lose(instance, reason === Reason.expired ? Phase.expired : Phase.blocked, reason, detail, now_ms)
  }

  /** A denial, a failure or an expiry: opens an obligation and withdraws the uncrossed dependents into it (PROTOCOL 7, 9). */
  #lose(instance: Instance, phase: Phase, reason: Reason, detail: number | string | undefined, now_ms: number): void {
    this.#end(instance, phase, reason, detail)
    const { plan } = instance
    this.#log('warn', 'component lost', {
      ...this.#about(instance),
      phase: phaseWord(phase),
      reason: ReasonWords[reason],
    })
    const dependents = plan.uncrossedDependents(instance)
    for (const dependent of dependents) this.#block(dependent, Reason.prerequisite_failed, instance.id)
    if (plan.over) return
    this.#openObligation(plan, instance, reason, detail, dependents, now_ms)
  }

  #openObligation(
    plan: Plan,
    lost: Member & { readonly generation: number },
    reason: Reason,
    detail: number | string | undefined,
    dependents: readonly Member[],
    now_ms: number,
  ): string {
    const type = this.#catalog.types[lost.type]!
    const listed = [...plan.members.values()].filter((m) => type.scope.includes(m.type) && m.phase === Phase.retained)
    return plan.obligations.lose(
      {
        id: lost.id,
        type: lost.type,
        generation: lost.generation,
        reason,
        detail: detailWords(this.#catalog, type, reason, detail, (sequence) => idOf(plan, sequence)),
        condition: conditionText(this.#catalog, type, reason, detail),
        footprint: footprint(this.#catalog, this.#session.core, type.footprint.now, now_ms),
        scope: [...dependents, ...listed],
        route: plan.speaker.attempts(lost.type) >= ATTEMPTS_MAX ? 'operator' : 'agent',
      },
      this.#session.newest,
      now_ms,
      this.#options.wall(),
    )
  }

  /** An uncrossed instance that may not cross any more, without an obligation of its own. */
  #block(instance: Instance, reason: Reason, cause: string | undefined): void {
    this.#waiting.delete(instance.sequence)
    this.#end(instance, Phase.blocked, reason, cause)
  }

  #reach(instance: Instance, phase: Phase): void {
    instance.phase = phase
    this.#session.core.reach(instance.sequence, phase)
    this.#tellOutcome(instance, Reason.none, undefined)
  }

  #end(instance: Instance, phase: Phase, reason: Reason, detail: number | string | undefined): void {
    instance.phase = phase
    this.#ended = true
    this.#session.core.end(instance.sequence, phase)
    this.#tellOutcome(instance, reason, detail)
  }

  #tellOutcome(instance: Instance, reason: Reason, detail: number | string | undefined): void {
    const nameOf = (sequence: number): string | undefined => idOf(instance.plan, sequence)
    const words = detailWords(this.#catalog, instance.is, reason, detail, nameOf)
    const { name } = instance.plan.speaker.agent
    this.#publish(`outcome/${name}`, outcome(instance, this.#options.wall(), reason, words))
  }

  // Takeover and contingencies

  /** The pilot, a failsafe or a handoff: all leases end without contingency, and nothing moves the vehicle any more. */
  #takenOver(now_ms: number): void {
    if (!this.#control.pilotControl) {
      this.#control.latch()
      this.#log('warn', 'pilot control', { mode: this.#flight.view.mode(now_ms)?.mode })
      this.#tellControl()
    }
    for (const lease of [...this.#leases.values()]) {
      this.#endLease(lease, { phase: Phase.failed, reason: Reason.taken_over, detail: undefined }, now_ms)
    }
    for (const running of this.#running) this.#stopRunning(running, now_ms)
    this.#holdOnceDisarmed = false
  }

  #judgeTarget(target: NonNullable<Report['target']>, now_ms: number): void {
    for (const lease of this.#leases.values()) {
      if (!(lease instanceof SetpointLease)) continue
      const bound = payloadByName(lease.instance.is, this.#session.core.payload(lease.instance.sequence))
      const { lat, lon } = bound
      const ours = typeof lat === 'number' && typeof lon === 'number' ? { lat, lon } : undefined
      if (lease.isForeign(target, ours, now_ms)) return this.#takenOver(now_ms)
    }
  }

  /** A session that finds the vehicle armed and in the setpoint mode stops what nobody streams to any more (PROTOCOL 11). */
  #judgeOrphan(now_ms: number): void {
    const seen = this.#flight.view.mode(now_ms)
    if (this.#orphanJudged || seen === undefined || !this.#flight.view.isArmed(now_ms)) return
    this.#orphanJudged = true
    const { engagement, orphaned } = this.#catalog.profile
    const found = seen.mode === engagement.mode && this.#flight.takeover.foundEngaged
    if (!found || this.#control.pilotControl || this.#running.size > 0) return
    this.#log('warn', 'found the vehicle flying to setpoints of an older session', { contingency: orphaned })
    this.#start([orphaned], undefined, now_ms)
  }

  #start(names: readonly ContingencyName[], resource: string | undefined, now_ms: number): void {
    const running = { contingency: new Contingency(this.#flight, names), resource }
    this.#running.add(running)
    if (resource !== undefined) this.#resources.take(resource, running)
    this.#log('info', 'contingency', { names, resource })
    this.#advance(running, now_ms)
  }

  #advance(running: Running, now_ms: number): void {
    const { contingency, resource } = running
    const ended = contingency.advance(now_ms)
    if (contingency.landing) {
      this.#holdOnceDisarmed = true
      if (resource !== undefined) this.#resources.fence(resource, this.#session.newest)
    }
    if (ended === undefined) return
    this.#log(ended === 'shown' ? 'info' : 'warn', 'contingency ended', {
      name: contingency.name,
      ended,
      sends: contingency.sends,
    })
    this.#stopRunning(running, now_ms)
  }

  #stopRunning(running: Running, now_ms: number): void {
    running.contingency.finish(now_ms)
    this.#running.delete(running)
    if (running.resource !== undefined) this.#resources.release(running.resource, running)
  }

  #runContingencies(now_ms: number): void {
    for (const running of [...this.#running]) this.#advance(running, now_ms)
    const { view } = this.#flight
    if (!this.#holdOnceDisarmed || !this.settled || !view.isDisarmed(now_ms) || !view.isOnGround(now_ms)) return
    // PX4 goes back to the last mode that was no landing, and refuses to arm in it.
    this.#holdOnceDisarmed = false
    this.#start(['hold'], undefined, now_ms)
  }

  // Responses

  #receive(agent: string, bytes: Uint8Array, retained: boolean, now_ms: number): void {
    if (this.#stopping) return
    const judged = judgeWhole(this.#session, this.#control, this.#catalog, { agent, bytes, retained }, now_ms)
    if ('again' in judged) this.#out.push(judged.again)
    else if ('accepted' in judged) this.#accept(judged.accepted, now_ms)
    else {
      const { packet, reason, detail, response, generation } = judged.refused
      this.#log('warn', 'response refused', { agent, reason, detail })
      this.#publish(`verdict/${agent}`, {
        v: 1,
        response,
        digest: wireDigest(packet),
        generation,
        at: this.#options.wall(),
        accepted: false,
        reason,
        detail,
        components: [],
      })
    }
  }

  #accept(accepted: Accepted, now_ms: number): void {
    const { speaker, response, packet, recovers } = accepted
    const older = speaker.plan
    const plan = recovers ?? this.#newPlan(speaker, response.response)
    const question = ask(this.#catalog, this.#control, accepted, plan)
    const admitted = this.#session.core.admit(question.batch, now_ms)
    speaker.accepted(response.response, response.generation)
    speaker.plan = plan

    const at = this.#out.length // the verdict precedes everything that it brings about
    const retained = this.#retain(accepted, plan, question, admitted, now_ms)
    const obligations = this.#openForWithheld(accepted, plan, question, admitted, now_ms)
    const verdict: Publication = {
      topic: `verdict/${speaker.agent.name}`,
      retain: false,
      value: {
        v: 1,
        response: response.response,
        digest: wireDigest(packet),
        plan: plan.name,
        generation: response.generation,
        at: this.#options.wall(),
        accepted: true,
        components: response.components.map((component, i) => {
          const { reason, detail, cause, sequence } = admitted[i]!
          const { type } = question.batch.candidates[i]!
          if (reason === Reason.none) return { id: component.id, decision: 'retained', sequence }
          // A prerequisite is named by its position in the response.
          const nameOf = (position: number): string | undefined => component.requires[position]
          return {
            id: component.id,
            decision: 'withheld',
            reason: ReasonWords[reason],
            detail:
              question.problems[i] ?? detailWords(this.#catalog, this.#catalog.types[type]!, reason, detail, nameOf),
            cause: cause < 0 ? undefined : response.components[cause]!.id,
            obligation: obligations.get(i),
          }
        }),
      },
    }
    this.#out.splice(at, 0, verdict)
    speaker.remember(packet, verdict)
    for (const instance of retained) this.#tellOutcome(instance, Reason.none, undefined)
    if (recovers === undefined && older !== undefined) this.#supersede(older, now_ms)
  }

  #newPlan(speaker: Speaker, response: string): Plan {
    const { name } = speaker.agent
    const tell = (value: unknown): void => this.#publish(`obligation/${name}`, value)
    const nextName = (): string => `${this.#session.id.slice(0, 8)}-o${++this.#obligationCount}`
    return new Plan(speaker, response, new Obligations(`${name}/${response}`, this.#catalog, nextName, tell))
  }

  /** The retained become instances; what they replace loses its token, and so do uncrossed dependents of that. */
  #retain(
    accepted: Accepted,
    plan: Plan,
    question: Question,
    admitted: readonly Admitted[],
    now_ms: number,
  ): Instance[] {
    const made = question.batch.candidates.map((candidate, i): Made | undefined => {
      if (admitted[i]!.reason !== Reason.none) return undefined
      return {
        sequence: admitted[i]!.sequence,
        plan,
        id: candidate.id,
        type: candidate.type,
        is: this.#catalog.types[candidate.type]!,
        generation: accepted.response.generation,
        snapshot: accepted.snapshot,
        prerequisites: [],
        admitted_ms: now_ms,
        phase: Phase.retained,
        ready_ms: 0,
        readySince_ms: undefined,
        deferred: false,
        lease: undefined,
      }
    })
    const instances: Instance[] = []
    const replaced: Instance[] = []
    for (const [i, instance] of made.entries()) {
      if (instance === undefined) continue
      for (const code of question.batch.candidates[i]!.requires) {
        instance.prerequisites.push(code >= 0 ? made[code]! : question.standing[-2 - code]!)
      }
      const old = plan.members.get(instance.id)
      if (old !== undefined && !isEnded(old.phase)) replaced.push(old)
      plan.add(instance)
      this.#waiting.set(instance.sequence, instance)
      instances.push(instance)
    }
    for (const old of replaced) this.#replace(plan, old, now_ms)
    for (const { id } of instances) plan.obligations.retained(id)
    return instances
  }

  #replace(plan: Plan, old: Instance, now_ms: number): void {
    const dependents = plan.uncrossedDependents(old).filter((d) => plan.members.get(d.id) === d)
    if (isLive(old) && old.lease === undefined) {
      this.#waiting.delete(old.sequence)
      this.#end(old, Phase.superseded, Reason.superseded, undefined)
    }
    if (dependents.length === 0) return
    for (const dependent of dependents) this.#block(dependent, Reason.prerequisite_failed, old.id)
    const into = plan.obligations.covering(old.id, old.type)[0] ?? plan.obligations.first
    if (into !== undefined) plan.obligations.widen(into.name, dependents)
    else this.#openObligation(plan, old, Reason.superseded, undefined, dependents, now_ms)
  }

  /** Roots of losses open obligations, with what falls with them (PROTOCOL 9). Returns their names by candidate. */
  #openForWithheld(
    { response }: Accepted,
    plan: Plan,
    question: Question,
    admitted: readonly Admitted[],
    now_ms: number,
  ): Map<number, string> {
    const { candidates } = question.batch
    const names = new Map<number, string>()
    for (const [i, { reason, detail }] of admitted.entries()) {
      if (!opensObligation(reason)) continue
      const { id, type } = candidates[i]!
      const fallen = fallenWith(i, question, admitted).map((d) => ({
        id: candidates[d]!.id,
        type: candidates[d]!.type,
      }))
      const words = question.problems[i] ?? positionWords(response.components[i]!.requires, reason, detail)
      const lost = { id, type, generation: response.generation }
      names.set(i, this.#openObligation(plan, lost, reason, words ?? detail, fallen, now_ms))
    }
    for (const [i, { cause }] of admitted.entries()) {
      const name = names.get(cause)
      if (name !== undefined) names.set(i, name)
    }
    return names
  }

  /** A new plan of the same agent: the old one's uncrossed components are gone, its setpoints are handed over. */
  #supersede(plan: Plan, now_ms: number): void {
    plan.obligations.closeAll('superseded')
    plan.over = true
    for (const instance of [...plan.instances]) {
      const { lease } = instance
      if (this.#waiting.delete(instance.sequence)) this.#end(instance, Phase.superseded, Reason.superseded, undefined)
      else if (lease instanceof SetpointLease && this.#leases.has(instance.sequence)) {
        this.#endLease(lease, { phase: Phase.superseded, reason: Reason.superseded, detail: undefined }, now_ms)
      } else if (lease === undefined && isLive(instance)) {
        this.#end(instance, Phase.superseded, Reason.superseded, undefined)
      }
    }
    this.#leaving.add(plan)
  }

  /** A handoff ends its plan. */
  #endPlan(plan: Plan): void {
    plan.obligations.closeAll('ended')
    plan.over = true
    for (const instance of [...plan.instances]) {
      if (!isLive(instance) || this.#leases.has(instance.sequence)) continue
      this.#waiting.delete(instance.sequence)
      this.#end(instance, Phase.superseded, Reason.ended, undefined)
    }
  }

  /** What waited too long, and what the core need not remember any more. */
  #forget(now_ms: number): void {
    for (const { plan } of this.#session.speakers.values()) {
      if (plan === undefined) continue
      plan.obligations.expire(now_ms)
      this.#expireRequests(plan, now_ms)
      if (!this.#ended) continue
      for (let gone = plan.forgettable(); gone.length > 0; gone = plan.forgettable()) {
        for (const instance of gone) this.#dismiss(plan, instance)
      }
    }
    this.#ended = false
    for (const plan of this.#leaving) {
      if ([...plan.instances].some((i) => this.#leases.has(i.sequence))) continue
      this.#leaving.delete(plan)
      while (plan.instances.size > 0) {
        const needed = new Set([...plan.instances].flatMap((i) => i.prerequisites))
        for (const instance of [...plan.instances].filter((i) => !needed.has(i))) this.#dismiss(plan, instance)
      }
    }
  }

  #dismiss(plan: Plan, instance: Instance): void {
    plan.instances.delete(instance)
    if (plan.members.get(instance.id) === instance) plan.members.delete(instance.id)
    this.#session.core.release(instance.sequence)
  }

  /** A request expires after its `wait`, or once nothing uncrossed requires it any more (PROTOCOL 10). */
  #expireRequests(plan: Plan, now_ms: number): void {
    for (const request of plan.instances) {
      if (request.is.kind !== Kind.request || request.phase !== Phase.released) continue
      const dependents = [...plan.instances].filter((i) => i.prerequisites.includes(request))
      if (now_ms - request.admitted_ms > request.is.wait_ms) {
        this.#lose(request, Phase.expired, Reason.expired, undefined, now_ms)
      } else if (dependents.length > 0 && dependents.every((i) => i.phase !== Phase.retained)) {
        this.#end(request, Phase.expired, Reason.expired, undefined)
      }
    }
  }

  // State and context

  #observe(field: number, value: number, received_ms: number, now_ms: number): void {
    const { core } = this.#session
    const { continuous, declared } = this.#catalog.fields[field]!
    if (continuous || !declared) return core.observe(field, value, received_ms)
    const before = core.read(field, now_ms).version
    core.observe(field, value, received_ms)
    if (core.read(field, now_ms).version !== before) this.#schedule.discreteChange()
  }

  #context(name: string, bytes: Uint8Array, retained: boolean, received_ms: number, now_ms: number): void {
    const refuse = (why: string): void => this.#log('warn', 'context refused', { field: name, why })
    const index = this.#catalog.fields.findIndex((f) => f.name === name && f.source === 'context')
    const field = this.#catalog.fields[index]
    if (field === undefined) return refuse('no such context field')
    const message = read(bytes)
    if (!('map' in message)) return refuse(`byte ${message.offset}: ${message.problem}`)
    const value = contextValue(field, message.map)
    if (value === undefined) return refuse(`value: must be ${field.members?.join(', ') ?? field.type}`)
    if (retained) {
      // It says what was, not when: it fills a gap, and never makes a value younger.
      if (!field.retainedAllowed) return refuse('retained messages are not allowed for this field')
      if (this.#session.core.read(index, now_ms).validity !== 'unknown') return
    }
    this.#observe(index, value, received_ms, now_ms)
  }

  // The operator (PROTOCOL 10)

  #operate(verb: string, bytes: Uint8Array, retained: boolean, now_ms: number): void {
    const message = read(bytes)
    const problem = retained ? 'retained_message' : this.#verbProblem(verb, message)
    if (problem === undefined) this.#apply(verb, 'map' in message ? message.map : new Map(), now_ms)
    else {
      this.#log('warn', 'operator verb refused', { verb, problem })
      const text = `operator/${verb} refused: ${problem}`
      this.#publish('notice', { v: 1, at: this.#options.wall(), kind: 'operator', severity: 'warning', text })
    }
    this.#tellControl()
  }

  #verbProblem(verb: string, message: ReturnType<typeof read>): string | undefined {
    if (!OPERATOR_VERBS.has(verb)) return `unknown verb, one of ${[...OPERATOR_VERBS].join(', ')}`
    if (!('map' in message)) return `malformed: byte ${message.offset}: ${message.problem}`
    const { map } = message
    if (map.get('v') !== 1) return 'malformed: v: must be 1'
    if (verb === 'pause') return undefined // always accepted
    if (map.get('session') !== this.#session.id) return 'session_changed'
    if (map.get('after') !== this.#control.n) return `operator_conflict: after must be ${this.#control.n}`
    if (verb === 'revoke' || verb === 'restore') {
      return this.#session.speakers.has(String(map.get('agent'))) ? undefined : 'unknown_agent'
    }
    return verb === 'clear' && this.#typeNumber(map) < 0 ? 'unknown_type' : undefined
  }

  #typeNumber(map: ValueMap): number {
    return this.#catalog.types.findIndex((t) => t.name === map.get('type'))
  }

  #apply(verb: string, map: ValueMap, now_ms: number): void {
    this.#log('info', 'operator', { verb })
    const agent = String(map.get('agent'))
    switch (verb) {
      case 'pause':
        return this.#control.pause()
      case 'resume':
        this.#flight.takeover.resumed(now_ms)
        return this.#control.resume()
      case 'revoke':
        return this.#control.revoke(agent)
      case 'restore':
        return this.#control.restore(agent)
      case 'clear': {
        for (const speaker of this.#session.speakers.values()) speaker.grant(this.#typeNumber(map))
        return this.#control.bump()
      }
      case 'restart':
        this.#control.bump()
        return this.#renew('restart')
    }
  }

  // Sessions (PROTOCOL 11)

  #begin(): void {
    const { core, catalog, random, port } = this.#options
    const id = random()
    const environment = Buffer.from(this.environment, 'hex')
    this.#session = new Session(Buffer.from(id).toString('hex'), core(catalog.image, id, environment), catalog)
    if (this.#identity !== undefined) this.#session.core.target(this.#identity.system, this.#identity.component)
    const view = new VehicleView(this.#session.core, catalog)
    const takeover = new Takeover(view, catalog.profile.engagement.mode)
    this.#flight = { catalog, core: this.#session.core, port, view, takeover, acks: new Acknowledgements() }
    this.#resources = new Resources()
    this.#schedule = new SnapshotSchedule()
    this.#waiting = new Map()
    this.#leases = new Map()
    this.#running = new Set()
    this.#handovers = []
    this.#leaving = new Set()
    this.#orphanJudged = false
    this.#holdOnceDisarmed = false
  }

  /**
   * Everything ends and a new session begins with every field unknown. It sends the contingencies of the leases that it
   * ended; after a reboot, or for another autopilot, none: what was under way is not there any more.
   */
  #renew(why: SessionEnd): void {
    const follow = why === 'trap' || why === 'restart' ? this.#contingenciesOwed() : []
    for (const speaker of this.#session.speakers.values()) speaker.plan?.obligations.closeAll('ended')
    for (const lease of this.#leases.values()) this.#lastWord(lease.instance, Phase.failed)
    for (const instance of this.#waiting.values()) this.#lastWord(instance, Phase.blocked)
    this.#begin()
    this.#log('warn', 'new session', { why, session: this.#session.id })
    this.#orphanJudged = why === 'reboot' || why === 'identity'
    for (const { names, resource } of follow) {
      const running = { contingency: new Contingency(this.#flight, names), resource }
      this.#running.add(running) // sent in the next step, once the new session knows the mode
      if (resource !== undefined) this.#resources.take(resource, running)
    }
    this.#announce()
  }

  #contingenciesOwed(): Handover[] {
    // A trapped core cannot be asked whether the vehicle stands on the ground: then it does not.
    const onGround = !this.#session.core.poisoned && this.#flight.view.isOnGround(this.#now_ms)
    return [
      ...[...this.#leases.values()].map((l) => ({ names: l.contingency(onGround), resource: l.instance.is.uses })),
      ...[...this.#running].map((r) => ({ names: [r.contingency.name], resource: r.resource })),
      ...this.#handovers,
    ].filter(({ names }) => names.length > 0)
  }

  #lastWord(instance: Instance, phase: Phase): void {
    instance.phase = phase
    this.#tellOutcome(instance, Reason.session_changed, undefined)
  }

  // Publishing

  #announce(): void {
    const { version } = this.#options
    const { environment } = this
    this.#publish('status', { v: 1, status: 'online', session: this.#session.id, environment, version }, true)
    this.#publish('catalog', catalogValue(this.#catalog, environment), true)
    this.#tellControl()
  }

  #tellControl(): void {
    const { n, paused, pilotControl, revoked } = this.#control
    const session = this.#session.id
    const value = { v: 1, session, n, paused, pilot_control: pilotControl, revoked, pending: [], uncertain: [] }
    this.#publish('control', value, true)
  }

  #takeSnapshot(now_ms: number): void {
    this.#session.newest = this.#session.core.snapshot(now_ms)
    this.#publish('snapshot', snapshotValue(this.#session, this.#catalog, now_ms, this.#options.wall()), true)
  }

  #publish(topic: string, value: unknown, retain = false): void {
    this.#out.push({ topic, retain, value })
  }

  #log(level: LogEvent['level'], event: string, about: Readonly<Record<string, unknown>>): void {
    this.#options.log?.({ ...about, level, event })
  }
}

type Made = Instance & { readonly prerequisites: Instance[] }

const OPERATOR_VERBS: ReadonlySet<string> = new Set(['pause', 'resume', 'revoke', 'restore', 'clear', 'restart'])

/** What the core, the catalog and the profile are, in one hash: fixed for a session, part of every binding (PROTOCOL 2). */
function environmentOf({ coreHash, catalog }: RuntimeOptions): string {
  const hash = createHash('sha256')
  // The image is the catalog and the profile as the core has them.
  for (const part of [coreHash, catalog.hash, JSON.stringify(catalog.image)]) {
    hash.update(createHash('sha256').update(part).digest())
  }
  return hash.digest('hex')
}

/** The effect of a type that goes to the vehicle. */
function leaseEffect(type: ComponentType): Extract<Effect, LeaseEffect> | undefined {
  const { effect } = type
  return effect.kind === 'command' || effect.kind === 'setpoint' || effect.kind === 'handoff' ? effect : undefined
}

const idOf = (plan: Plan, sequence: number): string | undefined => {
  for (const i of plan.instances) if (i.sequence === sequence) return i.id
  return undefined
}

/** Losses of steps 2 to 4, and an invalid payload: not what is out of scope, and not what has no name of its own. */
function opensObligation(reason: Reason): boolean {
  switch (reason) {
    case Reason.none:
    case Reason.duplicate_id:
    case Reason.unknown_type:
    case Reason.type_not_permitted:
    case Reason.out_of_scope:
    case Reason.evidence_stale:
    case Reason.attempts_exhausted:
    case Reason.prerequisite_withheld:
      return false
    default:
      return true
  }
}

/** Admission names a prerequisite by its position in the response; later reasons name it by its sequence. */
function positionWords(ids: readonly string[], reason: Reason, detail: number): string | undefined {
  const byPosition = reason === Reason.unknown_prerequisite || reason === Reason.prerequisite_not_allowed
  return byPosition ? ids[detail] : undefined
}

/** The candidates that fell because they rest, directly or not, on this one. */
function fallenWith(root: number, { batch }: Question, admitted: readonly Admitted[]): number[] {
  const fallen = new Set([root])
  for (let grown = true; grown; ) {
    grown = false
    for (const [i, { requires }] of batch.candidates.entries()) {
      const withheld = admitted[i]!.reason === Reason.prerequisite_withheld
      if (!withheld || fallen.has(i) || !requires.some((code) => fallen.has(code))) continue
      fallen.add(i)
      grown = true
    }
  }
  fallen.delete(root)
  return [...fallen]
}

/** The number that the table takes for a context message's value, or undefined where it is not of the field's type. */
function contextValue(field: StateField, map: ValueMap): number | undefined {
  const value = map.get('value')
  if (map.get('v') !== 1) return undefined
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? Number(value) : undefined
    case 'enum': {
      const member = typeof value === 'string' ? (field.members ?? []).indexOf(value) : -1
      return member >= 0 ? member : undefined
    }
    case 'integer':
      return Number.isSafeInteger(value) ? (value as number) : undefined
    case 'number':
      return typeof value === 'number' ? value : undefined
  }
}
