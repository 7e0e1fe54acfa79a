// MAVLink 2 on the simulated vehicle's side of the link, by node-mavlink's own classes and serializer: independent of HALO's
// framer and profile, so that a mistake of theirs cannot be answered by the same mistake here.

import type { MavLinkData, MavLinkDataConstructor } from 'node-mavlink'
import { common, MavLinkProtocolV2, minimal, x25crc } from 'node-mavlink'
import { SIGNATURE_BYTES, type Signer } from './signature.ts'

const STX = 0xfd
const HEADER_BYTES = 10
const CRC_BYTES = 2
const INCOMPAT_SIGNED = 1

export type MessageType = MavLinkDataConstructor<MavLinkData>

/**
 * A class of node-mavlink without its constructor, which lists names of enumerations for defaults: that costs more than all the
 * rest of a message, and its every field is set anyhow.
 */
function bare(type: MessageType): MessageType {
  // An arrow is no constructor, and the prototype of a class cannot be set.
  function Bare(): void {}
  return Object.assign(Bare as unknown as MessageType, {
    prototype: type.prototype,
    MSG_NAME: type.MSG_NAME,
    FIELDS: type.FIELDS,
  })
}
const bares = new Map<MessageType, MessageType>()
function bareOf(type: MessageType): MessageType {
  const found = bares.get(type) ?? bare(type)
  bares.set(type, found)
  return found
}

/** What the simulated vehicle understands. */
const INCOMING = new Map<number, MessageType>(
  [
    minimal.Heartbeat,
    common.CommandLong,
    common.CommandInt,
    common.SetPositionTargetLocalNed,
    common.SetPositionTargetGlobalInt,
    common.ParamRequestRead,
    common.StatusText,
  ].map((type) => [type.MSG_ID, type]),
)

const protocol = new MavLinkProtocolV2()

export interface Incoming {
  readonly system: number
  readonly component: number
  /** MAVLink message id. */
  readonly id: number
  readonly signed: boolean
  /** Undefined for a frame of a message that the reader does not know: nothing checks its CRC. */
  readonly message: MavLinkData | undefined
}

/**
 * The one frame that a datagram is; undefined where it is none, or its CRC is wrong. A signature is checked by its `Signer`.
 * `types` are the messages to read, by id.
 */
export function readFrame(
  datagram: Uint8Array,
  types: ReadonlyMap<number, MessageType> = INCOMING,
): Incoming | undefined {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.byteLength)
  if (bytes.length < HEADER_BYTES + CRC_BYTES || bytes[0] !== STX) return undefined
  const header = protocol.header(bytes)
  if ((header.incompatibilityFlags & ~INCOMPAT_SIGNED) !== 0) return undefined
  const end = HEADER_BYTES + header.payloadLength + CRC_BYTES
  const signature = (header.incompatibilityFlags & INCOMPAT_SIGNED) !== 0 ? SIGNATURE_BYTES : 0
  if (bytes.length !== end + signature) return undefined
  const source = { system: header.sysid, component: header.compid, id: header.msgid as number, signed: signature > 0 }
  const type = types.get(source.id)
  if (type === undefined) return { ...source, message: undefined }
  const unsigned = bytes.subarray(0, end)
  if (x25crc(unsigned, 1, CRC_BYTES, type.MAGIC_NUMBER) !== protocol.crc(unsigned)) return undefined
  return { ...source, message: protocol.data(protocol.payload(unsigned), bareOf(type)) }
}

/** A message with every field given: the constructors' defaults are names of enumerations, which go out as a wrong zero. */
export function message<T extends MavLinkData>(type: new () => T, values: { [K in keyof T]: T[K] }): T {
  return Object.assign(Object.create(type.prototype), values)
}

/** Writes the frames of one system and component: one sequence of numbers. With a `Signer`, signed. */
export class FrameWriter {
  readonly #protocol: MavLinkProtocolV2
  readonly #signer: Signer | undefined
  #sequence = 0

  constructor(system: number, component: number, signer?: Signer) {
    this.#signer = signer
    this.#protocol = new MavLinkProtocolV2(system, component, signer === undefined ? 0 : INCOMPAT_SIGNED)
  }

  write(data: MavLinkData): Uint8Array {
    const frame = this.#protocol.serialize(data, this.#sequence)
    this.#sequence = (this.#sequence + 1) & 0xff
    return this.#signer?.sign(frame) ?? frame
  }
}
