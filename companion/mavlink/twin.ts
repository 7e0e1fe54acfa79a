// A second autopilot with the ids of ours whose clock does not give it away (timeline.ts sees the others): two are in two
// places, and have two heartbeats. A slow radio repeats what was so a moment ago, so each is believed only when it goes on.

import { fieldOf, layout } from '../../src/autopilot/frame.ts'
import { autopilotKind, vehicleType } from '../../src/autopilot/vehicle-type.ts'
import { isSame, LATE_ms } from './timeline.ts'

const GLOBAL_POSITION_INT = layout('GLOBAL_POSITION_INT').id
const PLACES_MAX = 512
/** Two places of one time are two vehicles from so far apart, m, and what they may have moved between. */
const APART_m = 5
/** How near in time a place must be to be compared, ms. */
const NEAR_ms = 500
/** A place that does not fit counts so much more than one that does: two may have two rates. One jump of one estimate is no twin. */
const MISFIT_WEIGHT = 3
const MISFITS_MAX = 24
/** So many heartbeats that take turns, over so long: a late one is none after LATE_ms, and one vehicle has no such rate. */
const ALTERNATIONS = 8
const ALTERNATION_LEAST_ms = LATE_ms + 500
const ALTERNATION_MOST_ms = 5000
/** Heartbeats of two kinds, by turns. */
const KINDS = 4
const METRES_PER_E7 = 111_195 / 1e7

interface Place {
  readonly boot_ms: number
  readonly payload: Uint8Array
}

interface Heartbeat {
  readonly kind: string
  readonly state: string
  readonly received_ms: number
}

const at = {
  lat: fieldOf('GLOBAL_POSITION_INT', 'lat').offset,
  lon: fieldOf('GLOBAL_POSITION_INT', 'lon').offset,
  vx: fieldOf('GLOBAL_POSITION_INT', 'vx').offset,
  vy: fieldOf('GLOBAL_POSITION_INT', 'vy').offset,
  type: fieldOf('HEARTBEAT', 'type').offset,
  autopilot: fieldOf('HEARTBEAT', 'autopilot').offset,
  base_mode: fieldOf('HEARTBEAT', 'base_mode').offset,
  custom_mode: fieldOf('HEARTBEAT', 'custom_mode').offset,
  system_status: fieldOf('HEARTBEAT', 'system_status').offset,
}

/** Watches what comes from one (system, component). Each call says what speaks for a second one, or undefined. */
export class TwinWatch {
  #places: Place[] = []
  #misfits = 0
  #heartbeats: Heartbeat[] = []

  /** A message with a time since boot, `late` or new; no repetition. */
  timed(message: number, payload: Uint8Array, boot_ms: number, late: boolean): string | undefined {
    if (message !== GLOBAL_POSITION_INT) return undefined
    const near = this.#nearest(boot_ms)
    if (!late) this.#places = [...this.#places.slice(-PLACES_MAX), { boot_ms, payload }]
    if (near === undefined || isSame(near.payload, payload)) return undefined
    const fits = apart_m(near.payload, payload) <= reach_m(near, { boot_ms, payload })
    this.#misfits = Math.max(0, this.#misfits + (fits ? -1 : MISFIT_WEIGHT))
    if (this.#misfits < MISFITS_MAX) return undefined
    this.#misfits = MISFITS_MAX - MISFIT_WEIGHT
    return 'at one time it is in two places'
  }

  /** What was heard of the time that is nearest to this one. */
  #nearest(boot_ms: number): Place | undefined {
    let nearest: Place | undefined
    let least_ms = NEAR_ms
    for (const place of this.#places) {
      const apart_ms = Math.abs((place.boot_ms - boot_ms) | 0)
      if (apart_ms > least_ms) continue
      least_ms = apart_ms
      nearest = place
    }
    return nearest
  }

  /** `payload` is a whole HEARTBEAT. */
  heartbeat(payload: Uint8Array, received_ms: number): string | undefined {
    const heard: Heartbeat = {
      kind: `${vehicleType(payload[at.type]!)} of ${autopilotKind(payload[at.autopilot]!)}`,
      state: [
        payload[at.base_mode],
        payload[at.system_status],
        ...payload.subarray(at.custom_mode, at.custom_mode + 4),
      ].join(),
      received_ms,
    }
    const recent = this.#heartbeats.filter((before) => received_ms - before.received_ms <= ALTERNATION_MOST_ms)
    this.#heartbeats = [...recent.slice(-64), heard]
    const kinds = turns(this.#heartbeats, ({ kind }) => kind)
    if (kinds >= KINDS) return `heartbeats of ${heard.kind} and of ${this.#heartbeats.at(-2)!.kind}`
    const states = turns(this.#heartbeats, ({ state }) => state)
    const run = this.#heartbeats.slice(-states)
    if (states < ALTERNATIONS || received_ms - run[0]!.received_ms < ALTERNATION_LEAST_ms) return undefined
    return 'two heartbeats alternate'
  }
}

/** How many of the last take turns: each unlike the one before, and like the one before that. */
function turns(heartbeats: readonly Heartbeat[], of: (heartbeat: Heartbeat) => string): number {
  const said = heartbeats.map(of).reverse()
  const broken = said.findIndex((each, i) => i > 0 && (each === said[i - 1] || (i > 1 && each !== said[i - 2])))
  return broken < 0 ? said.length : broken
}

const view = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)

function apart_m(a: Uint8Array, b: Uint8Array): number {
  const [from, to] = [view(a), view(b)]
  const lat = to.getInt32(at.lat, true)
  const north = lat - from.getInt32(at.lat, true)
  // The short way round.
  const east =
    (((to.getInt32(at.lon, true) - from.getInt32(at.lon, true) + 5.4e9) % 3.6e9) - 1.8e9) *
    Math.cos((lat / 1e7) * (Math.PI / 180))
  return Math.hypot(north, east) * METRES_PER_E7
}

/** How far one vehicle may have come between the two. */
function reach_m(a: Place, b: Place): number {
  const elapsed_s = Math.abs((b.boot_ms - a.boot_ms) | 0) / 1e3
  const speed = (place: Place): number =>
    Math.hypot(view(place.payload).getInt16(at.vx, true), view(place.payload).getInt16(at.vy, true)) / 100
  return APART_m + 2 * elapsed_s * (1 + Math.max(speed(a), speed(b)))
}
