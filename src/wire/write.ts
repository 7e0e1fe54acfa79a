// From values to bytes within the profile of PROTOCOL 4, for all that goes out (PROTOCOL 12).

import { Encoder } from 'cbor-x'

const encoder = new Encoder({ useRecords: false, mapsAsObjects: true, variableMapSize: true, tagUint8Array: false })

/**
 * One map as CBOR. Keys whose value is undefined are left out; integers, times in ms too, go out as integers. A value that
 * the profile does not have (not finite, a class, a bigint, undefined in an array) is the caller's mistake and throws.
 */
export function encode(value: unknown): Uint8Array {
  if (!isRecord(value)) throw new TypeError('encode: not a map')
  trail.length = 0
  return encoder.encode(plain(value))
}

/** The keys and positions that lead to what is being copied: said only where it is no value of the profile. */
const trail: (string | number)[] = []
const where = (): string =>
  `value${trail.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')}`

/** How many bytes `encode` makes of it at most: linear, and without making them. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return head(value.length * 3) + utf8Bytes(value)
  if (typeof value === 'number') return Number.isInteger(value) && value >= 0 && value < 0x10000 ? 3 : 9
  if (typeof value !== 'object' || value === null) return 1
  let sum: number
  if (Array.isArray(value)) {
    sum = head(value.length)
    for (const element of value) sum += bytesOf(element)
    return sum
  }
  sum = 5
  if (value instanceof Map) {
    for (const [key, element] of value) if (element !== undefined) sum += bytesOf(key) + bytesOf(element)
    return sum
  }
  for (const key of Object.keys(value)) {
    const element = (value as Readonly<Record<string, unknown>>)[key]
    if (element !== undefined) sum += bytesOf(key) + bytesOf(element)
  }
  return sum
}

/** Most texts are short and ASCII: for them a call out of JavaScript would cost more than they do. */
function utf8Bytes(text: string): number {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return Buffer.byteLength(text)
  return text.length
}

/** Of a text or an array of so many bytes or elements. */
const head = (length: number): number => (length < 24 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 5)

/** A copy that cbor-x writes as we mean it: it would make a float of an integer beyond 32 bits, unless that is a BigInt. */
function plain(value: unknown): unknown {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`encode: ${where()} is ${value}`)
    return Number.isSafeInteger(value) && Math.abs(value) > 0x7fffffff ? BigInt(value) : value
  }
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean' || value === null) return value
  if (Array.isArray(value)) {
    return value.map((element, i) => {
      trail.push(i)
      const copy = plain(element)
      trail.pop()
      return copy
    })
  }
  if (!isRecord(value)) throw new TypeError(`encode: ${where()} is no value of the profile`)
  const copy: Record<string, unknown> = {}
  if (value instanceof Map) for (const [key, element] of value) put(copy, key, element)
  else for (const key of Object.keys(value)) put(copy, key, (value as Readonly<Record<string, unknown>>)[key])
  return copy
}

function put(copy: Record<string, unknown>, key: string, element: unknown): void {
  if (element === undefined) return
  trail.push(key)
  const [name, value] = [text(key), plain(element)]
  trail.pop()
  // Assigned, this one would be the copy's prototype.
  if (name === '__proto__') Object.defineProperty(copy, name, { value, enumerable: true, configurable: true })
  else copy[name] = value
}

/** A lone half of a surrogate pair has no UTF-8, and no text of the profile begins with a byte order mark. */
function text(value: string): string {
  const whole = value.isWellFormed() ? value : value.toWellFormed()
  return whole.charCodeAt(0) === 0xfeff ? whole.replace(/^\ufeff+/, '') : whole
}

function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || value instanceof Map
}
