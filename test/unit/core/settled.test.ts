// What has settled (PROTOCOL 4, 5): which types the host and the core let settle, how one that is named is bound, and that
// nothing stands in for it.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Kind, Phase, Reason, TYPES_MAX } from '../../../build/abi.ts'
import { type Core, type Settled, standing } from '../../../src/core/core.ts'
import type { Expression } from '../../../src/core/expression.ts'
import { settles } from '../../../src/core/image.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { clauseTree, stateTree } from '../../oracle/expressions.ts'
import {
  batch,
  both,
  candidate,
  cited,
  clauses,
  entry,
  field,
  frame,
  image,
  load,
  not,
  now,
  num,
  retain,
  slot,
  TRUE,
  type,
} from '../../oracle/sketch.ts'
import { allowed } from './allowed.ts'

const KINDS = [Kind.notice, Kind.report, Kind.request, Kind.handoff, Kind.command, Kind.setpoint] as const

const OF_THE_RECORD: readonly Expression[] = [
  slot(0),
  { op: 'has', slot: 1 },
  { op: 'text', slot: 2, value: 'pad', guarded: true },
  { op: 'length', slot: 2, guarded: true },
  cited(0),
  { op: 'unchanged', field: 4 },
  { op: 'drift', field: 0, angle: true },
]
const OF_THE_PRESENT: readonly Expression[] = [num(1), now(0), { op: 'age', field: 0 }]

describe('a type settles for the host where it does for the core', () => {
  test('of every kind, and whatever its support reads, at whatever depth', () => {
    const read = (e: Expression): Expression => both('ge', e, num(0))
    const around: readonly ((e: Expression) => Expression)[] = [
      read,
      (e) => not(read(e)),
      (e) => both('or', TRUE, read(e)),
      (e) => ({ op: 'select', args: [TRUE, TRUE, read(e)] }),
      (e) => read({ op: 'distance', args: [num(0), num(0), num(0), e] }),
    ]
    for (const kind of KINDS)
      for (const [leaves, ofTheRecord] of [[OF_THE_RECORD, true] as const, [OF_THE_PRESENT, false] as const]) {
        const types = leaves.flatMap((leaf) => around.map((wrap) => type(kind, { support: clauses(TRUE, wrap(leaf)) })))
        const expected = (kind === Kind.notice || kind === Kind.report) && !ofTheRecord
        expect(types.map(settles)).toEqual(types.map(() => expected))
        expect(allowed(types)).toEqual(types.map(() => expected))
      }
  })

  test('what only its gate clauses read is asked for by nobody afterwards', () => {
    const types = [Kind.notice, Kind.report].flatMap((kind) =>
      [...OF_THE_RECORD, ...OF_THE_PRESENT].map((leaf) =>
        type(kind, { support: clauses(TRUE), gate: clauses(both('ge', leaf, num(0))) }),
      ),
    )
    expect(types.every(settles)).toBe(true)
    expect(allowed(types)).toEqual(types.map(() => true))
  })

  test('of wild clauses', () => {
    const said = new Map<boolean, number>()
    const support = fc.array(fc.oneof(clauseTree, stateTree, stateTree), { maxLength: 2 })
    const types = fc
      .sample(support, { seed: 1, numRuns: 5 * (TYPES_MAX - 1) })
      .map((all, i) => type(i % 2 === 0 ? Kind.report : Kind.notice, { support: clauses(...all) }))
    for (let from = 0; from < types.length; from += TYPES_MAX - 1) {
      const part = types.slice(from, from + TYPES_MAX - 1)
      const verdicts = part.map(settles)
      expect(allowed(part)).toEqual(verdicts)
      for (const verdict of verdicts) said.set(verdict, (said.get(verdict) ?? 0) + 1)
    }
    expect(Math.min(said.get(true) ?? 0, said.get(false) ?? 0)).toBeGreaterThan(50)
  })
})

// 0, 1: reports that settle; 2: a notice; 3: a flight that may rest on each of them.
const UP = 0
const support = clauses(both('gt', now(UP), num(0)))
const FLIGHT = image(
  [field('up', 1000)],
  [
    type(Kind.report, { support }),
    type(Kind.report),
    type(Kind.notice),
    type(Kind.setpoint, {
      mayRequire: [0, 1, 2].map((t) => ({ type: t, phase: t === 2 ? Phase.retained : Phase.released })),
      frames: [frame([entry(0, 'u8', num(1))], { sends: Number.POSITIVE_INFINITY })],
    }),
  ],
)

/** Components of those types were released, and have left; after them others took their slots. */
function flying(): { readonly core: Core; readonly gone: readonly Settled[]; readonly live: number } {
  const core = load(loadCore, FLIGHT)
  core.observe(UP, 1, 0)
  core.snapshot(0)
  const sequences = retain(core, batch(1, [candidate(2), candidate(1), candidate(0)]), 0)
  for (const sequence of sequences) {
    expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
    core.reach(sequence, Phase.released)
    core.end(sequence, Phase.completed)
    core.release(sequence)
  }
  const [live] = retain(core, batch(1, [candidate(1)]), 0) as [number]
  core.gate(live, 0, 0, 0)
  core.reach(live, Phase.released)
  return { core, gone: sequences.map((sequence, i) => ({ sequence, type: 2 - i })), live }
}

/** Of one that rests on all of those, and on one that the core still knows. */
function resting(): { readonly core: Core; readonly sequence: number; readonly entries: DataView } {
  const { core, gone, live } = flying()
  const requires = [...gone.map((_, i) => standing(i)), standing(gone.length)]
  const rest = { standing: [...gone, { sequence: live, requires: [] }] }
  const [sequence] = retain(core, batch(1, [candidate(3, { requires })], rest), 0) as [number]
  const record = core.record(sequence)
  return { core, sequence, entries: new DataView(record.buffer, record.byteOffset + 80, 8 * requires.length) }
}

test('G2: of one that has settled the record has its number, the phase, and its type in place of a slot', () => {
  const { entries } = resting()
  const bound = [0, 8, 16, 24].map((at) => [
    entries.getUint32(at, true),
    entries.getUint16(at + 4, true),
    entries.getUint16(at + 6, true),
  ])
  expect(bound).toEqual([
    [1, Phase.retained, 0x8002],
    [2, Phase.released, 0x8001],
    [3, Phase.released, 0x8000],
    [4, Phase.released, 2], // the slot given back last is taken first
  ])
})

test('G1 G2: a record in which one has settled that has not, or is of another type, is not what was bound', () => {
  const ofSlot = (i: number): number => 8 * i + 6
  const forgeries: readonly (readonly [title: string, at: number, slot: number])[] = [
    ['a report without support for one that has lost it', ofSlot(2), 0x8001],
    ['a notice for it', ofSlot(2), 0x8002],
    ['one that is known for it', ofSlot(2), 2],
    ['one that has settled for one that is known', ofSlot(3), 0x8002],
    ['a type that is not there', ofSlot(2), 0x8000 + TYPES_MAX],
  ]
  for (const [title, at, slotOrType] of forgeries)
    for (const isLeased of [false, true]) {
      const { core, sequence, entries } = resting()
      if (isLeased) expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
      core.observe(UP, 0, 1)
      entries.setUint16(at, slotOrType, true)
      const said = isLeased ? core.frame(sequence, 0, 0, 1, 0) : core.gate(sequence, 0, 1, 0)
      expect(said, title).toEqual({ decision: 'deny', reason: Reason.binding_mismatch, detail: -1 })
    }
})

test.each([
  ['number 0', { sequence: 0, type: 2 }, 'sequence 0 was never given'],
  ['a number that is to come', { sequence: 5, type: 2 }, 'sequence 5 was never given'],
  ['half a number', { sequence: 1.5, type: 2 }, 'sequence must be an integer'],
  ['a type that is not there', { sequence: 1, type: 4 }, 'type must be an integer from 0 to 3, got 4'],
  ['a flight', { sequence: 1, type: 3 }, 'type type5 does not settle'],
])('G5: %s as settled is a RangeError before the core is touched', (_, settled, words) => {
  const { core, gone } = flying()
  const admit = (kept: Settled) => core.admit(batch(1, [candidate(2)], { standing: [...gone.slice(1), kept] }), 0)
  expect(() => admit(settled)).toThrow(words)
  expect(core.poisoned).toBe(false)
  expect(admit(gone[0]!)[0]!.reason).toBe(Reason.none)
})

test('G5: one that the core still knows is not settled: it traps', () => {
  const { core, live } = flying()
  expect(() => core.admit(batch(1, [candidate(2)], { standing: [{ sequence: live, type: 1 }] }), 0)).toThrow('trapped')
  expect(core.poisoned).toBe(true)
})
