// What an autopilot says against arming, read from its STATUSTEXT: "PreArm: ..." and "Arm: ..." (ArduPilot), "Preflight Fail: ..."
// and "Arming denied: ..." (PX4).

import { layout } from '../autopilot/frame.ts'

const STATUSTEXT = layout('STATUSTEXT').id
/** Behind the severity. A longer text comes in several messages, of which the first says enough. */
const [TEXT_AT, TEXT_BYTES, CHUNK_AT] = [1, 50, 53]
const OBJECTS = /^(PreArm|Arm|Preflight Fail|Arming denied)\s*[:!]\s*\S/i
const UNPRINTABLE = /[\p{Cc}\p{Cf}\ufffd]+/gu

/** The words of a message that objects to arming; undefined of any other. `payload` is whole, zero-extended. */
export function objectionIn(message: number, payload: Uint8Array): string | undefined {
  if (message !== STATUSTEXT || payload[CHUNK_AT] !== 0) return undefined
  const text = payload.subarray(TEXT_AT, TEXT_AT + TEXT_BYTES)
  const end = text.indexOf(0)
  const words = Buffer.from(end < 0 ? text : text.subarray(0, end))
    .toString('utf8')
    .replace(UNPRINTABLE, '')
    .trim()
  return OBJECTS.test(words) ? words : undefined
}
