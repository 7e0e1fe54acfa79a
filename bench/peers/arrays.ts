// Plain TypeScript over typed arrays, written for this one decision: the floor. State and actions are in its arrays before
// the clock runs, it allocates nothing, and it looks for what rests on a loss only once there is one.

import { LIMITS, type Peer, parts } from './decision.ts'

export const arrays: Peer<Uint8Array> = {
  name: 'TypeScript, typed arrays',
  decides: parts('CP'),
  ask(state, actions) {
    const n = actions.length
    const values = Float64Array.of(state.battery, state.fix, state.height_mm)
    const altitudes = Float64Array.from(actions, ({ alt_mm }) => alt_mm)
    const edges = Uint32Array.from(actions.flatMap(({ requires }) => requires))
    const edgesEnd = new Uint32Array(n)
    for (const [i, { requires }] of actions.entries()) edgesEnd[i] = (edgesEnd[i - 1] ?? 0) + requires.length
    const kept = new Uint8Array(n)
    const lost = new Uint32Array(n)
    const dependents = new Uint32Array(edges.length)
    const dependentsAt = new Uint32Array(n + 1)

    /** By counting, so that dependents[dependentsAt[i]] and on, before dependentsAt[i + 1], is what rests on i. */
    const invert = (): void => {
      dependentsAt.fill(0)
      for (let e = 0; e < edges.length; e++) dependentsAt[edges[e]!]!++
      for (let i = 0, sum = 0; i <= n; i++) {
        sum += dependentsAt[i]!
        dependentsAt[i] = sum
      }
      for (let i = n - 1, e = edges.length - 1; i >= 0; i--) {
        const begin = i === 0 ? 0 : edgesEnd[i - 1]!
        for (; e >= begin; e--) dependents[--dependentsAt[edges[e]!]!] = i
      }
    }

    const run = (): Uint8Array => {
      let count = 0
      for (let i = 0; i < n; i++) {
        const supported =
          values[0]! >= LIMITS.battery &&
          values[1]! >= LIMITS.fix &&
          values[2]! <= LIMITS.height_mm &&
          altitudes[i]! <= LIMITS.alt_mm
        kept[i] = supported ? 1 : 0
        if (!supported) lost[count++] = i
      }
      if (count === 0) return kept
      invert()
      for (let head = 0; head < count; head++) {
        const gone = lost[head]!
        for (let d = dependentsAt[gone]!; d < dependentsAt[gone + 1]!; d++) {
          const dependent = dependents[d]!
          if (kept[dependent] === 0) continue
          kept[dependent] = 0
          lost[count++] = dependent
        }
      }
      return kept
    }
    return { run, kept: (answer) => Array.from(answer, Boolean) }
  },
}
