// Everything that leaves, for each profile, as the core fills it in: beside what node-mavlink's serializer makes of a message
// whose every field is written down here (G2).

import { common, MavLinkProtocolV2 } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { loadCore } from '../../../src/core/wasm.ts'
import { catalogOf, HOME, Stage } from '../engine/stage.ts'

/** Every effect of a profile, with and without what is optional. */
const catalog = (vehicle: string): string => {
  const payloads = {
    'position-global': ['lat', 'lon', 'alt', 'heading?'],
    'position-local': ['north', 'east', 'down', 'heading?'],
    'velocity-local': ['north', 'east', 'down?', 'heading?'],
    'velocity-body': ['forward', 'right', 'down', ...(vehicle === 'px4-multirotor' ? ['heading?'] : [])],
    takeoff: ['alt'],
  }
  const verbs = ['arm', 'disarm', 'takeoff', 'land', 'return', 'hold']
  const bound = { lat: 90, lon: 180, alt: 60, heading: 360 } as const
  const field = (type: string, name: string) => {
    const bare = name.replace('?', '')
    const most = bound[bare as 'lat'] ?? (type.startsWith('velocity') ? 5 : 60)
    return `${bare}: { type: number, min: -${most}, max: ${most}, optional: ${name.endsWith('?')} }`
  }
  const type = (name: string, effect: string, payload: readonly string[] = []) =>
    `  ${name.replace('-', '.')}: { kind: action, uses: flight, payload: { ${payload.map((of) => field(name, of)).join(', ')} }, effect: { ${effect} } }`
  const stream = 'done: elapsed() >= 60000.0, within: 60s'
  const types = [
    ...Object.entries(payloads).map(([name, payload]) =>
      name === 'takeoff'
        ? type(name, 'command: takeoff', payload)
        : type(name, `setpoint: ${name}, ${stream}`, payload),
    ),
    ...verbs.filter((verb) => verb !== 'takeoff').map((verb) => type(verb, `command: ${verb}`)),
  ]
  const may = [...Object.keys(payloads), ...verbs].map((name) => name.replace('-', '.'))
  return `
catalog: 1
vehicle: ${vehicle}
state: { home.amsl: {}, local.down: {}, map: { from: context, type: integer, max_age: 1h } }
agents: { planner: { rate: 50Hz, may: [${[...new Set(may)].join(', ')}] } }
components:
${types.join('\n')}
`
}

const target = { targetSystem: 1, targetComponent: 1 }
const ZERO = { vx: 0, vy: 0, vz: 0, afx: 0, afy: 0, afz: 0, yaw: 0, yawRate: 0 }
const global = (values: object) =>
  Object.assign(new common.SetPositionTargetGlobalInt(), { ...ZERO, coordinateFrame: 5, ...target, ...values })
const local = (values: object) =>
  Object.assign(new common.SetPositionTargetLocalNed(), {
    ...ZERO,
    ...{ x: 0, y: 0, z: 0, coordinateFrame: 1 },
    ...target,
    ...values,
  })
const long = (command: number, ...params: number[]) => {
  const [_param1 = 0, _param2 = 0, _param3 = 0, _param4 = 0, _param5 = 0, _param6 = 0, _param7 = 0] = params
  const message = { command, confirmation: 0, _param1, _param2, _param3, _param4, _param5, _param6, _param7 }
  return Object.assign(new common.CommandLong(), { ...target, ...message })
}
type Message = ReturnType<typeof global> | ReturnType<typeof local> | ReturnType<typeof long>

/** The payload of a frame of theirs, whose zeros at the end are cut as in every MAVLink 2 frame. */
function payloadOf(message: Message): string {
  const frame = new MavLinkProtocolV2(1, 191).serialize(message, 0)
  const bytes = Buffer.alloc(64)
  frame.copy(bytes, 0, 10, 10 + frame[1]!)
  // Of the quiet NaNs MAVLink's own is meant; JavaScript writes any.
  if (message instanceof common.CommandLong) {
    for (let at = 0; at < 28; at += 4) if (Number.isNaN(bytes.readFloatLE(at))) bytes.writeUInt32LE(0x7fc00000, at)
  }
  return bytes.toString('hex')
}

const there = { lat: 47.3979, lon: -8.5457, alt: 12.5 }
const place = { latInt: 473979000, lonInt: -85457000, alt: HOME.amsl + 12.5 }
const east = { heading: 90 }
const turned = { yaw: Math.PI / 2 }
const to = { x: 1.5, y: -2, z: -12 }
const speed = { vx: 1.5, vy: -2 }

const NaN6 = [Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN]
const both: readonly [string, object, Message][] = [
  ['position.global', there, global({ ...place, typeMask: 0x0df8 })],
  ['position.global', { ...there, ...east }, global({ ...place, ...turned, typeMask: 0x09f8 })],
  ['position.local', { north: 1.5, east: -2, down: -12 }, local({ ...to, typeMask: 0x0df8 })],
  ['position.local', { north: 1.5, east: -2, down: -12, ...east }, local({ ...to, ...turned, typeMask: 0x09f8 })],
  ['velocity.local', { north: 1.5, east: -2, down: 0.25 }, local({ ...speed, vz: 0.25, typeMask: 0x0dc7 })],
  [
    'velocity.local',
    { north: 1.5, east: -2, down: 0.25, ...east },
    local({ ...speed, ...turned, vz: 0.25, typeMask: 0x09c7 }),
  ],
  ['velocity.body', { forward: 1.5, right: -2, down: 0 }, local({ ...speed, typeMask: 0x05c7, coordinateFrame: 8 })],
  ['disarm', {}, long(400, 0)],
]

const profiles: Readonly<Record<string, readonly [string, object, ...Message[]][]>> = {
  'px4-multirotor': [
    ...both,
    [
      'velocity.body',
      { forward: 1.5, right: -2, down: 0, ...east },
      local({ ...speed, ...turned, typeMask: 0x09c7, coordinateFrame: 8 }),
    ],
    ['velocity.local', { north: 1.5, east: -2 }, local({ ...speed, z: -10, typeMask: 0x0de3 })],
    ['velocity.local', { north: 1.5, east: -2, ...east }, local({ ...speed, ...turned, z: -10, typeMask: 0x09e3 })],
    ['takeoff', { alt: 8 }, long(176, 1, 4, 3), long(400, 1), long(22, ...NaN6, HOME.amsl + 8)],
    ['arm', {}, long(176, 1, 4, 3), long(400, 1)],
    ['land', {}, long(176, 1, 4, 6)],
    ['return', {}, long(176, 1, 4, 5)],
    ['hold', {}, long(176, 1, 4, 3)],
  ],
  'ardupilot-copter': [
    ...both,
    ['velocity.local', { north: 1.5, east: -2 }, local({ ...speed, typeMask: 0x0dc7 })],
    ['velocity.local', { north: 1.5, east: -2, ...east }, local({ ...speed, ...turned, typeMask: 0x09c7 })],
    ['takeoff', { alt: 8 }, long(176, 1, 4), long(400, 1), long(22, 0, 0, 0, 0, 0, 0, 8)],
    ['arm', {}, long(176, 1, 4), long(400, 1)],
    ['land', {}, long(176, 1, 9)],
    ['return', {}, long(176, 1, 6)],
    ['hold', {}, long(176, 1, 17)],
  ],
}
const engagement: Readonly<Record<string, Message>> = {
  'px4-multirotor': long(176, 1, 6),
  'ardupilot-copter': long(176, 1, 4),
}

describe.each(Object.entries(profiles))('%s', (vehicle, effects) => {
  const loaded = catalogOf(catalog(vehicle))
  const hex = (payload: Uint8Array): string => Buffer.concat([payload], 64).toString('hex')
  const onGround = ['takeoff', 'arm']

  it.each(effects)('G2: %s of %o leaves as node-mavlink would write it', (type, payload, ...expected) => {
    const stage = new Stage(loadCore, { catalog: loaded })
    if (!onGround.includes(type)) stage.fly()
    else stage.run(1000)
    stage.say([{ id: 'c', type, payload: payload as Record<string, unknown> }])
    stage.run(200)
    const isSetpoint = !(expected[0] instanceof common.CommandLong)
    const sent = stage.sent.filter(({ command }) => isSetpoint === (command === undefined))
    if (isSetpoint) {
      expect(sent.length).toBeGreaterThan(1)
      const [first] = sent
      Object.assign(expected[0]!, { timeBootMs: new DataView(first!.payload.buffer).getUint32(0, true) })
      expect(hex(first!.payload)).toBe(payloadOf(expected[0]!))
      stage.run(500)
      const [mode] = stage.sent.filter(({ command }) => command !== undefined)
      expect(hex(mode!.payload)).toBe(payloadOf(engagement[vehicle]!))
    } else expect(sent.map((s) => hex(s.payload))).toEqual(expected.map(payloadOf))
  })

  it('has a row here for every effect that it knows', () => {
    const { setpoints, verbs } = loaded.profile
    const rows = new Set(effects.map(([type]) => type))
    expect(rows.size).toBe(Object.keys(setpoints).length + Object.keys(verbs).length)
  })
})
