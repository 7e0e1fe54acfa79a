// The companion as a process: killed, ended, started wrongly, and the commands of a person beside it (PROTOCOL 8, 11, 12).

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Agent,
  COMMAND,
  climb,
  decisions,
  encode,
  FlightLine,
  Halo,
  notice,
  type Halo as Process,
  report,
  takeoff,
  underway,
  until,
} from './flight-line.ts'

describe('a flight with a companion that dies', () => {
  let line: FlightLine
  let agent: Agent
  let companion: Process
  let killed: Uint8Array

  beforeAll(async () => {
    line = await FlightLine.open()
    agent = await line.agent()
    // The ground keeps it: every session is told.
    await agent.say('context/map', encode({ v: 1, value: 1 }), true)
    companion = line.launch()
    await agent.ready({ map: 1 })
  })
  afterAll(() => line?.close())

  const ground = (file: string, ...args: string[]): Process => {
    const path = join(line.folder, file)
    return new Halo(['submit', path, '--config', line.config, ...args])
  }
  const draft = (file: string, components: unknown): void =>
    writeFileSync(join(line.folder, file), JSON.stringify({ components }))

  it('halo submit: 0 where all of it went through, 2 where not; halo watch prints JSON lines', async () => {
    draft('good.json', [report(), notice('hello')])
    draft('bad.json', [notice('fine'), { id: 'high', type: 'takeoff', payload: { alt: 500 } }])
    const watch = new Halo(['watch', '--config', line.config])
    const good = ground('good.json')
    expect(await good.ended).toBe(0)
    expect(good.stdout).toMatch(/^ {2}hello: released$/m)
    await until('watch', () => watch.stdout.includes('"snapshot"'))
    const bad = ground('bad.json')
    expect(await bad.ended).toBe(2)
    expect(bad.stdout).toMatch(/high.*payload_invalid/)
    await until('what watch heard', () => watch.stdout.includes('payload_invalid'))
    await watch.kill('SIGKILL')
    const whole = watch.stdout.slice(0, watch.stdout.lastIndexOf('\n')).split('\n')
    const lines = whole.map((text) => JSON.parse(text))
    expect(lines.every((l) => typeof l.topic === 'string' && 'value' in l)).toBe(true)
    expect(new Set(lines.map((l) => l.topic))).toContain('verdict/planner')
  })

  it('halo submit: names the agents, ends with the verdict where it is told to, and says at Ctrl-C what goes on', async () => {
    draft('ask.json', [{ id: 'ask', type: 'request.approval', payload: { text: 'may I?' } }])
    const stranger = ground('ask.json', '--agent', 'pilot')
    expect(await stranger.ended).toBe(1)
    expect(stranger.stderr).toMatch(/agent pilot: .* has none of that name; it has .*planner/)
    const brief = ground('ask.json', '--no-wait')
    expect(await brief.ended).toBe(0)
    expect(brief.stdout).toMatch(/^ {2}ask: retained$/m)
    expect(await ground('bad.json', '--no-wait').ended).toBe(2)
    const followed = ground('ask.json')
    await until('what it waits for', () => followed.stdout.includes('ask: released'))
    expect(await followed.kill('SIGINT')).toBe(130)
    expect(followed.stdout).toMatch(/goes on: `halo operator revoke planner` ends it/)
    expect(agent.outcomes('ask').at(-1)).toMatchObject({ phase: 'released' })
  })

  it('G3: killed between admission and dispatch: the last will is said, and no restart dispatches what was admitted', async () => {
    await agent.ready({ map: 1 })
    const { session } = agent
    killed = encode(agent.draft({ components: [report(), takeoff('up'), climb('away', ['range', 'up'])] }))
    expect(decisions(await agent.verdictOn(killed))).toEqual({ range: 'retained', up: 'retained', away: 'retained' })
    await until('the climb', () => line.seen.mode === 'TAKEOFF')
    expect(agent.outcomes('away').map((o) => o.phase)).not.toContain('dispatched')
    const takeoffs = line.commands.filter((c) => c.command === COMMAND.takeoff).length
    const statuses = agent.on('status').length
    expect(await companion.kill('SIGKILL')).toBe(null)
    await until('the last will', () =>
      agent
        .on('status')
        .slice(statuses)
        .find((s) => s.status === 'offline'),
    )
    expect(agent.on('status').at(-1)).toMatchObject({ status: 'offline', session })

    companion = line.launch()
    await until('the new session', () => agent.session !== session && agent.on('status').at(-1)?.status === 'online')
    const verdict = await agent.verdictOn(killed)
    expect(verdict).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
    // The take-off that the dead companion began ends by itself, which is what `away` waited for.
    await agent.newSnapshot((s) => s.state.mode === 'HOLD' && s.state.landed === 'IN_AIR')
    await agent.newSnapshot()
    expect(await agent.verdictOn(killed)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
    await agent.newSnapshot()
    expect(line.setpoints).toEqual([])
    expect(line.commands.filter((c) => c.command === COMMAND.takeoff).length).toBe(takeoffs)
    expect(agent.snapshot?.plans).toEqual([])
  })

  it('G5: SIGTERM in the middle of a goto: HOLD is sent and shown, `offline` is said, exit code 0', async () => {
    // It began in the middle of a take-off that its session knows nothing of.
    if (agent.control?.pilot_control) await agent.operate('resume')
    const id = await underway(line, agent)
    const { length } = line.commands
    expect(await companion.kill('SIGTERM')).toBe(0)
    expect(line.seen).toMatchObject({ mode: 'HOLD', intended: 'HOLD', armed: true })
    const setpoints = line.setpoints.length
    expect(line.commands.slice(length).every((c) => c.command === COMMAND.mode && c.params[1] === 4)).toBe(true)
    expect(line.commands.length).toBeGreaterThan(length)
    await until('offline', () => agent.on('status').at(-1)?.status === 'offline')
    expect(agent.outcomes(id).at(-1)).toMatchObject({ phase: 'failed', reason: 'shutdown' })
    const submitted = ground('good.json')
    expect(await submitted.ended).toBe(1)
    expect(submitted.stderr).toMatch(/no companion is online/)
    expect(line.setpoints.length).toBe(setpoints)
  })

  it('G5: killed in the middle of a goto: the next session sends nothing, and control is the pilot’s', async () => {
    companion = line.launch()
    await agent.ready({ map: 1 })
    await underway(line, agent)
    const { session } = agent
    await companion.kill('SIGKILL')
    const { length } = line.commands
    const setpoints = line.setpoints.length
    // It leaves Offboard by itself, and keeps it as the intended mode.
    await until('the end of Offboard', () => line.seen.mode === 'POSITION')
    companion = line.launch()
    await until('the new session', () => agent.session !== session && agent.on('status').at(-1)?.status === 'online')
    await until('control to be the pilot’s', () => agent.control?.pilot_control === true)
    await agent.newSnapshot()
    expect(line.commands.length).toBe(length)
    expect(line.setpoints.length).toBe(setpoints)
  })

  it('G5: a pause holds where the journal cannot be written any more, and people are told', async () => {
    mkdirSync(join(line.folder, 'uav1.journal.next'))
    await agent.say('operator/pause', encode({ v: 1 }))
    await until('the pause', () => agent.control?.paused === true)
    expect(agent.on('notice').at(-1)).toMatchObject({ kind: 'journal', severity: 'critical' })
    expect(await companion.kill('SIGTERM')).toBe(0)
  })

  it('G5: keeps the profile in every packet', () => {
    expect(agent.unprofiled).toEqual([])
  })
})

describe.concurrent('a start that must not be', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'halo-start-'))
    const catalog = readFileSync(new URL('../../examples/px4-multirotor/catalog.yaml', import.meta.url))
    writeFileSync(join(folder, 'catalog.yaml'), catalog)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const configure = (name: string, more: string, catalog = 'catalog.yaml'): string => {
    const text = `vehicle: uav1\ncatalog: ${catalog}\nmavlink: { endpoint: "udpin://127.0.0.1:0" }\nmqtt: { embedded: "127.0.0.1:0" }\n${more}\n`
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }

  it('an unknown key, with file, line, column and key', async () => {
    const halo = new Halo(['run', '--config', configure('unknown.yaml', 'vehicel: uav2')])
    expect(await halo.ended).toBe(1)
    expect(halo.stderr).toMatch(/unknown\.yaml:5:1: vehicel: unknown key.*vehicle/)
    expect(halo.stderr).not.toMatch(/\n\s+at /)
  })

  it('G5: a journal that cannot be written', async () => {
    const file = configure('journal.yaml', 'journal: no/such/folder/uav1.journal')
    const halo = new Halo(['run', '--config', file])
    expect(await halo.ended).toBe(1)
    expect(halo.stderr).toMatch(/journal .*no\/such\/folder/)
  })

  it('halo check: that all is well, without connecting; the mistakes of a catalog with their place', async () => {
    const file = configure('check.yaml', '')
    const good = new Halo(['check', '--config', file])
    expect(await good.ended).toBe(0)
    expect(good.stdout).toMatch(
      /check\.yaml: all is well: vehicle uav1, 12 types, 1 agent, 8 predicates, 0 rules; catalog /,
    )
    const told = new Halo(['check', '--config', file, '--explain', 'goto'])
    expect(await told.ended).toBe(0)
    expect(told.stdout).toMatch(/^goto is an action/)
    const text = readFileSync(join(folder, 'catalog.yaml'), 'utf8')
    writeFileSync(join(folder, 'wrong.yaml'), text.replace('state.gps.fix >= 3', 'state.gps.fixx >= 3'))
    const bad = new Halo(['check', '--config', configure('mistaken.yaml', '', 'wrong.yaml')])
    expect(await bad.ended).toBe(1)
    expect(bad.stdout).toMatch(/wrong\.yaml:\d+:\d+: error: .*gps\.fixx/)
  })
})
