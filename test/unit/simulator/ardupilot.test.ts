// What ArduCopter does that PX4 does not, and what it does not do although one would expect it.

import { ardupilotmega, common, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { message } from '../../../simulator/frame.ts'
import type { VehicleOptions } from '../../../simulator/vehicle.ts'
import { ARM, COMPONENT_ARM_DISARM, Flight, globalTarget, HOME, LAND, local, NAN, position, RETURN } from './flight.ts'

const { DO_SET_MODE, NAV_TAKEOFF, SET_MESSAGE_INTERVAL, PREFLIGHT_REBOOT_SHUTDOWN, DO_CHANGE_SPEED, DO_SET_HOME } =
  common.MavCmd
const GUIDED = [DO_SET_MODE, 1, 4] as const
const BRAKE = [DO_SET_MODE, 1, 17] as const
const LOITER = [DO_SET_MODE, 1, 5] as const
const TAKEOFF = [NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 8] as const
const FORCED = 21_196
const RELATIVE = 6
const TERRAIN = 11

class Copter extends Flight {
  constructor(options: Partial<VehicleOptions> = {}) {
    super({ autopilot: 'ardupilot', readyAfter_ms: 1_000, ...options })
  }

  override subscribe(): void {
    const { EkfStatusReport } = ardupilotmega
    const types = [
      common.ExtendedSysState,
      common.SysStatus,
      common.GpsRawInt,
      EkfStatusReport,
      common.GlobalPositionInt,
      common.LocalPositionNed,
      common.HomePosition,
      common.PositionTargetGlobalInt,
      common.PositionTargetLocalNed,
    ]
    for (const type of types) this.command(SET_MESSAGE_INTERVAL, type.MSG_ID, 50_000)
  }

  /** GUIDED, armed, at 8 m. */
  flying(): this {
    this.ready()
    for (const [command, ...params] of [GUIDED, ARM, TAKEOFF]) expect(this.command(command, ...params)).toBe(0)
    this.await(15_000, () => this.seen.landed === 'IN_AIR')
    this.run(1_000)
    return this
  }

  get texts(): string[] {
    return this.all(common.StatusText).map(({ data }) => data.text.replace(/\0.*$/s, ''))
  }

  target(): { north: number; east: number } {
    const { latInt, lonInt } = this.latest(common.PositionTargetGlobalInt)
    return {
      north: (latInt / 1e7 - HOME.lat) * 111_194.93,
      east: (lonInt / 1e7 - HOME.lon) * 111_194.93 * Math.cos((HOME.lat * Math.PI) / 180),
    }
  }
}

describe('simulated ArduCopter: telemetry', () => {
  it('sends HEARTBEAT, TIMESYNC and STATUSTEXT to a link that asked for nothing', () => {
    const copter = new Copter()
    copter.run(25_000)
    const types = new Set(copter.heard.map(({ data }) => data.constructor.name))
    expect([...types].sort()).toEqual(['Heartbeat', 'HomePosition', 'StatusText', 'TimeSync'])
    expect(copter.latest(minimal.Heartbeat)).toMatchObject({ type: 2, autopilot: 3, customMode: 0, systemStatus: 3 })
  })

  it('grants intervals exactly, HEARTBEAT’s too, until the next reboot, and speaks of ids that it does not have', () => {
    const copter = new Copter({ rebootAfter_ms: 500 }).ready()
    expect(copter.command(SET_MESSAGE_INTERVAL, minimal.Heartbeat.MSG_ID, 200_000)).toBe(0)
    copter.run(300)
    const since_ms = copter.now_ms
    copter.run(10_000)
    expect(copter.all(minimal.Heartbeat, since_ms + 1)).toHaveLength(50)
    expect(copter.all(common.GlobalPositionInt, since_ms + 1)).toHaveLength(200)
    // Only when the receiver has news.
    expect(copter.all(common.GpsRawInt, since_ms + 1)).toHaveLength(50)
    for (const id of [230, 331, 141]) {
      expect(copter.command(SET_MESSAGE_INTERVAL, id, 100_000)).toBe(2)
      expect(copter.texts).toContain(`No ap_message for mavlink id (${id})`)
    }
    expect(copter.command(PREFLIGHT_REBOOT_SHUTDOWN, 1)).toBe(0)
    copter.run(3_000)
    const rebooted_ms = copter.now_ms
    copter.run(3_000)
    expect(copter.all(common.GlobalPositionInt, rebooted_ms)).toEqual([])
    expect(copter.all(minimal.Heartbeat, rebooted_ms)).toHaveLength(3)
  })

  it('has the health bit in STABILIZE before it can be armed in GUIDED; there it can as soon as it has a position', () => {
    const copter = new Copter({ readyAfter_ms: 41_600 })
    copter.run(12_000)
    copter.subscribe()
    const healthy = (): boolean => (copter.latest(common.SysStatus).onboardControlSensorsHealth & 0x10000000) !== 0
    const { EkfStatusReport } = ardupilotmega
    copter.await(20_000, healthy)
    expect(copter.now_ms).toBeLessThan(25_000)
    expect(copter.latest(EkfStatusReport).flags & 0x10).toBe(0)
    expect(copter.all(common.LocalPositionNed)).toEqual([])
    expect(copter.command(...GUIDED)).toBe(0)
    copter.run(100)
    expect(healthy()).toBe(false)
    expect(copter.command(...ARM)).toBe(4)
    copter.await(25_000, () => (copter.latest(EkfStatusReport).flags & 0x10) !== 0)
    expect(copter.latest(EkfStatusReport).flags).toBe(0x33f)
    expect(copter.now_ms).toBeGreaterThan(41_500)
    expect(copter.command(...ARM)).toBe(0)
  })

  it('answers a parameter as a float, whatever its type; none where told so', () => {
    const copter = new Copter({ parameters: { FENCE_ENABLE: 1, FS_OPTIONS: null } }).ready()
    const ask = (paramId: string): void =>
      copter.send(message(common.ParamRequestRead, { targetSystem: 1, targetComponent: 1, paramId, paramIndex: -1 }))
    for (const name of ['GUID_TIMEOUT', 'FENCE_ENABLE', 'WP_SPD', 'FS_OPTIONS', 'NOT_THERE']) ask(name)
    copter.run(100)
    const values = copter.all(common.ParamValue).map(({ data }) => [data.paramId, data.paramValue, data.paramType])
    expect(values.sort()).toEqual([
      ['FENCE_ENABLE', 1, common.MavParamType.INT8],
      ['GUID_TIMEOUT', 3, common.MavParamType.REAL32],
      ['WP_SPD', 10, common.MavParamType.REAL32],
    ])
    expect(() => new Copter({ parameters: { COM_OF_LOSS_T: 1 } })).toThrow('no parameter "COM_OF_LOSS_T"')
  })
})

describe('simulated ArduCopter: arming and take-off', () => {
  it('takes off only in GUIDED, armed and landed', () => {
    const copter = new Copter().ready()
    expect(copter.command(...TAKEOFF)).toBe(4)
    copter.command(...GUIDED)
    expect(copter.command(...TAKEOFF)).toBe(4)
    copter.command(...ARM)
    expect(copter.command(...TAKEOFF)).toBe(0)
    copter.await(15_000, () => copter.seen.landed === 'IN_AIR')
    expect(copter.seen.mode).toBe('GUIDED')
    expect(copter.seen.height_m).toBeGreaterThan(7.9)
    expect(copter.command(...TAKEOFF)).toBe(4)
  })

  it('forgets a take-off when a setpoint comes across it, stays on the ground and disarms after ten seconds', () => {
    const copter = new Copter().ready()
    for (const step of [GUIDED, ARM, TAKEOFF]) copter.command(step[0], ...step.slice(1))
    copter.run(500)
    copter.send(local(1, 0x0df8, { x: 10, z: -8 }))
    copter.run(5_000)
    expect(copter.seen).toMatchObject({ armed: true, height_m: 0, landed: 'ON_GROUND' })
    expect(copter.await(10_000, () => !copter.seen.armed)).toBeGreaterThan(4_000)
  })

  it('refuses disarm and reboot in flight, but falls when forced', () => {
    const copter = new Copter().flying()
    expect(copter.command(COMPONENT_ARM_DISARM, 0)).toBe(4)
    expect(copter.command(PREFLIGHT_REBOOT_SHUTDOWN, 1)).toBe(4)
    expect(copter.command(COMPONENT_ARM_DISARM, 0, FORCED)).toBe(0)
    copter.run(3_000)
    expect(copter.seen).toMatchObject({ armed: false, height_m: 0 })
  })

  it('lands, disarms, stays in LAND and cannot be armed there; its arming checks, which ask no mode, still pass', () => {
    const copter = new Copter().flying()
    expect(copter.command(...LAND)).toBe(0)
    copter.await(25_000, () => !copter.seen.armed)
    copter.run(2_000)
    expect(copter.seen.mode).toBe('LAND')
    expect(copter.latest(common.SysStatus).onboardControlSensorsHealth & 0x10000000).not.toBe(0)
    expect(copter.command(...ARM)).toBe(4)
    copter.command(...GUIDED)
    expect(copter.command(...ARM)).toBe(0)
  })
})

describe('simulated ArduCopter: GUIDED', () => {
  it('flies to a single position target for ever, in every frame that it knows', () => {
    for (const [frame, alt] of [
      [RELATIVE, 10],
      [3, 10],
      [5, HOME.amsl + 10],
      [0, HOME.amsl + 10],
    ] as const) {
      const copter = new Copter().flying()
      copter.send(position(30, 10, frame === 5 ? 10 : alt, frame))
      copter.run(25_000)
      expect(copter.distance(30, 10), `frame ${frame}`).toBeLessThan(0.2)
      expect(copter.seen.height_m).toBeCloseTo(10, 0)
    }
  })

  it('stops a velocity 3 s after its last message and keeps GUIDED', () => {
    const copter = new Copter().flying()
    copter.send(local(1, 0x0dc7, { vx: 3 }))
    copter.run(2_900)
    expect(copter.seen.velocity.north).toBeCloseTo(3, 1)
    expect(copter.latest(common.PositionTargetLocalNed)).toMatchObject({ vx: 3, typeMask: 0xfdc7 })
    const from = copter.distance(0, 0)
    copter.run(6_000)
    expect(copter.seen.velocity.north).toBeCloseTo(0, 1)
    expect(copter.distance(0, 0) - from).toBeLessThan(4)
    expect(copter.seen.mode).toBe('GUIDED')
  })

  it('stops at masks and latitudes that it does not take', () => {
    const copter = new Copter().flying()
    const bad = [
      local(1, 0x0de3, { z: -8, vx: 2 }),
      local(1, 0x0dfb, { z: -8 }),
      globalTarget(91e7, 0, 8, RELATIVE),
      local(2, 0x0df8, { x: 100, z: -8 }),
    ]
    for (const target of bad) {
      copter.send(local(1, 0x0df8, { x: 500, z: -8 }))
      copter.run(3_000)
      expect(copter.speed_mps).toBeGreaterThan(2)
      copter.send(target)
      copter.run(6_000)
      expect(copter.speed_mps).toBeLessThan(0.1)
    }
  })

  it('accepts what is dangerous: frame 11 comes down, 0, 0 flies off, NaN kills it', () => {
    const low = new Copter().flying()
    low.send(position(5, 0, 8, TERRAIN))
    low.run(15_000)
    expect(low.seen.height_m).toBe(0)

    const gone = new Copter().flying()
    gone.send(globalTarget(0, 0, 8, RELATIVE))
    gone.run(20_000)
    expect(gone.distance(0, 0)).toBeGreaterThan(100)

    const dead = new Copter().flying()
    dead.send(local(1, 0x0df8, { x: NAN, z: -8 }))
    expect(dead.seen.running).toBe(false)
    dead.run(7_000)
    expect(dead.seen).toMatchObject({ running: true, armed: false, mode: 'STABILIZE', height_m: 0 })
  })

  it('ignores a target outside GUIDED, and obeys a running stream at once when it is GUIDED again', () => {
    const copter = new Copter().flying()
    copter.stream = local(1, 0x0df8, { x: 60, z: -8 })
    copter.run(3_000)
    copter.command(...BRAKE)
    const { height_m } = copter.seen
    copter.run(6_000)
    expect(copter.speed_mps).toBeLessThan(0.05)
    expect(copter.seen.height_m).toBeCloseTo(height_m, 1)
    expect(copter.seen.setpoints.at(-1)).toMatchObject({ mode: 'BRAKE', target: undefined })
    copter.send(local(1, 0x0df8, { x: NAN, z: -8 }))
    expect(copter.seen.running).toBe(true)
    copter.command(...GUIDED)
    copter.run(2_000)
    expect(copter.seen.velocity.north).toBeGreaterThan(2)
  })

  it('shows whose target came last, and nothing else does', () => {
    const copter = new Copter().flying()
    copter.stream = local(1, 0x0df8, { x: 20, z: -8 })
    copter.run(1_000)
    expect(copter.target().north).toBeCloseTo(20, 0)
    expect(copter.latest(common.PositionTargetLocalNed)).toMatchObject({ x: 20, typeMask: 0xfdf8 })
    const { modes } = copter.seen
    const before = modes.length
    copter.stream = undefined
    copter.fault({ kind: 'intruder', target: { north: 0, east: -40 } })
    copter.run(20_000)
    expect(copter.target().east).toBeCloseTo(-40, 0)
    expect(copter.distance(0, -40)).toBeLessThan(1)
    expect(modes).toHaveLength(before)
    expect(copter.seen.setpoints.at(-1)).toMatchObject({ system: 255, component: 190 })
  })

  it('turns its nose along the path, or to the yaw that it is told', () => {
    const copter = new Copter().flying()
    copter.send(local(1, 0x0df8, { y: 60, z: -8 }))
    copter.run(4_000)
    expect(copter.latest(common.GlobalPositionInt).hdg / 100).toBeCloseTo(90, 0)
    copter.send(local(1, 0x09f8, { y: 60, z: -8, yaw: Math.PI }))
    copter.run(4_000)
    expect(copter.latest(common.GlobalPositionInt).hdg / 100).toBeCloseTo(180, 0)
  })

  it('runs on for 7 to 9 m when it brakes from 5 m/s', () => {
    const copter = new Copter().flying()
    copter.command(DO_CHANGE_SPEED, 1, 5)
    copter.send(local(1, 0x0df8, { x: 500, z: -8 }))
    copter.run(6_000)
    expect(copter.speed_mps).toBeCloseTo(5, 1)
    const from = copter.distance(0, 0)
    copter.command(...BRAKE)
    copter.run(6_000)
    expect(copter.distance(0, 0) - from).toBeGreaterThan(7)
    expect(copter.distance(0, 0) - from).toBeLessThan(9)
  })

  it('moves the zero of every relative height when home is set in flight', () => {
    const copter = new Copter().flying()
    expect(copter.command(DO_SET_HOME, 1)).toBe(0)
    copter.run(100)
    expect(copter.latest(common.GlobalPositionInt).relativeAlt / 1000).toBeCloseTo(0, 0)
  })
})

describe('simulated ArduCopter: modes and failsafes', () => {
  it('obeys a companion over the switch and over its own RTL, and returns to GUIDED never by itself', () => {
    const copter = new Copter().flying()
    copter.fault({ kind: 'pilot', mode: 'LOITER' })
    copter.run(190)
    expect(copter.seen.mode).toBe('GUIDED')
    const beats = copter.all(minimal.Heartbeat).length
    copter.run(20)
    expect(copter.seen.mode).toBe('LOITER')
    expect(copter.all(minimal.Heartbeat)).toHaveLength(beats + 1)
    copter.run(10_000)
    expect(copter.seen.mode).toBe('LOITER')
    expect(copter.command(...GUIDED)).toBe(0)
    copter.fault({ kind: 'rc', on: false })
    expect(copter.await(1_100, () => copter.seen.mode === 'RTL')).toBeGreaterThanOrEqual(995)
    expect(copter.texts).toContain('Radio Failsafe: changed to RTL Mode')
    expect(copter.command(...GUIDED)).toBe(0)
    copter.run(3_000)
    expect(copter.seen.mode).toBe('GUIDED')
    expect(copter.command(DO_SET_MODE, 1, 99)).toBe(4)
    expect(() => copter.fault({ kind: 'pilot', mode: 'OFFBOARD' })).toThrow('ArduPilot has no mode OFFBOARD')
  })

  it('sinks in LOITER with the stick down', () => {
    const copter = new Copter().flying()
    const { height_m } = copter.seen
    copter.command(...LOITER)
    copter.run(2_000)
    expect(copter.seen.height_m).toBeCloseTo(height_m, 1)
    copter.fault({ kind: 'sticks', on: true })
    copter.run(1_800)
    expect(copter.seen.velocity.down).toBeCloseTo(2.5, 1)
  })

  it('loses the GPS: fix 1, flags 0x25 at 7.2 s, LAND at 8 s, critical, no GUIDED; the GPS back changes nothing', () => {
    const copter = new Copter().flying()
    copter.fault({ kind: 'gps', on: false })
    const off_ms = copter.now_ms
    copter.await(400, () => copter.latest(common.GpsRawInt).fixType === 1)
    expect(copter.now_ms - off_ms).toBeGreaterThanOrEqual(250)
    const { EkfStatusReport } = ardupilotmega
    copter.await(8_000, () => (copter.latest(EkfStatusReport).flags as number) === 0x25)
    expect((copter.now_ms - off_ms) / 1000).toBeCloseTo(7.2, 0)
    expect(copter.seen.mode).toBe('GUIDED')
    copter.await(2_000, () => copter.seen.mode === 'LAND')
    expect((copter.now_ms - off_ms) / 1000).toBeCloseTo(8, 1)
    expect(copter.command(...GUIDED)).toBe(4)
    copter.run(1_100)
    expect(copter.latest(minimal.Heartbeat)).toMatchObject({ customMode: 9, systemStatus: 5 })
    copter.fault({ kind: 'gps', on: true })
    copter.run(3_000)
    expect(copter.latest(EkfStatusReport).flags).toBe(0x33f)
    expect(copter.seen.mode).toBe('LAND')
    expect(copter.command(...GUIDED)).toBe(0)
  })

  it('does nothing about a low battery unless told to', () => {
    const copter = new Copter().flying()
    copter.fault({ kind: 'battery', percent: 5 })
    copter.run(11_000)
    expect(copter.seen).toMatchObject({ mode: 'GUIDED', critical: true })
    expect(copter.texts).toContain('Battery 1 is low')
    const careful = new Copter({ parameters: { BATT_FS_LOW_ACT: 2 } }).flying()
    careful.fault({ kind: 'battery', percent: 5 })
    expect(careful.await(11_000, () => careful.seen.mode === 'RTL')).toBeGreaterThanOrEqual(9_990)
  })

  it('ignores a setpoint outside the fence without a word', () => {
    const copter = new Copter({ parameters: { FENCE_ENABLE: 1, FENCE_RADIUS: 50 } }).flying()
    copter.send(position(30, 0, 8, RELATIVE))
    copter.run(3_000)
    const said = copter.texts.length
    copter.send(position(80, 0, 8, RELATIVE))
    copter.run(12_000)
    expect(copter.distance(30, 0)).toBeLessThan(1)
    expect(copter.texts).toHaveLength(said)
    expect(copter.seen.setpoints.at(-1)!.target).toBeUndefined()
  })

  it('returns, lands, disarms and stays in RTL', () => {
    const copter = new Copter().flying()
    copter.send(position(40, 0, 8, RELATIVE))
    copter.run(15_000)
    expect(copter.command(...RETURN)).toBe(0)
    copter.await(90_000, () => !copter.seen.armed)
    expect(copter.distance(0, 0)).toBeLessThan(1.5)
    expect(copter.seen.mode).toBe('RTL')
  })

  it('aloft, is met in the air, armed and in BRAKE', () => {
    const copter = new Copter({ aloft_m: 8, readyAfter_ms: 43_000 })
    copter.run(2_000)
    copter.subscribe()
    copter.run(500)
    expect(copter.seen).toMatchObject({ armed: true, mode: 'BRAKE', landed: 'IN_AIR' })
    expect(copter.latest(minimal.Heartbeat)).toMatchObject({ customMode: 17, systemStatus: 4 })
    expect(copter.command(...GUIDED)).toBe(0)
  })
})
