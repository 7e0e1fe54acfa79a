// Freshness that cannot be fooled (PROTOCOL 2 and 3): every field of every profile, in a state table that ages as the core's
// does.

import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { fieldOf, layout } from '../../../src/autopilot/frame.ts'
import type { Profile } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { cores } from '../../oracle/cores.ts'
import { image, field as imageField, load } from '../../oracle/sketch.ts'
import { message } from './message.ts'

type Values = Readonly<Record<string, number>>

/** A vehicle in the air, all well: one message each. */
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
  DISTANCE_SENSOR: { orientation: 25, current_distance: 500, min_distance: 10, max_distance: 900 },
}
const POSITIONAL = /^(position|local|velocity)\./

describe.each(cores)('%s', (_core, make) => {
  describe.each([px4Multirotor, ardupilotCopter].map((profile) => [profile.name, profile] as const))(
    '%s',
    (_, profile) => {
      const names = profile.fields.map(({ name }) => name)
      const carriers = [...new Set(profile.fields.map(({ from }) => from.message))]

      /** The table, fed message by message. */
      class Table {
        readonly core = load(
          make,
          image(
            profile.fields.map((f) => imageField(f.name, f.maxAge_ms, !f.continuous)),
            [],
          ),
        )
        readonly #telemetry = new Telemetry(profile)
        now_ms = 0

        tell(name: string, values: Values = {}): this {
          // With the time since boot where the message has one: a fall would be a reboot.
          const timed = layout(name).fields.time_boot_ms === undefined ? {} : { time_boot_ms: this.now_ms }
          const [id, payload] = message(name, { ...timed, ...CALM[name], ...values })
          for (const { field, value } of this.#telemetry.apply(id, payload, this.now_ms).observations) {
            this.core.observe(field, value, this.now_ms)
          }
          return this
        }

        /** All is told every 50 ms, but what is left out; `over` replaces values for good. */
        run(for_ms: number, without: readonly string[] = [], over: Readonly<Record<string, Values>> = {}): this {
          for (const end_ms = this.now_ms + for_ms; this.now_ms < end_ms; ) {
            this.now_ms += 50
            for (const name of carriers) if (!without.includes(name)) this.tell(name, over[name])
          }
          return this
        }

        value(name: string): number {
          const { validity, value } = this.core.read(names.indexOf(name), this.now_ms)
          return validity === 'usable' ? value : Number.NaN
        }

        get missing(): string[] {
          return names.filter((name) => Number.isNaN(this.value(name)))
        }
      }
      const flying = () => new Table().run(100)
      const of = (carrier: string) =>
        profile.fields.filter(({ from }) => from.message === carrier).map(({ name }) => name)
      /** What needs the message that carries this field. */
      const needing = (need: 'estimator' | 'fix') =>
        profile.fields.filter((f) => f.needs?.includes(need)).map(({ name }) => name)
      const resting = (carrier: string): string[] => {
        const said = of(carrier)
        const needed = [
          ...(said.includes('estimator.ok') ? needing('estimator') : []),
          ...(said.includes('gps.fix') ? needing('fix') : []),
        ]
        return names.filter((name) => said.includes(name) || needed.includes(name))
      }

      it('everything is known when all is well', () => {
        expect(flying().missing).toEqual([])
      })

      it.each(carriers)('G5: a gap of %s makes exactly its fields stale, and what rests on them', (carrier) => {
        const ages = profile.fields.filter(({ from }) => from.message === carrier).map(({ maxAge_ms }) => maxAge_ms)
        const table = flying().run(Math.max(...ages) + 50, [carrier])
        expect(table.missing).toEqual(resting(carrier))
        expect(flying().run(Math.min(...ages), [carrier]).missing, 'not before its age').toEqual([])
        // Back again, everything is known with its own next message.
        expect(table.run(100).missing).toEqual([])
      })

      it('G5: a late tick sees old ages: nothing is told, and one after the other is stale', () => {
        const table = flying()
        const ages = [...new Set(profile.fields.map(({ maxAge_ms }) => maxAge_ms))].sort((a, b) => a - b)
        for (const age_ms of ages) {
          table.now_ms = 100 + age_ms
          const younger = profile.fields.filter(({ maxAge_ms }) => maxAge_ms < age_ms).map(({ name }) => name)
          expect(table.missing).toEqual(younger)
          table.now_ms += 1
          const gone = profile.fields.filter(({ maxAge_ms }) => maxAge_ms <= age_ms).map(({ name }) => name)
          expect(table.missing).toEqual(gone)
        }
      })

      it('G5: the position needs the estimator’s flags and a 3D fix', () => {
        const estimator = profile.fields.find(({ name }) => name === 'estimator.ok')!.from.message
        for (const bit of [1, 2, 4, 16, 32]) {
          const table = flying().tell(estimator, { flags: 0x33f & ~bit })
          expect(table.value('estimator.ok')).toBe(0)
          expect(table.missing).toEqual(needing('estimator'))
          expect(table.missing.filter((name) => POSITIONAL.test(name))).toEqual(
            names.filter((name) => POSITIONAL.test(name)),
          )
        }
        for (const fix_type of [0, 1, 2]) {
          const table = flying().tell('GPS_RAW_INT', { fix_type })
          expect(table.missing).toEqual(needing('fix'))
          expect(table.missing).toContain('gps.satellites')
        }
      })

      // Fields of the message, a value that no vehicle can reach from CALM in 50 ms, and what then is unknown.
      const home = ['home.lat', 'home.lon', 'home.amsl']
      const estimate = names.filter((name) => POSITIONAL.test(name))
      const jumps: readonly [string, string, Values, readonly string[]][] = [
        ['a place', 'GLOBAL_POSITION_INT', { lat: 474_000_100 }, estimate],
        ['a longitude', 'GLOBAL_POSITION_INT', { lon: 85_000_150 }, estimate],
        ['an altitude', 'GLOBAL_POSITION_INT', { alt: 512_000 }, estimate],
        ['a height above home alone', 'GLOBAL_POSITION_INT', { relative_alt: 12_000 }, ['position.alt']],
        ['a place in the local frame', 'LOCAL_POSITION_NED', { x: 3 }, estimate],
        ['a height in the local frame', 'LOCAL_POSITION_NED', { z: -12 }, estimate],
        ['a velocity', 'LOCAL_POSITION_NED', { vy: 4 }, estimate],
        ['a heading', 'GLOBAL_POSITION_INT', { hdg: 12_000 }, ['heading']],
        ['a home', 'HOME_POSITION', { latitude: 474_000_200 }, ['position.alt', ...home]],
        ['a home’s height', 'HOME_POSITION', { altitude: 503_000 }, ['position.alt', ...home]],
        ['a charge that rises', 'SYS_STATUS', { battery_remaining: 90 }, ['battery.remaining']],
      ]
      it.each(jumps)('G5: %s that jumps is unknown for 3 s, and then believed', (_what, carrier, to, lost) => {
        const table = flying().run(50, [], { [carrier]: to })
        expect(table.missing).toEqual(names.filter((name) => lost.includes(name)))
        table.run(2950, [], { [carrier]: to })
        expect(table.missing).toEqual(names.filter((name) => lost.includes(name)))
        expect(table.run(50, [], { [carrier]: to }).missing).toEqual([])
      })

      it.each<[string, string, Values]>([
        ['20 m/s', 'GLOBAL_POSITION_INT', { lat: 474_000_089 }],
        ['20 m/s in the local frame', 'LOCAL_POSITION_NED', { x: 2 }],
        ['3 g', 'LOCAL_POSITION_NED', { vy: 3 }],
        ['a heading that wraps', 'GLOBAL_POSITION_INT', { hdg: 9000 }],
        ['a sudden loss of all charge', 'SYS_STATUS', { battery_remaining: 0 }],
        ['a charge that rises a little', 'SYS_STATUS', { battery_remaining: 85 }],
        ['a home that moves at arming', 'HOME_POSITION', { altitude: 500_300 }],
      ])('%s is no jump', (_what, carrier, to) => {
        expect(flying().run(50, [], { [carrier]: to }).missing).toEqual([])
      })

      it('turns the short way round north', () => {
        const table = new Table().run(100, [], { GLOBAL_POSITION_INT: { hdg: 35_500 } })
        expect(table.run(50, [], { GLOBAL_POSITION_INT: { hdg: 500 } }).value('heading')).toBe(5)
      })

      it('G5: a charge is never ignored where that is unsafe: 0 counts at once, and what comes back only after 3 s', () => {
        const table = flying().tell('SYS_STATUS', { battery_remaining: 0 })
        expect(table.value('battery.remaining')).toBe(0)
        expect(table.run(50).missing).toEqual(['battery.remaining'])
        table.run(100, [], { SYS_STATUS: { battery_remaining: 10 } })
        expect(table.value('battery.remaining'), 'unsettled, though it is low').toBeNaN()
        expect(table.run(3000).run(3000).value('battery.remaining')).toBe(80)
      })

      it('G5: a gap gives the vehicle time to move, and the autopilot’s own clock does too', () => {
        const late = flying().run(1000, ['GLOBAL_POSITION_INT'])
        // 20 m/s for 1050 ms are 21 m: 1880 units of 1e-7 degree.
        expect(late.run(50, [], { GLOBAL_POSITION_INT: { lat: 474_001_880 } }).missing).toEqual([])
        const far = flying().run(1000, ['GLOBAL_POSITION_INT'])
        expect(far.run(50, [], { GLOBAL_POSITION_INT: { lat: 474_001_900 } }).missing).toEqual(estimate)
      })

      const floats = profile.fields.flatMap(({ name, from }) =>
        from.fields
          .filter((f) => fieldOf(from.message, f).format === 'f32')
          .map((f) => [name, from.message, f] as const),
      )
      it.each(floats)('G5: %s is unknown by a %s whose %s is not finite', (name, carrier, raw) => {
        for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
          expect(flying().tell(carrier, { [raw]: value }).missing).toEqual([name])
        }
        expect(
          flying()
            .tell(carrier, { [raw]: Number.NaN })
            .run(50).missing,
          'and known again',
        ).toEqual([])
      })

      it('G5: no place is 0, 0, or beyond the globe', () => {
        for (const place of [{ lat: 0, lon: 0 }, { lat: 900_000_001 }, { lat: -900_000_001 }, { lon: 1_800_000_001 }]) {
          expect(flying().tell('GLOBAL_POSITION_INT', place).missing).toEqual(['position.lat', 'position.lon'])
          const { lat: latitude = 474_000_000, lon: longitude = 85_000_000 } = place
          expect(flying().tell('HOME_POSITION', { latitude, longitude }).missing).toEqual(home)
        }
      })

      it('G5: there is no height above a home that was never heard', () => {
        const table = new Table().run(200, ['HOME_POSITION'])
        expect(table.missing).toEqual(['position.alt', ...home])
      })
    },
  )
})

it('ArduPilot can arm only where it knows its position, whatever its own check says', () => {
  const ready = (profile: Profile, told: readonly [string, Values][]): number | undefined => {
    const telemetry = new Telemetry(profile)
    const number = profile.fields.findIndex(({ name }) => name === 'ready')
    let value: number | undefined
    for (const [name, values] of told) {
      const [id, payload] = message(name, values)
      for (const said of telemetry.apply(id, payload, 0).observations) if (said.field === number) value = said.value
    }
    return value
  }
  const checked: [string, Values] = ['SYS_STATUS', CALM.SYS_STATUS!]
  const fix: [string, Values] = ['GPS_RAW_INT', CALM.GPS_RAW_INT!]
  const ekf = (flags: number): [string, Values] => ['EKF_STATUS_REPORT', { flags }]
  expect(ready(ardupilotCopter, [fix, ekf(0xa7), checked])).toBeNaN() // as it says it 24 s after its start
  expect(ready(ardupilotCopter, [fix, ekf(0x33f), checked])).toBe(1)
  expect(ready(ardupilotCopter, [fix, ekf(0x33f), checked, ekf(0x25)])).toBeNaN()
  expect(ready(ardupilotCopter, [fix, ekf(0x33f), ['SYS_STATUS', {}]])).toBe(0)
  for (const flags of [0x33f | 128, 0x33f | 1024, 0x33f | 32768]) {
    expect(ready(ardupilotCopter, [fix, ekf(flags), checked])).toBeNaN()
  }
  expect(ready(px4Multirotor, [checked])).toBe(1)
})
