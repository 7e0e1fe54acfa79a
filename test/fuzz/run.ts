// Seeded inputs against a door: something that takes bytes from strangers. Each input has a seed of its own, so that one that
// shows a flaw can be made again alone.

import { setImmediate } from 'node:timers/promises'
import { Chance } from '../simulation/chance.ts'

/** A way in, and what judges it. */
export interface Door {
  readonly name: string
  /** Every word that `offer` must have said in a run: a door that never says one has not been tried. */
  readonly words: readonly string[]
  /**
   * Makes an input, offers it to the door and judges what the door says by other means. Returns what it was and what the
   * door said of it; throws a `Flaw` where that is wrong. `accepted` is how many whole things it took for good.
   */
  offer(chance: Chance): Offered
}

export interface Offered {
  readonly made: string
  readonly said: readonly string[]
  readonly accepted: number
}

/** The door said something that is not so. */
export class Flaw extends Error {
  constructor(what: string, bytes: Uint8Array) {
    super(`${what}\n${bytes.length} bytes: ${Buffer.from(bytes.subarray(0, 2000)).toString('hex')}`)
  }
}

export interface Tally {
  inputs: number
  accepted: number
  slowest_ms: number
  /** How often each kind of input was made, and how often each word was said. */
  readonly made: Map<string, number>
  readonly said: Map<string, number>
}

export interface Runs {
  readonly runs: number
  readonly seed: number
  /** Number of the first input. */
  readonly from?: number
  /** Called now and then, with what there is so far. */
  readonly report?: (tally: Tally) => void
}

const INPUTS_A_REPORT = 2000

/** Offers that many inputs; rejects at the first flaw, with the seed and the number of its input. */
export async function fuzz(door: Door, { runs, seed, from = 0, report }: Runs): Promise<Tally> {
  const tally: Tally = { inputs: 0, accepted: 0, slowest_ms: 0, made: new Map(), said: new Map() }
  const count = (of: Map<string, number>, word: string): unknown => of.set(word, (of.get(word) ?? 0) + 1)
  for (let i = from; i < from + runs; i++) {
    const began_ms = performance.now()
    try {
      const { made, said, accepted } = door.offer(new Chance(Math.imul(seed, 0x9e3779b1) + i))
      count(tally.made, made)
      for (const word of said) count(tally.said, word)
      tally.accepted += accepted
    } catch (error) {
      const what = error instanceof Flaw ? error.message : error instanceof Error ? error.stack : error
      throw new Error(`${door.name}, --seed ${seed} --from ${i} --runs 1: ${what}`, { cause: error })
    }
    tally.slowest_ms = Math.max(tally.slowest_ms, performance.now() - began_ms)
    if (++tally.inputs % INPUTS_A_REPORT > 0) continue
    report?.(tally)
    await setImmediate() // for the streams of the libraries that judge
  }
  return tally
}

/** The words of the door that were not said. */
export const unsaid = ({ words }: Door, { said }: Tally): string[] => words.filter((word) => !said.has(word))
