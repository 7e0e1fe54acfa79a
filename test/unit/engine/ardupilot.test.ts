// The engine on ArduPilot's profile: take-off inside GUIDED, BRAKE after every setpoint, and no HOLD after a landing
// (PROTOCOL 8). What the profiles share is tested on PX4's.

import { describe, expect, it } from 'vitest'
import { cores } from '../../oracle/cores.ts'
import { exampleCatalog, goto, plain, range, Stage, takeoff, velocity } from './stage.ts'

const catalog = exampleCatalog('ardupilot-copter')

describe.each(cores)('%s, ardupilot-copter', (_, core) => {
  const standing = () => new Stage(core, { catalog }).show({ mode: 'MANUAL' }).run(1000)
  const flying = (mode: 'HOLD' | 'OFFBOARD' = 'HOLD') => new Stage(core, { catalog }).fly(mode)
  /** Armed and climbing in GUIDED. */
  const climbing = () => {
    const stage = standing()
    stage.say([takeoff('t'), range, goto('g', 30, ['range', 't'])])
    return stage.run(300)
  }
  const aloft = (stage: Stage) => stage.set({ 'position.alt': 10, 'position.amsl': 498 }).show({ landed: 'IN_AIR' })

  it('takes off as GUIDED, arm, NAV_TAKEOFF, and streams nothing before the vehicle is in the air at its height', () => {
    const stage = climbing()
    expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff'])
    stage.run(5000)
    expect(stage.lastPhase('t')).toBe('acknowledged')
    expect(stage.setpoints()).toEqual([])
    stage.show({ landed: 'IN_AIR' }).run(1000)
    expect(stage.setpoints(), 'IN_AIR before the height').toEqual([])
    aloft(stage).run(200)
    expect(stage.lastPhase('t')).toBe('completed')
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.setpoints().length).toBeGreaterThan(0)
    // The stream goes on where the take-off ended: GUIDED is there already, and BRAKE has been saved.
    expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff'])
    expect(stage.control.pilot_control).toBe(false)
  })

  it('brakes after a take-off that nothing follows, and after a goto', () => {
    const stage = standing()
    stage.say([takeoff('t')])
    aloft(stage.run(300)).run(100)
    expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff', 'HOLD'])
    const there = goto('g', 30)
    stage.say([range, there])
    expect(stage.run(500).commands().slice(4)).toEqual(['OFFBOARD'])
    stage.set({ 'position.alt': 10 }).arrive(there).run(1500)
    expect(stage.lastPhase('g')).toBe('completed')
    expect(stage.commands().slice(4)).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('G2: one setpoint leaves before GUIDED, and none moves the vehicle before the mode is shown', () => {
    const stage = flying()
    stage.obeys = false
    stage.say([range, goto('g', 30)])
    stage.run(100)
    expect(stage.sent.map(({ mode, message }) => mode ?? message)).toEqual([86, 86, 'OFFBOARD'])
  })

  it('brakes when the target would be flown to for ever: time is up, support is lost, the agent changes its mind', () => {
    for (const spoil of [
      (s: Stage) => s.set({ 'battery.remaining': 20 }).run(100),
      (s: Stage) => s.run(121_000, 50),
      (s: Stage) => {
        s.say([range])
        return s.run(100)
      },
    ]) {
      const stage = flying()
      stage.say([range, goto('g', 30)])
      stage.run(500)
      expect(stage.lastPhase('g')).toBe('dispatched')
      const engaged = stage.commands().length
      expect(spoil(stage).commands().slice(engaged)).toEqual(['HOLD'])
    }
  })

  it('ends a landing in LAND: no mode follows once disarmed', () => {
    const stage = flying()
    stage.say([plain('land')])
    stage.run(500).show({ landed: 'ON_GROUND' }).run(500).show({ armed: false }).run(3000)
    expect(stage.lastPhase('land')).toBe('completed')
    expect(stage.commands()).toEqual(['LAND'])
    expect(stage.control.pilot_control).toBe(false)
    // And from there it takes off again.
    stage.set({ 'position.alt': 0 }).say([takeoff('again')])
    expect(stage.run(300).commands()).toEqual(['LAND', 'OFFBOARD', 'arm', 'takeoff'])
  })

  it('the same for a landing that a contingency began', () => {
    const stage = standing()
    stage.say([takeoff('t')])
    stage.run(300).show({ landed: 'TAKING_OFF' }).run(61_000, 50)
    expect(stage.lastPhase('t')).toBe('failed time_exceeded')
    stage.show({ landed: 'ON_GROUND', armed: false }).run(3000)
    expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff', 'LAND'])
  })

  it.each([
    ['disarms on the ground', 'ON_GROUND', ['disarm']],
    ['lands in the air', 'TAKING_OFF', ['LAND']],
  ] as const)('G5: a take-off without an answer is taken back: it %s', (_undo, landed, undo) => {
    const stage = standing()
    stage.obeys = false
    stage.say([takeoff('t')])
    stage.run(10).acknowledge(176).show({ mode: 'OFFBOARD' }).run(10).acknowledge(400).show({ armed: true }).run(10)
    expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff'])
    // GUIDED is shown all the time and says nothing of the take-off.
    stage.show({ landed }).run(600)
    expect(stage.lastPhase('t')).toBe('failed unacknowledged')
    expect([...new Set(stage.commands().slice(3))]).toEqual(undo)
  })

  it('G3: a take-off is not sent again in the air, where it would be refused for having worked', () => {
    const again = exampleCatalog('ardupilot-copter', ['command: takeoff #', 'retransmit: 2\n      command: takeoff #'])
    const unanswered = (landed: 'ON_GROUND' | 'TAKING_OFF'): number => {
      const stage = new Stage(core, { catalog: again }).show({ mode: 'MANUAL' }).run(1000)
      stage.obeys = false
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).show({ mode: 'OFFBOARD' }).run(10).acknowledge(400).show({ armed: true })
      stage.show({ landed }).run(400)
      return stage.commands().filter((name) => name === 'takeoff').length
    }
    expect(unanswered('ON_GROUND')).toBe(3)
    expect(unanswered('TAKING_OFF')).toBe(1)
  })

  it('a session that finds GUIDED on the ground takes off and flies: the mode is then one that it asked for', () => {
    const stage = standing().show({ mode: 'OFFBOARD' }).run(100).operate('restart').run(1000)
    expect(stage.commands()).toEqual([])
    stage.say([takeoff('t'), range, goto('g', 30, ['range', 't'])])
    aloft(stage.run(300)).run(300)
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  it('a session that finds the vehicle flying in GUIDED brakes it, once it is shown, and denies setpoints until then', () => {
    const stage = new Stage(core, { catalog, found: 'OFFBOARD' }).run(1000)
    expect(stage.commands()).toEqual(['HOLD'])
    stage.say([range, goto('g', 30)])
    expect(stage.run(500).lastPhase('g')).toBe('dispatched')
  })

  it('the pilot’s switch ends everything, during the take-off as well', () => {
    for (const mode of ['POSITION', 'MANUAL', 'RETURN'] as const) {
      const stage = climbing().show({ mode }).run(300)
      expect(stage.lastPhase('t')).toBe('failed taken_over')
      expect(stage.control.pilot_control).toBe(true)
      expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff'])
    }
  })

  it('keeps the height of a velocity by a vertical speed of zero', () => {
    const stage = flying()
    stage.say([range, velocity('v', 5)])
    stage.run(300)
    const payload = new DataView(stage.setpoints().at(-1)!.payload.buffer)
    expect(payload.getUint16(48, true)).toBe(0x0dc7)
    expect(payload.getFloat32(24, true)).toBe(0)
  })
})
