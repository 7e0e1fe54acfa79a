// What must be refused, said through the MQTT door: each kind with its reason word, and after each the next good response
// goes through (PROTOCOL 4, 5; G5).

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  type Agent,
  type Component,
  climb,
  decisions,
  digestOf,
  encode,
  FlightLine,
  notice,
  report,
  takeoff,
  until,
  type Value,
} from './flight-line.ts'

let line: FlightLine
let agent: Agent
let retained: Uint8Array
let good = 0

beforeAll(async () => {
  line = await FlightLine.open({ edits: [['evidence: { max_age: 60s }', 'evidence: { max_age: 3s }']] })
  agent = await line.agent()
  retained = encode({ v: 1, response: 'kept', generation: 1, snapshot: '0', components: [notice('kept')] })
  await agent.say('response/planner', retained, true)
  await agent.say('operator/pause', encode({ v: 1 }), true)
  await agent.say('context/map', encode({ v: 1, value: 7 }), true)
  await line.start()
  await agent.ready({ map: 7 })
})
afterAll(() => line?.close())

afterEach(async () => {
  const id = `good-${++good}`
  expect(decisions(await agent.respond({ components: [notice(id)] }))).toEqual({ [id]: 'retained' })
  await agent.outcome(id, 'released')
  expect(line.commands).toEqual([])
  expect(line.setpoints).toEqual([])
})

const refused = (reason: string): Value => ({ accepted: false, reason, components: [] })
const hostile = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

describe('refused as a whole', () => {
  it('G3 G5: retained by the broker: a response, and an operator verb', async () => {
    expect(await agent.verdict(digestOf(retained))).toMatchObject(refused('retained_message'))
    expect(agent.on('notice').find((n) => n.kind === 'operator')?.text).toMatch(/pause refused: retained_message/)
    expect(agent.control?.paused).toBe(false)
  })

  it.each([
    ['no bytes of CBOR', '00'],
    ['not a map', '83010203'],
    ['an indefinite length', 'bf617601ff'],
    ['a tag', 'a16176c001'],
    ['a tagged bignum', 'a16176c24901000000000000000000'],
    ['a record definition of cbor-x', 'd9dfff8219dfff816176'],
    ['a duplicate key', 'a2617601617601'],
    ['a key that is no text', 'a10101'],
    ['NaN', 'a16176f97e00'],
    ['undefined', 'a16176f7'],
    ['invalid UTF-8', 'a1617661ff'],
    ['bytes after the map', 'a161760100'],
    ['a map that claims 2^32 pairs', 'bb0000000100000000'],
    ['a map that ends early', 'a26176'],
  ])('G5: malformed: %s', async (_, hex) => {
    expect(await agent.verdictOn(hostile(hex))).toMatchObject(refused('malformed'))
  })

  it('G5: malformed: an unknown key, a missing one, a generation that is none', async () => {
    const draft = agent.draft({ components: [notice('a')] })
    const { snapshot: _, ...lacking } = draft
    for (const value of [{ ...draft, urgent: true }, lacking, { ...draft, generation: 1.5 }, { ...draft, v: 2 }]) {
      expect(await agent.verdictOn(encode(value))).toMatchObject(refused('malformed'))
    }
  })

  it('G5: oversized: bytes, components, prerequisites, a payload', async () => {
    const many = (count: number): Component[] => Array.from({ length: count }, (_, i) => notice(`n${i}`))
    const long = (bytes: number): Component => ({ ...notice('a'), payload: { text: 'x'.repeat(bytes) } })
    const requires = Array.from({ length: 65 }, (_, i) => `n${i}`)
    for (const components of [[long(70_000)], many(257), [{ ...notice('a'), requires }], [long(1025)]]) {
      expect(await agent.verdictOn(encode(agent.draft({ components })))).toMatchObject(refused('too_large'))
    }
  })

  it('G5: an agent that the catalog does not know', async () => {
    expect(await agent.respond({ agent: 'stranger', components: [notice('a')] })).toMatchObject(
      refused('unknown_agent'),
    )
  })

  it('G3: replayed: the same bytes get the same verdict and nothing else, other bytes none', async () => {
    const draft = agent.draft({ components: [notice('once')] })
    const first = await agent.verdictOn(encode(draft))
    await agent.outcome('once', 'released')
    expect(await agent.verdictOn(encode(draft))).toEqual(first)
    const reordered = encode(Object.fromEntries(Object.entries(draft).reverse()))
    expect(await agent.verdictOn(reordered)).toMatchObject(refused('response_not_fresh'))
    const renamed = encode({ ...draft, response: 'another' })
    expect(await agent.verdictOn(renamed)).toMatchObject(refused('generation_not_fresh'))
    await agent.newSnapshot()
    expect(agent.outcomes('once').map((o) => o.phase)).toEqual(['retained', 'released'])
  })

  it('G5: a snapshot that never was, and one of another session', async () => {
    const { session } = agent.snapshot!
    for (const snapshot of [`${session}-999999`, `${'0'.repeat(16)}-1`, 'latest']) {
      const verdict = await agent.respond({ snapshot, components: [notice('a')] })
      expect(verdict).toMatchObject(refused('unknown_snapshot'))
    }
  })

  it('G5: a snapshot that is too old', async () => {
    const { snapshot } = agent.snapshot!
    const verdict = await until('the snapshot to be old', async () => {
      const said = await agent.respond({ snapshot, components: [notice('a')] })
      await agent.newSnapshot()
      return said.accepted ? undefined : said
    })
    expect(verdict).toMatchObject(refused('evidence_expired'))
  })

  it('G4: the plan of another agent, and one that is not there', async () => {
    await agent.respond({ agent: 'scout', response: 'scouting', components: [notice('a')] })
    for (const recovers of ['scouting', 'scout/scouting', 'nothing']) {
      const verdict = await agent.respond({ recovers, components: [notice('a')] })
      expect(verdict).toMatchObject(refused('no_such_plan'))
    }
  })

  it('an agent that says too much at once, until a second later', async () => {
    const drafts = Array.from({ length: 12 }, () => encode(agent.draft({ agent: 'scout', components: [notice('a')] })))
    const verdicts = await Promise.all(drafts.map((bytes) => agent.verdictOn(bytes, 'scout')))
    expect(verdicts.map((v) => v.reason)).toContain('rate_limited')
    await sleep(1100)
    expect(await agent.respond({ agent: 'scout', components: [notice('a')] })).toMatchObject({ accepted: true })
  })

  it('an agent that the operator has revoked, until it is restored', async () => {
    await agent.operate('revoke', { agent: 'planner' })
    expect(await agent.respond({ components: [notice('a')] })).toMatchObject(refused('agent_revoked'))
    await agent.operate('restore', { agent: 'planner' })
  })
})

describe('withheld', () => {
  it('G1: a cycle: all that are on it, and what rests on it, and nothing else', async () => {
    const verdict = await agent.respond({
      components: [
        report(),
        climb('a', ['range', 'b']),
        climb('b', ['range', 'a']),
        climb('self', ['range', 'self']),
        { ...notice('after'), requires: ['b'] },
        notice('free'),
      ],
    })
    expect(decisions(verdict)).toEqual({
      range: 'retained',
      a: 'prerequisite_cycle',
      b: 'prerequisite_cycle',
      self: 'prerequisite_cycle',
      after: 'prerequisite_withheld',
      free: 'retained',
    })
  })

  it('G1: orphaned: a prerequisite that is not there, and one that is missing', async () => {
    const verdict = await agent.respond({
      components: [report(), climb('a', ['range', 'ghost']), climb('b', []), { ...notice('c'), requires: ['a'] }],
    })
    expect(decisions(verdict)).toEqual({
      range: 'retained',
      a: 'unknown_prerequisite ghost',
      b: 'prerequisite_missing report.range',
      c: 'prerequisite_withheld',
    })
    expect(verdict.components.find((c: Value) => c.id === 'c').cause).toBe('a')
  })

  it('G5: form: a duplicate, an unknown type, one that is not permitted, a payload out of bounds', async () => {
    const components = [
      notice('twice'),
      notice('twice'),
      { id: 'warp', type: 'warp', payload: {} },
      { id: 'high', type: 'takeoff', payload: { alt: 500 } },
    ]
    const verdict = await agent.respond({ components })
    expect(verdict.components.map((c: Value) => c.reason)).toEqual([
      'duplicate_id',
      'duplicate_id',
      'unknown_type',
      'payload_invalid',
    ])
    const scout = await agent.respond({ agent: 'scout', components: [takeoff('up'), notice('a')] })
    expect(decisions(scout)).toEqual({ up: 'type_not_permitted takeoff', a: 'retained' })
  })

  it('G4: out of scope: an action that no open obligation lists, and a listed one on evidence from before', async () => {
    const response = 'flawed'
    const cited = agent.snapshot!.snapshot
    const first = await agent.respond({
      response,
      components: [{ id: 'high', type: 'takeoff', payload: { alt: 500 } }, notice('a')],
    })
    expect(decisions(first)).toEqual({ high: expect.stringMatching(/^payload_invalid alt/), a: 'retained' })
    const stale = await agent.respond({ recovers: response, snapshot: cited, components: [takeoff('high')] })
    expect(decisions(stale)).toEqual({ high: 'evidence_stale' })
    await agent.newSnapshot((s) => s.obligations.some((o: Value) => o.component === 'high'))
    const other = { id: 'down', type: 'land', payload: {} }
    const verdict = await agent.respond({
      recovers: response,
      components: [takeoff('other'), { ...other, id: 'high' }, other, notice('b')],
    })
    expect(decisions(verdict)).toMatchObject({ other: 'out_of_scope', down: 'out_of_scope', b: 'retained' })
    await agent.newSnapshot()
    const mixed = await agent.respond({ recovers: response, components: [{ ...other, id: 'high' }] })
    expect(decisions(mixed)).toEqual({ high: 'out_of_scope' })
  })
})

describe('the wire', () => {
  it('G5: keeps the profile in every packet', () => {
    expect(agent.unprofiled).toEqual([])
    expect(agent.heard.length).toBeGreaterThan(100)
  })
})
