import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { read } from '../../../src/wire/read.ts'
import { readResponse } from '../../../src/wire/response.ts'
import { checkProfile } from '../../../src/wire/scan.ts'
import { encode } from '../../../src/wire/write.ts'
import { strictly, takeoff } from './cbor.ts'

describe('what goes out keeps the profile (PROTOCOL 12)', () => {
  test('a time in ms is an integer, not a float', () => {
    expect(Buffer.from(encode({ at: 1_785_000_000_000 })).toString('hex')).toBe('a16261741b0000019f9a4a7a00')
    const numbers = {
      a: 2 ** 31,
      b: 2 ** 32,
      c: -(2 ** 31) - 1,
      d: -(2 ** 40),
      e: Number.MAX_SAFE_INTEGER,
      f: -0,
      g: 1.5,
    }
    const hex = Buffer.from(encode(numbers)).toString('hex')
    expect(hex.match(/f[ab]/g)).toEqual(['fb']) // only the 1.5 is a float
    expect(strictly(encode(numbers))).toEqual(new Map(Object.entries({ ...numbers, f: 0 })))
  })

  test('a key that is another one behind its byte order mark is that one: the last stands', () => {
    const value = new Map([
      ['__proto__', 1],
      ['\ufeff__proto__', 2],
    ])
    expect(strictly(encode(value))).toEqual(new Map([['__proto__', 2]]))
  })

  test('keys that are undefined are left out; maps are maps', () => {
    const value = { a: undefined, b: { c: undefined, d: null }, e: new Map([['f', [true]]]) }
    expect(strictly(encode(value))).toEqual(
      new Map<string, unknown>([
        ['b', new Map([['d', null]])],
        ['e', new Map([['f', [true]]])],
      ]),
    )
  })

  test('half a surrogate pair becomes a replacement character', () => {
    expect(strictly(encode({ 'k\ud800': 'a\udc00b🚁' }))).toEqual(new Map([['k\ufffd', 'a\ufffdb🚁']]))
  })

  test('a byte order mark is dropped, as the profile has none', () => {
    const bytes = encode({ '\ufeff\ufeffk': '\ufeffa\ufeff' })
    expect(read(bytes)).toEqual({ map: new Map([['k', 'a\ufeff']]) })
  })

  test.each([
    ['NaN', { a: { b: [0, Number.NaN] } }, 'encode: value.a.b[1] is NaN'],
    ['infinity', { a: Number.POSITIVE_INFINITY }, 'encode: value.a is Infinity'],
    ['a date', { a: new Date(0) }, 'encode: value.a is no value of the profile'],
    ['bytes', { a: new Uint8Array(2) }, 'encode: value.a is no value of the profile'],
    ['a bigint', { a: 1n }, 'encode: value.a is no value of the profile'],
    ['undefined in an array', { a: [undefined] }, 'encode: value.a[0] is no value of the profile'],
    ['an array', [1], 'encode: not a map'],
    ['nothing', undefined, 'encode: not a map'],
    ['null', null, 'encode: not a map'],
  ])('%s throws', (_, value, message) => {
    expect(() => encode(value)).toThrow(new TypeError(message))
  })

  test('a response goes out and comes in', () => {
    expect(readResponse(encode(takeoff()))).toMatchObject({ response: { response: 'r-1', generation: 7 } })
  })

  test('own scanner and cborg, strict, agree with whatever is written', () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.maxSafeInteger(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.string({ unit: 'binary' }),
        fc.array(tie('value'), { maxLength: 4 }),
        tie('map'),
      ),
      map: fc.dictionary(fc.string({ unit: 'binary', maxLength: 40 }), tie('value'), { maxKeys: 20 }),
    }))
    fc.assert(
      fc.property(value.map, (map) => {
        const bytes = encode(map)
        expect(checkProfile(bytes)).toBeUndefined()
        const got = read(bytes, undefined, 1e6)
        if ('map' in got) expect(got.map).toEqual(strictly(bytes))
        expect('map' in got).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })
})
