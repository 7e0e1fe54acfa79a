import { describe, expect, test } from 'vitest'
import type { PayloadField } from '../../../src/catalog/catalog.ts'
import { readPayload } from '../../../src/wire/payload.ts'

const field = (name: string, kind: PayloadField['kind'], more: Partial<PayloadField> = {}): PayloadField => ({
  name,
  kind,
  optional: false,
  unit: undefined,
  min: undefined,
  max: undefined,
  maxLength: undefined,
  values: undefined,
  ...more,
})
const type = {
  payload: [
    field('alt', 'number'),
    field('count', 'integer'),
    field('loud', 'boolean'),
    field('text', 'string', { optional: true }),
    field('side', 'enum', { values: ['left', 'right'] }),
  ],
}
const good = { alt: 1.5, count: 3, loud: true, text: 'é', side: 'right' }
const readFields = (fields: Record<string, number | boolean | string>) =>
  readPayload(new Map(Object.entries(fields)), type)

describe('a payload (PROTOCOL 5, step 1)', () => {
  test('becomes slots in catalog order', () => {
    expect(readFields(good)).toEqual({ slots: [1.5, 3, 1, 'é', 1] })
    const { text: _, side, ...without } = good
    expect(readFields({ side, ...without, loud: false })).toEqual({ slots: [1.5, 3, 0, undefined, 1] })
    const full = 'é'.repeat(512)
    expect(readFields({ ...good, text: full })).toEqual({ slots: [1.5, 3, 1, full, 1] })
    expect(readFields({ ...good, side: 'left', count: Number.MIN_SAFE_INTEGER, alt: 1e300, text: '' })).toEqual({
      slots: [1e300, Number.MIN_SAFE_INTEGER, 1, '', 0],
    })
  })

  test.each([
    ['a missing field', { count: 3, loud: true, side: 'left' }, 'alt', 'missing'],
    ['an unknown field', { ...good, speed: 3 }, '"speed"', 'no such field'],
    ['a name of every object', { ...good, constructor: 3 }, '"constructor"', 'no such field'],
    ['a text for a number', { ...good, alt: '1.5' }, 'alt', 'must be a number'],
    ['a boolean for a number', { ...good, alt: true }, 'alt', 'must be a number'],
    ['NaN', { ...good, alt: Number.NaN }, 'alt', 'must be a finite number, or an integer within 2^53-1'],
    ['NaN for an integer', { ...good, count: Number.NaN }, 'count', 'must be an integer within 2^53-1'],
    ['NaN for a text', { ...good, text: Number.NaN }, 'text', 'must be a text'],
    ['infinity', { ...good, alt: Number.POSITIVE_INFINITY }, 'alt', 'must be a finite number'],
    ['a fraction for an integer', { ...good, count: 2.5 }, 'count', 'must be an integer within 2^53-1'],
    ['2^53 for an integer', { ...good, count: 2 ** 53 }, 'count', 'must be an integer within 2^53-1'],
    ['1 for a boolean', { ...good, loud: 1 }, 'loud', 'must be true or false'],
    ['a number for a text', { ...good, text: 1 }, 'text', 'must be a text'],
    ['another member', { ...good, side: 'up' }, 'side', 'one of left, right'],
    ['a member by number', { ...good, side: 1 }, 'side', 'one of left, right'],
    [
      'more text than the core holds',
      { ...good, text: 'é'.repeat(513) },
      'text',
      'more than 1024 bytes of text in all',
    ],
  ])('G5 %s is refused', (_, fields, name, problem) => {
    expect(readFields(fields)).toEqual({ field: name, problem: expect.stringContaining(problem) })
  })

  test('a type without payload takes none', () => {
    expect(readPayload(new Map(), { payload: [] })).toEqual({ slots: [] })
    expect(readPayload(new Map([['a', 1]]), { payload: [] })).toEqual({ field: '"a"', problem: 'no such field' })
  })
})
