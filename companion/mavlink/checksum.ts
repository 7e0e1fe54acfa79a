// The checksum of MAVLink frames: CRC-16/MCRF4XX over all but the start marker, then the message's CRC_EXTRA.

const table = new Uint16Array(256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0x8408 : crc >>> 1
  table[byte] = crc
}

/** Over `bytes[from, to)` and the CRC_EXTRA of the message. */
export function checksum(bytes: Uint8Array, from: number, to: number, crcExtra: number): number {
  let crc = 0xffff
  for (let i = from; i < to; i++) crc = (crc >>> 8) ^ table[(crc ^ bytes[i]!) & 0xff]!
  return (crc >>> 8) ^ table[(crc ^ crcExtra) & 0xff]!
}
