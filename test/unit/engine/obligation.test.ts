import { describe, expect, it } from 'vitest'
import { cores } from '../../oracle/cores.ts'
import {
  CHAINED,
  CMD,
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

describe.each(cores)('an obligation (PROTOCOL 9), %s', (_, core) => {
  /** g is lost in flight with h, which rests on it, uncrossed; the world is good again and a newer snapshot is out. */
  const lost = (catalog = referenceCatalog()): Stage => {
    const stage = new Stage(core, { catalog }).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500)
    return fail(stage)
  }
  const fail = (stage: Stage): Stage =>
    stage.set({ 'battery.remaining': 10 }).set({ 'battery.remaining': 90 }).run(1500)
  const recover = (stage: Stage, components: readonly ComponentSaid[], over = {}): Said =>
    stage.say(components, { recovers: 'r1', ...over })
  const reasons = (verdict: Said): (string | undefined)[] =>
    verdict.components.map((c: { reason?: string }) => c.reason)
  const both = [range, goto('g', 30), goto('h', 60, ['range', 'g'])]

  describe('evidence', () => {
    const snapshot = (stage: Stage): { snapshot: unknown } => ({
      snapshot: (stage.newest('snapshot') as Said).snapshot,
    })

    it('G4: must be newer than every open obligation that covers the component', () => {
      const stage = new Stage(core).fly()
      const h = goto('h', 30, ['range', 'g'])
      stage.say([range, goto('g', 290), h]) // outside the fence: g is lost, and h with it
      stage.run(1200)
      const seen = snapshot(stage)
      expect(reasons(recover(stage, [h], seen))).toEqual(['unknown_prerequisite'])
      expect(reasons(recover(stage, [goto('g', 30), h], seen))).toEqual([undefined, 'evidence_stale'])
      stage.run(1200)
      expect(reasons(recover(stage, [h]))).toEqual([undefined])
    })

    it('G4: must be newer than the loss of what was withdrawn into an older obligation', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('x', 290), velocity('v', 5), goto('b', 30, ['range', 'v'])])
      stage.run(1200)
      const seen = snapshot(stage)
      stage.run(1200)
      recover(stage, [range], seen) // replaces what b rests on
      expect(stage.lastPhase('b')).toBe('blocked prerequisite_failed')
      expect(reasons(recover(stage, [goto('b', 30)], seen))).toEqual(['evidence_stale'])
      stage.run(1200)
      expect(reasons(recover(stage, [goto('b', 30)]))).toEqual([undefined])
    })

    it('G4: an invalid candidate under the id of what flies opens no way back for it', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 60)])
      stage.run(1200)
      const invalid = { ...goto('g', 60), payload: { lat: 999, lon: 0, alt: 10 } }
      expect(reasons(recover(stage, [invalid]))).toEqual(['payload_invalid'])
      expect(stage.obligations).toEqual([])
      stage.run(1200)
      expect(reasons(recover(stage, [range, goto('g', 60)]))).toEqual([undefined, 'out_of_scope'])
    })
  })

  it('withdraws what rests on a loss at one remove, also where it stands before', () => {
    const stage = new Stage(core).fly()
    stage.say([goto('c', 60, ['range', 'b']), goto('b', 30, ['range', 'v']), range, velocity('v', 5)])
    fail(stage.run(500))
    for (const id of ['b', 'c']) expect(stage.lastPhase(id)).toBe('blocked prerequisite_failed')
    expect(stage.obligations).toMatchObject([{ component: 'v', scope: [{ id: 'v' }, { id: 'c' }, { id: 'b' }] }])
  })

  it('says what was lost, why, and what may come back', () => {
    const stage = lost()
    expect(stage.obligations.length).toBe(1)
    expect(stage.obligations[0]).toMatchObject({
      plan: 'planner/r1',
      component: 'g',
      type: 'goto',
      generation: 1,
      reason: 'unsupported',
      detail: 'battery: battery.remaining 10 %, at least 25 %',
      condition: expect.stringContaining('state.battery.remaining >= 25'),
      footprint: { 'battery.remaining': { value: 10 } },
      scope: [
        { id: 'g', type: 'goto' },
        { id: 'h', type: 'goto' },
      ],
      route: 'agent',
    })
    const { opened, expires } = stage.obligations[0]
    expect(expires - opened).toBe(600_000)
    expect(stage.snapshot.obligations).toEqual(stage.obligations)
  })

  it('G4: is answered by a new instance that passes everything again', () => {
    const stage = lost()
    const verdict = recover(stage, both)
    expect(verdict).toMatchObject({ accepted: true, plan: 'planner/r1', generation: 2 })
    expect(reasons(verdict)).toEqual([undefined, undefined, undefined])
    expect(stage.closed).toEqual(['recovered'])
    expect(verdict.components[1].sequence).toBeGreaterThan(3)
    stage.run(500)
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  describe('scope', () => {
    it.each<[string, ComponentSaid]>([
      ['another id', goto('x', 30)],
      ['another type', velocity('g', 1)],
      ['an action that the plan had, and did not lose', plain('hold')],
      ['a handoff', plain('handoff.pilot')],
    ])('G4: %s is out_of_scope and opens nothing', (_what, component) => {
      const stage = lost()
      const verdict = recover(stage, [range, component])
      expect(reasons(verdict)).toEqual([undefined, 'out_of_scope'])
      expect(stage.obligations.length).toBe(1)
      expect(stage.run(500).commands().at(-1)).toBe('HOLD')
    })

    it('G4: the id of one member with the type of another is out_of_scope', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), velocity('v', 1, ['range', 'g'])])
      fail(stage.run(500))
      expect(reasons(recover(stage, [range, goto('v', 30)]))).toEqual([undefined, 'out_of_scope'])
    })

    it('lets notices, reports and requests in with what they serve', () => {
      const stage = lost()
      const verdict = recover(stage, [range, notice('n'), plain('status'), goto('g', 30)])
      expect(reasons(verdict)).toEqual([undefined, undefined, undefined, undefined])
    })

    it('takes in what the type lists and has not crossed', () => {
      const catalog = referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    scope: [hold]\n'])
      const stage = new Stage(core, { catalog }).fly()
      stage.say([range, plain('hold', 'before'), goto('g', 30), plain('hold', 'stop')])
      stage.run(500)
      expect(stage.lastPhase('before')).toBe('completed')
      stage.set({ 'battery.remaining': 10 })
      expect(stage.obligations[0].scope).toEqual([
        { id: 'g', type: 'goto' },
        { id: 'stop', type: 'hold' },
      ])
    })

    it('G1: what has failed is no prerequisite any more, even while something rests on it', () => {
      const catalog = referenceCatalog(['completed, hold: completed, return', 'completed, hold: dispatched, return'])
      const stage = new Stage(core, { catalog, obeys: false }).fly()
      stage.say([range, goto('far', 5000), plain('hold'), { ...notice('n'), requires: ['hold'] }])
      stage.run(10).acknowledge(CMD.setMode, 4).run(1200)
      expect(stage.phases('n').at(-1)).toBe('released')
      expect(stage.lastPhase('hold')).toBe('failed refused')
      expect(stage.snapshot.plans[0].components).toEqual({ range: 'released', n: 'released' })
      const verdict = recover(stage, [range, goto('far', 30, ['range', 'hold'])])
      expect(verdict.components[1]).toMatchObject({ reason: 'unknown_prerequisite', detail: 'hold' })
    })

    it('G3, G4: does not let back what has been recovered and flies', () => {
      const stage = lost()
      recover(stage, [range, goto('g', 30)]) // h is still missing, so the obligation stays open
      stage.run(1500)
      expect(stage.lastPhase('g')).toBe('dispatched')
      expect(stage.closed).toEqual([])
      expect(reasons(recover(stage, [range, goto('g', 30)]))).toEqual([undefined, 'out_of_scope'])
    })
  })

  it('G4: evidence from before it was opened is evidence_stale, and the obligation stays', () => {
    const stage = new Stage(core).fly()
    stage.say(both)
    stage.run(500).set({ 'battery.remaining': 10 })
    const { snapshot } = stage.snapshot
    stage.set({ 'battery.remaining': 90 }).run(1500)
    const verdict = recover(stage, both, { snapshot })
    expect(reasons(verdict).slice(1)).toEqual(['evidence_stale', 'evidence_stale'])
    expect(stage.obligations.length).toBe(1)
    expect(stage.closed).toEqual([])
    expect(reasons(recover(stage, both))).toEqual([undefined, undefined, undefined])
  })

  it('is updated by a later loss of its component: one a component', () => {
    const stage = lost()
    stage.set({ 'battery.remaining': 10 })
    const verdict = recover(stage, [range, goto('g', 30)])
    expect(verdict.components[1]).toMatchObject({
      reason: 'unsupported',
      detail: 'battery: battery.remaining 10 %, at least 25 %',
    })
    const [first, second, ...more] = stage.obligations
    expect(second).toMatchObject({ id: first.id, generation: 2, scope: first.scope })
    expect(more).toEqual([])
    expect(verdict.components[1].obligation).toBe(first.id)
    expect(stage.run(1000).snapshot.obligations.length).toBe(1)
  })

  it('updated asks for evidence that is newer than the later loss', () => {
    const stage = lost().set({ 'battery.remaining': 10 })
    recover(stage, both)
    stage.set({ 'battery.remaining': 90 })
    const { snapshot } = stage.snapshot
    expect(reasons(recover(stage, both, { snapshot }))[1]).toBe('evidence_stale')
    expect(reasons(recover(stage.run(1500), both))[1]).toBeUndefined()
  })

  it('keeps the component that came back without those that did not: it closes with the last', () => {
    const stage = lost()
    recover(stage, [range, goto('g', 30)])
    expect(stage.closed).toEqual([])
    stage.run(1200)
    expect(reasons(recover(stage, [range, goto('h', 60, ['range', 'g'])]))).toEqual([undefined, undefined])
    expect(stage.closed).toEqual(['recovered'])
  })

  it('G4: is not closed by another type under the id of a member', () => {
    const stage = lost()
    recover(stage, [range, goto('g', 30), notice('h')])
    expect(stage.closed).toEqual([])
    stage.run(1200)
    expect(reasons(recover(stage, [range, goto('h', 60)]))).toEqual([undefined, undefined])
    expect(stage.closed).toEqual(['recovered'])
  })

  describe('attempts', () => {
    const tryAgain = (stage: Stage): Said => {
      const verdict = recover(stage, [range, goto('g', 30)])
      fail(stage.run(500))
      return verdict
    }

    it('are not used up while an operator has paused: who should act is he', () => {
      const stage = lost()
      stage.operate('pause')
      for (let i = 0; i < 5; i++) expect(reasons(tryAgain(stage))).toEqual([undefined, 'paused'])
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', reason: 'paused', route: 'operator' })
      stage.operate('resume')
      expect(reasons(tryAgain(stage))[1]).not.toBe('attempts_exhausted')
    })

    it('nor is what comes with it: a report in its scope may come as often', () => {
      const stage = new Stage(core).fly()
      const all = [range, goto('g', 30), plain('status', 's', ['g'])]
      stage.say(all)
      fail(stage.run(500))
      stage.operate('pause')
      for (let i = 0; i < 5; i++) {
        expect(reasons(recover(stage, all))).toEqual([undefined, 'paused', 'prerequisite_withheld'])
        stage.run(1100)
      }
      stage.operate('resume')
      expect(reasons(recover(stage.run(1100), all))).toEqual([undefined, undefined, undefined])
    })

    it('are three, then attempts_exhausted and the route is the operator', () => {
      const stage = lost()
      for (let i = 0; i < 3; i++) expect(reasons(tryAgain(stage))).toEqual([undefined, undefined])
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', route: 'operator' })
      const told = stage.obligations.length
      expect(reasons(tryAgain(stage))).toEqual([undefined, 'attempts_exhausted'])
      expect(stage.obligations.length).toBe(told)
    })

    it('get one more from operator/clear', () => {
      const stage = lost()
      for (let i = 0; i < 4; i++) tryAgain(stage)
      stage.operate('clear', { type: 'goto' })
      expect(reasons(tryAgain(stage))).toEqual([undefined, undefined])
      expect(reasons(tryAgain(stage))).toEqual([undefined, 'attempts_exhausted'])
    })

    it('are reset by a completed one', () => {
      const stage = lost()
      for (let i = 0; i < 2; i++) tryAgain(stage)
      recover(stage, [range, goto('g', 30)])
      stage.run(500).arrive(goto('g', 30)).run(1500)
      expect(stage.lastPhase('g')).toBe('completed')
      stage.say([range, goto('g', 60)], { response: 'r1b' })
      fail(stage.run(500))
      for (let i = 0; i < 3; i++) {
        expect(reasons(stage.say([range, goto('g', 60)], { recovers: 'r1b' }))).toEqual([undefined, undefined])
        fail(stage.run(500))
      }
    })

    it('are counted over plans', () => {
      const stage = lost()
      for (let i = 0; i < 3; i++) tryAgain(stage)
      stage.say([range, goto('g', 30)], { response: 'fresh' })
      fail(stage.run(500))
      expect(stage.obligations.at(-1)).toMatchObject({ plan: 'planner/fresh', route: 'operator' })
      expect(reasons(stage.say([range, goto('g', 30)], { recovers: 'fresh' }))[1]).toBe('attempts_exhausted')
    })

    it('are one a response, however many of the type it brings', () => {
      const stage = lost()
      recover(stage, both)
      fail(stage.run(500))
      recover(stage, both)
      fail(stage.run(500))
      expect(reasons(recover(stage, both))).toEqual([undefined, undefined, undefined])
    })

    it('do not count for what is stale or out of scope', () => {
      const stage = new Stage(core).fly()
      stage.say(both)
      stage.run(500).set({ 'battery.remaining': 10 })
      const { snapshot } = stage.snapshot
      stage.set({ 'battery.remaining': 90 }).run(1500)
      for (let i = 0; i < 4; i++) {
        recover(stage, both, { snapshot })
        recover(stage, [range, goto('x', 30)])
        stage.run(500)
      }
      expect(reasons(recover(stage, both))).toEqual([undefined, undefined, undefined])
    })
  })

  describe('replacing', () => {
    it('G3: what is replaced loses its token; dependents that do not come again are withdrawn into the obligation', () => {
      const stage = new Stage(core).fly()
      stage.say([range, plain('hold', 'w'), goto('far', 5000), goto('b', 40, ['range', 'w']), velocity('v', 10)])
      const [{ component }] = stage.obligations
      expect(component).toBe('far')
      stage.run(1100)
      expect(stage.lastPhase('b')).toBe('dispatched')
      // range is replaced: v, which rests on the old one and has not crossed, does not come again.
      const verdict = recover(stage, [range, goto('far', 20)])
      expect(reasons(verdict)).toEqual([undefined, undefined])
      expect(stage.lastPhase('v')).toBe('blocked prerequisite_failed')
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'far' })
      expect(stage.obligations.at(-1).scope).toContainEqual({ id: 'v', type: 'velocity' })
      expect(stage.lastPhase('b')).toBe('dispatched')
      expect(stage.run(1000).snapshot.obligations.length).toBe(1)
    })

    /** Notices that may rest on notices: n on the flight of v, m on n. */
    const notices = referenceCatalog(CHAINED)
    const [n, m] = [
      { ...notice('n'), requires: ['v'] },
      { ...notice('m'), requires: ['n'] },
    ]

    it('G3: what comes again takes the place of the old one, which never crosses, and is no loss', () => {
      const stage = new Stage(core, { catalog: notices }).fly()
      stage.say([range, velocity('v', 5), n, m])
      stage.run(1200)
      expect(reasons(recover(stage, [n, m]))).toEqual([undefined, undefined])
      stage.run(6000)
      for (const id of ['n', 'm']) {
        expect(stage.phases(id)).toEqual([
          'retained',
          'retained prerequisite_not_ready',
          'retained',
          'superseded superseded',
          'retained prerequisite_not_ready',
          'released',
        ])
      }
      expect(stage.obligations).toEqual([])
      expect(reasons(recover(stage, [{ ...m, id: 'later' }]))).toEqual([undefined])
    })

    it('G1: what comes again may not rest on what rests on the old one: a cycle over the ids of the plan', () => {
      const stage = new Stage(core, { catalog: notices }).fly()
      stage.say([range, velocity('v', 5), n, m])
      stage.run(1200)
      expect(reasons(recover(stage, [{ ...n, requires: ['m'] }]))).toEqual(['prerequisite_cycle'])
      expect(stage.run(6000).lastPhase('m')).toBe('released')
    })

    it('opens one where none is open: dependents that do not come again are withdrawn into it', () => {
      const stage = new Stage(core, { catalog: notices }).fly()
      stage.say([range, velocity('v', 5), n, m])
      stage.run(1200)
      recover(stage, [n])
      expect(stage.lastPhase('m')).toBe('blocked prerequisite_failed')
      expect(stage.obligations).toMatchObject([
        { component: 'n', reason: 'superseded', scope: [{ id: 'n' }, { id: 'm', type: 'notice.operator' }] },
      ])
    })

    it('withdraws into the obligation that covers what is replaced, not into an older one', () => {
      const catalog = referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    scope: [hold]\n'])
      const stage = new Stage(core, { catalog }).fly()
      const invalid = { ...velocity('w', 1), payload: { north: 99, east: 0, seconds: 1 } }
      const after = { ...notice('n'), requires: ['stop'] }
      stage.say([range, invalid, goto('far', 5000), velocity('v', 5), plain('hold', 'stop', ['v']), after])
      expect(stage.obligations.map(({ component }) => component)).toEqual(['w', 'far'])
      stage.run(1200)
      expect(reasons(recover(stage, [plain('hold', 'stop', ['v'])]))).toEqual([undefined])
      expect(stage.lastPhase('n')).toBe('blocked prerequisite_failed')
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'far' })
      expect(stage.obligations.at(-1).scope).toContainEqual({ id: 'n', type: 'notice.operator' })
    })

    it('G3: what has crossed meanwhile goes on beside what came again under its id', () => {
      const catalog = referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    scope: [velocity]\n'])
      const stage = new Stage(core, { catalog }).fly()
      stage.say([range, goto('far', 5000), velocity('v', 5)])
      stage.run(1200)
      expect(stage.lastPhase('v')).toBe('dispatched')
      expect(reasons(recover(stage, [range, velocity('v', 2)]))).toEqual([undefined, undefined])
      stage.run(1000)
      expect(stage.lastPhase('v')).toBe('retained resource_busy')
      stage.run(8000)
      expect(stage.phases('v').filter((phase) => phase === 'completed').length).toBe(2)
    })

    it('G1: a crossed dependent keeps what it was bound to', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('far', 5000)])
      stage.run(1500)
      recover(stage, [range, goto('far', 20, ['range', 'g'])])
      stage.run(500)
      expect(stage.lastPhase('g')).toBe('dispatched')
      stage.arrive(goto('g', 30)).run(1010)
      expect(stage.lastPhase('g')).toBe('completed')
      expect(stage.lastPhase('far')).toBe('dispatched')
    })
  })

  describe('closes', () => {
    it('as superseded with its plan', () => {
      const stage = lost()
      stage.say([notice('n')])
      expect(stage.closed).toEqual(['superseded'])
      expect(stage.values('obligation/planner').at(-1).closed).toBe(stage.obligations[0].id)
    })

    it('as expired after ten minutes', () => {
      const stage = lost()
      stage.run(598_000, 250)
      expect(stage.closed).toEqual([])
      stage.run(1000, 250)
      expect(stage.closed).toEqual(['expired'])
      expect(reasons(recover(stage, [range, goto('g', 30)]))[1]).toBe('out_of_scope')
    })

    it('as ended with its session', () => {
      const stage = lost().operate('restart')
      expect(stage.closed).toEqual(['ended'])
    })

    it('once only', () => {
      const stage = lost()
      recover(stage, both)
      stage.say([notice('n')])
      stage.operate('restart')
      expect(stage.closed).toEqual(['recovered'])
    })
  })

  it('is opened by none of duplicate_id, unknown_type, type_not_permitted, out_of_scope', () => {
    const stage = new Stage(core).fly()
    stage.say([notice('n'), notice('n'), plain('warp')])
    expect(stage.obligations).toEqual([])
  })

  it('of a paused action is answered after resume', () => {
    const stage = new Stage(core).fly().operate('pause')
    stage.say([range, goto('g', 30)])
    expect(stage.obligations[0]).toMatchObject({ component: 'g', reason: 'paused' })
    stage.operate('resume').run(1500)
    expect(reasons(recover(stage, [range, goto('g', 30)]))).toEqual([undefined, undefined])
    expect(stage.lastPhase('g')).toBe('dispatched')
  })
})
