// What ArduPilot says on a link. All but HEARTBEAT and TIMESYNC is off until somebody asks for it, link by link.

import { ardupilotmega, common, type MavLinkData, minimal } from 'node-mavlink'
import { COPTER_MODES, type CopterMode, isManual } from './copter-mode.ts'
import { message } from './frame.ts'
import type { Place } from './geodesy.ts'
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

export interface CopterReading extends Reading {
  readonly mode: CopterMode
  /** Still starting: before "ArduPilot Ready". */
  readonly starting: boolean
  /** EKF_STATUS_REPORT.flags */
  readonly flags: number
  /** What GUIDED or RTL flies to. */
  readonly target: Place | undefined
  /** The same of GUIDED, in the local frame: of a take-off and of a velocity too. */
  readonly setpoint: Setpoint | undefined
}

/** EKF_STATUS_REPORT: POS_HORIZ_ABS. */
export const ABSOLUTE_POSITION = 0x10

const STATUS = { boot: 1, standby: 3, active: 4, critical: 5 } as const
const BASE_MODE = { guided: 89, manual: 81, armed: 128 } as const
/** The sensor bits as they were in flight. */
const SENSORS = { present: 1_399_979_055, enabled: 1_398_930_479, health: 1_198_652_463 } as const
const NAN_4 = [Number.NaN, Number.NaN, Number.NaN, Number.NaN]
const UNKNOWN = 65_535
/** ArduPilot sets the bits of its target masks that mean nothing. */
const MASK_LAST_BITS = 0xfdc0

const voltage_mV = (percent: number): number => milli(10.8 + 0.018 * percent)

function heartbeat(now: CopterReading): MavLinkData {
  const base = isManual(now.mode) && !now.starting ? BASE_MODE.manual : BASE_MODE.guided
  const status = now.starting ? STATUS.boot : now.landed === 'ON_GROUND' ? STATUS.standby : STATUS.active
  return message(minimal.Heartbeat, {
    type: minimal.MavType.QUADROTOR,
    autopilot: minimal.MavAutopilot.ARDUPILOTMEGA,
    baseMode: base | (now.armed ? BASE_MODE.armed : 0),
    customMode: COPTER_MODES[now.mode],
    systemStatus: (now.critical ? STATUS.critical : status) as number,
    mavlinkVersion: 3,
  })
}

export const COPTER_STREAMS: readonly Stream<CopterReading>[] = [
  { id: minimal.Heartbeat.MSG_ID, interval_ms: 1000, make: heartbeat },
  {
    id: common.TimeSync.MSG_ID,
    interval_ms: 10_000,
    make: (_, time_ms) =>
      message(common.TimeSync, {
        tc1: 0n,
        ts1: BigInt(Math.round(time_ms * 1e6)),
        targetSystem: 0,
        targetComponent: 0,
      }),
  },
  {
    id: common.SysStatus.MSG_ID,
    interval_ms: OFF,
    make: (now) =>
      message(common.SysStatus, {
        onboardControlSensorsPresent: SENSORS.present as number,
        onboardControlSensorsEnabled: SENSORS.enabled as number,
        onboardControlSensorsHealth: (SENSORS.health | (now.ready ? HEALTHY : 0)) >>> 0,
        load: 0,
        voltageBattery: voltage_mV(now.battery_percent),
        currentBattery: 0,
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
    id: common.BatteryStatus.MSG_ID,
    interval_ms: OFF,
    make: (now) =>
      message(common.BatteryStatus, {
        id: 0,
        batteryFunction: common.MavBatteryFunction.UNKNOWN,
        type: common.MavBatteryType.UNKNOWN,
        temperature: 32_767,
        voltages: [voltage_mV(now.battery_percent), ...Array.from({ length: 9 }, () => UNKNOWN)],
        currentBattery: 0,
        currentConsumed: Math.round(31 * (100 - now.battery_percent)),
        energyConsumed: 0,
        batteryRemaining: Math.floor(now.battery_percent),
        timeRemaining: 0,
        chargeState: common.MavBatteryChargeState.OK,
        voltagesExt: [0, 0, 0, 0],
        mode: common.MavBatteryMode.UNKNOWN,
        faultBitmask: 0 as number,
      }),
  },
  {
    id: common.ExtendedSysState.MSG_ID,
    interval_ms: OFF,
    make: (now) =>
      message(common.ExtendedSysState, {
        vtolState: common.MavVtolState.MC,
        landedState: LANDED[now.landed] as number,
      }),
  },
  {
    id: common.GpsRawInt.MSG_ID,
    interval_ms: OFF,
    // Only when the receiver has news.
    least_ms: (now) => (now.fix >= 3 ? 200 : 1000),
    make: (now, time_ms) => {
      const fixed = now.fix >= 3
      const known = now.positioned && fixed
      return message(common.GpsRawInt, {
        timeUsec: BigInt(Math.round(time_ms * 1000)),
        fixType: now.fix,
        lat: known ? degE7(now.place.lat) : 0,
        lon: known ? degE7(now.place.lon) : 0,
        alt: known ? milli(now.place.amsl) : 0,
        eph: fixed ? 121 : UNKNOWN,
        epv: fixed ? 200 : UNKNOWN,
        vel: centi(Math.hypot(now.velocity.north, now.velocity.east)),
        cog: 0,
        satellitesVisible: fixed ? 10 : 0,
        altEllipsoid: known ? milli(now.place.amsl) : 0,
        hAcc: 300,
        vAcc: 300,
        velAcc: 0,
        hdgAcc: 0,
        yaw: 0,
      })
    },
  },
  {
    id: ardupilotmega.EkfStatusReport.MSG_ID,
    interval_ms: OFF,
    make: (now) =>
      message(ardupilotmega.EkfStatusReport, {
        flags: now.flags,
        velocityVariance: 0.01,
        posHorizVariance: 0.006,
        posVertVariance: 0.0002,
        compassVariance: 0.015,
        terrainAltVariance: 0,
        airspeedVariance: 0,
      }),
  },
  {
    // From the beginning, and 0, 0 until the GPS has a fix.
    id: common.GlobalPositionInt.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => {
      const place = now.positioned ? now.place : { lat: 0, lon: 0, amsl: 0 }
      return globalPosition({ ...now, positioned: true, place, home: now.home ?? place }, time_ms)
    },
  },
  {
    id: common.LocalPositionNed.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => localPosition({ ...now, positioned: (now.flags & ABSOLUTE_POSITION) !== 0 }, time_ms),
  },
  {
    id: common.HomePosition.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => {
      const home = homePosition(now, time_ms)
      return home && Object.assign(home, { q: NAN_4 })
    },
  },
  { id: common.Attitude.MSG_ID, interval_ms: OFF, make: attitude },
  {
    // The target of GUIDED and RTL, whoever set it: the only sign of somebody else inside GUIDED.
    id: common.PositionTargetGlobalInt.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => globalTarget(now.target, { time_ms, frame: common.MavFrame.GLOBAL, mask: 0xfdf8, yaw: 0 }),
  },
  {
    id: common.PositionTargetLocalNed.MSG_ID,
    interval_ms: OFF,
    make: (now, time_ms) => localTarget(now.setpoint, time_ms, MASK_LAST_BITS),
  },
  // It has a rangefinder's message, and no rangefinder.
  { id: common.DistanceSensor.MSG_ID, interval_ms: OFF, make: () => undefined },
]
