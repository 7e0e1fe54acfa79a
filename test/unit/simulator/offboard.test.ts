// Offboard as PX4 has it: what engages it, what loses it, and what brings it back without being asked.

import { common } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { ARM, Flight, globalTarget, HOLD, HOME, LAND, local, OFFBOARD, position, RETURN } from './flight.ts'

const flying = (height_m = 8): Flight => {
  const flight = new Flight().ready()
  flight.takeoff(height_m)
  flight.run(3_000)
  return flight
}

describe('simulated vehicle: offboard', () => {
  it('refuses Offboard without a setpoint and accepts it after one, which moved nothing', () => {
    const flight = flying()
    expect(flight.command(...OFFBOARD)).toBe(1)
    flight.send(position(20, 0, 8))
    flight.run(100)
    expect(flight.speed_mps).toBeLessThan(0.05)
    expect(flight.command(...OFFBOARD)).toBe(0)
    expect(flight.seen.mode).toBe('OFFBOARD')
  })

  it.each([1, 2, 3, 4])(
    'is lost 1 to 2 s after the stream, to POSITION, and a mere setpoint re-engages (seed %i)',
    (seed) => {
      const flight = new Flight({ seed }).ready()
      flight.takeoff(5)
      flight.offboard(position(30, 0, 5))
      flight.run(1_000)
      flight.stream = undefined
      const lost_ms = flight.await(3_000, () => flight.seen.mode === 'POSITION')
      expect(lost_ms).toBeGreaterThanOrEqual(890)
      expect(lost_ms).toBeLessThanOrEqual(2_000)
      expect(flight.seen.intended).toBe('OFFBOARD')
      expect(flight.seen.critical).toBe(true)
      flight.run(1_000)
      expect(flight.latest(common.CurrentMode)).toMatchObject({ customMode: 3 << 16, intendedCustomMode: 6 << 16 })
      flight.send(position(30, 0, 5))
      flight.run(30)
      expect(flight.latest(common.CurrentMode)).toMatchObject({ customMode: 6 << 16, intendedCustomMode: 6 << 16 })
    },
  )

  it('ignores the same stream after a HOLD', () => {
    const flight = flying()
    flight.offboard(position(50, 0, 8))
    flight.run(2_000)
    flight.command(...HOLD)
    flight.run(8_000)
    const at = flight.seen.position
    flight.run(5_000)
    expect(flight.seen.mode).toBe('HOLD')
    expect(flight.seen.position.lat).toBeCloseTo(at.lat, 6)
  })

  it('obeys a companion over the pilot and out of the pilot’s RTL', () => {
    const flight = flying()
    flight.stream = position(10, 0, 8)
    flight.fault({ kind: 'pilot', mode: 'RETURN' })
    flight.run(1_000)
    expect(flight.seen.mode).toBe('RETURN')
    expect(flight.command(...OFFBOARD)).toBe(0)
    flight.fault({ kind: 'sticks', on: true })
    flight.run(2_000)
    expect(flight.seen.mode).toBe('OFFBOARD')
    expect(flight.seen.height_m).toBeGreaterThan(7)
  })

  it('descends in POSITION with the sticks down', () => {
    const flight = flying()
    flight.fault({ kind: 'pilot', mode: 'POSITION' })
    flight.fault({ kind: 'sticks', on: true })
    flight.run(3_000)
    expect(flight.seen.height_m).toBeLessThan(6.5)
  })

  it('says in the local frame what it flies to, once asked, and nothing outside Offboard', () => {
    const flight = flying()
    flight.command(common.MavCmd.SET_MESSAGE_INTERVAL, common.PositionTargetLocalNed.MSG_ID, 100_000)
    flight.run(500)
    expect(flight.all(common.PositionTargetLocalNed)).toEqual([])
    flight.offboard(position(20, 5, 8))
    flight.run(200)
    const { x, y, z, typeMask } = flight.latest(common.PositionTargetLocalNed)
    expect([x, y, z].map((value) => Math.round(value))).toEqual([20, 5, -8])
    expect(typeMask).toBe(0x38)
    flight.stream = local(1, 0x0dc7, { vx: 2, vy: -1 })
    flight.run(300)
    expect(flight.latest(common.PositionTargetLocalNed)).toMatchObject({ vx: 2, vy: -1, typeMask: 7 })
  })

  it('holds a wrong height in frame 6', () => {
    const flight = flying()
    flight.offboard(position(5, 0, 8, 6))
    flight.run(8_000)
    expect(flight.seen.height_m).toBeCloseTo(2.7, 0)
  })

  it('flies off to latitude and longitude 0, 0', () => {
    const flight = flying()
    flight.offboard(globalTarget(0, 0, HOME.amsl + 8))
    flight.run(20_000)
    expect(flight.distance(0, 0)).toBeGreaterThan(150)
    expect(flight.seen.velocity.north).toBeLessThan(-5)
  })

  it('flies velocities: frame 1 sinks under 0x0DC7, holds with 0x0DE3; frame 8 turns with the nose', () => {
    const sinking = flying()
    sinking.offboard(local(1, 0x0dc7, { vx: 2, vy: -1 }))
    sinking.run(15_000)
    expect(sinking.seen.velocity.north).toBeCloseTo(2, 1)
    expect(sinking.seen.velocity.east).toBeCloseTo(-1, 1)
    expect(sinking.seen.height_m).toBeCloseTo(5, 0)

    const holding = flying()
    holding.offboard(local(1, 0x0de3, { z: -8, vx: 2 }))
    holding.run(15_000)
    expect(holding.seen.height_m).toBeCloseTo(8, 1)

    const turned = flying()
    turned.offboard(local(1, 0x09f8, { z: -8, yaw: Math.PI / 2 }))
    turned.run(5_000)
    turned.stream = local(8, 0x05c7, { vx: 2 })
    turned.run(3_000)
    expect(turned.seen.velocity.east).toBeCloseTo(2, 1)
    expect(turned.seen.velocity.north).toBeCloseTo(0, 1)
  })

  it('ignores a frame or a mask with nothing to follow, for the stream too', () => {
    const flight = flying()
    flight.send(position(5, 0, 8, 11))
    flight.send(local(1, 0x0fff, {}))
    expect(flight.seen.setpoints.map((setpoint) => setpoint.target)).toEqual([undefined, undefined])
    expect(flight.command(...OFFBOARD)).toBe(1)
  })

  it('keeps what it received: message, mask, target, time, mode, bytes', () => {
    const flight = flying()
    const bytes = flight.bytes(position(12, 5, 9))
    flight.vehicle.receive(bytes, flight.now_ms)
    const [seen] = flight.seen.setpoints
    expect(seen).toMatchObject({
      at_ms: flight.now_ms,
      system: 1,
      component: 191,
      message: 'SET_POSITION_TARGET_GLOBAL_INT',
      frame: 5,
      mask: 0x0df8,
      mode: 'HOLD',
      armed: true,
    })
    expect(seen!.target!.north).toBeCloseTo(12, 1)
    expect(seen!.target!.east).toBeCloseTo(5, 1)
    expect(seen!.target!.down).toBeCloseTo(-9, 1)
    expect(Buffer.from(seen!.datagram).equals(bytes)).toBe(true)
  })

  it('reports a target in automatic modes only, as measured, and in Offboard when told to', () => {
    for (const offboardTarget of [false, true]) {
      const flight = new Flight({ offboardTarget }).ready()
      flight.takeoff(8)
      flight.offboard(position(20, 0, 8))
      flight.run(200)
      const since_ms = flight.now_ms
      flight.run(1_000)
      const targets = flight.all(common.PositionTargetGlobalInt, since_ms)
      expect(targets.length > 0).toBe(offboardTarget)
      if (offboardTarget)
        expect(targets[0]!.data.latInt).toBeCloseTo(Math.round((HOME.lat + 20 / 111_194.93) * 1e7), -2)
      flight.command(...HOLD)
      flight.run(1_000)
      expect(flight.all(common.PositionTargetGlobalInt, flight.now_ms - 500).length).toBeGreaterThan(0)
    }
  })

  it('ends a landing in the last mode that was none, and is armed again only after HOLD', () => {
    const flight = flying(5)
    flight.offboard(position(3, 0, 5))
    flight.run(1_000)
    flight.stream = undefined
    flight.command(...LAND)
    flight.await(40_000, () => !flight.seen.armed)
    expect(flight.seen.mode).toBe('OFFBOARD')
    expect(flight.seen.ready).toBe(false)
    expect(flight.command(...ARM)).toBe(1)
    expect(flight.command(...HOLD)).toBe(0)
    expect(flight.command(...ARM)).toBe(0)
  })

  it('refuses to arm in LAND and RETURN', () => {
    for (const [command, ...params] of [LAND, RETURN]) {
      const flight = new Flight().ready()
      expect(flight.command(command, ...params)).toBe(0)
      expect(flight.command(...ARM)).toBe(1)
    }
  })
})
