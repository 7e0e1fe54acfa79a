// What a schedule came to, in words.

import type { Length, Scenario } from './scenario.ts'
import type { Shrunk } from './shrink.ts'
import { catalog, type Survey } from './survey.ts'
import { type FlyOptions, fly, type Outcome } from './world.ts'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(3).padStart(8)} s`

export const found = ({ findings }: Outcome): string =>
  findings.map((f) => `${f.guarantee} at ${seconds(f.at_ms).trim()}: ${f.what}`).join('\n')

/** What is left of a failing schedule, what came of it, and how to fly it again. */
export function failure(
  scenario: Scenario,
  length: Length,
  { only, outcome, flights }: Shrunk,
  options: FlyOptions = {},
): string {
  const { hazards } = scenario
  const { events } = fly(catalog, scenario, { ...options, only, told: true })
  const left = outcome.incidents.map(({ name, at_ms, words }) => `${seconds(at_ms)}  ${name.padEnd(4)} ${words}`)
  const flag = `${length === 'long' ? ' --long' : ''}${hazards.size > 0 ? ` --hazards ${[...hazards].join()}` : ''}`
  return [
    `seed ${scenario.seed} breaks ${found(outcome)}`,
    `${left.length} incidents are left after ${flights} flights:`,
    ...left,
    'and what came of them:',
    ...events,
    `again: npm run simulate -- --seed ${scenario.seed}${flag} --only ${[...only].join(',') || 'nothing'}`,
  ].join('\n')
}

/** What was reached, most often first. */
export function reached({ reached }: Survey): string {
  return [...reached]
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `${String(count).padStart(10)}  ${what}`)
    .join('\n')
}
