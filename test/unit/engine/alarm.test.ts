import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { goto, plain, range, Stage, takeoff } from './stage.ts'

describe('an alarm: who is heard and obeyed on the link is not certain any more', () => {
  it('G5: ends the leases with their contingency, and no action crosses until the operator resumes', () => {
    const stage = new Stage(core).engage()
    const setpoints = stage.setpoints().length
    stage.alarm('another autopilot sends as 1/1').run(1000)
    expect(stage.lastPhase('g')).toBe('failed pilot_control')
    expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD'])
    expect(stage.setpoints().length).toBe(setpoints)
    expect(stage.control.pilot_control).toBe(true)
    const { kind, severity, text } = stage.values('notice').at(-1)
    expect({ kind, severity, text }).toEqual({
      kind: 'alarm',
      severity: 'alert',
      text: 'another autopilot sends as 1/1',
    })

    expect(stage.say([range, goto('h', 20)]).components[1].reason).toBe('pilot_control')
    stage.operate('resume').say([range, goto('h', 20)])
    expect(stage.run(500).lastPhase('h')).toBe('dispatched')
  })

  it('is told once, however often it is raised', () => {
    const stage = new Stage(core).fly()
    const told = () => stage.values('notice').filter(({ kind }) => kind === 'alarm').length
    stage.alarm('twice').run(1000).alarm('twice')
    expect(told()).toBe(1)
    stage.operate('resume').alarm('twice')
    expect(told()).toBe(2)
  })
})

describe('the preflight: parameters of the autopilot that speak against setpoints', () => {
  it('G5: denies every setpoint in its words, and nothing else', () => {
    const stage = new Stage(core).run(1000).preflight('COM_OBL_RC_ACT is 0: set it to 5')
    stage.say([takeoff('t')])
    expect(stage.run(500).lastPhase('t')).toBe('acknowledged')
    stage.fly('TAKEOFF').show({ mode: 'HOLD' }).run(100)
    stage.say([range, goto('g', 20)])
    const denied = stage.values('outcome/planner').findLast(({ component }) => component === 'g')
    expect([denied.phase, denied.reason, denied.detail]).toEqual([
      'blocked',
      'not_in_control',
      'COM_OBL_RC_ACT is 0: set it to 5',
    ])
    stage.say([plain('land')])
    expect(stage.run(500).lastPhase('land')).toBe('acknowledged')
    expect(stage.setpoints()).toEqual([])
  })

  it('stands over sessions, until nothing speaks against them', () => {
    const stage = new Stage(core).fly().preflight('COM_OF_LOSS_T is 5: set it to 1').operate('restart').run(1500)
    stage.say([range, goto('g', 20)])
    expect(stage.lastPhase('g')).toBe('blocked not_in_control')
    stage.preflight(undefined).say([range, goto('h', 20)])
    expect(stage.run(500).lastPhase('h')).toBe('dispatched')
  })
})
