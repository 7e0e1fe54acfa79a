// The profile of PROTOCOL 4 once more, over cborg's tokens: what the door is compared with. cborg's own decoder would not do:
// it mends invalid UTF-8, drops a byte order mark and lets a break stand as a value.

import { type Token, Tokenizer, Type } from 'cborg'
import type { Value, ValueMap } from '../../src/wire/read.ts'
import { DEPTH_MAX } from '../../src/wire/scan.ts'
import { STRICT } from '../unit/wire/cbor.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export interface Reading {
  readonly map: ValueMap
  /** Encoded bytes of each component's payload. */
  readonly payloads: readonly number[]
}

/** Undefined where the bytes leave the profile. A response may have numbers beyond it directly in its payloads: they are NaN. */
export function reading(bytes: Uint8Array, of: 'message' | 'response'): Reading | undefined {
  try {
    return new Reader(bytes, of === 'response').message()
  } catch {
    return undefined
  }
}

class Reader {
  readonly #tokens: Tokenizer
  readonly #payloads: number[] = []
  readonly #isResponse: boolean

  constructor(bytes: Uint8Array, isResponse: boolean) {
    const any = { allowNaN: true, allowInfinity: true, allowBigInt: true }
    this.#tokens = new Tokenizer(bytes, { ...STRICT, ...(isResponse && any), retainStringBytes: true })
    this.#isResponse = isResponse
  }

  message(): Reading {
    const map = this.#item('', 0)
    if (!(map instanceof Map) || !this.#tokens.done()) throw new Error('not one map')
    return { map, payloads: this.#payloads }
  }

  /** `path` leads to a component's payload, and further down is of no interest. */
  #item(path: string, depth: number): Value {
    const began = this.#tokens.pos()
    const token = this.#tokens.next()
    switch (token.type) {
      case Type.uint:
      case Type.negint:
      case Type.float:
        if (Number.isFinite(token.value) && (token.type === Type.float || Number.isSafeInteger(token.value)))
          return token.value
        return this.#misfit(path, depth)
      case Type.tag: // how cborg and others write an integer of more than 64 bits
        if (token.value > 3 || token.value < 2 || this.#tokens.next().type !== Type.bytes) throw new Error('a tag')
        return this.#misfit(path, depth)
      case Type.true:
      case Type.false:
      case Type.null:
        return token.value
      case Type.string:
        return textOf(token)
      case Type.array:
        if (depth === DEPTH_MAX) throw new Error('too deep')
        return this.#list(token.value, `${path}[]`, depth + 1)
      case Type.map: {
        if (depth === DEPTH_MAX) throw new Error('too deep')
        const map = this.#map(token.value, path, depth + 1)
        if (path === '.components[].payload') this.#payloads.push(this.#tokens.pos() - began)
        return map
      }
      default:
        throw new Error(`no ${token.type.name} in the profile`)
    }
  }

  #misfit(path: string, depth: number): number {
    if (this.#isResponse && depth === 4 && path.startsWith('.components[].payload.')) return Number.NaN
    throw new Error('a number beyond the profile')
  }

  #list(count: number, path: string, depth: number): Value[] {
    const list: Value[] = []
    for (let i = 0; i < count; i++) list.push(this.#item(path, depth))
    return list
  }

  #map(count: number, path: string, depth: number): ValueMap {
    const map = new Map<string, Value>()
    for (let i = 0; i < count; i++) {
      const key = this.#tokens.next()
      if (key.type !== Type.string) throw new Error('a key that is no text')
      const name = textOf(key)
      if (map.has(name)) throw new Error('a key twice')
      map.set(name, this.#item(`${path}.${name}`, depth))
    }
    return map
  }
}

/** The empty text has no bytes to retain. */
function textOf({ byteValue }: Token): string {
  const text = byteValue === undefined ? '' : utf8.decode(byteValue)
  if (text.startsWith('\ufeff')) throw new Error('a byte order mark')
  return text
}
