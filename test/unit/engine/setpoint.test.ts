import { describe, expect, it } from 'vitest'
import { stamp } from '../../../src/engine/dispatch/flight.ts'
import { cores } from '../../oracle/cores.ts'
import { CMD, goto, HOME, MSG, range, referenceCatalog, Stage, velocity } from './stage.ts'

const bytesOf = (payload: Uint8Array): string => Buffer.from(payload.slice(4)).toString('hex') // without the time stamp

describe.each(cores)('a setpoint (PROTOCOL 8), %s', (_, core) => {
  describe('engagement', () => {
    it('is three frames at the rate, then the mode command, then the stream', () => {
      const stage = new Stage(core).fly()
      const from_ms = stage.now_ms
      stage.say([range, goto('g', 30)])
      stage.run(500)
      const order = stage.sent.map((s) => [s.at_ms - from_ms, s.mode ?? s.message])
      expect(order).toEqual([
        [0, MSG.setpointGlobal],
        [100, MSG.setpointGlobal],
        [200, MSG.setpointGlobal],
        [200, 'OFFBOARD'],
        [300, MSG.setpointGlobal],
        [400, MSG.setpointGlobal],
        [500, MSG.setpointGlobal],
      ])
    })

    it('G2: every frame of the lease equals the first, but for its time stamp', () => {
      const stage = new Stage(core).engage()
      stage.set({ 'home.amsl': HOME.amsl + 0.5 }).run(1000)
      const frames = stage.setpoints().map((s) => bytesOf(s.payload))
      expect(frames.length).toBe(16)
      expect(new Set(frames).size).toBe(1)
      const stamps = stage.setpoints().map((s) => new DataView(s.payload.buffer).getUint32(0, true))
      expect(stamps).toEqual(stage.setpoints().map((s) => s.at_ms))
      expect([0.9, 1999.9, 2 ** 32 + 5].map(stamp)).toEqual([0, 1999, 5])
    })

    it('ends before the mode command without a command', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      stage.run(150).set({ 'battery.remaining': 10 }).run(2000)
      expect(stage.lastPhase('g')).toBe('failed unsupported')
      expect(stage.commands()).toEqual([])
      expect(stage.setpoints().length).toBe(2)
    })

    it('ends between the mode command and its ACK with the contingency', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      stage.run(200).set({ 'battery.remaining': 10 }).run(2000)
      expect(stage.lastPhase('g')).toBe('failed unsupported')
      expect(stage.commands().slice(0, 2)).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('ends after the ACK and before the mode is shown with the contingency', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30)])
      stage.run(220).set({ 'battery.remaining': 10 }).run(2000)
      expect(stage.lastPhase('g')).toBe('failed unsupported')
      expect(stage.commands().slice(0, 2)).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('that shows itself after its lease has ended is explained: the contingency is no takeover', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(210).acknowledge(176).operate('pause')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      stage.run(10).show({ mode: 'OFFBOARD' }).run(10)
      expect(stage.control.pilot_control).toBe(false)
      stage.run(200)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD', 'HOLD'])
      stage.show({ mode: 'HOLD' }).run(1000)
      expect(stage.commands().length).toBe(3)
    })

    it('refused, is asked again with each frame for a second, then has failed', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(200)
      for (let i = 0; i < 9; i++) {
        stage.run(10).acknowledge(176, 1).run(90)
        expect(stage.commands()).toEqual(new Array(i + 2).fill('OFFBOARD'))
      }
      stage.run(10).acknowledge(176, 1).run(90)
      expect(stage.lastPhase('g')).toBe('failed refused')
      expect(stage.obligations.at(-1).detail).toBe('temporarily rejected')
      expect(stage.commands().slice(-2)).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('G5: is not done before it is engaged, whatever the clause says', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, velocity('v', 1)])
      stage.run(210).acknowledge(CMD.setMode, 1)
      for (let i = 0; i < 9; i++) stage.run(100).acknowledge(CMD.setMode, 1)
      expect(stage.lastPhase('v')).toBe('dispatched') // for longer than a second
      stage.run(200)
      expect(stage.lastPhase('v')).toBe('failed refused')
    })

    it('refused once and then accepted, flies', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(210).acknowledge(176, 1)
      stage.obeys = true
      stage.run(3000)
      expect(stage.commands()).toEqual(['OFFBOARD', 'OFFBOARD'])
      expect(stage.lastPhase('g')).toBe('dispatched')
    })

    it('acknowledged and not shown within 500 ms has failed', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(210).acknowledge(176).run(480)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(20)
      expect(stage.lastPhase('g')).toBe('failed unacknowledged')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('shows the mode but another intended mode: not engaged', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(210).acknowledge(176).show({ mode: 'OFFBOARD', intended: 'HOLD' }).run(500)
      expect(stage.lastPhase('g')).toBe('failed unacknowledged')
    })

    it('unanswered goes on when the state shows it', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(230).show({ mode: 'OFFBOARD' }).run(2000)
      expect(stage.lastPhase('g')).toBe('dispatched')
      expect(stage.commands()).toEqual(['OFFBOARD'])
    })

    it('G5: unanswered and not shown within 500 ms has failed', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(690)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(20)
      expect(stage.lastPhase('g')).toBe('failed unacknowledged')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })
  })

  describe('one after another', () => {
    const relay = (stage: Stage): Stage => {
      stage.fly().say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      return stage.run(500).arrive(goto('g', 30)).run(1000)
    }

    it('needs no mode command and no `then` between', () => {
      const stage = relay(new Stage(core)).run(1000)
      expect(stage.phases('g')).toEqual(['retained', 'dispatched', 'completed'])
      expect(stage.lastPhase('h')).toBe('dispatched')
      expect(stage.commands()).toEqual(['OFFBOARD'])
    })

    it('ends by contingency already at its first frames, since Offboard is shown and ours', () => {
      const stage = relay(new Stage(core))
      expect(stage.lastPhase('h')).toBe('dispatched')
      stage.run(10).set({ 'battery.remaining': 10 })
      expect(stage.lastPhase('h')).toBe('failed unsupported')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })
  })

  describe('its schedule', () => {
    it('does not drift: frames leave at whole periods after the first, whatever the ticks', () => {
      const stage = new Stage(core).fly()
      const from_ms = stage.now_ms
      stage.say([range, goto('g', 30)])
      stage.run(3000, 7)
      const lateness = stage.setpoints().map((s) => (s.at_ms - from_ms) % 100)
      expect(lateness.length).toBe(31)
      expect(Math.max(...lateness)).toBeLessThan(7)
    })

    it('a late tick sends nothing and still judges', () => {
      const stage = new Stage(core).engage()
      const frames = stage.setpoints().length
      stage.stall(160).run(0.001)
      expect(stage.setpoints().length).toBe(frames)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(40)
      expect(stage.setpoints().length).toBe(frames + 1)
      stage.stall(160).set({ 'battery.remaining': 10 })
      expect(stage.lastPhase('g')).toBe('failed unsupported')
    })

    it('G5: a gap of three periods ends the lease with its contingency', () => {
      const stage = new Stage(core).engage()
      stage.streaming = false
      stage.stall(299).run(0.5)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.stall(301).run(0.5)
      expect(stage.lastPhase('g')).toBe('failed tick_missed')
      // That long a gap is a stall: the mode is heard first.
      expect(stage.commands()).toEqual(['OFFBOARD'])
      stage.streaming = true
      stage.run(10)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('G5: ticks that are always late end the lease: three periods without a frame are a gap', () => {
      const stage = new Stage(core).engage()
      const frames = stage.setpoints().length
      stage.run(1600, 160)
      expect(stage.setpoints().length).toBe(frames)
      expect(stage.lastPhase('g')).toBe('failed tick_missed')
    })
  })

  describe('its end', () => {
    it('is `then` once done has been true for the dwell without a break', () => {
      const stage = new Stage(core).engage().arrive(goto('g', 30)).run(900)
      stage.set({ 'velocity.north': 2 }).run(50).set({ 'velocity.north': 0 }).run(990)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(10)
      expect(stage.lastPhase('g')).toBe('completed')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      const frames = stage.setpoints().length
      stage.run(1000)
      expect(stage.setpoints().length).toBe(frames)
    })

    it('is `time_exceeded` and the contingency at `within`', () => {
      const stage = new Stage(core, { catalog: referenceCatalog(['within: 120s', 'within: 5s']) }).engage()
      stage.run(4490)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.run(10)
      expect(stage.lastPhase('g')).toBe('failed time_exceeded')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it.each([
      ['support is lost', { 'battery.remaining': 10 }, 'failed unsupported'],
      ['a field is unknown', { 'home.lat': Number.NaN }, 'failed state_unknown'],
      ['a gate clause falls', { 'position.alt': 1 }, 'failed unsupported'],
      ['a watched field changes', { map: 2 }, 'failed changed'],
      ['a reference moves too far', { 'home.amsl': HOME.amsl + 1.5 }, 'failed out_of_tolerance'],
      ['what it names is lost', { 'position.accuracy': 5 }, 'failed prerequisite_lost'],
    ])('G1, G5: when %s is the contingency', (_why, fields, end) => {
      const stage = new Stage(core).engage().set(fields).run(10)
      expect(stage.lastPhase('g')).toBe(end)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('G5: when telemetry falls silent is the contingency', () => {
      const stage = new Stage(core).engage()
      stage.streaming = false
      stage.run(400)
      expect(stage.lastPhase('g')).toBe('failed link_lost')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('within its patience: a stale field never defers in a lease', () => {
      const catalog = referenceCatalog(['patience: 0s', 'patience: 5s'])
      const stage = new Stage(core, { catalog }).engage().set({ 'home.lat': Number.NaN })
      expect(stage.lastPhase('g')).toBe('failed state_unknown')
    })

    it('when the port refuses a frame is link_lost, and the contingency as soon as it sends again', () => {
      const stage = new Stage(core).engage()
      stage.down = true
      stage.run(100)
      expect(stage.lastPhase('g')).toBe('failed link_lost')
      expect(stage.commands()).toEqual(['OFFBOARD'])
      stage.down = false
      stage.run(200)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
    })

    it('when the port refuses the first frame is link_lost, and nothing else', () => {
      const stage = new Stage(core).fly()
      stage.down = true
      stage.say([range, goto('g', 30)])
      stage.down = false
      stage.run(1000)
      expect(stage.lastPhase('g')).toBe('failed link_lost')
      expect(stage.sent).toEqual([])
    })
  })

  it('keeps the height of its first frame, as a velocity', () => {
    const stage = new Stage(core).engage(velocity('v', 5)).set({ 'local.down': -11 }).run(500)
    const heights = stage.setpoints().map((s) => new DataView(s.payload.buffer).getFloat32(12, true))
    expect(new Set(heights)).toEqual(new Set([-10]))
  })

  it('done is judged by the time since its first frame', () => {
    const stage = new Stage(core).engage(velocity('v', 5)).run(4490)
    expect(stage.lastPhase('v')).toBe('dispatched')
    stage.run(10)
    expect(stage.lastPhase('v')).toBe('completed')
  })
})
