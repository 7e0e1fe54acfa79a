// A lease: an effect under way on the vehicle, from its crossing to its end (PROTOCOL 8). A command's frames go out once,
// each confirmed before the next; a setpoint's go out at its rate. Anything but allow ends a lease for ever.

import { Kind, Phase, Reason } from '../../../build/abi.ts'
import type { ContingencyName, Shown } from '../../autopilot/profile.ts'
import type { Lease as Effect, EffectStep } from '../../catalog/catalog.ts'
import type { Gate } from '../../core/core.ts'
import type { Instance } from '../plan/plan.ts'
import type { Acknowledgement } from '../port.ts'
import { type Awaiting, IN_PROGRESS, isGood } from '../vehicle/acknowledgement.ts'
import type { Underway } from '../vehicle/takeover.ts'
import { type Flight, stamp } from './flight.ts'

/** How a lease ended. `detail` is the core's number, or words. */
export interface Ending {
  readonly phase: Phase
  readonly reason: Reason
  readonly detail: number | string | undefined
}

/** No ACK for this long: the command may have begun; the state decides. */
const UNANSWERED_MS = 500
/** The longest time between two judgements of any lease; of a setpoint's, and between two of its frames, in periods. */
const GAP_MS = 500
const GAP_PERIODS = 3
/** A refused engagement is tried again with each frame, this long. */
const REFUSED_MS = 1000
/** A target that is not ours, reported this long, is somebody else commanding inside our mode ... */
const FOREIGN_MS = 1000
/** ... also where our own stream takes turns with theirs: time with ours counts back by this much only. */
const OURS_SHARE = 1 / 4

const MAV_RESULT = ['accepted', 'temporarily rejected', 'denied', 'unsupported', 'failed', 'in progress', 'cancelled']
const failed = (reason: Reason, detail?: number | string): Ending => ({ phase: Phase.failed, reason, detail })

/** The frame leaves under the mode guard: it changes the mode, or arms. */
export const needsControl = (step: EffectStep): boolean => step.changesMode || step.arms

export abstract class Lease implements Awaiting {
  readonly instance: Instance
  readonly effect: Effect
  readonly underway: Underway
  protected readonly flight: Flight
  readonly begun_ms: number
  protected judged_ms: number
  /** Of the frame that was last sent with a command. */
  protected sent_ms = Number.NEGATIVE_INFINITY
  /** MAV_CMD of the frame that was last sent with a command. */
  protected awaited: number | undefined
  protected acked = false
  protected refusal: number | undefined
  /** That frame arms. */
  #arms = false
  #foreign = { for_ms: 0, heard_ms: Number.NEGATIVE_INFINITY }

  constructor(flight: Flight, instance: Instance, effect: Effect, now_ms: number) {
    this.flight = flight
    this.instance = instance
    this.effect = effect
    this.begun_ms = now_ms
    this.judged_ms = now_ms
    this.underway = {
      leads: effect.leads,
      endsWithHold: effect.endsWithHold,
      since_ms: undefined,
      confirmed: false,
      armed_ms: undefined,
    }
    flight.takeover.begin(this.underway)
  }

  /** All frames of a command are confirmed. */
  get isConfirmed(): boolean {
    return false
  }

  elapsed_ms(now_ms: number): number {
    return now_ms - this.begun_ms
  }

  answered(ack: Acknowledgement): void {
    if (ack.command !== this.awaited) return // a second answer to an earlier frame
    if (isGood(ack.result)) this.acked = true
    else this.refusal = ack.result
  }

  /** What must be sent, in order, when it ends without being done. `onGround`: known to stand there. */
  abstract contingency(onGround: boolean): readonly ContingencyName[]

  /** `done`, where the type has one and the effect has come far enough for it to be asked. */
  abstract isDone(now_ms: number): boolean

  /** The checks of the next frame, and the frame when it is due. Returns how the lease ended, if it did. */
  advance(barriers: number, now_ms: number): Ending | undefined {
    return this.wait(now_ms) ?? this.proceed(barriers, now_ms)
  }

  /** Nothing is checked and nothing leaves, but time passes: nobody knows who has the vehicle. */
  hold(now_ms: number): Ending | undefined {
    return this.wait(now_ms)
  }

  protected wait(now_ms: number): Ending | undefined {
    const gap_ms = now_ms - this.judged_ms
    this.judged_ms = now_ms
    return gap_ms >= this.gap_ms ? failed(Reason.tick_missed, `${Math.round(gap_ms)} ms`) : undefined
  }

  /**
   * A target that the autopilot reports. True once one that is not ours was reported for a second of this lease: somebody else
   * commands inside our mode.
   */
  isForeign(isOurs: boolean, now_ms: number): boolean {
    if (!this.steers) {
      this.#foreign = { for_ms: 0, heard_ms: Number.NEGATIVE_INFINITY }
      return false
    }
    const { for_ms, heard_ms } = this.#foreign
    // Reports that come one by one, long apart, tell of no one who commands all the time.
    const since_ms = now_ms - heard_ms >= FOREIGN_MS ? 0 : now_ms - heard_ms
    const passed_ms = for_ms + since_ms * (isOurs ? -OURS_SHARE : 1)
    this.#foreign = { for_ms: Math.max(0, passed_ms), heard_ms: now_ms }
    return !isOurs && passed_ms >= FOREIGN_MS
  }

  /** The vehicle goes where this lease wants it to, in the mode in which others can send it elsewhere. */
  protected abstract get steers(): boolean

  /** The longest time between two judgements. */
  protected abstract readonly gap_ms: number
  protected abstract proceed(barriers: number, now_ms: number): Ending | undefined

  /** Its end, whatever it was: answers that are still out belong to nobody. */
  finish(now_ms: number): void {
    this.flight.acks.abandon(this, now_ms)
    this.flight.takeover.finish(this.underway)
  }

  protected askCore(frame: number, barriers: number, now_ms: number): Gate {
    return this.flight.core.frame(this.instance.sequence, frame, barriers, now_ms, stamp(now_ms))
  }

  /** Sends a frame of a command under the mode guard, and notes what it may bring about. */
  protected command(step: EffectStep, barriers: number, now_ms: number): Ending | undefined {
    const { takeover } = this.flight
    if (needsControl(step) && !takeover.inControl(now_ms)) return failed(Reason.not_in_control)
    const verdict = this.askCore(step.frame, barriers, now_ms)
    if (verdict.decision !== 'allow') return failed(verdict.reason, verdict.detail)
    return this.flight.port.send(verdict.frame!) ? this.commanded(step, now_ms) : failed(Reason.link_lost)
  }

  /** The mode guard waits until the mode has been heard behind a stall; the limits of what went before go on. */
  protected mustWait(step: EffectStep, now_ms: number): boolean {
    return needsControl(step) && this.flight.takeover.awaitsMode(now_ms)
  }

  /** A frame with a command has left. */
  protected commanded(step: EffectStep, now_ms: number): undefined {
    this.sent_ms = now_ms
    this.awaited = step.command
    this.acked = false
    this.refusal = undefined
    this.flight.acks.sent(step.command, this)
    if (step.changesMode) this.flight.takeover.commands(this.underway, now_ms)
    this.#arms = step.arms
    if (step.arms) this.underway.armed_ms = now_ms
  }

  /** The state shows it: by any fresh report once it is acknowledged, else by one received after the frame left. */
  protected isShown(shown: Shown, now_ms: number): boolean {
    return this.flight.view.shows(shown, this.acked ? Number.NEGATIVE_INFINITY : this.sent_ms, now_ms)
  }

  protected refused(): Ending | undefined {
    if (this.refusal === undefined) return undefined
    if (this.#arms) this.underway.armed_ms = undefined
    return failed(Reason.refused, MAV_RESULT[this.refusal] ?? `result ${this.refusal}`)
  }
}

export class CommandLease extends Lease {
  #step = 0
  #sends = 1
  #confirmedAll = false
  protected readonly gap_ms = GAP_MS

  /** The first frame has just left. */
  constructor(flight: Flight, instance: Instance, effect: Effect, now_ms: number) {
    super(flight, instance, effect, now_ms)
    this.commanded(this.#current, now_ms)
  }

  get #current(): EffectStep {
    return this.effect.steps[this.#step]!
  }

  /** What cannot be undone is not taken for done because it has begun. */
  override answered(ack: Acknowledgement): void {
    if (!this.effect.irreversible || ack.result !== IN_PROGRESS) super.answered(ack)
  }

  /** Until its last frame is confirmed that is the undo, afterwards `otherwise`. */
  contingency(onGround: boolean): readonly ContingencyName[] {
    const { undo, otherwise } = this.effect
    const steps = onGround ? undo.ground : undo.air
    if (!this.#confirmedAll && steps.length > 0) return steps
    return otherwise === 'none' ? [] : [otherwise]
  }

  override get isConfirmed(): boolean {
    return this.#confirmedAll
  }

  /** A take-off inside the setpoint mode. */
  protected get steers(): boolean {
    return this.#confirmedAll && this.effect.leads.includes(this.flight.catalog.profile.engagement.mode)
  }

  isDone(now_ms: number): boolean {
    if (!this.#confirmedAll) return false
    if (this.instance.is.done === undefined) return true
    return this.flight.core.done(this.instance.sequence, this.elapsed_ms(now_ms), now_ms)
  }

  protected proceed(barriers: number, now_ms: number): Ending | undefined {
    // Also after "in progress", which confirms and is not the last word.
    const refused = this.refused()
    if (refused) return refused
    if (this.#confirmedAll) return undefined
    if (!this.#isConfirmed(now_ms)) return this.#waitOn(barriers, now_ms)
    const next = this.effect.steps[this.#step + 1]
    if (next !== undefined && this.mustWait(next, now_ms)) return undefined
    // It goes on by what the state shows: an ACK that still comes answers nobody.
    if (!this.acked) this.flight.acks.abandon(this, now_ms)
    if (next === undefined) {
      this.#confirmedAll = true
      return undefined
    }
    this.#step++
    this.#sends = 1
    return this.command(this.#current, barriers, now_ms)
  }

  #isConfirmed(now_ms: number): boolean {
    const { shows } = this.#current
    if (this.acked) return !this.#awaitsShown || shows === undefined || this.isShown(shows, now_ms)
    return now_ms - this.sent_ms >= UNANSWERED_MS && shows !== undefined && this.isShown(shows, now_ms)
  }

  /** The next frame, and a handoff's end, wait until the state shows this one. */
  get #awaitsShown(): boolean {
    return this.#current.awaits_ms > 0 || this.instance.is.kind === Kind.handoff
  }

  #waitOn(barriers: number, now_ms: number): Ending | undefined {
    const step = this.#current
    const waited_ms = now_ms - this.sent_ms
    if (this.acked) {
      const longest_ms = Math.max(step.awaits_ms, UNANSWERED_MS)
      return waited_ms >= longest_ms ? failed(Reason.unacknowledged, 'not shown') : undefined
    }
    // There is nothing to undo or to send again: its last word is awaited up to `within` (a gripper takes seconds).
    if (this.effect.irreversible) return undefined
    if (waited_ms >= UNANSWERED_MS) return failed(Reason.unacknowledged)
    const each_ms = UNANSWERED_MS / (this.effect.retransmit + 1)
    if (this.#sends > this.effect.retransmit || waited_ms < each_ms) return undefined
    if (step.takesOff && !this.flight.view.isOnGround(now_ms)) return undefined
    if (this.mustWait(step, now_ms)) return undefined
    this.#sends++
    return this.command(step, barriers, now_ms)
  }
}

/** What a setpoint lease needs to know of its type beyond a command's. */
export type SetpointEffect = Effect & {
  readonly period_ms: number
  readonly dwell_ms: number
  readonly engagement: EffectStep
}

const STREAM = 0

export class SetpointLease extends Lease {
  readonly #period_ms: number
  readonly #dwell_ms: number
  readonly #engagement: EffectStep
  readonly #framesBefore: number
  readonly #shown_ms: number
  readonly #shows: Shown
  protected readonly gap_ms: number
  #frames = 1
  #framed_ms: number
  #due_ms: number
  #stage: 'warming' | 'commanded' | 'engaged'
  #firstCommand_ms = Number.POSITIVE_INFINITY
  #unanswered = false
  #doneSince_ms: number | undefined

  /** The first frame has just left. */
  constructor(flight: Flight, instance: Instance, effect: SetpointEffect, now_ms: number) {
    super(flight, instance, effect, now_ms)
    const { engagement } = flight.catalog.profile
    this.#period_ms = effect.period_ms
    this.#dwell_ms = effect.dwell_ms
    this.#engagement = effect.engagement
    this.#framesBefore = engagement.framesBefore
    this.#shown_ms = engagement.shown_ms
    this.#shows = { mode: engagement.mode }
    this.gap_ms = Math.min(GAP_PERIODS * effect.period_ms, GAP_MS)
    this.#framed_ms = now_ms
    this.#due_ms = now_ms + effect.period_ms
    this.#stage = 'warming'
    if (flight.takeover.isEngaged(now_ms)) {
      // One goto after another: no mode command, and every end is by contingency.
      flight.takeover.commands(this.underway, now_ms)
      this.underway.confirmed = true
      this.#stage = 'engaged'
    }
  }

  protected get steers(): boolean {
    return this.#stage === 'engaged'
  }

  /** What nobody looked at for a while has not held without a break. */
  override hold(now_ms: number): Ending | undefined {
    this.#doneSince_ms = undefined
    return super.hold(now_ms)
  }

  /** Before the mode command nothing moves, so nothing needs to be stopped. */
  contingency(): readonly ContingencyName[] {
    return this.#stage === 'warming' || this.effect.otherwise === 'none' ? [] : [this.effect.otherwise]
  }

  isDone(now_ms: number): boolean {
    if (this.#stage !== 'engaged') return false
    const done = this.flight.core.done(this.instance.sequence, this.elapsed_ms(now_ms), now_ms)
    if (!done) this.#doneSince_ms = undefined
    else this.#doneSince_ms ??= now_ms
    return this.#doneSince_ms !== undefined && now_ms - this.#doneSince_ms >= this.#dwell_ms
  }

  protected proceed(barriers: number, now_ms: number): Ending | undefined {
    // Judged at every step, sent when due.
    const verdict = this.askCore(STREAM, barriers, now_ms)
    if (verdict.decision !== 'allow') return failed(verdict.reason, verdict.detail)
    if (now_ms < this.#due_ms) return this.#engage(false, barriers, now_ms)
    if (now_ms - this.#framed_ms >= GAP_PERIODS * this.#period_ms) return failed(Reason.tick_missed, 'no frame')
    const late_ms = now_ms - this.#due_ms
    // The schedule does not drift: the next frame is due a whole number of periods after the first.
    while (this.#due_ms <= now_ms) this.#due_ms += this.#period_ms
    if (late_ms > this.#period_ms / 2) return this.#engage(false, barriers, now_ms) // a late tick sends nothing
    if (!this.flight.port.send(verdict.frame!)) return failed(Reason.link_lost)
    this.#frames++
    this.#framed_ms = now_ms
    return this.#engage(true, barriers, now_ms)
  }

  #engage(sent: boolean, barriers: number, now_ms: number): Ending | undefined {
    if (this.#stage === 'engaged') return this.#answer(now_ms)
    if (this.#stage === 'warming') {
      return sent && this.#frames >= this.#framesBefore ? this.#commandMode(barriers, now_ms) : undefined
    }
    if (this.refusal !== undefined) {
      if (now_ms - this.#firstCommand_ms >= REFUSED_MS) return this.refused()
      return sent ? this.#commandMode(barriers, now_ms) : undefined
    }
    if (this.isShown(this.#shows, now_ms)) {
      this.underway.confirmed = true
      this.#stage = 'engaged'
      return undefined
    }
    const longest_ms = this.acked ? this.#shown_ms : UNANSWERED_MS
    if (now_ms - this.sent_ms < longest_ms) return undefined
    return failed(Reason.unacknowledged, this.acked ? 'not shown' : undefined)
  }

  #commandMode(barriers: number, now_ms: number): Ending | undefined {
    if (this.mustWait(this.#engagement, now_ms)) return undefined // with a later frame
    const ended = this.command(this.#engagement, barriers, now_ms)
    if (ended) return ended
    this.#stage = 'commanded'
    this.#firstCommand_ms = Math.min(this.#firstCommand_ms, now_ms)
    return undefined
  }

  /** Engaged by what the state shows; an ACK that never comes must not be taken for another's. */
  #answer(now_ms: number): undefined {
    if (this.acked || this.#unanswered || now_ms - this.sent_ms < UNANSWERED_MS) return
    this.#unanswered = true
    this.flight.acks.abandon(this, now_ms)
  }
}
