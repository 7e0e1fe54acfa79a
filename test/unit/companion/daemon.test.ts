// The daemon in process, on real sockets: an embedded broker, the simulated vehicle, no fixed port. What it waits for is an
// event, never a time.

import { execFileSync } from 'node:child_process'
import { createSocket, Socket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import mqtt from 'mqtt'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { connectGround, decode, type Ground } from '../../../companion/commands/ground.ts'
import { submit } from '../../../companion/commands/submit.ts'
import { type Config, parseConfig } from '../../../companion/config.ts'
import { type Daemon, startDaemon } from '../../../companion/daemon.ts'
import { startBroker } from '../../../companion/mqtt/broker.ts'
import { startSimulatedVehicle } from '../../../simulator/server.ts'
import { layout } from '../../../src/autopilot/frame.ts'
import { startFreezing } from '../mqtt/freezing.ts'

/** What the tests read of the messages. */
interface Said {
  readonly status: string
  readonly component: string
  readonly phase: string
  readonly kind: string
  readonly pilot_control: boolean
  readonly paused: boolean
  readonly snapshot: string
  readonly unknown: readonly string[]
  readonly state: Readonly<Record<string, unknown>>
}

/** MAV_COMP_ID_ONBOARD_COMPUTER, in the seventh byte of a frame: sent by the companion. */
const COMPANION = 191

let folder: string
let config: Config
const open: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-daemon-'))
  config = configure('{ embedded: "127.0.0.1:0" }')
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

function configure(mqtt: string): Config {
  const text = `
vehicle: uav1
catalog: ${resolve('examples/px4-multirotor/catalog.yaml')}
mavlink: { endpoint: "udpin://127.0.0.1:0" }
preflight: warn
mqtt: ${mqtt}
`
  return parseConfig(text, join(folder, 'halo.yaml'))
}

async function start(): Promise<Daemon> {
  const daemon = await startDaemon(config)
  open.push(() => daemon.stop())
  return daemon
}

/** Everything published, and a way to wait for what is wanted of it. */
async function listen(port: number) {
  const heard: { topic: string; retain: boolean; value: Said }[] = []
  let wake = (): void => {}
  const ground: Ground = await connectGround({ url: `mqtt://127.0.0.1:${port}`, vehicle: 'uav1' }, ['#'], (m) => {
    heard.push({ topic: m.topic, retain: m.retain, value: decode(m.bytes) as unknown as Said })
    wake()
  })
  open.push(() => ground.end())
  const until = async (topic: string, wanted: (value: Said) => boolean = () => true) => {
    for (;;) {
      const found = heard.find((m) => m.topic === topic && wanted(m.value))
      if (found !== undefined) return found.value
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { ground, heard, until }
}

async function vehicle(daemon: Daemon) {
  const server = await startSimulatedVehicle({
    listen: '127.0.0.1:0',
    send: `127.0.0.1:${daemon.mavlinkPort}`,
    speed: 5,
  })
  open.push(() => server.close())
  return server
}

describe('the log of one flight (docs/vehicles.md)', () => {
  interface Judged {
    readonly id: string
    readonly type: string
    readonly payload: object
  }
  // biome-ignore lint/suspicious/noExplicitAny: lines of the log, read as an investigator would
  type Line = any

  it('begins with what runs, and holds every decision with the payload that was judged', async () => {
    const lines: Line[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const daemon = await startDaemon(config, { log })
    open.push(() => daemon.stop())
    const { runtime } = daemon
    expect(lines[0]).toMatchObject({
      event: 'start',
      version: expect.any(String),
      session: runtime.session,
      environment: runtime.environment,
      catalog: expect.stringMatching(/^[0-9a-f]{64}$/),
      autopilot: 'px4-multirotor',
      configuration: { vehicle: 'uav1', preflight: 'warn', mqtt: { embedded: '127.0.0.1:0' } },
    })

    const { until, heard, ground } = await listen(daemon.brokerPort!)
    await vehicle(daemon)
    await until('status', ({ status }) => status === 'online')
    const { state } = await until(
      'snapshot',
      ({ state, unknown }) => state.ready === true && !unknown.includes('home.lat'),
    )
    const place = (north_m: number) => ({
      lat: (state['home.lat'] as number) + north_m / 111_195,
      lon: state['home.lon'],
      alt: 6,
    })
    await ground.say('context/map', { v: 1, value: 1 })
    await until('snapshot', ({ state }) => state.map === 1)
    const components = [
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'up', type: 'takeoff', payload: { alt: 5 }, requires: ['range'] },
      { id: 'near', type: 'goto', payload: place(4), requires: ['range', 'up'] },
      { id: 'far', type: 'goto', payload: place(900), requires: ['range'] },
      { id: 'down', type: 'land', payload: {}, requires: ['near'] },
      { id: 'there', type: 'notice.operator', payload: { text: 'there' }, requires: ['near'] },
    ]
    const file = join(folder, 'response.json')
    writeFileSync(file, JSON.stringify({ components }))
    const broker = { url: `mqtt://127.0.0.1:${daemon.brokerPort}`, vehicle: 'uav1' }
    await submit(broker, { file, agent: 'planner', timeout_ms: 60_000, wait: true }, () => {})
    await until('end/planner')
    await ground.say('response/planner', { v: 1, response: 'old' })
    await until('verdict/planner', (v) => (v as Line).accepted === false)

    const of = (event: string): Line[] => lines.filter((line) => line.event === event)
    const published = of('publication').map(({ topic, value }) => JSON.stringify([topic, value]))
    const judged = new Map<string, Judged>()
    for (const { plan, generation, components } of of('judged')) {
      for (const each of components) judged.set(`${plan} ${each.id} ${generation}`, each)
    }
    const decisions = heard.filter(({ topic }) => /^(verdict|outcome)\//.test(topic)) as Line[]
    expect(decisions.length).toBeGreaterThan(15)
    for (const { topic, value } of decisions) {
      // All that was said is there, as it was said.
      expect(published.map((line) => JSON.parse(line))).toContainEqual([topic, value])
      const { plan, generation } = value
      if (plan === undefined) continue // refused as a whole
      for (const id of value.component === undefined ? value.components.map((c: Line) => c.id) : [value.component]) {
        const sent = components.find((component) => component.id === id)!
        expect(judged.get(`${plan} ${id} ${generation}`)).toMatchObject({ type: sent.type, payload: sent.payload })
      }
    }
    expect(of('response refused')).toMatchObject([{ agent: 'planner', response: 'old', reason: 'malformed' }])
    expect(of('autopilot_found')).toHaveLength(1)
    const near = decisions.filter(({ value }) => value.component === 'near')
    expect(near.at(-1)!.value.phase).toBe('completed')
  }, 90_000)
})

describe('daemon', () => {
  it('shows the vehicle, carries a response through, and leaves with `offline`', async () => {
    const daemon = await start()
    const { until, heard } = await listen(daemon.brokerPort!)
    await vehicle(daemon)
    expect(await until('status', ({ status }) => status === 'online')).toMatchObject({
      session: daemon.runtime.session,
    })
    await until(
      'snapshot',
      ({ state }) => state['gps.fix'] === 3 && 'home.lat' in state && state['estimator.ok'] === true,
    )

    const file = join(folder, 'response.json')
    const components = [
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'hello', type: 'notice.operator', payload: { text: 'range reported' } },
    ]
    writeFileSync(file, JSON.stringify({ components }))
    const lines: string[] = []
    const broker = { url: `mqtt://127.0.0.1:${daemon.brokerPort}`, vehicle: 'uav1' }
    const code = await submit(broker, { file, agent: 'planner', timeout_ms: 20_000, wait: true }, (line) =>
      lines.push(line),
    )
    expect(lines.join('\n')).toContain('  range: retained')
    expect(lines).toContain('  hello: released')
    expect(code).toBe(0)
    expect(await until('notice', ({ component }) => component === 'hello')).toMatchObject({ text: 'range reported' })

    await daemon.stop()
    expect(await daemon.ended).toBe(0)
    await until('status', ({ status }) => status === 'offline')
    expect(heard.filter(({ topic }) => topic === 'status').at(-1)!.value).toMatchObject({ v: 1, status: 'offline' })
  })

  it('G5: ends a flight with its contingency before it leaves, and tells the ground station why', async () => {
    const daemon = await start()
    const { ground, until } = await listen(daemon.brokerPort!)
    const { vehicle: simulated } = await vehicle(daemon)
    const respond = async (generation: number, components: object[], known: (said: Said) => boolean) => {
      const { snapshot } = await until('snapshot', known)
      await ground.say('response/planner', { v: 1, response: `r${generation}`, generation, snapshot, components })
    }
    const outcome = (component: string, phase: string) =>
      until('outcome/planner', (o) => o.component === component && o.phase === phase)
    const up = { id: 'up', type: 'takeoff', payload: { alt: 8 } }
    await respond(1, [up], ({ state }) => state.ready === true && 'home.lat' in state && state['estimator.ok'] === true)
    await outcome('up', 'completed')
    const range = { id: 'range', type: 'report.range', payload: {} }
    const out = { id: 'out', type: 'velocity', payload: { north: 1, east: 0, seconds: 10 }, requires: ['range'] }
    await respond(2, [range, out], ({ state }) => state.landed === 'IN_AIR' && state.mode === 'HOLD')
    await outcome('out', 'dispatched')
    while (simulated.observations.mode !== 'OFFBOARD') await turn()

    await daemon.stop()
    expect(await daemon.ended).toBe(0)
    expect(await outcome('out', 'failed')).toMatchObject({ reason: 'shutdown' })
    await until('status', ({ status }) => status === 'offline')
    const { mode, intended, heartbeats, texts } = simulated.observations
    expect({ mode, intended }).toEqual({ mode: 'HOLD', intended: 'HOLD' })
    expect(heartbeats.get('1/191')).toBeGreaterThan(0)
    expect(texts.map(({ text }) => text)).toEqual(['HALO out failed shutdown'])
  })

  it('G5: after a fatal error sends nothing more to the vehicle, says `offline` and ends with 1', async () => {
    const daemon = await start()
    const { until } = await listen(daemon.brokerPort!)
    await vehicle(daemon)
    await until('snapshot', ({ unknown }) => !unknown.includes('mode'))
    // Counted where it is sent: what the vehicle hears may have been under way before.
    const datagrams = vi.spyOn(Socket.prototype, 'send')
    const ours = (): number => datagrams.mock.calls.filter(([bytes]) => (bytes as Uint8Array)[6] === COMPANION).length
    while (ours() === 0) await turn()
    const before = ours()
    daemon.fail(new Error('on purpose'))
    daemon.fail(new Error('a second one changes nothing'))
    await until('status', ({ status }) => status === 'offline')
    expect(await daemon.ended).toBe(1)
    expect(ours()).toBe(before)
    datagrams.mockRestore()
  })

  it('G5: calls itself alive after ticks that went whole through the core, and only after those', async () => {
    let alive = 0
    const daemon = await startDaemon(config, { alive: () => alive++ })
    open.push(() => daemon.stop())
    const tick = daemon.runtime.tick.bind(daemon.runtime)
    while (alive < 2) await turn()
    let ticks = 0
    daemon.runtime.tick = (now_ms) => {
      ticks++
      return tick(now_ms)
    }
    // As after a trap, in every tick.
    Object.defineProperty(daemon.runtime, 'healthy', { configurable: true, value: false })
    const before = alive
    while (ticks < 3) await turn()
    expect(alive).toBe(before)
    Reflect.deleteProperty(daemon.runtime, 'healthy')
    while (alive === before) await turn()
    daemon.runtime.tick = () => {
      throw new Error('on purpose')
    }
    const last = alive
    expect(await daemon.ended).toBe(1)
    expect(alive).toBe(last)
  })

  it('G5: with a journal that it cannot read or write it does not start', async () => {
    writeFileSync(config.journal, 'x')
    await expect(startDaemon(config)).rejects.toThrow(/delete the file/)
    config = { ...config, journal: join(folder, 'absent', 'uav1.journal') }
    await expect(startDaemon(config)).rejects.toThrow(/absent.*ENOENT/)
  })

  it('a disk that does not answer keeps no stop waiting, is told, and does not keep the process from its end', async () => {
    const daemon = await startDaemon(config)
    const { ground, until } = await listen(daemon.brokerPort!)
    const { vehicle: simulated } = await vehicle(daemon)
    const { snapshot } = await until(
      'snapshot',
      ({ state }) => state.ready === true && 'home.lat' in state && state['estimator.ok'] === true,
    )
    const components = [{ id: 'up', type: 'takeoff', payload: { alt: 30 } }]
    await ground.say('response/planner', { v: 1, response: 'r1', generation: 1, snapshot, components })
    const shows = (mode: string): boolean => simulated.observations.mode === mode
    while (!shows('TAKEOFF')) await turn()
    // Opening a pipe for writing blocks until somebody reads from it.
    execFileSync('mkfifo', [`${config.journal}.next`])
    await ground.say('operator/pause', { v: 1 })
    while (!shows('HOLD')) await turn()
    await until('control', ({ paused }) => paused)
    expect(await until('notice', ({ kind }) => kind === 'journal')).toMatchObject({ severity: 'critical' })
    await daemon.stop()
    expect(await daemon.ended).toBe(1)
    expect(daemon.stuck).toBe(true)
    closeSync(openSync(`${config.journal}.next`, 'r')) // the thread goes home
  })

  it('a broker that freezes does not keep it from its end, which is as good as any', async () => {
    const broker = await startFreezing()
    open.push(() => broker.close())
    config = configure(`{ url: "mqtt://127.0.0.1:${broker.port}" }`)
    let connected = 0
    let both = (): void => {}
    const heard = new Promise<void>((resolve) => {
      both = resolve
    })
    const write = (line: string): void => {
      if (line.includes('mqtt: connected') && ++connected === 2) both()
    }
    const daemon = await startDaemon(config, { log: pino({ level: 'debug' }, { write }) })
    await heard
    await daemon.stop()
    expect([await daemon.ended, daemon.stuck]).toEqual([0, false])
  })

  it('keeps pause over a restart', async () => {
    writeFileSync(config.journal, '{"journal":1,"paused":true,"pilotControl":false,"revoked":["planner"]}')
    const daemon = await start()
    const { until } = await listen(daemon.brokerPort!)
    expect(await until('control')).toMatchObject({ paused: true, revoked: ['planner'] })
  })

  it('takes a pause that is empty', async () => {
    const daemon = await start()
    const { until } = await listen(daemon.brokerPort!)
    await until('control', ({ paused }) => !paused)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${daemon.brokerPort}`)
    open.push(() => client.endAsync())
    await client.publishAsync('halo/v1/uav1/operator/pause', '', { qos: 1 })
    await until('control', ({ paused }) => paused)
    expect(await until('notice', ({ kind }) => kind === 'operator')).toMatchObject({
      text: 'operator/pause taken, though malformed: it is empty',
    })
  })

  it('G5: does not act beside another program with its ids, and says so', async () => {
    const daemon = await start()
    const { until } = await listen(daemon.brokerPort!)
    const socket = createSocket('udp4')
    socket.connect(daemon.mavlinkPort, '127.0.0.1')
    await once(socket, 'connect')
    open.push(() => socket.close())
    const speak = (component: number, autopilot: number): void => {
      const { id, length, fields } = layout('HEARTBEAT')
      const payload = new Uint8Array(length)
      payload[fields.autopilot!.offset] = autopilot
      payload[fields.type!.offset] = 2 // a quadrotor
      payload[fields.mavlink_version!.offset] = 3
      const transmit = (bytes: Uint8Array): boolean => {
        socket.send(bytes)
        return true
      }
      const adapter = new Adapter({ component, transmit })
      adapter.address(1, 1)
      adapter.send({ message: id, payload })
    }
    speak(1, 12)
    // The autopilot is known once something is said to it.
    await once(socket, 'message')
    expect(await until('control')).toMatchObject({ pilot_control: false })
    // Once may be what a process of before has sent.
    const rival = setInterval(() => speak(191, 8), 200)
    open.push(() => clearInterval(rival))
    await until('control', ({ pilot_control }) => pilot_control)
    expect(await until('notice', ({ kind }) => kind === 'alarm')).toMatchObject({
      severity: 'alert',
      text: 'another program sends as 1/191 on this link: choose another mavlink.component',
    })
  })

  it('brings all retained topics up to date after the broker was away', async () => {
    const first = await startBroker('127.0.0.1:0')
    config = configure(`{ url: "mqtt://127.0.0.1:${first.port}" }`)
    await start()
    const before = await listen(first.port)
    await before.until('status', ({ status }) => status === 'online')
    await before.until('catalog')
    await first.close()
    const second = await startBroker(`127.0.0.1:${first.port}`)
    open.unshift(() => second.close())
    const { until, heard } = await listen(first.port)
    await until('status', ({ status }) => status === 'online')
    const topics = new Set(heard.map(({ topic }) => topic))
    for (const topic of ['catalog', 'control', 'snapshot']) expect(topics).toContain(topic)
  })
})
