// A flight over a stream, with MAVLink 2 signing: between the simulated vehicle and the companion stands a relay that signs and
// checks with node-mavlink's signer, behind a TCP server or a pseudo-terminal.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket as TcpSocket } from 'node:net'
import { join } from 'node:path'
import { MavLinkPacketSignature, MavLinkPacketSplitter } from 'node-mavlink'
import { afterEach, describe, expect, it } from 'vitest'
import { checksum } from '../../companion/mavlink/checksum.ts'
import { layoutOf } from '../../src/autopilot/frame.ts'
import { Device, hasPtys } from '../unit/mavlink/pty.ts'
import { type Agent, COMMAND, encode, FlightLine, takeoff, until } from './flight-line.ts'

const KEY = Buffer.alloc(32, 0x5a)
const STAMP_START = (Date.now() - Date.UTC(2015, 0, 1)) * 100

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

class Relay {
  /** Frames of the companion: with a right signature and a newer stamp than any before, and all others. */
  good = 0
  bad = 0
  signs = true
  readonly #vehicle: Socket
  #address: RemoteInfo | undefined
  #stamp = STAMP_START
  #heard_stamp = 0
  #splitter = new MavLinkPacketSplitter()

  private constructor(vehicle: Socket, toCompanion: (bytes: Uint8Array) => void) {
    this.#vehicle = vehicle
    vehicle.on('message', (datagram, sender) => {
      this.#address = sender
      toCompanion(this.#sign(datagram))
    })
    this.cut()
  }

  /** Stands where the companion would be heard by the vehicle. */
  static async open(port: number, toCompanion: (bytes: Uint8Array) => void): Promise<Relay> {
    const socket = createSocket('udp4').bind(port, '127.0.0.1')
    await once(socket, 'listening')
    const relay = new Relay(socket, toCompanion)
    closing.push(() => {
      relay.#address = undefined
      socket.close()
    })
    return relay
  }

  /** The next bytes are of another connection. */
  cut(): void {
    this.#splitter = new MavLinkPacketSplitter()
    this.#splitter.on('data', ({ buffer }: { buffer: Buffer }) => this.#check(buffer))
  }

  fromCompanion(bytes: Uint8Array): void {
    this.#splitter.write(bytes)
  }

  #sign(datagram: Buffer): Buffer {
    const message = datagram.readUIntLE(7, 3)
    const layout = layoutOf(message)
    if (!this.signs || layout === undefined) return datagram
    const frame = Buffer.concat([datagram, Buffer.alloc(MavLinkPacketSignature.SIGNATURE_LENGTH)])
    frame[2] = 1
    frame.writeUInt16LE(checksum(frame, 1, datagram.length - 2, layout.crcExtra), datagram.length - 2)
    const signature = new MavLinkPacketSignature(frame)
    signature.linkId = 3
    signature.timestamp = ++this.#stamp
    signature.signature = signature.calculate(KEY)
    return frame
  }

  #check(frame: Buffer): void {
    const signature = new MavLinkPacketSignature(frame)
    if (frame[2] !== 1 || !signature.matches(KEY) || signature.timestamp <= this.#heard_stamp) {
      this.bad++
      return
    }
    this.good++
    this.#heard_stamp = signature.timestamp
    if (this.#address !== undefined) this.#vehicle.send(frame, this.#address.port, this.#address.address)
  }
}

/** Take-off is under way, as the vehicle acknowledged it. A stall of this machine may end it before: then the test is flown again. */
async function fly(line: FlightLine, agent: Agent): Promise<void> {
  await agent.ready()
  await agent.say('context/map', encode({ v: 1, value: 1 }))
  await agent.ready({ map: 1 })
  await agent.respond({ components: [takeoff('up')] })
  const last = await until('take-off', () =>
    agent.outcomes('up').find(({ phase }) => !/^(retained|dispatched)$/.test(phase)),
  )
  expect(last).toMatchObject({ phase: 'acknowledged' })
  expect(line.commands.map(({ command }) => command)).toContain(COMMAND.takeoff)
}

/** The line's companion, told to use this endpoint, with a key. */
async function start(endpoint: (mavlink: number) => Promise<string>): Promise<{ line: FlightLine; agent: Agent }> {
  const line = await FlightLine.open()
  closing.push(() => line.close())
  const text = readFileSync(line.config, 'utf8')
  const plain = /udpin:\/\/127\.0\.0\.1:(\d+)/.exec(text)!
  writeFileSync(join(line.folder, 'key'), KEY.toString('hex'), { mode: 0o600 })
  const url = await endpoint(Number(plain[1]))
  writeFileSync(line.config, text.replace(`"${plain[0]}"`, `"${url}", signing: { key: key, link_id: 7 }`))
  const agent = await line.agent()
  await line.start()
  return { line, agent }
}

describe('a signed link', { retry: 2 }, () => {
  it('G5: flies over TCP, also after the connection was lost, and goes blind when the autopilot does not sign', async () => {
    const peers: TcpSocket[] = []
    let relay!: Relay
    const { line, agent } = await start(async (mavlink) => {
      const server = createServer((socket) => {
        socket.on('error', () => {})
        socket.on('data', (bytes) => relay.fromCompanion(bytes))
        relay.cut()
        peers.push(socket)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      closing.push(() => {
        for (const peer of peers) peer.destroy()
        server.close()
      })
      relay = await Relay.open(mavlink, (bytes) => peers.at(-1)?.write(bytes))
      return `tcpout://127.0.0.1:${(server.address() as { port: number }).port}`
    })
    await agent.ready()
    peers[0]!.destroy()
    await until('another connection', () => peers.length > 1)
    await fly(line, agent)
    expect(relay.good).toBeGreaterThan(10)
    expect(relay.bad).toBe(0)

    relay.signs = false
    await agent.newSnapshot(({ unknown }) => unknown.includes('mode') && unknown.includes('position.lat'))
    relay.signs = true
    await agent.ready()
  })

  it.skipIf(!hasPtys())('G5: flies over a serial port, also after it was pulled out', async () => {
    const device = new Device()
    closing.push(() => device.close())
    await device.plug()
    let relay!: Relay
    const { line, agent } = await start(async (mavlink) => {
      relay = await Relay.open(mavlink, (bytes) => device.send(bytes))
      device.heard = (bytes) => relay.fromCompanion(bytes)
      return `serial://${device.path}?baud=921600`
    })
    await agent.ready()
    await device.unplug()
    relay.cut()
    await agent.newSnapshot(({ unknown }) => unknown.includes('mode'))
    await device.plug()
    await fly(line, agent)
    expect(relay.good).toBeGreaterThan(10)
    expect(relay.bad).toBe(0)
  })
})
