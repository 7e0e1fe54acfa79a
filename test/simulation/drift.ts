// Telemetry that lies: one field of the profile drifts, jumps, sticks or is not a number, on the wire and with a good checksum, so
// that the companion and the observer are told the same.

import { checksum } from '../../companion/mavlink/checksum.ts'
import { type FieldLayout, fieldOf, layout, layoutOf } from '../../src/autopilot/frame.ts'
import type { Chance } from './chance.ts'

/** Message and field of MAVLink that carry each field of the profile. */
export const CARRIERS: Readonly<Record<string, readonly [message: string, field: string]>> = {
  armed: ['HEARTBEAT', 'base_mode'],
  ready: ['SYS_STATUS', 'onboard_control_sensors_health'],
  'estimator.ok': ['ESTIMATOR_STATUS', 'flags'],
  critical: ['HEARTBEAT', 'system_status'],
  mode: ['CURRENT_MODE', 'custom_mode'],
  mode_intended: ['CURRENT_MODE', 'intended_custom_mode'],
  landed: ['EXTENDED_SYS_STATE', 'landed_state'],
  'gps.fix': ['GPS_RAW_INT', 'fix_type'],
  'gps.satellites': ['GPS_RAW_INT', 'satellites_visible'],
  'battery.remaining': ['SYS_STATUS', 'battery_remaining'],
  'battery.voltage': ['SYS_STATUS', 'voltage_battery'],
  'position.lat': ['GLOBAL_POSITION_INT', 'lat'],
  'position.lon': ['GLOBAL_POSITION_INT', 'lon'],
  'position.alt': ['GLOBAL_POSITION_INT', 'relative_alt'],
  'position.amsl': ['GLOBAL_POSITION_INT', 'alt'],
  'position.accuracy': ['ESTIMATOR_STATUS', 'pos_horiz_accuracy'],
  'local.north': ['LOCAL_POSITION_NED', 'x'],
  'local.east': ['LOCAL_POSITION_NED', 'y'],
  'local.down': ['LOCAL_POSITION_NED', 'z'],
  'velocity.north': ['LOCAL_POSITION_NED', 'vx'],
  'velocity.east': ['LOCAL_POSITION_NED', 'vy'],
  'velocity.down': ['LOCAL_POSITION_NED', 'vz'],
  heading: ['GLOBAL_POSITION_INT', 'hdg'],
  'home.lat': ['HOME_POSITION', 'latitude'],
  'home.lon': ['HOME_POSITION', 'longitude'],
  'home.amsl': ['HOME_POSITION', 'altitude'],
  'range.down': ['DISTANCE_SENSOR', 'current_distance'],
}

const HEADER = 10
/** Of an integer on the wire: from the last digit to what no vehicle does in a second. */
const STEPS = [1, 2, 10, 300, 10_000, 1_000_000, 100_000_000]

/** What a field cannot be, on the wire. */
const IMPOSSIBLE: Readonly<Record<string, readonly number[]>> = {
  'battery.remaining': [101, 120, 127, -2, -128],
  'gps.fix': [9, 100, 255],
  'position.lat': [132.6e7, -91e7, 2 ** 31 - 1],
  'position.lon': [181e7, -200e7],
  'home.lat': [91e7, -132.6e7],
  'home.lon': [200e7, -181e7],
}

export class Drift {
  readonly words: string
  readonly #message: number
  readonly #field: FieldLayout
  readonly #since_ms: number
  readonly #value: (said: number, elapsed_s: number) => number

  /** With `impossible`, a field says what it cannot be. */
  constructor(chance: Chance, now_ms: number, impossible = false) {
    const name = chance.pick(Object.keys(impossible ? IMPOSSIBLE : CARRIERS))
    const [message, field] = CARRIERS[name]!
    this.#message = layout(message).id
    this.#field = fieldOf(message, field)
    this.#since_ms = now_ms
    const what = impossible ? chance.pick(IMPOSSIBLE[name]!) : undefined
    if (what !== undefined) {
      this.words = `${name} cannot be: ${what}`
      this.#value = () => what
      return
    }
    const real = this.#field.format === 'f32'
    const step = (real ? chance.real(0.1, 3) : chance.pick(STEPS)) * chance.pick([-1, 1])
    const stuck = real
      ? chance.pick([0, Number.NaN, Number.POSITIVE_INFINITY, -1e30])
      : chance.pick([0, 1, 3, 255, -1, 2 ** 31])
    switch (chance.int(0, 2)) {
      case 0:
        this.words = `${name} drifts by ${step} a second on the wire`
        this.#value = (said, elapsed_s) => said + step * elapsed_s
        break
      case 1:
        this.words = `${name} jumps by ${step} on the wire`
        this.#value = (said) => said + step
        break
      default:
        this.words = `${name} sticks at ${stuck} on the wire`
        this.#value = () => stuck
    }
  }

  /** The datagram as it arrives: one good frame, changed where it carries the field. */
  over(datagram: Uint8Array, now_ms: number): Uint8Array {
    const message = datagram[7]! | (datagram[8]! << 8) | (datagram[9]! << 16)
    if (message !== this.#message) return datagram
    const { length, crcExtra } = layoutOf(message)!
    const frame = new Uint8Array(HEADER + length + 2)
    frame.set(datagram.subarray(0, HEADER + datagram[1]!))
    frame[1] = length
    const view = new DataView(frame.buffer, HEADER)
    const { offset, format } = this.#field
    const { read, write } = ACCESS[format]
    write(view, offset, this.#value(read(view, offset), (now_ms - this.#since_ms) / 1000))
    const crc = checksum(frame, 1, HEADER + length, crcExtra)
    frame[HEADER + length] = crc & 0xff
    frame[HEADER + length + 1] = crc >> 8
    return frame
  }
}

interface Access {
  read(view: DataView, at: number): number
  write(view: DataView, at: number, value: number): void
}

// What does not fit wraps around, as a counter of a broken sensor would.
const ACCESS: Readonly<Record<FieldLayout['format'], Access>> = {
  u8: { read: (v, at) => v.getUint8(at), write: (v, at, x) => v.setUint8(at, x) },
  i8: { read: (v, at) => v.getInt8(at), write: (v, at, x) => v.setInt8(at, x) },
  u16: { read: (v, at) => v.getUint16(at, true), write: (v, at, x) => v.setUint16(at, x, true) },
  i16: { read: (v, at) => v.getInt16(at, true), write: (v, at, x) => v.setInt16(at, x, true) },
  u32: { read: (v, at) => v.getUint32(at, true), write: (v, at, x) => v.setUint32(at, x, true) },
  i32: { read: (v, at) => v.getInt32(at, true), write: (v, at, x) => v.setInt32(at, x, true) },
  f32: { read: (v, at) => v.getFloat32(at, true), write: (v, at, x) => v.setFloat32(at, x, true) },
}
