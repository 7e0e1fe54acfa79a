// What a seed means: where a schedule begins, how long it is, how rough, and how fast everybody acts in it.

import { Chance, type Range } from './chance.ts'
import { type Hazard, HELD, hazardsOf } from './hazard.ts'

/** Whole missions from the ground, or a few dense seconds that begin where things happen. */
export type Length = 'long' | 'short'

/** How often things happen, ms. */
export interface Pace {
  /** The vehicle is stepped, and the companion's loop turns. */
  readonly vehicle_ms: number
  readonly tick_ms: number
  /** Each stream of telemetry comes at this interval; undefined: as PX4 has it, and as it is asked for. */
  readonly stream_ms: number | undefined
  /** ATTITUDE comes too, which nobody needs. */
  readonly attitude: boolean
  /** A snapshot on its way to an agent. */
  readonly heard_ms: Range
  /** Between two thoughts of each agent: the scout says little, mostly it is in the way; the courier drops things. */
  readonly planner_ms: Range
  readonly scout_ms: Range
  readonly courier_ms: Range
  /** Of the hostile one: the rate that it may. */
  readonly hostile_ms: Range
  /** Between two of what a hazard of the schedule brings. */
  readonly hazard_ms: Range
  /** A response on its way: usually, and now and then. */
  readonly said_ms: Range
  readonly late_ms: Range
  readonly operator_ms: Range
  readonly ground_ms: Range
  /** Between two misfortunes when everything happens at once. */
  readonly misfortune_ms: Range
  /** Between two of those that are about what cannot be undone. */
  readonly disk_ms: Range
  /** From the autopilot's death to its boot; undefined: as PX4 takes it. */
  readonly reboot_ms: number | undefined
  /** From a companion's death to the next one's start. */
  readonly restart_ms: Range
}

export interface Scenario {
  readonly seed: number
  readonly duration_ms: number
  /** Standing on the ground and not ready yet, standing ready, or in the air in HOLD. */
  readonly start: 'cold' | 'ready' | 'aloft'
  /** 0 calm, 1 everything at once. */
  readonly roughness: number
  /** Where an agent wants to go, m from home. */
  readonly reach_m: number
  readonly pace: Pace
  readonly hazards: ReadonlySet<Hazard>
}

const LONG: Pace = {
  vehicle_ms: 5,
  tick_ms: 10,
  stream_ms: undefined,
  attitude: true,
  heard_ms: [3, 400],
  planner_ms: [300, 3000],
  scout_ms: [300, 20_000],
  courier_ms: [2000, 30_000],
  hostile_ms: [150, 300],
  hazard_ms: [2000, 15_000],
  said_ms: [5, 900],
  late_ms: [1000, 15_000],
  operator_ms: [500, 3000],
  ground_ms: [2000, 40_000],
  misfortune_ms: [500, 9000],
  disk_ms: [2000, 30_000],
  reboot_ms: undefined,
  restart_ms: [50, 4000],
}

const SHORT: Pace = {
  vehicle_ms: 20,
  tick_ms: 20,
  stream_ms: 120,
  attitude: false,
  heard_ms: [2, 40],
  planner_ms: [100, 700],
  scout_ms: [300, 6000],
  courier_ms: [200, 2500],
  hostile_ms: [150, 300],
  hazard_ms: [200, 1500],
  said_ms: [2, 60],
  late_ms: [200, 1500],
  operator_ms: [80, 800],
  ground_ms: [300, 4000],
  misfortune_ms: [100, 1200],
  disk_ms: [300, 4000],
  reboot_ms: 300,
  restart_ms: [30, 500],
}

/** One in eight of the short ones: everybody is busy with what is to be dropped. */
const DELIVERY: Pace = {
  ...SHORT,
  planner_ms: [800, 6000],
  courier_ms: [50, 300],
  operator_ms: [40, 200],
  disk_ms: [100, 700],
}

/** `may`: the hazards that a schedule can have. */
export function scenarioOf(seed: number, length: Length, may: readonly Hazard[] = HELD): Scenario {
  const chance = new Chance(seed)
  const roughness = seed % 4 === 0 ? 0 : chance.real(0.2, 1)
  const hazards = roughness === 0 ? new Set<Hazard>() : hazardsOf(seed, may)
  const both = { seed, roughness, hazards }
  if (length === 'long') return { ...both, duration_ms: 90_000, start: 'cold', reach_m: 25, pace: LONG }
  const delivery = seed % 8 === 5
  // Some hazards take longer than a schedule usually lasts: a target is believed to be another's after a second.
  const longer = (['late', 'strangers', 'stalls', 'hostile', 'antimeridian'] as const).some((hazard) =>
    hazards.has(hazard),
  )
    ? 2
    : 1
  return {
    ...both,
    duration_ms: chance.real(2000, 4200) * (delivery ? 3 : longer),
    start: chance.happens(0.8) || delivery ? 'aloft' : 'ready',
    reach_m: 3,
    pace: delivery ? DELIVERY : SHORT,
  }
}
