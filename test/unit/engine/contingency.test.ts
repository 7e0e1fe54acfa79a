import { describe, expect, it } from 'vitest'
import type { Mode } from '../../../src/autopilot/profile.ts'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { CMD, goto, plain, range, referenceCatalog, type Said, Stage, takeoff, velocity } from './stage.ts'

describe('a contingency (PROTOCOL 8)', () => {
  /** A goto in Offboard, and from now on the autopilot does only what the test says; then the goto is lost. */
  const lost = (otherwise = 'hold'): Stage => {
    const catalog = referenceCatalog(['otherwise: hold', `otherwise: ${otherwise}`])
    const stage = new Stage(core, { catalog }).engage()
    stage.obeys = false
    return stage.set({ 'battery.remaining': 10 })
  }
  const since = (stage: Stage): string[] => stage.commands().slice(1)
  const told = (stage: Stage): Said[] => stage.values('notice').filter(({ kind }) => kind === 'contingency')

  it('is sent at once, in the step in which the lease ends', () => {
    const stage = lost()
    expect(since(stage)).toEqual(['HOLD'])
    expect(stage.sent.at(-1)?.at_ms).toBe(stage.now_ms)
  })

  it('is repeated every 200 ms until mode and intended mode show it', () => {
    const stage = lost().run(190)
    expect(since(stage)).toEqual(['HOLD'])
    stage.run(10)
    expect(since(stage)).toEqual(['HOLD', 'HOLD'])
    stage.run(400)
    expect(since(stage).length).toBe(4)
    stage.show({ mode: 'HOLD' }).run(2000)
    expect(since(stage).length).toBe(4)
    expect(told(stage)).toEqual([])
  })

  it.each<[Mode, Mode]>([
    ['HOLD', 'OFFBOARD'],
    ['OFFBOARD', 'HOLD'],
  ])('is not shown by mode %s while %s is intended: both must follow', (mode, intended) => {
    const stage = lost().run(10).acknowledge(CMD.setMode)
    stage.show({ mode, intended }).set({ 'battery.remaining': 90 }).run(50)
    stage.say([range, goto('h', 20)])
    stage.run(10)
    expect(stage.lastPhase('h')).toBe('retained resource_busy')
  })

  it('is sent ten times at most, then the next of hold → land follows, and nothing after land', () => {
    const stage = lost().run(1990)
    expect(since(stage)).toEqual(new Array(10).fill('HOLD'))
    stage.run(10)
    expect(since(stage).at(-1)).toBe('LAND')
    stage.run(10_000)
    expect(since(stage)).toEqual([...new Array(10).fill('HOLD'), ...new Array(10).fill('LAND')])
    const text = 'contingency land not shown after 20 frames: exhausted'
    expect(told(stage)).toMatchObject([{ severity: 'critical', text }])
  })

  it('refused, is followed at once by the next of return → hold → land', () => {
    const stage = lost('return').run(10).acknowledge(CMD.setMode, 1)
    expect(since(stage)).toEqual(['RETURN', 'HOLD'])
  })

  it('in progress is not refused', () => {
    const stage = lost('return').run(10).acknowledge(CMD.setMode, 5).run(10)
    expect(since(stage)).toEqual(['RETURN'])
  })

  describe('after a landing, HOLD', () => {
    const landed = (show: Parameters<Stage['show']>[0] = {}): Stage => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.run(10).acknowledge(CMD.setMode).show({ mode: 'LAND' }).run(1000)
      return stage.set({ critical: 1 }).show({ landed: 'ON_GROUND', armed: false, ...show })
    }

    it('is sent past the mode guard: on the ground, disarmed, there is nobody to override', () => {
      expect(landed().commands()).toEqual(['LAND', 'HOLD'])
    })

    it('is sent once where the autopilot went back to a mode of before', () => {
      expect(landed({ mode: 'POSITION' }).run(3000).commands()).toEqual(['LAND', 'HOLD'])
    })

    it('not shown, is not followed by a landing', () => {
      const stage = landed().run(5000)
      expect(stage.commands()).toEqual(['LAND', ...new Array(10).fill('HOLD')])
      expect(told(stage).map(({ text }) => text)).toEqual(['contingency hold not shown after 10 frames: exhausted'])
    })
  })

  it('G5: not shown while the vehicle is not heard, is not taken as refused', () => {
    const stage = new Stage(core, { obeys: false }).run(1000)
    stage.say([takeoff('t')])
    stage.run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm, 4)
    stage.streaming = false
    stage.run(5000)
    expect(since(stage)).toEqual(['arm', ...new Array(10).fill('disarm')])
    stage.streaming = true
    stage.obeys = true
    stage.run(1000)
    expect(since(stage)).toEqual(['arm', ...new Array(10).fill('disarm'), 'HOLD'])
  })

  it('refused after another of its MAV_CMD went unanswered, is not taken as refused', () => {
    const stage = lost('return').run(10).acknowledge(CMD.setMode, 1).run(10)
    expect(since(stage)).toEqual(['RETURN', 'HOLD'])
    stage.acknowledge(CMD.setMode, 1)
    expect(since(stage)).toEqual(['RETURN', 'HOLD', 'LAND'])
    const unanswered = new Stage(core, { obeys: false }).fly()
    unanswered.say([range, goto('g', 30)])
    unanswered.run(210).set({ 'battery.remaining': 10 }).run(10)
    expect(unanswered.commands()).toEqual(['OFFBOARD', 'HOLD'])
    unanswered.acknowledge(CMD.setMode, 1).run(10) // it may answer OFFBOARD
    expect(unanswered.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('holds the resource until it is shown', () => {
    const stage = lost().run(10).acknowledge(CMD.setMode).set({ 'battery.remaining': 90 }).run(10)
    stage.say([range, goto('h', 20)])
    expect(stage.lastPhase('h')).toBe('retained resource_busy')
    stage.show({ mode: 'HOLD' }).run(10)
    expect(stage.lastPhase('h')).toBe('dispatched')
  })

  it('frees the resource at the end of the chain', () => {
    const stage = lost().run(4100).set({ 'battery.remaining': 90 }).run(1500)
    stage.show({ mode: 'HOLD' }).run(6000)
    stage.say([plain('hold')])
    expect(stage.phases('hold').at(-1)).not.toBe('retained resource_busy')
  })

  it('is repeated no more once the mode is neither ours nor its own', () => {
    const stage = lost().run(10).show({ mode: 'POSITION' }).run(3000)
    expect(since(stage)).toEqual(['HOLD'])
    expect(stage.control.pilot_control).toBe(true)
  })

  it('is repeated no more on the ground either, where a pilot who changes the mode latches nothing', () => {
    const stage = new Stage(core, { obeys: false }).fly()
    stage.say([plain('land')])
    stage.run(10).acknowledge(CMD.setMode).show({ mode: 'LAND' }).run(1000)
    stage.show({ landed: 'ON_GROUND', armed: false })
    expect(stage.commands()).toEqual(['LAND', 'HOLD'])
    stage.run(10).acknowledge(CMD.setMode).show({ mode: 'POSITION' }).run(3000)
    expect(stage.commands()).toEqual(['LAND', 'HOLD'])
    expect(told(stage).map(({ text }) => text)).toEqual(['contingency hold not shown after 1 frames: taken'])
    expect(stage.control.pilot_control).toBe(false)
    stage.say([takeoff('t')])
    expect(stage.lastPhase('t')).toBe('dispatched')
  })

  it('is exempt from pause and needs no support', () => {
    const stage = lost().operate('pause').set({ 'gps.fix': 0, 'estimator.ok': 0 }).run(200)
    expect(since(stage)).toEqual(['HOLD', 'HOLD'])
  })

  it.each([
    ['the newest mode report is more than 1 s old', (s: Stage) => s.world.delete('mode') && s.run(1100)],
    ['mode and intended mode differ', (s: Stage) => s.show({ mode: 'OFFBOARD', intended: 'HOLD' })],
    ['the system is critical', (s: Stage) => s.set({ critical: 1 })],
    ['nobody knows whether it is critical', (s: Stage) => s.set({ critical: Number.NaN })],
  ])('the mode guard keeps back when %s', (_why, go) => {
    const stage = new Stage(core).engage()
    stage.obeys = false
    go(stage)
    stage.set({ 'battery.remaining': 10 }).run(100)
    expect(stage.lastPhase('g')).toBe('failed unsupported')
    expect(since(stage)).toEqual([])
  })

  it('leaves as soon as the mode guard lets it', () => {
    const stage = new Stage(core).engage()
    stage.set({ critical: 1, 'battery.remaining': 10 }).run(500)
    expect(since(stage)).toEqual([])
    stage.set({ critical: 0 }).run(1000)
    expect(since(stage)).toEqual(['HOLD'])
  })

  it('G5: waits for a vehicle that is not heard, however long, and goes on where it was', () => {
    const stage = new Stage(core).engage()
    stage.obeys = false
    stage.streaming = false
    stage.run(20_000)
    const from_ms = stage.now_ms
    stage.streaming = true
    stage.run(500)
    expect(new Set(stage.modesSent(from_ms))).toEqual(new Set(['HOLD']))
  })

  it('is none where the catalog says so', () => {
    const stage = lost('none').run(1000)
    expect(since(stage)).toEqual([])
  })

  describe.each(['land', 'return'])('%s', (name) => {
    const mode = name === 'land' ? 'LAND' : 'RETURN'

    it('G4: afterwards only a response that cites a later snapshot may use the resource', () => {
      const stage = lost(name).set({ 'battery.remaining': 90 })
      const old = stage.snapshot.snapshot
      stage.say([range, goto('g', 20)])
      expect(stage.lastPhase('g')).toBe('blocked evidence_stale')
      stage.show({ mode }).set({ landed: 1 }).run(0.5)
      stage.say([range, goto('h', 20)], { snapshot: old })
      expect(stage.lastPhase('h')).toBe('blocked evidence_stale')
      stage.obeys = true
      stage.run(6000)
      stage.say([range, goto('i', 20)])
      stage.run(100)
      expect(stage.lastPhase('i')).toBe('dispatched')
    })

    it('ends with HOLD once disarmed', () => {
      const stage = lost(name)
      stage.obeys = true
      stage.show({ mode }).run(1000).show({ landed: 'ON_GROUND' }).run(500)
      expect(since(stage)).toEqual([mode])
      stage.show({ armed: false }).run(1000)
      expect(since(stage)).toEqual([mode, 'HOLD'])
      expect(stage.control.pilot_control).toBe(false)
    })

    it('ends without HOLD when nobody landed: that would only begin the same chain again', () => {
      const stage = lost(name).run(7000)
      const from_ms = stage.now_ms
      stage.show({ landed: 'ON_GROUND', armed: false }).run(1000)
      expect(stage.commands(from_ms)).toEqual([])
    })

    it('ends without HOLD when the pilot has taken over on the way', () => {
      const stage = lost(name)
      stage.show({ mode }).run(100).show({ mode: 'POSITION' }).run(100)
      stage.show({ landed: 'ON_GROUND', armed: false }).run(1000)
      expect(since(stage)).toEqual([mode])
    })
  })

  it('`then` is sent and repeated in the same way, and holds the resource', () => {
    const stage = new Stage(core).engage()
    stage.obeys = false
    stage.arrive(goto('g', 30)).run(1010)
    expect(since(stage)).toEqual(['HOLD'])
    stage.run(10).acknowledge(CMD.setMode)
    stage.say([plain('hold')])
    expect(stage.lastPhase('hold')).toBe('retained resource_busy')
    stage.run(190)
    expect(since(stage)).toEqual(['HOLD', 'HOLD'])
  })

  it('`then` is sent for an effect that uses no resource as well', () => {
    const catalog = referenceCatalog(['    uses: flight\n    expires: 5s # a velocity', '    expires: 5s # a velocity'])
    const stage = new Stage(core, { catalog }).engage(velocity('v', 1))
    expect(stage.lastPhase('v')).toBe('dispatched')
    stage.run(1000)
    expect(stage.lastPhase('v')).toBe('completed')
    expect(since(stage)).toEqual(['HOLD'])
  })

  it('an undo whose disarm is refused lands', () => {
    const stage = new Stage(core, { obeys: false }).run(1000)
    stage.say([takeoff('t')])
    stage.run(10).acknowledge(CMD.setMode).run(10).acknowledge(CMD.arm).show({ armed: true })
    stage.acknowledge(CMD.takeoff, 4)
    expect(stage.commands().at(-1)).toBe('disarm')
    stage.run(10).acknowledge(CMD.arm, 4)
    expect(stage.commands().at(-1)).toBe('LAND')
  })

  it('of a shutdown: all leases end with theirs, and nothing crosses any more', () => {
    const stage = new Stage(core).engage()
    stage.say([range, goto('h', 20)])
    const from = stage.commands().length
    expect(stage.runtime.settled).toBe(false)
    stage.published.push(...stage.runtime.stop(stage.now_ms))
    expect(stage.lastPhase('h')).toBe('failed shutdown')
    expect(stage.commands().slice(from)).toEqual(['HOLD'])
    expect(stage.runtime.settled).toBe(false)
    stage.run(500)
    expect(stage.runtime.settled).toBe(true)
    expect(stage.say([range])).toBeUndefined()
  })
})
