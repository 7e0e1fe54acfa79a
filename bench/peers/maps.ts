// Plain TypeScript with Map and Set, as it is written where nobody measures: names for keys, and again until nothing changes.

import { LIMITS, type Peer, parts } from './decision.ts'

export const maps: Peer<ReadonlySet<string>> = {
  name: 'TypeScript, Map and Set',
  decides: parts('CP'),
  ask(state, actions) {
    const named = new Map(
      actions.map(({ id, alt_mm, requires }) => [id, { alt_mm, requires: requires.map((i) => actions[i]!.id) }]),
    )
    const run = (): ReadonlySet<string> => {
      const kept = new Set<string>()
      for (const [id, { alt_mm }] of named) {
        if (
          state.battery >= LIMITS.battery &&
          state.fix >= LIMITS.fix &&
          state.height_mm <= LIMITS.height_mm &&
          alt_mm <= LIMITS.alt_mm
        )
          kept.add(id)
      }
      for (let before = -1; kept.size !== before; ) {
        before = kept.size
        for (const id of kept) {
          if (!named.get(id)!.requires.every((other) => kept.has(other))) kept.delete(id)
        }
      }
      return kept
    }
    return { run, kept: (answer) => actions.map(({ id }) => answer.has(id)) }
  },
}
