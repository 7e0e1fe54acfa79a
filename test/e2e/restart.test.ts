// What a companion finds that starts again (PROTOCOL 11), on both autopilots and over real sockets.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Agent,
  type AutopilotName,
  decisions,
  encode,
  FlightLine,
  type Halo,
  takeoff,
  underway,
  until,
} from './flight-line.ts'

// A stall of this machine ends a lease, as it must (PROTOCOL 8): then the test is flown again.
describe.each<AutopilotName>(['px4', 'ardupilot'])(
  'a companion beside %s that starts again finds',
  { retry: 2 },
  (autopilot) => {
    let line: FlightLine
    let agent: Agent
    let companion: Halo

    const open = async (vehicle: object): Promise<void> => {
      line = await FlightLine.open({ autopilot, vehicle })
      agent = await line.agent()
      // The ground keeps it: every session is told.
      await agent.say('context/map', encode({ v: 1, value: 1 }), true)
      companion = line.launch()
      await agent.ready({ map: 1 })
    }
    beforeEach((context) => open(context.task.name.includes('on the ground') ? {} : { aloft_m: 20 }))
    afterEach(() => line?.close())

    async function restart(meanwhile: () => unknown = () => {}): Promise<number> {
      const { session } = agent
      await companion.kill('SIGKILL')
      const commands = line.commands.length
      await meanwhile()
      companion = line.launch()
      await until('a session', () => agent.session !== session && agent.on('status').at(-1)?.status === 'online')
      return commands
    }

    it('G5: a vehicle that flies to setpoints of before: it is held, once, and then flies a fresh plan', async () => {
      await underway(line, agent)
      // Somebody's stream goes on, or PX4 would have left Offboard by itself until then.
      const commands = await restart(() => line.vehicle.fault('intruder 0 0'))
      await until('the hold', () => line.seen.mode === line.own.hold)
      line.vehicle.fault('intruder off')
      await agent.newSnapshot((s) => s.state.mode === 'HOLD')
      const sent = line.modesAsked(commands)
      expect(new Set(sent)).toEqual(new Set([line.own.hold]))
      const { at } = await agent.newSnapshot()
      await agent.newSnapshot((s) => s.at - at >= 1_500)
      expect(line.modesAsked(commands)).toEqual(sent)
      expect(agent.control?.pilot_control).toBe(false)
      await underway(line, agent)
    })

    it('G3 G5: a vehicle in the air with no plan: nothing is sent, and it flies a fresh one', async () => {
      const old = encode(agent.draft({ components: [{ id: 'old', type: 'land', payload: {} }] }))
      const commands = await restart()
      await agent.ready({ map: 1, mode: 'HOLD', landed: 'IN_AIR' })
      expect(agent.snapshot).toMatchObject({ plans: [], obligations: [] })
      expect(await agent.verdictOn(old)).toMatchObject({ accepted: false, reason: 'unknown_snapshot' })
      expect(line.commands.slice(commands)).toEqual([])
      expect(agent.control?.pilot_control).toBe(false)
      await underway(line, agent)
    })

    it('G5: a vehicle that the pilot has: nothing is sent, and control is the pilot’s', async () => {
      await underway(line, agent)
      const commands = await restart(() => line.vehicle.fault(`pilot ${line.own.pilot}`))
      await until('control to be the pilot’s', () => agent.control?.pilot_control === true)
      const { at } = await agent.newSnapshot()
      await agent.newSnapshot((s) => s.at - at >= 1_000)
      expect(line.commands.slice(commands)).toEqual([])
      expect(line.seen.mode).toBe(line.own.pilot)
    })

    it('G3: an autopilot that has rebooted, on the ground: nothing is sent, and it takes off again', async () => {
      expect(decisions(await agent.respond({ components: [takeoff('up')] }))).toEqual({ up: 'retained' })
      await agent.outcome('up', 'completed')
      const commands = await restart(() => line.vehicle.fault('reboot'))
      await agent.ready({ map: 1, landed: 'ON_GROUND', armed: false })
      expect(line.commands.slice(commands)).toEqual([])
      expect(agent.control?.pilot_control).toBe(false)
      expect(decisions(await agent.respond({ components: [takeoff('again')] }))).toEqual({ again: 'retained' })
      await agent.outcome('again', 'completed')
    })
  },
)
