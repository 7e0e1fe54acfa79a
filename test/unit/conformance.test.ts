// What the exhaustive tests do not reach: the state table, snapshots, limits and misuse, on the core and the oracle alike
// (PROTOCOL 2, 6).

import { describe, expect, test } from 'vitest'
import {
  CANDIDATES_MAX,
  FIELDS_MAX,
  INSTANCES_MAX,
  Kind,
  LEASES_MAX,
  Phase,
  PREREQUISITES_MAX,
  Reason,
  SNAPSHOTS_MAX,
} from '../../build/abi.ts'
import { Barrier, type Core, standing } from '../../src/core/core.ts'
import type { Expression } from '../../src/core/expression.ts'
import { cores } from '../oracle/cores.ts'
import {
  batch,
  both,
  candidate,
  cited,
  clauses,
  entry,
  field,
  forget,
  frame,
  image,
  load,
  not,
  now,
  num,
  retain,
  type,
} from '../oracle/sketch.ts'

/** Sequences so far apart meet in the ledger. */
const SAME_CHAIN = 4096
const MODE = 0
const LEVEL = 1
const FIELDS = [field('mode', 100, true), field('level', 100)]
/** A notice, a command, and a setpoint whose gate clause never holds; notice and setpoint may rest on any. */
const ANY = [0, 1, 2].map((t) => ({ type: t, phase: t === 0 ? Phase.released : Phase.completed }))
const GUARDED = image(
  [],
  [
    type(Kind.notice, { mayRequire: ANY }),
    type(Kind.command),
    type(Kind.setpoint, { gate: clauses(both('gt', num(0), num(1))), mayRequire: ANY }),
  ],
)

describe.each(cores)('%s', (_, make) => {
  test('G5: a value is usable up to its age and stale after it, unknown before the first and after one not finite', () => {
    const core = load(make, image(FIELDS, []))
    const unknown = { validity: 'unknown', value: Number.NaN, age_ms: Number.NaN, version: 0 }
    expect(core.read(LEVEL, 0)).toEqual(unknown)
    core.observe(LEVEL, 7, 10)
    expect(core.read(LEVEL, 110)).toEqual({ validity: 'usable', value: 7, age_ms: 100, version: 0 })
    expect(core.read(LEVEL, 110.5)).toEqual({ validity: 'stale', value: 7, age_ms: 100.5, version: 0 })
    core.observe(LEVEL, Number.POSITIVE_INFINITY, 111)
    expect(core.read(LEVEL, 111)).toEqual(unknown)
    core.observe(LEVEL, 8, 109)
    expect(core.read(LEVEL, 111), 'an observation older than the last receipt is ignored').toEqual(unknown)
    core.observe(LEVEL, 9, 111)
    expect(core.read(LEVEL, 111)).toEqual({ validity: 'usable', value: 9, age_ms: 0, version: 0 })
  })

  test('G5: a discrete field has a new version at every change and at every return, and a continuous one has none', () => {
    const core = load(make, image(FIELDS, []))
    const steps: readonly (readonly [number, number, number])[] = [
      [0, 0, 1], // known for the first time
      [0, 50, 1], // the same
      [-0, 50, 1], // the same number
      [1, 60, 2], // changed
      [1, 160, 2], // just in time
      [1, 261, 3], // back from stale
      [2, 400, 4], // back from stale, and changed: one version
      [Number.NaN, 410, 4], // gone
      [2, 420, 5], // back from unknown
      [3, 419, 5], // older than the last receipt: ignored
    ]
    for (const [value, at_ms, version] of steps) {
      core.observe(MODE, value, at_ms)
      core.observe(LEVEL, value, at_ms)
      expect(core.read(MODE, 420).version, `${value} at ${at_ms}`).toBe(version)
      expect(core.read(LEVEL, 420).version).toBe(0)
    }
  })

  test('G4: the newest snapshots are kept, and what is not kept cannot be cited', () => {
    const core = load(make, image([], [type(Kind.notice)]))
    for (let i = 1; i <= SNAPSHOTS_MAX + 3; i++) expect(core.snapshot(i)).toBe(i)
    expect([0, 1, 2, 3, SNAPSHOTS_MAX + 4].map((ordinal) => core.taken(ordinal))).toEqual(Array(5).fill(undefined))
    expect(core.taken(4)).toBe(4)
    expect(core.taken(SNAPSHOTS_MAX + 3)).toBe(SNAPSHOTS_MAX + 3)
    expect(() => core.admit(batch(3, [candidate(0)]), 300)).toThrow()
  })

  test('G5: admission says the first reason of PROTOCOL 5 that applies, with its detail', () => {
    const payload = [{ name: 'x', kind: 'number', optional: false }] as const
    const x = { op: 'payload', slot: 0, guarded: false } as const
    const what = image(FIELDS, [
      type(Kind.notice),
      type(Kind.command),
      type(Kind.command, {
        payload,
        bounds: clauses(both('ge', x, num(0)), both('le', x, num(10))),
        support: clauses(both('ge', now(LEVEL), num(5)), both('ge', cited(LEVEL), num(5)), both('lt', x, num(9))),
        gate: clauses(both('ge', now(LEVEL), num(6))),
        watches: [MODE],
        requires: [0],
        mayRequire: [
          { type: 0, phase: Phase.released },
          { type: 2, phase: Phase.completed },
        ],
      }),
    ])
    const core = load(make, what)
    core.observe(MODE, 1, 0)
    core.observe(LEVEL, 5, 0)
    const ordinal = core.snapshot(0)
    const notice = candidate(0)
    const subject = (rest: object, others = [notice]): readonly [Reason, number, number] => {
      const said = core.admit(
        batch(ordinal, [candidate(2, { payload: [1], requires: [1], ...rest }), ...others]),
        0,
      )[0]!
      return [said.reason, said.detail, said.cause]
    }
    expect(subject({ form: Reason.type_not_permitted, payload: [11] })).toEqual([Reason.type_not_permitted, -1, -1])
    expect(subject({ payload: [11], requires: [-1] })).toEqual([Reason.payload_invalid, 1, -1])
    expect(subject({ payload: [-1] })).toEqual([Reason.payload_invalid, 0, -1])
    const command = candidate(1)
    expect(subject({ requires: [2, 1, -1] }, [notice, command])).toEqual([Reason.unknown_prerequisite, 2, -1])
    expect(subject({ requires: [1, 2] }, [notice, command])).toEqual([Reason.prerequisite_not_allowed, 1, -1])
    expect(subject({ requires: [0] })).toEqual([Reason.prerequisite_missing, 0, -1])
    expect(subject({ requires: [0, 1], scope: Reason.out_of_scope })).toEqual([Reason.prerequisite_cycle, -1, -1])
    expect(subject({ scope: Reason.out_of_scope, barrier: Reason.paused })).toEqual([Reason.out_of_scope, -1, -1])
    expect(subject({ barrier: Reason.paused, payload: [9.5] })).toEqual([Reason.paused, -1, -1])
    expect(subject({ payload: [9.5] })).toEqual([Reason.unsupported, 2, -1])
    expect(subject({})).toEqual([Reason.unsupported, 3, -1])

    core.observe(LEVEL, 6, 0)
    const doomed = candidate(0, { form: Reason.duplicate_id })
    expect(subject({}, [doomed])).toEqual([Reason.prerequisite_withheld, -1, 1])
    core.observe(MODE, 2, 0)
    expect(subject({ payload: [9.5] })).toEqual([Reason.changed, MODE, -1])
    core.observe(LEVEL, Number.NaN, 0)
    expect(subject({})).toEqual([Reason.state_unknown, LEVEL, -1])
  })

  test('G1: gate clauses wait while it rests, however far, on an action that is not completed', () => {
    const core = load(make, GUARDED)
    core.snapshot(0)
    const reasons = (said: ReturnType<Core['admit']>): Reason[] => said.map(({ reason }) => reason)
    const notice = candidate(0)
    expect(reasons(core.admit(batch(1, [candidate(2, { requires: [1] }), notice]), 0))[0]).toBe(Reason.unsupported)
    const chain = [candidate(2, { requires: [1] }), candidate(0, { requires: [2] }), candidate(1)]
    expect(reasons(core.admit(batch(1, chain), 0))).toEqual([Reason.none, Reason.none, Reason.none])

    const [action] = retain(core, batch(1, [candidate(1)]), 0) as [number]
    const rest = { standing: [{ sequence: action, requires: [] }] }
    const later = batch(1, [candidate(2, { requires: [standing(0)] })], rest)
    expect(reasons(core.admit(later, 0))).toEqual([Reason.none])
    core.gate(action, 0, 0, 0)
    core.reach(action, Phase.completed)
    expect(reasons(core.admit(later, 0))).toEqual([Reason.unsupported])
  })

  test.each(['behind it', 'before it'])('G1: and so through components that stand, told of %s', (order) => {
    const core = load(make, GUARDED)
    core.snapshot(0)
    const chain = [candidate(1), candidate(0, { requires: [0] }), candidate(0, { requires: [1] })]
    const [action, near, far] = retain(core, batch(1, chain), 0) as [number, number, number]
    const kept =
      order === 'behind it'
        ? [
            { sequence: action, requires: [] },
            { sequence: near, requires: [standing(0)] },
            { sequence: far, requires: [standing(1)] },
          ]
        : [
            { sequence: far, requires: [standing(1)] },
            { sequence: near, requires: [standing(2)] },
            { sequence: action, requires: [] },
          ]
    const last = kept.findIndex(({ sequence }) => sequence === far)
    const later = batch(1, [candidate(2, { requires: [standing(last)] })], { standing: kept })
    expect(core.admit(later, 0)[0]!.reason).toBe(Reason.none)
    core.gate(action, 0, 0, 0)
    core.reach(action, Phase.completed)
    expect(core.admit(later, 0)[0]!.reason).toBe(Reason.unsupported)
  })

  test('G1: what was released and forgotten may be named, stands while its support does, and is bound', () => {
    const mayRequire = [0, 1].map((t) => ({ type: t, phase: Phase.released }))
    const support = clauses(both('ge', now(0), num(5)))
    const core = load(
      make,
      image(
        [{ name: 'level', maxAge_ms: 100, discrete: false }],
        [type(Kind.report, { support }), type(Kind.notice), type(Kind.notice, { mayRequire, requires: [0] })],
      ),
    )
    core.observe(0, 7, 0)
    core.snapshot(0)
    const first = retain(core, batch(1, [candidate(0), candidate(1)]), 0) as [number, number]
    for (const sequence of first) {
      expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
      core.end(sequence, Phase.completed)
      core.release(sequence)
    }
    const kept = first.map((sequence, t) => ({ sequence, type: t }))
    const named = [candidate(2, { requires: [standing(0), standing(1)] }), candidate(2, { requires: [standing(1)] })]
    const [both_, lacking] = core.admit(
      batch(1, [...named, candidate(2, { requires: [standing(0)] })], { standing: kept }),
      0,
    )
    expect(both_!.reason).toBe(Reason.none)
    expect([lacking!.reason, lacking!.detail]).toEqual([Reason.prerequisite_missing, 0])
    expect(core.rehearse(both_!.sequence, 0, 0).decision).toBe('allow')
    core.observe(0, 4, 1)
    expect(core.gate(both_!.sequence, 0, 1, 0)).toMatchObject({ reason: Reason.prerequisite_lost, detail: first[0] })
    // Silence is no support either; a notice needs none.
    const [again] = retain(core, batch(1, [candidate(2, { requires: [standing(0)] })], { standing: kept }), 1) as [
      number,
    ]
    expect(core.gate(again, 0, 200, 0)).toMatchObject({ reason: Reason.prerequisite_lost, detail: first[0] })
  })

  test('G1: what has settled keeps its number beside others that go in circles, is on none, and lets gate clauses be judged', () => {
    const may = [0, 1].map((t) => ({ type: t, phase: Phase.released }))
    const support = clauses(both('ge', now(0), num(5)))
    const never = clauses(both('eq', num(0), num(1)))
    const core = load(
      make,
      image(
        [{ name: 'level', maxAge_ms: 100, discrete: false }],
        [
          type(Kind.report, { support }),
          type(Kind.notice, { mayRequire: may }),
          type(Kind.notice, { gate: never, mayRequire: may }),
        ],
      ),
    )
    core.observe(0, 7, 0)
    core.snapshot(0)
    const gone = retain(core, batch(1, [candidate(0), candidate(0), candidate(0)]), 0)
    for (const sequence of gone) {
      core.gate(sequence, 0, 0, 0)
      core.end(sequence, Phase.completed)
      core.release(sequence)
    }
    const rests = (...requires: number[]) => candidate(1, { requires })
    const offered = [
      rests(standing(0), 1), // a circle of two,
      rests(0, standing(2)),
      rests(standing(2), 2), // and one of one
      rests(standing(2), standing(0)),
      rests(standing(1), 5), // forward: the graph does not descend
      rests(standing(2)),
      candidate(2, { requires: [standing(1)] }),
    ]
    const said = core.admit(batch(1, offered, { standing: gone.map((sequence) => ({ sequence, type: 0 })) }), 0)
    expect(said.map(({ reason }) => reason)).toEqual([
      Reason.prerequisite_cycle,
      Reason.prerequisite_cycle,
      Reason.prerequisite_cycle,
      Reason.none,
      Reason.none,
      Reason.none,
      Reason.unsupported,
    ])
    core.gate(said[5]!.sequence, 0, 0, 0)
    core.reach(said[5]!.sequence, Phase.released)
    core.observe(0, 4, 1)
    const lost = [3, 4].map((i) => core.gate(said[i]!.sequence, 0, 1, 0))
    expect(lost).toMatchObject([
      { reason: Reason.prerequisite_lost, detail: gone[2] },
      { reason: Reason.prerequisite_lost, detail: gone[1] },
    ])
  })

  test('G6: all that can have settled may be named beside all that the core can know', () => {
    const mayRequire = [{ type: 0, phase: Phase.released }]
    const core = load(make, image([], [type(Kind.notice), type(Kind.notice, { mayRequire })]))
    core.snapshot(0)
    const many = (n: number): number[] => {
      const sequences: number[] = []
      for (let left = n; left > 0; left -= CANDIDATES_MAX) {
        const part = Array.from({ length: Math.min(left, CANDIDATES_MAX) }, () => candidate(0))
        sequences.push(...retain(core, batch(1, part), 0))
      }
      return sequences
    }
    const gone = many(INSTANCES_MAX)
    for (const sequence of gone) {
      core.end(sequence, Phase.completed)
      core.release(sequence)
    }
    const askers = (2 * INSTANCES_MAX) / PREREQUISITES_MAX
    const live = many(INSTANCES_MAX - askers)
    const kept = [
      ...live.map((sequence) => ({ sequence, requires: [] })),
      ...gone.map((sequence) => ({ sequence, type: 0 })),
    ]
    const codes = kept.map((_, i) => standing(i))
    const offered = Array.from({ length: askers }, (_, i) =>
      candidate(1, { requires: codes.slice(i * PREREQUISITES_MAX, (i + 1) * PREREQUISITES_MAX) }),
    )
    const all = retain(core, batch(1, offered, { standing: kept }), 0)
    // Those that came first rest on what is not released yet; the last ones on what has settled alone.
    expect(core.gate(all[0]!, 0, 0, 0)).toMatchObject({ reason: Reason.prerequisite_not_ready, detail: live[0] })
    expect(core.gate(all.at(-1)!, 0, 0, 0).decision).toBe('allow')
    for (const sequence of live) core.reach(sequence, Phase.released)
    expect(all.slice(0, -1).map((sequence) => core.gate(sequence, 0, 0, 0).decision)).toEqual(
      all.slice(0, -1).map(() => 'allow'),
    )
  })

  test('G1: a prerequisite of unknown type counts as whichever type is mandatory, and takes what rests on it along', () => {
    const mayRequire = [0, 1].map((t) => ({ type: t, phase: Phase.released }))
    const core = load(
      make,
      image([], [type(Kind.notice), type(Kind.notice), type(Kind.notice, { mayRequire, requires: [1] })]),
    )
    core.snapshot(0)
    const said = (form: Reason): unknown =>
      core.admit(batch(1, [candidate(2, { requires: [1] }), candidate(0, { form })]), 0)[0]
    const no = { sequence: 0, cause: -1, detail: -1 }
    expect(said(Reason.unknown_type)).toEqual({ ...no, reason: Reason.prerequisite_withheld, cause: 1 })
    expect(said(Reason.type_not_permitted)).toEqual({ ...no, reason: Reason.prerequisite_missing, detail: 1 })
  })

  test('G1: of several mandatory types each must be named, and the first that is not is', () => {
    const mayRequire = [1, 2].map((t) => ({ type: t, phase: Phase.released }))
    const core = load(
      make,
      image([], [type(Kind.notice, { mayRequire, requires: [1, 2] }), type(Kind.notice), type(Kind.notice)]),
    )
    core.snapshot(0)
    const said = (requires: readonly number[]) =>
      core.admit(batch(1, [candidate(0, { requires }), candidate(1), candidate(2)]), 0)[0]!
    expect(said([1])).toMatchObject({ reason: Reason.prerequisite_missing, detail: 2 })
    expect(said([2])).toMatchObject({ reason: Reason.prerequisite_missing, detail: 1 })
    expect(said([2, 1])).toMatchObject({ reason: Reason.none })
  })

  test('G1: a report that is only needed as retained is not judged again before it is released', () => {
    const good = both('ge', now(LEVEL), num(1))
    const mayRequire = [{ type: 0, phase: Phase.retained }]
    const core = load(
      make,
      image(FIELDS, [type(Kind.report, { support: clauses(good) }), type(Kind.notice, { mayRequire })]),
    )
    core.observe(LEVEL, 1, 0)
    core.snapshot(0)
    const two = [candidate(0), candidate(1, { requires: [0] }), candidate(1, { requires: [0] })]
    const [report, early, late] = retain(core, batch(1, two), 0) as [number, number, number]
    core.gate(report, 0, 0, 0)
    core.observe(LEVEL, 0, 1)
    expect(core.gate(early, 0, 1, 0).decision).toBe('allow')
    core.reach(report, Phase.released)
    expect(core.gate(late, 0, 1, 0)).toMatchObject({ decision: 'deny', reason: Reason.prerequisite_lost })
  })

  test('G1: what rests on an instance that is forgotten has failed, the first of a session too, at the gate and in a lease', () => {
    const mayRequire = [{ type: 0, phase: Phase.released }]
    const effect = { frames: [frame([entry(0, 'u8', num(1))], { sends: 2 })] }
    const core = load(make, image([], [type(Kind.notice), type(Kind.setpoint, { mayRequire, ...effect })]))
    core.snapshot(0)
    const three = [candidate(0), candidate(1, { requires: [0] }), candidate(1, { requires: [0] })]
    const [notice, flying, waiting] = retain(core, batch(1, three), 0) as [number, number, number]
    core.gate(notice, 0, 0, 0)
    core.reach(notice, Phase.released)
    expect(core.gate(flying, 0, 0, 0).decision).toBe('allow')
    core.end(notice, Phase.completed)
    core.release(notice)
    const failed = { decision: 'deny', reason: Reason.prerequisite_failed, detail: notice }
    expect(core.gate(waiting, 0, 0, 0)).toMatchObject(failed)
    expect(core.frame(flying, 0, 0, 0, 0)).toMatchObject(failed)
  })

  test('G5: a command is not sent again once what its frame refers to is stale', () => {
    const frames = [frame([entry(0, 'f32', now(LEVEL))], { sends: 3 })]
    const core = load(make, image(FIELDS, [type(Kind.command, { tolerance: [{ field: LEVEL, value: 1 }], frames })]))
    core.observe(LEVEL, 5, 0)
    core.snapshot(0)
    const [sequence] = retain(core, batch(1, [candidate(0)]), 0) as [number]
    expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
    expect(core.frame(sequence, 0, 0, 100, 0).decision).toBe('allow')
    expect(core.frame(sequence, 0, 0, 101, 0)).toMatchObject({ reason: Reason.state_stale, detail: LEVEL })
  })

  test('G3: more leases than there is room for wait, and go on when one ends', () => {
    const core = load(make, image([], [type(Kind.setpoint, { frames: [frame([entry(0, 'u8', num(1))])] })]))
    core.snapshot(0)
    const sequences = Array.from({ length: LEASES_MAX + 1 }, () => retain(core, batch(1, [candidate(0)]), 0)[0]!)
    const last = sequences.pop()!
    for (const sequence of sequences) expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
    expect(core.gate(last, 0, 0, 0)).toEqual({ decision: 'defer', reason: Reason.resource_busy, detail: -1 })
    core.end(sequences[0]!, Phase.failed)
    expect(core.gate(last, 0, 0, 0).decision).toBe('allow')
  })

  test('G3: a lease that is denied makes room for another', () => {
    const core = load(make, image([], [type(Kind.setpoint, { frames: [frame([entry(0, 'u8', num(1))])] })]))
    core.snapshot(0)
    for (let i = 0; i < 2 * LEASES_MAX; i++) {
      const [sequence] = retain(core, batch(1, [candidate(0)]), 0) as [number]
      expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
      expect(core.frame(sequence, 0, Barrier.paused, 0, 0)).toMatchObject({ reason: Reason.paused })
    }
  })

  test('G4: an instance is found by its sequence however many came and went since, and forgotten alone', () => {
    const core = load(make, image([], [type(Kind.notice)]))
    core.snapshot(0)
    const pass = (n: number): void => {
      for (let left = n; left > 0; left -= CANDIDATES_MAX) {
        const many = Array.from({ length: Math.min(left, CANDIDATES_MAX) }, () => candidate(0))
        forget(core, core.admit(batch(1, many), 0))
      }
    }
    const idOf = (n: number) => `number-${n}`
    const keep = (n: number): number => retain(core, batch(1, [candidate(0, { id: idOf(n) })]), 0)[0]!
    const kept = [0, 1, 2, 3].map((n) => {
      const sequence = keep(n)
      pass(SAME_CHAIN - 1)
      return sequence
    }) as [number, number, number, number]
    expect(kept).toEqual([1, 1 + SAME_CHAIN, 1 + 2 * SAME_CHAIN, 1 + 3 * SAME_CHAIN])
    const bindings = kept.map((sequence) => core.binding(sequence))
    for (const [n, left] of [
      [1, [0, 2, 3]],
      [0, [2, 3]],
      [3, [2]],
    ] as const) {
      core.end(kept[n]!, Phase.superseded)
      core.release(kept[n]!)
      expect(core.rehearse(kept[n]!, 0, 0)).toMatchObject({ reason: Reason.not_retained })
      expect(left.map((i) => core.binding(kept[i]!))).toEqual(left.map((i) => bindings[i]))
    }
  })

  test('a program that begins as another one is another one', () => {
    const short = num(0)
    for (const expressions of [
      [not(short), short],
      [short, not(short)],
    ]) {
      const core = load(
        make,
        image(
          [],
          expressions.map((e) => type(Kind.notice, { support: clauses(e) })),
        ),
      )
      core.snapshot(0)
      const said = core.admit(batch(1, [candidate(0), candidate(1)]), 0)
      expect(said.map(({ reason }) => reason)).toEqual(
        expressions.map((e) => (e === short ? Reason.unsupported : Reason.none)),
      )
    }
  })

  test('a string equals itself alone: every byte counts, and how many there are', () => {
    const payload = [{ name: 'pad', kind: 'string', optional: false }] as const
    const words = ['', 'n', 'nort', 'north', 'North', 'nortH', 'norths', 'northern pad', 'Nørth']
    const types = words.map((value) =>
      type(Kind.notice, { payload, support: clauses({ op: 'text', slot: 0, value, guarded: false }) }),
    )
    const core = load(make, image([], types))
    core.snapshot(0)
    for (const word of words) {
      const said = core.admit(
        batch(
          1,
          words.map((_, t) => candidate(t, { payload: [word] })),
        ),
        0,
      )
      expect(words.filter((_, t) => said[t]!.reason === Reason.none)).toEqual([word])
      forget(core, said)
    }
  })

  test('G5: of as many fields as there can be, each is seen in its own tense and no other', () => {
    const fields = Array.from({ length: FIELDS_MAX }, (_, f) => field(`f${f}`, 100, true))
    const asked = [0, 1, 63, 64, 127, 128, 191, 192, 254, 255]
    const reads = asked.flatMap((field) => (['now', 'cited', 'age'] as const).map((op) => ({ op, field })))
    const always = (e: Expression): Expression => both('or', both('eq', e, e), both('ne', e, e))
    const types = reads.map((e) => type(Kind.notice, { support: clauses(always(e)) }))
    const predicates = reads.flatMap((e) =>
      e.op === 'cited' ? [] : [{ name: 'seen', type: undefined, expression: always(e) }],
    )
    for (const dark of asked) {
      const core = load(make, { ...image(fields, types), predicates })
      const see = (at_ms: number): void => {
        for (const f of fields.keys()) if (f !== dark) core.observe(f, 1, at_ms)
      }
      see(0)
      const candidates = reads.map((_, t) => candidate(t))
      const said = core.admit(batch(core.snapshot(0), candidates), 0)
      expect(said.map(({ reason, detail }) => [reason, detail])).toEqual(
        reads.map(({ field: f }) => (f === dark ? [Reason.state_unknown, dark] : [Reason.none, -1])),
      )
      forget(core, said)
      core.observe(dark, 1, 0)
      see(200)
      const late = core.admit(batch(core.snapshot(200), candidates), 200)
      expect(late.map(({ reason, detail }) => [reason, detail])).toEqual(
        reads.map(({ field: f, op }) => (f === dark && op !== 'age' ? [Reason.state_stale, dark] : [Reason.none, -1])),
      )
      expect(predicates.map((_, i) => core.predicate(i, 0, 200))).toEqual(
        asked.flatMap((f) => [f === dark ? undefined : true, true]),
      )
    }
  })

  test('G5: of several fields that are not seen the lowest is named, and an unknown one before a stale one', () => {
    const fields = Array.from({ length: FIELDS_MAX }, (_, f) => field(`f${f}`, 100))
    const asked = [1, 70, 254]
    const read = clauses(...asked.map((f) => both('ge', now(f), num(0))))
    const core = load(make, image(fields, [type(Kind.notice, { support: read })]))
    const said = (): unknown => {
      const [admitted] = core.admit(batch(core.snapshot(200), [candidate(0)]), 200)
      return [admitted!.reason, admitted!.detail]
    }
    expect(said()).toEqual([Reason.state_unknown, 1])
    core.observe(1, 0, 0)
    expect(said()).toEqual([Reason.state_unknown, 70])
    core.observe(70, 0, 0)
    expect(said()).toEqual([Reason.state_unknown, 254])
    core.observe(254, 0, 0)
    expect(said()).toEqual([Reason.state_stale, 1])
    core.observe(1, 0, 200)
    expect(said()).toEqual([Reason.state_stale, 70])
  })

  test('G4: capacity counts what is kept, and comes back when it is released', () => {
    const what = image([], [type(Kind.notice, { mayRequire: [{ type: 0, phase: Phase.released }] })])
    const core = load(make, what)
    core.snapshot(0)
    const empty = core.capacity()
    expect(empty.instances).toBe(INSTANCES_MAX)
    const pair = batch(1, [candidate(0), candidate(0, { requires: [0] })])
    const all = Array.from({ length: INSTANCES_MAX / 2 }, () => retain(core, pair, 0))
    expect(core.capacity()).toEqual({ instances: 0, edges: empty.edges - INSTANCES_MAX / 2 })
    for (const [a, b] of all as [number, number][]) {
      for (const sequence of [a, b]) core.end(sequence, Phase.superseded)
      core.release(b)
      core.release(a)
    }
    expect(core.capacity()).toEqual(empty)
    expect(retain(core, pair, 0)).toEqual([INSTANCES_MAX + 1, INSTANCES_MAX + 2])
  })

  test('G5: done is judged over the payload of its own instance, at its own time', () => {
    const payload = [{ name: 'least', kind: 'number', optional: false }] as const
    const x = { op: 'payload', slot: 0, guarded: false } as const
    const done = both('and', both('ge', now(LEVEL), x), both('ge', { op: 'age', field: LEVEL }, num(50)))
    const core = load(make, image(FIELDS, [type(Kind.setpoint, { payload, done })]))
    core.observe(LEVEL, 5, 0)
    core.snapshot(0)
    const pair = [5, 9].map((least) => candidate(0, { payload: [least] }))
    const sequences = retain(core, batch(1, pair), 0)
    for (const sequence of sequences) expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
    const said = (now_ms: number): boolean[] => sequences.map((sequence) => core.done(sequence, 0, now_ms))
    expect(said(49)).toEqual([false, false])
    expect(said(50)).toEqual([true, false])
    expect(said(101)).toEqual([false, false]) // stale
  })

  test('G3: misuse of the ledger throws', () => {
    const action = type(Kind.setpoint, { frames: [frame([entry(0, 'u8', num(1))], { sends: 1 })] })
    const fresh = (): readonly [Core, number] => {
      const core = load(make, image(FIELDS, [action]))
      core.snapshot(0)
      return [core, retain(core, batch(1, [candidate(0)]), 0)[0]!]
    }
    const crossed = (): readonly [Core, number] => {
      const [core, sequence] = fresh()
      core.gate(sequence, 0, 0, 0)
      core.reach(sequence, Phase.dispatched)
      return [core, sequence]
    }
    const ended = (): readonly [Core, number] => {
      const [core, sequence] = crossed()
      core.end(sequence, Phase.failed)
      return [core, sequence]
    }
    const wrong: readonly [string, () => readonly [Core, number], (core: Core, sequence: number) => void][] = [
      ['reach backwards', crossed, (core, s) => core.reach(s, Phase.retained)],
      ['reach an end', crossed, (core, s) => core.reach(s, Phase.failed)],
      ['end in a phase on the way', crossed, (core, s) => core.end(s, Phase.acknowledged)],
      ['end twice', ended, (core, s) => core.end(s, Phase.failed)],
      ['release what lives', crossed, (core, s) => core.release(s)],
      ['a frame twice', crossed, (core, s) => void core.frame(s, 0, 0, 0, 0)],
      ['a frame that is not there', crossed, (core, s) => void core.frame(s, 1, 0, 0, 0)],
      ['reach of nothing', fresh, (core) => core.reach(99, Phase.dispatched)],
      ['record of nothing', fresh, (core) => void core.record(99)],
      ['a receipt at no time', fresh, (core) => core.observe(LEVEL, 1, Number.NaN)],
      ['a contingency that is not there', fresh, (core) => void core.contingency(0)],
    ]
    for (const [title, prepare, misuse] of wrong) {
      const [core, sequence] = prepare()
      expect(() => misuse(core, sequence), title).toThrow()
    }
  })

  test('G3: no frame comes out of a token that is not leased', () => {
    const action = type(Kind.setpoint, {
      frames: [frame([entry(0, 'u8', num(1))], { sends: Number.POSITIVE_INFINITY })],
    })
    for (const state of ['issued', 'closed', 'denied'] as const) {
      const core = load(make, image(FIELDS, [action]))
      core.snapshot(0)
      const [sequence] = retain(core, batch(1, [candidate(0)]), 0) as [number]
      if (state !== 'issued') core.gate(sequence, 0, 0, 0)
      if (state === 'closed') core.end(sequence, Phase.completed)
      if (state === 'denied') core.frame(sequence, 0, 1, 0, 0)
      const no = { decision: 'deny', detail: -1 }
      expect(core.frame(sequence, 0, Barrier.paused, 0, 0), state).toEqual({ ...no, reason: Reason.paused })
      expect(core.frame(sequence, 0, 0, 0, 0), state).toEqual({ ...no, reason: Reason.token_revoked })
    }
  })
})
