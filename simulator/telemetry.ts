// What the simulated vehicle says, and when: an autopilot's streams, and the requests that change their rates until the next
// reboot.

import { common, type MavLinkData } from 'node-mavlink'
import { message } from './frame.ts'
import type { Place, Vector } from './geodesy.ts'
import type { Random } from './random.ts'
import type { Setpoint } from './setpoint.ts'

export type LandedState = 'ON_GROUND' | 'IN_AIR' | 'TAKING_OFF' | 'LANDING'

/** What the messages of both autopilots say about one instant. */
export interface Reading {
  readonly armed: boolean
  /** Could be armed, or is fit to fly: the health bit. */
  readonly ready: boolean
  readonly critical: boolean
  readonly landed: LandedState
  readonly battery_percent: number
  /** GPS_FIX_TYPE */
  readonly fix: number
  /** Whether positions are sent at all. */
  readonly positioned: boolean
  readonly place: Place
  readonly local: Vector
  readonly velocity: Vector
  readonly heading_rad: number
  readonly home: Place | undefined
  readonly homeLocal: Vector
}

/** The interval of a stream that is switched off. */
export const OFF = Number.POSITIVE_INFINITY

export interface Stream<R> {
  readonly id: number
  /** As a link has it that asked for nothing. */
  readonly interval_ms: number
  /** Its interval cannot be changed. */
  readonly fixed?: true
  /** A link that asks for it faster than its floor gets it on every change instead. */
  readonly onChange?: true
  /** However fast it was asked for, no faster than this now. */
  readonly least_ms?: (now: R) => number
  /** `time_ms` since boot as this message type stamps it. Undefined: there is nothing to say. */
  make(now: R, time_ms: number): MavLinkData | undefined
}

/** The bit of SYS_STATUS that says: can arm, or is fit to fly. */
export const HEALTHY = 0x10000000
/** MAV_LANDED_STATE */
export const LANDED = { ON_GROUND: 1, IN_AIR: 2, TAKING_OFF: 3, LANDING: 4 } as const

const E7 = 1e7
export const degE7 = (degrees: number): number => Math.round(degrees * E7)
export const milli = (value: number): number => Math.round(value * 1000)
export const centi = (value: number): number => Math.round(value * 100)
const heading_deg = (heading_rad: number): number => ((((heading_rad * 180) / Math.PI) % 360) + 360) % 360

export const globalPosition = (now: Reading, time_ms: number): MavLinkData | undefined =>
  now.positioned
    ? message(common.GlobalPositionInt, {
        timeBootMs: time_ms,
        lat: degE7(now.place.lat),
        lon: degE7(now.place.lon),
        alt: milli(now.place.amsl),
        // Without a home there is nothing to be relative to: PX4 then sends the height above sea.
        relativeAlt: milli(now.place.amsl - (now.home?.amsl ?? 0)),
        vx: centi(now.velocity.north),
        vy: centi(now.velocity.east),
        vz: centi(now.velocity.down),
        hdg: centi(heading_deg(now.heading_rad)) % 36_000,
      })
    : undefined

export const localPosition = (now: Reading, time_ms: number): MavLinkData | undefined =>
  now.positioned
    ? message(common.LocalPositionNed, {
        timeBootMs: time_ms,
        x: now.local.north,
        y: now.local.east,
        z: now.local.down,
        vx: now.velocity.north,
        vy: now.velocity.east,
        vz: now.velocity.down,
      })
    : undefined

export const homePosition = (now: Reading, time_ms: number): MavLinkData | undefined =>
  now.home === undefined
    ? undefined
    : message(common.HomePosition, {
        latitude: degE7(now.home.lat),
        longitude: degE7(now.home.lon),
        altitude: milli(now.home.amsl),
        x: now.homeLocal.north,
        y: now.homeLocal.east,
        z: now.homeLocal.down,
        q: [1, 0, 0, 0],
        approachX: 0,
        approachY: 0,
        approachZ: 0,
        timeUsec: BigInt(Math.round(time_ms * 1000)),
      })

export const attitude = (now: Reading, time_ms: number): MavLinkData | undefined =>
  message(common.Attitude, {
    timeBootMs: time_ms,
    roll: 0,
    pitch: 0,
    yaw: now.heading_rad,
    rollspeed: 0,
    pitchspeed: 0,
    yawspeed: 0,
  })

/**
 * The target of a mode that takes them, in the local frame: NaN is said by the mask too. `lastBits` are what the autopilot sets
 * beyond the twelve that mean something.
 */
export function localTarget(target: Setpoint | undefined, time_ms: number, lastBits = 0): MavLinkData | undefined {
  if (target === undefined) return undefined
  const { north, east, down, velocityNorth, velocityEast, velocityDown } = target
  const values = [north, east, down, velocityNorth, velocityEast, velocityDown]
  const typeMask = values.reduce((mask, value, bit) => (Number.isFinite(value) ? mask : mask | (1 << bit)), lastBits)
  return message(common.PositionTargetLocalNed, {
    timeBootMs: time_ms,
    coordinateFrame: common.MavFrame.LOCAL_NED,
    typeMask,
    x: north,
    y: east,
    z: down,
    vx: velocityNorth,
    vy: velocityEast,
    vz: velocityDown,
    afx: 0,
    afy: 0,
    afz: 0,
    yaw: 0,
    yawRate: 0,
  })
}

/** A target on the globe, to stop at. */
export function globalTarget(
  target: Place | undefined,
  { time_ms, frame, mask, yaw }: { time_ms: number; frame: common.MavFrame; mask: number; yaw: number },
): MavLinkData | undefined {
  if (target === undefined) return undefined
  return message(common.PositionTargetGlobalInt, {
    timeBootMs: time_ms,
    coordinateFrame: frame,
    typeMask: mask,
    latInt: degE7(target.lat),
    lonInt: degE7(target.lon),
    alt: target.amsl,
    vx: 0,
    vy: 0,
    vz: 0,
    afx: 0,
    afy: 0,
    afz: 0,
    yaw,
    yawRate: 0,
  })
}

const MODE_FLOOR_MS = 500
/** A stream on change follows it by this much, plus at most the spread. */
const MODE_SHOWN_MS = 20
const MODE_SHOWN_SPREAD_MS = 10

const ACCEPTED = 0

/** How an autopilot keeps its schedules. */
export interface Habits {
  /** From boot to its first frame. */
  readonly firstFrame_ms: number
  /** `time_boot_ms` lags by a different amount in every type, up to this: it goes back between types, never within one. */
  readonly stampLag_ms: number
  /** MAV_RESULT of an interval, and of a message, that it does not have. */
  readonly unknownInterval: number
  readonly unknownMessage: number
}

interface Schedule<R> {
  readonly stream: Stream<R>
  readonly lag_ms: number
  interval_ms: number
  due_ms: number
  /** Once more at this time, whatever the interval. */
  prompt_ms: number
}

export class Telemetry<R> {
  readonly #schedules: Schedule<R>[]
  readonly #random: Random
  readonly #habits: Habits
  readonly #each_ms: number | undefined
  #boot_ms = 0
  #up_ms: number
  #modeChange_ms = Number.POSITIVE_INFINITY

  /** `each_ms`: every stream comes at this interval from boot on, and none ever faster. `up_ms`: its first boot was so long ago. */
  constructor(streams: readonly Stream<R>[], habits: Habits, random: Random, each_ms?: number, up_ms = 0) {
    this.#up_ms = up_ms
    this.#random = random
    this.#habits = habits
    this.#each_ms = each_ms
    this.#schedules = streams.map((stream) => ({
      stream,
      lag_ms: stream.interval_ms === OFF ? 0 : Math.floor(habits.stampLag_ms * random()),
      interval_ms: stream.interval_ms,
      due_ms: 0,
      prompt_ms: OFF,
    }))
  }

  /** Boot time starts over and every interval is the default again. */
  boot(now_ms: number): void {
    this.#boot_ms = now_ms - this.#up_ms
    this.#up_ms = 0
    this.#modeChange_ms = Number.POSITIVE_INFINITY
    for (const schedule of this.#schedules) {
      schedule.prompt_ms = OFF
      schedule.interval_ms = this.#each_ms ?? schedule.stream.interval_ms
      const spread_ms = schedule.interval_ms === OFF ? 0 : Math.min(schedule.interval_ms, 400) * this.#random()
      schedule.due_ms = now_ms + this.#habits.firstFrame_ms + spread_ms
    }
  }

  /** SET_MESSAGE_INTERVAL: µs, 0 the default, negative off. Returns the MAV_RESULT. */
  setInterval(id: number, interval_us: number, now_ms: number): number {
    const schedule = this.#schedules.find((candidate) => candidate.stream.id === id)
    if (schedule === undefined || schedule.stream.fixed || !Number.isFinite(interval_us)) {
      return this.#habits.unknownInterval
    }
    if (interval_us < 0) schedule.interval_ms = OFF
    else {
      const wanted_ms = interval_us === 0 ? schedule.stream.interval_ms : Math.max(interval_us / 1000, 5)
      schedule.interval_ms = Math.max(wanted_ms, this.#each_ms ?? 0)
    }
    schedule.due_ms = Math.max(now_ms + Math.min(schedule.interval_ms, 20), this.#boot_ms + this.#habits.firstFrame_ms)
    return ACCEPTED
  }

  /** REQUEST_MESSAGE: the MAV_RESULT and, where there is something to say, the message. */
  request(id: number, reading: R, now_ms: number): { result: number; message: MavLinkData | undefined } {
    const schedule = this.#schedules.find((candidate) => candidate.stream.id === id)
    if (schedule === undefined) return { result: this.#habits.unknownMessage, message: undefined }
    return { result: ACCEPTED, message: schedule.stream.make(reading, this.#stamp(schedule, now_ms)) }
  }

  /** The mode or the intended mode is another one now. */
  modeChanged(now_ms: number): void {
    this.#modeChange_ms = Math.min(this.#modeChange_ms, now_ms + MODE_SHOWN_MS + MODE_SHOWN_SPREAD_MS * this.#random())
  }

  /** A message besides its schedule, at this time. */
  prompt(id: number, at_ms: number): void {
    for (const schedule of this.#schedules) if (schedule.stream.id === id) schedule.prompt_ms = at_ms
  }

  /** The messages due at `now_ms`; `read` is asked only if there are any. */
  due(now_ms: number, read: () => R): MavLinkData[] {
    const messages: MavLinkData[] = []
    let reading: R | undefined
    for (const schedule of this.#schedules) {
      const onChange = schedule.stream.onChange === true && schedule.interval_ms < MODE_FLOOR_MS
      const changed = onChange && now_ms >= this.#modeChange_ms
      // A report that falls due just before a change is shown waits for it: the new mode is never told before its time.
      const waits = onChange && this.#modeChange_ms !== Number.POSITIVE_INFINITY
      const prompted = now_ms >= schedule.prompt_ms
      const due = changed || (!waits && now_ms >= schedule.due_ms && schedule.interval_ms !== OFF)
      if (!prompted && !due) continue
      schedule.prompt_ms = OFF
      reading ??= read()
      if (due) {
        if (changed) this.#modeChange_ms = Number.POSITIVE_INFINITY
        const least_ms = schedule.stream.least_ms?.(reading) ?? 0
        const interval_ms = onChange ? MODE_FLOOR_MS : Math.max(schedule.interval_ms, least_ms)
        schedule.due_ms = (changed ? now_ms : Math.max(schedule.due_ms, now_ms - interval_ms)) + interval_ms
      }
      const made = schedule.stream.make(reading, this.#stamp(schedule, now_ms))
      if (made !== undefined) messages.push(made)
    }
    return messages
  }

  #stamp(schedule: Schedule<R>, now_ms: number): number {
    return Math.max(0, Math.floor(now_ms - this.#boot_ms - schedule.lag_ms))
  }
}
