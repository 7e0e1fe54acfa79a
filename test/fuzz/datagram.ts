// MAVLink frames and the datagrams that they come in, made without the code under test.

import { ardupilotmega, common, minimal, standard, x25crc } from 'node-mavlink'
import type { Chance } from '../simulation/chance.ts'

interface Field {
  readonly offset: number
  readonly size: number
  readonly length: number
}
const endOf = ({ offset, size, length }: Field): number => offset + size * Math.max(1, length)

const messages = [minimal, standard, common, ardupilotmega].flatMap(({ REGISTRY }) => Object.values(REGISTRY))

/** Of every message its id, the bytes of its whole payload and of what MAVLink 1 carries of it, and its CRC_EXTRA. */
export const MESSAGES = [...new Map(messages.map((of) => [of.MSG_ID, of])).values()].map((of) => ({
  id: of.MSG_ID,
  length: of.PAYLOAD_LENGTH,
  lengthV1: Math.max(0, ...of.FIELDS.filter(({ extension }) => !extension).map(endOf)),
  crcExtra: of.MAGIC_NUMBER,
}))
const knownIds = new Set(MESSAGES.map(({ id }) => id))
const v1 = MESSAGES.filter(({ id }) => id < 256)

const V1 = 0xfe
const V2 = 0xfd
export const isMarker = (byte: number | undefined): boolean => byte === V1 || byte === V2
const SIGNATURE = 13

/** What the header of a frame that begins here claims; undefined where none begins, or it is cut. */
export function claimed(bytes: Uint8Array, at: number): { message: number; flags: number; end: number } | undefined {
  if (!isMarker(bytes[at])) return undefined
  const isV2 = bytes[at] === V2
  const header = isV2 ? 10 : 6
  if (at + header > bytes.length) return undefined
  const flags = isV2 ? bytes[at + 2]! : 0
  const end = at + header + bytes[at + 1]! + 2 + ((flags & 1) === 1 ? SIGNATURE : 0)
  const message = isV2 ? bytes[at + 7]! | (bytes[at + 8]! << 8) | (bytes[at + 9]! << 16) : bytes[at + 5]!
  return { message, flags, end }
}

interface Shape {
  readonly version: 1 | 2
  readonly id: number
  readonly payload: Uint8Array
  readonly crcExtra: number
  readonly flags?: number
}

function frame({ version, id, payload, crcExtra, flags = 0 }: Shape, chance: Chance): Uint8Array {
  const [sequence, system, component] = chance.bytes(3) as unknown as [number, number, number]
  const header =
    version === 2
      ? [V2, payload.length, flags, chance.int(0, 3), sequence, system, component, id & 255, (id >> 8) & 255, id >> 16]
      : [V1, payload.length, sequence, system, component, id]
  const checked = Buffer.from([...header, ...payload])
  const crc = x25crc(checked, 1, 0, crcExtra)
  const signature = (flags & 1) === 1 ? chance.bytes(SIGNATURE) : []
  return Uint8Array.from([...checked, crc & 255, crc >> 8, ...signature])
}

/** Random mostly; zeros at the end, as MAVLink 2 cuts them; now and then full of what looks like frames. */
function drawPayload(length: number, chance: Chance): Uint8Array {
  const payload = chance.happens(0.1)
    ? Uint8Array.from({ length }, () => chance.pick([V1, V2, 0, 1, 9]))
    : chance.bytes(length)
  if (chance.happens(0.2)) payload.fill(0, chance.int(0, length))
  return payload
}

/** A frame that any reader with these messages must take. */
export function drawGood(chance: Chance): Uint8Array {
  const version = chance.happens(0.3) ? 1 : 2
  const { id, length: whole, lengthV1, crcExtra } = chance.pick(version === 1 ? v1 : MESSAGES)
  const length = version === 1 ? lengthV1 : whole
  let payload = drawPayload(length, chance)
  if (version === 2) {
    let end = Math.max(1, length)
    while (end > 1 && payload[end - 1] === 0 && chance.happens(0.98)) end--
    payload = payload.slice(0, end)
  }
  // Longer than we know it: a later version of the message, with extensions that we do not have.
  if (version === 2 && length < 250 && chance.happens(0.05)) {
    payload = Uint8Array.from([...drawPayload(length, chance), ...chance.bytes(chance.int(1, 5))])
  }
  return frame({ version, id, payload, crcExtra, flags: version === 2 && chance.happens(0.15) ? 1 : 0 }, chance)
}

/** A frame of an id that nobody has, with whatever as its checksum. */
function drawUnknown(chance: Chance): Uint8Array {
  let id: number
  do id = chance.int(0, 0xffffff)
  while (knownIds.has(id))
  return frame({ version: 2, id, payload: chance.bytes(chance.int(0, 40)), crcExtra: chance.int(0, 255) }, chance)
}

/** A frame with something wrong that no checksum mends. */
function drawBad(chance: Chance): Uint8Array {
  const bytes = drawGood(chance)
  const { id, length, crcExtra } = chance.pick(MESSAGES)
  const payload = drawPayload(length, chance)
  switch (chance.int(0, 4)) {
    case 0: // a bit
      bytes[chance.int(0, bytes.length - 1)]! ^= 1 << chance.int(0, 7)
      return bytes
    case 1: // cut
      return bytes.subarray(0, chance.int(1, bytes.length - 1))
    case 2: // spliced
      return Uint8Array.from([
        ...bytes.subarray(0, chance.int(1, bytes.length)),
        ...drawGood(chance).subarray(chance.int(1, 8)),
      ])
    case 3: // of a definition that is not ours
      return frame({ version: 2, id, payload, crcExtra: crcExtra ^ chance.int(1, 255) }, chance)
    default: // an incompatibility that we do not know
      return frame({ version: 2, id, payload, crcExtra, flags: 1 << chance.int(1, 7) }, chance)
  }
}

const drawJunk = (chance: Chance): Uint8Array =>
  Uint8Array.from({ length: chance.int(1, 20) }, () =>
    chance.happens(0.2) ? chance.pick([V1, V2]) : chance.int(0, 255),
  )

export interface Datagram {
  readonly bytes: Uint8Array
  /** The good frames in it: where they begin and end. */
  readonly good: readonly { readonly begin: number; readonly end: number }[]
  readonly made: string
}

/** One frame mostly, as autopilots send it; several, with others between them, now and then. */
export function drawDatagram(chance: Chance): Datagram {
  const good: { begin: number; end: number }[] = []
  const parts: Uint8Array[] = []
  let length = 0
  const add = (part: Uint8Array): void => {
    parts.push(part)
    length += part.length
  }
  const kinds = ['good', 'good', 'good', 'bad', 'bad', 'unknown', 'junk'] as const
  const count = chance.happens(0.5) ? 1 : chance.int(2, 6)
  const what = Array.from({ length: count }, () => chance.pick(kinds))
  for (const kind of what) {
    const begin = length
    if (kind === 'good') {
      add(drawGood(chance))
      good.push({ begin, end: length })
    } else add(kind === 'bad' ? drawBad(chance) : kind === 'unknown' ? drawUnknown(chance) : drawJunk(chance))
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return { bytes, good, made: count === 1 ? what[0]! : 'several' }
}
