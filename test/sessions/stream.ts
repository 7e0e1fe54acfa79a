// Cuts what passes the tap into frames, with node-mavlink's classes: independent of HALO's framer, so that a mistake there cannot
// hide itself here.

import { ardupilotmega, common, minimal, standard } from 'node-mavlink'
import { type Incoming, type MessageType, readFrame } from '../../simulator/frame.ts'

/** Every message of the dialects that an autopilot and a companion speak. */
const MESSAGES: ReadonlyMap<number, MessageType> = new Map(
  [minimal, standard, common, ardupilotmega].flatMap(({ REGISTRY }) =>
    Object.entries(REGISTRY).map(([id, type]): [number, MessageType] => [Number(id), type as MessageType]),
  ),
)

const STX = 0xfd
const SIGNED = 0x01
/** Header and checksum; a signature comes on top. */
const OVERHEAD = 12
const SIGNATURE = 13

export class FrameStream {
  /** Bytes that belong to no frame with a good checksum of a message that is known. */
  unread = 0
  #pending: Uint8Array = new Uint8Array(0)

  /** The frames that these bytes complete, a datagram's or the next ones of a stream, in order. */
  read(bytes: Uint8Array): Incoming[] {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const frames: Incoming[] = []
    while (rest.length >= OVERHEAD) {
      const length = rest[1]! + OVERHEAD + ((rest[2]! & SIGNED) === 0 ? 0 : SIGNATURE)
      if (rest[0] === STX && rest.length < length) break
      const frame = rest[0] === STX ? readFrame(rest.subarray(0, length), MESSAGES) : undefined
      if (frame?.message === undefined) this.unread++
      else frames.push(frame)
      rest = rest.subarray(frame?.message === undefined ? 1 : length)
    }
    this.#pending = Uint8Array.from(rest)
    return frames
  }
}
