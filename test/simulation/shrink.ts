// A schedule that fails is made small: as few incidents as still break the same guarantee, and no longer than it takes.
//
// Delta debugging (Zeller and Hildebrandt's ddmin): leave out halves, then quarters, then single incidents, and start over with
// whatever still fails. Flying a schedule again with some incidents left out shifts none of the others.

import type { Guarantee } from './observer.ts'
import type { Scenario } from './scenario.ts'
import { catalog } from './survey.ts'
import { type FlyOptions, fly, type Outcome } from './world.ts'

export interface Shrunk {
  /** Names of the incidents that are left; `--only` takes them. */
  readonly only: ReadonlySet<string>
  readonly outcome: Outcome
  /** Flights that it took. */
  readonly flights: number
}

const FLIGHTS_MAX = 2000

/** `options` makes them anew for each flight: a sabotage may remember things. */
export function shrink(scenario: Scenario, failed: Outcome, options: () => FlyOptions = () => ({})): Shrunk {
  const guarantee = failed.findings[0]!.guarantee
  let flights = 0
  let names = failed.incidents.map(({ name }) => name)
  let shortest: Scenario = { ...scenario, duration_ms: failed.flown_ms }
  let outcome = failed

  const attempt = (only: readonly string[]): boolean => {
    if (flights >= FLIGHTS_MAX) return false
    flights++
    const again = fly(catalog, shortest, { ...options(), only: new Set(only) })
    if (!breaks(again, guarantee)) return false
    outcome = again
    const happened = new Set(again.incidents.map(({ name }) => name))
    names = only.filter((name) => happened.has(name))
    shortest = { ...shortest, duration_ms: again.flown_ms }
    return true
  }

  for (let parts = 2; names.length > 0; ) {
    const size = Math.ceil(names.length / parts)
    const before = names
    let smaller = false
    for (let from = 0; from < before.length && !smaller; from += size) {
      smaller = attempt([...before.slice(0, from), ...before.slice(from + size)])
    }
    if (smaller) parts = Math.max(2, parts - 1)
    else if (size === 1) break
    else parts = Math.min(2 * parts, names.length)
  }
  return { only: new Set(names), outcome, flights }
}

const breaks = ({ findings }: Outcome, guarantee: Guarantee): boolean =>
  findings.some((finding) => finding.guarantee === guarantee)
