// Finds MAVLink frames in bytes that nobody vouches for.
//
// A datagram stands by itself; a stream keeps at most one unfinished frame. Whatever does not check out costs one byte, never
// the length that it claims: junk that looks like a frame cannot swallow the good ones behind it. Nor does it cost more than a
// few steps a byte: each is read into one running checksum, from which that of any claimed frame follows. Every byte is
// accounted: bytes = frameBytes + refusedBytes + unknownBytes + junkBytes + pending.

import { layoutOf } from '../../src/autopilot/frame.ts'
import { Checksums } from './checksum.ts'
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
/** More than the longest frame, which is what a stream can keep. */
const KEPT = 512

/** By message id; 0 where we have no definition. */
const lengthsV1 = Uint16Array.from({ length: 256 }, (_, id) => layoutOf(id)?.lengthV1 ?? 0)

/** MAVLink 1 cuts nothing and extends nothing. MAVLink 2 does both: what is longer than we know it has newer fields. */
const isLengthV1 = (message: number, length: number): boolean =>
  lengthsV1[message] === length || lengthsV1[message] === 0

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
  readonly refused: Record<Refusal, number> = {
    version1: 0,
    unsigned: 0,
    forged: 0,
    old: 0,
    crowded: 0,
    unwritten: 0,
  }
  refusedBytes = 0

  /** Of the frames that `stream` gave last, the first so many were whole before its bytes came: they stood behind junk. */
  held = 0

  readonly #signing: Pick<Signing, 'refuse'> | undefined
  readonly #checksums = new Checksums()
  /** A stream's bytes, from the first one that is kept. */
  #kept = new Uint8Array(KEPT)
  #pending = 0

  /** With `signing`, only frames that it does not refuse are handed out; without, a signature says nothing. */
  constructor(signing?: Pick<Signing, 'refuse'>) {
    this.#signing = signing
  }

  /** Bytes of a stream that are kept until more of them come. */
  get pending(): number {
    return this.#pending
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
    const before = this.#pending
    const length = before + bytes.length
    if (length > this.#kept.length) {
      const longer = new Uint8Array(length + KEPT)
      longer.set(this.#kept.subarray(0, before))
      this.#kept = longer
    }
    this.#kept.set(bytes, before)
    const frames: Frame[] = []
    this.held = 0
    const done = this.#scan(this.#kept.subarray(0, length), false, frames, before)
    if (done > 0) this.#kept.copyWithin(0, done, length)
    this.#pending = length - done
    return frames
  }

  /** Returns how many bytes are done with; all of them where `final`. Frames that end within the first `before` are `held`. */
  #scan(bytes: Uint8Array, final: boolean, frames: Frame[], before = 0): number {
    this.#checksums.begin(bytes)
    const end = bytes.length
    let at = 0
    let junk = 0
    let flagged = 0
    while (at < end) {
      const marker = bytes[at]!
      let length = 0
      // What the header alone rules out, before anything is called.
      if (marker === MARKER_V1) {
        if (at + HEADER_V1 > end || isLengthV1(bytes[at + 5]!, bytes[at + 1]!))
          length = this.#frame(bytes, at, final, frames)
      } else if (marker === MARKER_V2) {
        if (at + HEADER_V2 > end || bytes[at + 2]! <= SIGNED) length = this.#frame(bytes, at, final, frames)
        else flagged++
      }
      if (length === INCOMPLETE) break
      if (length === 0) {
        junk++
        at++
        continue
      }
      at += length
      if (at <= before) this.held = frames.length
    }
    this.junkBytes += junk
    this.badFlags += flagged
    return at
  }

  /** Length of the frame that starts at `at`, where a marker is; 0 where none does. */
  #frame(bytes: Uint8Array, at: number, final: boolean, frames: Frame[]): number {
    const version = bytes[at] === MARKER_V2 ? 2 : 1
    const header = version === 2 ? HEADER_V2 : HEADER_V1
    const missing = final ? 0 : INCOMPLETE
    if (at + header > bytes.length) return missing

    const message = version === 2 ? bytes[at + 7]! | (bytes[at + 8]! << 8) | (bytes[at + 9]! << 16) : bytes[at + 5]!
    const layout = layoutOf(message)
    const signed = version === 2 && bytes[at + 2] === SIGNED
    const end = at + header + bytes[at + 1]! + CHECKSUM
    const next = signed ? end + SIGNATURE : end
    if (next > bytes.length) return missing

    if (layout === undefined) {
      // It cannot be checked. That it ends where something else begins, or everything does, is all there is to go by.
      if (next === bytes.length && !final) return INCOMPLETE
      if (next < bytes.length && bytes[next] !== MARKER_V2 && bytes[next] !== MARKER_V1) return 0
      this.unknown++
      this.unknownBytes += next - at
      return next - at
    }
    if (
      this.#checksums.checksum(at + 1, end - CHECKSUM, layout.crcExtra) !==
      (bytes[end - 2]! | (bytes[end - 1]! << 8))
    ) {
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
    const ids = at + (version === 2 ? 5 : 3)
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
