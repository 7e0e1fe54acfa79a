// What the vehicle has said and the companion has received, read a second time: offsets, modes and flags stand here once more
// on purpose, so that a mistake of the profile is not repeated by whoever watches it.

const MODE_NAMES: Readonly<Record<number, string>> = {
  [1 << 16]: 'MANUAL',
  [2 << 16]: 'ALTITUDE',
  [3 << 16]: 'POSITION',
  [6 << 16]: 'OFFBOARD',
  [(4 << 16) | (2 << 24)]: 'TAKEOFF',
  [(4 << 16) | (3 << 24)]: 'HOLD',
  [(4 << 16) | (4 << 24)]: 'MISSION',
  [(4 << 16) | (5 << 24)]: 'RETURN',
  [(4 << 16) | (6 << 24)]: 'LAND',
}

export const modeName = (main: number, sub: number): string => MODE_NAMES[(main << 16) | (sub << 24)] ?? 'OTHER'

interface Seen {
  /** NaN where the message itself says that it does not know. */
  readonly value: number
  readonly received_ms: number
}

const LANDED = ['', 'ON_GROUND', 'IN_AIR', 'TAKING_OFF', 'LANDING']
const ESTIMATED = 1 | 2 | 4 | 16 | 32
const GLITCH = 1024 | 2048
/** A mode report may be this old when a frame changes the mode, the word that nothing is critical that old (PROTOCOL 8). */
const MODE_MS = 1000
const CRITICAL_MS = 3500

type Bounds = readonly [least: number, most: number]
const ANY: Bounds = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
/** What a value can be: anything else is unknown. */
const RANGES: Readonly<Record<string, Bounds>> = {
  'battery.remaining': [0, 100],
  'gps.fix': [0, 8],
  'position.lat': [-90, 90],
  'position.lon': [-180, 180],
  'home.lat': [-90, 90],
  'home.lon': [-180, 180],
}

// One for all: what a datagram leaves out is zero.
const PAYLOAD = new Uint8Array(255)
const VIEW = new DataView(PAYLOAD.buffer)

export class Sight {
  readonly #seen = new Map<string, Seen>()
  readonly #plausible: boolean
  mode: { readonly mode: string; readonly intended: string; readonly received_ms: number } | undefined
  landed: { readonly word: string; readonly received_ms: number } | undefined

  /** `plausible`: what cannot be is unknown. */
  constructor(plausible = false) {
    this.#plausible = plausible
  }

  /** One datagram of the autopilot, of one good frame. */
  apply(datagram: Uint8Array, received_ms: number): void {
    const message = datagram[7]! | (datagram[8]! << 8) | (datagram[9]! << 16)
    const length = datagram[1]!
    PAYLOAD.set(datagram.subarray(10, 10 + length))
    PAYLOAD.fill(0, length)
    const payload = VIEW
    const see = (name: string, said: number): unknown => {
      const [least, most] = RANGES[name] ?? ANY
      const value = !this.#plausible || (said >= least && said <= most) ? said : Number.NaN
      return this.#seen.set(name, { value, received_ms })
    }
    const u8 = (at: number): number => payload.getUint8(at)
    const i32 = (at: number): number => payload.getInt32(at, true)
    const f32 = (at: number): number => payload.getFloat32(at, true)
    switch (message) {
      case 0:
        see('armed', (u8(6) & 0x80) === 0 ? 0 : 1)
        see('critical', u8(7) === 0 ? Number.NaN : Number(u8(7) >= 5))
        break
      case 436: {
        const [custom, intended] = [payload.getUint32(0, true), payload.getUint32(4, true)]
        // 0 is MAVLink's word for not knowing.
        const known = custom !== 0 && intended !== 0
        this.mode = known
          ? { mode: MODE_NAMES[custom] ?? 'OTHER', intended: MODE_NAMES[intended] ?? 'OTHER', received_ms }
          : undefined
        break
      }
      case 245:
        this.landed = { word: LANDED[u8(1)] ?? '', received_ms }
        see('landed', u8(1) === 0 ? Number.NaN : u8(1))
        break
      case 1:
        see('ready', Number((payload.getUint32(8, true) & 0x10000000) !== 0))
        see('battery.remaining', payload.getInt8(30) === -1 ? Number.NaN : payload.getInt8(30))
        break
      case 24:
        see('gps.fix', u8(28))
        break
      case 230: {
        const flags = payload.getUint16(40, true)
        see('estimator.ok', Number((flags & ESTIMATED) === ESTIMATED && (flags & GLITCH) === 0))
        see('position.accuracy', f32(32))
        break
      }
      case 33:
        see('position.lat', i32(4) / 1e7)
        see('position.lon', i32(8) / 1e7)
        see('position.alt', i32(16) / 1e3)
        break
      case 32:
        see('local.down', f32(12))
        see('velocity.north', f32(16))
        see('velocity.east', f32(20))
        see('velocity.down', f32(24))
        break
      case 242:
        see('home.lat', i32(0) / 1e7)
        see('home.lon', i32(4) / 1e7)
        see('home.amsl', i32(8) / 1e3)
        break
    }
  }

  value(name: string): number {
    return this.#seen.get(name)?.value ?? Number.NaN
  }

  age_ms(name: string, now_ms: number): number {
    const seen = this.#seen.get(name)
    return seen === undefined || Number.isNaN(seen.value) ? Number.POSITIVE_INFINITY : now_ms - seen.received_ms
  }

  /** The last word, however old. */
  get armed(): boolean {
    return this.value('armed') === 1
  }

  /** Known to stand there, disarmed, within the ages of the catalog. */
  isParked(now_ms: number, landedMax_ms: number, armedMax_ms: number): boolean {
    const { landed } = this
    if (landed?.word !== 'ON_GROUND' || now_ms - landed.received_ms > landedMax_ms) return false
    return this.value('armed') === 0 && this.age_ms('armed', now_ms) <= armedMax_ms
  }

  /** The mode guard in the air, but for whose mode it is. */
  isGuarded(now_ms: number): boolean {
    const { mode } = this
    if (mode === undefined || now_ms - mode.received_ms > MODE_MS || mode.mode !== mode.intended) return false
    return this.value('critical') === 0 && this.age_ms('critical', now_ms) <= CRITICAL_MS
  }
}
