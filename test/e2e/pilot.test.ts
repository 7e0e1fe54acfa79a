// Whoever has the vehicle keeps it (PROTOCOL 8): a pilot who takes it, or a failsafe, in every half-state of ours, on simulated
// autopilots that would obey us all the same; and whoever else speaks on the link.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Afterlife } from './afterlife.ts'
import {
  type Agent,
  type AutopilotName,
  bare,
  COMMAND,
  climb,
  decisions,
  encode,
  FlightLine,
  looseGoto,
  report,
  underway,
  until,
} from './flight-line.ts'

/** A flight that needs no position: the loss of the GPS does not end it, so that the autopilot does. */
const BLIND = looseGoto('blind', 'elapsed() >= 100000.0', '100s')

// A stall of this machine ends a lease, as it must (PROTOCOL 8): then the test is flown again.
describe.each<AutopilotName>(['px4', 'ardupilot'])('with %s', { retry: 2 }, (autopilot) => {
  let line: FlightLine
  let agent: Agent
  let afterlife: Afterlife

  beforeAll(async () => {
    // The PX4 that was measured tells its target in automatic modes only; here it does in Offboard too.
    line = await FlightLine.open({
      autopilot,
      edits: BLIND,
      // The autopilot comes down long before the catalog's own bound on the battery would end a flight.
      vehicle: { aloft_m: 30, offboardTarget: true, battery: { drain: 0, failsafe_percent: 50 } },
    })
    agent = await line.agent()
    afterlife = new Afterlife(line, agent)
    await line.start()
    await agent.ready()
  })
  afterAll(() => line?.close())

  beforeEach(async () => {
    for (const fault of [
      'battery 90',
      'gps on',
      'rc on',
      `refuse ${COMMAND.mode} 0`,
      'ack lost 0',
      'intruder off',
      'twin off',
      'impostor off',
    ])
      line.vehicle.fault(fault)
    if (line.seen.mode !== line.own.hold) line.vehicle.fault(`pilot ${line.own.hold}`)
    await agent.say('context/map', encode({ v: 1, value: 1 }))
    await agent.ready({ map: 1, mode: 'HOLD', landed: 'IN_AIR', 'battery.remaining': 90 })
    if (agent.control?.paused || agent.control?.pilot_control) await agent.operate('resume')
  })

  /** Somebody has the vehicle, and nothing of ours reaches it any more, whatever is said. */
  async function isLeftAlone(): Promise<void> {
    await until('control to be the pilot’s', () => agent.control?.pilot_control === true)
    await agent.newSnapshot()
    const [commands, setpoints] = [line.commands.length, line.ownSetpoints.length]
    const { at } = await agent.newSnapshot()
    const verdict = await agent.respond({ components: [bare('hover', 'hold'), bare('down', 'land')] })
    expect(decisions(verdict)).toEqual({ hover: 'pilot_control', down: 'pilot_control' })
    // Nor a contingency.
    await agent.say('operator/pause', encode({ v: 1 }))
    await agent.newSnapshot((s) => s.at - at >= 1_000)
    expect(line.commands.slice(commands)).toEqual([])
    expect(line.ownSetpoints.length).toBe(setpoints)
  }

  const say = async (...components: Parameters<Agent['respond']>[0]['components']): Promise<void> => {
    const verdict = decisions(await agent.respond({ components }))
    expect(new Set(Object.values(verdict))).toEqual(new Set(['retained']))
  }

  const HALFWAY: Readonly<Record<string, () => Promise<unknown>>> = {
    'nothing of ours is under way': async () => {},
    'setpoints go out and no mode command yet': async () => {
      const { length } = line.ownSetpoints
      await say(report(), climb(`warm${agent.heard.length}`))
      await until('a setpoint', () => line.ownSetpoints.length > length)
    },
    'its mode command is not answered': async () => {
      const { length } = line.commands
      line.vehicle.fault('ack lost 1')
      await say(report(), climb(`mute${agent.heard.length}`))
      await until('the mode command', () => line.commands.length > length)
    },
    'it flies to a setpoint': () => underway(line, agent),
    'a hold is repeated that nobody answers': async () => {
      await underway(line, agent)
      const { length } = line.commands
      line.vehicle.fault(`refuse ${COMMAND.mode} 1`)
      line.vehicle.fault('ack lost 100')
      await agent.say('operator/pause', encode({ v: 1 }))
      await until('the hold again', () => line.commands.length >= length + 2)
      await agent.operate('resume')
    },
    'it comes home': async () => {
      const id = `home${agent.heard.length}`
      await say(bare(id, 'return'))
      await agent.outcome(id, 'acknowledged')
    },
    'it lands': async () => {
      const id = `down${agent.heard.length}`
      await say(bare(id, 'land'))
      await agent.outcome(id, 'acknowledged')
    },
  }

  it.each(Object.keys(HALFWAY))('G5: a pilot who takes it while %s has it', async (state) => {
    await HALFWAY[state]!()
    line.vehicle.fault(`pilot ${line.own.pilot}`)
    await isLeftAlone()
    expect(line.seen.mode).toBe(line.own.pilot)
  })

  // Not while nothing but setpoints has gone out: until the heartbeat that tells of a failsafe, a second at most, nobody can know
  // of one that is in the mode of before, and the mode command may come in that second.
  const TOLD = Object.keys(HALFWAY)
    .slice(0, 5)
    .filter((state) => state !== 'setpoints go out and no mode command yet')
  it.each(TOLD)('G5: a failsafe that takes it while %s is not cancelled', async (state) => {
    await HALFWAY[state]!()
    line.vehicle.fault('rc off')
    const taken = autopilot === 'px4' ? 'RETURN' : 'RTL'
    await until('the failsafe', () => line.seen.mode === taken)
    await isLeftAlone()
    expect(line.seen.mode).toBe(taken)
  })

  it.runIf(autopilot === 'px4')('G5: a low battery brings it down, and nothing cancels that', async () => {
    await underway(line, agent)
    line.vehicle.fault('battery 45')
    await until('the failsafe', () => line.seen.mode === 'LAND')
    await isLeftAlone()
    expect(line.seen.mode).toBe('LAND')
  })

  it('G5: after a loss of the GPS the autopilot may return to our mode by itself: it stays the pilot’s', async () => {
    const id = `blind${agent.heard.length}`
    await say({ ...climb(id, []), type: 'blind' })
    await until('the flight', () => line.seen.mode === line.own.offboard)
    line.vehicle.fault('gps off')
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'taken_over' })
    const left = line.seen.mode
    // Somebody's stream goes on, which is all that PX4 waits for.
    line.vehicle.fault('intruder 0 0')
    line.vehicle.fault('gps on')
    if (autopilot === 'px4') await until('Offboard again', () => line.seen.mode === line.own.offboard)
    else expect(line.seen.mode).toBe(left)
    await isLeftAlone()
  })

  it('G5: somebody else’s target inside our mode ends what flies, as a takeover', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    line.vehicle.fault('intruder 40 40')
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'taken_over' })
    expect(line.modesAsked(commands)).toEqual([])
    await isLeftAlone()
  })

  it('G5: a second autopilot with its ids is an alarm, and nothing more is dispatched', async () => {
    const id = await underway(line, agent)
    line.vehicle.fault('twin on')
    // What the other one says may end it before it is known that there are two.
    await agent.outcome(id, 'failed')
    await until('the alarm', () =>
      agent.on('notice').some(({ kind, severity }) => kind === 'alarm' && severity === 'alert'),
    )
    await isLeftAlone()
  })

  it('G5: somebody who sends with our ids is an alarm: a hold, and nothing more is dispatched', async () => {
    const id = await underway(line, agent)
    const commands = line.commands.length
    const alarms = () => agent.on('notice').filter(({ kind }) => kind === 'alarm').length
    const before = alarms()
    line.vehicle.fault('impostor on')
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'pilot_control' })
    await until('the hold', () => line.seen.mode === line.own.hold)
    expect(new Set(line.modesAsked(commands))).toEqual(new Set([line.own.hold]))
    expect(alarms()).toBe(before + 1)
    await isLeftAlone()
  })

  it('G2 G3: nothing of what was over has arrived at the vehicle', () => {
    expect(afterlife.reasons).toEqual(expect.arrayContaining(['taken_over', 'pilot_control', 'paused']))
    expect(afterlife.sightings).toEqual([])
  })
})
