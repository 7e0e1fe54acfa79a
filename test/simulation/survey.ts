// Many schedules one after another: what they reached, and the first that fails.

import type { Catalog } from '../../src/catalog/catalog.ts'
import { referenceCatalog } from '../unit/engine/stage.ts'
import type { Hazard } from './hazard.ts'
import { type Length, type Scenario, scenarioOf } from './scenario.ts'
import { type FlyOptions, fly, type Outcome } from './world.ts'

const MAY =
  'notice.operator, report.range, request.approval, handoff.pilot, status, takeoff, goto, velocity, hold, return, land'

const COURIER = 'report.range, request.approval, status, hold, release'

/** The reference catalog with three agents more, and a gripper that is not waited for as long as most schedules last. */
export const catalog: Catalog = referenceCatalog(
  [
    'agents:\n',
    `agents:\n  scout:\n    may: [${MAY}]\n  courier:\n    may: [${COURIER}]\n  hostile:\n    may: [${MAY}]\n`,
  ],
  ['      irreversible: true\n      within: 5s', '      irreversible: true\n      within: 1200ms'],
)

export interface Survey {
  readonly runs: number
  readonly virtual_ms: number
  readonly reached: ReadonlyMap<string, number>
  readonly failed: { readonly scenario: Scenario; readonly outcome: Outcome } | undefined
}

interface SurveyOptions extends FlyOptions {
  readonly each?: (survey: Survey) => void
  /** What schedules can have, where that is not what holds. */
  readonly hazards?: readonly Hazard[] | undefined
}

/** Flies the seeds in order, up to the first finding. `each` is told after every one. */
export function survey(
  seeds: Iterable<number>,
  length: Length,
  { each, hazards, ...options }: SurveyOptions = {},
): Survey {
  const reached = new Map<string, number>()
  let [runs, virtual_ms] = [0, 0]
  let failed: Survey['failed']
  for (const seed of seeds) {
    const scenario = scenarioOf(seed, length, hazards)
    const outcome = fly(catalog, scenario, options)
    runs++
    virtual_ms += outcome.flown_ms
    for (const [what, count] of outcome.reached) reached.set(what, (reached.get(what) ?? 0) + count)
    if (outcome.findings.length > 0) failed = { scenario, outcome }
    each?.({ runs, virtual_ms, reached, failed })
    if (failed !== undefined) break
  }
  return { runs, virtual_ms, reached, failed }
}

/** `count` seeds from `first` on, each `step`-th. */
export function* seeds(first: number, count: number, step = 1): Iterable<number> {
  for (let i = 0; i < count; i++) yield first + i * step
}
