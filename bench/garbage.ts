// Garbage: 64 KiB of what is no good frame through the framer of a stream, as a TCP link or a broken cable brings it
// (companion/mavlink/framer.ts). The worst of each kind: markers, headers that are plausible, frames that fall short.

import { createHash } from 'node:crypto'
import { Adapter } from '../companion/adapter/adapter.ts'
import { Framer } from '../companion/mavlink/framer.ts'
import { layout } from '../src/autopilot/frame.ts'
import type { Work } from './work.ts'

const BYTES = 1 << 16
/** Of 10 MB/s no more than a fifth of a core: so much in 20 ms a MB. */
const TARGET_ms = (BYTES / 1e6) * 20

/** The pattern over and over. */
function filled(...pattern: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: BYTES }, (_, i) => pattern[i % pattern.length]!)
}

/** The same bytes on every machine. */
function random(): Uint8Array {
  const bytes = new Uint8Array(BYTES)
  for (let at = 0; at < BYTES; at += 32) bytes.set(createHash('sha256').update(`${at}`).digest(), at)
  return bytes
}

/** A whole frame of ours. */
function frame(message: number, payload: Uint8Array): Uint8Array {
  let made = new Uint8Array(0)
  const adapter = new Adapter({
    transmit: (bytes) => {
      made = Uint8Array.from(bytes)
      return true
    },
  })
  adapter.address(1, 1)
  adapter.send({ message, payload })
  return made
}

/** A marker each `period` bytes behind which the header of a long message of MAVLink 1 stands. */
const headers = (message: string, period: number): Uint8Array => {
  const { id, lengthV1 } = layout(message)
  return filled(...[0xfe, lengthV1, 0, 1, 1, id, ...Array(period).fill(0)].slice(0, period))
}

export function garbage(): Work<Framer>[] {
  const full = (name: string): Uint8Array => frame(layout(name).id, new Uint8Array(layout(name).length).fill(0xaa))
  const kinds: Readonly<Record<string, Uint8Array>> = {
    'all 0xFE': filled(0xfe),
    'all 0xFD': filled(0xfd),
    zeros: filled(0),
    'random bytes': random(),
    'headers of MAVLink 1, 254 bytes claimed every 6': headers('FILE_TRANSFER_PROTOCOL', 6),
    'headers of MAVLink 1, each in the other: 3 bytes': filled(0xfe, 0x33, 0xfd),
    'headers of MAVLink 2, 255 bytes claimed every 10': filled(0xfd, 255, 0, 0, 0, 1, 1, 33, 0, 0),
    'headers of MAVLink 2, every 5': filled(0xfd, 255, 0, 0, 0),
    'unknown ids, 255 bytes claimed every 10': filled(0xfd, 255, 0, 0, 0, 1, 1, 0xff, 0xff, 0x7f),
    'half frames': filled(...full('FILE_TRANSFER_PROTOCOL').subarray(0, 130)),
    'frames with a wrong checksum': filled(...full('FILE_TRANSFER_PROTOCOL').subarray(0, -1), 0),
  }
  return Object.entries(kinds).map(([kind, bytes]) => {
    const framer = new Framer()
    return {
      name: `garbage: ${kind}`,
      bytes: BYTES,
      target_ms: TARGET_ms,
      run: () => {
        framer.stream(bytes)
        return framer
      },
      didIt: ({ decoded, junkBytes, unknownBytes }) => decoded === 0 && junkBytes + unknownBytes > 0,
    }
  })
}
