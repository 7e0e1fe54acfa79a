// An agent that does nothing forbidden cannot hurt another (PROTOCOL 4, 7, 9, 10, 12): counts and sizes, on virtual time.

import { describe, expect, it } from 'vitest'
import type { Core, CoreFactory } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { CHAINED, type ComponentSaid, goto, notice, plain, range, referenceCatalog, Stage, twoAgents } from './stage.ts'

const MESSAGE_BYTES_MAX = 65_536

/** A core that counts its calls. */
function counted(): { readonly core: CoreFactory; readonly calls: Map<string, number>; take(name: string): number } {
  const calls = new Map<string, number>()
  const core: CoreFactory = (...made) =>
    new Proxy(loadCore(...made), {
      get(target, name) {
        const value = target[name as keyof Core]
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          calls.set(String(name), (calls.get(String(name)) ?? 0) + 1)
          return (value as (...args: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  const take = (name: string): number => {
    const count = calls.get(name) ?? 0
    calls.clear()
    return count
  }
  return { core, calls, take }
}

const largest = (stage: Stage): number => Math.max(...stage.published.map(({ value }) => encode(value).length))
const malformed = (id: string, requires: readonly string[] = ['range']): ComponentSaid => ({
  ...goto(id, 30, requires),
  payload: {},
})
const notices = (count: number, prefix: string, requires: readonly string[] = []): ComponentSaid[] =>
  Array.from({ length: count }, (_, i) => ({ ...notice(`${prefix}${i}`), requires }))

describe('a response costs what it holds', () => {
  /** So many malformed gotos, and the rest in a chain that rests on all of them, each written before what it rests on. */
  const backwards = (roots: number, chain: number): ComponentSaid[] => {
    const bad = Array.from({ length: roots }, (_, i) => malformed(`bad-${i}`))
    const names = bad.slice(0, 60).map(({ id }) => id)
    const links = Array.from({ length: chain }, (_, i) =>
      goto(`link-${i}`, 30, ['range', ...(i === chain - 1 ? names : [`link-${i + 1}`])]),
    )
    return [range, ...links, ...bad]
  }

  it('110 malformed gotos under a chain of 145: each belongs to one obligation, and every message has 64 KiB at most', () => {
    const stage = new Stage(loadCore, { catalog: twoAgents() }).fly()
    const verdict = stage.say(backwards(110, 145))
    expect(verdict.components.filter((c: { cause?: string }) => c.cause === 'bad-0')).toHaveLength(145)
    const scopes = stage.obligations.flatMap(({ scope }) => scope.map(({ id }: { id: string }) => id))
    expect(new Set(scopes).size).toBe(scopes.length)
    expect(stage.obligations).toHaveLength(32)
    const without = verdict.components.filter((c: { reason: string; obligation?: string }) => {
      return c.reason === 'payload_invalid' && c.obligation === undefined
    })
    expect(without).toHaveLength(110 - 32)
    stage.run(3000)
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
    stage.operate('revoke', { agent: 'planner' }).run(1000)
    expect(stage.control.revoked).toEqual(['planner'])
    expect(stage.snapshot).toMatchObject({ plans: [], obligations: [] })
  })

  it('256 notices in a chain written backwards are asked twice each and cross in one step', () => {
    const { core, take } = counted()
    const stage = new Stage(core, { catalog: referenceCatalog(CHAINED) }).fly()
    const chain = notices(256, 'n').map((c, i) => ({ ...c, requires: i === 255 ? [] : [`n${i + 1}`] }))
    take('gate')
    stage.say(chain)
    expect(stage.lastPhase('n0')).toBe('released')
    expect(take('gate')).toBeLessThanOrEqual(2 * 256)
  })

  it('so are those under 4,096 prerequisites, whatever of these comes first', () => {
    const { core, take } = counted()
    const stage = new Stage(core, { catalog: referenceCatalog(CHAINED) }).fly()
    const below = Array.from({ length: 63 }, (_, i) => `b${i}`)
    const links = below.map((id, i) => ({ ...notice(id), requires: i === 62 ? [] : [below[i + 1]!] }))
    take('gate')
    stage.say([...notices(63, 'top-', below), ...links])
    expect(stage.lastPhase('top-0')).toBe('released')
    expect(take('gate')).toBeLessThanOrEqual(2 * 126)
  })

  it('a loss withdraws each of its dependents once, and so does a replacement', () => {
    const stage = new Stage(loadCore).fly()
    const chain = Array.from({ length: 200 }, (_, i) =>
      goto(`g${i}`, 30 + i / 10, i === 0 ? ['range'] : ['range', `g${i - 1}`]),
    )
    stage.say([range, ...chain], { response: 'first' })
    stage.run(500).set({ map: 2 }).run(100)
    expect(stage.phases('g199')).toEqual(['retained', 'retained prerequisite_not_ready', 'blocked prerequisite_failed'])
    expect(stage.obligations).toHaveLength(1)
    stage.run(1000)
    const outcomes = stage.values('outcome/planner').length
    stage.say([range, ...chain], { recovers: 'first' })
    stage.run(1000).say([range, ...chain], { recovers: 'first' })
    expect(stage.values('outcome/planner').length - outcomes).toBeLessThan(6 * 202)
  })
})

describe('what waits costs nothing in a step', () => {
  it.each([
    ['for others', (i: number) => (i === 0 ? ['range'] : ['range', `g${i - 1}`])],
    ['for the resource', () => ['range']],
  ])('255 gotos that wait %s are not asked again', (_, requires) => {
    const { core, take } = counted()
    const stage = new Stage(core).fly()
    stage.say([range, ...Array.from({ length: 255 }, (_, i) => goto(`g${i}`, 30 + i / 10, requires(i)))])
    stage.run(1000)
    expect(stage.lastPhase('g0')).toBe('dispatched')
    take('gate')
    stage.streaming = false
    stage.run(200)
    expect(take('gate')).toBe(0)
  })

  it('and none is forgotten: each is asked when its turn comes, and expires when its time is over', () => {
    const stage = new Stage(loadCore, {
      catalog: referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    wait: 5s\n']),
    })
    stage.fly().say([range, goto('g', 30), goto('h', 60), goto('on', 60, ['range', 'h'])])
    stage.run(1000).arrive(goto('g', 30)).run(1500)
    expect(stage.lastPhase('g')).toBe('completed')
    expect(stage.lastPhase('h')).toBe('dispatched')
    stage.run(5000)
    expect(stage.lastPhase('on')).toBe('expired expired')
  })
})

describe('what one agent takes is not what another one lacks', () => {
  it('recoveries with 256 new ids and nothing in them leave 32 obligations, the oldest, each told', () => {
    const stage = new Stage(loadCore).fly()
    stage.say([notice('n')], { response: 'first' })
    for (let i = 0; i < 20; i++) {
      const bad = Array.from({ length: 256 }, (_, k) => ({ id: `x${i}-${k}`, type: 'notice.operator', payload: {} }))
      expect(stage.run(250).say(bad, { recovers: 'first' })).toMatchObject({ accepted: true })
    }
    stage.run(1000)
    expect(stage.obligations).toHaveLength(32)
    expect(stage.snapshot.obligations.length + (stage.snapshot.omitted?.planner.obligations ?? 0)).toBe(32)
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
    stage.say([notice('n')])
    expect(stage.closed).toEqual(Array(32).fill('superseded'))
  })

  it('what is lost beyond 32 open obligations opens none, and its outcome says so', () => {
    const stage = new Stage(loadCore, {
      catalog: referenceCatalog(['    patience: 0s\n', '    patience: 0s\n    wait: 5s\n']),
    })
    const waiting = Array.from({ length: 40 }, (_, i) => goto(`g${i}`, 30 + i))
    stage.fly().say([range, ...waiting])
    stage.run(7000)
    const lost = stage.values('outcome/planner').filter(({ phase }) => phase === 'expired')
    expect(lost).toHaveLength(39)
    expect(lost.map(({ obligation }) => obligation)).toEqual([...Array(32).fill(undefined), ...Array(7).fill(null)])
  })

  it('a recovery that replaces 120 waiting notices, each with one that rests on it, tells of the obligation once', () => {
    const stage = new Stage(loadCore, { catalog: referenceCatalog(CHAINED) }).fly()
    const firsts = notices(120, 'n', ['g'])
    const seconds = firsts.map(({ id }) => ({ ...notice(`on-${id}`), requires: [id] }))
    stage.say([range, goto('g', 200), ...firsts, ...seconds, malformed('bad')], { response: 'first' })
    stage.run(500)
    const { length } = stage.obligations
    expect(stage.say(firsts, { recovers: 'first' })).toMatchObject({ accepted: true })
    expect(stage.lastPhase('on-n119')).toBe('blocked prerequisite_failed')
    const told = stage.obligations.slice(length)
    expect(told).toHaveLength(1)
    expect(told[0].scope.length + (told[0].omitted?.scope ?? 0)).toBe(121)
  })

  it('a notice-only agent opens none about types that it may not use', () => {
    const catalog = referenceCatalog(['agents:\n', 'agents:\n  scout:\n    may: [notice.operator]\n'])
    const stage = new Stage(loadCore, { catalog }).fly()
    stage.say(
      [notice('n'), malformed('bad'), goto('good', 30, []), { ...notice('on'), requires: ['bad'] }],
      {},
      'scout',
    )
    expect(stage.values('obligation/scout')).toEqual([])
  })

  it('four times 256 valid notices, and another agent holds; after a revocation all is free', () => {
    const stage = new Stage(loadCore, { catalog: twoAgents() }).fly()
    stage.say([range, goto('g', 200), ...notices(254, 'a', ['g'])], { response: 'full' })
    const refused = [1, 2, 3].map((i) => stage.run(250).say(notices(256, `b${i}-`, ['g']), { recovers: 'full' }))
    expect(refused.map(({ reason }) => reason)).toEqual([undefined, 'no_capacity', 'no_capacity'])
    expect(refused[2].detail).toBe('instances: 512 of 512 in use, 256 more asked for')
    expect(stage.say([plain('hold')], {}, 'scout')).toMatchObject({ accepted: true })
    stage.operate('revoke', { agent: 'planner' }).run(1000)
    expect(stage.lastPhase('hold', 'scout')).toBe('completed')
    stage.operate('restore', { agent: 'planner' })
    for (const i of [0, 1]) {
      const over = i === 0 ? { response: 'next' } : { recovers: 'next' }
      expect(stage.run(250).say(notices(256, `c${i}-`), over)).toMatchObject({ accepted: true })
    }
  })

  it('notices without end under recoveries: the oldest completed ones give way, and the newest may still be named', () => {
    const stage = new Stage(loadCore, { catalog: referenceCatalog(CHAINED) }).fly()
    stage.say(notices(256, 'n0-'), { response: 'first' })
    for (let i = 1; i < 8; i++) {
      const on = [{ ...notice(`on-${i}`), requires: [`n${i - 1}-0`] }]
      const verdict = stage.run(250).say([...notices(255, `n${i}-`), ...on], { recovers: 'first' })
      expect(verdict).toMatchObject({ accepted: true })
      expect(stage.lastPhase(`on-${i}`)).toBe('released')
    }
    const gone = stage.run(250).say([{ ...notice('late'), requires: ['n0-1'] }], { recovers: 'first' })
    expect(gone.components[0]).toMatchObject({ reason: 'unknown_prerequisite', detail: 'n0-1' })
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
  })

  it.each([1, 2])('a plan of requests at 5 Hz: what the operator decides %i times a second is taken', (times) => {
    const stage = new Stage(loadCore, { catalog: twoAgents() }).fly()
    const { n } = stage.control
    for (let i = 0; i < 20; i++) {
      stage.say([
        range,
        { id: 'ask', type: 'request.approval', payload: { text: `${i}` } },
        goto('g', 30, ['range', 'ask']),
      ])
      // What he saw is 210 ms old.
      const seen = stage.control
      stage.run(210)
      if (i % (5 / times) < 1) stage.operate('clear', { type: 'goto', session: seen.session, after: seen.n })
    }
    expect(stage.values('notice').filter(({ kind }) => kind === 'operator')).toEqual([])
    expect(stage.control.n).toBe(n + 4 * times)
    expect(stage.values('control').length).toBeLessThan(4 * times + 5 * 4 + 2)
  })
})

describe('no message has more than 64 KiB', () => {
  const long = (id: string): string => id.padEnd(64, 'x')

  it('a verdict says every decision, and leaves out the last details', () => {
    const stage = new Stage(loadCore).fly()
    const absent = '\u00e9'.repeat(66)
    const verdict = stage.say(Array.from({ length: 256 }, (_, i) => plain('status', long(`c${i}`), [absent])))
    expect(verdict.components).toHaveLength(256)
    const details = verdict.components.filter((c: { detail?: string }) => c.detail !== undefined).length
    expect(details).toBeGreaterThan(0)
    expect(verdict.omitted).toEqual({ details: 256 - details })
    expect(verdict.components[0].detail).toBe(`${'\u00e9'.repeat(64)}...`)
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
  })

  it('a snapshot has all of the state, shows each agent its part, and counts what it leaves out', () => {
    const stage = new Stage(loadCore, { catalog: twoAgents() }).fly()
    stage.say([range, goto('g', 200), ...notices(254, 'a'.padEnd(56, 'x'), ['g'])], { response: 'full' })
    stage.run(250).say(notices(256, 'b'.padEnd(56, 'x'), ['g']), { recovers: 'full' })
    stage.run(250).say(
      Array.from({ length: 250 }, (_, i) => ({ id: `e${i}`, type: 'status', payload: { no: 1 } })),
      {},
      'scout',
    )
    const { state, unknown } = stage.snapshot
    stage.run(1000)
    const { snapshot } = stage
    expect(Object.keys(snapshot.state).length + snapshot.unknown.length).toBe(
      Object.keys(state).length + unknown.length,
    )
    expect(snapshot.plans.map(({ agent }: { agent: string }) => agent).sort()).toEqual(['planner', 'scout'])
    const { components } = snapshot.plans.find(({ agent }: { agent: string }) => agent === 'planner')
    expect(Object.keys(components).length + (snapshot.omitted?.planner.components ?? 0)).toBe(512)
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
  })

  it('a request that could not be shown whole in its part of `control` is not asked', () => {
    const catalog = referenceCatalog(
      ...[0, 1, 2].map((i): [string, string] => ['agents:\n', `agents:\n  o${i}:\n    may: [hold]\n`]),
    )
    const stage = new Stage(loadCore, { catalog }).fly()
    const ask = { id: 'ask', type: 'request.approval', payload: { text: '?' } }
    stage.say([range, ask, ...Array.from({ length: 240 }, (_, i) => goto(long(`g${i}`), 30, ['range', 'ask']))])
    expect(stage.lastPhase('ask')).toBe('failed no_capacity')
    expect(largest(stage)).toBeLessThanOrEqual(MESSAGE_BYTES_MAX)
    stage.run(1000).say([range, ask, goto('g', 30, ['range', 'ask'])])
    expect(stage.lastPhase('ask')).toBe('released')
  })
})
