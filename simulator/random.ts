// Seeded chance: the same seed and the same schedule of calls give the same simulated flight.

/** Uniform in [0, 1). */
export type Random = () => number

/** mulberry32: 32 bits of state, good enough for delays and gusts. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
