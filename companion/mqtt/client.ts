// The companion's end of MQTT (PROTOCOL 12): it brings in what agents, ground and operator say, and takes out publications.
//
// Safety by forgetting, here too. A link that was lost takes with it all that had not been delivered: nothing is queued
// while there is no link, and what was under way is not sent again. What must be known after an outage is retained state,
// and the daemon publishes that afresh in `onConnected`.

import { Socket } from 'node:net'
import mqtt from 'mqtt'
import type { Certificates } from './certificates.ts'
import { parseTopic, root, type Topic } from './topics.ts'

/** The broker calls the link lost, and says the last will, after one and a half times this. */
const KEEPALIVE_S = 5
const CONNECT_TIMEOUT_MS = 10_000
/** How long the last words may take at the end. */
const FAREWELL_MS = 1_000

/** Links that last no longer than this, so many of them in a row, are somebody's doing. */
const BRIEF_MS = 5_000
const BRIEF_MAX = 3

export interface ClientOptions {
  /** `mqtt://` or `mqtts://`, user and password in it if any. */
  readonly url: string
  readonly vehicle: string
  /** MQTT 3.1.1 (4, the default) or 5; nothing depends on a property of 5. */
  readonly protocolVersion?: 4 | 5
  /** For `mqtts://` and `wss://`. */
  readonly certificates?: Certificates
  /** Payload of the retained `status` that the broker publishes when we are gone without a word. */
  readonly will: { readonly payload: Uint8Array }
  /** In order of arrival; timers and sockets have their turn after each. `retained`: not said now, but kept by the broker. */
  onMessage(topic: Topic, bytes: Uint8Array, retained: boolean): void
  /** After each (re)connect, once subscribed: publish all retained state. */
  onConnected(): void
  onLost(): void
  log(message: string, level: 'info' | 'warn' | 'error'): void
}

export interface Client {
  readonly connected: boolean
  /** `topic` is the name below the root. False: there is no link, so it is dropped, not kept for later. */
  publish(topic: string, bytes: Uint8Array, options: { readonly retain: boolean; readonly qos: 0 | 1 }): boolean
  /** Subscribes to the context afresh, so that a new session sees what is retained there (PROTOCOL 11). */
  resubscribe(): void
  /** Publishes the last words (by default the will) as retained `status`, and leaves. */
  end(lastWords?: Uint8Array): Promise<void>
}

/**
 * Returns at once and connects, again and again; a broker that is away or refuses is logged, never thrown. Throws where the
 * URL or the vehicle's name cannot be used.
 */
export function connect(options: ClientOptions): Client {
  const { vehicle } = options
  const log = (message: string, level: 'info' | 'warn' | 'error' = 'warn'): void => options.log(message, level)
  const below = root(vehicle)
  const status = `${below}/status`
  const context = `${below}/context/#`
  let linked = false
  let leaving = false
  let linkedAt_ms = 0
  let brief = 0
  let told: Error | undefined

  const client = mqtt.connect(options.url, {
    ...options.certificates,
    // Handlers come first, the connection after them.
    manualConnect: true,
    // One name a vehicle: a broker that still holds our dead link ends it, and says its will, before it greets us. Under
    // a random name that will would come later, and overwrite the `online` of the living.
    clientId: `halo-${vehicle}`,
    clean: true,
    resubscribe: false,
    queueQoSZero: false,
    keepalive: KEEPALIVE_S,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: reconnectPeriod_ms(),
    reconnectOnConnackError: true,
    protocolVersion: options.protocolVersion ?? 4,
    will: { topic: status, payload: Buffer.from(options.will.payload), qos: 1, retain: true },
  })

  const subscribe = (filters: string[], then?: () => void): void => {
    client.subscribe(filters, { qos: 1 }, (error) => {
      if (error) {
        // A link that does not hear is none: drop it, and the next attempt follows.
        log(`mqtt: subscribing to ${filters.join(', ')}: ${error.message}`)
        client.stream.destroy()
      } else if (client.connected) then?.()
    })
  }

  client.on('connect', () => {
    // Nor do verdicts wait for the broker's acknowledgement of what went before.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true)
    subscribe([`${below}/response/+`, `${below}/operator/+`, context], () => {
      linked = true
      linkedAt_ms = Date.now()
      log('mqtt: connected', 'info')
      options.onConnected()
    })
  })

  client.on('close', () => {
    // The library keeps to itself what ends a link once it is encrypted, such as a certificate that is refused.
    const { errored } = client.stream as Socket
    if (errored && errored !== told && !leaving) log(`mqtt: ${errored.message}`)
    // Drawn anew for each attempt, so that a fleet does not come back in step.
    client.options.reconnectPeriod = reconnectPeriod_ms()
    // The library would send again what was not acknowledged; by then it is stale.
    for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id))
    if (!linked) return
    linked = false
    if (leaving) return
    brief = Date.now() - linkedAt_ms < BRIEF_MS ? brief + 1 : 0
    if (brief < BRIEF_MAX) log('mqtt: connection lost')
    // A broker ends the older of two links of one name: two companions of one vehicle end each other's for ever.
    else log(`mqtt: connection lost again at once: does another companion run as vehicle ${vehicle}?`, 'error')
    options.onLost()
  })

  // Without a listener a refused reconnect would end the process.
  client.on('error', (error) => {
    told = error
    log(`mqtt: ${error.message || String(error)}`)
  })

  // The library hands out the next message when this one is called done: a flood waits in the socket of its sender, not
  // here, and never keeps the tick waiting for more than one message.
  client.handleMessage = (packet, done) => {
    const topic = parseTopic(vehicle, packet.topic)
    if (topic === undefined) log(`mqtt: nothing known of topic ${JSON.stringify(packet.topic.slice(0, 200))}`)
    else options.onMessage(topic, payloadBytes(packet.payload), packet.retain)
    setImmediate(done)
  }

  client.connect()

  const publish = (topic: string, bytes: Uint8Array, retain: boolean, qos: 0 | 1, then?: () => void): void => {
    client.publish(topic, bytes as Buffer, { retain, qos }, (error) => {
      if (error) log(`mqtt: ${topic} not delivered: ${error.message}`)
      then?.()
    })
  }

  return {
    get connected() {
      return linked
    },
    publish(topic, bytes, { retain, qos }) {
      if (!client.connected || leaving) return false
      publish(`${below}/${topic}`, bytes, retain, qos)
      return true
    },
    resubscribe() {
      if (!linked) return // the next connect subscribes afresh anyway
      // Some brokers send what is retained for a new subscription only.
      client.unsubscribe(context, (error) => {
        if (error) log(`mqtt: unsubscribing from ${context}: ${error.message}`)
        else if (client.connected) subscribe([context])
      })
    },
    async end(lastWords = options.will.payload) {
      if (leaving) return
      leaving = true
      if (client.connected) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, FAREWELL_MS)
          publish(status, lastWords, true, 1, () => {
            clearTimeout(timer)
            resolve()
          })
        })
      }
      // Forced only where the words could not be said: without a DISCONNECT the broker then says the will.
      await client.endAsync(!client.connected || Object.keys(client.outgoing).length > 0)
    },
  }
}

const payloadBytes = (payload: string | Buffer): Buffer =>
  typeof payload === 'string' ? Buffer.from(payload) : payload

/** 0.5 to 1.5 s. */
const reconnectPeriod_ms = (): number => 500 + Math.floor(Math.random() * 1000)
