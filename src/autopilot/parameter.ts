// Parameters of the autopilot that decide whether a setpoint is safe to stream, or what happens when something fails: what a
// preflight reads, and what it says of the values.

/** What the catalog and the configuration want of the autopilot. */
export interface Wanted {
  /** The longest time between two frames of a setpoint, ms. */
  readonly period_ms: number
  /** m/s */
  readonly maxSpeed: number
}

export interface Parameter {
  /** The names that versions of the autopilot know it by, each with how many of its units one of ours has. 16 bytes at most. */
  readonly names: Readonly<Record<string, number>>
  /** What it decides. */
  readonly meaning: string
  /** Setpoints wait until it is read, and are refused by its judgement; of the others it only warns. */
  readonly guards: boolean
  /** What to set instead, or undefined where the value suits; in our units. `own` writes a number in those of the parameter. */
  judge(value: number, wanted: Wanted, own: (value: number) => string): string | undefined
}

/** A lease's period may be this part of the time after which the autopilot gives its stream up. */
const PERIODS = 5

type Judge = Parameter['judge']

const named = (name: string): Parameter['names'] => ({ [name]: 1 })

/** One that setpoints depend on. */
export const guard = (name: string, meaning: string, judge: Judge): Parameter => ({
  names: named(name),
  meaning,
  guards: true,
  judge,
})

/** A failsafe that is off at these values. */
export const failsafe = (name: string, meaning: string, off: readonly number[], advice: string): Parameter => ({
  names: named(name),
  meaning,
  guards: false,
  judge: (value) => (off.includes(value) ? `${advice}: nothing happens now` : undefined),
})

/** Seconds without a setpoint after which the autopilot gives up. */
export const timeout: Judge = (seconds, { period_ms }, own) => {
  const least = (PERIODS * period_ms) / 1000
  if (seconds >= least) return undefined
  return `set it to ${own(least)} at least, ${PERIODS} times the ${own(period_ms)} ms of the catalog's slowest setpoint`
}

export const speedLimit = (names: Parameter['names']): Parameter => ({
  names,
  meaning: 'how fast a position setpoint is flown to',
  guards: true,
  judge: (value, { maxSpeed }, own) =>
    value <= maxSpeed ? undefined : `set it to ${own(maxSpeed)} at most, or raise max_speed (${maxSpeed} m/s)`,
})
