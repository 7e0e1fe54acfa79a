import { describe, expect, it } from 'vitest'
import { EDGES_MAX } from '../../../build/abi.ts'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { CHAINED, type ComponentSaid, goto, notice, plain, range, referenceCatalog, Stage, twoAgents } from './stage.ts'

describe('a response as a whole (PROTOCOL 4)', () => {
  const many = (count: number, requires: readonly string[] = []): ComponentSaid[] =>
    Array.from({ length: count }, (_, i) => ({ ...notice(`n${i}`), requires }))
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `x${i}`)

  // In the order in which they are judged. Each case also commits whatever later ones can be committed with it.
  const refusals: [reason: string, commit: (stage: Stage) => unknown][] = [
    ['retained_message', (s) => s.sayBytes(Uint8Array.of(0xff), 'nobody', true)],
    ['too_large', (s) => s.sayBytes(new Uint8Array(65_537), 'nobody')],
    ['too_large', (s) => s.say(many(257), { generation: 0 })],
    ['too_large', (s) => s.say([{ ...notice('n'), requires: names(65) }], { generation: 0 })],
    ['too_large', (s) => s.say(many(65, names(64)), { generation: 0 })],
    ['too_large', (s) => s.say([notice('n', 'x'.repeat(1024))], { generation: 0 })],
    ['malformed', (s) => s.sayBytes(Uint8Array.of(0xff), 'nobody')],
    ['malformed', (s) => s.say([notice('n')], { urgent: true }, 'nobody')],
    ['malformed', (s) => s.say([notice('n')], { generation: 0 })],
    ['malformed', (s) => s.say([notice('n')], { generation: 2 ** 53 })],
    ['malformed', (s) => s.say([notice('n')], { generation: 1.5 })],
    ['malformed', (s) => s.say([notice('n')], { response: 'a b' })],
    ['malformed', (s) => s.say([])],
    ['malformed', (s) => s.say([{ ...notice('n'), priority: 1 } as ComponentSaid])],
    ['unknown_agent', (s) => s.operate('revoke', { agent: 'planner' }).say([notice('n')], { snapshot: 'x' }, 'nobody')],
    ['agent_revoked', (s) => s.operate('revoke', { agent: 'planner' }).say([notice('n')], { snapshot: 'x' })],
    ['rate_limited', (s) => flood(s)],
    ['response_not_fresh', (s) => s.say([notice('n')], { response: 'first', generation: 1, snapshot: 'x' })],
    ['generation_not_fresh', (s) => s.say([notice('n')], { generation: 1, snapshot: 'x' })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: 'x', recovers: 'x' })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: s.snapshot.snapshot.replace(/\d+$/, '999') })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: `ffffffffffffffff-1` })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: s.snapshot.snapshot.replace(/\d+$/, '9999999999') })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: `${s.snapshot.snapshot}x` })],
    ['unknown_snapshot', (s) => s.say([notice('n')], { snapshot: `x${s.snapshot.snapshot}` })],
    ['evidence_expired', (s) => s.say([notice('n')], { snapshot: old(s), recovers: 'x' })],
    ['no_such_plan', (s) => s.say([notice('n')], { recovers: 'x' })],
    ['no_such_plan', (s) => s.say([notice('n')], { recovers: 'first' }, 'planner')],
    ['no_capacity', (s) => fill(s)],
  ]
  const flood = (stage: Stage): unknown => {
    for (let i = 0; i < 5; i++) stage.say([notice('n')], { generation: 1, response: `f${i}` })
    return stage.say([notice('n')], { generation: 1, snapshot: 'x' })
  }
  const old = (stage: Stage): string => {
    const { snapshot } = stage.snapshot
    stage.run(61_000, 500)
    return snapshot
  }
  /** Notices that rest on a flight under way: none of them is completed, so none gives way. */
  const held = (count: number, round: number): ComponentSaid[] =>
    many(count).map((c) => ({ ...c, id: `${c.id}-${round}`, requires: ['g'] }))
  const fill = (stage: Stage): unknown => {
    stage.say([range, goto('g', 200), ...held(254, 0)], { response: 'full' })
    for (let i = 1; i < 4; i++) stage.run(300).say(held(256, i), { recovers: 'full' })
    stage.run(2000)
    return stage.say([notice('more')], { recovers: 'full' })
  }

  it.each(refusals)('is refused as %s (%#), nothing changes, and the next good one is judged', (reason, commit) => {
    const stage = new Stage(core).fly()
    stage.say([notice('n')], { response: 'first' })
    if (reason === 'no_such_plan') stage.say([notice('m')])
    if (reason !== 'no_capacity') stage.run(1000)
    const published = stage.published.length
    const verdict = commit(stage)
    expect(verdict).toMatchObject({ accepted: false, reason, components: [] })
    expect((verdict as { digest: string }).digest).toMatch(/^[0-9a-f]{16}$/)
    const outcomes = stage.published.slice(published).filter((p) => p.topic === 'outcome/nobody')
    expect(outcomes).toEqual([])
    if (stage.control.revoked.length > 0) stage.operate('restore', { agent: 'planner' })
    if (reason === 'no_capacity') stage.operate('restart')
    stage.run(1000)
    expect(stage.say([range, goto('g', 30)])).toMatchObject({ accepted: true })
    expect(stage.lastPhase('g')).toBe('dispatched')
  })

  it('is refused as evidence_expired with how old its evidence is', () => {
    const stage = new Stage(core).fly()
    expect(stage.say([notice('n')], { snapshot: old(stage) }).detail).toMatch(/^6[12]\d{3} ms old, at most 60000$/)
  })

  it('recovers the plan of its agent, by the id of the starting response or by the whole name', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).fly()
    stage.say([notice('n')], { response: 'first' })
    for (const recovers of ['first', 'planner/first']) {
      expect(stage.say([notice('n')], { recovers })).toMatchObject({ accepted: true, plan: 'planner/first' })
      expect(stage.say([notice('n')], { recovers }, 'scout')).toMatchObject({ reason: 'no_such_plan' })
    }
  })

  it('refused leaves the plan, the generation and the lease as they are', () => {
    const stage = new Stage(core).engage()
    const { plans, agents } = stage.run(1000).snapshot
    for (const over of [{ snapshot: 'x' }, { generation: 1 }, { recovers: 'x' }, { urgent: 1 }]) {
      expect(stage.say([notice('n')], over).accepted).toBe(false)
    }
    stage.run(1000)
    expect(stage.snapshot).toMatchObject({ plans, agents })
    expect(stage.lastPhase('g')).toBe('dispatched')
    expect(stage.phases('n')).toEqual([])
  })

  it('may be used again under the same name and generation when it was refused', () => {
    const stage = new Stage(core).fly()
    expect(stage.say([notice('n')], { response: 'r', snapshot: 'x' })).toMatchObject({ reason: 'unknown_snapshot' })
    expect(stage.say([notice('n')], { response: 'r' })).toMatchObject({ accepted: true })
  })

  describe('G3: redelivered', () => {
    it('gets its verdict again and has no other effect', () => {
      const stage = new Stage(core).fly()
      const bytes = encode(stage.response([range, goto('g', 30)]))
      const first = stage.sayBytes(bytes)
      stage.run(500)
      const [sent, published] = [stage.sent.length, stage.published.length]
      expect(stage.sayBytes(bytes)).toEqual(first)
      expect(stage.published.length).toBe(published + 1)
      expect(stage.sent.length).toBe(sent)
      expect(stage.phases('g')).toEqual(['retained', 'dispatched'])
    })

    it('gets it even when its evidence has expired and its plan is superseded', () => {
      const stage = new Stage(core).fly()
      const bytes = encode(stage.response([range, goto('g', 30)]))
      const first = stage.sayBytes(bytes)
      stage.run(500)
      stage.say([notice('n')])
      stage.run(61_000, 100)
      expect(stage.sayBytes(bytes)).toEqual(first)
      expect(stage.run(1000).lastPhase('g')).toBe('superseded superseded')
    })

    it('refused is judged again, and not accepted for its name once it was', () => {
      const stage = new Stage(core).fly()
      const refused = encode(stage.response([notice('n')], { snapshot: 'x' }))
      expect(stage.sayBytes(refused)).toMatchObject({ reason: 'unknown_snapshot' })
      expect(stage.sayBytes(refused)).toMatchObject({ reason: 'unknown_snapshot' })
    })

    it('after 64 others is not fresh', () => {
      const stage = new Stage(core).fly()
      const bytes = encode(stage.response([notice('n')]))
      stage.sayBytes(bytes)
      for (let i = 0; i < 64; i++) {
        expect(stage.sayBytes(bytes)).toMatchObject({ accepted: true })
        stage.run(500, 250)
        stage.say([notice('n')])
      }
      expect(stage.sayBytes(bytes)).toMatchObject({ accepted: false, reason: 'response_not_fresh' })
    })

    it('in another encoding is not fresh', () => {
      const stage = new Stage(core).fly()
      const said = stage.response([notice('n')])
      stage.say([notice('n')])
      const reordered = encode(Object.fromEntries(Object.entries(said).reverse()))
      expect(stage.sayBytes(reordered)).toMatchObject({ accepted: false, reason: 'response_not_fresh' })
    })

    it('to the next process is refused: its snapshot names nothing there', () => {
      const stage = new Stage(core).fly()
      const bytes = encode(stage.response([range, goto('g', 30)]))
      stage.sayBytes(bytes)
      stage.run(500)
      const next = new Stage(core, { sessions: 1 })
      Object.assign(next.world, stage.world)
      next.fly()
      expect(next.sayBytes(bytes)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
      expect(next.sent).toEqual([])
    })

    it('to the next session is refused', () => {
      const stage = new Stage(core).fly()
      const bytes = encode(stage.response([range, goto('g', 30)]))
      stage.sayBytes(bytes)
      stage.run(500).operate('restart').run(3000)
      const sent = stage.sent.length
      expect(stage.sayBytes(bytes)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
      expect(stage.sent.length).toBe(sent)
    })
  })

  it('is answered by what the broker does not retain; what states how things stand is retained (PROTOCOL 12)', () => {
    const stage = new Stage(core).engage()
    stage.say([notice('n')], { snapshot: 'x' })
    stage.say([notice('n')])
    stage.say([goto('far', 9000)])
    const topics = (retain: boolean) => new Set(stage.published.filter((p) => p.retain === retain).map((p) => p.topic))
    expect(topics(true)).toEqual(new Set(['status', 'catalog', 'catalog/planner', 'control', 'snapshot']))
    expect(topics(false)).toEqual(
      new Set(['verdict/planner', 'outcome/planner', 'notice', 'obligation/planner', 'end/planner']),
    )
  })

  it('takes the greatest generation, says that none comes after it, and a new session begins again', () => {
    const stage = new Stage(core).fly()
    expect(stage.say([notice('n')], { generation: 2 ** 53 - 1 })).toMatchObject({ accepted: true })
    expect(stage.say([notice('m')], { response: 'last', generation: 2 ** 53 - 1 })).toMatchObject({
      reason: 'generation_not_fresh',
      detail:
        'the last was 9007199254740991, and no number is greater: only a new session (operator/restart) begins again',
    })
    stage.operate('restart').run(1200)
    expect(stage.say([notice('m')], { response: 'again', generation: 1 })).toMatchObject({ accepted: true })
  })

  it('counts names and generations by agent', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).fly()
    const same = { response: 'r', generation: 7 }
    expect(stage.say([notice('n')], same)).toMatchObject({ accepted: true })
    expect(stage.say([notice('n')], same, 'scout')).toMatchObject({ accepted: true, plan: 'scout/r' })
    expect(stage.say([notice('m')], same)).toMatchObject({ reason: 'response_not_fresh' })
    expect(stage.say([notice('m')], { generation: 7 })).toMatchObject({ reason: 'generation_not_fresh' })
    expect(stage.say([notice('m')], { generation: 2 ** 53 - 1 })).toMatchObject({ accepted: true })
  })

  it('counts the rate by agent, refused and redelivered ones too', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).fly()
    const bytes = encode(stage.response([notice('n')]))
    for (let i = 0; i < 5; i++) expect(stage.sayBytes(bytes)).toMatchObject({ accepted: true })
    expect(stage.sayBytes(bytes)).toMatchObject({ reason: 'rate_limited' })
    expect(stage.say([notice('n')], {}, 'scout')).toMatchObject({ accepted: true })
    expect(stage.run(1000).sayBytes(bytes)).toMatchObject({ accepted: true })
  })

  it.each([
    ['0.2Hz', 1, 5000],
    ['2.5Hz', 2, 800],
    ['3Hz', 3, 1000],
  ])('%s is what is written, and not the next whole number: %i within %i ms', (rate, most, within_ms) => {
    const catalog = referenceCatalog(['  planner:\n', `  planner:\n    rate: ${rate}\n`])
    const stage = new Stage(core, { catalog }).fly()
    const bytes = encode(stage.response([notice('n')]))
    const limited = () => stage.sayBytes(bytes)
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < most; i++) expect(limited()).toMatchObject({ accepted: true })
      expect(limited()).toMatchObject({ reason: 'rate_limited', detail: `${Number.parseFloat(rate)} a second` })
      stage.run(within_ms - 20)
      expect(limited()).toMatchObject({ reason: 'rate_limited' })
      stage.run(20)
    }
  })

  it('that is refused is answered fifty times a second: the fiftieth says so, and each agent has its own', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).fly()
    const junk = (agent: string) => stage.sayBytes(Uint8Array.of(0xff), agent)
    const said = Array.from({ length: 60 }, () => junk('planner'))
    expect(said.filter((verdict) => verdict !== undefined)).toHaveLength(50)
    expect(said[48]).not.toHaveProperty('muted', true)
    expect(said[49]).toMatchObject({ reason: 'malformed', muted: true })
    expect(junk('scout')).toMatchObject({ reason: 'malformed' })
    // What is accepted is answered all the same.
    expect(stage.say([notice('n')])).toMatchObject({ accepted: true })
    expect(stage.run(1000).sayBytes(Uint8Array.of(0xff))).toMatchObject({ reason: 'malformed' })
  })

  it('of no agent is answered as seldom, over all topics that name none', () => {
    const stage = new Stage(core, { catalog: twoAgents() }).fly()
    const said = Array.from({ length: 60 }, (_, i) => stage.sayBytes(Uint8Array.of(0xff), `stranger${i}`))
    expect(said.filter((verdict) => verdict !== undefined)).toHaveLength(50)
    expect(stage.sayBytes(Uint8Array.of(0xff), 'scout')).toMatchObject({ reason: 'malformed' })
  })

  it('that starts a plan is judged even when its agent has filled the core with the old one', () => {
    const stage = new Stage(core).fly()
    fill(stage)
    expect(stage.run(1000).say([plain('hold')])).toMatchObject({ accepted: true })
  })

  it('that brings again what was completed takes no more room: what was replaced is forgotten', () => {
    const stage = new Stage(core, { catalog: referenceCatalog(CHAINED) }).fly()
    const chained = many(128).map((c, i) => ({ ...c, requires: i % 2 === 0 ? [] : [`n${i - 1}`] }))
    stage.say(chained, { response: 'first' })
    for (let i = 0; i < 20; i++) {
      stage.run(300)
      expect(stage.say(chained, { recovers: 'first' })).toMatchObject({ accepted: true })
      expect(stage.lastPhase('n127')).toBe('released')
    }
  })

  it('has no room where there are too many prerequisites, which a new plan takes over', () => {
    const stage = new Stage(core, { catalog: referenceCatalog(CHAINED) }).fly()
    const tied = (round: number): ComponentSaid[] => {
      const first = held(62, round)
      const ids = first.map(({ id }) => id)
      return [...first, ...many(62).map((c) => ({ ...c, id: `on-${c.id}-${round}`, requires: ids }))]
    }
    const flight = [range, goto('g', 200)]
    const verdicts = [stage.say([...flight, ...tied(0)], { response: 'tied' })]
    for (let round = 1; round < 3; round++) {
      stage.run(300)
      verdicts.push(stage.say(tied(round), { recovers: 'tied' }))
    }
    const each = 62 * 63
    expect(EDGES_MAX).toBe(8192)
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([true, true, false])
    const detail = `prerequisites: ${2 * each + 1} of 8192 in use, ${each} more asked for`
    expect(verdicts.at(-1)).toMatchObject({ reason: 'no_capacity', detail })
    expect(stage.run(300).say([...flight, ...tied(0)])).toMatchObject({ accepted: true })
  })

  describe('while a command is under way, and what it rests on with it', () => {
    const after = '    wait: 20min\n    uses: flight\n    expires: 10s\n    effect:\n      command: land'
    /** Of so many agents, one's landing rests on 255 notices. */
    const landing = (agents: number): Stage => {
      const others = Array.from({ length: agents - 1 }, (_, i) => `  other_${i}:\n    may: [notice.operator]\n`).join(
        '',
      )
      const catalog = referenceCatalog(['agents:\n', `agents:\n${others}`], CHAINED, [
        `    may_require: { takeoff: completed, goto: completed, velocity: completed, hold: completed, release: completed, request.approval: completed }\n${after}`,
        `    may_require: { notice.operator: released }\n${after}`,
      ])
      const stage = new Stage(core, { catalog }).fly()
      const chained = many(255).map((c, i) => ({ ...c, requires: i + 64 < 255 ? [`n${i + 64}`] : [] }))
      stage.say([
        ...chained,
        plain(
          'land',
          'land',
          chained.slice(0, 64).map(({ id }) => id),
        ),
      ])
      stage.run(1000)
      expect(stage.lastPhase('land')).toBe('acknowledged')
      return stage
    }
    const land = (stage: Stage): void => {
      stage.show({ landed: 'ON_GROUND', armed: false }).run(1000)
      expect(stage.lastPhase('land')).toBe('completed')
    }

    it('a new plan has no room that they still take', () => {
      const stage = landing(4)
      const detail = 'instances: 256 of 256 in use, 1 more asked for'
      expect(stage.say([notice('more')])).toMatchObject({ accepted: false, reason: 'no_capacity', detail })
      land(stage)
      expect(stage.say([notice('more')])).toMatchObject({ accepted: true })
    })

    it('a superseded plan takes room until it has ended, and no longer', () => {
      const stage = landing(2)
      const waits = many(255).map((c) => ({ ...c, requires: ['hold'] }))
      expect(stage.say([plain('hold'), ...waits], { response: 'next' })).toMatchObject({ accepted: true })
      expect(stage.say([notice('more')], { recovers: 'next' })).toMatchObject({ reason: 'no_capacity' })
      land(stage)
      expect(stage.say([notice('more')], { recovers: 'next' })).toMatchObject({ accepted: true })
    })
  })

  it('cites any of the newest 256 snapshots, not the one before', () => {
    const stage = new Stage(core, {})
    stage.fly()
    const first: string = stage.snapshot.snapshot
    const name = (ordinal: number): string => first.replace(/\d+$/, String(ordinal))
    // Three snapshots a second, so that the evidence is not too old before it is forgotten.
    while (Number(stage.snapshot.snapshot.split('-')[1]) < 300) {
      stage.set({ map: Math.floor(stage.now_ms) }).run(100, 100)
    }
    const newest = Number(stage.snapshot.snapshot.split('-')[1])
    expect(stage.say([notice('n')], { snapshot: name(newest - 256) })).toMatchObject({ reason: 'unknown_snapshot' })
    expect(stage.say([notice('n')], { snapshot: name(newest - 255) })).not.toMatchObject({ reason: 'unknown_snapshot' })
    expect(stage.say([notice('n')], { snapshot: name(newest) })).toMatchObject({ accepted: true })
  })
})
