// ArduCopter as it was measured (4.7): modes, arming, take-off, GUIDED targets, failsafes. What it does not do by itself is the
// unpleasant part: a position target never times out, a setpoint across a take-off cancels it, nothing returns to GUIDED, and
// it obeys whoever sends a mode, over the pilot's switch and over its own failsafes.

import { common, type MavLinkData, minimal } from 'node-mavlink'
import type { Airframe } from './airframe.ts'
import { ABSOLUTE_POSITION, COPTER_STREAMS, type CopterReading } from './ardupilot-streams.ts'
import { type Autopilot, overridden, type Parameter, type Sight } from './autopilot.ts'
import type { Demand, HorizontalDemand, VerticalDemand } from './body.ts'
import { armable, COPTER_MODE_NAMES, type CopterMode, copterModeOf, isManual, needsGps } from './copter-mode.ts'
import { message } from './frame.ts'
import { type Place, placeAt, vectorTo } from './geodesy.ts'
import { readGuidedTarget } from './guided.ts'
import type { VehicleMode } from './observation.ts'
import type { Setpoint, TargetMessage } from './setpoint.ts'
import { Stop } from './stop.ts'
import { type LandedState, Telemetry } from './telemetry.ts'
import type { VehicleOptions } from './vehicle.ts'

const ACCEPTED = 0
const DENIED = 2
const UNSUPPORTED = 3
const FAILED = 4
const FORCED = 21_196

/** It arms in GUIDED from the instant on in which the estimator takes the GPS. */
const READY_MS = 41_600
/** What is there when, in parts of the time to `READY_MS`. */
const BOOT = {
  heartbeat: 950 / READY_MS,
  started: 2_400 / READY_MS,
  tilted: 5_500 / READY_MS,
  fixed: 10_000 / READY_MS,
  home: 20_000 / READY_MS,
  armableManually: 24_000 / READY_MS,
  positioned: 1,
} as const
const FIX = 6
const FIX_LOST = 1
const FIX_LOST_MS = 250
const FLAGS = { starting: 1024, unpositioned: 167, good: 0x33f, lost: 0x25 } as const
const FLAGS_LOST_MS = 7_200
const EKF_FAILSAFE_MS = 800
/** Not measured: the flags are good again this long after the GPS is. */
const FLAGS_BACK_MS = 1_000
const BATTERY_LOW_MS = 10_000
const RC_LOST_MS = 1_000
const SWITCH_MS = 200

const HOME_MOVES_M = { min: 0.03, max: 0.3 }
const SPOOL_MS = 3_450
const CLIMB_MPS = 2.3
const CLIMB_MPS2 = 1.2
const DONE_M = 0.05
const IDLE_DISARM_MS = 10_000
const LANDED_AFTER_MS = 1_500
const DISARM_AFTER_MS = 300

const COAST_MS = 250
const LAND_MPS = 0.5
const LAND_FAST_MPS = 1.5
const LAND_FAST_ABOVE_M = 10
const RETURN_HEIGHT_M = 15
const RETURN_WAIT_MS = 5_000
const ARRIVED_M = 1
const STICK_DESCENT_MPS = 2.5
const VERTICAL_MPS2 = 2.5
const NOSE_FOLLOWS_M = 2
const DEG = Math.PI / 180
/** Towards a yaw that is relative to the nose. */
const RELATIVE_TURN_RADPS = 59 * DEG
/** A velocity of the body that says nothing of the nose does not keep it: 9 deg in 6 s. */
const CURVE_RADPS = 1.5 * DEG
/** Without a position it drifts. */
const DRIFT_MPS = { north: -0.3, east: -0.6 }

const { INT8, INT32, REAL32 } = common.MavParamType
const PARAMETERS = {
  GUID_TIMEOUT: { value: 3, type: REAL32 },
  GUID_OPTIONS: { value: 0, type: INT32 },
  FLTMODE_CH: { value: 5, type: INT8 },
  FENCE_ENABLE: { value: 0, type: INT8 },
  FENCE_ACTION: { value: 1, type: INT8 },
  FENCE_RADIUS: { value: 300, type: REAL32 },
  FENCE_ALT_MAX: { value: 100, type: REAL32 },
  FS_THR_ENABLE: { value: 1, type: INT8 },
  FS_GCS_ENABLE: { value: 0, type: INT8 },
  FS_EKF_ACTION: { value: 1, type: INT8 },
  FS_OPTIONS: { value: 16, type: INT32 },
  BATT_FS_LOW_ACT: { value: 0, type: INT8 },
  /** m/s; before 4.7 it was WPNAV_SPEED, in cm/s. */
  WP_SPD: { value: 10, type: REAL32 },
  LAND_REPOSITION: { value: 1, type: INT8 },
} satisfies Record<string, Parameter>
/** As many as the real one says that it has. */
const PARAMETER_COUNT = 1_348
const INDEX_UNKNOWN = 65_535
const CONTINUE_IN_GUIDED = 4

const SEVERITY = { critical: 2, error: 3, info: 6 } as const

/** Motors idle, or a landing that has arrived. */
const GROUNDED: Demand = {
  horizontal: { kind: 'brake' },
  vertical: { kind: 'velocity', down: 0.5, acceleration: VERTICAL_MPS2 },
}

const NOTHING: Setpoint = {
  north: Number.NaN,
  east: Number.NaN,
  down: Number.NaN,
  velocityNorth: Number.NaN,
  velocityEast: Number.NaN,
  velocityDown: Number.NaN,
  yaw: Number.NaN,
  yawRate: Number.NaN,
}

/** What GUIDED is doing. */
type Guided =
  | { readonly kind: 'stop' }
  | { readonly kind: 'takeoff'; readonly to_m: number; readonly at_ms: number }
  | {
      readonly kind: 'position' | 'velocity'
      readonly setpoint: Setpoint
      readonly body: boolean
      readonly at_ms: number
    }

export class ArduPilot implements Autopilot {
  readonly ack_ms = { min: 1, max: 25 }
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly #airframe: Airframe
  readonly #telemetry: Telemetry<CopterReading>
  readonly #stop: Stop
  readonly #failsafe_percent: number
  readonly #ready_ms: number

  #boot_ms = 0
  #started = false
  #positioned = false
  #mode: CopterMode = 'STABILIZE'
  /** Where the pilot's switch stands. */
  #switch: CopterMode = 'STABILIZE'
  #switched_ms: number | undefined
  #armed = false
  #lifted = false
  /** On the ground with motors on since then. */
  #idle_ms = 0
  #touched_ms: number | undefined
  #home: Place | undefined

  #guided: Guided = { kind: 'stop' }
  /** DO_CHANGE_SPEED, m/s. */
  #speed: number | undefined
  #returnPhase: 'climb' | 'cruise' | 'wait' | 'land' = 'climb'
  #arrived_ms = 0

  #gpsLost_ms: number | undefined
  #gpsBack_ms: number | undefined
  #ekfFailsafe = false
  #batteryLow_ms: number | undefined
  #batteryFailsafe = false
  #rcLost_ms: number | undefined
  #rcFailsafe = false
  #breached = false

  constructor(options: VehicleOptions, airframe: Airframe) {
    this.#airframe = airframe
    this.parameters = overridden(PARAMETERS, options.parameters)
    this.#ready_ms = options.readyAfter_ms ?? READY_MS
    this.#failsafe_percent = options.battery?.failsafe_percent ?? 10
    const habits = {
      firstFrame_ms: BOOT.heartbeat * this.#ready_ms,
      stampLag_ms: 0,
      unknownInterval: DENIED,
      unknownMessage: FAILED,
    }
    this.#telemetry = new Telemetry(COPTER_STREAMS, habits, airframe.random, options.stream_ms, options.up_ms)
    this.#stop = new Stop(airframe.body, COAST_MS)
  }

  get mode(): CopterMode {
    return this.#mode
  }

  get intended(): CopterMode {
    return this.#mode
  }

  get armed(): boolean {
    return this.#armed
  }

  get home(): Place | undefined {
    return this.#home
  }

  get critical(): boolean {
    return this.#airframe.critical || this.#ekfFailsafe || this.#batteryFailsafe || this.#rcFailsafe
  }

  boot(now_ms: number): void {
    this.#boot_ms = now_ms
    this.#telemetry.boot(now_ms)
    this.#started = false
    this.#positioned = false
    if (this.#armed) this.#airframe.observeArming(now_ms, false)
    this.#armed = false
    this.#lifted = false
    this.#touched_ms = undefined
    this.#home = undefined
    this.#switched_ms = undefined
    this.#gpsBack_ms = undefined
    this.#forgetFailsafes()
    this.#enter('STABILIZE', now_ms)
  }

  raise(height_m: number, now_ms: number): void {
    this.#airframe.body.position = { north: 0, east: 0, down: -height_m }
    this.#boot_ms = now_ms - this.#ready_ms
    this.#started = true
    this.#positioned = true
    this.#armed = true
    this.#lifted = true
    this.#airframe.observeArming(now_ms, true)
    this.#enter('BRAKE', now_ms)
  }

  fly(dt_ms: number, now_ms: number): void {
    const { body } = this.#airframe
    this.#start(now_ms)
    if (this.#switched_ms !== undefined && now_ms >= this.#switched_ms) {
      this.#switched_ms = undefined
      if (this.#change(this.#switch, now_ms)) this.#telemetry.prompt(minimal.Heartbeat.MSG_ID, now_ms)
    }
    this.#failsafes(now_ms)
    this.#liftOff(now_ms)
    this.#turn(dt_ms / 1000)
    body.advance(dt_ms / 1000, this.#armed ? this.#demand(now_ms) : undefined)
    this.#ground(now_ms)
    this.#progress(now_ms)
  }

  pilot(mode: VehicleMode, now_ms: number): void {
    const own = COPTER_MODE_NAMES.find((name) => name === mode)
    if (own === undefined) throw new Error(`ArduPilot has no mode ${mode}, one of ${COPTER_MODE_NAMES.join(', ')}`)
    this.#switch = own
    this.#switched_ms = now_ms + SWITCH_MS
  }

  gps(on: boolean, now_ms: number): void {
    if (!on) {
      this.#gpsLost_ms ??= now_ms
      this.#gpsBack_ms = undefined
    } else if (this.#gpsLost_ms !== undefined) {
      // A short outage leaves nothing behind.
      this.#gpsBack_ms = this.#flags(now_ms) === FLAGS.lost ? now_ms + FLAGS_BACK_MS : undefined
      this.#gpsLost_ms = undefined
    }
  }

  // Starting

  /** Whether this part of the boot is over. */
  #past(part: keyof typeof BOOT, now_ms: number): boolean {
    return now_ms - this.#boot_ms >= BOOT[part] * this.#ready_ms
  }

  #start(now_ms: number): void {
    if (!this.#started && this.#past('started', now_ms)) {
      this.#started = true
      // Whatever mode was set until now, the switch has the last word.
      this.#enter(this.#switch, now_ms)
      this.#telemetry.prompt(minimal.Heartbeat.MSG_ID, now_ms)
      this.#text(SEVERITY.info, 'ArduPilot Ready', now_ms)
    }
    if (this.#home === undefined && this.#past('home', now_ms)) this.#setHome(this.#airframe.origin, now_ms)
    if (!this.#positioned && this.#past('positioned', now_ms)) {
      this.#positioned = true
      this.#text(SEVERITY.info, 'EKF3 IMU0 is using GPS', now_ms)
    }
  }

  #fix(now_ms: number): number {
    if (!this.#past('fixed', now_ms)) return 0
    return this.#gpsLost_ms !== undefined && now_ms - this.#gpsLost_ms >= FIX_LOST_MS ? FIX_LOST : FIX
  }

  #flags(now_ms: number): number {
    if (!this.#past('tilted', now_ms)) return FLAGS.starting
    if (!this.#past('positioned', now_ms)) return FLAGS.unpositioned
    const lost = this.#gpsLost_ms !== undefined && now_ms - this.#gpsLost_ms >= FLAGS_LOST_MS
    return lost || now_ms < (this.#gpsBack_ms ?? 0) ? FLAGS.lost : FLAGS.good
  }

  #hasPosition(now_ms: number): boolean {
    return (this.#flags(now_ms) & ABSOLUTE_POSITION) !== 0
  }

  #setHome(home: Place, now_ms: number): void {
    this.#home = home
    this.#telemetry.prompt(common.HomePosition.MSG_ID, now_ms)
  }

  // Modes

  /** A mode from anybody, at any time: false where it needs a position that there is not. Disarmed it takes any. */
  #change(mode: CopterMode, now_ms: number): boolean {
    if (this.#armed && needsGps(mode) && !this.#hasPosition(now_ms)) {
      this.#text(SEVERITY.critical, `Mode change to ${mode} failed: requires position`, now_ms)
      return false
    }
    if (mode !== this.#mode) this.#enter(mode, now_ms)
    return true
  }

  #enter(mode: CopterMode, now_ms: number): void {
    this.#mode = mode
    this.#guided = { kind: 'stop' }
    this.#speed = undefined
    this.#returnPhase = 'climb'
    this.#idle_ms = now_ms
    this.#stop.begin(now_ms)
    this.#airframe.observeMode(now_ms, mode, mode)
  }

  #failsafes(now_ms: number): void {
    const airframe = this.#airframe
    const lostFor_ms = this.#gpsLost_ms === undefined ? 0 : now_ms - this.#gpsLost_ms
    if (this.#hasPosition(now_ms)) this.#ekfFailsafe = false
    else if (this.#armed && !this.#ekfFailsafe && lostFor_ms >= FLAGS_LOST_MS + EKF_FAILSAFE_MS) {
      this.#ekfFailsafe = true
      this.#escape(ekfAction(this.#value('FS_EKF_ACTION'), this.#mode), 'EKF Failsafe', now_ms)
    }

    if (airframe.battery_percent > this.#failsafe_percent) {
      this.#batteryLow_ms = undefined
      this.#batteryFailsafe = false
    } else {
      this.#batteryLow_ms ??= now_ms
      if (this.#armed && !this.#batteryFailsafe && now_ms - this.#batteryLow_ms >= BATTERY_LOW_MS) {
        this.#batteryFailsafe = true
        const action = this.#value('BATT_FS_LOW_ACT')
        this.#escape(action === 1 ? 'LAND' : action === 2 ? 'RTL' : undefined, 'Battery 1 is low', now_ms)
      }
    }

    if (airframe.rc) {
      if (this.#rcFailsafe) this.#text(SEVERITY.critical, 'Radio Failsafe Cleared', now_ms)
      this.#rcLost_ms = undefined
      this.#rcFailsafe = false
    } else {
      this.#rcLost_ms ??= now_ms
      const action = this.#value('FS_THR_ENABLE')
      if (this.#armed && !this.#rcFailsafe && action !== 0 && now_ms - this.#rcLost_ms >= RC_LOST_MS) {
        this.#rcFailsafe = true
        const goesOn = this.#mode === 'GUIDED' && (this.#value('FS_OPTIONS') & CONTINUE_IN_GUIDED) !== 0
        this.#escape(goesOn ? undefined : action === 3 ? 'LAND' : 'RTL', 'Radio Failsafe', now_ms)
      }
    }

    const breached = this.#lifted && this.#outside(airframe.body.position)
    if (breached && !this.#breached) {
      this.#escape(this.#value('FENCE_ACTION') === 0 ? undefined : 'RTL', 'Fence Breached', now_ms)
    }
    this.#breached = breached
  }

  /** Out of danger into this mode; on the ground it disarms. The heartbeat shows it when its time comes. */
  #escape(mode: CopterMode | undefined, why: string, now_ms: number): void {
    if (mode === undefined) {
      this.#text(SEVERITY.critical, why, now_ms)
      return
    }
    this.#text(SEVERITY.critical, `${why}: changed to ${mode} Mode`, now_ms)
    if (!this.#lifted) this.#disarm(now_ms)
    else this.#enter(needsGps(mode) && !this.#hasPosition(now_ms) ? 'LAND' : mode, now_ms)
  }

  #forgetFailsafes(): void {
    this.#ekfFailsafe = false
    this.#batteryFailsafe = false
    this.#batteryLow_ms = undefined
    this.#rcFailsafe = false
    this.#rcLost_ms = undefined
    this.#breached = false
  }

  /** Whether a point (m from the origin) is outside the fence. */
  #outside({ north, east, down }: { readonly north: number; readonly east: number; readonly down: number }): boolean {
    if (this.#value('FENCE_ENABLE') !== 1) return false
    const home = vectorTo(this.#airframe.origin, this.#home ?? this.#airframe.origin)
    const away_m = Math.hypot(north - home.north, east - home.east)
    return away_m > this.#value('FENCE_RADIUS') || home.down - down > this.#value('FENCE_ALT_MAX')
  }

  #value(name: keyof typeof PARAMETERS): number {
    return this.parameters[name]?.value ?? Number.NaN
  }

  // Arming

  ready(now_ms: number): boolean {
    if (!this.#past('armableManually', now_ms)) return false
    if (!needsGps(this.#mode)) return true
    return this.#hasPosition(now_ms)
  }

  #arm(forced: boolean, now_ms: number): number {
    if (this.#armed) return ACCEPTED
    if (!armable(this.#mode)) {
      this.#text(SEVERITY.critical, `Arm: ${this.#mode} mode not armable`, now_ms)
      return FAILED
    }
    if (!forced && !this.ready(now_ms)) {
      this.#text(SEVERITY.critical, 'Arm: Need Position Estimate', now_ms)
      return FAILED
    }
    this.#armed = true
    this.#idle_ms = now_ms
    this.#guided = { kind: 'stop' }
    this.#stop.begin(now_ms)
    this.#setHome(this.#airframe.homeNear(this.#home, this.#airframe.between(HOME_MOVES_M)), now_ms)
    this.#text(SEVERITY.info, 'Arming motors', now_ms)
    this.#airframe.observeArming(now_ms, true)
    return ACCEPTED
  }

  /** The mode stays what it was. */
  #disarm(now_ms: number): void {
    this.#armed = false
    this.#lifted = false
    this.#guided = { kind: 'stop' }
    this.#forgetFailsafes()
    this.#text(SEVERITY.info, 'Disarming motors', now_ms)
    this.#airframe.observeArming(now_ms, false)
  }

  // Flight

  #demand(now_ms: number): Demand {
    if (!this.#lifted) return GROUNDED
    const stopping = this.#stop.demand(now_ms)
    const height: VerticalDemand = { kind: 'height', down: this.#stop.down }
    switch (this.#mode) {
      case 'GUIDED':
        return this.#guide(stopping, height, now_ms)
      case 'LAND':
        return this.#landing(this.#hasPosition(now_ms) ? stopping : { kind: 'velocity', ...DRIFT_MPS })
      case 'RTL':
        return this.#returning(stopping, now_ms)
      case 'BRAKE':
      case 'AUTO':
        return { horizontal: stopping, vertical: height }
      default: {
        // The throttle of a transmitter that is not heard counts as down.
        const sinks = this.#airframe.sticks || !this.#airframe.rc
        if (sinks) this.#stop.down = this.#airframe.body.position.down
        return {
          horizontal: isManual(this.#mode) ? { kind: 'brake' } : stopping,
          vertical: sinks ? { kind: 'velocity', down: STICK_DESCENT_MPS, acceleration: VERTICAL_MPS2 } : height,
        }
      }
    }
  }

  #guide(stopping: HorizontalDemand, height: VerticalDemand, now_ms: number): Demand {
    const guided = this.#guided
    switch (guided.kind) {
      case 'takeoff': {
        const missing_m = Math.max(0, guided.to_m - this.#airframe.body.height_m)
        const climb = Math.min(CLIMB_MPS, Math.sqrt(CLIMB_MPS2 * missing_m))
        return { horizontal: stopping, vertical: { kind: 'velocity', down: -climb, acceleration: CLIMB_MPS2 } }
      }
      case 'position': {
        const { north, east, down } = guided.setpoint
        const speed_mps = this.#speed ?? this.#value('WP_SPD')
        return {
          horizontal: { kind: 'position', north, east, speed_mps },
          vertical: { kind: 'height', down },
        }
      }
      case 'velocity': {
        const { velocityNorth, velocityEast, velocityDown } = guided.setpoint
        if (now_ms - guided.at_ms > this.#value('GUID_TIMEOUT') * 1000) {
          this.#guided = { kind: 'stop' }
          this.#stop.begin(now_ms)
        }
        return {
          horizontal: { kind: 'velocity', north: velocityNorth, east: velocityEast },
          vertical: { kind: 'velocity', down: velocityDown, acceleration: VERTICAL_MPS2 },
        }
      }
      case 'stop':
        return { horizontal: stopping, vertical: height }
    }
  }

  #landing(horizontal: HorizontalDemand): Demand {
    const down = this.#airframe.body.height_m > LAND_FAST_ABOVE_M ? LAND_FAST_MPS : LAND_MPS
    return { horizontal, vertical: { kind: 'velocity', down, acceleration: VERTICAL_MPS2 } }
  }

  #returning(stopping: HorizontalDemand, now_ms: number): Demand {
    const { origin, body } = this.#airframe
    const home = vectorTo(origin, this.#home ?? origin)
    const { north, east, down } = body.position
    const height_m = Math.max(RETURN_HEIGHT_M, -this.#stop.down)
    if (this.#returnPhase === 'climb' && -down >= height_m - ARRIVED_M) this.#returnPhase = 'cruise'
    if (this.#returnPhase === 'cruise' && Math.hypot(home.north - north, home.east - east) < ARRIVED_M) {
      this.#returnPhase = 'wait'
      this.#arrived_ms = now_ms
    }
    if (this.#returnPhase === 'wait' && now_ms - this.#arrived_ms >= RETURN_WAIT_MS) this.#returnPhase = 'land'
    const vertical = { kind: 'height', down: -height_m } as const
    if (this.#returnPhase === 'climb') return { horizontal: stopping, vertical }
    const speed_mps = this.#value('WP_SPD')
    const horizontal = { kind: 'position', north: home.north, east: home.east, speed_mps } as const
    return this.#returnPhase === 'land' ? this.#landing(horizontal) : { horizontal, vertical }
  }

  /** What says nothing of the nose is flown nose first. */
  #turn(dt_s: number): void {
    const guided = this.#guided
    if (this.#mode !== 'GUIDED' || !this.#lifted || guided.kind === 'stop' || guided.kind === 'takeoff') return
    const { yaw, yawRate } = guided.setpoint
    if (Number.isFinite(yaw)) this.#airframe.turn(yaw, Number.NaN, dt_s, guided.body ? RELATIVE_TURN_RADPS : undefined)
    else if (Number.isFinite(yawRate)) this.#airframe.turn(Number.NaN, yawRate, dt_s)
    else if (guided.kind === 'velocity' && guided.body) this.#airframe.turn(Number.NaN, CURVE_RADPS, dt_s)
    else this.#airframe.turn(this.#course(guided), Number.NaN, dt_s)
  }

  /** rad; NaN where it is all but there, or does not move. */
  #course({ kind, setpoint }: Guided & { kind: 'position' | 'velocity' }): number {
    const { position } = this.#airframe.body
    const [north, east] =
      kind === 'position'
        ? [setpoint.north - position.north, setpoint.east - position.east]
        : [setpoint.velocityNorth, setpoint.velocityEast]
    return Math.hypot(north, east) > (kind === 'position' ? NOSE_FOLLOWS_M : 0) ? Math.atan2(east, north) : Number.NaN
  }

  #liftOff(now_ms: number): void {
    const guided = this.#guided
    if (!this.#armed || this.#lifted || guided.kind !== 'takeoff' || now_ms - guided.at_ms < SPOOL_MS) return
    this.#lifted = true
    this.#touched_ms = undefined
  }

  /** Touchdown, and the disarming after it or after ten idle seconds. */
  #ground(now_ms: number): void {
    if (!this.#armed) return
    const deaf = this.#mode === 'LAND' && !this.#airframe.rc && this.#value('LAND_REPOSITION') !== 0
    if (!this.#lifted) this.#idle(now_ms)
    else if (!this.#airframe.body.touching || deaf) this.#touched_ms = undefined
    else {
      this.#touched_ms ??= now_ms
      if (now_ms - this.#touched_ms < LANDED_AFTER_MS) return
      this.#lifted = false
      this.#idle_ms = now_ms
    }
  }

  #idle(now_ms: number): void {
    if (this.#guided.kind === 'takeoff') return
    const landing = this.#mode === 'LAND' || (this.#mode === 'RTL' && this.#returnPhase === 'land')
    if (now_ms - this.#idle_ms >= (landing ? DISARM_AFTER_MS : IDLE_DISARM_MS)) this.#disarm(now_ms)
  }

  /** A take-off that has arrived hovers on, in GUIDED. */
  #progress(now_ms: number): void {
    const guided = this.#guided
    if (guided.kind !== 'takeoff' || !this.#lifted || this.#airframe.body.height_m < guided.to_m - DONE_M) return
    this.#guided = { kind: 'stop' }
    this.#stop.begin(now_ms)
    this.#stop.down = -guided.to_m
  }

  landed(): LandedState {
    if (!this.#lifted) return 'ON_GROUND'
    if (this.#mode === 'LAND' || (this.#mode === 'RTL' && this.#returnPhase === 'land')) return 'LANDING'
    return this.#mode === 'GUIDED' && this.#guided.kind === 'takeoff' ? 'TAKING_OFF' : 'IN_AIR'
  }

  // On the link

  execute(command: number, params: readonly number[], now_ms: number): number {
    const { MavCmd } = common
    const [first = Number.NaN, second = Number.NaN] = params
    switch (command) {
      case MavCmd.DO_SET_MODE: {
        const mode = (first & 1) === 1 ? copterModeOf(second) : undefined
        if (mode === undefined || !this.#change(mode, now_ms)) return FAILED
        this.#telemetry.prompt(minimal.Heartbeat.MSG_ID, now_ms)
        return ACCEPTED
      }
      case MavCmd.COMPONENT_ARM_DISARM:
        if (first === 1) return this.#arm(second === FORCED, now_ms)
        if (this.#lifted && second !== FORCED) return FAILED
        if (this.#armed) this.#disarm(now_ms)
        return ACCEPTED
      case MavCmd.NAV_TAKEOFF: {
        const height_m = params[6] ?? Number.NaN
        if (this.#mode !== 'GUIDED' || !this.#armed || this.#lifted || !(height_m > 0)) return FAILED
        const home = vectorTo(this.#airframe.origin, this.#home ?? this.#airframe.origin)
        this.#guided = { kind: 'takeoff', to_m: height_m - home.down, at_ms: now_ms }
        return ACCEPTED
      }
      case MavCmd.NAV_LAND:
        return this.#change('LAND', now_ms) ? ACCEPTED : FAILED
      case MavCmd.NAV_RETURN_TO_LAUNCH:
        return this.#change('RTL', now_ms) ? ACCEPTED : FAILED
      case MavCmd.DO_CHANGE_SPEED:
        if (!(second > 0)) return FAILED
        this.#speed = second
        return ACCEPTED
      case MavCmd.DO_SET_HOME:
        // Here and now: what was 8 m high may be 0 m high after it.
        if (first !== 1) return FAILED
        this.#setHome(placeAt(this.#airframe.origin, this.#airframe.body.position), now_ms)
        return ACCEPTED
      case MavCmd.PREFLIGHT_REBOOT_SHUTDOWN:
        return this.#armed ? FAILED : ACCEPTED
      case MavCmd.SET_MESSAGE_INTERVAL: {
        const result = this.#telemetry.setInterval(first, second, now_ms)
        if (result !== ACCEPTED) this.#text(SEVERITY.info, `No ap_message for mavlink id (${first})`, now_ms)
        return result
      }
      default:
        return UNSUPPORTED
    }
  }

  follow(target: TargetMessage, now_ms: number): Setpoint | 'crash' | undefined {
    if (this.#mode !== 'GUIDED') return undefined
    const { origin, heading_rad, body } = this.#airframe
    const read = readGuidedTarget(target, origin, this.#home ?? origin, body.position, heading_rad)
    if (read.kind === 'crash') return 'crash'
    if (read.kind === 'stop') {
      this.#guided = { kind: 'stop' }
      this.#stop.begin(now_ms)
      return undefined
    }
    if (read.kind === 'position' && this.#outside(read.setpoint)) return undefined
    // Whatever GUIDED was doing, a take-off too, is over without a word.
    if (read.kind === 'velocity') this.#speed = undefined
    this.#guided = { ...read, at_ms: now_ms }
    return read.setpoint
  }

  /** Of every type it sends the number itself as a float. */
  parameterMessage(id: string, { value, type }: Parameter): MavLinkData {
    return message(common.ParamValue, {
      paramId: id,
      paramValue: value,
      paramType: type as common.MavParamType,
      paramCount: PARAMETER_COUNT,
      paramIndex: INDEX_UNKNOWN,
    })
  }

  due(now_ms: number, sight: () => Sight): MavLinkData[] {
    const messages = this.#telemetry.due(now_ms, () => this.#read(sight(), now_ms))
    // While it starts it says that it is there, and no more.
    return this.#started ? messages : messages.filter((data) => data instanceof minimal.Heartbeat)
  }

  request(id: number, sight: Sight, now_ms: number): { result: number; message: MavLinkData | undefined } {
    return this.#telemetry.request(id, this.#read(sight, now_ms), now_ms)
  }

  #read(sight: Sight, now_ms: number): CopterReading {
    const { origin, battery_percent, heading_rad } = this.#airframe
    return {
      ...sight,
      mode: this.#mode,
      starting: !this.#started,
      armed: this.#armed,
      ready: this.ready(now_ms),
      critical: this.critical,
      landed: this.landed(),
      battery_percent,
      fix: this.#fix(now_ms),
      flags: this.#flags(now_ms),
      positioned: this.#past('fixed', now_ms),
      heading_rad,
      home: this.#home,
      homeLocal: this.#home === undefined ? { north: 0, east: 0, down: 0 } : vectorTo(origin, this.#home),
      target: this.#reportedTarget(),
      setpoint: this.#mode === 'GUIDED' ? this.#reportedSetpoint() : undefined,
    }
  }

  #reportedTarget(): Place | undefined {
    if (this.#mode === 'GUIDED' && this.#guided.kind === 'position') {
      return placeAt(this.#airframe.origin, this.#guided.setpoint)
    }
    return this.#mode === 'RTL' ? this.#home : undefined
  }

  #reportedSetpoint(): Setpoint {
    const guided = this.#guided
    if (guided.kind === 'stop') return { ...NOTHING, velocityNorth: 0, velocityEast: 0, velocityDown: 0 }
    if (guided.kind !== 'takeoff') return guided.setpoint
    const { north, east } = this.#airframe.body.position
    return { ...NOTHING, north, east, down: -guided.to_m }
  }

  #text(severity: number, text: string, now_ms: number): void {
    this.#airframe.say(message(common.StatusText, { severity, text, id: 0, chunkSeq: 0 }), now_ms)
  }
}

/** FS_EKF_ACTION: 1 and 3 land (3 out of any mode), 2 ALT_HOLD, 0 says it only. */
function ekfAction(action: number, mode: CopterMode): CopterMode | undefined {
  if (action === 0 || mode === 'LAND') return undefined
  if (!needsGps(mode) && action !== 3) return undefined
  return action === 2 ? 'ALT_HOLD' : 'LAND'
}
