import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import type { Signing } from '../../../companion/mavlink/signing.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { fieldOf, layout, layoutOf } from '../../../src/profile/frame.ts'
import { px4Multirotor } from '../../../src/profile/px4-multirotor.ts'
import type { Acknowledgement, Report } from '../../../src/protocol/port.ts'
import { fixture, header } from './recording.ts'

const requestable = px4Multirotor.messages.filter((source) => source.interval_us !== undefined)

/** A frame of somebody on the link, made through an adapter of his own. */
function raw(system: number, component: number, message: number, payload: Uint8Array): Uint8Array {
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
  return made
}

function frame(system: number, component: number, name: string, values: Record<string, number>): Uint8Array {
  const payload = new Uint8Array(layout(name).length)
  const view = new DataView(payload.buffer)
  for (const [field, value] of Object.entries(values)) {
    const { offset, format } = fieldOf(name, field)
    if (format === 'u8') view.setUint8(offset, value)
    else if (format === 'u16') view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
  }
  return raw(system, component, layout(name).id, payload)
}

const heartbeat = (system = 2, component = 1, autopilot = 12): Uint8Array =>
  frame(system, component, 'HEARTBEAT', { autopilot, system_status: 4, mavlink_version: 3 })
const ack = (command: number, result: number, target_system: number, target_component: number): Uint8Array =>
  frame(2, 1, 'COMMAND_ACK', { command, result, target_system, target_component })
const timed = (time_boot_ms: number, name = 'LOCAL_POSITION_NED'): Uint8Array => frame(2, 1, name, { time_boot_ms })

function link(component = 191, signing?: Signing) {
  const said: { id: number; interval_us: number }[] = []
  const identities: string[] = []
  const reports: Report[] = []
  const acknowledgements: Acknowledgement[] = []
  const alarms: string[] = []
  const warnings: string[] = []
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
    ...(signing && { signing }),
    listener: {
      identity: (system, component) => identities.push(`${system}/${component}`),
      report: (report) => reports.push(report),
      acknowledge: (acknowledgement) => acknowledgements.push(acknowledgement),
      alarm: (text) => alarms.push(text),
      warn: (text) => warnings.push(text),
    },
  })
  return { link: made, adapter, said, identities, reports, acknowledgements, alarms, warnings }
}

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

  it('G5: a second autopilot takes its place only after 3 s of silence', () => {
    const { link: l, identities } = link()
    l.receive(heartbeat(2), 0)
    l.receive(heartbeat(3), 2999)
    expect(identities).toEqual(['2/1'])
    l.receive(heartbeat(3), 3000)
    expect(identities).toEqual(['2/1', '3/1'])
  })

  it('recognises a datagram by the heartbeat of an autopilot of the profile', () => {
    const { link: l } = link()
    expect(l.recognises(heartbeat())).toBe(true)
    expect(l.recognises(heartbeat(1, 1, 3))).toBe(false)
    expect(l.recognises(timed(1))).toBe(false)
    expect(l.recognises(Uint8Array.of(0xfd, 1, 2))).toBe(false)
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
    expect(new Set(reports.map((r) => r.message)).size).toBe(px4Multirotor.messages.length)
  })
})

describe('link, alarms: G5: who is heard and obeyed must be certain', () => {
  it('tells of another component with our ids, once a second', () => {
    const { link: l, alarms } = link()
    l.receive(heartbeat(), 0)
    for (const now of [100, 200, 1100]) l.receive(heartbeat(2, 191, 8), now)
    l.receive(heartbeat(2, 192, 8), 5000)
    l.receive(heartbeat(3, 191, 8), 7000)
    const text = 'another program sends as 2/191 on this link: choose another mavlink.component'
    expect(alarms).toEqual([text, text])
  })

  it('tells of one that was heard before the autopilot', () => {
    const { link: l, alarms } = link()
    l.receive(heartbeat(3, 191, 8), 0)
    // Our ids are a guess yet: 1/191.
    l.receive(heartbeat(1, 191, 8), 10)
    expect(alarms).toEqual([])
    l.receive(heartbeat(3), 20)
    expect(alarms).toEqual([expect.stringContaining('another program sends as 3/191')])
  })

  it('does not take one of another system for one of ours', () => {
    const { link: l, alarms } = link()
    l.receive(heartbeat(1, 191, 8), 10)
    l.receive(heartbeat(2), 20)
    l.receive(heartbeat(1, 191, 8), 30)
    expect(alarms).toEqual([])
  })

  it('tells of an autopilot that has our own ids', () => {
    const { link: l, alarms } = link(1)
    l.receive(heartbeat(), 0)
    expect(alarms).toEqual([expect.stringContaining('another program sends as 2/1')])
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
    // The first three look like one autopilot that reboots.
    expect(l.reports.length).toBeLessThan(5)
    // The second one is gone: 3 s later the first counts again.
    const { length } = l.reports
    for (let now = 2500; now < 6000; now += 20) l.link.receive(timed(now + 50_000), now)
    expect(l.reports.length).toBeGreaterThan(length)
    expect(l.reports.slice(length).every(({ boot_ms }) => boot_ms! >= 55_480)).toBe(true)
  })

  it('sees a second one with an older clock, and one that is less than a second apart', () => {
    const older = link()
    both(20_000, 50_000, 500, older)
    expect(older.alarms.length).toBe(1)
    const close = link()
    both(50_000, 49_700, 500, close)
    expect(close.alarms).toEqual([expect.stringContaining('two clocks less than a second apart')])
  })

  it('keeps quiet at a reboot, at two, at the wrap of the clock and when the link was stalled', () => {
    const l = link()
    l.link.receive(heartbeat(), 0)
    const fly = (from_ms: number, to_ms: number, boot_ms: number): void => {
      for (let now = from_ms; now < to_ms; now += 20) l.link.receive(timed((boot_ms + now - from_ms) % 2 ** 32), now)
    }
    fly(0, 10_000, 60_000)
    fly(15_000, 20_000, 400)
    fly(25_000, 30_000, 400)
    fly(30_020, 40_000, 2 ** 32 - 5000)
    // Held up for 4 s, then all at once, but for what was lost.
    for (let now = 40_020; now < 44_000; now += 20)
      if (now < 41_000 || now > 43_000) l.link.receive(timed(now - 35_020), 44_000)
    fly(44_000, 50_000, 8980)
    expect(l.alarms).toEqual([])
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

  it('sees two heartbeats: of two kinds at once, of two states when they alternate', () => {
    const kinds = link()
    kinds.link.receive(heartbeat(), 0)
    kinds.link.receive(heartbeat(2, 1, 3), 400)
    expect(kinds.alarms).toEqual([
      'a second autopilot sends as 2/1: heartbeats of type 0 autopilot 12 and of type 0 autopilot 3',
    ])
    expect(kinds.reports.length).toBe(1)

    const states = link()
    const state = (base_mode: number) => frame(2, 1, 'HEARTBEAT', { autopilot: 12, base_mode, mavlink_version: 3 })
    for (let now = 0; now < 3000; now += 1000) {
      states.link.receive(state(0x81), now)
      states.link.receive(state(0x01), now + 300)
    }
    expect(states.alarms[0]).toBe('a second autopilot sends as 2/1: two heartbeats alternate')

    const pilot = link()
    // Armed and disarmed again and again, as fast as one heartbeat a second shows it; then another airframe after a silence.
    for (let now = 0; now < 10_000; now += 1000) pilot.link.receive(state(now % 2000 === 0 ? 0x81 : 0x01), now)
    pilot.link.receive(frame(2, 1, 'HEARTBEAT', { autopilot: 12, type: 13, mavlink_version: 3 }), 12_000)
    expect(pilot.alarms).toEqual([])
  })
})

describe('link, acknowledgements', () => {
  it('passes on those for us or for all, and keeps its own', () => {
    const { link: l, acknowledgements } = link()
    l.receive(heartbeat(), 0)
    l.receive(ack(176, 0, 2, 191), 1)
    l.receive(ack(400, 1, 0, 0), 2)
    l.receive(ack(511, 0, 2, 191), 5)
    expect(acknowledgements).toEqual([
      { command: 176, result: 0 },
      { command: 400, result: 1 },
    ])
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
            const toUs = [0, 2].includes(target_system) && [0, 191].includes(target_component)
            if (fromAutopilot && toUs) expected.push(command)
          }
        }
      }
    }
    expect(expected.length).toBe(4)
    expect(acknowledgements.map((a) => a.command)).toEqual(expected)
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

  it('tells of an autopilot of another kind than the vehicle of the catalog', () => {
    const { link: l, warnings } = link()
    l.receive(heartbeat(255, 190, 8), 0)
    l.tick(0)
    expect(warnings).toEqual([])
    l.receive(heartbeat(1, 1, 3), 0)
    l.tick(1000)
    expect(warnings).toEqual([
      "1/1 is an autopilot of kind 3 (MAV_AUTOPILOT); the catalog's vehicle, px4-multirotor, is of kind 12",
    ])
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
        if (id !== 32 || now < 3000) l.receive(frame(2, 1, name, {}), now)
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
    l.receive(timed(1000), 20)
    l.tick(20)
    for (const _ of requestable) l.receive(ack(511, 0, 2, 191), 20)
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
        say: (message) => {
          if (open && message.message === 'SET_MESSAGE_INTERVAL') said.push(message.id)
          return open
        },
      },
      listener: { identity: () => {}, report: () => {}, acknowledge: () => {}, alarm: () => {}, warn: () => {} },
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
      const { link: l, identities, reports, alarms, said } = link(200)
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
      expect(reports.length).toBeGreaterThan(1000)
      expect(reports.length).toBeLessThan(fromAutopilot)
      // Nobody answers, so it asks and asks; after the reboot from the beginning.
      expect(said[0]).toEqual({ id: 436, interval_us: 20_000 })
      const boots = reports.filter((r) => r.message === 33).map((r) => r.boot_ms!)
      const falls = boots.filter((boot_ms, i) => i > 0 && boot_ms < boots[i - 1]!).length
      expect(falls).toBe(name === 'px4-reboot' ? 1 : 0)
    })
  }

  it('alarms of the recorded companion where it has its ids', () => {
    const { link: l, alarms } = link(191)
    let start_us = 0
    for (const { time_us, bytes } of readTlog(fixture('px4-takeover'))) {
      start_us ||= time_us
      l.receive(bytes, (time_us - start_us) / 1e3)
    }
    expect(alarms.length).toBeGreaterThan(5)
    expect(alarms.length).toBeLessThan(9)
  })
})
