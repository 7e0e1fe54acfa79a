import { describe, expect, it } from 'vitest'
import { cores } from '../../oracle/cores.ts'
import { goto, notice, plain, range, Stage, takeoff } from './stage.ts'

describe.each(cores)('a whole flight, %s', (_, core) => {
  it('takes off, goes there and back, lands, and is ready for the next', () => {
    const stage = new Stage(core).run(1000)
    const verdict = stage.say([
      notice('n'),
      range,
      takeoff('up'),
      goto('there', 30, ['range', 'up']),
      goto('back', 0, ['range', 'there']),
      plain('land', 'down', ['back']),
    ])
    expect(verdict.components.every((c: { decision: string }) => c.decision === 'retained')).toBe(true)

    stage.run(500).show({ landed: 'TAKING_OFF' }).run(2000).show({ landed: 'IN_AIR' })
    stage.set({ 'position.alt': 10, 'local.down': -10 }).show({ mode: 'HOLD' }).run(500)
    stage.arrive(goto('there', 30)).run(1500)
    stage.arrive(goto('back', 0)).run(1500)
    stage.run(2000).set({ 'position.alt': 0 }).show({ landed: 'ON_GROUND' }).run(500).show({ armed: false }).run(1000)

    expect(stage.phases('n')).toEqual(['retained', 'released'])
    expect(stage.phases('range')).toEqual(['retained', 'released'])
    expect(stage.phases('up')).toEqual(['retained', 'dispatched', 'acknowledged', 'completed'])
    const waited = ['retained', 'retained prerequisite_not_ready', 'dispatched']
    expect(stage.phases('there')).toEqual([...waited, 'completed'])
    expect(stage.phases('back')).toEqual([...waited, 'completed'])
    expect(stage.phases('down')).toEqual([...waited, 'acknowledged', 'completed'])
    expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff', 'OFFBOARD', 'LAND', 'HOLD'])
    expect(stage.obligations).toEqual([])
    expect(stage.control.pilot_control).toBe(false)
    expect(stage.log.filter((l) => l.level !== 'info')).toEqual([])
    expect(stage.runtime.settled).toBe(true)

    stage.say([takeoff('again')])
    expect(stage.lastPhase('again')).toBe('dispatched')
  })
})
