// The checksum of MAVLink frames: CRC-16/MCRF4XX over all but the start marker, then the message's CRC_EXTRA.

const table = new Uint16Array(256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0x8408 : crc >>> 1
  table[byte] = crc
}

const INITIAL = 0xffff

const step = (crc: number, byte: number): number => (crc >>> 8) ^ table[(crc ^ byte) & 0xff]!

/** Over `bytes[from, to)` and the CRC_EXTRA of the message. */
export function checksum(bytes: Uint8Array, from: number, to: number, crcExtra: number): number {
  let crc = INITIAL
  for (let i = from; i < to; i++) crc = step(crc, bytes[i]!)
  return step(crc, crcExtra)
}

// What a register becomes when so many zeros follow: each of its two bytes by itself, since a CRC is linear. One table for 0 to
// 15 zeros and one for multiples of 16, up to the longest frame.
const ROW = 512
const STEPS = 16
const ones = zeros(1, STEPS)
const sixteens = zeros(STEPS, Math.ceil((STEPS + 0xff) / STEPS) + 1)

function zeros(each: number, rows: number): Uint16Array {
  const made = new Uint16Array(rows * ROW)
  for (let i = 0; i < ROW; i++) {
    let crc = i < 256 ? i : (i - 256) << 8
    for (let row = 0; row < rows; row++) {
      made[row * ROW + i] = crc
      for (let k = 0; k < each; k++) crc = step(crc, 0)
    }
  }
  return made
}

/** Bytes that are read beyond what is asked for: what comes next is asked for next. */
const AHEAD = 512

const after = (by: Uint16Array, row: number, crc: number): number =>
  by[row * ROW + (crc & 0xff)]! ^ by[row * ROW + 256 + (crc >>> 8)]!

/**
 * Checksums of many overlapping ranges of the same bytes: each byte is read once, however many ranges it is in. The register
 * behind `to` that began at `from` is the one that began at 0 there, less what that one owes to the bytes before `from`.
 */
export class Checksums {
  #bytes: Uint8Array = new Uint8Array(0)
  /** By place: the register of a CRC that began with 0 at the first byte. */
  #registers = new Uint16Array(1024)
  #done = 0

  /** From now on it is about these bytes, which must not change. */
  begin(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#done = 0
  }

  /** As the function of that name; a range has at most 271 bytes. */
  checksum(from: number, to: number, crcExtra: number): number {
    if (to > this.#done) this.#read(Math.min(to + AHEAD, this.#bytes.length))
    const registers = this.#registers
    const before = registers[from]! ^ INITIAL
    const length = to - from
    const owed = after(sixteens, length >>> 4, after(ones, length & 15, before))
    return step(registers[to]! ^ owed, crcExtra)
  }

  #read(to: number): void {
    if (to >= this.#registers.length) {
      const grown = new Uint16Array(Math.max(to + 1, 2 * this.#registers.length))
      grown.set(this.#registers.subarray(0, this.#done + 1))
      this.#registers = grown
    }
    const registers = this.#registers
    const bytes = this.#bytes
    // The register at the first byte is 0, and nobody writes another one there.
    let crc = registers[this.#done]!
    for (let i = this.#done; i < to; i++) {
      crc = (crc >>> 8) ^ table[(crc ^ bytes[i]!) & 0xff]!
      registers[i + 1] = crc
    }
    this.#done = to
  }
}
