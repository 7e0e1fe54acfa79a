// What the simulated vehicle says, and when: PX4's streams on a companion link, their rates as measured, and the requests that
// change them until the next reboot.

import { common, MavLinkData, MavLinkPacketField, minimal } from 'node-mavlink'
import { message } from './frame.ts'
import type { Place, Vector } from './geodesy.ts'
import { customMode, isAuto, PX4_MODES, type Px4Mode } from './mode.ts'
import type { Random } from './random.ts'

export type LandedState = 'ON_GROUND' | 'IN_AIR' | 'TAKING_OFF' | 'LANDING'

/** Everything that a message can say about one instant. */
export interface Reading {
  readonly mode: Px4Mode
  readonly intended: Px4Mode
  readonly armed: boolean
  /** Could be armed, or is fit to fly: the health bit. */
  readonly ready: boolean
  /** Booted: before that the system status is "uninitialised". */
  readonly booted: boolean
  readonly critical: boolean
  readonly landed: LandedState
  readonly battery_percent: number
  /** GPS_FIX_TYPE */
  readonly fix: number
  /** ESTIMATOR_STATUS.flags */
  readonly flags: number
  readonly accuracy_m: number
  /** Whether positions are sent at all. */
  readonly positioned: boolean
  readonly place: Place
  readonly local: Vector
  readonly velocity: Vector
  readonly heading_rad: number
  readonly home: Place | undefined
  readonly homeLocal: Vector
  /** Where an automatic mode is flying to. */
  readonly target: Place | undefined
}

/** A message of PX4's Events interface that node-mavlink has no class for: a receiver must live with what it does not know. */
class CurrentEventSequence extends MavLinkData {
  static override MSG_ID = 411
  static override MSG_NAME = 'CURRENT_EVENT_SEQUENCE'
  static override PAYLOAD_LENGTH = 3
  static override MAGIC_NUMBER = 106
  static override FIELDS = [
    new MavLinkPacketField('sequence', 'sequence', 0, false, 2, 'uint16_t', ''),
    new MavLinkPacketField('flags', 'flags', 2, false, 1, 'uint8_t', ''),
  ]
  sequence = 0
  flags = 0
}

const HEALTHY = 0x10000000
const LANDED = { ON_GROUND: 1, IN_AIR: 2, TAKING_OFF: 3, LANDING: 4 } as const
const STATUS = { uninitialised: 0, standby: 3, active: 4, critical: 5 } as const
const BASE_MODE = { auto: 29, offboard: 17, manual: 81, armed: 128 } as const

const E7 = 1e7
const degE7 = (degrees: number): number => Math.round(degrees * E7)
const milli = (value: number): number => Math.round(value * 1000)
const centi = (value: number): number => Math.round(value * 100)
const heading_deg = (heading_rad: number): number => ((((heading_rad * 180) / Math.PI) % 360) + 360) % 360

interface Stream {
  readonly id: number
  /** As a link has it that asked for nothing. */
  readonly interval_ms: number
  /** `time_ms` since boot as this message type stamps it. Undefined: there is nothing to say. */
  make(now: Reading, time_ms: number): MavLinkData | undefined
}

const STREAMS: readonly Stream[] = [
  {
    id: minimal.Heartbeat.MSG_ID,
    interval_ms: 1000,
    make: (now) => {
      const base = isAuto(now.mode) ? BASE_MODE.auto : now.mode === 'OFFBOARD' ? BASE_MODE.offboard : BASE_MODE.manual
      const grounded = now.ready && now.booted ? STATUS.standby : STATUS.uninitialised
      const status: number = now.critical ? STATUS.critical : now.armed ? STATUS.active : grounded
      return message(minimal.Heartbeat, {
        type: minimal.MavType.QUADROTOR,
        autopilot: minimal.MavAutopilot.PX4,
        baseMode: base | (now.armed ? BASE_MODE.armed : 0),
        customMode: customMode(now.mode),
        systemStatus: status,
        mavlinkVersion: 3,
      })
    },
  },
  {
    id: common.CurrentMode.MSG_ID,
    interval_ms: 2000,
    make: (now) =>
      message(common.CurrentMode, {
        standardMode: PX4_MODES[now.mode].standard as number,
        customMode: customMode(now.mode),
        intendedCustomMode: customMode(now.intended),
      }),
  },
  {
    id: common.ExtendedSysState.MSG_ID,
    interval_ms: 200,
    make: (now) =>
      message(common.ExtendedSysState, {
        vtolState: common.MavVtolState.UNDEFINED,
        landedState: LANDED[now.landed] as number,
      }),
  },
  {
    id: common.SysStatus.MSG_ID,
    interval_ms: 200,
    make: (now) =>
      message(common.SysStatus, {
        onboardControlSensorsPresent: 33_570_861 as number,
        onboardControlSensorsEnabled: 33_636_397 as number,
        onboardControlSensorsHealth: (589_334_575 | (now.ready ? HEALTHY : 0)) >>> 0,
        load: 100,
        voltageBattery: milli(14.4 + 0.018 * now.battery_percent),
        currentBattery: -100,
        batteryRemaining: Math.floor(now.battery_percent),
        dropRateComm: 0,
        errorsComm: 0,
        errorsCount1: 0,
        errorsCount2: 0,
        errorsCount3: 0,
        errorsCount4: 0,
        onboardControlSensorsPresentExtended: 0 as number,
        onboardControlSensorsEnabledExtended: 0 as number,
        onboardControlSensorsHealthExtended: 0 as number,
      }),
  },
  {
    id: common.GpsRawInt.MSG_ID,
    interval_ms: 125,
    make: (now, time_ms) => {
      const fixed = now.fix >= 3
      return message(common.GpsRawInt, {
        timeUsec: BigInt(Math.round(time_ms * 1000)),
        fixType: now.fix,
        lat: degE7(now.place.lat),
        lon: degE7(now.place.lon),
        alt: milli(now.place.amsl),
        eph: fixed ? 70 : 9999,
        epv: fixed ? 110 : 9999,
        vel: centi(Math.hypot(now.velocity.north, now.velocity.east)),
        cog: 0,
        satellitesVisible: fixed ? 10 : 0,
        altEllipsoid: milli(now.place.amsl),
        hAcc: 900,
        vAcc: 1780,
        velAcc: 400,
        hdgAcc: 0,
        yaw: 0,
      })
    },
  },
  {
    id: common.EstimatorStatus.MSG_ID,
    interval_ms: 1000,
    make: (now, time_ms) =>
      message(common.EstimatorStatus, {
        timeUsec: BigInt(Math.round(time_ms * 1000)),
        flags: now.flags,
        velRatio: 0.1,
        posHorizRatio: 0.03,
        posVertRatio: 0.03,
        magRatio: 0.05,
        haglRatio: 0.01,
        tasRatio: Number.NaN,
        posHorizAccuracy: now.accuracy_m,
        posVertAccuracy: now.accuracy_m,
      }),
  },
  {
    id: common.GlobalPositionInt.MSG_ID,
    interval_ms: 20,
    make: (now, time_ms) =>
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
        : undefined,
  },
  {
    id: common.LocalPositionNed.MSG_ID,
    interval_ms: 33,
    make: (now, time_ms) =>
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
        : undefined,
  },
  {
    id: common.HomePosition.MSG_ID,
    interval_ms: 2000,
    make: (now, time_ms) =>
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
          }),
  },
  {
    id: common.PositionTargetGlobalInt.MSG_ID,
    interval_ms: 100,
    make: (now, time_ms) =>
      now.target === undefined
        ? undefined
        : message(common.PositionTargetGlobalInt, {
            timeBootMs: time_ms,
            coordinateFrame: common.MavFrame.GLOBAL_INT,
            typeMask: 0 as number,
            latInt: degE7(now.target.lat),
            lonInt: degE7(now.target.lon),
            alt: now.target.amsl,
            vx: 0,
            vy: 0,
            vz: 0,
            afx: 0,
            afy: 0,
            afz: 0,
            yaw: now.heading_rad,
            yawRate: 0,
          }),
  },
  {
    id: CurrentEventSequence.MSG_ID,
    interval_ms: 3000,
    make: () => message(CurrentEventSequence, { sequence: 1, flags: 0 }),
  },
  {
    id: common.DistanceSensor.MSG_ID,
    interval_ms: 100,
    make: (now, time_ms) =>
      message(common.DistanceSensor, {
        timeBootMs: time_ms,
        minDistance: 0,
        maxDistance: 10_000,
        currentDistance: Math.min(10_000, Math.max(0, centi(-now.local.down))),
        type: common.MavDistanceSensor.LASER,
        id: 0,
        orientation: common.MavSensorOrientation.PITCH_270,
        covariance: 0,
        horizontalFov: 0,
        verticalFov: 0,
        quaternion: [0, 0, 0, 0],
        signalQuality: 0,
      }),
  },
  {
    id: common.Attitude.MSG_ID,
    interval_ms: 10,
    make: (now, time_ms) =>
      message(common.Attitude, {
        timeBootMs: time_ms,
        roll: 0,
        pitch: 0,
        yaw: now.heading_rad,
        rollspeed: 0,
        pitchspeed: 0,
        yawspeed: 0,
      }),
  },
]

const FIRST_FRAME_MS = 600
const MODE_FLOOR_MS = 500
/** CURRENT_MODE follows a change by this much, plus at most the spread. */
const MODE_SHOWN_MS = 20
const MODE_SHOWN_SPREAD_MS = 10
/** `time_boot_ms` lags by a different amount in every type, so it goes back between types and never within one. */
const STAMP_LAG_MS = 200

const ACCEPTED = 0
const DENIED = 2
const FAILED = 4

interface Schedule {
  readonly stream: Stream
  readonly lag_ms: number
  /** Infinity: switched off. */
  interval_ms: number
  due_ms: number
}

export class Telemetry {
  readonly #schedules: Schedule[]
  readonly #random: Random
  readonly #each_ms: number | undefined
  #boot_ms = 0
  #modeChange_ms = Number.POSITIVE_INFINITY

  /** `each_ms`: every stream comes at this interval from boot on, and none ever faster. */
  constructor(random: Random, each_ms?: number) {
    this.#random = random
    this.#each_ms = each_ms
    this.#schedules = STREAMS.map((stream) => ({
      stream,
      lag_ms: Math.floor(STAMP_LAG_MS * random()),
      interval_ms: stream.interval_ms,
      due_ms: 0,
    }))
  }

  /** Boot time starts over and every interval is the default again. */
  boot(now_ms: number): void {
    this.#boot_ms = now_ms
    this.#modeChange_ms = Number.POSITIVE_INFINITY
    for (const schedule of this.#schedules) {
      schedule.interval_ms = this.#each_ms ?? schedule.stream.interval_ms
      schedule.due_ms = now_ms + FIRST_FRAME_MS + Math.min(schedule.interval_ms, 400) * this.#random()
    }
  }

  /** SET_MESSAGE_INTERVAL: µs, 0 the default, negative off. Returns the MAV_RESULT; the rate of HEARTBEAT is not to be had. */
  setInterval(id: number, interval_us: number, now_ms: number): number {
    const schedule = this.#schedules.find((candidate) => candidate.stream.id === id)
    if (schedule === undefined || id === minimal.Heartbeat.MSG_ID || !Number.isFinite(interval_us)) return FAILED
    if (interval_us < 0) schedule.interval_ms = Number.POSITIVE_INFINITY
    else {
      const wanted_ms = interval_us === 0 ? schedule.stream.interval_ms : Math.max(interval_us / 1000, 5)
      schedule.interval_ms = Math.max(wanted_ms, this.#each_ms ?? 0)
    }
    schedule.due_ms = Math.max(now_ms + Math.min(schedule.interval_ms, 20), this.#boot_ms + FIRST_FRAME_MS)
    return ACCEPTED
  }

  /** REQUEST_MESSAGE: the MAV_RESULT and, where there is something to say, the message. */
  request(id: number, reading: Reading, now_ms: number): { result: number; message: MavLinkData | undefined } {
    const schedule = this.#schedules.find((candidate) => candidate.stream.id === id)
    if (schedule === undefined) return { result: DENIED, message: undefined }
    return { result: ACCEPTED, message: schedule.stream.make(reading, this.#stamp(schedule, now_ms)) }
  }

  /** The mode or the intended mode is another one now. */
  modeChanged(now_ms: number): void {
    this.#modeChange_ms = Math.min(this.#modeChange_ms, now_ms + MODE_SHOWN_MS + MODE_SHOWN_SPREAD_MS * this.#random())
  }

  /** The messages due at `now_ms`; `read` is asked only if there are any. */
  due(now_ms: number, read: () => Reading): MavLinkData[] {
    const messages: MavLinkData[] = []
    let reading: Reading | undefined
    for (const schedule of this.#schedules) {
      // A link that asked for CURRENT_MODE faster than its floor gets it on every change instead.
      const onChange = schedule.stream.id === common.CurrentMode.MSG_ID && schedule.interval_ms < MODE_FLOOR_MS
      const changed = onChange && now_ms >= this.#modeChange_ms
      // A report that falls due just before a change is shown waits for it: the new mode is never told before its time.
      const waits = onChange && this.#modeChange_ms !== Number.POSITIVE_INFINITY
      if (!changed && (waits || now_ms < schedule.due_ms)) continue
      if (schedule.interval_ms === Number.POSITIVE_INFINITY) continue
      if (changed) this.#modeChange_ms = Number.POSITIVE_INFINITY
      const interval_ms = onChange ? MODE_FLOOR_MS : schedule.interval_ms
      schedule.due_ms = (changed ? now_ms : Math.max(schedule.due_ms, now_ms - interval_ms)) + interval_ms
      reading ??= read()
      const made = schedule.stream.make(reading, this.#stamp(schedule, now_ms))
      if (made !== undefined) messages.push(made)
    }
    return messages
  }

  #stamp(schedule: Schedule, now_ms: number): number {
    return Math.max(0, Math.floor(now_ms - this.#boot_ms - schedule.lag_ms))
  }
}
