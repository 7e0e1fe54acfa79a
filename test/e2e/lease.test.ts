// Every way in which a lease ends, on both autopilots: the word that the agent hears, what is sent, and that nothing of it is
// seen on the wire afterwards (PROTOCOL 8). Takeovers are in pilot.test.ts.

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
  type Halo,
  HOME,
  looseGoto,
  report,
  underway,
  until,
} from './flight-line.ts'

/** A goto that has no time to arrive. */
const HASTY = looseGoto('hasty', 'state.position.alt < 0.0', '2s')

describe.each<AutopilotName>(['px4', 'ardupilot'])('a lease on %s ends', (autopilot) => {
  let line: FlightLine
  let agent: Agent
  let afterlife: Afterlife
  let companion: Halo
  let n = 0

  beforeAll(async () => {
    line = await FlightLine.open({ autopilot, edits: HASTY, vehicle: { aloft_m: 20, battery: { drain: 0 } } })
    agent = await line.agent()
    afterlife = new Afterlife(line, agent)
    companion = line.launch()
    await agent.ready()
  })
  afterAll(() => line?.close())

  // A stall of this machine ends a lease, as it must (PROTOCOL 8): then the test is flown again.
  describe('by one thing or another', { retry: 2 }, () => {
    beforeEach(async () => {
      for (const fault of ['battery 90', `refuse ${COMMAND.mode} 0`]) line.vehicle.fault(fault)
      if (line.seen.mode !== line.own.hold) line.vehicle.fault(`pilot ${line.own.hold}`)
      await agent.say('context/map', encode({ v: 1, value: 1 }))
      await agent.ready({ map: 1, mode: 'HOLD', landed: 'IN_AIR', 'battery.remaining': 90 })
      if (agent.control?.paused || agent.control?.pilot_control) await agent.operate('resume')
    })

    /** It has ended so, and a hold is all that was sent after the command that engaged it. */
    async function isHeld(id: string, phase: string, about: object, commands: number): Promise<void> {
      expect(await agent.outcome(id, phase)).toMatchObject(about)
      await until('the hold', () => line.seen.mode === line.own.hold)
      await agent.newSnapshot()
      expect(new Set(line.modesAsked(commands))).toEqual(new Set([line.own.hold]))
      expect(agent.control?.pilot_control).toBe(false)
    }

    it('G1: done, completed, with the hold that follows', async () => {
      const id = `near${++n}`
      const place = { lat: HOME.lat, lon: HOME.lon - n * 1e-7, alt: line.seen.height_m }
      expect(
        decisions(
          await agent.respond({ components: [report(), { id, type: 'goto', payload: place, requires: ['range'] }] }),
        )[id],
      ).toBe('retained')
      await until('the flight', () => line.seen.mode === line.own.offboard)
      await isHeld(id, 'completed', {}, line.commands.length)
    })

    it('G5: out of time, time_exceeded', async () => {
      const id = `hasty${++n}`
      await agent.respond({ components: [{ ...climb(id, []), type: 'hasty' }] })
      await until('the flight', () => line.seen.mode === line.own.offboard)
      await isHeld(id, 'failed', { reason: 'time_exceeded' }, line.commands.length)
    })

    it.each([
      ['the ground has changed its map', 'changed', () => agent.say('context/map', encode({ v: 1, value: 2 }))],
      ['the battery is below its bound', 'unsupported', () => line.vehicle.fault('battery 20')],
      ['a message of the position is missing', 'state_stale', () => line.vehicle.fault('mute GLOBAL_POSITION_INT 3')],
      ['its position is lost', /^(prerequisite_lost|state_unknown)$/, () => line.vehicle.fault('jump 60')],
      ['the operator pauses', 'paused', () => agent.say('operator/pause', encode({ v: 1 }))],
    ])('G5: because %s', async (_, reason, happens) => {
      const id = await underway(line, agent)
      const commands = line.commands.length
      await happens()
      await isHeld(
        id,
        'failed',
        { reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
        commands,
      )
    })

    it('G5: because a newer plan supersedes it: the new one simply takes over', async () => {
      const id = await underway(line, agent)
      const commands = line.commands.length
      const next = `next${++n}`
      await agent.respond({ components: [report(), climb(next)] })
      expect(await agent.outcome(id, 'superseded')).toMatchObject({ reason: 'superseded' })
      await agent.outcome(next, 'dispatched')
      expect(line.modesAsked(commands)).toEqual([])
      await agent.respond({ components: [bare(`stop${n}`, 'hold')] })
      await isHeld(next, 'superseded', { reason: 'superseded' }, commands)
    })

    it('G5: because the companion is told to end: a hold before it goes', async () => {
      const id = await underway(line, agent)
      const commands = line.commands.length
      expect(await companion.kill('SIGTERM')).toBe(0)
      expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'shutdown' })
      expect(line.seen.mode).toBe(line.own.hold)
      expect(new Set(line.modesAsked(commands))).toEqual(new Set([line.own.hold]))
      companion = line.launch()
      await until('a session', () => agent.on('status').at(-1)?.status === 'online')
    })

    it('G3: because the autopilot reboots: nothing is sent to the new boot', async () => {
      const id = await underway(line, agent)
      const { session } = agent
      line.vehicle.fault('reboot')
      expect(await agent.outcome(id, 'failed')).toMatchObject({
        reason: expect.stringMatching(/^(session_changed|link_lost)$/),
      })
      const commands = line.commands.length
      await until('a new session', () => agent.session !== session)
      const { at } = await agent.newSnapshot()
      await agent.newSnapshot((s) => s.at - at >= 1_500)
      const booted = line.seen.armings.at(-1)!
      expect(booted.armed).toBe(false)
      expect(line.commands.slice(commands).filter(({ at_ms }) => at_ms >= booted.at_ms)).toEqual([])
    })
  })

  it('G2 G3: and nothing of it has arrived at the vehicle after that', () => {
    expect(afterlife.reasons).toEqual(
      expect.arrayContaining([
        'changed',
        'completed',
        'paused',
        'shutdown',
        'superseded',
        'time_exceeded',
        'unsupported',
      ]),
    )
    expect(afterlife.sightings).toEqual([])
  })
})
