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

/** Undefined where the bytes leave the profile. */
export function reading(bytes: Uint8Array): Reading | undefined {
  try {
    return new Reader(bytes).message()
  } catch {
    return undefined
  }
}

class Reader {
  readonly #tokens: Tokenizer
  readonly #payloads: number[] = []

  constructor(bytes: Uint8Array) {
    this.#tokens = new Tokenizer(bytes, { ...STRICT, retainStringBytes: true })
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
