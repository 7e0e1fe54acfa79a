// One connection to a broker, made again and again, and bounded both ways: nobody makes it hold more than one message that comes
// in, nor more than so much that a slow broker does not take.
//
// Safety by forgetting, here too. A link that was lost takes with it all that had not been delivered: nothing is queued
// while there is no link, and what was under way is not sent again.

import { Socket } from 'node:net'
import mqtt, { type MqttClient } from 'mqtt'
import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import type { Certificates } from './certificates.ts'
import { Limit } from './limit.ts'

/** The broker calls the link lost, and says the last will, after one and a half times this. */
const KEEPALIVE_S = 5
const CONNECT_TIMEOUT_MS = 10_000
/** How long the end may take, the last words included. */
const FAREWELL_MS = 1_000

/** Links that last no longer than this, so many of them in a row, are somebody's doing. */
const BRIEF_MS = 5_000
const BRIEF_MAX = 3

/** Of what the broker has not acknowledged: beyond it what is said is dropped, and beyond twice that what is said to people. */
const UNACKNOWLEDGED_BYTES = 1 << 20
/** What a message costs beside its bytes. */
const OVERHEAD_BYTES = 256
/** A broker of MQTT 5 keeps to itself what is longer: neither it nor we need carry what is refused anyway. */
const PACKET_BYTES = 1 << 20

export type Level = 'debug' | 'info' | 'warn' | 'error'

/** What only says that the broker is away: told where nothing else has been. */
const AWAY =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|connack timeout|ends it/
/** Reasons of one outage that are told. */
const REASONS_MAX = 4

/** A time without a link, from the first attempt that failed to the link. */
interface Outage {
  readonly since_ms: number
  attempts: number
  unsaid: number
  readonly told: Set<string>
}

/** `agents`: may be dropped first. `people`: still goes where that is full. */
export type For = 'agents' | 'people'

export interface ConnectionOptions {
  /** `mqtt://` or `mqtts://`, user and password in it if any. */
  readonly url: string
  /**
   * The same each time: a broker that still holds our dead link ends it, and says its will, before it greets us. Under a random
   * name that will would come later, and overwrite the `online` of the living.
   */
  readonly clientId: string
  readonly protocolVersion: 4 | 5
  readonly certificates: Certificates
  readonly filters: readonly string[]
  readonly will?: { readonly topic: string; readonly payload: Uint8Array }
  /** In order of arrival; timers and sockets have their turn after each. */
  onMessage(topic: string, bytes: Uint8Array, retained: boolean): void
  /** Bytes were read, of whatever they are. */
  onRead?(): void
  /** After each (re)connect, once subscribed. */
  onConnected(): void
  onLost(): void
  /** All that had been said is acknowledged. */
  onDrained?(): void
  log(message: string, level: Level): void
}

export class Connection {
  /** Connected and subscribed. */
  linked = false
  readonly #options: ConnectionOptions
  readonly #client: MqttClient
  #leaving = false
  #linkedAt_ms = 0
  #brief = 0
  #outage: Outage | undefined
  #unacknowledged_bytes = 0
  #dropped = 0

  /** Connects; a broker that is away or refuses is logged, never thrown. Throws where the URL cannot be used. */
  constructor(options: ConnectionOptions) {
    this.#options = options
    const { will, protocolVersion } = options
    this.#client = mqtt.connect(options.url, {
      ...options.certificates,
      // Handlers come first, the connection after them.
      manualConnect: true,
      clientId: options.clientId,
      clean: true,
      resubscribe: false,
      queueQoSZero: false,
      keepalive: KEEPALIVE_S,
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectPeriod: reconnectPeriod_ms(),
      reconnectOnConnackError: true,
      protocolVersion,
      ...(protocolVersion === 5 && { properties: { maximumPacketSize: PACKET_BYTES } }),
      ...(will && { will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
    })
    this.#bound()
    this.#attend()
    this.#client.connect()
  }

  /** False: there is no link, or the broker takes too little, so it is dropped, not kept for later. */
  publish(topic: string, bytes: Uint8Array, to: For, { retain, qos }: { retain: boolean; qos: 0 | 1 }): boolean {
    if (!this.#client.connected || this.#leaving) {
      if (this.#outage !== undefined) this.#outage.unsaid++
      return false
    }
    const limit = to === 'people' ? 2 * UNACKNOWLEDGED_BYTES : UNACKNOWLEDGED_BYTES
    if (this.#unacknowledged_bytes >= limit) {
      if (this.#dropped++ === 0) this.#log('mqtt: the broker takes too little of what is said: it is dropped')
      return false
    }
    this.#send(topic, bytes, retain, qos)
    return true
  }

  /** Subscribes to these afresh: some brokers send what is retained for a new subscription only. */
  resubscribe(filter: string): void {
    if (!this.linked) return // the next connect subscribes afresh anyway
    this.#client.unsubscribe(filter, (error) => {
      if (error) this.#log(`mqtt: unsubscribing from ${filter}: ${error.message}`)
      else if (this.#client.connected) this.#subscribe([filter])
    })
  }

  /** Publishes the last words, if any, and leaves. */
  async end(last?: { readonly topic: string; readonly payload: Uint8Array }): Promise<void> {
    if (this.#leaving) return
    this.#leaving = true
    const client = this.#client
    // A broker that is frozen acknowledges nothing, and never closes its end.
    const timer = setTimeout(() => client.stream.destroy(), FAREWELL_MS)
    if (client.connected && last !== undefined) {
      await new Promise<void>((resolve) => this.#send(last.topic, last.payload, true, 1, resolve))
    }
    // Forced only where the words could not be said: without a DISCONNECT the broker then says the will.
    await client.endAsync(!client.connected || Object.keys(client.outgoing).length > 0)
    clearTimeout(timer)
  }

  /** A filter stands between the stream, whatever it is, and the library's parser. */
  #bound(): void {
    const { protocolVersion, onRead } = this.#options
    const client = this.#client as unknown as { streamBuilder: (client: MqttClient) => MqttClient['stream'] }
    const build = client.streamBuilder
    client.streamBuilder = (of) => {
      const stream = build(of)
      const pipe = stream.pipe.bind(stream)
      if (onRead !== undefined) stream.on('data', onRead)
      stream.pipe = (parser) => {
        const limit = new Limit({ payload: RESPONSE_BYTES_MAX, protocolVersion })
        limit.on('error', (error) => stream.destroy(error))
        return pipe(limit).pipe(parser)
      }
      return stream
    }
  }

  #attend(): void {
    const client = this.#client
    const { filters, onMessage, onConnected, onLost } = this.#options
    client.on('connect', () => {
      // What is said must not wait for the broker's acknowledgement of what went before.
      if (client.stream instanceof Socket) client.stream.setNoDelay(true)
      this.#subscribe(filters, () => {
        this.linked = true
        this.#linkedAt_ms = Date.now()
        this.#log(`mqtt: connected${this.#backIn()}`, 'info')
        onConnected()
      })
    })

    client.on('reconnect', () => {
      if (this.#outage !== undefined) this.#outage.attempts++
    })

    client.on('close', () => {
      // The library keeps to itself what ends a link once it is encrypted, such as a certificate that is refused.
      const { errored } = client.stream as Socket
      const reason = errored ? messageOf(errored) : undefined
      // Drawn anew for each attempt, so that a fleet does not come back in step.
      client.options.reconnectPeriod = reconnectPeriod_ms()
      const wasLinked = this.linked
      this.linked = false
      if (!wasLinked) this.#down(reason ?? 'the broker ends it before it is a connection')
      else if (!this.#leaving) this.#lost(reason)
      // The library would send again what was not acknowledged; by then it is stale.
      for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id))
      this.#unacknowledged_bytes = 0
      if (wasLinked && !this.#leaving) onLost()
    })

    // Without a listener a refused reconnect would end the process.
    client.on('error', (error) => {
      if (!this.linked) this.#down(messageOf(error)) // of one that was linked its end tells
    })

    // The library hands out the next message when this one is called done: a flood waits in the socket of its sender, not
    // here, and never keeps anybody waiting for more than one message.
    client.handleMessage = (packet, done) => {
      const { topic, payload, retain } = packet
      onMessage(String(topic), typeof payload === 'string' ? Buffer.from(payload) : payload, retain)
      setImmediate(done)
    }
  }

  #subscribe(filters: readonly string[], then?: () => void): void {
    const client = this.#client
    client.subscribe([...filters], { qos: 1 }, (error) => {
      if (error) {
        // A link that does not hear is none: drop it, and the next attempt follows.
        this.#log(`mqtt: subscribing to ${filters.join(', ')}: ${error.message}`)
        client.stream.destroy()
      } else if (client.connected) then?.()
    })
  }

  #send(topic: string, bytes: Uint8Array, retain: boolean, qos: 0 | 1, then?: () => void): void {
    const { stream } = this.#client
    const cost = bytes.length + OVERHEAD_BYTES
    this.#unacknowledged_bytes += cost
    this.#client.publish(topic, bytes as Buffer, { retain, qos }, (error) => {
      // A link that was lost has taken its count with it.
      if (stream === this.#client.stream && this.#unacknowledged_bytes >= cost) this.#unacknowledged_bytes -= cost
      if (error && this.#outage !== undefined) this.#outage.unsaid++
      else if (error && !this.#leaving) this.#log(`mqtt: ${topic} not delivered: ${error.message}`)
      then?.()
      if (this.#unacknowledged_bytes === 0 && this.#dropped > 0) this.#drained()
    })
  }

  #lost(reason: string | undefined): void {
    this.#brief = Date.now() - this.#linkedAt_ms < BRIEF_MS ? this.#brief + 1 : 0
    if (this.#brief < BRIEF_MAX) return this.#down(`connection lost${reason === undefined ? '' : `: ${reason}`}`)
    // A broker ends the older of two links of one name: two companions of one vehicle end each other's for ever.
    const why = 'does another companion run as this vehicle, or does the broker take our two connections for one?'
    this.#down(`connection lost again at once: ${why}`, 'error')
  }

  /** There is no link, and why: said once an outage, and once more for each reason that is more than the broker's being away. */
  #down(reason: string, level: Level = 'warn'): void {
    if (this.#leaving) return
    this.#outage ??= { since_ms: Date.now(), attempts: 0, unsaid: 0, told: new Set() }
    const { told } = this.#outage
    if (told.has(reason) || told.size >= REASONS_MAX || (told.size > 0 && AWAY.test(reason))) return
    told.add(reason)
    this.#log(`mqtt: ${reason}`, level)
  }

  /** There is a link again: how long that took, and what it cost. Nothing where there was none to lose. */
  #backIn(): string {
    const outage = this.#outage
    this.#outage = undefined
    if (outage === undefined) return ''
    const { since_ms, attempts, unsaid } = outage
    const s = ((Date.now() - since_ms) / 1000).toFixed(1)
    const lost = unsaid === 0 ? '' : `; ${unsaid} messages were not said meanwhile`
    return ` after ${s} s and ${attempts} attempts${lost}`
  }

  #drained(): void {
    this.#log(`mqtt: the broker takes what is said again; ${this.#dropped} messages were dropped`)
    this.#dropped = 0
    this.#options.onDrained?.()
  }

  #log(message: string, level: Level = 'warn'): void {
    this.#options.log(message, level)
  }
}

/** Of several addresses that all refuse the error has a code and no message. */
const messageOf = (error: Error & { code?: unknown }): string => error.message || String(error.code ?? error)

/** 0.5 to 1.5 s. */
const reconnectPeriod_ms = (): number => 500 + Math.floor(Math.random() * 1000)
