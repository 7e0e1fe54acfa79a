import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { goto, range, Stage } from './stage.ts'

describe('a snapshot (PROTOCOL 2, 12)', () => {
  const count = (stage: Stage): number => stage.values('snapshot').length

  it('is taken once a second', () => {
    const stage = new Stage(core).fly()
    const before = count(stage)
    stage.run(10_000)
    expect(count(stage) - before).toBe(10)
  })

  it('is taken on a discrete change at once, and at most twice more in a second', () => {
    const stage = new Stage(core).fly()
    while (count(stage) === 0 || stage.now_ms % 1000 !== 0) stage.run(10)
    stage.run(1000)
    const before = count(stage)
    stage.set({ map: 2 })
    expect(count(stage) - before).toBe(1)
    expect(stage.snapshot.state.map).toBe(2)
    stage.set({ map: 3 }).set({ map: 4 }).set({ map: 5 })
    expect(count(stage) - before).toBe(2)
    stage.run(1000)
    expect(count(stage) - before).toBeLessThanOrEqual(4)
    expect(stage.snapshot.state.map).toBe(5)
  })

  it('never more than three in any second, however fast the world changes', () => {
    const stage = new Stage(core).fly().run(1000)
    const before = count(stage)
    for (let i = 0; i < 1000; i++) stage.set({ map: i }).run(10)
    expect(count(stage) - before).toBeLessThanOrEqual(30)
  })

  it('is not taken for a continuous change', () => {
    const stage = new Stage(core).fly()
    const before = count(stage)
    for (let i = 0; i < 90; i++) stage.set({ 'battery.remaining': 90 - i / 10 }).run(10)
    expect(count(stage) - before).toBeLessThanOrEqual(1)
  })

  it('is not taken for a change of what the catalog does not declare', () => {
    const stage = new Stage(core).run(1000)
    const before = count(stage)
    stage.set({ mode_intended: 5 }).run(10)
    expect(count(stage)).toBe(before)
  })

  it('says state, versions, what is unknown or stale, generations, plans and obligations', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g']), goto('far', 9000)])
    stage.run(1500)
    const { snapshot, session, state, versions, unknown, agents, plans, obligations } = stage.snapshot
    expect(snapshot).toMatch(new RegExp(`^${session}-\\d+$`))
    expect(state).toMatchObject({ mode: 'OFFBOARD', armed: true, landed: 'IN_AIR', 'battery.remaining': 90, map: 1 })
    expect(versions).toMatchObject({ mode: expect.any(Number), map: expect.any(Number) })
    expect(versions).not.toHaveProperty(['battery.remaining'])
    expect(unknown).toEqual([])
    expect(agents.planner).toEqual({ generation: 1 })
    expect(plans).toEqual([
      { agent: 'planner', plan: 'planner/r1', components: { range: 'released', g: 'dispatched', h: 'retained' } },
    ])
    expect(obligations.map((o: { component: string }) => o.component)).toEqual(['far'])
    stage.streaming = false
    stage.run(1100)
    expect(stage.snapshot.unknown).toContain('position.lat')
    expect(stage.snapshot.state).not.toHaveProperty(['position.lat'])
  })

  it('says booleans as such, and enumerations by name', () => {
    const { state } = new Stage(core).run(1000).snapshot
    expect(state).toMatchObject({ armed: false, ready: true, mode: 'HOLD', landed: 'ON_GROUND' })
  })

  it('publishes only fields that the catalog declares', () => {
    const stage = new Stage(core).fly()
    expect(stage.snapshot.state).not.toHaveProperty(['battery.voltage'])
    expect(stage.snapshot.unknown).not.toContain('mode_intended')
  })

  it('is retained on its topic, and its names only rise', () => {
    const stage = new Stage(core).fly().run(5000)
    expect(stage.published.filter((p) => p.topic === 'snapshot').every((p) => p.retain)).toBe(true)
    const ordinals = stage.values('snapshot').map((s) => Number(s.snapshot.split('-')[1]))
    expect(ordinals).toEqual([...ordinals].sort((a, b) => a - b))
    expect(new Set(ordinals).size).toBe(ordinals.length)
  })
})
