import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { CLICK, CMD, goto, plain, range, referenceCatalog, SCOUT, Stage, takeoff } from './stage.ts'

/** The landing uses no resource, so only an outstanding ACK keeps it back. */
const FREE_LANDING: [string, string] = [
  '    wait: 20min\n    uses: flight\n    expires: 10s\n    effect:\n      command: land',
  '    wait: 20min\n    expires: 10s\n    effect:\n      command: land',
]

describe('a command (PROTOCOL 8)', () => {
  /** On the ground, and the autopilot does only what the test says. */
  const grounded = (): Stage => {
    const stage = new Stage(core, { obeys: false }).run(1000)
    stage.say([takeoff('t')])
    return stage
  }

  describe('take-off', () => {
    it('is HOLD, arm, NAV_TAKEOFF, and is completed in the air', () => {
      const stage = new Stage(core).run(1000)
      stage.say([takeoff('t')])
      stage.run(200)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
      expect(stage.phases('t')).toEqual(['retained', 'dispatched', 'acknowledged'])
      stage.show({ landed: 'IN_AIR' }).set({ 'position.alt': 9 }).show({ mode: 'HOLD' })
      expect(stage.phases('t')).toEqual(['retained', 'dispatched', 'acknowledged', 'completed'])
      stage.run(1000)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
      expect(stage.control.pilot_control).toBe(false)
    })

    it('waits for the ACK of HOLD before it arms', () => {
      const stage = grounded().run(400)
      expect(stage.commands()).toEqual(['HOLD'])
      stage.acknowledge(CMD.setMode)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
    })

    it('waits for `armed` after the ACK, 1.5 s at most', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm)
      stage.run(1480)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.run(10)
      expect(stage.lastPhase('t')).toBe('failed unacknowledged')
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm'])
    })

    it('takes in-progress as good', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode, 5)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
    })

    it('in progress is not the last word: refused afterwards, it has failed', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.run(10).acknowledge(CMD.setMode, 5).run(10)
      expect(stage.lastPhase('land')).toBe('acknowledged')
      stage.acknowledge(CMD.setMode, 4)
      expect(stage.lastPhase('land')).toBe('failed refused')
    })

    it.each([1, 2, 3, 4, 6, 99])('refused with result %s has failed', (result) => {
      const stage = grounded().run(10).acknowledge(CMD.setMode, result)
      expect(stage.lastPhase('t')).toBe('failed refused')
      expect(stage.obligations.at(-1).reason).toBe('refused')
      expect(stage.obligations.at(-1).detail).toMatch(/\w/)
    })

    it('undone on the ground is disarm, then HOLD', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode).run(10)
      stage.obeys = true
      stage.acknowledge(CMD.arm, 4).run(1000)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm', 'HOLD'])
    })

    it('undone in the air is LAND', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm).show({ armed: true })
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
      stage.show({ landed: 'IN_AIR', mode: 'HOLD' }).run(10).acknowledge(CMD.takeoff, 4)
      expect(stage.lastPhase('t')).toBe('failed refused')
      expect(stage.commands().at(-1)).toBe('LAND')
    })

    it('that has begun ends by `otherwise`, not by its undo', () => {
      const stage = new Stage(core).run(1000)
      stage.say([takeoff('t')])
      stage.run(200).show({ landed: 'IN_AIR' }).run(60_000, 100)
      expect(stage.lastPhase('t')).toBe('failed time_exceeded')
      expect(stage.commands().slice(3)).toEqual(['LAND'])
    })

    it('G1: is judged by its support before each further frame', () => {
      const stage = grounded().run(10).set({ 'battery.remaining': 30 }).acknowledge(CMD.setMode)
      expect(stage.lastPhase('t')).toBe('failed unsupported')
      expect(stage.commands()).toEqual(['HOLD', 'disarm'])
    })

    it('is not judged by its gate clauses again: it has armed itself', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode).run(10).show({ armed: true }).acknowledge(CMD.arm)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
    })

    it('after its last frame lives without its support', () => {
      const stage = new Stage(core).run(1000)
      stage.say([takeoff('t')])
      stage.run(200).set({ 'battery.remaining': 30 }).run(1000)
      expect(stage.lastPhase('t')).toBe('acknowledged')
    })

    it('ends its revoked agent before the next frame', () => {
      const stage = grounded().run(10).operate('revoke', { agent: 'planner' }).acknowledge(CMD.setMode)
      expect(stage.lastPhase('t')).toBe('failed agent_revoked')
      expect(stage.commands()).toEqual(['HOLD', 'disarm'])
    })

    it('is confirmed by the ACK of its own command only', () => {
      const stage = grounded().run(10).acknowledge(CMD.arm).acknowledge(CMD.takeoff)
      expect(stage.commands()).toEqual(['HOLD'])
    })
  })

  describe('unanswered', () => {
    it('G5: and not shown has failed', () => {
      const stage = new Stage(core, { obeys: false }).fly('OFFBOARD')
      stage.show({ mode: 'HOLD' }).run(10)
      stage.say([plain('land')])
      stage.run(490)
      expect(stage.lastPhase('land')).toBe('dispatched')
      stage.run(10)
      expect(stage.lastPhase('land')).toBe('failed unacknowledged')
    })

    it('goes on when the state shows it', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.run(30).show({ mode: 'LAND' }).run(500)
      expect(stage.lastPhase('land')).toBe('acknowledged')
      expect(stage.commands()).toEqual(['LAND'])
    })

    it('and gone on, is not judged by what is shown later', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.run(30).show({ mode: 'LAND' }).run(600)
      stage.show({ landed: 'ON_GROUND' }).show({ mode: 'HOLD' }).run(600)
      expect(stage.lastPhase('land')).toBe('acknowledged')
      stage.show({ armed: false }).run(10)
      expect(stage.lastPhase('land')).toBe('completed')
    })

    it('as the last frame of a take-off, goes on when the state shows it', () => {
      const stage = grounded().run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm).show({ armed: true })
      stage.run(30).show({ mode: 'TAKEOFF', landed: 'TAKING_OFF' }).run(490)
      expect(stage.lastPhase('t')).toBe('acknowledged')
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
    })

    it('is not shown by what was shown before it was sent', () => {
      const stage = grounded()
      stage.streaming = false
      stage.run(490)
      expect(stage.commands()).toEqual(['HOLD'])
      stage.run(20)
      expect(stage.lastPhase('t')).toBe('failed link_lost')
    })

    it('G5: and shown, its late ACK does not confirm the next frame', () => {
      const stage = grounded().run(510)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.show({ armed: true }).acknowledge(CMD.setMode)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.acknowledge(CMD.arm)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
    })

    it('and shown, its late refusal does not refuse the next frame', () => {
      const stage = grounded().run(510).acknowledge(CMD.setMode, 4).run(10)
      expect(stage.lastPhase('t')).toBe('dispatched')
    })

    it('keeps others of its MAV_CMD away for 5 s: they defer resource_busy', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(1500)
      expect(stage.lastPhase('g')).toBe('failed unacknowledged')
      stage.say([plain('hold')]) // the contingency has been shown: it does not keep it back
      expect(stage.phases('hold')).toEqual(['retained', 'retained resource_busy'])
      stage.run(4000)
      expect(stage.lastPhase('hold')).toBe('retained resource_busy')
      stage.run(500)
      expect(stage.lastPhase('hold')).toBe('dispatched')
    })

    it('keeps them away no longer than until each answer that is due has come', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(1500)
      stage.say([plain('hold')])
      const due = stage.commands().length // OFFBOARD, and HOLD until it was shown
      for (let late = 1; late < due; late++) stage.acknowledge(CMD.setMode)
      stage.acknowledge(CMD.setMode, 5).run(10) // in progress is no answer yet
      expect(stage.lastPhase('hold')).toBe('retained resource_busy')
      stage.acknowledge(CMD.setMode).run(10)
      expect(stage.lastPhase('hold')).toBe('dispatched')
    })

    it('has failed without a word from others: what they wait for stays theirs', () => {
      const stage = new Stage(core, { obeys: false, catalog: referenceCatalog(...CLICK) }).run(1000)
      stage.say([plain('click'), takeoff('t')])
      stage.run(300).acknowledge(CMD.setMode).run(300)
      expect(stage.lastPhase('click')).toBe('failed unacknowledged')
      expect(stage.commands().length).toBe(3)
      stage.show({ armed: true }).acknowledge(CMD.arm).run(10)
      expect(stage.sent.at(-1)?.command).toBe(CMD.takeoff)
    })

    it('keeps away a sequence of which only one frame has its MAV_CMD', () => {
      const stage = grounded()
      stage.streaming = false // nothing shows HOLD
      stage.run(510)
      stage.streaming = true
      stage.obeys = true
      expect(stage.lastPhase('t')).toBe('failed link_lost')
      stage.run(1500).say([takeoff('u')])
      expect(stage.lastPhase('u')).toBe('retained resource_busy')
      stage.run(5000)
      expect(stage.commands().slice(-3)).toEqual(['HOLD', 'arm', 'takeoff'])
      expect(stage.lastPhase('u')).toBe('acknowledged')
    })

    it('leaves late ACKs of its MAV_CMD to nobody for 5 s', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('hold')])
      stage.streaming = false // nothing shows it
      stage.run(510)
      stage.streaming = true
      expect(stage.lastPhase('hold')).toBe('failed link_lost')
      expect(stage.commands()).toEqual(['HOLD', 'LAND'])
      stage.acknowledge(CMD.setMode, 4).run(100) // answers the first, or the contingency: nobody can tell
      expect(stage.commands()).toEqual(['HOLD', 'LAND'])
    })

    it('from a setpoint that was engaged all the same, keeps the others away as well', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(220).show({ mode: 'OFFBOARD' }).run(1000)
      stage.say([plain('hold')])
      expect(stage.lastPhase('hold')).toBe('retained resource_busy')
    })

    it('from a setpoint that flies on, keeps them away for 5 s, not longer', () => {
      const stage = new Stage(core, { obeys: false, catalog: referenceCatalog(SCOUT, FREE_LANDING) }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(220).show({ mode: 'OFFBOARD' }).run(1000)
      stage.say([plain('land')], {}, 'scout')
      expect(stage.run(4000).lastPhase('land', 'scout')).toBe('retained resource_busy')
      expect(stage.run(600).lastPhase('land', 'scout')).toBe('dispatched')
      expect(stage.lastPhase('g')).toBe('dispatched')
    })

    it('and gone on, keeps the others of its MAV_CMD away for 5 s, not longer', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.run(30).show({ mode: 'LAND' }).run(10_000)
      stage.obeys = true
      stage.show({ armed: false, landed: 'ON_GROUND' })
      expect(stage.lastPhase('land')).toBe('completed')
      stage.run(1000)
      stage.say([takeoff('t')])
      expect(stage.lastPhase('t')).toBe('dispatched')
    })
  })

  it('is one outstanding per MAV_CMD: a second one defers until it is answered', () => {
    const stage = new Stage(core, { obeys: false, catalog: referenceCatalog(FREE_LANDING) }).fly()
    stage.say([plain('hold'), plain('land')])
    expect(stage.phases('land')).toEqual(['retained', 'retained resource_busy'])
    stage.run(10).acknowledge(CMD.setMode)
    expect(stage.phases('land')).toContain('dispatched')
  })

  describe('retransmits', () => {
    const catalog = referenceCatalog(['      command: land\n', '      command: land\n      retransmit: 2\n'])

    it('before any ACK, as often as the catalog says, with the same bytes', () => {
      const stage = new Stage(core, { obeys: false, catalog }).fly()
      stage.say([plain('land')])
      stage.run(490)
      expect(stage.commands()).toEqual(['LAND', 'LAND', 'LAND'])
      stage.run(2510)
      expect(stage.lastPhase('land')).toBe('failed unacknowledged')
      const frames = stage.sent.slice(0, 3)
      expect(frames.map((s) => s.mode)).toEqual(['LAND', 'LAND', 'LAND'])
      expect(new Set(frames.map((s) => Buffer.from(s.payload).toString('hex'))).size).toBe(1)
    })

    it('and is outstanding until each of its frames is answered', () => {
      const free = referenceCatalog(FREE_LANDING, [
        '      command: land\n',
        '      command: land\n      retransmit: 2\n',
      ])
      const stage = new Stage(core, { obeys: false, catalog: free }).fly()
      stage.say([plain('land'), plain('hold')])
      stage.run(200).acknowledge(CMD.setMode).run(10)
      expect(stage.commands()).toEqual(['LAND', 'LAND'])
      expect(stage.lastPhase('hold')).toBe('retained resource_busy')
      stage.acknowledge(CMD.setMode).run(10)
      expect(stage.lastPhase('hold')).toBe('dispatched')
    })

    it('not after an ACK', () => {
      const stage = new Stage(core, { obeys: false, catalog }).fly()
      stage.say([plain('land')])
      stage.run(10).acknowledge(CMD.setMode).show({ mode: 'LAND' }).run(3000)
      expect(stage.commands()).toEqual(['LAND'])
    })

    it('never a take-off in the air', () => {
      const eager = referenceCatalog(['      command: takeoff ', '      retransmit: 2\n      command: takeoff '])
      const stage = new Stage(core, { obeys: false, catalog: eager }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(CMD.setMode).run(10).show({ armed: true }).acknowledge(CMD.arm)
      stage.show({ landed: 'TAKING_OFF' }).run(480)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
    })

    it('and the second ACK of a frame does not confirm the next one', () => {
      const eager = referenceCatalog(['      command: takeoff ', '      retransmit: 2\n      command: takeoff '])
      const stage = new Stage(core, { obeys: false, catalog: eager }).run(1000)
      stage.say([takeoff('t')])
      stage.run(200)
      expect(stage.commands()).toEqual(['HOLD', 'HOLD'])
      stage.acknowledge(CMD.setMode)
      expect(stage.commands()).toEqual(['HOLD', 'HOLD', 'arm'])
      stage.show({ armed: true }).acknowledge(CMD.setMode)
      expect(stage.commands()).toEqual(['HOLD', 'HOLD', 'arm'])
    })
  })

  it('with `done` fails at `within`', () => {
    const stage = new Stage(core, { obeys: false }).fly()
    stage.say([plain('land')])
    stage.run(10).acknowledge(CMD.setMode).show({ mode: 'LAND' })
    stage.obeys = true
    stage.run(179_900, 100)
    expect(stage.lastPhase('land')).toBe('acknowledged')
    stage.run(100)
    expect(stage.lastPhase('land')).toBe('failed time_exceeded')
  })

  it('G5: not judged for 500 ms has ended', () => {
    const stage = new Stage(core).fly()
    stage.say([plain('land')])
    stage.run(100).stall(500).run(0.5)
    expect(stage.lastPhase('land')).toBe('failed tick_missed')
  })

  it('G3: whose frame the port refuses is link_lost and never comes back', () => {
    const stage = new Stage(core).fly()
    stage.down = true
    stage.say([plain('land')])
    expect(stage.phases('land')).toEqual(['retained', 'failed link_lost'])
    stage.down = false
    stage.run(2000)
    expect(stage.sent).toEqual([])
  })

  it('land and return end with HOLD once disarmed', () => {
    const stage = new Stage(core).fly()
    stage.say([plain('land')])
    stage.run(1000).show({ landed: 'ON_GROUND' }).run(500)
    expect(stage.commands()).toEqual(['LAND'])
    stage.show({ armed: false }).run(1000)
    expect(stage.lastPhase('land')).toBe('completed')
    expect(stage.commands()).toEqual(['LAND', 'HOLD'])
  })

  it('a command that changes no mode leaves that HOLD to come', () => {
    const stage = new Stage(core, { catalog: referenceCatalog(...CLICK) }).fly()
    stage.say([plain('land'), plain('click')])
    stage.run(1000).show({ landed: 'ON_GROUND', armed: false }).run(1000)
    expect(stage.lastPhase('click')).toBe('completed')
    expect(stage.commands().filter((name) => name !== 'disarm')).toEqual(['LAND', 'HOLD'])
  })

  it('and that HOLD holds the resource until the mode shows it', () => {
    const stage = new Stage(core, { obeys: false }).fly()
    stage.say([plain('land')])
    stage.run(10).acknowledge(CMD.setMode).show({ mode: 'LAND' }).run(1000)
    stage.show({ landed: 'ON_GROUND', armed: false })
    expect(stage.commands()).toEqual(['LAND', 'HOLD'])
    stage.run(10).acknowledge(CMD.setMode)
    stage.say([takeoff('t')])
    expect(stage.lastPhase('t')).toBe('retained resource_busy')
    stage.show({ mode: 'HOLD' })
    expect(stage.lastPhase('t')).toBe('dispatched')
  })

  it('a landing is explained on the ground by any mode that we set', () => {
    const stage = new Stage(core).engage()
    stage.say([plain('land')])
    stage.run(1000).show({ landed: 'ON_GROUND' }).run(100).show({ mode: 'OFFBOARD' }).run(100)
    expect(stage.control.pilot_control).toBe(false)
    stage.show({ armed: false }).run(1000)
    expect(stage.commands().at(-1)).toBe('HOLD')
  })
})
