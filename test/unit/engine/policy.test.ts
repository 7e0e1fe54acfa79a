// Rules beside the catalog, at work in the engine (PROTOCOL 13): at the gate, on what happens beside it, and never as a key.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HostPredicate } from '../../../src/agentspec/index.ts'
import { RuleError } from '../../../src/agentspec/index.ts'
import type { CoreFactory } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { Policy } from '../../../src/engine/rules/policy.ts'
import { encode } from '../../../src/wire/write.ts'
import { cores } from '../../oracle/cores.ts'
import {
  type ComponentSaid,
  goto,
  notice,
  plain,
  predicates,
  range,
  referenceCatalog,
  type Said,
  SCOUT,
  Stage,
  takeoff,
  velocity,
} from './stage.ts'

/** `drained` below 50 %, `high` above 8 m, `noisy` not finite at 90 %, `mapped` while the ground's map is 2. */
const PREDICATES = predicates(
  'drained: state.battery.remaining < 50',
  'high: payload.alt > 8',
  'noisy: 1 / (state.battery.remaining - 90) > 0',
  'mapped: state.map == 2',
)
const catalog = referenceCatalog(PREDICATES)
const rule = (id: string, trigger: string, check: string, ...enforce: string[]): string =>
  `rule @${id} trigger ${trigger} check ${check} enforce ${enforce.join(' ')} end\n`

const staged = (core: CoreFactory, rules: string, host: Readonly<Record<string, HostPredicate>> = {}): Stage =>
  new Stage(core, { catalog, rules, host })
const ask: ComponentSaid = { id: 'ask', type: 'request.approval', payload: { text: 'may I?' } }
/** In the air, with these rules, from now on. */
const flying = (core: CoreFactory, rules: string, host?: Readonly<Record<string, HostPredicate>>): Stage =>
  staged(core, rules, host).fly()

/** What was told of rules that were carried out. */
const told = (stage: Stage): Said[] => stage.values('notice').filter(({ kind }) => kind === 'rule')
const tellings = (stage: Stage): string[] => told(stage).map(({ text }) => text)
const pending = (stage: Stage): Said[] => (stage.control as Said).pending
const answer = (stage: Stage, verb: 'approve' | 'refuse'): Stage =>
  stage.operate(verb, { consent: pending(stage)[0].consent })
const detail = (stage: Stage, component: string): unknown =>
  stage.values('outcome/planner').findLast((o) => o.component === component)?.detail

/** This field is not heard of any more. */
const silence = (stage: Stage, field: string): Stage => {
  stage.world.delete(field)
  return stage
}

describe.each(cores)('rules at the gate (PROTOCOL 13), %s', (_, core) => {
  it('none records, once a component, and everything goes on', () => {
    const stage = flying(core, rule('seen', 'goto', 'true', 'none'))
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500)
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(told(stage)).toEqual([
      expect.objectContaining({
        plan: 'planner/r1',
        component: 'g',
        text: 'none by @seen',
        rules: ['seen'],
        faults: [],
      }),
    ])
  })

  it('skip denies this one, opens an obligation, and leaves the rest alone', () => {
    const stage = flying(core, rule('too_high', 'goto', 'high', 'skip'))
    const deep = { ...goto('deep', 30), payload: { ...goto('deep', 30).payload, alt: 6 } }
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g']), deep, notice('n')])
    stage.run(300)
    expect(stage.lastPhase('g')).toBe('blocked rule')
    expect(detail(stage, 'g')).toBe('@too_high')
    expect(stage.lastPhase('h')).toBe('blocked prerequisite_failed')
    expect(stage.lastPhase('deep')).toBe('dispatched')
    expect(stage.lastPhase('n')).toBe('released')
    expect(stage.obligations).toEqual([
      expect.objectContaining({
        component: 'g',
        reason: 'rule',
        detail: '@too_high',
        route: 'agent',
        scope: [
          { id: 'g', type: 'goto' },
          { id: 'h', type: 'goto' },
        ],
      }),
    ])
    expect(tellings(stage)).toEqual(['skip by @too_high'])
  })

  it('stop denies it and supersedes the plan: a live lease ends with its contingency, nothing more crosses', () => {
    const waits = 'may_require: { takeoff: completed'
    const asking = referenceCatalog(PREDICATES, [waits, waits.replace('{', '{ request.approval: completed,')])
    const stage = new Stage(core, { catalog: asking, rules: rule('no_word', 'notice.operator', 'true', 'stop') }).fly()
    stage.say([range, ask, velocity('v', 5), goto('g', 30, ['range', 'v']), { ...notice('n'), requires: ['ask'] }])
    stage.run(500)
    expect(stage.lastPhase('v')).toBe('dispatched')
    const from_ms = stage.now_ms
    answer(stage, 'approve')
    expect(stage.lastPhase('n')).toBe('blocked rule')
    expect(detail(stage, 'n')).toBe('@no_word')
    expect(stage.lastPhase('v')).toBe('superseded superseded')
    expect(stage.lastPhase('g')).toBe('superseded superseded')
    expect(stage.modesSent(from_ms)).toEqual(['HOLD'])
    const stopped = stage.setpoints().length
    stage.run(1000)
    expect(stage.setpoints()).toHaveLength(stopped)
    expect(stage.obligations).toEqual([])
    expect(stage.say([range], { recovers: 'r1' }).reason).toBe('no_such_plan')
  })

  it('are asked only about what the core would allow: a denied or deferred component raises no event', () => {
    const asked: string[] = []
    const spy: HostPredicate = {
      parameters: [],
      test: (_, { subject }) => {
        asked.push((subject as { instance: { id: string } }).instance.id)
        return false
      },
    }
    const stage = flying(core, rule('spy', 'before_action', 'spied', 'stop'), { spied: spy })
    stage.say([range, velocity('v', 1), goto('g', 30, ['range', 'v']), velocity('busy', 1)])
    stage.run(500)
    expect(asked).toEqual(['v'])
    stage.set({ map: 2 }).run(800)
    expect(stage.lastPhase('g')).toBe('blocked changed')
    expect([...new Set(asked)]).toEqual(['v', 'busy'])
  })

  it('notices and reports raise their type and `any`, and before_action does not concern them', () => {
    const rules =
      rule('actions', 'before_action', 'true', 'none') +
      rule('said', 'notice.operator', 'true', 'none') +
      rule('all', 'any', 'true', 'none')
    const stage = flying(core, rules)
    stage.say([notice('n'), range, plain('status'), goto('g', 30)])
    stage.run(200)
    const of = (id: string) => told(stage).find(({ component }) => component === id)?.rules
    expect(of('n')).toEqual(['said', 'all'])
    expect(of('range')).toEqual(['all'])
    expect(of('status')).toEqual(['all'])
    expect(of('g')).toEqual(['actions', 'all'])
  })

  it('one that names several types concerns each of them, and `before_action` beside a type no other', () => {
    const rules =
      rule('both', 'goto | notice.operator', 'true', 'skip') + rule('acts', 'hold | before_action', 'true', 'none')
    const stage = flying(core, rules)
    stage.say([range, notice('n'), goto('g', 30), plain('status')])
    expect(stage.lastPhase('n')).toBe('blocked rule')
    expect(stage.lastPhase('g')).toBe('blocked rule')
    expect(stage.lastPhase('status')).toBe('released')
    expect(told(stage).map(({ rules }) => rules)).toEqual([['both'], ['both', 'acts']])
  })

  it('several at once: the strictest wins, and every violated rule is in the notice', () => {
    const rules =
      rule('a', 'goto', 'true', 'none') +
      rule('b', 'before_action', 'true', 'user_inspection') +
      rule('c', 'goto', 'drained', 'stop') +
      rule('d', 'any', 'true', 'none')
    const skip = rule('e', 'goto', '!drained', 'skip')
    const held = flying(core, rules)
    held.say([range, goto('g', 30)])
    expect(held.lastPhase('g')).toBe('retained approval_pending')
    expect(pending(held)[0].rules).toEqual(['a', 'b', 'd'])
    const skipped = flying(core, rules + skip)
    skipped.say([range, goto('g', 30)])
    expect(skipped.lastPhase('g')).toBe('blocked rule')
    expect(tellings(skipped)).toContain('skip by @a @b @d @e')
    const stopped = flying(core, rules + skip)
    stopped.set({ 'battery.remaining': 45 }).say([range, goto('g', 30)])
    expect(tellings(stopped)).toContain('stop by @a @b @c @d')
  })

  describe('llm_self_examine', () => {
    const rules = rule('think', 'goto', 'high', 'llm_self_examine("why so high?")')

    it('G4: denies, and the obligation carries what the rule says', () => {
      const stage = flying(core, rules)
      stage.say([range, goto('g', 30)])
      expect(stage.lastPhase('g')).toBe('blocked rule')
      expect(stage.obligations).toEqual([
        expect.objectContaining({
          component: 'g',
          reason: 'rule',
          detail: '@think',
          condition: 'why so high?',
          route: 'agent',
        }),
      ])
    })

    it('three attempts, and then it is skipped and the operator has it', () => {
      const stage = flying(core, rules)
      stage.say([range, goto('g', 30)])
      for (let attempt = 1; attempt <= 3; attempt++) {
        stage.run(1100)
        stage.say([range, goto('g', 30 + attempt)], { recovers: 'r1' })
      }
      expect(tellings(stage)).toEqual([...Array<string>(3).fill('llm_self_examine by @think'), 'skip by @think'])
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', route: 'operator' })
      stage.run(1100)
      expect(stage.say([range, goto('g', 30)], { recovers: 'r1' }).components[1].reason).toBe('attempts_exhausted')
    })

    it('is no looser for being looked at by a person as well', () => {
      const stage = flying(core, rules + rule('look', 'goto', 'true', 'user_inspection'))
      stage.say([range, goto('g', 30)])
      if (pending(stage).length > 0) answer(stage, 'approve')
      stage.run(200)
      expect(stage.phases('g')).toEqual(['retained', 'retained approval_pending', 'blocked rule'])
      expect(stage.obligations).toMatchObject([{ component: 'g', condition: 'why so high?' }])
    })
  })

  describe('user_inspection', () => {
    const rules = rule('look', 'goto', 'high', 'user_inspection')
    const held = (): Stage => {
      const stage = flying(core, rules)
      stage.say([range, goto('g', 30)])
      return stage.run(200)
    }

    it('holds it as a consent in `control`, with digest and payload', () => {
      const stage = held()
      expect(stage.phases('g')).toEqual(['retained', 'retained approval_pending'])
      expect(detail(stage, 'g')).toBe('@look')
      expect(pending(stage)).toEqual([
        {
          consent: expect.stringMatching(/^[0-9a-f]{64}$/),
          agent: 'planner',
          plan: 'planner/r1',
          component: 'g',
          type: 'goto',
          payload: goto('g', 30).payload,
          rules: ['look'],
          covers: [],
          expires: 1_700_000_000_000 + stage.now_ms - 200 + 300_000,
        },
      ])
      expect(stage.sent).toEqual([])
    })

    it('approved, it crosses, once', () => {
      const stage = answer(held(), 'approve')
      expect(stage.lastPhase('g')).toBe('dispatched')
      expect(pending(stage)).toEqual([])
      expect(tellings(stage)).toEqual(['user_inspection by @look'])
    })

    it('G1: approved, the core still has the last word', () => {
      const stage = held()
      stage.set({ map: 2 })
      expect(stage.lastPhase('g')).toBe('blocked changed')
      expect(pending(stage)).toEqual([])
      const busy = flying(core, rules)
      busy.say([range, goto('g', 30), velocity('v', 1)])
      busy.run(500)
      expect(busy.lastPhase('v')).toBe('dispatched')
      answer(busy, 'approve')
      expect(busy.lastPhase('g')).not.toBe('dispatched')
      busy.set({ 'battery.remaining': 20 }).run(2000)
      expect(busy.lastPhase('g')).toBe('blocked unsupported')
    })

    it('refused, it ends as with stop', () => {
      const stage = held()
      const before = stage.sent.length
      answer(stage, 'refuse')
      expect(stage.lastPhase('g')).toBe('blocked consent_refused')
      expect(detail(stage, 'g')).toBe('@look')
      expect(tellings(stage)).toEqual(['stop by @look'])
      expect(stage.say([range], { recovers: 'r1' }).reason).toBe('no_such_plan')
      stage.run(500)
      expect(stage.sent.length).toBe(before)
      expect(stage.obligations).toEqual([])
    })

    it('G5: refused while the resource is taken, it does not fly once the rule has nothing more against it', () => {
      const stage = flying(core, rule('look', 'goto', 'drained', 'user_inspection'))
      stage.set({ 'battery.remaining': 45 })
      stage.say([range, goto('g', 30), velocity('v', 1)])
      stage.run(200)
      expect(stage.lastPhase('v')).toBe('dispatched')
      answer(stage, 'refuse').set({ 'battery.remaining': 80 }).run(2000)
      expect(stage.lastPhase('g')).toBe('blocked consent_refused')
    })

    it('G5: an answer is for the rules that were shown, and no more', () => {
      const stage = flying(core, rules + rule('weak', 'goto', 'drained', 'user_inspection'))
      stage.say([range, goto('g', 30)])
      const [shown] = pending(stage)
      const { n, session } = stage.control
      stage.set({ 'battery.remaining': 45 }).run(100)
      expect(pending(stage)[0].rules).toEqual(['look', 'weak'])
      expect(stage.control.n).toBe(n)
      const bytes = encode({ v: 1, session, after: n, consent: shown.consent })
      stage.published.push(...stage.runtime.operate('approve', bytes, false, stage.now_ms))
      expect(stage.lastPhase('g')).toBe('retained approval_pending')
      stage.operate('approve', { consent: shown.consent })
      expect(stage.lastPhase('g')).toBe('retained approval_pending')
      expect(stage.values('notice').at(-1).text).toMatch(
        /^operator\/approve refused: operator_conflict: no such consent/,
      )
      answer(stage, 'approve')
      expect(stage.lastPhase('g')).toBe('dispatched')
    })

    it('G5: of one agent four wait at once, and the next is asked about when there is room', () => {
      const stage = flying(core, rule('look', 'notice.operator', 'true', 'user_inspection'))
      stage.say(Array.from({ length: 6 }, (_, i) => notice(`n${i}`)))
      const asked = () => pending(stage).map(({ component }) => component)
      expect(asked()).toEqual(['n0', 'n1', 'n2', 'n3'])
      expect(stage.lastPhase('n5')).toBe('retained approval_pending')
      answer(stage, 'approve')
      expect(stage.lastPhase('n0')).toBe('released')
      expect(asked()).toEqual(['n1', 'n2', 'n3', 'n4'])
    })

    it('G5: the four of one agent leave room for another, and are asked anew when a rule joins in', () => {
      const everything = rule('look', 'notice.operator', 'true', 'user_inspection')
      const stage = new Stage(core, {
        catalog: referenceCatalog(SCOUT, PREDICATES),
        rules: everything + rule('weak', 'notice.operator', 'drained', 'user_inspection'),
      }).fly()
      stage.say(Array.from({ length: 6 }, (_, i) => notice(`n${i}`)))
      stage.say([notice('s')], {}, 'scout')
      expect(pending(stage).map(({ component }) => component)).toEqual(['n0', 'n1', 'n2', 'n3', 's'])
      stage.set({ 'battery.remaining': 45 }).run(1000) // in turns
      expect(pending(stage).map(({ rules }) => rules)).toEqual(new Array(5).fill(['look', 'weak']))
    })

    it('unanswered, it expires after its `wait`', () => {
      const stage = new Stage(core, {
        catalog: referenceCatalog(PREDICATES, ['    patience: 0s\n', '    patience: 0s\n    wait: 5s\n']),
        rules,
      }).fly()
      stage.say([range, goto('g', 30)])
      stage.run(5020)
      expect(stage.lastPhase('g')).toBe('expired expired')
      expect(pending(stage)).toEqual([])
    })
  })

  describe('invoke_action', () => {
    it('comes before the component that brought it, once, and raises no event', () => {
      const rules =
        rule('still', 'goto', 'true', 'invoke_action(hold)') + rule('count', 'hold | after_action', 'true', 'none')
      const stage = flying(core, rules)
      stage.say([range, goto('g', 30)])
      expect(stage.modesSent()).toEqual(['HOLD'])
      expect(stage.lastPhase('g')).not.toBe('dispatched')
      stage.run(1000)
      expect(stage.lastPhase('g')).toBe('dispatched')
      expect(stage.modesSent()).toEqual(['HOLD', 'OFFBOARD'])
      expect(tellings(stage)).toEqual(['invoke_action by @still'])
    })

    it('a live lease ends by the rule, with that contingency and not its own', () => {
      const stage = flying(core, rule('down', 'state_change', 'mapped', 'invoke_action(land)'))
      stage.say([range, velocity('v', 5)])
      stage.run(500)
      const from_ms = stage.now_ms
      stage.set({ map: 2 })
      expect(stage.lastPhase('v')).toBe('failed rule')
      expect(detail(stage, 'v')).toBe('@down')
      expect(stage.modesSent(from_ms)).toEqual(['LAND'])
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'v', reason: 'rule', detail: '@down' })
    })

    it('is done once a component, also where another rule joins in later', () => {
      const rules = rule('still', 'goto', 'true', 'invoke_action(hold)') + rule('weak', 'goto', 'drained', 'none')
      const stage = flying(core, rules)
      stage.say([range, goto('g', 30)])
      stage.set({ 'battery.remaining': 45 }).run(500)
      expect(stage.modesSent()).toEqual(['HOLD', 'OFFBOARD'])
      expect(stage.lastPhase('g')).toBe('dispatched')
      expect(tellings(stage)).toEqual(['invoke_action by @still', 'invoke_action by @still @weak'])
    })

    it('skip with it, the component does not cross and the vehicle is brought down', () => {
      const stage = flying(core, rule('down', 'goto', 'high', 'skip', 'invoke_action(land)'))
      stage.say([range, goto('g', 30)])
      expect(stage.lastPhase('g')).toBe('blocked rule')
      expect(stage.modesSent()).toEqual(['LAND'])
    })

    it('stop with it: the invoked contingency and not that of the lease', () => {
      const stage = flying(core, rule('down', 'state_change', 'mapped', 'stop', 'invoke_action(land)'))
      stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      stage.run(500)
      const from_ms = stage.now_ms
      stage.set({ map: 2 }).run(100)
      expect(stage.modesSent(from_ms)[0]).toBe('LAND')
      expect(stage.modesSent(from_ms)).not.toContain('HOLD')
      expect(stage.lastPhase('h')).toBe('superseded superseded')
    })

    it('refused by a person, what the rule invokes is done as with stop', () => {
      const stage = flying(core, rule('down', 'goto', 'true', 'user_inspection', 'invoke_action(land)'))
      stage.say([range, goto('g', 30)])
      stage.run(100)
      expect(stage.modesSent()).toEqual([])
      answer(stage, 'refuse')
      expect(stage.lastPhase('g')).toBe('blocked consent_refused')
      expect(stage.modesSent()).toEqual(['LAND'])
    })

    it('what was under way as a contingency gives way to it', () => {
      const stage = flying(core, rule('down', 'state_change', 'mapped', 'invoke_action(land)'))
      stage.say([range, goto('g', 30)])
      stage.run(500)
      stage.obeys = false
      stage.set({ 'battery.remaining': 20 }).run(50)
      expect(stage.modesSent().at(-1)).toBe('HOLD')
      const from_ms = stage.now_ms
      stage.set({ map: 2 })
      stage.obeys = true
      stage.run(1000)
      expect(stage.modesSent(from_ms)).not.toContain('HOLD')
      expect(stage.modesSent(from_ms)[0]).toBe('LAND')
    })

    it('what it brings about does not bring it about again: a landing that was invoked comes to rest', () => {
      const stage = flying(core, rule('down', 'state_change', 'drained', 'invoke_action(land)'))
      stage.set({ 'battery.remaining': 45, map: 2 }).run(500)
      stage.set({ 'position.alt': 0 }).show({ landed: 'ON_GROUND' }).run(500).show({ armed: false }).run(2000)
      const from_ms = stage.now_ms
      stage.run(2000)
      expect(stage.commands(from_ms)).toEqual([])
    })

    it('does nothing to what stands disarmed on the ground, unless an effect is under way there', () => {
      const rules = rule('down', 'state_change', 'drained', 'invoke_action(land)')
      const drain = (stage: Stage): Stage => stage.set({ 'battery.remaining': 45, map: 2 })
      const resting = new Stage(core, { catalog, rules }).run(1000)
      expect(drain(resting).run(500).commands()).toEqual([])
      const armed = new Stage(core, { catalog, rules }).run(1000).show({ armed: true })
      expect(drain(armed).commands()).toEqual(['LAND'])
      const starting = new Stage(core, { catalog, rules, obeys: false }).run(1000)
      starting.say([takeoff('t')])
      expect(drain(starting).lastPhase('t')).toBe('failed rule')
      expect(starting.commands()).toEqual(['HOLD', 'LAND'])
    })

    it('G5: never under pilot control', () => {
      const rules = rule('down', 'state_change | notice.operator', 'true', 'invoke_action(land)')
      const stage = flying(core, rules)
      stage.run(500)
      stage.taken('POSITION')
      expect(stage.control.pilot_control).toBe(true)
      const from_ms = stage.now_ms + 1
      stage
        .run(100)
        .set({ map: 2 })
        .say([notice('n')])
      stage.run(500)
      expect(stage.commands(from_ms)).toEqual([])
      expect(stage.lastPhase('n')).toBe('released')
    })

    it('G5: obeys the mode guard', () => {
      const stage = flying(core, rule('down', 'state_change', 'mapped', 'invoke_action(land)'))
      stage.set({ critical: 1, map: 2 }).run(1000)
      expect(tellings(stage).at(-1)).toBe('invoke_action by @down')
      expect(stage.commands(2000)).toEqual([])
    })
  })

  describe('G5: what cannot be known counts as violated', () => {
    const of = (check: string, host?: Readonly<Record<string, HostPredicate>>): Stage =>
      flying(core, rule('r', 'hold', check, 'skip'), host)
    const predicate = (test: () => unknown, asynchronous = false): Record<string, HostPredicate> => ({
      asked: { parameters: [], test: test as HostPredicate['test'], asynchronous },
    })

    it.each<[string, string, (s: Stage) => unknown, Record<string, HostPredicate>?]>([
      ['unknown', 'mapped', (s) => s.set({ map: Number.NaN })],
      ['stale', 'drained', (s) => silence(s, 'battery.remaining').run(1100)],
      ['not finite', 'noisy', (s) => s],
      [
        'throwing',
        'asked',
        (s) => s,
        predicate(() => {
          throw new Error('no')
        }),
      ],
      ['no boolean', 'asked', (s) => s, predicate(() => 1)],
      ['answered later', 'asked', (s) => s, predicate(() => Promise.resolve(false))],
    ])('%s', (_, check, spoil, host) => {
      for (const literal of [check, `!${check}`]) {
        const stage = of(literal, host)
        spoil(stage)
        stage.say([plain('hold')])
        expect(stage.lastPhase('hold')).toBe('blocked rule')
        expect(told(stage)[0].faults).toEqual([expect.stringMatching(/^@r: (mapped|drained|noisy|asked): /)])
      }
    })

    it('and what is known to be false is not', () => {
      for (const check of ['mapped', 'drained', '!drained & mapped']) {
        const stage = of(check)
        stage.say([plain('hold')])
        expect(stage.lastPhase('hold')).toBe('dispatched')
      }
    })
  })
})

describe('rules beside the gate (PROTOCOL 13)', () => {
  const core = loadCore

  it('state_change comes with discrete changes only, once a step', () => {
    const asked: number[] = []
    const seen: HostPredicate = { parameters: [], test: () => asked.push(1) < 0 }
    const stage = flying(core, rule('seen', 'state_change', 'seen', 'none'), { seen }).run(500)
    const before = asked.length
    stage.set({ 'battery.remaining': 80, 'position.alt': 12, heading: 90 }).run(500)
    expect(asked).toHaveLength(before)
    stage.set({ map: 2, 'gps.fix': 4 })
    expect(asked).toHaveLength(before + 1)
    stage.run(500)
    expect(asked).toHaveLength(before + 1)
    stage.set({ map: Number.NaN }).set({ map: 2 })
    expect(asked).toHaveLength(before + 2) // a return from unknown is a new version
  })

  it('a rule is told and invokes when it becomes violated, not at every change while it stays so', () => {
    const stage = flying(core, rule('down', 'state_change', 'drained', 'invoke_action(hold)')).run(500)
    const before = told(stage).length // at the session's start nothing was known
    stage.set({ 'battery.remaining': 45, map: 2 }).run(1000)
    expect(told(stage)).toHaveLength(before + 1)
    const { length } = stage.modesSent()
    expect(length).toBe(1)
    stage.set({ map: 3 }).run(1000).set({ map: 4 }).run(1000)
    expect(told(stage)).toHaveLength(before + 1)
    expect(stage.modesSent()).toHaveLength(length)
    stage.set({ 'battery.remaining': 90, map: 5 }).run(1000).set({ 'battery.remaining': 45, map: 6 }).run(1000)
    expect(told(stage)).toHaveLength(before + 2)
    expect(stage.modesSent()).toHaveLength(length + 1)
  })

  it('what other events violate is told each time, and leaves what stands as it is', () => {
    const rules =
      rule('both', 'state_change | after_action', 'mapped', 'none') +
      rule('down', 'state_change', 'drained', 'invoke_action(hold)')
    const stage = flying(core, rules).run(500)
    stage.set({ 'battery.remaining': 45, map: 2 }).run(1000)
    const before = told(stage).length
    stage.say([range, velocity('v', 1)])
    stage.run(3000)
    expect(stage.lastPhase('v')).toBe('completed')
    expect(tellings(stage).slice(before)).toEqual(['none by @both'])
    stage.set({ map: 3 }).run(1000)
    expect(told(stage)).toHaveLength(before + 1)
  })

  it('G5: what is not known stops plans and moves nothing, as when a session begins in the air', () => {
    const rules = rule('down', 'state_change', 'drained', 'invoke_action(land)')
    const stage = flying(core, rules).run(500)
    stage.operate('restart').run(3000)
    stage.set({ 'battery.remaining': Number.NaN, map: 2 }).run(500)
    expect(tellings(stage).at(-1)).toBe('invoke_action by @down')
    expect(stage.modesSent()).toEqual([])
    const stopping = flying(core, rule('blind', 'state_change', 'drained', 'stop')).run(500)
    stopping.say([range, goto('g', 30)])
    stopping.run(1000).set({ 'battery.remaining': Number.NaN, map: 2 })
    expect(stopping.lastPhase('g')).toMatch(/superseded|failed state_unknown/)
  })

  it('stop on it ends the plans of all agents, live leases with their contingency', () => {
    const stage = flying(core, rule('leave', 'state_change', 'mapped', 'stop'))
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500)
    const from_ms = stage.now_ms
    stage.set({ map: 2 })
    expect(stage.lastPhase('g')).toBe('superseded superseded')
    expect(stage.lastPhase('h')).toBe('superseded superseded')
    expect(stage.modesSent(from_ms)).toEqual(['HOLD'])
  })

  it('after_action comes after a completed action, and not after a failed one', () => {
    const stage = flying(core, rule('done', 'after_action', 'true', 'none'))
    stage.say([range, velocity('v', 1), goto('g', 30, ['range', 'v'])])
    stage.run(500)
    expect(told(stage)).toEqual([])
    stage.run(1000)
    expect(stage.lastPhase('v')).toBe('completed')
    expect(tellings(stage)).toEqual(['none by @done'])
    stage.set({ 'battery.remaining': 20 })
    expect(stage.lastPhase('g')).toBe('failed unsupported')
    expect(told(stage)).toHaveLength(1)
  })

  it('stop after an action lets nothing of its plan follow', () => {
    const stage = flying(core, rule('enough', 'after_action', 'true', 'stop'))
    stage.say([range, velocity('v', 1), goto('g', 30, ['range', 'v'])])
    stage.run(2000)
    expect(stage.phases('g')).toEqual(['retained', 'retained prerequisite_not_ready', 'superseded superseded'])
    expect(stage.modesSent()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('stop after an action ends its plan, and no other', () => {
    const twice = referenceCatalog(SCOUT, PREDICATES)
    const stage = new Stage(core, { catalog: twice, rules: rule('enough', 'after_action', 'true', 'stop') }).fly()
    stage.say([range, goto('g', 30, ['range', 'v']), velocity('v', 1)])
    stage.say([range, goto('s', 30)], {}, 'scout')
    stage.run(1050)
    expect(stage.lastPhase('g')).toBe('superseded superseded')
    expect(stage.lastPhase('s', 'scout')).toBe('dispatched')
  })

  it('agent_finish comes when nothing of the plan is live, once, and again after a recovery', () => {
    const stage = flying(core, rule('over', 'agent_finish', 'true', 'none'))
    stage.say([range, velocity('v', 1), goto('g', 30, ['range', 'v'])])
    stage.run(500)
    expect(told(stage)).toEqual([])
    stage.set({ map: 2 }).run(1500)
    expect(stage.lastPhase('g')).toBe('blocked changed')
    expect(tellings(stage)).toEqual(['none by @over'])
    stage.run(1000)
    stage.say([range, velocity('w', 1), goto('g', 30, ['range'])], { recovers: 'r1' })
    stage.run(500)
    expect(told(stage)).toHaveLength(1)
    stage.arrive(goto('g', 30)).run(3000)
    expect(told(stage)).toHaveLength(2)
  })

  it('agent_finish comes for a plan of which nothing was retained, too', () => {
    const stage = flying(core, rule('over', 'agent_finish', 'true', 'none'))
    stage.say([range, goto('far', 9000)])
    stage.run(100)
    stage.say([goto('far', 9000)])
    expect(tellings(stage)).toEqual(['none by @over', 'none by @over'])
  })

  it('G7: the environment changes with the text of the rules', () => {
    const environment = (rules?: string): string => new Stage(core, { catalog, rules }).runtime.environment
    const texts = [
      undefined,
      '',
      rule('a', 'goto', 'high', 'skip'),
      rule('a', 'goto', 'drained', 'skip'),
      `# a comment\n${rule('a', 'goto', 'drained', 'skip')}`,
    ]
    expect(new Set(texts.map(environment)).size).toBe(texts.length)
    expect(environment(texts[2])).toBe(environment(texts[2]))
    const inOrder = (...files: string[]): string =>
      new Policy(
        files.map((text, i) => ({ file: `${i}.ar`, text })),
        catalog,
      ).hash
    const [a, b] = [rule('a', 'goto', 'drained', 'skip'), rule('b', 'goto', 'high', 'skip')]
    expect(inOrder(a, b)).not.toBe(inOrder(b, a))
    expect(inOrder(a, b)).not.toBe(inOrder(a + b))
  })

  it.each([
    [
      'a payload predicate on an event without one',
      rule('r', 'before_action', 'high', 'skip'),
      '1:37: `high` reads a payload that takeoff, goto have: trigger on those, not on `before_action`',
    ],
    [
      'a payload predicate on another type',
      rule('r', 'goto | hold', 'high', 'skip'),
      '1:35: `high` reads a payload that takeoff, goto have: trigger on those, not on `hold`',
    ],
    [
      'skip where no component is at the gate',
      rule('r', 'state_change', 'drained', 'skip'),
      '1:52: `skip` needs a component at the gate, and `state_change` has none',
    ],
    [
      'a question where nobody is at the gate',
      rule('r', 'any', 'drained', 'user_inspection'),
      '1:43: `user_inspection` needs a component at the gate, and `any` has none',
    ],
    [
      'examination after the fact',
      rule('r', 'after_action', 'drained', 'llm_self_examine'),
      '1:52: `llm_self_examine` needs a component at the gate, and `after_action` has none',
    ],
    [
      'an unknown predicate',
      rule('r', 'goto', 'hihg', 'skip'),
      '1:28: unknown predicate `hihg` (did you mean `high`?)',
    ],
    ['an unknown type', rule('r', 'gotto', 'drained', 'skip'), '1:17: unknown event `gotto` (did you mean `goto`?)'],
    [
      'a takeoff to be invoked',
      rule('r', 'goto', 'drained', 'invoke_action(takeoff)'),
      '1:44: unknown action `takeoff` to invoke',
    ],
    [
      'disarming to be invoked',
      rule('r', 'goto', 'drained', 'invoke_action(disarm)'),
      '1:44: unknown action `disarm` to invoke',
    ],
    ['something to be set', rule('r', 'goto', 'drained', 'real:speed = 3'), '1:44: unknown setting `real:speed`'],
  ])('G5: %s is an error at load, with its place', (_, text, message) => {
    const load = () => new Policy([{ file: 'rules.ar', text: `\n${text}` }], catalog)
    expect(load).toThrow(RuleError)
    expect(load).toThrow(`rules.ar:${message.replace(/^1/, '2')}`)
  })
})

/** What each enforcement says of every goto. */
const ENFORCEMENTS = [
  'none',
  'invoke_action(hold)',
  'llm_self_examine',
  'user_inspection',
  'skip',
  'stop',
  'none invoke_action(land) user_inspection llm_self_examine skip stop',
]

/** `x` waits for `v`, which flies for 2 s; the world changes in the instant in which it is done. */
const afterwards = (change: (stage: Stage) => unknown) => (stage: Stage) => {
  stage.fly().say([range, velocity('v', 2), goto('x', 30, ['range', 'v'])])
  change(stage.after(2000))
}
/** `x` waits for the resource. */
const meanwhile = (change: (stage: Stage) => unknown) => (stage: Stage) => {
  stage.fly().say([range, velocity('v', 9), goto('x', 30)])
  change(stage.run(500))
}
const awaiting = (components: readonly ComponentSaid[]) => (stage: Stage) => {
  stage.fly().say(components)
  stage.run(1000)
}

interface Denial {
  readonly phase: string
  readonly course: (stage: Stage) => unknown
  readonly edit?: [string, string]
}

/** Ways in which the core does not let `x` across. */
const DENIALS: readonly Denial[] = [
  { phase: 'blocked agent_revoked', course: meanwhile((s) => s.operate('revoke', { agent: 'planner' })) },
  { phase: 'blocked paused', course: meanwhile((s) => s.operate('pause')) },
  { phase: 'blocked pilot_control', course: meanwhile((s) => s.taken('POSITION')) },
  { phase: 'superseded superseded', course: meanwhile((s) => s.say([notice('n')])) },
  { phase: 'blocked not_in_control', course: afterwards((s) => s.set({ critical: 1 })) },
  { phase: 'blocked prerequisite_lost', course: afterwards((s) => s.show({ landed: 'LANDING' })) },
  { phase: 'blocked prerequisite_failed', course: afterwards((s) => s), edit: ['within: 11s', 'within: 1500ms'] },
  { phase: 'blocked state_unknown', course: afterwards((s) => s.set({ 'home.lat': Number.NaN })) },
  {
    phase: 'blocked state_stale',
    course: afterwards((s) => silence(s, 'map').stall(100).run(10)),
    edit: ['type: integer, max_age: 1h', 'type: integer, max_age: 40ms'],
  },
  { phase: 'blocked changed', course: afterwards((s) => s.set({ map: 2 })) },
  { phase: 'blocked unsupported', course: afterwards((s) => s.set({ 'battery.remaining': 20 })) },
  {
    phase: 'retained state_awaited',
    course: (s) => awaiting([range, goto('x', 30)])(s.set({ 'home.amsl': Number.NaN })),
    edit: ['patience: 0s', 'patience: 3s'],
  },
  {
    phase: 'retained prerequisite_not_ready',
    course: awaiting([range, velocity('v', 9), goto('x', 30, ['range', 'v'])]),
  },
  { phase: 'retained approval_pending', course: awaiting([range, ask, goto('x', 30, ['range', 'ask'])]) },
  { phase: 'retained resource_busy', course: meanwhile((s) => s) },
  {
    phase: 'expired expired',
    course: meanwhile((s) => s.run(4600)),
    edit: ['    patience: 0s\n', '    patience: 0s\n    wait: 5s\n'],
  },
  {
    phase: 'blocked unencodable',
    course: awaiting([range, { ...goto('x', 0), payload: { lat: 0, lon: 0, alt: 10 } }]),
    edit: [
      'near_home: distance(payload.lat, payload.lon, state.home.lat, state.home.lon) <= 280',
      'near_home: state.battery.remaining >= 0',
    ],
  },
]

describe.each(cores)('G1, G5: no rule lets across what the core denies, %s', (_, core) => {
  it.each(DENIALS)('$phase', ({ phase, course, edit }) => {
    const edited = referenceCatalog(PREDICATES, ...(edit === undefined ? [] : [edit]))
    for (const enforce of [undefined, ...ENFORCEMENTS]) {
      const rules = enforce && rule('r', 'goto', 'true', enforce)
      const stage = new Stage(core, { catalog: edited, rules })
      course(stage)
      expect([enforce, stage.lastPhase('x')]).toEqual([enforce, phase])
      expect(told(stage)).toEqual([]) // it raised no event
      expect(stage.phases('x')).not.toContain('dispatched')
    }
  })

  it('blocked binding_mismatch', () => {
    for (const enforce of ENFORCEMENTS) {
      let record: ((sequence: number) => Uint8Array) | undefined
      const overheard: CoreFactory = (...args) => {
        const made = core(...args)
        record = (sequence) => made.record(sequence)
        return made
      }
      const stage = flying(overheard, rule('r', 'goto', 'true', enforce))
      const verdict = stage.say([range, plain('hold'), goto('x', 30, ['range', 'hold'])])
      const bytes = record!(verdict.components[2].sequence)
      bytes[bytes.length - 1]! ^= 1
      stage.run(100)
      expect(stage.lastPhase('x')).toBe('blocked binding_mismatch')
      expect(told(stage)).toEqual([])
    }
  })
})

describe('G3, G5, G7: whatever the rules', () => {
  const enforcement = fc.constantFrom(
    'none',
    'stop',
    'skip',
    'user_inspection',
    'llm_self_examine',
    'invoke_action(hold)',
    'invoke_action(land)',
    'invoke_action(return)',
  )
  const beside = fc.constantFrom('none', 'stop', 'invoke_action(hold)', 'invoke_action(land)')
  const literal = fc.constantFrom('drained', '!drained', 'mapped', '!mapped', 'noisy', 'coin', '!coin', 'true')
  const check = fc.array(literal, { minLength: 1, maxLength: 2 }).map((literals) => literals.join(' & '))
  const atGate = fc.tuple(
    fc.constantFrom('before_action', 'goto', 'velocity', 'notice.operator', 'report.range', 'handoff.pilot'),
    check,
    fc.array(enforcement, { minLength: 1, maxLength: 3 }),
  )
  const elsewhere = fc.tuple(
    fc.constantFrom('state_change', 'after_action', 'agent_finish', 'any'),
    check,
    fc.array(beside, { minLength: 1, maxLength: 2 }),
  )
  const act = fc.constantFrom<(stage: Stage, i: number) => unknown>(
    (s) => s.say([range, velocity('v', 1), goto('g', 30, ['range', 'v']), notice('n')]),
    (s) => s.say([range, goto('g', 20), goto('h', 40), { ...notice('n'), requires: ['g'] }, plain('land', 'l', ['h'])]),
    (s) => s.say([range, goto('g', 25)], { recovers: (s.newest('snapshot') as Said).plans[0]?.plan ?? 'none' }),
    (s) => s.say([plain('hold'), plain('handoff.pilot', 'p', ['hold'])]),
    (s, i) => s.set({ map: 1 + (i % 2) }),
    (s, i) => s.set({ 'battery.remaining': [90, 45, 28, 20, Number.NaN][i % 5]! }),
    (s) => pending(s).length > 0 && answer(s, 'approve'),
    (s) => pending(s).length > 0 && answer(s, 'refuse'),
    (s) => s.arrive(goto('g', 20)),
    (s) => s.set({ critical: 1 }).run(50).set({ critical: 0 }),
    (s) => s.operate('pause').run(100).operate('resume'),
    (s) => s.show({ mode: 'HOLD' }).operate('resume'),
  )
  const course = fc.array(fc.tuple(act, fc.constantFrom(20, 300, 1200), fc.nat(9)), { minLength: 4, maxLength: 10 })

  /** Everything published, but for the digests: the oracle has bindings of its own. */
  const heard = (stage: Stage): string =>
    JSON.stringify(stage.published, (key, value) => (key === 'consent' ? 'digest' : value))

  /** Names every rule in order; those that no checker takes (one that shadows another) leave the property untested. */
  const textOf = (drawn: readonly (readonly [string, string, readonly string[]])[]): string =>
    drawn.map(([trigger, checks, enforce], i) => rule(`r${i}`, trigger, checks, ...enforce)).join('')

  /** What the core said of each sequence, and what crossed. */
  function fly(
    core: CoreFactory,
    rules: string,
    steps: readonly (readonly [(s: Stage, i: number) => unknown, number, number])[],
  ) {
    const allowed = new Set<string>()
    const denied = new Set<string>()
    const rehearsed = new Set<string>()
    const overheard: CoreFactory = (image, session, environment) => {
      const made = core(image, session, environment)
      const name = (sequence: number): string => `${Buffer.from(session).toString('hex')} ${sequence}`
      return new Proxy(made, {
        get(target, key) {
          const value = Reflect.get(target, key, target)
          if (typeof value !== 'function') return value
          if (key !== 'gate' && key !== 'rehearse') return value.bind(target)
          return (...args: [number, number, number, number]) => {
            const verdict = value.apply(target, args)
            const asked = `${name(args[0])} ${args[1]} ${args[2]}`
            if (verdict.decision === 'deny') denied.add(name(args[0]))
            else if (verdict.decision === 'allow' && key === 'rehearse') rehearsed.add(asked)
            else if (verdict.decision === 'allow') {
              expect(rehearsed).toContain(asked) // nothing was allowed that the rules were not asked about
              allowed.add(name(args[0]))
            }
            return verdict
          }
        },
      })
    }
    let tosses = 0
    const coin: HostPredicate = {
      parameters: [],
      test: () => {
        tosses = (tosses * 75 + 74) % 65537
        const side = tosses % 7
        if (side === 0) throw new Error('fell off the table')
        return side === 1 ? (undefined as never) : side > 4
      },
    }
    const stage = staged(overheard, rules, { coin }).fly()
    for (const [act, then_ms, i] of steps) {
      act(stage, i)
      stage.run(then_ms)
    }
    return { stage, allowed, denied }
  }

  it('what crosses was allowed by the core, once, and by no rule forbidden; both cores agree on everything', () => {
    let flown = 0
    let crossings = 0
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 3, arbitrary: atGate }, { weight: 1, arbitrary: elsewhere }), {
          minLength: 1,
          maxLength: 4,
        }),
        course,
        (drawn, steps) => {
          const rules = textOf(drawn)
          try {
            staged(loadCore, rules, { coin: { parameters: [], test: () => true } })
          } catch (error) {
            if (error instanceof RuleError) return
            throw error
          }
          const [one, other] = cores.map(([, core]) => fly(core, rules, steps))
          const { stage, allowed, denied } = one!
          const outcomes = stage
            .values('outcome/planner')
            .map((o) => ({ ...o, name: `${stage.control.session} ${o.sequence}` }))
          const crossed = outcomes.filter(
            ({ phase, reason }) => (phase === 'dispatched' || phase === 'released') && reason === undefined,
          )
          const forbidden = new Set(
            outcomes
              .filter(({ reason, phase }) => phase === 'blocked' && (reason === 'rule' || reason === 'consent_refused'))
              .map(({ name }) => name),
          )
          expect(new Set(crossed.map(({ name }) => name)).size).toBe(crossed.length)
          for (const { name } of crossed) {
            expect(allowed).toContain(name)
            expect(denied).not.toContain(name)
            expect(forbidden).not.toContain(name)
          }
          expect(heard(other!.stage)).toEqual(heard(stage))
          expect(other!.stage.sent).toEqual(stage.sent)
          flown++
          crossings += crossed.length
        },
      ),
      { numRuns: 60, seed: 13 },
    )
    expect(flown).toBeGreaterThan(30)
    expect(crossings).toBeGreaterThan(30)
  })
})
