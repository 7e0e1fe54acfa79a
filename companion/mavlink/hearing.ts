// What is not heard, told once: a dead link, a mute autopilot, a message that it does not send. Silence has no frame to tell of
// it, so this is asked at ticks; time in which nobody ticked is time in which nobody listened, and counts as no silence.

import type { MessageSource, Profile } from '../../src/autopilot/profile.ts'
import { parseAddress } from './address.ts'

export type Severity = 'info' | 'warning' | 'critical'

export interface HearingListener {
  /**
   * What is not heard, what that means and what to do, or that it is heard again. Once at each change; `change` where it is the
   * autopilot that was heard and is not any more, or is again.
   */
  silent(text: string, severity: Severity, change?: 'lost' | 'found_again'): void
}

export interface HearingOptions {
  readonly profile: Profile
  /** Numbered as the profile's: which of them the catalog has. All, where not given. */
  readonly fields?: readonly { readonly declared?: boolean }[]
  /** URL of the endpoint. */
  readonly endpoint?: string
  readonly listener: HearingListener
}

/** Nothing was ever heard for so long. */
const NEVER_ms = 5000
/** An autopilot that was heard is not any more. */
const SILENCE_ms = 3000
/** A gap between two ticks from which on nobody listened. */
const DEAF_ms = 100
/** A message is missing because all are. */
const MUTE_ms = 1000
/** Rounds of asking for a message (2 s each) until it counts as absent: where it was refused or not answered, and where it was accepted. */
const ROUNDS = 3
const ROUNDS_ACCEPTED = 30
/** Fields that the engine reads, whatever the catalog lists (PROTOCOL 8, Mode guard). */
const ENGINE: ReadonlySet<string> = new Set(['armed', 'mode', 'mode_intended', 'landed', 'critical'])

const MAV_RESULT = ['accepted', 'temporarily rejected', 'denied', 'unsupported', 'failed', 'in progress', 'cancelled']
const CHECK: Readonly<Record<ReturnType<typeof parseAddress>['kind'], string>> = {
  serial:
    'are TX and RX crossed, is it the baud rate of the autopilot, and is MAVLink on at that port ' +
    '(PX4: MAV_1_CONFIG, SER_TEL2_BAUD; ArduPilot: SERIAL2_PROTOCOL 2, SERIAL2_BAUD)?',
  udpin: 'does the autopilot or its router send to this address and port, and does no firewall stop it?',
  udpout: 'does the autopilot or its router listen at this address and port?',
  tcpout: 'does the autopilot or its router serve this address and port?',
}
/** What is known about a message that an autopilot does not have. */
const MISSING: Readonly<Record<string, string>> = {
  CURRENT_MODE: 'PX4 has it from 1.15 on: update the autopilot',
}

type Told = 'nothing' | 'noise' | 'strangers' | 'silent'
const ORDER: readonly Told[] = ['nothing', 'noise', 'strangers']

interface Round {
  count: number
  /** MAV_RESULT of the last answer; undefined: there was none. */
  result: number | undefined
  told: boolean
}

export class Hearing {
  readonly #options: HearingOptions
  #bytes = 0
  #frames = 0
  #found = false
  #heard = false
  #told: Told | undefined
  /** The last tick at which the autopilot had been heard; the first one, before. */
  #since_ms: number | undefined
  #ticked_ms = 0
  readonly #rounds = new Map<number, Round>()
  #unaddressed = false

  constructor(options: HearingOptions) {
    this.#options = options
  }

  /** Bytes came, from whomever, and so many frames were in them, whatever became of those. */
  received(bytes: number, frames: number): void {
    this.#bytes += bytes
    this.#frames += frames
  }

  /** A message of the autopilot. */
  heard(message: number): void {
    this.#heard = true
    this.#found = true
    const round = this.#rounds.get(message)
    if (round === undefined) return
    this.#rounds.delete(message)
    if (round.told) this.#say(`${nameOf(this.#options.profile, message)} is heard now`, 'info')
  }

  /** A message is missing and is asked for, once more. */
  asks(source: MessageSource): void {
    if (this.#ticked_ms - (this.#since_ms ?? 0) > MUTE_ms) return
    const round = this.#rounds.get(source.id) ?? { count: 0, result: undefined, told: false }
    this.#rounds.set(source.id, round)
    const rounds = round.result === 0 ? ROUNDS_ACCEPTED : ROUNDS
    if (++round.count > rounds && !round.told) this.#absent(source, round)
  }

  /** The autopilot's answer to that. */
  answers({ id }: MessageSource, result: number): void {
    const round = this.#rounds.get(id)
    if (round !== undefined) round.result = result
  }

  /** An acknowledgement that does not say whom it answers. */
  unaddressed(): void {
    if (this.#unaddressed) return
    this.#unaddressed = true
    this.#say(
      'the autopilot acknowledges commands without saying whose (COMMAND_ACK to 0/0), so none of its answers counts and a command ' +
        'is confirmed by the state only: set the port to MAVLink 2, or update the autopilot',
      'warning',
    )
  }

  /** Another boot, or another autopilot: what was asked of the old one says nothing of this one. */
  begin(): void {
    this.#rounds.clear()
  }

  tick(now_ms: number): void {
    const gap_ms = this.#since_ms === undefined ? 0 : now_ms - this.#ticked_ms
    this.#ticked_ms = now_ms
    this.#since_ms ??= now_ms
    if (gap_ms > DEAF_ms) this.#since_ms += gap_ms
    if (this.#heard) {
      this.#heard = false
      const silent_ms = now_ms - this.#since_ms
      this.#since_ms = now_ms
      this.#begun()
      if (this.#told !== undefined) {
        const again = this.#told === 'silent' ? ` again after ${(silent_ms / 1000).toFixed(1)} s` : ''
        this.#say(`the autopilot is heard${again}`, 'info', this.#told === 'silent' ? 'found_again' : undefined)
      }
      this.#told = undefined
      return
    }
    if (now_ms - this.#since_ms >= (this.#found ? SILENCE_ms : NEVER_ms)) this.#judge()
  }

  #begun(): void {
    this.#bytes = 0
    this.#frames = 0
  }

  #judge(): void {
    const told: Told = this.#found
      ? 'silent'
      : this.#bytes === 0
        ? 'nothing'
        : this.#frames === 0
          ? 'noise'
          : 'strangers'
    // Once found it is silent or not; before, what is heard grows and is not told backwards.
    if (told === this.#told || (this.#told !== undefined && ORDER.indexOf(told) < ORDER.indexOf(this.#told))) return
    this.#told = told
    const isLost = told === 'silent'
    this.#say(this.#words(told), isLost ? 'critical' : 'warning', isLost ? 'lost' : undefined)
  }

  #words(told: Told): string {
    const { endpoint, profile } = this.#options
    const where = endpoint ?? 'the link'
    const check = endpoint === undefined ? '' : `: ${CHECK[parseAddress(endpoint).kind]}`
    switch (told) {
      case 'nothing':
        return `nothing is heard on ${where}${check}`
      case 'noise':
        return `bytes and no MAVLink frame are heard on ${where}: is it the baud rate of the autopilot, and does nothing else use the line?`
      case 'strangers':
        return (
          `MAVLink and no autopilot of kind ${profile.autopilot} (MAV_AUTOPILOT; ${profile.name}) is heard on ${where}: ` +
          "is the catalog's vehicle the right one, is the key right, does the router forward the autopilot here?"
        )
      case 'silent': {
        const what =
          this.#bytes === 0 ? 'nothing' : this.#frames === 0 ? 'no MAVLink frame' : 'others, and not the autopilot,'
        return `the autopilot is silent for ${SILENCE_ms / 1000} s; ${what} ${what.startsWith('others') ? 'are' : 'is'} heard on ${where}${check}`
      }
    }
  }

  #absent({ id, name }: MessageSource, round: Round): void {
    round.told = true
    const { profile, fields } = this.#options
    const unknown = profile.fields.filter(
      ({ name: field, from }, i) => from.message === name && (ENGINE.has(field) || fields?.[i]?.declared !== false),
    )
    if (unknown.length === 0) {
      round.told = false // nobody misses it
      round.count = Number.NEGATIVE_INFINITY
      return
    }
    const { result } = round
    const [said, advice] =
      result === undefined
        ? ['does not answer', 'does what HALO sends arrive (TX, baud rate, MAVLink 2 at that port)?']
        : result === 0
          ? ['accepts that and does not send it', 'is its sensor or estimate there, and the baud rate high enough?']
          : [`refuses it (${MAV_RESULT[result] ?? `result ${result}`})`, MISSING[name] ?? 'its firmware has to send it']
    this.#say(
      `${name} (${id}) is not heard, so ${unknown.map((field) => field.name).join(', ')} cannot be known: it was asked for ` +
        `${ROUNDS} times or more, and the autopilot ${said}; ${advice}`,
      'warning',
    )
  }

  #say(text: string, severity: Severity, change?: 'lost' | 'found_again'): void {
    this.#options.listener.silent(text, severity, change)
  }
}

const nameOf = ({ messages }: Profile, message: number): string =>
  messages.find(({ id }) => id === message)?.name ?? `message ${message}`
