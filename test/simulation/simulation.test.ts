// Whole missions on one virtual clock (PROTOCOL 1): a seed is a schedule of 90 s, an observer outside says which guarantee a turn
// has broken. The short schedules are in first-half.test.ts and second-half.test.ts, and as many as one likes in
// `npm run simulate`.

import { describe, expect, test } from 'vitest'
import { CARRIERS } from './drift.ts'
import { expectWhole } from './expectation.ts'
import { scenarioOf } from './scenario.ts'
import { catalog, seeds } from './survey.ts'
import { fly } from './world.ts'

const RUNS = 16

describe('simulation', () => {
  test(`G1 G2 G3 G4 G5 G6 hold in ${RUNS} whole missions`, { timeout: 240_000 }, () => {
    expectWhole(seeds(1, RUNS), 'long', {
      'crossed takeoff': 1,
      'crossed goto': 1,
      'completed takeoff': 1,
      'completed goto': 1,
      'completed land': 1,
      recovery: 1,
      'failed taken_over': 1,
      'completed release': 1,
      'blocked uncertain_outcome': 1,
      'session trap': 1,
      'session reboot': 1,
    })
  })

  // Two drops, a flight that is superseded and stopped by its contingency, a take-off with recoveries; nothing else goes wrong.
  test.each([
    [4, 80, 1],
    [8, 200, 0],
    [36, 100, 0],
  ])('G3 G5: a companion may die at any of its steps (seed %i)', { timeout: 240_000 }, (seed, least, leastFound) => {
    const scenario = scenarioOf(seed, 'short')
    let [deaths, found] = [0, 0]
    for (let dieAt = 1; ; dieAt++) {
      const { findings, reached } = fly(catalog, scenario, { dieAt })
      expect(findings, `dies at step ${dieAt}`).toEqual([])
      if (![...reached.keys()].some((what) => what.startsWith('died '))) break
      deaths++
      found += reached.get('found uncertain') ?? 0
    }
    expect(deaths).toBeGreaterThan(least)
    expect(found).toBeGreaterThanOrEqual(leastFound)
  })

  test('G7: the same seed flies the same schedule', () => {
    const scenario = { ...scenarioOf(1, 'long'), duration_ms: 20_000 }
    const [once, again] = [fly(catalog, scenario, { told: true }), fly(catalog, scenario, { told: true })]
    expect(again.events).toEqual(once.events)
    expect(again.wire).toEqual(once.wire)
  })

  test('G7: what the wall clock shows changes nothing', () => {
    for (const seed of seeds(1, 20)) {
      const scenario = scenarioOf(seed, 'short')
      const steady = fly(catalog, scenario, { told: true, wall: (now_ms) => 1.7e12 + now_ms })
      const wild = fly(catalog, scenario, {
        told: true,
        wall: (now_ms) => Math.floor(1e12 * Math.abs(Math.sin(now_ms))),
      })
      expect(wild.events).toEqual(steady.events)
      expect(wild.wire).toEqual(steady.wire)
    }
  })

  test('every field of the profile can drift', () => {
    expect(Object.keys(CARRIERS).sort()).toEqual(catalog.profile.fields.map(({ name }) => name).sort())
  })
})
