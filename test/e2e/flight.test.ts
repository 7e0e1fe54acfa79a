// One flight and what may happen to it: the gate and every send, judged by what MQTT says and by what arrived at the vehicle
// (PROTOCOL 7, 8, 10, 11). It is one vehicle, in one flight as far as that goes.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type Agent,
  COMMAND,
  climb,
  decisions,
  encode,
  FlightLine,
  HOME,
  notice,
  report,
  takeoff,
  underway,
  until,
  type Value,
} from './flight-line.ts'

let line: FlightLine
let agent: Agent

beforeAll(async () => {
  line = await FlightLine.open()
  agent = await line.agent()
  await line.start()
  await agent.ready()
  await agent.say('context/map', encode({ v: 1, value: 1 }))
  await agent.ready({ map: 1 })
})
afterAll(() => line?.close())

/** Back on the ground at once, whatever was before. */
async function reboot(): Promise<void> {
  const { session } = agent
  line.vehicle.fault('reboot')
  await until('a new session', () => agent.session !== session)
  await agent.ready()
}

/** In the air and in HOLD, with nothing wrong, and with HALO in control. */
async function airborne(): Promise<void> {
  line.vehicle.fault('battery 90')
  line.vehicle.fault('gps on')
  if (line.seen.armed && line.seen.mode !== 'HOLD') line.vehicle.fault('pilot HOLD')
  await agent.say('context/map', encode({ v: 1, value: 1 }))
  await agent.ready({ map: 1, mode: 'HOLD' })
  if (agent.control?.paused || agent.control?.pilot_control) await agent.operate('resume')
  if (line.seen.landed === 'IN_AIR') return
  if (line.seen.armed) await reboot()
  const id = `up${agent.heard.length}`
  expect(decisions(await agent.respond({ components: [takeoff(id)] }))).toEqual({ [id]: 'retained' })
  await agent.outcome(id, 'completed')
}

/** Nothing of the stream arrives any more, for ten of its periods. */
async function streamIsOver(): Promise<void> {
  const { length } = line.setpoints
  const { at } = await agent.newSnapshot()
  await agent.newSnapshot((s) => s.at - at >= 900)
  expect(line.setpoints.length).toBe(length)
}

const modeCommands = (since: number): number[] =>
  line.commands.slice(since).flatMap((c) => (c.command === COMMAND.mode ? [(c.params[1]! << 8) | c.params[2]!] : []))
const HOLD = (4 << 8) | 3
const OFFBOARD = 6 << 8

// A stall of this machine ends a lease, as it must (PROTOCOL 8): then the test is flown again.
describe('a mission', { retry: 2 }, () => {
  it('G1 G2: takes off, flies, and lets what rests on it through; every frame of the lease carries the same target', async () => {
    if (line.seen.armed) {
      await reboot()
      await agent.say('context/map', encode({ v: 1, value: 1 }))
      await agent.ready({ map: 1 })
    }
    const [commands, setpoints, outcomes] = [
      line.commands.length,
      line.setpoints.length,
      agent.on('outcome/planner').length,
    ]
    const near = { lat: HOME.lat + 4 / 111_195, lon: HOME.lon, alt: 6 }
    const components = [
      report(),
      { ...takeoff('up'), requires: ['range'] },
      { id: 'near', type: 'goto', payload: near, requires: ['range', 'up'] },
      { ...notice('there'), requires: ['near'] },
    ]
    const verdict = await agent.respond({ components })
    expect(decisions(verdict)).toEqual({ range: 'retained', up: 'retained', near: 'retained', there: 'retained' })
    const said = () => agent.on('outcome/planner').slice(outcomes)
    const end = await until('the end', () =>
      said().find((o) => o.component === 'there' && /released|blocked/.test(o.phase)),
    )
    expect(end).toMatchObject({ phase: 'released' })
    // Everything in its order: nothing goes before what it rests on is completed.
    const order = said().flatMap((o) => (o.phase === 'retained' ? [] : [`${o.component} ${o.phase}`]))
    expect(order).toEqual([
      'range released',
      'up dispatched',
      'up acknowledged',
      'up completed',
      'near dispatched',
      'near completed',
      'there released',
    ])
    const frames = line.setpoints.slice(setpoints)
    expect(new Set(frames.map(({ values }) => JSON.stringify({ ...values, timeBootMs: 0 }))).size).toBe(1)
    expect(frames.every((s) => s.system === 1 && s.component === 191)).toBe(true)
    await until('HOLD', () => modeCommands(commands).length === 3)
    const { mode, arm, takeoff: off } = COMMAND
    expect(line.commands.slice(commands).map((c) => c.command)).toEqual([mode, arm, off, mode, mode])
    expect(modeCommands(commands)).toEqual([HOLD, OFFBOARD, HOLD])
  })
})

describe('what may happen in the middle of a goto', { retry: 2 }, () => {
  beforeEach(airborne)

  it('G4 G5: the pilot takes over: no setpoint more, no contingency, control is latched until the operator resumes', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    line.vehicle.fault('pilot POSITION')
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'taken_over' })
    expect(await agent.outcome(`${id}-arrived`, 'blocked')).toMatchObject({ reason: 'prerequisite_failed' })
    await streamIsOver()
    expect(line.commands.length).toBe(commands)
    expect(line.seen.mode).toBe('POSITION')
    expect(agent.control?.pilot_control).toBe(true)
    const verdict = await agent.respond({ components: [report(), climb('against'), notice('hello')] })
    expect(decisions(verdict)).toEqual({ range: 'retained', against: 'pilot_control', hello: 'retained' })

    line.vehicle.fault('pilot HOLD')
    await agent.newSnapshot((s) => s.state.mode === 'HOLD')
    await agent.operate('resume')
    expect(agent.control).toMatchObject({ pilot_control: false, paused: false })
    await underway(line, agent)
  })

  it('G5: the operator pauses: HOLD is sent, and nothing of the plan goes on; a stale resume is refused', async () => {
    const id = await underway(line, agent)
    const { n, session } = agent.control!
    const commands = line.commands.length
    await agent.say('operator/pause', encode({ v: 1 }))
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'paused' })
    await until('HOLD', () => line.seen.mode === 'HOLD')
    await streamIsOver()
    expect(new Set(modeCommands(commands))).toEqual(new Set([HOLD]))
    const notices = agent.on('notice').length
    await agent.say('operator/resume', encode({ v: 1, session, after: n }))
    await until('the conflict', () =>
      agent
        .on('notice')
        .slice(notices)
        .find((m) => /operator_conflict/.test(m.text)),
    )
    expect(agent.control?.paused).toBe(true)
    await agent.operate('resume')
    expect(agent.control?.paused).toBe(false)
  })

  it('G5: the battery falls below the bound: HOLD, and an obligation that says what is needed', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    line.vehicle.fault('battery 20')
    expect(await agent.outcome(id, 'failed')).toMatchObject({
      reason: 'unsupported',
      detail: expect.stringMatching(/^battery: battery.remaining \d+ %, at least 25 %$/),
    })
    await until('HOLD', () => line.seen.mode === 'HOLD')
    await streamIsOver()
    expect(new Set(modeCommands(commands))).toEqual(new Set([HOLD]))
    const owed = agent.on('obligation/planner').find((o) => o.obligation?.component === id)?.obligation
    expect(owed).toMatchObject({ reason: 'unsupported', condition: 'state.battery.remaining >= 25' })
    expect(owed.scope.map((s: Value) => s.id)).toEqual([id, `${id}-arrived`])
  })

  it('G1 G5: the GPS is lost: the report that it rests on would not be released now, and HOLD', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    line.vehicle.fault('gps off')
    // What it rests on is judged before its own support.
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'prerequisite_lost', detail: 'range' })
    await until('HOLD', () => line.seen.mode === 'HOLD')
    line.vehicle.fault('gps on')
    await streamIsOver()
    expect(new Set(modeCommands(commands))).toEqual(new Set([HOLD]))
    expect(agent.control?.pilot_control).toBe(false)
  })

  it('G5: the vehicle falls silent: HOLD is sent into the silence, and a fresh plan flies after it', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    line.vehicle.fault('silence 3')
    const nothingHeard = expect.stringMatching(/^nothing heard for \d+ ms$/)
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'link_lost', detail: nothingHeard })
    await until('HOLD', () => line.seen.mode === 'HOLD') // it hears what it does not answer
    await streamIsOver()
    expect(new Set(modeCommands(commands))).toEqual(new Set([HOLD]))
    await underway(line, agent)
  })

  it('G3 G5: the autopilot reboots: a new session, nothing is sent, messages are asked for again, and old responses are nothing', async () => {
    const id = await underway(line, agent)
    const asked = () => line.seen.commands.filter((c) => c.command === COMMAND.interval).length
    const before = asked()
    await reboot()
    expect(agent.outcomes(id).at(-1)).toMatchObject({ phase: 'failed' })
    expect(asked()).toBeGreaterThan(before)
    expect(agent.snapshot).toMatchObject({ plans: [], obligations: [], agents: { planner: { generation: 0 } } })
    expect(agent.snapshot?.unknown).toContain('map') // not retained, so the ground must say it again
    for (const packet of agent.packets.slice(-8)) {
      expect(await agent.verdictOn(packet)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
    }
    await streamIsOver()
    const booted_ms = line.seen.armings.at(-1)!.at_ms
    expect(line.seen.armings.at(-1)).toMatchObject({ armed: false })
    expect(line.commands.filter((c) => c.at_ms >= booted_ms)).toEqual([])
    expect(line.setpoints.filter((s) => s.at_ms >= booted_ms)).toEqual([])
  })
})

describe('the wire', () => {
  it('G5: keeps the profile on every topic of PROTOCOL 12', () => {
    expect(agent.unprofiled).toEqual([])
    const topics = new Set(agent.heard.map((m) => m.topic))
    for (const topic of [
      'status',
      'catalog',
      'catalog/planner',
      'snapshot',
      'control',
      'notice',
      'verdict/planner',
      'outcome/planner',
      'obligation/planner',
      'end/planner',
    ]) {
      expect(topics).toContain(topic)
    }
    expect(line.seen.malformed).toBe(0)
  })
})
