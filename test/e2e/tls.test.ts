// The companion behind a real Mosquitto with mutual TLS, all of it from examples/deploy: its broker's configuration, its access
// list, its certificates (PROTOCOL 1 trusts them).

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mqtt from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setContext } from '../../companion/commands/context.ts'
import { brokerOf } from '../../companion/commands/ground.ts'
import { operator } from '../../companion/commands/operator.ts'
import { submit } from '../../companion/commands/submit.ts'
import { readCertificates } from '../../companion/mqtt/certificates.ts'
import {
  Agent,
  type BrokerProcess,
  decisions,
  encode,
  freeTcpPort,
  Halo,
  isInstalled,
  mosquitto,
  notice,
  PROJECT,
  skipWithout,
  until,
  type Value,
} from './flight-line.ts'

const DEPLOY = join(PROJECT, 'examples/deploy')
const skipped = [
  skipWithout('mosquitto', isInstalled('sh', '-c', 'command -v mosquitto')),
  skipWithout('openssl', isInstalled('openssl', 'version')),
].includes(true)

/** The text of a file of examples/deploy, with each of these replaced; every one must be there. */
function adapted(file: string, edits: Readonly<Record<string, string>>): string {
  return Object.entries(edits).reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)} any more`)
      return text.replaceAll(from, to)
    },
    readFileSync(join(DEPLOY, file), 'utf8'),
  )
}

describe.skipIf(skipped)('behind mutual TLS', () => {
  const folder = skipped ? '' : mkdtempSync(join(tmpdir(), 'halo-tls-'))
  const certificates = join(folder, 'certificates')
  const config = join(folder, 'halo.yaml')
  const of = (name: string) => ({
    ca: join(certificates, 'ca.crt'),
    cert: join(certificates, `${name}.crt`),
    key: join(certificates, `${name}.key`),
  })
  const makeCertificates = (at: string): void => {
    execFileSync(join(DEPLOY, 'certificates.sh'), [at, '127.0.0.1', 'planner', 'scout'], { stdio: 'pipe' })
  }
  const open: (() => unknown)[] = []
  let port: number
  let url: string
  let broker: BrokerProcess
  let companion: Halo
  let planner: Agent
  let watch: Agent

  const connect = async (name: string, options: mqtt.IClientOptions = {}): Promise<Agent> => {
    const agent = await Agent.connect(url, { ...readCertificates(of(name)), protocolVersion: 5, ...options })
    open.push(() => agent.end())
    return agent
  }

  beforeAll(async () => {
    makeCertificates(certificates)
    port = await freeTcpPort()
    url = `mqtts://127.0.0.1:${port}`
    cpSync(join(DEPLOY, 'acl'), join(certificates, 'acl'))
    const conf = adapted('mosquitto.conf', { '/etc/mosquitto/halo': certificates, 'listener 8883': `listener ${port}` })
    // Debian's own user could not read what root writes here.
    writeFileSync(join(folder, 'mosquitto.conf'), `${conf}\nuser root\n`)
    const yaml = adapted('halo.yaml', {
      '../px4-multirotor': join(PROJECT, 'examples/px4-multirotor'),
      '127.0.0.1:14540': '127.0.0.1:0',
      'broker.example:8883': `127.0.0.1:${port}`,
      '/var/lib/halo': folder,
    })
    writeFileSync(config, yaml)
    broker = await mosquitto(port, join(folder, 'mosquitto.conf'))
    companion = new Halo(['run', '--config', config])
    open.push(() => companion.kill('SIGKILL'))
    watch = await connect('watch')
    planner = await connect('planner')
    await watch.newSnapshot()
  }, 120_000)
  afterAll(async () => {
    for (const close of open.reverse()) await close()
    await broker?.stop()
    if (!skipped) rmSync(folder, { recursive: true, force: true })
  })

  it('hears an agent with its certificate, which hears what is for it and no more', async () => {
    await planner.newSnapshot()
    expect(decisions(await planner.respond({ components: [notice('hello')] }))).toEqual({ hello: 'retained' })
    await until('the notice', () => planner.on('notice').find((n) => n.text === 'hello'))
    const topics = new Set(planner.heard.map(({ topic }) => topic))
    expect([...topics].sort()).toEqual([
      'catalog',
      'catalog/planner',
      'end/planner',
      'notice',
      'outcome/planner',
      'snapshot',
      'status',
      'verdict/planner',
    ])
    expect(watch.on('control').length).toBeGreaterThan(0)
    expect(planner.unprofiled).toEqual([])
  })

  it.each(['response/scout', 'operator/pause', 'context/map', 'snapshot', 'control', 'status', 'verdict/planner'])(
    'an agent cannot publish to %s',
    async (topic) => {
      const said = encode({ v: 1, liar: true })
      await expect(planner.say(topic, said)).rejects.toMatchObject({ code: 135 }) // not authorised
      // It is nowhere before what the agent may say, and said later.
      await planner.verdictOn(encode(planner.draft({ components: [notice('true')] })))
      expect(watch.heard.filter((m) => m.value.liar)).toEqual([])
    },
  )

  it('an agent without an entry says nothing and hears nothing', async () => {
    const scout = await connect('scout')
    await expect(scout.say('response/scout', encode({ v: 1 }))).rejects.toMatchObject({ code: 135 })
    await watch.newSnapshot()
    await watch.newSnapshot()
    expect(scout.heard).toEqual([])
    await scout.end()
  })

  it('an agent under the companion’s client id does not throw it out', async () => {
    const before = watch.on('status').length
    for (const clientId of ['companion', 'companion-agents', 'halo-uav1', 'halo-uav1-agents']) {
      const twin = await Agent.connect(url, { ...readCertificates(of('scout')), clientId })
      await twin.end()
    }
    await planner.respond({ components: [notice('still here')] })
    expect(watch.on('status').slice(before)).toEqual([])
  })

  it('gives nobody a connection without a certificate of its authority, nor a companion to another broker', async () => {
    const { ca } = readCertificates({ ca: of('planner').ca })
    const other = join(folder, 'other')
    makeCertificates(other)
    const theirs = readCertificates({ cert: join(other, 'planner.crt'), key: join(other, 'planner.key') })
    const attempt = async (to: string, options: mqtt.IClientOptions): Promise<never> => {
      const client = await mqtt.connectAsync(to, { ...options, reconnectPeriod: 0 }, false)
      client.end(true)
      throw new Error('connected')
    }
    await expect(attempt(url, { ca: ca! })).rejects.not.toThrow('connected')
    await expect(attempt(url, { ca: ca!, ...theirs })).rejects.not.toThrow('connected')
    await expect(attempt(url.replace('mqtts', 'mqtt'), {})).rejects.not.toThrow('connected')
    // The other way round: a certificate of another authority is no broker of ours.
    const strange = { ...readCertificates(of('planner')), ca: readFileSync(join(other, 'ca.crt'), 'utf8') }
    await expect(attempt(url, strange)).rejects.toThrow(/self-signed|unable to/)
    await expect(attempt(url, { ...strange, ca: ca! })).rejects.toThrow('connected')
  })

  it('says why a certificate cannot be used', () => {
    const { ca, cert } = of('companion')
    const { key } = of('planner')
    expect(() => readCertificates({ ca, cert, key })).toThrow(/^mqtt\.key .*planner\.key: .*key values mismatch/)
  })

  it('people use their own certificates: the ground sets context, the operator pauses, an agent submits', async () => {
    const as = (name: string) => brokerOf({ config, ...of(name) })
    const silent = (): void => {}
    expect(await setContext(as('ground'), { field: 'map', text: '1', retain: false }, silent)).toBe(0)
    const draft = join(folder, 'response.json')
    writeFileSync(draft, JSON.stringify({ components: [notice('submitted')] }))
    // The agent's certificate has one connection.
    await planner.end()
    expect(await submit(as('planner'), { file: draft, agent: 'planner', timeout_ms: 20_000, wait: true }, silent)).toBe(
      0,
    )
    const pause = { verb: 'pause', about: undefined, watch: false } as const
    expect(await operator(as('operator'), pause, silent)).toBe(0)
    expect(watch.control).toMatchObject({ paused: true })
    expect(await operator(as('operator'), { ...pause, verb: 'resume' }, silent)).toBe(0)
    // The ground may not, and a stranger is told why he is refused.
    expect(await operator(as('ground'), pause, silent)).toBe(2)
    expect(watch.control).toMatchObject({ paused: false })
    const stranger = {
      config,
      ca: of('watch').ca,
      cert: join(folder, 'other/watch.crt'),
      key: join(folder, 'other/watch.key'),
    }
    await expect(operator(brokerOf(stranger), pause, silent)).rejects.toThrow(/mqtts:.*(alert|unknown ca)/)
  })

  it('G5: the companion comes back to a broker that restarts, as nobody else', async () => {
    const before = watch.heard.length
    await broker.stop()
    await until('the companion to notice', () => companion.stderr.includes('connection lost'))
    broker = await mosquitto(port, join(folder, 'mosquitto.conf'))
    const news = (topic: string): Value | undefined =>
      watch.heard.slice(before).find((m) => m.topic === topic && m.value.status !== 'offline')?.value
    await until('`online`', () => news('status'))
    for (const topic of ['catalog', 'catalog/planner', 'control', 'snapshot']) await until(topic, () => news(topic))
    expect(watch.unprofiled).toEqual([])
  })
})
