// SHA-256 (FIPS 180-4). Everything that is bound, and every frame of a lease, is compared by it (PROTOCOL 6).
//
// The compression is written once and compiled twice: for one message (T is u32), and for four at a time, each in a lane of its
// own (T is v128). WebAssembly's vectors of integers are the same on every machine (G7).

import { AFTER_HEAD_AT, HEAD_AT, LANE_BYTES, LANES_AT, PADDING_AT, PADDING_BYTES, STATE_AT } from './layout'

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

const INITIAL = memory.data<u32>([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
])

// @ts-ignore: decorator
@inline
function add<T>(x: T, y: T): T {
  if (isVector<T>()) return i32x4.add(x, y)
  return x + y
}
// @ts-ignore: decorator
@inline
function shr<T>(x: T, n: i32): T {
  if (isVector<T>()) return i32x4.shr_u(x, n)
  return x >>> n
}
// @ts-ignore: decorator
@inline
function rotate<T>(x: T, n: i32): T {
  if (isVector<T>()) return v128.or(i32x4.shr_u(x, n), i32x4.shl(x, 32 - n))
  return rotr<T>(x, n)
}
// @ts-ignore: decorator
@inline
function xor<T>(x: T, y: T): T {
  if (isVector<T>()) return v128.xor(x, y)
  return x ^ y
}

// The functions of FIPS 180-4, 4.1.2; ch and maj in their forms with one operation less.

// @ts-ignore: decorator
@inline
function ch<T>(x: T, y: T, z: T): T {
  if (isVector<T>()) return v128.bitselect(y, z, x)
  return z ^ (x & (y ^ z))
}
// @ts-ignore: decorator
@inline
function maj<T>(x: T, y: T, z: T): T {
  if (isVector<T>()) return v128.bitselect(z, y, v128.xor(x, y))
  return (x & y) | (z & (x | y))
}
// @ts-ignore: decorator
@inline
function S0<T>(x: T): T {
  return xor<T>(xor<T>(rotate<T>(x, 2), rotate<T>(x, 13)), rotate<T>(x, 22))
}
// @ts-ignore: decorator
@inline
function S1<T>(x: T): T {
  return xor<T>(xor<T>(rotate<T>(x, 6), rotate<T>(x, 11)), rotate<T>(x, 25))
}
// @ts-ignore: decorator
@inline
function s0<T>(x: T): T {
  return xor<T>(xor<T>(rotate<T>(x, 7), rotate<T>(x, 18)), shr<T>(x, 3))
}
// @ts-ignore: decorator
@inline
function s1<T>(x: T): T {
  return xor<T>(xor<T>(rotate<T>(x, 17), rotate<T>(x, 19)), shr<T>(x, 10))
}
// @ts-ignore: decorator
@inline
function constant<T>(k: usize, i: usize): T {
  if (isVector<T>()) return v128.load_splat<u32>(k + (i << 2))
  return load<u32>(k + (i << 2))
}
// @ts-ignore: decorator
@inline
function t1<T>(e: T, f: T, g: T, h: T, k: usize, i: usize, w: T): T {
  return add<T>(add<T>(add<T>(h, S1<T>(e)), ch<T>(e, f, g)), add<T>(constant<T>(k, i), w))
}
// @ts-ignore: decorator
@inline
function t2<T>(a: T, b: T, c: T): T {
  return add<T>(S0<T>(a), maj<T>(a, b, c))
}
// @ts-ignore: decorator
@inline
function next<T>(w0: T, w1: T, w9: T, w14: T): T {
  return add<T>(add<T>(w0, s0<T>(w1)), add<T>(w9, s1<T>(w14)))
}

/** Where the blocks stand that are compressed next. Of one message only the first counts. */
let at0: usize = 0
let at1: usize = 0
let at2: usize = 0
let at3: usize = 0

// @ts-ignore: decorator
@inline
function word<T>(i: usize): T {
  if (isVector<T>()) {
    let lanes = v128.load_zero<u32>(at0 + (i << 2))
    lanes = v128.load_lane<u32>(at1 + (i << 2), lanes, 1)
    lanes = v128.load_lane<u32>(at2 + (i << 2), lanes, 2)
    lanes = v128.load_lane<u32>(at3 + (i << 2), lanes, 3)
    return v128.shuffle<u8>(lanes, lanes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)
  }
  return bswap<u32>(load<u32>(at0 + (i << 2)))
}
// @ts-ignore: decorator
@inline
function state<T>(i: usize): T {
  return load<T>(STATE_AT + i * sizeof<T>())
}
// @ts-ignore: decorator
@inline
function setState<T>(i: usize, x: T): void {
  store<T>(STATE_AT + i * sizeof<T>(), x)
}

// Sixteen rounds at a time, written out: after eight, each letter is back in its own variable, so that none is ever moved,
// and the sixteen words of the schedule that are still needed stand in variables too. A fifth faster than the plain loops.
function block<T>(): void {
  let w0 = word<T>(0), w1 = word<T>(1), w2 = word<T>(2), w3 = word<T>(3)
  let w4 = word<T>(4), w5 = word<T>(5), w6 = word<T>(6), w7 = word<T>(7)
  let w8 = word<T>(8), w9 = word<T>(9), w10 = word<T>(10), w11 = word<T>(11)
  let w12 = word<T>(12), w13 = word<T>(13), w14 = word<T>(14), w15 = word<T>(15)
  let a = state<T>(0), b = state<T>(1), c = state<T>(2), d = state<T>(3)
  let e = state<T>(4), f = state<T>(5), g = state<T>(6), h = state<T>(7)
  for (let k: usize = K; ; k += 64) {
    h = t1<T>(e, f, g, h, k, 0, w0); d = add<T>(d, h); h = add<T>(h, t2<T>(a, b, c))
    g = t1<T>(d, e, f, g, k, 1, w1); c = add<T>(c, g); g = add<T>(g, t2<T>(h, a, b))
    f = t1<T>(c, d, e, f, k, 2, w2); b = add<T>(b, f); f = add<T>(f, t2<T>(g, h, a))
    e = t1<T>(b, c, d, e, k, 3, w3); a = add<T>(a, e); e = add<T>(e, t2<T>(f, g, h))
    d = t1<T>(a, b, c, d, k, 4, w4); h = add<T>(h, d); d = add<T>(d, t2<T>(e, f, g))
    c = t1<T>(h, a, b, c, k, 5, w5); g = add<T>(g, c); c = add<T>(c, t2<T>(d, e, f))
    b = t1<T>(g, h, a, b, k, 6, w6); f = add<T>(f, b); b = add<T>(b, t2<T>(c, d, e))
    a = t1<T>(f, g, h, a, k, 7, w7); e = add<T>(e, a); a = add<T>(a, t2<T>(b, c, d))
    h = t1<T>(e, f, g, h, k, 8, w8); d = add<T>(d, h); h = add<T>(h, t2<T>(a, b, c))
    g = t1<T>(d, e, f, g, k, 9, w9); c = add<T>(c, g); g = add<T>(g, t2<T>(h, a, b))
    f = t1<T>(c, d, e, f, k, 10, w10); b = add<T>(b, f); f = add<T>(f, t2<T>(g, h, a))
    e = t1<T>(b, c, d, e, k, 11, w11); a = add<T>(a, e); e = add<T>(e, t2<T>(f, g, h))
    d = t1<T>(a, b, c, d, k, 12, w12); h = add<T>(h, d); d = add<T>(d, t2<T>(e, f, g))
    c = t1<T>(h, a, b, c, k, 13, w13); g = add<T>(g, c); c = add<T>(c, t2<T>(d, e, f))
    b = t1<T>(g, h, a, b, k, 14, w14); f = add<T>(f, b); b = add<T>(b, t2<T>(c, d, e))
    a = t1<T>(f, g, h, a, k, 15, w15); e = add<T>(e, a); a = add<T>(a, t2<T>(b, c, d))
    if (k == K + 192) break
    w0 = next<T>(w0, w1, w9, w14)
    w1 = next<T>(w1, w2, w10, w15)
    w2 = next<T>(w2, w3, w11, w0)
    w3 = next<T>(w3, w4, w12, w1)
    w4 = next<T>(w4, w5, w13, w2)
    w5 = next<T>(w5, w6, w14, w3)
    w6 = next<T>(w6, w7, w15, w4)
    w7 = next<T>(w7, w8, w0, w5)
    w8 = next<T>(w8, w9, w1, w6)
    w9 = next<T>(w9, w10, w2, w7)
    w10 = next<T>(w10, w11, w3, w8)
    w11 = next<T>(w11, w12, w4, w9)
    w12 = next<T>(w12, w13, w5, w10)
    w13 = next<T>(w13, w14, w6, w11)
    w14 = next<T>(w14, w15, w7, w12)
    w15 = next<T>(w15, w0, w8, w13)
  }
  setState<T>(0, add<T>(state<T>(0), a))
  setState<T>(1, add<T>(state<T>(1), b))
  setState<T>(2, add<T>(state<T>(2), c))
  setState<T>(3, add<T>(state<T>(3), d))
  setState<T>(4, add<T>(state<T>(4), e))
  setState<T>(5, add<T>(state<T>(5), f))
  setState<T>(6, add<T>(state<T>(6), g))
  setState<T>(7, add<T>(state<T>(7), h))
}

/** Compresses the 64 bytes at `at`. */
function compress(at: usize): void {
  at0 = at
  block<u32>()
}

/** Writes out the digest of a message, or of one of four. */
// @ts-ignore: decorator
@inline
function give<T>(lane: u32, to: usize): void {
  for (let i: usize = 0; i < 8; i++) {
    store<u32>(to + (i << 2), bswap<u32>(load<u32>(STATE_AT + i * sizeof<T>() + (<usize>lane << 2))))
  }
}

/** The last bytes, a one bit, zeros, and the length in bits as a big-endian u64: returns the bytes of one block, or two. */
function pad(from: usize, length: u32, padding: usize): u32 {
  const rest = length & 63
  const bytes: u32 = rest < 56 ? 64 : 128
  memory.fill(padding, 0, PADDING_BYTES)
  memory.copy(padding, from + (length - rest), rest)
  store<u8>(padding + rest, 0x80)
  store<u64>(padding + bytes - 8, bswap<u64>(<u64>length << 3))
  return bytes
}

/** Writes the 32 bytes of the digest of `length` bytes at `from` to `to`. */
export function sha256(from: usize, length: u32, to: usize): void {
  memory.copy(STATE_AT, INITIAL, 32)
  finish(from, length, 0, to)
}

/** Everything from `done` bytes on. */
function finish(from: usize, length: u32, done: u32, to: usize): void {
  const end = from + (length & ~63)
  for (let at = from + done; at < end; at += 64) compress(at)
  const padded = PADDING_AT + pad(from, length, PADDING_AT)
  for (let at = PADDING_AT; at < padded; at += 64) compress(at)
  give<u32>(0, to)
}

// What often begins as the last one did: the state after the first 64 bytes is kept beside a copy of them, and used again where
// every one of them is the same.

let headKept: bool = false

// @ts-ignore: decorator
@inline
function isHead(from: usize): bool {
  return headKept && same(from, HEAD_AT) && same(from + 32, HEAD_AT + 32)
}

/** Keeps the first 64 bytes of a message and the state after them. */
function keepHead(from: usize): void {
  if (isHead(from)) return
  memory.copy(STATE_AT, INITIAL, 32)
  compress(from)
  headKept = true
  memory.copy(HEAD_AT, from, 64)
  memory.copy(AFTER_HEAD_AT, STATE_AT, 32)
}

/** The same as `sha256`, of 64 bytes at least. */
export function sha256Alike(from: usize, length: u32, to: usize): void {
  assert(length >= 64)
  keepHead(from)
  memory.copy(STATE_AT, AFTER_HEAD_AT, 32)
  finish(from, length, 64, to)
}

// Four at a time. A lane:  from u32 · to u32 · length u32 · bytes in whole blocks u32 · the same with its padding u32

const LANES: u32 = 4
/** Lanes in use. */
let lanes: u32 = 0

// @ts-ignore: decorator
@inline
function laneAt(lane: u32): usize {
  return LANES_AT + <usize>lane * LANE_BYTES
}
// @ts-ignore: decorator
@inline
function paddingAt(lane: u32): usize {
  return PADDING_AT + <usize>lane * PADDING_BYTES
}

/** The same as `sha256Alike`, done by the fourth call or by `sha256Rest`: until then all begin with the same 64 bytes. */
export function sha256Lane(from: usize, length: u32, to: usize): void {
  assert(length >= 64)
  if (lanes == 0) keepHead(from)
  assert(isHead(from))
  const at = laneAt(lanes)
  const whole = length & ~63
  store<u32>(at, from)
  store<u32>(at, to, 4)
  store<u32>(at, length, 8)
  store<u32>(at, whole, 12)
  store<u32>(at, whole + pad(from, length, paddingAt(lanes)), 16)
  if (++lanes == LANES) compressLanes()
}

/** What `sha256Lane` has left. */
export function sha256Rest(): void {
  // An empty lane repeats the first: four lanes take as long as one and a half messages alone.
  const first = laneAt(0)
  while (lanes != 0) sha256Lane(load<u32>(first), load<u32>(first, 8), load<u32>(first, 4))
}

/** Where the block of a lane stands that follows on `done` bytes; once it has ended, one that nobody asks for. */
// @ts-ignore: decorator
@inline
function laneBlock(lane: u32, done: u32): usize {
  const at = laneAt(lane)
  const whole = load<u32>(at, 12)
  return done < whole ? <usize>load<u32>(at) + done : paddingAt(lane) + <usize>((done - whole) & 64)
}

function compressLanes(): void {
  for (let i: usize = 0; i < 8; i++) setState<v128>(i, v128.load_splat<u32>(AFTER_HEAD_AT + (i << 2)))
  for (let done: u32 = 64; lanes != 0; ) {
    at0 = laneBlock(0, done)
    at1 = laneBlock(1, done)
    at2 = laneBlock(2, done)
    at3 = laneBlock(3, done)
    block<v128>()
    done += 64
    for (let lane: u32 = 0; lane < LANES; lane++) {
      if (load<u32>(laneAt(lane), 16) != done) continue
      give<v128>(lane, load<u32>(laneAt(lane), 4))
      lanes--
    }
  }
}

/** Are two digests the same? */
export function same(a: usize, b: usize): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) | (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      (load<u64>(a, 16) ^ load<u64>(b, 16)) | (load<u64>(a, 24) ^ load<u64>(b, 24))) == 0
  )
}
