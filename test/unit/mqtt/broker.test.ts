// The embedded broker beside a companion, against real clients on real sockets. Nothing is timed: every step waits for an event.

import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Broker, startBroker } from '../../../companion/mqtt/broker.ts'
import { type Client, connect } from '../../../companion/mqtt/client.ts'
import { topicName } from '../../../companion/mqtt/topics.ts'

const BELOW = 'halo/v1/uav1/'
const open: (() => unknown)[] = []
let broker: Broker
let refusals: string[]

beforeEach(async () => {
  refusals = []
  const log = (message: string): void => void refusals.push(message)
  broker = await startBroker('127.0.0.1:0', { vehicle: 'uav1', retained: ['map'], log })
  open.push(() => broker.close())
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function until<T>(what: () => T): Promise<NonNullable<T>> {
  for (;;) {
    const found = what()
    if (found) return found
    await turn()
  }
}

async function companion() {
  const heard: string[] = []
  let lost = 0
  const lines: string[] = []
  const client: Client = connect({
    url: `mqtt://${broker.credentials}@127.0.0.1:${broker.port}`,
    vehicle: 'uav1',
    will: { payload: Buffer.from('offline') },
    onMessage: (topic, bytes, retained) => {
      heard.push(`${topicName(topic)} ${Buffer.from(bytes).toString().slice(0, 20)}${retained ? ' retained' : ''}`)
    },
    onConnected: () => void client.publish('status', Buffer.from('online'), { retain: true, qos: 1 }),
    onLost: () => void lost++,
    log: (line) => lines.push(line),
  })
  open.push(() => client.end())
  await until(() => lines.filter((line) => line.startsWith('mqtt: connected')).length === 2)
  return { client, heard, lost: () => lost }
}

async function stranger(options: IClientOptions = {}): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0, ...options }, false)
  client.on('error', () => {})
  open.push(() => client.endAsync(true))
  return client
}

/** The next message, or the end of the connection. */
const next = (client: MqttClient, event: 'message' | 'close'): Promise<unknown[]> =>
  new Promise((resolve) => client.once(event, (...args: unknown[]) => resolve(args)))

/** The first `count` topics of what is kept for whoever comes later, and any that come before something said behind them. */
async function kept(count: number): Promise<string[]> {
  const client = await stranger()
  const topics: string[] = []
  client.on('message', (topic, _, { retain }) => {
    if (retain) topics.push(topic)
  })
  await client.subscribeAsync('#', { qos: 1 })
  await until(() => topics.length >= count)
  const behind = next(client, 'message')
  await client.publishAsync(`${BELOW}operator/last`, 'x', { qos: 1 })
  await behind
  return topics.sort()
}

describe('the embedded broker', () => {
  it('carries what PROTOCOL 12 has, both ways', async () => {
    const { client, heard } = await companion()
    const agent = await stranger()
    const said = next(agent, 'message')
    await agent.subscribeAsync(`${BELOW}verdict/planner`, { qos: 1 })
    for (const topic of ['response/planner', 'context/map', 'operator/pause']) {
      await agent.publishAsync(BELOW + topic, 'x', { qos: 1 })
    }
    await until(() => heard.length === 3)
    client.publish('verdict/planner', Buffer.alloc(300_000, 0x61), { retain: false, qos: 1 })
    expect(((await said)[1] as Buffer).length).toBe(300_000)
  })

  it.each(['verdict/planner', 'status', 'control', 'snapshot', 'notice', 'response/a/b', 'elsewhere'])(
    'ends whoever but the companion publishes to %s, and says which topics there are',
    async (topic) => {
      const { heard } = await companion()
      const liar = await stranger()
      const closed = next(liar, 'close')
      liar.publish(BELOW + topic, 'x', { qos: 0, retain: true })
      await closed
      expect(refusals.at(-1)).toContain('halo/v1/uav1/response/<agent>')
      expect(await kept(1)).toEqual([`${BELOW}status`])
      expect(heard.filter((line) => !line.startsWith('operator/last'))).toEqual([])
    },
  )

  it('keeps nothing but what the companion says, and context that the catalog allows to be kept', async () => {
    await companion()
    const agent = await stranger()
    for (const topic of ['response/planner', 'operator/resume', 'context/map', 'context/other']) {
      await agent.publishAsync(BELOW + topic, 'x', { qos: 1, retain: true })
    }
    expect(await kept(2)).toEqual([`${BELOW}context/map`, `${BELOW}status`])
  })

  it.each(['halo-uav1', 'halo-uav1-agents'])('gives nobody the name %s', async (clientId) => {
    const { lost, client } = await companion()
    await expect(stranger({ clientId })).rejects.toThrow(/refused|Identifier|rejected/i)
    await expect(stranger({ clientId, username: 'companion', password: 'guess' })).rejects.toThrow(/refused|rejected/i)
    expect(lost()).toBe(0)
    expect(client.publish('control', Buffer.from('x'), { retain: true, qos: 1 })).toBe(true)
    expect(refusals.at(-1)).toMatch(/choose another/)
  })

  it('queues nothing for who is away', async () => {
    const { heard, client } = await companion()
    const away = await stranger({ clientId: 'away', clean: false })
    await away.subscribeAsync(`${BELOW}#`, { qos: 1 })
    await away.endAsync()
    client.publish('verdict/planner', Buffer.from('missed'), { retain: false, qos: 1 })
    const back = await stranger({ clientId: 'away', clean: false })
    const told: string[] = []
    back.on('message', (topic) => told.push(topic))
    await back.subscribeAsync(`${BELOW}operator/pause`, { qos: 1 })
    const seen = next(back, 'message')
    await back.publishAsync(`${BELOW}operator/pause`, 'x', { qos: 1 })
    await seen
    expect(told).toEqual([`${BELOW}operator/pause`])
    await until(() => heard.length === 1)
  })

  it('drops who does not read, and the companion says what it says to the others meanwhile', async () => {
    const { client } = await companion()
    const reader = await stranger()
    let read = 0
    reader.on('message', () => read++)
    await reader.subscribeAsync(`${BELOW}verdict/planner`, { qos: 0 })
    const deaf = await stranger()
    await deaf.subscribeAsync(`${BELOW}verdict/planner`, { qos: 0 })
    const socket = deaf.stream as Socket
    socket.pause()
    const gone = once(socket, 'close')
    let said = 0
    let over = false
    const saying = (async () => {
      while (!over) {
        if (client.publish('verdict/planner', Buffer.alloc(60_000), { retain: false, qos: 1 })) said++
        await turn()
      }
    })()
    // It hears of its end only once it reads what the kernel has for it.
    await until(() => said > 300)
    socket.resume()
    await gone
    over = true
    await saying
    expect(read).toBeGreaterThan(0)
    expect(client.connected).toBe(true)
  })

  it('bounds subscriptions, connections, and the time until CONNECT', async () => {
    const many = await stranger()
    const filters = Array.from({ length: 40 }, (_, i) => `${BELOW}outcome/${i}`)
    const granted = await Promise.allSettled(filters.map((filter) => many.subscribeAsync(filter)))
    expect(granted.filter(({ status }) => status === 'fulfilled')).toHaveLength(32)
    const sockets = Array.from({ length: 80 }, () => connectSocket(broker.port, '127.0.0.1'))
    open.push(() => {
      for (const socket of sockets) socket.destroy()
    })
    let closed = 0
    for (const socket of sockets) socket.on('error', () => {}).on('close', () => closed++)
    // Those beyond the bound at once, the rest for want of a word.
    await until(() => closed === 80)
    expect(refusals.filter((line) => line.includes('connections'))).toHaveLength(1)
  })

  it('lets the next one in where all places are taken by who says nothing: a stop arrives', async () => {
    const { heard } = await companion()
    // So many a second and no more: who is turned away comes again.
    const admitted = (): Promise<MqttClient> => stranger({ keepalive: 0 }).catch(admitted)
    const idle: MqttClient[] = []
    while (idle.length < 64) idle.push(await admitted())
    const operator = await admitted()
    await operator.publishAsync(`${BELOW}operator/pause`, 'p', { qos: 1 })
    await until(() => heard.includes('operator/pause p'))
    expect(idle.filter((client) => client.connected).length).toBeLessThan(62)
    expect(refusals.some((line) => line.includes('makes room'))).toBe(true)
  })
})
