// MAVLink 2 signing on the simulated vehicle's side, written a second time on purpose: what the companion signs and refuses is
// checked against something that shares no line with it.

import { createHash, timingSafeEqual } from 'node:crypto'

export interface Signing {
  /** 32 bytes. */
  readonly key: Uint8Array
  readonly linkId: number
  /** Unix time when the vehicle's own is 0, ms. Default 2025-01-01. */
  readonly start_ms?: number
}

export const SIGNATURE_BYTES = 13
const KEY_BYTES = 32
const STAMP_BYTES = 6
const HASH_BYTES = 6
const EPOCH_MS = Date.UTC(2015, 0, 1)
const DEFAULT_START_MS = Date.UTC(2025, 0, 1)
const STAMPS_PER_MS = 100

export class Signer {
  readonly #key: Uint8Array
  readonly #linkId: number
  readonly #start_ms: number
  #now_ms = 0
  #last = 0
  /** The newest stamp accepted, by system, component and link. */
  readonly #accepted = new Map<string, number>()

  /** Throws a RangeError for a key that is no 32 bytes. */
  constructor({ key, linkId, start_ms = DEFAULT_START_MS }: Signing) {
    if (key.length !== KEY_BYTES) throw new RangeError(`simulated vehicle: a key is 32 bytes, got ${key.length}`)
    this.#key = key
    this.#linkId = linkId
    this.#start_ms = start_ms
  }

  /** The vehicle's time. */
  set now_ms(now_ms: number) {
    this.#now_ms = now_ms
  }

  /** The frame, whose flags say "signed" already, with its signature behind it. */
  sign(frame: Uint8Array): Uint8Array {
    const stamp = Math.floor((this.#start_ms + this.#now_ms - EPOCH_MS) * STAMPS_PER_MS)
    this.#last = Math.max(stamp, this.#last + 1)
    const tail = Buffer.alloc(SIGNATURE_BYTES)
    tail[0] = this.#linkId
    tail.writeUIntLE(this.#last, 1, STAMP_BYTES)
    const head = Buffer.concat([frame, tail.subarray(0, 1 + STAMP_BYTES)])
    return Buffer.concat([head, this.#hash(head)])
  }

  /** Whether a whole signed frame is signed with the key, and later than what was accepted from there before. */
  accept(frame: Uint8Array, system: number, component: number): boolean {
    const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
    const hash_at = bytes.length - HASH_BYTES
    if (!timingSafeEqual(this.#hash(bytes.subarray(0, hash_at)), bytes.subarray(hash_at))) return false
    const stamp_at = hash_at - STAMP_BYTES
    const stamp = bytes.readUIntLE(stamp_at, STAMP_BYTES)
    const source = `${system}/${component}/${bytes[stamp_at - 1]}`
    if (stamp <= (this.#accepted.get(source) ?? 0)) return false
    this.#accepted.set(source, stamp)
    return true
  }

  #hash(bytes: Uint8Array): Uint8Array {
    return createHash('sha256').update(this.#key).update(bytes).digest().subarray(0, HASH_BYTES)
  }
}
