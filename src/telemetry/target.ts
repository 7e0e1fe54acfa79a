// The target that the autopilot says it flies to: somebody else who commands inside our mode shows here and nowhere else
// (PROTOCOL 8, Takeover).

import { layout } from '../autopilot/frame.ts'
import type { Profile } from '../autopilot/profile.ts'
import { turn_deg } from './angle.ts'
import { reader } from './reader.ts'
import type { ReportedTarget } from './report.ts'

const METRES_PER_DEGREE = 111_195
/** Where the vehicle is tells one frame from the other, while both positions are no older than this, ms. */
const PLACE_AGE_ms = 300

const global = {
  lat: reader('POSITION_TARGET_GLOBAL_INT', 'lat_int'),
  lon: reader('POSITION_TARGET_GLOBAL_INT', 'lon_int'),
  mask: reader('POSITION_TARGET_GLOBAL_INT', 'type_mask'),
}
const local = {
  x: reader('POSITION_TARGET_LOCAL_NED', 'x'),
  y: reader('POSITION_TARGET_LOCAL_NED', 'y'),
  vx: reader('POSITION_TARGET_LOCAL_NED', 'vx'),
  vy: reader('POSITION_TARGET_LOCAL_NED', 'vy'),
  mask: reader('POSITION_TARGET_LOCAL_NED', 'type_mask'),
}
const GLOBAL = layout('POSITION_TARGET_GLOBAL_INT').id
const LOCAL = layout('POSITION_TARGET_LOCAL_NED').id
/** Bits of the mask that say that place or velocity are not meant. */
const NO_PLACE = 0b11
const NO_VELOCITY = 0b11000

interface Pair {
  readonly north: number
  readonly east: number
  readonly received_ms: number
}

export class Target {
  readonly #counts: Profile['targets']
  /** Where the vehicle is, on the globe (deg) and in the local frame (m). */
  #globe: Pair | undefined
  #local: Pair | undefined

  constructor(profile: Profile) {
    this.#counts = profile.targets
  }

  follow(said: ReadonlyMap<string, number>, received_ms: number): void {
    this.#globe = pair(said, 'position.lat', 'position.lon', received_ms) ?? this.#globe
    this.#local = pair(said, 'local.north', 'local.east', received_ms) ?? this.#local
  }

  /** What a message says of the target; undefined for other messages, and where it means none. */
  read(message: number, payload: DataView, received_ms: number): ReportedTarget | undefined {
    if (message === GLOBAL) {
      if ((global.mask(payload) & NO_PLACE) !== 0) return undefined
      const lat = global.lat(payload) / 1e7
      const lon = global.lon(payload) / 1e7
      const here = this.#here(received_ms)
      if (here === undefined) return { lat, lon }
      const north = here.local.north + (lat - here.globe.north) * METRES_PER_DEGREE
      const east = here.local.east + turn_deg(here.globe.east, lon) * METRES_PER_DEGREE * shrink(lat)
      return { lat, lon, north, east }
    }
    return message === LOCAL ? this.#readLocal(payload, received_ms) : undefined
  }

  #readLocal(payload: DataView, received_ms: number): ReportedTarget | undefined {
    const mask = local.mask(payload)
    const [north, east] = [local.x(payload), local.y(payload)]
    if ((mask & NO_PLACE) === 0 && Number.isFinite(north) && Number.isFinite(east)) {
      if (this.#counts.local !== 'place') return undefined
      const here = this.#here(received_ms)
      if (here === undefined) return { north, east }
      const lat = here.globe.north + (north - here.local.north) / METRES_PER_DEGREE
      const beside = here.globe.east + (east - here.local.east) / (METRES_PER_DEGREE * shrink(lat))
      const lon = Math.abs(beside) <= 180 ? beside : turn_deg(0, beside)
      return { lat, lon, north, east }
    }
    const velocity = { north: local.vx(payload), east: local.vy(payload) }
    const moves = (mask & NO_VELOCITY) === 0 && Number.isFinite(velocity.north) && Number.isFinite(velocity.east)
    return moves ? { velocity } : undefined
  }

  #here(received_ms: number): { readonly globe: Pair; readonly local: Pair } | undefined {
    const isFresh = (place: Pair | undefined): place is Pair =>
      place !== undefined && received_ms - place.received_ms <= PLACE_AGE_ms
    return isFresh(this.#globe) && isFresh(this.#local) ? { globe: this.#globe, local: this.#local } : undefined
  }
}

/** How much shorter a degree of longitude is there. */
const shrink = (lat: number): number => Math.cos((lat * Math.PI) / 180)

function pair(said: ReadonlyMap<string, number>, first: string, second: string, received_ms: number): Pair | undefined {
  const [north, east] = [said.get(first), said.get(second)]
  if (north === undefined || east === undefined) return undefined
  return Number.isFinite(north) && Number.isFinite(east) ? { north, east, received_ms } : undefined
}
