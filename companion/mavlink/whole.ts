// What a sender has left out of a frame with a right checksum.
//
// MAVLink 2 cuts zeros at a payload's end, so what was never said reads as zero: a HEARTBEAT that breaks off behind its kind is
// that of a disarmed vehicle. Some messages end in a field that is zero in no whole one, and tell by it.

import { fieldOf, layout } from '../../src/autopilot/frame.ts'
import type { Frame } from './framer.ts'

const LAST: ReadonlyMap<number, number> = new Map(
  [
    ['HEARTBEAT', 'mavlink_version'],
    ['PARAM_VALUE', 'param_type'],
  ].map(([message, field]) => [layout(message!).id, fieldOf(message!, field!).offset]),
)

/** False for a message that is known to have been cut before its end. */
export function isWhole({ message, payload }: Pick<Frame, 'message' | 'payload'>): boolean {
  const last = LAST.get(message)
  return last === undefined || payload[last] !== 0
}
