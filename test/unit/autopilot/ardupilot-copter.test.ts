import { describe, expect, it } from 'vitest'
import { ARDUPILOT_MODES, ardupilotCopter as copter } from '../../../src/autopilot/ardupilot-copter.ts'
import type { SetpointName } from '../../../src/autopilot/profile.ts'
import { type Payload, setpointOf, values } from './template.ts'

const setpoint = (name: SetpointName, payload: Payload, declared?: readonly string[]) =>
  setpointOf(copter, name, payload, declared)

describe('ardupilot-copter', () => {
  it('knows its modes, and G5: no other passes as one that we set', () => {
    const names = Array.from({ length: 40 }, (_, number) => copter.mode(number))
    expect(names.slice(0, 10)).toEqual([
      'MANUAL',
      'MANUAL',
      'ALTITUDE',
      'MISSION',
      'OFFBOARD',
      'POSITION',
      'RETURN',
      'OTHER',
      'OTHER',
      'LAND',
    ])
    expect(copter.mode(ARDUPILOT_MODES.BRAKE.number)).toBe('HOLD')
    expect(copter.mode(16)).toBe('POSITION')
    for (const mode of ['HOLD', 'RETURN', 'LAND', 'OFFBOARD']) {
      expect(names.filter((name) => name === mode)).toHaveLength(1)
    }
    expect([20, 21, 27, 255, 2 ** 32 - 1].map((number) => copter.mode(number))).toEqual(Array(5).fill('OTHER'))
  })

  it('takes off as GUIDED, arm, NAV_TAKEOFF at the height above home; nothing shows the last', () => {
    const steps = copter.verbs.takeoff.steps(() => true)
    expect(steps.map((s) => [s.command, s.arms, s.changesMode, s.shows])).toEqual([
      [176, false, true, { mode: 'OFFBOARD' }],
      [400, true, false, { armed: true }],
      [22, false, true, undefined],
    ])
    const [guided, arm, takeoff] = steps.map((s) => values(s.frame, { alt: 8 }))
    expect(guided).toEqual({ param1: 1, param2: 4, command: 176, target_system: 2, target_component: 1 })
    expect(arm).toMatchObject({ param1: 1, command: 400 })
    expect(takeoff).toEqual({ param7: 8, command: 22, target_system: 2, target_component: 1 })
    expect(steps.map((s) => s.awaits_ms > 0)).toEqual([true, true, false])
  })

  it('holds with BRAKE, which no throttle stick lowers', () => {
    expect(values(copter.contingencies.hold.frame, {})).toMatchObject({ param1: 1, param2: 17, command: 176 })
    expect(copter.orphaned).toBe('hold')
  })

  it('never streams a frame or a mask that means stop, or that is dangerous', () => {
    const payload = { lat: 1, lon: 2, alt: 3, north: 1, east: 2, down: 3, forward: 1, right: 2, heading: 90 }
    for (const name of Object.keys(copter.setpoints) as SetpointName[]) {
      for (const declared of [Object.keys(payload), Object.keys(payload).filter((f) => f !== 'heading')]) {
        for (const given of [payload, { ...payload, heading: Number.NaN }]) {
          const { type_mask, coordinate_frame } = setpoint(name, given, declared)
          expect([0x0df8, 0x09f8, 0x0dc7, 0x09c7, 0x05c7], name).toContain(type_mask)
          expect(coordinate_frame).toBe({ global: 5, local: 1, body: 8 }[name.split('-')[1]!])
        }
      }
    }
  })

  it('flies to positions and velocities', () => {
    const to = { lat: 47.397742, lon: -8.545594, alt: 10 }
    expect(setpoint('position-global', to)).toMatchObject({ alt: 510, type_mask: 0x0df8, coordinate_frame: 5 })
    expect(setpoint('position-global', { ...to, heading: 90 }).type_mask).toBe(0x09f8)
    expect(setpoint('position-local', { north: 1, east: 2, down: -3 })).toMatchObject({
      x: 1,
      y: 2,
      z: -3,
      type_mask: 0x0df8,
    })
    const level = { vx: 1, vy: 2, vz: 0, type_mask: 0x0dc7, coordinate_frame: 1 }
    expect(setpoint('velocity-local', { north: 1, east: 2 })).toMatchObject(level)
    expect(setpoint('velocity-local', { north: 1, east: 2 }, ['north', 'east', 'down'])).toMatchObject(level)
    expect(setpoint('velocity-local', { north: 1, east: 2, down: 0.5 })).toMatchObject({ ...level, vz: 0.5 })
    expect(setpoint('velocity-body', { forward: 1, right: 2, down: 0 })).toMatchObject({
      vx: 1,
      vy: 2,
      type_mask: 0x05c7,
      coordinate_frame: 8,
    })
  })

  it('keeps positions for ever, and velocities not', () => {
    const kept = Object.entries(copter.setpoints).filter(([, setpoint]) => setpoint.kept)
    expect(kept.map(([name]) => name)).toEqual(['position-global', 'position-local'])
  })
})
