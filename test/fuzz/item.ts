// CBOR by construction: values in every width that the profile leaves free, and defects that it does not (PROTOCOL 4).

import type { Chance } from '../simulation/chance.ts'

/** Bytes that stand for themselves: where a defect goes. */
export class Raw {
  readonly bytes: readonly number[]
  constructor(...bytes: readonly number[]) {
    this.bytes = bytes
  }
}

/** A value to be written. Maps are lists of entries, so that a key can stand in one twice. */
export type Item = number | boolean | string | null | Raw | readonly Item[] | Entries
export class Entries {
  readonly list: (readonly [key: string | Raw, value: Item])[]
  constructor(list: readonly (readonly [key: string | Raw, value: Item])[]) {
    this.list = [...list]
  }
}

const [UNSIGNED, NEGATIVE, TEXT, ARRAY, MAP] = [0, 1, 3, 4, 5]
const WIDTHS = [0, 1, 2, 4, 8]
const float = new DataView(new ArrayBuffer(8))

/** Every finite float of two bytes, by its value. */
const HALVES = new Map<number, number>()
for (let bits = 0; bits < 0x8000; bits++) {
  const [exponent, fraction] = [bits >> 10, bits & 0x3ff]
  if (exponent === 31) break
  const value = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25)
  HALVES.set(value, bits)
  if (value !== 0) HALVES.set(-value, bits | 0x8000)
}
const halves = [...HALVES.keys()]

/** The value as CBOR; chance picks among the widths that can hold a head or a number. */
export function write(item: Item, chance: Chance): Uint8Array {
  const out: number[] = []
  put(item, chance, out)
  return Uint8Array.from(out)
}

function put(item: Item, chance: Chance, out: number[]): void {
  if (item instanceof Raw) out.push(...item.bytes)
  else if (item === null) out.push(0xf6)
  else if (typeof item === 'boolean') out.push(item ? 0xf5 : 0xf4)
  else if (typeof item === 'number') putNumber(item, chance, out)
  else if (typeof item === 'string') {
    const bytes = Buffer.from(item)
    putHead(TEXT, bytes.length, chance, out)
    for (const byte of bytes) out.push(byte)
  } else if (item instanceof Entries) {
    putHead(MAP, item.list.length, chance, out)
    for (const [key, value] of item.list) {
      put(key, chance, out)
      put(value, chance, out)
    }
  } else {
    putHead(ARRAY, item.length, chance, out)
    for (const element of item) put(element, chance, out)
  }
}

/** The narrowest head mostly, a wider one now and then. */
function putHead(major: number, argument: number, chance: Chance, out: number[]): void {
  const least = argument < 24 ? 0 : argument < 2 ** 8 ? 1 : argument < 2 ** 16 ? 2 : argument < 2 ** 32 ? 3 : 4
  const width = chance.happens(0.8) ? least : chance.int(least, 4)
  out.push((major << 5) | (width === 0 ? argument : 23 + width))
  for (let byte = WIDTHS[width]! - 1; byte >= 0; byte--) out.push(Math.floor(argument / 2 ** (8 * byte)) % 256)
}

function putNumber(value: number, chance: Chance, out: number[]): void {
  const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0)
  if (isInteger && chance.happens(0.7)) {
    return putHead(value < 0 ? NEGATIVE : UNSIGNED, value < 0 ? -1 - value : value, chance, out)
  }
  const half = HALVES.get(value)
  const widths = [8, ...(Math.fround(value) === value ? [4] : []), ...(half === undefined ? [] : [2])]
  const width = chance.pick(widths)
  if (width === 8) float.setFloat64(0, value)
  else if (width === 4) float.setFloat32(0, value)
  else float.setUint16(0, Object.is(value, -0) ? 0x8000 : half!)
  out.push(width === 8 ? 0xfb : width === 4 ? 0xfa : 0xf9)
  for (let i = 0; i < width; i++) out.push(float.getUint8(i))
}

// Values of the profile

const EDGES = [0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER]

export function drawNumber(chance: Chance): number {
  switch (chance.int(0, 5)) {
    case 0:
      return chance.int(-30, 300)
    case 1:
      return chance.pick(EDGES) * (chance.happens(0.5) ? -1 : 1)
    case 2:
      return chance.int(0, Number.MAX_SAFE_INTEGER)
    case 3:
      return chance.pick(halves)
    case 4:
      float.setUint32(0, chance.int(0, 0xffffffff))
      return finite(float.getFloat32(0))
    default:
      float.setUint32(0, chance.int(0, 0xffffffff))
      float.setUint32(4, chance.int(0, 0xffffffff))
      return finite(float.getFloat64(0))
  }
}
const finite = (value: number): number => (Number.isFinite(value) ? value : -0)

// One of each length of UTF-8, of the ends of the ranges, and what decoders are known to treat in ways of their own.
const LETTERS = [
  'a',
  'b',
  '0',
  '_',
  '"',
  '\0',
  '\x7f',
  'é',
  '\u07ff',
  '\u0800',
  '€',
  '\ud7ff',
  '\uffff',
  '\u2028',
  '🚁',
  '\u{10ffff}',
]

export function drawText(chance: Chance): string {
  const length = chance.happens(0.9) ? chance.int(0, 10) : chance.int(11, 200)
  const letters = chance.happens(0.5) ? LETTERS.slice(0, 4) : LETTERS
  let text = ''
  for (let i = 0; i < length; i++) text += i > 0 && chance.happens(0.02) ? '\ufeff' : chance.pick(letters)
  return text
}

/** A map of the profile, with at most so many maps and arrays inside each other. */
export function drawMap(chance: Chance, depth: number): Entries {
  const keys = new Set<string>()
  for (let i = chance.int(0, 4); i > 0; i--) keys.add(chance.happens(0.05) ? '__proto__' : drawText(chance))
  return new Entries([...keys].map((key) => [key, drawValue(chance, depth - 1)]))
}

function drawValue(chance: Chance, depth: number): Item {
  const kind = chance.int(0, depth > 0 ? 7 : 5)
  if (kind <= 1) return drawNumber(chance)
  if (kind === 2) return chance.happens(0.5)
  if (kind === 3) return null
  if (kind <= 5) return drawText(chance)
  if (kind === 6) return Array.from({ length: chance.int(0, 4) }, () => drawValue(chance, depth - 1))
  return drawMap(chance, depth)
}

/** What a reader must make of it: `Map`s for maps. */
export function meaning(item: Item): unknown {
  if (item instanceof Raw) throw new TypeError('bytes that stand for themselves have no value')
  if (item instanceof Entries) return new Map(item.list.map(([key, value]) => [key, meaning(value)]))
  return Array.isArray(item) ? item.map(meaning) : item
}

// Defects

const NOT_UTF8 = [
  [0xff],
  [0x80],
  [0xc3],
  [0xc0, 0xaf],
  [0xe2, 0x82],
  [0xe0, 0x9f, 0xbf],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x8f, 0xbf, 0xbf],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
]
const BOM = [0xef, 0xbb, 0xbf]

/** A text of fewer than 256 bytes around something that must not stand in one. */
function textAround(chance: Chance, before: number, wrong: readonly number[]): Raw {
  const after = chance.happens(0.7) ? chance.int(0, 4) : chance.int(60, 90)
  const letters = (count: number): number[] => Array(count).fill(0x61)
  return new Raw(0x78, before + wrong.length + after, ...letters(before), ...wrong, ...letters(after))
}

/** Values that the profile does not have, by what is wrong with them. */
const WRONG: Readonly<Record<string, (chance: Chance) => Raw>> = {
  'indefinite length': (chance) =>
    new Raw(
      ...chance.pick([
        [0x7f, 0x61, 0x61, 0xff],
        [0x5f, 0x41, 0, 0xff],
        [0x9f, 0, 0xff],
        [0xbf, 0x60, 0, 0xff],
      ]),
    ),
  tag: (chance) =>
    new Raw(
      ...chance.pick([
        [0xc0, 0x60],
        [0xc1, 0],
        [0xc2, 0x41, 0xff],
        [0xd8, 0x1d, 0],
        [0xd8, 0x40, 0x41, 0],
        [0xd9, 0xdf, 0xff, 0x81, 0],
        [0xd9, 0x01, 0x02, 0x80],
        [0xdb, 0, 0, 0, 0, 0, 0, 0, 4, 0x80],
        [0xd9, 0xd9, 0xf7, 0],
      ]),
    ),
  'byte string': (chance) => new Raw(...chance.pick([[0x40], [0x41, 0x61], [0x58, 1, 0], [0x5a, 0, 0, 0, 0]])),
  undefined: () => new Raw(0xf7),
  'simple value': (chance) =>
    chance.happens(0.5) ? new Raw(0xe0 + chance.int(0, 19)) : new Raw(0xf8, chance.int(0, 255)),
  break: () => new Raw(0xff),
  'not finite': (chance) => {
    const sign = chance.pick([0, 0x80])
    const nan = chance.happens(0.5)
    switch (chance.int(0, 2)) {
      case 0:
        return new Raw(0xf9, sign | 0x7c | (nan ? 2 : 0), 0)
      case 1:
        return new Raw(0xfa, sign | 0x7f, 0x80, 0, nan ? 1 : 0)
      default:
        return new Raw(0xfb, sign | 0x7f, 0xf0, 0, 0, 0, 0, 0, nan ? 1 : 0)
    }
  },
  'integer beyond 2^53-1': (chance) => {
    // 2^53 and up; below zero the same argument is one further down: -1 - (2^53 - 1) is the first that is too far.
    const isFirst = chance.happens(0.3)
    if (chance.happens(0.5)) {
      return isFirst
        ? new Raw(0x1b, 0, 0x20, ...Array(6).fill(0))
        : new Raw(0x1b, chance.int(1, 255), ...chance.bytes(7))
    }
    return isFirst
      ? new Raw(0x3b, 0, 0x1f, ...Array(6).fill(0xff))
      : new Raw(0x3b, chance.int(1, 255), ...chance.bytes(7))
  },
  'not UTF-8': (chance) => textAround(chance, chance.int(0, 3), chance.pick(NOT_UTF8)),
  'byte order mark': (chance) => textAround(chance, 0, BOM),
  'reserved head': (chance) => new Raw((chance.int(0, 7) << 5) | chance.int(28, 30)),
  'length beyond the message': (chance) => {
    const major = chance.pick([TEXT, ARRAY, MAP]) << 5
    return chance.happens(0.5)
      ? new Raw(major | 26, chance.int(1, 255), ...chance.bytes(3))
      : new Raw(major | 27, ...chance.bytes(4), chance.int(1, 255), ...chance.bytes(3))
  },
  'nested too deep': (chance) => {
    const depth = chance.happens(0.9) ? chance.int(16, 40) : chance.int(41, 10_000)
    return new Raw(...Array(depth).fill(0x81), 0)
  },
}

/** A number that no payload has, and that costs no more than its component. */
export function drawMisfit(chance: Chance): Raw {
  const kinds = ['not finite', 'integer beyond 2^53-1', 'bignum'] as const
  const kind = chance.pick(kinds)
  if (kind !== 'bignum') return WRONG[kind]!(chance)
  const length = chance.pick([0, 1, 9, 23])
  return new Raw(chance.pick([0xc2, 0xc3]), 0x40 | length, ...chance.bytes(length))
}

/** Keys that the profile does not have; the value is theirs. */
const WRONG_KEY: Readonly<Record<string, (chance: Chance) => Raw>> = {
  'key not a text': (chance) =>
    new Raw(...chance.pick([[0], [0x20], [0x41, 0x61], [0x80], [0xa0], [0xf6], [0xf5], [0xc0, 0x60]])),
  'key of indefinite length': () => new Raw(0x7f, 0x61, 0x61, 0xff),
  'key not UTF-8': (chance) => textAround(chance, chance.int(0, 3), chance.pick(NOT_UTF8)),
  'key with byte order mark': (chance) => textAround(chance, 0, BOM),
}

/** Messages that are wrong as a whole, made of a good one. */
const WRONG_MESSAGE: Readonly<Record<string, (good: Uint8Array, chance: Chance) => Uint8Array>> = {
  'bytes behind': (good, chance) => Uint8Array.from([...good, ...chance.bytes(chance.int(1, 5))]),
  'cut short': (good, chance) => good.subarray(0, chance.int(0, good.length - 1)),
  'not a map': (good, chance) =>
    chance.pick([
      Uint8Array.from([chance.pick([0x81, 0xc0, 0xd8, 0x9f]), ...good]),
      Uint8Array.of(0xf6),
      Uint8Array.from([0xd9, 0xd9, 0xf7, ...good]),
      Buffer.from(chance.pick(['{"v": 1}', ' [', '\ufeff\n{'])),
    ]),
}

const DUPLICATE = 'duplicate key'
export const DEFECTS = [WRONG, WRONG_KEY, WRONG_MESSAGE].flatMap((of) => Object.keys(of)).concat(DUPLICATE)

/** The map with one defect somewhere in it. */
export function broken(good: Entries, defect: string, chance: Chance): Uint8Array {
  const message = WRONG_MESSAGE[defect]
  if (message !== undefined) return message(write(good, chance), chance)
  const value = WRONG[defect]
  return write(
    spoil(good, chance, (list) => {
      if (defect === DUPLICATE) {
        const again: string | Raw = list.length === 0 ? 'again' : chance.pick(list)[0]
        if (list.length === 0) list.push([again, 1])
        list.splice(chance.int(0, list.length), 0, [again, 2])
      } else {
        const entry =
          value === undefined ? ([WRONG_KEY[defect]!(chance), 1] as const) : (['wrong', value(chance)] as const)
        list.splice(chance.int(0, list.length), 0, entry)
      }
    }),
    chance,
  )
}

/** A copy in which one of the maps, picked on the way down, was changed. */
function spoil(map: Entries, chance: Chance, change: (list: Entries['list']) => void): Entries {
  const list = [...map.list]
  const inner = list.findIndex(([, value]) => value instanceof Entries)
  if (inner >= 0 && chance.happens(0.5)) {
    const [key, value] = list[inner]!
    list[inner] = [key, spoil(value as Entries, chance, change)]
  } else change(list)
  return new Entries(list)
}
