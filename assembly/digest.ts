// SHA-256 (FIPS 180-4). Everything that is bound, and every frame of a lease, is compared by it (PROTOCOL 6).

import { AFTER_HEAD_AT, HEAD_AT, PADDING_AT } from './layout'

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

let headKept: bool = false

// The functions of FIPS 180-4, 4.1.2; ch and maj in their forms with one operation less.

// @ts-ignore: decorator
@inline
function ch(x: u32, y: u32, z: u32): u32 {
  return z ^ (x & (y ^ z))
}
// @ts-ignore: decorator
@inline
function maj(x: u32, y: u32, z: u32): u32 {
  return (x & y) | (z & (x | y))
}
// @ts-ignore: decorator
@inline
function S0(x: u32): u32 {
  return rotr<u32>(x, 2) ^ rotr<u32>(x, 13) ^ rotr<u32>(x, 22)
}
// @ts-ignore: decorator
@inline
function S1(x: u32): u32 {
  return rotr<u32>(x, 6) ^ rotr<u32>(x, 11) ^ rotr<u32>(x, 25)
}
// @ts-ignore: decorator
@inline
function s0(x: u32): u32 {
  return rotr<u32>(x, 7) ^ rotr<u32>(x, 18) ^ (x >>> 3)
}
// @ts-ignore: decorator
@inline
function s1(x: u32): u32 {
  return rotr<u32>(x, 17) ^ rotr<u32>(x, 19) ^ (x >>> 10)
}

// @ts-ignore: decorator
@inline
function word(at: usize, i: usize): u32 {
  return bswap<u32>(load<u32>(at + (i << 2)))
}

// Sixteen rounds at a time, written out: after eight, each letter is back in its own variable, so that none is ever moved,
// and the sixteen words of the schedule that are still needed stand in variables too. A fifth faster than the plain loops.
function block(at: usize): void {
  let w0 = word(at, 0), w1 = word(at, 1), w2 = word(at, 2), w3 = word(at, 3)
  let w4 = word(at, 4), w5 = word(at, 5), w6 = word(at, 6), w7 = word(at, 7)
  let w8 = word(at, 8), w9 = word(at, 9), w10 = word(at, 10), w11 = word(at, 11)
  let w12 = word(at, 12), w13 = word(at, 13), w14 = word(at, 14), w15 = word(at, 15)
  let a = h0, b = h1, c = h2, d = h3, e = h4, f = h5, g = h6, h = h7
  for (let k: usize = K; ; k += 64) {
    h += S1(e) + ch(e, f, g) + load<u32>(k) + w0; d += h; h += S0(a) + maj(a, b, c)
    g += S1(d) + ch(d, e, f) + load<u32>(k, 4) + w1; c += g; g += S0(h) + maj(h, a, b)
    f += S1(c) + ch(c, d, e) + load<u32>(k, 8) + w2; b += f; f += S0(g) + maj(g, h, a)
    e += S1(b) + ch(b, c, d) + load<u32>(k, 12) + w3; a += e; e += S0(f) + maj(f, g, h)
    d += S1(a) + ch(a, b, c) + load<u32>(k, 16) + w4; h += d; d += S0(e) + maj(e, f, g)
    c += S1(h) + ch(h, a, b) + load<u32>(k, 20) + w5; g += c; c += S0(d) + maj(d, e, f)
    b += S1(g) + ch(g, h, a) + load<u32>(k, 24) + w6; f += b; b += S0(c) + maj(c, d, e)
    a += S1(f) + ch(f, g, h) + load<u32>(k, 28) + w7; e += a; a += S0(b) + maj(b, c, d)
    h += S1(e) + ch(e, f, g) + load<u32>(k, 32) + w8; d += h; h += S0(a) + maj(a, b, c)
    g += S1(d) + ch(d, e, f) + load<u32>(k, 36) + w9; c += g; g += S0(h) + maj(h, a, b)
    f += S1(c) + ch(c, d, e) + load<u32>(k, 40) + w10; b += f; f += S0(g) + maj(g, h, a)
    e += S1(b) + ch(b, c, d) + load<u32>(k, 44) + w11; a += e; e += S0(f) + maj(f, g, h)
    d += S1(a) + ch(a, b, c) + load<u32>(k, 48) + w12; h += d; d += S0(e) + maj(e, f, g)
    c += S1(h) + ch(h, a, b) + load<u32>(k, 52) + w13; g += c; c += S0(d) + maj(d, e, f)
    b += S1(g) + ch(g, h, a) + load<u32>(k, 56) + w14; f += b; b += S0(c) + maj(c, d, e)
    a += S1(f) + ch(f, g, h) + load<u32>(k, 60) + w15; e += a; a += S0(b) + maj(b, c, d)
    if (k == K + 192) break
    w0 += s0(w1) + w9 + s1(w14)
    w1 += s0(w2) + w10 + s1(w15)
    w2 += s0(w3) + w11 + s1(w0)
    w3 += s0(w4) + w12 + s1(w1)
    w4 += s0(w5) + w13 + s1(w2)
    w5 += s0(w6) + w14 + s1(w3)
    w6 += s0(w7) + w15 + s1(w4)
    w7 += s0(w8) + w0 + s1(w5)
    w8 += s0(w9) + w1 + s1(w6)
    w9 += s0(w10) + w2 + s1(w7)
    w10 += s0(w11) + w3 + s1(w8)
    w11 += s0(w12) + w4 + s1(w9)
    w12 += s0(w13) + w5 + s1(w10)
    w13 += s0(w14) + w6 + s1(w11)
    w14 += s0(w15) + w7 + s1(w12)
    w15 += s0(w0) + w8 + s1(w13)
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

function begin(): void {
  h0 = 0x6a09e667
  h1 = 0xbb67ae85
  h2 = 0x3c6ef372
  h3 = 0xa54ff53a
  h4 = 0x510e527f
  h5 = 0x9b05688c
  h6 = 0x1f83d9ab
  h7 = 0x5be0cd19
}

/** Writes the 32 bytes of the digest of `length` bytes at `from` to `to`. */
export function sha256(from: usize, length: u32, to: usize): void {
  begin()
  finish(from, length, 0, to)
}

/**
 * The same, for what often begins as the last one did: the state after the first 64 bytes is kept beside a copy of them, and
 * used again where every one of them is the same. Needs 64 bytes at least.
 */
export function sha256Alike(from: usize, length: u32, to: usize): void {
  assert(length >= 64)
  if (headKept && same(from, HEAD_AT) && same(from + 32, HEAD_AT + 32)) {
    h0 = load<u32>(AFTER_HEAD_AT)
    h1 = load<u32>(AFTER_HEAD_AT, 4)
    h2 = load<u32>(AFTER_HEAD_AT, 8)
    h3 = load<u32>(AFTER_HEAD_AT, 12)
    h4 = load<u32>(AFTER_HEAD_AT, 16)
    h5 = load<u32>(AFTER_HEAD_AT, 20)
    h6 = load<u32>(AFTER_HEAD_AT, 24)
    h7 = load<u32>(AFTER_HEAD_AT, 28)
  } else {
    begin()
    block(from)
    headKept = true
    memory.copy(HEAD_AT, from, 64)
    store<u32>(AFTER_HEAD_AT, h0)
    store<u32>(AFTER_HEAD_AT, h1, 4)
    store<u32>(AFTER_HEAD_AT, h2, 8)
    store<u32>(AFTER_HEAD_AT, h3, 12)
    store<u32>(AFTER_HEAD_AT, h4, 16)
    store<u32>(AFTER_HEAD_AT, h5, 20)
    store<u32>(AFTER_HEAD_AT, h6, 24)
    store<u32>(AFTER_HEAD_AT, h7, 28)
  }
  finish(from, length, 64, to)
}

/** Everything from `done` bytes on. */
function finish(from: usize, length: u32, done: u32, to: usize): void {
  const rest = length & 63
  const end = from + (length - rest)
  for (let at = from + done; at < end; at += 64) block(at)

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
