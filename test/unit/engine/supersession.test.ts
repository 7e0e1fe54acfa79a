import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { CMD, goto, notice, plain, range, Stage, takeoff, twoAgents } from './stage.ts'

describe('supersession (PROTOCOL 8)', () => {
  it("a new plan's goto takes over in the same call, without mode command and without contingency", () => {
    const stage = new Stage(core).engage()
    stage.say([range, goto('h', 60)])
    expect(stage.phases('g')).toEqual(['retained', 'dispatched', 'superseded superseded'])
    expect(stage.lastPhase('h')).toBe('dispatched')
    expect(stage.sent.at(-1)?.at_ms).toBe(stage.now_ms)
    stage.run(1000)
    expect(stage.commands()).toEqual(['OFFBOARD'])
    expect(stage.lastPhase('h')).toBe('dispatched')
  })

  it('without a taker is the contingency in the same call', () => {
    const stage = new Stage(core).engage()
    stage.say([notice('n')])
    expect(stage.lastPhase('g')).toBe('superseded superseded')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    expect(stage.sent.at(-1)?.at_ms).toBe(stage.now_ms)
  })

  it('by a taker that is denied is the contingency in the same call', () => {
    const stage = new Stage(core).engage()
    stage.set({ critical: 1 })
    stage.say([range, goto('h', 60)])
    expect(stage.lastPhase('h')).toBe('blocked not_in_control')
    stage.set({ critical: 0 }).run(200)
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('by a plan that holds: an agent stops its own flight', () => {
    const stage = new Stage(core).engage()
    stage.say([plain('hold')])
    expect(stage.lastPhase('hold')).toBe('dispatched')
    stage.run(1000)
    expect(stage.lastPhase('hold')).toBe('completed')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    expect(stage.control.pilot_control).toBe(false)
  })

  it('of a lease before its mode command needs no contingency', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30)])
    stage.run(100)
    stage.say([notice('n')])
    stage.run(1000)
    expect(stage.commands()).toEqual([])
    expect(stage.setpoints().length).toBe(2)
  })

  it('G3: ends what had not crossed, and it never does', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500)
    stage.say([notice('n')])
    expect(stage.lastPhase('h')).toBe('superseded superseded')
    stage.arrive(goto('g', 30)).run(3000)
    expect(stage.lastPhase('h')).toBe('superseded superseded')
    expect(stage.lastPhase('g')).toBe('superseded superseded')
  })

  it('even if nothing of the new plan is retained', () => {
    const stage = new Stage(core).engage()
    const verdict = stage.say([plain('no_such_type')])
    expect(verdict.accepted).toBe(true)
    expect(verdict.components[0].decision).toBe('withheld')
    expect(stage.lastPhase('g')).toBe('superseded superseded')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('not by a response that is refused as a whole', () => {
    const stage = new Stage(core).engage()
    expect(stage.say([notice('n')], { snapshot: 'nonsense' }).accepted).toBe(false)
    expect(stage.run(1000).lastPhase('g')).toBe('dispatched')
  })

  it('not by another agent, which cannot take the resource', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).engage()
    stage.say([range, goto('s', 20)], {}, 'scout')
    expect(stage.lastPhase('s', 'scout')).toBe('retained resource_busy')
    expect(stage.run(1000).lastPhase('g')).toBe('dispatched')
  })

  it('another agent that waits cannot take the resource in that call: the contingency has it', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).engage()
    stage.obeys = false
    stage.say([range, goto('s', 20)], {}, 'scout')
    stage.say([notice('n')])
    expect(stage.lastPhase('s', 'scout')).toBe('retained resource_busy')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    stage.run(10).acknowledge(CMD.setMode).run(10)
    expect(stage.lastPhase('s', 'scout')).toBe('retained resource_busy')
    stage.show({ mode: 'HOLD' }).run(10)
    expect(stage.lastPhase('s', 'scout')).toBe('dispatched')
  })

  it("the new plan's action of higher sequence goes before a waiting one of another agent", () => {
    const stage = new Stage(core, { catalog: twoAgents() }).engage()
    stage.say([range, goto('s', 20)], {}, 'scout')
    stage.say([range, goto('h', 60)])
    expect(stage.lastPhase('h')).toBe('dispatched')
    expect(stage.lastPhase('s', 'scout')).toBe('retained resource_busy')
    expect(stage.run(500).commands()).toEqual(['OFFBOARD'])
  })

  it('a crossed command keeps its resource to its end', () => {
    const stage = new Stage(core).run(1000)
    stage.say([takeoff('t')])
    stage.run(200)
    stage.say([range, goto('g', 30)])
    expect(stage.lastPhase('t')).toBe('acknowledged')
    const verdict = stage.say([plain('hold')])
    expect(verdict.components[0].decision).toBe('retained')
    expect(stage.lastPhase('hold')).toBe('retained resource_busy')
    stage.show({ landed: 'IN_AIR' }).set({ 'position.alt': 9 }).show({ mode: 'HOLD' }).run(10)
    expect(stage.lastPhase('t')).toBe('completed')
    expect(stage.phases('hold')).toContain('dispatched')
    expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff', 'HOLD'])
  })

  it('a crossed command goes on with its frames', () => {
    const stage = new Stage(core).run(1000)
    stage.say([takeoff('t')])
    stage.say([notice('n')])
    stage.run(500)
    expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
  })

  it('a crossed command of a superseded plan that fails opens no obligation, and still has its contingency', () => {
    const stage = new Stage(core).run(1000)
    stage.say([takeoff('t')])
    stage.say([notice('n')])
    stage.run(100).operate('pause').run(1000)
    expect(stage.lastPhase('t')).toBe('failed paused')
    expect(stage.obligations).toEqual([])
    expect(stage.commands().at(-1)).toMatch(/HOLD|LAND|disarm/)
    expect(stage.commands().length).toBeGreaterThan(3)
  })

  it('a plan after the handover: the old one is no plan to recover', () => {
    const stage = new Stage(core).engage().set({ 'battery.remaining': 10 }).run(1500).set({ 'battery.remaining': 90 })
    stage.run(1100)
    stage.say([notice('n')])
    expect(stage.closed).toEqual(['superseded'])
    expect(stage.say([range, goto('g', 30)], { recovers: 'r1' })).toMatchObject({
      accepted: false,
      reason: 'no_such_plan',
    })
  })
})
