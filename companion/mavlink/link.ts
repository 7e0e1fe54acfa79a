// The receiving side of the vehicle's link: finds the autopilot, drops what is not from it, and keeps its messages coming.
//
// Other systems are forwarded onto the same link, so a frame counts by its (system, component) and by nothing else; whoever
// shares the autopilot's ids, or ours, raises an alarm. What is late or repeated is dropped: two ways to one autopilot are one
// link. The clock is the caller's: times come in with the bytes and with `tick`.

import { fieldOf, layout } from '../../src/autopilot/frame.ts'
import type { MessageSource, Profile } from '../../src/autopilot/profile.ts'
import type { Acknowledgement } from '../../src/engine/port.ts'
import { IN_PROGRESS } from '../../src/engine/vehicle/acknowledgement.ts'
import { objectionIn } from '../../src/telemetry/objection.ts'
import type { Report } from '../../src/telemetry/report.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { Harmless } from '../adapter/adapter.ts'
import { DropReport } from './drop.ts'
import type { Recognised } from './endpoint.ts'
import { type Frame, Framer } from './framer.ts'
import { Hearing, type HearingListener } from './hearing.ts'
import { Identity } from './identity.ts'
import type { Preflight } from './preflight.ts'
import type { Refusal, Signing } from './signing.ts'
import { Stale } from './stale.ts'
import { LATE_ms, type News, Timeline } from './timeline.ts'
import { TwinWatch } from './twin.ts'
import { isWhole } from './whole.ts'

export interface LinkListener extends HearingListener {
  /** The autopilot was found: once, and before its first report (PROTOCOL 11). */
  identity(system: number, component: number): void
  /** It has rebooted, and had been up for `up_ms` at `received_ms`. Comes before the first report of the new boot. */
  rebooted(up_ms: number, received_ms: number): void
  report(report: Report, received_ms: number): void
  acknowledge(acknowledgement: Acknowledgement): void
  /** What the autopilot says against arming, in its words. */
  objects?(words: string): void
  /**
   * Who is heard or obeyed is not certain: a second autopilot has the ids of ours, somebody sends as we do, or another speaks
   * in the silence of ours. Once a second at most.
   */
  alarm(text: string): void
  /** Why frames are dropped, for people. Rarely. */
  warn(text: string): void
}

/** The adapter, as far as a link needs it. */
export interface LinkAdapter {
  readonly system: number
  readonly component: number
  address(system: number, component: number): void
  /** These bytes are ours, sent lately: a router may send them back. */
  hasSent(frame: Frame): boolean
  say(message: Harmless, now_ms: number): boolean
}

export interface LinkOptions {
  readonly profile: Profile
  /** MAVLink system id of the vehicle; the first good one where not given. */
  readonly system?: number | undefined
  /** The catalog's fields, numbered as the profile's; the profile's own ages where not given. */
  readonly fields?: readonly { readonly maxAge_ms: number; readonly declared?: boolean }[]
  readonly adapter: LinkAdapter
  readonly listener: LinkListener
  /** URL of the endpoint, for people. */
  readonly endpoint?: string
  /** Bytes come in pieces of any size (TCP), not as datagrams. */
  readonly stream: boolean
  /** With it, only frames that are signed with its key count. */
  readonly signing?: Signing
  /** Reads the autopilot's parameters over this link. */
  readonly preflight?: Preflight
}

const HEARTBEAT = layout('HEARTBEAT').id
const COMMAND_ACK = layout('COMMAND_ACK').id
const PARAM_VALUE = layout('PARAM_VALUE').id
const SET_MESSAGE_INTERVAL = 511
const REQUEST_MESSAGE = 512
/** Nothing of two that were heard as one is taken until only one has been heard for so long. */
const DOUBLED_ms = 3000
/** Two frames that somebody else has sent as we do, this far apart at most, are no accident. */
const RIVAL_ms = 10_000
const ANSWER_ms = 300
const ATTEMPTS_MAX = 3
const ASK_AGAIN_ms = 2000
const ALARM_ms = 1000

const at = {
  command: fieldOf('COMMAND_ACK', 'command').offset,
  result: fieldOf('COMMAND_ACK', 'result').offset,
  target_system: fieldOf('COMMAND_ACK', 'target_system').offset,
  target_component: fieldOf('COMMAND_ACK', 'target_component').offset,
}

export class Link {
  /** Counters of the bytes received. */
  readonly framer: Framer
  /** Good frames of others than the autopilot. */
  foreign = 0
  /** Frames of the autopilot that were older than the newest of their message, or no news. */
  late = 0
  repeated = 0

  readonly #options: LinkOptions
  readonly #identity: Identity
  readonly #timeline = new Timeline()
  #telemetry: Telemetry
  #twins = new TwinWatch()
  /** Two were heard as one: what either says is no state. `alone`: ours has been silent since, so that the other may be the one. */
  #doubled: { readonly since_ms: number; readonly alone: boolean } | undefined
  /** When somebody who is not us last sent as we do. */
  #rival_ms = -Infinity
  #begun_ms: number | undefined
  #now_ms = 0
  readonly #drops: DropReport
  readonly #hearing: Hearing
  readonly #heard_ms = new Map<number, number>()
  readonly #asked_ms = new Map<number, number>()
  /** The one SET_MESSAGE_INTERVAL whose answer is awaited: an ACK does not say which message it is about. */
  #asking: { readonly source: MessageSource; attempts: number; sent_ms: number } | undefined
  #alarmed_ms = -Infinity
  /** When the first of the bytes came that the framer keeps: what stood whole behind them is no younger. */
  #kept_ms = -Infinity
  readonly #stale = new Stale()

  constructor(options: LinkOptions) {
    this.#options = options
    this.framer = new Framer(options.signing)
    this.#drops = new DropReport(options.listener)
    this.#identity = new Identity(options.profile, options.system, {
      warn: (text) => options.listener.warn(text),
      alarm: (text) => this.#alarm(text, this.#now_ms),
    })
    this.#hearing = new Hearing(options)
    this.#telemetry = this.#newTelemetry()
  }

  /**
   * Whether a datagram of a sender not known yet comes from the vehicle: only the HEARTBEAT of an autopilot that the profile
   * flies says so, and of the one that was found before. On a link with a key it must be signed: `fresh` with a time stamp that is
   * taken, `stale` with an older one. An autopilot that lost its clock takes ours once we speak to it; but a frame that is said
   * again has shown already that it is none, and counts once.
   */
  recognises(datagram: Uint8Array): Recognised | undefined {
    const { signing } = this.#options
    const ages: NonNullable<ReturnType<Signing['age']>>[] = []
    const refuse = (frame: Uint8Array): Refusal | undefined => {
      const age = signing!.isSigned(frame) ? signing!.age(frame) : undefined
      if (age === undefined) return 'forged'
      ages.push(age)
      return undefined
    }
    const framer = new Framer(signing && { refuse })
    const frames = framer.datagram(datagram)
    this.#hearing.received(datagram.length, framesOf(framer))
    let recognised: Recognised | undefined
    for (const [i, frame] of frames.entries()) {
      const age = ages[i] ?? 'fresh'
      if (!isWhole(frame)) continue
      if (!this.#identity.recognises(frame)) this.#identity.finds(frame, this.#now_ms)
      else if (age === 'fresh') recognised = 'fresh'
      else if (this.#stale.isNew(age.stale)) recognised ??= 'stale'
    }
    return recognised
  }

  /** False: there was no good frame in it. */
  receive(bytes: Uint8Array, received_ms: number): boolean {
    this.#begun_ms ??= received_ms
    const { framer } = this
    const before = framesOf(framer)
    const frames = this.#options.stream ? framer.stream(bytes) : framer.datagram(bytes)
    this.#hearing.received(bytes.length, framesOf(framer) - before)
    const held = this.#options.stream ? framer.held : 0
    for (const [i, frame] of frames.entries()) this.#take(frame, i < held ? this.#kept_ms : received_ms)
    if (framer.pending <= bytes.length) this.#kept_ms = received_ms
    return frames.length > 0
  }

  /** Asks for the messages that are missing and for parameters, and tells of what was dropped. */
  tick(now_ms: number): void {
    this.#now_ms = now_ms
    this.#drops.tick(this, now_ms)
    this.#hearing.tick(now_ms)
    this.#ask(now_ms)
    if (this.#identity.found) this.#options.preflight?.tick(now_ms)
  }

  #ask(now_ms: number): void {
    if (!this.#identity.found) return
    const asking = this.#asking
    if (asking !== undefined) {
      if (now_ms - asking.sent_ms < ANSWER_ms) return
      if (asking.attempts < ATTEMPTS_MAX) {
        if (this.#request(asking.source, now_ms)) {
          asking.attempts++
          asking.sent_ms = now_ms
        }
        return
      }
      this.#asking = undefined
    }
    const source = this.#options.profile.messages.find((source) => this.#isMissing(source, now_ms))
    if (source === undefined || !this.#request(source, now_ms)) return
    this.#asked_ms.set(source.id, now_ms)
    this.#hearing.asks(source)
    this.#asking = { source, attempts: 1, sent_ms: now_ms }
  }

  #take(frame: Frame, received_ms: number): void {
    this.#now_ms = Math.max(this.#now_ms, received_ms)
    const whole = isWhole(frame)
    if (whole && this.#identity.finds(frame, received_ms)) this.#found(frame)
    if (!this.#identity.has(frame)) {
      this.#passBy(frame, received_ms)
      return
    }
    if (!whole) return
    this.#identity.heard(received_ms)
    const news = this.#timeline.judge(frame, received_ms)
    if (news.kind !== 'late' && news.kind !== 'repeated') this.#hearing.heard(frame.message)
    this.#watch(frame, news, received_ms)
    if (this.#isDoubled(news, received_ms)) return
    if (news.kind === 'late') this.late++
    if (news.kind === 'repeated') this.repeated++
    if (news.kind === 'rebooted') this.#rebooted(news.up_ms, received_ms)
    if (news.kind === 'new' || news.kind === 'rebooted') this.#hear(frame, received_ms)
  }

  /** Looks whether two are heard as one. */
  #watch(frame: Frame, news: News, received_ms: number): void {
    // Ours goes on, or was switched on anew: the other one was no more than old frames that came in one go.
    const isOurs = news.kind === 'rebooted' || (news.kind === 'new' && news.boot_ms !== undefined)
    if (this.#doubled?.alone && isOurs) this.#doubled = undefined
    const twin = this.#twinOf(frame, news, received_ms)
    if (twin === undefined) return
    const alone = news.kind === 'twin' && !news.alternates
    if (!alone) this.#doubled = { since_ms: received_ms, alone }
    else {
      // Believed only where it goes on and ours stays silent; until then nothing is taken of it.
      this.#doubled ??= { since_ms: received_ms, alone }
      if (received_ms - this.#doubled.since_ms < DOUBLED_ms) return
    }
    this.#alarm(`a second autopilot sends as ${frame.system}/${frame.component}: ${twin}`, received_ms)
  }

  #twinOf({ message, payload }: Frame, news: News, received_ms: number): string | undefined {
    if (news.kind === 'twin') return news.text
    if (news.kind !== 'new' && news.kind !== 'late') return undefined
    if (message === HEARTBEAT) return news.kind === 'new' ? this.#twins.heartbeat(payload, received_ms) : undefined
    return news.boot_ms === undefined
      ? undefined
      : this.#twins.timed(message, payload, news.boot_ms, news.kind === 'late')
  }

  #isDoubled(news: News, received_ms: number): boolean {
    const doubled = this.#doubled
    if (doubled === undefined) return false
    if (received_ms - doubled.since_ms < DOUBLED_ms) return true
    // Which line a frame without a time is of, nobody knows.
    if (doubled.alone && news.kind !== 'twin') return true
    this.#doubled = undefined
    this.#timeline.begin()
    if (doubled.alone && news.kind === 'twin') this.#rebooted(news.boot_ms, received_ms)
    else this.#begin()
    return false
  }

  /** What the old boot said of fix, estimate and home does not speak for this one. */
  #rebooted(up_ms: number, received_ms: number): void {
    this.#begin()
    this.#options.listener.rebooted(up_ms, received_ms)
  }

  #hear(frame: Frame, received_ms: number): void {
    const { listener, preflight } = this.#options
    this.#heard_ms.set(frame.message, received_ms)
    if (frame.message === COMMAND_ACK) {
      this.#acknowledged(frame.payload, received_ms)
      return
    }
    if (frame.message === PARAM_VALUE) preflight?.hear(frame.payload)
    const objection = objectionIn(frame.message, frame.payload)
    if (objection !== undefined) listener.objects?.(objection)
    // A heartbeat of another kind is not our vehicle's word.
    if (frame.message === HEARTBEAT && !this.#identity.recognises(frame)) return
    const report = this.#telemetry.apply(frame.message, frame.payload, received_ms)
    if (report.observations.length > 0 || report.target !== undefined) listener.report(report, received_ms)
  }

  /** A frame of somebody else, who is none of our business unless he sends as we do. */
  #passBy(frame: Frame, received_ms: number): void {
    const { adapter } = this.#options
    this.foreign++
    if (frame.component !== adapter.component || frame.system !== adapter.system) return
    if (!this.#identity.found || adapter.hasSent(frame)) return
    // What a process of before has sent may still come back.
    if (received_ms - this.#begun_ms! < LATE_ms) return
    const again = received_ms - this.#rival_ms <= RIVAL_ms
    this.#rival_ms = received_ms
    if (!again) return
    const text = `another program sends as ${frame.system}/${frame.component} on this link: choose another mavlink.component`
    this.#alarm(text, received_ms)
  }

  #alarm(text: string, received_ms: number): void {
    if (received_ms - this.#alarmed_ms < ALARM_ms) return
    this.#alarmed_ms = received_ms
    this.#options.listener.alarm(text)
  }

  #found({ system, component }: Frame): void {
    this.#begin()
    this.#options.adapter.address(system, component)
    this.#options.listener.identity(system, component)
  }

  /** A new boot: nothing is known of it, and all intervals are gone. */
  #begin(): void {
    this.#telemetry = this.#newTelemetry()
    this.#twins = new TwinWatch()
    this.#heard_ms.clear()
    this.#asked_ms.clear()
    this.#asking = undefined
    this.#options.preflight?.begin()
    this.#hearing.begin()
  }

  #newTelemetry(): Telemetry {
    return new Telemetry(this.#options.profile, this.#options.fields)
  }

  #acknowledged(payload: Uint8Array, received_ms: number): void {
    const { adapter, listener } = this.#options
    const system = payload[at.target_system]!
    const component = payload[at.target_component]!
    // 0/0 is for nobody: MAVLink 1 and old autopilots do not say whom they answer, and neither does a frame that was cut.
    if (system !== adapter.system || component !== adapter.component) {
      if (system === 0 && component === 0) this.#hearing.unaddressed()
      return
    }
    const command = payload[at.command]! | (payload[at.command + 1]! << 8)
    const result = payload[at.result]!
    if (command === REQUEST_MESSAGE) return // the message itself is the answer
    if (command !== SET_MESSAGE_INTERVAL) {
      listener.acknowledge({ command, result })
      return
    }
    // Refused or not, the answer is there; whether the message comes is seen by its coming.
    if (result === IN_PROGRESS) return
    if (this.#asking !== undefined) this.#hearing.answers(this.#asking.source, result)
    this.#asking = undefined
    this.#ask(received_ms)
  }

  #isMissing(source: MessageSource, now_ms: number): boolean {
    if (source.interval_us === undefined) return false
    const asked_ms = this.#asked_ms.get(source.id)
    if (asked_ms === undefined) return true
    if (now_ms - asked_ms < ASK_AGAIN_ms) return false
    return now_ms - Math.max(asked_ms, this.#heard_ms.get(source.id) ?? -Infinity) > source.gap_ms
  }

  #request(source: MessageSource, now_ms: number): boolean {
    const { id, interval_us } = source
    if (interval_us === undefined) return false
    return this.#options.adapter.say({ message: 'SET_MESSAGE_INTERVAL', id, interval_us }, now_ms)
  }
}

/** All that came, whatever became of them. */
function framesOf({ decoded, unknown, refused }: Framer): number {
  return Object.values(refused).reduce((sum, count) => sum + count, decoded + unknown)
}
