// Admission on every small graph and on large random ones, against fixed points found by other means (PROTOCOL 5).

import { describe, expect, test } from 'vitest'
import { Kind, Phase, Reason } from '../../build/abi.ts'
import { type Admitted, type Core, standing, UNKNOWN_PREREQUISITE } from '../../src/core/core.ts'
import { cores } from '../oracle/cores.ts'
import { oracle } from '../oracle/oracle.ts'
import {
  batch,
  both,
  candidate,
  clauses,
  dice,
  forget,
  image,
  load,
  num,
  retain,
  slot,
  type,
} from '../oracle/sketch.ts'

const ANY = [{ type: 0, phase: Phase.released }]
const PLAIN = image(
  [],
  [
    type(Kind.notice, {
      payload: [{ name: 'supported', kind: 'boolean', optional: false }],
      support: clauses(both('eq', slot(0), num(1))),
      mayRequire: ANY,
    }),
  ],
)

/** `rows[i]` is the set of prerequisites of i, as bits; `supported` the set of those whose clause is true. */
interface Case {
  readonly rows: readonly number[]
  readonly supported: number
}

const bits = (set: number): number[] => [...Array(32).keys()].filter((i) => (set >>> i) & 1)

function admit(core: Core, { rows, supported }: Case): readonly Admitted[] {
  const candidates = rows.map((row, i) =>
    candidate(0, { id: `c${i}`, payload: [(supported >>> i) & 1], requires: bits(row) }),
  )
  const admitted = core.admit(batch(1, candidates), 0)
  forget(core, admitted)
  return admitted
}

/** Everything that i rests on, as bits. */
function closure(rows: readonly number[]): number[] {
  const below = [...rows]
  for (let k = 0; k < rows.length; k++)
    for (let i = 0; i < rows.length; i++) if ((below[i]! >>> k) & 1) below[i]! |= below[k]!
  return below
}

const isClosed = (rows: readonly number[], set: number): boolean => bits(set).every((i) => (rows[i]! & ~set) === 0)

/** The greatest fixed point, by looking at every subset. */
function greatest(rows: readonly number[], passed: number): number {
  let union = 0
  for (let set = 0; set < 1 << rows.length; set++) if ((set & ~passed) === 0 && isClosed(rows, set)) union |= set
  return union
}

function* digraphs(n: number): Generator<number[]> {
  for (let code = 0; code < 2 ** (n * n); code++)
    yield Array.from({ length: n }, (_, i) => Math.floor(code / 2 ** (n * i)) % 2 ** n)
}

function* cases(): Generator<Case> {
  for (const n of [1, 2, 3, 4])
    for (const rows of digraphs(n)) {
      const isCyclic = closure(rows).some((below, i) => (below >>> i) & 1)
      if (n === 4 && isCyclic) continue
      for (let supported = 0; supported < 1 << n; supported++) yield { rows, supported }
    }
}

function expected({ rows, supported }: Case): { kept: number; verdicts: { reason: Reason; cause: number }[] } {
  const below = closure(rows)
  const cyclic = below.reduce((set, row, i) => set | (row & (1 << i)), 0)
  const all = (1 << rows.length) - 1
  const passed = supported & ~cyclic & all
  const kept = greatest(rows, passed)
  const verdicts = rows.map((_, i) => {
    if ((cyclic >>> i) & 1) return { reason: Reason.prerequisite_cycle, cause: -1 }
    if (!((supported >>> i) & 1)) return { reason: Reason.unsupported, cause: -1 }
    if ((kept >>> i) & 1) return { reason: Reason.none, cause: -1 }
    return { reason: Reason.prerequisite_withheld, cause: bits(below[i]! & all & ~passed)[0]! }
  })
  return { kept, verdicts }
}

describe.each(cores)('%s', (_, make) => {
  test('G1 G6: every DAG of up to 4 and every digraph of up to 3 components, with every support', () => {
    const core = load(make, PLAIN)
    core.snapshot(0)
    let count = 0
    for (const c of cases()) {
      count++
      const admitted = admit(core, c)
      const { verdicts } = expected(c)
      const said = admitted.map(({ reason, cause }) => ({ reason, cause }))
      if (JSON.stringify(said) !== JSON.stringify(verdicts)) expect({ ...c, said }).toEqual({ ...c, said: verdicts })

      const kept = admitted.reduce((set, { sequence }, i) => (sequence > 0 ? set | (1 << i) : set), 0)
      if (!isClosed(c.rows, kept)) throw new Error(`G1: ${JSON.stringify(c)} keeps ${kept}`)
      // G6: whatever set of withheld ones that passed steps 1 to 4 is added, somebody misses a prerequisite.
      const fallen = said.reduce((set, v, i) => (v.reason === Reason.prerequisite_withheld ? set | (1 << i) : set), 0)
      for (let more = fallen; more > 0; more = (more - 1) & fallen)
        if (isClosed(c.rows, kept | more)) throw new Error(`G6: ${JSON.stringify(c)} could keep ${more} too`)
      // G4: sequences in the response's order.
      const given = admitted.flatMap(({ sequence }) => (sequence > 0 ? [sequence] : []))
      if (given.some((sequence, i) => i > 0 && sequence !== given[i - 1]! + 1)) throw new Error(`G4: ${given}`)
    }
    expect(count).toBe(2 * 2 + 16 * 4 + 512 * 8 + 543 * 16)
  })

  test.each([
    [32, 40, 60],
    [256, 12, 300],
  ])('G1 G6: seeded random graphs of %i components', (n, rounds, edges) => {
    const core = load(make, PLAIN)
    core.snapshot(0)
    for (let seed = 1; seed <= rounds; seed++) {
      const roll = dice(seed)
      // Mostly forward, so that cycles are few; in every third round none.
      const rows: number[][] = Array.from({ length: n }, () => [])
      for (let e = 0; e < edges; e++) {
        const [a, b] = [roll(n), roll(n)]
        const [from, to] = seed % 3 === 0 || roll(40) > 0 ? [Math.max(a, b), Math.min(a, b)] : [a, b]
        if (seed % 3 === 0 && from === to) continue
        if (!rows[from]!.includes(to)) rows[from]!.push(to)
      }
      const supported = rows.map(() => roll(16) > 0)
      const candidates = rows.map((requires, i) =>
        candidate(0, { id: `c${i}`, payload: [Number(supported[i])], requires }),
      )
      const admitted = core.admit(batch(1, candidates), 0)
      forget(core, admitted)

      // By definition, the other way round: lost is what reaches a root; a root is on a cycle or unsupported.
      const below = rows.map((row) => {
        const found = new Set(row)
        for (const at of found) for (const next of rows[at]!) found.add(next)
        return found
      })
      const isRoot = rows.map((_, i) => below[i]!.has(i) || !supported[i])
      const verdicts = rows.map((_, i) => {
        if (below[i]!.has(i)) return [Reason.prerequisite_cycle, -1]
        if (!supported[i]) return [Reason.unsupported, -1]
        const cause = rows.findIndex((_, r) => isRoot[r] && below[i]!.has(r))
        return cause < 0 ? [Reason.none, -1] : [Reason.prerequisite_withheld, cause]
      })
      expect(
        admitted.map(({ reason, cause }) => [reason, cause]),
        `seed ${seed}`,
      ).toEqual(verdicts)
    }
  })

  test('G1 G6: standing components, forms, scopes and unknown prerequisites, as the oracle says', () => {
    // 0 supports by payload; 1 is an action that must rest on a 0; 2 has gate clauses and a bound, and may rest on all.
    const may = [0, 1, 2].map((t) => ({ type: t, phase: t === 1 ? Phase.completed : Phase.released }))
    const payload = [{ name: 'supported', kind: 'boolean', optional: false }] as const
    const says = clauses(both('ge', slot(0), num(1)))
    const mixed = image(
      [],
      [
        type(Kind.notice, { payload, support: says, mayRequire: may.slice(0, 2) }),
        type(Kind.command, { payload, support: says, requires: [0], mayRequire: may }),
        type(Kind.report, { payload, bounds: clauses(both('le', slot(0), num(2))), gate: says, mayRequire: may }),
      ],
    )
    for (let seed = 1; seed <= 300; seed++) {
      const roll = dice(seed)
      const pair = [load(oracle, mixed), load(make, mixed)]
      const first = Array.from({ length: 1 + roll(4) }, (_, i) => {
        const t = i === 0 ? 0 : roll(3)
        return candidate(t, { id: `s${i}`, payload: [1], requires: i === 0 ? [] : [0] })
      })
      const count = 1 + roll(7)
      const codes = [...first.map((_, i) => standing(i)), ...Array(count).keys()]
      const pick = (odds: number): number => (roll(odds) === 0 ? UNKNOWN_PREREQUISITE : codes[roll(codes.length)]!)
      const edges = (odds: number): number[] => [...new Set(Array.from({ length: roll(3) }, () => pick(odds)))]
      const forms = [Reason.duplicate_id, Reason.unknown_type, Reason.type_not_permitted, Reason.payload_invalid]
      const candidates = Array.from({ length: count }, (_, i) => {
        const t = roll(3)
        return candidate(t, {
          id: `c${i}`,
          payload: [[1, 1, 1, 0, 3][roll(5)]!],
          requires: t === 1 && roll(4) > 0 ? [standing(0), ...edges(12).filter((e) => e !== -2)] : edges(12),
          form: roll(8) === 0 ? forms[roll(4)]! : Reason.none,
          scope: roll(12) === 0 ? Reason.out_of_scope : Reason.none,
          barrier: roll(12) === 0 ? Reason.paused : Reason.none,
        })
      })
      const edgesOfStanding = first.map(() => edges(6))
      const completed = first.map(() => roll(2) === 0)
      const [a, b] = pair.map((core) => {
        core.snapshot(0)
        const sequences = retain(core, batch(1, first), 0)
        sequences.forEach((s, i) => {
          if (first[i]!.type === 1 && completed[i]) core.reach(s, Phase.completed)
        })
        const rest = { standing: sequences.map((sequence, i) => ({ sequence, requires: edgesOfStanding[i]! })) }
        return core.admit(batch(1, candidates, rest), 0)
      })
      expect({ seed, candidates, edgesOfStanding, completed, admitted: b }).toEqual({
        seed,
        candidates,
        edgesOfStanding,
        completed,
        admitted: a,
      })
    }
  })
})
