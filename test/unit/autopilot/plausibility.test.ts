// What cannot be is unknown (PROTOCOL 2): every raw value of every message against the table of plausible ranges.

import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { fieldOf, layout } from '../../../src/autopilot/frame.ts'
import { PLAUSIBLE } from '../../../src/autopilot/plausibility.ts'
import { ENUMERATIONS, type Profile, type ProfileField } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { dice } from '../../oracle/sketch.ts'
import { ardupilotFixtures, fixture, frames, px4Fixtures, vtol, wholeFlights } from '../mavlink/recording.ts'
import { message } from './message.ts'

type Values = Readonly<Record<string, number>>

/** A vehicle in the air, all well. */
const CALM: Readonly<Record<string, Values>> = {
  HEARTBEAT: { base_mode: 0x81, system_status: 4, custom_mode: 4 },
  CURRENT_MODE: { custom_mode: 6 << 16, intended_custom_mode: 6 << 16 },
  EXTENDED_SYS_STATE: { landed_state: 2 },
  SYS_STATUS: { onboard_control_sensors_health: 0x10000000, voltage_battery: 15_800, battery_remaining: 80 },
  GPS_RAW_INT: { fix_type: 3, satellites_visible: 12, h_acc: 400 },
  ESTIMATOR_STATUS: { flags: 0x33f, pos_horiz_accuracy: 0.4 },
  EKF_STATUS_REPORT: { flags: 0x33f },
  GLOBAL_POSITION_INT: { lat: 474_000_000, lon: 85_000_000, alt: 510_000, relative_alt: 10_000, hdg: 9000 },
  LOCAL_POSITION_NED: { x: 1, y: 2, z: -10, vx: 3, vy: 0, vz: 0 },
  HOME_POSITION: { latitude: 474_000_000, longitude: 85_000_000, altitude: 500_000 },
  DISTANCE_SENSOR: { orientation: 25, current_distance: 500, min_distance: 0, max_distance: 65_535 },
}

/** What a field is after a message whose raw fields are these, from a vehicle about which all else is well. */
function observed(profile: Profile, field: ProfileField, raw: Values): number | undefined {
  const telemetry = new Telemetry(profile)
  for (const name of ['GPS_RAW_INT', 'ESTIMATOR_STATUS', 'EKF_STATUS_REPORT', 'HOME_POSITION'])
    if (name !== field.from.message) telemetry.apply(...message(name, CALM[name]!), 0)
  // What a field needs may come with its own message: then it stands in the one before.
  if (field.needs !== undefined && field.from.message === 'GPS_RAW_INT')
    telemetry.apply(...message('GPS_RAW_INT', CALM.GPS_RAW_INT!), 0)
  const [id, payload] = message(field.from.message, { ...CALM[field.from.message], ...raw })
  const number = profile.fields.indexOf(field)
  return telemetry.apply(id, payload, 0).observations.find((said) => said.field === number)?.value
}

const edges = (bits: number, signed: boolean): number[] => {
  const [least, most] = signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1]
  const near = [least, 0, most, 90e7, -90e7, 180e7, -180e7, 10e6, -5e5, 105e5, -105e5, 36_000, 65_000, 65_500, 100e6]
  return near.flatMap((at) => [-1, 0, 1].map((by) => at + by)).filter((value) => value >= least && value <= most)
}

/** Every value of a raw field of 8 bits; of the wider ones every edge and a hundred others. */
function raws(name: string, field: string): number[] {
  const { format } = fieldOf(name, field)
  const roll = dice(7)
  const some = (make: () => number): number[] => Array.from({ length: 100 }, make)
  if (format === 'u8' || format === 'i8') return Array.from({ length: 256 }, (_, i) => (format === 'u8' ? i : i - 128))
  if (format === 'f32') {
    const special = [0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e30, -1e30]
    const exponents = some(() => (roll(2) === 0 ? 1 : -1) * 10 ** (roll(1200) / 100 - 4))
    return [
      ...special,
      ...[100, 200_000, 100_000, 10_500].flatMap((at) => [at, -at, at * 1.001, -at * 1.001]),
      ...exponents,
    ]
  }
  const signed = format.startsWith('i')
  const bits = Number(format.slice(1))
  return [...edges(bits, signed), ...some(() => roll(2 ** bits) - (signed ? 2 ** (bits - 1) : 0))]
}

const profiles = [px4Multirotor, ardupilotCopter].map((profile) => [profile.name, profile] as const)

describe.each(profiles)('%s', (_, profile) => {
  it('has a range for every number', () => {
    const numbers = profile.fields.filter(({ type }) => type === 'number' || type === 'integer')
    expect(numbers.map(({ name }) => name).sort()).toEqual(Object.keys(PLAUSIBLE).sort())
  })

  it.each(profile.fields.map((field) => [field.name, field] as const))(
    'G5: %s is what it can be, or unknown, whatever the message says',
    (name, field) => {
      const members = field.enumeration === undefined ? 2 : ENUMERATIONS[field.enumeration].length
      const known = new Set<number>()
      for (const rawField of field.from.fields)
        for (const raw of raws(field.from.message, rawField)) {
          const value = observed(profile, field, { [rawField]: raw })
          const said = field.from.value(
            ...field.from.fields.map((f) =>
              f === rawField ? cut(field, f, raw) : (CALM[field.from.message]![f] ?? 0),
            ),
          )
          const { least, most } = PLAUSIBLE[name] ?? { least: 0, most: members - 1 }
          if (said === undefined) expect(value, `${rawField} ${raw}`).toBeUndefined()
          else if (said >= least && said <= most) {
            expect(value, `${rawField} ${raw}`).toBe(said) // what can be is not lost
            known.add(said)
          } else expect(value, `${rawField} ${raw}`).toBeNaN()
        }
      expect(known.size, 'the test has seen it known').toBeGreaterThan(0)
    },
  )

  it.each([
    ['battery.remaining', 'battery_remaining', [101, 127, -2, -128], [0, 100]],
    ['gps.fix', 'fix_type', [9, 255], [0, 3, 8]],
    ['gps.satellites', 'satellites_visible', [101, 254], [0, 40]],
    ['critical', 'system_status', [9, 255], [1, 5, 8]],
    ['heading', 'hdg', [36_001, 65_534], [0, 36_000]],
    ['position.amsl', 'alt', [-500_001, 10_000_001, 2 ** 31 - 1], [-430_000, 8_849_000]],
  ])('G5: %s of %s beyond what can be is unknown', (name, raw, wrong, right) => {
    const field = profile.fields.find((f) => f.name === name)!
    for (const value of wrong) expect(observed(profile, field, { [raw]: value }), `${value}`).toBeNaN()
    for (const value of right) expect(observed(profile, field, { [raw]: value }), `${value}`).not.toBeNaN()
  })
})

/** As it stands in the message: a float has 32 bits. */
const cut = (field: ProfileField, name: string, raw: number): number =>
  fieldOf(field.from.message, name).format === 'f32' ? Math.fround(raw) : raw

describe('recordings lose nothing to the table', () => {
  const flights = [vtol, ...px4Fixtures, ...ardupilotFixtures, fixture('px4-nominal'), ...wholeFlights()]
  it.each([...new Set(flights)])('%s', (path) => {
    const profile = path.includes('px4') ? px4Multirotor : ardupilotCopter
    const lost = new Map<string, number>()
    let read = 0
    for (const { frame } of frames(path)) {
      if (frame.component !== 1) continue
      const view = new DataView(frame.payload.buffer, frame.payload.byteOffset, frame.payload.byteLength)
      for (const { name, from, plausible } of profile.fields) {
        if (plausible === undefined || layout(from.message).id !== frame.message) continue
        const value = from.value(...from.fields.map((f) => rawOf(from.message, f, view)))
        if (value === undefined || !Number.isFinite(value)) continue
        read++
        if (value < plausible.least || value > plausible.most) lost.set(name, value)
      }
    }
    expect([...lost]).toEqual([])
    expect(read).toBeGreaterThan(100)
  })
})

function rawOf(name: string, field: string, view: DataView): number {
  const { offset, format } = fieldOf(name, field)
  const read = { u8: 'getUint8', i8: 'getInt8', u16: 'getUint16', i16: 'getInt16', u32: 'getUint32', i32: 'getInt32' }
  if (format === 'f32') return view.getFloat32(offset, true)
  return (view[read[format] as 'getUint16'] as (at: number, little: boolean) => number).call(view, offset, true)
}
