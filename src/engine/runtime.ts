// The engine: inputs in, effects out, no I/O, no clock, no timers (PROTOCOL 2 to 12). Every call is one whole step; the order
// within a step stands in `#settle`, and most sentences of PROTOCOL 8 are about that order.
//
// Only the core allows, and what it allows goes through `port.send` before the next line runs: nothing waits between the
// gate and the wire. What is to be published is returned.

import { createHash } from 'node:crypto'
import { Phase, Reason } from '../../build/abi.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { agentCatalogValue, catalogValue, MESSAGE_BYTES_MAX } from '../catalog/published.ts'
import type { CoreFactory } from '../core/core.ts'
import type { Report } from '../telemetry/report.ts'
import type { Owed } from './dispatch/aftermath.ts'
import { readContext } from './operator/context.ts'
import { Control } from './operator/control.ts'
import { type Order, orderWords, readOrder, sayerOf } from './operator/operator.ts'
import { READY } from './plan/grounds.ts'
import { fitted } from './plan/message.ts'
import type { Instance } from './plan/plan.ts'
import { type LogEvent, Publisher } from './plan/publisher.ts'
import { snapshotValue } from './plan/snapshot.ts'
import type { Acknowledgement, Journal, JournalEntry, Port, Publication } from './port.ts'
import { beginRound, type Round } from './round.ts'
import type { Policy } from './rules/policy.ts'
import { Objections } from './vehicle/objection.ts'
import { Silence } from './vehicle/silence.ts'
import { Stall } from './vehicle/stall.ts'
import type { Takeover } from './vehicle/takeover.ts'

export type { LogEvent } from './plan/publisher.ts'

/** What a runtime is made of, once for the process. None of it is called but within a call of the runtime. */
export interface RuntimeOptions {
  readonly catalog: Catalog
  /** Makes a core for each session: `loadCore`. */
  readonly core: CoreFactory
  /** SHA-256 of the core's module, hex: `CORE_HASH`. Part of the environment. */
  readonly coreHash: string
  /** The only way to the vehicle. */
  readonly port: Port
  readonly journal: Journal
  /** Rules beside the catalog (PROTOCOL 13). */
  readonly policy?: Policy
  /** 8 random bytes, cryptographically so: a session's id. */
  readonly random: () => Uint8Array
  /** Wall-clock ms: informative, no decision rests on it. */
  readonly wall: () => number
  /** What `status` says runs here. */
  readonly version: string
  /** Takes what happens, for an investigation: plain values, one call an event. */
  readonly log?: (event: LogEvent) => void
}

/** Between two requests of the mode, ms. */
const ASK_MS = 100
/** So many `control` in which only what is pending differs are told in one second; the newest is always told in the end. */
const PENDING_TOLD_MAX = 4

/** Of `pending` in `control`: its key and the head of its list. */
const PENDING_BYTES = 16

/** Why a session ended. */
type SessionEnd = 'restart' | 'trap' | 'reboot'

/**
 * One vehicle's engine. Every input is one call with its time, in ms of one monotonic clock that also counts a suspend, never
 * earlier than the call before; it returns what is to be published, in order, and has sent through the port what was to be sent.
 * `tick` is due every 10 ms: three periods of a setpoint without one end it, and so do 500 ms anything that flies; a step 100 ms
 * after the last one ends a stall, behind which nothing that changes the mode leaves before the mode was heard (PROTOCOL 8).
 * What is thrown is a mistake of the caller's, or ours: end the process, its successor stops what still flies (PROTOCOL 11).
 */
export class Runtime {
  /** SHA-256 over core, catalog, rules and profile: fixed for the process, part of every binding (PROTOCOL 2). */
  readonly environment: string
  readonly #options: RuntimeOptions
  readonly #catalog: Catalog
  readonly #control: Control
  readonly #publisher: Publisher
  readonly #stall = new Stall()
  #asked_ms = Number.NEGATIVE_INFINITY
  readonly #silence: Silence
  readonly #objections = new Objections()
  #round: Round
  #identity: { readonly system: number; readonly component: number } | undefined
  #stopping = false
  #preflight: string | undefined
  #healthy = true
  /** Which `control` was published last, and how often for what is pending alone since when. */
  #told = { n: -1, session: '', changes: 0, since_ms: Number.NEGATIVE_INFINITY, times: 0 }
  /** Of the last step that was judged whole. */
  #now_ms = 0

  constructor(options: RuntimeOptions) {
    this.#options = options
    this.#catalog = options.catalog
    this.#silence = new Silence(options.catalog)
    this.#publisher = new Publisher(options.catalog, options.wall, options.log)
    this.#control = new Control(options.journal, (why) => this.#unsaved(why))
    this.environment = environmentOf(options)
    this.#round = this.#begin()
  }

  /** 16 hex digits. */
  get session(): string {
    return this.#round.session.id
  }

  /** The last step was carried out whole, without a trap of the core. */
  get healthy(): boolean {
    return this.#healthy
  }

  /** No effect is under way. */
  get settled(): boolean {
    return this.#round.dispatch.leases.length === 0 && !this.#round.aftermath.isRunning
  }

  // Inputs. Each applies itself, then everything that follows from it, and returns what is to be published.

  /** Once, before any other call: says who is there. */
  start(now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#announce()
      // What people have decided outlives a restart; whoever starts it must not have to look for why nothing moves.
      const { paused, pilotControl: pilot_control, revoked, intents } = this.#control
      const { uncertain } = intents
      if (!paused && !pilot_control && revoked.length === 0 && uncertain.length === 0) return
      this.#publisher.log('warn', 'held from before', { paused, pilot_control, revoked, uncertain })
    })
  }

  /** The autopilot was found. Throws for another than before: there is one for as long as the process lives (PROTOCOL 11). */
  connected(system: number, component: number, now_ms: number): Publication[] {
    const known = this.#identity
    if (known !== undefined && (known.system !== system || known.component !== component)) {
      throw new Error(`the vehicle is ${known.system}/${known.component}, not ${system}/${component}`)
    }
    return this.#step(now_ms, () => {
      this.#identity = { system, component }
      this.#round.session.core.target(system, component)
    })
  }

  /**
   * The autopilot has rebooted and has now been up for `up_ms`: a new session. Whoever reads the link decides that, on
   * evidence that agrees with itself (PROTOCOL 11).
   */
  rebooted(up_ms: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#renew('reboot', now_ms, up_ms))
  }

  /** What a message of the autopilot says, received at `received_ms`. */
  observe(report: Report, received_ms: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#silence.heard(received_ms)
      for (const { field, value } of report.observations) this.#observe(field, value, received_ms, now_ms)
      const { target } = report
      if (target !== undefined && this.#round.dispatch.isForeign(target, now_ms)) this.#round.dispatch.takenOver(now_ms)
    })
  }

  /**
   * What the autopilot's parameters speak against setpoints, in words for whoever can set them; undefined where nothing does.
   * It stands over sessions: no setpoint crosses, and its denial says why.
   */
  preflight(problem: string | undefined, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#preflight = problem
    })
  }

  /** What the autopilot says against arming, in its own words: the detail of what is refused because it is not ready has it. */
  objects(words: string, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      if (this.#objections.say(words, now_ms)) this.#publisher.log('info', 'autopilot objects to arming', { words })
    })
  }

  /** Something about the vehicle that people should know: a notice, and nothing else. */
  warn(kind: string, text: string, now_ms: number, severity = 'warning'): Publication[] {
    return this.#step(now_ms, () => this.#publisher.notice(undefined, { kind, severity, text }))
  }

  /**
   * Who is heard or obeyed on the link is not certain any more: a second autopilot, or somebody who sends as we do. Leases end
   * with their contingency, and no action crosses until the operator resumes.
   */
  alarm(text: string, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#round.dispatch.alarm(text, now_ms))
  }

  acknowledge(ack: Acknowledgement, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#silence.heard(now_ms)
      this.#round.flight.acks.deliver(ack, now_ms)
    })
  }

  /** A `context/<field>` message: what the ground sets (PROTOCOL 2). */
  context(name: string, bytes: Uint8Array, retained: boolean, received_ms: number, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      const message = { name, bytes, retained }
      const context = readContext(this.#catalog, this.#round.session.core, message, now_ms)
      if (typeof context === 'object') this.#observe(context.field, context.value, received_ms, now_ms)
      else if (context !== undefined) this.#refuse('context', name, context)
    })
  }

  /** A `response/<agent>` message (PROTOCOL 4 to 6). A trap revokes the agent. */
  receive(agent: string, bytes: Uint8Array, retained: boolean, now_ms: number): Publication[] {
    return this.#step(
      now_ms,
      () => {
        if (!this.#stopping) this.#round.admission.receive(agent, bytes, retained, now_ms)
      },
      agent,
    )
  }

  /** An `operator/<verb>` message (PROTOCOL 10). */
  operate(verb: string, bytes: Uint8Array, retained: boolean, now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      const { session, flight } = this.#round
      const order = readOrder(this.#catalog, session, this.#control, flight.consents, { verb, bytes, retained })
      const by = sayerOf(bytes)
      if (typeof order === 'object') this.#obey(order, by, now_ms)
      else this.#refuse('operator', verb, order, by)
    })
  }

  /**
   * The journal has made this entry durable, or a newer one that holds all of it; `problem` says why it could not. What is
   * irreversible waits for it (PROTOCOL 8); nothing else does.
   */
  journalled(entry: JournalEntry, problem: string | undefined, now_ms: number): Publication[] {
    return this.#step(now_ms, () => this.#control.journalled(entry, problem))
  }

  /** What a trusted person said and the engine does not take is told to people, under the topic on which it came. */
  #refuse(kind: 'context' | 'operator', name: string, why: string, by?: string): void {
    this.#publisher.log('warn', `${kind} refused`, { name, why, by })
    this.#publisher.notice(undefined, { kind, severity: 'warning', text: `${kind}/${name} refused: ${why}` })
  }

  #tellFlaw(why: string): void {
    this.#publisher.notice(undefined, {
      kind: 'operator',
      severity: 'warning',
      text: `operator/pause taken, though ${why}`,
    })
  }

  #unsaved(why: string): void {
    this.#publisher.log('error', 'journal', { why })
    const text = `not on the disk: ${why}; it holds until the companion ends, and nothing irreversible crosses`
    this.#publisher.notice(undefined, { kind: 'journal', severity: 'critical', text })
  }

  /** Time has passed: every 10 ms, whatever else was called. */
  tick(now_ms: number): Publication[] {
    return this.#step(now_ms, () => undefined)
  }

  /** The process is about to end: leases end with their contingency. Tick on until `settled`. */
  stop(now_ms: number): Publication[] {
    return this.#step(now_ms, () => {
      this.#stopping = true
      this.#round.dispatch.shutDown(now_ms)
    })
  }

  // The step

  /** One input, whole. A trap poisons the core and is a verdict: everything is denied and a new session begins. */
  #step(now_ms: number, apply: () => void, agent?: string): Publication[] {
    this.#stall.step(now_ms)
    try {
      apply()
      this.#settle(now_ms)
      this.#now_ms = now_ms
      this.#healthy = true
    } catch (error) {
      const { poisoned } = this.#round.session.core
      // What an agent said costs that agent and the session, wherever it broke off, and never the process.
      if (!poisoned && agent === undefined) throw error
      this.#healthy = false
      this.#publisher.log('error', poisoned ? 'core trapped' : 'step broken off', { error: String(error), agent })
      // G5: whoever fed the core what it could not judge may not try again before the operator has looked.
      if (agent !== undefined && this.#round.session.speakers.has(agent)) this.#control.revoke(agent)
      this.#renew('trap', this.#now_ms)
    } finally {
      // Behind the frames of this step: no disk is on the way of a stop.
      this.#control.save(now_ms)
    }
    this.#tellControl(now_ms)
    return this.#publisher.take()
  }

  /** What follows from any input, in this order (PROTOCOL 8). */
  #settle(now_ms: number): void {
    const round = this.#round
    const { flight, dispatch, aftermath, ledger, schedule } = round
    // Before anything else.
    if (flight.takeover.judge(now_ms)) dispatch.takenOver(now_ms)
    this.#askForMode(now_ms)
    this.#judgeOrphan(now_ms)
    if (round.changed && !flight.takeover.doubted) {
      dispatch.enforcement?.happened('state_change', undefined, now_ms)
      round.changed = false
    }
    dispatch.judgeLeases(now_ms)
    aftermath.advance(now_ms)
    dispatch.offerAll(now_ms) // all `done` have been judged
    aftermath.settle(now_ms) // `then` is decided last
    if (dispatch.leases.length === 0) aftermath.restOnGround(now_ms)
    this.#control.judgeJournal(now_ms)
    const finished = ledger.finished()
    dispatch.enforcement?.judgeFinished(finished, now_ms)
    ledger.tidy(now_ms)
    if (schedule.isDue(now_ms)) this.#takeSnapshot(now_ms)
  }

  /** A mode that nothing explains is asked for again, and behind a stall nothing that changes the mode leaves before it is heard. */
  #askForMode(now_ms: number): void {
    const { takeover, view, port } = this.#round.flight
    if (now_ms - this.#asked_ms < ASK_MS) return
    if (!takeover.doubted && !takeover.awaitsMode(now_ms) && !view.awaitsMode(now_ms)) return
    this.#asked_ms = now_ms
    port.ask?.('mode')
  }

  /** A session that finds the vehicle armed and in the setpoint mode stops what nobody streams to any more (PROTOCOL 11). */
  #judgeOrphan(now_ms: number): void {
    const round = this.#round
    if (round.orphanJudged) return
    const { flight, aftermath } = round
    const seen = flight.view.mode(now_ms)
    if (seen === undefined || !flight.view.isArmed(now_ms)) return
    round.orphanJudged = true
    const { engagement, orphaned } = this.#catalog.profile
    const found = seen.mode === engagement.mode && flight.takeover.foundEngaged
    if (!found || this.#control.pilotControl || aftermath.isRunning) return
    this.#publisher.log('warn', 'found the vehicle flying to setpoints of an older session', {})
    aftermath.startAlone([orphaned], now_ms)
  }

  #observe(field: number, value: number, received_ms: number, now_ms: number): void {
    const { core } = this.#round.session
    const { name, continuous, declared } = this.#catalog.fields[field]!
    if (name === READY && value === 1) this.#objections.clear()
    if (continuous || !declared) return core.observe(field, value, received_ms)
    const before = core.read(field, now_ms).version
    core.observe(field, value, received_ms)
    if (core.read(field, now_ms).version === before) return
    this.#round.schedule.discreteChange()
    this.#round.changed = true
  }

  #obey(order: Order, by: string | undefined, now_ms: number): void {
    this.#publisher.log('info', 'order', { ...orderWords(order), by })
    switch (order.verb) {
      case 'pause':
        this.#control.pause()
        if (order.flaw !== undefined) this.#tellFlaw(order.flaw)
        return
      case 'resume':
        this.#round.flight.takeover.resumed(now_ms)
        return this.#control.resume()
      case 'revoke':
        this.#control.revoke(order.agent)
        return this.#round.dispatch.revoke(this.#round.session.speakers.get(order.agent)!)
      case 'restore':
        return this.#control.restore(order.agent)
      case 'clear':
        return this.#clear(order.type)
      case 'approve':
      case 'refuse':
        return this.#round.dispatch.answer(order.consent, order.verb === 'approve', now_ms)
      case 'restart':
        return this.#renew('restart', now_ms)
    }
  }

  /** A person has looked: one more attempt at the type for every agent, and what was uncertain is not any more. */
  #clear(name: string): void {
    const type = this.#catalog.typeNumbers.get(name)!
    for (const speaker of this.#round.session.speakers.values()) speaker.grant(type)
    this.#control.intents.clear(name)
    this.#control.changed()
  }

  // Sessions (PROTOCOL 11)

  /** `before` is the takeover of the session that ends, where the vehicle is still the same. */
  #begin(before?: Takeover): Round {
    const { environment } = this
    return beginRound(
      {
        ...this.#options,
        environment,
        control: this.#control,
        publisher: this.#publisher,
        stall: this.#stall,
        identity: this.#identity,
        silence: this.#silence,
        preflight: () => this.#preflight,
        objections: () => this.#objections.words,
      },
      before,
    )
  }

  /**
   * Everything ends, and a new session begins with every field unknown. It sends the contingencies of the leases that it
   * ended, but not to a vehicle that has been up for less time: what was under way is not there any more.
   */
  #renew(why: SessionEnd, now_ms: number, up_ms?: number): void {
    const { session, ledger, flight } = this.#round
    const owed = this.#owed(now_ms, up_ms)
    const goesOn = why !== 'reboot' || owed.length > 0
    for (const speaker of session.speakers.values()) speaker.plan?.obligations.closeAll('ended')
    for (const instance of ledger.live) this.#lastWord(instance)
    ledger.endSession()
    if (why === 'reboot') this.#objections.clear()
    this.#round = this.#begin(goesOn ? flight.takeover : undefined)
    this.#round.orphanJudged = why === 'reboot'
    this.#round.aftermath.owe(owed)
    this.#publisher.log('warn', 'new session', { why, session: this.session })
    this.#announce()
  }

  /** A trapped core cannot be asked whether the vehicle stands on the ground: then it does not. */
  #owed(now_ms: number, up_ms?: number): Owed[] {
    const { session, flight, dispatch } = this.#round
    return dispatch.owed(!session.core.poisoned && flight.view.isOnGround(this.#now_ms), now_ms, up_ms)
  }

  /** The old core is not asked any more: it may be poisoned. */
  #lastWord(instance: Instance): void {
    // With a lease its first frame has left, even if the core trapped before that could be said.
    const crossed = instance.phase !== Phase.retained || instance.lease !== undefined
    const { intents } = this.#control
    if (!crossed) intents.settle(instance)
    instance.phase = !crossed ? Phase.blocked : intents.isOpen(instance) ? Phase.uncertain : Phase.failed
    intents.doubt(instance)
    this.#publisher.outcome(instance, Reason.session_changed, undefined)
    instance.plan.ended(instance, Reason.session_changed, undefined)
  }

  // What is retained on the broker

  #announce(): void {
    const { environment, session } = this
    const { version } = this.#options
    this.#publisher.publish('status', { v: 1, status: 'online', session, environment, version }, true)
    this.#publisher.publish('catalog', catalogValue(this.#catalog, environment), true)
    for (const agent of this.#catalog.agents) {
      this.#publisher.publish(`catalog/${agent.name}`, agentCatalogValue(this.#catalog, agent, environment), true)
    }
  }

  /**
   * `control`, when anything in it has changed. What is pending does not count: an answer names its digest, and an agent that
   * asks as fast as it may must not outrun whoever decides about something else. It is told four times a second at most.
   */
  #tellControl(now_ms: number): void {
    const { session } = this
    const { consents } = this.#round.flight
    const { n } = this.#control
    const { changes } = consents
    const told = this.#told
    const isSame = told.n === n && told.session === session
    const { since_ms, times } = now_ms - told.since_ms < 1000 ? told : { since_ms: now_ms, times: 0 }
    if (isSame && (told.changes === changes || times === PENDING_TOLD_MAX)) return
    this.#told = { n, session, changes, since_ms, times: isSame ? times + 1 : times }
    const { paused, pilotControl: pilot_control, revoked, intents } = this.#control
    const { uncertain } = intents
    const shown = consents.pending.map((consent) => consents.shown(consent, now_ms, this.#options.wall()))
    const most = shown.reduce((room, { bytes }) => room - bytes, MESSAGE_BYTES_MAX - PENDING_BYTES)
    const value = { v: 1, session, n, paused, pilot_control, revoked, uncertain }
    const pending = shown.map(({ words }) => words)
    this.#publisher.publish('control', { pending, ...fitted(value, ['uncertain', 'revoked'], most) }, true)
  }

  #takeSnapshot(now_ms: number): void {
    const { session } = this.#round
    session.newest = session.core.snapshot(now_ms)
    this.#publisher.publish('snapshot', snapshotValue(session, this.#catalog, now_ms, this.#options.wall()), true)
  }
}

function environmentOf({ coreHash, catalog, policy }: RuntimeOptions): string {
  const hash = createHash('sha256')
  // The image is the catalog and the profile as the core has them.
  for (const part of [coreHash, catalog.hash, policy?.hash ?? '', JSON.stringify(catalog.image)]) {
    hash.update(createHash('sha256').update(part).digest())
  }
  return hash.digest('hex')
}
