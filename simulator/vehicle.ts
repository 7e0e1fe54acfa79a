// The simulated vehicle: a test double of a multirotor, as unpleasant as the real ones were when measured. Never for flight.
//
// It has no clock and no socket: the caller says what time it is, hands in datagrams and sends what comes out, so a test flies
// hours in seconds and the same seed with the same schedule of calls gives the same flight.

import type { MavLinkData, MavLinkDataConstructor } from 'node-mavlink'
import { common, minimal } from 'node-mavlink'
import { Airframe } from './airframe.ts'
import { ArduPilot } from './ardupilot.ts'
import type { Autopilot, Sight } from './autopilot.ts'
import { COPTER_LIMITS, PX4_LIMITS } from './body.ts'
import type { Fault } from './fault.ts'
import { FrameWriter, type Incoming, message, readFrame } from './frame.ts'
import { type Place, placeAt, type Vector } from './geodesy.ts'
import {
  type CommandObservation,
  type Observations,
  observe,
  type ReleaseObservation,
  type SetpointObservation,
  type TextObservation,
} from './observation.ts'
import { Px4 } from './px4.ts'
import { type Random, seededRandom } from './random.ts'
import type { TargetMessage } from './setpoint.ts'
import { Signer, type Signing } from './signature.ts'

export type * from './observation.ts'

export const AUTOPILOTS = ['px4', 'ardupilot'] as const
export type AutopilotName = (typeof AUTOPILOTS)[number]

export interface VehicleOptions {
  /** MAVLink system id; its component is 1. Default 1. */
  readonly system?: number
  /** Who flies it. Default px4. */
  readonly autopilot?: AutopilotName
  /** Where it stands at boot. */
  readonly home: Place
  /** Default 1. */
  readonly seed?: number
  /**
   * From boot to being ready to arm, and of PX4 to the first home; ArduPilot's other times before that keep their proportion.
   * Default 4500, ArduPilot 41600.
   */
  readonly readyAfter_ms?: number
  /** By its clock it has been up for so long already when it boots first. Default 0. */
  readonly up_ms?: number
  /** From a `reboot` to the boot. Default 4000. */
  readonly rebootAfter_ms?: number
  /** The estimate wanders over this much, peak to peak. Default 0.8. */
  readonly wander_m?: number
  readonly battery?: {
    /** Default 100. */
    readonly percent?: number
    /** While armed, percent a second. Default 0.05. */
    readonly drain?: number
    /** At or below: what the autopilot's parameters say, by default of PX4 HOLD, and LAND 5 s later. Default 10. */
    readonly failsafe_percent?: number
  }
  readonly faults?: {
    /** Probability that an acknowledgement is lost. */
    readonly ackLoss?: number
    /** Every acknowledgement comes this much later. */
    readonly ackDelay_ms?: number
  }
  /** In the air from its first boot: armed, in HOLD (ArduPilot: BRAKE), at this height above where it would stand. Default: on the ground. */
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
  /** Other values of parameters, by name; null: a request of it is never answered. Error for one that there is not. */
  readonly parameters?: Readonly<Record<string, number | null>>
  /** Signs what it sends; drops what is unsigned, badly signed or replayed. */
  readonly signing?: Signing
}

const COMPONENT = 1
const STEP_MS = 5
const REBOOT_MS = 4_000

const ACCEPTED = 0
const IN_PROGRESS = 5
/** From the acknowledgement that says "in progress" to the one that counts. */
const PROGRESS_MS = 1_000
const AGAIN_MS = 40
const RELEASES: readonly number[] = [common.MavCmd.DO_SET_SERVO, common.MavCmd.DO_GRIPPER]

const GROUND_STATION = { system: 255, component: 190 }
const COMPANION = 191
const HEARTBEAT_MS = 1_000
const INTRUSION_MS = 100
const TWIN_STREAM_MS = 200
const TWIN_AWAY_M = 120

export class SimulatedVehicle {
  readonly #options: VehicleOptions
  readonly #random: Random
  readonly #signer: Signer | undefined
  readonly #writer: FrameWriter
  readonly #groundStation: FrameWriter
  readonly #airframe: Airframe
  readonly #autopilot: Autopilot
  readonly #wanderPhases: readonly number[]

  #now_ms: number | undefined
  #boot_ms = 0
  #down = false
  /** A reboot that was commanded. */
  #shutdown_ms = Number.POSITIVE_INFINITY
  #outgoing: Uint8Array[] = []

  #silent_ms = Number.NEGATIVE_INFINITY
  #acksToLose = 0
  #acksToRepeat = 0
  #ackDelay_ms: number
  #inProgress: number | undefined
  readonly #refusals = new Map<number, number>()
  /** By message name, until when. */
  readonly #muted = new Map<string, number>()
  readonly #broken = new Map<string, number>()

  #groundHeartbeat_ms = 0
  /** The first that was heard and is no ground station. */
  #companion: { readonly system: number; readonly component: number } | undefined
  #impostor: FrameWriter | undefined
  #impostorHeartbeat_ms = 0
  #twin: SimulatedVehicle | undefined
  #intruder: { readonly north: number; readonly east: number } | undefined
  #intrusion_ms = 0

  readonly #setpoints: SetpointObservation[] = []
  readonly #commands: CommandObservation[] = []
  readonly #releases: ReleaseObservation[] = []
  readonly #texts: TextObservation[] = []
  readonly #heartbeats = new Map<string, number>()
  #malformed = 0
  #unsigned = 0

  /** Boots at the time of the first call. Throws an Error for a parameter that the autopilot does not have, or a key. */
  constructor(options: VehicleOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed ?? 1)
    this.#signer = options.signing && new Signer(options.signing)
    this.#writer = new FrameWriter(this.#system, COMPONENT, this.#signer)
    this.#groundStation = new FrameWriter(GROUND_STATION.system, GROUND_STATION.component, this.#signer)
    const copter = options.autopilot === 'ardupilot'
    const limits = copter ? COPTER_LIMITS : PX4_LIMITS
    this.#airframe = new Airframe(options.home, this.#random, options.battery?.percent ?? 100, limits)
    this.#autopilot = copter ? new ArduPilot(options, this.#airframe) : new Px4(options, this.#airframe)
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
    const { system, component, signed } = incoming
    if (this.#signer !== undefined && !(signed && this.#signer.accept(datagram, system, component))) {
      this.#unsigned++
      return
    }
    this.#hear(incoming, datagram, now_ms)
  }

  /** Flies on to `now_ms` (ms, never back: RangeError) and returns the datagrams to send, one frame each, in order. */
  step(now_ms: number): Uint8Array[] {
    this.#advance(now_ms)
    const outgoing = this.#outgoing
    this.#outgoing = []
    return outgoing
  }

  /** Throws an Error for a mode that the autopilot does not have. */
  fault(fault: Fault, now_ms: number): void {
    this.#advance(now_ms)
    const airframe = this.#airframe
    switch (fault.kind) {
      case 'battery':
        airframe.battery_percent = fault.percent
        break
      case 'gps':
        this.#autopilot.gps(fault.on, now_ms)
        break
      case 'rc':
        airframe.rc = fault.on
        break
      case 'pilot':
        if (!this.#down) this.#autopilot.pilot(fault.mode, now_ms)
        break
      case 'sticks':
        airframe.sticks = fault.on
        break
      case 'jump': {
        const { north, east, down } = airframe.body.position
        airframe.body.position = { north: north + fault.distance_m, east, down }
        break
      }
      case 'reboot':
        this.#stopRunning(now_ms)
        break
      case 'silence':
        this.#silent_ms = now_ms + fault.duration_ms
        break
      case 'mute':
        this.#muted.set(fault.message, now_ms + fault.duration_ms)
        break
      case 'nan':
        this.#broken.set(fault.message, now_ms + fault.duration_ms)
        break
      case 'ack_lost':
        this.#acksToLose = fault.count
        break
      case 'ack_late':
        this.#ackDelay_ms = fault.delay_ms
        break
      case 'ack_twice':
        this.#acksToRepeat = fault.count
        break
      case 'ack_progress':
        this.#inProgress = fault.command
        break
      case 'ack_other':
        airframe.say(acknowledgement(fault.command, fault.result, GROUND_STATION), now_ms)
        break
      case 'refuse':
        if (fault.result === ACCEPTED) this.#refusals.delete(fault.command)
        else this.#refusals.set(fault.command, fault.result)
        break
      case 'critical':
        airframe.critical = fault.on
        break
      case 'impostor': {
        const { system, component } = this.#companion ?? { system: this.#system, component: COMPANION }
        this.#impostor = fault.on ? new FrameWriter(system, component, this.#signer) : undefined
        this.#impostorHeartbeat_ms = now_ms
        break
      }
      case 'twin':
        this.#twin = fault.on ? this.#newTwin() : undefined
        break
      case 'intruder':
        this.#intruder = fault.target
        this.#intrusion_ms = now_ms
        break
    }
  }

  /** False from a `reboot` or a crash until it boots again. */
  get running(): boolean {
    return !this.#down
  }

  /** What a test may know of the vehicle without asking over the link. The lists are live: they grow. */
  get observations(): Observations {
    const now_ms = this.#now_ms ?? 0
    const { modes, armings, origin, body, battery_percent } = this.#airframe
    const autopilot = this.#autopilot
    return {
      setpoints: this.#setpoints,
      commands: this.#commands,
      releases: this.#releases,
      modes,
      armings,
      texts: this.#texts,
      heartbeats: this.#heartbeats,
      malformed: this.#malformed,
      unsigned: this.#unsigned,
      running: this.running,
      mode: autopilot.mode,
      intended: autopilot.intended,
      armed: autopilot.armed,
      landed: autopilot.landed(now_ms),
      ready: autopilot.ready(now_ms),
      critical: autopilot.critical,
      position: placeAt(origin, body.position),
      height_m: body.height_m,
      velocity: body.velocity,
      home: autopilot.home,
      battery_percent,
    }
  }

  get #system(): number {
    return this.#options.system ?? 1
  }

  // Time

  #advance(now_ms: number): void {
    if (this.#now_ms === undefined) {
      this.#now_ms = now_ms
      this.#boot(now_ms)
      if (this.#options.aloft_m !== undefined) this.#autopilot.raise(this.#options.aloft_m, now_ms)
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
    this.#airframe.reset()
    this.#autopilot.boot(now_ms)
  }

  #stopRunning(now_ms: number): void {
    this.#down = true
    this.#shutdown_ms = Number.POSITIVE_INFINITY
    this.#boot_ms = now_ms + (this.#options.rebootAfter_ms ?? REBOOT_MS)
  }

  #tick(dt_ms: number, now_ms: number): void {
    if (this.#signer !== undefined) this.#signer.now_ms = now_ms
    if (this.#down) {
      if (now_ms >= this.#boot_ms) this.#boot(now_ms)
    } else {
      const airframe = this.#airframe
      const drain = this.#options.battery?.drain ?? 0.05
      if (this.#autopilot.armed) {
        airframe.battery_percent = Math.max(0, airframe.battery_percent - (drain * dt_ms) / 1000)
      }
      this.#autopilot.fly(dt_ms, now_ms)
      this.#intrude(now_ms)
      if (!this.#down) this.#speak(now_ms)
      if (now_ms >= this.#shutdown_ms) this.#stopRunning(now_ms)
    }
    this.#speakOfOthers(now_ms)
  }

  // Receiving

  #hear(incoming: Incoming, datagram: Uint8Array, now_ms: number): void {
    const { message: data, system, component } = incoming
    if (data instanceof minimal.Heartbeat) {
      const key = `${system}/${component}`
      this.#heartbeats.set(key, (this.#heartbeats.get(key) ?? 0) + 1)
      if (data.type !== minimal.MavType.GCS) this.#companion ??= { system, component }
    } else if (data instanceof common.StatusText) {
      observe(this.#texts, { at_ms: now_ms, severity: data.severity, text: data.text.replace(/\0.*$/s, '') })
    } else if (data instanceof common.ParamRequestRead) {
      if (this.#addressed(data)) this.#parameter(data, now_ms)
    } else if (data instanceof common.CommandLong || data instanceof common.CommandInt) {
      if (this.#addressed(data)) this.#command(data, incoming, Uint8Array.from(datagram), now_ms)
    } else if (data instanceof common.SetPositionTargetLocalNed || data instanceof common.SetPositionTargetGlobalInt) {
      if (this.#addressed(data)) this.#target(data, incoming, Uint8Array.from(datagram), now_ms)
    }
  }

  #addressed(target: { readonly targetSystem: number; readonly targetComponent: number }): boolean {
    const component = target.targetComponent === COMPONENT || target.targetComponent === 0
    return component && (target.targetSystem === this.#system || target.targetSystem === 0)
  }

  #command(data: common.CommandLong | common.CommandInt, source: Incoming, datagram: Uint8Array, now_ms: number): void {
    const params = [data._param1, data._param2, data._param3, data._param4, data._param5, data._param6, data._param7]
    const command = data.command as number
    const { mode, armed } = this.#autopilot
    const result = this.#refusals.get(command) ?? this.#execute(command, params, now_ms)
    const { system, component } = source
    observe(this.#commands, { at_ms: now_ms, system, component, command, params, result, mode, armed, datagram })
    const lost = this.#random() < (this.#options.faults?.ackLoss ?? 0)
    if (this.#acksToLose > 0) this.#acksToLose--
    else if (!lost) this.#acknowledge(command, result, source, now_ms)
  }

  #acknowledge(command: number, result: number, source: Incoming, now_ms: number): void {
    const ack = acknowledgement(command, result, source)
    let at_ms = now_ms + this.#airframe.between(this.#autopilot.ack_ms) + this.#ackDelay_ms
    if (command === this.#inProgress) {
      this.#airframe.say(acknowledgement(command, IN_PROGRESS, source), at_ms)
      at_ms += PROGRESS_MS
    }
    this.#airframe.say(ack, at_ms)
    if (this.#acksToRepeat === 0) return
    this.#acksToRepeat--
    this.#airframe.say(ack, at_ms + AGAIN_MS)
  }

  #execute(command: number, params: readonly number[], now_ms: number): number {
    if (RELEASES.includes(command)) {
      observe(this.#releases, { at_ms: now_ms, command, params })
      return ACCEPTED
    }
    if (command === common.MavCmd.REQUEST_MESSAGE) {
      const requested = this.#autopilot.request(params[0] ?? Number.NaN, this.#see(now_ms), now_ms)
      if (requested.message !== undefined) {
        this.#airframe.say(requested.message, now_ms + this.#autopilot.ack_ms.max)
      }
      return requested.result
    }
    const result = this.#autopilot.execute(command, params, now_ms)
    // It acknowledges first.
    if (command === common.MavCmd.PREFLIGHT_REBOOT_SHUTDOWN && result === ACCEPTED) {
      this.#shutdown_ms = now_ms + this.#autopilot.ack_ms.max + STEP_MS
    }
    return result
  }

  #target(values: TargetMessage, source: Incoming, datagram: Uint8Array, now_ms: number): void {
    const { mode, armed } = this.#autopilot
    const target = this.#autopilot.follow(values, now_ms)
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
      target: target === 'crash' ? undefined : target,
      mode,
      armed,
      datagram,
    })
    if (target === 'crash') this.#stopRunning(now_ms)
  }

  #parameter(request: common.ParamRequestRead, now_ms: number): void {
    const id = request.paramId.replace(/\0.*$/s, '')
    const parameter = this.#autopilot.parameters[id]
    if (parameter === undefined || this.#options.parameters?.[id] === null) return
    const data = this.#autopilot.parameterMessage(id, parameter)
    this.#airframe.say(data, now_ms + this.#airframe.between(this.#autopilot.ack_ms))
  }

  // Sending

  #speak(now_ms: number): void {
    const messages = this.#autopilot.due(now_ms, () => this.#see(now_ms))
    messages.unshift(...this.#airframe.said(now_ms))
    for (const data of messages) {
      const name = (data.constructor as MavLinkDataConstructor<MavLinkData>).MSG_NAME
      if (now_ms < (this.#muted.get(name) ?? 0)) continue
      if (now_ms < (this.#broken.get(name) ?? 0)) breakNumbers(data)
      this.#send(this.#writer.write(data), now_ms)
    }
    if (this.#options.groundStation !== true || now_ms < this.#groundHeartbeat_ms || now_ms < this.#silent_ms) return
    this.#groundHeartbeat_ms = now_ms + HEARTBEAT_MS
    this.#send(this.#groundStation.write(heartbeatOf(minimal.MavType.GCS)), now_ms)
  }

  #send(frame: Uint8Array, now_ms: number): void {
    if (now_ms >= this.#silent_ms) this.#outgoing.push(frame)
  }

  /** Whoever should not be on the link. */
  #speakOfOthers(now_ms: number): void {
    if (this.#impostor !== undefined && now_ms >= this.#impostorHeartbeat_ms) {
      this.#impostorHeartbeat_ms = now_ms + HEARTBEAT_MS
      this.#send(this.#impostor.write(heartbeatOf(minimal.MavType.ONBOARD_CONTROLLER)), now_ms)
    }
    for (const frame of this.#twin?.step(now_ms) ?? []) this.#send(frame, now_ms)
  }

  /** Another vehicle with the same ids, somewhere else, from now on: with a boot time and sequence numbers of its own. */
  #newTwin(): SimulatedVehicle {
    const { home, seed = 1, signing, ...options } = this.#options
    return new SimulatedVehicle({
      ...options,
      home: placeAt(home, { north: TWIN_AWAY_M, east: 0, down: 0 }),
      seed: seed + 1,
      readyAfter_ms: 0,
      stream_ms: TWIN_STREAM_MS,
      groundStation: false,
      ...(signing !== undefined && { signing: { ...signing, linkId: (signing.linkId + 1) & 0xff } }),
    })
  }

  /** A ground station that sends the vehicle elsewhere, inside whatever mode takes targets. */
  #intrude(now_ms: number): void {
    if (this.#intruder === undefined || now_ms < this.#intrusion_ms) return
    this.#intrusion_ms = now_ms + INTRUSION_MS
    const { MavFrame } = common
    const target = message(common.SetPositionTargetLocalNed, {
      timeBootMs: 0,
      targetSystem: this.#system,
      targetComponent: COMPONENT,
      coordinateFrame: MavFrame.LOCAL_NED,
      typeMask: 0x0df8 as number,
      x: this.#intruder.north,
      y: this.#intruder.east,
      z: this.#airframe.body.position.down,
      vx: 0,
      vy: 0,
      vz: 0,
      afx: 0,
      afy: 0,
      afz: 0,
      yaw: 0,
      yawRate: 0,
    })
    const frame = this.#groundStation.write(target)
    this.#target(
      target,
      { ...GROUND_STATION, id: common.SetPositionTargetLocalNed.MSG_ID, signed: false, message: target },
      frame,
      now_ms,
    )
  }

  #see(now_ms: number): Sight {
    const wander = this.#wander(now_ms)
    const { position, velocity } = this.#airframe.body
    const local = {
      north: position.north + wander.position.north,
      east: position.east + wander.position.east,
      down: position.down + wander.position.down,
    }
    return {
      place: placeAt(this.#airframe.origin, local),
      local,
      velocity: {
        north: velocity.north + wander.velocity.north,
        east: velocity.east + wander.velocity.east,
        down: velocity.down + wander.velocity.down,
      },
    }
  }

  /** Slow waves over the estimate, on the ground a quarter as high: position (m) and what it does to the velocity (m/s). */
  #wander(now_ms: number): { position: Vector; velocity: Vector } {
    const scale = 0.25 + 0.75 * Math.min(1, this.#airframe.body.height_m)
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

function acknowledgement(command: number, result: number, to: { readonly system: number; readonly component: number }) {
  return message(common.CommandAck, {
    command,
    result,
    progress: 0,
    resultParam2: 0,
    targetSystem: to.system,
    targetComponent: to.component,
  })
}

function heartbeatOf(type: minimal.MavType): minimal.Heartbeat {
  return message(minimal.Heartbeat, {
    type,
    autopilot: minimal.MavAutopilot.INVALID,
    baseMode: 0 as number,
    customMode: 0,
    systemStatus: minimal.MavState.ACTIVE,
    mavlinkVersion: 3,
  })
}

/** Every floating-point field is no number any more. */
function breakNumbers(data: MavLinkData): void {
  const { FIELDS } = data.constructor as MavLinkDataConstructor<MavLinkData>
  for (const { name, type } of FIELDS) if (type === 'float') Object.assign(data, { [name]: Number.NaN })
}
