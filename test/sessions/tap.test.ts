// The tap hands on every byte in both directions, whatever stands at its ends, and knows the autopilot from what passes.

import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { common, minimal } from 'node-mavlink'
import { afterEach, expect, it } from 'vitest'
import { FrameWriter, message } from '../../simulator/frame.ts'
import { freeUdpPort, until } from '../e2e/flight-line.ts'
import { Tap } from './tap.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (let close = closing.pop(); close !== undefined; close = closing.pop()) await close()
})

const heartbeat = new FrameWriter(1, 1).write(
  message(minimal.Heartbeat, {
    type: 2,
    autopilot: 12,
    baseMode: 128,
    customMode: 7,
    systemStatus: 4,
    mavlinkVersion: 3,
  }),
)
const text = new FrameWriter(1, 191).write(
  message(common.StatusText, { severity: 4, text: 'hello', id: 0, chunkSeq: 0 }),
)

/** One end of a link: what it has heard, and how it says something. */
interface End {
  readonly heard: Uint8Array[]
  say(bytes: Uint8Array): void
}

async function udp(port: number, peer?: number): Promise<End & { socket: UdpSocket }> {
  const socket = createSocket('udp4').bind(port, '127.0.0.1')
  await once(socket, 'listening')
  closing.push(() => new Promise<void>((resolve) => socket.close(resolve)))
  const heard: Uint8Array[] = []
  let to = peer
  socket.on('message', (datagram, sender) => {
    to ??= sender.port
    heard.push(datagram)
  })
  return { socket, heard, say: (bytes) => socket.send(bytes, to!, '127.0.0.1') }
}

function tcp(socket: Socket): End {
  closing.push(() => socket.destroy())
  const heard: Uint8Array[] = []
  socket.on('data', (bytes) => heard.push(bytes))
  return { heard, say: (bytes) => socket.write(bytes) }
}

const portOf = (endpoint: string): number => Number(/:(\d+)$/.exec(endpoint)![1])

async function ends(kind: string): Promise<{ tap: Tap; autopilot: End; companion: End }> {
  const open = async (port: number): Promise<Tap> => {
    const tap = await Tap.open(`${kind}://127.0.0.1:${port}`)
    closing.push(() => tap.close())
    expect(tap.companion).toMatch(new RegExp(`^${kind}://127.0.0.1:\\d+$`))
    return tap
  }
  if (kind === 'udpin') {
    const port = await freeUdpPort()
    const tap = await open(port)
    return { tap, autopilot: await udp(0, port), companion: await udp(portOf(tap.companion)) }
  }
  if (kind === 'udpout') {
    const autopilot = await udp(0)
    const tap = await open(autopilot.socket.address().port)
    return { tap, autopilot, companion: await udp(0, portOf(tap.companion)) }
  }
  const server = createServer().listen(0, '127.0.0.1')
  closing.push(() => server.close())
  await once(server, 'listening')
  const reached = once(server, 'connection')
  const tap = await open((server.address() as { port: number }).port)
  const [autopilot] = (await reached) as [Socket]
  return { tap, autopilot: tcp(autopilot), companion: tcp(connect(portOf(tap.companion), '127.0.0.1')) }
}

/** Said again until it has come: before both ends are known to the tap there is nobody to hand it to. */
const passes = (from: End, to: End, bytes: Uint8Array): Promise<unknown> =>
  until('the bytes', () => {
    if (Buffer.concat(to.heard).includes(Buffer.from(bytes))) return true
    from.say(bytes)
    return false
  })

it.each(['udpin', 'udpout', 'tcpout'])('%s: every byte, both ways, and what is read of it', async (kind) => {
  const { tap, autopilot, companion } = await ends(kind)
  const read: number[] = []
  tap.onFrame = ({ id }) => read.push(id)
  const up = () => passes(companion, autopilot, Buffer.concat([text, Uint8Array.of(1, 2, 3)]))
  const down = () => passes(autopilot, companion, heartbeat)
  // Over UDP the tap learns its peer from the end that speaks first.
  for (const way of kind === 'udpout' ? [up, down] : [down, up]) await way()
  expect(tap.autopilot).toEqual({ system: 1, component: 1, kind: 12, armed: true, mode: 7 })
  expect(tap.heartbeats).toBeGreaterThan(0)
  expect(new Set(read)).toEqual(new Set([common.StatusText.MSG_ID]))
})
