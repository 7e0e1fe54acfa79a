// Somebody on the network who has recorded the autopilot, over real UDP: he says it again, 50 times a second. Time is the test's.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MavLinkPacketSignature, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { type Endpoint, openEndpoint } from '../../../companion/mavlink/endpoint.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import { Signing } from '../../../companion/mavlink/signing.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'

const KEY = Buffer.alloc(32, 7)
const NOW_ms = Date.UTC(2025, 5, 1)
const HOUR_ms = 3_600_000
const beat = Object.assign(new minimal.Heartbeat(), { type: 2, autopilot: 12, systemStatus: 4, mavlinkVersion: 3 })

function heartbeat(at_ms: number): Buffer {
  const protocol = new MavLinkProtocolV2(1, 1, MavLinkProtocolV2.IFLAG_SIGNED)
  return protocol.sign(protocol.serialize(beat, 0), 3, KEY, at_ms) as Buffer
}

let folder: string
let now_ms: number
let signing: Signing
let endpoint: Endpoint
let link: Link
let adapter: Adapter
let identities: number
const sockets: Socket[] = []

async function udp(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  sockets.push(socket)
  return socket
}

const say = (socket: Socket, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => socket.send(bytes, endpoint.port, '127.0.0.1', () => resolve()))

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halo-replay-'))
  now_ms = 0
  identities = 0
  signing = await Signing.open({
    key: KEY,
    linkId: 0,
    file: join(folder, 'uav1.signing'),
    heard: join(folder, 'uav1.heard'),
    wall: () => NOW_ms + now_ms,
    failed: () => {},
  })
  adapter = new Adapter({ signing, transmit: (bytes) => endpoint.transmit(bytes) })
  const ears = {
    recognises: (datagram: Uint8Array) => link.recognises(datagram),
    receive: (bytes: Uint8Array) => link.receive(bytes, now_ms),
    lost: () => {},
  }
  endpoint = await openEndpoint('udpin://127.0.0.1:0', ears, { now: () => now_ms })
  const listener = {
    report: () => {},
    acknowledge: () => {},
    alarm: () => {},
    warn: () => {},
    silent: () => {},
    rebooted: () => {},
  }
  link = new Link({
    profile: px4Multirotor,
    adapter,
    stream: false,
    signing,
    listener: { ...listener, identity: () => identities++ },
  })
})
afterEach(async () => {
  await endpoint.close()
  for (const socket of sockets.splice(0)) socket.close()
  await signing.close()
  rmSync(folder, { recursive: true, maxRetries: 20 })
})

/** The autopilot: a heartbeat a second, stamped by a clock that is so far behind until it hears a newer stamp. */
class Autopilot {
  readonly #socket: Socket
  #behind_ms: number

  constructor(socket: Socket, behind_ms: number) {
    this.#socket = socket
    this.#behind_ms = behind_ms
    socket.on('message', (bytes) => {
      const signature = new MavLinkPacketSignature(bytes)
      const stamp_ms = Date.UTC(2015, 0, 1) + signature.timestamp / 100
      if (signature.matches(KEY)) this.#behind_ms = Math.min(this.#behind_ms, NOW_ms + now_ms - stamp_ms)
    })
  }

  beat(): Promise<void> {
    return say(this.#socket, heartbeat(NOW_ms + now_ms - this.#behind_ms))
  }
}

/** Lets so much time pass; the link's own heartbeat goes out each second. Ends when the autopilot is found, and gives when. */
async function found(within_ms: number, each: () => Promise<void>): Promise<number> {
  for (const begin_ms = now_ms; now_ms - begin_ms < within_ms; now_ms += 20) {
    if (endpoint.port !== 0) await each()
    for (let i = 0; i < 3; i++) await turn()
    endpoint.tick(now_ms)
    signing.tick(now_ms)
    link.tick(now_ms)
    if (now_ms % 1000 === 500) adapter.say({ message: 'HEARTBEAT' }, now_ms)
    if (identities > 0) return now_ms - begin_ms
  }
  throw new Error(`not found within ${within_ms} ms`)
}

const RECORDED: readonly (readonly [string, number])[] = [
  ['one heartbeat', 1],
  ['an hour of heartbeats', 3600],
]

describe.each(RECORDED)('G5: a recording of %s, said again 50 times a second', (_, count) => {
  it.each([
    ['with its clock', 0, 8000],
    ['without its clock', 10 * 365 * 24 * HOUR_ms, 30_000],
  ])('does not keep an autopilot %s from being found', async (_, behind_ms, within_ms) => {
    const replayer = await udp()
    const autopilot = new Autopilot(await udp(), behind_ms)
    let said = 0
    const replay = (): Promise<void> => say(replayer, heartbeat(NOW_ms - HOUR_ms + (said++ % count) * 1000))
    // He is there first.
    await found(5000, replay).catch(() => {})
    expect(identities).toBe(0)
    const found_ms = await found(within_ms, async () => {
      await replay()
      if (now_ms % 1000 === 200) await autopilot.beat()
    })
    expect(found_ms).toBeLessThan(within_ms)
  })
})

it('takes whoever is fresh at once, and speaks to a stale one only after having listened for others', async () => {
  const stale = await udp()
  await say(stale, heartbeat(NOW_ms - HOUR_ms))
  for (let i = 0; i < 5; i++) await turn()
  for (let at_ms = 0; at_ms < 1500; at_ms += 100) endpoint.tick(at_ms)
  for (let i = 0; i < 5; i++) await turn()
  expect(endpoint.connected).toBe(false)
  endpoint.tick(1500)
  for (let i = 0; i < 5; i++) await turn()
  expect(endpoint.connected).toBe(true)
})
