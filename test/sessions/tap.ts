// The tap on the link between companion and autopilot: a relay that hands on every byte as it came, and reads along.
//
// The companion connects to it as it would to the autopilot, with the same kind of endpoint; it connects to the autopilot, or to
// whatever stands before one, and keeps that connection while companions come and go.

import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect as connectTcp, createServer, type Server, type Socket as TcpSocket } from 'node:net'
import { common, minimal } from 'node-mavlink'
import { FrameWriter, type Incoming, message } from '../../simulator/frame.ts'
import { freeUdpPort } from '../e2e/flight-line.ts'
import { FrameStream } from './stream.ts'

/** What the autopilot last said of itself. */
export interface Autopilot {
  readonly system: number
  readonly component: number
  /** MAV_AUTOPILOT: 12 is PX4, 3 ArduPilot. */
  readonly kind: number
  readonly armed: boolean
  /** Its custom_mode, of HEARTBEAT or CURRENT_MODE, whichever came last. */
  readonly mode: number
}

/** The two sides of a relay. */
interface Wires {
  /** What the companion's configuration must say. */
  readonly companion: string
  toCompanion(bytes: Uint8Array): void
  toAutopilot(bytes: Uint8Array): void
  close(): Promise<void>
}

interface Ears {
  fromCompanion(bytes: Uint8Array): void
  fromAutopilot(bytes: Uint8Array): void
}

const INVALID = 8
const ARMED = 128
const NAV_LAND = 21
const REOPEN_MS = 1000
const KINDS = /^(udpin|udpout|tcpout):\/\/([^:/\s]+):(\d{1,5})$/

export class Tap {
  /** Sees each frame of the companion, after it was handed on. */
  onFrame: (frame: Incoming, autopilot: Autopilot | undefined) => void = () => {}
  /** Sees each answer of the autopilot to a command. */
  onAnswer: (answer: common.CommandAck) => void = () => {}
  autopilot: Autopilot | undefined
  /** Of the autopilot, so far. */
  heartbeats = 0
  /** Bytes of the companion that no frame could be read from: nobody knows what they say. */
  unread = 0
  // A ground station: it says nothing unless a session has to be brought down, or a pilot takes the vehicle.
  readonly #ground = new FrameWriter(255, 190)
  #wires!: Wires

  /** `udpin://host:port`, `udpout://host:port` or `tcpout://host:port`, as in a companion's configuration. Throws for others. */
  static async open(endpoint: string): Promise<Tap> {
    const [, kind, host, port] = KINDS.exec(endpoint) ?? []
    if (kind === undefined) {
      const why = endpoint.startsWith('serial:') ? ': a serial line has no place for a tap, put a router between' : ''
      throw new RangeError(
        `--endpoint ${endpoint}: must be udpin://host:port, udpout://host:port or tcpout://host:port${why}`,
      )
    }
    const tap = new Tap()
    const fromCompanion = new FrameStream()
    const fromAutopilot = new FrameStream()
    const ears: Ears = {
      fromCompanion(bytes) {
        tap.#wires.toAutopilot(bytes)
        const { unread } = fromCompanion
        for (const frame of fromCompanion.read(bytes)) tap.onFrame(frame, tap.autopilot)
        tap.unread += fromCompanion.unread - unread
      },
      fromAutopilot(bytes) {
        tap.#wires.toCompanion(bytes)
        for (const frame of fromAutopilot.read(bytes)) tap.#hear(frame)
      },
    }
    const open = kind === 'tcpout' ? openTcp : kind === 'udpin' ? openUdpIn : openUdpOut
    tap.#wires = await open(host!, Number(port), ears)
    return tap
  }

  /** The endpoint that the companion is to be configured with. */
  get companion(): string {
    return this.#wires.companion
  }

  /** A ground station's command to land. The caller repeats it until the vehicle is disarmed. */
  land(): void {
    this.command(NAV_LAND, 0, 0, 0, NaN)
  }

  /** A ground station's command. */
  command(command: number, _param1 = 0, _param2 = 0, _param3 = 0, _param4 = 0): void {
    if (this.autopilot === undefined) return
    const { system, component } = this.autopilot
    const params = { _param1, _param2, _param3, _param4, _param5: 0, _param6: 0, _param7: 0 }
    const target = { targetSystem: system, targetComponent: component }
    const said = message(common.CommandLong, { ...target, command, confirmation: 0, ...params })
    this.#wires.toAutopilot(this.#ground.write(said))
  }

  #hear({ system, component, message }: Incoming): void {
    if (message instanceof common.CommandAck) this.onAnswer(message)
    if (message instanceof minimal.Heartbeat && message.autopilot !== INVALID) {
      const { baseMode, customMode: mode, autopilot: kind } = message
      this.heartbeats++
      this.autopilot = { system, component, kind, armed: (baseMode & ARMED) !== 0, mode }
    } else if (message instanceof common.CurrentMode && this.autopilot !== undefined) {
      const { autopilot } = this
      if (system === autopilot.system && component === autopilot.component) {
        this.autopilot = { ...autopilot, mode: message.customMode }
      }
    }
  }

  close(): Promise<void> {
    return this.#wires.close()
  }
}

/** The autopilot sends to host:port; the companion listens. */
async function openUdpIn(host: string, port: number, ears: Ears): Promise<Wires> {
  const [autopilot, companion] = [await bound(port, host), await bound(0)]
  const companionPort = await freeUdpPort()
  let peer: { readonly port: number; readonly address: string } | undefined
  autopilot.on('message', (datagram, sender) => {
    peer = sender
    ears.fromAutopilot(datagram)
  })
  companion.on('message', (datagram) => ears.fromCompanion(datagram))
  return {
    companion: `udpin://127.0.0.1:${companionPort}`,
    toCompanion: (bytes) => companion.send(bytes, companionPort, '127.0.0.1'),
    toAutopilot: (bytes) => peer && autopilot.send(bytes, peer.port, peer.address),
    close: () => closeAll(autopilot, companion),
  }
}

/** The autopilot listens at host:port; the companion speaks first. */
async function openUdpOut(host: string, port: number, ears: Ears): Promise<Wires> {
  const [autopilot, companion] = [await bound(0, '0.0.0.0'), await bound(0)]
  let peer: number | undefined
  autopilot.on('message', (datagram) => ears.fromAutopilot(datagram))
  companion.on('message', (datagram, sender) => {
    peer = sender.port
    ears.fromCompanion(datagram)
  })
  return {
    companion: `udpout://127.0.0.1:${companion.address().port}`,
    toCompanion: (bytes) => peer && companion.send(bytes, peer, '127.0.0.1'),
    toAutopilot: (bytes) => autopilot.send(bytes, port, host),
    close: () => closeAll(autopilot, companion),
  }
}

/** The autopilot is a TCP server at host:port. A connection that breaks is opened again, and the companion's breaks with it. */
async function openTcp(host: string, port: number, ears: Ears): Promise<Wires> {
  let [autopilot, companion]: (TcpSocket | undefined)[] = []
  let closed = false
  const server: Server = createServer({ noDelay: true }, (socket) => {
    companion?.destroy()
    companion = socket
    socket.on('error', () => {})
    socket.on('data', (bytes) => ears.fromCompanion(bytes))
    socket.on('close', () => {
      if (companion === socket) companion = undefined
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reach = (): void => {
    if (closed) return
    autopilot = connectTcp({ host, port, noDelay: true })
    autopilot.on('error', () => {})
    autopilot.on('data', (bytes) => ears.fromAutopilot(bytes))
    autopilot.on('close', () => {
      companion?.destroy()
      setTimeout(reach, REOPEN_MS)
    })
  }
  reach()
  return {
    companion: `tcpout://127.0.0.1:${(server.address() as { port: number }).port}`,
    toCompanion: (bytes) => companion?.write(bytes),
    toAutopilot: (bytes) => autopilot?.write(bytes),
    async close() {
      closed = true
      for (const socket of [autopilot, companion]) socket?.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bound(port: number, host = '127.0.0.1'): Promise<UdpSocket> {
  const socket = createSocket('udp4').bind(port, host)
  await once(socket, 'listening')
  socket.on('error', () => {}) // a peer that is gone: silence shows the same
  return socket
}

const closeAll = (...sockets: UdpSocket[]): Promise<void> =>
  Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.close(resolve)))).then(() => {})
