// The simulated vehicle on a real link and a real clock, for the demo and the end-to-end tests. Never for flight.

import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { parseFault } from './fault.ts'
import type { Place } from './geodesy.ts'
import { SimulatedVehicle, type VehicleOptions } from './vehicle.ts'

export interface ServerOptions extends Omit<VehicleOptions, 'home'> {
  /**
   * `host:port` that it listens on by UDP, or `tcp://host:port` for one client at a time, as ArduPilot's own simulation has it
   * on 5760; port 0 takes a free one. Default 127.0.0.1:14580.
   */
  readonly listen?: string
  /** `host:port` that it sends to unprompted, by UDP. Default 127.0.0.1:14540. */
  readonly send?: string
  readonly home?: Place
  /** The vehicle's seconds in a second of ours. Default 1. */
  readonly speed?: number
}

export interface SimulatedVehicleServer {
  readonly vehicle: SimulatedVehicle
  /** The port that it listens on; of an ArduPilot on UDP another one after every reboot. */
  readonly port: number
  /** Does what `parseFault` reads out of the line; throws what it throws. */
  fault(line: string): void
  close(): Promise<void>
}

/** One end of a link. */
interface Link {
  readonly port: number
  send(frame: Uint8Array): void
  /** The process that had it is gone, or is there again. */
  running(running: boolean): void
  close(): Promise<void>
}

const TIMER_MS = 5
const HOME: Place = { lat: 47.3977419, lon: 8.5455933, amsl: 488 }
const TCP = 'tcp://'
const STX = 0xfd
const HEADER_BYTES = 10
const CRC_BYTES = 2
const SIGNATURE_BYTES = 13

interface Endpoint {
  readonly host: string
  readonly port: number
}

function endpoint(text: string): Endpoint {
  const split = text.lastIndexOf(':')
  const port = Number(text.slice(split + 1))
  if (split < 1 || text.endsWith(':') || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`simulated vehicle: "${text}" is no host:port with a port from 0 to 65535`)
  }
  return { host: text.slice(0, split), port }
}

/** Resolves once it listens; rejects if it cannot. */
export async function startSimulatedVehicle(options: ServerOptions = {}): Promise<SimulatedVehicleServer> {
  const speed = options.speed ?? 1
  if (!(speed > 0 && speed <= 1000))
    throw new Error(`simulated vehicle: speed must be above 0 and at most 1000, got ${speed}`)
  const listen = options.listen ?? '127.0.0.1:14580'
  const signing = options.signing && { start_ms: Date.now(), ...options.signing }
  const vehicle = new SimulatedVehicle({ ...options, ...(signing && { signing }), home: options.home ?? HOME })
  const start_ms = performance.now()
  const now_ms = (): number => (performance.now() - start_ms) * speed

  const receive = (frame: Uint8Array): void => {
    vehicle.receive(frame, now_ms())
    flush()
  }
  const link = listen.startsWith(TCP)
    ? await tcpLink(endpoint(listen.slice(TCP.length)), receive)
    : await udpLink(
        endpoint(listen),
        endpoint(options.send ?? '127.0.0.1:14540'),
        receive,
        options.autopilot === 'ardupilot',
      )
  let running = true
  const flush = (): void => {
    const frames = vehicle.step(now_ms())
    if (vehicle.running !== running) {
      running = vehicle.running
      link.running(running)
    }
    for (const frame of frames) link.send(frame)
  }
  vehicle.step(now_ms())
  const timer = setInterval(flush, TIMER_MS)

  return {
    vehicle,
    get port() {
      return link.port
    },
    fault(line) {
      vehicle.fault(parseFault(line), now_ms())
    },
    async close() {
      clearInterval(timer)
      await link.close()
    },
  }
}

/** `moves`: an ArduPilot that reboots sends from another port, and hears there. */
async function udpLink(
  listen: Endpoint,
  send: Endpoint,
  receive: (datagram: Uint8Array) => void,
  moves: boolean,
): Promise<Link> {
  let peer = send
  let heard = false
  const open = (port: number): DatagramSocket => {
    const opened = createSocket('udp4')
    opened.on('message', (datagram, sender) => {
      // As PX4: the first packet fixes where everything goes from then on.
      if (!heard) peer = { host: sender.address, port: sender.port }
      heard = true
      receive(datagram)
    })
    opened.bind(port, listen.host)
    return opened
  }
  let socket = open(listen.port)
  await once(socket, 'listening')
  let port = socket.address().port
  return {
    get port() {
      return port
    },
    send: (frame) => socket.send(frame, peer.port, peer.host),
    running(running) {
      if (!running || !moves) return
      socket.close()
      peer = send
      heard = false
      const opened = open(0)
      opened.once('listening', () => {
        port = opened.address().port
      })
      socket = opened
    },
    async close() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}

/** One client, the newest; none while the process is gone. What is heard is one stream, cut into frames here. */
async function tcpLink(listen: Endpoint, receive: (frame: Uint8Array) => void): Promise<Link> {
  let client: Socket | undefined
  let up = true
  const server: Server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    if (!up) {
      socket.destroy()
      return
    }
    client?.destroy()
    client = socket
    let rest = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (let frame = takeFrame(); frame !== undefined; frame = takeFrame()) receive(frame)
    })
    const takeFrame = (): Uint8Array | undefined => {
      const start = rest.indexOf(STX)
      rest = start < 0 ? Buffer.alloc(0) : rest.subarray(start)
      if (rest.length < HEADER_BYTES) return undefined
      const signature = (rest.readUInt8(2) & 1) === 1 ? SIGNATURE_BYTES : 0
      const end = HEADER_BYTES + rest.readUInt8(1) + CRC_BYTES + signature
      if (rest.length < end) return undefined
      const frame = rest.subarray(0, end)
      rest = rest.subarray(end)
      return frame
    }
    socket.on('close', () => {
      if (client === socket) client = undefined
    })
  })
  server.listen(listen.port, listen.host)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : listen.port,
    send: (frame) => client?.write(frame),
    running(running) {
      up = running
      if (!running) client?.destroy()
    },
    async close() {
      client?.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}
