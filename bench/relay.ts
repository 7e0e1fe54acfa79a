// The vehicle's end of the link: a UDP relay between companion and vehicle that sees when each frame arrived.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { Adapter } from '../companion/adapter/adapter.ts'
import { layoutOf } from '../src/autopilot/frame.ts'

/** A frame of the companion: MAVLink's message id, the whole payload, and when it arrived. */
export interface Arrived {
  readonly message: number
  readonly payload: DataView
  readonly at_ms: number
}

const LENGTH_AT = 1
const MESSAGE_AT = 7
const PAYLOAD_AT = 10

export class Relay {
  /** Frames of the vehicle that were handed on. */
  telemetry = 0
  onFrame: (frame: Arrived) => void = () => {}
  readonly #up: Socket
  readonly #down: Socket
  /** Another component beside the companion. */
  readonly #ground = new Adapter({ component: 190, transmit: (bytes) => this.#toVehicle(bytes) })
  #vehicle: { readonly port: number } | undefined

  private constructor(up: Socket, down: Socket) {
    this.#up = up
    this.#down = down
    up.on('message', (datagram) => {
      const at_ms = performance.now()
      this.#toVehicle(datagram)
      this.onFrame(read(datagram, at_ms))
    })
    down.on('message', (datagram, sender) => {
      this.#vehicle ??= sender
      this.telemetry++
      up.send(datagram)
    })
    up.on('error', () => {}) // the companion does not listen yet
    this.#ground.address(1, 1)
  }

  /** To a companion that listens at this port, or will. */
  static async open(companion: number): Promise<Relay> {
    const [up, down] = [createSocket('udp4'), createSocket('udp4')]
    up.connect(companion, '127.0.0.1')
    down.bind(0, '127.0.0.1')
    await Promise.all([once(up, 'connect'), once(down, 'listening')])
    return new Relay(up, down)
  }

  /** Where the vehicle has to send to. */
  get port(): number {
    return this.#down.address().port
  }

  /** Asks the vehicle for a message at this interval, as a ground station would. */
  ask(id: number, interval_us: number): void {
    this.#ground.say({ message: 'SET_MESSAGE_INTERVAL', id, interval_us }, performance.now())
  }

  #toVehicle(bytes: Uint8Array): boolean {
    if (this.#vehicle === undefined) return false
    this.#down.send(bytes, this.#vehicle.port, '127.0.0.1')
    return true
  }

  async close(): Promise<void> {
    const closed = [this.#up, this.#down].map((socket) => once(socket, 'close'))
    this.#up.close()
    this.#down.close()
    await Promise.all(closed)
  }
}

/** Zeros at the end of a payload are cut on the wire. */
function read(datagram: Buffer, at_ms: number): Arrived {
  const id = datagram.readUIntLE(MESSAGE_AT, 3)
  const payload = new Uint8Array(layoutOf(id)?.length ?? 0)
  payload.set(datagram.subarray(PAYLOAD_AT, PAYLOAD_AT + datagram[LENGTH_AT]!).subarray(0, payload.length))
  return { message: id, payload: new DataView(payload.buffer), at_ms }
}
