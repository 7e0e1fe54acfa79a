// Mistakes built in on purpose, one line each, around the core, in the engine and in the core's own source: the observer finds
// every one of them within two thousand short schedules, most within some hundred; what takes a whole mission within some dozen.

import { describe, expect, test } from 'vitest'
import { mutant } from './mutant.ts'
import type { Guarantee } from './observer.ts'
import { SABOTAGES } from './sabotage.ts'
import { scenarioOf } from './scenario.ts'
import { shrink } from './shrink.ts'
import { catalog, seeds } from './survey.ts'
import { fly } from './world.ts'

const SCHEDULES_MAX = 2000
/** A hazard is not in every schedule. */
const SEEDS_MAX = 30_000

describe('simulation', () => {
  for (const [name, { guarantee, hazard, length = 'short', from = 1, around, engine, core }] of Object.entries(
    SABOTAGES,
  )) {
    const where = core?.file ?? (engine ? 'engine' : 'around the core')
    test(`${guarantee} broken on purpose is found: ${name} (${where})`, { timeout: 120_000 }, async () => {
      const load = core && (await mutant(core))
      const mend = engine?.()
      try {
        const found = new Set<Guarantee>()
        let flown = 0
        for (const seed of seeds(from, SEEDS_MAX)) {
          const scenario = scenarioOf(seed, length, hazard && [hazard])
          if (hazard !== undefined && !scenario.hazards.has(hazard)) continue
          if (++flown > SCHEDULES_MAX) break
          const sabotage = { ...around?.(), ...(load && { load }) }
          for (const finding of fly(catalog, scenario, { sabotage }).findings) found.add(finding.guarantee)
          if (found.has(guarantee)) break
        }
        expect(found).toContain(guarantee)
      } finally {
        mend?.()
      }
    })
  }

  test('G5: a schedule that fails is made small and still fails', { timeout: 60_000 }, () => {
    const { around } = SABOTAGES['a denial is not heard']!
    const options = () => ({ sabotage: around!() })
    for (const seed of seeds(1, SCHEDULES_MAX)) {
      const scenario = scenarioOf(seed, 'short', [])
      const outcome = fly(catalog, scenario, options())
      // One that is worth it.
      if (outcome.findings[0]?.guarantee !== 'G5' || outcome.incidents.length < 8) continue
      const { only, outcome: smallest } = shrink(scenario, outcome, options)
      expect(smallest.findings[0]?.guarantee).toBe('G5')
      expect(only.size).toBeLessThanOrEqual(3)
      // The names alone bring it back, in the whole of the schedule's time.
      const again = fly(catalog, scenario, { ...options(), only })
      expect(again.findings).toEqual(smallest.findings)
      expect(again.incidents.map(({ name }) => name)).toEqual([...only])
      return
    }
    throw new Error('no schedule failed')
  })
})
