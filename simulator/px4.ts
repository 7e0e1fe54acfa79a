// PX4 as it was measured (v1.16, multirotor): modes, arming, take-off, failsafes, Offboard.

import { common, type MavLinkData } from 'node-mavlink'
import type { Airframe } from './airframe.ts'
import { type Autopilot, overridden, type Parameter, type Sight } from './autopilot.ts'
import type { Demand, HorizontalDemand } from './body.ts'
import { Estimator } from './estimator.ts'
import { message } from './frame.ts'
import { type Place, placeAt, vectorTo } from './geodesy.ts'
import { isAuto, isLanding, modeOf, needsPosition, PX4_MODE_NAMES, type Px4Mode } from './mode.ts'
import type { VehicleMode } from './observation.ts'
import { PX4_STREAMS, type Px4Reading } from './px4-streams.ts'
import { demandOf, readSetpoint, type Setpoint, type TargetMessage } from './setpoint.ts'
import { Stop } from './stop.ts'
import { type Habits, type LandedState, Telemetry } from './telemetry.ts'
import type { VehicleOptions } from './vehicle.ts'

const ACCEPTED = 0
const REFUSED = 1
const DENIED = 2
const UNSUPPORTED = 3
const FAILED = 4
const FORCED = 21_196

const READY_MS = 4_500
const ALIGNED_BEFORE_READY_MS = 2_000
const HOME_MOVES_M = { min: 0.03, max: 0.3 }
const HABITS: Habits = { firstFrame_ms: 600, stampLag_ms: 200, unknownInterval: FAILED, unknownMessage: DENIED }

const SPOOL_SHOWN_MS = 2_000
const SPOOL_MS = 4_200
const TAKEOFF_CLIMB_MPS = 1.5
const TAKEOFF_ACCELERATION_MPS2 = 0.6
const TAKEOFF_DONE = 0.89
const TAKEOFF_DEFAULT_M = 2.5
const ABORTED_TAKEOFF_M = 0.3
const IDLE_DISARM_MS = 11_600
const LIFTED_M = 0.1

const LAND_MPS = 0.6
const LAND_FAST_MPS = 1.5
const LAND_FAST_ABOVE_M = 10
const LANDED_AFTER_MS = 1_000
const DISARM_AFTER_MS = { min: 1_000, max: 2_000 }
const RETURN_HEIGHT_M = 30
const RETURN_MPS = 5
const ARRIVED_M = 1

const OFFBOARD_LOST_SPREAD_MS = 900
/** Every failsafe holds first. */
const FAILSAFE_HOLD_MS = 5_000
const RC_LOST_MS = 500
const COAST_MS = 820
const STICK_DESCENT_MPS = 1
const VERTICAL_MPS2 = 1
/** Without a position and without a pilot it drifts. */
const DRIFT_MPS = { north: -0.5, east: -1 }

const { INT32, REAL32 } = common.MavParamType
const PARAMETERS = {
  COM_OF_LOSS_T: { value: 1, type: REAL32 },
  COM_OBL_RC_ACT: { value: 0, type: INT32 },
  COM_RC_OVERRIDE: { value: 1, type: INT32 },
  MPC_XY_VEL_MAX: { value: 10, type: REAL32 },
  RTL_RETURN_ALT: { value: RETURN_HEIGHT_M, type: REAL32 },
  COM_LOW_BAT_ACT: { value: 2, type: INT32 },
  GF_ACTION: { value: 2, type: INT32 },
  NAV_RCL_ACT: { value: 2, type: INT32 },
  NAV_DLL_ACT: { value: 0, type: INT32 },
  COM_RCL_EXCEPT: { value: 0, type: INT32 },
} satisfies Record<string, Parameter>
const OVERRIDE_IN_OFFBOARD = 2
const OFFBOARD_EXCEPTED = 4
/** COM_OBL_RC_ACT and NAV_RCL_ACT by their values. */
const OFFBOARD_LOSS: readonly (Px4Mode | undefined)[] = ['POSITION', 'ALTITUDE', 'MANUAL', 'RETURN', 'LAND', 'HOLD']
const LINK_LOSS: readonly (Px4Mode | undefined)[] = [undefined, 'HOLD', 'RETURN', 'LAND']

/** Motors idle, or a landing that has arrived. */
const GROUNDED: Demand = {
  horizontal: { kind: 'brake' },
  vertical: { kind: 'velocity', down: 0.5, acceleration: VERTICAL_MPS2 },
}

interface Takeoff {
  readonly from_m: number
  readonly to_m: number
}

export class Px4 implements Autopilot {
  readonly ack_ms = { min: 2, max: 12 }
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly #options: VehicleOptions
  readonly #airframe: Airframe
  readonly #telemetry: Telemetry<Px4Reading>
  readonly #estimator: Estimator
  readonly #stop: Stop

  #boot_ms = 0
  #mode: Px4Mode = 'HOLD'
  #intended: Px4Mode = 'HOLD'
  #lastFlown: Px4Mode = 'HOLD'
  #leftover = false
  #armed = false
  #armed_ms = 0
  #lifted = false
  #flown = false
  #touched_ms: number | undefined
  #disarm_ms: number | undefined
  #home: Place | undefined

  #takeoff: Takeoff | undefined
  #spool_ms: number | undefined
  #returnPhase: 'climb' | 'cruise' | 'land' = 'climb'
  #setpoint: Setpoint | undefined
  #setpoint_ms = Number.NEGATIVE_INFINITY
  #offboardLoss_ms: number
  #offboardLost = false
  #batteryFailsafe_ms: number | undefined
  #batteryHandled = false
  #pilotless_ms: number | undefined
  #failing = false

  constructor(options: VehicleOptions, airframe: Airframe) {
    this.#options = options
    this.#airframe = airframe
    this.parameters = overridden(PARAMETERS, options.parameters)
    this.#telemetry = new Telemetry(PX4_STREAMS, HABITS, airframe.random, options.stream_ms, options.up_ms)
    this.#estimator = new Estimator(airframe.random)
    this.#stop = new Stop(airframe.body, COAST_MS)
    this.#offboardLoss_ms = this.#lossTimeout_ms
  }

  get mode(): Px4Mode {
    return this.#mode
  }

  get intended(): Px4Mode {
    return this.#intended
  }

  get armed(): boolean {
    return this.#armed
  }

  get home(): Place | undefined {
    return this.#home
  }

  boot(now_ms: number): void {
    this.#boot_ms = now_ms
    this.#telemetry.boot(now_ms)
    const ready_ms = now_ms + (this.#options.readyAfter_ms ?? READY_MS)
    this.#estimator.boot(now_ms, Math.max(now_ms, ready_ms - ALIGNED_BEFORE_READY_MS))
    this.#home = undefined
    if (this.#armed) this.#airframe.observeArming(now_ms, false)
    this.#armed = false
    this.#lifted = false
    this.#flown = false
    this.#leftover = false
    this.#intended = 'HOLD'
    this.#lastFlown = 'HOLD'
    this.#setpoint = undefined
    this.#setpoint_ms = Number.NEGATIVE_INFINITY
    this.#forgetFailsafes()
    this.#takeoff = undefined
    this.#spool_ms = undefined
    this.#mode = 'HOLD'
    this.#stop.begin(now_ms)
    this.#airframe.observeMode(now_ms, 'HOLD', 'HOLD')
  }

  raise(height_m: number, now_ms: number): void {
    this.#airframe.body.position = { north: 0, east: 0, down: -height_m }
    this.#armed = true
    this.#armed_ms = now_ms
    this.#lifted = true
    this.#flown = true
    this.#airframe.observeArming(now_ms, true)
    this.#stop.begin(now_ms)
  }

  fly(dt_ms: number, now_ms: number): void {
    if (this.#home === undefined && this.#booted(now_ms)) this.#moveHome(0)
    const { body } = this.#airframe
    const jump = this.#estimator.takeJump(now_ms)
    if (jump !== undefined) {
      const { north, east, down } = body.position
      body.position = { north: north + jump.north, east: east + jump.east, down }
    }
    this.#failsafes(now_ms)
    this.#settle(now_ms)
    this.#turn(dt_ms / 1000)
    body.advance(dt_ms / 1000, this.#armed ? this.#demand(now_ms) : undefined)
    this.#ground(now_ms)
    this.#progress(now_ms)
  }

  pilot(mode: VehicleMode, now_ms: number): void {
    const own = PX4_MODE_NAMES.find((name) => name === mode)
    if (own === undefined) throw new Error(`PX4 has no mode ${mode}, one of ${PX4_MODE_NAMES.join(', ')}`)
    this.#setMode(own, now_ms)
  }

  gps(on: boolean, now_ms: number): void {
    if (on) this.#estimator.regain(now_ms)
    else this.#estimator.lose(now_ms)
  }

  // Modes

  #booted(now_ms: number): boolean {
    return now_ms - this.#boot_ms >= (this.#options.readyAfter_ms ?? 4_500)
  }

  #streaming(now_ms: number): boolean {
    return now_ms - this.#setpoint_ms < this.#lossTimeout_ms
  }

  get #lossTimeout_ms(): number {
    return this.#value('COM_OF_LOSS_T') * 1000
  }

  get #batteryLow(): boolean {
    return this.#airframe.battery_percent <= (this.#options.battery?.failsafe_percent ?? 10)
  }

  get critical(): boolean {
    return this.#airframe.critical || (this.#armed && (this.#batteryLow || this.#failing))
  }

  /** A mode from anybody, at any time: PX4 asks neither who nor whether a failsafe or the pilot has the vehicle. */
  #setMode(mode: Px4Mode, now_ms: number): number {
    if (mode === 'OFFBOARD' && !this.#streaming(now_ms)) return REFUSED
    const flown = mode !== 'OFFBOARD' && mode !== 'TAKEOFF'
    if (flown && needsPosition(mode) && !this.#estimator.usable(now_ms)) return REFUSED
    if (mode === 'TAKEOFF') {
      const from_m = this.#lifted ? this.#airframe.body.height_m : 0
      this.#takeoff ??= { from_m, to_m: from_m + TAKEOFF_DEFAULT_M }
      if (this.#armed && !this.#lifted) this.#spool_ms ??= now_ms
    }
    this.#intend(mode, now_ms)
    this.#leftover = false
    return ACCEPTED
  }

  #intend(mode: Px4Mode, now_ms: number): void {
    const before = this.#intended
    this.#intended = mode
    this.#batteryFailsafe_ms = undefined
    this.#offboardLost = false
    // Whoever sets a mode takes over from a lost transmitter until it is heard again.
    if (now_ms >= (this.#pilotless_ms ?? now_ms + 1)) this.#pilotless_ms = Number.POSITIVE_INFINITY
    if (mode === 'OFFBOARD')
      this.#offboardLoss_ms = this.#lossTimeout_ms + OFFBOARD_LOST_SPREAD_MS * this.#airframe.random()
    if (!isLanding(mode)) this.#lastFlown = mode
    const shown = this.#mode
    this.#settle(now_ms)
    if (before !== mode && shown === this.#mode) this.#modeShown(now_ms)
  }

  #failsafes(now_ms: number): void {
    if (!this.#armed) return
    const overridden = this.#airframe.sticks && (this.#value('COM_RC_OVERRIDE') & OVERRIDE_IN_OFFBOARD) !== 0
    if (overridden && this.#intended === 'OFFBOARD') this.#intend('POSITION', now_ms)
    // The stream is judged in Offboard and after it was lost there; after a HOLD nobody asks for it any more.
    if (this.#intended === 'OFFBOARD' && now_ms - this.#setpoint_ms > this.#offboardLoss_ms) this.#offboardLost = true
    if (!this.#batteryLow) this.#batteryHandled = false
    else if (!this.#batteryHandled && this.#lifted) {
      this.#batteryHandled = true
      if (!isLanding(this.#mode) && this.#value('COM_LOW_BAT_ACT') !== 0) this.#batteryFailsafe_ms = now_ms
    }
  }

  /** What NAV_RCL_ACT makes of a lost transmitter, after a hold; undefined: nothing. */
  #pilotless(now_ms: number): Px4Mode | undefined {
    const action = LINK_LOSS[this.#value('NAV_RCL_ACT')]
    const excepted = this.#intended === 'OFFBOARD' && (this.#value('COM_RCL_EXCEPT') & OFFBOARD_EXCEPTED) !== 0
    if (this.#airframe.rc || excepted || isLanding(this.#intended)) this.#pilotless_ms = undefined
    else this.#pilotless_ms ??= now_ms + RC_LOST_MS
    if (action === undefined || this.#pilotless_ms === undefined || now_ms < this.#pilotless_ms) return undefined
    return now_ms - this.#pilotless_ms < FAILSAFE_HOLD_MS ? 'HOLD' : action
  }

  #value(name: keyof typeof PARAMETERS): number {
    return this.parameters[name]?.value ?? Number.NaN
  }

  #forgetFailsafes(): void {
    this.#offboardLost = false
    this.#batteryFailsafe_ms = undefined
    this.#batteryHandled = false
    this.#pilotless_ms = undefined
  }

  /** The mode of the failsafe that has the vehicle, or of what its position leaves. */
  #failsafe(now_ms: number): Px4Mode | undefined {
    if (!this.#armed) return undefined
    const usable = this.#estimator.usable(now_ms)
    if (this.#batteryFailsafe_ms !== undefined) {
      const action = this.#value('COM_LOW_BAT_ACT') === 3 && usable ? 'RETURN' : 'LAND'
      return usable && now_ms - this.#batteryFailsafe_ms < FAILSAFE_HOLD_MS ? 'HOLD' : action
    }
    if (!usable && needsPosition(this.#intended)) return 'ALTITUDE'
    const pilotless = this.#pilotless(now_ms)
    if (pilotless !== undefined) return pilotless
    if (this.#intended === 'OFFBOARD' && this.#offboardLost) {
      const action = OFFBOARD_LOSS[this.#value('COM_OBL_RC_ACT')] ?? 'POSITION'
      return usable || !needsPosition(action) ? action : 'ALTITUDE'
    }
    return undefined
  }

  #settle(now_ms: number): void {
    const failsafe = this.#failsafe(now_ms)
    this.#failing = failsafe !== undefined
    const mode = failsafe ?? this.#intended
    if (mode === this.#mode) return
    const aborted = this.#mode === 'TAKEOFF' && mode === 'HOLD' && this.#armed && !this.#lifted
    this.#mode = mode
    this.#returnPhase = 'climb'
    this.#stop.begin(now_ms)
    if (aborted && this.#spool_ms !== undefined) this.#stop.down = -ABORTED_TAKEOFF_M
    else if (mode !== 'TAKEOFF') this.#spool_ms = undefined
    if (this.#intended !== 'TAKEOFF') this.#takeoff = undefined
    this.#modeShown(now_ms)
  }

  #modeShown(now_ms: number): void {
    this.#telemetry.modeChanged(now_ms)
    this.#airframe.observeMode(now_ms, this.#mode, this.#intended)
  }

  // Arming

  ready(now_ms: number): boolean {
    if (!this.#booted(now_ms) || !this.#estimator.usable(now_ms) || this.#batteryLow) return false
    if (this.#armed) return this.#mode === this.#intended
    if (this.#leftover || isLanding(this.#mode)) return false
    if (this.#mode === 'OFFBOARD') return this.#streaming(now_ms)
    return this.#mode !== 'TAKEOFF' || this.#takeoff !== undefined
  }

  #arm(now_ms: number): number {
    if (this.#armed) return ACCEPTED
    if (!this.ready(now_ms)) return REFUSED
    this.#armed = true
    this.#armed_ms = now_ms
    this.#flown = false
    this.#disarm_ms = undefined
    if (this.#mode === 'TAKEOFF') this.#spool_ms = now_ms
    this.#stop.begin(now_ms)
    this.#moveHome(this.#airframe.between(HOME_MOVES_M))
    this.#airframe.observeArming(now_ms, true)
    return ACCEPTED
  }

  #disarm(now_ms: number): void {
    const flown = this.#flown
    this.#armed = false
    this.#spool_ms = undefined
    this.#takeoff = undefined
    this.#disarm_ms = undefined
    this.#forgetFailsafes()
    this.#airframe.observeArming(now_ms, false)
    const before = this.#intended
    if (isLanding(this.#intended)) this.#intended = this.#lastFlown
    this.#leftover = this.#intended === 'OFFBOARD' || this.#intended === 'TAKEOFF'
    const shown = this.#mode
    this.#settle(now_ms)
    if (before !== this.#intended && shown === this.#mode) this.#modeShown(now_ms)
    if (flown) this.#moveHome(this.#airframe.between(HOME_MOVES_M))
  }

  #moveHome(by_m: number): void {
    this.#home = this.#airframe.homeNear(this.#home, by_m)
  }

  // Flight

  /** Whether the mode would leave the ground now. */
  #rises(now_ms: number): boolean {
    if (this.#mode === 'TAKEOFF' || this.#mode === 'HOLD') {
      return this.#spool_ms !== undefined && now_ms - this.#spool_ms >= SPOOL_MS
    }
    const setpoint = this.#setpoint
    return (
      this.#mode === 'OFFBOARD' && setpoint !== undefined && (setpoint.down < -LIFTED_M || setpoint.velocityDown < 0)
    )
  }

  #demand(now_ms: number): Demand {
    if (!this.#lifted && !this.#rises(now_ms)) return GROUNDED
    switch (this.#mode) {
      case 'OFFBOARD':
        if (this.#setpoint !== undefined) return demandOf(this.#setpoint)
        return { horizontal: this.#stop.demand(now_ms), vertical: { kind: 'height', down: this.#stop.down } }
      case 'TAKEOFF':
        return {
          horizontal: this.#stop.demand(now_ms),
          vertical: { kind: 'velocity', down: -TAKEOFF_CLIMB_MPS, acceleration: TAKEOFF_ACCELERATION_MPS2 },
        }
      case 'LAND':
        return this.#landing(this.#stop.demand(now_ms))
      case 'RETURN':
        return this.#returning(now_ms)
      case 'HOLD':
      case 'MISSION':
        return { horizontal: this.#stop.demand(now_ms), vertical: { kind: 'height', down: this.#stop.down } }
      case 'POSITION':
      case 'ALTITUDE':
      case 'MANUAL': {
        const held = this.#mode === 'POSITION' || this.#estimator.usable(now_ms)
        if (this.#airframe.sticks) this.#stop.down = this.#airframe.body.position.down
        return {
          horizontal: held ? this.#stop.demand(now_ms) : { kind: 'velocity', ...DRIFT_MPS },
          vertical: this.#airframe.sticks
            ? { kind: 'velocity', down: STICK_DESCENT_MPS, acceleration: VERTICAL_MPS2 }
            : { kind: 'height', down: this.#stop.down },
        }
      }
    }
  }

  #landing(horizontal: HorizontalDemand): Demand {
    const down = this.#airframe.body.height_m > LAND_FAST_ABOVE_M ? LAND_FAST_MPS : LAND_MPS
    return { horizontal, vertical: { kind: 'velocity', down, acceleration: VERTICAL_MPS2 } }
  }

  #returning(now_ms: number): Demand {
    const home = this.#home === undefined ? this.#stop.point : vectorTo(this.#airframe.origin, this.#home)
    const { north, east, down } = this.#airframe.body.position
    const to = home ?? { north, east }
    if (this.#returnPhase === 'climb' && -down >= RETURN_HEIGHT_M - ARRIVED_M) this.#returnPhase = 'cruise'
    const away_m = Math.hypot(to.north - north, to.east - east)
    if (this.#returnPhase === 'cruise' && away_m < ARRIVED_M) this.#returnPhase = 'land'
    const height = { kind: 'height', down: Math.min(-RETURN_HEIGHT_M, this.#stop.down) } as const
    if (this.#returnPhase === 'climb') return { horizontal: this.#stop.demand(now_ms), vertical: height }
    const horizontal = { kind: 'position', north: to.north, east: to.east, speed_mps: RETURN_MPS } as const
    return this.#returnPhase === 'cruise' ? { horizontal, vertical: height } : this.#landing(horizontal)
  }

  #turn(dt_s: number): void {
    if (this.#mode !== 'OFFBOARD' || !this.#lifted || this.#setpoint === undefined) return
    this.#airframe.turn(this.#setpoint.yaw, this.#setpoint.yawRate, dt_s)
  }

  /** Lift-off, touchdown, and the disarming after it. */
  #ground(now_ms: number): void {
    if (this.#armed && !this.#lifted && this.#airframe.body.height_m > LIFTED_M) {
      this.#lifted = true
      this.#flown = true
      this.#disarm_ms = undefined
      this.#moveHome(this.#airframe.between(HOME_MOVES_M))
    }
    if (!this.#lifted || !this.#airframe.body.touching) this.#touched_ms = undefined
    else {
      this.#touched_ms ??= now_ms
      if (now_ms - this.#touched_ms >= LANDED_AFTER_MS) {
        this.#lifted = false
        this.#spool_ms = undefined
        this.#disarm_ms = now_ms + this.#airframe.between(DISARM_AFTER_MS)
      }
    }
    if (!this.#armed || this.#lifted) return
    if (isLanding(this.#mode)) this.#disarm_ms ??= now_ms + this.#airframe.between(DISARM_AFTER_MS)
    const idle = !this.#flown && this.#spool_ms === undefined && now_ms - this.#armed_ms >= IDLE_DISARM_MS
    if (idle || (this.#disarm_ms !== undefined && now_ms >= this.#disarm_ms)) this.#disarm(now_ms)
  }

  /** A take-off ends by itself, short of its height, in HOLD at its height. */
  #progress(now_ms: number): void {
    const takeoff = this.#takeoff
    if (this.#mode !== 'TAKEOFF' || takeoff === undefined || !this.#lifted) return
    if (this.#airframe.body.height_m < takeoff.from_m + TAKEOFF_DONE * (takeoff.to_m - takeoff.from_m)) return
    this.#intend('HOLD', now_ms)
    this.#stop.down = -Math.max(takeoff.to_m, this.#airframe.body.height_m)
  }

  landed(now_ms: number): LandedState {
    if (this.#lifted) {
      if (this.#mode === 'LAND' || (this.#mode === 'RETURN' && this.#returnPhase === 'land')) return 'LANDING'
      return this.#mode === 'TAKEOFF' && this.#takeoff?.from_m === 0 ? 'TAKING_OFF' : 'IN_AIR'
    }
    return this.#spool_ms !== undefined && now_ms - this.#spool_ms >= SPOOL_SHOWN_MS ? 'TAKING_OFF' : 'ON_GROUND'
  }

  // On the link

  execute(command: number, params: readonly number[], now_ms: number): number {
    const [first = Number.NaN, second = Number.NaN, third = Number.NaN] = params
    switch (command) {
      case common.MavCmd.DO_SET_MODE: {
        const mode = (first & 1) === 1 ? modeOf(second, third) : undefined
        return mode === undefined ? REFUSED : this.#setMode(mode, now_ms)
      }
      case common.MavCmd.COMPONENT_ARM_DISARM:
        if (first === 1) return this.#arm(now_ms)
        if (!this.#armed) return ACCEPTED
        if (this.#lifted && second !== FORCED) return REFUSED
        this.#disarm(now_ms)
        this.#lifted = false
        return ACCEPTED
      case common.MavCmd.NAV_TAKEOFF: {
        const amsl = params[6] ?? Number.NaN
        const from_m = this.#lifted ? this.#airframe.body.height_m : 0
        const to_m = Number.isFinite(amsl) ? amsl - this.#airframe.origin.amsl : from_m + TAKEOFF_DEFAULT_M
        this.#takeoff = { from_m, to_m: Math.max(to_m, from_m) }
        return this.#setMode('TAKEOFF', now_ms)
      }
      case common.MavCmd.NAV_LAND:
        return this.#setMode('LAND', now_ms)
      case common.MavCmd.NAV_RETURN_TO_LAUNCH:
        return this.#setMode('RETURN', now_ms)
      case common.MavCmd.SET_MESSAGE_INTERVAL:
        return this.#telemetry.setInterval(first, second, now_ms)
      case common.MavCmd.DO_CHANGE_SPEED:
        // Accepted, and changes nothing.
        return ACCEPTED
      default:
        return UNSUPPORTED
    }
  }

  follow(target: TargetMessage, now_ms: number): Setpoint | undefined {
    const { origin, heading_rad } = this.#airframe
    const setpoint = readSetpoint(target, origin, this.#home ?? origin, heading_rad)
    if (setpoint === undefined) return undefined
    this.#setpoint = setpoint
    this.#setpoint_ms = now_ms
    if (this.#offboardLost) {
      this.#offboardLost = false
      this.#offboardLoss_ms = this.#lossTimeout_ms + OFFBOARD_LOST_SPREAD_MS * this.#airframe.random()
      this.#settle(now_ms)
    }
    return setpoint
  }

  /** An integer travels as its bits. */
  parameterMessage(id: string, { value, type }: Parameter): MavLinkData {
    const names = Object.keys(this.parameters)
    const bits = new DataView(new ArrayBuffer(4))
    bits.setInt32(0, value, true)
    return message(common.ParamValue, {
      paramId: id,
      paramValue: type === INT32 ? bits.getFloat32(0, true) : value,
      paramType: type as common.MavParamType,
      paramCount: names.length,
      paramIndex: names.indexOf(id),
    })
  }

  due(now_ms: number, sight: () => Sight): MavLinkData[] {
    return this.#telemetry.due(now_ms, () => this.#read(sight(), now_ms))
  }

  request(id: number, sight: Sight, now_ms: number): { result: number; message: MavLinkData | undefined } {
    return this.#telemetry.request(id, this.#read(sight, now_ms), now_ms)
  }

  #read(sight: Sight, now_ms: number): Px4Reading {
    const { origin, battery_percent, heading_rad } = this.#airframe
    const { place, local, velocity } = sight
    return {
      place,
      local,
      velocity,
      mode: this.#mode,
      intended: this.#intended,
      armed: this.#armed,
      ready: this.ready(now_ms),
      booted: this.#booted(now_ms),
      critical: this.critical,
      landed: this.landed(now_ms),
      battery_percent,
      fix: this.#estimator.fix(now_ms),
      flags: this.#estimator.flags(now_ms, this.#lifted),
      accuracy_m: this.#estimator.accuracy(now_ms),
      positioned: this.#estimator.streams(now_ms),
      heading_rad,
      home: this.#home,
      homeLocal: this.#home === undefined ? { north: 0, east: 0, down: 0 } : vectorTo(origin, this.#home),
      target: this.#reportedTarget(),
      setpoint: this.#armed && this.#mode === 'OFFBOARD' ? this.#setpoint : undefined,
    }
  }

  #reportedTarget(): Place | undefined {
    if (!this.#armed) return undefined
    const origin = this.#airframe.origin
    const { position } = this.#airframe.body
    if (this.#mode === 'OFFBOARD') {
      const setpoint = this.#setpoint
      if (this.#options.offboardTarget !== true || setpoint === undefined) return undefined
      if (!Number.isFinite(setpoint.north + setpoint.east)) return undefined
      return placeAt(origin, { ...setpoint, down: Number.isFinite(setpoint.down) ? setpoint.down : position.down })
    }
    if (!isAuto(this.#mode)) return undefined
    const point = this.#stop.point ?? position
    // A landing reports the height 0 above the sea.
    if (this.#mode === 'LAND') return { ...placeAt(origin, { ...point, down: 0 }), amsl: 0 }
    if (this.#mode === 'RETURN' && this.#home !== undefined) return this.#home
    const down = this.#mode === 'TAKEOFF' && this.#takeoff !== undefined ? -this.#takeoff.to_m : this.#stop.down
    return placeAt(origin, { north: point.north, east: point.east, down })
  }
}
