// The only code that holds the transmit side of the vehicle's link. Two doors lead out (docs/architecture.md): frames that
// the core made and has just allowed, and a closed union of messages that command nothing. Nothing else can be expressed.

import { fieldOf, layout, layoutOf } from '../../src/autopilot/frame.ts'
import type { CoreFrame } from '../../src/core/core.ts'
import type { Port } from '../../src/engine/port.ts'
import { checksum } from '../mavlink/checksum.ts'
import type { Frame } from '../mavlink/framer.ts'
import { SIGNATURE, SIGNED, type Signing } from '../mavlink/signing.ts'

/** What may be said at any time: it asks, reports or keeps alive, and moves nothing. */
export type Harmless =
  | { readonly message: 'HEARTBEAT' }
  /** `severity` is MAV_SEVERITY; of `text` the first 50 bytes of UTF-8 are sent. */
  | { readonly message: 'STATUSTEXT'; readonly severity: number; readonly text: string }
  | { readonly message: 'PARAM_REQUEST_READ'; readonly parameter: string }
  | { readonly message: 'SET_MESSAGE_INTERVAL'; readonly id: number; readonly interval_us: number }
  | { readonly message: 'REQUEST_MESSAGE'; readonly id: number }
  | { readonly message: 'TIMESYNC'; readonly tc1_ns: bigint; readonly ts1_ns: bigint }

export interface AdapterOptions {
  /** Puts bytes on the wire before it returns, or says that it has not. */
  readonly transmit: (bytes: Uint8Array) => boolean
  /** Our component id, 191 (MAV_COMP_ID_ONBOARD_COMPUTER) where not given. */
  readonly component?: number
  /** Our system id until the vehicle's is known, 1 where not given. */
  readonly system?: number
  /** Signs everything that goes out; nothing goes out where it cannot. */
  readonly signing?: Pick<Signing, 'sign'>
  /** MAVLink id of the message that carries the mode: what `ask` asks for. */
  readonly modeMessage?: number
  /** Sees every frame that went out, after it did. */
  readonly sent?: (message: number, bytes: Uint8Array) => void
}

interface Source {
  readonly sequence: number
  readonly system: number
  readonly component: number
}

const HEADER = 10
const ONBOARD_CONTROLLER = 18
const AUTOPILOT_INVALID = 8
const STATE_ACTIVE = 4
const MAVLINK_VERSION = 3
const SET_MESSAGE_INTERVAL = 511
const REQUEST_MESSAGE = 512
const TEXT_BYTES = 50
const PARAMETER_BYTES = 16
const TEXTS_PER_SECOND = 5
/** Of what we have sent so many frames are remembered: some seconds, also where much goes out. */
const SENT_MAX = 512

export class Adapter implements Port {
  readonly component: number
  readonly #transmit: (bytes: Uint8Array) => boolean
  readonly #signing: Pick<Signing, 'sign'> | undefined
  readonly #modeMessage: number | undefined
  readonly #sent: ((message: number, bytes: Uint8Array) => void) | undefined
  /** By turns. */
  readonly #remembered: { readonly message: number; readonly sequence: number; readonly payload: Uint8Array }[] = []
  #frames = 0
  #system: number
  #vehicle: { readonly system: number; readonly component: number } | undefined
  #sequence = 0
  /** When each of the last STATUSTEXTs left, ms. */
  #texts: number[] = []

  constructor(options: AdapterOptions) {
    this.component = options.component ?? 191
    this.#system = options.system ?? 1
    this.#transmit = options.transmit
    this.#signing = options.signing
    this.#modeMessage = options.modeMessage
    this.#sent = options.sent
  }

  /** Our system id: the vehicle's, once that is known. */
  get system(): number {
    return this.#system
  }

  /** The autopilot that everything is addressed to from now on. We are a component of its system. */
  address(system: number, component: number): void {
    this.#system = system
    this.#vehicle = { system, component }
  }

  /** A frame that the core has just allowed, unchanged but for MAVLink's wrapping (G2). False: it has not left (G5). */
  send(frame: CoreFrame): boolean {
    if (this.#vehicle === undefined) return false
    return this.#put(frame.message, frame.payload)
  }

  /** The mode is reported again, without its turn. What is lost is asked for again by whoever asked. */
  ask(_what: 'mode'): void {
    if (this.#modeMessage !== undefined) this.say({ message: 'REQUEST_MESSAGE', id: this.#modeMessage })
  }

  /** Whether it is one of the last that we have sent, byte for byte: a router may send it back to us. */
  hasSent({ message, sequence, payload }: Pick<Frame, 'message' | 'sequence' | 'payload'>): boolean {
    return this.#remembered.some(
      (sent) =>
        sent.sequence === sequence &&
        sent.message === message &&
        sent.payload.length === payload.length &&
        sent.payload.every((byte, i) => byte === payload[i]),
    )
  }

  /** The second door. False where it has not left: no link, no vehicle yet, or a sixth STATUSTEXT in a second. */
  say(message: Exclude<Harmless, { message: 'STATUSTEXT' }>): boolean
  say(message: Harmless, now_ms: number): boolean
  say(message: Harmless, now_ms = 0): boolean {
    if (message.message === 'HEARTBEAT') {
      return this.#say('HEARTBEAT', {
        type: ONBOARD_CONTROLLER,
        autopilot: AUTOPILOT_INVALID,
        system_status: STATE_ACTIVE,
        mavlink_version: MAVLINK_VERSION,
      })
    }
    if (this.#vehicle === undefined) return false
    const target = { target_system: this.#vehicle.system, target_component: this.#vehicle.component }
    switch (message.message) {
      case 'STATUSTEXT': {
        this.#texts = this.#texts.filter((left_ms) => now_ms - left_ms < 1000)
        if (this.#texts.length >= TEXTS_PER_SECOND) return false
        const left = this.#say('STATUSTEXT', { severity: message.severity }, [1, utf8(message.text, TEXT_BYTES)])
        if (left) this.#texts.push(now_ms)
        return left
      }
      case 'PARAM_REQUEST_READ': {
        const name = utf8(message.parameter, PARAMETER_BYTES)
        return this.#say('PARAM_REQUEST_READ', { ...target, param_index: -1 }, [4, name])
      }
      case 'SET_MESSAGE_INTERVAL': {
        const params = { param1: message.id, param2: message.interval_us, command: SET_MESSAGE_INTERVAL }
        return this.#say('COMMAND_LONG', { ...target, ...params })
      }
      case 'REQUEST_MESSAGE':
        return this.#say('COMMAND_LONG', { ...target, param1: message.id, command: REQUEST_MESSAGE })
      case 'TIMESYNC': {
        const times = new Uint8Array(16)
        const view = new DataView(times.buffer)
        view.setBigInt64(0, message.tc1_ns, true)
        view.setBigInt64(8, message.ts1_ns, true)
        return this.#say('TIMESYNC', target, [0, times])
      }
    }
  }

  /** `values` by MAVLink field; `bytes` for the one field that is no small number, with its offset. */
  #say(name: string, values: Readonly<Record<string, number>>, bytes?: readonly [number, Uint8Array]): boolean {
    const { id, length } = layout(name)
    const payload = new Uint8Array(length)
    const view = new DataView(payload.buffer)
    for (const [field, value] of Object.entries(values)) write(view, name, field, value)
    if (bytes !== undefined) payload.set(bytes[1], bytes[0])
    return this.#put(id, payload)
  }

  #put(message: number, payload: Uint8Array): boolean {
    const source = { sequence: this.#sequence, system: this.#system, component: this.component }
    const bytes = wrap(message, payload, source, this.#signing !== undefined)
    if (this.#signing?.sign(bytes) === false || !this.#transmit(bytes)) return false
    this.#remembered[this.#frames++ % SENT_MAX] = { message, sequence: this.#sequence, payload: payload.slice() }
    this.#sequence = (this.#sequence + 1) & 0xff
    this.#sent?.(message, bytes)
    return true
  }
}

/**
 * A MAVLink 2 frame around a whole payload, with room for a signature behind it where it is to be `signed`. Zeros at the
 * payload's end are cut, as the standard wants, down to one byte.
 */
function wrap(
  message: number,
  payload: Uint8Array,
  { sequence, system, component }: Source,
  signed: boolean,
): Uint8Array {
  const layout = layoutOf(message)
  if (layout === undefined) throw new Error(`message ${message} has no definition`)
  if (payload.length !== layout.length) {
    throw new Error(`payload of ${layout.name} has ${payload.length} bytes, not ${layout.length}`)
  }
  let length = payload.length
  while (length > 1 && payload[length - 1] === 0) length--

  const flags = signed ? SIGNED : 0
  const bytes = new Uint8Array(HEADER + length + 2 + (signed ? SIGNATURE : 0))
  bytes.set([0xfd, length, flags, 0, sequence, system, component, message & 0xff, (message >> 8) & 0xff, message >> 16])
  bytes.set(payload.subarray(0, length), HEADER)
  const crc = checksum(bytes, 1, HEADER + length, layout.crcExtra)
  bytes[HEADER + length] = crc & 0xff
  bytes[HEADER + length + 1] = crc >> 8
  return bytes
}

function write(view: DataView, message: string, field: string, value: number): void {
  const { offset, format } = fieldOf(message, field)
  switch (format) {
    case 'u8':
    case 'i8':
      view.setUint8(offset, value)
      break
    case 'u16':
    case 'i16':
      view.setUint16(offset, value, true)
      break
    case 'u32':
    case 'i32':
      view.setUint32(offset, value, true)
      break
    case 'f32':
      view.setFloat32(offset, value, true)
      break
  }
}

/** At most `bytes` bytes of UTF-8, no character cut in half. */
function utf8(text: string, bytes: number): Uint8Array {
  const into = new Uint8Array(bytes)
  const { written } = new TextEncoder().encodeInto(text, into)
  return into.subarray(0, written)
}
