// What is read of the autopilot's parameters, and what it means for setpoints.

import { common, MavLinkProtocolV2 } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { Preflight } from '../../../companion/mavlink/preflight.ts'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { layout } from '../../../src/autopilot/frame.ts'
import type { Profile } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'

const { INT8, INT16, INT32, UINT32, REAL32, REAL64 } = common.MavParamType

/** PARAM_VALUE as node-mavlink writes it; `bits` puts an integer's bits into the float's place, as PX4 does. */
function value(name: string, number: number, type: common.MavParamType, bits: boolean): Uint8Array {
  const said = Object.assign(new common.ParamValue(), { paramId: name, paramCount: 1, paramIndex: 0, paramType: type })
  const view = new DataView(new ArrayBuffer(4))
  if (bits && type !== REAL32) view.setInt32(0, number, true)
  said.paramValue = bits && type !== REAL32 ? view.getFloat32(0, true) : number
  return new Framer().datagram(new MavLinkProtocolV2(1, 1).serialize(said, 0))[0]!.payload
}

/** PX4's and ArduPilot's, as a real one has them that is fit for setpoints. */
const FIT = {
  'px4-multirotor': { COM_OF_LOSS_T: 1, COM_OBL_RC_ACT: 5, COM_RC_OVERRIDE: 3, MPC_XY_VEL_MAX: 5 },
  'ardupilot-copter': { GUID_TIMEOUT: 3, FLTMODE_CH: 5, WP_SPD: 5 },
} as const
const SAFE = {
  'px4-multirotor': { COM_LOW_BAT_ACT: 3, GF_ACTION: 2, NAV_RCL_ACT: 2, NAV_DLL_ACT: 1 },
  'ardupilot-copter': {
    FENCE_ENABLE: 1,
    FENCE_ACTION: 1,
    FS_THR_ENABLE: 1,
    FS_GCS_ENABLE: 1,
    FS_EKF_ACTION: 1,
    BATT_FS_LOW_ACT: 2,
  },
} as const
const REAL = /LOSS_T|TIMEOUT|VEL_MAX|SPD|SPEED/

type Values = Readonly<Record<string, number>>

class Rig {
  readonly asked: string[] = []
  readonly read: string[] = []
  readonly judged: (string | undefined)[] = []
  readonly warned: string[] = []
  readonly preflight: Preflight
  readonly #profile: Profile
  values: Values
  open = true
  now_ms = 0

  constructor(profile: Profile, values: Values, wanted = { period_ms: 100, maxSpeed: 5 }) {
    this.#profile = profile
    this.values = values
    this.preflight = new Preflight({
      profile,
      wanted,
      say: (message) => {
        if (this.open && message.message === 'PARAM_REQUEST_READ') this.asked.push(message.parameter)
        return this.open
      },
      listener: {
        parameter: (name, number) => this.read.push(`${name}=${number}`),
        judged: (problem, asked) => asked && this.judged.push(problem),
        warn: (text) => this.warned.push(text),
      },
    })
  }

  /** The autopilot answers what it has, 20 ms after it was asked. */
  run(for_ms: number): this {
    for (const end_ms = this.now_ms + for_ms; this.now_ms < end_ms; this.now_ms += 20) {
      const before = this.asked.length
      this.preflight.tick(this.now_ms)
      for (const name of this.asked.slice(before))
        if (this.values[name] !== undefined) this.tell(name, this.values[name])
    }
    return this
  }

  tell(name: string, number: number, type = REAL.test(name) ? REAL32 : INT32): this {
    this.preflight.hear(value(name, number, type, this.#profile.integersAsBits))
    return this
  }
}

const profiles = [px4Multirotor, ardupilotCopter].map((profile) => [profile.name as keyof typeof FIT, profile] as const)

describe.each(profiles)('%s', (name, profile) => {
  const good: Values = { ...FIT[name], ...SAFE[name] }
  const problem = (values: Values, wanted?: { period_ms: number; maxSpeed: number }) =>
    new Rig(profile, { ...good, ...values }, wanted).run(10_000).preflight.problem

  it('asks for one at a time, reports every value, and has nothing against a vehicle that is fit', () => {
    const rig = new Rig(profile, good).run(10_000)
    expect(rig.asked).toEqual(Object.keys(good))
    expect(rig.read).toEqual(Object.entries(good).map(([n, v]) => `${n}=${v}`))
    expect(rig.judged).toEqual([undefined])
    expect(rig.warned).toEqual([])
  })

  it('G5: what is not read refuses, from the first moment on, and until it is', () => {
    for (const missing of Object.keys(FIT[name])) {
      const rig = new Rig(profile, Object.fromEntries(Object.entries(good).filter(([n]) => n !== missing)))
      expect(rig.preflight.problem).toContain(missing)
      rig.run(5000)
      expect(rig.preflight.problem, missing).toMatch(new RegExp(`^not read from the autopilot: .*${missing}`))
      expect(rig.judged).toHaveLength(1)
      const tries = (): number => rig.asked.filter((n) => n === missing).length
      expect(tries()).toBe(3)
      rig.values = good
      rig.run(10_000)
      expect(rig.preflight.problem).toBeUndefined()
      expect(rig.judged.at(-1)).toBeUndefined()
      expect(tries()).toBe(4)
    }
  })

  it('warns of what stops nothing, once, and of what the autopilot does not tell', () => {
    for (const failsafe of Object.keys(SAFE[name])) {
      const rig = new Rig(profile, { ...good, [failsafe]: 0 }).run(10_000)
      expect(rig.warned).toEqual([expect.stringMatching(new RegExp(`^${failsafe} is 0: set it to [1-4]`))])
      expect(rig.preflight.problem).toBeUndefined()
      const silent = new Rig(profile, Object.fromEntries(Object.entries(good).filter(([n]) => n !== failsafe)))
      expect(silent.run(60_000).warned).toEqual([expect.stringContaining(`the autopilot does not tell ${failsafe}: `)])
      expect(silent.preflight.problem).toBeUndefined()
    }
  })

  it('begins again with another boot', () => {
    const rig = new Rig(profile, good).run(10_000)
    rig.preflight.begin()
    expect(rig.preflight.problem).toContain('not read from the autopilot: ')
    expect(rig.run(10_000).asked).toEqual([...Object.keys(good), ...Object.keys(good)])
    expect(rig.preflight.problem).toBeUndefined()
  })

  it('asks later where the wire does not take it now, and asks nothing twice that was answered late', () => {
    const rig = new Rig(profile, {})
    rig.open = false
    rig.run(5000)
    rig.open = true
    const [first] = Object.entries(good)
    rig.run(600)
    expect(rig.asked).toEqual([first![0], first![0]])
    rig.tell(first![0], first![1]).run(40)
    expect(rig.asked.filter((n) => n === first![0])).toHaveLength(2)
  })

  it('judges by how often the catalog streams and by the configured speed', () => {
    const [timeout] = Object.entries(FIT[name])
    const seconds = timeout![1]
    expect(problem({}, { period_ms: seconds * 200, maxSpeed: 5 })).toBeUndefined()
    expect(problem({}, { period_ms: seconds * 200 + 1, maxSpeed: 5 })).toMatch(
      new RegExp(`^${timeout![0]} is ${seconds}: set it to ${seconds}\\.\\d+ at least`),
    )
    expect(problem({}, { period_ms: 100, maxSpeed: 4.9 })).toMatch(/ is 5: set it to 4\.9 at most, or raise max_speed/)
    expect(problem({}, { period_ms: 0, maxSpeed: 5 })).toBeUndefined()
  })

  it('G5: takes no value that is not finite, of another type, or of another name', () => {
    const rig = new Rig(profile, {})
    const [first] = Object.keys(good)
    rig.tell(first!, Number.NaN, REAL32)
    rig.tell(first!, 5, REAL64)
    rig.tell(first!.slice(0, -1), 5, REAL32)
    rig.tell('constructor', 5, REAL32)
    expect(rig.read).toEqual([])
  })
})

describe('px4-multirotor', () => {
  const problem = (values: Values) =>
    new Rig(px4Multirotor, { ...FIT['px4-multirotor'], ...values }).run(10_000).preflight.problem

  it('refuses with what to set: its defaults, all at once', () => {
    expect(problem({ COM_OBL_RC_ACT: 0, COM_RC_OVERRIDE: 1, MPC_XY_VEL_MAX: 12 })).toBe(
      'COM_OBL_RC_ACT is 0: set it to 5 (hold): with a stick down, the others may descend or fly away; ' +
        'COM_RC_OVERRIDE is 1: set it to 3 (also in Offboard); ' +
        'MPC_XY_VEL_MAX is 12: set it to 5 at most, or raise max_speed (5 m/s)',
    )
    for (const act of [0, 1, 2, 3, 4, 6, 7, -1]) expect(problem({ COM_OBL_RC_ACT: act })).toMatch('set it to 5 (hold)')
    expect(problem({ COM_RC_OVERRIDE: 2 })).toBeUndefined()
    expect(problem({ COM_RC_OVERRIDE: 4 })).toMatch('set it to 6')
    expect(problem({ COM_OF_LOSS_T: 0 })).toMatch('COM_OF_LOSS_T is 0: set it to 0.5 at least')
  })

  it('reads integers by their bits, also negative ones', () => {
    const rig = new Rig(px4Multirotor, {}).tell('COM_OBL_RC_ACT', -1).tell('COM_RC_OVERRIDE', 3, UINT32)
    expect(rig.read).toEqual(['COM_OBL_RC_ACT=-1', 'COM_RC_OVERRIDE=3'])
  })

  it('judges again when somebody sets a parameter in flight', () => {
    const rig = new Rig(px4Multirotor, { ...FIT['px4-multirotor'], ...SAFE['px4-multirotor'] }).run(10_000)
    rig.tell('MPC_XY_VEL_MAX', 9)
    expect(rig.judged.at(-1)).toMatch('MPC_XY_VEL_MAX is 9')
    rig.tell('MPC_XY_VEL_MAX', 9).tell('MPC_XY_VEL_MAX', 4)
    expect(rig.judged.slice(1)).toEqual([expect.stringMatching('is 9'), undefined])
  })
})

describe('ardupilot-copter', () => {
  const fit = { GUID_TIMEOUT: 3, FLTMODE_CH: 5 }
  const rig = (values: Values) => new Rig(ardupilotCopter, { ...SAFE['ardupilot-copter'], ...values }).run(10_000)

  it('asks for the old name of a parameter where the new one is not known, in its own unit', () => {
    const older = rig({ ...fit, WPNAV_SPEED: 1000 })
    expect(older.asked.filter((name) => /SP/.test(name))).toEqual(['WP_SPD', 'WP_SPD', 'WP_SPD', 'WPNAV_SPEED'])
    expect(older.preflight.problem).toBe('WPNAV_SPEED is 1000: set it to 500 at most, or raise max_speed (5 m/s)')
    expect(rig({ ...fit, WPNAV_SPEED: 500 }).preflight.problem).toBeUndefined()
    expect(rig({ ...fit, WP_SPD: 10 }).preflight.problem).toMatch('WP_SPD is 10: set it to 5 at most')
    expect(rig(fit).preflight.problem).toBe('not read from the autopilot: WP_SPD or WPNAV_SPEED')
  })

  it('refuses where the pilot has no mode switch', () => {
    expect(rig({ ...fit, FLTMODE_CH: 0, WP_SPD: 5 }).preflight.problem).toMatch('FLTMODE_CH is 0')
  })

  it('reads every type as a number', () => {
    const one = new Rig(ardupilotCopter, {}).tell('FLTMODE_CH', 8, INT8).tell('FENCE_ENABLE', 1, INT16)
    expect(one.read).toEqual(['FLTMODE_CH=8', 'FENCE_ENABLE=1'])
  })
})

it('a name of 16 characters has no 0 behind it', () => {
  const profile: Profile = {
    ...px4Multirotor,
    parameters: [{ names: { ABCDEFGHIJKLMNOP: 1 }, meaning: 'nothing', guards: true, judge: () => undefined }],
  }
  expect(new Rig(profile, {}).tell('ABCDEFGHIJKLMNOP', 1).read).toEqual(['ABCDEFGHIJKLMNOP=1'])
  expect(layout('PARAM_VALUE').length).toBe(25)
})

it('names fit into MAVLink', () => {
  for (const { parameters } of [px4Multirotor, ardupilotCopter]) {
    for (const name of parameters.flatMap(({ names }) => Object.keys(names))) expect(name).toMatch(/^[A-Z0-9_]{1,16}$/)
  }
})
