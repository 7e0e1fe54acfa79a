import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { checksum } from '../../../companion/mavlink/checksum.ts'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import type { Signing } from '../../../companion/mavlink/signing.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { fieldOf, layout, layoutOf } from '../../../src/autopilot/frame.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import type { Acknowledgement } from '../../../src/engine/port.ts'
import type { Report } from '../../../src/telemetry/report.ts'
import { fixture, header } from './recording.ts'

const requestable = px4Multirotor.messages.filter((source) => source.interval_us !== undefined)

let next = 0

/** A frame of somebody on the link, made through an adapter of his own; with the next sequence number. */
function raw(system: number, component: number, message: number, payload: Uint8Array, sequence = next++): Uint8Array {
  let made = new Uint8Array(0)
  const sender = new Adapter({
    component,
    transmit: (bytes) => {
      made = Uint8Array.from(bytes)
      return true
    },
  })
  sender.address(system, 1)
  sender.send({ message, payload })
  made[4] = sequence & 0xff
  const end = made.length - 2
  new DataView(made.buffer).setUint16(end, checksum(made, 1, end, layoutOf(message)!.crcExtra), true)
  return made
}

function frame(system: number, component: number, name: string, values: Record<string, number>): Uint8Array {
  return raw(system, component, layout(name).id, framed(name, values))
}

function framed(name: string, values: Record<string, number>): Uint8Array {
  const payload = new Uint8Array(layout(name).length)
  const view = new DataView(payload.buffer)
  for (const [field, value] of Object.entries(values)) {
    const { offset, format } = fieldOf(name, field)
    if (format === 'u8') view.setUint8(offset, value)
    else if (format === 'u16') view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
  }
  return payload
}

const heartbeat = (system = 2, component = 1, autopilot = 12, type = 2): Uint8Array =>
  frame(system, component, 'HEARTBEAT', { type, autopilot, system_status: 4, mavlink_version: 3 })
const ack = (command: number, result: number, target_system: number, target_component: number): Uint8Array =>
  frame(2, 1, 'COMMAND_ACK', { command, result, target_system, target_component })
/** The same frame, whose sender has left out all behind `length` bytes of its payload; its checksum is right. */
function cut(bytes: Uint8Array, length: number): Uint8Array {
  const made = Uint8Array.from([...bytes.subarray(0, 10 + length), 0, 0])
  made[1] = length
  const message = made[7]! | (made[8]! << 8)
  const crc = checksum(made, 1, made.length - 2, layoutOf(message)!.crcExtra)
  made.set([crc & 0xff, crc >> 8], made.length - 2)
  return made
}
const timed = (time_boot_ms: number, name = 'LOCAL_POSITION_NED'): Uint8Array => frame(2, 1, name, { time_boot_ms })

function link(component = 191, signing?: Signing, system?: number) {
  const said: { id: number; interval_us: number }[] = []
  const identities: string[] = []
  const reboots: [up_ms: number, received_ms: number][] = []
  const reports: Report[] = []
  const acknowledgements: Acknowledgement[] = []
  const alarms: string[] = []
  const warnings: string[] = []
  const silences: string[] = []
  const objections: string[] = []
  const adapter = new Adapter({
    component,
    transmit: (bytes) => {
      const made = new Framer().datagram(bytes)[0]!
      const view = new DataView(made.payload.buffer)
      if (view.getUint16(28, true) !== 511) throw new Error('a link asks for intervals and for nothing else')
      said.push({ id: view.getFloat32(0, true), interval_us: view.getFloat32(4, true) })
      return true
    },
  })
  const made = new Link({
    profile: px4Multirotor,
    adapter,
    stream: false,
    system,
    ...(signing && { signing }),
    listener: {
      identity: (system, component) => identities.push(`${system}/${component}`),
      rebooted: (up_ms, received_ms) => reboots.push([up_ms, received_ms]),
      report: (report) => reports.push(report),
      acknowledge: (acknowledgement) => acknowledgements.push(acknowledgement),
      objects: (words) => objections.push(words),
      alarm: (text) => alarms.push(text),
      warn: (text) => warnings.push(text),
      silent: (text) => silences.push(text),
    },
  })
  return {
    link: made,
    adapter,
    said,
    identities,
    reboots,
    reports,
    acknowledgements,
    alarms,
    warnings,
    silences,
    objections,
  }
}

/** A STATUSTEXT of the autopilot; `chunk` is which part of a longer one. */
function statustext(text: string, chunk = 0, system = 2): Uint8Array {
  const payload = new Uint8Array(layout('STATUSTEXT').length)
  payload.set(Buffer.from(text).subarray(0, 50), 1)
  payload[53] = chunk
  return raw(system, 1, layout('STATUSTEXT').id, payload)
}

describe('link, what the autopilot says against arming', () => {
  it('hands on its words, and no other text', () => {
    const { link: l, objections } = link()
    l.receive(statustext('PreArm: said by nobody known'), 0)
    l.receive(heartbeat(), 10)
    const long = 'PreArm: Compass calibrated requires reboot, and more'
    const texts = [
      'PreArm: 3D Accel calibration needed',
      'Preflight Fail: Compass Sensor 0 missing',
      'Arm: Throttle too high',
    ]
    const others = ['Arming motors', 'Takeoff detected', 'Preflight Fail:', '']
    for (const text of [...texts, ...others, long, 'PreArm: a\u0007\u001b[31mb']) l.receive(statustext(text), 20)
    l.receive(statustext('PreArm: the rest', 1), 30)
    l.receive(statustext('PreArm: of another', 0, 3), 30)
    expect(objections).toEqual([...texts, long.slice(0, 50), 'PreArm: a[31mb'])
  })
})

describe('link, who is the autopilot', () => {
  it('finds it by its heartbeat, joins its system, and drops everybody else', () => {
    const { link: l, adapter, identities, reports } = link()
    l.receive(heartbeat(255, 190, 8), 0)
    l.receive(heartbeat(2, 154, 8), 0)
    l.receive(timed(1), 0)
    expect(identities).toEqual([])
    expect(reports).toEqual([])
    l.receive(heartbeat(), 10)
    expect(identities).toEqual(['2/1'])
    expect(adapter.system).toBe(2)
    l.receive(timed(1), 20)
    l.receive(frame(3, 1, 'LOCAL_POSITION_NED', { time_boot_ms: 9 }), 20)
    l.receive(frame(255, 190, 'SYS_STATUS', {}), 20)
    expect(reports.map((r) => r.message)).toEqual([0, 32])
    expect(l.foreign).toBe(5)
  })

  it('G5: another one never takes its place: told once, and an alarm where ours has been silent for 3 s', () => {
    const { link: l, identities, warnings, alarms, reports } = link()
    l.receive(heartbeat(2), 0)
    for (const now of [1000, 2000, 2999]) l.receive(heartbeat(3), now)
    expect(alarms).toEqual([])
    const what = '3/1 is a QUADROTOR (2) of PX4 (12)'
    expect(warnings).toEqual([
      `${what}, and is passed by: the vehicle is system 2; set mavlink.system to 3 if it should be this one`,
    ])
    for (const now of [3000, 4000, 60_000]) l.receive(heartbeat(3), now)
    expect(alarms).toEqual([`another autopilot speaks while the vehicle, 2/1, is silent: ${what}`])
    expect([identities, warnings.length, reports.length]).toEqual([['2/1'], 1, 1])
  })

  it('takes it back after any silence, also where another one has spoken', () => {
    const { link: l, identities, reports, alarms } = link()
    l.receive(heartbeat(2), 0)
    l.receive(heartbeat(3), 10_000)
    l.receive(heartbeat(2), 3_600_000)
    expect([identities, reports.length, alarms.length]).toEqual([['2/1'], 2, 1])
    // Silent again, it is missed again.
    l.receive(heartbeat(3), 3_604_000)
    expect(alarms.length).toBe(2)
  })

  const STRANGERS: readonly [what: string, frame: Uint8Array, advice: RegExp][] = [
    ['a gimbal', heartbeat(1, 154, 12, 26), /^1\/154 is a GIMBAL \(26\) of PX4 .*component 1/],
    [
      'an antenna tracker',
      heartbeat(4, 1, 12, 5),
      /^4\/1 is a ANTENNA_TRACKER \(5\) of PX4 .*px4-multirotor flies QUADROTOR/,
    ],
    ['a plane', heartbeat(1, 1, 12, 1), /^1\/1 is a FIXED_WING \(1\) of PX4 .*px4-multirotor flies QUADROTOR/],
    ['a rover', heartbeat(1, 1, 12, 10), /GROUND_ROVER/],
    ['system 0', heartbeat(0, 1), /^0\/1 .*system 0 is everybody/],
    ['a second component of the system', heartbeat(2, 2), /^2\/2 .*component 1/],
    ['an autopilot of another kind', heartbeat(1, 1, 3), /ARDUPILOTMEGA \(3\).*px4-multirotor, is of PX4 \(12\)/],
  ]

  it.each(STRANGERS)('G5: %s is passed by, before and after ours is found, and told once', (_what, bytes, advice) => {
    const { link: l, identities, warnings, alarms, said } = link()
    for (let now = 0; now < 5000; now += 500) l.receive(bytes, now)
    l.tick(5000)
    expect(l.recognises(bytes)).toBeUndefined()
    expect([identities, said]).toEqual([[], []])
    l.receive(heartbeat(), 5000)
    for (let now = 5500; now < 20_000; now += 500) l.receive(bytes, now)
    expect([identities, alarms]).toEqual([['2/1'], []])
    expect(warnings).toEqual([expect.stringMatching(advice)])
  })

  it('says nothing of who says that he is no autopilot', () => {
    const { link: l, warnings } = link()
    for (const component of [190, 100, 154]) l.receive(heartbeat(255, component, 8, 6), 0)
    l.receive(heartbeat(), 1)
    l.receive(heartbeat(255, 190, 8, 6), 5000)
    expect(warnings).toEqual([])
  })

  it('tells of at most 64 others, whatever comes', () => {
    const { link: l, warnings } = link()
    for (let system = 1; system < 256; system++) l.receive(heartbeat(system, 7), 0)
    expect(warnings.length).toBe(64)
  })

  it('is the one of the configuration, where that names one', () => {
    const { link: l, identities, warnings, alarms } = link(191, undefined, 7)
    l.receive(heartbeat(2), 0)
    l.receive(heartbeat(2), 9000)
    expect([identities, alarms]).toEqual([[], []])
    expect(warnings).toEqual([expect.stringContaining('set mavlink.system to 2')])
    expect([l.recognises(heartbeat(2)), l.recognises(heartbeat(7))]).toEqual([undefined, 'fresh'])
    l.receive(heartbeat(7), 9100)
    expect(identities).toEqual(['7/1'])
  })

  it('recognises a datagram by the heartbeat of an autopilot of the profile', () => {
    const { link: l } = link()
    expect(l.recognises(heartbeat())).toBe('fresh')
    expect(l.recognises(heartbeat(1, 1, 3))).toBeUndefined()
    expect(l.recognises(timed(1))).toBeUndefined()
    expect(l.recognises(Uint8Array.of(0xfd, 1, 2))).toBeUndefined()
  })

  it('recognises only the one that it has found, tells of others, and misses ours', () => {
    const { link: l, warnings, alarms } = link()
    l.receive(heartbeat(2), 0)
    l.tick(2000)
    expect([l.recognises(heartbeat(3)), l.recognises(heartbeat(2))]).toEqual([undefined, 'fresh'])
    expect([warnings.length, alarms.length]).toEqual([1, 0])
    l.tick(3000)
    l.recognises(heartbeat(3))
    expect(alarms.length).toBe(1)
  })

  it('G5: fuzzed, nobody but the autopilot touches the state, whatever he sends', () => {
    const ids = [...px4Multirotor.messages.map(({ id }) => id), layout('HEARTBEAT').id, layout('COMMAND_ACK').id]
    const byte = fc.integer({ min: 0, max: 255 })
    const stranger = fc.tuple(byte, byte).filter(([system, component]) => system !== 2 || component !== 1)
    const near = fc.constantFrom<[number, number][]>([2, 0], [2, 2], [2, 191], [1, 1], [3, 1], [0, 1], [0, 0])
    const payload = fc.uint8Array({ minLength: 255, maxLength: 255 })
    const { link: l, reports, acknowledgements, identities } = link()
    l.receive(heartbeat(), 0)
    reports.length = 0
    let strangers = 0
    fc.assert(
      fc.property(fc.oneof(stranger, near), fc.constantFrom(...ids), payload, ([system, component], id, bytes) => {
        l.receive(raw(system, component, id, bytes.slice(0, layoutOf(id)!.length)), 1000)
        expect(l.foreign).toBe(++strangers)
        expect([reports, acknowledgements, identities.length]).toEqual([[], [], 1])
      }),
      { numRuns: 2000, seed: 6 },
    )
    // The same from the autopilot itself is state.
    for (const { name } of px4Multirotor.messages) {
      l.receive(name === 'HEARTBEAT' ? heartbeat() : frame(2, 1, name, {}), 1001)
    }
    // One target says nothing.
    expect(new Set(reports.map((r) => r.message)).size).toBe(px4Multirotor.messages.length - 1)
  })
})

describe('link, alarms: G5: who is heard and obeyed must be certain', () => {
  it('tells of another component with our ids, once a second, from its second frame on', () => {
    const { link: l, alarms } = link()
    l.receive(heartbeat(), 0)
    const text = 'another program sends as 2/191 on this link: choose another mavlink.component'
    l.receive(heartbeat(2, 191, 8), 4000)
    expect(alarms).toEqual([])
    for (const now of [4100, 4200, 5200]) l.receive(heartbeat(2, 191, 8), now)
    l.receive(heartbeat(2, 192, 8), 6000)
    l.receive(heartbeat(3, 191, 8), 7000)
    expect(alarms).toEqual([text, text])
  })

  it('does not take our own frames for somebody else’s: a router may send them back, more than once', () => {
    const { link: l, adapter, alarms, said } = link()
    const sent: Uint8Array[] = []
    l.receive(heartbeat(), 0)
    for (let now = 0; now < 60_000; now += 100) {
      adapter.say({ message: 'SET_MESSAGE_INTERVAL', id: 33, interval_us: now }, now)
      const { id, interval_us } = said.at(-1)!
      const sequence = Math.floor(now / 100) & 0xff
      const values = { command: 511, target_system: 2, target_component: 1 }
      const payload = framed('COMMAND_LONG', values)
      const view = new DataView(payload.buffer)
      view.setFloat32(0, id, true)
      view.setFloat32(4, interval_us, true)
      sent.push(raw(2, 191, 76, payload, sequence))
      // 80 ms later, and 3 s later once more.
      l.receive(sent.at(-1)!, now + 80)
      if (sent.length > 30) l.receive(sent.at(-31)!, now + 90)
    }
    expect(alarms).toEqual([])
    // One that we have not sent is somebody else's.
    for (const now of [61_000, 62_000]) l.receive(heartbeat(2, 191, 8), now)
    expect(alarms.length).toBe(1)
  })

  it('does not take for somebody else what a process of before has sent, and does not take another system’s for ours', () => {
    const { link: l, alarms } = link()
    l.receive(heartbeat(), 0)
    for (let now = 10; now < 3000; now += 100) l.receive(heartbeat(2, 191, 8), now)
    for (let now = 4000; now < 9000; now += 100) l.receive(heartbeat(1, 191, 8), now)
    expect(alarms).toEqual([])
  })

  /** Two autopilots that were switched on at these times, ms, each with a frame every 20 ms, for so long. */
  function both(first_ms: number, second_ms: number, until_ms: number, l: ReturnType<typeof link>): void {
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < until_ms; now += 20) {
      l.link.receive(timed(now + first_ms), now)
      l.link.receive(timed(now + second_ms), now + 7)
    }
  }

  it('tells two clocks that alternate from a reboot, and takes the state of neither', () => {
    const l = link()
    both(50_000, 20_000, 2500, l)
    expect(l.alarms).toEqual(Array(3).fill('a second autopilot sends as 2/1: two clocks alternate'))
    expect(l.reboots).toEqual([])
    // Our heartbeat, and its first five.
    expect(l.reports.length).toBeLessThan(8)
    // The second one is gone: 3 s later the first counts again.
    const { length } = l.reports
    for (let now = 2500; now < 6000; now += 20) l.link.receive(timed(now + 50_000), now)
    expect(l.reports.length).toBeGreaterThan(length)
    expect(l.reboots).toEqual([])
  })

  it('sees a second one with an older clock as well', () => {
    const older = link()
    both(20_000, 50_000, 500, older)
    expect(older.alarms).toEqual(['a second autopilot sends as 2/1: two clocks alternate'])
  })

  const place = (time_boot_ms: number, lat: number, vx = 0): Uint8Array =>
    frame(2, 1, 'GLOBAL_POSITION_INT', { time_boot_ms, lat, lon: 85_000_000, vx })

  it('sees a second one whose clock is as good as ours by its place', () => {
    for (const older_ms of [10, 300, 2500]) {
      const l = link()
      l.link.receive(heartbeat(), 0)
      for (let now = 5000; now < 9000; now += 50) {
        l.link.receive(place(now, 474_000_000), now)
        l.link.receive(place(now - older_ms, 474_001_000), now + 7)
      }
      expect(l.alarms[0], `${older_ms}`).toBe('a second autopilot sends as 2/1: at one time it is in two places')
    }
  })

  it('keeps quiet where one that flies at 15 m/s comes by a slow way as well, and where its place jumps', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    // 1 m is 90e-7 deg.
    const at = (ms: number): number => 474_000_000 + Math.round(90 * 0.015 * ms) + (ms > 20_000 ? 4000 : 0)
    for (let now = 5000; now < 40_000; now += 50) {
      l.link.receive(place(now, at(now), 1500), now)
      l.link.receive(place(now - 1517, at(now - 1517), 1500), now + 7)
    }
    expect(l.alarms).toEqual([])
    expect(l.link.late).toBe(700)
  })

  it('sees a reboot once three frames of it have come over 300 ms, and keeps quiet at two, and at the wrap of the clock', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    const fly = (from_ms: number, to_ms: number, boot_ms: number): void => {
      for (let now = from_ms; now < to_ms; now += 20) l.link.receive(timed((boot_ms + now - from_ms) % 2 ** 32), now)
    }
    fly(0, 10_000, 60_000)
    fly(15_000, 20_000, 400)
    expect(l.reboots).toEqual([[700, 15_300]])
    fly(25_000, 30_000, 400)
    expect(l.reboots.slice(1)).toEqual([[700, 25_300]])
    fly(30_020, 31_000, 5_400)
    const wrap = link()
    wrap.link.receive(heartbeat(), 0)
    for (let now = 0; now < 10_000; now += 20) wrap.link.receive(timed((2 ** 32 - 5000 + now) % 2 ** 32), now)
    expect([l.alarms, wrap.alarms, wrap.reboots]).toEqual([[], [], []])
    expect(wrap.reports.length).toBe(501)
  })

  it('takes no late frame, no copies of what was heard, and no gap for a reboot', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 2000; now < 30_000; now += 20) {
      if (now < 10_000 || now > 15_000) l.link.receive(timed(now), now)
      if (now % 60 === 0) l.link.receive(timed(now - 3000), now + 5)
    }
    expect([l.reboots, l.alarms]).toEqual([[], []])
  })

  it('sees it where frames of the boot before still come, each a second time 3 s later', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    const boot = (now: number): number => (now < 20_000 ? now + 40_000 : now - 21_500)
    for (let now = 3000; now < 40_000; now += 20) {
      if (now < 20_000 || now >= 21_600) l.link.receive(timed(boot(now)), now)
      const then = now - 3000
      if (then >= 3000 && (then < 20_000 || then >= 21_600)) l.link.receive(timed(boot(then)), now + 7)
    }
    expect(l.reboots.length).toBe(1)
    expect(l.reboots[0]![1]).toBeLessThan(22_200)
    expect(l.alarms).toEqual([])
  })

  it('drops the copy of the very frame that a reboot is believed with', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < 5000; now += 20) l.link.receive(timed(60_000 + now), now)
    for (let now = 10_000; l.reboots.length === 0; now += 20) {
      const frame = timed(now - 9600)
      l.link.receive(frame, now)
      if (l.reboots.length === 0) continue
      const { length } = l.reports
      l.link.receive(frame, now + 80)
      expect([l.link.repeated, l.reports.length]).toEqual([1, length])
    }
  })

  it('drops what the boot before has sent, and comes once the new one is known', () => {
    const l = link()
    const fix = (usec: bigint): Uint8Array => {
      const payload = framed('GPS_RAW_INT', { fix_type: 3 })
      new DataView(payload.buffer).setBigUint64(layout('GPS_RAW_INT').usec!, usec, true)
      return raw(2, 1, layout('GPS_RAW_INT').id, payload)
    }
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < 5000; now += 20) l.link.receive(timed(60_000 + now), now)
    l.link.receive(fix(64_990_000n), 4990)
    let now = 7000
    for (; l.reboots.length === 0; now += 20) l.link.receive(timed(now - 6700), now)
    const late = [timed(63_000), timed(1500), timed(62_000, 'GLOBAL_POSITION_INT'), fix(63_000_000n)]
    const { length } = l.reports
    // The second of them is far ahead of this boot, and no further than the boot before has come.
    for (const frame of late) l.link.receive(frame, now)
    expect([l.reports.length, l.reboots.length, l.alarms]).toEqual([length, 1, []])
    l.link.receive(fix(700_000n), now)
    expect(l.reports.length).toBe(length + 1)
  })

  it('drops a copy that comes when its sequence number is the next one again, where its message has a time', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    const payload = framed('GPS_RAW_INT', { fix_type: 3 })
    new DataView(payload.buffer).setBigUint64(layout('GPS_RAW_INT').usec!, 77_000_000n, true)
    const fix = raw(2, 1, layout('GPS_RAW_INT').id, payload)
    l.link.receive(fix, 0)
    for (let i = 1; i < 256; i++) l.link.receive(timed(10 * i), 10 * i)
    const { length } = l.reports
    l.link.receive(fix, 2560)
    expect([l.link.repeated, l.reports.length]).toEqual([1, length])
    // What says the same with a number of its own is news: nobody has moved the home of a vehicle that says it again.
    next++
    l.link.receive(raw(2, 1, layout('GPS_RAW_INT').id, payload), 2570)
    expect(l.reports.length).toBe(length + 1)
  })

  it('drops the copy of what waited in a stall, however long that took', () => {
    const l = link()
    const beat = heartbeat()
    const other = heartbeat()
    l.link.receive(beat, 0)
    for (let now = 0; now < 200; now += 20) l.link.receive(timed(now), 0)
    l.link.receive(other, 0)
    // It was stopped for 7 s.
    for (let now = 7000; now < 7200; now += 20) l.link.receive(timed(now), now)
    const { length } = l.reports
    l.link.receive(other, 7200)
    expect([l.link.repeated, l.reports.length]).toEqual([1, length])
  })

  it('drops a copy also where an older frame with its sequence number came between', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    const fix = (usec: bigint, sequence: number): Uint8Array => {
      const payload = framed('GPS_RAW_INT', { fix_type: 3 })
      new DataView(payload.buffer).setBigUint64(layout('GPS_RAW_INT').usec!, usec, true)
      return raw(2, 1, layout('GPS_RAW_INT').id, payload, sequence)
    }
    l.link.receive(fix(4_520_000n, 141), 0)
    l.link.receive(fix(1_880_000n, 141), 40)
    const { length } = l.reports
    l.link.receive(fix(4_520_000n, 141), 110)
    expect([l.link.late, l.link.repeated, l.reports.length]).toEqual([1, 1, length])
  })

  it('keeps quiet when the loop was stalled, whatever was lost and however late copies are', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 5000; now < 60_000; now += 20) {
      const [from, to] = [20_000, 25_000]
      // What waited is dated when the stall began.
      const received = now >= from && now < to ? from : now
      if (now < 21_000 || now > 23_000) l.link.receive(timed(now), received)
      l.link.receive(timed(now - 3000), received)
    }
    expect([l.reboots, l.alarms]).toEqual([[], []])
    expect(l.reports.length).toBeGreaterThan(2600)
  })

  it.each([
    ['20 ms later', 0],
    ['a second later', 1000],
  ])(
    'a silence of 250 ms and then 0.5 s of frames that are 8 s old end nothing where ours comes again %s',
    (_, gap_ms) => {
      const l = link()
      l.link.receive(heartbeat(), 0)
      for (let now = 0; now < 10_000; now += 20) l.link.receive(timed(now + 90_000), now)
      for (let now = 10_250; now < 10_750; now += 20) l.link.receive(timed(now + 82_000), now)
      const { length } = l.reports
      for (let now = 10_750 + gap_ms; now < 20_000; now += 20) l.link.receive(timed(now + 90_000), now)
      expect([l.alarms, l.reboots]).toEqual([[], []])
      expect(l.reports.length).toBe(length + (9250 - gap_ms + 10) / 20)
    },
  )

  it('G5: one whose clock is 8 s ahead does not become ours by speaking on in the silence of ours', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < 10_000; now += 20) l.link.receive(timed(now + 90_000), now)
    const { length } = l.reports
    for (let now = 10_250; now < 13_540; now += 20) {
      l.link.receive(timed(now + 98_000), now)
      l.link.receive(heartbeat(), now)
    }
    expect(l.reboots).toEqual([])
    for (let now = 13_540; now < 14_000; now += 20) l.link.receive(timed(now + 98_000), now)
    expect(l.alarms).toEqual(['a second autopilot sends as 2/1: its clock has leapt, and it has not rebooted'])
    expect(l.reboots.length).toBe(1)
    expect(l.reports.length).toBeGreaterThan(length)
  })

  it('G5: a reboot while another one is waited for is told', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < 10_000; now += 20) l.link.receive(timed(now + 90_000), now)
    for (let now = 10_250; now < 10_750; now += 20) l.link.receive(timed(now + 82_000), now)
    for (let now = 12_000; now < 12_400; now += 20) l.link.receive(timed(now - 11_000), now)
    expect(l.reboots.length).toBe(1)
    expect(l.alarms).toEqual([])
  })

  it('G5: a clock that has leapt in a silence, and was not switched on in it, is an alarm once it has gone on for 3 s, and a new boot', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 0; now < 10_000; now += 20) l.link.receive(timed(now + 90_000), now)
    const { length } = l.reports
    for (let now = 12_000; now < 15_300; now += 20) l.link.receive(timed(now + 18_000), now)
    expect([l.reports.length, l.alarms, l.reboots]).toEqual([length, [], []])
    for (let now = 15_300; now < 16_000; now += 20) l.link.receive(timed(now + 18_000), now)
    expect(l.alarms).toEqual(['a second autopilot sends as 2/1: its clock has leapt, and it has not rebooted'])
    expect(l.reboots).toEqual([[33_300, 15_300]])
    expect(l.reports.length).toBeGreaterThan(length)
  })

  it('keeps quiet about the disorder between message types that PX4 has, and a frame out of order now and then', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (let now = 1000; now < 20_000; now += 20) {
      l.link.receive(timed(now), now)
      l.link.receive(timed(now - 206, 'GLOBAL_POSITION_INT'), now)
      if (now % 100 === 0) l.link.receive(timed(now - 20), now)
      // Two range finders by turns.
      l.link.receive(timed(now - 5, 'DISTANCE_SENSOR'), now)
      l.link.receive(timed(now - 90, 'DISTANCE_SENSOR'), now)
    }
    expect(l.alarms).toEqual([])
  })

  const state = (base_mode: number, type = 2, sequence = 0) =>
    raw(2, 1, 0, framed('HEARTBEAT', { type, autopilot: 12, base_mode, mavlink_version: 3 }), sequence)

  it('sees two heartbeats that take turns: of two kinds, or for 4 s of two states', () => {
    const kinds = link()
    for (let now = 0; now < 2000; now += 1000) {
      kinds.link.receive(heartbeat(), now)
      kinds.link.receive(heartbeat(2, 1, 12, 13), now + 300)
    }
    expect(kinds.alarms).toEqual([
      'a second autopilot sends as 2/1: heartbeats of HEXAROTOR (13) of PX4 (12) and of QUADROTOR (2) of PX4 (12)',
    ])

    const states = link()
    for (let now = 0; now < 6000; now += 1000) {
      states.link.receive(state(0x81), now)
      states.link.receive(state(0x01), now + 300)
      if (now < 3000) expect(states.alarms).toEqual([])
    }
    expect(states.alarms[0]).toBe('a second autopilot sends as 2/1: two heartbeats alternate')
  })

  it('keeps quiet about one that changes, however often, about a late way beside, and about one heartbeat of another kind', () => {
    const pilot = link()
    // Armed and disarmed again and again, as fast as one heartbeat a second shows it.
    for (let now = 0; now < 10_000; now += 1000) pilot.link.receive(state(now % 2000 === 0 ? 0x81 : 0x01), now)
    // Another airframe after a silence, and a plane that nobody flies.
    pilot.link.receive(heartbeat(2, 1, 12, 13), 12_000)
    const { length } = pilot.reports
    pilot.link.receive(heartbeat(2, 1, 12, 1), 13_000)
    expect([pilot.alarms, pilot.reports.length]).toEqual([[], length])

    const slow = link()
    const at = (ms: number): number => (ms < 20_000 ? 0x01 : 0x81)
    for (let now = 5000; now < 40_000; now += 1000) {
      slow.link.receive(state(at(now), 2, now / 1000), now)
      slow.link.receive(state(at(now - 2600), 2, now / 1000 + 100), now + 400)
    }
    expect(slow.alarms).toEqual([])
  })

  it('is not alarmed by the commands that PX4 sends of its own', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    for (const command of [2003, 1000, 1001])
      l.link.receive(frame(2, 1, 'COMMAND_LONG', { command, target_system: 2 }), 10)
    expect(l.alarms).toEqual([])
  })
})

describe('link, what is no news', () => {
  it('G5: drops what is older than the newest of its message, modulo 2^32, and counts it', () => {
    const { link: l, reports } = link()
    l.receive(heartbeat(), 0)
    for (const boot of [2 ** 32 - 100, 2 ** 32 - 10, 30, 2 ** 32 - 20, 29, 80]) l.receive(timed(boot), 10)
    expect(reports.length).toBe(1 + 4)
    expect(l.late).toBe(2)
    // Of another message it may be older.
    l.receive(timed(20, 'GLOBAL_POSITION_INT'), 10)
    expect(l.late).toBe(2)
  })

  it('drops a repetition, of a message with a time and of one without', () => {
    const { link: l, reports, acknowledgements } = link()
    const sequence = (n: number, name: string, values = {}): Uint8Array =>
      raw(2, 1, layout(name).id, framed(name, values), n)
    l.receive(heartbeat(), 0)
    const mode = sequence(10, 'CURRENT_MODE', { custom_mode: 1 << 16, intended_custom_mode: 1 << 16 })
    const answer = sequence(11, 'COMMAND_ACK', { command: 176, target_system: 2, target_component: 191 })
    for (const now of [100, 180, 3000]) {
      l.receive(mode, now)
      l.receive(answer, now)
      l.receive(sequence(60, 'LOCAL_POSITION_NED', { time_boot_ms: 95_000 }), now)
    }
    expect([reports.length, acknowledgements.length, l.repeated]).toEqual([3, 1, 6])
    // Sequence numbers start over: with the next number, and after a while with any, it is another one.
    l.receive(sequence(9, 'LOCAL_POSITION_NED', { time_boot_ms: 95_100 }), 3100)
    l.receive(mode, 3110)
    l.receive(sequence(99, 'LOCAL_POSITION_NED', { time_boot_ms: 95_200 }), 6900)
    l.receive(answer, 6910)
    expect([reports.length, acknowledgements.length]).toEqual([6, 2])
  })

  it('goes by the µs that some messages carry, but follows where they start over', () => {
    const { link: l, reports } = link()
    const estimate = (usec: number): Uint8Array => {
      const payload = framed('ESTIMATOR_STATUS', {})
      new DataView(payload.buffer).setBigUint64(layout('ESTIMATOR_STATUS').usec!, BigInt(usec), true)
      return raw(2, 1, layout('ESTIMATOR_STATUS').id, payload)
    }
    l.receive(heartbeat(), 0)
    for (const usec of [9e6, 9.1e6, 8.9e6, 6.2e6, 1e6, 1.1e6]) l.receive(estimate(usec), 10)
    expect([reports.length, l.late]).toEqual([5, 2])
  })
})

describe('link, acknowledgements', () => {
  it('passes on those for us, and keeps its own', () => {
    const { link: l, acknowledgements } = link()
    l.receive(heartbeat(), 0)
    l.receive(ack(176, 0, 2, 191), 1)
    l.receive(ack(511, 0, 2, 191), 5)
    expect(acknowledgements).toEqual([{ command: 176, result: 0 }])
  })

  it('G3: takes none that does not say whom it answers: of MAVLink 1, to 0/0, or cut; and says so, once', () => {
    const { link: l, acknowledgements, silences } = link()
    l.receive(heartbeat(), 0)
    l.receive(ack(400, 0, 0, 0), 1)
    l.receive(ack(400, 0, 2, 0), 1)
    l.receive(ack(400, 0, 0, 191), 1)
    // As the recordings of ArduPilot in MAVLink 1 have it: three bytes.
    const version1 = Uint8Array.of(0xfe, 3, 0, 2, 1, 77, 400 & 0xff, 400 >> 8, 0, 0, 0)
    const crc = checksum(version1, 1, 9, layout('COMMAND_ACK').crcExtra)
    version1.set([crc & 0xff, crc >> 8], 9)
    expect(l.receive(version1, 2)).toBe(true)
    l.receive(cut(ack(400, 0, 2, 191), 3), 3)
    expect(acknowledgements).toEqual([])
    expect(silences).toEqual([expect.stringMatching(/without saying whose \(COMMAND_ACK to 0\/0\).*MAVLink 2/)])
  })

  it('G3: takes one by its source and its target: every combination', () => {
    const { link: l, acknowledgements } = link()
    l.receive(heartbeat(), 0)
    let command = 1000
    const expected: number[] = []
    for (const system of [1, 2, 3, 255]) {
      for (const component of [0, 1, 191, 190]) {
        for (const target_system of [0, 1, 2, 255]) {
          for (const target_component of [0, 1, 190, 191]) {
            command++
            l.receive(frame(system, component, 'COMMAND_ACK', { command, target_system, target_component }), 1)
            const fromAutopilot = system === 2 && component === 1
            const toUs = target_system === 2 && target_component === 191
            if (fromAutopilot && toUs) expected.push(command)
          }
        }
      }
    }
    expect(expected.length).toBe(1)
    expect(acknowledgements.map((a) => a.command)).toEqual(expected)
  })
})

describe('link, G5: what a sender has left out means nothing', () => {
  it('takes no heartbeat that breaks off, which would be that of a disarmed vehicle', () => {
    const { link: l, identities, reports } = link()
    const armed = frame(2, 1, 'HEARTBEAT', { autopilot: 12, base_mode: 0x81, system_status: 4, mavlink_version: 3 })
    for (let length = 1; length < 9; length++) {
      expect(l.recognises(cut(armed, length))).toBeUndefined()
      l.receive(cut(armed, length), 0)
    }
    expect(identities).toEqual([])
    l.receive(armed, 1)
    reports.length = 0
    for (let length = 1; length < 9; length++) l.receive(cut(armed, length), 2)
    expect(reports).toEqual([])
  })
})

describe('link, what is dropped', () => {
  it('tells of it soon, and not more than every 10 s', () => {
    const { link: l, warnings } = link()
    const bad = heartbeat()
    bad[12]! ^= 1
    l.receive(bad, 0)
    l.tick(0)
    const texts = [
      '1 frames with a wrong checksum dropped: a wrong baud rate, or a lossy link',
      `${bad.length} bytes outside of frames dropped: a wrong baud rate, or another program on the same port`,
    ]
    expect(warnings).toEqual(texts)
    for (let now = 0; now < 10_000; now += 10) {
      if (now % 1000 === 0) l.receive(bad, now)
      l.tick(now)
    }
    expect(warnings.length).toBe(2)
    l.tick(10_000)
    expect(warnings[2]).toBe('10 frames with a wrong checksum dropped: a wrong baud rate, or a lossy link')
    l.tick(20_000)
    expect(warnings.length).toBe(4)
  })
})

describe('link, message intervals', () => {
  it('asks for all, one at a time, when each is answered', () => {
    const { link: l, said } = link()
    l.tick(0)
    expect(said).toEqual([])
    l.receive(heartbeat(), 0)
    l.tick(1)
    for (let i = 0; i < 20; i++) {
      expect(said.length).toBe(Math.min(i + 1, requestable.length))
      l.receive(ack(511, i % 3 === 0 ? 4 : 0, 2, 191), 2)
    }
    expect(said).toEqual(requestable.map(({ id, interval_us }) => ({ id, interval_us })))
  })

  it('asks again after 300 ms without an answer, three times, then goes on', () => {
    const { link: l, said } = link()
    l.receive(heartbeat(), 0)
    for (let now = 0; now <= 900; now += 10) l.tick(now)
    expect(said.map(({ id }) => id)).toEqual([436, 436, 436, 245])
  })

  it('asks for what is missing, not more than every 2 s', () => {
    const { link: l, said } = link()
    l.receive(heartbeat(), 0)
    l.tick(0)
    for (const _ of requestable) l.receive(ack(511, 0, 2, 191), 0)
    said.length = 0
    const asked: number[] = []
    for (let now = 10; now <= 9000; now += 10) {
      // Everything comes but LOCAL_POSITION_NED, which stops at 3 s.
      for (const { name, id } of requestable) {
        const timed = layout(name).fields.time_boot_ms === undefined ? {} : { time_boot_ms: now }
        if (id !== 32 || now < 3000) l.receive(frame(2, 1, name, timed), now)
      }
      l.tick(now)
      while (said.length > 0) {
        expect(said.shift()!.id).toBe(32)
        asked.push(now)
        l.receive(ack(511, 0, 2, 191), now)
      }
    }
    expect(asked).toEqual([3250, 5250, 7250])
  })

  it('asks for all again after a reboot, and forgets what the old boot said', () => {
    const { link: l, said } = link()
    l.receive(heartbeat(), 0)
    l.tick(0)
    for (const _ of requestable) l.receive(ack(511, 0, 2, 191), 0)
    l.receive(timed(50_000), 10)
    l.receive(timed(49_100), 11)
    l.receive(timed(30_000, 'GLOBAL_POSITION_INT'), 12)
    l.tick(13)
    expect(said.length).toBe(requestable.length)
    // It was off for 4 s.
    for (let now = 4100; now <= 4400; now += 100) l.receive(timed(now - 4000), now)
    l.tick(4400)
    for (const _ of requestable) l.receive(ack(511, 0, 2, 191), 4400)
    expect(said.length).toBe(2 * requestable.length)
  })

  it('does not take the wrap of a 49-day clock for a reboot', () => {
    const { link: l, said } = link()
    l.receive(heartbeat(), 0)
    l.receive(timed(2 ** 32 - 10), 0)
    l.tick(0)
    for (const _ of requestable) l.receive(ack(511, 0, 2, 191), 0)
    l.receive(timed(40), 50)
    l.tick(50)
    expect(said.length).toBe(requestable.length)
  })

  it('asks later where the wire does not take it now', () => {
    const said: number[] = []
    let open = false
    const l = new Link({
      profile: px4Multirotor,
      stream: false,
      adapter: {
        system: 2,
        component: 191,
        address: () => {},
        hasSent: () => false,
        say: (message) => {
          if (open && message.message === 'SET_MESSAGE_INTERVAL') said.push(message.id)
          return open
        },
      },
      listener: {
        identity: () => {},
        rebooted: () => {},
        report: () => {},
        acknowledge: () => {},
        alarm: () => {},
        warn: () => {},
        silent: () => {},
      },
    })
    l.receive(heartbeat(), 0)
    l.tick(0)
    open = true
    l.tick(10)
    expect(said).toEqual([436])
  })
})

describe('link, recordings of PX4', () => {
  for (const name of ['px4-nominal', 'px4-gps-loss', 'px4-takeover', 'px4-reboot']) {
    it(`reads ${name} as a companion that has other ids than the recorded one`, () => {
      const { link: l, identities, reboots, reports, alarms, said } = link(200)
      let start_us = 0
      let fromAutopilot = 0
      for (const { time_us, bytes } of readTlog(fixture(name))) {
        start_us ||= time_us
        const now = (time_us - start_us) / 1e3
        const { system, component } = header(bytes)
        l.receive(bytes, now)
        l.tick(now)
        if (identities.length > 0 && system === 2 && component === 1) fromAutopilot++
      }
      expect(identities).toEqual(['2/1'])
      expect(alarms).toEqual([])
      expect(l.framer.junkBytes).toBe(0)
      expect(reports.length).toBeGreaterThan(700)
      expect(reports.length).toBeLessThan(fromAutopilot)
      // Nobody answers, so it asks and asks; after the reboot from the beginning.
      expect(said[0]).toEqual({ id: 436, interval_us: 20_000 })
      expect(reboots.length).toBe(name === 'px4-reboot' ? 1 : 0)
      // Seen promptly: with the first second of its clock.
      for (const [up_ms] of reboots) expect(up_ms).toBeLessThan(1000)
      expect(l.late).toBeLessThan(reboots.length * 100 + 1)
    })
  }

  it('alarms of the recorded companion where it has its ids', () => {
    const { link: l, alarms } = link(191)
    let start_us = 0
    for (const { time_us, bytes } of readTlog(fixture('px4-takeover'))) {
      start_us ||= time_us
      l.receive(bytes, (time_us - start_us) / 1e3)
    }
    expect(alarms.length).toBeGreaterThan(4)
    expect(alarms.length).toBeLessThan(9)
  })
})
