import { describe, expect, it } from 'vitest'
import { encode } from '../../../src/wire/write.ts'
import { cores } from '../../oracle/cores.ts'
import { goto, notice, plain, range, type Said, Stage, takeoff } from './stage.ts'

/** Of the newest message: by component its phase, reason and detail. */
const ends = (said: Said): Record<string, string> =>
  Object.fromEntries(
    Object.entries<Said>(said.ends).map(([id, { phase, reason, detail }]) => [
      id,
      [phase, reason, detail].filter((word) => word !== undefined).join(' '),
    ]),
  )

describe.each(cores)('the end of a plan (PROTOCOL 9, 12), %s', (_, core) => {
  it('is said once nothing of it is live, with the end of each component, and after all of their outcomes', () => {
    const stage = new Stage(core).engage()
    expect(stage.values('end/planner')).toEqual([])
    stage.arrive(goto('g', 30)).run(1500)
    const [said, ...more] = stage.values('end/planner')
    expect(more).toEqual([])
    expect(said).toMatchObject({ v: 1, plan: 'planner/r1', at: expect.any(Number) })
    expect(said.reason).toBeUndefined()
    expect(said.ends).toEqual({
      g: { generation: 1, phase: 'completed', reason: undefined, detail: undefined },
      range: { generation: 1, phase: 'released', reason: undefined, detail: undefined },
    })
    const topics = stage.published.map(({ topic }) => topic)
    expect(topics.lastIndexOf('end/planner')).toBeGreaterThan(topics.lastIndexOf('outcome/planner'))
  })

  it('says why what did not complete ended, and is said again after a recovery', () => {
    const stage = new Stage(core).fly()
    stage.say([range, goto('g', 30), goto('h', 60, ['range', 'g']), goto('far', 5000)])
    stage.run(500).set({ 'battery.remaining': 20 }).run(1100)
    expect(ends(stage.newest('end/planner'))).toEqual({
      range: 'released',
      g: 'failed unsupported battery: battery.remaining 20 %, at least 25 %',
      h: 'blocked prerequisite_failed g',
    })
    stage
      .set({ 'battery.remaining': 90 })
      .run(1100)
      .say([range, goto('g', 30)], { recovers: 'r1' })
    stage.run(500).arrive(goto('g', 30)).run(1500)
    expect(stage.values('end/planner')).toHaveLength(2)
    expect(ends(stage.newest('end/planner'))).toMatchObject({ g: 'completed', h: 'blocked prerequisite_failed g' })
  })

  it('is said of a plan of which nothing was retained', () => {
    const stage = new Stage(core).fly()
    stage.say([goto('far', 5000)])
    expect(stage.values('end/planner')).toMatchObject([{ plan: 'planner/r1', ends: {} }])
  })

  it('of a superseded plan is said once its command is over, and not twice', () => {
    const stage = new Stage(core).run(1000)
    stage.say([range, takeoff('up'), goto('g', 30, ['range', 'up'])])
    stage.run(200).say([notice('n')])
    expect(stage.values('end/planner').map(({ plan }) => plan)).toEqual(['planner/r2'])
    stage.fly('TAKEOFF').fly('HOLD').run(2000)
    const [, said] = stage.values('end/planner')
    expect(said).toMatchObject({ plan: 'planner/r1', reason: 'superseded' })
    expect(ends(said)).toEqual({ up: 'completed', range: 'released', g: 'superseded superseded' })
    stage.say([notice('n')])
    expect(stage.values('end/planner')).toHaveLength(3)
  })

  it('says that a handoff, a revocation or the session ended it', () => {
    const handed = new Stage(core).fly()
    handed.say([plain('handoff.pilot'), notice('n')])
    handed.run(1000)
    expect(handed.values('end/planner')).toMatchObject([
      { reason: 'ended', ends: { 'handoff.pilot': { phase: 'completed' } } },
    ])

    const revoked = new Stage(core).engage().operate('revoke', { agent: 'planner' }).run(100)
    expect(revoked.values('end/planner')).toMatchObject([{ reason: 'ended' }])
    expect(ends(revoked.newest('end/planner'))).toMatchObject({ g: 'failed agent_revoked' })

    const restarted = new Stage(core).engage().operate('restart').run(100)
    expect(restarted.values('end/planner')).toMatchObject([{ reason: 'session_changed' }])
    expect(ends(restarted.newest('end/planner'))).toMatchObject({ g: 'failed session_changed', range: 'released' })
  })

  it('has room for every message, however many there were', () => {
    const stage = new Stage(core).fly()
    const long = (round: number, count: number) =>
      Array.from({ length: count }, (_, i) => notice(`${'n'.repeat(56)}${round}-${i}`))
    stage.say(long(0, 256))
    for (let round = 1; round < 6; round++) stage.run(1100).say(long(round, 256), { recovers: 'r1' })
    const said: Said = stage.newest('end/planner')
    expect(encode(said).length).toBeLessThanOrEqual(65_536)
    expect(Object.keys(said.ends).length + said.omitted.ends).toBe(6 * 256)
    expect(Object.keys(said.ends)[0]).toBe(`${'n'.repeat(56)}5-255`)
  })
})
