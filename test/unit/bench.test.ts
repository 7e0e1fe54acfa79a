// A benchmark of something that was refused would be a fast one: here each does its work once, untimed.

import { describe, expect, it } from 'vitest'
import { legs } from '../../bench/core.ts'
import { figures } from '../../bench/figures.ts'
import { type Action, CALM, LIMITS, type Peer, type State } from '../../bench/peers/decision.ts'
import { admission } from '../../bench/peers/halo.ts'
import { asked, single, whole } from '../../bench/peers.ts'
import { sortie } from '../../bench/sortie.ts'
import { head, row } from '../../bench/table.ts'
import { type Measured, once, type Work } from '../../bench/work.ts'
import { dice } from '../oracle/sketch.ts'

const prerequisites = (of: readonly { readonly requires?: readonly unknown[] }[]): number =>
  of.reduce((sum, { requires }) => sum + (requires?.length ?? 0), 0)

describe('what the benchmarks measure is what their names say', () => {
  it.each([32, 256])('the sortie and the legs of %i components have twice as many prerequisites', (n) => {
    expect(sortie(n)).toHaveLength(n)
    expect(prerequisites(sortie(n))).toBe(2 * n)
    expect(legs(n, 2 * n)).toHaveLength(n)
    expect(prerequisites(legs(n, 2 * n))).toBe(2 * n)
  })

  it.each(Object.entries(figures))('%s: every work does it, and again', async (_, works) => {
    for (const work of await works()) {
      once(work)
      once(work)
    }
  })

  it('a work that does not do it throws', () => {
    const idle: Work<boolean> = { name: 'idle', run: () => false, didIt: (did) => did }
    expect(() => once(idle)).toThrow('idle: the work did not do what its name says')
  })

  it('no two have the same name', async () => {
    const works = await Promise.all(Object.values(figures).map((make) => make()))
    const names = works.flat().map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('a peer decides as the core does what it decides at all', () => {
  const said = (peer: Peer, state: State, actions: readonly Action[]): readonly boolean[] => {
    const question = peer.ask(state, actions)
    question.before?.()
    const kept = question.kept(question.run())
    question.after?.()
    return kept
  }
  const alone = (actions: readonly Action[]) => actions.map((action) => ({ ...action, requires: [] }))
  const agree = (peer: Peer, state: State, actions: readonly Action[]): void =>
    expect(said(peer, state, actions)).toEqual(said(admission, state, peer.decides.has('P') ? actions : alone(actions)))

  const edges: readonly (readonly [what: string, state: State, kept: boolean])[] = [
    ['calm', CALM, true],
    ['every limit reached', { battery: LIMITS.battery, fix: LIMITS.fix, height_mm: LIMITS.height_mm }, true],
    ['battery below', { ...CALM, battery: LIMITS.battery - 1 }, false],
    ['no 3D fix', { ...CALM, fix: LIMITS.fix - 1 }, false],
    ['too high', { ...CALM, height_mm: LIMITS.height_mm + 1 }, false],
  ]
  const raised = (actions: readonly Action[], at: number, alt_mm: number): Action[] =>
    actions.with(at, { ...actions[at]!, alt_mm })

  it('all that a response rests on falls with its first, the rest stays', () => {
    const all = asked(32)
    expect(said(admission, CALM, raised(all, 0, LIMITS.alt_mm))).toEqual(all.map(() => true))
    expect(said(admission, CALM, raised(all, 0, LIMITS.alt_mm + 1))).toEqual(all.map(() => false))
    expect(said(admission, CALM, raised(all, 31, LIMITS.alt_mm + 1))).toEqual(all.map((_, i) => i < 31))
  })

  it.each([...whole])('$name: at and beyond every limit of the state', (peer) => {
    for (const [what, state, kept] of edges) {
      expect(new Set(said(peer, state, asked(32))), what).toEqual(new Set([kept]))
      agree(peer, state, asked(32))
    }
  })

  it.each([...whole])('$name: with one action at and beyond its limit', (peer) => {
    for (const at of [0, 1, 16, 31]) {
      agree(peer, CALM, raised(asked(32), at, LIMITS.alt_mm))
      agree(peer, CALM, raised(asked(32), at, LIMITS.alt_mm + 1))
    }
  })

  it.each([...whole])('$name: on any graph', (peer) => {
    for (let seed = 1; seed <= 50; seed++) {
      const below = dice(seed)
      // Each rests on some of those before it in an order that is not the response's.
      const rank = Array.from({ length: 1 + below(32) }, () => below(2 ** 32))
      const order = rank.map((_, i) => i).sort((a, b) => rank[a]! - rank[b]!)
      const actions: Action[] = order.map((_, i) => ({
        id: `a${i}`,
        alt_mm: LIMITS.alt_mm + (below(5) === 0 ? 1 : 0),
        requires: order.slice(0, order.indexOf(i)).filter(() => below(4) === 0),
      }))
      agree(peer, CALM, actions)
    }
  })

  it.each([...single])('$name: one action, in the state that it meets', (peer) => {
    for (const [what, state, kept] of edges) expect(said(peer, state, asked(1)), what).toEqual([kept])
  })
})

describe('the table', () => {
  const slowest: Measured = {
    name: 'x',
    unit: 'ms',
    p50: 99,
    p99: 99,
    p999: 99,
    max: 999,
    samples: 999_999,
    batch: 64,
    timer: 0,
    paper: 9,
    target: 9,
    decides: 'CPABF',
    bytes: 1,
  }
  it('is at most 160 columns wide, whatever it says', async () => {
    for (const works of Object.values(figures)) {
      for (const { name } of await works()) expect(row({ ...slowest, name }).length, name).toBeLessThanOrEqual(160)
    }
    expect(head().length).toBeLessThanOrEqual(160)
  })
})
