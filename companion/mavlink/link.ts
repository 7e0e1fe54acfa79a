// The receiving side of the vehicle's link: finds the autopilot, drops what is not from it, and keeps its messages coming.
//
// Other systems are forwarded onto the same link, so a frame counts by its (system, component) and by nothing else; whoever
// shares the autopilot's ids, or ours, raises an alarm. The clock is the caller's: times come in with the bytes and with `tick`.

import { fieldOf, layout } from '../../src/profile/frame.ts'
import type { MessageSource, Profile } from '../../src/profile/profile.ts'
import { Telemetry } from '../../src/profile/telemetry.ts'
import { IN_PROGRESS } from '../../src/protocol/acknowledgement.ts'
import type { Acknowledgement, Report } from '../../src/protocol/port.ts'
import { BootWatch } from '../../src/protocol/session.ts'
import type { Harmless } from '../adapter/adapter.ts'
import { DropReport } from './drop.ts'
import { type Frame, Framer } from './framer.ts'
import type { Preflight } from './preflight.ts'
import type { Signing } from './signing.ts'
import { TwinWatch } from './twin.ts'

export interface LinkListener {
  /** The autopilot was found, or another one has taken its place (PROTOCOL 11). Comes before its first report. */
  identity(system: number, component: number): void
  report(report: Report, received_ms: number): void
  acknowledge(acknowledgement: Acknowledgement): void
  /** Who is heard or obeyed is not certain: a second autopilot has the ids of ours, or somebody sends as we do. Once a second at most. */
  alarm(text: string): void
  /** Why frames are dropped, for people. Rarely. */
  warn(text: string): void
}

/** The adapter, as far as a link needs it. */
export interface LinkAdapter {
  readonly system: number
  readonly component: number
  address(system: number, component: number): void
  say(message: Harmless, now_ms: number): boolean
}

export interface LinkOptions {
  readonly profile: Profile
  /** The catalog's fields, numbered as the profile's; the profile's own ages where not given. */
  readonly fields?: readonly { readonly maxAge_ms: number }[]
  readonly adapter: LinkAdapter
  readonly listener: LinkListener
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
/** Another autopilot may take the place of one that has been silent for so long. */
const SILENCE_ms = 3000
const ANSWER_ms = 300
const ATTEMPTS_MAX = 3
const ASK_AGAIN_ms = 2000
const ALARM_ms = 1000

const at = {
  autopilot: fieldOf('HEARTBEAT', 'autopilot').offset,
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

  readonly #options: LinkOptions
  #telemetry: Telemetry
  #autopilot: { readonly system: number; readonly component: number; heard_ms: number } | undefined
  #boot = new BootWatch()
  #twins = new TwinWatch()
  /** Two were heard as one: what either says is no state. */
  #doubled_ms = -Infinity
  /** Systems of which somebody has sent as our component, before we knew whether it is ours. */
  readonly #rivals = new Set<number>()
  readonly #drops: DropReport
  readonly #heard_ms = new Map<number, number>()
  readonly #asked_ms = new Map<number, number>()
  /** The one SET_MESSAGE_INTERVAL whose answer is awaited: an ACK does not say which message it is about. */
  #asking: { readonly source: MessageSource; attempts: number; sent_ms: number } | undefined
  #alarmed_ms = -Infinity

  constructor(options: LinkOptions) {
    this.#options = options
    this.framer = new Framer(options.signing)
    this.#drops = new DropReport(options.profile, options.listener)
    this.#telemetry = this.#newTelemetry()
  }

  /**
   * Whether a datagram of a sender not known yet comes from an autopilot of the profile: only its HEARTBEAT says so. On a link
   * with a key it must be signed, at any time: an autopilot that lost its clock takes ours once we speak to it.
   */
  recognises(datagram: Uint8Array): boolean {
    const { signing } = this.#options
    const frames = new Framer(
      signing && { refuse: (frame) => (signing.isSigned(frame) && signing.isAuthentic(frame) ? undefined : 'forged') },
    ).datagram(datagram)
    return frames.some((frame) => this.#isAutopilot(frame))
  }

  /** False: there was no good frame in it. */
  receive(bytes: Uint8Array, received_ms: number): boolean {
    const frames = this.#options.stream ? this.framer.stream(bytes) : this.framer.datagram(bytes)
    for (const frame of frames) this.#take(frame, received_ms)
    return frames.length > 0
  }

  /** Asks for the messages that are missing and for parameters, and tells of what was dropped. */
  tick(now_ms: number): void {
    this.#drops.tick(this.framer, this.#autopilot !== undefined, now_ms)
    this.#ask(now_ms)
    if (this.#autopilot !== undefined) this.#options.preflight?.tick(now_ms)
  }

  #ask(now_ms: number): void {
    if (this.#autopilot === undefined) return
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
    this.#asking = { source, attempts: 1, sent_ms: now_ms }
  }

  #take(frame: Frame, received_ms: number): void {
    if (this.#isAutopilot(frame)) this.#find(frame, received_ms)
    const autopilot = this.#autopilot
    if (frame.system !== autopilot?.system || frame.component !== autopilot.component) {
      this.#passBy(frame, received_ms)
      return
    }
    autopilot.heard_ms = received_ms
    let report = this.#telemetry.apply(frame.message, frame.payload, received_ms)
    const twin = this.#twinOf(frame, report.boot_ms, received_ms)
    if (twin !== undefined) {
      this.#doubled_ms = received_ms
      this.#alarm(`a second autopilot sends as ${frame.system}/${frame.component}: ${twin}`, received_ms)
    }
    if (received_ms - this.#doubled_ms < SILENCE_ms) return
    if (this.#doubled_ms > -Infinity) {
      this.#doubled_ms = -Infinity
      this.#begin()
      report = this.#telemetry.apply(frame.message, frame.payload, received_ms)
    }
    this.#heard_ms.set(frame.message, received_ms)
    if (frame.message === COMMAND_ACK) {
      this.#acknowledged(frame.payload, received_ms)
      return
    }
    if (frame.message === PARAM_VALUE) this.#options.preflight?.hear(frame.payload)
    if (report.boot_ms !== undefined && this.#boot.fell(report.message, report.boot_ms)) {
      // What the old boot said of fix, estimate and home does not speak for this one.
      this.#begin()
      this.#heard_ms.set(frame.message, received_ms)
      report = this.#telemetry.apply(frame.message, frame.payload, received_ms)
    }
    if (report.observations.length > 0 || report.boot_ms !== undefined)
      this.#options.listener.report(report, received_ms)
  }

  /** A frame of somebody else, who is none of our business unless he sends as we do. */
  #passBy(frame: Frame, received_ms: number): void {
    const { adapter } = this.#options
    this.foreign++
    if (frame.message === HEARTBEAT && this.#autopilot === undefined) {
      this.#drops.heartbeat(frame.system, frame.component, frame.payload[at.autopilot]!)
    }
    if (frame.component !== adapter.component) return
    if (this.#autopilot === undefined) this.#rivals.add(frame.system)
    else if (frame.system === adapter.system) this.#collide(received_ms)
  }

  #collide(received_ms: number): void {
    const { system, component } = this.#options.adapter
    const text = `another program sends as ${system}/${component} on this link: choose another mavlink.component`
    this.#alarm(text, received_ms)
  }

  #alarm(text: string, received_ms: number): void {
    if (received_ms - this.#alarmed_ms < ALARM_ms) return
    this.#alarmed_ms = received_ms
    this.#options.listener.alarm(text)
  }

  #twinOf(frame: Frame, boot_ms: number | undefined, received_ms: number): string | undefined {
    if (frame.message === HEARTBEAT) return this.#twins.heartbeat(frame.payload, received_ms)
    return boot_ms === undefined ? undefined : this.#twins.timed(frame.message, boot_ms, received_ms)
  }

  #isAutopilot(frame: Frame): boolean {
    return frame.message === HEARTBEAT && frame.payload[at.autopilot] === this.#options.profile.autopilot
  }

  /** A second autopilot on the link is a stranger as long as ours is heard. */
  #find(frame: Frame, received_ms: number): void {
    const { system, component } = frame
    const known = this.#autopilot
    if (known !== undefined) {
      if (known.system === system && known.component === component) return
      if (received_ms - known.heard_ms < SILENCE_ms) return
    }
    this.#autopilot = { system, component, heard_ms: received_ms }
    this.#begin()
    this.#twins = new TwinWatch()
    this.#options.adapter.address(system, component)
    this.#options.listener.identity(system, component)
    if (component === this.#options.adapter.component || this.#rivals.has(system)) this.#collide(received_ms)
  }

  /** A new boot: nothing is known of it, and all intervals are gone. */
  #begin(): void {
    this.#telemetry = this.#newTelemetry()
    this.#boot = new BootWatch()
    this.#heard_ms.clear()
    this.#asked_ms.clear()
    this.#asking = undefined
    this.#options.preflight?.begin()
  }

  #newTelemetry(): Telemetry {
    return new Telemetry(this.#options.profile, this.#options.fields)
  }

  #acknowledged(payload: Uint8Array, received_ms: number): void {
    const { adapter, listener } = this.#options
    const system = payload[at.target_system]!
    const component = payload[at.target_component]!
    if ((system !== 0 && system !== adapter.system) || (component !== 0 && component !== adapter.component)) return
    const command = payload[at.command]! | (payload[at.command + 1]! << 8)
    const result = payload[at.result]!
    if (command !== SET_MESSAGE_INTERVAL) {
      listener.acknowledge({ command, result })
      return
    }
    // Refused or not, the answer is there; whether the message comes is seen by its coming.
    if (result === IN_PROGRESS) return
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
