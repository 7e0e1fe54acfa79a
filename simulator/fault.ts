// What can be done to the simulated vehicle while it flies, as lines that a person can type.

import { ardupilotmega, common, minimal } from 'node-mavlink'
import { COPTER_MODE_NAMES } from './copter-mode.ts'
import { PX4_MODE_NAMES } from './mode.ts'
import type { VehicleMode } from './observation.ts'

export type Fault =
  | { readonly kind: 'battery'; readonly percent: number }
  | { readonly kind: 'gps'; readonly on: boolean }
  /** Whether the pilot's transmitter is heard. */
  | { readonly kind: 'rc'; readonly on: boolean }
  /** The pilot's mode switch, by the autopilot's own name of the mode. */
  | { readonly kind: 'pilot'; readonly mode: VehicleMode }
  /** Sticks held down: nothing in Offboard and GUIDED, a descent in the pilot's modes. */
  | { readonly kind: 'sticks'; readonly on: boolean }
  /** The position, and with it the estimate, is this much farther north at once. */
  | { readonly kind: 'jump'; readonly distance_m: number }
  /** The autopilot is killed and started again: on the ground, disarmed, boot time from zero, message intervals gone. */
  | { readonly kind: 'reboot' }
  /** The vehicle sends nothing for this long; it still hears. */
  | { readonly kind: 'silence'; readonly duration_ms: number }
  /** No message of this MAVLink name for this long; 0 ends it. */
  | { readonly kind: 'mute'; readonly message: string; readonly duration_ms: number }
  /** The floating-point fields of this message are NaN for this long; 0 ends it. */
  | { readonly kind: 'nan'; readonly message: string; readonly duration_ms: number }
  /** The next `count` acknowledgements are lost; what they acknowledge has its effect. */
  | { readonly kind: 'ack_lost'; readonly count: number }
  /** Every acknowledgement from now on comes this much later; 0 ends it. */
  | { readonly kind: 'ack_late'; readonly delay_ms: number }
  /** The next `count` acknowledgements come a second time. */
  | { readonly kind: 'ack_twice'; readonly count: number }
  /** The command of this id is first acknowledged as in progress, and a second later for good; 0 ends it. */
  | { readonly kind: 'ack_progress'; readonly command: number }
  /** An acknowledgement of this command to a ground station, which nobody here has sent. */
  | { readonly kind: 'ack_other'; readonly command: number; readonly result: number }
  /** The command of this id is answered with this MAV_RESULT and has no effect; 0 ends it. */
  | { readonly kind: 'refuse'; readonly command: number; readonly result: number }
  /** HEARTBEAT shows a critical system. */
  | { readonly kind: 'critical'; readonly on: boolean }
  /** Another program that sends heartbeats with the companion's own ids. */
  | { readonly kind: 'impostor'; readonly on: boolean }
  /** A second autopilot with the same ids, elsewhere, with its own boot time and sequence numbers. */
  | { readonly kind: 'twin'; readonly on: boolean }
  /**
   * A ground station sends targets, ten a second: m north and east of where the vehicle stood first, at its height. It flies
   * there; ArduPilot reports it, PX4 where the option `offboardTarget` says so. Undefined: no more.
   */
  | { readonly kind: 'intruder'; readonly target: { readonly north: number; readonly east: number } | undefined }

const MODE_NAMES: readonly VehicleMode[] = [...new Set([...PX4_MODE_NAMES, ...COPTER_MODE_NAMES])]
const MESSAGES = [minimal.REGISTRY, common.REGISTRY, ardupilotmega.REGISTRY].flatMap((registry) =>
  Object.values(registry),
)
/** As long as a fault can last. */
const LONGEST_S = 3600

/** One line a fault, for a prompt. */
export const FAULT_USAGE: readonly string[] = [
  'battery <percent>',
  'gps on|off',
  'rc on|off',
  'pilot <mode>',
  'sticks on|off',
  'jump <m>',
  'reboot',
  'silence <seconds>',
  'mute <MESSAGE_NAME> <seconds>',
  'nan <MESSAGE_NAME> [seconds]',
  'ack lost <count>',
  'ack late <ms>',
  'ack twice <count>',
  'ack progress <command id>',
  'ack other <command id> <result>',
  'refuse <command id> <result>',
  'critical on|off',
  'impostor on|off',
  'twin on|off',
  'intruder <north m> <east m>|off',
]

/** The fault that a line names. Throws an Error that names the word, its place and what would be accepted. */
export function parseFault(line: string): Fault {
  const words = line.trim().split(/\s+/)
  const [first = '', second = '', third = '', fourth = ''] = words
  const take = (count: number): void => {
    if (words.length !== count) {
      const usage = FAULT_USAGE.find((entry) => entry.startsWith(second !== '' ? `${first} ${second}` : first))
      const expected = usage ?? FAULT_USAGE.find((entry) => entry.startsWith(first))
      throw new Error(`fault "${first}" takes ${count - 1} words, got ${words.length - 1}: ${expected}`)
    }
  }
  const number = (word: string, name: string, min: number, max: number, integer = false): number => {
    const value = Number(word)
    if (word === '' || !(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
      throw new Error(
        `fault "${first}": ${name} must be ${integer ? 'an integer' : 'a number'} from ${min} to ${max}, got "${word}"`,
      )
    }
    return value
  }
  const message = (): string => {
    const found = MESSAGES.find(({ MSG_NAME }) => MSG_NAME === second)
    if (found === undefined) throw new Error(`fault "${first}": unknown message "${second}"`)
    if (first === 'nan' && !found.FIELDS.some(({ type }) => type === 'float')) {
      throw new Error(`fault "nan": ${second} has no floating-point field`)
    }
    return second
  }
  const commandId = (word: string): number => number(word, 'command id', 0, 65_535, true)
  const on = (): boolean => {
    take(2)
    if (second !== 'on' && second !== 'off') throw new Error(`fault "${first}": expected on or off, got "${second}"`)
    return second === 'on'
  }

  switch (first) {
    case 'battery':
      take(2)
      return { kind: 'battery', percent: number(second, 'percent', 0, 100) }
    case 'gps':
    case 'rc':
    case 'sticks':
    case 'critical':
    case 'impostor':
    case 'twin':
      return { kind: first, on: on() }
    case 'pilot': {
      take(2)
      const mode = MODE_NAMES.find((name) => name === second.toUpperCase())
      if (mode === undefined)
        throw new Error(`fault "pilot": unknown mode "${second}", one of ${MODE_NAMES.join(', ')}`)
      return { kind: 'pilot', mode }
    }
    case 'jump':
      take(2)
      return { kind: 'jump', distance_m: number(second, 'm', -100_000, 100_000) }
    case 'intruder':
      if (second === 'off') {
        take(2)
        return { kind: 'intruder', target: undefined }
      }
      take(3)
      return {
        kind: 'intruder',
        target: { north: number(second, 'north', -1e6, 1e6), east: number(third, 'east', -1e6, 1e6) },
      }
    case 'mute':
      take(3)
      return { kind: 'mute', message: message(), duration_ms: number(third, 'seconds', 0, LONGEST_S) * 1000 }
    case 'nan': {
      if (words.length !== 2) take(3)
      const seconds = words.length === 2 ? LONGEST_S : number(third, 'seconds', 0, LONGEST_S)
      return { kind: 'nan', message: message(), duration_ms: seconds * 1000 }
    }
    case 'reboot':
      take(1)
      return { kind: 'reboot' }
    case 'silence':
      take(2)
      return { kind: 'silence', duration_ms: number(second, 'seconds', 0, LONGEST_S) * 1000 }
    case 'ack':
      take(second === 'other' ? 4 : 3)
      if (second === 'twice') return { kind: 'ack_twice', count: number(third, 'count', 0, 1000, true) }
      if (second === 'progress') return { kind: 'ack_progress', command: commandId(third) }
      if (second === 'other') {
        return { kind: 'ack_other', command: commandId(third), result: number(fourth, 'result', 0, 255, true) }
      }
      if (second === 'lost') return { kind: 'ack_lost', count: number(third, 'count', 0, 1000, true) }
      if (second === 'late') return { kind: 'ack_late', delay_ms: number(third, 'ms', 0, 60_000) }
      throw new Error(`fault "ack": expected lost, late, twice, progress or other, got "${second}"`)
    case 'refuse':
      take(3)
      return { kind: 'refuse', command: commandId(second), result: number(third, 'result', 0, 255, true) }
    default:
      throw new Error(`unknown fault "${first}", one of: ${FAULT_USAGE.join('; ')}`)
  }
}
