// What the tests expect of many schedules: no finding, and that they have been where it is dangerous.

import { expect } from 'vitest'
import { failure } from './report.ts'
import type { Length } from './scenario.ts'
import { shrink } from './shrink.ts'
import { type Survey, survey } from './survey.ts'

/** Schedules that fly nothing prove nothing: `least` is how often each thing must have been reached. */
export function expectWhole(seeds: Iterable<number>, length: Length, least: Readonly<Record<string, number>>): Survey {
  const flown = survey(seeds, length)
  const { failed, reached } = flown
  if (failed !== undefined) {
    const { scenario, outcome } = failed
    expect.fail(failure(scenario, length, shrink(scenario, outcome)))
  }
  const missed = Object.entries(least).filter(([what, count]) => (reached.get(what) ?? 0) < count)
  expect(missed.map(([what, count]) => `${what}: ${reached.get(what) ?? 0} of ${count}`)).toEqual([])
  return flown
}
