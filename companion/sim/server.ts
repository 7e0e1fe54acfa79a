// The simulated vehicle on a real UDP link and a real clock, for the demo and the end-to-end tests. Never for flight.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { parseFault } from './fault.ts'
import type { Place } from './geodesy.ts'
import { SimulatedVehicle, type VehicleOptions } from './vehicle.ts'

export interface ServerOptions extends Omit<VehicleOptions, 'home'> {
  /** `host:port` that it listens on; port 0 takes a free one. Default 127.0.0.1:14580. */
  readonly listen?: string
  /** `host:port` that it sends to unprompted. Default 127.0.0.1:14540. */
  readonly send?: string
  readonly home?: Place
  /** The vehicle's seconds in a second of ours. Default 1. */
  readonly speed?: number
}

export interface SimulatedVehicleServer {
  readonly vehicle: SimulatedVehicle
  /** The port that it listens on. */
  readonly port: number
  /** Does what `parseFault` reads out of the line; throws what it throws. */
  fault(line: string): void
  close(): Promise<void>
}

const TIMER_MS = 5
const HOME: Place = { lat: 47.3977419, lon: 8.5455933, amsl: 488 }

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
  const listen = endpoint(options.listen ?? '127.0.0.1:14580')
  let peer = endpoint(options.send ?? '127.0.0.1:14540')
  let heard = false
  const vehicle = new SimulatedVehicle({ ...options, home: options.home ?? HOME })
  const socket = createSocket('udp4')
  socket.bind(listen.port, listen.host)
  await once(socket, 'listening')

  const start_ms = performance.now()
  const now_ms = (): number => (performance.now() - start_ms) * speed
  const flush = (): void => {
    for (const datagram of vehicle.step(now_ms())) socket.send(datagram, peer.port, peer.host)
  }
  socket.on('message', (datagram, sender) => {
    // As PX4: the first packet fixes where everything goes from then on.
    if (!heard) peer = { host: sender.address, port: sender.port }
    heard = true
    vehicle.receive(datagram, now_ms())
    flush()
  })
  vehicle.step(now_ms())
  const timer = setInterval(flush, TIMER_MS)

  return {
    vehicle,
    port: socket.address().port,
    fault(line) {
      vehicle.fault(parseFault(line), now_ms())
    },
    async close() {
      clearInterval(timer)
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
