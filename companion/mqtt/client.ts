// The companion's end of MQTT (PROTOCOL 12): it brings in what agents, ground and operator say, and takes out publications.
//
// Over two connections. Agents have one of their own, on which nothing else comes: a broker that cannot get rid of what an agent
// says drops what is for the same connection, and has acknowledged it before. People have the other, and all that is published
// goes out on it, in its order, under the will: `offline` says that HALO can neither be heard nor stopped. While it is away no
// agent is heard either.
//
// What must be known after an outage is retained state, and the daemon publishes that afresh in `onConnected`.

import type { Certificates } from './certificates.ts'
import { Connection, type For, type Level } from './connection.ts'
import { parseTopic, root, type Topic } from './topics.ts'

/** One connection without the other for so long is told: a broker that comes back takes them one after the other. */
const HALF_MS = 3_000

/** Who is heard by which connection. */
export type Party = 'people' | 'agents'

/** What may be dropped before what people are told, where a broker takes too little. */
const FOR_AGENTS = /^(verdict|outcome|obligation|end|catalog)\/|^(snapshot|catalog)$/

export interface ClientOptions {
  /** `mqtt://` or `mqtts://`, user and password in it if any. */
  readonly url: string
  readonly vehicle: string
  /** MQTT 3.1.1 (4, the default) or 5; nothing depends on a property of 5. */
  readonly protocolVersion?: 4 | 5
  /** For `mqtts://` and `wss://`. */
  readonly certificates?: Certificates
  /** Where the connection for agents is another user's: a broker may take two of one user for one. */
  readonly agents?: { readonly url?: string; readonly certificates?: Certificates }
  /** Payload of the retained `status` that the broker publishes when we are gone without a word. */
  readonly will: { readonly payload: Uint8Array }
  /** In order of arrival on each connection; timers and sockets have their turn after each. `retained`: kept by the broker. */
  onMessage(topic: Topic, bytes: Uint8Array, retained: boolean): void
  /** Bytes came on people's connection: something of theirs may wait to be handed out. */
  onRead?(): void
  /** After each (re)connect of people's connection, once subscribed: publish all retained state. */
  onConnected(): void
  onLost(): void
  /** These are not heard although the others are; after 3 s, once. */
  onDeaf?(to: Party): void
  log(message: string, level: Level): void
}

export interface Client {
  /** People are heard, and what is published goes out. */
  readonly connected: boolean
  /** `topic` is the name below the root. False: it is dropped, not kept for later; what is retained is asked for again. */
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
  const { vehicle, onRead, certificates = {}, protocolVersion = 4 } = options
  const below = root(vehicle)
  const status = `${below}/status`
  const context = `${below}/context/#`
  const log = (message: string, level: Level = 'warn'): void => options.log(message, level)
  let leaving = false
  let unheard = 0
  /** `online` is not said before agents are heard: who reads it may speak. */
  let heldStatus: Uint8Array | undefined
  let half: NodeJS.Timeout | undefined
  /** It was told that only the others are heard. */
  let deaf: Party | undefined
  /** Why agents are not heard, as their connection said it. */
  let why = ''

  const hear = (name: string, bytes: Uint8Array, retained: boolean): void => {
    const topic = parseTopic(vehicle, name)
    if (topic === undefined) log(`mqtt: nothing known of topic ${JSON.stringify(name.slice(0, 200))}`)
    else options.onMessage(topic, bytes, retained)
  }

  /** Told only where it lasts. */
  const judge = (): void => {
    clearTimeout(half)
    if (deaf !== undefined && people.linked && agents.linked) {
      log(`mqtt: ${deaf} are heard again`, 'info')
      deaf = undefined
    }
    if (people.linked === agents.linked || leaving) return
    half = setTimeout(() => {
      deaf = people.linked ? 'agents' : 'people'
      log(`mqtt: ${deaf} are not heard${deaf === 'agents' ? why : ''}`, 'error')
      options.onDeaf?.(deaf)
    }, HALF_MS)
  }

  const people = new Connection({
    url: options.url,
    clientId: `halo-${vehicle}`,
    protocolVersion,
    certificates,
    filters: [`${below}/operator/+`, context],
    will: { topic: status, payload: options.will.payload },
    ...(onRead && { onRead }),
    onMessage: hear,
    onConnected() {
      judge()
      if (unheard > 0) log(`mqtt: ${unheard} messages of agents were not heard while people were not`)
      unheard = 0
      heldStatus = undefined
      options.onConnected()
    },
    onLost() {
      judge()
      if (!leaving) options.onLost()
    },
    onDrained: () => options.onConnected(),
    log: (message, level) => log(message, level),
  })
  const agents = new Connection({
    url: options.agents?.url ?? options.url,
    clientId: `halo-${vehicle}-agents`,
    protocolVersion,
    certificates: options.agents?.certificates ?? certificates,
    filters: [`${below}/response/+`],
    onMessage(name, bytes, retained) {
      // Nobody acts whom nobody could stop.
      if (people.linked) hear(name, bytes, retained)
      else unheard++
    },
    onConnected() {
      judge()
      const held = heldStatus
      heldStatus = undefined
      if (held !== undefined) people.publish(status, held, 'people', { retain: true, qos: 1 })
    },
    onLost: judge,
    // A broker that is down is one line, and not one for each connection: what is amiss with this one alone is told after a while.
    log(message, level) {
      why = `; ${message}`
      log(`${message} (agents' connection)`, level === 'error' ? level : 'debug')
    },
  })

  return {
    get connected() {
      return people.linked
    },
    publish(topic, bytes, { retain, qos }) {
      if (leaving) return false
      if (topic === 'status' && !agents.linked) {
        heldStatus = bytes
        return people.linked
      }
      const to: For = FOR_AGENTS.test(topic) ? 'agents' : 'people'
      // That people are not heard is told where that can be.
      const by = topic === 'notice' && !people.linked ? agents : people
      return by.publish(`${below}/${topic}`, bytes, to, { retain, qos })
    },
    resubscribe() {
      people.resubscribe(context)
    },
    async end(lastWords = options.will.payload) {
      if (leaving) return
      leaving = true
      clearTimeout(half)
      await Promise.all([people.end({ topic: status, payload: lastWords }), agents.end()])
    },
  }
}
