// The predicates of a catalog: what rules may ask for, by state and by type (PROTOCOL 13).

import { expect, test } from 'vitest'
import { PREDICATES_MAX } from '../../../build/abi.ts'
import { cores } from '../../oracle/cores.ts'
import { EXAMPLE, load, problems } from './example.ts'

/** The example without predicates of its own. */
const BARE = EXAMPLE.replace(/\npredicates:\n( .*\n)+/, '\n')

/** The example with these predicates alone. In a mistake, ¦ marks where the error must point to; it is not part of the text. */
const including = (...lines: readonly string[]): string =>
  `${BARE}\npredicates:\n${lines.map((line) => `  ${line}\n`).join('')}`

const catalog = load(
  including(
    'low_battery: state.battery.remaining < 20',
    'high: payload.alt > 20',
    'old: age(state.position.lat) > 200 && state.armed',
    'fast: abs(payload.north) > 2.0 || abs(payload.east) > 2.0',
  ),
)
const typeNames = (types: ReadonlyMap<number, number>) => [...types.keys()].map((type) => catalog.types[type]!.name)
const named = (name: string) => catalog.predicates.find((predicate) => predicate.name === name)!

test('one over state alone is one of the core, one over a payload is one for each type that has its fields', () => {
  expect(catalog.predicates.map(({ name }) => name)).toEqual(['low_battery', 'high', 'old', 'fast'])
  expect(named('low_battery')).toEqual({
    name: 'low_battery',
    text: 'state.battery.remaining < 20',
    state: 0,
    types: new Map(),
  })
  expect(named('high').state).toBeUndefined()
  expect(typeNames(named('high').types)).toEqual(['takeoff', 'goto'])
  expect([...named('high').types.values()]).toEqual([1, 2])
  expect(named('old').state).toBe(3)
  expect(typeNames(named('fast').types)).toEqual(['velocity'])
  const { predicates } = catalog.image
  expect(predicates.map(({ name }) => name)).toEqual(['low_battery', 'high', 'high', 'old', 'fast'])
  for (const { types } of catalog.predicates)
    for (const [type, index] of types) expect(predicates[index]!.type).toBe(type)
  expect(load(BARE).predicates).toEqual([])
})

test('what a predicate reads joins the footprint of no type', () => {
  const { types } = load(EXAMPLE)
  expect(catalog.types).toEqual(types)
  expect(catalog.image.types).toEqual(load(EXAMPLE).image.types)
})

test.each(cores)('the %s takes them, and low_battery is what it says', (_, make) => {
  const core = make(catalog.image, new Uint8Array(8), new Uint8Array(32))
  const field = catalog.fields.findIndex(({ name }) => name === 'battery.remaining')
  expect(core.predicate(named('low_battery').state!, 0, 0)).toBeUndefined()
  core.observe(field, 19, 0)
  expect(core.predicate(named('low_battery').state!, 0, 0)).toBe(true)
  core.observe(field, 20, 1)
  expect(core.predicate(named('low_battery').state!, 0, 1)).toBe(false)
})

test('a type whose field of that name is of another kind is passed over', () => {
  const text = including('named: payload.text == "go"', 'called: payload.text > 2 || payload.alt > 20').replace(
    '      alt: { type: number, unit: m, min: 4, max: 30, description: height above home }',
    '      text: { type: number }\n      alt: { type: number, unit: m, min: 4, max: 30, description: height above home }',
  )
  const mixed = load(text)
  const of = (i: number) => [...mixed.predicates[i]!.types.keys()].map((type) => mixed.types[type]!.name)
  expect(of(0)).toEqual(['notice.operator', 'request.approval'])
  expect(of(1)).toEqual(['takeoff'])
})

test('settled for one type is no mistake where it is open for another', () => {
  // takeoff goes to 30 m at most, goto to 60 m.
  expect(problems(including('high: payload.alt > 50'))).toEqual([])
})

type Mistake = readonly [line: string, key: string, message: string]
const MISTAKES: readonly Mistake[] = [
  ['low: ¦state.battery.remaining < -1 && false', 'low', 'can never be true, whatever the state is'],
  ['any: ¦state.armed || true', 'any', 'is always true, whatever the state is'],
  ['old: ¦age(state.armed) >= 0', 'old', 'is always true, whatever the state is'],
  ['high: ¦payload.alt > 60', 'high', 'can never be true, whatever the state is'],
  ['low: ¦payload.alt >= 4', 'low', 'is always true, whatever the state is'],
  ['was: ¦cited.armed', 'was', 'a predicate reads only the present state'],
  ['same: unchanged(¦state.map)', 'same', '`unchanged` is not allowed in a predicate: it reads only the present state'],
  [
    'moved: drift(¦state.home.lat) > 1',
    'moved',
    '`drift` is not allowed in a predicate: it reads only the present state',
  ],
  ['late: ¦elapsed() > 1', 'late', '`elapsed()` has a meaning in `done` only'],
  ['low: ¦state.battery.remainin < 20', 'low', 'unknown field `battery.remainin` (did you mean `battery.remaining`?)'],
  ['turned: ¦state.heading > 3', 'turned', 'field `heading` is not under `state`'],
  [
    'fast: ¦payload.nort > 2',
    'fast',
    'reads `payload.nort`: no type has a payload field `nort` (did you mean `north`?)',
  ],
  [
    'both: ¦payload.north > 2 && payload.lat > 1',
    'both',
    'reads `payload.north` and `payload.lat`: no type has them all',
  ],
  ['fast: ¦payload.north && state.armed', 'fast', 'must be a boolean, not a number'],
  ['number: ¦state.battery.remaining', 'number', 'must be a boolean, not a number'],
  ['Low: ¦state.armed', 'Low', 'a name is lower case: a-z, 0-9, _ and dots, and does not begin with a digit or a dot'],
  ['low: ¦3', 'low', 'must be CEL text: quote it'],
]
test.each(MISTAKES)('%s', (line, key, message) => {
  const marked = including(line)
  const before = marked.slice(0, marked.indexOf('¦')).split('\n')
  // A name is at fault at its key.
  const column = message.startsWith('a name') ? 3 : before.at(-1)!.length + 1
  expect(problems(marked.replace('¦', ''))).toEqual([`${before.length}:${column}: predicates.${key}: ${message}`])
})

test('more than the core takes', () => {
  const lines = Array.from({ length: PREDICATES_MAX + 1 }, (_, i) => `p${i}: state.battery.remaining < ${i + 1}`)
  expect(problems(including(...lines.slice(1)))).toEqual([])
  expect(problems(including(...lines))[0]).toContain(
    `predicates: make ${PREDICATES_MAX + 1}, one for each type whose payload is read, at most ${PREDICATES_MAX}`,
  )
})
