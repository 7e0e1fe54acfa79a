// The other end of the simulated vehicle's link, on virtual time: commands and setpoints by hand, everything heard kept.

import type { MavLinkData } from 'node-mavlink'
import { ardupilotmega, common, MavLinkProtocolV2, minimal, x25crc } from 'node-mavlink'
import type { Fault } from '../../../simulator/fault.ts'
import { message } from '../../../simulator/frame.ts'
import { SimulatedVehicle, type VehicleOptions } from '../../../simulator/vehicle.ts'

export const HOME = { lat: 47.3977419, lon: 8.5455933, amsl: 488 }
export const NAN = Number.NaN
export const { DO_SET_MODE, COMPONENT_ARM_DISARM, NAV_TAKEOFF, NAV_LAND, NAV_RETURN_TO_LAUNCH } = common.MavCmd
export const ARM = [COMPONENT_ARM_DISARM, 1] as const
export const HOLD = [DO_SET_MODE, 1, 4, 3] as const
export const OFFBOARD = [DO_SET_MODE, 1, 6] as const
export const LAND = [NAV_LAND, 0, 0, 0, NAN, NAN, NAN, NAN] as const
export const RETURN = [NAV_RETURN_TO_LAUNCH] as const
export const takeoff = (height_m: number) => [NAV_TAKEOFF, NAN, NAN, NAN, NAN, NAN, NAN, HOME.amsl + height_m] as const

const REGISTRY = { ...minimal.REGISTRY, ...common.REGISTRY, ...ardupilotmega.REGISTRY } as Record<
  number,
  typeof common.CommandAck
>
const METRES_PER_DEGREE = 111_194.93
const STEP_MS = 5
const STREAM_MS = 100

export interface Heard {
  readonly at_ms: number
  readonly system: number
  readonly component: number
  readonly sequence: number
  readonly data: MavLinkData
}

/** A position target in metres north and east of HOME and above it; GLOBAL_INT, frame 5, 0x0DF8 unless told otherwise. */
export function position(north: number, east: number, height_m: number, frame = 5, mask = 0x0df8): MavLinkData {
  const lat = HOME.lat + north / METRES_PER_DEGREE
  const lon = HOME.lon + east / (METRES_PER_DEGREE * Math.cos((HOME.lat * Math.PI) / 180))
  return globalTarget(
    Math.round(lat * 1e7),
    Math.round(lon * 1e7),
    frame === 5 ? HOME.amsl + height_m : height_m,
    frame,
    mask,
  )
}

export function globalTarget(latInt: number, lonInt: number, alt: number, frame = 5, mask = 0x0df8): MavLinkData {
  return message(common.SetPositionTargetGlobalInt, {
    ...REST,
    coordinateFrame: frame,
    typeMask: mask,
    latInt,
    lonInt,
    alt,
  })
}

export function local(frame: number, mask: number, values: Partial<common.SetPositionTargetLocalNed>): MavLinkData {
  return message(common.SetPositionTargetLocalNed, {
    ...REST,
    x: 0,
    y: 0,
    z: 0,
    ...values,
    coordinateFrame: frame,
    typeMask: mask,
  })
}

const REST = {
  timeBootMs: 0,
  targetSystem: 1,
  targetComponent: 1,
  vx: 0,
  vy: 0,
  vz: 0,
  afx: 0,
  afy: 0,
  afz: 0,
  yaw: 0,
  yawRate: 0,
}

export class Flight {
  readonly vehicle: SimulatedVehicle
  readonly heard: Heard[] = []
  /** Ids that node-mavlink has no class for. */
  readonly unknown = new Set<number>()
  readonly #protocol = new MavLinkProtocolV2(1, 191)
  #sequence = 0
  now_ms = 0
  /** Sent every 100 ms while it is there. */
  stream: MavLinkData | undefined
  #streamed_ms = 0

  constructor(options: Partial<VehicleOptions> = {}) {
    this.vehicle = new SimulatedVehicle({ home: HOME, wander_m: 0, ...options })
    this.vehicle.step(0)
  }

  get seen() {
    return this.vehicle.observations
  }

  bytes(data: MavLinkData): Uint8Array {
    return this.#protocol.serialize(data, this.#sequence++ & 0xff)
  }

  send(data: MavLinkData): void {
    this.vehicle.receive(this.bytes(data), this.now_ms)
  }

  fault(fault: Fault): void {
    this.vehicle.fault(fault, this.now_ms)
  }

  /** Flies on for this long, or until the condition holds; returns how long that took. */
  run(duration_ms: number, until: () => boolean = () => false): number {
    const start_ms = this.now_ms
    while (this.now_ms - start_ms < duration_ms && !until()) {
      this.now_ms += STEP_MS
      if (this.stream !== undefined && this.now_ms - this.#streamed_ms >= STREAM_MS) {
        this.#streamed_ms = this.now_ms
        this.send(this.stream)
      }
      for (const datagram of this.vehicle.step(this.now_ms)) this.#hear(Buffer.from(datagram))
    }
    return this.now_ms - start_ms
  }

  /** Like `run`, and fails if the condition never held. */
  await(limit_ms: number, until: () => boolean): number {
    const took_ms = this.run(limit_ms, until)
    if (!until()) throw new Error(`not reached within ${limit_ms} ms`)
    return took_ms
  }

  /** Sends COMMAND_LONG and returns the result of its acknowledgement and how long that took; undefined if none came. */
  command(command: number, ...params: number[]): number | undefined {
    return this.ask(command, ...params)?.result
  }

  ask(command: number, ...params: number[]): { result: number; took_ms: number } | undefined {
    const from = this.heard.length
    const [p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0] = params
    this.send(
      message(common.CommandLong, {
        targetSystem: 1,
        targetComponent: 1,
        command,
        confirmation: 0,
        _param1: p1,
        _param2: p2,
        _param3: p3,
        _param4: p4,
        _param5: p5,
        _param6: p6,
        _param7: p7,
      }),
    )
    const ack = () =>
      this.heard.slice(from).find((h) => h.data instanceof common.CommandAck && h.data.command === command)
    const took_ms = this.run(500, () => ack() !== undefined)
    const found = ack()?.data as common.CommandAck | undefined
    return found === undefined ? undefined : { result: found.result, took_ms }
  }

  /** Everything of one type since a time, oldest first. */
  all<T extends MavLinkData>(type: new () => T, since_ms = 0): (Heard & { readonly data: T })[] {
    return this.heard.filter((h) => h.at_ms >= since_ms && h.data instanceof type) as (Heard & { data: T })[]
  }

  latest<T extends MavLinkData>(type: new () => T): T {
    const found = this.heard.findLast((h) => h.data instanceof type)
    if (found === undefined) throw new Error(`no ${type.name} heard`)
    return found.data as T
  }

  /** Asks as a companion does: CURRENT_MODE on change, the rest at the rates of the state fields. */
  subscribe(): void {
    const rates: [number, number][] = [
      [common.CurrentMode.MSG_ID, 20],
      [common.ExtendedSysState.MSG_ID, 50],
      [common.SysStatus.MSG_ID, 100],
      [common.EstimatorStatus.MSG_ID, 100],
      [common.GlobalPositionInt.MSG_ID, 50],
      [common.LocalPositionNed.MSG_ID, 50],
      [common.HomePosition.MSG_ID, 500],
    ]
    for (const [id, ms] of rates) this.command(common.MavCmd.SET_MESSAGE_INTERVAL, id, ms * 1000)
    this.command(common.MavCmd.SET_MESSAGE_INTERVAL, common.Attitude.MSG_ID, -1)
  }

  ready(): this {
    this.run(5000)
    this.subscribe()
    return this
  }

  /** HOLD, arm, NAV_TAKEOFF, and up. Returns how long it took from the NAV_TAKEOFF, ms. */
  takeoff(height_m = 8): number {
    for (const step of [HOLD, ARM, takeoff(height_m)]) {
      const [command, ...params] = step
      const result = this.command(command, ...params)
      if (result !== 0) throw new Error(`command ${command} answered ${result}`)
    }
    return this.await(40_000, () => this.seen.mode === 'HOLD')
  }

  /** In Offboard with this stream. */
  offboard(stream: MavLinkData): void {
    this.stream = stream
    this.run(300)
    if (this.command(...OFFBOARD) !== 0) throw new Error('offboard refused')
  }

  /** Metres over the ground from a point north and east of HOME. */
  distance(north: number, east: number): number {
    const { lat, lon } = this.seen.position
    const dn = (lat - HOME.lat) * METRES_PER_DEGREE - north
    const de = (lon - HOME.lon) * METRES_PER_DEGREE * Math.cos((HOME.lat * Math.PI) / 180) - east
    return Math.hypot(dn, de)
  }

  get speed_mps(): number {
    return Math.hypot(this.seen.velocity.north, this.seen.velocity.east)
  }

  #hear(datagram: Buffer): void {
    const header = this.#protocol.header(datagram)
    const type = REGISTRY[header.msgid]
    if (type === undefined) {
      this.unknown.add(header.msgid)
      return
    }
    if (datagram.length !== 12 + header.payloadLength) throw new Error('more than one frame in a datagram')
    if (x25crc(datagram, 1, 2, type.MAGIC_NUMBER) !== this.#protocol.crc(datagram)) throw new Error('wrong crc')
    const data = this.#protocol.data(this.#protocol.payload(datagram), type)
    this.heard.push({ at_ms: this.now_ms, system: header.sysid, component: header.compid, sequence: header.seq, data })
  }
}

const GUIDED = [DO_SET_MODE, 1, 4] as const

/** In the air at 8 m, nose north, in HOLD or GUIDED; ATTITUDE comes at 50 Hz. */
export function aloft(autopilot: 'px4' | 'ardupilot'): Flight {
  const flight = new Flight({ autopilot, readyAfter_ms: 1_000 })
  flight.run(2_000)
  for (const type of [common.ExtendedSysState, common.Attitude])
    flight.command(common.MavCmd.SET_MESSAGE_INTERVAL, type.MSG_ID, 20_000)
  if (autopilot === 'px4') flight.takeoff(8)
  else {
    for (const [command, ...params] of [GUIDED, ARM, [NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 8] as const])
      if (flight.command(command, ...params) !== 0) throw new Error(`command ${command} refused`)
    flight.await(15_000, () => flight.seen.landed === 'IN_AIR')
  }
  flight.run(2_000)
  return flight
}
