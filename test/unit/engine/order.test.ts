import { describe, expect, it } from 'vitest'
import { cores } from '../../oracle/cores.ts'
import { goto, notice, plain, range, referenceCatalog, Stage, twoAgents, velocity } from './stage.ts'

// What happens at once in one step: which of several words is said, and who gets the resource (PROTOCOL 8, "Each tick").
describe.each(cores)('within one step (PROTOCOL 8), %s', (_, core) => {
  /** A velocity for five seconds, one input before its done; `within` may be over at the same moment. */
  const almost = (within = '11s'): Stage => {
    const catalog = referenceCatalog(['within: 11s', `within: ${within}`])
    return new Stage(core, { catalog }).engage(velocity('v', 5)).after(4500)
  }
  const denied = { 'battery.remaining': 10 }

  it('done and denied: completed', () => {
    const stage = almost().set(denied)
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.obligations).toEqual([])
  })

  it('done, denied and overdue: time_exceeded', () => {
    const stage = almost('5s').set(denied)
    expect(stage.lastPhase('v')).toBe('failed time_exceeded')
  })

  it('takeover and denied: taken_over', () => {
    const stage = new Stage(core).engage()
    stage.world.set('mode', 6)
    stage.set({ ...denied, mode: 6, mode_intended: 6 }).run(60)
    expect(stage.lastPhase('g')).toBe('failed taken_over')
    expect(stage.commands()).toEqual(['OFFBOARD'])
  })

  it('takeover and done: taken_over, and no `then`', () => {
    const stage = almost().taken('POSITION')
    expect(stage.lastPhase('v')).toBe('failed taken_over')
    expect(stage.run(1000).commands()).toEqual(['OFFBOARD'])
  })

  it('takeover, done, denied and overdue: taken_over', () => {
    const stage = almost('5s')
      .set({ ...denied, mode: 6, mode_intended: 6 })
      .run(60)
    expect(stage.lastPhase('v')).toBe('failed taken_over')
  })

  it('pause and done: paused, and the contingency', () => {
    const stage = almost().operate('pause')
    expect(stage.lastPhase('v')).toBe('failed paused')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('pause and overdue: paused', () => {
    const stage = almost('5s').operate('pause')
    expect(stage.lastPhase('v')).toBe('failed paused')
  })

  it('supersession and done: superseded', () => {
    const stage = almost()
    stage.say([notice('n')])
    expect(stage.lastPhase('v')).toBe('superseded superseded')
  })

  it('takeover, and a component that was about to cross: pilot_control', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), plain('hold')])
    stage.run(500).taken('POSITION')
    expect(stage.lastPhase('hold')).toBe('blocked pilot_control')
  })

  it('done and a dependent: it takes over before `then`, which is not sent', () => {
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 5), goto('g', 30, ['range', 'v'])])
    stage.after(5000).set({})
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.lastPhase('g')).toBe('dispatched')
    stage.run(1000)
    expect(stage.commands()).toEqual(['OFFBOARD'])
  })

  it('done and somebody who only waited for the resource: it takes over before `then`', () => {
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 5), goto('g', 30)])
    expect(stage.lastPhase('g')).toBe('retained resource_busy')
    stage.after(5000).set({})
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.run(1000).commands()).toEqual(['OFFBOARD'])
  })

  it('done and a dependent that is denied: `then` is sent', () => {
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 5), goto('g', 30, ['range', 'v'])])
    stage.after(5000).set({ 'battery.remaining': 10 })
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.lastPhase('g')).toBe('blocked unsupported')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('G1: what stands before what it rests on, in the order of sequence, crosses in the same step all the same', () => {
    const stage = new Stage(core).fly()
    stage.say([goto('g', 30), range])
    expect(stage.phases('g')).toEqual(['retained', 'retained prerequisite_not_ready', 'dispatched'])
    expect(stage.phases('range')).toEqual(['retained', 'released'])
  })

  it('G1: what stands before an action, and rests on its crossing alone, crosses in the same step', () => {
    const catalog = referenceCatalog(['completed, hold: completed, return', 'completed, hold: dispatched, return'])
    const stage = new Stage(core, { catalog }).fly()
    stage.say([{ ...notice('n'), requires: ['hold'] }, plain('hold')])
    expect(stage.lastPhase('hold')).toBe('dispatched')
    expect(stage.lastPhase('n')).toBe('released')
  })

  it('G1: a dependent of lower sequence crosses in the step in which the higher one is done', () => {
    const stage = new Stage(core).fly()
    stage.say([goto('g', 30, ['range', 'v']), range, velocity('v', 5)])
    stage.after(5000).set({})
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.run(1000).commands()).toEqual(['OFFBOARD'])
  })

  it('two that are ready for one resource: the lower sequence takes it, the other waits', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('a', 20), goto('b', 40)])
    expect(stage.lastPhase('a')).toBe('dispatched')
    expect(stage.phases('b')).toEqual(['retained', 'retained resource_busy'])
    stage.run(500).arrive(goto('a', 20)).run(1010)
    expect(stage.lastPhase('b')).toBe('dispatched')
  })

  it('two agents for one resource: the order of sequence, over plans', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).engage(velocity('v', 5))
    stage.say([range, goto('s', 20)], {}, 'scout')
    stage.after(4500).set({})
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.lastPhase('s', 'scout')).toBe('dispatched')
    expect(stage.run(1000).commands()).toEqual(['OFFBOARD'])
  })

  it('lost and somebody who waited for the resource: the contingency has it', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('a', 20), plain('hold')])
    stage.run(500).set({ 'home.lat': Number.NaN })
    expect(stage.lastPhase('a')).toBe('failed state_unknown')
    expect(stage.lastPhase('hold')).toBe('retained resource_busy')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('G1: a prerequisite that is lost in the step in which it is completed denies its dependent', () => {
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 5), goto('g', 30, ['range', 'v'])])
    stage.after(5000).show({ landed: 'LANDING' })
    expect(stage.lastPhase('v')).toBe('completed')
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_lost')
  })

  it('a handoff is completed while another lease is under way: that ends taken_over, once', () => {
    const catalog = referenceCatalog([
      '    uses: flight\n    effect: { handoff: pilot }',
      '    effect: { handoff: pilot }',
    ])
    const stage = new Stage(core, { catalog }).fly()
    const { session } = stage.control
    stage.say([range, plain('handoff.pilot', 'give'), velocity('v', 5)])
    stage.run(500)
    expect(stage.lastPhase('give')).toBe('completed')
    expect(stage.phases('v').slice(-2)).toEqual(['dispatched', 'failed taken_over'])
    expect(stage.control).toMatchObject({ session, pilot_control: true })
  })

  it('a verdict precedes its outcomes', () => {
    const stage = new Stage(core).fly()
    const from = stage.published.length
    stage.say([range, goto('g', 30)])
    const topics = stage.published.slice(from).map((p) => p.topic)
    expect(topics[0]).toBe('verdict/planner')
    expect(topics.indexOf('outcome/planner')).toBe(1)
  })

  it('G3: every offer of a crossed component is over: a thousand steps at one instant send nothing more', () => {
    const stage = new Stage(core).engage()
    const sent = stage.sent.length
    for (let i = 0; i < 1000; i++) stage.runtime.tick(stage.now_ms)
    expect(stage.sent.length).toBe(sent)
  })
})
