// A link that is lost in the middle of a flight (PROTOCOL 8), on both autopilots.

import { afterEach, expect, it } from 'vitest'
import { Afterlife } from './afterlife.ts'
import { type AutopilotName, encode, FlightLine, underway, until } from './flight-line.ts'

let line: FlightLine
afterEach(() => line?.close())

// A stall of this machine ends a lease, as it must (PROTOCOL 8): then the test is flown again.
it.each<AutopilotName>(['px4', 'ardupilot'])(
  'G5: %s, whose link is lost in flight, is held as soon as it is there again, and nothing of before is sent',
  { retry: 2 },
  async (autopilot) => {
    line = await FlightLine.open({ autopilot, tcp: true, vehicle: { aloft_m: 20 } })
    const agent = await line.agent()
    const afterlife = new Afterlife(line, agent)
    await line.start()
    await agent.ready()
    await agent.say('context/map', encode({ v: 1, value: 1 }))
    await agent.ready({ map: 1 })
    const id = await underway(line, agent)
    const commands = line.commands.length
    // The stream goes on or PX4 leaves Offboard, which is a takeover and not what this is about.
    line.vehicle.fault('intruder 0 0')
    line.cable!.cut()
    expect(await agent.outcome(id, 'failed')).toMatchObject({ reason: 'link_lost' })
    const setpoints = line.ownSetpoints.length
    line.cable!.mend()
    await until('the hold', () => line.seen.mode === line.own.hold)
    expect(new Set(line.modesAsked(commands))).toEqual(new Set([line.own.hold]))
    line.vehicle.fault('intruder off')
    expect(line.ownSetpoints.length).toBe(setpoints)
    expect(afterlife.sightings).toEqual([])
    expect(agent.control?.pilot_control).toBe(false)
  },
)
