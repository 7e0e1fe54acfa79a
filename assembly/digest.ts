// SHA-256 (FIPS 180-4). Everything that is bound, and every frame of a lease, is compared by it (PROTOCOL 6).

import { PADDING_AT, SCHEDULE_AT } from './layout'

const K = memory.data<u32>([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])

let h0: u32 = 0
let h1: u32 = 0
let h2: u32 = 0
let h3: u32 = 0
let h4: u32 = 0
let h5: u32 = 0
let h6: u32 = 0
let h7: u32 = 0

function block(at: usize): void {
  const w = SCHEDULE_AT
  for (let i: usize = 0; i < 64; i += 4) store<u32>(w + i, bswap<u32>(load<u32>(at + i)))
  for (let i: usize = w + 64; i < w + 256; i += 4) {
    const early = load<u32>(i - 60)
    const late = load<u32>(i - 8)
    const s0 = rotr<u32>(early, 7) ^ rotr<u32>(early, 18) ^ (early >>> 3)
    const s1 = rotr<u32>(late, 17) ^ rotr<u32>(late, 19) ^ (late >>> 10)
    store<u32>(i, load<u32>(i - 64) + s0 + load<u32>(i - 28) + s1)
  }
  let a = h0, b = h1, c = h2, d = h3, e = h4, f = h5, g = h6, h = h7
  for (let i: usize = 0; i < 256; i += 4) {
    const t1 =
      h + (rotr<u32>(e, 6) ^ rotr<u32>(e, 11) ^ rotr<u32>(e, 25)) + ((e & f) ^ (~e & g)) + load<u32>(K + i) + load<u32>(w + i)
    const t2 = (rotr<u32>(a, 2) ^ rotr<u32>(a, 13) ^ rotr<u32>(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = d + t1
    d = c
    c = b
    b = a
    a = t1 + t2
  }
  h0 += a
  h1 += b
  h2 += c
  h3 += d
  h4 += e
  h5 += f
  h6 += g
  h7 += h
}

/** Writes the 32 bytes of the digest of `length` bytes at `from` to `to`. */
export function sha256(from: usize, length: u32, to: usize): void {
  h0 = 0x6a09e667
  h1 = 0xbb67ae85
  h2 = 0x3c6ef372
  h3 = 0xa54ff53a
  h4 = 0x510e527f
  h5 = 0x9b05688c
  h6 = 0x1f83d9ab
  h7 = 0x5be0cd19
  const rest = length & 63
  const end = from + (length - rest)
  for (let at = from; at < end; at += 64) block(at)

  // The last bytes, a one bit, zeros, and the length in bits as a big-endian u64: one block, or two.
  memory.fill(PADDING_AT, 0, 128)
  memory.copy(PADDING_AT, end, rest)
  store<u8>(PADDING_AT + rest, 0x80)
  const last: usize = rest < 56 ? 56 : 120
  store<u64>(PADDING_AT + last, bswap<u64>(<u64>length << 3))
  block(PADDING_AT)
  if (last == 120) block(PADDING_AT + 64)

  store<u32>(to, bswap<u32>(h0))
  store<u32>(to, bswap<u32>(h1), 4)
  store<u32>(to, bswap<u32>(h2), 8)
  store<u32>(to, bswap<u32>(h3), 12)
  store<u32>(to, bswap<u32>(h4), 16)
  store<u32>(to, bswap<u32>(h5), 20)
  store<u32>(to, bswap<u32>(h6), 24)
  store<u32>(to, bswap<u32>(h7), 28)
}

/** Are two digests the same? */
export function same(a: usize, b: usize): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) | (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      (load<u64>(a, 16) ^ load<u64>(b, 16)) | (load<u64>(a, 24) ^ load<u64>(b, 24))) == 0
  )
}
