// The CBOR profile (PROTOCOL 4), enforced on the bytes themselves before any decoder sees one.
//
// A decoder that meets a tag, a claimed length or a record definition has already acted on it. So this scanner walks the
// message first and lets through only what every CBOR library reads alike: one map, definite lengths, text keys without
// duplicates, integers within ±(2^53 - 1), finite floats, valid UTF-8, booleans, null (absent), maps and arrays. It builds
// nothing, but for maps of many keys the set of those that it has really seen.

import { isUtf8 } from 'node:buffer'

/** How many maps and arrays may enclose each other; no message of PROTOCOL 12 comes near. */
export const DEPTH_MAX = 16

/** Where a message leaves the profile, counted in bytes from its start, and what is wrong there. */
export interface ProfileProblem {
  readonly offset: number
  readonly problem: string
}

/**
 * A key whose values are measured on the way, in maps with so many maps and arrays around their values. A number that stands
 * directly in such a value and does not keep the profile is no problem of the message: where it stands is said here.
 */
export class Measure {
  readonly key: Buffer
  readonly depth: number
  /** Of the longest such value. */
  bytes = 0
  /** Where each misfit number begins and ends: not finite, or an integer beyond 2^53-1, of any length. */
  readonly misfits: { readonly start: number; readonly end: number }[] = []

  constructor(key: string, depth: number) {
    this.key = Buffer.from(key)
    this.depth = depth
  }
}

/** Undefined: the bytes are one map that keeps the profile (PROTOCOL 4, G5). Never throws. */
export function checkProfile(bytes: Uint8Array, measure?: Measure): ProfileProblem | undefined {
  return new Scan(bytes, measure).message()
}

/** A text of a stranger, as a message may show it: quoted, and not longer than a line. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text)
}

const UNSIGNED = 0
const NEGATIVE = 1
const BYTES = 2
const TEXT = 3
const ARRAY = 4
const MAP = 5
const TAG = 6

/** Says of what follows that it is CBOR. */
const SELF_DESCRIBED = 55799
/** JSON begins so, behind a byte order mark and white space. */
const JSON_BEGINS = /^\s*[{[]/

/** Up to so many keys of a map are compared with each other where they stand; more of them in a set. */
const PAIRWISE_MAX = 8

/** Where the keys of the open maps begin and end, by depth. A walk is over before the next one begins. */
const spans = new Uint32Array(2 * PAIRWISE_MAX * (DEPTH_MAX + 1))

/** A position of the walk; every step gives the position behind what it read, or `FAILED`. */
const FAILED = -1

class Scan {
  private readonly bytes: Buffer
  private readonly measure: Measure | undefined
  private problem: ProfileProblem | undefined
  /** Argument of the head read last: a number's value, or a count. Beyond 2^53 it is inexact, and refused. */
  private argument = 0
  /** Depth of the values of the map that is being measured; 0 where none is. */
  private measured = 0

  constructor(bytes: Uint8Array, measure: Measure | undefined) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.measure = measure
  }

  message(): ProfileProblem | undefined {
    if (this.bytes.length === 0) this.fail(0, 'no bytes')
    else if (this.bytes[0]! >> 5 === TAG) this.tag(0)
    else if (this.bytes[0]! >> 5 !== MAP) this.fail(0, `not a map${this.likeness()}`)
    else {
      const end = this.item(0, 0)
      if (end !== FAILED && end < this.bytes.length) this.fail(end, `${this.bytes.length - end} bytes after the map`)
    }
    return this.problem
  }

  private fail(offset: number, problem: string): typeof FAILED {
    this.problem = { offset, problem }
    return FAILED
  }

  /** What a message that is no CBOR map may be instead. */
  private likeness(): string {
    const begins = this.bytes.toString('utf8', 0, 64).replace(/^\ufeff/, '')
    return JSON_BEGINS.test(begins) ? ': it looks like JSON, and CBOR is meant' : ''
  }

  private tag(at: number): typeof FAILED {
    if (this.head(at) === FAILED) return FAILED
    const what = this.argument === SELF_DESCRIBED ? ' (self-described CBOR)' : ''
    return this.fail(at, `tag ${this.argument}${what}: nothing may be tagged`)
  }

  private item(at: number, depth: number): number {
    if (at >= this.bytes.length) return this.fail(at, 'ends in the middle')
    const major = this.bytes[at]! >> 5
    if (major === BYTES) return this.fail(at, 'a byte string')
    if (major === TAG) return depth === this.measured ? this.bignum(at) : this.tag(at)
    if (major > TAG) return this.simple(at, depth)
    const behind = this.head(at)
    if (behind === FAILED) return FAILED
    switch (major) {
      case UNSIGNED:
        if (this.argument <= Number.MAX_SAFE_INTEGER) return behind
        return this.misfit(at, behind, depth, 'an integer above 2^53-1')
      case NEGATIVE: // -1 - argument
        if (this.argument < Number.MAX_SAFE_INTEGER) return behind
        return this.misfit(at, behind, depth, 'an integer below -(2^53-1)')
      case TEXT:
        return this.text(at, behind)
      default:
        if (depth === DEPTH_MAX) return this.fail(at, `nested deeper than ${DEPTH_MAX}`)
        return major === ARRAY ? this.array(at, behind, depth + 1) : this.map(at, behind, depth + 1)
    }
  }

  /** A number beyond the profile: it costs the message, or, where that is measured, only what it stands in. */
  private misfit(at: number, behind: number, depth: number, problem: string): number {
    if (depth !== this.measured) return this.fail(at, problem)
    this.measure!.misfits.push({ start: at, end: behind })
    return behind
  }

  /** Tags 2 and 3 over a byte string: how other encoders write an integer of more than 64 bits. */
  private bignum(at: number): number {
    const tag = this.bytes[at]! & 0x1f
    const start = at + 1
    const isBignum = (tag === 2 || tag === 3) && start < this.bytes.length && this.bytes[start]! >> 5 === BYTES
    if (!isBignum) return this.tag(at)
    const behind = this.head(start)
    if (behind === FAILED) return FAILED
    if (this.argument > this.bytes.length - behind) return this.fail(start, 'ends in the middle')
    return this.misfit(at, behind + this.argument, this.measured, '')
  }

  /** Reads initial byte and argument, in any width. */
  private head(at: number): number {
    const info = this.bytes[at]! & 0x1f
    if (info < 24) {
      this.argument = info
      return at + 1
    }
    if (info === 31) return this.fail(at, 'an indefinite length')
    if (info > 27) return this.fail(at, 'a reserved length')
    const width = 1 << (info - 24)
    const behind = at + 1 + width
    if (behind > this.bytes.length) return this.fail(at, 'ends in the middle')
    this.argument =
      width === 8
        ? this.bytes.readUInt32BE(at + 1) * 2 ** 32 + this.bytes.readUInt32BE(at + 5)
        : this.bytes.readUIntBE(at + 1, width)
    return behind
  }

  private text(at: number, start: number): number {
    if (this.argument > this.bytes.length - start) return this.fail(at, 'a text longer than the message')
    const end = start + this.argument
    // Decoders drop a byte order mark, of long texts or of all, and two keys become one. U+FEFF is EF BB BF.
    if (this.bytes[start] === 0xef && this.argument >= 3 && this.bytes.readUInt16BE(start + 1) === 0xbbbf) {
      return this.fail(at, 'a text that begins with a byte order mark')
    }
    for (let i = start; i < end; i++) {
      if (this.bytes[i]! < 0x80) continue
      return isUtf8(this.bytes.subarray(i, end)) ? end : this.fail(at, 'a text that is not valid UTF-8')
    }
    return end
  }

  private array(at: number, start: number, depth: number): number {
    const count = this.argument
    // Each element takes a byte at least, so a count beyond what is left is a lie, found without a loop.
    if (count > this.bytes.length - start) return this.fail(at, 'an array longer than the message')
    let next = start
    for (let i = 0; i < count && next !== FAILED; i++) next = this.item(next, depth)
    return next
  }

  private map(at: number, start: number, depth: number): number {
    const count = this.argument
    if (count * 2 > this.bytes.length - start) return this.fail(at, 'a map longer than the message')
    const seen = count > PAIRWISE_MAX ? new Set<string>() : undefined
    let next = start
    for (let i = 0; i < count; i++) {
      if (next >= this.bytes.length) return this.fail(next, 'ends in the middle')
      if (this.bytes[next]! >> 5 !== TEXT) return this.fail(next, 'a key that is not a text')
      const key = this.head(next)
      if (key === FAILED) return FAILED
      const value = this.text(next, key)
      if (value === FAILED) return FAILED
      if (seen === undefined ? this.isAgain(depth, i, key, value) : isIn(seen, this.textOf(key, value))) {
        return this.fail(next, `duplicate key ${quoted(this.textOf(key, value))}`)
      }
      const { measure } = this
      const isMeasured = measure?.depth === depth && this.isSame(key, value, measure.key, 0, measure.key.length)
      if (isMeasured) this.measured = depth + 1
      next = this.item(value, depth)
      if (next === FAILED) return FAILED
      if (isMeasured) {
        this.measured = 0
        measure.bytes = Math.max(measure.bytes, next - value)
      }
    }
    return next
  }

  /** Is the i-th key of the open map at this depth one of those before it? */
  private isAgain(depth: number, i: number, start: number, end: number): boolean {
    const first = 2 * PAIRWISE_MAX * depth
    for (let at = first; at < first + 2 * i; at += 2) {
      if (this.isSame(start, end, this.bytes, spans[at]!, spans[at + 1]!)) return true
    }
    spans[first + 2 * i] = start
    spans[first + 2 * i + 1] = end
    return false
  }

  private isSame(start: number, end: number, other: Buffer, otherStart: number, otherEnd: number): boolean {
    if (end - start !== otherEnd - otherStart) return false
    for (let i = start, j = otherStart; i < end; i++, j++) if (this.bytes[i] !== other[j]) return false
    return true
  }

  private textOf(start: number, end: number): string {
    return this.bytes.toString('utf8', start, end)
  }

  /** Booleans, null and finite floats. */
  private simple(at: number, depth: number): number {
    const info = this.bytes[at]! & 0x1f
    if (info >= 20 && info <= 22) return at + 1
    if (info === 23) return this.fail(at, 'undefined')
    if (info === 31) return this.fail(at, 'a break')
    if (info < 25 || info > 27) return this.fail(at, 'an unknown simple value')
    const behind = at + 1 + (1 << (info - 24))
    if (behind > this.bytes.length) return this.fail(at, 'ends in the middle')
    const finite =
      info === 25
        ? (this.bytes[at + 1]! & 0x7c) !== 0x7c
        : Number.isFinite(info === 26 ? this.bytes.readFloatBE(at + 1) : this.bytes.readDoubleBE(at + 1))
    return finite ? behind : this.misfit(at, behind, depth, 'a number that is not finite')
  }
}

/** Adds it, unless it is there. */
function isIn(seen: Set<string>, key: string): boolean {
  if (seen.has(key)) return true
  seen.add(key)
  return false
}
