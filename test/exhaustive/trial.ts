// A core on trial: what it admits of a graph, for any set of components whose clause is true, against the greatest fixed point
// by definition, which is the union of all closed sets, found by looking at every subset (PROTOCOL 5, G1, G6).

import { Kind, Phase, Reason, ReasonWords } from '../../build/abi.ts'
import type { Admitted, Candidate, Core, CoreFactory } from '../../src/core/core.ts'
import { batch, both, candidate, clauses, forget, image, load, num, slot, type } from '../oracle/sketch.ts'
import { bits, closure, has, lowest, type Rows } from './digraph.ts'

/** One type, that rests on its own: a component is supported where its payload says so. */
const PLAIN = image(
  [],
  [
    type(Kind.notice, {
      payload: [{ name: 'supported', kind: 'boolean', optional: false }],
      support: clauses(both('eq', slot(0), num(1))),
      mayRequire: [{ type: 0, phase: Phase.released }],
    }),
  ],
)

/** A core without state, for components that are supported by their payload. */
export function plain(make: CoreFactory): Core {
  const core = load(make, PLAIN)
  core.snapshot(0)
  return core
}

/** A component of `plain` with the i-th name. */
export const component = (i: number, supported: boolean | number, requires: readonly number[]): Candidate =>
  candidate(0, { id: `c${i}`, payload: [Number(supported)], requires })

/** Every set of so many components, as bits. */
const subsets = (components: number): number[] => [...Array(1 << components).keys()]

/** A graph of at most 16 components, and the set of those that are supported, on which a core is wrong. */
export interface Mismatch {
  readonly rows: Rows
  readonly supported: number
  readonly wrong: string
}

export class Trial {
  readonly #core: Core
  graphs = 0
  cases = 0

  constructor(make: CoreFactory) {
    this.#core = plain(make)
  }

  /** Judges graphs with every set of supported components; stops at the first on which the core is wrong. */
  judgeAll(graphs: Iterable<Rows>): Mismatch | undefined {
    for (const rows of graphs) {
      const mismatch = this.judge(rows, subsets(rows.length))
      if (mismatch !== undefined) return mismatch
    }
    return undefined
  }

  /** Judges a graph with each of the sets of supported components; stops at the first on which the core is wrong. */
  judge(rows: Rows, supports: readonly number[]): Mismatch | undefined {
    this.graphs++
    const below = closure(rows)
    const cyclic = below.reduce((set, row, i) => set | (row & (1 << i)), 0)
    const isClosed = closedSets(rows)
    const closed = [...isClosed.keys()].filter((set) => isClosed[set])

    const candidates = rows.map((row, i) => [component(i, false, bits(row)), component(i, true, bits(row))] as const)
    const offered = candidates.map(([unsupported]) => unsupported)
    const what = batch(1, offered)
    for (const supported of supports) {
      this.cases++
      for (let i = 0; i < rows.length; i++) offered[i] = candidates[i]![(supported >>> i) & 1]!
      const admitted = this.#core.admit(what, 0)
      forget(this.#core, admitted)

      const passed = supported & ~cyclic
      let greatest = 0
      for (const set of closed) if ((set & ~passed) === 0) greatest |= set
      const wrong = differs(admitted, { supported, cyclic, passed, greatest, below }) ?? breaks(admitted, isClosed)
      if (wrong !== undefined) return { rows, supported, wrong }
    }
    return undefined
  }
}

/** For each set whether it holds everything that its members rest on. */
function closedSets(rows: Rows): Uint8Array {
  const needs = new Uint32Array(1 << rows.length)
  return Uint8Array.from(needs, (_, set) => {
    if (set !== 0) needs[set] = needs[set & (set - 1)]! | rows[lowest(set)]!
    return Number((needs[set]! & ~set) === 0)
  })
}

/** The sets of which an expectation is made. */
interface Fates {
  readonly supported: number
  readonly cyclic: number
  readonly passed: number
  readonly greatest: number
  readonly below: Rows
}

function fate({ supported, cyclic, greatest }: Fates, i: number): Reason {
  if (has(cyclic, i)) return Reason.prerequisite_cycle
  if (!has(supported, i)) return Reason.unsupported
  return has(greatest, i) ? Reason.none : Reason.prerequisite_withheld
}

/** What of an admission is other than expected, in words. The first root in the response's order is the cause. */
function differs(admitted: readonly Admitted[], fates: Fates): string | undefined {
  for (let i = 0; i < admitted.length; i++) {
    const said = admitted[i]!
    const reason = fate(fates, i)
    const cause = reason === Reason.prerequisite_withheld ? lowest(fates.below[i]! & ~fates.passed) : -1
    if (said.reason !== reason || said.cause !== cause)
      return `component ${i} is ${ReasonWords[said.reason]} (${said.cause}), not ${ReasonWords[reason]} (${cause})`
    if (said.sequence > 0 !== has(fates.greatest, i)) return `component ${i} has sequence ${said.sequence}`
  }
  return undefined
}

/** Which guarantee an admission breaks, whatever was expected. */
function breaks(admitted: readonly Admitted[], isClosed: Uint8Array): string | undefined {
  let kept = 0
  let fallen = 0
  let sequence = 0
  for (let i = 0; i < admitted.length; i++) {
    const said = admitted[i]!
    if (said.reason === Reason.prerequisite_withheld) fallen |= 1 << i
    if (said.sequence === 0) continue
    if (sequence !== 0 && said.sequence !== sequence + 1) return `G4: sequence ${said.sequence} after ${sequence}`
    sequence = said.sequence
    kept |= 1 << i
  }
  if (isClosed[kept] === 0) return `G1: keeps ${kept}`
  for (let more = fallen; more > 0; more = (more - 1) & fallen)
    if (isClosed[kept | more] === 1) return `G6: keeps ${kept}, could keep ${more} too`
  return undefined
}
