// The live rig: the companion as it is deployed, compiled and in a process of its own, the simulated vehicle in the air in
// another, the relay between them and an agent in this one. They are joined by real sockets on loopback only.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Decoder } from 'cbor-x'
import mqtt, { type MqttClient } from 'mqtt'
import { parse, stringify } from 'yaml'
import { startBroker } from '../companion/mqtt/broker.ts'
import { encode } from '../src/wire/write.ts'
import { freeTcpPort, freeUdpPort, PROJECT, until, VEHICLE } from '../test/e2e/flight-line.ts'
import { Program } from './program.ts'
import { Relay } from './relay.ts'

export interface RigOptions {
  /** What Node runs as `halo`. */
  readonly companion: readonly string[]
  /** A broker to use; the companion's own where not given. */
  readonly broker?: string
}

/** What the probe has seen of the companion's process since it was asked before. */
export interface Health {
  readonly age_s: number
  /** Of one core. */
  readonly cpuShare: number
  readonly resident_bytes: number
  /** Of each tick. */
  readonly late_ms: readonly number[]
  /** Whole periods in which no tick came. */
  readonly missed: number
  readonly pauses: readonly { readonly at_ms: number; readonly kind: string; readonly pause_ms: number }[]
}

export interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, number>>
  readonly requires?: readonly string[]
}

interface Snapshot {
  readonly snapshot: string
  readonly state: Readonly<Record<string, unknown>>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const BELOW = `halo/v1/${VEHICLE}/`
const decoder = new Decoder({ useRecords: false, mapsAsObjects: true })

export class Rig {
  readonly url: string
  readonly relay: Relay
  snapshot: Snapshot | undefined
  /** Words of every verdict and outcome that said no, and how often. */
  readonly refusals = new Map<string, number>()
  readonly #closing: (() => unknown)[]
  readonly #interrupted = (): void => void this.close().finally(() => process.exit(1))
  #closed: Promise<void> | undefined
  #companion!: Program
  #client!: MqttClient
  #generation = 0

  private constructor(url: string, relay: Relay, closing: (() => unknown)[]) {
    this.url = url
    this.relay = relay
    this.#closing = closing
    for (const signal of SIGNALS) process.on(signal, this.#interrupted)
  }

  /** Everything runs and the vehicle is in the air, its state known. */
  static async open(options: RigOptions): Promise<Rig> {
    const folder = mkdtempSync(join(tmpdir(), 'halo-bench-'))
    const mavlink = await freeUdpPort()
    const address = `127.0.0.1:${await freeTcpPort()}`
    const url = options.broker ?? `mqtt://${address}`
    const relay = await Relay.open(mavlink)
    const closing = [() => rmSync(folder, { recursive: true, force: true }), () => relay.close()]
    const rig = new Rig(url, relay, closing)
    try {
      writeFileSync(join(folder, 'catalog.yaml'), catalog())
      const config = join(folder, 'halo.yaml')
      const endpoint = `udpin://127.0.0.1:${mavlink}`
      // A broker of its own: the embedded one knows the companion's topics only.
      if (options.broker === undefined) {
        const own = await startBroker(address)
        closing.push(() => own.close())
      }
      const broker = { url }
      const log = { level: 'error' }
      writeFileSync(
        config,
        stringify({
          vehicle: VEHICLE,
          catalog: 'catalog.yaml',
          mavlink: { endpoint },
          preflight: 'warn',
          mqtt: broker,
          log,
        }),
      )
      rig.#companion = rig.#ending(
        new Program(['--import', './bench/probe.mjs', ...options.companion, 'run', '--config', config]),
      )
      await rig.start('vehicle.ts', String(relay.port))
      await rig.#listen()
    } catch (error) {
      await rig.close()
      throw error
    }
    return rig
  }

  /** A program beside it, that ends with it at the latest. */
  start(file: string, ...args: readonly string[]): Promise<Program> {
    return this.#ending(Program.of(file, ...args)).ready()
  }

  #ending(program: Program): Program {
    this.#closing.push(() => program.stop())
    return program
  }

  async #listen(): Promise<void> {
    const client = mqtt.connect(this.url, { reconnectPeriod: 100 })
    this.#client = client
    this.#closing.push(() => client.endAsync(true))
    client.on('error', () => {}) // the companion's broker is still starting
    client.on('message', (topic, bytes) => this.#hear(topic.slice(BELOW.length), decoder.decode(bytes)))
    await new Promise<void>((resolve) => client.once('connect', () => resolve()))
    // What is measured is the way from here on, not how long our own kernel keeps a packet back.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true)
    await client.subscribeAsync(
      ['snapshot', 'verdict/planner', 'outcome/planner'].map((name) => BELOW + name),
      { qos: 1 },
    )
    await client.publishAsync(`${BELOW}context/map`, Buffer.from(encode({ v: 1, value: 1 })), { qos: 1, retain: true })
    const wanted = { ready: true, mode: 'HOLD', landed: 'IN_AIR', 'gps.fix': 3, 'estimator.ok': true, map: 1 }
    await until(`a vehicle in the air`, () => {
      const state = this.snapshot?.state ?? {}
      return 'home.lat' in state && Object.entries(wanted).every(([field, value]) => state[field] === value)
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: what HALO publishes, read as an agent would
  #hear(topic: string, value: any): void {
    if (topic === 'snapshot') this.snapshot = value
    else if (topic === 'outcome/planner') this.#refused(value)
    else for (const each of value.accepted ? value.components : [value]) this.#refused(each)
  }

  #refused({ reason, detail }: { reason?: string; detail?: string }): void {
    if (reason === undefined || reason === 'superseded') return
    const words = [reason, detail].filter(Boolean).join(' ')
    this.refusals.set(words, (this.refusals.get(words) ?? 0) + 1)
  }

  /** A new plan of this one action, and of the report that it rests on, as the agent's bytes. */
  plan(action: Omit<Component, 'id' | 'requires'>): Uint8Array {
    const generation = ++this.#generation
    const components: Component[] = [
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'act', ...action, requires: ['range'] },
    ]
    return encode({
      v: 1,
      response: `r${generation}`,
      generation,
      snapshot: this.snapshot!.snapshot,
      components,
    })
  }

  /** The agent says it, QoS 1. */
  say(plan: Uint8Array): void {
    this.publish(`${BELOW}response/planner`, plan)
  }

  publish(topic: string, bytes: Uint8Array): void {
    this.#client.publish(topic, bytes as Buffer, { qos: 1 })
  }

  health(): Promise<Health> {
    return this.#companion.ask()
  }

  /** Ends every process and closes every socket, as a signal does; the same once more where it has begun. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    for (let close = this.#closing.pop(); close !== undefined; close = this.#closing.pop()) await close()
    for (const signal of SIGNALS) process.off(signal, this.#interrupted)
  }
}

/** The example catalog with an agent that may speak more often, and a goto at 20 Hz beside that at 10 Hz. */
function catalog(): string {
  const catalog = parse(readFileSync(join(PROJECT, 'examples/px4-multirotor/catalog.yaml'), 'utf8'))
  const { agents, components } = catalog
  agents.planner.rate = '50Hz'
  agents.planner.may.push('goto.20hz')
  components['goto.20hz'] = { ...components.goto, effect: { ...components.goto.effect, rate: '20Hz' } }
  return stringify(catalog)
}
