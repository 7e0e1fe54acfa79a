// A whole flight by hand-made frames: its times are those of the PX4 that was measured.

import { common, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { ARM, Flight, HOLD, HOME, LAND, OFFBOARD, position, RETURN } from './flight.ts'

describe('simulated vehicle: a mission', () => {
  it('takes off to 8 m in about 10 s, flies a goto, holds and lands as PX4 did', () => {
    const flight = new Flight({ wander_m: 0.8 }).ready()
    expect(flight.seen.ready).toBe(true)
    const homeAtRest = flight.seen.home

    flight.takeoff(8)
    expect(flight.seen.height_m).toBeCloseTo(7.12, 1)
    expect(flight.seen.landed).toBe('IN_AIR')
    expect(flight.seen.home).not.toEqual(homeAtRest)
    flight.run(3_000)
    expect(flight.seen.height_m).toBeCloseTo(8, 0)
    expect(flight.latest(common.DistanceSensor).currentDistance).toBeCloseTo(800, -2)

    flight.offboard(position(40, 30, 10))
    flight.await(100, () => flight.latest(common.CurrentMode).customMode === 6 << 16)
    let fastest = 0
    flight.await(30_000, () => {
      fastest = Math.max(fastest, flight.speed_mps)
      return flight.distance(40, 30) <= 1.5
    })
    expect(fastest).toBeGreaterThan(9.5)
    expect(fastest).toBeLessThanOrEqual(10.001)
    expect(flight.speed_mps).toBeGreaterThan(3.5)
    expect(flight.speed_mps).toBeLessThan(5)
    let farthest = 0
    flight.run(5_000, () => {
      farthest = Math.max(farthest, flight.distance(0, 0))
      return false
    })
    expect(farthest).toBeLessThan(50.2)
    const still = flight.latest(common.LocalPositionNed)
    for (const v of [still.vx, still.vy, still.vz]) expect(Math.abs(v)).toBeLessThan(0.7)

    expect(flight.command(...HOLD)).toBe(0)
    flight.stream = undefined
    flight.run(1_000)
    expect(flight.command(...LAND)).toBe(0)
    const down_ms = flight.await(40_000, () => !flight.seen.armed)
    expect(down_ms).toBeGreaterThan(16_000)
    expect(down_ms).toBeLessThan(24_000)
    expect(flight.seen.mode).toBe('HOLD')
    expect(flight.seen.home?.amsl).toBeCloseTo(HOME.amsl, 0)
    expect(flight.distance(40, 30)).toBeLessThan(1)
  })

  it.each([
    [5, 8_000, 9_500],
    [8, 9_500, 11_000],
    [10, 10_900, 12_500],
    [20, 17_000, 19_000],
  ])('climbs to %i m in %i to %i ms', (height_m, least_ms, most_ms) => {
    const took_ms = new Flight().ready().takeoff(height_m)
    expect(took_ms).toBeGreaterThan(least_ms)
    expect(took_ms).toBeLessThan(most_ms)
  })

  it('shows ON_GROUND, TAKING_OFF, IN_AIR, LANDING, ON_GROUND', () => {
    const flight = new Flight().ready()
    flight.takeoff(5)
    flight.run(300)
    flight.command(...LAND)
    flight.await(40_000, () => !flight.seen.armed)
    const states = flight.all(common.ExtendedSysState).map((h) => h.data.landedState as number)
    expect(states.filter((state, i) => state !== states[i - 1])).toEqual([1, 3, 2, 4, 1])
  })

  it('returns: climbs to 30 m, comes home, lands and disarms', () => {
    const flight = new Flight().ready()
    flight.takeoff(8)
    flight.offboard(position(60, 0, 8))
    flight.run(12_000)
    flight.stream = undefined
    expect(flight.command(...RETURN)).toBe(0)
    let highest = 0
    flight.await(120_000, () => {
      highest = Math.max(highest, flight.seen.height_m)
      return !flight.seen.armed
    })
    expect(highest).toBeGreaterThan(29)
    expect(flight.distance(0, 0)).toBeLessThan(2)
    expect(flight.seen.mode).toBe('OFFBOARD')
  })

  it('runs on for about 7 m after a HOLD out of 4.4 m/s, and 12 out of 6.3', () => {
    for (const [speed, least, most] of [
      [4.4, 6.5, 7.5],
      [6.3, 11, 13],
    ] as const) {
      const flight = new Flight().ready()
      flight.takeoff(8)
      flight.offboard(position(100, 0, 8))
      flight.await(10_000, () => flight.speed_mps >= speed)
      const from = flight.distance(0, 0)
      flight.command(...HOLD)
      flight.run(8_000)
      const run_on = flight.distance(0, 0) - from
      expect(run_on).toBeGreaterThan(least)
      expect(run_on).toBeLessThan(most)
      expect(flight.speed_mps).toBeLessThan(0.05)
    }
  })

  it('is the same flight for the same seed and calls, and another one for another seed', () => {
    const fly = (seed: number): string => {
      const flight = new Flight({ seed, wander_m: 0.8 }).ready()
      flight.takeoff(5)
      return JSON.stringify([flight.heard.length, flight.seen.home, flight.latest(common.GlobalPositionInt)])
    }
    expect(fly(3)).toBe(fly(3))
    expect(fly(3)).not.toBe(fly(4))
  })

  it('flies ten minutes in a second or two', () => {
    const flight = new Flight({ battery: { drain: 0 } }).ready()
    flight.takeoff(8)
    const { vehicle } = flight
    let frames = 0
    for (let s = 1; s <= 600; s++) frames += vehicle.step(flight.now_ms + s * 1000).length
    expect(frames).toBeGreaterThan(600 * 50)
    expect(vehicle.observations.height_m).toBeCloseTo(8, 1)
  })

  it('refuses a time that goes back', () => {
    const flight = new Flight()
    flight.run(100)
    expect(() => flight.vehicle.step(99)).toThrow('time went back: 99 ms after 100 ms')
  })

  it('disarms by itself 11.6 s after arming when nothing follows', () => {
    const flight = new Flight().ready()
    expect(flight.command(...HOLD)).toBe(0)
    expect(flight.command(...ARM)).toBe(0)
    const idle_ms = flight.await(20_000, () => !flight.seen.armed)
    expect(idle_ms).toBeGreaterThan(11_400)
    expect(idle_ms).toBeLessThan(11_700)
  })

  it('acknowledges within 18 ms, shows the mode within 50 ms and the heartbeat only with its next second', () => {
    const flight = new Flight().ready()
    flight.takeoff(5)
    const beats = flight.all(minimal.Heartbeat).length
    flight.await(1_100, () => flight.all(minimal.Heartbeat).length > beats)
    flight.stream = position(5, 0, 5)
    flight.run(120)
    const sent_ms = flight.now_ms
    expect(flight.ask(...OFFBOARD)?.took_ms).toBeLessThanOrEqual(20)
    flight.run(1_100)
    const shown = flight.all(common.CurrentMode, sent_ms).find((h) => h.data.customMode === 6 << 16)
    const beaten = flight.all(minimal.Heartbeat, sent_ms).find((h) => h.data.customMode === 6 << 16)
    expect(shown!.at_ms - sent_ms).toBeGreaterThanOrEqual(20)
    expect(shown!.at_ms - sent_ms).toBeLessThanOrEqual(50)
    expect(beaten!.at_ms - sent_ms).toBeGreaterThan(500)
  })
})
