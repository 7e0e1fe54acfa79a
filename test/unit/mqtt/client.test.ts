// Against the embedded broker, and against Mosquitto where it is installed, in both versions of MQTT. No time is asserted:
// every step waits for an event of the step before.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket, createServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mqtt, { type MqttClient } from 'mqtt'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Broker, startBroker } from '../../../companion/mqtt/broker.ts'
import { type Client, connect } from '../../../companion/mqtt/client.ts'
import { type Topic, topicName } from '../../../companion/mqtt/topics.ts'
import { startFreezing } from './freezing.ts'

const mosquitto = ['/usr/sbin/mosquitto', '/usr/bin/mosquitto'].find(
  (path) => spawnSync(path, ['-h']).error === undefined,
)
if (mosquitto === undefined) console.log('skipped: MQTT against Mosquitto (not installed)')

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Events in order; `until` waits for the first that fits, from the beginning. */
class Journal<T> {
  readonly entries: T[] = []
  private readonly waiting = new Set<() => void>()

  add(entry: T): void {
    this.entries.push(entry)
    for (const check of [...this.waiting]) check()
  }

  until(fits: (entry: T) => boolean, count = 1): Promise<T> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.entries.filter(fits)
        if (found.length < count) return
        this.waiting.delete(check)
        resolve(found[count - 1]!)
      }
      this.waiting.add(check)
      check()
    })
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function startMosquitto(port: number): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), 'halo-mosquitto-'))
  const configuration = join(folder, 'mosquitto.conf')
  writeFileSync(configuration, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n`)
  const child: ChildProcess = spawn(mosquitto!, ['-c', configuration], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  for (let listening = false; !listening; ) {
    const socket = connectSocket(port, '127.0.0.1')
    listening = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (!listening) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    port,
    credentials: '',
    async close() {
      child.kill('SIGKILL')
      await exited
      rmSync(folder, { recursive: true })
    },
  }
}

/** Stands between client and broker, so that a link can be cut, or go silent, without either knowing why. */
async function startProxy(target: number) {
  const pairs = new Set<[Socket, Socket]>()
  const accept = (near: Socket) => {
    const far = connectSocket(target, '127.0.0.1')
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        near.destroy()
        far.destroy()
        pairs.delete(pair)
      })
    }
    near.pipe(far).pipe(near)
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(accept).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await listen(0)
  const { port } = server.address() as { port: number }
  const cut = () => {
    server.close()
    for (const [near, far] of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  open.push(cut)
  return {
    port,
    /** What the client sends goes nowhere from now on. */
    silence: () => {
      for (const [near] of pairs) near.unpipe().resume()
    },
    cut,
    restore: async () => {
      server = await listen(port)
    },
  }
}

interface Message {
  topic: string
  text: string
  retained: boolean
}

async function observe(port: number, filter = 'halo/v1/drone/#') {
  const messages = new Journal<Message>()
  const client: MqttClient = mqtt.connect(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 100, queueQoSZero: false })
  open.push(() => client.endAsync(true))
  client.on('error', () => {})
  client.on('message', (topic, payload, { retain }) =>
    messages.add({ topic, text: payload.toString(), retained: retain }),
  )
  await new Promise<void>((resolve) => client.once('connect', () => resolve()))
  await client.subscribeAsync(filter, { qos: 1 })
  const publish = (topic: string, text: string, retain = false) =>
    client.publishAsync(`halo/v1/drone/${topic}`, text, { qos: 1, retain })
  return { messages, publish, client }
}

interface Arrival {
  topic: string
  text: string
  retained: boolean
}

function companion(
  port: number,
  protocolVersion: 4 | 5,
  onMessage: (topic: Topic) => void = () => {},
  agentsPort = port,
) {
  const deaf = new Journal<string>()
  let up = 0
  const arrivals = new Journal<Arrival>()
  const events = new Journal<'connected' | 'lost'>()
  const lines = new Journal<string>()
  /** Without those of level debug. */
  const told: string[] = []
  const client: Client = connect({
    url: `mqtt://127.0.0.1:${port}`,
    vehicle: 'drone',
    protocolVersion,
    agents: { url: `mqtt://127.0.0.1:${agentsPort}` },
    onDeaf: (to) => deaf.add(to),
    will: { payload: Buffer.from('offline') },
    onMessage(topic, bytes, retained) {
      arrivals.add({ topic: topicName(topic), text: Buffer.from(bytes).toString(), retained })
      onMessage(topic)
    },
    onConnected() {
      client.publish('status', Buffer.from('online'), { retain: true, qos: 1 })
    },
    onLost: () => events.add('lost'),
    log(line, level) {
      if (level !== 'debug') told.push(line)
      // Both connections, so that what is said from then on is heard.
      if (line.startsWith('mqtt: connected')) up++
      if (line.startsWith('mqtt: connection lost')) up--
      if (line.startsWith('mqtt: connected') && up === 2) events.add('connected')
      lines.add(line)
    },
  })
  open.push(() => client.end())
  return { client, arrivals, events, lines, told, deaf }
}

const brokers = [
  { name: 'the embedded broker', start: (port: number) => startBroker(`127.0.0.1:${port}`), version: 4 as const },
  ...(mosquitto === undefined
    ? []
    : ([4, 5] as const).map((version) => ({ name: `Mosquitto, MQTT ${version}`, start: startMosquitto, version }))),
]

describe.each(brokers)('MQTT with $name (PROTOCOL 12)', ({ start, version }) => {
  const begin = async (): Promise<Broker> => {
    const broker = await start(await freePort())
    open.push(() => broker.close())
    return broker
  }

  test('publishes below the root, retained where asked', async () => {
    const broker = await begin()
    const { client, events } = companion(broker.port, version)
    await events.until((event) => event === 'connected')
    const early = await observe(broker.port)
    await early.messages.until(({ topic }) => topic === 'halo/v1/drone/status')
    expect(client.publish('verdict/planner', Buffer.from('yes'), { retain: false, qos: 1 })).toBe(true)
    expect(client.publish('snapshot', Buffer.from('s1'), { retain: true, qos: 1 })).toBe(true)
    await early.messages.until(({ text }) => text === 's1')
    const late = await observe(broker.port)
    await late.messages.until(({ topic }) => topic.endsWith('snapshot'))
    await late.messages.until(({ topic }) => topic.endsWith('status'))
    expect(late.messages.entries).toEqual(
      expect.arrayContaining([
        { topic: 'halo/v1/drone/status', text: 'online', retained: true },
        { topic: 'halo/v1/drone/snapshot', text: 's1', retained: true },
      ]),
    )
    expect(late.messages.entries.length).toBe(2)
  })

  test('hears response, context and operator, and no other; G5 the retained flag is seen', async () => {
    const broker = await begin()
    const { publish } = await observe(broker.port)
    await publish('response/planner', 'old', true)
    await publish('context/wind.speed', '3', true)
    const { arrivals, events } = companion(broker.port, version)
    await events.until((event) => event === 'connected')
    await arrivals.until(({ text }) => text === 'old')
    await arrivals.until(({ text }) => text === '3')
    await publish('response/planner/deep', 'unheard')
    await publish('verdict/planner', 'unheard')
    await publish('context/too/deep', 'unheard')
    await publish('response/planner', 'new')
    await publish('response/planner', 'kept from now on', true)
    await publish('operator/pause', 'p')
    await arrivals.until(({ text }) => text === 'p')
    expect(arrivals.entries.slice(2)).toEqual([
      { topic: 'response/planner', text: 'new', retained: false },
      { topic: 'response/planner', text: 'kept from now on', retained: false },
      { topic: 'operator/pause', text: 'p', retained: false },
    ])
    expect(arrivals.entries.slice(0, 2)).toEqual(
      expect.arrayContaining([
        { topic: 'response/planner', text: 'old', retained: true },
        { topic: 'context/wind.speed', text: '3', retained: true },
      ]),
    )
  })

  test('a new session subscribes afresh and sees what is retained again (PROTOCOL 11)', async () => {
    const broker = await begin()
    const { publish } = await observe(broker.port)
    await publish('context/map', '7', true)
    await publish('response/planner', 'old', true)
    const { client, arrivals, events } = companion(broker.port, version)
    await events.until((event) => event === 'connected')
    await arrivals.until(({ topic, retained }) => topic === 'context/map' && retained)
    await arrivals.until(({ text }) => text === 'old') // on the other connection
    client.resubscribe()
    await arrivals.until(({ topic, retained }) => topic === 'context/map' && retained, 2)
    expect(arrivals.entries.filter(({ text }) => text === 'old').length).toBe(1)
  })

  test('the will is said when the link breaks, the last words when it ends', async () => {
    const broker = await begin()
    const proxy = await startProxy(broker.port)
    const watcher = await observe(broker.port)
    const { client, events } = companion(proxy.port, version)
    await events.until((event) => event === 'connected')
    await watcher.messages.until(({ text }) => text === 'online')
    proxy.cut()
    await watcher.messages.until(({ text }) => text === 'offline')
    await events.until((event) => event === 'lost')
    await proxy.restore()
    await watcher.messages.until(({ text }) => text === 'online', 2)
    await client.end(Buffer.from('farewell'))
    await watcher.messages.until(({ text }) => text === 'farewell')
    const late = await observe(broker.port)
    const kept = await late.messages.until(({ topic }) => topic === 'halo/v1/drone/status')
    expect(kept).toEqual({ topic: 'halo/v1/drone/status', text: 'farewell', retained: true })
    expect(client.publish('snapshot', Buffer.from('x'), { retain: true, qos: 1 })).toBe(false)
    await client.end() // once more does nothing
  })

  test('G5 nothing of before an outage is delivered after it', async () => {
    const broker = await begin()
    const proxy = await startProxy(broker.port)
    const watcher = await observe(broker.port)
    const { client, events } = companion(proxy.port, version)
    await events.until((event) => event === 'connected')
    await watcher.messages.until(({ text }) => text === 'online')
    proxy.silence()
    // Sent, and never acknowledged: the library would send it again.
    expect(client.publish('outcome/planner', Buffer.from('under way'), { retain: false, qos: 1 })).toBe(true)
    proxy.cut()
    await events.until((event) => event === 'lost')
    for (const qos of [0, 1] as const) {
      expect(client.publish('outcome/planner', Buffer.from('meanwhile'), { retain: false, qos })).toBe(false)
    }
    await proxy.restore()
    await events.until((event) => event === 'connected', 2)
    expect(client.publish('outcome/planner', Buffer.from('fresh'), { retain: false, qos: 1 })).toBe(true)
    await watcher.messages.until(({ text }) => text === 'fresh')
    const outcomes = watcher.messages.entries.filter(({ topic }) => topic.includes('outcome')).map(({ text }) => text)
    expect(outcomes).toEqual(['fresh'])
  })

  test('a broker that restarts is found again, and subscribed again', async () => {
    const port = await freePort()
    const first = await start(port)
    const { arrivals, events } = companion(port, version)
    await events.until((event) => event === 'connected')
    await first.close()
    await events.until((event) => event === 'lost')
    const second = await start(port)
    open.push(() => second.close())
    await events.until((event) => event === 'connected', 2)
    const { publish, messages } = await observe(port)
    await messages.until(({ topic, text, retained }) => topic.endsWith('status') && text === 'online' && retained)
    await publish('response/planner', 'again')
    expect(await arrivals.until(({ text }) => text === 'again')).toMatchObject({ topic: 'response/planner' })
  })

  test('without agents’ connection people are heard, and it is told; `online` waits for it', async () => {
    const broker = await begin()
    const proxy = await startProxy(broker.port)
    proxy.cut()
    const watcher = await observe(broker.port)
    const { client, arrivals, deaf } = companion(broker.port, version, () => {}, proxy.port)
    expect(await deaf.until(() => true)).toBe('agents')
    await watcher.publish('operator/pause', 'p')
    await arrivals.until(({ topic }) => topic === 'operator/pause')
    expect(client.publish('control', Buffer.from('paused'), { retain: true, qos: 1 })).toBe(true)
    await watcher.messages.until(({ text }) => text === 'paused')
    expect(watcher.messages.entries.filter(({ text }) => text === 'online')).toEqual([])
    await proxy.restore()
    await watcher.messages.until(({ text }) => text === 'online')
    // What comes and goes afterwards changes nothing in that HALO is there.
    proxy.cut()
    await deaf.until(() => true, 2)
    expect(watcher.messages.entries.filter(({ text }) => text === 'offline')).toEqual([])
    expect(watcher.messages.entries.filter(({ text }) => text === 'offline')).toEqual([])
  })

  test('G5 without people’s connection no agent is heard, `offline` is said, and people are told where it can be', async () => {
    const broker = await begin()
    const proxy = await startProxy(broker.port)
    const watcher = await observe(broker.port)
    const { client, arrivals, deaf, events, lines } = companion(proxy.port, version, () => {}, broker.port)
    await watcher.messages.until(({ text }) => text === 'online')
    proxy.cut()
    await watcher.messages.until(({ text }) => text === 'offline')
    expect(await deaf.until(() => true)).toBe('people')
    await watcher.publish('response/planner', 'fly')
    expect(client.publish('notice', Buffer.from('deaf'), { retain: false, qos: 1 })).toBe(true)
    expect(client.publish('verdict/planner', Buffer.from('yes'), { retain: false, qos: 1 })).toBe(false)
    await watcher.messages.until(({ text }) => text === 'deaf')
    await proxy.restore()
    await events.until((event) => event === 'connected', 2)
    await watcher.messages.until(({ text }) => text === 'online', 2)
    await watcher.publish('response/planner', 'again')
    await arrivals.until(({ text }) => text === 'again')
    expect(arrivals.entries.map(({ text }) => text)).toEqual(['again'])
    expect(lines.entries.filter((line) => line.includes('1 messages of agents were not heard'))).toHaveLength(1)
  })

  test('20 MB in one response arrive as a byte too many, and more of it is held nowhere here', async () => {
    const broker = await begin()
    const { publish, messages } = await observe(broker.port, 'halo/v1/drone/status')
    const { arrivals } = companion(broker.port, version)
    await messages.until(({ text }) => text === 'online')
    const text = 'x'.repeat(version === 5 ? 900_000 : 20_000_000)
    await publish('response/planner', text)
    await publish('response/planner', 'short')
    await arrivals.until((arrival) => arrival.text === 'short')
    expect(arrivals.entries.map((arrival) => arrival.text.length)).toEqual([65_537, 5])
  })

  test('a flood does not keep timers waiting', async () => {
    const broker = await begin()
    const { publish } = await observe(broker.port)
    let turns = 0
    let heard = 0
    const tick = () => {
      turns++
      next = setImmediate(tick)
    }
    let next = setImmediate(tick)
    open.push(() => clearImmediate(next))
    let before = -1
    let shared = 0
    const { arrivals, events } = companion(broker.port, version, () => {
      if (turns === before) shared++
      before = turns
      heard++
    })
    await events.until((event) => event === 'connected')
    await Promise.all(Array.from({ length: 500 }, (_, i) => publish('response/planner', `${i}`)))
    await arrivals.until(({ text }) => text === '499')
    expect(heard).toBe(500)
    expect(shared).toBe(0) // no two messages in one turn of the event loop
  })
})

describe('MQTT without a broker', () => {
  test('a refused connection is logged, never thrown, and the client can end', async () => {
    const { client, lines } = companion(await freePort(), 4)
    await lines.until((line) => line.includes('ECONNREFUSED'), 2)
    expect(client.connected).toBe(false)
    expect(client.publish('snapshot', Buffer.from('x'), { retain: true, qos: 1 })).toBe(false)
    client.resubscribe()
    await client.end()
  })

  test('a broker that is away is one line, and one more when it is back, with what that took', async () => {
    const attempts = new Journal<true>()
    const away = createServer((socket) => {
      attempts.add(true)
      socket.destroy()
    })
    const port = await freePort()
    await new Promise<void>((resolve) => away.listen(port, '127.0.0.1', resolve))
    const { client, told, events } = companion(port, 4)
    await attempts.until(() => true, 6)
    expect(client.publish('verdict/planner', Buffer.from('x'), { retain: false, qos: 1 })).toBe(false)
    expect(told).toEqual([
      expect.stringMatching(/^mqtt: (read ECONNRESET|the broker ends it before it is a connection)$/),
    ])
    await new Promise((resolve) => away.close(resolve))
    const broker = await startBroker(`127.0.0.1:${port}`)
    await events.until((event) => event === 'connected')
    const back = /^mqtt: connected after \d+\.\d s and [1-9]\d* attempts; 1 messages were not said meanwhile$/
    expect(told.slice(1)).toEqual([expect.stringMatching(back)])

    await broker.close()
    await events.until((event) => event === 'lost')
    const again = await startBroker(`127.0.0.1:${port}`)
    open.push(() => again.close())
    await events.until((event) => event === 'connected', 2)
    expect(told.slice(2)).toEqual([
      expect.stringMatching(/^mqtt: connection lost/),
      expect.stringMatching(/^mqtt: connected after \d+\.\d s and [1-9]\d* attempts/),
    ])
  })

  test('a broker that freezes keeps no end waiting', async () => {
    const broker = await startFreezing()
    open.push(() => broker.close())
    const { client, events } = companion(broker.port, 4)
    await events.until((event) => event === 'connected')
    await client.end()
    expect(client.connected).toBe(false)
  })

  test('a vehicle that is no level of a topic throws at once', () => {
    const options = { will: { payload: Buffer.alloc(0) }, onMessage() {}, onConnected() {}, onLost() {}, log() {} }
    expect(() => connect({ url: 'mqtt://127.0.0.1:1', vehicle: 'a/b', ...options })).toThrow(RangeError)
  })

  test('the embedded broker wants host:port, and says when it cannot have it', async () => {
    for (const address of ['', '1883', ':1883', 'localhost', '127.0.0.1:70000', 'a:b:1']) {
      await expect(startBroker(address)).rejects.toThrow('must be host:port')
    }
    const broker = await startBroker('127.0.0.1:0')
    open.push(() => broker.close())
    expect(broker.port).toBeGreaterThan(0)
    await expect(startBroker(`127.0.0.1:${broker.port}`)).rejects.toThrow('EADDRINUSE')
  })
})

test('no packet waits for the acknowledgement of the one before it: neither end of the link keeps small ones back', async () => {
  const undelayed = vi.spyOn(Socket.prototype, 'setNoDelay')
  open.push(() => undelayed.mockRestore())
  const broker = await startBroker('127.0.0.1:0')
  open.push(() => broker.close())
  const { lines } = companion(broker.port, 4)
  await lines.until((line) => line.startsWith('mqtt: connected'), 2)
  const ends = undelayed.mock.contexts as Socket[]
  expect(ends.map(({ localPort, remotePort }) => [localPort, remotePort].indexOf(broker.port)).sort()).toEqual([
    0, 0, 1, 1,
  ])
})
