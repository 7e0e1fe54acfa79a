// Recordings for the tests: fixtures of this repository, what node-mavlink ships, and longer flights where they are at hand.

import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Frame, Framer } from '../../../companion/mavlink/framer.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const shared = `${root}../shared/data/`

export const fixture = (name: string): string => `${root}test/fixtures/${name}.tlog`
export const vtol = `${root}node_modules/node-mavlink/examples/vtol.tlog`
export const packets = `${root}node_modules/node-mavlink/examples/mavlink-v2-3412-packets.bin`

export const px4Fixtures = ['px4-nominal', 'px4-gps-loss', 'px4-takeover', 'px4-reboot'].map(fixture)

export const ardupilotFixtures = ['ardupilot-nominal', 'ardupilot-takeover'].map(fixture)

/** Whole flights that are not part of this repository; none, and a line that says so, where they are absent. */
export function wholeFlights(): string[] {
  if (!existsSync(shared)) {
    console.log(`skipped: no recordings in ${shared}`)
    return []
  }
  return readdirSync(shared)
    .filter((name) => name.endsWith('.tlog'))
    .map((name) => shared + name)
}

/** The recorded companion asked for no rates: the estimator spoke once a second. */
export const RECORDED_AGES = px4Multirotor.fields.map(({ name, maxAge_ms }) => ({
  maxAge_ms: name === 'estimator.ok' ? 2500 : maxAge_ms,
}))

/** The frames of a recording, and when each came, ms from the first. */
export function* frames(path: string): Generator<{ readonly at_ms: number; readonly frame: Frame }> {
  const framer = new Framer()
  let start_us: number | undefined
  for (const { time_us, bytes } of readTlog(path)) {
    start_us ??= time_us
    for (const frame of framer.datagram(bytes)) yield { at_ms: (time_us - start_us) / 1e3, frame }
  }
}

/** The header of a frame, read here without the code under test. */
export function header(frame: Uint8Array): { message: number; system: number; component: number } {
  return frame[0] === 0xfd
    ? { message: frame[7]! | (frame[8]! << 8) | (frame[9]! << 16), system: frame[5]!, component: frame[6]! }
    : { message: frame[5]!, system: frame[3]!, component: frame[4]! }
}
