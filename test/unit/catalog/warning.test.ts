// What a catalog may say and hardly means: each is a warning with its line, column and key. In the tables below, ¦ marks where it
// must point to. Every one also stands, with its whole file, under test/fixtures/wrong.

import { expect, test } from 'vitest'
import { ARDUPILOT_EXAMPLE, changed, EXAMPLE, warnings } from './example.ts'

test.each([
  ['px4-multirotor', EXAMPLE],
  ['ardupilot-copter', ARDUPILOT_EXAMPLE],
])('the example of %s has none', (_, text) => {
  expect(warnings(text)).toEqual([])
})

const BATTERY = 'battery: state.battery.remaining >= 40 # %, enough for the flight and the way home'
const SUPPORT = 'components.takeoff.support.battery'
const RANGE = '`battery.remaining` is 0 to 100 %'
const KNOWN = 'change it, or ask whether the value is known: age(state.battery.remaining) <= 1000'

test.each([
  ['state.battery.remaining > 130', `can never hold, since ${RANGE}: change it, or leave it out`],
  ['state.battery.remaining >= 0', `always holds, since ${RANGE}: ${KNOWN}`],
  ['cited.battery.remaining <= 100', `always holds, since ${RANGE}: change it, or leave it out`],
  ['state.gps.fix == 9', 'can never hold, since `gps.fix` is 0 to 8: change it, or leave it out'],
  ['payload.alt >= 4', 'always holds, whatever the state is: change it, or leave it out'],
  ["'true'", 'always holds, whatever the state is: change it, or leave it out'],
  ['age(state.home.lat) <= 1', '`age` is in ms, and no `home.lat` stays younger than 1 ms: for 1 s say 1000'],
  [
    'state.ready && 3 > age(state.home.lat)',
    '`age` is in ms, and no `home.lat` stays younger than 3 ms: for 3 s say 3000',
  ],
  ['age(state.map) < 60', '`age` is in ms, and no `map` stays younger than 60 ms: for 60 s say 60000'],
])('a clause that decides nothing: %s', (clause, message) => {
  const found = warnings(changed(BATTERY, `battery: ${clause}`))
  expect(found).toEqual([expect.stringMatching(/^\d+:16: /)])
  expect(found[0]).toContain(`${SUPPORT}: ${message}`)
})

test.each([
  'age(state.home.lat) <= 100',
  'age(state.map) <= 1000',
  'state.battery.remaining > 0',
  'state.battery.remaining + state.position.alt > 130',
  'payload.alt > 4',
])('a clause that decides something: %s', (clause) => {
  expect(warnings(changed(BATTERY, `battery: ${clause}`))).toEqual([])
})

type Warned = readonly [from: string, to: string, key: string, message: string]

const HOLD =
  '    gate:\n      flying: state.armed\n    may_require: { takeoff: completed, goto: completed, velocity: completed, release: completed }'
const NOT_TWICE = 'has no `uses`, so it may fly at the same time as any other action: name what it takes'
const LEFT = 'a take-off that fails is left armed, close to the ground,'

test.each<Warned>([
  [
    `${HOLD}\n    wait: 20min # it may stand at the end of a long plan\n    uses: flight\n`,
    `${HOLD}\n`,
    'components.hold',
    NOT_TWICE,
  ],
  [
    '    uses: flight\n    effect: { handoff: pilot }',
    '    effect: { handoff: pilot }',
    'components.handoff.pilot',
    NOT_TWICE,
  ],
  [
    '      otherwise: land # a hold would leave it armed at 0.3 m',
    '',
    'components.takeoff.effect.otherwise',
    `${LEFT} without \`otherwise\`: say \`otherwise: land\``,
  ],
  [
    '      otherwise: land # a hold would',
    '      otherwise: ¦hold #',
    'components.takeoff.effect.otherwise',
    `${LEFT} by a hold: say \`otherwise: land\``,
  ],
])('what flies: %s → %s', (from, to, key, message) => {
  const found = warnings(changed(from, to.replace('¦', '')))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`${key}: ${message}`)
})

const TAKEOFF_ALT = '      alt: { type: number, unit: m, min: 4, max: 30, description: height above home }'
const DEAD = 'no clause and no effect reads it, so it does nothing: use it, or leave it out'
const UNREAD = 'no clause, `watches`, report or effect reads it: leave it out, or report it to whoever should know'

test.each<Warned>([
  [
    TAKEOFF_ALT,
    `${TAKEOFF_ALT}\n      ¦speed: { type: number, min: 1, max: 5 }`,
    'components.takeoff.payload.speed',
    DEAD,
  ],
  [
    '      text: { type: string, max_length: 200 } # bytes',
    '      ¦to: { type: string }\n      text: { type: string } #',
    'components.notice.operator.payload.to',
    DEAD,
  ],
  ['  ready: { max_age: 1s }', '  ¦battery.voltage:\n  ready: { max_age: 1s }', 'state.battery.voltage', UNREAD],
  ['  map: {', '  ¦wind: { from: context, type: number, max_age: 1min }\n  map: {', 'state.wind', UNREAD],
  [
    '  low: state.position.alt < 6',
    '  low: ¦state.position.alt < 20000',
    'predicates.low',
    'is always true, since `position.alt` is -10500 to 10500 m',
  ],
  [
    '  low: state.position.alt < 6',
    '  low: ¦state.position.alt < -20000',
    'predicates.low',
    'is never true, since `position.alt` is',
  ],
])('what nobody reads, or learns from: %s → %s', (from, to, key, message) => {
  const before = changed(from, to).split('¦')[0]!.split('\n')
  const found = warnings(changed(from, to.replace('¦', '')))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`${before.length}:${before.at(-1)!.length + 1}: ${key}: ${message}`)
})

test('a predicate reads what it names', () => {
  const text = changed('  ready: { max_age: 1s }', '  battery.voltage:\n  ready: { max_age: 1s }')
  expect(warnings(text.replace('predicates:\n', 'predicates:\n  weak: state.battery.voltage < 14\n'))).toEqual([])
})

const GROUND = 'on_ground: state.landed == landed.ON_GROUND && !state.armed'

test.each<Warned>([
  // What the take-off brings about is asked for while the vehicle still stands.
  [
    '      inside: distance(state.position.lat, state.position.lon, state.home.lat, state.home.lon) <= 300',
    '      up: state.armed && state.position.alt >= 4',
    'components.goto.may_require.takeoff',
    'no response can bring both `takeoff` and `goto`: their `support` never holds at once. What an earlier action',
  ],
])('what can never follow what it rests on: %s → %s', (from, to, key, message) => {
  const text = changed(
    `    gate:\n      ${GROUND} # PX4 accepts NAV_TAKEOFF in flight, and climbs\n`,
    '    gate:\n',
  ).replace(
    '      battery: state.battery.remaining >= 40',
    '      down: state.landed == landed.ON_GROUND && !state.armed\n      battery: state.battery.remaining >= 40',
  )
  const found = warnings(text.replace(from, to))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`${key}: ${message}`)
})

test('what an action holds can keep the next one from ever being dispatched', () => {
  const text = changed(
    '      flying: state.armed && state.landed == landed.IN_AIR && state.position.alt >= 2.5',
    '      flying: state.landed == landed.ON_GROUND',
  )
  expect(warnings(text).map((said) => said.replace(/^\d+:\d+: /, ''))).toEqual(
    ['takeoff', 'goto', 'velocity'].map(
      (before) =>
        `components.goto.may_require.${before}: can never be dispatched after a \`${before}\`: its clauses never hold while what that one \`holds\` does. Change one of them, or leave \`${before}\` out here`,
    ),
  )
})

test('clauses of one type that exclude each other', () => {
  const text = changed(GROUND, 'on_ground: state.landed == landed.IN_AIR\n      down: state.landed == landed.ON_GROUND')
  expect(warnings(text)).toEqual([
    expect.stringMatching(
      /^\d+:3: components\.takeoff: can never be dispatched: its clauses never all hold at once\. Change one/,
    ),
  ])
})
