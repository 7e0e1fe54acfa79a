// Where the vehicle's link ends on this machine (`address.ts` has the forms of its URL).
//
// A transmit is on the wire when it returns, or it has not happened: what would wait in user space could be sent late, and a
// late setpoint is a stale one (G5). A *connected* UDP socket sends in the call, and the kernel drops all other senders. What is
// lost takes with it all that lies in user space or the kernel: no byte of before a loss leaves after it.

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket as TcpSocket } from 'node:net'
import type { Clock } from '../machine/clock.ts'
import { type NetworkAddress, parseAddress } from './address.ts'
import { Backlog } from './backlog.ts'
import { Backoff } from './backoff.ts'
import { PeerWatch } from './peer-watch.ts'

/**
 * That a datagram comes from the autopilot: for sure, or as far as its key says, but with an old time stamp. Then it may be one that
 * lost its clock, or a recording of it.
 */
export type Recognised = 'fresh' | 'stale'

export interface EndpointListener {
  /** Whether a datagram comes from the autopilot, asked for `udpin` while there is no peer; a `Link` answers. */
  recognises(datagram: Uint8Array): Recognised | undefined
  /**
   * A datagram of the peer, or the next bytes of the stream, and since when at the longest they may have lain in the kernel.
   * False: nothing in it is good.
   */
  receive(bytes: Uint8Array, received_ms: number): boolean
  /** Why there is no link, for people; again at each attempt that fails. */
  lost(reason: string): void
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
  /**
   * Lets go of a silent peer, opens again what has broken. What is received is older by up to the time between two ticks: call
   * it a hundred times a second.
   */
  tick(now_ms: number): void
  close(): Promise<void>
}

/** The event loop takes no more datagrams than this off a socket in one turn. */
const DATAGRAMS = 32
/** A read of a stream that brought so much may come from a closed window, behind which the sender holds more that is as old. */
const STREAM_BYTES = 16_384
const REFILL_ms = 500

/**
 * Throws for a URL that cannot be opened; a `tcpout` that nobody answers yet, or a `serial` whose device is not there yet, is
 * tried again at each `tick` that is due. `random` (0 to 1) spreads these attempts.
 */
export async function openEndpoint(
  url: string,
  listener: EndpointListener,
  clock: Pick<Clock, 'now'>,
  random = Math.random,
): Promise<Endpoint> {
  const address = parseAddress(url)
  const backoff = new Backoff(random)
  if (address.kind === 'serial') {
    const { Serial } = await import('./serial.ts')
    return Serial.open(url, address, listener, clock, backoff)
  }
  if (address.kind === 'tcpout') return new TcpOut(url, address, listener, clock, backoff)
  const endpoint = new (address.kind === 'udpin' ? UdpIn : UdpOut)(url, address, listener, clock, backoff)
  await endpoint.open()
  return endpoint
}

abstract class Udp implements Endpoint {
  readonly url: string
  readonly stream = false
  protected readonly address: NetworkAddress
  protected readonly listener: EndpointListener
  protected socket: UdpSocket | undefined
  protected peered = false
  readonly #clock: Pick<Clock, 'now'>
  readonly #backoff: Backoff
  #backlog: Backlog | undefined
  #closed = false
  #opening = false
  /** A port that the kernel chose stays ours: PX4 answers for ever to the one that it heard first. */
  #bound: number | undefined

  constructor(
    url: string,
    address: NetworkAddress,
    listener: EndpointListener,
    clock: Pick<Clock, 'now'>,
    backoff: Backoff,
  ) {
    this.url = url
    this.address = address
    this.listener = listener
    this.#clock = clock
    this.#backoff = backoff
  }

  get connected(): boolean {
    return this.peered
  }

  get port(): number {
    return this.socket?.address().port ?? 0
  }

  async open(): Promise<void> {
    const backlog = new Backlog(this.#clock, DATAGRAMS)
    const socket = createSocket('udp4')
    // Whoever sent it: each that is passed by was one of the batch.
    socket.on('message', (datagram, sender) => this.receive(socket, datagram, sender, backlog.piece()))
    try {
      const { host, port } = this.local
      socket.bind(this.#bound ?? port, host)
      await once(socket, 'listening')
      await this.start(socket)
    } catch (error) {
      socket.close()
      throw error
    }
    // A peer that is gone answers with ICMP, which the socket reports as an error: silence shows the same. The loop reads no
    // further in that turn.
    socket.on('error', () => backlog.piece(true))
    this.#bound = socket.address().port
    this.#backoff.reset()
    if (this.#closed) {
      socket.close()
      return
    }
    this.socket = socket
    this.#backlog = backlog
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
      this.#backlog!.look()
      this.listen(now_ms)
    } else if (!this.#opening && this.#backoff.due(now_ms)) this.reopen()
  }

  protected reopen(): void {
    if (this.#closed || this.#opening) return
    this.#opening = true
    this.open()
      .catch((error: Error) => this.listener.lost(error.message))
      .finally(() => {
        this.#opening = false
      })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.peered = false
    const socket = this.socket
    this.socket = undefined
    if (socket !== undefined) await new Promise<void>((resolve) => socket.close(resolve))
  }

  /** What to bind; port 0 takes any. */
  protected abstract readonly local: { readonly host?: string; readonly port: number }
  protected abstract start(socket: UdpSocket): Promise<void>
  protected abstract receive(socket: UdpSocket, datagram: Uint8Array, sender: RemoteInfo, received_ms: number): void
  protected abstract listen(now_ms: number): void
}

/** Sends first, to a known peer. */
class UdpOut extends Udp {
  protected readonly local = { port: 0 }
  #peer: { readonly port: number; readonly address: string } | undefined

  protected async start(socket: UdpSocket): Promise<void> {
    this.#peer = undefined
    socket.connect(this.address.port, this.address.host)
    await once(socket, 'connect')
    this.#peer = socket.remoteAddress()
    this.peered = true
  }

  protected receive(_socket: UdpSocket, datagram: Uint8Array, sender: RemoteInfo, received_ms: number): void {
    // What others sent before the kernel knew the peer is still in its queue.
    if (sender.port !== this.#peer?.port || sender.address !== this.#peer.address) return
    this.listener.receive(datagram, received_ms)
  }

  protected listen(): void {}
}

/** How long everybody is listened to for a fresh sender before a stale one is spoken to. Autopilots send heartbeats each second. */
const LISTEN_ms = 1500
const STALE_MAX = 12
const TRIED_MAX = 256

/**
 * Waits for the autopilot and then knows nobody else, until that has said nothing good for a while. Whoever is fresh is taken at
 * once. A stale sender is spoken to only where no fresh one was heard, the one that was tried least first: he has as long as any
 * other peer to say something good, and then everybody is listened to again.
 */
class UdpIn extends Udp {
  #peer: RemoteInfo | undefined
  #silence = new PeerWatch()
  /** Stale senders since everybody is listened to, and since which tick they are. */
  readonly #stale = new Map<string, RemoteInfo>()
  #stale_ms: number | undefined
  /** How often a stale sender was spoken to. */
  readonly #tried = new Map<string, number>()

  protected get local() {
    return this.address
  }

  protected async start(): Promise<void> {
    this.#peer = undefined
    this.#stale.clear()
    this.#stale_ms = undefined
  }

  protected listen(now_ms: number): void {
    if (this.#peer === undefined) this.#trySomebody(now_ms)
    if (!this.peered || !this.#silence.isOver(now_ms)) return
    // A new socket rather than `disconnect`, which gives up the port where the kernel chose it.
    this.drop()
    this.reopen()
  }

  protected receive(socket: UdpSocket, datagram: Uint8Array, sender: RemoteInfo, received_ms: number): void {
    if (this.#peer === undefined) {
      const recognised = this.listener.recognises(datagram)
      if (recognised === 'stale' && this.#stale.size < STALE_MAX) this.#stale.set(nameOf(sender), sender)
      if (recognised !== 'fresh') return
      this.#take(socket, sender)
    }
    // What others sent before the kernel knew the peer is still in its queue.
    if (sender.port !== this.#peer?.port || sender.address !== this.#peer.address) return
    if (this.listener.receive(datagram, received_ms)) this.#silence.heard()
  }

  #trySomebody(now_ms: number): void {
    if (this.#stale.size === 0) return
    this.#stale_ms ??= now_ms
    if (now_ms - this.#stale_ms < LISTEN_ms) return
    const tries = (name: string): number => this.#tried.get(name) ?? 0
    const name = [...this.#stale.keys()].reduce((least, each) => (tries(each) < tries(least) ? each : least))
    if (this.#tried.size >= TRIED_MAX) this.#tried.delete(this.#tried.keys().next().value!)
    this.#tried.set(name, tries(name) + 1)
    this.#take(this.socket!, this.#stale.get(name)!)
  }

  #take(socket: UdpSocket, sender: RemoteInfo): void {
    this.#peer = sender
    this.#silence = new PeerWatch()
    socket.connect(sender.port, sender.address, (error?: Error) => {
      if (socket !== this.socket || this.#peer !== sender) return
      if (error === undefined || error === null) this.peered = true
      else this.#peer = undefined
    })
  }
}

const nameOf = ({ address, port }: RemoteInfo): string => `${address}:${port}`

class TcpOut implements Endpoint {
  readonly url: string
  readonly stream = true
  readonly #address: NetworkAddress
  readonly #listener: EndpointListener
  readonly #clock: Pick<Clock, 'now'>
  readonly #backoff: Backoff
  #silence = new PeerWatch()
  #backlog: Backlog
  #socket: TcpSocket | undefined
  #connected = false
  #closed = false

  constructor(
    url: string,
    address: NetworkAddress,
    listener: EndpointListener,
    clock: Pick<Clock, 'now'>,
    backoff: Backoff,
  ) {
    this.url = url
    this.#address = address
    this.#listener = listener
    this.#clock = clock
    this.#backoff = backoff
    this.#backlog = this.#newBacklog()
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
    this.#drop(socket, 'it takes no more')
    return false
  }

  tick(now_ms: number): void {
    const socket = this.#socket
    if (socket === undefined) {
      if (!this.#closed && this.#backoff.due(now_ms)) this.#open()
      return
    }
    this.#backlog.look()
    // The kernel would go on for minutes, and then deliver what it kept.
    if (this.#silence.isOver(now_ms)) this.#drop(socket, 'nothing was heard for 3 s')
  }

  async close(): Promise<void> {
    this.#closed = true
    const socket = this.#socket
    if (socket === undefined) return
    this.#socket = undefined
    this.#connected = false
    // In order, so that the last contingency arrives.
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  }

  #open(): void {
    const { host, port } = this.#address
    const backlog = this.#newBacklog()
    this.#backlog = backlog
    const socket = connect({ host, port, noDelay: true })
    this.#socket = socket
    this.#silence = new PeerWatch()
    socket.on('connect', () => {
      this.#connected = socket === this.#socket
    })
    socket.on('data', (bytes) => {
      if (socket !== this.#socket) return
      this.#silence.heard()
      this.#backoff.reset()
      this.#listener.receive(bytes, backlog.piece(bytes.length >= STREAM_BYTES))
    })
    socket.on('error', ({ message }) => this.#drop(socket, message))
    socket.on('end', () => this.#drop(socket, 'the other side closed it'))
    socket.on('close', () => this.#drop(socket, 'the other side closed it'))
  }

  #newBacklog(): Backlog {
    return new Backlog(this.#clock, undefined, REFILL_ms)
  }

  #drop(socket: TcpSocket, reason: string): void {
    if (socket !== this.#socket) return
    this.#socket = undefined
    this.#connected = false
    // A plain close would have the kernel deliver what it holds, however late; a reset throws that away.
    if (socket.connecting) socket.destroy()
    else socket.resetAndDestroy()
    this.#listener.lost(reason)
  }
}
