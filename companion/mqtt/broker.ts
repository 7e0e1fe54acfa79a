// An embedded broker for the demo, for tests and for a vehicle without another: aedes, MQTT 3.1.1, all in memory.
//
// It has no access list, so it belongs on the loopback address; an agent from outside needs a broker that has one
// (PROTOCOL 1 trusts it). What it has is bounds: it shares the companion's loop and memory, so nobody may fill either. For a
// companion it knows the topics of PROTOCOL 12 and who says what on them, and nobody else has the companion's names.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { Aedes, type AuthenticateError, type Client } from 'aedes'
import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import { Limit } from './limit.ts'
import { parseTopic, root } from './topics.ts'

/** Connections at a time, those that have not said who they are included; and that may come in a second. */
const CONNECTIONS_MAX = 64
const CONNECTIONS_PER_S = 50
/** Until CONNECT has come. */
const HANDSHAKE_MS = 3_000
const SUBSCRIPTIONS_MAX = 32
const FILTER_BYTES_MAX = 256
/** What waits for one client that does not read; and how long it may take nothing. */
const QUEUED_BYTES_MAX = 2 << 20
const DRAIN_MS = 2_000
/** Messages with QoS 2 of one client that it has not released. */
const INFLIGHT_MAX = 16
/** The companion's own, such as a long catalog. */
const OWN_BYTES_MAX = 16 << 20

export interface Broker {
  /** The port that it listens on, also where 0 was asked for. */
  readonly port: number
  /** What only the companion knows: its user and password, made at the start. */
  readonly credentials: string
  /** Drops every client without a word and frees the port. */
  close(): Promise<void>
}

/** For whom it stands. */
export interface BrokerRules {
  readonly vehicle: string
  /** The fields that may be kept under `context/`. */
  readonly retained: readonly string[]
  /** What was refused, for whoever wonders. */
  log(message: string): void
}

const IDENTIFIER_REJECTED = 2
const COMPANION = 'companion'

/**
 * Listens on `host:port` (an IPv6 host in brackets). Rejects where the address is no address or cannot be had. Without `rules`
 * it takes any topic, and is still bounded.
 */
export async function startBroker(address: string, rules?: BrokerRules): Promise<Broker> {
  const at = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(address)
  if (at === null || Number(at[3]) > 65535)
    throw new RangeError(`broker address ${JSON.stringify(address)}: must be host:port`)
  const host = at[1] ?? at[2]!
  const password = randomBytes(16).toString('hex')
  const own = new WeakSet<object>()
  const names = rules === undefined ? [] : [`halo-${rules.vehicle}`, `halo-${rules.vehicle}-agents`]
  const refused = new Set<string>()

  /** Each thing once; what comes beyond a hundred of them tells nobody anything. */
  const refuse = (client: Client | null, what: string): Error => {
    if (refused.size < 100 && !refused.has(what)) {
      refused.add(what)
      rules?.log(`mqtt: refused ${JSON.stringify(client?.id ?? '').slice(0, 80)}: ${what}`)
    }
    return new Error(what)
  }

  const aedes = await Aedes.createBroker({
    // Who does not read keeps nobody else waiting: its own queue is bounded.
    concurrency: 0,
    connectTimeout: HANDSHAKE_MS,
    drainTimeout: DRAIN_MS,
    maxInflightInbound: INFLIGHT_MAX,
    maxTopicLevels: 8,
    preConnect(_client, packet, done) {
      // Nothing is kept for who is away: that would be a queue without a bound.
      packet.clean = true
      done(null, true)
    },
    authenticate(client, user, secret, done) {
      const knows = user === COMPANION && secret !== undefined && isEqual(secret, password)
      if (knows) {
        own.add(client)
        ;(client.conn as Line).trust()
        return done(null, true)
      }
      if (!names.includes(client.id)) return done(null, true)
      const error = refuse(client, 'this client id is the companion’s: choose another')
      done(Object.assign(error, { returnCode: IDENTIFIER_REJECTED }) as AuthenticateError, false)
    },
    authorizePublish(client, packet, done) {
      if (rules === undefined || (client !== null && own.has(client))) return done(null)
      const problem = judge(rules, packet)
      done(problem === undefined ? null : refuse(client, problem))
    },
    authorizeSubscribe(client, subscription, done) {
      const { topic } = subscription
      const known = Object.keys((client as Subscribed).subscriptions)
      const full = known.length >= SUBSCRIPTIONS_MAX && !known.includes(topic)
      if (!full && topic.length <= FILTER_BYTES_MAX && !topic.startsWith('$')) return done(null, subscription)
      const why = full ? `more than ${SUBSCRIPTIONS_MAX} subscriptions` : 'a subscription of no topic here'
      refuse(client, why)
      done(null, null) // that one is refused, its connection goes on
    },
  })
  // Each is told once, above or by its own end of the connection.
  aedes.on('clientError', () => {})
  aedes.on('connectionError', () => {})

  const lines = new Set<Line>()
  const rate = new Rate(CONNECTIONS_PER_S)
  const turns = new Turns()
  const server = createServer((socket) => {
    if (!rate.take()) {
      refuse(null, `more than ${CONNECTIONS_PER_S} connections in a second`)
      socket.destroy()
      return
    }
    // Whoever comes to say stop must get in, however many sit there and say nothing.
    if (lines.size >= CONNECTIONS_MAX) {
      refuse(null, `more than ${CONNECTIONS_MAX} connections: the one that has been silent for longest makes room`)
      longestSilent(lines)?.destroy()
    }
    // A response must not wait until the companion's kernel acknowledges what came before it: that takes up to 40 ms.
    socket.setNoDelay(true)
    const line = new Line(socket, turns)
    lines.add(line)
    line.on('close', () => lines.delete(line))
    aedes.handle(line as unknown as Socket)
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(Number(at[3]), host, resolve)
    })
  } catch (error) {
    aedes.close()
    throw error
  }
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error(`broker address ${address}: not bound to a port`)
  return {
    port: bound.port,
    credentials: `${COMPANION}:${password}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const line of lines) line.destroy()
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
      await closed
    },
  }
}

/** What speaks against a message of anybody but the companion (PROTOCOL 12); takes from it a flag that it may not have. */
function judge({ vehicle, retained }: BrokerRules, packet: { topic: string; retain: boolean }): string | undefined {
  const topic = parseTopic(vehicle, packet.topic)
  const said = JSON.stringify(packet.topic.slice(0, 80))
  if (topic?.kind !== 'response' && topic?.kind !== 'context' && topic?.kind !== 'operator') {
    const may = ['response/<agent>', 'context/<field>', 'operator/<verb>'].map((name) => `${root(vehicle)}/${name}`)
    return `publishing to ${said}; it must be one of ${may.join(', ')}`
  }
  // What would be kept for whoever comes later is said now and forgotten.
  if (packet.retain && !(topic.kind === 'context' && retained.includes(topic.name))) packet.retain = false
  return undefined
}

/**
 * One packet of all strangers together in a turn of the loop, by turns. The companion hears one message in a turn, so a flood
 * waits in its sender's socket and not in front of it, where the operator's word would stand at its end.
 */
class Turns {
  readonly #waiting: (() => void)[] = []

  take(go: () => void): void {
    this.#waiting.push(go)
    if (this.#waiting.length === 1) this.#schedule()
  }

  #schedule(): void {
    setImmediate(() => {
      this.#waiting.shift()!()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }
}

/** So many in a second, at once or one by one. */
class Rate {
  readonly #perSecond: number
  #left: number
  #since_ms = Date.now()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#left = perSecond
  }

  take(): boolean {
    const now_ms = Date.now()
    const earned = (Math.max(0, now_ms - this.#since_ms) / 1000) * this.#perSecond
    this.#since_ms = now_ms
    this.#left = Math.min(this.#perSecond, this.#left + earned)
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}

/** Its types leave this out. */
type Subscribed = Client & { readonly subscriptions: Readonly<Record<string, unknown>> }

/** Of strangers, so far. */
let packets = 0

/** A socket as the broker sees it: whole packets come out, one at a time, and what waits to be read by the other end has a bound. */
class Line extends Duplex {
  readonly #socket: Socket
  readonly #limit: Limit
  /** Which of all packets its newest is: who has the least has been silent for longest. */
  heard = ++packets
  /** The companion's never makes room. */
  isTrusted = false
  #queuedMax = QUEUED_BYTES_MAX
  #wanted = false

  constructor(socket: Socket, turns: Turns) {
    super({ readableObjectMode: true, readableHighWaterMark: 1 })
    this.#socket = socket
    const nextTurn = (go: () => void): void => turns.take(go)
    this.#limit = new Limit({ payload: RESPONSE_BYTES_MAX, protocolVersion: 4, perTurn: 1, nextTurn })
    this.#limit.on('readable', () => this.#pull())
    this.#limit.on('end', () => this.push(null))
    this.#limit.on('error', (error) => this.destroy(error))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
    socket.pipe(this.#limit)
  }

  /** It is the companion's. */
  trust(): void {
    this.isTrusted = true
    this.#limit.payload = OWN_BYTES_MAX
    this.#limit.perTurn = Number.POSITIVE_INFINITY
    this.#queuedMax = OWN_BYTES_MAX
  }

  override _read(): void {
    this.#wanted = true
    this.#pull()
  }

  #pull(): void {
    while (this.#wanted) {
      const packet: Buffer | null = this.#limit.read()
      if (packet === null) return
      this.heard = ++packets
      this.#wanted = this.push(packet)
    }
  }

  // Whoever says something to one that does not read is told that nothing goes, and it is gone.
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Writable.write
  override write(...args: any[]): boolean {
    if (this.writableLength > this.#queuedMax && !this.destroyed) this.destroy(new Error('it does not read'))
    return super.write(...(args as [Buffer]))
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }
}

/** Of strangers that are still there. */
function longestSilent(lines: ReadonlySet<Line>): Line | undefined {
  let found: Line | undefined
  for (const line of lines) {
    if (line.isTrusted || line.destroyed) continue
    if (found === undefined || line.heard < found.heard) found = line
  }
  return found
}

const isEqual = (said: Uint8Array, secret: string): boolean =>
  said.length === secret.length && timingSafeEqual(said, Buffer.from(secret))
