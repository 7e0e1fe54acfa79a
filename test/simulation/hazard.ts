// Parts of the world that not every schedule has: what the link does to time, who else is on it, what telemetry cannot mean, how
// long the kernel keeps what the loop does not read, an agent that is valid and hostile, and where longitudes begin anew.

import { Chance } from './chance.ts'

/** A new one comes last: what is drawn for the others stays as it is. */
export const HAZARDS = ['late', 'strangers', 'impossible', 'stalls', 'hostile', 'antimeridian'] as const
export type Hazard = (typeof HAZARDS)[number]

/** Those that hold on this code: another one is flown where it is asked for (`--hazards late,stalls`). */
export const HELD: readonly Hazard[] = HAZARDS

const PROBABILITY: Readonly<Record<Hazard, number>> = {
  late: 0.25,
  strangers: 0.25,
  impossible: 0.25,
  stalls: 0.25,
  // Each of its responses takes as long as many schedules.
  hostile: 0.03,
  antimeridian: 0.03,
}

/** What a schedule has, of those that may be: drawn from a chance of its own, whatever the rest of it is. */
export function hazardsOf(seed: number, may: readonly Hazard[]): ReadonlySet<Hazard> {
  const chance = new Chance(seed ^ 0x9e3779b9)
  return new Set(HAZARDS.filter((hazard) => chance.happens(PROBABILITY[hazard]) && may.includes(hazard)))
}

/** The names in a list as the command line has it, `all` for all. Throws a RangeError for one that there is not. */
export function hazardsNamed(list: string): readonly Hazard[] {
  if (list === 'all') return HAZARDS
  return list
    .split(',')
    .filter((name) => name !== 'none')
    .map((name) => {
      const hazard = HAZARDS.find((h) => h === name)
      if (hazard === undefined) throw new RangeError(`no hazard is named ${name}: ${HAZARDS.join(', ')}, all or none`)
      return hazard
    })
}
