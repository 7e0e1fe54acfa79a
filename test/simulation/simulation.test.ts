// Whole flights on one virtual clock (PROTOCOL 1): a seed is a schedule of missions and misfortunes, an observer outside says
// which guarantee a turn has broken. HALO_SEED and HALO_RUNS choose the schedules.

import { describe, expect, test } from 'vitest'
import { referenceCatalog } from '../unit/protocol/stage.ts'
import type { Guarantee } from './observer.ts'
import { SABOTAGES } from './sabotage.ts'
import { fly, type Outcome } from './world.ts'

const MAY =
  'notice.operator, report.range, request.approval, handoff.pilot, status, takeoff, goto, velocity, hold, return, land'
const catalog = referenceCatalog(['agents:\n', `agents:\n  scout:\n    may: [${MAY}]\n`])
const RUNS = Number(process.env.HALO_RUNS ?? 12)
const SEED = Number(process.env.HALO_SEED ?? 1)
const DURATION_MS = 90_000

describe('simulation', () => {
  test(`G1 G2 G3 G4 G5 G6 hold in ${RUNS} schedules from seed ${SEED}`, { timeout: 1000 * RUNS + 30_000 }, () => {
    const reached = new Map<string, number>()
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const outcome = fly(catalog, seed, DURATION_MS)
      expect(outcome.findings, report(seed, outcome)).toEqual([])
      for (const [what, count] of outcome.reached) reached.set(what, (reached.get(what) ?? 0) + count)
    }
    if (RUNS < 12 || SEED !== 1) return
    // Schedules that fly nothing prove nothing.
    for (const what of [
      'crossed takeoff',
      'crossed goto',
      'completed goto',
      'recovery',
      'failed taken_over',
      'session trap',
    ]) {
      expect(reached.get(what) ?? 0, what).toBeGreaterThan(0)
    }
  })

  test('G7: the same seed flies the same schedule', () => {
    const [once, again] = [fly(catalog, SEED, 20_000), fly(catalog, SEED, 20_000)]
    expect(again.events).toEqual(once.events)
  })

  for (const [name, { guarantee, seed: first, sabotage }] of Object.entries(SABOTAGES)) {
    test(`${guarantee} broken on purpose is found: ${name}`, { timeout: 60_000 }, () => {
      const found = new Set<Guarantee>()
      for (let seed = first; seed < first + 40 && !found.has(guarantee); seed++) {
        for (const finding of fly(catalog, seed, 60_000, { sabotage: sabotage() }).findings)
          found.add(finding.guarantee)
      }
      expect(found).toContain(guarantee)
    })
  }
})

function report(seed: number, { findings, events }: Outcome): string {
  const what = findings.map((f) => `${f.guarantee} at ${(f.at_ms / 1000).toFixed(3)} s: ${f.what}`).join('\n')
  return `seed ${seed}: ${what}\n${events.join('\n')}\n(run it again with HALO_SEED=${seed} HALO_RUNS=1)`
}
