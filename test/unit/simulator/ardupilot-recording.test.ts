// The double beside the real one: what was sent to ArduCopter 4.7 in software is sent to the double at the same times, and what
// both say of it is compared.

import type { MavLinkData, MavLinkDataConstructor } from 'node-mavlink'
import { ardupilotmega, common, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { type Fault, parseFault } from '../../../simulator/fault.ts'
import { SimulatedVehicle } from '../../../simulator/vehicle.ts'
import { fixture } from '../mavlink/recording.ts'

const PLACE = { lat: -35.363261, lon: 149.1652299, amsl: 584.09 }
/** The autopilot was up this long when the recording began. */
const UP_MS = 44
const STEP_MS = 5
const REGISTRY = new Map<number, MavLinkDataConstructor<MavLinkData>>(
  [
    minimal.Heartbeat,
    common.CommandAck,
    common.ExtendedSysState,
    common.GpsRawInt,
    common.HomePosition,
    common.LocalPositionNed,
    common.GlobalPositionInt,
    ardupilotmega.EkfStatusReport,
  ].map((type) => [type.MSG_ID, type]),
)
const protocol = new MavLinkProtocolV2()

interface Said {
  readonly at_ms: number
  readonly data: MavLinkData
}

interface Recording {
  readonly said: readonly Said[]
  /** Frames that the companion and the ground station sent. */
  readonly heard: readonly { readonly at_ms: number; readonly bytes: Uint8Array }[]
}

function decode(at_ms: number, bytes: Buffer): Said[] {
  const type = REGISTRY.get(protocol.header(bytes).msgid)
  return type === undefined ? [] : [{ at_ms, data: protocol.data(protocol.payload(bytes), type) }]
}

function recorded(name: string): Recording {
  const said: Said[] = []
  const heard: Recording['heard'][number][] = []
  let start_us: number | undefined
  for (const { time_us, bytes } of readTlog(fixture(name))) {
    start_us ??= time_us
    const at_ms = (time_us - start_us) / 1000
    if (bytes[5] === 1) said.push(...decode(at_ms, Buffer.from(bytes)))
    else heard.push({ at_ms, bytes })
  }
  return { said, heard }
}

/** What the double says when it hears the same, with what befell the real one. */
function flown({ heard, said }: Recording, events: readonly (readonly [number, Fault])[] = []): Said[] {
  const vehicle = new SimulatedVehicle({ autopilot: 'ardupilot', home: PLACE, wander_m: 0 })
  const own: Said[] = []
  const listen = (now_ms: number): void => {
    for (const frame of vehicle.step(now_ms)) own.push(...decode(now_ms - UP_MS, Buffer.from(frame)))
  }
  vehicle.step(0)
  const inputs = [
    ...heard.map(({ at_ms, bytes }) => ({ at_ms, act: (now_ms: number) => vehicle.receive(bytes, now_ms) })),
    ...events.map(([at_ms, fault]) => ({ at_ms, act: (now_ms: number) => vehicle.fault(fault, now_ms) })),
  ].sort((a, b) => a.at_ms - b.at_ms)
  const end_ms = said.at(-1)!.at_ms + UP_MS
  for (let now_ms = STEP_MS; now_ms <= end_ms; now_ms += STEP_MS) {
    while (inputs[0] !== undefined && inputs[0].at_ms + UP_MS <= now_ms) inputs.shift()!.act(now_ms)
    listen(now_ms)
  }
  return own
}

type Change = readonly [value: number, at_ms: number]

/** What a field was, one after the other, and since when. */
function changes<T extends MavLinkData>(
  said: readonly Said[],
  type: new () => T,
  value: (data: T) => number,
): Change[] {
  const found: [number, number][] = []
  for (const { at_ms, data } of said) {
    if (data instanceof type && value(data) !== found.at(-1)?.[0]) found.push([value(data), at_ms])
  }
  return found
}

/** The same values in the same order, each within this time of the other's. */
function expectAlike(double: readonly Change[], real: readonly Change[], within_ms: number): void {
  expect(double.map(([value]) => value)).toEqual(real.map(([value]) => value))
  for (const [i, [value, at_ms]] of real.entries()) {
    expect(Math.abs(double[i]![1] - at_ms), `${value} at ${at_ms} ms, double ${double[i]![1]}`).toBeLessThan(within_ms)
  }
}

const mode = (data: minimal.Heartbeat): number => data.customMode
const armed = (data: minimal.Heartbeat): number => (data.baseMode as number) & 128
const landed = (data: common.ExtendedSysState): number => data.landedState
const acked = (said: readonly Said[]): string[] =>
  said.flatMap(({ data }) => (data instanceof common.CommandAck ? [`${data.command} ${data.result}`] : []))
const first_ms = (said: readonly Said[], type: new () => MavLinkData): number =>
  said.find(({ data }) => data instanceof type)!.at_ms
const at = (said: readonly Said[], at_ms: number): common.LocalPositionNed =>
  said.find((entry) => entry.at_ms >= at_ms && entry.data instanceof common.LocalPositionNed)!
    .data as common.LocalPositionNed

describe('simulated vehicle: ArduCopter beside its recording', () => {
  const real = recorded('ardupilot-nominal')
  const double = flown(real)

  it('boots, is undone by the switch, arms, takes off and lands at the same times', () => {
    expectAlike(changes(double, minimal.Heartbeat, mode), changes(real.said, minimal.Heartbeat, mode), 200)
    expectAlike(changes(double, minimal.Heartbeat, armed), changes(real.said, minimal.Heartbeat, armed), 2_100)
    expectAlike(
      changes(double, common.ExtendedSysState, landed),
      changes(real.said, common.ExtendedSysState, landed),
      2_100,
    )
  })

  it('finds the GPS, a home and a position at the same times', () => {
    const fix = (data: common.GpsRawInt): number => data.fixType
    const flags = (data: ardupilotmega.EkfStatusReport): number => data.flags
    expectAlike(changes(double, common.GpsRawInt, fix), changes(real.said, common.GpsRawInt, fix), 1_100)
    const { EkfStatusReport } = ardupilotmega
    expectAlike(changes(double, EkfStatusReport, flags), changes(real.said, EkfStatusReport, flags), 1_100)
    for (const type of [common.HomePosition, common.LocalPositionNed, common.GlobalPositionInt]) {
      expect(Math.abs(first_ms(double, type) - first_ms(real.said, type)), type.name).toBeLessThan(1_500)
    }
  })

  it('acknowledges the same with the same', () => {
    expect(acked(double).sort()).toEqual(acked(real.said).sort())
  })

  it('is within 2 m of where the real one was, every second from take-off to landing', () => {
    for (let s = 46; s <= 94; s++) {
      const [own, its] = [at(double, s * 1000), at(real.said, s * 1000)]
      expect(Math.hypot(own.x - its.x, own.y - its.y, own.z - its.z), `at ${s} s`).toBeLessThan(2)
    }
  })

  it('changes its mode as often and as fast when a companion, a ground station and the switch quarrel', () => {
    const quarrel = recorded('ardupilot-takeover')
    // The switch was moved 0.2 s before the heartbeats that show it.
    const own = flown(quarrel, [
      [80_228, parseFault('pilot LOITER')],
      [86_506, parseFault('pilot STABILIZE')],
    ])
    expectAlike(changes(own, minimal.Heartbeat, mode), changes(quarrel.said, minimal.Heartbeat, mode), 200)
    const { ExtendedSysState } = common
    expectAlike(changes(own, ExtendedSysState, landed), changes(quarrel.said, ExtendedSysState, landed), 3_000)
    expect(acked(own).filter((ack) => ack.startsWith('176')).length).toBeGreaterThan(5)
    // BRAKE at 56.2 s ignored the stream.
    const [stood, real_m] = [
      at(own, 60_500).x - at(own, 56_200).x,
      at(quarrel.said, 60_500).x - at(quarrel.said, 56_200).x,
    ]
    expect(Math.abs(stood - real_m)).toBeLessThan(3)
  })
})
