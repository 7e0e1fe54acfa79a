// CEL text to expressions: what is accepted and as what, and every node that is refused (PROTOCOL 3, "Clauses").

import { describe, expect, test } from 'vitest'
import { LANDED, MODES } from '../../../src/autopilot/profile.ts'
import type { PayloadField } from '../../../src/catalog/catalog.ts'
import { ClauseError, compileClause, compileNumber, type Scope, type ScopeField } from '../../../src/catalog/clause.ts'
import type { Expression } from '../../../src/core/expression.ts'

const field = (index: number, name: string, rest: Partial<ScopeField>): [string, ScopeField] => [
  name,
  {
    index,
    name,
    source: 'profile',
    type: 'number',
    members: undefined,
    unit: undefined,
    continuous: true,
    maxAge_ms: 1000,
    declared: true,
    retainedAllowed: false,
    enumeration: undefined,
    angle: false,
    ...rest,
  },
]
const slot = (name: string, rest: Partial<PayloadField>): PayloadField => ({
  name,
  kind: 'number',
  optional: false,
  unit: undefined,
  min: undefined,
  max: undefined,
  maxLength: undefined,
  values: undefined,
  ...rest,
})

const CLAUSE: Scope = {
  fields: new Map([
    field(0, 'armed', { type: 'boolean', continuous: false }),
    field(1, 'mode', { type: 'enum', enumeration: 'mode', members: MODES, continuous: false }),
    field(2, 'landed', { type: 'enum', enumeration: 'landed', members: LANDED, continuous: false }),
    field(3, 'position.alt', {}),
    field(4, 'heading', { angle: true }),
    field(5, 'weather', { type: 'enum', members: ['calm', 'windy'], continuous: false, source: 'context' }),
    field(6, 'home.amsl', { declared: false }),
    field(7, 'map', { type: 'integer', continuous: false, source: 'context' }),
  ]),
  payload: [
    slot('alt', {}),
    slot('speed', { kind: 'enum', values: ['slow', 'fast'], optional: true }),
    slot('note', { kind: 'string', optional: true }),
    slot('yaw', { optional: true }),
    slot('quick', { kind: 'boolean' }),
  ],
  constants: new Map<string, number | boolean>([
    ['FLOOR', 2.5],
    ['ALLOWED', true],
  ]),
  role: 'clause',
}
const DONE: Scope = { ...CLAUSE, role: 'done' }
const FRAME: Scope = { ...CLAUSE, role: 'frame' }
const PARAMETER: Scope = { ...CLAUSE, role: 'parameter' }

const n = (value: number): Expression => ({ op: 'number', value })
const now = (of: number): Expression => ({ op: 'now', field: of })
const payload = (of: number, guarded = false): Expression => ({ op: 'payload', slot: of, guarded })
const has = (of: number): Expression => ({ op: 'has', slot: of })
const not = (e: Expression): Expression => ({ op: 'not', args: [e] })
const both = (
  op: 'and' | 'or' | 'lt' | 'le' | 'gt' | 'ge' | 'eq' | 'ne' | 'add' | 'sub' | 'mul' | 'div' | 'min' | 'max',
  a: Expression,
  b: Expression,
): Expression => ({ op, args: [a, b] })

const accepted: readonly (readonly [string, Expression])[] = [
  ['true', n(1)],
  ['state.armed', now(0)],
  ['!state.armed', not(now(0))],
  ['cited.armed', { op: 'cited', field: 0 }],
  ['state.position.alt >= 25', both('ge', now(3), n(25))],
  ['state.position.alt < -1.5e1', both('lt', now(3), n(-15))],
  ['-state.position.alt > payload.alt', both('gt', { op: 'neg', args: [now(3)] }, payload(0))],
  [
    '1 + 2 * 3 - 4 / 8 <= 0.5',
    both('le', both('sub', both('add', n(1), both('mul', n(2), n(3))), both('div', n(4), n(8))), n(0.5)),
  ],
  ['state.map == 3', both('eq', now(7), n(3))],
  ['state.armed == payload.quick', both('eq', now(0), payload(4))],
  ['state.mode == mode.OFFBOARD', both('eq', now(1), n(MODES.indexOf('OFFBOARD')))],
  ['landed.IN_AIR != state.landed', both('ne', n(1), now(2))],
  ['state.mode != cited.mode', both('ne', now(1), { op: 'cited', field: 1 })],
  ['state.weather == "windy"', both('eq', now(5), n(1))],
  ['payload.speed == "slow"', both('eq', payload(1), n(0))],
  ['"fast" != payload.speed', both('ne', n(1), payload(1))],
  ['payload.note == "a\\nb"', { op: 'text', slot: 2, value: 'a\nb', guarded: false }],
  ['payload.note != "x"', not({ op: 'text', slot: 2, value: 'x', guarded: false })],
  ['constants.ALLOWED && payload.alt > constants.FLOOR', both('and', n(1), both('gt', payload(0), n(2.5)))],
  ['age(state.position.alt) <= 300', both('le', { op: 'age', field: 3 }, n(300))],
  ['unchanged(state.map)', { op: 'unchanged', field: 7 }],
  ['drift(state.position.alt) < 2', both('lt', { op: 'drift', field: 3, angle: false }, n(2))],
  ['drift(state.heading) < 2', both('lt', { op: 'drift', field: 4, angle: true }, n(2))],
  ['distance(1, 2, 3.0, payload.alt) < 9', both('lt', { op: 'distance', args: [n(1), n(2), n(3), payload(0)] }, n(9))],
  [
    'abs(min(payload.alt, 2)) == max(1, 2)',
    both('eq', { op: 'abs', args: [both('min', payload(0), n(2))] }, both('max', n(1), n(2))),
  ],
  ['state.armed ? payload.alt > 1 : false', { op: 'select', args: [now(0), both('gt', payload(0), n(1)), n(0)] }],
]

const high = (guarded: boolean) => both('gt', payload(3, guarded), n(1))
const guards: readonly (readonly [string, Expression])[] = [
  ['payload.yaw > 1', high(false)],
  ['has(payload.yaw) && payload.yaw > 1', both('and', has(3), high(true))],
  ['payload.yaw > 1 && has(payload.yaw)', both('and', high(false), has(3))],
  ['!has(payload.yaw) || payload.yaw > 1', both('or', not(has(3)), high(true))],
  ['has(payload.yaw) || payload.yaw > 1', both('or', has(3), high(false))],
  ['!has(payload.yaw) && payload.yaw > 1', both('and', not(has(3)), high(false))],
  ['has(payload.speed) && payload.yaw > 1', both('and', has(1), high(false))],
  ['state.armed && has(payload.yaw) && payload.yaw > 1', both('and', both('and', now(0), has(3)), high(true))],
  ['(state.armed || has(payload.yaw)) && payload.yaw > 1', both('and', both('or', now(0), has(3)), high(false))],
  [
    '!(!has(payload.yaw) || state.armed) && payload.yaw > 1',
    both('and', not(both('or', not(has(3)), now(0))), high(true)),
  ],
  ['has(payload.yaw) ? payload.yaw > 1 : true', { op: 'select', args: [has(3), high(true), n(1)] }],
  ['has(payload.yaw) ? true : payload.yaw > 1', { op: 'select', args: [has(3), n(1), high(false)] }],
  ['!has(payload.yaw) ? true : payload.yaw > 1', { op: 'select', args: [not(has(3)), n(1), high(true)] }],
  ['has(payload.note) && payload.note == "x"', both('and', has(2), { op: 'text', slot: 2, value: 'x', guarded: true })],
]

const refused: readonly (readonly [text: string, position: number, message: string])[] = [
  ['', 0, 'is not CEL'],
  ['state.armed &&', 14, 'is not CEL'],
  ['payload.alt % 2 == 0', 0, '`%` is not allowed: all numbers are doubles'],
  ['payload.alt in [1]', 0, '`in` is not allowed'],
  ['[1] == [1]', 0, 'lists are not allowed'],
  ['{"a": 1} == {}', 0, 'maps are not allowed'],
  ['state.armed && [true][0]', 15, 'indexing is not allowed'],
  ['payload.note.contains("x")', 0, 'methods and macros are not allowed'],
  ['[1].all(x, x > 0)', 0, 'methods and macros are not allowed'],
  ['size(payload.note) > 1', 0, 'unknown function `size`'],
  ['int(payload.alt) > 1', 0, 'unknown function `int` (did you mean `min`?)'],
  ['1u < 2', 0, 'only numbers, booleans and strings can be written'],
  ['b"x" == b"x"', 0, 'only numbers, booleans and strings can be written'],
  ['null == null', 0, 'only numbers, booleans and strings can be written'],
  ['9007199254740993 > payload.alt', 0, 'no double is this integer'],
  ['1e999 > payload.alt', 0, 'is not CEL: invalid number: Infinity'],
  ['payload.alt', 0, 'must be a boolean, not a number'],
  ['!payload.alt', 1, 'must be a boolean, not a number'],
  ['-state.armed', 1, 'must be a number, not a boolean'],
  ['state.armed && 1', 15, 'must be a boolean, not a number'],
  ['state.armed + 1 > 0', 0, 'must be a number, not a boolean'],
  ['1 < 2 < 3', 0, 'must be a number, not a boolean'],
  ['state.mode > mode.HOLD', 0, 'must be a number, not a member of `mode`'],
  ['state.mode == landed.IN_AIR', 14, 'a member of `landed` is compared with a member of `mode`'],
  ['state.mode == 3', 14, 'a number is compared with a member of `mode`'],
  ['state.mode == "HOLD"', 14, 'members are written without quotes: mode.HOLD'],
  ['state.mode == mode.HOLT', 14, '`mode` has no member `HOLT` (did you mean `HOLD`?)'],
  ['payload.speed == "slov"', 17, '`payload.speed` is never "slov", but one of slow, fast'],
  ['payload.speed == state.weather', 17, 'a member of `state.weather` is compared with a member of `payload.speed`'],
  ['payload.note < "x"', 0, 'must be a number, not a string'],
  ['payload.note + "x" == "y"', 0, 'must be a number, not a string'],
  ['payload.note == payload.note', 0, 'a string can only be compared: a payload field with a quoted text'],
  ['"a" == "a"', 0, 'a string can only be compared: a payload field with a quoted text'],
  ['state.armed ? "a" : "b"', 0, 'strings only with == and !='],
  ['state.armed ? 1 : true', 18, 'the branches of ?: differ: a number and a boolean'],
  ['state.armd', 0, 'unknown field `armd` (did you mean `armed`?)'],
  ['state.home.amsl > 1', 0, 'field `home.amsl` is not under `state`'],
  ['payload.atl > 1', 0, 'this type has no payload field `atl` (did you mean `alt`?)'],
  ['has(payload.atl)', 4, 'this type has no payload field `atl` (did you mean `alt`?)'],
  ['has(state.armed)', 0, '`has` asks for a payload field: has(payload.x)'],
  ['constants.ROOF > 1', 0, 'unknown constant `ROOF`'],
  ['armed', 0, 'unknown name `armed`'],
  ['stat.armed', 0, 'unknown name `stat.armed` (did you mean `state`?)'],
  ['target.system == 1', 0, 'unknown name `target.system`'],
  ['age(1) > 2', 4, '`age` takes a state field: age(state.x)'],
  ['age(cited.armed) > 2', 4, '`age` takes a state field: age(state.x)'],
  ['unchanged(state.position.alt)', 10, '`position.alt` is continuous and has no version: use drift'],
  ['drift(state.mode) > 1', 6, '`mode` is not a number: use unchanged'],
  ['abs(1, 2) > 1', 0, '`abs` takes 1 argument, not 2'],
  ['distance(1, 2) > 1', 0, '`distance` takes 4 arguments, not 2'],
  ['elapsed() > 1', 0, '`elapsed()` has a meaning in `done` only'],
]

const attempt = (make: () => unknown): readonly [number, string] | 'accepted' => {
  try {
    make()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ClauseError)) throw error
    return [error.position, error.message]
  }
}

test.each(accepted)('accepted: %s', (text, expression) => expect(compileClause(text, CLAUSE)).toEqual(expression))

test.each(guards)('guarded by has: %s', (text, expression) => expect(compileClause(text, CLAUSE)).toEqual(expression))

test.each(refused)('G5 refused: %s', (text, position, message) => {
  expect(attempt(() => compileClause(text, CLAUSE))).toEqual([position, expect.stringContaining(message)])
})

test('elapsed() in done', () => {
  expect(compileClause('elapsed() >= 5', DONE)).toEqual(both('ge', { op: 'elapsed' }, n(5)))
})

describe('numbers of frames', () => {
  test.each<readonly [string, Expression]>([
    ['payload.alt + state.home.amsl', both('add', payload(0), now(6))],
    ['target.system', { op: 'target', part: 0 }],
    ['target.component', { op: 'target', part: 1 }],
    ['has(payload.yaw) ? payload.yaw : 0', { op: 'select', args: [has(3), payload(3, true), n(0)] }],
    ['has(payload.down) ? payload.down : 7', { op: 'select', args: [n(0), n(0), n(7)] }],
  ])('%s', (text, expression) => expect(compileNumber(text, FRAME)).toEqual(expression))

  test.each([
    ['payload.down', FRAME, 'this type has no payload field `down`'],
    ['state.armed', FRAME, 'must be a number, not a boolean'],
    ['cited.position.alt', FRAME, 'a frame reads only the present state'],
    ['age(state.position.alt)', FRAME, '`age` is not allowed in a frame'],
    ['elapsed()', FRAME, '`elapsed()` has a meaning in `done` only'],
    ['target.system', PARAMETER, 'unknown name `target.system`'],
    ['state.home.amsl', PARAMETER, 'field `home.amsl` is not under `state`'],
    ['has(payload.down) ? payload.down : 7', PARAMETER, 'this type has no payload field `down`'],
  ] as const)('G5 refused: %s', (text, scope, message) => {
    expect(attempt(() => compileNumber(text, scope))).toEqual([expect.any(Number), expect.stringContaining(message)])
  })
})
