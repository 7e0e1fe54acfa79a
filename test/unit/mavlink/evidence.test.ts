// One sample decides nothing that cannot be taken back (PROTOCOL 8, 11): flights over links that repeat, delay and reorder.

import { describe, expect, it } from 'vitest'
import { checksum } from '../../../companion/mavlink/checksum.ts'
import { seededRandom } from '../../../simulator/random.ts'
import { type AutopilotName, SimulatedVehicle } from '../../../simulator/vehicle.ts'
import { layout, layoutOf } from '../../../src/autopilot/frame.ts'
import { HOME } from '../engine/stage.ts'
import { Line, messageOf, type Way } from './line.ts'

const POSITION = layout('GLOBAL_POSITION_INT').id
const HEARTBEAT = 0
const MODE: Readonly<Record<AutopilotName, number>> = { px4: layout('CURRENT_MODE').id, ardupilot: HEARTBEAT }

describe.each<AutopilotName>(['px4', 'ardupilot'])('with %s', (autopilot) => {
  /** To its end, in one session, and nobody is alarmed. */
  const arrives = (line: Line): void => {
    line.until(() => line.lastPhase('g') !== 'dispatched', 60_000)
    expect(line.lastPhase('g')).toBe('completed')
    expect([line.alarms, line.reboots]).toEqual([[], []])
    expect(line.newest('control').pilot_control).toBe(false)
  }

  it('one position that is held for 1.5 s and then delivered ends nothing', () => {
    const line = new Line(autopilot).engage()
    let held = false
    line.down = (frame) => {
      if (held || messageOf(frame) !== POSITION) return [2]
      held = true
      return [1500]
    }
    arrives(line)
    expect(held).toBe(true)
    expect(line.link.late).toBe(1)
  })

  it.each([80, 3000])(
    'a link on which every frame comes a second time %i ms later flies, and loops ours',
    (late_ms) => {
      const line = new Line(autopilot)
      line.down = () => [2, 2 + late_ms]
      line.loop = () => [4, 4 + late_ms]
      arrives(line.engage())
      expect(line.link.late + line.link.repeated).toBeGreaterThan(1000)
      expect(line.warnings.join()).toMatch(/frames dropped that were (older|heard before)/)
    },
  )

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'frames that are reordered, and late by up to 3 s, end nothing (seed %i)',
    (seed) => {
      const random = seededRandom(seed)
      const line = new Line(autopilot)
      const rough: Way = () => {
        const copies = [random() < 0.05 ? 3000 * random() : 2 + 8 * random()]
        if (random() < 0.05) copies.push(3000 * random())
        return copies
      }
      line.engage().down = rough
      arrives(line)
    },
  )

  it('a slow radio beside a fast one, each with its own frames, is no second autopilot', () => {
    const line = new Line(autopilot)
    let sequence = 0
    line.down = (frame, now_ms) => {
      // The same message as the autopilot sends it on its other link: another sequence number, a time that is not quite the same.
      if (messageOf(frame) !== MODE[autopilot] && frame[5] === 1 && layoutOf(messageOf(frame)) !== undefined)
        line.arrive(again(frame, sequence++, 3), 2 + 900)
      return now_ms > 0 ? [2] : []
    }
    arrives(line.engage())
    expect(line.link.late).toBeGreaterThan(500)
  })

  it('an old report of another mode stops every frame at once, is asked about, and ends nothing', () => {
    const line = new Line(autopilot)
    let old: Uint8Array | undefined
    line.down = (frame) => {
      if (messageOf(frame) === MODE[autopilot] && frame[5] === 1) old ??= frame
      return [2]
    }
    line.engage().run(1000)
    const stale = again(old!, 200, 0)
    const before = line.frames
    line.link.receive(stale, line.now_ms)
    const asked = line.vehicle.observations.commands.filter(({ command }) => command === 512)
    expect(asked.map(({ params }) => params[0])).toEqual([MODE[autopilot]])
    expect(line.frames).toBe(before)
    arrives(line)
    expect(line.vehicle.observations.modes.map(({ mode }) => mode).slice(-2)).toEqual([line.own.engaged, line.own.hold])
  })

  it('G5: a pilot who takes it stops every frame at the first report, and keeps it', () => {
    const line = new Line(autopilot).engage().run(1000)
    let told: number | undefined
    line.down = (frame, now_ms) => {
      if (messageOf(frame) === MODE[autopilot] && frame[5] === 1 && line.vehicle.observations.mode === line.own.pilot)
        told ??= now_ms + 2
      return [2]
    }
    line.vehicle.fault({ kind: 'pilot', mode: line.own.pilot }, line.now_ms)
    line.until(() => told !== undefined && line.now_ms >= told, 5000)
    const before = line.frames
    line.until(() => line.newest('control').pilot_control, 200)
    expect(line.lastPhase('g')).toBe('failed taken_over')
    line.run(3000)
    expect(line.frames).toBe(before)
    expect(line.vehicle.observations.mode).toBe(line.own.pilot)
  })

  it.each([0, 3000])('G5: a reboot is a new session, and nothing is sent (copies %i ms later)', (late_ms) => {
    const line = new Line(autopilot)
    line.down = () => (late_ms > 0 ? [2, 2 + late_ms] : [2])
    line.engage().run(500)
    line.vehicle.fault({ kind: 'reboot' }, line.now_ms)
    const [before, at_ms] = [line.frames, line.now_ms]
    line.until(() => line.reboots.length > 0, 30_000)
    // 4 s until it boots; then its first position.
    expect(line.reboots[0]! - at_ms).toBeLessThan(autopilot === 'px4' ? 5500 : 20_000)
    expect(line.lastPhase('g')).toMatch(/^failed /)
    const left = line.vehicle.observations.commands.slice(-1)
    line.run(10_000)
    expect(line.reboots.length).toBe(1)
    expect(line.alarms).toEqual([])
    expect(line.frames - before).toBeLessThan(12) // what is repeated before it is known to be gone
    expect(left.length).toBe(1)
  })

  it.each<[string, number, boolean]>([
    ['whose clock is a minute older', 60_000, false],
    ['whose clock is a minute older, and we loop', 60_000, true],
    ['that was switched on within the same second', 700, false],
  ])('G5: a second autopilot with its ids %s is an alarm, and a contingency', (_which, older_ms, loops) => {
    const line = new Line(autopilot)
    if (loops) line.loop = () => [80]
    const twin = new SimulatedVehicle({
      autopilot,
      home: { ...HOME, lat: HOME.lat + 50 / 111_195 },
      seed: 9,
      readyAfter_ms: 0,
      aloft_m: 10,
      stream_ms: 100,
    })
    twin.step(0)
    let on = false
    line.down = (_, now_ms) => {
      if (on) for (const frame of twin.step(now_ms + older_ms)) line.arrive(frame, 2)
      return [2]
    }
    line.engage().run(1000)
    twin.step(line.now_ms + older_ms)
    on = true
    line.until(() => line.alarms.length > 0, 10_000)
    expect(line.alarms[0]).toMatch(/^a second autopilot sends as 1\/1: /)
    expect(line.newest('control').pilot_control).toBe(true)
    expect(line.lastPhase('g')).toMatch(/^failed /)
  })
})

/** A frame that the same autopilot sends on another link. Its time is so much older, where it has one. */
function again(frame: Uint8Array, sequence: number, older_ms: number): Uint8Array {
  const made = Uint8Array.from(frame)
  made[4] = sequence & 0xff
  const message = messageOf(frame)
  const { fields, crcExtra } = layoutOf(message)!
  const view = new DataView(made.buffer)
  const at = fields.time_boot_ms?.offset
  if (at !== undefined && at + 4 <= frame[1]!) view.setUint32(10 + at, view.getUint32(10 + at, true) - older_ms, true)
  const end = 10 + frame[1]!
  view.setUint16(end, checksum(made, 1, end, crcExtra), true)
  return made
}
