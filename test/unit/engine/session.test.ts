import { describe, expect, it } from 'vitest'
import type { CoreFactory } from '../../../src/core/core.ts'
import { cores } from '../../oracle/cores.ts'
import { CMD, goto, notice, plain, range, referenceCatalog, Stage, takeoff } from './stage.ts'

describe.each(cores)('a session (PROTOCOL 11), %s', (_, core) => {
  const next = (stage: Stage, options = {}): Stage =>
    new Stage(core, { sessions: 9, ...(stage.journal ? { journal: stage.journal } : {}), ...options })

  it('starts with every field unknown, under a new id', () => {
    const stage = new Stage(core).fly()
    const { session } = stage.control
    stage.streaming = false
    stage.operate('restart').run(10)
    expect(stage.control.session).not.toBe(session)
    expect(stage.snapshot.session).toBe(stage.control.session)
    expect(stage.snapshot.state).toEqual({})
    expect(stage.snapshot.unknown).toContain('map')
    expect(stage.values('status').at(-1)).toMatchObject({ status: 'online', session: stage.control.session })
  })

  it('says at its start that it is there, and what may be said to it', () => {
    const stage = new Stage(core)
    const { session } = stage.control
    expect(stage.published.slice(0, 5)).toMatchObject([
      { topic: 'status', value: { v: 1, status: 'online', session, version: 'test' } },
      { topic: 'catalog', value: { v: 1, environment: stage.runtime.environment } },
      { topic: 'catalog/planner', retain: true, value: { v: 1, agent: 'planner' } },
      { topic: 'snapshot', value: { v: 1, session, unknown: expect.arrayContaining(['mode', 'map']) } },
      {
        topic: 'control',
        value: { v: 1, session, n: 0, paused: false, pilot_control: false, revoked: [], pending: [], uncertain: [] },
      },
    ])
  })

  describe('operator/restart', () => {
    it('ends leases with their contingency, sent by the new session', () => {
      const stage = new Stage(core).engage().operate('restart')
      expect(stage.lastPhase('g')).toBe('failed session_changed')
      stage.run(500)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.run(1000).control.pilot_control).toBe(false)
    })

    it('gives each live component a last outcome', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      stage.run(500).operate('restart')
      expect(stage.lastPhase('h')).toBe('blocked session_changed')
      expect(stage.lastPhase('range')).toBe('released')
    })

    it('gives a released request, which waits for an answer, a last outcome', () => {
      const stage = new Stage(core).fly()
      stage.say([{ id: 'ask', type: 'request.approval', payload: { text: 'may I?' } }])
      expect(stage.lastPhase('ask')).toBe('released')
      stage.operate('restart')
      expect(stage.lastPhase('ask')).toMatch(/session_changed$/)
    })

    it('sends nothing for a setpoint that had not engaged', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      stage.run(100).operate('restart').run(2000)
      expect(stage.lastPhase('g')).toBe('failed session_changed')
      expect(stage.commands()).toEqual([])
    })

    it('goes on with a contingency that was under way', () => {
      const stage = new Stage(core).engage()
      stage.obeys = false
      stage.set({ 'battery.remaining': 10 })
      stage.operate('restart')
      stage.obeys = true
      stage.run(1000)
      expect(stage.commands().at(-1)).toBe('HOLD')
      expect(stage.commands().length).toBeGreaterThan(2)
    })

    it('undoes a take-off that had not left the ground', () => {
      const stage = new Stage(core, { obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(CMD.setMode)
      stage.obeys = true
      stage.operate('restart').run(2000)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm', 'HOLD'])
    })

    it('undoes a take-off that has left the ground by landing', () => {
      const stage = new Stage(core, { obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm).show({ armed: true })
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
      stage.show({ landed: 'IN_AIR', mode: 'TAKEOFF' }).run(10).operate('restart').run(200)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff', 'LAND'])
      expect(stage.control.pilot_control).toBe(false)
    })

    it('stops what the old session had left flying to setpoints', () => {
      const catalog = referenceCatalog(['otherwise: hold', 'otherwise: none'])
      const stage = new Stage(core, { catalog }).engage().set({ 'battery.remaining': 10 }).run(500)
      expect(stage.commands()).toEqual(['OFFBOARD'])
      stage.set({ mode: Number.NaN }).operate('restart').run(1000)
      expect(stage.commands()).toEqual(['OFFBOARD'])
      stage.show({ mode: 'OFFBOARD' }).run(500)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('goes on with what is left of an undo', () => {
      const stage = new Stage(core, { obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm, 4)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm'])
      stage.obeys = true
      stage.operate('restart').run(2000)
      expect(stage.commands().at(-1)).toBe('HOLD')
    })

    it('judges new responses', () => {
      const stage = new Stage(core).engage().operate('restart').run(2000)
      expect(stage.say([range, goto('h', 60)], { generation: 1, response: 'r1' })).toMatchObject({ accepted: true })
      stage.run(500)
      expect(stage.lastPhase('h')).toBe('dispatched')
    })
  })

  describe('a reboot of the autopilot', () => {
    it('ends leases without contingency: it has been up for less time than they', () => {
      const stage = new Stage(core).engage()
      const { session } = stage.control
      stage.streaming = false
      stage.rebooted(490)
      expect(stage.control.session).not.toBe(session)
      expect(stage.snapshot.session).toBe(stage.control.session)
      expect(stage.lastPhase('g')).toBe('failed session_changed')
      stage.ground()
      stage.run(2000)
      expect(stage.commands()).toEqual(['OFFBOARD'])
    })

    it('after which nothing is sent, even if the setpoint mode is still shown', () => {
      const stage = new Stage(core).engage()
      stage.rebooted(300).run(2000)
      expect(stage.commands()).toEqual(['OFFBOARD'])
    })

    it('owes the contingency where it has been up for longer than the lease', () => {
      const stage = new Stage(core).engage().rebooted(510).run(500)
      expect(stage.lastPhase('g')).toBe('failed session_changed')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.run(1000).control.pilot_control).toBe(false)
    })

    it('goes on with a contingency that was under way only where it has been up since before its lease', () => {
      const stopping = (): Stage => {
        const stage = new Stage(core).engage()
        stage.obeys = false
        stage.set({ 'battery.remaining': 10 }).run(100)
        expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
        return stage
      }
      expect(stopping().rebooted(590).run(1000).commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stopping().rebooted(700).run(300).commands().slice(0, 3)).toEqual(['OFFBOARD', 'HOLD', 'HOLD'])
    })

    it('is not another identity: there is one for as long as the process lives', () => {
      const stage = new Stage(core).engage()
      const { session } = stage.control
      stage.published.push(...stage.runtime.connected(1, 1, stage.now_ms))
      expect(stage.run(10).control.session).toBe(session)
      expect(() => stage.runtime.connected(2, 1, stage.now_ms)).toThrow('the vehicle is 1/1, not 2/1')
      expect(stage.run(10).control.session).toBe(session)
    })
  })

  describe('a trap of the core', () => {
    const trapping = (where = 'admit'): { factory: CoreFactory; armed: { now: boolean } } => {
      const armed = { now: false }
      const factory: CoreFactory = (image, session, environment) => {
        const made = core(image, session, environment)
        let poisoned = false
        return new Proxy(made, {
          get(target, key) {
            if (key === 'poisoned') return poisoned || target.poisoned
            const value: unknown = Reflect.get(target, key, target)
            if (typeof value !== 'function') return value
            return (...args: unknown[]) => {
              if (armed.now && key === where) poisoned = true
              if (poisoned) throw new Error('trapped')
              return value.apply(target, args)
            }
          },
        })
      }
      return { factory, armed }
    }

    it('G5: is a verdict: no to everything, a new session, the contingency, and the agent is revoked', () => {
      const { factory, armed } = trapping()
      const stage = new Stage(factory).engage()
      const { session } = stage.control
      armed.now = true
      expect(stage.say([range, goto('h', 60)])).toBeUndefined()
      armed.now = false
      expect(stage.control.session).not.toBe(session)
      expect(stage.control.revoked).toEqual(['planner'])
      expect(stage.journal?.revoked).toEqual(['planner'])
      expect(stage.lastPhase('g')).toMatch(/^(failed session_changed|superseded superseded)$/)
      expect(stage.phases('h')).toEqual([])
      stage.run(1500)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.say([range])).toMatchObject({ reason: 'agent_revoked' })
      stage.operate('restore', { agent: 'planner' })
      expect(stage.say([range])).toMatchObject({ accepted: true })
    })

    it('G3: after a first frame has left, before that could be said, is told as failed', () => {
      const { factory, armed } = trapping('reach')
      const stage = new Stage(factory, { obeys: false }).fly()
      armed.now = true
      stage.say([plain('hold')])
      armed.now = false
      expect(stage.commands()).toEqual(['HOLD'])
      expect(stage.phases('hold')).toEqual(['retained', 'failed session_changed'])
    })

    it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('G5: a now of %s or one that goes back is one', (now_ms) => {
      const stage = new Stage(core).engage()
      const { session } = stage.control
      stage.published.push(...stage.runtime.tick(now_ms))
      expect(stage.control.session).not.toBe(session)
      expect(stage.lastPhase('g')).toBe('failed session_changed')
      expect(stage.control.revoked).toEqual([])
      stage.run(1500)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('G5: at the word of one who is no agent revokes nobody', () => {
      const stage = new Stage(core).fly()
      const { session } = stage.control
      stage.published.push(...stage.runtime.receive('nobody', Uint8Array.of(0xa0), false, stage.now_ms - 1))
      expect(stage.control.session).not.toBe(session)
      expect(stage.control.revoked).toEqual([])
    })

    it('is not what a mistake of the host is where nobody else has spoken: that is thrown, and ends no session', () => {
      let mistake = false
      const mistaken: CoreFactory = (...args) =>
        new Proxy(core(...args), {
          get(target, key) {
            if (key === 'snapshot' && mistake) throw new RangeError('a mistake')
            const value: unknown = Reflect.get(target, key, target)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      const stage = new Stage(mistaken).fly()
      const { session } = stage.control
      mistake = true
      expect(() => stage.run(1500)).toThrow('a mistake')
      mistake = false
      expect(stage.run(1500).control.session).toBe(session)
    })

    it('G5: a now that goes back by a tenth of a millisecond is one', () => {
      const stage = new Stage(core).fly()
      const { session } = stage.control
      stage.published.push(...stage.runtime.tick(stage.now_ms - 0.1))
      expect(stage.control.session).not.toBe(session)
    })

    it('the same now twice is none', () => {
      const stage = new Stage(core).fly()
      const { session } = stage.control
      stage.published.push(...stage.runtime.tick(stage.now_ms), ...stage.runtime.tick(stage.now_ms))
      expect(stage.control.session).toBe(session)
    })
  })

  describe('found in the air', () => {
    it('in Offboard, sends the contingency of the profile', () => {
      const stage = next(new Stage(core).engage(), { found: 'OFFBOARD' }).run(2000)
      expect(stage.commands()).toEqual(['HOLD'])
      expect(stage.control.pilot_control).toBe(false)
    })

    it('in Offboard, lets no action cross until the contingency is shown', () => {
      const stage = new Stage(core, { obeys: false, found: 'OFFBOARD' })
      expect(stage.commands()).toEqual(['HOLD'])
      stage.run(10).acknowledge(CMD.setMode)
      stage.say([plain('land')])
      expect(stage.lastPhase('land')).toBe('retained resource_busy')
      stage.show({ mode: 'HOLD' }).run(10)
      expect(stage.lastPhase('land')).toBe('dispatched')
    })

    it('in HOLD, does nothing', () => {
      const stage = new Stage(core, { found: 'HOLD' }).run(1000)
      expect(stage.sent).toEqual([])
      expect(stage.control.pilot_control).toBe(false)
    })

    it.each(['POSITION', 'RETURN', 'LAND', 'TAKEOFF', 'MISSION'] as const)(
      'in %s, latches and does nothing',
      (mode) => {
        const stage = new Stage(core, { found: mode }).run(1000)
        expect(stage.sent).toEqual([])
        expect(stage.control.pilot_control).toBe(true)
      },
    )

    it('in HOLD with Offboard intended, latches', () => {
      const stage = new Stage(core)
        .show({ mode: 'HOLD', intended: 'OFFBOARD', armed: true, landed: 'IN_AIR' })
        .run(1000)
      expect(stage.control.pilot_control).toBe(true)
    })

    it('in Offboard that the operator paused, still sends the contingency', () => {
      const stage = next(new Stage(core).engage().operate('pause'), { found: 'OFFBOARD' }).run(1000)
      expect(stage.commands()).toEqual(['HOLD'])
    })

    it('in Offboard under pilot_control, leaves the pilot alone', () => {
      const stage = next(new Stage(core).engage().taken('POSITION')).fly('OFFBOARD').run(1000)
      expect(stage.control.pilot_control).toBe(true)
      expect(stage.sent).toEqual([])
    })
  })

  it('that starts into intended Offboard denies setpoints until another intended mode is shown', () => {
    const stage = new Stage(core, { obeys: false, found: 'OFFBOARD' }).run(10_000) // the contingency is over
    stage.say([range, goto('g', 30)])
    expect(stage.lastPhase('g')).toBe('blocked not_in_control')
    expect(stage.setpoints()).toEqual([])
    stage.obeys = true
    stage.show({ mode: 'HOLD' }).run(6500)
    stage.say([range, goto('h', 30)])
    stage.run(500)
    expect(stage.lastPhase('h')).toBe('dispatched')
  })

  it('G3: after a kill nothing of the old session crosses, and its responses name nothing', () => {
    const stage = new Stage(core).fly()
    const said = stage.response([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.say(said.components, said)
    stage.run(500)
    const other = next(stage, { found: 'OFFBOARD' }).run(2000)
    expect(other.say(said.components, said)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
    expect(other.setpoints()).toEqual([])
    expect(other.commands()).toEqual(['HOLD'])
  })

  it('keeps pause, pilot_control and revoked over restart, reboot and kill', () => {
    const stage = new Stage(core).engage().taken('POSITION').operate('pause').operate('revoke', { agent: 'planner' })
    const kept = { paused: true, pilot_control: true, revoked: ['planner'] }
    expect(stage.control).toMatchObject(kept)
    expect(stage.operate('restart').control).toMatchObject(kept)
    expect(stage.rebooted(10).control).toMatchObject(kept)
    expect(next(stage).control).toMatchObject(kept)
  })

  it('G7: the same inputs give the same publications and the same frames', () => {
    const run = (): unknown => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('far', 9000), notice('n')])
      stage.run(700).set({ map: 2 }).run(1500)
      stage.say([range, goto('g', 30)], { recovers: 'r1' })
      stage.run(500).show({ mode: 'POSITION' }).run(100)
      return [stage.published, stage.sent.map((s) => [s.at_ms, s.message, Buffer.from(s.payload).toString('hex')])]
    }
    expect(run()).toEqual(run())
  })
})
