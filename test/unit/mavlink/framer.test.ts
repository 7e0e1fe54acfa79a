import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { MavLinkPacketSplitter } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { Checksums, checksum } from '../../../companion/mavlink/checksum.ts'
import { type Frame, Framer } from '../../../companion/mavlink/framer.ts'
import { readTlog } from '../../../companion/mavlink/tlog.ts'
import { layoutOf } from '../../../src/autopilot/frame.ts'
import { header, packets, px4Fixtures, vtol, wholeFlights } from './recording.ts'

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

// From the C library (see the adapter's test): message 84 of 1/191, and a MAVLink 1 heartbeat of a recording.
const GOOD = hex(
  'fd3500000001bf54000040e201000000c0ff00000000000000000000c03f000000c00000803e00000000000000000000000000000000cdcccc3dc70d010101d00f',
)
const first = (path: string, message: number): Uint8Array => {
  for (const record of readTlog(path))
    if (header(record.bytes).message === message) return Uint8Array.from(record.bytes)
  throw new Error(`${path} has no message ${message}`)
}
const V1 = first(vtol, 0)

function accounted(framer: Framer): void {
  expect(framer.frameBytes + framer.unknownBytes + framer.junkBytes + framer.pending).toBe(framer.bytes)
}

const join = (...parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(parts))

describe('framer, real recordings', () => {
  for (const path of [vtol, ...px4Fixtures, ...wholeFlights()]) {
    const name = path.split('/').slice(-1)[0]
    it(`accounts for every frame of ${name}`, () => {
      const framer = new Framer()
      let records = 0
      let undefinedIds = 0
      let wrongSender = 0
      for (const { bytes } of readTlog(path)) {
        records++
        const { message, system, component } = header(bytes)
        if (layoutOf(message) === undefined) undefinedIds++
        const frames = framer.datagram(bytes)
        if (frames.length > 1) throw new Error(`${frames.length} frames in one`)
        const frame = frames[0]
        if (frame === undefined) continue
        if (frame.message !== message || frame.system !== system || frame.component !== component) wrongSender++
      }
      // RESOURCE_REQUEST of an old dialect (5 bytes) has an id of today and another layout: 1,314 of them, rightly refused.
      const refused = name === 'dronekit-flight.tlog' ? 1314 : 0
      expect(framer.decoded + framer.unknown + refused).toBe(records)
      expect(framer.unknown).toBe(undefinedIds)
      expect(wrongSender).toBe(0)
      accounted(framer)
      expect(framer.badCrc).toBe(0)
    })
  }

  it('reads what node-mavlink reads', async () => {
    for (const path of [vtol, ...px4Fixtures]) {
      const ours: string[] = []
      const framer = new Framer()
      const splitter = new MavLinkPacketSplitter()
      const theirs: string[] = []
      // It also lets through frames of ids that it knows a CRC_EXTRA of and no fields.
      splitter.on('data', ({ buffer }: { buffer: Uint8Array }) => {
        const { message, system } = header(buffer)
        if (layoutOf(message) !== undefined) theirs.push(`${message} ${system} ${buffer[buffer[0] === 0xfd ? 4 : 2]}`)
      })
      for (const { bytes } of readTlog(path)) {
        for (const f of framer.datagram(bytes)) ours.push(`${f.message} ${f.system} ${f.sequence}`)
        splitter.write(bytes)
      }
      await new Promise<void>((resolve) => splitter.end(resolve))
      expect(theirs.length).toBe(framer.decoded)
      expect(ours.join()).toBe(theirs.join())
    }
  })

  it('reads a stream in pieces of any size as it reads it whole', () => {
    const bytes = readFileSync(packets)
    const whole = new Framer()
    const expected = whole.datagram(bytes)
    expect(expected.length).toBeGreaterThan(3000)
    accounted(whole)
    for (const piece of [1, 7, 64, 1000, 4096]) {
      const framer = new Framer()
      const frames: Frame[] = []
      for (let at = 0; at < bytes.length; at += piece) frames.push(...framer.stream(bytes.subarray(at, at + piece)))
      expect(framer.pending).toBeLessThan(280)
      accounted(framer)
      expect(frames).toEqual(expected.slice(0, frames.length))
      expect(expected.length - frames.length).toBeLessThanOrEqual(1)
    }
  })
})

describe('framer, G5: what does not check out is not a frame', () => {
  it('finds frames between junk, and several in one datagram', () => {
    const junk = hex('00fd01fe7fff55fd00')
    const framer = new Framer()
    const frames = framer.datagram(join(junk, GOOD, junk, V1, GOOD, junk))
    expect(frames.map((f) => [f.message, f.version])).toEqual([
      [84, 2],
      [0, 1],
      [84, 2],
    ])
    expect(framer.junkBytes).toBe(3 * junk.length)
    accounted(framer)
  })

  it('loses no good frame to junk that claims their length', () => {
    // A marker, a length of 200 and an id that nobody has: a reader that believes it loses the frames behind it.
    const junk = hex('fdc80000000101ffff7f')
    const framer = new Framer()
    expect(framer.datagram(join(junk, ...Array(10).fill(GOOD))).length).toBe(10)
    expect(framer.junkBytes).toBe(junk.length)
    const stream = new Framer()
    expect(stream.stream(join(junk, ...Array(10).fill(GOOD))).length).toBe(10)
  })

  it('counts an unknown id only where it exactly fits', () => {
    const unknown = hex('fd0100000001bfffff0055abcd')
    const framer = new Framer()
    expect(framer.datagram(join(unknown, GOOD)).length).toBe(1)
    expect(framer.unknown).toBe(1)
    expect(framer.datagram(join(unknown, hex('00'), GOOD)).length).toBe(1)
    expect(framer.unknown).toBe(1)
    accounted(framer)
  })

  it('refuses every single changed byte', () => {
    for (const good of [GOOD, V1]) {
      for (let at = 0; at < good.length; at++) {
        for (let value = 0; value < 256; value++) {
          if (value === good[at]) continue
          const bad = Uint8Array.from(good)
          bad[at] = value
          const framer = new Framer()
          if (framer.datagram(bad).length > 0) throw new Error(`byte ${at} as ${value} was decoded`)
          if (framer.unknownBytes + framer.junkBytes !== good.length) throw new Error(`byte ${at}: not accounted`)
        }
      }
    }
  })

  it('refuses what is cut short, and zero-extends what MAVLink 2 has cut', () => {
    for (let length = 0; length < GOOD.length; length++) {
      expect(new Framer().datagram(GOOD.subarray(0, length))).toEqual([])
    }
    const zero = new Framer().datagram(hex('fd0100000101bf54000000a660'))
    expect(zero[0]?.payload).toEqual(new Uint8Array(53))
    expect(new Framer().datagram(V1)[0]?.payload.length).toBe(9)
  })

  it('refuses unknown incompatibility flags and takes a signature as a whole', () => {
    const framer = new Framer()
    const flagged = Uint8Array.from(GOOD)
    flagged[2] = 0x02
    expect(framer.datagram(flagged)).toEqual([])
    expect(framer.badFlags).toBe(1)
    // pymavlink-style: the same heartbeat with the flag in its checksum and 13 bytes of signature behind it.
    const signed = hex('fd0100000001bf54000000a660')
    signed[2] = 0x01
    const crc = crc16(join(signed.subarray(1, 11), Uint8Array.of(layoutOf(84)!.crcExtra)))
    signed.set([crc & 0xff, crc >> 8], 11)
    const frames = framer.datagram(join(signed, new Uint8Array(13).fill(0xfd), GOOD))
    expect(frames.map((f) => f.signed)).toEqual([true, false])
  })

  it('does not choke on 4 MB of zeros, nor keep them', () => {
    const framer = new Framer()
    const zeros = new Uint8Array(65_536)
    for (let i = 0; i < 64; i++) framer.stream(zeros)
    expect(framer.junkBytes).toBe(4_194_304)
    expect(framer.pending).toBe(0)
    expect(framer.stream(GOOD).length).toBe(1)
  })

  it('never throws, loses count of a byte or keeps more than a frame', () => {
    const noise = fc.array(fc.oneof(fc.constantFrom(0xfd, 0xfe, 0, 1), fc.integer({ min: 0, max: 255 })), {
      maxLength: 600,
    })
    fc.assert(
      fc.property(noise, fc.integer({ min: 1, max: 90 }), (bytes, piece) => {
        const all = Uint8Array.from(bytes)
        const whole = new Framer()
        whole.datagram(all)
        accounted(whole)
        const stream = new Framer()
        for (let at = 0; at < all.length; at += piece) stream.stream(all.subarray(at, at + piece))
        accounted(stream)
        expect(stream.pending).toBeLessThanOrEqual(280)
      }),
      { numRuns: 300 },
    )
  })
})

describe('framer, what junk costs', () => {
  /** Bytes, and how often one of them was read. */
  function counted(bytes: Uint8Array): { bytes: Uint8Array; reads: () => number } {
    let reads = 0
    const get = (target: Uint8Array, key: string | symbol): unknown => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    }
    return { bytes: new Proxy(bytes, { get }), reads: () => reads }
  }
  const pattern = (...of: readonly number[]): Uint8Array =>
    Uint8Array.from({ length: 4000 }, (_, i) => of[i % of.length]!)
  const READS = 16

  it.each([
    ['all 0xFE', pattern(0xfe)],
    ['all 0xFD', pattern(0xfd)],
    ['headers of MAVLink 2 inside each other', pattern(0xfd, 255, 0, 0, 0)],
    ['headers of MAVLink 2', pattern(0xfd, 255, 0, 0, 0, 1, 1, 33, 0, 0)],
    ['headers of MAVLink 1 inside each other', pattern(0xfe, 51, 0xfd)],
    ['headers of MAVLink 1', pattern(0xfe, 97, 0, 1, 1, 120)],
    ['unknown ids', pattern(0xfd, 255, 0, 0, 0, 1, 1, 0xff, 0xff, 0x7f)],
    ['half frames', pattern(...GOOD.subarray(0, 40))],
  ])('%s: each byte is read a few times, not once for each frame that claims it', (_, junk) => {
    const { bytes, reads } = counted(junk)
    expect(new Framer().datagram(bytes)).toEqual([])
    expect(reads()).toBeLessThan(READS * junk.length)
  })

  it('fuzzed, whatever markers and headers stand in it', () => {
    const byte = fc.oneof(fc.constantFrom(0xfd, 0xfe, 0, 1, 51, 255), fc.integer({ min: 0, max: 255 }))
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 12 }), (of) => {
        const { bytes, reads } = counted(pattern(...of))
        new Framer().datagram(bytes)
        expect(reads()).toBeLessThan(READS * bytes.length)
      }),
      { numRuns: 200 },
    )
  })

  it('takes no frame of MAVLink 1 that is shorter or longer than its message', () => {
    for (const length of [0, 8, 10]) {
      const frame = new Uint8Array(6 + length + 2)
      frame.set([0xfe, length, 0, 1, 1, 0])
      const crc = crc16(join(frame.subarray(1, -2), Uint8Array.of(layoutOf(0)!.crcExtra)))
      frame.set([crc & 0xff, crc >> 8], 6 + length)
      expect(new Framer().datagram(frame)).toEqual([])
    }
  })

  it('says which frames were whole before the last bytes came', () => {
    const framer = new Framer()
    // A frame of MAVLink 2 that breaks off is waited for, with the good ones behind it.
    const broken = GOOD.subarray(0, 20)
    expect(framer.stream(join(broken, GOOD.subarray(0, 30)))).toEqual([])
    expect(framer.stream(GOOD.subarray(30)).length).toBe(1)
    expect(framer.held).toBe(0)
    expect(framer.stream(join(broken, V1, V1))).toEqual([])
    expect(framer.stream(join(GOOD, GOOD)).length).toBe(4)
    expect(framer.held).toBe(2)
  })
})

describe('checksums of ranges', () => {
  it('are those of each range by itself', () => {
    const range = fc.tuple(fc.nat(700), fc.nat(264), fc.nat(255))
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1000, maxLength: 1000 }),
        fc.array(range, { maxLength: 20 }),
        (bytes, all) => {
          const checksums = new Checksums()
          checksums.begin(new Uint8Array(2000))
          checksums.checksum(1, 3, 0)
          checksums.begin(bytes)
          for (const [from, length, extra] of all) {
            const to = from + length
            expect(checksums.checksum(from, to, extra)).toBe(
              crc16(join(bytes.subarray(from, to), Uint8Array.of(extra))),
            )
            expect(checksum(bytes, from, to, extra)).toBe(checksums.checksum(from, to, extra))
          }
        },
      ),
    )
  })
})

/** CRC-16/MCRF4XX bit by bit, a second opinion on the table. */
function crc16(bytes: Uint8Array): number {
  let crc = 0xffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0x8408 : crc >>> 1
  }
  return crc
}
