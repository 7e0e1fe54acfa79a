import * as cborg from 'cborg'
import { describe, expect, it } from 'vitest'
import { cores } from '../../oracle/cores.ts'
import { type ComponentSaid, goto, notice, plain, range, Stage, takeoff, twoAgents, velocity } from './stage.ts'

interface Judged {
  readonly id: string
  readonly decision: string
  readonly reason?: string
  readonly detail?: string
  readonly cause?: string
  readonly obligation?: string
  readonly sequence?: number
}

describe.each(cores)('admission (PROTOCOL 5), %s', (_, core) => {
  const judge = (components: readonly ComponentSaid[], stage = new Stage(core).fly()): Judged[] =>
    stage.say(components).components

  it('retains what is supported, with sequences in the order of the response', () => {
    const judged = judge([goto('g', 30), range, notice('n')])
    expect(judged).toMatchObject([
      { id: 'g', decision: 'retained', sequence: 1 },
      { id: 'range', decision: 'retained', sequence: 2 },
      { id: 'n', decision: 'retained', sequence: 3 },
    ])
    expect(judged[0]).not.toHaveProperty('obligation')
  })

  it('G6: keeps everything that may be kept beside what is withheld', () => {
    const judged = judge([range, goto('far', 5000), goto('near', 30), notice('n')])
    expect(judged.map((c) => c.decision)).toEqual(['retained', 'withheld', 'retained', 'retained'])
  })

  describe('form', () => {
    it('duplicate_id is said of all that share it', () => {
      const judged = judge([notice('n'), range, notice('n')])
      expect(judged.map((c) => c.reason)).toEqual(['duplicate_id', undefined, 'duplicate_id'])
    })

    it.each<[string, ComponentSaid, string | RegExp]>([
      ['unknown_type', plain('warp'), 'warp'],
      ['unknown_type', plain('go_to'), /^go_to \(did you mean `goto`\?\)$/],
      ['unknown_type', plain('report.rage'), /^report.rage \(did you mean `report.range`\?\)$/],
      ['unknown_type', plain('notice.pilot'), /^notice.pilot \(there is `notice.operator`\)$/],
      ['unknown_type', plain('x'.repeat(200), 'x'), /^x{128}\.\.\.$/],
      ['payload_invalid', { ...goto('g', 30), payload: { lat: 91, lon: 8, alt: 10 } }, 'lat: at most 90'],
      ['payload_invalid', { ...goto('g', 30), payload: { lat: 47, lon: 8, alt: 100 } }, 'alt: at most 60'],
      ['payload_invalid', { ...goto('g', 30), payload: { lat: 47, lon: 8 } }, 'alt: missing'],
      ['payload_invalid', { ...goto('g', 30), payload: { lat: 47, lon: 8, alt: 'high' } }, /^alt: must be/],
      ['payload_invalid', { ...plain('status'), payload: { loud: true } }, '"loud": no such field'],
      ['payload_invalid', notice('n', 'x'.repeat(201)), /^text: at most 200/],
    ])('%s names what is wrong', (reason, component, detail) => {
      const [judged] = judge([component, range])
      expect(judged).toMatchObject({ decision: 'withheld', reason })
      expect(judged!.detail).toMatch(detail)
    })

    it('G6: a number that no payload has costs its component and what rests on it, and nothing else', () => {
      const stage = new Stage(core).fly()
      const bad = { ...goto('bad', 30), payload: { ...goto('bad', 30).payload, alt: Number.NaN } }
      const response = stage.response([range, bad, plain('hold', 'after', ['bad']), goto('good', 30)])
      expect(stage.sayBytes(cborg.encode(response)).components).toMatchObject([
        { id: 'range', decision: 'retained' },
        { reason: 'payload_invalid', detail: 'alt: must be a finite number, or an integer within 2^53-1' },
        { reason: 'prerequisite_withheld', cause: 'bad' },
        { id: 'good', decision: 'retained' },
      ])
    })

    it('type_not_permitted names the type', () => {
      const [judged] = new Stage(core, { catalog: twoAgents() })
        .fly()
        .say([plain('handoff.pilot')], {}, 'scout').components
      expect(judged).toMatchObject({ reason: 'type_not_permitted', detail: 'handoff.pilot' })
    })

    it('opens an obligation for an invalid payload only', () => {
      const bad = { ...goto('g', 30), payload: { lat: 91, lon: 8, alt: 10 } }
      const stage = new Stage(core).fly()
      const judged = judge([notice('n'), notice('n'), plain('warp'), bad, range], stage)
      expect(judged.map((c) => c.obligation !== undefined)).toEqual([false, false, false, true, false])
      expect(stage.obligations.map((o) => [o.component, o.reason, o.detail])).toEqual([
        ['g', 'payload_invalid', 'lat: at most 90 deg'],
      ])
      judge([{ ...goto('g', 30), payload: { lat: 47, lon: 8 } }, range], stage)
      expect(stage.obligations.at(-1)).toMatchObject({ reason: 'payload_invalid', detail: 'alt: missing' })
    })
  })

  describe('graph', () => {
    it.each<[string, readonly ComponentSaid[], string | undefined]>([
      ['unknown_prerequisite', [goto('g', 30, ['range', 'ghost']), range], 'ghost'],
      ['prerequisite_not_allowed', [goto('g', 30, ['range', 'n']), range, notice('n')], 'n'],
      ['prerequisite_missing', [goto('g', 30, [])], 'report.range'],
      ['prerequisite_cycle', [goto('g', 30, ['range', 'h']), goto('h', 40, ['range', 'g']), range], undefined],
      ['prerequisite_cycle', [goto('g', 30, ['range', 'g']), range], undefined],
    ])('G1: %s', (reason, components, detail) => {
      const stage = new Stage(core).fly()
      const [judged] = judge(components, stage)
      expect(judged).toMatchObject({ id: 'g', decision: 'withheld', reason })
      expect(judged!.detail).toBe(detail)
      const obligation = stage.obligations.find((o) => o.component === 'g')
      expect(obligation).toMatchObject({ reason })
      expect(obligation.detail).toBe(detail)
    })

    it('does not judge a prerequisite whose form is wrong: the dependent falls in the closure', () => {
      const judged = judge([goto('g', 30, ['bad']), { ...plain('warp', 'bad') }])
      expect(judged[0]).toMatchObject({ reason: 'prerequisite_withheld', cause: 'bad' })
    })
  })

  describe('support', () => {
    it.each<[string, Record<string, number>, string, string, RegExp | undefined]>([
      [
        'a clause does not hold',
        { 'battery.remaining': 20 },
        'unsupported',
        'battery: battery.remaining 20 %, at least 25 %',
        /^state.battery.remaining >= 25$/,
      ],
      ['a field is unknown', { 'home.lat': Number.NaN }, 'state_unknown', 'home.lat', undefined],
      [
        'a gate clause does not hold',
        { 'position.alt': 1 },
        'unsupported',
        'flying: position.alt 1 m, at least 2.5 m',
        /state.position.alt >= 2.5$/,
      ],
      ['the target is too far', {}, 'unsupported', 'near_home: distance 5,000 m, at most 280 m', /^distance/],
    ])('names what failed when %s', (_why, fields, reason, detail, condition) => {
      const stage = new Stage(core).fly().set(fields)
      const [, judged] = judge([range, goto('g', detail.startsWith('near_home') ? 5000 : 30)], stage)
      expect(judged).toMatchObject({ decision: 'withheld', reason, detail })
      const obligation = stage.obligations.at(-1)
      expect(obligation).toMatchObject({ component: 'g', reason, detail })
      if (condition === undefined) expect(obligation.condition).toBeUndefined()
      else expect(obligation.condition).toMatch(condition)
    })

    it('G5: a stale field is no field', () => {
      const stage = new Stage(core).fly()
      stage.streaming = false
      stage.run(450)
      const [, judged] = judge([range, goto('g', 30)], stage)
      expect(judged).toMatchObject({ decision: 'withheld', reason: 'state_stale' })
      expect(judged!.detail).toMatch(/^(position|home|velocity)\./)
    })

    it('G4: a watched field that changed since the snapshot', () => {
      const stage = new Stage(core).fly()
      const { snapshot } = stage.snapshot
      stage.set({ map: 2 })
      const verdict = stage.say([range, goto('g', 30)], { snapshot })
      expect(verdict.components[1]).toMatchObject({ decision: 'withheld', reason: 'changed', detail: 'map' })
      expect(stage.obligations.at(-1).condition).toBe('unchanged(state.map)')
    })

    it('G4: a watched field that changed and came back', () => {
      const stage = new Stage(core).fly()
      const { snapshot } = stage.snapshot
      stage.set({ map: 2 }).set({ map: 1 })
      const verdict = stage.say([range, goto('g', 30)], { snapshot })
      expect(verdict.components[1]).toMatchObject({ reason: 'changed', detail: 'map' })
    })

    it('leaves gate clauses to the gate for what rests on an action that is not completed', () => {
      const stage = new Stage(core).run(1000)
      const judged = judge([range, takeoff('t'), goto('g', 30, ['range', 't']), goto('h', 30)], stage)
      expect(judged.map((c) => c.reason)).toEqual([undefined, undefined, undefined, 'unsupported'])
      expect(judged[3]!.detail).toBe(
        'flying: armed false, landed ON_GROUND, must be IN_AIR, position.alt 0 m, at least 2.5 m',
      )
    })

    it('judges gate clauses for what rests on actions that are completed', () => {
      const stage = new Stage(core).engage().set({ 'battery.remaining': 10 }).run(1500)
      stage.set({ 'battery.remaining': 90 }).run(2000)
      const recovered = stage.say([range, goto('g', 30)], { recovers: 'r1' })
      expect(recovered.components[1].decision).toBe('retained')
    })
  })

  describe('closure', () => {
    const broken = goto('a', 5000)

    it('G1: what rests on something withheld is withheld, and names the first root', () => {
      const judged = judge([
        goto('c', 30, ['range', 'b']),
        goto('b', 30, ['range', 'a']),
        { ...broken },
        velocity('v', 1, ['range', 'c', 'x']),
        goto('x', 6000),
        range,
      ])
      expect(judged.slice(0, 2)).toMatchObject([
        { reason: 'prerequisite_withheld', cause: 'a' },
        { reason: 'prerequisite_withheld', cause: 'a' },
      ])
      expect(judged[3]).toMatchObject({ reason: 'prerequisite_withheld', cause: 'a' })
      expect(judged[5]!.decision).toBe('retained')
    })

    it('puts what fell into the obligation of its cause', () => {
      const stage = new Stage(core).fly()
      const judged = judge([range, broken, goto('b', 30, ['range', 'a'])], stage)
      expect(judged[1]!.obligation).toBeDefined()
      expect(judged[2]!.obligation).toBe(judged[1]!.obligation)
      expect(stage.obligations.at(-1)).toMatchObject({
        id: judged[1]!.obligation,
        component: 'a',
        scope: [
          { id: 'a', type: 'goto' },
          { id: 'b', type: 'goto' },
        ],
        condition: expect.stringContaining('distance'),
      })
    })

    it('names a root that stands first, and takes in what rests on it at one remove, in any order', () => {
      const stage = new Stage(core).fly()
      const forward = [broken, goto('b', 30, ['range', 'a']), goto('c', 30, ['range', 'b']), range]
      expect(judge(forward, stage).map(({ cause }) => cause)).toEqual([undefined, 'a', 'a', undefined])
      const ids = (): string[] =>
        stage.obligations
          .at(-1)
          .scope.map(({ id }: { id: string }) => id)
          .sort()
      expect(ids()).toEqual(['a', 'b', 'c'])
      judge(forward.reverse(), stage)
      expect(ids()).toEqual(['a', 'b', 'c'])
    })

    it('opens one obligation a root', () => {
      const stage = new Stage(core).fly()
      judge([range, broken, goto('x', 6000), goto('b', 30, ['range', 'a', 'x'])], stage)
      expect(stage.obligations.map((o) => o.component)).toEqual(['a', 'x'])
    })

    it('a withheld component is not told as an outcome: the verdict says it', () => {
      const stage = new Stage(core).fly()
      judge([range, broken], stage)
      expect(stage.phases('a')).toEqual([])
    })
  })

  it('its footprint is what was judged: values, ages, versions', () => {
    const stage = new Stage(core).fly().set({ 'battery.remaining': 20, 'home.lat': Number.NaN })
    judge([range, goto('g', 30)], stage)
    const { footprint } = stage.obligations.at(-1)
    expect(footprint['battery.remaining']).toEqual({ value: 20, age_ms: 0 })
    expect(footprint['home.lat']).toEqual({ value: null, validity: 'unknown' })
    expect(footprint.landed).toMatchObject({ value: 'IN_AIR', version: expect.any(Number) })
    expect(footprint.map).toMatchObject({ value: 1, version: expect.any(Number) })
  })

  it('retention is no authorization: what is retained is judged again when it crosses', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
    stage.run(500).arrive(goto('g', 30)).run(990).stall(10).set({ map: 2 })
    expect(stage.lastPhase('g')).toBe('completed')
    expect(stage.lastPhase('h')).toBe('blocked changed')
  })
})
