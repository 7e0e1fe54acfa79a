// The composition root: clock, MAVLink, MQTT, journal and core around the engine (docs/architecture.md).
//
// Everything that comes in is one synchronous call of the runtime, and its frames leave within that call through the port;
// what it publishes is handed on behind it. Nothing here decides: a daemon that is late, deaf or dying only makes values
// older and ticks later, and the runtime says no by itself.

import { randomBytes } from 'node:crypto'
import { type Logger, pino } from 'pino'
import { modeMessage } from '../src/autopilot/profile.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { CORE_HASH, loadCore } from '../src/core/wasm.ts'
import type { Publication } from '../src/engine/port.ts'
import { Runtime } from '../src/engine/runtime.ts'
import { encode } from '../src/wire/write.ts'
import { Adapter } from './adapter/adapter.ts'
import { type Config, readCatalog, readPolicy } from './config.ts'
import { FileJournal } from './journal.ts'
import { withoutSecrets } from './log.ts'
import { Clock } from './machine/clock.ts'
import { Backlog } from './mavlink/backlog.ts'
import { type EndpointListener, openEndpoint } from './mavlink/endpoint.ts'
import { Link } from './mavlink/link.ts'
import { Preflight } from './mavlink/preflight.ts'
import { readKey, Signing } from './mavlink/signing.ts'
import { type Broker, type BrokerRules, startBroker } from './mqtt/broker.ts'
import { readCertificates } from './mqtt/certificates.ts'
import { type Client, connect } from './mqtt/client.ts'
import type { Topic } from './mqtt/topics.ts'
import { Outbox } from './outbox.ts'
import { Statustext } from './statustext.ts'
import { VERSION } from './version.ts'

const TICK_MS = 10
const HEARTBEAT_MS = 1_000
/** How long contingencies may take at the end. */
const SETTLE_MS = 2_500
/** How long each of what is closed then may take, the disk's last entry included. */
const CLOSE_MS = 2_000
/** What of it is on its way to a disk. */
const WRITES: ReadonlySet<string> = new Set(['signing', 'journal'])
/** Publications that the log has too; at level debug it has all. */
const LOGGED = /^(verdict|outcome)\//
/** What a disk says that takes nothing more. */
const DISK: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

export interface Daemon {
  readonly runtime: Runtime
  /** Local port of the vehicle's link; 0 where it has none. */
  readonly mavlinkPort: number
  /** Port of the embedded broker, if there is one. */
  readonly brokerPort: number | undefined
  /** The exit code, once all is closed: 0 after `stop`, 1 after a fatal error, or where the last entry is not on the disk. */
  readonly ended: Promise<0 | 1>
  /** A disk does not answer: a process that exits in good order would wait for it, maybe for ever. */
  readonly stuck: boolean
  /** Ends all leases with their contingency, says `offline`, closes (PROTOCOL 14, `shutdown`). */
  stop(): Promise<void>
  /** A fatal error: from this call on nothing goes to the vehicle. */
  fail(error: unknown): void
}

export interface DaemonOptions {
  readonly log?: Logger
  /** Called at the end of each tick that went whole through the runtime and its core. */
  alive?(now_ms: number): void
}

/** Rejects where it cannot start: catalog, journal, core, the endpoint or the embedded broker. A broker may come later. */
export async function startDaemon(config: Config, options: DaemonOptions = {}): Promise<Daemon> {
  const log = options.log ?? pino({ level: 'silent' })
  const catalog = readCatalog(config)
  const policy = await readPolicy(config, catalog)
  const certificates = 'certificates' in config.mqtt ? certificatesOf(config.mqtt) : {}
  const journal = new FileJournal(config.journal)
  proveWritable(journal, log)

  const clock = new Clock()
  // What people say is handed out one message a turn: only a turn in which nothing came in or went on found nothing waiting.
  const people = new Backlog(clock, 1)
  const retained = new Map<string, Uint8Array>()
  const statustext = new Statustext()
  let client: Client | undefined
  let lost: string | undefined
  let stopBy_ms = Infinity
  let heartbeat_ms = -Infinity
  let over = false
  let stuck = false
  let end: (code: 0 | 1) => void
  const ended = new Promise<0 | 1>((resolve) => {
    end = resolve
  })

  const signed = config.mavlink.signing
  const signing =
    signed &&
    (await Signing.open({
      key: readKey(signed.key),
      linkId: signed.linkId,
      file: signed.stamps,
      heard: signed.heard,
      wall: Date.now,
      failed: ({ message }) => log.error({ event: 'mavlink', message }),
    }))
  const adapter = new Adapter({
    component: config.mavlink.component,
    modeMessage: modeMessage(catalog.profile),
    ...(signing && { signing }),
    transmit: (bytes) => !over && endpoint.transmit(bytes),
  })
  const runtime = new Runtime({
    catalog,
    core: loadCore,
    coreHash: CORE_HASH,
    port: adapter,
    journal: {
      read: () => journal.read(),
      write: (entry) =>
        journal.write(entry, (error) => apply((now_ms) => runtime.journalled(entry, error?.message, now_ms))),
    },
    ...(policy && { policy }),
    random: () => randomBytes(8),
    wall: Date.now,
    version: VERSION,
    log: ({ level, ...event }) => log[level](event),
  })
  log.info({
    event: 'start',
    version: VERSION,
    session: runtime.session,
    environment: runtime.environment,
    core: CORE_HASH,
    catalog: catalog.hash,
    autopilot: catalog.profile.name,
    configuration: withoutSecrets(config),
  })
  let session = runtime.session
  const outbox = new Outbox(publish, (slice) => setImmediate(() => guarded(slice)))
  // Kept until there is a broker.
  outbox.put(runtime.start(clock.now()))

  const embedded = 'embedded' in config.mqtt ? config.mqtt.embedded : undefined
  const rules: BrokerRules = {
    vehicle: config.vehicle,
    retained: catalog.fields.flatMap(({ name, retainedAllowed }) => (retainedAllowed ? [name] : [])),
    log: (message) => log.warn({ event: 'mqtt', message }),
  }
  const broker =
    embedded === undefined ? undefined : await startBroker(embedded, rules).catch(says('mqtt.embedded', embedded))
  const listener: EndpointListener = {
    recognises: (datagram) => link.recognises(datagram),
    receive: (bytes, received_ms) => {
      let good = false
      guarded(() => {
        good = link.receive(bytes, received_ms)
      })
      if (good) lost = undefined
      return good
    },
    lost(reason) {
      if (reason !== lost) log.warn({ event: 'mavlink', message: `${config.mavlink.endpoint}: ${reason}` })
      lost = reason
    },
  }
  const endpoint = await openEndpoint(config.mavlink.endpoint, listener, clock).catch(async (error: Error) => {
    await broker?.close()
    return says('mavlink.endpoint', config.mavlink.endpoint)(error)
  })
  const preflight = new Preflight({
    profile: catalog.profile,
    wanted: { period_ms: longestPeriod_ms(catalog), maxSpeed: config.maxSpeed },
    say: (message, now_ms) => adapter.say(message, now_ms),
    listener: {
      parameter: (name, value, meaning) => log.info({ event: 'parameter', name, value, meaning }),
      judged(problem, asked) {
        refuseSetpoints(problem)
        if (asked && problem !== undefined) warn(problem)
      },
      warn,
    },
  })
  refuseSetpoints(preflight.problem)
  const link: Link = new Link({
    profile: catalog.profile,
    fields: catalog.fields,
    system: config.mavlink.system,
    adapter,
    endpoint: config.mavlink.endpoint,
    stream: endpoint.stream,
    preflight,
    ...(signing && { signing }),
    listener: {
      identity(system, component) {
        log.info({ event: 'autopilot_found', system, component })
        apply((now_ms) => runtime.connected(system, component, now_ms))
      },
      rebooted(up_ms, received_ms) {
        log.warn({ event: 'autopilot_rebooted', up_ms })
        apply((now_ms) => runtime.rebooted(up_ms + now_ms - received_ms, now_ms))
      },
      report: (report, received_ms) => apply((now_ms) => runtime.observe(report, received_ms, now_ms)),
      acknowledge: (acknowledgement) => apply((now_ms) => runtime.acknowledge(acknowledgement, now_ms)),
      objects: (words) => apply((now_ms) => runtime.objects(words, now_ms)),
      alarm: (text) => apply((now_ms) => runtime.alarm(text, now_ms)),
      warn: (message) => log.warn({ event: 'mavlink', message }),
      silent(message, severity, change) {
        const event = change === undefined ? 'mavlink' : `autopilot_${change}`
        log[severity === 'info' ? 'info' : 'warn']({ event, message })
        apply((now_ms) => runtime.warn('link', message, now_ms, severity))
      },
    },
  })

  /** What the autopilot's parameters speak against setpoints; in simulation it may be a mere warning. */
  function refuseSetpoints(problem: string | undefined): void {
    if (config.preflight === 'refuse') apply((now_ms) => runtime.preflight(problem, now_ms))
  }

  function warn(text: string): void {
    log.warn({ event: 'preflight', message: text })
    apply((now_ms) => runtime.warn('preflight', text, now_ms))
  }

  /** One call of the runtime: its frames have left when it returns, then its publications go out, in their turn. */
  function apply(call: (now_ms: number) => readonly Publication[]): void {
    guarded(() => {
      outbox.put(call(clock.now()))
      if (runtime.session === session) return
      session = runtime.session
      client?.resubscribe()
    })
  }

  /** What throws in here is no longer to be trusted with a vehicle. */
  function guarded(step: () => void): void {
    if (over) return
    try {
      step()
    } catch (error) {
      fail(error)
    }
  }

  function publish(publication: Publication): void {
    const { topic, retain, value } = publication
    const bytes = encode(value)
    if (retain) retained.set(topic, bytes)
    client?.publish(topic, bytes, { retain, qos: 1 })
    log[LOGGED.test(topic) ? 'info' : 'debug']({ event: 'publication', topic, value })
    statustext.hear(publication)
  }

  function hear(topic: Topic, bytes: Uint8Array, isRetained: boolean): void {
    // Agents say nothing that has an age.
    const received_ms = topic.kind === 'response' ? clock.now() : people.piece()
    // An empty payload is how a retained message is cleared: that says nothing. An empty order is one.
    const clears = bytes.length === 0 && (isRetained || topic.kind !== 'operator')
    if (!('name' in topic) || stopBy_ms < Infinity || clears) return
    const { kind, name } = topic
    apply((now_ms) => {
      if (kind === 'response') return runtime.receive(name, bytes, isRetained, now_ms)
      if (kind === 'operator') return runtime.operate(name, bytes, isRetained, now_ms)
      if (kind === 'context') return runtime.context(name, bytes, isRetained, received_ms, now_ms)
      return []
    })
  }

  function tick(): void {
    people.look()
    apply((now_ms) => runtime.tick(now_ms))
    guarded(() => {
      const now_ms = clock.now()
      endpoint.tick(now_ms)
      signing?.tick(now_ms)
      link.tick(now_ms)
      statustext.tell((line) => adapter.say({ message: 'STATUSTEXT', ...line }, now_ms))
      // Behind the runtime's own tick: a heartbeat says that the whole of it still turns.
      const beats = runtime.healthy && now_ms - heartbeat_ms >= HEARTBEAT_MS
      if (beats && adapter.say({ message: 'HEARTBEAT' }, now_ms)) heartbeat_ms = now_ms
      if (runtime.healthy) options.alive?.(now_ms)
      if (stopBy_ms < Infinity && (runtime.settled || now_ms >= stopBy_ms)) void leave(0)
    })
  }

  const offline = (): Uint8Array => {
    const { session, environment } = runtime
    return encode({ v: 1, status: 'offline', session, environment, version: VERSION })
  }

  async function leave(code: 0 | 1): Promise<void> {
    if (over) return
    over = true // from here nothing is sent
    clearInterval(timer)
    const closing = {
      outbox: async () => outbox.flush(),
      mqtt: () => client?.end(offline()),
      broker: () => broker?.close(),
      endpoint: () => endpoint.close(),
      signing: () => signing?.close(),
      // A step of before may still be on its way to the disk.
      journal: () => journal.flush(),
    }
    for (const [what, close] of Object.entries(closing)) {
      try {
        await within(CLOSE_MS, close())
      } catch (error) {
        // What the disk does not have then is lost: the next process starts from the entry before.
        stuck ||= error instanceof Late && WRITES.has(what)
        log.error({ event: 'close_failed', what, error: String(error) })
      }
    }
    const last = stuck ? 1 : code
    log.info({ event: 'ended', code: last })
    end(last)
  }

  function fail(error: unknown): void {
    if (over) return
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    log.fatal({ event: 'fatal', message, stack })
    void leave(1)
  }

  // From the endpoint to here nothing waits, so no input comes before all of this stands.
  const timer = setInterval(tick, TICK_MS)
  client = connect({
    url: 'url' in config.mqtt ? config.mqtt.url : urlOf(embedded!, broker!),
    vehicle: config.vehicle,
    protocolVersion: 'url' in config.mqtt ? config.mqtt.protocol : 4,
    ...certificates,
    will: { payload: offline() },
    onMessage: hear,
    onRead: () => people.piece(),
    onConnected() {
      // `status` comes last: who reads `online` finds all else up to date.
      for (const topic of [...retained.keys()].filter((topic) => topic !== 'status').concat('status')) {
        const bytes = retained.get(topic)
        if (bytes !== undefined) client?.publish(topic, bytes, { retain: true, qos: 1 })
      }
    },
    onLost() {},
    onDeaf(to) {
      const text = to === 'people' ? 'people are not heard over MQTT, so no agent is' : 'agents are not heard over MQTT'
      apply((now_ms) => runtime.warn('mqtt', text, now_ms))
    },
    log: (message, level) => log[level]({ event: 'mqtt', message }),
  })

  return {
    runtime,
    mavlinkPort: endpoint.port,
    brokerPort: broker?.port,
    ended,
    get stuck() {
      return stuck
    },
    async stop() {
      if (stopBy_ms === Infinity) {
        stopBy_ms = clock.now() + SETTLE_MS
        apply((now_ms) => runtime.stop(now_ms))
      }
      await ended
    },
    fail,
  }
}

/** A disk that is full or read-only denies what is irreversible, and nothing else; any other reason is a mistake. */
function proveWritable(journal: FileJournal, log: Logger): void {
  try {
    journal.prove()
  } catch (error) {
    const { message, cause } = error as Error
    if (!DISK.has((cause as NodeJS.ErrnoException | undefined)?.code ?? '')) throw error
    log.error({ event: 'journal', message })
  }
}

/** Read once, at the start: a mistake in a file is found before anything flies. */
function certificatesOf({ certificates, agents }: Extract<Config['mqtt'], { url: string }>) {
  const own = agents && { url: agents.url, certificates: readCertificates(agents.certificates) }
  return { certificates: readCertificates(certificates), ...(own && { agents: own }) }
}

/** Of the embedded broker, for the companion alone. */
const urlOf = (address: string, { port, credentials }: Broker): string =>
  `mqtt://${credentials}@${address.replace(/:\d+$/, '')}:${port}`

class Late extends Error {}

/** Rejects with `Late` where it takes longer. */
async function within(limit_ms: number, closing: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`not done after ${limit_ms} ms`)), limit_ms)
  })
  await Promise.race([closing, late]).finally(() => clearTimeout(timer))
}

/** For errors that do not say what they are about, as `listen EADDRINUSE`. */
function says(key: string, value: string): (error: Error) => never {
  return (error) => {
    throw new Error(`${key} ${value}: ${error.message}`)
  }
}

/** Between two frames of any setpoint of the catalog; 0 where it has none. */
function longestPeriod_ms({ types }: Catalog): number {
  return Math.max(0, ...types.map(({ effect }) => (effect.kind === 'setpoint' ? effect.period_ms : 0)))
}
