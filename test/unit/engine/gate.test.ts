import { describe, expect, it } from 'vitest'
import type { CoreFactory } from '../../../src/core/core.ts'
import { cores } from '../../oracle/cores.ts'
import {
  type ComponentSaid,
  goto,
  HOME,
  notice,
  plain,
  range,
  referenceCatalog,
  SCOUT,
  Stage,
  takeoff,
  velocity,
} from './stage.ts'

const approval = (id: string): ComponentSaid => ({ id, type: 'request.approval', payload: { text: 'may I?' } })

describe.each(cores)('the final dispatch gate (PROTOCOL 7), %s', (_, core) => {
  describe('a deferral', () => {
    it('is told once, with what is awaited', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      stage.run(3000)
      expect(stage.phases('h')).toEqual(['retained', 'retained prerequisite_not_ready'])
      const [, deferral] = stage.values('outcome/planner').filter((o) => o.component === 'h')
      expect(deferral.detail).toBe('g')
    })

    it('is told once even when the reason changes', () => {
      const stage = new Stage(core).fly()
      stage.say([range, velocity('v', 1), goto('a', 20), goto('h', 60, ['range', 'v'])])
      stage.run(2000)
      expect(stage.phases('h')).toEqual(['retained', 'retained prerequisite_not_ready'])
    })

    it('is approval_pending when only requests are missing', () => {
      const stage = new Stage(core).fly()
      stage.say([range, approval('ask'), goto('g', 30, ['range', 'ask'])])
      expect(stage.phases('g')).toEqual(['retained', 'retained approval_pending'])
    })

    it('is prerequisite_not_ready when others are missing as well', () => {
      const stage = new Stage(core).fly()
      stage.say([range, approval('ask'), goto('a', 30), goto('g', 30, ['range', 'ask', 'a'])])
      expect(stage.phases('g')).toEqual(['retained', 'retained prerequisite_not_ready'])
    })

    it('of a resource names it', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('a', 20), goto('b', 40)])
      expect(stage.phases('b')).toEqual(['retained', 'retained resource_busy'])
    })
  })

  describe('time', () => {
    it('G5: `wait` counts from admission, whatever happens', () => {
      const catalog = referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    wait: 5s\n'])
      const stage = new Stage(core, { catalog }).fly()
      stage.say([range, goto('a', 20), goto('b', 40)])
      stage.run(5000)
      expect(stage.lastPhase('b')).toBe('retained resource_busy')
      stage.run(20)
      expect(stage.lastPhase('b')).toBe('expired expired')
      expect(stage.obligations.at(-1)).toMatchObject({ component: 'b', reason: 'expired' })
    })

    it('`expires` counts ready time only: neither the resource nor prerequisites', () => {
      const catalog = referenceCatalog(['expires: 10s\n    patience: 0s', 'expires: 1s\n    patience: 0s'])
      const stage = new Stage(core, { catalog }).fly()
      stage.say([range, velocity('v', 3), goto('b', 40), goto('c', 20, ['range', 'v'])])
      stage.run(3100)
      expect(stage.lastPhase('b')).toBe('dispatched')
      expect(stage.phases('c')).not.toContain('expired expired')
    })

    it('`expires` ends a component that stays ready and cannot cross', () => {
      const catalog = referenceCatalog(['expires: 10s\n    patience: 0s', 'expires: 2s\n    patience: 5s'])
      const stage = new Stage(core, { catalog }).fly()
      stage.say([range, velocity('v', 1), goto('b', 40)])
      stage.set({ 'home.amsl': Number.NaN }).run(1000)
      expect(stage.lastPhase('v')).toBe('completed') // b is ready from now on, and waits for home
      stage.run(1990)
      expect(stage.lastPhase('b')).not.toBe('expired expired')
      stage.run(100) // `then` had the resource for a moment, which does not count
      expect(stage.lastPhase('b')).toBe('expired expired')
    })
  })

  it('`expires` adds up what was ready before and after another had the resource', () => {
    const catalog = referenceCatalog(SCOUT, ['expires: 10s\n    patience: 0s', 'expires: 5s\n    patience: 30s'])
    const stage = new Stage(core, { catalog }).fly().set({ 'home.amsl': Number.NaN })
    stage.say([range, goto('g', 30)])
    stage.run(3000)
    stage.say([range, velocity('v', 4)], {}, 'scout')
    stage.run(4300)
    expect(stage.lastPhase('v', 'scout')).toBe('completed')
    stage.run(1500)
    expect(stage.lastPhase('g')).toBe('retained state_awaited')
    stage.run(500)
    expect(stage.lastPhase('g')).toBe('expired expired')
  })

  it('what is released is told to people, with the severity that the catalog gives it', () => {
    const catalog = referenceCatalog(['{ text: text, severity: info }', '{ text: text, severity: warning }'])
    const stage = new Stage(core, { catalog }).fly()
    stage.say([notice('n', 'low'), range, approval('ask')])
    const [low, picture, asked] = stage.values('notice')
    expect(low).toMatchObject({ component: 'n', kind: 'notice', severity: 'warning', text: 'low' })
    expect(low).not.toHaveProperty('fields.map')
    expect(picture).toMatchObject({ component: 'range', kind: 'report', severity: 'info' })
    expect(picture.text).toBeUndefined()
    expect(picture.fields['battery.remaining']).toMatchObject({ value: 90, age_ms: 0 })
    expect(asked).toMatchObject({ component: 'ask', kind: 'request', severity: 'info', text: 'may I?' })
  })

  describe('patience', () => {
    const patient = referenceCatalog(['patience: 0s', 'patience: 3s'])
    /** Retained, and home is lost before it can cross. */
    const waiting = (): Stage => {
      const stage = new Stage(core, { catalog: patient }).fly()
      stage.say([range, plain('hold'), goto('g', 30, ['range', 'hold'])])
      stage.set({ 'home.lat': Number.NaN })
      return stage.run(100)
    }

    it('defers an unknown field as state_awaited, and crosses when it comes back', () => {
      const stage = waiting()
      expect(stage.lastPhase('hold')).toBe('completed')
      stage.run(2000)
      expect(stage.lastPhase('g')).toMatch(/^retained/)
      stage.set({ 'home.lat': HOME.lat })
      expect(stage.lastPhase('g')).toBe('dispatched')
    })

    it('G5: denies when it is over, counted from the first deferral', () => {
      const stage = waiting().run(2800)
      expect(stage.lastPhase('g')).toMatch(/^retained/)
      stage.run(200)
      expect(stage.lastPhase('g')).toBe('blocked state_unknown')
    })

    it('is never restarted', () => {
      // While another has the resource, the field returns and is lost again.
      const stage = new Stage(core, { catalog: patient }).fly()
      stage.say([range, goto('g', 30, ['range', 'hold']), plain('hold'), velocity('v', 2, ['range', 'hold'])])
      stage.set({ 'home.amsl': Number.NaN }).run(1000)
      expect(stage.lastPhase('v')).toBe('dispatched')
      stage.set({ 'home.amsl': HOME.amsl }).run(100).set({ 'home.amsl': Number.NaN }).run(1800)
      expect(stage.lastPhase('v')).toBe('completed')
      expect(stage.lastPhase('g')).toMatch(/^retained/)
      stage.run(200)
      expect(stage.lastPhase('g')).toBe('blocked state_unknown')
    })

    it('is none by default', () => {
      const stage = new Stage(core).fly()
      stage.say([range, plain('hold'), goto('g', 30, ['range', 'hold'])])
      stage.set({ 'home.lat': Number.NaN }).run(100)
      expect(stage.lastPhase('g')).toBe('blocked state_unknown')
    })
  })

  describe('a denial', () => {
    /** g waits for v; the world changes while it does. */
    const denied = (change: (stage: Stage) => unknown): Stage => {
      const stage = new Stage(core).fly()
      stage.say([range, velocity('v', 2), goto('g', 30, ['range', 'v']), goto('h', 60, ['range', 'g']), notice('n')])
      stage.after(2000)
      change(stage)
      return stage
    }

    it.each<[string, string | undefined, (stage: Stage) => unknown]>([
      ['not_in_control', undefined, (s) => s.set({ critical: 1 })],
      ['prerequisite_lost', 'v', (s) => s.show({ landed: 'LANDING' })],
      ['state_unknown', 'home.lat', (s) => s.set({ 'home.lat': Number.NaN })],
      ['changed', 'map', (s) => s.set({ map: 2 })],
      ['unsupported', 'battery: battery.remaining 20 %, at least 25 %', (s) => s.set({ 'battery.remaining': 20 })],
      ['unsupported', 'flying: position.alt 2 m, at least 2.5 m', (s) => s.set({ 'position.alt': 2 })],
    ])('G1, G5: by %s (%s) is final and withdraws the uncrossed dependents', (reason, detail, change) => {
      const stage = denied(change)
      expect(stage.lastPhase('g')).toBe(`blocked ${reason}`)
      expect(stage.lastPhase('h')).toBe('blocked prerequisite_failed')
      const said = stage.values('outcome/planner').findLast((o) => o.component === 'g')
      expect(said.detail).toBe(detail)
      expect(stage.values('outcome/planner').findLast((o) => o.component === 'h').detail).toBe('g')
      expect(stage.obligations.at(-1).detail).toBe(detail)
      expect(stage.obligations.at(-1)).toMatchObject({
        component: 'g',
        reason,
        scope: [
          { id: 'g', type: 'goto' },
          { id: 'h', type: 'goto' },
        ],
      })
      stage.ground()
      stage.fly('OFFBOARD').run(3000)
      expect(stage.lastPhase('g')).toBe(`blocked ${reason}`)
    })

    it('by what it rests on names it', () => {
      const stage = new Stage(core).fly()
      stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g'])])
      stage.run(500).set({ 'battery.remaining': 10 })
      expect(stage.phases('h').at(-1)).toBe('blocked prerequisite_failed')
      expect(stage.values('outcome/planner').findLast((o) => o.component === 'h').detail).toBe('g')
    })

    it('of a transitive prerequisite reaches the whole chain at once', () => {
      const stage = new Stage(core).run(1000)
      stage.say([
        range,
        takeoff('t'),
        goto('a', 10, ['range', 't']),
        goto('b', 20, ['range', 'a']),
        plain('land', 'l', ['b']),
      ])
      stage.run(100).operate('pause')
      expect(['a', 'b', 'l'].map((id) => stage.lastPhase(id)?.split(' ')[0])).toEqual(['blocked', 'blocked', 'blocked'])
    })

    it('leaves what does not rest on it alone', () => {
      const stage = denied((s) => s.set({ map: 2 }))
      expect(stage.lastPhase('n')).toBe('released')
      expect(stage.lastPhase('v')).toBe('completed')
    })
  })

  it('prerequisite_lost is judged of direct prerequisites only, and not of other phases', () => {
    // range does not hold any more, but g is what `hold` names, and it is completed.
    const stage = new Stage(core).fly()
    stage.say([range, velocity('v', 1), plain('hold', 'hold', ['v'])])
    stage.run(900).set({ 'position.accuracy': 1.9 }).run(300)
    expect(stage.lastPhase('hold')).toMatch(/dispatched|completed/)
  })

  it('G1: unknown counts as lost', () => {
    const stage = new Stage(core).fly()
    stage.say([range, plain('hold'), goto('g', 30, ['range', 'hold'])])
    stage.set({ 'position.accuracy': Number.NaN }).run(100)
    expect(stage.lastPhase('g')).toBe('blocked prerequisite_lost')
  })

  it('G2: a binding record that changed is denied', () => {
    let record: ((sequence: number) => Uint8Array) | undefined
    const spy: CoreFactory = (image, session, environment) => {
      const made = core(image, session, environment)
      record = (sequence) => made.record(sequence)
      return made
    }
    const stage = new Stage(spy).fly()
    const verdict = stage.say([range, plain('hold'), goto('g', 30, ['range', 'hold'])])
    const bytes = record!(verdict.components[2].sequence)
    bytes[bytes.length - 1]! ^= 1
    stage.run(100)
    expect(stage.lastPhase('g')).toBe('blocked binding_mismatch')
    expect(stage.setpoints()).toEqual([])
  })

  it('G5: a target at exactly 0, 0 is unencodable', () => {
    const catalog = referenceCatalog([
      'near_home: distance(payload.lat, payload.lon, state.home.lat, state.home.lon) <= 280',
      'near_home: state.battery.remaining >= 0',
    ])
    const stage = new Stage(core, { catalog }).fly()
    stage.say([range, { ...goto('g', 0), payload: { lat: 0, lon: 0, alt: 10 } }])
    expect(stage.lastPhase('g')).toBe('blocked unencodable')
    expect(stage.sent).toEqual([])
  })

  it('a report says what is true when it is released', () => {
    const stage = new Stage(core).fly()
    stage.set({ 'battery.remaining': 77 })
    stage.say([range, notice('n', 'hello')])
    const [report, said] = stage.values('notice')
    expect(report).toMatchObject({
      kind: 'report',
      agent: 'planner',
      plan: 'planner/r1',
      component: 'range',
      sequence: 1,
    })
    expect(report.fields['battery.remaining']).toMatchObject({ value: 77, age_ms: 0 })
    expect(said).toMatchObject({ kind: 'notice', text: 'hello', severity: 'info' })
  })

  it('no detail is a bare number', () => {
    const stage = denyAll(new Stage(core).fly())
    const details = stage.published.flatMap((p) => detailsOf(p.value))
    expect(details.filter((d) => typeof d !== 'string')).toEqual([])
  })
})

function denyAll(stage: Stage): Stage {
  stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g']), plain('hold')])
  stage.run(300).operate('pause').run(500).operate('resume')
  stage.say([goto('a', 30, ['a', 'range']), range, goto('b', 9000)])
  stage.say([range, goto('g', 30), plain('hold')])
  return stage.run(300).set({ critical: 1, map: 2 }).run(300)
}

/** Every `detail` anywhere in a published value. */
function detailsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'detail' && inner !== undefined ? [inner] : detailsOf(inner),
  )
}
