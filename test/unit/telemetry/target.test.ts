// What an autopilot says of its target, and whose it is (PROTOCOL 8, Takeover).

import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import type { Profile } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { isHere, isOurs } from '../../../src/engine/vehicle/target.ts'
import { reader } from '../../../src/telemetry/reader.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { message } from '../autopilot/message.ts'
import { fixture, frames, wholeFlights } from '../mavlink/recording.ts'

const here = message('GLOBAL_POSITION_INT', { lat: 474_000_000, lon: 85_000_000 })
const inside = message('LOCAL_POSITION_NED', { x: 10, y: -20 })
const onGlobe = (lat_int: number, lon_int: number, type_mask = 0) =>
  message('POSITION_TARGET_GLOBAL_INT', { lat_int, lon_int, type_mask })
const inFrame = (values: Readonly<Record<string, number>>) => message('POSITION_TARGET_LOCAL_NED', values)

function target(profile: Profile, said: [number, Uint8Array], late_ms = 0, where = [here, inside]) {
  const telemetry = new Telemetry(profile)
  for (const [id, payload] of where) telemetry.apply(id, payload, 0)
  return telemetry.apply(said[0], said[1], late_ms).target
}

describe.each([px4Multirotor, ardupilotCopter].map((profile) => [profile.name, profile] as const))(
  '%s',
  (_, profile) => {
    it('tells a place on the globe in the local frame too, while it knows where it is', () => {
      const said = onGlobe(474_001_000, 85_000_000)
      expect(target(profile, said)).toEqual({ lat: 47.4001, lon: 8.5, north: expect.closeTo(21.12, 2), east: -20 })
      expect(target(profile, said, 300)).toHaveProperty('north')
      expect(target(profile, said, 301)).toEqual({ lat: 47.4001, lon: 8.5 })
      expect(target(profile, said, 0, [here])).toEqual({ lat: 47.4001, lon: 8.5 })
      const east = target(profile, onGlobe(474_000_000, 85_001_000))!
      expect(east.east).toBeCloseTo(-20 + 11.1195 * Math.cos((47.4 * Math.PI) / 180), 2)
    })

    it('means no place that the mask takes away', () => {
      for (const mask of [1, 2, 7]) expect(target(profile, onGlobe(474_001_000, 85_000_000, mask))).toBeUndefined()
      expect(target(profile, inFrame({ x: 1, y: 2, vx: 3, vy: 4, type_mask: 0b011111 }))).toBeUndefined()
    })

    it('tells a velocity where no place is meant', () => {
      const velocity = { velocity: { north: 3, east: -4 } }
      expect(target(profile, inFrame({ vx: 3, vy: -4, type_mask: 0b111 }))).toEqual(velocity)
      expect(target(profile, inFrame({ x: Number.NaN, y: Number.NaN, vx: 3, vy: -4 }))).toEqual(velocity)
      expect(target(profile, inFrame({ x: Number.NaN, y: 0, vx: Number.NaN, vy: -4 }))).toBeUndefined()
    })
  },
)

it('a place in the local message counts on PX4, and on ArduPilot says nothing: it names one while it takes off', () => {
  const said = inFrame({ x: 21.1195, y: -20, vx: 3 })
  expect(target(ardupilotCopter, said)).toBeUndefined()
  expect(target(px4Multirotor, said)).toMatchObject({ lat: expect.closeTo(47.4001, 6), lon: 8.5, east: -20 })
  expect(target(px4Multirotor, said, 0, [inside])).toEqual({ north: expect.closeTo(21.12, 2), east: -20 })
})

/** In the order of a recording: what we streamed last, and what the autopilot said it flies to in OFFBOARD. */
function reported(path: string): { readonly at_ms: number; readonly ours: boolean | undefined }[] {
  const telemetry = new Telemetry(px4Multirotor)
  const sent: Readonly<Record<number, readonly [string, string, string, number]>> = {
    84: ['SET_POSITION_TARGET_LOCAL_NED', 'x', 'y', 1],
    86: ['SET_POSITION_TARGET_GLOBAL_INT', 'lat_int', 'lon_int', 1e7],
  }
  const said: { at_ms: number; ours: boolean | undefined }[] = []
  let ours:
    | { setpoint: 'position-local' | 'position-global'; payload: Record<string, number>; at_ms: number }
    | undefined
  let offboard_ms = Number.POSITIVE_INFINITY
  for (const { at_ms, frame } of frames(path)) {
    const view = new DataView(frame.payload.buffer, frame.payload.byteOffset, frame.payload.byteLength)
    if (frame.system === 2 && frame.component === 191 && sent[frame.message] !== undefined) {
      const [name, first, second, per] = sent[frame.message]!
      const [a, b] = [reader(name, first)(view) / per, reader(name, second)(view) / per]
      const payload: Record<string, number> = per === 1 ? { north: a, east: b } : { lat: a, lon: b }
      const since = JSON.stringify(ours?.payload) === JSON.stringify(payload) ? ours!.at_ms : at_ms
      ours = { setpoint: per === 1 ? 'position-local' : 'position-global', payload, at_ms: since }
    }
    if (frame.system !== 2 || frame.component !== 1) continue
    const report = telemetry.apply(frame.message, frame.payload, at_ms)
    for (const { field, value } of report.observations) {
      if (px4Multirotor.fields[field]!.name !== 'mode') continue
      if (value !== 5) offboard_ms = Number.POSITIVE_INFINITY
      else offboard_ms = Math.min(offboard_ms, at_ms)
    }
    // Half a second after a change, either may still tell of the time before it.
    const settled = ours !== undefined && at_ms - Math.max(ours.at_ms, offboard_ms) > 500
    if (report.target !== undefined && settled)
      said.push({ at_ms, ours: isOurs(report.target, ours!.setpoint, ours!.payload) })
  }
  return said
}

/** px4-takeover: the ground station sets HOLD 5.6 s into the fixture, and the target shows it before the mode does. */
const flights: readonly [string, number][] = [
  [fixture('px4-nominal'), Number.POSITIVE_INFINITY],
  [fixture('px4-takeover'), 5500],
  ...wholeFlights()
    .filter((path) => path.includes('px4-nominal'))
    .map((path): [string, number] => [path, Number.POSITIVE_INFINITY]),
]
it.each(flights)('what PX4 said of its target in OFFBOARD was ours: %s', (path, until_ms) => {
  const said = reported(path).filter(({ at_ms }) => at_ms < until_ms)
  expect(said.length).toBeGreaterThan(5)
  expect(said.filter(({ ours }) => ours !== true)).toEqual([])
})

describe('at the antimeridian', () => {
  const east = (lon: number) => Math.round(lon * 1e7)
  const metre = 1 / (111_195 * Math.cos((47.4 * Math.PI) / 180))
  const at = (lon: number) => message('GLOBAL_POSITION_INT', { lat: 474_000_000, lon: east(lon) })

  it('180 and -180 are one longitude: a target there is ours whichever the autopilot says', () => {
    for (const lon of [180, -180, 179.99999, -179.99999])
      for (const said of [180, -180, 179.99999, -179.99999])
        expect(isOurs({ lat: 47.4, lon: said }, 'position-global', { lat: 47.4, lon }), `${lon} as ${said}`).toBe(true)
    expect(isOurs({ lat: 47.4, lon: -179.9999 }, 'position-global', { lat: 47.4, lon: 180 })).toBe(false)
    expect(isOurs({ lat: 47.4, lon: 0 }, 'position-global', { lat: 47.4, lon: 180 })).toBe(false)
  })

  it('a vehicle on the other side of it is beside it', () => {
    expect(isHere({ lat: 47.4, lon: 180 }, { lat: 47.4, lon: -179.99999 })).toBe(true)
    expect(isHere({ lat: 47.4, lon: 180 }, { lat: 47.4, lon: -179.9999 })).toBe(false)
  })

  it('metres lead across it, from the globe to the local frame and back', () => {
    const across = target(px4Multirotor, onGlobe(474_000_000, east(-180 + 10 * metre)), 0, [
      at(180 - 5 * metre),
      inside,
    ])
    expect(across!.east).toBeCloseTo(-20 + 15, 1)
    const back = target(px4Multirotor, inFrame({ x: 10, y: -20 + 15 }), 0, [at(180 - 5 * metre), inside])
    expect(back!.lon).toBeCloseTo(-180 + 10 * metre, 6)
    const west = target(px4Multirotor, inFrame({ x: 10, y: -20 - 15 }), 0, [at(-180 + 5 * metre), inside])
    expect(west!.lon).toBeCloseTo(180 - 10 * metre, 6)
  })

  it('flying over it is no jump', () => {
    const telemetry = new Telemetry(px4Multirotor)
    const lons = [179.9999999, -179.9999999, 180, -180]
    for (const [i, lon] of lons.entries()) {
      const { observations } = telemetry.apply(at(lon)[0], at(lon)[1], 50 * i)
      for (const [id, payload] of [
        message('GPS_RAW_INT', { fix_type: 3, satellites_visible: 9 }),
        message('ESTIMATOR_STATUS', { flags: 55, pos_horiz_accuracy: 1 }),
      ])
        telemetry.apply(id, payload, 50 * i)
      const number = px4Multirotor.fields.findIndex(({ name }) => name === 'position.lon')
      if (i > 0) expect(observations.find(({ field }) => field === number)!.value).toBeCloseTo(lon, 6)
    }
  })
})
