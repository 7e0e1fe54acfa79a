// Finds MAVLink frames in bytes that nobody vouches for.
//
// A datagram stands by itself; a stream keeps at most one unfinished frame. Whatever does not check out costs one byte, never
// the length that it claims: junk that looks like a frame cannot swallow the good ones behind it. Every byte is accounted:
// bytes = frameBytes + refusedBytes + unknownBytes + junkBytes + pending.

import { layoutOf } from '../../src/profile/frame.ts'
import { checksum } from './checksum.ts'
import { type Refusal, SIGNATURE, SIGNED, type Signing } from './signing.ts'

export interface Frame {
  /** MAVLink message id. */
  readonly message: number
  /** A copy, cut or zero-extended to the length of the message's layout. */
  readonly payload: Uint8Array
  readonly system: number
  readonly component: number
  readonly sequence: number
  readonly version: 1 | 2
  /** It carries a signature: a right one where the link has a key, any where it has none. */
  readonly signed: boolean
}

const MARKER_V1 = 0xfe
const MARKER_V2 = 0xfd
const HEADER_V1 = 6
const HEADER_V2 = 10
const CHECKSUM = 2

export class Framer {
  bytes = 0
  /** Frames handed out, and their bytes. */
  decoded = 0
  frameBytes = 0
  /** Frames of an id that we have no definition of, so that nothing can be checked; they are dropped. */
  unknown = 0
  unknownBytes = 0
  /** What looked like a frame and failed its checksum, or has an incompatibility flag that we do not know. */
  badCrc = 0
  badFlags = 0
  junkBytes = 0
  /** Frames that were good but for their signature, by what was wrong with that. */
  readonly refused: Record<Refusal, number> = { version1: 0, unsigned: 0, forged: 0, old: 0, crowded: 0 }
  refusedBytes = 0

  readonly #signing: Pick<Signing, 'refuse'> | undefined
  #pending = new Uint8Array(0)

  /** With `signing`, only frames that it does not refuse are handed out; without, a signature says nothing. */
  constructor(signing?: Pick<Signing, 'refuse'>) {
    this.#signing = signing
  }

  /** Bytes of a stream that are kept until more of them come. */
  get pending(): number {
    return this.#pending.length
  }

  /** The frames of one datagram: what is not complete at its end never will be. */
  datagram(bytes: Uint8Array): Frame[] {
    this.bytes += bytes.length
    const frames: Frame[] = []
    this.#scan(bytes, true, frames)
    return frames
  }

  /** The frames that the next bytes of a stream complete. */
  stream(bytes: Uint8Array): Frame[] {
    this.bytes += bytes.length
    const all = new Uint8Array(this.#pending.length + bytes.length)
    all.set(this.#pending)
    all.set(bytes, this.#pending.length)
    const frames: Frame[] = []
    this.#pending = all.slice(this.#scan(all, false, frames))
    return frames
  }

  /** Returns how many bytes are done with; all of them where `final`. */
  #scan(bytes: Uint8Array, final: boolean, frames: Frame[]): number {
    let at = 0
    while (at < bytes.length) {
      const length = this.#frame(bytes, at, final, frames)
      if (length === INCOMPLETE) return at
      if (length === 0) this.junkBytes++
      at += Math.max(1, length)
    }
    return at
  }

  /** Length of the frame that starts at `at`; 0 where none does. */
  #frame(bytes: Uint8Array, at: number, final: boolean, frames: Frame[]): number {
    const marker = bytes[at]
    if (marker !== MARKER_V2 && marker !== MARKER_V1) return 0
    const version = marker === MARKER_V2 ? 2 : 1
    const header = version === 2 ? HEADER_V2 : HEADER_V1
    const missing = final ? 0 : INCOMPLETE
    if (at + header > bytes.length) return missing

    const flags = version === 2 ? bytes[at + 2]! : 0
    if ((flags & ~SIGNED) !== 0) {
      this.badFlags++
      return 0
    }
    const signed = flags === SIGNED
    const end = at + header + bytes[at + 1]! + CHECKSUM
    const next = signed ? end + SIGNATURE : end
    if (next > bytes.length) return missing

    const ids = at + (version === 2 ? 5 : 3)
    const message = version === 2 ? bytes[at + 7]! | (bytes[at + 8]! << 8) | (bytes[at + 9]! << 16) : bytes[at + 5]!
    const layout = layoutOf(message)
    if (layout === undefined) {
      // It cannot be checked. That it ends where something else begins, or everything does, is all there is to go by.
      if (next === bytes.length && !final) return INCOMPLETE
      if (next < bytes.length && bytes[next] !== MARKER_V2 && bytes[next] !== MARKER_V1) return 0
      this.unknown++
      this.unknownBytes += next - at
      return next - at
    }
    if (checksum(bytes, at + 1, end - CHECKSUM, layout.crcExtra) !== (bytes[end - 2]! | (bytes[end - 1]! << 8))) {
      this.badCrc++
      return 0
    }
    const refusal = this.#signing?.refuse(bytes.subarray(at, next))
    if (refusal !== undefined) {
      this.refused[refusal]++
      this.refusedBytes += end - at
      // Behind a frame that was cut off, the bytes where its signature would be are the next frame.
      return end - at
    }
    const payload = new Uint8Array(layout.length)
    payload.set(bytes.subarray(at + header, Math.min(end - CHECKSUM, at + header + layout.length)))
    frames.push({
      message,
      payload,
      system: bytes[ids]!,
      component: bytes[ids + 1]!,
      sequence: bytes[ids - 1]!,
      version,
      signed,
    })
    this.decoded++
    this.frameBytes += next - at
    return next - at
  }
}

const INCOMPLETE = -1
