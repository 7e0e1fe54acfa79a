// What a PX4 does without being asked, and what it says about it, late.

import { common, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { parseFault } from '../../../simulator/fault.ts'
import { ARM, COMPONENT_ARM_DISARM, Flight, HOLD, HOME, LAND, OFFBOARD, position, RETURN, takeoff } from './flight.ts'

const flying = (options = {}): Flight => {
  const flight = new Flight(options).ready()
  flight.takeoff(8)
  flight.run(3_000)
  return flight
}
const usable = (flags: number): boolean => (flags & 55) === 55 && (flags & 3072) === 0

describe('simulated vehicle: failsafes and faults', () => {
  it('loses the GPS: fix first, accuracy slowly, flags and mode after 5.3 to 6 s, positions on for 20 s', () => {
    const flight = flying()
    flight.offboard(position(20, 0, 8))
    flight.run(8_000)
    flight.fault(parseFault('gps off'))
    const off_ms = flight.now_ms
    expect(flight.await(500, () => flight.latest(common.GpsRawInt).fixType === 0)).toBeLessThanOrEqual(145)
    flight.run(5_000 - (flight.now_ms - off_ms))
    expect(flight.seen.mode).toBe('OFFBOARD')
    expect(flight.latest(common.EstimatorStatus).posHorizAccuracy).toBeGreaterThan(2)
    expect(usable(flight.latest(common.EstimatorStatus).flags)).toBe(true)
    flight.await(2_000, () => !usable(flight.latest(common.EstimatorStatus).flags))
    expect(flight.now_ms - off_ms).toBeGreaterThanOrEqual(5_300)
    flight.await(2_000, () => flight.seen.mode === 'ALTITUDE')
    expect(flight.now_ms - off_ms).toBeLessThanOrEqual(6_000)
    expect(flight.seen.intended).toBe('OFFBOARD')
    flight.run(7_000 - (flight.now_ms - off_ms))
    expect(flight.command(...HOLD)).toBe(1)
    expect(flight.command(...RETURN)).toBe(1)
    expect(flight.seen.ready).toBe(false)
    flight.run(19_500 - (flight.now_ms - off_ms))
    expect(flight.all(common.GlobalPositionInt, flight.now_ms - 100).length).toBeGreaterThan(0)
    flight.run(2_000)
    expect(flight.all(common.GlobalPositionInt, flight.now_ms - 1_000)).toEqual([])
    expect(flight.command(...LAND)).toBe(0)
    expect(flight.seen.mode).toBe('LAND')
  })

  it('gets the GPS back with one jump of 42.8 m and goes back into Offboard by itself', () => {
    const flight = flying()
    flight.offboard(position(20, 0, 8))
    flight.run(8_000)
    flight.fault(parseFault('gps off'))
    flight.run(10_000)
    expect(flight.seen.mode).toBe('ALTITUDE')
    flight.fault(parseFault('gps on'))
    let last = flight.seen.position
    const jumps: number[] = []
    flight.await(4_000, () => {
      const { position: now } = flight.seen
      const dn = (now.lat - last.lat) * 111_194.93
      const de = (now.lon - last.lon) * 111_194.93 * Math.cos((HOME.lat * Math.PI) / 180)
      if (Math.hypot(dn, de) > 1) jumps.push(Math.hypot(dn, de))
      last = now
      return flight.seen.mode === 'OFFBOARD'
    })
    expect(jumps).toHaveLength(1)
    expect(jumps[0]).toBeGreaterThan(42)
    expect(jumps[0]).toBeLessThan(43.6)
    flight.run(15_000)
    expect(flight.distance(20, 0)).toBeLessThan(1)
  })

  it('forgets a GPS outage of a few seconds', () => {
    const flight = flying()
    flight.fault(parseFault('gps off'))
    flight.run(3_000)
    flight.fault(parseFault('gps on'))
    flight.run(5_000)
    expect(flight.seen.mode).toBe('HOLD')
    expect(flight.distance(0, 0)).toBeLessThan(0.1)
  })

  it('holds on a low battery, lands 5 s later with the intended mode unchanged; HOLD cancels it', () => {
    const flight = flying()
    flight.offboard(position(5, 0, 8))
    flight.run(2_000)
    flight.fault(parseFault('battery 5'))
    flight.run(50)
    expect(flight.latest(common.CurrentMode)).toMatchObject({ customMode: 0x3040000, intendedCustomMode: 6 << 16 })
    const landing_ms = flight.await(6_000, () => flight.seen.mode === 'LAND')
    expect(landing_ms).toBeGreaterThan(4_800)
    expect(landing_ms).toBeLessThan(5_100)
    flight.run(1_100)
    expect(flight.latest(minimal.Heartbeat).systemStatus).toBe(5)
    expect(flight.latest(common.SysStatus).batteryRemaining).toBe(4)
    expect(flight.command(...HOLD)).toBe(0)
    flight.run(10_000)
    expect(flight.seen.mode).toBe('HOLD')
  })

  it('drains', () => {
    const flight = new Flight({ battery: { percent: 50, drain: 1, failsafe_percent: 30 } }).ready()
    flight.takeoff(5)
    flight.await(40_000, () => flight.seen.mode === 'LAND')
    expect(flight.seen.battery_percent).toBeLessThan(30)
    expect(flight.seen.battery_percent).toBeGreaterThan(20)
  })

  it('accepts NAV_TAKEOFF when it cannot be armed, and takes off at a later arming', () => {
    const flight = new Flight()
    flight.run(1_000)
    expect(flight.command(...takeoff(5))).toBe(0)
    expect(flight.command(...ARM)).toBe(1)
    flight.run(5_000)
    expect(flight.seen.armed).toBe(false)
    expect(flight.command(...ARM)).toBe(0)
    flight.await(15_000, () => flight.seen.mode === 'HOLD')
    expect(flight.seen.height_m).toBeGreaterThan(4)
  })

  it('climbs when NAV_TAKEOFF comes in flight', () => {
    const flight = flying()
    expect(flight.command(...takeoff(15))).toBe(0)
    expect(flight.seen.mode).toBe('TAKEOFF')
    flight.await(15_000, () => flight.seen.mode === 'HOLD')
    flight.run(5_000)
    expect(flight.seen.height_m).toBeCloseTo(15, 1)
  })

  it('hovers at 0.3 m after a HOLD 1 s into the take-off and refuses to be disarmed', () => {
    const flight = new Flight().ready()
    flight.command(...HOLD)
    flight.command(...ARM)
    flight.command(...takeoff(8))
    flight.run(1_000)
    flight.command(...HOLD)
    flight.run(10_000)
    expect(flight.seen.height_m).toBeCloseTo(0.3, 1)
    expect(flight.command(COMPONENT_ARM_DISARM, 0)).toBe(1)
    expect(flight.seen.armed).toBe(true)
  })

  it('moves home at arming, at lift-off and after landing, by 0.03 to 0.3 m', () => {
    const flight = new Flight().ready()
    const homes = [flight.seen.home!]
    const note = (): void => {
      const home = flight.seen.home!
      if (home !== homes.at(-1)) homes.push(home)
    }
    flight.command(...HOLD)
    flight.command(...ARM)
    note()
    flight.command(...takeoff(5))
    flight.await(15_000, () => flight.seen.mode === 'HOLD')
    note()
    flight.command(...LAND)
    flight.await(30_000, () => !flight.seen.armed)
    note()
    expect(homes).toHaveLength(4)
    for (let i = 1; i < homes.length; i++) {
      const [a, b] = [homes[i - 1]!, homes[i]!]
      const moved = Math.hypot((a.lat - b.lat) * 111_194.93, (a.lon - b.lon) * 75_260, a.amsl - b.amsl)
      expect(moved).toBeGreaterThanOrEqual(0.03)
      expect(moved).toBeLessThanOrEqual(0.31)
    }
  })

  it('reboots: 5 s of silence, then on the ground, disarmed, boot time and message intervals from the start', () => {
    const flight = flying()
    flight.run(20_000)
    const before_ms = flight.latest(common.GlobalPositionInt).timeBootMs
    flight.fault(parseFault('reboot'))
    const at_ms = flight.now_ms
    flight.run(4_400)
    expect(flight.heard.filter((h) => h.at_ms > at_ms)).toEqual([])
    flight.await(2_000, () => flight.all(minimal.Heartbeat, at_ms + 1).length > 0)
    expect(flight.now_ms - at_ms).toBeGreaterThan(4_400)
    expect(flight.now_ms - at_ms).toBeLessThan(5_700)
    expect(flight.seen).toMatchObject({ armed: false, mode: 'HOLD', landed: 'ON_GROUND', height_m: 0 })
    flight.run(4_000)
    expect(flight.latest(common.GlobalPositionInt).timeBootMs).toBeLessThan(before_ms)
    const modes = flight.all(common.CurrentMode, flight.now_ms - 4_000)
    expect(modes.length).toBeLessThanOrEqual(3)
  })

  it('is silent as long as told, and hears', () => {
    const flight = flying()
    flight.fault(parseFault('silence 2'))
    const at_ms = flight.now_ms
    flight.stream = position(5, 0, 8)
    flight.run(300)
    expect(flight.command(...OFFBOARD)).toBeUndefined()
    expect(flight.seen.mode).toBe('OFFBOARD')
    flight.run(1_990 - (flight.now_ms - at_ms))
    expect(flight.heard.filter((h) => h.at_ms > at_ms)).toEqual([])
    flight.run(100)
    expect(flight.heard.at(-1)!.at_ms).toBeGreaterThan(at_ms + 1_990)
  })

  it('loses, delays and refuses acknowledgements', () => {
    const flight = flying()
    flight.fault(parseFault('ack lost 1'))
    expect(flight.command(...LAND)).toBeUndefined()
    expect(flight.seen.mode).toBe('LAND')
    expect(flight.command(...HOLD)).toBe(0)
    flight.fault(parseFault('ack late 300'))
    const late = flight.ask(...HOLD)!
    expect(late.took_ms).toBeGreaterThan(300)
    expect(late.took_ms).toBeLessThan(330)
    flight.fault(parseFault('ack late 0'))
    flight.fault(parseFault('refuse 21 4'))
    expect(flight.command(...LAND)).toBe(4)
    expect(flight.seen.mode).toBe('HOLD')
    flight.fault(parseFault('refuse 21 0'))
    expect(flight.command(...LAND)).toBe(0)
    expect(new Flight({ faults: { ackLoss: 1 } }).command(...HOLD)).toBeUndefined()
    expect(flight.seen.commands.at(-1)).toMatchObject({ command: 21, result: 0, mode: 'HOLD', armed: true })
  })

  it('shows a critical system when told to, and a pilot who changes the mode', () => {
    const flight = flying()
    flight.fault(parseFault('critical on'))
    flight.fault(parseFault('pilot position'))
    flight.run(1_100)
    const { systemStatus, customMode } = flight.latest(minimal.Heartbeat)
    expect([systemStatus, customMode]).toEqual([5, 3 << 16])
    expect(flight.seen.modes.at(-1)).toMatchObject({ mode: 'POSITION', intended: 'POSITION' })
    flight.fault(parseFault('critical off'))
    flight.run(1_100)
    expect(flight.latest(minimal.Heartbeat).systemStatus).toBe(4)
  })

  it.each([
    ['battery', 'fault "battery" takes 1 words, got 0: battery <percent>'],
    ['battery 101', 'fault "battery": percent must be a number from 0 to 100, got "101"'],
    ['gps maybe', 'fault "gps": expected on or off, got "maybe"'],
    ['pilot UP', 'fault "pilot": unknown mode "UP"'],
    ['ack never 1', 'fault "ack": expected lost, late, twice, progress or other, got "never"'],
    ['ack lost', 'fault "ack" takes 2 words, got 1: ack lost <count>'],
    ['ack lost 1.5', 'fault "ack": count must be an integer from 0 to 1000, got "1.5"'],
    ['refuse x 1', 'fault "refuse": command id must be an integer'],
    ['reboot now', 'fault "reboot" takes 0 words, got 1: reboot'],
    ['explode', 'unknown fault "explode", one of: battery <percent>'],
  ])('says what is wrong with the fault "%s"', (line, error) => {
    expect(() => parseFault(line)).toThrow(error)
  })
})
