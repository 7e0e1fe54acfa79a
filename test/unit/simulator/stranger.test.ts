// What else can be on a link, or be wrong with it: other senders, acknowledgements that mislead, messages that lie or are missing.

import { common, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { parseFault } from '../../../simulator/fault.ts'
import { message } from '../../../simulator/frame.ts'
import { ARM, Flight, HOLD, LAND, local, position } from './flight.ts'

const { DO_SET_SERVO, DO_GRIPPER } = common.MavCmd

const HEARTBEAT = message(minimal.Heartbeat, {
  type: minimal.MavType.ONBOARD_CONTROLLER,
  autopilot: minimal.MavAutopilot.INVALID,
  baseMode: 0 as number,
  customMode: 0,
  systemStatus: minimal.MavState.ACTIVE,
  mavlinkVersion: 3,
})

const flying = (options: ConstructorParameters<typeof Flight>[0] = {}): Flight => {
  const flight = new Flight(options).ready()
  flight.takeoff(8)
  flight.run(3_000)
  return flight
}
const acks = (flight: Flight, command: number): [result: number, target: number][] =>
  flight
    .all(common.CommandAck)
    .filter(({ data }) => data.command === command)
    .map(({ data }) => [data.result, data.targetSystem])

describe.each(['px4', 'ardupilot'] as const)('simulated vehicle (%s): strangers', (autopilot) => {
  const ready = (): Flight => new Flight({ autopilot, readyAfter_ms: 500 }).ready()

  it('an impostor sends heartbeats with the companion’s own ids', () => {
    const flight = ready()
    flight.send(HEARTBEAT)
    flight.fault(parseFault('impostor on'))
    flight.run(2_500)
    const ours = flight.heard.filter(({ data }) => data instanceof minimal.Heartbeat && data.type === 18)
    expect(ours.map(({ system, component }) => [system, component])).toEqual([
      [1, 191],
      [1, 191],
      [1, 191],
    ])
    flight.fault(parseFault('impostor off'))
    const count = flight.heard.length
    flight.run(2_500)
    expect(flight.heard.slice(count).filter(({ component }) => component === 191)).toEqual([])
  })

  it('a twin has the same ids, another place, boot time and sequence', () => {
    const flight = ready()
    flight.run(10_000)
    flight.fault(parseFault('twin on'))
    const since_ms = flight.now_ms
    flight.run(3_000)
    const positions = flight.all(common.GlobalPositionInt, since_ms).filter(({ data }) => data.timeBootMs < 5_000)
    expect(positions.length).toBeGreaterThan(5)
    expect(positions[0]).toMatchObject({ system: 1, component: 1 })
    expect(positions.at(-1)!.data.lat - 473_977_419).toBeGreaterThan(9_000)
    const types = flight.all(minimal.Heartbeat, since_ms).map(({ system, component }) => `${system}/${component}`)
    expect(new Set(types)).toEqual(new Set(['1/1']))
    flight.fault(parseFault('twin off'))
    flight.run(500)
    const after_ms = flight.now_ms
    flight.run(2_000)
    expect(flight.all(common.GlobalPositionInt, after_ms).filter(({ data }) => data.timeBootMs < 8_000)).toEqual([])
  })

  it('keeps what was released, each time it had its effect', () => {
    const flight = ready()
    expect(flight.command(DO_SET_SERVO, 9, 1900)).toBe(0)
    flight.fault(parseFault(`refuse ${DO_GRIPPER} 4`))
    expect(flight.command(DO_GRIPPER, 1, 0)).toBe(4)
    flight.fault(parseFault(`refuse ${DO_GRIPPER} 0`))
    flight.fault(parseFault('ack lost 1'))
    expect(flight.command(DO_GRIPPER, 1, 0)).toBeUndefined()
    expect(flight.seen.releases.map(({ command, params }) => [command, params[0], params[1]])).toEqual([
      [DO_SET_SERVO, 9, 1900],
      [DO_GRIPPER, 1, 0],
    ])
  })
})

describe('simulated vehicle: what a link does to messages', () => {
  it('acknowledges in progress first, twice, and to somebody else', () => {
    const flight = flying()
    flight.fault(parseFault(`ack progress ${LAND[0]}`))
    expect(flight.command(...LAND)).toBe(5)
    flight.run(1_100)
    expect(acks(flight, LAND[0])).toEqual([
      [5, 1],
      [0, 1],
    ])
    flight.fault(parseFault('ack progress 0'))
    flight.fault(parseFault('ack twice 1'))
    const before = acks(flight, HOLD[0]).length
    flight.command(...HOLD)
    flight.run(100)
    expect(acks(flight, HOLD[0]).slice(before)).toEqual([
      [0, 1],
      [0, 1],
    ])
    flight.fault(parseFault(`ack other ${ARM[0]} 4`))
    flight.run(10)
    expect(acks(flight, ARM[0]).at(-1)).toEqual([4, 255])
  })

  it('leaves out one message for a while, and breaks one', () => {
    const flight = flying()
    flight.fault(parseFault('mute GLOBAL_POSITION_INT 2'))
    flight.fault(parseFault('nan LOCAL_POSITION_NED'))
    const since_ms = flight.now_ms + 1
    flight.run(1_990)
    expect(flight.all(common.GlobalPositionInt, since_ms)).toEqual([])
    const broken = flight.all(common.LocalPositionNed, since_ms)
    expect(broken.length).toBeGreaterThan(30)
    expect(broken.every(({ data }) => Number.isNaN(data.x) && Number.isNaN(data.vz))).toBe(true)
    flight.fault(parseFault('nan LOCAL_POSITION_NED 0'))
    flight.run(200)
    expect(flight.all(common.GlobalPositionInt, since_ms + 2_000).length).toBeGreaterThan(1)
    expect(flight.latest(common.LocalPositionNed).x).toBeCloseTo(0, 0)
  })

  it('jumps', () => {
    const flight = flying()
    const before = flight.latest(common.LocalPositionNed).x
    flight.fault(parseFault('jump 30'))
    flight.run(60)
    expect(flight.latest(common.LocalPositionNed).x - before).toBeCloseTo(30, 0)
  })

  it('flies in Offboard to where somebody else sends it, and reports it where it reports targets', () => {
    const flight = flying({ offboardTarget: true })
    flight.offboard(position(20, 0, 8))
    flight.run(500)
    flight.stream = undefined
    flight.fault(parseFault('intruder 0 40'))
    flight.run(20_000)
    expect(flight.seen.mode).toBe('OFFBOARD')
    expect(flight.distance(0, 40)).toBeLessThan(1)
    expect(flight.latest(common.PositionTargetGlobalInt).lonInt).toBeGreaterThan(85_460_000)
    flight.fault(parseFault('intruder off'))
    flight.await(3_000, () => flight.seen.mode === 'POSITION')
  })

  it.each([
    ['mute NOTHING 1', 'fault "mute": unknown message "NOTHING"'],
    ['nan GLOBAL_POSITION_INT', 'fault "nan": GLOBAL_POSITION_INT has no floating-point field'],
    ['ack other 400', 'fault "ack" takes 3 words, got 2: ack other <command id> <result>'],
    ['intruder 1', 'fault "intruder" takes 2 words, got 1: intruder <north m> <east m>|off'],
    ['jump far', 'fault "jump": m must be a number from -100000 to 100000, got "far"'],
  ])('says what is wrong with the fault "%s"', (line, error) => {
    expect(() => parseFault(line)).toThrow(error)
  })
})

describe('simulated PX4: parameters', () => {
  const ask = (flight: Flight, paramId: string): void =>
    flight.send(message(common.ParamRequestRead, { targetSystem: 1, targetComponent: 1, paramId, paramIndex: -1 }))

  it('answers an integer as its bits, with other values where told so, and leaves one unanswered', () => {
    const flight = new Flight({ parameters: { COM_OBL_RC_ACT: 5, NAV_RCL_ACT: null } }).ready()
    for (const name of ['COM_OBL_RC_ACT', 'COM_OF_LOSS_T', 'NAV_RCL_ACT', 'GF_ACTION']) ask(flight, name)
    flight.run(50)
    const bits = new DataView(new ArrayBuffer(4))
    const values = flight.all(common.ParamValue).map(({ data }) => {
      bits.setFloat32(0, data.paramValue, true)
      return [data.paramId, data.paramType === 6 ? bits.getInt32(0, true) : data.paramValue]
    })
    expect(values.sort()).toEqual([
      ['COM_OBL_RC_ACT', 5],
      ['COM_OF_LOSS_T', 1],
      ['GF_ACTION', 2],
    ])
  })

  it('does what they say: a lost stream holds, a low battery only warns, sticks take over in Offboard', () => {
    const flight = flying({ parameters: { COM_OBL_RC_ACT: 5, COM_LOW_BAT_ACT: 0, COM_RC_OVERRIDE: 3 } })
    flight.offboard(position(30, 0, 8))
    flight.stream = undefined
    flight.await(3_000, () => flight.seen.mode === 'HOLD')
    expect(flight.seen.intended).toBe('OFFBOARD')
    flight.fault(parseFault('battery 5'))
    flight.run(7_000)
    expect(flight.seen).toMatchObject({ mode: 'HOLD', critical: true })
    flight.offboard(position(30, 0, 8))
    flight.fault(parseFault('sticks on'))
    flight.run(100)
    expect(flight.seen).toMatchObject({ mode: 'POSITION', intended: 'POSITION' })
  })

  it('holds, then returns when the transmitter is lost, but not in Offboard where that is excepted', () => {
    const flight = flying()
    flight.offboard(local(1, 0x0df8, { x: 5, z: -8 }))
    flight.fault(parseFault('rc off'))
    expect(flight.await(600, () => flight.seen.mode === 'HOLD')).toBeGreaterThanOrEqual(495)
    expect(flight.seen).toMatchObject({ intended: 'OFFBOARD', critical: true })
    flight.await(6_000, () => flight.seen.mode === 'RETURN')
    expect(flight.command(...HOLD)).toBe(0)
    flight.run(8_000)
    expect(flight.seen.mode).toBe('HOLD')
    const excepted = flying({ parameters: { COM_RCL_EXCEPT: 4 } })
    excepted.offboard(local(1, 0x0df8, { x: 5, z: -8 }))
    excepted.fault(parseFault('rc off'))
    excepted.run(8_000)
    expect(excepted.seen.mode).toBe('OFFBOARD')
  })
})
