import { describe, expect, it } from 'vitest'
import type { Mode } from '../../../src/autopilot/profile.ts'
import { loadCore as core } from '../../../src/core/wasm.ts'
import type { ReportedTarget } from '../../../src/telemetry/report.ts'
import {
  CLICK,
  type ComponentSaid,
  exampleCatalog,
  goto,
  HOME,
  notice,
  plain,
  predicates,
  range,
  referenceCatalog,
  SCOUT,
  Stage,
  takeoff,
  velocity,
} from './stage.ts'

describe('a takeover (PROTOCOL 8)', () => {
  it.each<Mode>(['POSITION', 'ALTITUDE', 'MANUAL', 'RETURN', 'LAND', 'MISSION', 'OTHER'])(
    'by %s ends the lease without contingency and latches pilot_control',
    (mode) => {
      const stage = new Stage(core).engage()
      const sent = stage.sent.length
      const { n } = stage.taken(mode).control
      stage.run(2000)
      expect(stage.control.n).toBe(n)
      expect(stage.lastPhase('g')).toBe('failed taken_over')
      expect(stage.sent.length).toBe(sent)
      expect(stage.control.pilot_control).toBe(true)
      expect(stage.journal?.pilotControl).toBe(true)
    },
  )

  it('by HOLD, once the engagement is confirmed, is the pilot too', () => {
    const stage = new Stage(core).engage().taken('HOLD')
    expect(stage.lastPhase('g')).toBe('failed taken_over')
  })

  it('by HOLD is the pilot also where a contingency of before had led to it', () => {
    const stage = new Stage(core).engage().set({ 'battery.remaining': 10 }).run(1000).set({ 'battery.remaining': 90 })
    expect(stage.run(1200).modesSent()).toEqual(['OFFBOARD', 'HOLD'])
    stage.say([range, goto('h', 20)])
    expect(stage.run(1000).lastPhase('h')).toBe('dispatched')
    stage.taken('HOLD')
    expect(stage.lastPhase('h')).toBe('failed taken_over')
  })

  it('is none while the engagement is not confirmed and the last effect explains the mode', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30)])
    stage.run(150).show({ mode: 'HOLD' }).run(20)
    expect(stage.control.pilot_control).toBe(false)
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  it('is none when a take-off goes through the modes that it leads to', () => {
    const stage = new Stage(core).run(1000)
    stage.say([takeoff('t')])
    stage.run(500).show({ landed: 'IN_AIR' }).run(100).set({ 'position.alt': 9 }).show({ mode: 'HOLD' }).run(100)
    expect(stage.lastPhase('t')).toBe('completed')
    expect(stage.control.pilot_control).toBe(false)
    stage.taken('POSITION')
    expect(stage.control.pilot_control).toBe(true)
  })

  it('is what only an effect before the last one explained, or one that ended before its mode command', () => {
    const stage = new Stage(core).run(1000)
    stage.say([takeoff('t')])
    stage.run(500).show({ landed: 'IN_AIR' }).run(100).set({ 'position.alt': 9 }).show({ mode: 'HOLD' }).run(100)
    stage.say([range, goto('g', 30)])
    stage.run(500).arrive(goto('g', 30)).run(2000)
    expect(stage.modesSent().slice(-2)).toEqual(['OFFBOARD', 'HOLD'])
    stage.say([range, goto('g', 30)])
    stage.run(100).set({ 'battery.remaining': 10 }).run(100)
    expect(stage.lastPhase('g')).toBe('failed unsupported')
    for (const mode of ['OFFBOARD', 'TAKEOFF'] as const) {
      expect(stage.taken(mode).control.pilot_control).toBe(true)
      expect(stage.show({ mode: 'HOLD' }).run(10).operate('resume').control.pilot_control).toBe(false)
    }
  })

  it('is none when a landing of a session that began in the air ends in HOLD, before the disarm is heard', () => {
    const stage = new Stage(core, { found: 'HOLD' }).run(2000)
    stage.say([plain('land')])
    stage.run(500)
    expect(stage.lastPhase('land')).toBe('acknowledged')
    stage.set({ 'position.alt': 0 }).show({ landed: 'ON_GROUND' }).run(200).show({ mode: 'HOLD' }).run(300)
    expect(stage.control.pilot_control).toBe(false)
    stage.show({ armed: false }).run(100)
    expect(stage.lastPhase('land')).toBe('completed')
  })

  it.each(['a landing that was asked for', 'one that is a contingency'])(
    'during %s is none on the ground in a mode that we set, and one otherwise',
    (which) => {
      const landing = (): Stage => {
        const stage = new Stage(core, { catalog: referenceCatalog(['otherwise: hold', 'otherwise: land']) }).engage()
        if (which === 'one that is a contingency') stage.set({ 'battery.remaining': 10 })
        else stage.say([plain('land')])
        expect(stage.run(500).modesSent()).toEqual(['OFFBOARD', 'LAND'])
        return stage
      }
      const latched = (stage: Stage, mode: Mode): boolean => stage.taken(mode).control.pilot_control
      expect(latched(landing(), 'OFFBOARD')).toBe(true)
      expect(latched(landing().show({ landed: 'ON_GROUND' }), 'OFFBOARD')).toBe(false)
      expect(latched(landing().show({ landed: 'ON_GROUND' }), 'POSITION')).toBe(true)
    },
  )

  it('while disarmed latches nothing', () => {
    const stage = new Stage(core).run(1000).show({ mode: 'POSITION' }).run(1000)
    expect(stage.control.pilot_control).toBe(false)
  })

  it('with no lease latches as well', () => {
    const stage = new Stage(core).fly().taken('POSITION')
    expect(stage.control.pilot_control).toBe(true)
  })

  it('stays latched when the autopilot returns to Offboard by itself', () => {
    const stage = new Stage(core).engage().show({ mode: 'POSITION' }).run(1000).show({ mode: 'OFFBOARD' }).run(100)
    const verdict = stage.say([range, goto('h', 20)])
    expect(verdict.components[1]).toMatchObject({ decision: 'withheld', reason: 'pilot_control' })
    expect(stage.control.pilot_control).toBe(true)
  })

  it('blocks a handoff too: there is nothing to hand over', () => {
    const stage = new Stage(core).engage().taken('POSITION')
    const verdict = stage.say([plain('handoff.pilot')])
    expect(verdict.components[0]).toMatchObject({ decision: 'withheld', reason: 'pilot_control' })
  })

  it('blocks actions only, of every agent', () => {
    const stage = new Stage(core).engage().taken('POSITION')
    const verdict = stage.say([range, plain('status'), notice('n'), goto('h', 20), plain('hold')])
    expect(verdict.components.map((c: { reason?: string }) => c.reason)).toEqual([
      undefined,
      undefined,
      undefined,
      'pilot_control',
      'pilot_control',
    ])
    expect(['range', 'status', 'n'].map((id) => stage.lastPhase(id))).toEqual(['released', 'released', 'released'])
  })

  it('denies what was retained and had not crossed', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500).taken('POSITION')
    expect(stage.lastPhase('h')).toMatch(/^blocked (pilot_control|prerequisite_failed)$/)
    stage.say([range])
    expect(stage.lastPhase('range')).toBe('released')
  })

  it('is lifted by resume: the mode then shown counts as explained', () => {
    const stage = new Stage(core).engage().show({ mode: 'POSITION' }).run(1000).operate('resume').run(1000)
    expect(stage.control.pilot_control).toBe(false)
    stage.taken('ALTITUDE')
    expect(stage.control.pilot_control).toBe(true)
  })

  it('is what resume explained as well, once an effect of ours has begun in another mode', () => {
    const stage = new Stage(core)
      .run(1000)
      .show({ mode: 'POSITION' })
      .run(100)
      .operate('resume')
      .show({ mode: 'HOLD' })
      .run(1000)
    stage.obeys = false
    stage.streaming = false // it is never shown what the mode command did
    stage.say([takeoff('t')])
    expect(stage.run(600).lastPhase('t')).toMatch(/^failed/)
    stage.streaming = true
    stage.set({ armed: 1 })
    expect(stage.control.pilot_control).toBe(false)
    expect(stage.taken('POSITION').control.pilot_control).toBe(true)
  })

  it('is lifted in HOLD, and the next goto flies', () => {
    const stage = new Stage(core).engage().show({ mode: 'HOLD' }).run(1000).operate('resume').run(1000)
    stage.say([range, goto('h', 20)])
    stage.run(500)
    expect(stage.lastPhase('h')).toBe('dispatched')
    expect(stage.modesSent()).toEqual(['OFFBOARD', 'OFFBOARD'])
  })

  it('is lifted while the mode is not known: HOLD counts as explained, nothing else', () => {
    for (const mode of ['HOLD', 'ALTITUDE'] as const) {
      const stage = new Stage(core).engage().show({ mode: 'POSITION' }).run(1000).set({ mode: Number.NaN })
      expect(stage.operate('resume').control.pilot_control).toBe(false)
      expect(stage.taken(mode).control.pilot_control).toBe(mode !== 'HOLD')
    }
  })

  it('stops a contingency that is under way', () => {
    const stage = new Stage(core).engage()
    stage.obeys = false
    stage.operate('pause').run(250)
    expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD', 'HOLD'])
    stage.show({ mode: 'ALTITUDE' }).run(2000)
    expect(stage.modesSent().length).toBe(3)
  })

  describe('is doubted', () => {
    /** Nobody tells anything but what the test does. */
    const still = (stage: Stage): Stage => {
      stage.streaming = false
      return stage
    }

    /** What is heard twice, a while apart, is so. */
    const twice = (stage: Stage, mode: Mode): Stage => stage.show({ mode }).run(10).show({ mode }).run(10)

    it('at the first report that nothing explains: no frame leaves from that step on, and the mode is asked for', () => {
      const stage = still(new Stage(core).engage())
      const sent = stage.sent.length
      stage.show({ mode: 'POSITION' })
      expect([stage.control.pilot_control, stage.lastPhase('g')]).toEqual([false, 'dispatched'])
      expect(stage.asked_ms).toEqual([stage.now_ms])
      const from_ms = stage.now_ms
      stage.run(190)
      expect(stage.asked_ms).toEqual([from_ms, from_ms + 100])
      expect(stage.sent.length).toBe(sent)
      expect(stage.lastPhase('g')).toBe('dispatched')
    })

    it('and a second one, received after it, is believed', () => {
      const stage = still(new Stage(core).engage())
      const sent = stage.sent.length
      stage.show({ mode: 'POSITION' }).show({ mode: 'POSITION' }) // at once: perhaps the same one, twice
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(20).show({ mode: 'ALTITUDE' })
      expect([stage.control.pilot_control, stage.lastPhase('g')]).toEqual([true, 'failed taken_over'])
      expect(stage.run(1000).sent.length).toBe(sent)
      expect(stage.asked_ms.length).toBe(1)
    })

    it('and one of ours lifts it: the lease goes on', () => {
      const stage = new Stage(core).engage()
      for (let i = 0; i < 5; i++) {
        stage.world.set('mode', 0)
        stage.show({ mode: 'POSITION' }).world.set('mode', 5).set('mode_intended', 5)
        stage.run(200)
      }
      expect([stage.control.pilot_control, stage.lastPhase('g')]).toEqual([false, 'dispatched'])
      expect(stage.commands()).toEqual(['OFFBOARD'])
      const gaps = stage.setpoints().map(({ at_ms }, i, all) => at_ms - (all[i - 1]?.at_ms ?? at_ms))
      expect(Math.max(...gaps)).toBeLessThan(300)
      stage.arrive(goto('g', 30)).run(2000)
      expect(stage.lastPhase('g')).toBe('completed')
    })

    it('and silence of half a second is believed too', () => {
      const stage = still(new Stage(core).fly())
      stage.show({ mode: 'POSITION' }).run(490)
      expect(stage.control.pilot_control).toBe(false)
      expect(stage.run(10).control.pilot_control).toBe(true)
    })

    it('and a lease whose own limits have passed meanwhile ends with the answer, by them or by the takeover', () => {
      const stage = still(new Stage(core).engage())
      stage.show({ mode: 'POSITION' }).run(300)
      expect(stage.lastPhase('g')).toBe('dispatched')
      twice(stage, 'OFFBOARD')
      expect(stage.lastPhase('g')).toBe('failed tick_missed')
      expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.control.pilot_control).toBe(false)

      const pilots = still(new Stage(core).engage())
      pilots.show({ mode: 'POSITION' }).run(300).show({ mode: 'POSITION' }).run(2000)
      expect(pilots.lastPhase('g')).toBe('failed taken_over')
      expect(pilots.modesSent()).toEqual(['OFFBOARD'])
      expect(pilots.control.pilot_control).toBe(true)
    })

    it.each<[string, (stage: Stage) => unknown]>([
      ['the world denies it', (stage) => stage.set({ 'battery.remaining': 10 })],
      ['the operator pauses', (stage) => stage.operate('pause')],
    ])('and an end because %s is decided with it: nothing leaves before', (_what, ends) => {
      const stage = still(new Stage(core).engage())
      stage.show({ mode: 'POSITION' })
      const sent = stage.sent.length
      ends(stage)
      stage.run(100)
      expect(stage.sent.length).toBe(sent)
      expect(stage.lastPhase('g')).toBe('dispatched')
      twice(stage, 'OFFBOARD')
      expect(stage.lastPhase('g')).toMatch(/^failed (unsupported|paused)$/)
      expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('and a contingency that is repeated waits', () => {
      const stage = new Stage(core).engage()
      stage.obeys = false
      stage.operate('pause').run(250)
      still(stage).show({ mode: 'ALTITUDE' }).run(400)
      expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD', 'HOLD'])
      twice(stage, 'OFFBOARD')
      expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD', 'HOLD', 'HOLD'])
    })

    it('and a command stops before its next frame, and goes on with it', () => {
      const stage = still(new Stage(core, { obeys: false, found: 'HOLD' }))
      stage.show({ armed: true, landed: 'ON_GROUND', mode: 'HOLD' }).run(10)
      stage.set({ 'position.alt': 0 }).show({ armed: false, landed: 'ON_GROUND' })
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).run(10).acknowledge(400).show({ armed: true, mode: 'POSITION' })
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.run(100)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      twice(stage, 'HOLD')
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'takeoff'])
    })

    it('and what would move the vehicle waits for the mode; a notice does not move it', () => {
      const stage = still(new Stage(core).fly())
      stage.show({ mode: 'POSITION' })
      stage.say([range, notice('n'), goto('g', 30)])
      expect(stage.phases('n')).toEqual(['retained', 'released'])
      const outcome = (id: string) => stage.values('outcome/planner').findLast(({ component }) => component === id)
      expect(outcome('g')).toMatchObject({ phase: 'retained', reason: 'state_awaited', detail: 'mode' })
      stage.run(50)
      expect(stage.sent).toEqual([])
      twice(stage, 'HOLD')
      expect(stage.sent.length).toBeGreaterThan(0)
    })

    it('and one old report that lifts it lets nothing leave that changes the mode', () => {
      const stage = still(new Stage(core).fly())
      stage.show({ mode: 'POSITION' }).say([plain('return')])
      stage.run(20).show({ mode: 'HOLD' }).run(20) // of before the pilot took it, by a slow radio
      expect(stage.lastPhase('return')).toBe('retained state_awaited')
      stage.show({ mode: 'POSITION' }).run(20).show({ mode: 'POSITION' }).run(1000)
      expect(stage.commands()).toEqual([])
      expect([stage.control.pilot_control, stage.lastPhase('return')]).toEqual([true, 'blocked pilot_control'])
    })

    it('and what has another answer anyway gets it', () => {
      const stage = still(new Stage(core).fly())
      stage.show({ mode: 'POSITION' }).operate('revoke', { agent: 'planner' }).operate('restore', { agent: 'planner' })
      stage.say([range, goto('g', 30), goto('h', 40, ['range', 'g'])])
      expect(stage.lastPhase('h')).toBe('retained prerequisite_not_ready')
      stage.operate('pause').run(10)
      expect(stage.lastPhase('g')).toBe('blocked paused')
    })

    it('and rules wait with what they do about it', () => {
      const rules = 'rule @r\ntrigger state_change\ncheck gone\nenforce invoke_action(land)\nend\n'
      const catalog = referenceCatalog(predicates('gone: state.mode == mode.POSITION'))
      const stage = still(new Stage(core, { catalog, rules }).engage())
      stage.show({ mode: 'POSITION' }).run(50).show({ mode: 'OFFBOARD' }).run(100)
      expect([stage.lastPhase('g'), ...stage.modesSent()]).toEqual(['dispatched', 'OFFBOARD'])
    })

    it('by nobody while the pilot has it: nothing is asked any more', () => {
      const stage = new Stage(core).engage().taken('POSITION')
      const asked = stage.asked_ms.length
      stage.run(5000)
      expect(stage.asked_ms.length).toBe(asked)
    })
  })

  it('is judged on old reports only while they are fresh', () => {
    const stage = new Stage(core).engage()
    stage.streaming = false
    stage.run(3000)
    expect(stage.control.pilot_control).toBe(false)
  })

  describe('inside our mode', () => {
    const at = (north_m: number, east_deg = 0) => ({ lat: HOME.lat + north_m / 111_195, lon: HOME.lon + east_deg })
    const repeat = (stage: Stage, target: ReportedTarget, for_ms: number): Stage => {
      for (let t = 0; t < for_ms; t += 100) stage.reportTarget(target).run(100)
      return stage.reportTarget(target)
    }
    const report = (stage: Stage, north_m: number, for_ms: number, east_deg = 0): Stage =>
      repeat(stage, at(north_m, east_deg), for_ms)

    it('is a target that is not ours, for a second', () => {
      const stage = report(new Stage(core).engage(), 200, 900)
      expect(stage.control.pilot_control).toBe(false)
      report(stage, 200, 100)
      expect(stage.control.pilot_control).toBe(true)
      expect(stage.lastPhase('g')).toBe('failed taken_over')
      expect(stage.modesSent()).toEqual(['OFFBOARD'])
    })

    it('is none while we have no setpoint under way', () => {
      expect(report(new Stage(core).fly(), 200, 2000).control.pilot_control).toBe(false)
    })

    it('is a target beside ours as well', () => {
      expect(report(new Stage(core).engage(), 30, 1000, 0.001).control.pilot_control).toBe(true)
    })

    it('counts from the engagement: before it the target is of another time', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      report(stage, 200, 1100)
      expect(stage.control.pilot_control).toBe(false)
      report(stage, 200, 300)
      expect(stage.control.pilot_control).toBe(true)
    })

    it('is not told by reports that come one by one, long apart', () => {
      const stage = new Stage(core).engage()
      for (let i = 0; i < 4; i++) report(stage, 200, 0).run(1000)
      expect(stage.control.pilot_control).toBe(false)
    })

    it('is not our own target, nor a foreign one for less than a second', () => {
      const stage = report(new Stage(core).engage(), 30, 2000)
      report(report(report(stage, 200, 800), 30, 3200), 200, 800)
      expect(stage.control.pilot_control).toBe(false)
    })

    it('is one that takes turns with ours', () => {
      const stage = new Stage(core).engage()
      const turn = () => stage.reportTarget(at(200)).run(100).reportTarget(at(30)).run(100)
      for (let i = 0; i < 10; i++) turn()
      expect(stage.control.pilot_control).toBe(false)
      for (let i = 0; i < 5; i++) turn()
      expect(stage.control.pilot_control).toBe(true)
    })

    it('is not judged by a target during a command that leads out of it', () => {
      const landing = new Stage(core).fly()
      landing.say([plain('land')])
      expect(report(landing, 200, 2000).control.pilot_control).toBe(false)
      expect(landing.lastPhase('land')).toBe('acknowledged')
    })

    describe('by what can be compared', () => {
      const more = `  spot:
    kind: action
    payload: { north: { type: number, min: -99, max: 99 }, east: { type: number, min: -99, max: 99 }, down: { type: number, min: -99, max: 99 } }
    uses: flight
    effect: { setpoint: position-local, done: elapsed() >= 60000.0, within: 60s }
  body:
    kind: action
    payload: { forward: { type: number, min: -5, max: 5 }, right: { type: number, min: -5, max: 5 }, down: { type: number, min: -5, max: 5 } }
    uses: flight
    effect: { setpoint: velocity-body, done: elapsed() >= 60000.0, within: 60s }

  takeoff:\n`
      const catalogs = ['px4-multirotor', 'ardupilot-copter'].map(
        (profile) =>
          [
            profile,
            exampleCatalog(profile, ['  takeoff:\n', more], ['status, takeoff', 'status, spot, body, takeoff']),
          ] as const,
      )
      const globe = goto('c', 30)
      const spot: ComponentSaid = { id: 'c', type: 'spot', payload: { north: 5, east: 0, down: -10 } }
      const body: ComponentSaid = { id: 'c', type: 'body', payload: { forward: 3, right: 4, down: 0 } }
      const local = { ...velocity('c', 9), payload: { north: 3, east: 0, seconds: 9 } }
      const cases: readonly [string, ComponentSaid, ReportedTarget, boolean][] = [
        ['a place on the globe, ours', globe, at(30), false],
        ['a place on the globe, 5 m beside', globe, at(35), true],
        ['a place that is told in the local frame only', globe, { north: 90, east: 0 }, false],
        ['a velocity instead of our place', globe, { velocity: { north: 0, east: 0 } }, true],
        ['a place in the local frame, ours', spot, { ...at(200), north: 6, east: 1 }, false],
        ['a place in the local frame, 5 m beside', spot, { north: 5, east: -5 }, true],
        ['a place that is told on the globe only', spot, at(200), false],
        ['a velocity instead of our place in the local frame', spot, { velocity: { north: 1, east: 0 } }, true],
        ['a place instead of our velocity', local, at(0), true],
        ['a place in the local frame instead of our velocity', local, { north: 0, east: 0 }, true],
        ['a velocity, ours', local, { velocity: { north: 3.2, east: 0.2 } }, false],
        ['a velocity that is not reached yet', local, { velocity: { north: 1, east: 0 } }, false],
        ['a faster velocity', local, { velocity: { north: 4, east: 0 } }, true],
        ['a velocity another way', local, { velocity: { north: 0, east: 3 } }, true],
        ['a velocity back', local, { velocity: { north: -3, east: 0 } }, true],
        ['a velocity of the body, turned', body, { velocity: { north: 0, east: -5 } }, false],
        ['a faster velocity of the body', body, { velocity: { north: 0, east: -6 } }, true],
        ['a place instead of our velocity of the body', body, at(0), true],
      ]
      describe.each(catalogs)('on %s', (_profile, catalog) => {
        it.each(cases)('%s', (_what, component, target, foreign) => {
          const stage = new Stage(core, { catalog }).engage(component)
          expect(stage.lastPhase('c')).toBe('dispatched')
          expect(repeat(stage, target, 1100).control.pilot_control).toBe(foreign)
          expect(stage.lastPhase('c')).toBe(foreign ? 'failed taken_over' : 'dispatched')
          expect(stage.modesSent(), 'never a contingency against somebody else').toEqual(['OFFBOARD'])
        })
      })
    })

    it('is a place beside the vehicle during a take-off in GUIDED: a setpoint has cancelled it without a word', () => {
      const climbing = () => {
        const stage = new Stage(core, { catalog: exampleCatalog('ardupilot-copter') }).run(1000)
        stage.say([takeoff('t')])
        return stage.run(500)
      }
      expect(report(climbing(), 0, 2000).control.pilot_control).toBe(false)
      expect(repeat(climbing(), { velocity: { north: 0, east: 0 } }, 2000).control.pilot_control).toBe(false)
      const stage = report(climbing(), 200, 1100)
      expect(stage.lastPhase('t')).toBe('failed taken_over')
      expect(stage.commands()).toEqual(['OFFBOARD', 'arm', 'takeoff'])
      const lost = climbing().set({ 'position.lat': Number.NaN })
      expect(report(lost, 200, 1100).control.pilot_control, 'nobody knows where it is').toBe(false)
    })
  })

  describe('the mode guard', () => {
    it.each([
      ['the newest mode report is more than 1 s old', (s: Stage) => s.world.delete('mode') && s.run(1050)],
      ['the intended mode is another', (s: Stage) => s.set({ mode_intended: 5 })],
      ['the system is critical', (s: Stage) => s.set({ critical: 1 })],
      ['nobody knows whether it is critical', (s: Stage) => s.set({ critical: Number.NaN })],
      ['it was heard long ago', (s: Stage) => s.world.delete('critical') && s.run(3550)],
    ])('denies an action when %s', (_why, go) => {
      const stage = new Stage(core).engage().arrive(goto('g', 30)).run(2000)
      const sent = stage.sent.length
      go(stage)
      stage.say([range, goto('h', 60)])
      expect(stage.lastPhase('h')).toBe('blocked not_in_control')
      expect(stage.sent.length).toBe(sent)
    })

    it('denies an action in a mode that the operator explained and we did not set', () => {
      const stage = new Stage(core).fly().show({ mode: 'POSITION' }).operate('resume').run(1000)
      stage.say([plain('hold')])
      expect(stage.lastPhase('hold')).toBe('blocked not_in_control')
      expect(stage.sent).toEqual([])
    })

    it('denies a sequence of which one frame changes the mode, before its first', () => {
      const catalog = referenceCatalog([
        'on_ground: state.landed == landed.ON_GROUND && !state.armed',
        'on_ground: state.ready',
      ])
      const stage = new Stage(core, { catalog }).fly().set({ critical: 1 }).run(100)
      stage.say([takeoff('t')])
      expect(stage.lastPhase('t')).toBe('blocked not_in_control')
      expect(stage.sent).toEqual([])
    })

    it('asks nothing of a command that changes no mode', () => {
      const stage = new Stage(core, { catalog: referenceCatalog(...CLICK) }).fly().set({ critical: 1 }).run(100)
      stage.say([plain('click')])
      expect(stage.lastPhase('click')).toBe('dispatched')
    })

    it('does not ask who stands disarmed on the ground', () => {
      const stage = new Stage(core).run(1000).show({ mode: 'POSITION' }).run(1000)
      stage.say([takeoff('t')])
      expect(stage.modesSent()).toEqual(['HOLD'])
    })

    it('asks when nobody knows that it is on the ground', () => {
      const stage = new Stage(core).run(1000).show({ mode: 'POSITION' }).run(1000)
      stage.show({ landed: 'LANDING' })
      stage.say([takeoff('t')])
      expect(stage.lastPhase('t')).not.toBe('dispatched')
      expect(stage.sent).toEqual([])
    })

    it('keeps the mode command of a setpoint back: it ends before it, without contingency', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      stage.run(150).set({ critical: 1 }).run(1000)
      expect(stage.lastPhase('g')).toBe('failed not_in_control')
      expect(stage.commands()).toEqual([])
    })

    /** A hold that may be asked for at any time. */
    const anytime = referenceCatalog(SCOUT, [
      `    gate:
      flying: state.armed
    may_require: { takeoff: completed, goto: completed, velocity: completed, release: completed }
    wait: 20min # it may stand at the end of a long plan
    uses: flight\n`,
      '',
    ])

    it.each(['armed', 'landed'])('asks when `%s` was heard long ago', (field) => {
      const hold = (stage: Stage): string | undefined => {
        stage.say([plain('hold')])
        return stage.lastPhase('hold')
      }
      const stage = new Stage(core, { catalog: anytime }).run(1000).show({ mode: 'POSITION' })
      stage.world.delete(field)
      expect(hold(stage.run(400))).toBe('dispatched')
      const later = new Stage(core, { catalog: anytime }).run(1000).show({ mode: 'POSITION' })
      later.world.delete(field)
      expect(hold(later.run(4000))).toBe('blocked not_in_control')
    })

    it('asks after an arm frame, though the vehicle is still shown disarmed', () => {
      const stage = new Stage(core, { catalog: anytime, obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).run(10)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.set({ critical: 1 }).say([plain('hold')], {}, 'scout')
      expect(stage.lastPhase('hold', 'scout')).toBe('blocked not_in_control')
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
    })

    it('asks behind an arm frame whose effect has ended, until it is heard anew that nothing is armed', () => {
      const stage = new Stage(core, { catalog: anytime, obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).run(10)
      expect(stage.commands()).toEqual(['HOLD', 'arm'])
      stage.world.delete('armed')
      stage.operate('pause').operate('resume')
      expect(stage.lastPhase('t')).toBe('failed paused')
      stage.set({ critical: 1 }).say([plain('hold')], {}, 'scout')
      expect(stage.lastPhase('hold', 'scout')).toBe('blocked not_in_control')
      stage
        .show({ armed: false })
        .run(10)
        .say([plain('hold', 'again')], {}, 'scout')
      expect(stage.lastPhase('again', 'scout')).toBe('dispatched')
    })

    it('does not ask behind an arm frame that was refused', () => {
      const stage = new Stage(core, { catalog: anytime, obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).run(10)
      stage.world.delete('armed')
      stage.acknowledge(400, 2).run(10)
      expect(stage.lastPhase('t')).toBe('failed refused')
      stage.set({ critical: 1 }).say([plain('hold')], {}, 'scout')
      expect(stage.lastPhase('hold', 'scout')).toBe('dispatched')
    })

    it('keeps NAV_TAKEOFF back after the arm frame', () => {
      const stage = new Stage(core, { obeys: false }).run(1000)
      stage.say([takeoff('t')])
      stage.run(10).acknowledge(176).run(10).acknowledge(400).set({ critical: 1 }).show({ armed: true })
      expect(stage.lastPhase('t')).toBe('failed not_in_control')
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm'])
    })
  })
})
