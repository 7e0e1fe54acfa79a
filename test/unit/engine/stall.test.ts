// Behind a stall nothing that changes the mode leaves before the mode has been heard there (PROTOCOL 8, "Stall").

import { describe, expect, it } from 'vitest'
import { LANDED, MODES, type Mode } from '../../../src/autopilot/profile.ts'
import { cores } from '../../oracle/cores.ts'
import { goto, plain, range, Stage, takeoff } from './stage.ts'

const ALOFT = { armed: 1, landed: LANDED.indexOf('IN_AIR') }
const STANDING = { armed: 0, landed: LANDED.indexOf('ON_GROUND') }
const inMode = (mode: Mode) => ({ mode: MODES.indexOf(mode), mode_intended: MODES.indexOf(mode) })

describe.each(cores)('a stall (PROTOCOL 8), %s', (_name, core) => {
  /** In HOLD at 10 m; nobody ticks for so long, and nothing is heard since. */
  function stalled(for_ms: number, stage = new Stage(core).fly()): Stage {
    stage.streaming = false
    return stage.stall(for_ms)
  }

  it.each(['hold', 'return', 'land'])('G5: %s waits, and does not go against the pilot who took over in it', (type) => {
    const stage = stalled(450)
    const before_ms = stage.now_ms - 440
    stage.say([plain(type)])
    // What the pilot's mode stands behind in the socket.
    for (let report = 0; report < 20; report++) stage.hear({ ...inMode('HOLD'), ...ALOFT }, before_ms + report)
    expect(stage.phases(type)).toEqual(['retained', 'retained state_awaited'])
    expect(stage.values('outcome/planner').at(-1)).toMatchObject({ detail: 'mode' })
    stage.run(50).hear({ ...inMode('POSITION'), ...ALOFT }, stage.now_ms - 20)
    stage.run(50).hear({ ...inMode('POSITION'), ...ALOFT }, stage.now_ms - 20)
    expect(stage.commands()).toEqual([])
    expect(stage.control.pilot_control).toBe(true)
    expect(stage.lastPhase(type)).toBe('blocked pilot_control')
  })

  it.each(['hold', 'return', 'land'])('%s crosses once the mode is heard behind it', (type) => {
    const stage = stalled(450)
    stage.say([plain(type)])
    stage.run(50)
    expect(stage.commands()).toEqual([])
    stage.hear({ ...inMode('HOLD'), ...ALOFT }, stage.now_ms - 10)
    expect(stage.commands().length).toBe(1)
  })

  it('G5: a take-off waits until the vehicle is heard to stand there disarmed', () => {
    const stage = stalled(450, new Stage(core).run(1000))
    stage.say([takeoff('t')])
    stage.hear({ ...inMode('HOLD'), ...STANDING }, stage.now_ms - 400)
    expect(stage.commands()).toEqual([])
    stage.run(50).hear({ ...inMode('POSITION'), armed: 1 }, stage.now_ms - 20)
    stage.hear({ landed: LANDED.indexOf('ON_GROUND') }, stage.now_ms - 20)
    stage.run(50).hear({ ...inMode('POSITION'), armed: 1 }, stage.now_ms - 20)
    expect(stage.commands()).toEqual([])
    expect(stage.control.pilot_control).toBe(true)
  })

  it.each([['armed'], ['landed']])('G5: a take-off against the mode shown waits for %s too', (late) => {
    const stage = new Stage(core).run(1000)
    stage.show({ mode: 'POSITION' }).run(100)
    stalled(300, stage)
    stage.say([takeoff('t')])
    const { [late]: missing, ...rest } = STANDING as Record<string, number>
    stage.hear(rest, stage.now_ms).run(50)
    expect(stage.commands()).toEqual([])
    stage.hear({ [late]: missing! }, stage.now_ms)
    expect(stage.commands()).toEqual(['HOLD'])
  })

  /** On the ground in the pilot's mode; behind a stall all is heard at once but what the heartbeat says, that it is disarmed. */
  function unarmedUnheard(): Stage {
    const stage = new Stage(core).run(1000)
    stage.show({ mode: 'POSITION' }).run(100)
    stalled(300, stage)
    stage.world.delete('armed')
    stage.streaming = true
    stage.run(50).say([takeoff('t')])
    return stage
  }

  it('a take-off waits for the next heartbeat, though the mode that is heard is not ours', () => {
    const stage = unarmedUnheard().run(800)
    expect(stage.commands()).toEqual([])
    expect(stage.phases('t')).toEqual(['retained', 'retained state_awaited'])
    expect(stage.values('outcome/planner').at(-1)).toMatchObject({ detail: 'mode' })
    stage.set({ armed: 0 }).run(10)
    expect(stage.commands()).toEqual(['HOLD'])
  })

  it('G5: it waits no longer than heartbeats take', () => {
    const stage = unarmedUnheard().run(1400)
    expect(stage.lastPhase('t')).toBe('retained state_awaited')
    stage.run(100)
    expect(stage.commands()).toEqual([])
    expect(stage.lastPhase('t')).toBe('blocked not_in_control')
  })

  it('asks for the mode at once, each 100 ms until it is heard', () => {
    const stage = stalled(101)
    stage.asked_ms.length = 0
    const ended_ms = stage.now_ms + 10
    stage.run(250)
    expect(stage.asked_ms).toEqual([ended_ms, ended_ms + 100, ended_ms + 200])
    stage.hear(inMode('HOLD'), stage.now_ms).run(500)
    expect(stage.asked_ms.length).toBe(3)
  })

  it('takes 100 ms between two steps for none', () => {
    const stage = stalled(100)
    stage.say([plain('hold')])
    expect(stage.commands()).toEqual(['HOLD'])
    expect(stage.asked_ms).toEqual([])
  })

  it('gives up after a second in which nothing is heard', () => {
    const stage = stalled(300)
    stage.say([plain('hold')])
    stage.run(990)
    expect(stage.lastPhase('hold')).toBe('retained state_awaited')
    stage.run(30)
    expect(stage.commands()).toEqual([])
    expect(stage.lastPhase('hold')).toBe('blocked link_lost')
    expect(stage.asked_ms.length).toBeLessThanOrEqual(11)
  })

  it('says what else speaks against it without waiting', () => {
    const stage = stalled(300)
    stage.hear({ 'battery.remaining': 5 }, stage.now_ms)
    stage.say([range, goto('g', 30)])
    expect(stage.lastPhase('g')).toBeUndefined()
  })

  it('G5: a setpoint that is warming up does not set the mode before it is heard', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30)])
    stage.run(150)
    expect(stage.modesSent()).toEqual([])
    stalled(110, stage)
    stage.run(80)
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.modesSent()).toEqual([])
    stage.streaming = true
    stage.run(110)
    expect(stage.modesSent()).toEqual(['OFFBOARD'])
  })

  it('G5: nor does one take an engagement for granted that was shown before', () => {
    const stage = new Stage(core).engage()
    stalled(120, stage)
    stage.say([range, goto('h', 20)])
    const frames = stage.sent.length
    stage.run(30)
    expect(stage.sent.length).toBe(frames)
    expect(stage.phases('h')).toEqual(['retained', 'retained state_awaited'])
    // What was under way has stopped meanwhile: the old flight's contingency is over before the new one begins.
    stage.streaming = true
    stage.run(500)
    expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD', 'OFFBOARD'])
  })

  it('G5: a command goes on to its next frame only then', () => {
    const stage = new Stage(core, { obeys: false }).run(1000)
    stage.say([takeoff('t')])
    expect(stage.commands()).toEqual(['HOLD'])
    stage.run(20)
    stalled(300, stage)
    stage.acknowledge(176)
    stage.run(50)
    expect(stage.commands()).toEqual(['HOLD'])
    expect(stage.lastPhase('t')).toBe('dispatched')
    stage.hear({ ...inMode('HOLD'), ...STANDING }, stage.now_ms).run(10)
    expect(stage.commands()).toEqual(['HOLD', 'arm'])
  })

  it('G5: a contingency neither leaves nor counts a try nor gives up', () => {
    const stage = new Stage(core).engage()
    stalled(600, stage)
    stage.run(5000)
    expect(stage.lastPhase('g')).toBe('failed tick_missed')
    expect(stage.commands()).toEqual(['OFFBOARD'])
    expect(stage.values('notice').filter(({ kind }) => kind === 'contingency')).toEqual([])
    stage.streaming = true
    stage.run(50)
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('G5: a contingency does not go against the pilot who took over', () => {
    const stage = new Stage(core).engage()
    stalled(600, stage)
    for (let report = 0; report < 50; report++) {
      stage.hear({ ...inMode('OFFBOARD'), ...ALOFT }, stage.now_ms - 590 + report)
    }
    stage.run(100).hear({ ...inMode('POSITION'), ...ALOFT }, stage.now_ms - 10)
    stage.run(5000)
    expect(stage.commands()).toEqual(['OFFBOARD'])
  })
})
