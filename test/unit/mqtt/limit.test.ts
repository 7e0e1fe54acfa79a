import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import mqttPacket from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { Limit } from '../../../companion/mqtt/limit.ts'

type Version = 4 | 5

const publish = (topic: string, bytes: number, qos: 0 | 1, version: Version, properties?: object): Buffer =>
  mqttPacket.generate(
    {
      cmd: 'publish',
      topic,
      payload: Buffer.alloc(bytes, 0x61),
      qos,
      retain: false,
      dup: false,
      ...(qos > 0 && { messageId: 7 }),
      ...(properties && { properties }),
    },
    { protocolVersion: version },
  )
const ping = Buffer.of(0xd0, 0)

/** What comes out of it, read packet by packet; `pieces`: how the bytes come in. */
async function pass(bytes: Buffer, pieces: readonly number[], payload: number, version: Version, perTurn?: number) {
  const limit = new Limit({ payload, protocolVersion: version, ...(perTurn !== undefined && { perTurn }) })
  const packets: mqttPacket.IPublishPacket[] = []
  const parser = mqttPacket.parser({ protocolVersion: version })
  let held = 0
  let chunks = 0
  parser.on('packet', (packet) => packets.push(packet as mqttPacket.IPublishPacket))
  parser.on('error', (error) => limit.destroy(error))
  limit.on('data', (chunk: Buffer) => {
    chunks++
    expect(parser.parse(chunk)).toBe(0) // each is whole
  })
  const ended = once(limit, 'end')
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const piece = pieces.length === 0 ? bytes.length : Math.max(1, pieces[i % pieces.length]!)
    if (!limit.write(bytes.subarray(at, at + piece))) await once(limit, 'drain')
    held = Math.max(held, limit.held)
    at += piece
  }
  limit.end()
  await ended
  expect(chunks).toBe(packets.length)
  return { packets, held, dropped: limit.dropped }
}

describe('a limit on packets of MQTT', () => {
  it.each([4, 5] as const)(
    'hands on what is short, and cuts what is long to one byte too many (MQTT %i)',
    async (v) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              bytes: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1000, max: 9000 })),
              topic: fc.integer({ min: 1, max: 3000 }),
              qos: fc.constantFrom(0, 1),
              user: fc.integer({ min: 0, max: 4000 }),
            }),
            { minLength: 1, maxLength: 6 },
          ),
          fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 5 }),
          fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
          async (messages, pieces, perTurn) => {
            const packets = messages.flatMap(({ bytes, topic, qos, user }) => {
              const properties = v === 5 && user > 0 ? { userProperties: { why: 'u'.repeat(user) } } : undefined
              return [publish('t'.repeat(topic), bytes, qos as 0 | 1, v, properties), ping]
            })
            const result = await pass(Buffer.concat(packets), pieces, 500, v, perTurn)
            const heard = result.packets.filter(({ cmd }) => cmd === 'publish')
            expect(result.packets).toHaveLength(2 * messages.length)
            heard.forEach((packet, i) => {
              const { bytes, topic, qos } = messages[i]!
              expect(packet).toMatchObject({ topic: 't'.repeat(topic), qos, ...(qos > 0 && { messageId: 7 }) })
              // What passes whole may be a little longer than what may be said: it is refused all the same.
              if (packet.payload.length !== bytes) expect(packet.payload.length).toBe(501)
              if (bytes <= 500) expect(packet.payload.length).toBe(bytes)
            })
          },
        ),
        { numRuns: 60 },
      )
    },
  )

  it('goes on for a reader that takes them one by one, and lets some lie for a while', async () => {
    const limit = new Limit({ payload: 500, protocolVersion: 4, perTurn: 4 })
    let read = 0
    const reading = (async () => {
      for await (const packet of limit) {
        expect(packet).toEqual(ping)
        read++
        for (let turns = read % 3; turns > 0; turns--) await turn()
      }
    })()
    for (const count of [1, 2, 3, 4, 5, 9, 1, 1, 20]) {
      limit.write(Buffer.concat(Array<Buffer>(count).fill(ping)))
      await turn()
    }
    limit.end()
    await reading
    expect(read).toBe(46)
  })

  it('holds no more of 200 MB than may be said', async () => {
    const limit = new Limit({ payload: 65_536, protocolVersion: 4 })
    const head = publish('halo/v1/uav1/response/planner', 0, 1, 4)
    const topic = head.subarray(2)
    const total = 200_000_000
    let remaining = topic.length + total
    const length: number[] = []
    for (; remaining > 0; remaining = Math.floor(remaining / 128))
      length.push((remaining % 128) + (remaining >= 128 ? 128 : 0))
    const out: Buffer[] = []
    limit.on('data', (packet: Buffer) => out.push(packet))
    limit.write(Buffer.concat([Buffer.of(head[0]!, ...length), topic]))
    const piece = Buffer.alloc(65_536)
    let held = 0
    for (let sent = 0; sent < total; sent += piece.length) {
      if (!limit.write(piece.subarray(0, Math.min(piece.length, total - sent)))) await once(limit, 'drain')
      held = Math.max(held, limit.held + limit.writableLength + limit.readableLength)
    }
    limit.write(ping)
    limit.end()
    await once(limit, 'end')
    expect(out.map((packet) => packet.length)).toEqual([4 + topic.length + 65_537, 2])
    expect(held).toBeLessThan(4 * 65_536)
    expect(limit.dropped).toBe(total - 65_537)
  })

  it.each([
    ['a CONNACK of a megabyte', Buffer.of(0x20, 0x80, 0x80, 0x40)],
    ['a length without an end', Buffer.of(0x30, 0xff, 0xff, 0xff, 0xff, 0xff)],
    [
      'a topic that is longer than its packet',
      Buffer.concat([Buffer.of(0x30, 0xff, 0x0a, 0xff, 0xff), Buffer.alloc(70_000)]),
    ],
  ])('ends at %s', async (_, bytes) => {
    const limit = new Limit({ payload: 100, protocolVersion: 4 })
    limit.resume()
    const failed = once(limit, 'error')
    limit.write(bytes)
    expect(String((await failed)[0])).toMatch(/mqtt: /)
  })
})
