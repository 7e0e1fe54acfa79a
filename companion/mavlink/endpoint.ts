// Where the vehicle's link ends on this machine: `udpin://host:port`, `udpout://host:port`, `tcpout://host:port`.
//
// A transmit is on the wire when it returns, or it has not happened: what would wait in user space could be sent late, and a
// late setpoint is a stale one (G5). A *connected* UDP socket sends in the call, and the kernel drops all other senders.

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket as TcpSocket } from 'node:net'

export interface EndpointListener {
  /** Whether a datagram comes from the autopilot, asked for `udpin` while there is no peer; a `Link` answers. */
  recognises(datagram: Uint8Array): boolean
  /** A datagram of the peer, or the next bytes of the stream. */
  receive(bytes: Uint8Array): void
}

export interface Endpoint {
  readonly url: string
  /** Bytes come in pieces of any size, not as datagrams. */
  readonly stream: boolean
  /** There is a peer to send to. */
  readonly connected: boolean
  /** Local port; 0 where there is none. */
  readonly port: number
  /** Puts the bytes on the wire before it returns, or returns false. */
  transmit(bytes: Uint8Array): boolean
  /** Lets go of a silent peer, opens again what has broken. Call it a few times a second. */
  tick(now_ms: number): void
  close(): Promise<void>
}

/** A peer that has been silent for so long may have come back from another port: after a reboot it does. */
const SILENCE_ms = 3000
const REOPEN_ms = 1000

/** Throws for a URL that cannot be opened; a `tcpout` that nobody answers yet is tried again at each `tick`. */
export async function openEndpoint(url: string, listener: EndpointListener): Promise<Endpoint> {
  const { protocol, host, port } = parse(url)
  if (protocol === 'tcpout:') return new TcpOut(url, host, port, listener)
  const endpoint = protocol === 'udpin:' ? new UdpIn(url, host, port, listener) : new UdpOut(url, host, port, listener)
  await endpoint.open()
  return endpoint
}

function parse(url: string): { protocol: string; host: string; port: number } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol === 'serial:') throw new Error(`endpoint ${url}: serial ports are not supported yet`)
  if (parsed === undefined || !['udpin:', 'udpout:', 'tcpout:'].includes(parsed.protocol)) {
    throw new Error(`endpoint ${url}: must be udpin://host:port, udpout://host:port or tcpout://host:port`)
  }
  if (parsed.hostname === '' || parsed.port === '') throw new Error(`endpoint ${url}: host and port are missing`)
  return { protocol: parsed.protocol, host: parsed.hostname, port: Number(parsed.port) }
}

abstract class Udp implements Endpoint {
  readonly url: string
  readonly stream = false
  protected readonly host: string
  protected readonly givenPort: number
  protected readonly listener: EndpointListener
  protected socket: UdpSocket | undefined
  protected peered = false
  #closed = false
  #reopening = false
  #broken_ms: number | undefined

  constructor(url: string, host: string, port: number, listener: EndpointListener) {
    this.url = url
    this.host = host
    this.givenPort = port
    this.listener = listener
  }

  get connected(): boolean {
    return this.peered
  }

  get port(): number {
    return this.socket?.address().port ?? 0
  }

  async open(): Promise<void> {
    const socket = createSocket('udp4')
    try {
      await this.start(socket)
    } catch (error) {
      socket.close()
      throw error
    }
    // A peer that is gone answers with ICMP, which the socket reports as an error: silence shows the same.
    socket.on('error', () => {})
    if (this.#closed) socket.close()
    else this.socket = socket
  }

  transmit(bytes: Uint8Array): boolean {
    const socket = this.socket
    if (socket === undefined || !this.peered || socket.getSendQueueCount() !== 0) return false
    socket.send(bytes)
    if (socket.getSendQueueCount() === 0) return true
    // The kernel did not take it, and it must not leave later: closing the socket drops what it queued.
    this.drop()
    return false
  }

  protected drop(): void {
    this.peered = false
    this.socket?.close()
    this.socket = undefined
  }

  tick(now_ms: number): void {
    if (this.socket !== undefined) {
      this.#broken_ms = undefined
      this.listen(now_ms)
      return
    }
    this.#broken_ms ??= now_ms
    if (now_ms - this.#broken_ms >= REOPEN_ms) {
      this.#broken_ms = now_ms
      this.reopen()
    }
  }

  protected reopen(): void {
    if (this.#closed || this.#reopening) return
    this.#reopening = true
    this.open()
      .catch(() => {}) // tried again at a later tick
      .finally(() => {
        this.#reopening = false
      })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.peered = false
    const socket = this.socket
    this.socket = undefined
    if (socket !== undefined) await new Promise<void>((resolve) => socket.close(resolve))
  }

  protected abstract start(socket: UdpSocket): Promise<void>
  protected abstract listen(now_ms: number): void
}

/** Sends first, to a known peer. */
class UdpOut extends Udp {
  protected async start(socket: UdpSocket): Promise<void> {
    socket.on('message', (datagram) => this.listener.receive(datagram))
    socket.connect(this.givenPort, this.host)
    await once(socket, 'connect')
    this.peered = true
  }

  protected listen(): void {}
}

/** Waits for the autopilot and then knows nobody else, until that is silent. */
class UdpIn extends Udp {
  #peer: RemoteInfo | undefined
  #heard = false
  #heard_ms = 0
  #bound: number | undefined

  protected async start(socket: UdpSocket): Promise<void> {
    this.#peer = undefined
    socket.on('message', (datagram, sender) => this.#receive(socket, datagram, sender))
    socket.bind(this.#bound ?? this.givenPort, this.host)
    await once(socket, 'listening')
    this.#bound = socket.address().port
  }

  protected listen(now_ms: number): void {
    if (this.#heard) {
      this.#heard = false
      this.#heard_ms = now_ms
    }
    if (!this.peered || now_ms - this.#heard_ms < SILENCE_ms) return
    // A new socket rather than `disconnect`, which gives up the port where the kernel chose it.
    this.drop()
    this.reopen()
  }

  #receive(socket: UdpSocket, datagram: Uint8Array, sender: RemoteInfo): void {
    if (this.#peer === undefined) {
      if (!this.listener.recognises(datagram)) return
      this.#peer = sender
      socket.connect(sender.port, sender.address, (error?: Error) => {
        if (socket !== this.socket || this.#peer !== sender) return
        if (error === undefined || error === null) this.peered = true
        else this.#peer = undefined
      })
    }
    // What others sent before the kernel knew the peer is still in its queue.
    if (sender.port !== this.#peer.port || sender.address !== this.#peer.address) return
    this.#heard = true
    this.listener.receive(datagram)
  }
}

class TcpOut implements Endpoint {
  readonly url: string
  readonly stream = true
  readonly #host: string
  readonly #port: number
  readonly #listener: EndpointListener
  #socket: TcpSocket | undefined
  #connected = false
  #closed = false
  #broken_ms: number | undefined

  constructor(url: string, host: string, port: number, listener: EndpointListener) {
    this.url = url
    this.#host = host
    this.#port = port
    this.#listener = listener
    this.#open()
  }

  get connected(): boolean {
    return this.#connected
  }

  get port(): number {
    return this.#socket?.localPort ?? 0
  }

  transmit(bytes: Uint8Array): boolean {
    const socket = this.#socket
    if (socket === undefined || !this.#connected || socket.writableLength !== 0) return false
    socket.write(bytes)
    if (socket.writableLength === 0) return true
    this.#drop(socket)
    return false
  }

  tick(now_ms: number): void {
    if (this.#socket !== undefined) {
      this.#broken_ms = undefined
      return
    }
    this.#broken_ms ??= now_ms
    if (this.#closed || now_ms - this.#broken_ms < REOPEN_ms) return
    this.#broken_ms = undefined
    this.#open()
  }

  async close(): Promise<void> {
    this.#closed = true
    const socket = this.#socket
    if (socket === undefined) return
    this.#drop(socket)
    if (!socket.closed) await once(socket, 'close')
  }

  #open(): void {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true })
    this.#socket = socket
    socket.on('connect', () => {
      this.#connected = socket === this.#socket
    })
    socket.on('data', (bytes) => {
      if (socket === this.#socket) this.#listener.receive(bytes)
    })
    socket.on('error', () => {})
    socket.on('end', () => this.#drop(socket))
    socket.on('close', () => this.#drop(socket))
  }

  #drop(socket: TcpSocket): void {
    socket.destroy()
    if (socket !== this.#socket) return
    this.#socket = undefined
    this.#connected = false
  }
}
