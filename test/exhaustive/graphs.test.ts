// Admission on every small graph and on large random ones, against fixed points found by other means (PROTOCOL 5).

import { describe, expect, test } from 'vitest'
import { Kind, Phase, Reason } from '../../build/abi.ts'
import { standing, UNKNOWN_PREREQUISITE } from '../../src/core/core.ts'
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
import { DAGS, dags, digraphs } from './digraph.ts'
import { component, plain, Trial } from './trial.ts'

/** Prerequisites of each component. Mostly forward, so that cycles are few; of every third seed there are none. */
function drawn(n: number, edges: number, seed: number, roll: (n: number) => number): number[][] {
  const rows: number[][] = Array.from({ length: n }, () => [])
  for (let e = 0; e < edges; e++) {
    const [a, b] = [roll(n), roll(n)]
    const [from, to] = seed % 3 === 0 || roll(40) > 0 ? [Math.max(a, b), Math.min(a, b)] : [a, b]
    if (seed % 3 === 0 && from === to) continue
    if (!rows[from]!.includes(to)) rows[from]!.push(to)
  }
  return rows
}

describe.each(cores)('%s', (_, make) => {
  test('G1 G6: every DAG of up to 4 and every digraph of up to 3 components, with every support', () => {
    const trial = new Trial(make)
    for (const graphs of [digraphs(1), digraphs(2), digraphs(3), dags(4)])
      expect(trial.judgeAll(graphs)).toBeUndefined()
    expect(trial.cases).toBe(2 * 2 + 16 * 4 + 512 * 8 + DAGS[4]! * 16)
  })

  test.each([
    [4, 6],
    [8, 14],
    [16, 28],
  ])(
    'G1 G6: 45 seeded graphs of %i components, 16 supports each, against the union of all closed subsets',
    (n, edges) => {
      const trial = new Trial(make)
      for (let seed = 1; seed <= 45; seed++) {
        const roll = dice(seed)
        const rows = drawn(n, edges, seed, roll).map((row) => row.reduce((set, i) => set | (1 << i), 0))
        // Each is supported but for one in eight, so that much is kept and much falls.
        const supports = Array.from({ length: 16 }, () => rows.reduce((set, _, i) => set | (+(roll(8) > 0) << i), 0))
        expect(trial.judge(rows, supports), `seed ${seed}`).toBeUndefined()
      }
      expect(trial.cases).toBe(45 * 16)
    },
  )

  test.each([
    [32, 45, 60],
    [256, 12, 300],
  ])('G1 G6: seeded graphs of %i components, %i of them, against what reaches a root', (n, rounds, edges) => {
    const core = plain(make)
    for (let seed = 1; seed <= rounds; seed++) {
      const roll = dice(seed)
      const rows = drawn(n, edges, seed, roll)
      const supported = rows.map(() => roll(16) > 0)
      const candidates = rows.map((requires, i) => component(i, supported[i]!, requires))
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

  test.each([
    ['is malformed', Reason.payload_invalid, Kind.command],
    ['is said twice', Reason.duplicate_id, Kind.command],
    ['has no type, and might be one', Reason.unknown_type, Kind.command],
    ['is malformed, through a notice that is too', Reason.payload_invalid, Kind.notice],
  ])('G6: what rests on an action that %s falls with it, whatever its gate clauses say', (_, form, between) => {
    // An action whose gate clause is false now, as a flight's is on the ground.
    const any = [0, 1].map((t) => ({ type: t, phase: Phase.released }))
    const grounded = image(
      [],
      [
        type(Kind.notice, { mayRequire: any }),
        type(Kind.command, { gate: clauses(both('eq', num(0), num(1))), mayRequire: any }),
      ],
    )
    const core = load(make, grounded)
    core.snapshot(0)
    const chain = [candidate(1, { id: 'a', form: between === Kind.notice ? Reason.none : form })]
    if (between === Kind.notice) chain.push(candidate(0, { id: 'b', form, requires: [0] }))
    const first = between === Kind.notice ? 1 : 0
    const said = core.admit(batch(1, [...chain, candidate(1, { id: 'c', requires: [first] })]), 0).at(-1)!
    expect([said.reason, said.cause]).toEqual([Reason.prerequisite_withheld, between === Kind.notice ? 0 : first])
  })

  test('G1 G6: standing components, forms, scopes and unknown prerequisites, as the oracle says', () => {
    // 0 supports by payload; 1 is an action that must rest on a 3; 2 has gate clauses and a bound, and may rest on all. What
    // supports a 2 or a 3 reads nothing of its record: either may settle.
    const may = [0, 1, 2, 3].map((t) => ({ type: t, phase: t === 1 ? Phase.completed : Phase.released }))
    const payload = [{ name: 'supported', kind: 'boolean', optional: false }] as const
    const says = clauses(both('ge', slot(0), num(1)))
    const mixed = image(
      [],
      [
        type(Kind.notice, { payload, support: says, mayRequire: [may[0]!, may[1]!, may[3]!] }),
        type(Kind.command, { payload, support: says, requires: [3], mayRequire: may }),
        type(Kind.report, { payload, bounds: clauses(both('le', slot(0), num(2))), gate: says, mayRequire: may }),
        type(Kind.notice, { payload, gate: says, mayRequire: may }),
      ],
    )
    for (let seed = 1; seed <= 300; seed++) {
      const roll = dice(seed)
      const pair = [load(oracle, mixed), load(make, mixed)]
      const first = Array.from({ length: 1 + roll(4) }, (_, i) => {
        const t = i === 0 ? 3 : roll(4)
        return candidate(t, { id: `s${i}`, payload: [1], requires: i === 0 ? [] : [0] })
      })
      const count = 1 + roll(7)
      const codes = [...first.map((_, i) => standing(i)), ...Array(count).keys()]
      const pick = (odds: number): number => (roll(odds) === 0 ? UNKNOWN_PREREQUISITE : codes[roll(codes.length)]!)
      const edges = (odds: number): number[] => [...new Set(Array.from({ length: roll(3) }, () => pick(odds)))]
      const forms = [Reason.duplicate_id, Reason.unknown_type, Reason.type_not_permitted, Reason.payload_invalid]
      const candidates = Array.from({ length: count }, (_, i) => {
        const t = roll(4)
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
      const settled = first.map(({ type: t }) => t >= 2 && roll(2) === 0)
      const [a, b] = pair.map((core) => {
        core.snapshot(0)
        const sequences = retain(core, batch(1, first), 0)
        sequences.forEach((s, i) => {
          if (first[i]!.type === 1 && completed[i]) core.reach(s, Phase.completed)
          if (!settled[i]) return
          core.end(s, Phase.completed)
          core.release(s)
        })
        const rest = {
          standing: sequences.map((sequence, i) =>
            settled[i] ? { sequence, type: first[i]!.type } : { sequence, requires: edgesOfStanding[i]! },
          ),
        }
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
