// MAVLink 2 signing: who has the key is heard, and what he said once is not heard twice.
//
// A signature is [link id][6 bytes time stamp][6 bytes of SHA-256 over key, frame, link id and time stamp]. Frames are taken
// from a stream (system, component, link) in the order of their stamps only. SETUP_SIGNING, which would carry the key over the
// air, is never sent: a key is set on the autopilot by its own tools.

import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { Heard, type Unheard } from './heard.ts'
import { type StampOptions, Stamps } from './stamp.ts'

export interface SigningOptions extends StampOptions {
  /** 32 bytes, shared with the autopilot. */
  readonly key: Uint8Array
  /** 0 to 255, of what we send. */
  readonly linkId: number
  /** Where the newest stamps heard are kept; its folder must be writable. */
  readonly heard: string
}

/** Why a frame that is otherwise good is not taken on a link with a key. */
export type Refusal = 'version1' | 'unsigned' | 'forged' | Unheard

/** Bytes that a signature adds to a frame. */
export const SIGNATURE = 13
/** The incompatibility flag that announces it. */
export const SIGNED = 0x01

const KEY_BYTES = 32
const STAMPED = 7
const MARKER_V1 = 0xfe

export class Signing {
  readonly #key: Uint8Array
  readonly #linkId: number
  readonly #stamps: Stamps
  readonly #heard: Heard

  private constructor({ key, linkId }: SigningOptions, stamps: Stamps, heard: Heard) {
    this.#key = key
    this.#linkId = linkId
    this.#stamps = stamps
    this.#heard = heard
  }

  /** Rejects where a file of time stamps cannot be read and written. */
  static async open(options: SigningOptions): Promise<Signing> {
    const stamps = await Stamps.open(options)
    const { heard: file, failed } = options
    const heard = await Heard.open({ file, since: stamps.before, now: () => stamps.now, failed })
    return new Signing(options, stamps, heard)
  }

  /** Fills in the last 13 bytes of a frame that is whole but for them. False: there is no time stamp to be had now. */
  sign(frame: Uint8Array): boolean {
    const stamp = this.#stamps.next()
    if (stamp === undefined) return false
    const at = frame.length - SIGNATURE
    frame[at] = this.#linkId
    new DataView(frame.buffer, frame.byteOffset).setUint32(at + 1, stamp % 2 ** 32, true)
    new DataView(frame.buffer, frame.byteOffset).setUint16(at + 5, Math.floor(stamp / 2 ** 32), true)
    frame.set(this.#seal(frame), at + STAMPED)
    return true
  }

  /** Whether it says that it is signed. */
  isSigned(frame: Uint8Array): boolean {
    return frame[0] !== MARKER_V1 && (frame[2]! & SIGNED) !== 0
  }

  /** Whether somebody with the key has made this signed frame, at any time. */
  isAuthentic(frame: Uint8Array): boolean {
    return timingSafeEqual(frame.subarray(frame.length - 6), this.#seal(frame))
  }

  /** Why not to take a frame whose checksum is right; it is whole, with its signature if it says that it has one. */
  refuse(frame: Uint8Array): Refusal | undefined {
    if (frame[0] === MARKER_V1) return 'version1'
    if (!this.isSigned(frame)) return 'unsigned'
    if (!this.isAuthentic(frame)) return 'forged'
    const { stream, stamp } = stampOf(frame)
    const unheard = this.#heard.take(stream, stamp)
    if (unheard === undefined) this.#stamps.adopt(stamp)
    return unheard
  }

  /**
   * When somebody with the key has made a signed frame: now, or once (`stale`, with a name for this very one): his clock is behind,
   * or somebody else says it again. Undefined: he has no key.
   */
  age(frame: Uint8Array): 'fresh' | { readonly stale: string } | undefined {
    if (!this.isAuthentic(frame)) return undefined
    const { stream, stamp } = stampOf(frame)
    const unheard = this.#heard.judge(stream, stamp)
    return unheard === undefined || unheard === 'unwritten' ? 'fresh' : { stale: `${stream} ${stamp}` }
  }

  /** Call it a few times a second; the time is any monotonic one. */
  tick(now_ms: number): void {
    this.#stamps.tick(now_ms)
    this.#heard.tick(now_ms)
  }

  /** Nothing can be signed or heard after it. */
  async close(): Promise<void> {
    const closed = await Promise.allSettled([this.#stamps.close(), this.#heard.close()])
    for (const each of closed) if (each.status === 'rejected') throw each.reason
  }

  #seal(frame: Uint8Array): Uint8Array {
    const hash = createHash('sha256').update(this.#key)
    return hash
      .update(frame.subarray(0, frame.length - 6))
      .digest()
      .subarray(0, 6)
  }
}

/** Of a signed frame: its stream, which is system, component and link id, and its time stamp. */
function stampOf(frame: Uint8Array): { readonly stream: number; readonly stamp: number } {
  const at = frame.length - SIGNATURE
  const view = new DataView(frame.buffer, frame.byteOffset)
  const stamp = view.getUint32(at + 1, true) + view.getUint16(at + 5, true) * 2 ** 32
  return { stream: (frame[5]! << 16) | (frame[6]! << 8) | frame[at]!, stamp }
}

/**
 * The key in a file: 64 hexadecimal digits, or base64 of 32 bytes. Throws for anything else, and for a file that every user of
 * the machine may read, or its group may write: whoever reads the key can fly the vehicle, and a warning would be read by
 * nobody. The group may read, so that a key of root can be given to the companion's own user.
 */
export function readKey(file: string): Uint8Array {
  let mode: number
  let text: string
  try {
    mode = statSync(file).mode
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(`mavlink.signing.key ${file}: ${(error as Error).message}`)
  }
  if ((mode & 0o027) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(3, '0')
    throw new Error(
      `mavlink.signing.key ${file}: its permissions are ${shown}, so others can read or change it: chmod 600 ${file}`,
    )
  }
  const isHex = /^[0-9a-fA-F]{64}$/.test(text)
  if (!isHex && !/^[A-Za-z0-9+/]{43}=?$/.test(text)) {
    throw new Error(`mavlink.signing.key ${file}: must be 64 hexadecimal digits or base64 of ${KEY_BYTES} bytes, alone`)
  }
  const key = Uint8Array.from(Buffer.from(text, isHex ? 'hex' : 'base64'))
  // Autopilots take this one for no signing at all.
  if (key.every((byte) => byte === 0)) throw new Error(`mavlink.signing.key ${file}: all zeros is no key`)
  return key
}
