// MAV_TYPE and MAV_AUTOPILOT in words: what a HEARTBEAT says that its sender is.

import { minimal } from 'node-mavlink'

/** Everything that flies on three rotors or more, none of them with a tail. */
const MULTIROTOR = ['QUADROTOR', 'COAXIAL', 'HEXAROTOR', 'OCTOROTOR', 'TRICOPTER', 'DODECAROTOR', 'DECAROTOR'] as const

/** MAV_TYPE of the multirotors. */
export const MULTIROTORS: readonly number[] = MULTIROTOR.map((name) => minimal.MavType[name])

/** `QUADROTOR (2)`; a number that MAVLink does not have stands alone. */
export const vehicleType = (type: number): string => word(minimal.MavType[type], type)

/** `PX4 (12)` */
export const autopilotKind = (autopilot: number): string => word(minimal.MavAutopilot[autopilot], autopilot)

const word = (name: string | undefined, number: number): string =>
  name === undefined ? `${number}` : `${name} (${number})`
