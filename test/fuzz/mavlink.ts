// The MAVLink door: from a datagram, or from pieces of a stream, to frames (G5).
//
// Each frame that it takes is one for node-mavlink's own reader, with the same header and payload, and stands in the bytes,
// in order and without overlap; each that was made good is found; no byte is lost count of. It never throws.

import { isDeepStrictEqual } from 'node:util'
import { type MavLinkPacket, MavLinkPacketParser, MavLinkPacketSplitter } from 'node-mavlink'
import { type Frame, Framer } from '../../companion/mavlink/framer.ts'
import type { Chance } from '../simulation/chance.ts'
import { claimed, type Datagram, drawDatagram, isMarker, MESSAGES } from './datagram.ts'
import { type Door, Flaw, type Offered } from './run.ts'

const lengths = new Map(MESSAGES.map(({ id, length }) => [id, length]))

/** node-mavlink's streams, given one frame at a time: what they say of it, or undefined. */
class Peer {
  #splitter = new MavLinkPacketSplitter()
  readonly #parser = new MavLinkPacketParser()

  read(bytes: Uint8Array): MavLinkPacket | undefined {
    this.#splitter.write(Buffer.from(bytes))
    const split = this.#splitter.read() as { buffer: Buffer } | null
    if (split === null || split.buffer.length !== bytes.length || this.#splitter.read() !== null) {
      this.#splitter = new MavLinkPacketSplitter() // what it keeps of this must not meet the next one
      return undefined
    }
    this.#parser.write(split)
    return this.#parser.read() as MavLinkPacket
  }
}

/** Is it what node-mavlink reads? Its payloads have 255 bytes, ours the message's. */
function agrees(frame: Frame, { header, payload, signature }: MavLinkPacket, version: 1 | 2): boolean {
  return (
    frame.version === version &&
    frame.message === header.msgid &&
    frame.system === header.sysid &&
    frame.component === header.compid &&
    frame.sequence === header.seq &&
    frame.signed === (signature !== null) &&
    frame.payload.length === lengths.get(header.msgid) &&
    frame.payload.every((byte, i) => byte === payload[i])
  )
}

const peer = new Peer()

/** What node-mavlink reads at this place of the bytes, or undefined: a frame with unknown flags is none, though it reads it. */
function readAt(bytes: Uint8Array, at: number): { packet: MavLinkPacket; end: number } | undefined {
  const claim = claimed(bytes, at)
  if (claim === undefined || claim.end > bytes.length || claim.flags > 1) return undefined
  const packet = peer.read(bytes.subarray(at, claim.end))
  return packet && { packet, end: claim.end }
}

/** Where the frames stand in the bytes, in order and without overlap; throws where one does not. */
function placesOf(frames: readonly Frame[], bytes: Uint8Array): Set<number> {
  const places = new Set<number>()
  let at = 0
  for (const frame of frames) {
    let end: number | undefined
    for (; end === undefined; at++) {
      if (at === bytes.length) throw new Flaw(`took what node-mavlink does not: ${JSON.stringify(frame)}`, bytes)
      const read = claimed(bytes, at)?.message === frame.message ? readAt(bytes, at) : undefined
      if (read === undefined || !agrees(frame, read.packet, bytes[at] === 0xfd ? 2 : 1)) continue
      places.add(at)
      end = read.end
    }
    at = end
  }
  return places
}

/** Is there something before `begin` that reaches into it: another frame, or one of an unknown id that exactly fits? */
function isOverlapped(begin: number, bytes: Uint8Array): boolean {
  for (let at = 0; at < begin; at++) {
    const claim = claimed(bytes, at)
    if (claim === undefined || claim.end <= begin || claim.end > bytes.length || claim.flags > 1) continue
    const fits = claim.end === bytes.length || isMarker(bytes[claim.end])
    if (lengths.has(claim.message) ? readAt(bytes, at) !== undefined : fits) return true
  }
  return false
}

const PENDING_MAX = 10 + 255 + 2 + 13

/** Takes the bytes as a stream, in pieces; zeros behind them complete what they have only begun. */
function stream(framer: Framer, bytes: Uint8Array, chance: Chance): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = chance.pick([1, chance.int(1, 20), chance.int(1, 300)])
    frames.push(...framer.stream(bytes.subarray(at, at + size)))
    at += size
    if (framer.pending >= PENDING_MAX) throw new Flaw(`keeps ${framer.pending} bytes`, bytes)
  }
  if (framer.pending > 0) throw new Flaw(`keeps ${framer.pending} bytes behind ${PENDING_MAX} zeros`, bytes)
  return frames
}

function judge(framer: Framer, frames: readonly Frame[], { bytes, good }: Datagram): string[] {
  const places = placesOf(frames, bytes)
  const said = frames.map(({ version, signed }) => (signed ? 'a signed frame' : `a frame of version ${version}`))
  for (const { begin } of good) {
    if (places.has(begin)) continue
    if (!isOverlapped(begin, bytes)) throw new Flaw(`did not find the good frame at byte ${begin}`, bytes)
    said.push('a good frame lost to one that reaches into it')
  }
  const { decoded, frameBytes, unknownBytes, junkBytes, pending } = framer
  if (decoded !== frames.length) throw new Flaw(`counts ${decoded} frames of ${frames.length}`, bytes)
  if (framer.bytes !== bytes.length || frameBytes + unknownBytes + junkBytes + pending !== bytes.length)
    throw new Flaw('lost count of bytes', bytes)
  if (framer.badCrc > 0) said.push('bad checksum')
  if (framer.badFlags > 0) said.push('unknown flags')
  if (framer.unknown > 0) said.push('unknown message')
  if (junkBytes > 0) said.push('junk')
  return said
}

export const mavlink: Door = {
  name: 'MAVLink',
  words: [
    'a frame of version 1',
    'a frame of version 2',
    'a signed frame',
    'bad checksum',
    'unknown flags',
    'unknown message',
    'junk',
  ],
  offer(chance: Chance): Offered {
    const datagram = drawDatagram(chance)
    const framer = new Framer()
    if (chance.happens(0.6)) {
      const frames = framer.datagram(datagram.bytes)
      return { made: datagram.made, said: judge(framer, frames, datagram), accepted: frames.length }
    }
    const bytes = Uint8Array.from([...datagram.bytes, ...Array(PENDING_MAX).fill(0)])
    const frames = stream(framer, bytes, chance)
    if (!isDeepStrictEqual(frames, new Framer().datagram(bytes))) throw new Flaw('in pieces other than whole', bytes)
    return {
      made: `${datagram.made}, in pieces`,
      said: judge(framer, frames, { ...datagram, bytes }),
      accepted: frames.length,
    }
  },
}
