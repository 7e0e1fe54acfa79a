// What the simulated vehicle says, and when.

import { common, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { message } from '../../../simulator/frame.ts'
import { Flight, HOLD, position } from './flight.ts'

const { SET_MESSAGE_INTERVAL, REQUEST_MESSAGE, DO_CHANGE_SPEED } = common.MavCmd

describe('simulated vehicle: telemetry', () => {
  it('is silent for 0.6 s, has no home and no health before 4.5 s, and boots into HOLD', () => {
    const flight = new Flight()
    flight.run(595)
    expect(flight.heard).toEqual([])
    flight.run(3_900)
    expect(flight.all(common.HomePosition)).toEqual([])
    expect(flight.latest(common.SysStatus).onboardControlSensorsHealth & 0x10000000).toBe(0)
    const homeless = flight.latest(common.GlobalPositionInt)
    expect(homeless.relativeAlt).toBe(homeless.alt)
    expect(flight.latest(common.EstimatorStatus).flags).toBe(1023)
    flight.run(2_500)
    expect(flight.all(common.HomePosition).length).toBeGreaterThan(0)
    expect(flight.latest(common.SysStatus).onboardControlSensorsHealth & 0x10000000).not.toBe(0)
    expect(flight.latest(common.GlobalPositionInt).relativeAlt).toBe(0)
    expect(flight.latest(minimal.Heartbeat)).toMatchObject({
      type: 2,
      autopilot: 12,
      baseMode: 29,
      systemStatus: 3,
      mavlinkVersion: 3,
    })
  })

  it('takes readyAfter_ms', () => {
    const flight = new Flight({ readyAfter_ms: 1_000 })
    flight.run(1_005)
    expect(flight.seen.ready).toBe(true)
    expect(flight.seen.home).toBeDefined()
  })

  it('aloft, is met in the air: armed, in HOLD, at its height, and reboots onto the ground', () => {
    const flight = new Flight({ aloft_m: 8, readyAfter_ms: 0, rebootAfter_ms: 300 })
    flight.run(1_500)
    expect(flight.seen).toMatchObject({ armed: true, mode: 'HOLD', landed: 'IN_AIR' })
    expect(flight.seen.height_m).toBeCloseTo(8, 1)
    expect(flight.latest(common.HomePosition).altitude).toBeCloseTo(488_000, -2)
    expect(flight.command(...HOLD)).toBe(0)
    flight.fault({ kind: 'reboot' })
    flight.run(1_500)
    expect(flight.seen).toMatchObject({ armed: false, landed: 'ON_GROUND' })
    expect(flight.latest(common.GlobalPositionInt).timeBootMs).toBeLessThan(1_300)
  })

  it('on a link that somebody has set up, sends every stream at one rate, and none faster', () => {
    const flight = new Flight({ stream_ms: 100, readyAfter_ms: 0 })
    flight.run(2_000)
    expect(flight.command(SET_MESSAGE_INTERVAL, common.GlobalPositionInt.MSG_ID, 20_000)).toBe(0)
    const since_ms = flight.now_ms
    flight.run(10_000)
    const rate = (type: new () => Parameters<typeof flight.bytes>[0]): number =>
      flight.all(type, since_ms + 1).length / 10
    expect(rate(minimal.Heartbeat)).toBeCloseTo(10, 0)
    expect(rate(common.GlobalPositionInt)).toBeCloseTo(10, 0)
    expect(rate(common.EstimatorStatus)).toBeCloseTo(10, 0)
    expect(rate(common.HomePosition)).toBeCloseTo(10, 0)
  })

  it('sends what nobody asked for at PX4’s default rates', () => {
    const flight = new Flight()
    flight.run(10_000)
    const since_ms = flight.now_ms
    flight.run(10_000)
    const rate = (type: new () => Parameters<typeof flight.bytes>[0]): number =>
      flight.all(type, since_ms + 1).length / 10
    expect(rate(minimal.Heartbeat)).toBeCloseTo(1, 1)
    expect(rate(common.CurrentMode)).toBeCloseTo(0.5, 1)
    expect(rate(common.GlobalPositionInt)).toBeCloseTo(50, 0)
    expect(rate(common.GpsRawInt)).toBeCloseTo(8, 1)
    expect(rate(common.EstimatorStatus)).toBeCloseTo(1, 1)
  })

  it('grants message intervals one by one, but never of HEARTBEAT, and sends what is requested', () => {
    const flight = new Flight()
    flight.run(5_000)
    expect(flight.command(SET_MESSAGE_INTERVAL, common.EstimatorStatus.MSG_ID, 100_000)).toBe(0)
    expect(flight.command(SET_MESSAGE_INTERVAL, common.Attitude.MSG_ID, -1)).toBe(0)
    expect(flight.command(SET_MESSAGE_INTERVAL, minimal.Heartbeat.MSG_ID, 100_000)).toBe(4)
    expect(flight.command(SET_MESSAGE_INTERVAL, 9_999, 100_000)).toBe(4)
    flight.run(100)
    const since_ms = flight.now_ms
    flight.run(5_000)
    expect(flight.all(common.EstimatorStatus, since_ms + 1).length).toBeCloseTo(50, -1)
    expect(flight.all(common.Attitude, since_ms + 1)).toEqual([])
    const beats = flight.all(minimal.Heartbeat).length
    for (let i = 0; i < 5; i++) {
      expect(flight.command(REQUEST_MESSAGE, minimal.Heartbeat.MSG_ID)).toBe(0)
      flight.run(50)
    }
    expect(flight.all(minimal.Heartbeat).length - beats).toBeGreaterThanOrEqual(5)
    expect(flight.command(DO_CHANGE_SPEED, 1, 3)).toBe(0)
    expect(flight.command(31_000)).toBe(3)
  })

  it('sends a message that node-mavlink does not know', () => {
    const flight = new Flight()
    flight.run(5_000)
    expect([...flight.unknown]).toEqual([411])
  })

  it('sends CURRENT_MODE twice a second when asked for at 20 ms', () => {
    const flight = new Flight().ready()
    flight.run(1_000)
    const since_ms = flight.now_ms
    flight.run(5_000)
    expect(flight.all(common.CurrentMode, since_ms + 1)).toHaveLength(10)
  })

  it('stamps times that go back between message types by up to 200 ms and never within one', () => {
    const flight = new Flight().ready()
    flight.run(5_000)
    const last = new Map<string, number>()
    let newest = 0
    let back = 0
    for (const { data } of flight.heard) {
      const at = (data as { timeBootMs?: number }).timeBootMs
      if (at === undefined) continue
      const type = data.constructor.name
      expect(at).toBeGreaterThanOrEqual(last.get(type) ?? 0)
      last.set(type, at)
      back = Math.max(back, newest - at)
      newest = Math.max(newest, at)
    }
    expect(back).toBeGreaterThan(20)
    expect(back).toBeLessThanOrEqual(230)
  })

  it('wanders by 0.8 m at rest, slower than 0.7 m/s', () => {
    const flight = new Flight({ wander_m: 0.8 }).ready()
    flight.takeoff(8)
    flight.run(3_000)
    const since_ms = flight.now_ms
    flight.run(120_000)
    const norths = flight.all(common.LocalPositionNed, since_ms).map((h) => h.data)
    const spread = Math.max(...norths.map((n) => n.x)) - Math.min(...norths.map((n) => n.x))
    expect(spread).toBeGreaterThan(0.4)
    expect(spread).toBeLessThanOrEqual(0.8)
    for (const { vx, vy, vz } of norths) expect(Math.max(Math.abs(vx), Math.abs(vy), Math.abs(vz))).toBeLessThan(0.7)
  })

  it('forwards a ground station’s heartbeat as 255/190', () => {
    const flight = new Flight({ groundStation: true })
    flight.run(3_000)
    const forwarded = flight.heard.filter((h) => h.system === 255)
    expect(forwarded).toHaveLength(3)
    expect(forwarded[0]!.data).toBeInstanceOf(minimal.Heartbeat)
  })

  it('ignores what is not for it, has a wrong CRC, or is no frame', () => {
    const flight = new Flight().ready()
    const bytes = flight.bytes(position(1, 1, 8))
    bytes[20]! ^= 1
    flight.vehicle.receive(bytes, flight.now_ms)
    flight.vehicle.receive(Uint8Array.of(1, 2, 3), flight.now_ms)
    expect(flight.seen.malformed).toBe(2)
    const other = new Flight({ system: 7 }).ready()
    other.send(position(1, 1, 8))
    expect(other.command(...HOLD)).toBeUndefined()
    expect([...flight.seen.setpoints, ...other.seen.setpoints]).toEqual([])
  })

  it('keeps texts and heartbeats that it hears, and answers a parameter', () => {
    const flight = new Flight().ready()
    flight.send(message(common.StatusText, { severity: 4, text: 'halo: denied', id: 0, chunkSeq: 0 }))
    flight.send(
      message(common.ParamRequestRead, {
        targetSystem: 1,
        targetComponent: 1,
        paramId: 'COM_OF_LOSS_T',
        paramIndex: -1,
      }),
    )
    flight.send(
      message(minimal.Heartbeat, {
        type: 18,
        autopilot: 8,
        baseMode: 0 as number,
        customMode: 0,
        systemStatus: 4,
        mavlinkVersion: 3,
      }),
    )
    flight.run(50)
    expect(flight.seen.texts).toMatchObject([{ severity: 4, text: 'halo: denied' }])
    expect(flight.seen.heartbeats.get('1/191')).toBe(1)
    expect(flight.latest(common.ParamValue)).toMatchObject({ paramId: 'COM_OF_LOSS_T', paramValue: 1 })
  })
})
