// From values to bytes within the profile of PROTOCOL 4, for all that goes out (PROTOCOL 12).

import { Encoder } from 'cbor-x'

const encoder = new Encoder({ useRecords: false, mapsAsObjects: true, variableMapSize: true, tagUint8Array: false })

/**
 * One map as CBOR. Keys whose value is undefined are left out; integers, times in ms too, go out as integers. A value that
 * the profile does not have (not finite, a class, a bigint, undefined in an array) is the caller's mistake and throws.
 */
export function encode(value: unknown): Uint8Array {
  if (!isRecord(value)) throw new TypeError('encode: not a map')
  return encoder.encode(plain(value, 'value'))
}

/** A copy that cbor-x writes as we mean it: it would make a float of an integer beyond 32 bits, unless that is a BigInt. */
function plain(value: unknown, path: string): unknown {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`encode: ${path} is ${value}`)
    return Number.isSafeInteger(value) && Math.abs(value) > 0x7fffffff ? BigInt(value) : value
  }
  // A lone half of a surrogate pair has no UTF-8, and no text of the profile begins with a byte order mark.
  if (typeof value === 'string') return value.toWellFormed().replace(/^\ufeff+/, '')
  if (typeof value === 'boolean' || value === null) return value
  if (Array.isArray(value)) return value.map((element, i) => plain(element, `${path}[${i}]`))
  if (!isRecord(value)) throw new TypeError(`encode: ${path} is no value of the profile`)
  const entries: [string, unknown][] = []
  for (const [key, element] of value instanceof Map ? value : Object.entries(value)) {
    if (element !== undefined) entries.push([plain(key, path) as string, plain(element, `${path}.${key}`)])
  }
  return Object.fromEntries(entries)
}

function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || value instanceof Map
}
