import { describe, expect, it } from 'vitest'
import { MODES, type SetpointName } from '../../../src/autopilot/profile.ts'
import { PX4_MODES, px4Multirotor as px4 } from '../../../src/autopilot/px4-multirotor.ts'
import { type Payload, setpointOf, values } from './template.ts'

const setpoint = (name: SetpointName, payload: Payload, declared?: readonly string[]) =>
  setpointOf(px4, name, payload, declared)

describe('px4-multirotor', () => {
  it('knows every mode that it sets, and 0 as unknown', () => {
    for (const [mode, { main, sub }] of Object.entries(PX4_MODES))
      expect(px4.mode(main * 2 ** 16 + sub * 2 ** 24)).toBe(mode)
    expect(px4.mode(0)).toBeUndefined()
    expect(px4.mode((4 << 16) + (9 << 24))).toBe('OTHER')
    expect(px4.mode(7 << 16)).toBe('MANUAL')
    expect(px4.mode((3 << 16) + (1 << 24))).toBe('OTHER')
    expect(px4.mode((4 << 16) + 255 * 2 ** 24)).toBe('OTHER')
    expect(MODES).toContain('OFFBOARD')
  })

  it('take off as HOLD, arm, NAV_TAKEOFF at the height above the sea', () => {
    const steps = px4.verbs.takeoff.steps(() => true)
    expect(steps.map((s) => [s.command, s.arms, s.changesMode])).toEqual([
      [176, false, true],
      [400, true, false],
      [22, false, true],
    ])
    const [hold, arm, takeoff] = steps.map((s) => values(s.frame, { alt: 8 }))
    expect(hold).toEqual({ param1: 1, param2: 4, param3: 3, command: 176, target_system: 2, target_component: 1 })
    expect(arm).toMatchObject({ param1: 1, command: 400 })
    const nan = { param1: 'nan', param2: 'nan', param3: 'nan', param4: 'nan', param5: 'nan', param6: 'nan' }
    expect(takeoff).toMatchObject({ ...nan, param7: 508, command: 22 })
    expect(steps.map((s) => s.awaits_ms > 0)).toEqual([true, true, false])
  })

  it('fly to a position above the sea, in degrees 1e7', () => {
    const to = { lat: 47.397742, lon: -8.545594, alt: 10 }
    const mask = { type_mask: 0x0df8, coordinate_frame: 5 }
    const frame = setpoint('position-global', to)
    expect(frame).toMatchObject({ ...mask, alt: 510 })
    expect(frame.lat_int).toBeCloseTo(473977420, 3)
    expect(frame.lon_int).toBeCloseTo(-85455940, 3)
    const turned = setpoint('position-global', { ...to, heading: 90 })
    expect(turned.type_mask).toBe(0x09f8)
    expect(turned.yaw).toBeCloseTo(Math.PI / 2, 12)
    expect(setpoint('position-global', to, ['lat', 'lon', 'alt', 'heading'])).toMatchObject({ ...mask, yaw: 0 })
  })

  it('fly to a local position', () => {
    const frame = setpoint('position-local', { north: 1, east: 2, down: -3 })
    expect(frame).toMatchObject({ x: 1, y: 2, z: -3, type_mask: 0x0df8, coordinate_frame: 1 })
  })

  it('fly a velocity and keep the height, unless `down` is given', () => {
    const level = { vx: 1, vy: 2, z: -12, type_mask: 0x0de3, coordinate_frame: 1 }
    expect(setpoint('velocity-local', { north: 1, east: 2 })).toMatchObject(level)
    expect(setpoint('velocity-local', { north: 1, east: 2 }, ['north', 'east', 'down'])).toMatchObject({
      ...level,
      vz: 0,
    })
    expect(setpoint('velocity-local', { north: 1, east: 2, down: 0.5 })).toMatchObject({ vz: 0.5, type_mask: 0x0dc7 })
    expect(setpoint('velocity-local', { north: 1, east: 2, heading: 0 }).type_mask).toBe(0x09e3)
    expect(setpoint('velocity-local', { north: 1, east: 2, down: 0, heading: 0 }).type_mask).toBe(0x09c7)
  })

  it('fly a velocity of the body', () => {
    const frame = setpoint('velocity-body', { forward: 1, right: 2, down: 0 })
    expect(frame).toMatchObject({ vx: 1, vy: 2, vz: 0, type_mask: 0x05c7, coordinate_frame: 8 })
    expect(setpoint('velocity-body', { forward: 1, right: 2, down: 0, heading: 180 }).type_mask).toBe(0x09c7)
  })
})
