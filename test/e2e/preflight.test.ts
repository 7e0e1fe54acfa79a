// A vehicle as it comes, over real sockets: its parameters are not fit for setpoints, and whoever can set them is told how. It
// takes off and lands; a goto is denied until they are set.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Agent, COMMAND, climb, encode, FlightLine, report, takeoff, until } from './flight-line.ts'

const PROBLEM = [
  'COM_OBL_RC_ACT is 0: set it to 5 (hold): with a stick down, the others may descend or fly away',
  'COM_RC_OVERRIDE is 1: set it to 3 (also in Offboard)',
  'MPC_XY_VEL_MAX is 10: set it to 5 at most, or raise max_speed (5 m/s)',
].join('; ')

describe('the preflight', { retry: 2, timeout: 60_000 }, () => {
  let line: FlightLine
  let agent: Agent
  beforeAll(async () => {
    line = await FlightLine.open({ preflight: 'refuse' })
    agent = await line.agent()
    await agent.say('context/map', encode({ v: 1, value: 7 }), true)
    await line.start()
    await agent.ready({ map: 7 })
  })
  afterAll(() => line?.close())

  it('G5: tells people what to set, lets the vehicle take off and land, and denies a setpoint with what to set', async () => {
    const told = await until('a notice', () =>
      agent.on('notice').find((n) => n.kind === 'preflight' && n.text === PROBLEM),
    )
    expect(told).toMatchObject({ severity: 'warning' })
    await agent.respond({ components: [takeoff('up')] })
    await agent.outcome('up', 'completed')
    await agent.respond({ components: [report(), climb('leg')] })
    expect(await agent.outcome('leg', 'blocked')).toMatchObject({ reason: 'not_in_control', detail: PROBLEM })
    await agent.respond({ components: [{ id: 'down', type: 'land', payload: {} }] })
    await agent.outcome('down', 'completed')
    const commands = line.commands.map(({ command }) => command)
    expect(commands).toContain(COMMAND.takeoff)
    expect(line.setpoints).toEqual([])
  })
})
