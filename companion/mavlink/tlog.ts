// Telemetry logs: [8-byte big-endian µs since 1970][MAVLink frame], repeated; one frame a datagram.

import { readFileSync } from 'node:fs'

export interface Record {
  readonly time_us: number
  /** One frame as it was on the wire. */
  readonly bytes: Uint8Array
}

/** The records of a log; one that is cut off at the end, as by a power loss, is left out. Throws where no frame begins. */
export function* readTlog(path: string): Generator<Record> {
  const log = readFileSync(path)
  let at = 0
  while (at + 11 <= log.length) {
    const time_us = Number(log.readBigUInt64BE(at))
    const start = at + 8
    const marker = log[start]
    if (marker !== 0xfd && marker !== 0xfe) throw new Error(`${path}: no frame follows the time stamp at byte ${at}`)
    const signed = marker === 0xfd && (log[start + 2]! & 1) !== 0
    const end = start + (marker === 0xfd ? 12 : 8) + log[start + 1]! + (signed ? 13 : 0)
    if (end > log.length) return
    yield { time_us, bytes: log.subarray(start, end) }
    at = end
  }
}
