// What PX4 says on a companion link that asked for nothing, and how often.

import { common, MavLinkData, MavLinkPacketField, minimal } from 'node-mavlink'
import { message } from './frame.ts'
import type { Place } from './geodesy.ts'
import { customMode, isAuto, PX4_MODES, type Px4Mode } from './mode.ts'
import type { Setpoint } from './setpoint.ts'
import {
  attitude,
  centi,
  degE7,
  globalPosition,
  globalTarget,
  HEALTHY,
  homePosition,
  LANDED,
  localPosition,
  localTarget,
  milli,
  OFF,
  type Reading,
  type Stream,
} from './telemetry.ts'

export interface Px4Reading extends Reading {
  readonly mode: Px4Mode
  readonly intended: Px4Mode
  /** Booted: before that the system status is "uninitialised". */
  readonly booted: boolean
  /** ESTIMATOR_STATUS.flags */
  readonly flags: number
  readonly accuracy_m: number
  /** Where an automatic mode is flying to. */
  readonly target: Place | undefined
  /** The setpoint of an Offboard flight. */
  readonly setpoint: Setpoint | undefined
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

const STATUS = { uninitialised: 0, standby: 3, active: 4, critical: 5 } as const
const BASE_MODE = { auto: 29, offboard: 17, manual: 81, armed: 128 } as const

export const PX4_STREAMS: readonly Stream<Px4Reading>[] = [
  {
    id: minimal.Heartbeat.MSG_ID,
    interval_ms: 1000,
    fixed: true,
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
    onChange: true,
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
  { id: common.GlobalPositionInt.MSG_ID, interval_ms: 20, make: globalPosition },
  { id: common.LocalPositionNed.MSG_ID, interval_ms: 33, make: localPosition },
  { id: common.HomePosition.MSG_ID, interval_ms: 2000, make: homePosition },
  {
    id: common.PositionTargetGlobalInt.MSG_ID,
    interval_ms: 100,
    make: (now, time_ms) =>
      globalTarget(now.target, { time_ms, frame: common.MavFrame.GLOBAL_INT, mask: 0, yaw: now.heading_rad }),
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
  // The real one says it unasked, ten times a second; here a link that asked for nothing is spared it.
  {
    id: common.PositionTargetLocalNed.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => localTarget(now.setpoint, time_ms),
  },
  { id: common.Attitude.MSG_ID, interval_ms: 10, make: attitude },
]
