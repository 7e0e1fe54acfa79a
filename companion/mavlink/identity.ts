// Who the vehicle is: the autopilot that the configuration names, or the first good one, and then that one for as long as the
// process lives (PROTOCOL 11). Whoever else speaks is passed by, and told once.

import { fieldOf, layout } from '../../src/autopilot/frame.ts'
import type { Profile } from '../../src/autopilot/profile.ts'
import { autopilotKind, vehicleType } from '../../src/autopilot/vehicle-type.ts'
import type { Frame } from './framer.ts'

const HEARTBEAT = layout('HEARTBEAT').id
const AUTOPILOT_COMPONENT = 1
/** MAV_AUTOPILOT_INVALID: no autopilot, and says so. */
const NO_AUTOPILOT = 8
/** When another autopilot speaks, ours is missed after such a silence. */
const SILENCE_ms = 3000
/** So many others are told. */
const TOLD_MAX = 64

const at = {
  type: fieldOf('HEARTBEAT', 'type').offset,
  autopilot: fieldOf('HEARTBEAT', 'autopilot').offset,
}

export interface IdentityListener {
  warn(text: string): void
  alarm(text: string): void
}

export class Identity {
  readonly #profile: Profile
  readonly #listener: IdentityListener
  /** MAVLink system id of the vehicle; undefined until one was found, where none was configured. */
  #system: number | undefined
  #found = false
  #heard_ms = -Infinity
  readonly #told = new Set<string>()
  /** Systems that spoke while ours was silent: once in each silence. */
  readonly #alarmed = new Set<number>()

  constructor(profile: Profile, system: number | undefined, listener: IdentityListener) {
    this.#profile = profile
    this.#system = system
    this.#listener = listener
  }

  get found(): boolean {
    return this.#found
  }

  /** Its ids are the autopilot's, once that was found; whether it speaks for it is another question. */
  has({ system, component }: Frame): boolean {
    return this.#found && system === this.#system && component === AUTOPILOT_COMPONENT
  }

  /** A frame of the autopilot's ids was received. */
  heard(received_ms: number): void {
    this.#heard_ms = received_ms
    this.#alarmed.clear()
  }

  /** The HEARTBEAT of an autopilot that the profile flies, and of the vehicle once that is known. */
  recognises(frame: Frame): boolean {
    return this.#isFlown(frame) && (this.#system === undefined || frame.system === this.#system)
  }

  /** True for the one frame by which the vehicle is found. Others are told. */
  finds(frame: Frame, received_ms: number): boolean {
    if (frame.message !== HEARTBEAT) return false
    if (!this.recognises(frame)) {
      this.#passBy(frame, received_ms)
      return false
    }
    if (this.#found) return false
    this.#system = frame.system
    this.#found = true
    this.#heard_ms = received_ms
    return true
  }

  #isFlown({ message, system, component, payload }: Frame): boolean {
    const { autopilot, types } = this.#profile
    // System 0 is everybody: what was sent to it, every vehicle on the link would take for its own.
    if (message !== HEARTBEAT || system === 0 || component !== AUTOPILOT_COMPONENT) return false
    return payload[at.autopilot] === autopilot && types.includes(payload[at.type]!)
  }

  #passBy(frame: Frame, received_ms: number): void {
    const { system, component, payload } = frame
    const [type, autopilot] = [payload[at.type]!, payload[at.autopilot]!]
    if (autopilot === NO_AUTOPILOT) return
    const what = `${system}/${component} is a ${vehicleType(type)} of ${autopilotKind(autopilot)}`
    const isRival = this.#isFlown(frame) && this.#found && received_ms - this.#heard_ms >= SILENCE_ms
    if (isRival && !this.#alarmed.has(system)) {
      this.#alarmed.add(system)
      this.#listener.alarm(`another autopilot speaks while the vehicle, ${this.#system}/1, is silent: ${what}`)
    }
    const key = `${system}/${component}/${type}/${autopilot}`
    if (this.#told.has(key) || this.#told.size >= TOLD_MAX) return
    this.#told.add(key)
    this.#listener.warn(`${what}, and is passed by: ${this.#advice(frame)}`)
  }

  /** Why it is not the vehicle, and what to set where it should be. */
  #advice({ system, component, payload }: Frame): string {
    const { name, autopilot, types } = this.#profile
    if (payload[at.autopilot] !== autopilot) {
      return `the catalog's vehicle, ${name}, is of ${autopilotKind(autopilot)}; name another in the catalog`
    }
    if (system === 0) return 'system 0 is everybody; set a system id from 1 to 255 on the autopilot'
    if (component !== AUTOPILOT_COMPONENT) return "a vehicle's autopilot is component 1; set that on it if it is one"
    if (!types.includes(payload[at.type]!)) return `${name} flies ${types.map(vehicleType).join(', ')}`
    return `the vehicle is system ${this.#system}; set mavlink.system to ${system} if it should be this one`
  }
}
