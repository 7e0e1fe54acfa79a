import { Encoder } from 'cbor-x'
import * as cborg from 'cborg'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { read } from '../../../src/wire/read.ts'
import { checkProfile, DEPTH_MAX, Measure } from '../../../src/wire/scan.ts'
import { hex, inMap, strictly } from './cbor.ts'

const problemOf = (bytes: Uint8Array): string | undefined => checkProfile(bytes)?.problem

describe('the CBOR profile (PROTOCOL 4): G5 what leaves it is refused at its byte', () => {
  test.each([
    ['no bytes', '', 0, 'no bytes'],
    ['an array', '80', 0, 'not a map'],
    ['a number', '01', 0, 'not a map'],
    ['the tag of CBOR around the map', 'd9d9f7a0', 0, 'tag 55799 (self-described CBOR): nothing may be tagged'],
    ['another tag around the map', 'c6a0', 0, 'tag 6: nothing may be tagged'],
    ['a tag that is cut', 'd9d9', 0, 'ends in the middle'],
    ['JSON', Buffer.from('{"v": 1}').toString('hex'), 0, 'not a map: it looks like JSON, and CBOR is meant'],
    [
      'JSON in lines',
      Buffer.from('\ufeff\n [1]').toString('hex'),
      0,
      'not a map: it looks like JSON, and CBOR is meant',
    ],
    ['a byte behind the map', 'a000', 1, '1 bytes after the map'],
    ['a second map', 'a0a0', 1, '1 bytes after the map'],
    ['an indefinite map', 'bf6161 01ff', 0, 'an indefinite length'],
    ['an indefinite array', 'a161619f01ff', 3, 'an indefinite length'],
    ['an indefinite text', 'a161617f6161ff', 3, 'an indefinite length'],
    ['an indefinite key', 'a17f6161ff01', 1, 'an indefinite length'],
    ['an integer key', 'a10101', 1, 'a key that is not a text'],
    ['a byte string as a key', 'a1416101', 1, 'a key that is not a text'],
    ['a duplicate key', 'a26161016161 02', 4, 'duplicate key "a"'],
    ['a duplicate key in another width', 'a261610178016102', 4, 'duplicate key "a"'],
    ['a duplicate key inside', 'a1616181a2616201616202', 8, 'duplicate key "b"'],
    ['a byte string', 'a161614101', 3, 'a byte string'],
    ['a date', 'a16161c11a00000001', 3, 'tag 1: nothing may be tagged'],
    ['a bignum', 'a16161c249010000000000000000', 3, 'tag 2: nothing may be tagged'],
    ['a record of cbor-x', 'a16161d9dfff83191000816161 01', 3, 'tag 57343: nothing may be tagged'],
    ['undefined', 'a16161f7', 3, 'undefined'],
    ['undefined before another pair', 'a26161f7616201', 3, 'undefined'],
    ['simple value 0', 'a16161e0', 3, 'an unknown simple value'],
    ['simple value 32', 'a16161f820', 3, 'an unknown simple value'],
    ['false in two bytes', 'a16161f814', 3, 'an unknown simple value'],
    ['a break', 'a16161ff', 3, 'a break'],
    ['reserved argument 28', 'a161611c', 3, 'a reserved length'],
    ['reserved argument 30 of a text', 'a161617e', 3, 'a reserved length'],
    ['reserved float 28', 'a16161fc', 3, 'an unknown simple value'],
    ['NaN in two bytes', 'a16161f97e00', 3, 'a number that is not finite'],
    ['infinity in two bytes', 'a16161f97c00', 3, 'a number that is not finite'],
    ['-infinity in four bytes', 'a16161faff800000', 3, 'a number that is not finite'],
    ['NaN in eight bytes', 'a16161fb7ff8000000000001', 3, 'a number that is not finite'],
    ['2^53', 'a161611b0020000000000000', 3, 'an integer above 2^53-1'],
    ['2^64-1', 'a161611bffffffffffffffff', 3, 'an integer above 2^53-1'],
    ['-2^53', 'a161613b001fffffffffffff', 3, 'an integer below -(2^53-1)'],
    ['-2^64', 'a161613bffffffffffffffff', 3, 'an integer below -(2^53-1)'],
    ['half a surrogate', 'a1616163eda080', 3, 'a text that is not valid UTF-8'],
    ['a continuation byte alone', 'a161616180', 3, 'a text that is not valid UTF-8'],
    ['a cut sequence', 'a1616161c3', 3, 'a text that is not valid UTF-8'],
    ['an overlong slash', 'a1616162c0af', 3, 'a text that is not valid UTF-8'],
    ['a key that is not UTF-8', 'a161ff01', 1, 'a text that is not valid UTF-8'],
    ['a byte order mark', 'a16161 63efbbbf', 3, 'a text that begins with a byte order mark'],
    ['a key with a byte order mark', 'a1 64efbbbf61 01', 1, 'a text that begins with a byte order mark'],
    ['half a byte order mark', 'a16161 62efbb', 3, 'a text that is not valid UTF-8'],
    ['a text that ends early', 'a161616361', 3, 'a text longer than the message'],
    ['a text of 2^64-1', 'a161617bffffffffffffffff', 3, 'a text longer than the message'],
    ['an array of 2^32-1', 'a161619affffffff00', 3, 'an array longer than the message'],
    ['an array of 2^64-1', 'a161619bffffffffffffffff00', 3, 'an array longer than the message'],
    ['a map of 2^32-1', 'baffffffff6161', 0, 'a map longer than the message'],
    ['a map one pair short', 'a2616101', 0, 'a map longer than the message'],
    ['an array one element short', 'a1616182 01', 3, 'an array longer than the message'],
    ['a head that is cut', 'a1616119 01', 3, 'ends in the middle'],
    ['a float that is cut', 'a16161fb0000', 3, 'ends in the middle'],
    ['a map whose first value takes the rest', 'a2616163616263', 7, 'ends in the middle'],
    ['a map that has only begun', 'a1', 0, 'a map longer than the message'],
  ])('%s', (_, bytes, offset, problem) => {
    expect(checkProfile(hex(bytes))).toEqual({ offset, problem })
  })

  test('a long key is told by its beginning', () => {
    const key = (length: number) => `78${length.toString(16)}${'61'.repeat(length)}01`
    expect(problemOf(hex(`a2${key(64)}${key(64)}`))).toBe(`duplicate key "${'a'.repeat(64)}"`)
    expect(problemOf(hex(`a2${key(65)}${key(65)}`))).toBe(`duplicate key "${'a'.repeat(64)}..."`)
  })

  test('a bignum of 200 kB is refused at its tag, and no decoder sees it', () => {
    const bignum = Buffer.concat([hex('a1 6161 c2 5a00030d40'), Buffer.alloc(200_000, 0xff)])
    expect(checkProfile(bignum)).toEqual({ offset: 3, problem: 'tag 2: nothing may be tagged' })
    expect(read(bignum, undefined, 1_000_000)).toEqual({ offset: 3, problem: 'tag 2: nothing may be tagged' })
  })

  test('depth is bounded, and reached', () => {
    const nested = (depth: number) => inMap(`${'81'.repeat(depth - 1)}00`)
    expect(problemOf(nested(DEPTH_MAX))).toBeUndefined()
    expect(problemOf(nested(DEPTH_MAX + 1))).toBe(`nested deeper than ${DEPTH_MAX}`)
    expect(problemOf(inMap('81'.repeat(60_000)))).toBe(`nested deeper than ${DEPTH_MAX}`)
  })
})

describe('the CBOR profile (PROTOCOL 4): what any encoder may write', () => {
  test.each([
    ['an empty map', 'a0', {}],
    ['an empty map, eight bytes of count', 'bb0000000000000000', {}],
    ['one in eight bytes, as a number', 'a161611b0000000000000001', { a: 1 }],
    ['-1 in eight bytes', 'a161613b0000000000000000', { a: -1 }],
    ['2^53-1', 'a161611b001fffffffffffff', { a: Number.MAX_SAFE_INTEGER }],
    ['-(2^53-1)', 'a161613b001ffffffffffffe', { a: Number.MIN_SAFE_INTEGER }],
    ['-2^32', 'a161613affffffff', { a: -4294967296 }],
    ['a float of two bytes', 'a16161f93e00', { a: 1.5 }],
    ['the largest float of two bytes', 'a16161f97bff', { a: 65504 }],
    ['a float of four bytes', 'a16161fa3fc00000', { a: 1.5 }],
    ['a float beyond 2^53', 'a16161fb7e37e43c8800759c', { a: 1e300 }],
    ['null', 'a16161f6', { a: null }],
    ['booleans', 'a1616182f4f5', { a: [false, true] }],
    ['UTF-8', 'a16161 68c3a4f09f9a8122 2e', { a: 'ä🚁".' }],
    ['a zero width no-break space that is no byte order mark', 'a16161 6461efbbbf', { a: 'a\ufeff' }],
    ['keys out of order', 'a2616201616102', { b: 1, a: 2 }],
    [
      '__proto__ as any other key',
      `a1 69${Buffer.from('__proto__').toString('hex')} 01`,
      JSON.parse('{"__proto__":1}'),
    ],
  ])('%s', (_, text, value) => {
    const got = read(hex(text))
    expect(got).toEqual({ map: new Map(Object.entries(value)) })
  })
})

const LARGE = { numRuns: 20_000 }
const scalar = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: 'grapheme' }),
)
const document = fc.dictionary(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.oneof(scalar, fc.array(scalar), fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(scalar, fc.array(scalar)))),
)
const asMaps = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asMaps)
  if (typeof value === 'number') return value + 0
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, inner]) => [key, asMaps(inner)]))
}
const withoutNegativeZero = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNegativeZero)
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, withoutNegativeZero(inner)]))
  return typeof value === 'number' ? value + 0 : value
}

describe('the CBOR profile (PROTOCOL 4): G7 read alike, whatever parts of a decoder are installed', () => {
  const head = { one: '62', two: '7802', three: '790002', five: '7a00000002', nine: '7b0000000000000002' }
  const long = 'x'.repeat(200)
  test.each(Object.entries(head))('a text of two with a head of %s bytes, in a long message', (_, bytes) => {
    const text = `${bytes} 6162`
    const message = hex(`a3 6161 78c8 ${Buffer.from(long).toString('hex')} ${text} 01 6163 ${text}`)
    expect(read(message)).toEqual({
      map: new Map<string, unknown>([
        ['a', long],
        ['ab', 1],
        ['c', 'ab'],
      ]),
    })
  })
})

describe('the CBOR profile (PROTOCOL 4): against other libraries', () => {
  const wide = new Encoder({ useRecords: false, variableMapSize: false, tagUint8Array: false })
  test.each([
    ['cborg', (value: unknown) => cborg.encode(value)],
    ['cborg, all floats wide', (value: unknown) => cborg.encode(value, { float64: true })],
    ['cbor-x', (value: unknown): Uint8Array => wide.encode(value)],
  ])('what %s writes is read back', (_, write) => {
    fc.assert(
      fc.property(document, (value) => {
        const got = read(write(value))
        if (!('map' in got)) throw new Error(`byte ${got.offset}: ${got.problem}`)
        expect(withoutNegativeZero(got.map)).toEqual(asMaps(value))
      }),
      { numRuns: 500 },
    )
  })

  test('G5 random bytes never throw, and what is accepted cborg, strict, reads alike', () => {
    let accepted = 0
    // Small maps and arrays, so that some of it is accepted.
    const byte = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0x60, 0x61, 0x80, 0xa0, 0xa1, 0xf5, 0xf6))
    const bytes = fc.tuple(fc.constantFrom(0xa0, 0xa1, 0xa1, 0xa2), fc.array(byte, { maxLength: 24 }))
    fc.assert(
      fc.property(bytes, ([first, rest]) => {
        const message = Uint8Array.from([first, ...rest])
        const problem = checkProfile(message)
        const got = read(message)
        expect('map' in got).toBe(problem === undefined)
        if (!('map' in got)) return
        accepted++
        expect(got.map).toEqual(strictly(message))
      }),
      LARGE,
    )
    expect(accepted).toBeGreaterThan(100)
  })

  test('G5 a good message with bytes changed or cut never throws, and agrees as well', () => {
    const good = cborg.encode({ v: 1, list: [1, 2.5, 'é', null], inner: { a: true, b: 70_000, c: -1 } })
    const edits = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(edits, fc.integer({ min: 1, max: good.length }), fc.boolean(), (changes, length, cut) => {
        const message = Uint8Array.from(good)
        for (const [at, value] of changes) message[at] = value
        const got = read(cut ? message.subarray(0, length) : message)
        if ('map' in got) expect(got.map).toEqual(strictly(cut ? message.subarray(0, length) : message))
      }),
      LARGE,
    )
  })

  test('what cborg, strict, refuses is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        let agreed = true
        try {
          strictly(bytes)
        } catch {
          agreed = false
        }
        if (!agreed) expect(checkProfile(bytes)).toBeDefined()
      }),
      LARGE,
    )
  })

  test('a view into a larger buffer is read for itself', () => {
    const around = hex('ffff a16161187b ffff')
    expect(read(around.subarray(2, 7))).toEqual({ map: new Map([['a', 123]]) })
  })

  test('a key is measured at its depth alone, and its longest value counts', () => {
    const message = hex('a2 6161 82 a1616218ff a161621901ff 6162 1a000001ff')
    const measured = (key: string, depth: number): number => {
      const measure = new Measure(key, depth)
      expect(checkProfile(message, measure)).toBeUndefined()
      return measure.bytes
    }
    expect([measured('b', 3), measured('b', 1), measured('a', 1), measured('a', 3), measured('c', 1)]).toEqual([
      3, 5, 12, 0, 0,
    ])
  })

  test('G6 a misfit number directly in what is measured is told, and read as NaN; anywhere else it costs the message', () => {
    const numbers = 'f97e00 faff800000 1b0020000000000000 3bffffffffffffffff c2420100 c340 01'.split(' ')
    const inside = numbers.map((number, i) => `616${i + 1} ${number}`).join(' ')
    const message = hex(`a2 6161 81 a16162 a7 ${inside} 6162 00`)
    const measure = new Measure('b', 3)
    expect(checkProfile(message, measure)).toBeUndefined()
    expect(measure.misfits.map(({ start, end }) => Buffer.from(message.subarray(start, end)).toString('hex'))).toEqual(
      numbers.slice(0, -1),
    )
    const keys = [...'abcdefg']
    const got = read(message, new Measure('b', 3))
    const values = new Map(keys.map((key, i) => [key, i === 6 ? 1 : Number.NaN]))
    expect(got).toEqual({
      map: new Map<string, unknown>([
        ['a', [new Map([['b', values]])]],
        ['b', 0],
      ]),
    })

    const misplaced = (bytes: string): string | undefined => checkProfile(hex(bytes), new Measure('b', 3))?.problem
    expect(misplaced('a1 6161 81 a16162 a16161 81f97e00')).toBe('a number that is not finite') // deeper
    expect(misplaced('a1 6161 81 a16162 f97e00')).toBe('a number that is not finite') // in its place
    expect(misplaced('a1 6161 81 a26162 a0 6163 a16161 f97e00')).toBe('a number that is not finite') // behind it
    expect(misplaced('a1 6161 81 a16162 a16161 c11a00000001')).toBe('tag 1: nothing may be tagged')
    expect(misplaced('a1 6161 81 a16162 a16161 c26161')).toBe('tag 2: nothing may be tagged')
    expect(misplaced('a1 6161 81 a16162 a16161 c2430102')).toBe('ends in the middle')
    expect(misplaced('a1 6161 81 a16162 a16161 c25f4101ff')).toBe('an indefinite length')
    expect(misplaced('a1 6161 81 a16162 a16161 c2')).toBe('tag 2: nothing may be tagged')
  })

  test.each([2, 8, 9, 30])('a key that comes twice is found among %i, wherever it stands', (count) => {
    const key = (i: number): string => `62${(0x61 + Math.floor(i / 26)).toString(16)}${(0x61 + (i % 26)).toString(16)}`
    const head = count < 24 ? (0xa0 + count).toString(16) : `b8${count.toString(16)}`
    const keys = Array.from({ length: count }, (_, i) => key(i))
    const message = (names: readonly string[]): Uint8Array =>
      hex(`${head} ${names.map((name) => `${name}01`).join(' ')}`)
    expect(checkProfile(message(keys))).toBeUndefined()
    for (const [i, j] of [
      [0, 1],
      [0, count - 1],
      [count - 2, count - 1],
    ] as const) {
      expect(problemOf(message(keys.with(j, keys[i]!)))).toMatch(/^duplicate key/)
    }
  })

  test('keys of a map within a map are no keys of the one around it', () => {
    expect(checkProfile(hex('a2 6161 a1616100 6162 a1616200'))).toBeUndefined()
    expect(problemOf(hex('a3 6161 a1616200 6162 a1616100 6161 00'))).toBe('duplicate key "a"')
  })
})
