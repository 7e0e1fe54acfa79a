// Every mistake in a catalog is a start-up error with its line, column and key (PROTOCOL 3). In the tables below, ¦ marks
// where the error must point to; it is not part of the text.

import { expect, test } from 'vitest'
import { changed, EXAMPLE, load, problems } from './example.ts'

/** What is replaced in the example, by what, the key and the message. */
type Mistake = readonly [from: string, to: string, key: string, message: string]

const EVIDENCE = 'evidence: { max_age: 60s }'
const BATTERY = 'battery: state.battery.remaining >= 40 # %, enough for the flight and the way home'
const TAKEOFF = '      command: takeoff # HOLD, arm, NAV_TAKEOFF, each confirmed before the next'
const DWELL = '      dwell: 1s'
const MAP = '  map: { from: context, type: integer, max_age: 1h, retained: allowed }'
const TAKEOFF_ALT = '      alt: { type: number, unit: m, min: 4, max: 30, description: height above home }'
const TAKEOFF_MAY =
  '    may_require: { request.approval: completed, report.range: released, return: completed, land: completed }'
const TOLERANCE = '      tolerance: { home.amsl: 1m }'
const STATUS = '    effect: { report: [armed, mode, landed, ready, battery.remaining, gps.fix] }'

const KEYS: readonly Mistake[] = [
  [EVIDENCE, `${EVIDENCE}\n¦colour: red`, 'colour', 'unknown key'],
  [EVIDENCE, 'evidence: { ¦max_ago: 60s, max_age: 60s }', 'evidence.max_ago', 'unknown key (did you mean `max_age`?)'],
  [
    EVIDENCE,
    'evidence: { max_age: ¦60 }',
    'evidence.max_age',
    'must be a duration such as 300ms, 10s, 5min or 1h, not 60',
  ],
  [
    EVIDENCE,
    'evidence: { max_age: ¦60m }',
    'evidence.max_age',
    'must be a duration such as 300ms, 10s, 5min or 1h, not "60m"',
  ],
  [EVIDENCE, 'evidence: { max_age: ¦0 }', 'evidence.max_age', 'must be longer than 0'],
  [EVIDENCE, '¦evidence: {}', 'evidence.max_age', 'is missing'],
  ['catalog: 1\n', 'catalog: ¦2\n', 'catalog', 'must be 1, not 2'],
  [
    'vehicle: px4-multirotor',
    'vehicle: ¦px4-multirotr',
    'vehicle',
    'must be one of px4-multirotor, ardupilot-copter (did you mean `px4-multirotor`?)',
  ],
  [
    TAKEOFF_ALT,
    '      alt: { type: ¦numbr }',
    'components.takeoff.payload.alt.type',
    'must be one of number, integer, boolean, string, enum, not "numbr" (did you mean `number`?)',
  ],
  [TAKEOFF_ALT, '      alt: { type: number, ¦values: [a] }', 'components.takeoff.payload.alt.values', 'unknown key'],
  [
    TAKEOFF_ALT,
    '      alt: { type: number, min: ¦low }',
    'components.takeoff.payload.alt.min',
    'must be a number, not "low"',
  ],
  [
    TAKEOFF_ALT,
    '      alt: { type: number, min: ¦40, max: 30 }',
    'components.takeoff.payload.alt.min',
    'is above max, 30',
  ],
  [
    TAKEOFF_ALT,
    `${TAKEOFF_ALT}\n      speed: { type: enum, values: [slow, ¦slow] }`,
    'components.takeoff.payload.speed.values.1',
    '`slow` is named twice',
  ],
  [
    TAKEOFF_ALT,
    `${TAKEOFF_ALT}\n      ¦Speed: { type: number }`,
    'components.takeoff.payload.Speed',
    'a name is lower case: a-z, 0-9, _ and dots, and does not begin with a digit or a dot',
  ],
  [
    '    kind: notice',
    '    kind: ¦notce',
    'components.notice.operator.kind',
    'must be one of notice, report, request, handoff, action, not "notce" (did you mean `notice`?)',
  ],
  [STATUS, `    ¦holds: {}\n${STATUS}`, 'components.status.holds', 'unknown key'],
  [
    'severity: info',
    'severity: ¦loud',
    'components.notice.operator.effect.notice.severity',
    'must be one of emergency, alert, critical, error, warning, notice, info, debug, not "loud"',
  ],
  [
    '{ notice: { text: text,',
    '{ notice: { text: ¦words,',
    'components.notice.operator.effect.notice.text',
    '`words` must be a string of the payload that is not optional',
  ],
]

const STATE: readonly Mistake[] = [
  [
    '  armed: { max_age: 3500ms }',
    '  armed: { max_age: 3500ms }\n  ¦armored: { max_age: 1s }',
    'state.armored',
    'unknown field (did you mean `armed`?); one that the ground sets says `from: context`',
  ],
  [
    '  armed: { max_age: 3500ms }',
    '  armed: { max_age: 3500ms, ¦type: boolean }',
    'state.armed.type',
    '`armed` comes from the vehicle: only max_age can be set',
  ],
  [MAP, '  ¦map: { from: context, max_age: 1h }', 'state.map', 'a context field needs its `type`'],
  [MAP, '  ¦map: { from: context, type: integer }', 'state.map', 'a context field needs its `max_age`'],
  [MAP, '  ¦map: { from: context, type: enum, max_age: 1h }', 'state.map', 'an enum needs its `values`'],
  [
    MAP,
    '  map: { from: context, type: integer, max_age: 1h, ¦values: [a] }',
    'state.map.values',
    'belong to the type enum only',
  ],
  [
    MAP,
    '  map: { from: context, type: boolean, max_age: 1h, ¦continuous: true }',
    'state.map.continuous',
    'only a number can be continuous',
  ],
  [
    '    watches: [map]',
    '    watches: [¦mapp]',
    'components.goto.watches.0',
    'unknown field `mapp` (did you mean `map`?)',
  ],
  [
    '    watches: [map]',
    '    watches: [map, ¦position.lat]',
    'components.goto.watches.1',
    '`position.lat` is continuous and has no version: only discrete fields can be watched',
  ],
  [
    STATUS,
    '    effect: { report: [armed, ¦critical] }',
    'components.status.effect.report.1',
    'field `critical` is not under `state`',
  ],
  [STATUS, '    effect: { report: ¦[] }', 'components.status.effect.report', 'must have at least 1 items'],
]

const TYPES: readonly Mistake[] = [
  [
    'hold, return, land, release]',
    'hold, return, ¦lnad, release]',
    'agents.planner.may.10',
    'unknown type `lnad` (did you mean `land`?)',
  ],
  [
    TAKEOFF_MAY,
    '    may_require: { ¦report.rnge: released }',
    'components.takeoff.may_require.report.rnge',
    'unknown type `report.rnge` (did you mean `report.range`?)',
  ],
  [
    TAKEOFF_MAY,
    '    may_require: { report.range: ¦completed }',
    'components.takeoff.may_require.report.range',
    'a report never reaches `completed`, only retained, released',
  ],
  [
    TAKEOFF_MAY,
    '    may_require: { goto: ¦acknowledged }',
    'components.takeoff.may_require.goto',
    'a setpoint never reaches `acknowledged`, only retained, dispatched, completed',
  ],
  [
    TAKEOFF_MAY,
    '    may_require: { goto: ¦dispatched }',
    'components.takeoff.may_require.goto',
    'both use `flight`: only `completed` can be waited for, not `dispatched`',
  ],
  [
    TAKEOFF_MAY,
    '    may_require: { goto: ¦done }',
    'components.takeoff.may_require.goto',
    'must be one of retained, released, dispatched, acknowledged, completed, not "done"',
  ],
  [
    TAKEOFF_MAY,
    '    requires: [report.range, ¦report.range]',
    'components.takeoff.requires.1',
    '`report.range` is named twice',
  ],
  [TAKEOFF_MAY, '    scope: [¦lands]', 'components.takeoff.scope.0', 'unknown type `lands` (did you mean `land`?)'],
  [TAKEOFF_MAY, '    requires: ¦[goto, takeoff]', 'components.takeoff.requires', 'is a cycle: takeoff → takeoff'],
]

const AGENTS =
  'agents:\n  planner:\n    may: [notice.operator, report.range, request.approval, handoff.pilot, status, takeoff, goto, velocity, hold, return, land, release]'

/** What an agent may say, and what nobody may. */
const PERMISSIONS: readonly Mistake[] = [
  [
    'hold, return, land, release]',
    'hold, return, land]',
    'components.release',
    'nobody may say it: name it under `may` of an agent, or leave the type out',
  ],
  [
    AGENTS,
    `${AGENTS}\n  scout: { may: [report.range, takeoff, ¦release] }`,
    'agents.scout.may.2',
    '`release` requires a `request.approval` of the same agent, and scout may not say one: add `request.approval` here, or leave `release` out',
  ],
  [AGENTS, '¦agents: {}', 'agents', 'is empty: nobody may say anything. Name an agent, and under `may` its types'],
]

const LAT = '      lat: { type: number, unit: deg, min: -90, max: 90 }'
const LON = '      lon: { type: number, unit: deg, min: -180, max: 180 }'
const ALT = '      alt: { type: number, unit: m, min: 4, max: 60, description: height above home }'
const NORTH = '      north: { type: number, unit: m/s, min: -3, max: 3 }'
const VELOCITY_SUPPORT = '      battery: state.battery.remaining >= 30 # %'
const GRIPPER = '    effect:\n      mav_cmd: { id: 211, params: [1, 0, 0, 0, 0, 0, 0] }'
const RELEASE = 'components.release'
const BOUNDS = 'goes to the vehicle, so it needs bounds: give'

/** What leaves: units, bounds, places, speeds. */
const LEAVES: readonly Mistake[] = [
  [
    TAKEOFF_ALT,
    '      alt: { type: number, unit: ¦ft, min: 4, max: 30 }',
    'components.takeoff.payload.alt.unit',
    'takeoff takes `alt` in m, not ft',
  ],
  [LAT, LAT.replace('deg', '¦rad'), 'components.goto.payload.lat.unit', 'position-global takes `lat` in deg, not rad'],
  [
    ALT,
    ALT.replace('unit: m', 'unit: ¦ft'),
    'components.goto.payload.alt.unit',
    'position-global takes `alt` in m, not ft',
  ],
  [
    ALT,
    `${ALT}\n      heading: { type: number, unit: ¦rad, min: 0, max: 6 }\n      #`,
    'components.goto.payload.heading.unit',
    'position-global takes `heading` in deg, not rad',
  ],
  [
    NORTH,
    NORTH.replace('m/s', '¦km/h'),
    'components.velocity.payload.north.unit',
    'velocity-local takes `north` in m/s, not km/h',
  ],
  [
    TAKEOFF_ALT,
    '      ¦alt: { type: number, unit: m }',
    'components.takeoff.payload.alt',
    `${BOUNDS} \`min\` and \`max\``,
  ],
  [TAKEOFF_ALT, '      ¦alt: { type: integer, min: 4 }', 'components.takeoff.payload.alt', `${BOUNDS} \`max\``],
  [LAT, '      ¦lat: { type: number, max: 90 }', 'components.goto.payload.lat', `${BOUNDS} \`min\``],
  [NORTH, '      ¦north: { type: number }', 'components.velocity.payload.north', `${BOUNDS} \`min\` and \`max\``],
  [
    ALT,
    `${ALT}\n      ¦heading: { type: number, unit: deg, optional: true }\n      #`,
    'components.goto.payload.heading',
    `${BOUNDS} \`min\` and \`max\``,
  ],
  [
    GRIPPER,
    `    payload: { ¦hook: { type: integer, min: 1 } }\n${GRIPPER.replace('[1, 0', '[payload.hook, 0')}`,
    `${RELEASE}.payload.hook`,
    `${BOUNDS} \`max\``,
  ],
  [LAT, LAT.replace('-90', '¦-91'), 'components.goto.payload.lat.min', 'must be at least -90 deg: from pole to pole'],
  [
    LAT,
    LAT.replace('max: 90', 'max: ¦132.6'),
    'components.goto.payload.lat.max',
    'must be at most 90 deg: from pole to pole',
  ],
  [LON, LON.replace('-180', '¦-181'), 'components.goto.payload.lon.min', 'must be at least -180 deg: half way round'],
  [
    LON,
    LON.replace('max: 180', 'max: ¦360'),
    'components.goto.payload.lon.max',
    'must be at most 180 deg: half way round',
  ],
  [
    ALT,
    ALT.replace('max: 60', 'max: ¦1e6'),
    'components.goto.payload.alt.max',
    'must be at most 10500 m: the difference of two heights above the sea',
  ],
  [
    ALT,
    `${ALT}\n      heading: { type: number, min: ¦-361, max: 0 }\n      #`,
    'components.goto.payload.heading.min',
    'must be at least -360 deg: once round, either way',
  ],
  [
    NORTH,
    NORTH.replace('max: 3', 'max: ¦6'),
    'components.velocity.payload.north.max',
    'allows 6 m/s, above max_speed: set it to 5 at most, or raise max_speed (5 m/s) in the configuration',
  ],
  [
    NORTH,
    NORTH.replace('-3', '¦-1e30'),
    'components.velocity.payload.north.min',
    'allows 1e+30 m/s, above max_speed: set it to -5 at least, or raise max_speed (5 m/s) in the configuration',
  ],
  [
    VELOCITY_SUPPORT,
    `      max_speed: state.ready\n${VELOCITY_SUPPORT}`,
    'components.velocity',
    '`max_speed` is the name of a velocity’s own clause: name yours otherwise',
  ],
  ...['20', '-1', 'null', 'payload.speed', 'state.velocity.north'].map(
    (speed): Mistake => [
      GRIPPER,
      `    payload: { speed: { type: number, min: 1, max: 6 } }\n    effect:\n      mav_cmd: { id: 178, params: [1, ¦${speed}, 0, 0, 0, 0, 0] }`,
      `${RELEASE}.effect.mav_cmd.params.1`,
      'is a speed, m/s: it must stay between 0 and max_speed (5 m/s)',
    ],
  ),
]

const INSTEAD =
  'arms, moves or stops the vehicle: only a verb (command: arm, disarm, takeoff, land, return, hold) or a setpoint ' +
  '(position-global, position-local, velocity-local, velocity-body) may do that'

const EFFECTS: readonly Mistake[] = [
  [
    TAKEOFF,
    '      mav_cmd: { id: ¦34, params: [1, 0, 0, 0, 0, 0, 0] }',
    'components.takeoff.effect.mav_cmd.id',
    `MAV_CMD 34 (DO_ORBIT) ${INSTEAD}`,
  ],
  [
    TAKEOFF,
    '      mav_cmd: { id: ¦DO_SET_MODE, params: [1, 0, 0, 0, 0, 0, 0] }',
    'components.takeoff.effect.mav_cmd.id',
    `MAV_CMD 176 (DO_SET_MODE) ${INSTEAD}`,
  ],
  ...[
    ['DO_GRIPER', ' (did you mean `DO_GRIPPER`?)'],
    ['MAV_CMD_DO_GRIPPER', ''],
  ].map(
    ([id, near]): Mistake => [
      TAKEOFF,
      `      mav_cmd: { id: ¦${id}, params: [1, 0, 0, 0, 0, 0, 0] }`,
      'components.takeoff.effect.mav_cmd.id',
      `must be 0 to 65535, or a name of MAVLink's list without MAV_CMD_, such as DO_GRIPPER, not "${id}"${near}`,
    ],
  ),
  [
    TAKEOFF,
    '      command: ¦tekoff',
    'components.takeoff.effect.command',
    'must be arm, disarm, takeoff, land, return, hold or { mav_cmd: ... }',
  ],
  [TAKEOFF, `${TAKEOFF}\n      ¦rate: 10Hz`, 'components.takeoff.effect.rate', 'belongs to a setpoint only'],
  [
    `    effect:\n${TAKEOFF}`,
    `    ¦effect:\n${TAKEOFF}\n      setpoint: position-global`,
    'components.takeoff.effect',
    'needs exactly one of setpoint, command, mav_cmd; setpoint and command are given',
  ],
  [
    `    effect:\n${TAKEOFF}`,
    '    ¦effect:',
    'components.takeoff.effect',
    'needs exactly one of setpoint, command, mav_cmd; none is given',
  ],
  [
    TAKEOFF,
    '      command: { mav_cmd: { id: ¦400, params: [1, 0, 0, 0, 0, 0, 0] } }',
    'components.takeoff.effect.command.mav_cmd.id',
    `MAV_CMD 400 (COMPONENT_ARM_DISARM) ${INSTEAD}`,
  ],
  [
    TAKEOFF,
    '      mav_cmd: { id: ¦22, params: [1, 0, 0, 0, 0, 0, 0] }',
    'components.takeoff.effect.mav_cmd.id',
    `MAV_CMD 22 (NAV_TAKEOFF) ${INSTEAD}`,
  ],
  [
    TAKEOFF,
    '      mav_cmd: { id: 2000, params: [0, payload.alt, 1, ¦state.heading, 0, 0, 0] }',
    'components.takeoff.effect.mav_cmd.params.3',
    'field `heading` is not under `state`',
  ],
  [
    TAKEOFF,
    '      mav_cmd: { id: 2000, params: ¦[0] }',
    'components.takeoff.effect.mav_cmd.params',
    'must have at least 7 items',
  ],
  [
    TAKEOFF,
    '      mav_cmd: { id: 2000, params: [0, 0, 0, 0, 0, 0, ¦[]] }',
    'components.takeoff.effect.mav_cmd.params.6',
    'must be a number, CEL text, or null for NaN',
  ],
  [DWELL, '      retransmit: ¦-1\n      dwell: 1s', 'components.goto.effect.retransmit', 'must be at least 0'],
  [DWELL, '      ¦retransmit: 1\n      dwell: 1s', 'components.goto.effect.retransmit', 'belongs to a command only'],
  [
    DWELL,
    '      ¦irreversible: true\n      dwell: 1s',
    'components.goto.effect.irreversible',
    'belongs to a mav_cmd only',
  ],
  [
    '      command: hold\n',
    '      command: hold\n      ¦irreversible: false\n',
    'components.hold.effect.irreversible',
    'belongs to a mav_cmd only',
  ],
  [
    '      irreversible: true\n',
    '      irreversible: true\n      ¦retransmit: 1\n',
    'components.release.effect.retransmit',
    'what is irreversible is sent once: leave this key out',
  ],
  [
    '      dwell: 1s # true this long without a break',
    '      dwell: ¦1',
    'components.goto.effect.dwell',
    'must be a duration such as 300ms, 10s, 5min or 1h, not 1',
  ],
  [
    '      then: none # PX4',
    '      then: ¦disarm #',
    'components.takeoff.effect.then',
    'must be one of hold, land, return, none, not "disarm"',
  ],
  [
    '      setpoint: position-global ',
    '      setpoint: ¦position-local ',
    'components.goto.effect.setpoint',
    'position-local needs the number `north` in the payload, which is missing',
  ],
  [
    TAKEOFF_ALT,
    '      alt: { type: number, min: 4, max: 30, optional: true }',
    'components.takeoff.effect.command',
    'takeoff needs the number `alt` in the payload, which is optional',
  ],
  [
    TAKEOFF_ALT,
    '      alt: { type: string }',
    'components.takeoff.effect.command',
    'takeoff needs the number `alt` in the payload, which is of type string',
  ],
  [
    TOLERANCE,
    '      tolerance: { home.amsl: ¦1ft }',
    'components.goto.effect.tolerance.home.amsl',
    'must be a number of m, e.g. 1m',
  ],
  [
    TOLERANCE,
    '      tolerance: { ¦home.lat: 1deg }',
    'components.goto.effect.tolerance.home.lat',
    'no frame of this effect reads `home.lat`',
  ],
  ['      within: 11s', '      within: ¦0', 'components.velocity.effect.within', 'must be longer than 0'],
]

const YAML: readonly Mistake[] = [
  [
    BATTERY,
    'battery: ¦!state.armed',
    '(yaml)',
    'unresolved tag: !state.armed; a clause that begins with `!` is a tag in YAML: quote it',
  ],
  [
    BATTERY,
    'battery: ¦state.armed ? true : false',
    '(yaml)',
    'nested mappings are not allowed in compact mappings; a clause that contains `: ` is a map in YAML: quote it',
  ],
  [BATTERY, 'gps: "true"\n      ¦gps: "true"', '(yaml)', 'the key `gps` stands here again: it was given in line 118'],
  [BATTERY, 'battery: ¦true', 'components.takeoff.support.battery', 'must be CEL text: quote it'],
]

/** Inside a clause the error points to the part that is wrong, however YAML writes the text. */
const BATTERY_KEY = 'components.takeoff.support.battery'
const WITHIN: readonly Mistake[] = [
  'state.armed && ¦state.bat > 1 ',
  '"!state.armed && ¦state.bat > 1" ',
  "'!state.armed && ¦state.bat > 1' ",
  '>- # folded\n        state.armed\n        && ¦state.bat > 1',
  '|\n        state.armed\n        && ¦state.bat > 1\n',
  'state.armed\n        && ¦state.bat > 1 ',
  '¦"state.armed \\x26& state.bat > 1" ', // escapes: the beginning of the text has to do
].map((clause) => [BATTERY, `battery: ${clause}`, BATTERY_KEY, 'unknown field `bat`'])

/** Where the marker stands, and the text without it. */
function marked(text: string): { text: string; at: string } {
  const before = text.slice(0, text.indexOf('¦')).split('\n')
  return { text: text.replace('¦', ''), at: `${before.length}:${before.at(-1)!.length + 1}` }
}

/** The mistake is found where the marker is; what follows from it may be found too. */
function check([from, to, key, message]: Mistake): void {
  const { text, at } = marked(changed(from, to))
  const found = problems(text)
  if (to.includes('¦')) expect(found.join('\n')).toContain(`${at}: ${key}: ${message}`)
  else expect(found.join('\n')).toContain(`${key}: ${message}`)
}

test.each(KEYS)('G5 keys: %s → %s', (...mistake) => check(mistake))
test.each(STATE)('G5 state: %s → %s', (...mistake) => check(mistake))
test.each(TYPES)('G5 types: %s → %s', (...mistake) => check(mistake))
test.each(PERMISSIONS)('G5 permissions: %s → %s', (...mistake) => check(mistake))
test.each(EFFECTS)('G5 effects: %s → %s', (...mistake) => check(mistake))
test.each(LEAVES)('G5 what leaves: %s → %s', (...mistake) => check(mistake))
test.each(WITHIN)('G5 within a clause: %s → %s', (...mistake) => check(mistake))
test.each(YAML)('G5 YAML: %s → %s', (...mistake) => check(mistake))

test('a setpoint that could never end is refused', () => {
  const text = changed(
    '      done: elapsed() >= payload.seconds * 1000.0 # ms since the first frame\n      within: 11s\n',
    '',
  )
  expect(problems(text).map((problem) => problem.replace(/^\d+:/, ''))).toEqual([
    '5: components.velocity.effect: a setpoint needs `done`: it never ends by itself',
    '5: components.velocity.effect: a setpoint needs `within`: it never ends by itself',
  ])
})

test('a reference that goes into the bytes must be under state', () => {
  const text = changed('  home.amsl: { max_age: 3s } ', '  #')
  expect(problems(text).map((problem) => problem.replace(/^\d+:\d+: /, ''))).toEqual([
    'components.takeoff.effect: reads state.home.amsl, which is not under `state`',
    'components.goto.effect: reads state.home.amsl, which is not under `state`',
    'components.goto.effect.tolerance.home.amsl: field `home.amsl` is not under `state`',
  ])
})

test('all mistakes are said at once, in the order of the file', () => {
  const text = EXAMPLE.replace('max_age: 60s', 'max_age: soon')
    .replace('[map]', '[mop]')
    .replace('command: hold', 'comand: hold')
    .replace('state.battery.remaining >= 30', 'state.batery.remaining >= 30')
  expect(problems(text).map((problem) => problem.replace(/^\d+:\d+: /, ''))).toEqual([
    'evidence.max_age: must be a duration such as 300ms, 10s, 5min or 1h, not "soon"',
    'components.goto.watches.0: unknown field `mop` (did you mean `map`?)',
    'components.velocity.support.battery: unknown field `batery.remaining` (did you mean `battery.remaining`?)',
    'components.hold.effect.comand: unknown key (did you mean `command`?)',
  ])
})

test.each([
  ['', '1:1: (yaml): is empty: it must be a map of keys'],
  ['# only a comment\n', '1:1: (yaml): is empty: it must be a map of keys'],
  ['[]', '1:1: (yaml): must be a map, not []'],
  ['catalog: 1\n---\ncatalog: 1\n', '2:1: (yaml): begins a second document, and one is read: leave `---` out'],
])('what is no catalog at all: %j', (text, problem) => {
  expect(problems(text)).toContain(problem)
})

test('YAML that is nested too deep has a line, and words', () => {
  expect(problems(`catalog: 1\nstate: ${'['.repeat(20_000)}${']'.repeat(20_000)}`).join()).toMatch(
    /^2:\d+: \(yaml\): is nested too deep to be read: nothing needs more than a few levels$/,
  )
})

test('tabs are one mistake, and whatever else is wrong is so because of them', () => {
  const found = problems(EXAMPLE.replace(/^ {2}(?=\w)/gm, '\t'))
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(
    /^\d+:1: \(yaml\): begins with a tab, which indents nothing in YAML: use spaces; so do \d+ lines more$/,
  )
})

test('G5: what JavaScript would take for no key of its own is a mistake, and not a clause less', () => {
  const support = EXAMPLE.replace(/^components:\n/m, 'components:\n  __proto__: { kind: notice }\n')
  expect(problems(support)).toEqual([
    expect.stringMatching(/^\d+:3: __proto__: is no name that can be used: choose another$/),
  ])
})

test.each([
  ['state.armed and state.ready', '; in CEL `and` is `&&`'],
  ['state.armed OR not state.ready', '; in CEL `or` is `||`, `not` is `!`'],
  ['state.battery.remaining = 50', '; in CEL `=` is `==`'],
  ['state.battery.remaining <> 50', '; in CEL `<>` is `!=`'],
  ['state.battery.percent >= 40', 'unknown field `battery.percent` (there is `battery.remaining`)'],
  [Array(1100).fill('state.armed').join(' && '), 'is nested deeper than 1000'],
  ['('.repeat(300).concat('1', ')'.repeat(300), ' > 0'), 'is nested deeper than 250: split it into several clauses'],
  [Array(90_000).fill('!').join('').concat('state.armed'), 'is nested deeper than 1000'],
])('a clause of another language: %.40s', (clause, says) => {
  expect(problems(changed(BATTERY, `battery: ${JSON.stringify(clause)}`)).join('\n')).toContain(says)
})

test('limits are named: clauses, slots, types, words', () => {
  const many = (n: number, line: (i: number) => string) => Array.from({ length: n }, (_, i) => line(i)).join('\n')
  const says = (text: string) => problems(text).join('\n')
  expect(
    says(
      changed(
        BATTERY,
        many(70, (i) => `${i > 0 ? '      ' : ''}c${i}: state.armed`),
      ),
    ),
  ).toContain('components.takeoff: has 78 clauses, payload bounds included, at most 64')
  expect(says(changed(TAKEOFF_ALT, `${TAKEOFF_ALT}\n${many(40, (i) => `      f${i}: { type: boolean }`)}`))).toContain(
    'components.takeoff.payload: has 41 fields, at most 32',
  )
  expect(says(`${EXAMPLE}\n${many(60, (i) => `  t${i}: { kind: report, effect: { report: [armed] } }`)}`)).toContain(
    'components: has 72 types, at most 64',
  )
  const sum = Array.from({ length: 300 }, () => 'state.position.alt').join(' + ')
  expect(says(changed(BATTERY, `battery: ${sum} > 0`))).toContain('takes 602 words of program, at most 512')
  const words = many(10, (t) => {
    const clauses = many(
      4,
      (i) => `c${i}: "${Array.from({ length: 100 }, (_, k) => `state.position.alt > ${t}${i}${k}.0`).join(' && ')}"`,
    )
    return `  t${t}: { kind: report, support: { ${clauses.replaceAll('\n', ', ')} }, effect: { report: [armed] } }`
  })
  expect(says(`${EXAMPLE}\n${words}`)).toMatch(
    /components: all clauses and frames take \d+ words of program, at most 16384/,
  )
  const nested = `${'1 + ('.repeat(70)}state.position.alt${')'.repeat(70)}`
  expect(says(changed(BATTERY, `battery: ${nested} > 0`))).toContain('takes 71 operands at once, at most 64')
})

test('a longitude among the references of a command moves the short way round', () => {
  const text = changed(
    '      mav_cmd: { id: 211, params: [1, 0, 0, 0, 0, 0, 0] }',
    '      mav_cmd: { id: 211, params: [1, state.home.lon, state.home.amsl, 0, 0, 0, 0] }',
  )
  const { image, fields } = load(text)
  const named = image.types
    .find(({ name }) => name === 'release')!
    .tolerance.map(({ field, ...rest }) => ({ field: fields[field]!.name, ...rest }))
  expect(named).toEqual([
    { field: 'home.lon', value: 1e-5, angle: true },
    { field: 'home.amsl', value: 1 },
  ])
})

test('limits are named: agents, and what is published of a catalog', () => {
  const many = (n: number, line: (i: number) => string) => Array.from({ length: n }, (_, i) => line(i)).join('')
  const agents = (n: number) =>
    EXAMPLE.replace(/^agents:\n/m, `agents:\n${many(n, (i) => `  a${i}: { may: [hold] }\n`)}`)
  expect(problems(agents(15))).toEqual([])
  expect(problems(agents(16)).join('\n')).toMatch(
    /^\d+:\d+: agents: has 17 agents, at most 16: each has its own part of what the core holds\. Leave out/,
  )
  const described = many(
    40,
    (i) => `  t${i}: { kind: report, description: "${'x'.repeat(1600)}", effect: { report: [armed] } }\n`,
  )
  const said = changed('land, release]', `land, release, ${many(40, (i) => `t${i}, `)}]`)
  expect(problems(`${said}\n${described}`).join('\n')).toMatch(
    /components: make a `catalog` message of \d+ bytes, at most 65536: shorten descriptions and clauses, or declare fewer/,
  )
  const name = (i: number) => `f${i}`.padEnd(64, 'x')
  const values = Array.from({ length: 60 }, (_, i) => `v${i}`).join(', ')
  const fields = many(
    180,
    (i) => `  ${name(i)}: { from: context, type: enum, values: [${values}, ${'w'.repeat(64)}], max_age: 1s }\n`,
  )
  expect(problems(EXAMPLE.replace(/^state:\n/m, `state:\n${fields}`)).join('\n')).toMatch(
    /state: makes \d+ bytes of a `snapshot`, at most 32768: declare fewer fields, or shorter names/,
  )
})
