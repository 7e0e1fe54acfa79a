// The health of the companion's loop: how late its tick comes, from within its process, and how even its setpoints are, as
// the vehicle sees them; idle, beside other traffic on the broker, and under the telemetry of a PX4.

import { setTimeout as pause } from 'node:timers/promises'
import { fieldOf, layout } from '../src/autopilot/frame.ts'
import { HOME } from '../test/e2e/flight-line.ts'
import type { Arrived } from './relay.ts'
import type { Rig } from './rig.ts'
import { type Spread, Times } from './spread.ts'

export interface Loop {
  readonly name: string
  readonly late: Spread
  readonly missed: number
  /** By what the collector did. */
  readonly pauses: Readonly<Record<string, Spread>>
  /** Deviation of the time between two setpoints of a lease from its period, by rate in Hz. */
  readonly spacing: Readonly<Record<string, Spread>>
  /** Setpoints that were due between two that came. */
  readonly absent: number
  /** Frames of the vehicle and messages of other traffic, a second. */
  readonly telemetry: number
  readonly flood: number
  readonly cpuShare: number
  readonly resident_bytes: number
  readonly age_s: number
}

export interface Load {
  readonly name: string
  /** Messages a second of other traffic. */
  readonly flood: number
  /** The vehicle sends about 400 messages a second. */
  readonly dense: boolean
}

const GLOBAL = 'SET_POSITION_TARGET_GLOBAL_INT'
const LAT_AT = fieldOf(GLOBAL, 'lat_int').offset
const LEG_S = 10
/** A leg is flown until the next one takes over, so it must not arrive: it ends farther away than it comes. */
const AWAY_DEG = 250 / 111_195
const TYPES = { 10: 'goto', 20: 'goto.20hz' } as const

/** What makes about 400 messages a second of the 200 that the vehicle sends, all of it read and judged by the companion. */
const DENSE_US = { GLOBAL_POSITION_INT: 10_000, LOCAL_POSITION_NED: 10_000, EXTENDED_SYS_STATE: 20_000 }

export async function loop(rig: Rig, time_s: number, { name, flood, dense }: Load): Promise<Loop> {
  const other = flood > 0 ? await rig.start('flood.ts', rig.url, String(flood)) : undefined
  try {
    if (dense) {
      for (const [message, interval_us] of Object.entries(DENSE_US)) rig.relay.ask(layout(message).id, interval_us)
    }
    const spacing = new Spacing()
    rig.relay.onFrame = (frame) => spacing.add(frame)
    await rig.health() // from here on
    const before = rig.relay.telemetry
    const begun_ms = performance.now()
    const legs = Math.max(2, Math.round(time_s / LEG_S))
    for (let leg = 0; leg < legs; leg++) {
      const rate = leg % 2 === 0 ? 10 : 20
      spacing.begin(rate)
      // To the other side of home; each a little beside the one before, so that its frames tell it apart.
      const isNorth = Number(rig.snapshot!.state['position.lat']) > HOME.lat
      const lat = HOME.lat + (isNorth ? -AWAY_DEG : AWAY_DEG) + leg * 1e-6
      rig.say(rig.plan({ type: TYPES[rate], payload: { lat, lon: HOME.lon, alt: 20 } }))
      await pause((time_s * 1000) / legs)
    }
    const elapsed_s = (performance.now() - begun_ms) / 1000
    const telemetry = (rig.relay.telemetry - before) / elapsed_s
    const { late_ms, pauses, ...health } = await rig.health()
    const heard = await other?.ask<{ rate: number }>()
    const kinds = [...new Set(pauses.map(({ kind }) => kind))].sort()
    const pausesOf = (wanted: string) => pauses.filter(({ kind }) => kind === wanted).map(({ pause_ms }) => pause_ms)
    return {
      name,
      late: spreadOf(late_ms),
      pauses: Object.fromEntries(kinds.map((kind) => [kind, spreadOf(pausesOf(kind))])),
      spacing: spacing.spreads,
      absent: spacing.absent,
      telemetry,
      flood: heard?.rate ?? 0,
      ...health,
    }
  } finally {
    rig.relay.onFrame = () => {}
    await other?.stop()
  }
}

function spreadOf(times_ms: readonly number[]): Spread {
  const times = new Times()
  for (const time_ms of times_ms) times.add(time_ms)
  return times.spread
}

/** The time between setpoints of one lease: those that follow one another with the same target. */
class Spacing {
  absent = 0
  readonly #byRate = new Map<number, Times>()
  #rate = 0
  #last: { readonly lat: number; readonly at_ms: number } | undefined

  begin(rate: number): void {
    this.#rate = rate
    this.#last = undefined
    if (!this.#byRate.has(rate)) this.#byRate.set(rate, new Times())
  }

  add({ message, payload, at_ms }: Arrived): void {
    if (message !== layout(GLOBAL).id) return
    const lat = payload.getInt32(LAT_AT, true)
    const last = this.#last
    this.#last = { lat, at_ms }
    if (last?.lat !== lat) return
    const period_ms = 1000 / this.#rate
    const periods = Math.max(1, Math.round((at_ms - last.at_ms) / period_ms))
    this.absent += periods - 1
    this.#byRate.get(this.#rate)!.add(Math.abs(at_ms - last.at_ms - period_ms))
  }

  get spreads(): Record<string, Spread> {
    return Object.fromEntries([...this.#byRate].map(([rate, times]) => [rate, times.spread]))
  }
}
