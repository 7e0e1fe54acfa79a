import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { goto, notice, plain, range, referenceCatalog, Stage, takeoff, twoAgents, velocity } from './stage.ts'

describe('the operator (PROTOCOL 10)', () => {
  const refusal = (stage: Stage): string | undefined =>
    stage.values('notice').findLast((n) => n.kind === 'operator')?.text

  describe('pause', () => {
    it('ends every lease with its contingency and revokes every uncrossed action', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      stage.run(500).operate('pause')
      expect(stage.lastPhase('g')).toBe('failed paused')
      expect(stage.lastPhase('h')).toMatch(/^blocked (paused|prerequisite_failed)$/)
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.control.paused).toBe(true)
    })

    it('withholds new actions and lets everything else through', () => {
      const stage = new Stage(core).fly().operate('pause')
      const verdict = stage.say([range, notice('n'), goto('g', 30)])
      expect(verdict.components[2]).toMatchObject({ decision: 'withheld', reason: 'paused' })
      expect(stage.lastPhase('n')).toBe('released')
      expect(stage.lastPhase('range')).toBe('released')
    })

    it('undoes a take-off on the ground', () => {
      const stage = new Stage(core).run(1000)
      stage.say([takeoff('t')])
      stage.run(30).operate('pause').run(1000)
      expect(stage.commands()).toEqual(['HOLD', 'arm', 'disarm', 'HOLD'])
    })

    it('ends a handoff too: it is a lease', () => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('handoff.pilot')])
      expect(stage.lastPhase('handoff.pilot')).toBe('dispatched')
      stage.operate('pause')
      expect(stage.lastPhase('handoff.pilot')).toBe('failed paused')
    })

    it('is accepted whatever session and counter it names, and by a message without them', () => {
      const stage = new Stage(core).fly().operate('pause', { session: 'older', after: 99 })
      expect(stage.control.paused).toBe(true)
      stage.operate('resume')
      const bytes = encode({ v: 1 })
      stage.published.push(...stage.runtime.operate('pause', bytes, false, stage.now_ms))
      expect(stage.control.paused).toBe(true)
    })

    it.each([
      ['empty', []],
      ['no CBOR', [0xff]],
      ['another version', encode({ v: 2 })],
      ['64 KiB of junk', Array(65_536).fill(0x20)],
    ])('whatever is in it: %s holds, and is told', (_, bytes) => {
      const stage = new Stage(core).engage()
      stage.published.push(...stage.runtime.operate('pause', Uint8Array.from(bytes), false, stage.now_ms))
      expect(stage.lastPhase('g')).toBe('failed paused')
      expect(stage.control.paused).toBe(true)
      expect(refusal(stage)).toMatch(/^operator\/pause taken, though malformed: /)
    })

    it('that is retained holds nothing: a stale one must not stop whoever connects', () => {
      const stage = new Stage(core).engage()
      stage.published.push(...stage.runtime.operate('pause', encode({ v: 1 }), true, stage.now_ms))
      expect(stage.control.paused).toBe(false)
    })

    it('is journalled, and a process starts as it was last journalled', () => {
      const stage = new Stage(core).fly().operate('pause')
      expect(stage.journal).toEqual({ paused: true, pilotControl: false, revoked: [], intents: [] })
      const next = new Stage(core, { journal: stage.journal!, sessions: 1 })
      expect(next.control.paused).toBe(true)
      const held = { paused: true, pilot_control: false, revoked: [], uncertain: [] }
      expect(next.log).toContainEqual({ level: 'warn', event: 'held from before', ...held })
      expect(stage.log.filter(({ event }) => event === 'held from before')).toEqual([])
      const verdict = next.fly().say([range, goto('g', 30)])
      expect(verdict.components[1].reason).toBe('paused')
    })

    it('stops in the step in which it is heard, however slow the disk is, and streams go on meanwhile', () => {
      const stage = new Stage(core, { catalog: twoAgents() }).engage()
      stage.disk_ms = 1500
      const before = stage.setpoints().length
      stage.operate('revoke', { agent: 'scout' }).run(200)
      expect(stage.setpoints().length - before).toBeGreaterThanOrEqual(2)
      stage.operate('pause')
      expect(stage.modesSent(stage.now_ms)).toEqual(['HOLD'])
      expect(stage.journal).toBeUndefined()
      stage.run(3000)
      expect(stage.journal).toEqual({ paused: true, pilotControl: false, revoked: ['scout'], intents: [] })
    })

    it('is lifted by resume', () => {
      const stage = new Stage(core).fly().operate('pause').operate('resume')
      expect(stage.control.paused).toBe(false)
      expect(stage.journal?.paused).toBe(false)
      stage.say([range, goto('g', 30)])
      expect(stage.lastPhase('g')).toBe('dispatched')
    })
  })

  describe('a verb', () => {
    it('is told once: `control` is published when it changes, and only then', () => {
      const stage = new Stage(core).fly()
      const before = stage.values('control').length
      expect(stage.run(1000).values('control')).toHaveLength(before)
      expect(stage.operate('pause').run(1000).values('control')).toHaveLength(before + 1)
    })

    it('moves the counter by one', () => {
      const stage = new Stage(core).fly()
      const { n } = stage.control
      stage
        .operate('pause')
        .operate('resume')
        .operate('revoke', { agent: 'planner' })
        .operate('clear', { type: 'goto' })
        .operate('clear', { type: 'notice.operator' })
      expect(stage.control.n).toBe(n + 5)
    })

    it('that names another counter is operator_conflict and changes nothing', () => {
      const stage = new Stage(core).fly().operate('pause')
      stage.operate('resume', { after: stage.control.n - 1 })
      expect(stage.control.paused).toBe(true)
      expect(refusal(stage)).toContain('operator_conflict')
    })

    it('G3: replayed is refused', () => {
      const stage = new Stage(core).fly().operate('pause')
      const bytes = encode({ v: 1, session: stage.control.session, after: stage.control.n })
      const resume = () => stage.published.push(...stage.runtime.operate('resume', bytes, false, stage.now_ms))
      resume()
      expect(stage.control.paused).toBe(false)
      stage.operate('pause')
      resume()
      expect(stage.control.paused).toBe(true)
    })

    it('of an older session is refused', () => {
      const stage = new Stage(core).fly().operate('pause')
      const { session, n } = stage.control
      stage.operate('restart')
      stage.operate('resume', { session, after: n + 1 })
      expect(stage.control.paused).toBe(true)
      expect(refusal(stage)).toContain('session_changed')
    })

    it('that is retained, malformed or unknown is refused', () => {
      const stage = new Stage(core).fly()
      const send = (verb: string, bytes: Uint8Array, retained: boolean) =>
        stage.published.push(...stage.runtime.operate(verb, bytes, retained, stage.now_ms))
      send('pause', encode({ v: 1 }), true)
      expect(refusal(stage)).toContain('retained_message')
      send('resume', Uint8Array.of(0xff), false)
      expect(refusal(stage)).toContain('malformed')
      send('resume', encode({ v: 2 }), false)
      expect(refusal(stage)).toContain('malformed')
      stage.operate('explode')
      expect(refusal(stage)).toContain('unknown verb')
      stage.operate('revoke', { agent: 'nobody' })
      expect(refusal(stage)).toContain('unknown_agent')
      stage.operate('clear', { type: 'nothing' })
      expect(refusal(stage)).toContain('unknown_type')
      expect(stage.control).toMatchObject({ paused: false, revoked: [] })
    })
  })

  it.each([
    ['approve', { consent: ['0'.repeat(64)] }, 'consent: must be a string'],
    ['refuse', {}, 'consent: must be a string'],
    ['clear', { type: 7 }, 'type: must be a string'],
    ['restore', { agent: null }, 'agent: must be a string'],
    ['resume', { after: '1' }, 'after: must be a number'],
    ['resume', { session: 5 }, 'session: must be a string'],
    ['resume', { by: 7 }, 'by: must be a string'],
    ['resume', { agent: 'planner' }, 'agent: no key of operator/resume'],
    ['restart', { [''.padEnd(300, 'x')]: 1 }, 'no key of operator/restart'],
  ])('%s with %j is told what is wrong with it, and changes nothing', (verb, message, told) => {
    const stage = new Stage(core).fly().operate('pause').operate('revoke', { agent: 'planner' })
    const before = stage.control
    stage.operate(verb, message)
    expect(refusal(stage)).toContain('malformed')
    expect(refusal(stage)).toContain(told)
    expect(stage.control).toEqual(before)
  })

  describe('revoke', () => {
    it('is taken whatever session and counter it names, and by a message without them', () => {
      const stage = new Stage(core).engage()
      stage.operate('revoke', { agent: 'planner', session: 'older', after: 99 })
      expect(stage.control.revoked).toEqual(['planner'])
      stage.operate('restore', { agent: 'planner' })
      const bytes = encode({ v: 1, agent: 'planner' })
      for (let i = 0; i < 2; i++) {
        stage.published.push(...stage.runtime.operate('revoke', bytes, false, stage.now_ms))
        expect(stage.control.revoked).toEqual(['planner'])
      }
    })

    it('closes its obligations and ends its plan, which nothing recovers after restore', () => {
      const stage = new Stage(core).fly()
      stage.say([range, { ...goto('g', 30), payload: {} }], { response: 'first' })
      expect(stage.snapshot.obligations).toEqual([])
      expect(stage.obligations).toHaveLength(1)
      stage.operate('revoke', { agent: 'planner' }).run(1000)
      expect(stage.closed).toEqual(['ended'])
      expect(stage.snapshot).toMatchObject({ plans: [], obligations: [] })
      stage.operate('restore', { agent: 'planner' })
      expect(stage.say([notice('n')], { recovers: 'first' })).toMatchObject({ reason: 'no_such_plan' })
    })

    it("ends the agent's leases with their contingency and denies what waits, and nobody else's", () => {
      const stage = new Stage(core, { catalog: twoAgents() }).engage()
      stage.say([plain('status'), plain('hold')], {}, 'scout')
      stage.operate('revoke', { agent: 'planner' })
      expect(stage.lastPhase('g')).toBe('failed agent_revoked')
      expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
      expect(stage.control.revoked).toEqual(['planner'])
      stage.run(1000)
      expect(stage.lastPhase('hold', 'scout')).toBe('completed')
    })

    it('denies what had not crossed', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), plain('hold')])
      stage.run(100).operate('revoke', { agent: 'planner' })
      expect(stage.lastPhase('hold')).toBe('blocked agent_revoked')
    })

    it('refuses its responses until restore, over sessions and processes', () => {
      const stage = new Stage(core).fly().operate('revoke', { agent: 'planner' })
      expect(stage.say([range])).toMatchObject({ accepted: false, reason: 'agent_revoked' })
      stage.operate('restart')
      stage.run(1000)
      expect(stage.say([range])).toMatchObject({ reason: 'agent_revoked' })
      const next = new Stage(core, { journal: stage.journal!, sessions: 9 }).fly()
      expect(next.say([range])).toMatchObject({ reason: 'agent_revoked' })
      next.operate('restore', { agent: 'planner' })
      expect(next.say([range])).toMatchObject({ accepted: true })
    })
  })

  it('handoff.pilot is completed once HOLD is shown, not when it is acknowledged', () => {
    const catalog = referenceCatalog(['holding: state.mode == mode.HOLD', 'holding: state.armed'])
    const stage = new Stage(core, { catalog }).engage()
    stage.obeys = false
    stage.say([plain('handoff.pilot', 'give')])
    stage.run(10).acknowledge(176).run(100)
    expect(stage.lastPhase('give')).toBe('dispatched')
    expect(stage.control.pilot_control).toBe(false)
    stage.show({ mode: 'HOLD' }).run(10)
    expect(stage.lastPhase('give')).toBe('completed')
    expect(stage.control.pilot_control).toBe(true)
  })

  it('handoff.pilot holds, tells people, latches pilot_control and ends the plan', () => {
    const stage = new Stage(core).engage()
    stage.say([range, plain('hold'), plain('handoff.pilot', 'give', ['hold']), velocity('v', 5)])
    stage.run(2000)
    expect(stage.phases('give').filter((phase) => !phase.startsWith('retained'))).toEqual(['dispatched', 'completed'])
    expect(stage.lastPhase('v')).toBe('superseded ended')
    const said = { severity: 'warning', text: 'the vehicle is with the pilot', component: 'give' }
    expect(stage.values('notice').filter((n) => n.kind === 'handoff')).toMatchObject([said])
    expect(stage.control.pilot_control).toBe(true)
    expect(stage.commands().at(-1)).toBe('HOLD')
    expect(stage.say([range], { recovers: stage.values('verdict/planner').at(-1).response })).toMatchObject({
      reason: 'no_such_plan',
    })
  })
})
