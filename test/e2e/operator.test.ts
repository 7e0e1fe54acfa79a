// The operator's say through the MQTT door: a request waits for a person, `halo operator` shows and answers it, and nothing
// but that very answer flies it (PROTOCOL 10).

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectGround, decode, type Ground } from '../../companion/commands/ground.ts'
import { operator, type Verb } from '../../companion/commands/operator.ts'
import {
  type Agent,
  COMMAND,
  type Component,
  decisions,
  encode,
  FlightLine,
  Halo,
  notice,
  takeoff,
  until,
  VEHICLE,
} from './flight-line.ts'

let line: FlightLine
let agent: Agent
let eavesdropper: Ground
/** What people said to `operator/`, in order. */
const spoken: { readonly topic: string; readonly bytes: Uint8Array }[] = []

beforeAll(async () => {
  line = await FlightLine.open()
  agent = await line.agent()
  eavesdropper = await connectGround({ url: line.url, vehicle: VEHICLE }, ['operator/#'], (m) => spoken.push(m))
  await line.start()
  await agent.ready()
})
afterAll(async () => {
  await eavesdropper?.end()
  await line?.close()
})

async function halo(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const process = new Halo(['operator', '--mqtt', line.url, '--vehicle', VEHICLE, ...args])
  const code = await process.ended
  return { code, out: process.stdout, err: process.stderr }
}

/** The same within this process, where its start is not what is tested. */
async function order(verb: Verb, about?: string, vehicle = VEHICLE): Promise<{ code: number; out: string }> {
  const lines: string[] = []
  const code = await operator({ url: line.url, vehicle }, { verb, about, watch: false }, (text) => lines.push(text))
  return { code, out: lines.join('\n') }
}

const request = (id: string): Component => ({ id, type: 'request.approval', payload: { text: `${id}: may I?` } })
const refusals = (): string[] => agent.on('notice').flatMap((n) => (n.kind === 'operator' ? [n.text] : []))

/** The agent asks to take off; gives the consent that waits. */
async function asks(name: string): Promise<string> {
  const components = [request(name), { ...takeoff(`${name}-up`), requires: [name] }]
  const verdict = decisions(await agent.respond({ components }))
  expect(verdict).toEqual({ [name]: 'retained', [`${name}-up`]: 'retained' })
  const pending = await until('a consent', () =>
    agent.control?.pending.find((c: { component: string }) => c.component === name),
  )
  return pending.consent
}

/** Says these bytes again, and waits for the notice that refuses them. */
async function replay({ topic, bytes }: (typeof spoken)[number]): Promise<string> {
  const before = refusals().length
  await agent.say(topic, bytes)
  return until('a refusal', () => refusals()[before])
}

describe('halo operator', () => {
  it('lists what is pending, with every payload that would fly', async () => {
    expect(await halo()).toMatchObject({ code: 0, out: expect.stringMatching(/pending {8}-\n/) })
    const consent = await asks('first')
    const { code, out } = await halo()
    expect(code).toBe(0)
    expect(out).toContain(`session ${agent.session}, control ${agent.control!.n}\n`)
    expect(out).toContain(`consent ${consent.slice(0, 16)}\n`)
    expect(out).toContain('first: request.approval text "first: may I?"\n')
    expect(out).toContain('first-up: takeoff alt 4 m\n')
  })

  it('--watch lists again at every change', async () => {
    const lists: string[] = []
    const options = { verb: undefined, about: undefined, watch: true }
    operator({ url: line.url, vehicle: VEHICLE }, options, (text) => lists.push(text)).catch(() => {}) // ends with the broker
    await until('a first list', () => lists.length > 0)
    const consent = await asks('watched')
    await until('the consent in a list', () => lists.some((list) => list.includes(consent.slice(0, 16))))
  })

  it('G5: an unknown consent is a mistake, and nothing is sent', async () => {
    const said = spoken.length
    const wrong = await halo('approve', 'abcdefabcdef')
    expect(wrong).toMatchObject({ code: 1, err: 'halo: consent abcdefabcdef: nothing of that name is pending\n' })
    expect(spoken).toHaveLength(said)
  })

  it('G1: refuse does not fly it', async () => {
    const consent = await asks('second')
    const { code, out } = await halo('refuse', consent.slice(0, 16))
    expect(out).toMatch(/refuse: applied, control \d+\n {2}second: failed consent_refused\n {2}second-up: blocked/)
    expect(code).toBe(0)
    expect((await agent.outcome('second', 'failed')).reason).toBe('consent_refused')
    expect((await agent.outcome('second-up', 'blocked')).reason).toBe('prerequisite_failed')
    await agent.newSnapshot()
    expect(line.commands).toEqual([])
    expect(
      agent.heard.some((m) => m.topic.startsWith('obligation/') && m.value.obligation?.component === 'second'),
    ).toBe(false)
  })

  it('G3: a refusal said again is refused, and does not answer the next', async () => {
    await asks('third')
    expect(await replay(spoken.at(-1)!)).toMatch(/^operator\/refuse refused: operator_conflict/)
    expect(agent.outcomes('third').at(-1)).toMatchObject({ phase: 'released' })
  })

  it('G2: approve flies it, once, and its bytes said again are refused', async () => {
    const consent = await asks('fourth')
    expect(line.commands).toEqual([])
    const { code, out } = await halo('approve', consent.slice(0, 16))
    expect(out).toMatch(/^approving:\nconsent [\s\S]*fourth-up: takeoff alt 4 m\n/)
    expect(out).toMatch(/approve: applied, control \d+\n {2}fourth: completed\n/)
    expect(code).toBe(0)
    expect(spoken.at(-1)!.topic).toBe('operator/approve')
    expect(await replay(spoken.at(-1)!)).toMatch(/^operator\/approve refused: operator_conflict/)
    await agent.outcome('fourth-up', 'completed')
    expect(line.seen.landed).toBe('IN_AIR')
    expect(line.commands.filter((c) => c.command === COMMAND.takeoff)).toHaveLength(1)
    expect(agent.outcomes('fourth').map((o) => o.phase)).toEqual(['retained', 'released', 'completed'])
  })

  it('pause, resume, revoke, restore, clear and restart are applied, and each is told', async () => {
    const { session } = agent.control!
    for (const [verb, about] of [
      ['pause'],
      ['resume'],
      ['revoke', 'planner'],
      ['restore', 'planner'],
      ['clear', 'goto'],
    ] as const) {
      expect(await order(verb, about)).toEqual({ code: 0, out: expect.stringContaining(`${verb}: applied`) })
      expect(agent.control).toMatchObject({ paused: verb === 'pause', revoked: verb === 'revoke' ? ['planner'] : [] })
    }
    expect(await order('restart')).toMatchObject({ code: 0 })
    expect(agent.control!.session).not.toBe(session)
  })

  it('G3: a resume said again does not lift the next pause', async () => {
    expect(await order('resume')).toMatchObject({ code: 0 })
    const resumed = spoken.at(-1)!
    expect(await order('pause')).toMatchObject({ code: 0 })
    expect(await replay(resumed)).toMatch(/^operator\/resume refused: operator_conflict: after must be \d+$/)
    expect(agent.control!.paused).toBe(true)
    expect(await order('resume')).toMatchObject({ code: 0 })
  })

  it('a verb that the companion refuses is told with its reason, and ends with 2', async () => {
    const refused = await halo('revoke', 'nobody')
    expect(refused).toMatchObject({ code: 2, out: 'operator/revoke refused: unknown_agent\n' })
    await agent.ready()
    expect(decisions(await agent.respond({ components: [notice('still')] }))).toEqual({ still: 'retained' })
  })

  it('G5: without a companion nothing is said', async () => {
    await expect(order('resume', undefined, 'nobody')).rejects.toThrow('vehicle nobody: no companion is online there')
  })

  it('G5: pause does not wait for a control that it can read', async () => {
    await agent.say('control', encode({ v: 1 }), true)
    expect(await order('pause')).toMatchObject({ code: 0 })
    expect(agent.control!.paused).toBe(true)
    expect(decode(spoken.at(-1)!.bytes)).toEqual({ v: 1, by: expect.stringMatching(/.@./) })
  })
})
