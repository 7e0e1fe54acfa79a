// The state fields of the built-in profiles (PROTOCOL 3) and what MAVLink says of them: common to all autopilots but for
// the few that each profile brings itself.

import { PLAUSIBLE, type Plausible } from './plausibility.ts'
import {
  type Carrier,
  type Enumeration,
  type FieldType,
  LANDED,
  MODES,
  type Mode,
  type Need,
  type ProfileField,
} from './profile.ts'

/** A field of a profile but for its name and kind: where it comes from and how long it stays usable. */
export interface FieldSource {
  readonly from: Carrier
  /** ms; about three periods of the message, never below 300 ms. */
  readonly maxAge_ms: number
  /** Without these it is unknown. */
  readonly needs?: readonly Need[]
}

/** Name, type, and unit or enumeration, in the order of their numbers. Discrete ones come first. */
const DISCRETE: readonly [string, Exclude<FieldType, 'number'>, Enumeration?][] = [
  ['armed', 'boolean'],
  ['ready', 'boolean'],
  ['estimator.ok', 'boolean'],
  ['critical', 'boolean'],
  ['mode', 'enum', 'mode'],
  ['mode_intended', 'enum', 'mode'],
  ['landed', 'enum', 'landed'],
  ['gps.fix', 'integer'],
  ['gps.satellites', 'integer'],
]
const CONTINUOUS: readonly [string, string][] = [
  ['battery.remaining', '%'],
  ['battery.voltage', 'V'],
  ['position.lat', 'deg'],
  ['position.lon', 'deg'],
  ['position.alt', 'm'],
  ['position.amsl', 'm'],
  ['position.accuracy', 'm'],
  ['local.north', 'm'],
  ['local.east', 'm'],
  ['local.down', 'm'],
  ['velocity.north', 'm/s'],
  ['velocity.east', 'm/s'],
  ['velocity.down', 'm/s'],
  ['heading', 'deg'],
  ['home.lat', 'deg'],
  ['home.lon', 'deg'],
  ['home.amsl', 'm'],
  ['range.down', 'm'],
]

/** The fields of a profile, numbered alike in all. Throws for one whose source, or whose plausible range, is missing. */
export function profileFields(sources: Readonly<Record<string, FieldSource>>): readonly ProfileField[] {
  const source = (name: string): FieldSource => {
    const found = sources[name]
    if (found === undefined) throw new Error(`nothing says where the field ${name} comes from`)
    return found
  }
  const plausible = (name: string): Plausible => {
    const found = PLAUSIBLE[name]
    if (found === undefined) throw new Error(`nothing says what the field ${name} can be`)
    return found
  }
  return [
    ...DISCRETE.map(([name, type, enumeration]): ProfileField => {
      const field = { name, type, continuous: false, ...source(name) }
      if (type === 'integer') return { ...field, plausible: plausible(name) }
      return enumeration === undefined ? field : { ...field, enumeration }
    }),
    ...CONTINUOUS.map(([name, unit]): ProfileField => {
      const from = { ...source(name), plausible: plausible(name) }
      const field: ProfileField = { name, type: 'number', unit, continuous: true, ...from }
      return unit === 'deg' ? { ...field, angle: true } : field
    }),
  ]
}

/** `value` of the named fields of a message, in that order. */
export const from = (
  message: string,
  fields: readonly string[],
  value: (...raw: readonly number[]) => number | undefined,
): Carrier => ({ message, fields, value })

/** A number in another unit; `unknown` is what the message says where it does not know. */
export const scaled =
  (factor: number, unknown?: number) =>
  (raw = Number.NaN): number =>
    raw === unknown ? Number.NaN : raw / factor

/** True where all of `needs` and none of `forbids` are set. */
export const flags =
  (needs: number, forbids = 0) =>
  (raw = 0): number =>
    (raw & needs) === needs && (raw & forbids) === 0 ? 1 : 0

/** A mode by the autopilot's number for it. */
export const mode =
  (name: (custom_mode: number) => Mode | undefined) =>
  (raw = 0): number => {
    const found = name(raw)
    return found === undefined ? Number.NaN : MODES.indexOf(found)
  }

const ARMED = 0x80
/** MAV_STATE: critical and worse, up to a termination of the flight. */
const CRITICAL = 5
const TERMINATION = 8
export const PREARM_OK = 0x10000000
/** Attitude, both velocities, absolute horizontal and vertical position: the same bits in both autopilots' reports. */
export const ESTIMATED = 1 | 2 | 4 | 16 | 32
const FACES_DOWN = 25
const SIGNAL_INVALID = 1
/** MAV_LANDED_STATE; 0 is not known. */
const LANDED_STATES = [undefined, 'ON_GROUND', 'IN_AIR', 'TAKING_OFF', 'LANDING'] as const

/** An autopilot that has no position yet says 0, 0. */
const place =
  (which: 0 | 1) =>
  (...[lat = 0, lon = 0]: readonly number[]): number => {
    const somewhere = (lat !== 0 || lon !== 0) && Math.abs(lat) <= 90e7 && Math.abs(lon) <= 180e7
    return somewhere ? (which === 0 ? lat : lon) / 1e7 : Number.NaN
  }

/** The height of a home, which is unknown together with its place. */
const homeHeight = (lat = 0, lon = 0, altitude = 0): number =>
  Number.isNaN(place(0)(lat, lon)) ? Number.NaN : altitude / 1e3

/** Distance to the ground, cm in the message; undefined from a rangefinder that looks elsewhere. */
function range(...[orientation, distance = 0, least = 0, most = 0, quality]: readonly number[]): number | undefined {
  if (orientation !== FACES_DOWN) return undefined
  return distance >= least && distance <= most && quality !== SIGNAL_INVALID ? distance / 100 : Number.NaN
}

const POSITION: Pick<FieldSource, 'maxAge_ms' | 'needs'> = { maxAge_ms: 300, needs: ['estimator', 'fix'] }
const HOME = ['latitude', 'longitude', 'altitude'] as const

export const armed = from('HEARTBEAT', ['base_mode'], flags(ARMED))
/** A failsafe or worse; MAV_STATE 0 is not known, and neither is what it does not have. */
export const critical = from('HEARTBEAT', ['system_status'], (status = 0) =>
  status === 0 || status > TERMINATION ? Number.NaN : status >= CRITICAL ? 1 : 0,
)
export const armable = from('SYS_STATUS', ['onboard_control_sensors_health'], flags(PREARM_OK))

/** What all autopilots say with the same messages. */
export const SOURCES = {
  landed: {
    from: from('EXTENDED_SYS_STATE', ['landed_state'], (state = 0) => {
      const name = LANDED_STATES[state]
      return name === undefined ? Number.NaN : LANDED.indexOf(name)
    }),
    maxAge_ms: 500,
  },
  'battery.remaining': { from: from('SYS_STATUS', ['battery_remaining'], scaled(1, -1)), maxAge_ms: 1000 },
  'battery.voltage': { from: from('SYS_STATUS', ['voltage_battery'], scaled(1e3, 65535)), maxAge_ms: 1000 },
  'gps.fix': { from: from('GPS_RAW_INT', ['fix_type'], scaled(1)), maxAge_ms: 500 },
  'gps.satellites': {
    from: from('GPS_RAW_INT', ['satellites_visible'], scaled(1, 255)),
    maxAge_ms: 500,
    needs: ['fix'],
  },
  'position.lat': { ...POSITION, from: from('GLOBAL_POSITION_INT', ['lat', 'lon'], place(0)) },
  'position.lon': { ...POSITION, from: from('GLOBAL_POSITION_INT', ['lat', 'lon'], place(1)) },
  'position.alt': {
    from: from('GLOBAL_POSITION_INT', ['relative_alt'], scaled(1e3)),
    maxAge_ms: 300,
    // Without a home, PX4's relative altitude is the one above the sea.
    needs: ['estimator', 'fix', 'home'],
  },
  'position.amsl': { ...POSITION, from: from('GLOBAL_POSITION_INT', ['alt'], scaled(1e3)) },
  'local.north': { ...POSITION, from: from('LOCAL_POSITION_NED', ['x'], scaled(1)) },
  'local.east': { ...POSITION, from: from('LOCAL_POSITION_NED', ['y'], scaled(1)) },
  'local.down': { ...POSITION, from: from('LOCAL_POSITION_NED', ['z'], scaled(1)) },
  'velocity.north': { ...POSITION, from: from('LOCAL_POSITION_NED', ['vx'], scaled(1)) },
  'velocity.east': { ...POSITION, from: from('LOCAL_POSITION_NED', ['vy'], scaled(1)) },
  'velocity.down': { ...POSITION, from: from('LOCAL_POSITION_NED', ['vz'], scaled(1)) },
  heading: { from: from('GLOBAL_POSITION_INT', ['hdg'], scaled(100, 65535)), maxAge_ms: 300 },
  'home.lat': { from: from('HOME_POSITION', HOME, place(0)), maxAge_ms: 3000 },
  'home.lon': { from: from('HOME_POSITION', HOME, place(1)), maxAge_ms: 3000 },
  'home.amsl': { from: from('HOME_POSITION', HOME, homeHeight), maxAge_ms: 3000 },
  'range.down': {
    from: from(
      'DISTANCE_SENSOR',
      ['orientation', 'current_distance', 'min_distance', 'max_distance', 'signal_quality'],
      range,
    ),
    maxAge_ms: 500,
  },
} satisfies Readonly<Record<string, FieldSource>>
