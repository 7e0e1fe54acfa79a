import { describe, expect, it } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { fieldOf, layout } from '../../../src/profile/frame.ts'
import { px4Multirotor } from '../../../src/profile/px4-multirotor.ts'
import type { Acknowledgement, Report } from '../../../src/protocol/port.ts'
import { fixture, header } from './recording.ts'

const requestable = px4Multirotor.messages.filter((source) => source.interval_us !== undefined)

/** A frame of somebody on the link, made through an adapter of his own. */
function frame(system: number, component: number, name: string, values: Record<string, number>): Uint8Array {
  let made = new Uint8Array(0)
  const sender = new Adapter({
    component,
    transmit: (bytes) => {
      made = Uint8Array.from(bytes)
      return true
    },
  })
  sender.address(system, 1)
  const payload = new Uint8Array(layout(name).length)
  const view = new DataView(payload.buffer)
  for (const [field, value] of Object.entries(values)) {
    const { offset, format } = fieldOf(name, field)
    if (format === 'u8') view.setUint8(offset, value)
    else if (format === 'u16') view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
  }
  sender.send({ message: layout(name).id, payload })
  return made
}

const heartbeat = (system = 2, component = 1, autopilot = 12): Uint8Array =>
  frame(system, component, 'HEARTBEAT', { autopilot, system_status: 4, mavlink_version: 3 })
const ack = (command: number, result: number, target_system: number, target_component: number): Uint8Array =>
  frame(2, 1, 'COMMAND_ACK', { command, result, target_system, target_component })
const timed = (time_boot_ms: number, name = 'LOCAL_POSITION_NED'): Uint8Array => frame(2, 1, name, { time_boot_ms })

function link(component = 191) {
  const said: { id: number; interval_us: number }[] = []
  const identities: string[] = []
  const reports: Report[] = []
  const acknowledgements: Acknowledgement[] = []
  const collisions: number[] = []
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
    listener: {
      identity: (system, component) => identities.push(`${system}/${component}`),
      report: (report) => reports.push(report),
      acknowledge: (acknowledgement) => acknowledgements.push(acknowledgement),
      collision: (component) => collisions.push(component),
    },
  })
  return { link: made, adapter, said, identities, reports, acknowledgements, collisions }
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

  it('tells of another component with our ids, once a second', () => {
    const { link: l, collisions } = link()
    l.receive(heartbeat(), 0)
    for (const now of [100, 200, 1100]) l.receive(heartbeat(2, 191, 8), now)
    l.receive(heartbeat(2, 192, 8), 5000)
    expect(collisions).toEqual([191, 191])
  })
})

describe('link, acknowledgements', () => {
  it('passes on those for us or for all, and keeps its own', () => {
    const { link: l, acknowledgements } = link()
    l.receive(heartbeat(), 0)
    l.receive(ack(176, 0, 2, 191), 1)
    l.receive(ack(400, 1, 0, 0), 2)
    l.receive(ack(400, 0, 255, 190), 3)
    l.receive(ack(400, 0, 2, 190), 4)
    l.receive(ack(511, 0, 2, 191), 5)
    l.receive(frame(3, 1, 'COMMAND_ACK', { command: 22, target_system: 2, target_component: 191 }), 6)
    expect(acknowledgements).toEqual([
      { command: 176, result: 0 },
      { command: 400, result: 1 },
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
      listener: { identity: () => {}, report: () => {}, acknowledge: () => {}, collision: () => {} },
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
      const { link: l, identities, reports, collisions, said } = link(200)
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
      expect(collisions).toEqual([])
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

  it('sees the recorded companion as a collision where it has its ids', () => {
    const { link: l, collisions } = link(191)
    let start_us = 0
    for (const { time_us, bytes } of readTlog(fixture('px4-takeover'))) {
      start_us ||= time_us
      l.receive(bytes, (time_us - start_us) / 1e3)
    }
    expect(collisions.length).toBeGreaterThan(5)
    expect(collisions.length).toBeLessThan(9)
  })
})
