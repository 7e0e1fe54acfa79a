// Brokers and encoders that are not ours: Mosquitto, its clients, Debian's python3-cbor2, and the two example agents
// (PROTOCOL 4, 12). What is not on the machine is skipped, and says so.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Agent,
  aedes,
  COMMAND,
  decisions,
  digestOf,
  encode,
  FlightLine,
  isInstalled,
  mosquitto,
  notice,
  PROJECT,
  PYTHON,
  report,
  skipWithout,
  takeoff,
  until,
  VEHICLE,
} from './flight-line.ts'

const run = promisify(execFile)
const withoutMosquitto = skipWithout('mosquitto', isInstalled('sh', '-c', 'command -v mosquitto'))
const withoutPublisher = skipWithout('mosquitto_pub', isInstalled('sh', '-c', 'command -v mosquitto_pub'))
const withoutPython = skipWithout('python3 with cbor2', PYTHON !== undefined)
const withoutPaho = skipWithout(
  'python3 with cbor2 and paho',
  PYTHON !== undefined && isInstalled(PYTHON, '-c', 'import paho.mqtt.client'),
)

describe.each([
  { name: 'aedes', broker: aedes, protocol: 4, skipped: false },
  { name: 'mosquitto', broker: mosquitto, protocol: 5, skipped: withoutMosquitto },
] as const)('behind $name', ({ broker, protocol, skipped }) => {
  let line: FlightLine
  let agent: Agent

  beforeAll(async () => {
    if (skipped) return
    line = await FlightLine.open({
      broker,
      protocol,
      edits: [['evidence: { max_age: 60s }', 'evidence: { max_age: 3s }']],
    })
    agent = await line.agent()
    await line.start()
    await agent.ready()
  })
  afterAll(() => line?.close())

  it.skipIf(skipped || withoutPython || withoutPublisher)(
    'G5: accepts what cbor2 wrote and mosquitto_pub published, and refuses its tags',
    async () => {
      const response = agent.draft({ components: [report(), { ...notice('say'), payload: { text: 'Grüße ✓' } }] })
      const file = join(line.folder, 'response.cbor')
      const publish = async (expression: string): Promise<string> => {
        const program = `import cbor2, datetime, json, sys; r = json.loads(sys.argv[1]); sys.stdout.buffer.write(${expression})`
        const options = { encoding: 'buffer' } as const
        const { stdout } = await run(PYTHON!, ['-c', program, JSON.stringify(response)], options)
        writeFileSync(file, stdout)
        const topic = `halo/v1/${VEHICLE}/response/planner`
        await run('mosquitto_pub', ['-p', String(line.broker.port), '-q', '1', '-t', topic, '-f', file])
        return digestOf(stdout)
      }
      const tagged = await publish('cbor2.dumps({**r, "at": datetime.datetime.now(datetime.timezone.utc)})')
      expect(await agent.verdict(tagged)).toMatchObject({ accepted: false, reason: 'malformed' })
      // Sorted keys, shortest floats, an integral float for an integer, null for an absent optional.
      await agent.newSnapshot()
      response.snapshot = agent.snapshot!.snapshot
      const strange = '{**r, "generation": float(r["generation"]), "recovers": None}'
      const sorted = await publish(`cbor2.dumps(${strange}, canonical=True)`)
      expect(decisions(await agent.verdict(sorted))).toEqual({ range: 'retained', say: 'retained' })
      await until('the text', () => agent.on('notice').find((n) => n.text === 'Grüße ✓'))
    },
  )

  it.each([
    { language: 'py', command: PYTHON ?? '', args: ['examples/agent.py'], absent: withoutPaho },
    { language: 'ts', command: process.execPath, args: ['--import', 'tsx', 'examples/agent.ts'], absent: false },
  ])('examples/agent.$language is accepted', async ({ language, command, args, absent }) => {
    if (skipped || absent) return
    await agent.newSnapshot() // that tells how far the generations have come
    const old = agent.on('verdict/planner').length
    const { port } = line.broker
    const address = language === 'py' ? ['127.0.0.1', String(port)] : [line.url]
    const child = spawn(command, [...args, ...address, VEHICLE, 'planner'], { cwd: PROJECT, stdio: 'ignore' })
    const ended = once(child, 'exit')
    try {
      const verdict = await until('its verdict', () =>
        agent
          .on('verdict/planner')
          .slice(old)
          .find((v) => v.response?.startsWith(`${language}-`)),
      )
      expect(decisions(verdict)).toEqual({ range: 'retained', hello: 'retained' })
      await until('the notice', () =>
        agent.on('notice').find((n) => n.plan === verdict.plan && n.component === 'hello'),
      )
    } finally {
      child.kill()
      await ended
    }
  })

  it.skipIf(skipped)(
    'G3 G5: survives a restart of the broker in flight, and executes nothing stale after it',
    async () => {
      const { session } = agent
      await agent.newSnapshot() // that tells how far the generations have come
      expect(decisions(await agent.respond({ components: [takeoff('up')] }))).toEqual({ up: 'retained' })
      await until('the climb', () => line.seen.mode === 'TAKEOFF')
      const { snapshot, at } = agent.snapshot!
      const stale = (): Uint8Array => encode(agent.draft({ snapshot, components: [notice('stale')] }))
      let heard = 0
      let queued: Promise<void> | undefined
      await line.restartBroker(async () => {
        heard = agent.heard.length
        queued = agent.say('response/planner', stale()) // its client keeps it until there is a broker again
        // The flight does not need the broker.
        await until('the end of the climb', () => line.seen.mode === 'HOLD')
        await until('the evidence to be too old', () => Date.now() - at > 3_000)
      })
      const news = () => agent.heard.slice(heard)
      await until('`online`', () => news().find((m) => m.topic === 'status'))
      expect(news().find((m) => m.topic === 'status')?.value).toMatchObject({ status: 'online', session })
      await until('the plan', () => agent.snapshot?.plans[0]?.components.up === 'completed')
      for (const topic of ['catalog', 'control', 'snapshot']) expect(news().map((m) => m.topic)).toContain(topic)
      await queued
      expect(await agent.verdictOn(stale())).toMatchObject({ accepted: false, reason: 'evidence_expired' })
      expect(agent.outcomes('stale')).toEqual([])
      expect(line.commands.filter((c) => c.command === COMMAND.takeoff).length).toBe(1)
      expect(decisions(await agent.respond({ components: [notice('fresh')] }))).toEqual({ fresh: 'retained' })
      expect(agent.unprofiled).toEqual([])
    },
  )
})
