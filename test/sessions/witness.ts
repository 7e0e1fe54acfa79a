// The witness: it sees every frame that the companion sends, in the order of the wire, and hears on MQTT what HALO says of its
// instances. From both it counts what must not be.
//
// A setpoint is *stale* unless, as it passes the tap, it belongs to the one instance that may fly. It is stale if
//
//   - foreign: its target (latitude, longitude, height) is that of no instance that the agent has asked for; or of one that a
//     later response has replaced;
//   - denied: its instance never was dispatched. Counted back: frames that came before the denial was heard are stale too;
//   - late: its lease has ended, with whatever outcome. The outcome comes over another socket than the frames, so it counts from
//     two turns of this process's event loop after it was heard: every frame sent before it has been read by then;
//   - altered: it differs from the first frame of its lease in anything but MAVLink's time stamp (G2).
//
// Any message that demands motion and is no position target that the witness can compare is foreign.

import { common } from 'node-mavlink'
import type { Incoming } from '../../simulator/frame.ts'
import type { Profile } from '../../src/autopilot/profile.ts'
import type { Autopilot } from './tap.ts'

/** What an agent asked for: the target of one instance. */
export interface Asked {
  readonly component: string
  readonly generation: number
  /** deg, deg, m above home. */
  readonly lat: number
  readonly lon: number
  readonly alt: number
  /** Home's height as the agent saw it, m. */
  readonly amsl: number
}

/** As published on `outcome/<agent>`. */
export interface Outcome {
  readonly component: string
  readonly generation: number
  readonly phase: string
}

interface Instance extends Asked {
  /** Frames of its target while nothing else was wrong with them. */
  frames: number
  /** The first frame of its lease, without its time stamp. */
  first: string | undefined
  firstAt_ms: number | undefined
  dispatched: boolean
  ended: boolean
}

const DEGREES = 1e-7
/** Home may move by a metre while a setpoint flies (PROTOCOL 3, `tolerance`). */
const HEIGHT_M = 1.5
const RELATIVE_FRAMES = [3, 6, 10, 11]
const RUNNING = ['retained', 'dispatched', 'acknowledged']
const MODES_OF: Readonly<Record<number, 'TAKEOFF' | 'LAND' | 'RETURN'>> = { 20: 'RETURN', 21: 'LAND', 22: 'TAKEOFF' }
const DO_SET_MODE = 176
const PX4 = 12
const MOTIONS = [
  common.SetPositionTargetLocalNed,
  common.SetAttitudeTarget,
  common.SetActuatorControlTarget,
  common.ManualControl,
  common.RcChannelsOverride,
]

export class Witness {
  /** Setpoints in all. */
  setpoints = 0
  /** Commands that change the mode, and those of them sent while the mode was not ours. */
  modeCommands = 0
  intrusions = 0
  #foreign = 0
  #late = 0
  #altered = 0
  readonly #profile: Profile
  readonly #instances: Instance[] = []
  /** Modes that the companion has asked for, and HOLD (PROTOCOL 8, mode guard). */
  readonly #ours = new Set(['HOLD'])

  constructor(profile: Profile) {
    this.#profile = profile
  }

  /** The agent is about to say this; what it said of that component before is replaced. */
  ask(asked: Asked): void {
    const replaced = this.#instances.findLast((instance) => instance.component === asked.component)
    if (replaced !== undefined) replaced.ended = true
    this.#instances.push({
      ...asked,
      frames: 0,
      first: undefined,
      firstAt_ms: undefined,
      dispatched: false,
      ended: false,
    })
  }

  outcome({ component, generation, phase }: Outcome): void {
    const instance = this.#instances.find((i) => i.component === component && i.generation === generation)
    if (instance === undefined) return
    if (phase === 'dispatched') instance.dispatched = true
    if (RUNNING.includes(phase)) return
    setImmediate(() => setImmediate(() => (instance.ended = true)))
  }

  /** A frame of the companion, and what the autopilot had said by then. */
  frame({ message }: Incoming, autopilot: Autopilot | undefined, at_ms: number): void {
    if (message instanceof common.SetPositionTargetGlobalInt) this.#target(message, at_ms)
    else if (MOTIONS.some((type) => message instanceof type)) {
      this.setpoints++
      this.#foreign++
    } else if (message instanceof common.CommandLong) this.#command(message, autopilot)
    else if (message instanceof common.CommandInt) this.#command(message, autopilot)
  }

  #target(target: common.SetPositionTargetGlobalInt, at_ms: number): void {
    this.setpoints++
    const instance = this.#instances.findLast((i) => isOf(target, i))
    const same = JSON.stringify({ ...target, timeBootMs: 0 })
    if (instance === undefined) this.#foreign++
    else if (instance.ended) this.#late++
    else if (instance.first !== undefined && instance.first !== same) this.#altered++
    else {
      instance.frames++
      instance.first = same
      instance.firstAt_ms ??= at_ms
    }
  }

  #command({ command, _param2, _param3 }: common.CommandLong | common.CommandInt, autopilot?: Autopilot): void {
    if (command !== DO_SET_MODE && !(command in MODES_OF)) return
    this.modeCommands++
    if (autopilot?.armed && !this.#ours.has(this.#profile.mode(autopilot.mode) ?? 'OTHER')) this.intrusions++
    const mode = autopilot?.kind === PX4 ? _param2 * 2 ** 16 + _param3 * 2 ** 24 : _param2
    this.#ours.add(MODES_OF[command] ?? this.#profile.mode(mode) ?? 'OTHER')
  }

  get stale(): number {
    const denied = this.#instances.reduce((sum, { dispatched, frames }) => sum + (dispatched ? 0 : frames), 0)
    return this.#foreign + this.#late + this.#altered + denied
  }

  /** When the first setpoint of the newest instance passed; undefined while none has. */
  get firstSetpoint_ms(): number | undefined {
    return this.#instances.at(-1)?.firstAt_ms
  }
}

function isOf({ latInt, lonInt, alt, coordinateFrame }: common.SetPositionTargetGlobalInt, asked: Asked): boolean {
  const height = RELATIVE_FRAMES.includes(coordinateFrame) ? asked.alt : asked.amsl + asked.alt
  return (
    Math.abs(latInt * DEGREES - asked.lat) <= DEGREES &&
    Math.abs(lonInt * DEGREES - asked.lon) <= DEGREES &&
    Math.abs(alt - height) <= HEIGHT_M
  )
}
