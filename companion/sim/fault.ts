// What can be done to the simulated vehicle while it flies, as lines that a person can type.

import { PX4_MODE_NAMES, type Px4Mode } from './mode.ts'

export type Fault =
  | { readonly kind: 'battery'; readonly percent: number }
  | { readonly kind: 'gps'; readonly on: boolean }
  /** The pilot's mode switch, or a ground station. */
  | { readonly kind: 'pilot'; readonly mode: Px4Mode }
  /** Sticks held down: nothing in Offboard, a descent in POSITION and ALTITUDE. */
  | { readonly kind: 'sticks'; readonly on: boolean }
  /** The autopilot is killed and started again: on the ground, disarmed, boot time from zero, message intervals gone. */
  | { readonly kind: 'reboot' }
  /** The vehicle sends nothing for this long; it still hears. */
  | { readonly kind: 'silence'; readonly duration_ms: number }
  /** The next `count` acknowledgements are lost; what they acknowledge has its effect. */
  | { readonly kind: 'ack_lost'; readonly count: number }
  /** Every acknowledgement from now on comes this much later; 0 ends it. */
  | { readonly kind: 'ack_late'; readonly delay_ms: number }
  /** The command of this id is answered with this MAV_RESULT and has no effect; 0 ends it. */
  | { readonly kind: 'refuse'; readonly command: number; readonly result: number }
  /** HEARTBEAT shows a critical system. */
  | { readonly kind: 'critical'; readonly on: boolean }

/** One line a fault, for a prompt. */
export const FAULT_USAGE: readonly string[] = [
  'battery <percent>',
  'gps on|off',
  `pilot ${PX4_MODE_NAMES.join('|')}`,
  'sticks on|off',
  'reboot',
  'silence <seconds>',
  'ack lost <count>',
  'ack late <ms>',
  'refuse <command id> <result>',
  'critical on|off',
]

/** The fault that a line names. Throws an Error that names the word, its place and what would be accepted. */
export function parseFault(line: string): Fault {
  const words = line.trim().split(/\s+/)
  const [first = '', second = '', third = ''] = words
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
    case 'sticks':
    case 'critical':
      return { kind: first, on: on() }
    case 'pilot': {
      take(2)
      const mode = PX4_MODE_NAMES.find((name) => name === second.toUpperCase())
      if (mode === undefined)
        throw new Error(`fault "pilot": unknown mode "${second}", one of ${PX4_MODE_NAMES.join(', ')}`)
      return { kind: 'pilot', mode }
    }
    case 'reboot':
      take(1)
      return { kind: 'reboot' }
    case 'silence':
      take(2)
      return { kind: 'silence', duration_ms: number(second, 'seconds', 0, 3600) * 1000 }
    case 'ack':
      take(3)
      if (second === 'lost') return { kind: 'ack_lost', count: number(third, 'count', 0, 1000, true) }
      if (second === 'late') return { kind: 'ack_late', delay_ms: number(third, 'ms', 0, 60_000) }
      throw new Error(`fault "ack": expected lost or late, got "${second}"`)
    case 'refuse':
      take(3)
      return {
        kind: 'refuse',
        command: number(second, 'command id', 0, 65_535, true),
        result: number(third, 'result', 0, 255, true),
      }
    default:
      throw new Error(`unknown fault "${first}", one of: ${FAULT_USAGE.join('; ')}`)
  }
}
