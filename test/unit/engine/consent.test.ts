import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Core, CoreFactory } from '../../../src/core/core.ts'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import {
  CLICK,
  type ComponentSaid,
  goto,
  notice,
  plain,
  range,
  referenceCatalog,
  type Said,
  Stage,
  velocity,
} from './stage.ts'

const ask = (id = 'ask', text = 'may I?'): ComponentSaid => ({ id, type: 'request.approval', payload: { text } })
/** A goto that waits for the consent. */
const asking = (id: string, north_m: number, ...more: string[]): ComponentSaid =>
  goto(id, north_m, ['range', 'ask', ...more])

const pending = (stage: Stage): Said[] => (stage.control as Said).pending
const refusal = (stage: Stage): string | undefined =>
  stage.values('notice').findLast((n) => n.kind === 'operator')?.text
/** In the air, and `ask` waits for an answer. */
const waiting = (components: readonly ComponentSaid[] = [range, ask(), asking('g', 30)]): Stage => {
  const stage = new Stage(core).fly()
  stage.say(components)
  return stage.run(100)
}
const answer = (stage: Stage, verb: 'approve' | 'refuse', over: Record<string, unknown> = {}): Stage =>
  stage.operate(verb, { consent: pending(stage)[0]?.consent, ...over })
/** The bytes of an answer, to be sent as a test likes. */
const bytesOf = (stage: Stage): Uint8Array => {
  const { session, n } = stage.control
  return encode({ v: 1, session, after: n, consent: pending(stage)[0].consent })
}
const send = (stage: Stage, verb: string, bytes: Uint8Array, retained = false): void => {
  stage.published.push(...stage.runtime.operate(verb, bytes, retained, stage.now_ms))
}
/** What a refused answer may not have touched. */
const untouched = (stage: Stage): unknown => [
  stage.control,
  stage.lastPhase('ask'),
  stage.lastPhase('g'),
  stage.sent.length,
]

/** The core, and what it says that the bindings are. */
const overheard = (): { factory: CoreFactory; core: () => Core } => {
  let made: Core | undefined
  return {
    factory: (...args) => {
      made = core(...args)
      return made
    },
    core: () => made!,
  }
}

/** A goto must not be flown without a consent. */
const CONSENT_FIRST: [string, string] = [
  'requires: [report.range]\n    may_require:\n      { takeoff',
  'requires: [report.range, request.approval]\n    may_require:\n      { takeoff',
]

describe('a consent (PROTOCOL 10)', () => {
  it('G2: is named by SHA-256 over b of the request and of what requires it, in order of sequence', () => {
    const { factory, core } = overheard()
    const stage = new Stage(factory).fly()
    const verdict = stage.say([asking('far', 60, 'near'), range, asking('near', 30), ask(), goto('free', 20)])
    stage.run(100)
    const sequence = (id: string): number => verdict.components.find((c: Said) => c.id === id).sequence
    const named = ['far', 'near'].map(sequence).sort((a, b) => a - b)
    const hash = createHash('sha256')
    for (const s of [sequence('ask'), ...named]) hash.update(Buffer.from(core().binding(s), 'hex'))
    expect(pending(stage).map((c) => c.consent)).toEqual([hash.digest('hex')])
    expect(pending(stage)[0].covers.map((c: Said) => c.component)).toEqual(['far', 'near'])
  })

  it('shows what rests on it through another: all that would fly once it is approved', () => {
    const stage = waiting([range, ask(), asking('g', 30), goto('far', 60, ['range', 'g']), plain('hold', 'h', ['far'])])
    expect(pending(stage)[0].covers.map((c: Said) => c.component)).toEqual(['g', 'far', 'h'])
    answer(stage, 'approve')
    expect(stage.run(500).lastPhase('g')).toBe('dispatched')
    stage.arrive(goto('g', 30)).run(1500)
    expect([stage.lastPhase('g'), stage.lastPhase('far')]).toEqual(['completed', 'dispatched'])
  })

  it('G2: what takes the place of one that was shown does not fly on its consent, however far it stands behind', () => {
    const stage = waiting([range, ask(), asking('g', 30), goto('far', 5000, ['range', 'g'])])
    const shown = pending(stage)[0].covers.map((c: Said) => c.component)
    expect(shown).toEqual(['g'])
    stage.run(1100)
    const verdict = stage.say([goto('far', 60, ['range', 'g'])], { recovers: 'r1' })
    expect(verdict.components[0].decision).toBe('retained')
    answer(stage, 'approve')
    stage.run(500).arrive(goto('g', 30)).run(1500)
    expect(stage.lastPhase('g')).toBe('completed')
    expect(stage.lastPhase('far')).toBe('blocked prerequisite_failed')
  })

  it('G2: what comes behind the answer rests on what was approved, and is judged by the gate alone', () => {
    const stage = waiting([range, ask(), asking('g', 30), goto('far', 5000, ['range', 'g'])])
    answer(stage, 'approve')
    stage.run(1100)
    stage.say([goto('far', 60, ['range', 'g'])], { recovers: 'r1' })
    stage.arrive(goto('g', 30)).run(1500)
    expect([stage.lastPhase('g'), stage.lastPhase('far')]).toEqual(['completed', 'dispatched'])
  })

  it('G2: differs with the payload of what it covers', () => {
    const digests = [30, 30.001].map((north_m) => pending(waiting([range, ask(), asking('g', north_m)]))[0].consent)
    expect(new Set(digests).size).toBe(2)
  })

  it('is listed with every payload that would fly, and moves the counter neither when it comes nor when it goes', () => {
    const stage = new Stage(core).fly()
    const { n } = stage.control
    stage.say([range, ask('ask', 'to the gate?'), asking('g', 30), asking('h', 60, 'g')])
    stage.run(100)
    expect(stage.control.n).toBe(n)
    expect(pending(stage)).toEqual([
      {
        consent: expect.stringMatching(/^[0-9a-f]{64}$/),
        agent: 'planner',
        plan: 'planner/r1',
        component: 'ask',
        type: 'request.approval',
        payload: { text: 'to the gate?' },
        covers: [
          { component: 'g', type: 'goto', payload: goto('g', 30).payload },
          { component: 'h', type: 'goto', payload: goto('h', 60).payload },
        ],
        expires: 1_700_000_000_000 + stage.now_ms - 100 + 300_000,
      },
    ])
    expect(stage.values('notice').findLast((m) => m.kind === 'request')).toMatchObject({
      consent: pending(stage)[0].consent,
      text: 'to the gate?',
      covers: [{ component: 'g' }, { component: 'h' }],
    })
    answer(stage, 'approve')
    expect(pending(stage)).toEqual([])
    expect(stage.control.n).toBe(n)
  })

  it('shows a payload by the names of its fields and of their members, without what is absent', () => {
    const [click, may] = CLICK
    const lamp = `  lamp:
    kind: action
    payload:
      on: { type: boolean }
      colour: { type: enum, values: [red, green] }
      level: { type: integer, min: 0, max: 9, optional: true }
      blink: { type: boolean, optional: true }
    may_require: { request.approval: completed }
    effect: { mav_cmd: { id: 2000, params: [0, 0, 0, 0, 0, 0, 0] } }

${click[0]}`
    const catalog = referenceCatalog([click[0], lamp], [may[0], 'status, lamp, takeoff'])
    const stage = new Stage(core, { catalog }).fly()
    const lit = { on: true, colour: 'green', level: 3 }
    const dark = { on: false, colour: 'red', blink: false }
    const lamps = [lit, dark].map((payload, i) => ({ id: `l${i}`, type: 'lamp', payload, requires: ['ask'] }))
    stage.say([ask(), ...lamps])
    expect(pending(stage)[0].covers.map(({ payload }: Said) => payload)).toEqual([lit, dark])
  })

  it('G1: holds back what requires it, and approved lets exactly that fly', () => {
    const stage = waiting()
    expect(stage.lastPhase('g')).toBe('retained approval_pending')
    expect(stage.sent).toEqual([])
    answer(stage, 'approve')
    expect(stage.phases('ask')).toEqual(['retained', 'released', 'completed'])
    expect(stage.lastPhase('g')).toBe('dispatched')
    stage.run(500)
    expect(stage.commands()).toEqual(['OFFBOARD'])
  })

  it('G5: approved does not lift the gate: what is unsupported by then is denied', () => {
    const stage = waiting()
    stage.set({ 'battery.remaining': 10 }).run(10)
    answer(stage, 'approve')
    expect(stage.lastPhase('g')).toBe('blocked unsupported')
    expect(stage.sent).toEqual([])
  })

  it('is asked of one agent for four at once: one more has failed', () => {
    const stage = waiting([...['a', 'b', 'c', 'd', 'e'].map((id) => ask(id)), notice('n')])
    expect(pending(stage).map(({ component }) => component)).toEqual(['a', 'b', 'c', 'd'])
    expect(stage.lastPhase('n')).toBe('released')
    expect(stage.phases('e')).toEqual(['retained', 'failed no_capacity'])
    expect(stage.obligations).toMatchObject([{ component: 'e', reason: 'no_capacity', detail: 'consents' }])
  })

  it('two of them are answered apart', () => {
    const stage = waiting([range, ask(), ask('ask2'), asking('g', 30), goto('h', 60, ['range', 'ask2'])])
    expect(pending(stage).map((c) => c.component)).toEqual(['ask', 'ask2'])
    stage.operate('approve', { consent: pending(stage)[1].consent })
    expect(stage.lastPhase('h')).toBe('dispatched')
    expect(stage.lastPhase('g')).toBe('retained approval_pending')
    expect(pending(stage).map((c) => c.component)).toEqual(['ask'])
  })

  it('G1: one of two that an action requires is not enough', () => {
    const stage = waiting([range, ask(), ask('ask2'), asking('g', 30, 'ask2')])
    answer(stage, 'approve')
    expect(stage.lastPhase('g')).toBe('retained approval_pending')
    answer(stage, 'approve')
    expect(stage.lastPhase('g')).toBe('dispatched')
  })
})

describe('an answer that is refused, and nothing changes', () => {
  it.each([
    ['stale: an older counter', (s: Stage) => answer(s, 'approve', { after: s.control.n - 1 }), 'operator_conflict'],
    ['a counter yet to come', (s: Stage) => answer(s, 'approve', { after: s.control.n + 1 }), 'operator_conflict'],
    ['without a counter', (s: Stage) => answer(s, 'approve', { after: undefined }), 'malformed: after'],
    ['of another session', (s: Stage) => answer(s, 'approve', { session: '00000000000000ff' }), 'session_changed'],
    ['another digest', (s: Stage) => answer(s, 'approve', { consent: 'ab'.repeat(32) }), 'operator_conflict'],
    [
      'the beginning of the digest',
      (s: Stage) => answer(s, 'approve', { consent: pending(s)[0].consent.slice(0, 16) }),
      'operator_conflict',
    ],
    ['no digest', (s: Stage) => answer(s, 'approve', { consent: undefined }), 'malformed'],
    ['a digest that is no text', (s: Stage) => answer(s, 'refuse', { consent: 1 }), 'malformed'],
    ['retained', (s: Stage) => send(s, 'approve', bytesOf(s), true), 'retained_message'],
    ['malformed', (s: Stage) => send(s, 'approve', Uint8Array.of(0xff)), 'malformed'],
  ])('G5: %s', (_, act, why) => {
    const stage = waiting()
    const before = untouched(stage)
    act(stage)
    expect(refusal(stage)).toContain(why)
    stage.run(100)
    expect(untouched(stage)).toEqual(before)
    answer(stage, 'approve')
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  it('G3: replayed: the same message twice', () => {
    const stage = waiting()
    const bytes = bytesOf(stage)
    send(stage, 'approve', bytes)
    stage.run(500)
    const before = untouched(stage)
    send(stage, 'approve', bytes)
    expect(refusal(stage)).toContain('operator_conflict')
    expect(untouched(stage)).toEqual(before)
    expect(stage.phases('g')).toEqual(['retained', 'retained approval_pending', 'dispatched'])
  })

  it('conflicting: approved, then refused, by the counter of then or of now', () => {
    const stage = waiting()
    const { consent } = pending(stage)[0]
    const { n } = stage.control
    stage.operate('approve', { consent })
    for (const after of [n, stage.control.n]) {
      const notices = stage.values('notice').length
      stage.operate('refuse', { consent, after })
      expect(stage.values('notice')).toHaveLength(notices + 1)
      expect(refusal(stage)).toContain('operator_conflict')
    }
    expect([stage.lastPhase('ask'), stage.lastPhase('g')]).toEqual(['completed', 'dispatched'])
  })

  it('conflicting: refused, then approved', () => {
    const stage = waiting()
    const { consent } = pending(stage)[0]
    answer(stage, 'refuse').operate('approve', { consent })
    expect(refusal(stage)).toContain('operator_conflict')
    expect([stage.lastPhase('ask'), stage.sent.length]).toEqual(['failed consent_refused', 0])
  })

  it('to what was pending before a restart, though the agent asks the same again', () => {
    const stage = waiting()
    const { consent } = pending(stage)[0]
    const bytes = bytesOf(stage)
    stage.operate('restart')
    expect(pending(stage)).toEqual([])
    expect([stage.lastPhase('ask'), stage.lastPhase('g')]).toEqual([
      'failed session_changed',
      'blocked session_changed',
    ])
    stage.run(1000).say([range, ask(), asking('g', 30)])
    stage.run(100)
    expect(pending(stage)[0].consent).not.toBe(consent)
    send(stage, 'approve', bytes)
    expect(refusal(stage)).toContain('session_changed')
    stage.operate('approve', { consent })
    expect(refusal(stage)).toContain('operator_conflict')
    expect(stage.sent).toEqual([])
  })
})

describe('G2: a consent is never inherited by a later instance', () => {
  /** `g` was lost with an obligation; the consent was given, for it and `h`. */
  const approvedThenLost = (): Stage => {
    const stage = waiting([range, ask(), asking('g', 30), asking('h', 60, 'g')])
    stage.set({ 'battery.remaining': 10 }).run(10)
    answer(stage, 'approve')
    expect([stage.lastPhase('g'), stage.lastPhase('h')]).toEqual(['blocked unsupported', 'blocked prerequisite_failed'])
    return stage.set({ 'battery.remaining': 90 }).run(1200)
  }

  it('a recovered action that names the consent of its predecessor is prerequisite_failed', () => {
    const stage = approvedThenLost()
    const verdict = stage.say([asking('g', 30)], { recovers: 'r1' })
    expect(verdict.components).toMatchObject([{ id: 'g', decision: 'retained' }])
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_failed')
    stage.run(500)
    expect(stage.sent).toEqual([])
    expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', reason: 'prerequisite_failed' })
  })

  it('a recovered action that joins a request still pending was not shown, and is denied', () => {
    const stage = waiting([range, ask(), velocity('v', 5), asking('g', 30, 'v'), asking('h', 60)])
    const { consent } = pending(stage)[0]
    stage.set({ 'battery.remaining': 10 }).run(20) // ends `v`, and `g` with it; `h` waits for the consent
    stage.set({ 'battery.remaining': 90 }).run(1200)
    expect([stage.lastPhase('v'), stage.lastPhase('g')]).toEqual(['failed unsupported', 'blocked prerequisite_failed'])
    const verdict = stage.say([velocity('v', 1), asking('g', 40, 'v')], { recovers: 'r1' })
    expect(verdict.components.map((c: Said) => c.decision)).toEqual(['retained', 'retained'])
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_failed')
    expect(pending(stage).map((c) => c.consent)).toEqual([consent])
    answer(stage.run(3000), 'approve').run(3000)
    expect([stage.lastPhase('g'), stage.lastPhase('h')]).toEqual(['blocked prerequisite_failed', 'dispatched'])
  })

  it('a recovered action that joins before anybody was asked is not of that response, and is denied', () => {
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 5), { ...ask(), requires: ['v'] }, asking('g', 900), asking('h', 60)])
    stage.run(2000)
    expect(stage.say([asking('g', 30)], { recovers: 'r1' }).components[0].decision).toBe('retained')
    expect(stage.lastPhase('ask')).toBe('retained prerequisite_not_ready')
    stage.run(4000)
    expect(pending(stage)).toMatchObject([{ component: 'ask', covers: [{ component: 'h' }] }])
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_failed')
  })

  it('a recovery that asks afresh is shown, named and flown', () => {
    const stage = approvedThenLost()
    stage.say([ask(), asking('g', 30)], { recovers: 'r1' })
    stage.run(100)
    expect(stage.lastPhase('g')).toBe('retained approval_pending')
    expect(pending(stage)).toMatchObject([{ covers: [{ component: 'g' }] }])
    answer(stage, 'approve')
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  it('a new plan starts without it, and the old one is not pending any more', () => {
    const stage = waiting()
    const { consent } = pending(stage)[0]
    stage.say([range, ask(), asking('g', 30)])
    stage.run(100)
    expect(stage.values('outcome/planner').find((o) => o.component === 'ask' && o.phase === 'superseded')).toBeDefined()
    expect(pending(stage)).toHaveLength(1)
    expect(pending(stage)[0].consent).not.toBe(consent)
    stage.operate('approve', { consent })
    expect(refusal(stage)).toContain('no such consent is pending')
    expect(stage.sent).toEqual([])
  })
})

describe('an action that needs a consent by the catalog', () => {
  const strict = (): Stage => new Stage(core, { catalog: referenceCatalog(CONSENT_FIRST) }).fly()

  it('G1: cannot leave it out: prerequisite_missing', () => {
    const verdict = strict().say([range, ask(), goto('g', 30)])
    expect(verdict.components[2]).toMatchObject({ reason: 'prerequisite_missing', detail: 'request.approval' })
  })

  it('G1: cannot put another type in its place', () => {
    const verdict = strict().say([range, plain('status', 'ask'), asking('g', 30)])
    expect(verdict.components[2].decision).toBe('withheld')
  })

  it('G2: is denied where the consent does not cover it, and flies where it does', () => {
    const stage = strict()
    stage.say([range, ask(), asking('g', 30)])
    stage.run(100).set({ 'battery.remaining': 10 }).run(10)
    answer(stage, 'approve').set({ 'battery.remaining': 90 }).run(1200)
    stage.say([asking('g', 30)], { recovers: 'r1' })
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_failed')
    stage.run(1200).say([ask(), asking('g', 30)], { recovers: 'r1' })
    answer(stage.run(100), 'approve').run(500)
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.commands()).toEqual(['OFFBOARD'])
  })
})

describe('refused', () => {
  it('the request fails consent_refused, what rests on it is blocked, and no obligation opens', () => {
    const stage = waiting([range, ask(), asking('g', 30), goto('h', 60, ['range', 'g']), goto('free', 20)])
    answer(stage, 'refuse')
    expect(stage.lastPhase('ask')).toBe('failed consent_refused')
    expect([stage.lastPhase('g'), stage.lastPhase('h')]).toEqual([
      'blocked prerequisite_failed',
      'blocked prerequisite_failed',
    ])
    expect(stage.lastPhase('free')).toBe('dispatched')
    expect(stage.values('obligation/planner')).toEqual([])
    expect(pending(stage)).toEqual([])
  })

  it('G4: the agent has no way back into that plan', () => {
    const stage = waiting()
    answer(stage, 'refuse').run(1200)
    const verdict = stage.say([ask(), asking('g', 30)], { recovers: 'r1' })
    expect(verdict.components[1]).toMatchObject({ decision: 'withheld', reason: 'out_of_scope' })
    expect(stage.run(100).sent).toEqual([])
  })
})

describe('it is not pending any more', () => {
  it('after its wait: expired, with an obligation', () => {
    const stage = waiting([range, ask()])
    stage.run(299_000, 1000)
    expect(stage.lastPhase('ask')).toBe('released')
    stage.run(2_000, 1000)
    expect(stage.lastPhase('ask')).toBe('expired expired')
    expect(stage.obligations).toMatchObject([{ component: 'ask', reason: 'expired' }])
    expect(pending(stage)).toEqual([])
  })

  it('once nothing uncrossed requires it: expired, without an obligation of its own', () => {
    const stage = new Stage(core, {
      catalog: referenceCatalog([
        'uses: flight\n    expires: 10s\n    patience: 0s',
        'uses: flight\n    expires: 10s\n    wait: 20s\n    patience: 0s',
      ]),
    }).fly()
    stage.say([range, ask(), asking('g', 30)])
    const { consent } = pending(stage)[0]
    stage.run(21_000, 100)
    expect(stage.lastPhase('g')).toBe('expired expired')
    expect(stage.lastPhase('ask')).toBe('expired expired')
    expect(stage.obligations.map((o) => o.component)).toEqual(['g'])
    expect(pending(stage)).toEqual([])
    stage.operate('approve', { consent })
    expect(refusal(stage)).toContain('no such consent is pending')
  })

  it('not before: one that still waits keeps it', () => {
    const stage = waiting([range, ask(), velocity('v', 5), asking('g', 30, 'v'), asking('h', 60)])
    stage.set({ 'battery.remaining': 10 }).run(20)
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_failed')
    expect(pending(stage)).toHaveLength(1)
  })
})

describe('pause, the latch, and a pending consent', () => {
  it('pause revokes what it covers, so nothing is left to approve, and resume brings nothing back', () => {
    const stage = waiting()
    const bytes = bytesOf(stage)
    const { consent } = pending(stage)[0]
    stage.operate('pause')
    expect(stage.lastPhase('g')).toBe('blocked paused')
    expect(stage.lastPhase('ask')).toBe('expired expired')
    expect(pending(stage)).toEqual([])
    send(stage, 'approve', bytes)
    expect(refusal(stage)).toContain('operator_conflict')
    stage.operate('resume').operate('approve', { consent })
    expect(refusal(stage)).toContain('operator_conflict')
    stage.run(500)
    expect(stage.sent).toEqual([])
  })

  it('one that covers no action outlives a pause, and an answer of before it is stale', () => {
    const stage = waiting([ask()])
    const bytes = bytesOf(stage)
    stage.operate('pause').operate('resume')
    expect(pending(stage)).toHaveLength(1)
    send(stage, 'approve', bytes)
    expect(refusal(stage)).toContain('operator_conflict')
    answer(stage, 'approve')
    expect(stage.lastPhase('ask')).toBe('completed')
  })

  it('G5: a takeover while it is pending ends it: the consent was for a vehicle that we had', () => {
    const stage = waiting()
    stage.taken('POSITION').run(100)
    expect(stage.control.pilot_control).toBe(true)
    expect(stage.lastPhase('g')).toBe('blocked pilot_control')
    expect(pending(stage)).toEqual([])
  })

  it('pause and latch are journalled, a consent is not: a process that starts again asks again', () => {
    const stage = waiting()
    const bytes = bytesOf(stage)
    stage.taken('POSITION').run(100)
    stage.operate('pause')
    expect(stage.journal).toEqual({ paused: true, pilotControl: true, revoked: [], intents: [] })
    const next = new Stage(core, { journal: stage.journal!, sessions: 1 }).fly()
    expect(next.control).toMatchObject({ paused: true, pilot_control: true, pending: [] })
    send(next, 'approve', bytes)
    expect(refusal(next)).toContain('session_changed')
    next.operate('resume').say([range, ask(), asking('g', 30)])
    expect(next.journal).toEqual({ paused: false, pilotControl: false, revoked: [], intents: [] })
    expect(pending(next.run(100))).toHaveLength(1)
    expect(next.sent).toEqual([])
  })

  it('revoked, its agent has nothing left to approve', () => {
    const stage = waiting().operate('revoke', { agent: 'planner' })
    expect(stage.lastPhase('g')).toBe('blocked agent_revoked')
    expect(pending(stage)).toEqual([])
  })
})
