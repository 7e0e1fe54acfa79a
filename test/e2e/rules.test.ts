// Rules through the MQTT door: the daemon loads them beside the catalog, and what they forbid, hold and let go is what arrives
// at the vehicle (PROTOCOL 13).

import { readFileSync, writeFileSync } from 'node:fs'
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
  report,
  takeoff,
  until,
} from './flight-line.ts'

const RULES = `
rule @ask_before_flight trigger takeoff check on_ground enforce user_inspection end
rule @not_so_high trigger goto check high enforce llm_self_examine("stay below 30 m") end
rule @seen trigger notice.operator check true enforce none end
`

let line: FlightLine
let agent: Agent

beforeAll(async () => {
  line = await FlightLine.open()
  const catalog = join(line.folder, 'catalog.yaml')
  const predicates = '\npredicates:\n  on_ground: state.landed == landed.ON_GROUND\n  high: payload.alt > 30\n'
  writeFileSync(catalog, readFileSync(catalog, 'utf8').replace('\npredicates:\n', predicates))
  writeFileSync(join(line.folder, 'rules.ar'), RULES)
  writeFileSync(line.config, `${readFileSync(line.config, 'utf8')}rules: [rules.ar]\n`)
  agent = await line.agent()
  await line.start()
  await agent.ready()
})
afterAll(() => line?.close())

const rulings = (): string[] => agent.on('notice').flatMap((n) => (n.kind === 'rule' ? [n.text] : []))

describe('rules in the companion', () => {
  it('none lets a notice out, and says so', async () => {
    await agent.respond({ components: [notice('hello')] })
    await agent.outcome('hello', 'released')
    expect(rulings()).toEqual(['none by @seen'])
  })

  it('G1: a take-off waits for a person, and approved it flies, once', async () => {
    expect(decisions(await agent.respond({ components: [takeoff('up')] }))).toEqual({ up: 'retained' })
    const held = await until('a consent', () => agent.control?.pending[0])
    expect(held).toMatchObject({ component: 'up', type: 'takeoff', payload: { alt: 4 }, rules: ['ask_before_flight'] })
    expect(line.commands).toEqual([])
    await agent.operate('approve', { consent: held.consent })
    await agent.outcome('up', 'completed')
    expect(line.seen.landed).toBe('IN_AIR')
    expect(line.commands.filter((c) => c.command === COMMAND.takeoff)).toHaveLength(1)
  })

  it('G4: a goto too high is denied with what the rule says, and nothing of it arrives', async () => {
    await agent.say('context/map', encode({ v: 1, value: 7 }))
    await agent.ready({ mode: 'HOLD', landed: 'IN_AIR', map: 7 })
    const verdict = decisions(await agent.respond({ components: [report(), climb('sky')] }))
    expect(verdict).toEqual({ range: 'retained', sky: 'retained' })
    expect(await agent.outcome('sky', 'blocked')).toMatchObject({ reason: 'rule', detail: '@not_so_high' })
    const obligation = await until(
      'an obligation',
      () => agent.on('obligation/planner').find((o) => o.obligation?.component === 'sky')?.obligation,
    )
    expect(obligation).toMatchObject({ reason: 'rule', condition: 'stay below 30 m' })
    expect(line.setpoints).toEqual([])
  })

  it('G5: a rule that says nothing sensible keeps the companion from starting, by file, line and column', async () => {
    writeFileSync(join(line.folder, 'rules.ar'), 'rule @r trigger goto check hihg enforce skip end\n')
    const check = new Halo(['check', '--config', line.config])
    expect(await check.ended).toBe(1)
    expect(check.stdout + check.stderr).toMatch(
      /rules\.ar:1:28: error: unknown predicate `hihg` \(did you mean `high`\?\)/,
    )
    await expect(line.start()).rejects.toThrow('unknown predicate')
  })
})
