// The demonstration: `npm run demo`. A broker, the companion and a simulated vehicle (a test double, never for flight) on
// this machine, and a scripted agent that talks to them over MQTT only. Under a minute; exit code 0 only if all of it happened.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Decoder, Encoder } from 'cbor-x'
import mqtt from 'mqtt'
import { startSimulatedVehicle } from '../simulator/server.ts'

// biome-ignore lint/suspicious/noExplicitAny: what HALO publishes, read as an agent would
type Message = Record<string, any>
interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, number | string>>
  readonly requires?: readonly string[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const catalog = join(root, 'examples/px4-multirotor/catalog.yaml')
const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 }
const NORTH_M = 1 / 111_195
/** Where the first answer wants to go, and where the fresh candidate goes. */
const BLOCKED = { lat: HOME.lat + 20 * NORTH_M, lon: HOME.lon }
const FRESH = { lat: HOME.lat + 12 * NORTH_M, lon: HOME.lon }

const started_ms = Date.now()
const failures: string[] = []
const say = (who: string, text: string): void => {
  const s = ((Date.now() - started_ms) / 1000).toFixed(1).padStart(5)
  process.stdout.write(`${s} s  ${who.padEnd(9)} ${text}\n`)
}
const check = (holds: boolean, what: string): void => {
  if (!holds) failures.push(what)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'halo-demo-'))
  const [broker, mavlink] = [await freePort(), await freePort()]
  const config = join(folder, 'halo.yaml')
  writeFileSync(
    config,
    [
      'vehicle: demo',
      `catalog: ${JSON.stringify(catalog)}`,
      `mavlink: { endpoint: "udpin://127.0.0.1:${mavlink}" }`,
      'preflight: warn', // the simulated vehicle has PX4's default parameters, which are not fit for setpoints
      `mqtt: { embedded: "127.0.0.1:${broker}" }`,
      'log: { level: error }',
    ].join('\n'),
  )
  say('demo', 'starts the simulated vehicle, and the companion with its embedded broker')
  const vehicle = await startSimulatedVehicle({
    listen: '127.0.0.1:0',
    send: `127.0.0.1:${mavlink}`,
    home: HOME,
    seed: 1,
  })
  const companion = spawn(process.execPath, ['--import', 'tsx', 'companion/main.ts', 'run', '--config', config], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(companion, 'exit')
  try {
    const died = ended.then(([code]) => Promise.reject(new Error(`the companion ended by itself, with ${code}`)))
    died.catch(() => {})
    const agent = await Promise.race([Agent.connect(`mqtt://127.0.0.1:${broker}`), died])
    await Promise.race([mission(agent), died])
    await agent.end()
    companion.kill('SIGTERM')
    const [code] = await ended
    check(code === 0, `the companion ended with ${code}`)
    count(vehicle.vehicle.observations.setpoints.map((s) => s.datagram))
  } finally {
    companion.kill('SIGKILL')
    await vehicle.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function mission(agent: Agent): Promise<void> {
  await agent.publish('context/map', { v: 1, value: 1 })
  say('ground', 'publishes map version 1')
  await agent.until('a vehicle that is ready', () => {
    const { state, unknown } = agent.snapshot ?? {}
    return state?.ready === true && state['gps.fix'] >= 3 && state.map === 1 && unknown.length === 0
  })

  say('agent', 'answers with a mixed bag, written on the newest snapshot:')
  const first = agent.respond('survey', [
    { id: 'tell', type: 'notice.operator', payload: { text: 'surveying the north field' } },
    { id: 'range', type: 'report.range', payload: {} },
    { id: 'up', type: 'takeoff', payload: { alt: 5 }, requires: ['range'] },
    { id: 'field', type: 'goto', payload: { ...BLOCKED, alt: 6 }, requires: ['range', 'up'] },
    {
      id: 'wild',
      type: 'goto',
      payload: { lat: HOME.lat + 900 * NORTH_M, lon: HOME.lon, alt: 6 },
      requires: ['range'],
    },
    { id: 'after', type: 'status', payload: {}, requires: ['field'] },
  ])
  const verdict = await agent.verdict(first)
  check(
    decision(verdict, 'tell') === 'retained' && decision(verdict, 'field') === 'retained',
    'the mixed bag was kept in part',
  )
  check(decision(verdict, 'wild').startsWith('withheld unsupported near_home'), 'a goto outside the fence was withheld')

  await agent.until('the climb', () => agent.snapshot?.state?.mode === 'TAKEOFF')
  await agent.publish('context/map', { v: 1, value: 2 })
  say('ground', 'publishes map version 2 while the vehicle climbs: the answer was written for version 1')

  await agent.until('the gate', () => agent.last('field') === 'blocked')
  check(agent.reason('field') === 'changed', 'the goto was blocked at the gate because the map changed')
  check(agent.last('tell') === 'released' && agent.last('range') === 'released', 'notice and report went through')
  const owed = await agent.until('the obligation', () => agent.obligations.find((o) => o.component === 'field'))
  await agent.until('newer evidence', () =>
    agent.snapshot?.obligations.some((o: Message) => o.id === owed.id) ? agent.snapshot : undefined,
  )
  say('agent', 'answers the obligation: a fresh candidate under the same id, on new evidence, to a nearer place')
  const second = agent.respond(
    'survey-2',
    [
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'field', type: 'goto', payload: { ...FRESH, alt: 6 }, requires: ['range'] },
      { id: 'after', type: 'status', payload: {}, requires: ['field'] },
    ],
    'survey',
  )
  await agent.verdict(second)
  await agent.until('the flight', () => agent.last('field') === 'completed')
  await agent.until('the status that rests on it', () => agent.last('after') === 'released')

  say('agent', 'sends the old answer again, byte for byte, and once more with its keys in another order')
  const dispatched = agent.count('dispatched')
  await agent.publishBytes('response/planner', first)
  check((await agent.verdict(first)).generation === 1, 'the same bytes get the same verdict again')
  const reordered = encoder.encode(Object.fromEntries(Object.entries(decoder.decode(first)).reverse()))
  await agent.publishBytes('response/planner', reordered)
  const refused = await agent.verdict(reordered)
  check(refused.accepted === false && refused.reason === 'response_not_fresh', 'the replay was refused')
  check(agent.count('dispatched') === dispatched, 'the replay dispatched nothing')

  say('agent', 'lands')
  await agent.verdict(agent.respond('home', [{ id: 'down', type: 'land', payload: {} }]))
  await agent.until('the landing', () => agent.last('down') === 'completed')
}

/** What the vehicle's side saw, from the bytes that arrived there. */
function count(datagrams: readonly Uint8Array[]): void {
  const seen = { blocked: 0, fresh: 0, all: datagrams.length }
  for (const datagram of datagrams) {
    const view = new DataView(datagram.buffer, datagram.byteOffset)
    const lat = view.getInt32(10 + 4, true) / 1e7
    if (Math.abs(lat - BLOCKED.lat) < 1e-6) seen.blocked++
    if (Math.abs(lat - FRESH.lat) < 1e-6) seen.fresh++
  }
  check(seen.fresh > 20, `the fresh candidate flew (${seen.fresh} setpoints)`)
  check(seen.blocked === 0, `no setpoint of the blocked action arrived (${seen.blocked} did)`)
  say('demo', failures.length === 0 ? 'everything happened as it must' : `FAILED: ${failures.join('; ')}`)
  say('vehicle', `saw ${seen.all} setpoints in all, ${seen.fresh} of them of the fresh candidate`)
  process.stdout.write(`setpoints of the blocked action seen on the vehicle's side: ${seen.blocked}\n`)
}

const encoder = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false })
const plain = { useRecords: false, mapsAsObjects: true, int64AsNumber: true }
const decoder = new Decoder(plain)

const decision = (verdict: Message, id: string): string => {
  const c = verdict.components.find((component: Message) => component.id === id)
  return [c.decision, c.reason, c.detail].filter(Boolean).join(' ')
}

/** Everything that the scripted agent knows and does goes through the broker. */
class Agent {
  snapshot: Message | undefined
  readonly obligations: Message[] = []
  readonly #client: mqtt.MqttClient
  readonly #outcomes: Message[] = []
  readonly #verdicts: Message[] = []
  readonly #told = new Set<string>()
  #generation = 0
  #wake = (): void => {}

  private constructor(client: mqtt.MqttClient) {
    this.#client = client
    client.on('message', (topic, bytes) => this.#hear(topic.split('/').slice(3), decoder.decode(bytes)))
  }

  static async connect(url: string): Promise<Agent> {
    const client = mqtt.connect(url, { reconnectPeriod: 200 })
    client.on('error', () => {}) // the broker is still starting
    const agent = new Agent(client)
    await new Promise<void>((resolve) => client.once('connect', () => resolve()))
    await client.subscribeAsync('halo/v1/demo/#', { qos: 1 })
    return agent
  }

  #hear([kind, name]: string[], value: Message): void {
    if (kind === 'status') say('companion', `${value.status}, session ${value.session}`)
    else if (kind === 'snapshot') this.snapshot = value
    else if (kind === 'verdict' && name === 'planner') this.#judged(value)
    else if (kind === 'outcome') this.#reached(value)
    else if (kind === 'obligation') this.#owed(value)
    else if (kind === 'notice') {
      const of = value.component === undefined ? '' : ` "${value.component}"`
      say('people', `see the ${value.kind}${of}${value.text ? `: ${value.text}` : ''}`)
    }
    this.#wake()
  }

  #judged(v: Message): void {
    this.#verdicts.push(v)
    const again = this.#told.has(v.digest)
    this.#told.add(v.digest)
    if (again) return say('halo', `verdict on ${v.response}, said again: nothing else comes of it`)
    say('halo', v.accepted ? `verdict on ${v.response}: accepted` : `verdict on ${v.response}: refused, ${v.reason}`)
    for (const c of v.components)
      say('', `  ${c.id.padEnd(6)} ${decision(v, c.id)}${c.cause ? ` because of ${c.cause}` : ''}`)
  }

  #reached(o: Message): void {
    this.#outcomes.push(o)
    if (o.phase === 'retained' && o.reason === undefined) return
    say('halo', `${o.component} ${o.phase}${o.reason ? `: ${o.reason}` : ''}${o.detail ? ` (${o.detail})` : ''}`)
  }

  #owed({ obligation: o, closed, reason }: Message): void {
    if (o === undefined) return say('halo', `obligation ${closed} closed: ${reason}`)
    this.obligations.push(o)
    const scope = o.scope.map((member: Message) => member.id).join(', ')
    say('halo', `obligation ${o.id}: ${o.component} ${o.reason} ${o.detail ?? ''}; scope ${scope}`)
  }

  last = (id: string): string | undefined => this.#outcomes.findLast((o) => o.component === id)?.phase
  reason = (id: string): string | undefined => this.#outcomes.findLast((o) => o.component === id)?.reason
  count = (phase: string): number => this.#outcomes.filter((o) => o.phase === phase).length

  respond(response: string, components: readonly Component[], recovers?: string): Uint8Array {
    for (const c of components)
      say(
        '',
        `  ${c.id.padEnd(6)} ${c.type} ${JSON.stringify(c.payload)}${c.requires ? ` requires ${c.requires.join(', ')}` : ''}`,
      )
    const generation = ++this.#generation
    const value = { v: 1, response, generation, snapshot: this.snapshot!.snapshot, components }
    const bytes = encoder.encode(recovers ? { ...value, recovers } : value)
    void this.publishBytes('response/planner', bytes)
    return bytes
  }

  publish(topic: string, value: unknown): Promise<unknown> {
    return this.publishBytes(topic, encoder.encode(value))
  }

  publishBytes(topic: string, bytes: Uint8Array): Promise<unknown> {
    return this.#client.publishAsync(`halo/v1/demo/${topic}`, Buffer.from(bytes), { qos: 1 })
  }

  /** The next verdict on these bytes. */
  async verdict(bytes: Uint8Array): Promise<Message> {
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(bytes)))
      .toString('hex')
      .slice(0, 16)
    const found = await this.until('the verdict', () => this.#verdicts.find((v) => v.digest === digest))
    this.#verdicts.splice(this.#verdicts.indexOf(found), 1)
    return found
  }

  /** Waits until `what` gives something; 40 s is the end of patience. */
  async until<T>(name: string, what: () => T): Promise<NonNullable<T>> {
    const late = Date.now() + 40_000
    for (;;) {
      const found = what()
      if (found) return found
      if (Date.now() > late) throw new Error(`waited 40 s for ${name}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, 500)
      })
    }
  }

  end = (): Promise<void> => this.#client.endAsync()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

await main().catch((error: Error) => {
  failures.push(error.message)
  say('demo', `FAILED: ${failures.join('; ')}`)
})
process.exit(failures.length === 0 ? 0 : 1)
