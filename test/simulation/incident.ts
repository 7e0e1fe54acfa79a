// What a schedule consists of: misfortunes and what people and agents do, each under a name, so that a schedule that fails can
// be flown again with some of them left out.
//
// An incident is the n-th occasion of its source, e.g. `m7`. When occasions come, and what each one draws, hangs on the seed
// alone: leaving one out shifts no other.

import type { Chance } from './chance.ts'

/** Who causes it: the first letter of an incident's name. */
export const SOURCES = {
  air: 'a',
  misfortune: 'm',
  planner: 'p',
  scout: 's',
  operator: 'o',
  ground: 'g',
  courier: 'c',
  disk: 'd',
  detour: 'l',
  stranger: 'n',
  impossible: 'i',
  stall: 'k',
  hostile: 'h',
} as const

export interface Incident {
  readonly name: string
  readonly at_ms: number
  readonly words: string
}

export class Incidents {
  /** What has happened, in order. */
  readonly happened: Incident[] = []
  readonly #only: ReadonlySet<string> | undefined
  readonly #occasions = new Map<string, number>()

  /** `only`: all others are left out. */
  constructor(only: ReadonlySet<string> | undefined) {
    this.#only = only
  }

  /** An occasion: `act` says in words what it did, or that it did nothing after all. */
  occasion(
    source: keyof typeof SOURCES,
    chance: Chance,
    now_ms: number,
    act: (own: Chance) => string | undefined,
  ): void {
    const letter = SOURCES[source]
    const count = (this.#occasions.get(letter) ?? 0) + 1
    this.#occasions.set(letter, count)
    const own = chance.fork()
    const name = `${letter}${count}`
    if (this.#only !== undefined && !this.#only.has(name)) return
    const words = act(own)
    if (words !== undefined) this.happened.push({ name, at_ms: now_ms, words })
  }
}
