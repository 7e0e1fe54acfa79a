// The end of a serial link. Opened, set up and watched by the native part of `serialport`; that library's stream is left out: it
// keeps what is written while the port is closed and sends it on the next connection, it writes on another thread, and it
// spins on a device that was pulled out. Here a write is in the kernel when it returns, or the link is lost.

import { readSync, writeSync } from 'node:fs'
import type { LinuxPortBinding } from '@serialport/bindings-cpp'
import type { Clock } from '../machine/clock.ts'
import type { SerialAddress } from './address.ts'
import { Backlog } from './backlog.ts'
import type { Backoff } from './backoff.ts'
import type { Endpoint, EndpointListener } from './endpoint.ts'
import { PeerWatch } from './peer-watch.ts'

type Port = Pick<LinuxPortBinding, 'fd' | 'poller' | 'flush' | 'close'>
type Open = (options: { path: string; baudRate: number }) => Promise<Port>

const READ_BYTES = 4096
/**
 * Behind the line buffer of 4 KiB a terminal keeps what came in while that was full. A worker of the kernel brings it up, with
 * the line empty or half full meanwhile (up to 20 ms were seen, on a loaded machine).
 */
const REFILL_ms = 100
/** It also brings up what comes to an empty line, so that is older by as much as the worker was late. */
const WORKER_ms = 50
const GONE = 'the device is gone'

export class Serial implements Endpoint {
  readonly url: string
  readonly stream = true
  readonly port = 0
  readonly #address: SerialAddress
  readonly #listener: EndpointListener
  readonly #clock: Pick<Clock, 'now'>
  readonly #backoff: Backoff
  readonly #openPort: Open
  readonly #buffer = new Uint8Array(READ_BYTES)
  #port: Port | undefined
  #backlog: Backlog | undefined
  #silence = new PeerWatch()
  #closed = false
  /** Opening or closing; only one process at a time may have the device, ourselves included. */
  #busy: Promise<void> | undefined

  private constructor(
    url: string,
    address: SerialAddress,
    listener: EndpointListener,
    clock: Pick<Clock, 'now'>,
    backoff: Backoff,
    open: Open,
  ) {
    this.url = url
    this.#address = address
    this.#listener = listener
    this.#clock = clock
    this.#backoff = backoff
    this.#openPort = open
  }

  /** Rejects where serial ports cannot be had at all. A device that is not there is tried again: it is plugged in later. */
  static async open(
    url: string,
    address: SerialAddress,
    listener: EndpointListener,
    clock: Pick<Clock, 'now'>,
    backoff: Backoff,
  ): Promise<Serial> {
    const endpoint = new Serial(url, address, listener, clock, backoff, await loadBinding())
    endpoint.#open()
    await endpoint.#busy
    return endpoint
  }

  get connected(): boolean {
    return this.#port !== undefined
  }

  transmit(bytes: Uint8Array): boolean {
    const port = this.#port
    if (port?.fd == null) return false
    try {
      if (writeSync(port.fd, bytes) === bytes.length) return true
      // The rest of a frame must not follow later, nor another frame behind half of one.
      this.#drop('it takes no more')
    } catch (error) {
      this.#drop((error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'it takes no more' : (error as Error).message)
    }
    return false
  }

  tick(now_ms: number): void {
    if (this.#port === undefined) {
      if (this.#busy === undefined && !this.#closed && this.#backoff.due(now_ms)) this.#open()
      return
    }
    this.#backlog!.look()
    if (this.#silence.isOver(now_ms)) this.#drop('nothing was heard for 3 s')
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#busy
    const port = this.#port
    this.#port = undefined
    // In order, so that the last contingency arrives: closing waits until all has been sent.
    await port?.close().catch(() => {})
  }

  #open(): void {
    this.#work(this.#connect())
  }

  async #connect(): Promise<void> {
    const { path, baud: baudRate } = this.#address
    const port = await this.#openPort({ path, baudRate }).catch((error: Error) => {
      throw new Error(explain(error.message, path))
    })
    const backlog = new Backlog(this.#clock, undefined, REFILL_ms)
    try {
      // What somebody else left unsent or unread is not of this link.
      await port.flush()
    } catch (error) {
      await port.close()
      throw error
    }
    this.#port = port
    this.#backlog = backlog
    this.#silence = new PeerWatch()
    this.#read(port, backlog)
  }

  #read(port: Port, backlog: Backlog): void {
    port.poller.once('readable', (error) => {
      if (port !== this.#port || port.fd === null) return
      if (error !== null) {
        this.#drop(GONE) // whatever the poll makes of a hang-up
        return
      }
      try {
        const length = readSync(port.fd, this.#buffer)
        if (length === 0) {
          this.#drop(GONE)
          return
        }
        this.#silence.heard()
        this.#backoff.reset()
        const received_ms = backlog.piece(length >= READ_BYTES / 2) - WORKER_ms
        this.#listener.receive(this.#buffer.slice(0, length), received_ms)
      } catch (thrown) {
        const { code, message } = thrown as NodeJS.ErrnoException
        if (code !== 'EAGAIN') {
          this.#drop(code === 'EIO' ? GONE : message)
          return
        }
      }
      if (port === this.#port) this.#read(port, backlog)
    })
  }

  #drop(reason: string): void {
    const port = this.#port
    if (port === undefined) return
    this.#port = undefined
    // Closing alone would wait until the kernel has sent what it holds, however late.
    this.#work(
      port
        .flush()
        .catch(() => {})
        .then(() => port.close()),
    )
    this.#listener.lost(reason)
  }

  #work(step: Promise<void>): void {
    this.#busy = step
      .catch((error: Error) => this.#listener.lost(error.message))
      .finally(() => {
        this.#busy = undefined
      })
  }
}

async function loadBinding(): Promise<Open> {
  try {
    const { autoDetect } = await import('@serialport/bindings-cpp')
    const binding = autoDetect()
    return async (options) => {
      const port = await binding.open(options)
      if (!('poller' in port)) throw new Error('serial ports are not supported on this system')
      return port
    }
  } catch (error) {
    throw new Error(
      `serial ports need the optional package @serialport/bindings-cpp, which is not installed or does not load here ` +
        `(npm install @serialport/bindings-cpp): ${(error as Error).message}`,
    )
  }
}

/** What the library says, and what to do about it. */
function explain(message: string, path: string): string {
  const cause = message.replace(/^Error:? ?/, '').replace(/,? cannot open \S+$/i, '')
  if (/No such file|No such device/.test(cause))
    return `${path} is not there (${cause}): plug it in, or name another device`
  if (/Permission denied/.test(cause))
    return `${path}: ${cause}: the user must be in the group that owns it, often dialout`
  if (/lock/.test(cause)) return `${path}: ${cause}: another program has it open`
  return `${path}: ${cause}`
}
