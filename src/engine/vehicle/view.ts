// What the state table says of the vehicle itself: the fields that the engine always reads, in the catalog or not (PROTOCOL 8).

import { LANDED, MODES, type Mode, type Shown } from '../../autopilot/profile.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Core, Reading } from '../../core/core.ts'
import type { Stall } from './stall.ts'

export interface ModeReport {
  readonly mode: Mode
  readonly intended: Mode
  /** Of the older of the two, ms. */
  readonly age_ms: number
  /** Both within the maximum age of their fields. */
  readonly fresh: boolean
  /** Received behind the last stall: it tells of the time since, and not of the time before. */
  readonly current: boolean
}

/** How old the newest mode report may be when a frame changes the mode, and when it is to show an effect, ms. */
export const MODE_AGE_MS = 1000
/** Heartbeats come every second: so long after a stall the next one is awaited, ms. */
const STANDING_MS = 1500
/** How old the word that the system is not critical may be, ms: heartbeats come every second. */
const CRITICAL_AGE_MS = 3500

const ON_GROUND = LANDED.indexOf('ON_GROUND')

type Watched = 'armed' | 'mode' | 'mode_intended' | 'landed' | 'critical' | 'position.lat' | 'position.lon'

export class VehicleView {
  readonly #core: Core
  readonly #stall: Stall
  readonly #numbers: Readonly<Record<Watched, number>>

  constructor(core: Core, catalog: Catalog, stall: Stall) {
    const number = (name: string): number => {
      const index = catalog.fields.findIndex((f) => f.name === name)
      if (index < 0) throw new Error(`profile ${catalog.profile.name} lacks the field ${name}, which the engine needs`)
      return index
    }
    this.#core = core
    this.#stall = stall
    this.#numbers = {
      armed: number('armed'),
      mode: number('mode'),
      mode_intended: number('mode_intended'),
      landed: number('landed'),
      critical: number('critical'),
      'position.lat': number('position.lat'),
      'position.lon': number('position.lon'),
    }
  }

  #read(field: Watched, now_ms: number): Reading {
    return this.#core.read(this.#numbers[field], now_ms)
  }

  /** The newest mode report, however old; undefined while mode or intended mode is unknown. */
  mode(now_ms: number): ModeReport | undefined {
    const mode = this.#read('mode', now_ms)
    const intended = this.#read('mode_intended', now_ms)
    if (mode.validity === 'unknown' || intended.validity === 'unknown') return undefined
    const age_ms = Math.max(mode.age_ms, intended.age_ms)
    return {
      mode: MODES[mode.value] ?? 'OTHER',
      intended: MODES[intended.value] ?? 'OTHER',
      age_ms,
      fresh: mode.validity === 'usable' && intended.validity === 'usable',
      current: age_ms <= this.#stall.since_ms(now_ms),
    }
  }

  /** So shortly after a stall that something may still be awaited that is heard in each second. */
  isBehindStall(now_ms: number): boolean {
    return this.#stall.since_ms(now_ms) <= STANDING_MS
  }

  /** The mode was known, and has not been heard since a stall ended, a second ago at most: it is about to be. */
  awaitsMode(now_ms: number): boolean {
    if (this.#stall.since_ms(now_ms) > MODE_AGE_MS) return false
    const seen = this.mode(now_ms)
    return seen !== undefined && !seen.current
  }

  /** Before a stall it stood there disarmed, and that has not been heard since, a heartbeat's time at most: it is about to be. */
  awaitsStanding(now_ms: number): boolean {
    if (!this.isBehindStall(now_ms)) return false
    const armed = this.#read('armed', now_ms)
    const landed = this.#read('landed', now_ms)
    const stood = armed.value === 0 && landed.value === ON_GROUND
    return stood && !this.standsDisarmed(now_ms)
  }

  /** The last word was that it is armed, however old: a vehicle that fell silent in flight still flies. */
  isArmed(now_ms: number): boolean {
    return this.#read('armed', now_ms).value === 1
  }

  /** Known to stand there disarmed, by what was received after `since_ms`. What was heard before a stall does not say so. */
  standsDisarmed(now_ms: number, since_ms = Number.NEGATIVE_INFINITY): boolean {
    const armed = this.#read('armed', now_ms)
    if (armed.value !== 0 || !this.#isCurrent(armed, now_ms) || now_ms - armed.age_ms <= since_ms) return false
    return this.isOnGround(now_ms)
  }

  /** Known to stand on the ground. Unknown is in the air, and so is what was heard before a stall. */
  isOnGround(now_ms: number): boolean {
    const landed = this.#read('landed', now_ms)
    return this.#isCurrent(landed, now_ms) && landed.value === ON_GROUND
  }

  /** It stood on the ground when the newest mode was reported, before a stall or behind it. */
  wasOnGround(now_ms: number): boolean {
    const landed = this.#read('landed', now_ms)
    return landed.validity === 'usable' && landed.value === ON_GROUND
  }

  #isCurrent({ validity, age_ms }: Reading, now_ms: number): boolean {
    return validity === 'usable' && age_ms <= this.#stall.since_ms(now_ms)
  }

  /** Known, lately, not to be in a failsafe. */
  isUncritical(now_ms: number): boolean {
    const critical = this.#read('critical', now_ms)
    return critical.validity !== 'unknown' && critical.age_ms <= CRITICAL_AGE_MS && critical.value === 0
  }

  /** Where it was last known to be, deg; NaN where that is unknown. */
  place(now_ms: number): { readonly lat: number; readonly lon: number } {
    return { lat: this.#read('position.lat', now_ms).value, lon: this.#read('position.lon', now_ms).value }
  }

  /** The state shows it, by a report received after `since_ms`: a mode counts as mode and as intended mode. */
  shows(shown: Shown, since_ms: number, now_ms: number): boolean {
    if ('mode' in shown) {
      const seen = this.mode(now_ms)
      if (seen === undefined || seen.age_ms > MODE_AGE_MS || now_ms - seen.age_ms <= since_ms) return false
      return seen.mode === shown.mode && seen.intended === shown.mode
    }
    const armed = this.#read('armed', now_ms)
    if (armed.validity !== 'usable' || now_ms - armed.age_ms <= since_ms) return false
    return (armed.value === 1) === shown.armed
  }
}
