// A stop arrives, whatever an agent sends (PROTOCOL 12): behind Mosquitto, which drops what it cannot get rid of on a connection
// and has acknowledged it before. What is not on the machine is skipped, and says so.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import mqtt from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decode } from '../../companion/commands/ground.ts'
import {
  type Agent,
  encode,
  FlightLine,
  isInstalled,
  mosquitto,
  skipWithout,
  until,
  type Value,
  VEHICLE,
} from './flight-line.ts'

const skipped = skipWithout('mosquitto', isInstalled('sh', '-c', 'command -v mosquitto && command -v mosquitto_pub'))
const ROUNDS = 8

describe.skipIf(skipped)('while an agent sends as fast as it can', () => {
  let line: FlightLine
  let agent: Agent
  /** Only what it needs: the broker drops for a client that hears everything as well. */
  let operator: mqtt.MqttClient
  let control: Value

  beforeAll(async () => {
    line = await FlightLine.open({ broker: mosquitto })
    agent = await line.agent()
    line.launch()
    await agent.ready()
    await agent.end()
    operator = await mqtt.connectAsync(line.url)
    operator.on('message', (_, bytes) => {
      control = decode(bytes) as Value
    })
    await operator.subscribeAsync(`halo/v1/${VEHICLE}/control`, { qos: 1 })
    await until('control', () => control)
  })
  afterAll(async () => {
    await operator?.endAsync(true)
    await line?.close()
  })

  it.each([20_000, 50])(
    'messages of %i bytes, each pause and each resume is applied',
    async (bytes) => {
      const lines = `yes "$(head -c ${bytes} /dev/zero | tr '\\0' a)"`
      const publisher = `mosquitto_pub -p ${line.broker.port} -t halo/v1/${VEHICLE}/response/planner -l`
      const flood = spawn('sh', ['-c', `${lines} | ${publisher}`], { detached: true, stdio: 'ignore' })
      const ended = once(flood, 'exit')
      let heard = 0
      const listener = await mqtt.connectAsync(line.url)
      listener.on('message', () => heard++)
      await listener.subscribeAsync(`halo/v1/${VEHICLE}/verdict/planner`)
      try {
        await until('the flood', () => heard > 100)
        for (let round = 0; round < ROUNDS; round++) {
          const before = heard
          await operator.publishAsync(`halo/v1/${VEHICLE}/operator/pause`, Buffer.from(encode({ v: 1 })), { qos: 1 })
          await until(`pause ${round}`, () => control.paused)
          const { session, n: after } = control
          const resume = Buffer.from(encode({ v: 1, session, after }))
          await operator.publishAsync(`halo/v1/${VEHICLE}/operator/resume`, resume, { qos: 1 })
          await until(`resume ${round}`, () => !control.paused)
          await until('the flood to go on', () => heard > before)
        }
        expect(control.n).toBeGreaterThanOrEqual(2 * ROUNDS)
      } finally {
        process.kill(-flood.pid!, 'SIGKILL')
        await ended
        await listener.endAsync(true)
      }
    },
    120_000,
  )
})
