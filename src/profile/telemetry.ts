// What the autopilot's messages say of the state fields (PROTOCOL 3, "Fields of the built-in profiles").
//
// Values are read straight from the payload's bytes: no message object is built, so no default of a message class can stand
// in for a value that was not sent. What a message calls unknown is NaN here, and NaN makes a field unknown.

import type { Observation, Report, ReportedTarget } from '../protocol/port.ts'
import { fieldOf, layout, layoutOf } from './frame.ts'
import { LANDED, MODES, type Profile } from './profile.ts'

/** A jump is farther than this allows since the last position, m/s. */
const SPEED_MAX = 20
/** How long nothing that rests on the position counts after a jump, ms. */
const JUMP_ms = 3000
const EARTH_RADIUS_m = 6371008.8

const ARMED = 0x80
const CRITICAL = 5
const PREARM_OK = 0x10000000
const FIX_3D = 3
/** Attitude, both velocities, relative and absolute horizontal, absolute vertical position ... */
const ESTIMATOR_NEEDS = 1 | 2 | 4 | 16 | 32
/** ... and neither a GPS glitch nor a bad accelerometer. */
const ESTIMATOR_FORBIDS = 1024 | 2048
const FACES_DOWN = 25
const SIGNAL_INVALID = 1

/** What is not valid without a good estimate (PROTOCOL 3). */
const POSITIONAL = [
  'position.lat',
  'position.lon',
  'position.alt',
  'position.amsl',
  'position.accuracy',
  'local.north',
  'local.east',
  'local.down',
  'velocity.north',
  'velocity.east',
  'velocity.down',
] as const

type Values = Readonly<Record<string, number>>
interface Position {
  /** degrees */
  readonly lat: number
  readonly lon: number
  /** m */
  readonly amsl: number
  readonly boot_ms: number
  readonly received_ms: number
}
interface Timed<T> {
  readonly value: T
  readonly received_ms: number
}

/** Reads one boot of one autopilot: after a reboot or a change of identity, begin with a new one. */
export class Telemetry {
  readonly #profile: Profile
  readonly #fixMaxAge_ms: number
  readonly #estimatorMaxAge_ms: number
  readonly #number: ReadonlyMap<string, number>
  readonly #readers: ReadonlyMap<number, (payload: DataView, received_ms: number) => Values>
  #fix: Timed<number> = { value: 0, received_ms: -Infinity }
  #estimator: Timed<boolean> = { value: false, received_ms: -Infinity }
  #last: Position | undefined
  #jumped_ms = -Infinity
  #homeKnown = false

  /** `ages` are the catalog's fields, numbered as the profile's: how long a fix and an estimate count. */
  constructor(profile: Profile, ages: readonly { readonly maxAge_ms: number }[] = profile.fields) {
    this.#profile = profile
    this.#number = new Map(profile.fields.map((field, i) => [field.name, i]))
    this.#fixMaxAge_ms = ages[this.#number.get('gps.fix')!]!.maxAge_ms
    this.#estimatorMaxAge_ms = ages[this.#number.get('estimator.ok')!]!.maxAge_ms
    this.#readers = new Map([
      [layout('HEARTBEAT').id, (p: DataView) => this.#heartbeat(p)],
      [layout('CURRENT_MODE').id, (p: DataView) => this.#currentMode(p)],
      [layout('EXTENDED_SYS_STATE').id, landed],
      [layout('SYS_STATUS').id, status],
      [layout('GPS_RAW_INT').id, (p: DataView, t: number) => this.#gps(p, t)],
      [layout('ESTIMATOR_STATUS').id, (p: DataView, t: number) => this.#estimate(p, t)],
      [layout('GLOBAL_POSITION_INT').id, (p: DataView, t: number) => this.#globalPosition(p, t)],
      [layout('LOCAL_POSITION_NED').id, (p: DataView, t: number) => this.#localPosition(p, t)],
      [layout('HOME_POSITION').id, (p: DataView) => this.#home(p)],
      [layout('DISTANCE_SENSOR').id, range],
    ])
  }

  /**
   * What a message says. `payload` is the whole payload, zero-extended to the length of its layout; a shorter one throws. A
   * message that carries no state gives an empty report.
   */
  apply(message: number, payload: Uint8Array, received_ms: number): Report {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
    const values = this.#readers.get(message)?.(view, received_ms) ?? {}
    const observations: Observation[] = []
    for (const [name, value] of Object.entries(values)) {
      const field = this.#number.get(name)
      if (field !== undefined) observations.push({ field, value })
    }
    const boot = layoutOf(message)?.fields.time_boot_ms
    return {
      message,
      boot_ms: boot === undefined ? undefined : view.getUint32(boot.offset, true),
      observations,
      target: message === TARGET ? target(view) : undefined,
    }
  }

  #heartbeat(payload: DataView): Values {
    const status = heartbeat.system_status(payload)
    return {
      armed: (heartbeat.base_mode(payload) & ARMED) !== 0 ? 1 : 0,
      critical: status === 0 ? Number.NaN : status >= CRITICAL ? 1 : 0,
    }
  }

  #currentMode(payload: DataView): Values {
    return {
      mode: this.#mode(mode.custom_mode(payload)),
      mode_intended: this.#mode(mode.intended_custom_mode(payload)),
    }
  }

  #mode(custom_mode: number): number {
    const name = this.#profile.mode(custom_mode)
    return name === undefined ? Number.NaN : MODES.indexOf(name)
  }

  #gps(payload: DataView, received_ms: number): Values {
    const fix = gps.fix_type(payload)
    this.#fix = { value: fix, received_ms }
    return {
      'gps.fix': fix,
      'gps.satellites': known(gps.satellites_visible(payload), 255),
      ...this.#lost(received_ms),
    }
  }

  #estimate(payload: DataView, received_ms: number): Values {
    const flags = estimator.flags(payload)
    const ok = (flags & ESTIMATOR_NEEDS) === ESTIMATOR_NEEDS && (flags & ESTIMATOR_FORBIDS) === 0
    this.#estimator = { value: ok, received_ms }
    return {
      'estimator.ok': ok ? 1 : 0,
      'position.accuracy': estimator.pos_horiz_accuracy(payload),
      ...this.#lost(received_ms),
    }
  }

  #globalPosition(payload: DataView, received_ms: number): Values {
    const lat = position.lat(payload) / 1e7
    const lon = position.lon(payload) / 1e7
    const amsl = position.alt(payload) / 1e3
    // An autopilot that has no position yet says 0, 0.
    const somewhere = lat !== 0 || lon !== 0
    if (somewhere) this.#follow({ lat, lon, amsl, boot_ms: position.time_boot_ms(payload), received_ms })
    return {
      'position.lat': somewhere ? lat : Number.NaN,
      'position.lon': somewhere ? lon : Number.NaN,
      // Without a home, PX4's relative altitude is the one above the sea.
      'position.alt': this.#homeKnown ? position.relative_alt(payload) / 1e3 : Number.NaN,
      'position.amsl': amsl,
      heading: known(position.hdg(payload), 65535) / 100,
      ...this.#lost(received_ms),
    }
  }

  #localPosition(payload: DataView, received_ms: number): Values {
    return {
      'local.north': local.x(payload),
      'local.east': local.y(payload),
      'local.down': local.z(payload),
      'velocity.north': local.vx(payload),
      'velocity.east': local.vy(payload),
      'velocity.down': local.vz(payload),
      ...this.#lost(received_ms),
    }
  }

  #home(payload: DataView): Values {
    const lat = home.latitude(payload) / 1e7
    const lon = home.longitude(payload) / 1e7
    if (lat === 0 && lon === 0) return { 'home.lat': Number.NaN, 'home.lon': Number.NaN, 'home.amsl': Number.NaN }
    this.#homeKnown = true
    return { 'home.lat': lat, 'home.lon': lon, 'home.amsl': home.altitude(payload) / 1e3 }
  }

  /** Every position is followed, also one that does not count: the jump when GPS comes back starts from such a one. */
  #follow(now: Position): void {
    const last = this.#last
    this.#last = now
    if (last === undefined) return
    // Messages that waited together are received together, so the autopilot's own time may say that more has passed.
    const elapsed_ms = Math.max(now.received_ms - last.received_ms, (now.boot_ms - last.boot_ms) | 0)
    if (separation_m(last, now) > (SPEED_MAX * elapsed_ms) / 1e3) this.#jumped_ms = now.received_ms
  }

  /** NaN for everything that rests on the estimate while that is not good: at once, not with the next position (G5). */
  #lost(received_ms: number): Values {
    const usable =
      this.#fix.value >= FIX_3D &&
      received_ms - this.#fix.received_ms <= this.#fixMaxAge_ms &&
      this.#estimator.value &&
      received_ms - this.#estimator.received_ms <= this.#estimatorMaxAge_ms &&
      received_ms - this.#jumped_ms >= JUMP_ms
    return usable ? {} : UNKNOWN
  }
}

const UNKNOWN: Values = Object.fromEntries(POSITIONAL.map((name) => [name, Number.NaN]))

type Read = (payload: DataView) => number

function reader(message: string, field: string): Read {
  const { offset, format } = fieldOf(message, field)
  switch (format) {
    case 'u8':
      return (payload) => payload.getUint8(offset)
    case 'i8':
      return (payload) => payload.getInt8(offset)
    case 'u16':
      return (payload) => payload.getUint16(offset, true)
    case 'i16':
      return (payload) => payload.getInt16(offset, true)
    case 'u32':
      return (payload) => payload.getUint32(offset, true)
    case 'i32':
      return (payload) => payload.getInt32(offset, true)
    case 'f32':
      return (payload) => payload.getFloat32(offset, true)
  }
}

function readers<F extends string>(message: string, ...fields: readonly F[]): Readonly<Record<F, Read>> {
  return Object.fromEntries(fields.map((field) => [field, reader(message, field)])) as Record<F, Read>
}

const heartbeat = readers('HEARTBEAT', 'base_mode', 'system_status')
const mode = readers('CURRENT_MODE', 'custom_mode', 'intended_custom_mode')
const extended = readers('EXTENDED_SYS_STATE', 'landed_state')
const sys = readers('SYS_STATUS', 'onboard_control_sensors_health', 'voltage_battery', 'battery_remaining')
const gps = readers('GPS_RAW_INT', 'fix_type', 'satellites_visible')
const estimator = readers('ESTIMATOR_STATUS', 'flags', 'pos_horiz_accuracy')
const position = readers('GLOBAL_POSITION_INT', 'time_boot_ms', 'lat', 'lon', 'alt', 'relative_alt', 'hdg')
const local = readers('LOCAL_POSITION_NED', 'x', 'y', 'z', 'vx', 'vy', 'vz')
const home = readers('HOME_POSITION', 'latitude', 'longitude', 'altitude')
const distance = readers(
  'DISTANCE_SENSOR',
  'orientation',
  'current_distance',
  'min_distance',
  'max_distance',
  'signal_quality',
)
const reported = readers('POSITION_TARGET_GLOBAL_INT', 'lat_int', 'lon_int', 'type_mask')
const TARGET = layout('POSITION_TARGET_GLOBAL_INT').id

function landed(payload: DataView): Values {
  const name = ([undefined, 'ON_GROUND', 'IN_AIR', 'TAKING_OFF', 'LANDING'] as const)[extended.landed_state(payload)]
  return { landed: name === undefined ? Number.NaN : LANDED.indexOf(name) }
}

function status(payload: DataView): Values {
  return {
    ready: (sys.onboard_control_sensors_health(payload) & PREARM_OK) !== 0 ? 1 : 0,
    // PX4 puts the lowest of its batteries here.
    'battery.remaining': known(sys.battery_remaining(payload), -1),
    'battery.voltage': known(sys.voltage_battery(payload), 65535) / 1e3,
  }
}

function range(payload: DataView): Values {
  if (distance.orientation(payload) !== FACES_DOWN) return {}
  const cm = distance.current_distance(payload)
  const valid =
    cm >= distance.min_distance(payload) &&
    cm <= distance.max_distance(payload) &&
    distance.signal_quality(payload) !== SIGNAL_INVALID
  return { 'range.down': valid ? cm / 100 : Number.NaN }
}

/** The target, unless the mask says that its position is not meant. */
function target(payload: DataView): ReportedTarget | undefined {
  if ((reported.type_mask(payload) & 0b11) !== 0) return undefined
  return { lat: reported.lat_int(payload) / 1e7, lon: reported.lon_int(payload) / 1e7 }
}

function known(value: number, unknown: number): number {
  return value === unknown ? Number.NaN : value
}

/** Straight distance of two positions that are close to each other or far apart: great circle and height, m. */
function separation_m(a: Position, b: Position): number {
  const radians = Math.PI / 180
  const h =
    Math.sin(((b.lat - a.lat) * radians) / 2) ** 2 +
    Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * Math.sin(((b.lon - a.lon) * radians) / 2) ** 2
  return Math.hypot(2 * EARTH_RADIUS_m * Math.asin(Math.min(1, Math.sqrt(h))), b.amsl - a.amsl)
}
