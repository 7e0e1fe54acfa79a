// What the commands of the ground make of a broker that keeps the words of a companion that is gone, or that is not there yet.

import { once } from 'node:events'
import { createServer } from 'node:net'
import mqtt from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import { setContext } from '../../../companion/commands/context.ts'
import { operator } from '../../../companion/commands/operator.ts'
import { watch } from '../../../companion/commands/watch.ts'
import { type Broker, startBroker } from '../../../companion/mqtt/broker.ts'
import { encode } from '../../../src/wire/write.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const SESSION = '00000000000000aa'
const CONTROL = { session: SESSION, n: 3, paused: false, pilot_control: false, revoked: [], pending: [], uncertain: [] }

async function begin(port = 0): Promise<Broker> {
  const broker = await startBroker(`127.0.0.1:${port}`)
  open.push(() => broker.close())
  return broker
}

/** Says these as a companion does. */
async function companion({ port }: Broker, kept: Readonly<Record<string, unknown>>) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  open.push(() => client.endAsync(true))
  const say = (topic: string, value: unknown, retain: boolean) =>
    client.publishAsync(`halo/v1/uav1/${topic}`, Buffer.from(encode(value)), { qos: 1, retain })
  for (const [topic, value] of Object.entries(kept)) await say(topic, value, true)
  return say
}

const KEPT = {
  status: { status: 'online', session: SESSION },
  control: CONTROL,
  catalog: { types: {} },
  snapshot: { snapshot: `${SESSION}-1`, state: { map: 7 } },
}

describe('a retained message of a dead process is no answer', () => {
  it('halo operator says that nobody speaks', async () => {
    const broker = await begin()
    await companion(broker, KEPT)
    const lines: string[] = []
    const listed = operator(
      { url: `mqtt://127.0.0.1:${broker.port}`, vehicle: 'uav1' },
      { verb: undefined, about: undefined, watch: false },
      (line) => lines.push(line),
    )
    await expect(listed).rejects.toThrow(`no companion speaks there; what the broker keeps is of session ${SESSION}`)
    expect(lines).toEqual([])
  })

  it('halo operator lists what a companion that speaks holds', async () => {
    const broker = await begin()
    const say = await companion(broker, KEPT)
    const turning = setInterval(() => void say('snapshot', KEPT.snapshot, true), 20)
    open.push(() => clearInterval(turning))
    const lines: string[] = []
    const to = { url: `mqtt://127.0.0.1:${broker.port}`, vehicle: 'uav1' }
    const code = await operator(to, { verb: undefined, about: undefined, watch: false }, (line) => lines.push(line))
    expect(code).toBe(0)
    expect(lines.join('\n')).toContain('control 3')
  })

  it('halo context is not content with what the broker keeps', async () => {
    const broker = await begin()
    await companion(broker, KEPT)
    const lines: string[] = []
    const to = { url: `mqtt://127.0.0.1:${broker.port}`, vehicle: 'uav1' }
    expect(await setContext(to, { field: 'map', text: '7', retain: false }, (line) => lines.push(line))).toBe(2)
    expect(lines).toEqual(['no companion shows it'])
  })
})

it('halo watch waits for its broker, and says so once', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const warned: string[] = []
  let heard: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    heard = resolve
  })
  let told: () => void = () => {}
  const warning = new Promise<void>((resolve) => {
    told = resolve
  })
  const to = { url: `mqtt://127.0.0.1:${port}`, vehicle: 'uav1' }
  const lines: string[] = []
  const ended = watch(
    to,
    (line) => {
      lines.push(line)
      heard()
    },
    (line) => {
      warned.push(line)
      told()
    },
  )
  void ended
  await warning
  const broker = await begin(port)
  await companion(broker, { status: KEPT.status })
  await first
  expect(warned).toEqual([expect.stringMatching(/^mqtt mqtt:\/\/127\.0\.0\.1:\d+: .*; it is tried again$/)])
  expect(JSON.parse(lines[0]!)).toMatchObject({ topic: 'status', value: KEPT.status })
})
