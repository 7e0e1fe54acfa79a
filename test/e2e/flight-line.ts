// The flight line of the end-to-end tests: a broker, the companion, a simulated vehicle and an agent, joined by real sockets
// only. What a test knows of the companion is what MQTT says of it, and of the flight what arrived at the vehicle.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Decoder, Encoder } from 'cbor-x'
import { decode as strictDecode } from 'cborg'
import mqtt from 'mqtt'
import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import { loadConfig } from '../../companion/config.ts'
import { type Daemon, startDaemon } from '../../companion/daemon.ts'
import { startBroker } from '../../companion/mqtt/broker.ts'
import { copterModeOf } from '../../simulator/copter-mode.ts'
import { modeOf } from '../../simulator/mode.ts'
import { type ServerOptions, type SimulatedVehicleServer, startSimulatedVehicle } from '../../simulator/server.ts'
import { checkProfile } from '../../src/wire/scan.ts'
import { Cable } from './cable.ts'

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
export const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 }
export const VEHICLE = 'uav1'
/** MAVLink component id of a companion. */
const COMPANION = 191
const BELOW = `halo/v1/${VEHICLE}/`
/** The vehicle's seconds in one of ours. A goto that climbs stays below the speed that HALO takes for a jump. */
const SPEED = 3
const PATIENCE_MS = 25_000

/** MAV_CMD of what a companion sends. */
export const COMMAND = { takeoff: 22, land: 21, return: 20, mode: 176, arm: 400, interval: 511, request: 512 } as const

// biome-ignore lint/suspicious/noExplicitAny: what HALO publishes, read as an agent would
export type Value = Record<string, any>

export interface Message {
  /** Below `halo/v1/<vehicle>/`. */
  readonly topic: string
  readonly retain: boolean
  readonly value: Value
}

export interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, number | string | boolean>>
  readonly requires?: readonly string[]
}

export const notice = (id: string): Component => ({ id, type: 'notice.operator', payload: { text: id } })
export const report = (id = 'range'): Component => ({ id, type: 'report.range', payload: {} })
/** `land`, `return`, `hold` and whatever else has no payload. */
export const bare = (id: string, type: string): Component => ({ id, type, payload: {} })
export const takeoff = (id: string): Component => ({ id, type: 'takeoff', payload: { alt: 4 } })
/** Straight up over home: long enough under way for anything to happen to it. */
let climbs = 0
export const climb = (id: string, requires: readonly string[] = ['range']): Component => ({
  id,
  type: 'goto',
  // No two have the same target: what arrives at the vehicle says whose it is.
  payload: { lat: HOME.lat, lon: HOME.lon + ++climbs * 1e-7, alt: 60 },
  requires,
})

const encoder = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false })
const plain = { useRecords: false, mapsAsObjects: true, int64AsNumber: true }
const decoder = new Decoder(plain)
export const encode = (value: unknown): Uint8Array => encoder.encode(value)
export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

/** Says what is missing, once, and gives whether to skip. */
export function skipWithout(what: string, present: boolean): boolean {
  if (!present) process.stderr.write(`skipped: ${what} is not on this machine\n`)
  return !present
}

export const isInstalled = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0

// Debian's own: another python3 may stand before it on the path.
export const PYTHON = ['/usr/bin/python3', 'python3'].find((python) => isInstalled(python, '-c', 'import cbor2'))

export interface BrokerProcess {
  readonly port: number
  stop(): Promise<void>
}

/** Aedes inside this process; port 0 takes a free one. */
export async function aedes(port = 0): Promise<BrokerProcess> {
  const broker = await startBroker(`127.0.0.1:${port}`)
  return { port: broker.port, stop: () => broker.close() }
}

/** Mosquitto, without persistence; `config` is a file that says everything else, that port too. */
export async function mosquitto(port = 0, config?: string): Promise<BrokerProcess> {
  const at = port === 0 ? await freeTcpPort() : port
  const child = spawn('mosquitto', config === undefined ? ['-p', String(at)] : ['-c', config], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until('mosquitto', () => isListening(at))
  return {
    port: at,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** What each autopilot calls the modes that the tests speak of. `pilot` is one that only a person flies in. */
const MODES = {
  px4: { hold: 'HOLD', offboard: 'OFFBOARD', pilot: 'POSITION' },
  ardupilot: { hold: 'BRAKE', offboard: 'GUIDED', pilot: 'LOITER' },
} as const
export type AutopilotName = keyof typeof MODES
const EXAMPLES = { px4: 'px4-multirotor', ardupilot: 'ardupilot-copter' } as const

/** Edits of the example catalog: a goto of the test's own, that asks for nothing but to be flying. */
export const looseGoto = (name: string, done: string, within: string): (readonly [string, string])[] => {
  const hold = '  # Always admitted: a stop must not depend on sensors.\n  hold:\n'
  const type = [
    `  ${name}:`,
    '    kind: action',
    '    payload:',
    '      lat: { type: number, min: -90, max: 90 }',
    '      lon: { type: number, min: -180, max: 180 }',
    '      alt: { type: number, min: 4, max: 60 }',
    '    gate: { flying: state.armed }',
    '    uses: flight',
    `    effect: { setpoint: position-global, done: ${done}, within: ${within} }`,
  ]
  const may = 'may: [notice.operator, report.range, request'
  return [
    [hold, `${type.join('\n')}\n${hold}`],
    [may, may.replace('[', `[${name}, `)],
  ]
}

export interface LineOptions {
  /** The vehicle's, and with it the example catalog. Default `px4`. */
  readonly autopilot?: AutopilotName
  readonly broker?: (port?: number) => Promise<BrokerProcess>
  readonly protocol?: 4 | 5
  /** The vehicle is at the other end of a TCP connection; otherwise it sends to the companion by UDP. */
  readonly tcp?: boolean
  /** What the example catalog has, and what this line's has instead. */
  readonly edits?: readonly (readonly [string, string])[]
  readonly vehicle?: Omit<ServerOptions, 'listen' | 'send' | 'autopilot'>
  /** The simulated PX4 has the parameters of a real one, which are not fit for setpoints: a warning, unless told otherwise. */
  readonly preflight?: 'refuse' | 'warn'
}

export class FlightLine {
  broker: BrokerProcess
  vehicle!: SimulatedVehicleServer
  /** Between the companion and the vehicle, of a line over TCP. */
  cable: Cable | undefined
  readonly folder: string
  readonly config: string
  readonly #options: LineOptions
  readonly #closing: (() => unknown)[] = []

  private constructor(folder: string, broker: BrokerProcess, options: LineOptions) {
    this.folder = folder
    this.broker = broker
    this.config = join(folder, 'halo.yaml')
    this.#options = options
  }

  /** Broker and vehicle stand; the companion is started by the test. */
  static async open(options: LineOptions = {}): Promise<FlightLine> {
    const folder = mkdtempSync(join(tmpdir(), 'halo-e2e-'))
    const line = new FlightLine(folder, await (options.broker ?? aedes)(), options)
    writeFileSync(join(folder, 'catalog.yaml'), catalogText(line.autopilot, options.edits ?? []))
    const mavlink = await freeUdpPort()
    line.vehicle = await startSimulatedVehicle({
      ...(options.tcp ? { listen: 'tcp://127.0.0.1:0' } : { listen: '127.0.0.1:0', send: `127.0.0.1:${mavlink}` }),
      home: HOME,
      autopilot: line.autopilot,
      readyAfter_ms: 2_500,
      speed: SPEED,
      ...options.vehicle,
    })
    if (options.tcp) line.cable = await Cable.open(line.vehicle.port)
    const endpoint = line.cable ? `tcpout://127.0.0.1:${line.cable.port}` : `udpin://127.0.0.1:${mavlink}`
    writeFileSync(line.config, line.configText(endpoint))
    return line
  }

  get autopilot(): AutopilotName {
    return this.#options.autopilot ?? 'px4'
  }

  /** The autopilot's own names of modes. */
  get own() {
    return MODES[this.autopilot]
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.broker.port}`
  }

  configText(endpoint: string): string {
    return [
      `vehicle: ${VEHICLE}`,
      'catalog: catalog.yaml',
      `mavlink: { endpoint: "${endpoint}" }`,
      `preflight: ${this.#options.preflight ?? 'warn'}`,
      `mqtt: { url: "${this.url}", protocol: ${this.#options.protocol ?? 4} }`,
      'log: { level: error }',
      '',
    ].join('\n')
  }

  /** The companion, in this process. */
  async start(): Promise<Daemon> {
    const daemon = await startDaemon(loadConfig(this.config))
    this.#closing.push(() => daemon.stop())
    return daemon
  }

  /** The companion as a process of its own. */
  launch(preloaded: Preloaded = {}): Halo {
    const halo = new Halo(['run', '--config', this.config], preloaded)
    this.#closing.push(() => halo.kill('SIGKILL'))
    return halo
  }

  async agent(): Promise<Agent> {
    const agent = await Agent.connect(this.url)
    this.#closing.push(() => agent.end())
    return agent
  }

  async restartBroker(meanwhile: () => Promise<void>): Promise<void> {
    const { port } = this.broker
    await this.broker.stop()
    await meanwhile()
    this.broker = await (this.#options.broker ?? aedes)(port)
  }

  /** Commands that arrived at the vehicle, but for the requests for messages, which are harmless. */
  get commands() {
    return this.vehicle.vehicle.observations.commands.filter(
      ({ command }) => command !== COMMAND.interval && command !== COMMAND.request,
    )
  }

  /** Modes that arrived as commands, by the autopilot's own names, since so many commands. */
  modesAsked(since: number): (string | undefined)[] {
    return this.commands
      .slice(since)
      .filter(({ command }) => command === COMMAND.mode)
      .map(({ params }) => (this.autopilot === 'px4' ? modeOf(params[1]!, params[2]!) : copterModeOf(params[1]!)))
  }

  get setpoints() {
    return this.vehicle.vehicle.observations.setpoints
  }

  /** Those of the companion: not what a ground station sends. */
  get ownSetpoints() {
    return this.setpoints.filter(({ component }) => component === COMPANION)
  }

  get seen() {
    return this.vehicle.vehicle.observations
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close()
    await this.cable?.close()
    await this.vehicle.close()
    await this.broker.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A module that the process loads first, and what it reads of its environment. */
export interface Preloaded {
  readonly module?: string
  readonly env?: NodeJS.ProcessEnv
}

export interface HaloOptions extends Preloaded {
  /** An installed `halo`; otherwise that of this source. */
  readonly program?: string
  readonly cwd?: string
}

/** A `halo` command as a process. */
export class Halo {
  stdout = ''
  stderr = ''
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess

  constructor(args: readonly string[], { program, cwd = PROJECT, module, env }: HaloOptions = {}) {
    const main = join(PROJECT, 'companion/main.ts')
    const imports = [import.meta.resolve('tsx'), ...(module === undefined ? [] : [module])]
    const node = [...imports.flatMap((each) => ['--import', each]), main, ...args]
    this.#child = spawn(program ?? process.execPath, program === undefined ? node : args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout!.on('data', (text) => {
      this.stdout += text
    })
    this.#child.stderr!.on('data', (text) => {
      this.stderr += text
    })
    this.ended = once(this.#child, 'close').then(([code]) => code as number | null)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Also waits until it has ended. */
  kill(signal: NodeJS.Signals): Promise<number | null> {
    this.signal(signal)
    return this.ended
  }
}

export interface Draft {
  readonly agent?: string
  readonly response?: string
  readonly generation?: number
  readonly snapshot?: string
  readonly recovers?: string
  readonly components: readonly Component[]
}

/** An agent, an operator and the ground in one: it says anything to the broker, and keeps everything that it hears. */
export class Agent {
  readonly heard: Message[] = []
  /** What of the traffic is not of the profile (PROTOCOL 12). */
  readonly unprofiled: string[] = []
  /** Every response that it said. */
  readonly packets: Uint8Array[] = []
  onMessage: (message: Message) => void = () => {}
  readonly #client: mqtt.MqttClient
  #responses = 0
  #generation = 0

  private constructor(client: mqtt.MqttClient) {
    this.#client = client
    client.on('message', (topic, bytes, { retain }) => {
      if (bytes.length > 0) this.#hear(topic.slice(BELOW.length), bytes, retain)
    })
  }

  static async connect(url: string, options: mqtt.IClientOptions = {}): Promise<Agent> {
    const client = mqtt.connect(url, { reconnectPeriod: 100, ...options })
    client.on('error', () => {}) // a broker that is away
    const agent = new Agent(client)
    await new Promise<void>((resolve) => client.once('connect', () => resolve()))
    // A response must not wait here until a kernel acknowledges what came before it: that takes up to 40 ms.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true)
    await client.subscribeAsync(`${BELOW}#`, { qos: 1 })
    return agent
  }

  #hear(topic: string, bytes: Uint8Array, retain: boolean): void {
    if (/^(response|operator|context)\//.test(topic)) return // said by us
    const problem = checkProfile(bytes)
    if (problem !== undefined) this.unprofiled.push(`${topic}: byte ${problem.offset}: ${problem.problem}`)
    try {
      // A second opinion, by another decoder.
      strictDecode(bytes, STRICT)
    } catch (error) {
      this.unprofiled.push(`${topic}: ${(error as Error).message}`)
    }
    const message = { topic, retain, value: decoder.decode(bytes) }
    this.heard.push(message)
    this.onMessage(message)
  }

  /** Of this topic, newest last. */
  on(topic: string): Value[] {
    return this.heard.filter((m) => m.topic === topic).map((m) => m.value)
  }

  get snapshot(): Value | undefined {
    return this.on('snapshot').at(-1)
  }

  get control(): Value | undefined {
    return this.on('control').at(-1)
  }

  get session(): string | undefined {
    return this.on('status').at(-1)?.session
  }

  /** Phases of a component, in order, each with its reason. */
  outcomes(component: string): Value[] {
    return this.on('outcome/planner').filter((o) => o.component === component)
  }

  /** The next snapshot for which this holds. */
  async newSnapshot(holds: (snapshot: Value) => boolean = () => true): Promise<Value> {
    const old = this.on('snapshot').length
    return until('a snapshot', () => this.on('snapshot').slice(old).find(holds))
  }

  /** The vehicle's state is known well enough to fly. */
  ready(state: Readonly<Record<string, unknown>> = {}): Promise<Value> {
    const wanted = Object.entries({ ready: true, 'estimator.ok': true, ...state })
    return this.newSnapshot(
      (s) =>
        wanted.every(([field, value]) => s.state[field] === value) &&
        s.state['gps.fix'] >= 3 &&
        s.unknown.every((field: string) => field === 'map'),
    )
  }

  outcome(component: string, phase: string): Promise<Value> {
    const course = (): string =>
      this.outcomes(component)
        .map((o) => [o.phase, o.reason, o.detail].join(' '))
        .join(', ')
    return until(
      () => `${component} ${phase}; it went: ${course()}`,
      () => this.outcomes(component).find((o) => o.phase === phase),
    )
  }

  draft({ agent = 'planner', components, recovers, ...given }: Draft): Value {
    const known = this.snapshot?.agents[agent]?.generation ?? 0
    this.#generation = Math.max(this.#generation, known) + 1
    return {
      v: 1,
      response: given.response ?? `r${++this.#responses}`,
      generation: given.generation ?? this.#generation,
      snapshot: given.snapshot ?? this.snapshot?.snapshot,
      ...(recovers === undefined ? {} : { recovers }),
      components,
    }
  }

  /** Says it, and waits for the verdict. */
  async respond(draft: Draft): Promise<Value> {
    return this.verdictOn(encode(this.draft(draft)), draft.agent)
  }

  /** Says these bytes, and waits for the verdict that comes after. */
  async verdictOn(bytes: Uint8Array, agent = 'planner'): Promise<Value> {
    const topic = `verdict/${agent}`
    const old = this.on(topic).length
    this.packets.push(bytes)
    await this.say(`response/${agent}`, bytes)
    // A longer message is cut as it comes, and its digest is that of what was kept.
    return this.verdict(digestOf(bytes.subarray(0, RESPONSE_BYTES_MAX + 1)), topic, old)
  }

  verdict(digest: string, topic = 'verdict/planner', old = 0): Promise<Value> {
    return until(`a verdict on ${digest}`, () =>
      this.on(topic)
        .slice(old)
        .find((v) => v.digest === digest),
    )
  }

  /** A verb of the operator on the newest control, once it has been applied. */
  async operate(verb: string, about: Value = {}): Promise<Value> {
    const { n, session } = this.control!
    await this.say(`operator/${verb}`, encode({ v: 1, session, after: n, ...about }))
    // What is pending does not move the counter: an answer shows by its consent's going.
    const isAnswered = (): boolean =>
      about.consent !== undefined && !this.control!.pending.some(({ consent }: Value) => consent === about.consent)
    return until(`${verb} to be applied`, () => (this.control!.n > n || isAnswered() ? this.control : undefined))
  }

  async say(topic: string, bytes: Uint8Array, retain = false): Promise<void> {
    await this.#client.publishAsync(BELOW + topic, Buffer.from(bytes), { qos: 1, retain })
  }

  end(): Promise<void> {
    return this.#client.endAsync(true)
  }
}

const STRICT = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  rejectDuplicateMapKeys: true,
}

/**
 * A goto under way, Offboard shown at the vehicle; gives its id, and `<id>-arrived` rests on it. A stall of this machine ends a
 * lease, as it must (PROTOCOL 8): then it is flown again.
 */
export async function underway(line: FlightLine, agent: Agent): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    await agent.ready({ mode: 'HOLD', landed: 'IN_AIR' })
    const id = `out${agent.heard.length}`
    const components = [report(), climb(id), { ...notice(`${id}-arrived`), requires: [id] }]
    const verdict = decisions(await agent.respond({ components }))
    if (Object.values(verdict).some((decision) => decision !== 'retained')) throw new Error(JSON.stringify(verdict))
    const phase = await until(`${id} to be under way`, () => {
      const last = agent.outcomes(id).at(-1)
      if (last === undefined || last.phase === 'retained') return undefined
      return last.phase !== 'dispatched' || line.seen.mode === line.own.offboard ? last : undefined
    })
    if (phase.phase === 'dispatched') return id
    if (attempt === 3) throw new Error(`${id} ${phase.phase} ${phase.reason} ${phase.detail ?? ''}`)
  }
}

/** By component: `retained`, or the reason why not, with its detail. */
export function decisions(verdict: Value): Record<string, string> {
  if (verdict.accepted !== true) throw new Error(`refused: ${verdict.reason} ${verdict.detail ?? ''}`)
  return Object.fromEntries(
    verdict.components.map((c: Value) => [
      c.id,
      c.decision === 'retained' ? 'retained' : [c.reason, c.detail].filter(Boolean).join(' '),
    ]),
  )
}

/** Waits, patiently, until there is something. How long it took is nobody's criterion. */
export async function until<T>(
  name: string | (() => string),
  what: () => T | Promise<T>,
  patience_ms = PATIENCE_MS,
): Promise<NonNullable<T>> {
  const late_ms = Date.now() + patience_ms
  for (;;) {
    const found = await what()
    if (found) return found
    if (Date.now() > late_ms)
      throw new Error(`waited ${patience_ms / 1000} s for ${typeof name === 'string' ? name : name()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The example catalog, with a second agent that may do little, and a rate at which a test need not wait. */
function catalogText(autopilot: AutopilotName, more: readonly (readonly [string, string])[]): string {
  const text = readFileSync(join(PROJECT, 'examples', EXAMPLES[autopilot], 'catalog.yaml'), 'utf8')
  const edits = [
    [
      'agents:\n  planner:\n',
      'agents:\n  scout: { may: [notice.operator, report.range] }\n  planner:\n    rate: 50Hz\n',
    ],
    ...more,
  ] as const
  return edits.reduce((edited, [from, to]) => {
    if (!edited.includes(from)) throw new Error(`the example catalog has no ${JSON.stringify(from)} any more`)
    return edited.replace(from, to)
  }, text)
}

export async function freeTcpPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

export const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTcp(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
