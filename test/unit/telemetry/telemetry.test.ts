import { describe, expect, it } from 'vitest'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { ardupilotCopter as ardupilot } from '../../../src/autopilot/ardupilot-copter.ts'
import { LANDED, MODES, type Profile } from '../../../src/autopilot/profile.ts'
import { px4Multirotor as px4 } from '../../../src/autopilot/px4-multirotor.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { message } from '../autopilot/message.ts'
import {
  ardupilotFixtures,
  fixture,
  frames,
  header,
  px4Fixtures,
  RECORDED_AGES,
  vtol,
  wholeFlights,
} from '../mavlink/recording.ts'

const number = (name: string): number => px4.fields.findIndex((field) => field.name === name)

/** The smallest table: the last value of each field, and when. */
class Table {
  readonly telemetry: Telemetry
  readonly values = new Map<string, { value: number; received_ms: number }>()
  constructor(ages?: readonly { maxAge_ms: number }[], profile: Profile = px4) {
    this.telemetry = new Telemetry(profile, ages)
  }
  apply([id, payload]: [number, Uint8Array], received_ms = 0) {
    const report = this.telemetry.apply(id, payload, received_ms)
    for (const { field, value } of report.observations) this.values.set(px4.fields[field]!.name, { value, received_ms })
    return report
  }
  get(name: string): number | undefined {
    return this.values.get(name)?.value
  }
}

const HEALTHY = 55
const fix = (fix_type = 3) => message('GPS_RAW_INT', { fix_type, satellites_visible: 10 })
const estimate = (flags = HEALTHY) => message('ESTIMATOR_STATUS', { flags, pos_horiz_accuracy: 0.5 })
const home = () => message('HOME_POSITION', { latitude: 474000000, longitude: 85000000, altitude: 500_000 })
const position = (time_boot_ms: number, lat = 474000000, alt = 510_000) =>
  message('GLOBAL_POSITION_INT', { time_boot_ms, lat, lon: 85000000, alt, relative_alt: 10_000, hdg: 9000 })
const local = () => message('LOCAL_POSITION_NED', { time_boot_ms: 7, x: 1, y: 2, z: -3, vx: 4, vy: 5, vz: -6 })

function flying(): Table {
  const table = new Table()
  for (const m of [fix(), estimate(), home(), position(1000), local()]) table.apply(m, 0)
  return table
}

describe('telemetry, what messages say', () => {
  it('reads values with their units', () => {
    const table = flying()
    table.apply(message('HEARTBEAT', { base_mode: 0x80, system_status: 4 }))
    table.apply(message('CURRENT_MODE', { custom_mode: 6 << 16, intended_custom_mode: (4 << 16) + (5 << 24) }))
    table.apply(message('EXTENDED_SYS_STATE', { landed_state: 2 }))
    const health = { onboard_control_sensors_health: 0x10000000 }
    table.apply(message('SYS_STATUS', { ...health, voltage_battery: 15_800, battery_remaining: 87 }))
    const reading = { orientation: 25, current_distance: 123, min_distance: 10, max_distance: 900 }
    table.apply(message('DISTANCE_SENSOR', reading))
    const said = Object.fromEntries([...table.values].map(([name, { value }]) => [name, value]))
    expect(said).toEqual({
      armed: 1,
      ready: 1,
      'estimator.ok': 1,
      critical: 0,
      mode: MODES.indexOf('OFFBOARD'),
      mode_intended: MODES.indexOf('RETURN'),
      landed: LANDED.indexOf('IN_AIR'),
      'gps.fix': 3,
      'gps.satellites': 10,
      'battery.remaining': 87,
      'battery.voltage': 15.8,
      'position.lat': 47.4,
      'position.lon': 8.5,
      'position.alt': 10,
      'position.amsl': 510,
      'position.accuracy': 0.5,
      'local.north': 1,
      'local.east': 2,
      'local.down': -3,
      'velocity.north': 4,
      'velocity.east': 5,
      'velocity.down': -6,
      heading: 90,
      'home.lat': 47.4,
      'home.lon': 8.5,
      'home.amsl': 500,
      'range.down': 1.23,
    })
  })

  it('G5: what a message calls unknown is unknown', () => {
    const table = flying()
    table.apply(message('HEARTBEAT', { system_status: 0 }))
    table.apply(message('CURRENT_MODE', {}))
    table.apply(message('EXTENDED_SYS_STATE', { landed_state: 0 }))
    table.apply(message('SYS_STATUS', { voltage_battery: 65535, battery_remaining: -1 }))
    table.apply(message('GPS_RAW_INT', { fix_type: 3, satellites_visible: 255 }))
    table.apply(message('HOME_POSITION', {}))
    table.apply(message('GLOBAL_POSITION_INT', { time_boot_ms: 1000, hdg: 65535 }))
    table.apply(message('DISTANCE_SENSOR', { orientation: 25, current_distance: 901, max_distance: 900 }))
    for (const name of ['critical', 'mode', 'mode_intended', 'landed', 'battery.remaining', 'battery.voltage']) {
      expect(table.get(name), name).toBeNaN()
    }
    for (const name of ['gps.satellites', 'home.lat', 'home.amsl', 'position.lat', 'heading', 'range.down']) {
      expect(table.get(name), name).toBeNaN()
    }
    table.apply(message('EXTENDED_SYS_STATE', { landed_state: 9 }))
    expect(table.get('landed')).toBeNaN()
  })

  it('tells critical states, forbidden and missing estimator flags', () => {
    const table = new Table()
    for (const [status, critical] of [
      [3, 0],
      [4, 0],
      [5, 1],
      [6, 1],
      [8, 1],
    ] as const) {
      table.apply(message('HEARTBEAT', { system_status: status }))
      expect(table.get('critical')).toBe(critical)
    }
    for (const [flags, ok] of [
      [55, 1],
      [1023, 1],
      [55 | 1024, 0],
      [55 | 2048, 0],
      [54, 0],
      [39, 0],
      [23, 0],
    ] as const) {
      table.apply(estimate(flags))
      expect(table.get('estimator.ok'), `${flags}`).toBe(ok)
    }
  })

  it('gives the target of the autopilot', () => {
    const table = flying()
    const flies = { time_boot_ms: 5, lat_int: 474000000, lon_int: 85000000 }
    expect(table.apply(message('POSITION_TARGET_GLOBAL_INT', flies)).target).toMatchObject({ lat: 47.4, lon: 8.5 })
    expect(table.apply(message('POSITION_TARGET_GLOBAL_INT', { ...flies, type_mask: 7 })).target).toBeUndefined()
    expect(table.apply(local()).target).toBeUndefined()
  })

  it('ignores a rangefinder that does not look down', () => {
    const table = new Table()
    table.apply(message('DISTANCE_SENSOR', { orientation: 0, current_distance: 100, max_distance: 900 }))
    expect(table.get('range.down')).toBeUndefined()
  })
})

const POSITIONAL = px4.fields.map((f) => f.name).filter((n) => /^(position|local|velocity)\./.test(n))
const unknown = (table: Table): boolean => POSITIONAL.every((name) => Number.isNaN(table.get(name)))
const known = (table: Table): boolean => POSITIONAL.every((name) => Number.isFinite(table.get(name)))

describe('telemetry, G5: what rests on the estimate', () => {
  it('is unknown at once without a 3D fix or a good estimate', () => {
    for (const [bad, good] of [
      [fix(2), fix()],
      [fix(0), fix()],
      [estimate(54), estimate()],
      [estimate(55 | 1024), estimate()],
    ] as const) {
      const table = flying()
      expect(known(table)).toBe(true)
      table.apply(bad, 10)
      expect(unknown(table)).toBe(true)
      for (const m of [position(1020), local()]) table.apply(m, 20)
      expect(unknown(table)).toBe(true)
      for (const m of [good, position(1030), local(), estimate()]) table.apply(m, 30)
      expect(known(table)).toBe(true)
    }
  })

  it('is unknown while fix or estimate are stale, by the ages of the catalog', () => {
    const table = flying()
    table.apply(local(), 500)
    expect(known(table)).toBe(true)
    table.apply(local(), 501)
    expect(table.get('local.north')).toBeNaN()
    const patient = new Table(px4.fields.map(() => ({ maxAge_ms: 5000 })))
    for (const m of [fix(), estimate(), home(), position(1000), local()]) patient.apply(m, 0)
    patient.apply(local(), 5000)
    expect(known(patient)).toBe(true)
  })

  it('has no height above a home that is not known', () => {
    const table = new Table()
    for (const m of [fix(), estimate(), position(1000)]) table.apply(m, 0)
    expect(table.get('position.alt')).toBeNaN()
    expect(table.get('position.amsl')).toBe(510)
  })

  it('is unknown for 3 s after a jump', () => {
    const refresh = (table: Table, now: number, lat: number) => {
      for (const m of [fix(), estimate(), position(1000 + now, lat), local()]) table.apply(m, now)
    }
    const table = flying()
    // 20 m/s allow 1 m in 50 ms: 90 units of 1e-7 degree are 1.0008 m, 89 are 0.9896.
    refresh(table, 50, 474000089)
    expect(known(table)).toBe(true)
    refresh(table, 100, 474000179)
    expect(unknown(table)).toBe(true)
    refresh(table, 3099, 474000179)
    expect(unknown(table)).toBe(true)
    refresh(table, 3100, 474000179)
    expect(known(table)).toBe(true)
  })

  it('takes what waited together in a buffer for no jump', () => {
    const table = flying()
    for (const m of [fix(), estimate(), position(1050, 474000060), position(1100, 474000120), local()])
      table.apply(m, 0)
    expect(known(table)).toBe(true)
  })

  it('jumps upwards too', () => {
    const table = flying()
    table.apply(position(1050, 474000000, 512_000), 50)
    expect(unknown(table)).toBe(true)
  })
})

describe('telemetry, recordings', () => {
  it('loses the position with the fix and takes it back 3 s after the jump', () => {
    const table = new Table(RECORDED_AGES)
    const changes: [number, string][] = []
    let before = ''
    for (const { at_ms: now, frame } of frames(fixture('px4-gps-loss'))) {
      if (frame.component !== 1) continue
      table.apply([frame.message, frame.payload], now)
      const is = known(table) ? 'known' : unknown(table) ? 'unknown' : before
      if (is !== before) changes.push([Math.round(now / 100) / 10, is])
      before = is
    }
    // The fixture begins at 20 s of the flight: fix lost 22.5, jump 33.65.
    expect(changes.map(([, is]) => is)).toEqual(['unknown', 'known', 'unknown', 'known'])
    expect(changes[2]![0]).toBe(2.5)
    expect(changes[3]![0]).toBeGreaterThanOrEqual(16.6)
    expect(changes[3]![0]).toBeLessThanOrEqual(17)
  })

  it('shows the takeover of the pilot as mode and intended mode', () => {
    const shown: string[] = []
    const table = new Table(RECORDED_AGES)
    for (const { at_ms: now, frame } of frames(fixture('px4-takeover'))) {
      if (frame.component !== 1) continue
      table.apply([frame.message, frame.payload], now)
      const is = `${MODES[table.get('mode') ?? -1]}/${MODES[table.get('mode_intended') ?? -1]}`
      if (is !== shown.at(-1)) shown.push(is)
    }
    expect(shown).toEqual(['undefined/undefined', 'OFFBOARD/OFFBOARD', 'HOLD/HOLD'])
  })

  /** Every change of a field of ArduPilot's, as `second value`; unknown is `-`. The recorded companion asked for 1 to 5 Hz. */
  function changes(path: string, names: readonly string[], show = (name: string, value: number) => `${name} ${value}`) {
    const ages = ardupilot.fields.map(({ maxAge_ms }) => ({ maxAge_ms: Math.max(maxAge_ms, 2500) }))
    const table = new Table(ages, ardupilot)
    const before = new Map<string, string>()
    const said: string[] = []
    for (const { at_ms: now, frame } of frames(path)) {
      if (frame.system !== 1 || frame.component !== 1) continue
      table.apply([frame.message, frame.payload], now)
      for (const name of names) {
        const value = table.get(name)
        const is = value === undefined || Number.isNaN(value) ? `${name} -` : show(name, value)
        if (before.get(name) === is) continue
        if (before.has(name) || !is.endsWith('-')) said.push(`${(now / 1e3).toFixed(1)} ${is}`)
        before.set(name, is)
      }
    }
    return said
  }
  const word = (name: string, value: number): string =>
    name.startsWith('mode') ? MODES[value]! : name === 'landed' ? LANDED[value]! : `${name} ${value}`

  it('reads a flight of ArduPilot: when it can arm, arms, takes off, is in the air, lands and disarms', () => {
    const path = fixture('ardupilot-nominal')
    expect(changes(path, ['mode', 'armed', 'landed'], word)).toEqual([
      '1.0 MANUAL',
      '1.0 armed 0',
      '1.2 OFFBOARD',
      '2.4 MANUAL',
      '2.5 ON_GROUND',
      '45.1 OFFBOARD',
      '46.0 armed 1',
      '48.5 TAKING_OFF',
      '55.0 IN_AIR',
      '74.8 LAND',
      '75.1 LANDING',
      '93.1 ON_GROUND',
      '94.0 armed 0',
    ])
    // Its own check is through at 24 s, without a position.
    expect(changes(path, ['ready', 'estimator.ok', 'gps.fix'])).toEqual([
      '3.1 gps.fix 0',
      '4.1 estimator.ok 0',
      '10.1 gps.fix 6',
      '42.1 estimator.ok 1',
      '43.1 ready 1',
    ])
    const known = changes(path, ['position.lat', 'local.down', 'home.lat'], (name) => `${name} known`)
    expect(known).toEqual(['20.0 home.lat known', '42.2 position.lat known', '42.2 local.down known'])
    const heights = changes(path, ['position.alt'], (_, value) => `${Math.round(value)}`)
    expect(heights.map((line) => line.split(' ')[1])).toEqual(expect.arrayContaining(['0', '8', '10']))
  })

  it('shows every change of mode of ArduPilot, by whomever, as mode and as intended mode', () => {
    const shown = changes(fixture('ardupilot-takeover'), ['mode'], word)
    expect(shown.slice(3)).toEqual([
      '43.1 OFFBOARD',
      '56.2 HOLD',
      '61.2 OFFBOARD',
      '66.2 POSITION',
      '71.7 OFFBOARD',
      '80.4 POSITION',
      '84.4 OFFBOARD',
      '86.7 MANUAL',
      '88.4 OFFBOARD',
      '92.4 RETURN',
      '97.4 LAND',
      '102.5 OFFBOARD',
      '107.5 HOLD',
      '112.5 OFFBOARD',
      '120.5 LAND',
    ])
    expect(changes(fixture('ardupilot-takeover'), ['mode_intended'], word)).toEqual(shown)
  })

  // Which message each field comes from, by the numbers of MAVLink and not by the code under test.
  const COMMON = {
    armed: 0,
    'gps.fix': 24,
    landed: 245,
    'home.lat': 242,
    heading: 33,
    'battery.remaining': 1,
  }
  const PX4: Readonly<Record<string, number>> = { ...COMMON, ready: 1, mode: 436, 'estimator.ok': 230 }
  const ARDUPILOT: Readonly<Record<string, number>> = { ...COMMON, mode: 0, 'estimator.ok': 193 }

  for (const path of [vtol, ...px4Fixtures, ...ardupilotFixtures, ...wholeFlights()]) {
    it(`G5: fields are stale exactly in the gaps of ${path.split('/').at(-1)}`, () => {
      // The autopilot of each recording, and when each of its messages came, read from the headers.
      const [system, profile, SOURCES] = path.includes('px4')
        ? ([2, px4, PX4] as const)
        : ([1, ardupilot, ARDUPILOT] as const)
      const records = [...readTlog(path)].map(({ time_us, bytes }) => ({ time_us, bytes, ...header(bytes) }))
      const start_us = records[0]!.time_us
      const own = records.filter((r) => r.system === system && r.component === 1)
      const arrivals = new Map<number, number[]>()
      for (const { message, time_us } of own) {
        const times = arrivals.get(message) ?? []
        times.push((time_us - start_us) / 1e3)
        arrivals.set(message, times)
      }

      const table = new Table(profile === px4 ? RECORDED_AGES : undefined, profile)
      const framer = new Framer()
      const stale: Record<string, number[]> = {}
      const expected: Record<string, number[]> = {}
      const next = new Map<string, number>()
      for (const { time_us, bytes } of own) {
        const now = (time_us - start_us) / 1e3
        // Just before each frame: the longest that any state stands.
        for (const [field, source] of Object.entries(SOURCES)) {
          const { maxAge_ms } = profile.fields[number(field)]!
          const reading = table.values.get(field)
          if (reading === undefined || now - reading.received_ms > maxAge_ms) {
            stale[field] ??= []
            stale[field].push(now)
          }
          const times = arrivals.get(source) ?? []
          let i = next.get(field) ?? 0
          while (i < times.length && times[i]! < now) i++
          next.set(field, i)
          if (i === 0 || now - times[i - 1]! > maxAge_ms) {
            expected[field] ??= []
            expected[field].push(now)
          }
        }
        for (const frame of framer.datagram(bytes)) table.apply([frame.message, frame.payload], now)
      }
      for (const field of Object.keys(SOURCES)) {
        // Two frames of one microsecond are one instant: the header's count sees neither yet, the table may have the first.
        const same = new Set(own.map((r) => (r.time_us - start_us) / 1e3).filter((t, i, all) => t === all[i - 1]))
        const ours = (stale[field] ?? []).filter((t) => !same.has(t))
        const theirs = (expected[field] ?? []).filter((t) => !same.has(t))
        expect(ours.join(), field).toBe(theirs.join())
      }
      const gaps = (id: number, longer_ms: number) =>
        (arrivals.get(id) ?? []).filter((t, i, all) => i > 0 && t - all[i - 1]! > longer_ms).length
      if (path === vtol) expect(gaps(33, 1000)).toBeGreaterThan(0)
      if (path.includes('dronekit')) expect(gaps(33, 18_000)).toBe(1)
      if (path.includes('px4-reboot')) expect(gaps(0, 2000)).toBe(1)
    })
  }
})
