// What is released and rested on by nothing leaves the core, and may still be named (PROTOCOL 3, 4).

import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EDGES_MAX, INSTANCES_MAX } from '../../../build/abi.ts'
import type { Core, CoreFactory } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { Speaker } from '../../../src/engine/plan/agent.ts'
import { CHAINED, type ComponentSaid, goto, notice, range, referenceCatalog, type Said, SCOUT, Stage } from './stage.ts'

const ask: ComponentSaid = { id: 'ask', type: 'request.approval', payload: { text: 'go?' } }
const notices = (count: number, prefix: string, requires: readonly string[] = []): ComponentSaid[] =>
  Array.from({ length: count }, (_, i) => ({ ...notice(`${prefix}${i}`), requires }))
const last = (stage: Stage, id: string): unknown =>
  stage.values('outcome/planner').findLast(({ component }) => component === id)
const decisions = (verdict: Said): string[] =>
  verdict.components.map((c: Said) => (c.reason === undefined ? c.decision : `${c.reason} ${c.detail}`))

/** A core that can be asked for its room. */
function asked(): { readonly core: CoreFactory; readonly of: () => Core } {
  let made: Core | undefined
  return { core: (...what) => (made = loadCore(...what)), of: () => made! }
}

/** A stage with as many other agents, so that each has little. */
const shared = (others: number): ReturnType<typeof referenceCatalog> =>
  referenceCatalog(
    ...Array.from({ length: others }, (_, i): [string, string] => [
      'agents:\n',
      `agents:\n  o${i}:\n    may: [${i === 0 ? 'report.range, hold, notice.operator' : 'hold'}]\n`,
    ]),
    CHAINED,
  )

describe('what has settled', () => {
  it('takes no room, and may be named all the same; the oldest of more than the agent may have give way', () => {
    const { core, of } = asked()
    const stage = new Stage(core, { catalog: referenceCatalog(SCOUT, CHAINED) }).fly()
    stage.say([range, ...notices(255, 'n0-')], { response: 'first' })
    expect(of().capacity().instances).toBe(INSTANCES_MAX)
    for (let i = 1; i < 4; i++) {
      expect(stage.run(250).say(notices(256, `n${i}-`), { recovers: 'first' })).toMatchObject({ accepted: true })
    }
    expect(of().capacity().instances).toBe(INSTANCES_MAX)
    expect(stage.run(1000).snapshot.plans[0].components['n3-7']).toBe('released')
    const on = (id: string, name: string): ComponentSaid => ({ ...notice(id), requires: [name] })
    const verdict = stage.run(250).say([on('a', 'n2-0'), on('b', 'n3-255'), on('c', 'n1-255')], { recovers: 'first' })
    expect(decisions(verdict)).toEqual(['retained', 'retained', 'unknown_prerequisite n1-255'])
    expect([stage.lastPhase('a'), stage.lastPhase('b')]).toEqual(['released', 'released'])
  })

  it('a report stands while its support does: what rests on it is lost with that, by name', () => {
    const stage = new Stage(loadCore).fly()
    stage.say([range, goto('g', 5000)], { response: 'first' })
    const verdict = stage.run(1100).say([ask, goto('g', 30, ['range', 'ask'])], { recovers: 'first' })
    expect(decisions(verdict)).toEqual(['retained', 'retained'])
    const { consent } = (stage.newest('control') as Said).pending[0]
    stage.set({ 'gps.fix': 2 }).run(10).operate('approve', { consent }).run(20)
    expect(last(stage, 'g')).toMatchObject({ phase: 'blocked', reason: 'prerequisite_lost', detail: 'range' })
  })

  it('one that comes again under its name takes its place, and withdraws what waited on it', () => {
    const stage = new Stage(loadCore, { catalog: referenceCatalog(CHAINED) }).fly()
    stage.say([range, notice('n'), goto('g', 200)], { response: 'first' })
    const later = { ...notice('later'), requires: ['n', 'g'] }
    expect(decisions(stage.run(250).say([later], { recovers: 'first' }))).toEqual(['retained'])
    expect(decisions(stage.run(250).say([notice('n')], { recovers: 'first' }))).toEqual(['retained'])
    expect(last(stage, 'later')).toMatchObject({ phase: 'blocked', reason: 'prerequisite_failed', detail: 'n' })
  })

  it('what is rested on never gives way, however many settle after it', () => {
    const stage = new Stage(loadCore, { catalog: shared(7) }).fly() // 128 instances each
    stage.say([range, goto('g', 200), notice('old')], { response: 'first' })
    stage.run(250).say([{ ...notice('rests'), requires: ['old', 'g'] }], { recovers: 'first' })
    for (let i = 0; i < 3; i++) stage.run(250).say(notices(100, `n${i}-`), { recovers: 'first' })
    stage.arrive(goto('g', 200)).run(3000)
    expect(stage.lastPhase('rests')).toBe('released')
    const on = (id: string, name: string): ComponentSaid => ({ ...notice(id), requires: [name] })
    expect(decisions(stage.say([on('a', 'old'), on('b', 'n1-0')], { recovers: 'first' }))).toEqual([
      'retained',
      'unknown_prerequisite n1-0',
    ])
  })

  it('what was rested on gives way in its turn once it is not', () => {
    const stage = new Stage(loadCore, { catalog: shared(7) }).fly()
    stage.say([range, goto('g', 30), notice('old')], { response: 'first' })
    stage.run(250).say([{ ...notice('rests'), requires: ['old', 'g'] }], { recovers: 'first' })
    stage.run(250).arrive(goto('g', 30)).run(2500)
    expect(stage.lastPhase('rests')).toBe('released')
    for (let i = 0; i < 3; i++) stage.run(250).say(notices(100, `n${i}-`), { recovers: 'first' })
    const on = (id: string, name: string): ComponentSaid => ({ ...notice(id), requires: [name] })
    expect(decisions(stage.run(250).say([on('a', 'old')], { recovers: 'first' }))).toEqual(['unknown_prerequisite old'])
  })

  it('a name that was said again is the newer one, also where the older one would have given way', () => {
    const stage = new Stage(loadCore, { catalog: shared(7) }).fly()
    stage.say([notice('n')], { response: 'first' })
    stage.run(250).say([notice('n')], { recovers: 'first' })
    stage.run(250).say(notices(127, 'm'), { recovers: 'first' })
    expect(decisions(stage.run(250).say([{ ...notice('on'), requires: ['n'] }], { recovers: 'first' }))).toEqual([
      'retained',
    ])
  })

  it('all that an agent may have, named beside as many that the core knows, in one response', () => {
    const stage = new Stage(loadCore).fly()
    stage.say(notices(256, 'n0-'), { response: 'first' })
    for (let i = 1; i < 4; i++) stage.run(300).say(notices(256, `n${i}-`), { recovers: 'first' })
    stage.run(300).say([ask], { recovers: 'first' })
    const names = [0, 1, 2, 3].flatMap((k) => notices(256, `n${k}-`).map(({ id }) => id))
    const all = [...names, 'ask']
    const resting = Array.from({ length: 17 }, (_, k) => ({
      ...notice(`x${k}`),
      requires: all.slice(k * 64, k * 64 + 64),
    }))
    const { session } = stage.control
    expect(stage.run(300).say(resting, { recovers: 'first' })).toMatchObject({ accepted: true })
    expect(stage.run(300).control.session).toBe(session)
  })

  it('room is made out of what completed above it: nobody walks into what the core has forgotten', () => {
    const stage = new Stage(loadCore).fly()
    stage.say([range, goto('g', 5000), goto('w', 60, ['range', 'g'])], { response: 'first' })
    const again = [goto('g', 30), ask, { ...range, id: 'range2' }, goto('w', 60, ['range2', 'ask'])]
    stage.run(1100).say(again, { recovers: 'first' })
    stage.run(1000).arrive(goto('g', 30)).run(2500)
    expect(stage.lastPhase('g')).toBe('completed')
    const { session } = stage.control
    // They wait for w, and w waits for a person: in the end there is no more room than what g leaves.
    const accepted = [250, 250, 250, 250, 22, 21].map(
      (count, i) => stage.run(300).say(notices(count, `n${i}-`, ['w']), { recovers: 'first' }).accepted,
    )
    expect(accepted).toEqual([true, true, true, true, false, true])
    expect(stage.run(300).control.session).toBe(session)
  })
})

type Act =
  | {
      readonly does: 'say'
      readonly agent: string
      readonly names: readonly string[]
      readonly picks: readonly number[]
    }
  | { readonly does: 'run'; readonly for_ms: number }
  | { readonly does: 'arrive' | 'approve' | 'refuse' | 'revoke' | 'lose' }

/** A name says the type: so what comes again is of the type that it was. */
const named = (letter: string, count: number): fc.Arbitrary<string> => fc.nat(count - 1).map((n) => `${letter}${n}`)
const name = fc.oneof(
  { weight: 12, arbitrary: named('n', 200) },
  { weight: 2, arbitrary: named('r', 4) },
  { weight: 1, arbitrary: named('g', 4) },
  { weight: 1, arbitrary: named('q', 3) },
)
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('say' as const),
      agent: fc.constantFrom('planner', 'planner', 'planner', 'o0'),
      names: fc.uniqueArray(name, { minLength: 15, maxLength: 60, size: 'max' }),
      picks: fc.array(fc.nat(9999), { minLength: 4, maxLength: 80 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('run' as const), for_ms: fc.integer({ min: 10, max: 2500 }) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('arrive' as const, 'approve' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('revoke' as const, 'lose' as const, 'refuse' as const) }) },
)

/** Agents that say wild plans and recoveries, and what happens to them. */
class Walk {
  readonly stage: Stage
  /** By agent the response that started its plan, and the names that it has said in it. */
  readonly #plans = new Map<string, { readonly response: string; readonly said: string[] }>()

  constructor(core: CoreFactory) {
    this.stage = new Stage(core, { catalog: shared(15) }).fly() // 64 instances and 512 prerequisites each
  }

  take(act: Act): void {
    const { stage } = this
    if (act.does === 'say') this.#say(act.agent, act.names, act.picks)
    else if (act.does === 'run') stage.run(act.for_ms, 50)
    else if (act.does === 'arrive') stage.run(500, 50).arrive(goto('g', 30)).run(2500, 50)
    else if (act.does === 'lose') stage.set({ 'gps.fix': 2 }).run(100, 50).set({ 'gps.fix': 3 }).run(100, 50)
    else if (act.does === 'revoke')
      stage.operate('revoke', { agent: 'planner' }).operate('restore', { agent: 'planner' })
    else {
      const [pending] = (stage.newest('control') as Said).pending
      if (pending !== undefined) stage.operate(act.does, { consent: pending.consent })
    }
  }

  #say(agent: string, names: readonly string[], picks: readonly number[]): void {
    let at = 0
    const pick = (below: number): number => picks[at++ % picks.length]! % below
    const plan = pick(12) > 0 ? this.#plans.get(agent) : undefined
    const known = [...(plan?.said ?? []), ...names]
    const some = (letters: string, count: number): string[] => {
      const of = known.filter((each) => letters.includes(each[0]!))
      return of.length === 0 ? [] : [...new Set(Array.from({ length: count }, () => of[pick(of.length)]!))]
    }
    // What moves would be out of scope in most recoveries.
    const brought = plan === undefined || pick(6) === 0 ? names : names.filter((id) => !id.startsWith('g'))
    if (brought.length === 0) return
    const components = brought.map((id): ComponentSaid => {
      if (id.startsWith('r')) return { ...range, id }
      if (id.startsWith('q')) return { ...ask, id }
      if (id.startsWith('g')) return goto(id, 30, [...some('r', 1), ...some('q', 1)])
      return { ...notice(id), requires: some(pick(3) === 0 ? 'ng' : 'g', pick(4)).filter((other) => other !== id) }
    })
    const over = plan === undefined ? {} : { recovers: plan.response }
    const { accepted, response, reason } = this.stage.run(250, 50).say(components, over, agent)
    if (reason === 'no_such_plan') this.#plans.delete(agent)
    if (!accepted) return
    if (plan === undefined) this.#plans.set(agent, { response, said: [...names] })
    else plan.said.push(...names)
  }
}

describe('whatever is said and happens', () => {
  afterEach(() => vi.restoreAllMocks())

  it('the core holds what the agents are charged for, and nothing else', () => {
    const speakers = new Set<Speaker>()
    const within = Speaker.prototype.withinRate
    vi.spyOn(Speaker.prototype, 'withinRate').mockImplementation(function (this: Speaker, now_ms) {
      speakers.add(this)
      return within.call(this, now_ms)
    })
    const seen = new Map<string, number>()
    const tally = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1)
    fc.assert(
      fc.property(fc.array(act, { minLength: 30, maxLength: 60 }), (acts) => {
        speakers.clear()
        const { core, of } = asked()
        const walk = new Walk(core)
        const { session } = walk.stage.control
        for (const each of acts) {
          walk.take(each)
          expect(walk.stage.control.session).toBe(session)
          const charged = { instances: INSTANCES_MAX, edges: EDGES_MAX }
          for (const { instances, edges } of speakers) {
            charged.instances -= instances
            charged.edges -= edges
          }
          expect(of().capacity()).toEqual(charged)
        }
        for (const v of walk.stage.values('verdict/planner')) tally(v.accepted ? 'accepted' : v.reason)
        for (const o of walk.stage.values('outcome/planner')) tally(`${o.phase} ${o.reason ?? ''}`)
        for (const v of walk.stage.values('verdict/planner'))
          for (const c of v.components) tally(`${c.decision} ${c.reason ?? ''}`)
      }),
      { seed: 12, numRuns: 25 },
    )
    for (const what of [
      'no_capacity',
      'released ',
      'withheld unknown_prerequisite',
      'superseded superseded',
      'completed ',
    ])
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(20)
  })
})
