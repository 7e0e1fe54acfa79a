// The simulated vehicle: a test double of a PX4 multirotor, as unpleasant as the real one was when measured. Never for flight.
//
// It has no clock and no socket: the caller says what time it is, hands in datagrams and sends what comes out, so a test flies
// hours in seconds and the same seed with the same schedule of calls gives the same flight.

import type { MavLinkData } from 'node-mavlink'
import { common, minimal } from 'node-mavlink'
import { Body, type Demand, type HorizontalDemand } from './body.ts'
import { Estimator } from './estimator.ts'
import type { Fault } from './fault.ts'
import { FrameWriter, type Incoming, message, readFrame } from './frame.ts'
import { type Place, placeAt, type Vector, vectorTo } from './geodesy.ts'
import { isAuto, isLanding, modeOf, needsPosition, type Px4Mode } from './mode.ts'
import { type Random, seededRandom } from './random.ts'
import { demandOf, readSetpoint, type Setpoint, type TargetMessage } from './setpoint.ts'
import { type LandedState, type Reading, Telemetry } from './telemetry.ts'

export interface VehicleOptions {
  /** MAVLink system id; its component is 1. Default 1. */
  readonly system?: number
  /** Where it stands at boot. */
  readonly home: Place
  /** Default 1. */
  readonly seed?: number
  /** From boot to the first home and to being ready to arm. Default 4500. */
  readonly readyAfter_ms?: number
  /** From a `reboot` to the boot. Default 4000. */
  readonly rebootAfter_ms?: number
  /** The estimate wanders over this much, peak to peak. Default 0.8. */
  readonly wander_m?: number
  readonly battery?: {
    /** Default 100. */
    readonly percent?: number
    /** While armed, percent a second. Default 0.05. */
    readonly drain?: number
    /** At or below: critical, HOLD, and LAND 5 s later. Default 10. */
    readonly failsafe_percent?: number
  }
  readonly faults?: {
    /** Probability that an acknowledgement is lost. */
    readonly ackLoss?: number
    /** Every acknowledgement comes this much later. */
    readonly ackDelay_ms?: number
  }
  /** In the air from its first boot: armed, in HOLD, at this height above where it would stand. Default: on the ground. */
  readonly aloft_m?: number
  /** A link that somebody has set up: every stream, HEARTBEAT too, comes at this interval from boot on, and none faster. */
  readonly stream_ms?: number
  /** Forwards the heartbeat of a ground station, 255/190, onto the link. */
  readonly groundStation?: boolean
  /**
   * Reports the target of an Offboard flight in POSITION_TARGET_GLOBAL_INT. The PX4 that was measured reports one in its
   * automatic modes only, so the default is no.
   */
  readonly offboardTarget?: boolean
}

export interface SetpointObservation {
  readonly at_ms: number
  readonly system: number
  readonly component: number
  readonly message: 'SET_POSITION_TARGET_LOCAL_NED' | 'SET_POSITION_TARGET_GLOBAL_INT'
  readonly values: TargetMessage
  /** MAV_FRAME and type mask of the message. */
  readonly frame: number
  readonly mask: number
  /** What the vehicle makes of it; undefined: ignored. */
  readonly target: Setpoint | undefined
  /** Mode and arming at its arrival. */
  readonly mode: Px4Mode
  readonly armed: boolean
  readonly datagram: Uint8Array
}

export interface CommandObservation {
  readonly at_ms: number
  readonly system: number
  readonly component: number
  /** MAV_CMD */
  readonly command: number
  readonly params: readonly number[]
  /** MAV_RESULT of the acknowledgement, sent or lost. */
  readonly result: number
  /** Mode and arming at its arrival. */
  readonly mode: Px4Mode
  readonly armed: boolean
  readonly datagram: Uint8Array
}

export interface ModeObservation {
  readonly at_ms: number
  readonly mode: Px4Mode
  readonly intended: Px4Mode
}

export interface Observations {
  readonly setpoints: readonly SetpointObservation[]
  readonly commands: readonly CommandObservation[]
  /** Every change of the mode or the intended mode. */
  readonly modes: readonly ModeObservation[]
  readonly armings: readonly { readonly at_ms: number; readonly armed: boolean }[]
  readonly texts: readonly { readonly at_ms: number; readonly severity: number; readonly text: string }[]
  /** Heartbeats received of others, by `system/component`. */
  readonly heartbeats: ReadonlyMap<string, number>
  /** Datagrams that were no frame, or had a wrong CRC. */
  readonly malformed: number
  readonly mode: Px4Mode
  readonly intended: Px4Mode
  readonly armed: boolean
  readonly landed: LandedState
  readonly ready: boolean
  readonly critical: boolean
  /** Without wandering. */
  readonly position: Place
  readonly height_m: number
  readonly velocity: Vector
  readonly home: Place | undefined
  readonly battery_percent: number
}

const COMPONENT = 1
const STEP_MS = 5
/** Each list of observations keeps the newest half when it has grown to this. */
const OBSERVATIONS_MAX = 200_000

const ACCEPTED = 0
const REFUSED = 1
const UNSUPPORTED = 3
const FORCED = 21_196

const REBOOT_MS = 4_000
const ALIGNED_BEFORE_READY_MS = 2_000
const ACK_MS = { min: 2, max: 12 }
const HOME_MOVES_M = { min: 0.03, max: 0.3 }
const HOME_NEAR_M = 3

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

const STREAM_MS = 1_000
const OFFBOARD_LOST_SPREAD_MS = 900
const BATTERY_HOLD_MS = 5_000
const COAST_MS = 820
const COAST_ABOVE_MPS = 0.5
const HOLD_SPEED_MPS = 3
const STICK_DESCENT_MPS = 1
const VERTICAL_MPS2 = 1
/** Without a position and without a pilot it drifts. */
const DRIFT_MPS = { north: -0.5, east: -1 }
const TURN_RADPS = Math.PI / 4
const GROUND_STATION = { system: 255, component: 190 }

/** The parameters that a companion reads: float, or the bits of an int32. */
const PARAMETERS: Readonly<Record<string, { readonly value: number; readonly integer: boolean }>> = {
  COM_OF_LOSS_T: { value: 1, integer: false },
  COM_OBL_RC_ACT: { value: 0, integer: true },
  COM_RC_OVERRIDE: { value: 1, integer: true },
  MPC_XY_VEL_MAX: { value: 10, integer: false },
  RTL_RETURN_ALT: { value: RETURN_HEIGHT_M, integer: false },
}

/** Motors idle, or a landing that has arrived. */
const GROUNDED: Demand = {
  horizontal: { kind: 'brake' },
  vertical: { kind: 'velocity', down: 0.5, acceleration: VERTICAL_MPS2 },
}

/** Where a mode that stops the vehicle will hold it: first it runs on, then it brakes, then it stays. */
interface Stop {
  readonly coast_ms: number
  readonly velocity: Vector
  readonly down: number
  point: { readonly north: number; readonly east: number } | undefined
}

interface Takeoff {
  readonly from_m: number
  readonly to_m: number
}

export class SimulatedVehicle {
  readonly #options: VehicleOptions
  readonly #random: Random
  readonly #writer: FrameWriter
  readonly #groundStation = new FrameWriter(GROUND_STATION.system, GROUND_STATION.component)
  readonly #telemetry: Telemetry
  readonly #estimator: Estimator
  readonly #body = new Body()
  readonly #wanderPhases: readonly number[]

  #now_ms: number | undefined
  #boot_ms = 0
  #down = false
  #outgoing: Uint8Array[] = []
  #later: { readonly at_ms: number; readonly data: MavLinkData }[] = []
  #groundHeartbeat_ms = 0

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
  #battery: number
  #heading_rad = 0

  #stop: Stop = { coast_ms: 0, velocity: { north: 0, east: 0, down: 0 }, down: 0, point: undefined }
  #takeoff: Takeoff | undefined
  #spool_ms: number | undefined
  #returnPhase: 'climb' | 'cruise' | 'land' = 'climb'
  #setpoint: Setpoint | undefined
  #setpoint_ms = Number.NEGATIVE_INFINITY
  #offboardLoss_ms = STREAM_MS
  #offboardLost = false
  #batteryFailsafe_ms: number | undefined
  #batteryHandled = false

  #sticks = false
  #critical = false
  #silent_ms = Number.NEGATIVE_INFINITY
  #acksToLose = 0
  #ackDelay_ms: number
  readonly #refusals = new Map<number, number>()

  readonly #setpoints: SetpointObservation[] = []
  readonly #commands: CommandObservation[] = []
  readonly #modes: ModeObservation[] = []
  readonly #armings: { at_ms: number; armed: boolean }[] = []
  readonly #texts: { at_ms: number; severity: number; text: string }[] = []
  readonly #heartbeats = new Map<string, number>()
  #malformed = 0

  /** Boots at the time of the first call. */
  constructor(options: VehicleOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed ?? 1)
    this.#writer = new FrameWriter(this.#system, COMPONENT)
    this.#telemetry = new Telemetry(this.#random, options.stream_ms)
    this.#estimator = new Estimator(this.#random)
    this.#battery = options.battery?.percent ?? 100
    this.#ackDelay_ms = options.faults?.ackDelay_ms ?? 0
    this.#wanderPhases = Array.from({ length: 6 }, () => 2 * Math.PI * this.#random())
  }

  /** One datagram from the link. What is no frame of MAVLink 2, or not for this vehicle, has no effect. */
  receive(datagram: Uint8Array, now_ms: number): void {
    this.#advance(now_ms)
    if (this.#down) return
    const incoming = readFrame(datagram)
    if (incoming === undefined) {
      this.#malformed++
      return
    }
    const { message: data, system, component } = incoming
    if (data instanceof minimal.Heartbeat) {
      const key = `${system}/${component}`
      this.#heartbeats.set(key, (this.#heartbeats.get(key) ?? 0) + 1)
    } else if (data instanceof common.StatusText) {
      observe(this.#texts, { at_ms: now_ms, severity: data.severity, text: data.text.replace(/\0.*$/s, '') })
    } else if (data instanceof common.ParamRequestRead) {
      if (this.#addressed(data)) this.#parameter(data)
    } else if (data instanceof common.CommandLong || data instanceof common.CommandInt) {
      if (this.#addressed(data)) this.#command(data, incoming, Uint8Array.from(datagram), now_ms)
    } else if (data instanceof common.SetPositionTargetLocalNed || data instanceof common.SetPositionTargetGlobalInt) {
      if (this.#addressed(data)) this.#target(data, incoming, Uint8Array.from(datagram), now_ms)
    }
  }

  /** Flies on to `now_ms` (ms, never back: RangeError) and returns the datagrams to send, one frame each, in order. */
  step(now_ms: number): Uint8Array[] {
    this.#advance(now_ms)
    const outgoing = this.#outgoing
    this.#outgoing = []
    return outgoing
  }

  fault(fault: Fault, now_ms: number): void {
    this.#advance(now_ms)
    switch (fault.kind) {
      case 'battery':
        this.#battery = fault.percent
        break
      case 'gps':
        if (fault.on) this.#estimator.regain(now_ms)
        else this.#estimator.lose(now_ms)
        break
      case 'pilot':
        if (!this.#down) this.#setMode(fault.mode, now_ms)
        break
      case 'sticks':
        this.#sticks = fault.on
        break
      case 'reboot':
        this.#down = true
        this.#boot_ms = now_ms + (this.#options.rebootAfter_ms ?? REBOOT_MS)
        break
      case 'silence':
        this.#silent_ms = now_ms + fault.duration_ms
        break
      case 'ack_lost':
        this.#acksToLose = fault.count
        break
      case 'ack_late':
        this.#ackDelay_ms = fault.delay_ms
        break
      case 'refuse':
        if (fault.result === ACCEPTED) this.#refusals.delete(fault.command)
        else this.#refusals.set(fault.command, fault.result)
        break
      case 'critical':
        this.#critical = fault.on
        break
    }
  }

  /** What a test may know of the vehicle without asking over the link. The lists are live: they grow. */
  get observations(): Observations {
    const now_ms = this.#now_ms ?? 0
    return {
      setpoints: this.#setpoints,
      commands: this.#commands,
      modes: this.#modes,
      armings: this.#armings,
      texts: this.#texts,
      heartbeats: this.#heartbeats,
      malformed: this.#malformed,
      mode: this.#mode,
      intended: this.#intended,
      armed: this.#armed,
      landed: this.#landed(now_ms),
      ready: this.#ready(now_ms),
      critical: this.#isCritical,
      position: placeAt(this.#options.home, this.#body.position),
      height_m: this.#body.height_m,
      velocity: this.#body.velocity,
      home: this.#home,
      battery_percent: this.#battery,
    }
  }

  get #system(): number {
    return this.#options.system ?? 1
  }

  #between(range: { readonly min: number; readonly max: number }): number {
    return range.min + (range.max - range.min) * this.#random()
  }

  // Time

  #advance(now_ms: number): void {
    if (this.#now_ms === undefined) {
      this.#now_ms = now_ms
      this.#boot(now_ms)
      if (this.#options.aloft_m !== undefined) this.#raise(this.#options.aloft_m, now_ms)
      return
    }
    if (!(now_ms >= this.#now_ms)) throw new RangeError(`time went back: ${now_ms} ms after ${this.#now_ms} ms`)
    while (this.#now_ms < now_ms) {
      const dt_ms = Math.min(STEP_MS, now_ms - this.#now_ms)
      this.#now_ms += dt_ms
      this.#tick(dt_ms, this.#now_ms)
    }
  }

  #boot(now_ms: number): void {
    this.#down = false
    this.#boot_ms = now_ms
    this.#telemetry.boot(now_ms)
    const ready_ms = now_ms + (this.#options.readyAfter_ms ?? 4_500)
    this.#estimator.boot(now_ms, Math.max(now_ms, ready_ms - ALIGNED_BEFORE_READY_MS))
    this.#body.position = { north: 0, east: 0, down: 0 }
    this.#body.velocity = { north: 0, east: 0, down: 0 }
    this.#later = []
    this.#home = undefined
    if (this.#armed) observe(this.#armings, { at_ms: now_ms, armed: false })
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
    this.#stopHere(now_ms)
    observe(this.#modes, { at_ms: now_ms, mode: 'HOLD', intended: 'HOLD' })
  }

  /** As somebody has flown it there. */
  #raise(height_m: number, now_ms: number): void {
    this.#body.position = { north: 0, east: 0, down: -height_m }
    this.#armed = true
    this.#armed_ms = now_ms
    this.#lifted = true
    this.#flown = true
    observe(this.#armings, { at_ms: now_ms, armed: true })
    this.#stopHere(now_ms)
  }

  #tick(dt_ms: number, now_ms: number): void {
    if (this.#down) {
      if (now_ms >= this.#boot_ms) this.#boot(now_ms)
      return
    }
    if (this.#home === undefined && this.#booted(now_ms)) this.#moveHome(0)
    if (this.#armed)
      this.#battery = Math.max(0, this.#battery - ((this.#options.battery?.drain ?? 0.05) * dt_ms) / 1000)
    const jump = this.#estimator.takeJump(now_ms)
    if (jump !== undefined) {
      const { north, east, down } = this.#body.position
      this.#body.position = { north: north + jump.north, east: east + jump.east, down }
    }
    this.#failsafes(now_ms)
    this.#settle(now_ms)
    this.#turn(dt_ms / 1000)
    this.#body.advance(dt_ms / 1000, this.#armed ? this.#demand(now_ms) : undefined)
    this.#ground(now_ms)
    this.#progress(now_ms)
    this.#speak(now_ms)
  }

  // Modes

  #booted(now_ms: number): boolean {
    return now_ms - this.#boot_ms >= (this.#options.readyAfter_ms ?? 4_500)
  }

  #streaming(now_ms: number): boolean {
    return now_ms - this.#setpoint_ms < STREAM_MS
  }

  get #batteryLow(): boolean {
    return this.#battery <= (this.#options.battery?.failsafe_percent ?? 10)
  }

  get #isCritical(): boolean {
    return this.#critical || (this.#armed && (this.#batteryLow || this.#mode !== this.#intended))
  }

  /** A mode from anybody, at any time: PX4 asks neither who nor whether a failsafe or the pilot has the vehicle. */
  #setMode(mode: Px4Mode, now_ms: number): number {
    if (mode === 'OFFBOARD' && !this.#streaming(now_ms)) return REFUSED
    const flown = mode !== 'OFFBOARD' && mode !== 'TAKEOFF'
    if (flown && needsPosition(mode) && !this.#estimator.usable(now_ms)) return REFUSED
    if (mode === 'TAKEOFF') {
      const from_m = this.#lifted ? this.#body.height_m : 0
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
    if (mode === 'OFFBOARD') this.#offboardLoss_ms = STREAM_MS + OFFBOARD_LOST_SPREAD_MS * this.#random()
    if (!isLanding(mode)) this.#lastFlown = mode
    const shown = this.#mode
    this.#settle(now_ms)
    if (before !== mode && shown === this.#mode) this.#modeShown(now_ms)
  }

  #failsafes(now_ms: number): void {
    if (!this.#armed) return
    // The stream is judged in Offboard and after it was lost there; after a HOLD nobody asks for it any more.
    if (this.#intended === 'OFFBOARD' && now_ms - this.#setpoint_ms > this.#offboardLoss_ms) this.#offboardLost = true
    if (!this.#batteryLow) this.#batteryHandled = false
    else if (!this.#batteryHandled && this.#lifted) {
      this.#batteryHandled = true
      if (!isLanding(this.#mode)) this.#batteryFailsafe_ms = now_ms
    }
  }

  #forgetFailsafes(): void {
    this.#offboardLost = false
    this.#batteryFailsafe_ms = undefined
    this.#batteryHandled = false
  }

  /** The mode that the intended one, the failsafes and the position leave. */
  #effective(now_ms: number): Px4Mode {
    if (!this.#armed) return this.#intended
    const usable = this.#estimator.usable(now_ms)
    if (this.#batteryFailsafe_ms !== undefined) {
      return usable && now_ms - this.#batteryFailsafe_ms < BATTERY_HOLD_MS ? 'HOLD' : 'LAND'
    }
    if (!usable && needsPosition(this.#intended)) return 'ALTITUDE'
    if (this.#intended === 'OFFBOARD' && this.#offboardLost) return 'POSITION'
    return this.#intended
  }

  #settle(now_ms: number): void {
    const mode = this.#effective(now_ms)
    if (mode === this.#mode) return
    const aborted = this.#mode === 'TAKEOFF' && mode === 'HOLD' && this.#armed && !this.#lifted
    this.#mode = mode
    this.#returnPhase = 'climb'
    this.#stopHere(now_ms)
    if (aborted && this.#spool_ms !== undefined) this.#stop = { ...this.#stop, down: -ABORTED_TAKEOFF_M }
    else if (mode !== 'TAKEOFF') this.#spool_ms = undefined
    if (this.#intended !== 'TAKEOFF') this.#takeoff = undefined
    this.#modeShown(now_ms)
  }

  #modeShown(now_ms: number): void {
    this.#telemetry.modeChanged(now_ms)
    observe(this.#modes, { at_ms: now_ms, mode: this.#mode, intended: this.#intended })
  }

  // Arming

  #ready(now_ms: number): boolean {
    if (!this.#booted(now_ms) || !this.#estimator.usable(now_ms) || this.#batteryLow) return false
    if (this.#armed) return this.#mode === this.#intended
    if (this.#leftover || isLanding(this.#mode)) return false
    if (this.#mode === 'OFFBOARD') return this.#streaming(now_ms)
    return this.#mode !== 'TAKEOFF' || this.#takeoff !== undefined
  }

  #arm(now_ms: number): number {
    if (this.#armed) return ACCEPTED
    if (!this.#ready(now_ms)) return REFUSED
    this.#armed = true
    this.#armed_ms = now_ms
    this.#flown = false
    this.#disarm_ms = undefined
    if (this.#mode === 'TAKEOFF') this.#spool_ms = now_ms
    this.#stopHere(now_ms)
    this.#moveHome(this.#between(HOME_MOVES_M))
    observe(this.#armings, { at_ms: now_ms, armed: true })
    return ACCEPTED
  }

  #disarm(now_ms: number): void {
    const flown = this.#flown
    this.#armed = false
    this.#spool_ms = undefined
    this.#takeoff = undefined
    this.#disarm_ms = undefined
    this.#forgetFailsafes()
    observe(this.#armings, { at_ms: now_ms, armed: false })
    const before = this.#intended
    if (isLanding(this.#intended)) this.#intended = this.#lastFlown
    this.#leftover = this.#intended === 'OFFBOARD' || this.#intended === 'TAKEOFF'
    const shown = this.#mode
    this.#settle(now_ms)
    if (before !== this.#intended && shown === this.#mode) this.#modeShown(now_ms)
    if (flown) this.#moveHome(this.#between(HOME_MOVES_M))
  }

  /** Home becomes the place below, or stays where it was if that is near, and is off by this much. */
  #moveHome(by_m: number): void {
    const origin = this.#options.home
    const { north, east } = this.#body.position
    const old = this.#home === undefined ? undefined : vectorTo(origin, this.#home)
    const near = old !== undefined && Math.hypot(old.north - north, old.east - east) < HOME_NEAR_M
    const from = near ? old : { north, east, down: 0 }
    const bearing = 2 * Math.PI * this.#random()
    const rise = this.#random() < 0.5 ? -0.8 : 0.8
    this.#home = placeAt(origin, {
      north: from.north + 0.6 * by_m * Math.cos(bearing),
      east: from.east + 0.6 * by_m * Math.sin(bearing),
      down: from.down + rise * by_m,
    })
  }

  // Flight

  #stopHere(now_ms: number): void {
    const { velocity, position, speed_mps } = this.#body
    const coasts = speed_mps > COAST_ABOVE_MPS
    const point = coasts ? undefined : position
    this.#stop = { coast_ms: now_ms + (coasts ? COAST_MS : 0), velocity, down: position.down, point }
  }

  #stopping(now_ms: number): HorizontalDemand {
    const stop = this.#stop
    if (now_ms < stop.coast_ms) return { kind: 'velocity', north: stop.velocity.north, east: stop.velocity.east }
    if (stop.point === undefined) {
      if (this.#body.speed_mps > 0.1) return { kind: 'brake' }
      stop.point = this.#body.position
    }
    return { kind: 'position', ...stop.point, speed_mps: HOLD_SPEED_MPS }
  }

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
        return { horizontal: this.#stopping(now_ms), vertical: { kind: 'height', down: this.#stop.down } }
      case 'TAKEOFF':
        return {
          horizontal: this.#stopping(now_ms),
          vertical: { kind: 'velocity', down: -TAKEOFF_CLIMB_MPS, acceleration: TAKEOFF_ACCELERATION_MPS2 },
        }
      case 'LAND':
        return this.#landing(this.#stopping(now_ms))
      case 'RETURN':
        return this.#returning(now_ms)
      case 'HOLD':
      case 'MISSION':
        return { horizontal: this.#stopping(now_ms), vertical: { kind: 'height', down: this.#stop.down } }
      case 'POSITION':
      case 'ALTITUDE':
      case 'MANUAL': {
        const held = this.#mode === 'POSITION' || this.#estimator.usable(now_ms)
        if (this.#sticks) this.#stop = { ...this.#stop, down: this.#body.position.down }
        return {
          horizontal: held ? this.#stopping(now_ms) : { kind: 'velocity', ...DRIFT_MPS },
          vertical: this.#sticks
            ? { kind: 'velocity', down: STICK_DESCENT_MPS, acceleration: VERTICAL_MPS2 }
            : { kind: 'height', down: this.#stop.down },
        }
      }
    }
  }

  #landing(horizontal: HorizontalDemand): Demand {
    const down = this.#body.height_m > LAND_FAST_ABOVE_M ? LAND_FAST_MPS : LAND_MPS
    return { horizontal, vertical: { kind: 'velocity', down, acceleration: VERTICAL_MPS2 } }
  }

  #returning(now_ms: number): Demand {
    const home = this.#home === undefined ? this.#stop.point : vectorTo(this.#options.home, this.#home)
    const { north, east, down } = this.#body.position
    const to = home ?? { north, east }
    if (this.#returnPhase === 'climb' && -down >= RETURN_HEIGHT_M - ARRIVED_M) this.#returnPhase = 'cruise'
    const away_m = Math.hypot(to.north - north, to.east - east)
    if (this.#returnPhase === 'cruise' && away_m < ARRIVED_M) this.#returnPhase = 'land'
    const height = { kind: 'height', down: Math.min(-RETURN_HEIGHT_M, this.#stop.down) } as const
    if (this.#returnPhase === 'climb') return { horizontal: this.#stopping(now_ms), vertical: height }
    const horizontal = { kind: 'position', north: to.north, east: to.east, speed_mps: RETURN_MPS } as const
    return this.#returnPhase === 'cruise' ? { horizontal, vertical: height } : this.#landing(horizontal)
  }

  #turn(dt_s: number): void {
    if (this.#mode !== 'OFFBOARD' || !this.#lifted || this.#setpoint === undefined) return
    const { yaw, yawRate } = this.#setpoint
    if (Number.isFinite(yaw)) {
      const error = Math.atan2(Math.sin(yaw - this.#heading_rad), Math.cos(yaw - this.#heading_rad))
      this.#heading_rad += Math.sign(error) * Math.min(Math.abs(error), TURN_RADPS * dt_s)
    } else if (Number.isFinite(yawRate)) {
      this.#heading_rad += Math.max(-TURN_RADPS, Math.min(TURN_RADPS, yawRate)) * dt_s
    }
  }

  /** Lift-off, touchdown, and the disarming after it. */
  #ground(now_ms: number): void {
    if (this.#armed && !this.#lifted && this.#body.height_m > LIFTED_M) {
      this.#lifted = true
      this.#flown = true
      this.#disarm_ms = undefined
      this.#moveHome(this.#between(HOME_MOVES_M))
    }
    if (!this.#lifted || !this.#body.touching) this.#touched_ms = undefined
    else {
      this.#touched_ms ??= now_ms
      if (now_ms - this.#touched_ms >= LANDED_AFTER_MS) {
        this.#lifted = false
        this.#spool_ms = undefined
        this.#disarm_ms = now_ms + this.#between(DISARM_AFTER_MS)
      }
    }
    if (!this.#armed || this.#lifted) return
    if (isLanding(this.#mode)) this.#disarm_ms ??= now_ms + this.#between(DISARM_AFTER_MS)
    const idle = !this.#flown && this.#spool_ms === undefined && now_ms - this.#armed_ms >= IDLE_DISARM_MS
    if (idle || (this.#disarm_ms !== undefined && now_ms >= this.#disarm_ms)) this.#disarm(now_ms)
  }

  /** A take-off ends by itself, short of its height, in HOLD at its height. */
  #progress(now_ms: number): void {
    const takeoff = this.#takeoff
    if (this.#mode !== 'TAKEOFF' || takeoff === undefined || !this.#lifted) return
    if (this.#body.height_m < takeoff.from_m + TAKEOFF_DONE * (takeoff.to_m - takeoff.from_m)) return
    this.#intend('HOLD', now_ms)
    this.#stop = { ...this.#stop, down: -Math.max(takeoff.to_m, this.#body.height_m) }
  }

  #landed(now_ms: number): LandedState {
    if (this.#lifted) {
      if (this.#mode === 'LAND' || (this.#mode === 'RETURN' && this.#returnPhase === 'land')) return 'LANDING'
      return this.#mode === 'TAKEOFF' && this.#takeoff?.from_m === 0 ? 'TAKING_OFF' : 'IN_AIR'
    }
    return this.#spool_ms !== undefined && now_ms - this.#spool_ms >= SPOOL_SHOWN_MS ? 'TAKING_OFF' : 'ON_GROUND'
  }

  // Receiving

  #addressed(target: { readonly targetSystem: number; readonly targetComponent: number }): boolean {
    const component = target.targetComponent === COMPONENT || target.targetComponent === 0
    return component && (target.targetSystem === this.#system || target.targetSystem === 0)
  }

  #command(data: common.CommandLong | common.CommandInt, source: Incoming, datagram: Uint8Array, now_ms: number): void {
    const params = [data._param1, data._param2, data._param3, data._param4, data._param5, data._param6, data._param7]
    const command = data.command as number
    const mode = this.#mode
    const armed = this.#armed
    const result = this.#refusals.get(command) ?? this.#execute(command, params, now_ms)
    const { system, component } = source
    observe(this.#commands, { at_ms: now_ms, system, component, command, params, result, mode, armed, datagram })
    const lost = this.#random() < (this.#options.faults?.ackLoss ?? 0)
    if (this.#acksToLose > 0) this.#acksToLose--
    else if (!lost) {
      const ack = message(common.CommandAck, {
        command,
        result,
        progress: 0,
        resultParam2: 0,
        targetSystem: system,
        targetComponent: component,
      })
      this.#later.push({ at_ms: now_ms + this.#between(ACK_MS) + this.#ackDelay_ms, data: ack })
    }
  }

  #execute(command: number, params: readonly number[], now_ms: number): number {
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
        const from_m = this.#lifted ? this.#body.height_m : 0
        const to_m = Number.isFinite(amsl) ? amsl - this.#options.home.amsl : from_m + TAKEOFF_DEFAULT_M
        this.#takeoff = { from_m, to_m: Math.max(to_m, from_m) }
        return this.#setMode('TAKEOFF', now_ms)
      }
      case common.MavCmd.NAV_LAND:
        return this.#setMode('LAND', now_ms)
      case common.MavCmd.NAV_RETURN_TO_LAUNCH:
        return this.#setMode('RETURN', now_ms)
      case common.MavCmd.SET_MESSAGE_INTERVAL:
        return this.#telemetry.setInterval(first, second, now_ms)
      case common.MavCmd.REQUEST_MESSAGE: {
        const requested = this.#telemetry.request(first, this.#read(now_ms), now_ms)
        if (requested.message !== undefined) this.#later.push({ at_ms: now_ms + ACK_MS.max, data: requested.message })
        return requested.result
      }
      case common.MavCmd.DO_CHANGE_SPEED:
        // Accepted, and changes nothing.
        return ACCEPTED
      default:
        return UNSUPPORTED
    }
  }

  #target(values: TargetMessage, source: Incoming, datagram: Uint8Array, now_ms: number): void {
    const home = this.#home ?? this.#options.home
    const target = readSetpoint(values, this.#options.home, home, this.#heading_rad)
    observe(this.#setpoints, {
      at_ms: now_ms,
      system: source.system,
      component: source.component,
      message:
        values instanceof common.SetPositionTargetGlobalInt
          ? 'SET_POSITION_TARGET_GLOBAL_INT'
          : 'SET_POSITION_TARGET_LOCAL_NED',
      values,
      frame: values.coordinateFrame,
      mask: values.typeMask,
      target,
      mode: this.#mode,
      armed: this.#armed,
      datagram,
    })
    if (target === undefined) return
    this.#setpoint = target
    this.#setpoint_ms = now_ms
    if (this.#offboardLost) {
      this.#offboardLost = false
      this.#offboardLoss_ms = STREAM_MS + OFFBOARD_LOST_SPREAD_MS * this.#random()
      this.#settle(now_ms)
    }
  }

  #parameter(request: common.ParamRequestRead): void {
    const id = request.paramId.replace(/\0.*$/s, '')
    const names = Object.keys(PARAMETERS)
    const parameter = PARAMETERS[id]
    if (parameter === undefined || this.#now_ms === undefined) return
    const bits = new DataView(new ArrayBuffer(4))
    bits.setInt32(0, parameter.value, true)
    const data = message(common.ParamValue, {
      paramId: id,
      paramValue: parameter.integer ? bits.getFloat32(0, true) : parameter.value,
      paramType: parameter.integer ? common.MavParamType.INT32 : common.MavParamType.REAL32,
      paramCount: names.length,
      paramIndex: names.indexOf(id),
    })
    this.#later.push({ at_ms: this.#now_ms + this.#between(ACK_MS), data })
  }

  // Sending

  #speak(now_ms: number): void {
    const messages = this.#telemetry.due(now_ms, () => this.#read(now_ms))
    if (this.#later.length > 0) {
      const due = this.#later.filter((entry) => entry.at_ms <= now_ms).sort((a, b) => a.at_ms - b.at_ms)
      this.#later = this.#later.filter((entry) => entry.at_ms > now_ms)
      messages.unshift(...due.map((entry) => entry.data))
    }
    const silent = now_ms < this.#silent_ms
    for (const data of messages) {
      const frame = this.#writer.write(data)
      if (!silent) this.#outgoing.push(frame)
    }
    if (this.#options.groundStation !== true || now_ms < this.#groundHeartbeat_ms || silent) return
    this.#groundHeartbeat_ms = now_ms + 1000
    const heartbeat = message(minimal.Heartbeat, {
      type: minimal.MavType.GCS,
      autopilot: minimal.MavAutopilot.INVALID,
      baseMode: 0 as number,
      customMode: 0,
      systemStatus: minimal.MavState.ACTIVE,
      mavlinkVersion: 3,
    })
    this.#outgoing.push(this.#groundStation.write(heartbeat))
  }

  #read(now_ms: number): Reading {
    const wander = this.#wander(now_ms)
    const { position, velocity } = this.#body
    const local = {
      north: position.north + wander.position.north,
      east: position.east + wander.position.east,
      down: position.down + wander.position.down,
    }
    const origin = this.#options.home
    return {
      mode: this.#mode,
      intended: this.#intended,
      armed: this.#armed,
      ready: this.#ready(now_ms),
      booted: this.#booted(now_ms),
      critical: this.#isCritical,
      landed: this.#landed(now_ms),
      battery_percent: this.#battery,
      fix: this.#estimator.fix(now_ms),
      flags: this.#estimator.flags(now_ms, this.#lifted),
      accuracy_m: this.#estimator.accuracy(now_ms),
      positioned: this.#estimator.streams(now_ms),
      place: placeAt(origin, local),
      local,
      velocity: {
        north: velocity.north + wander.velocity.north,
        east: velocity.east + wander.velocity.east,
        down: velocity.down + wander.velocity.down,
      },
      heading_rad: this.#heading_rad,
      home: this.#home,
      homeLocal: this.#home === undefined ? { north: 0, east: 0, down: 0 } : vectorTo(origin, this.#home),
      target: this.#reportedTarget(),
    }
  }

  #reportedTarget(): Place | undefined {
    if (!this.#armed) return undefined
    const origin = this.#options.home
    const { position } = this.#body
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

  /** Slow waves over the estimate, on the ground a quarter as high: position (m) and what it does to the velocity (m/s). */
  #wander(now_ms: number): { position: Vector; velocity: Vector } {
    const scale = 0.25 + 0.75 * Math.min(1, this.#body.height_m)
    const amplitude_m = ((this.#options.wander_m ?? 0.8) / 2) * scale
    const axis = (index: number, share: number): { at: number; speed: number } => {
      const slow = (2 * Math.PI) / 17_000
      const fast = (2 * Math.PI) / 9_000
      const a = slow * now_ms + (this.#wanderPhases[index] ?? 0)
      const b = fast * now_ms + (this.#wanderPhases[index + 1] ?? 0)
      return {
        at: amplitude_m * share * (0.6 * Math.sin(a) + 0.4 * Math.sin(b)),
        speed: amplitude_m * share * 1000 * (0.6 * slow * Math.cos(a) + 0.4 * fast * Math.cos(b)),
      }
    }
    const [north, east, down] = [axis(0, 1), axis(2, 1), axis(4, 0.5)]
    return {
      position: { north: north.at, east: east.at, down: down.at },
      velocity: { north: north.speed, east: east.speed, down: down.speed },
    }
  }
}

function observe<T>(list: T[], entry: T): void {
  list.push(entry)
  if (list.length >= OBSERVATIONS_MAX) list.splice(0, OBSERVATIONS_MAX / 2)
}
