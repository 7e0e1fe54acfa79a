import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  Kind,
  PAYLOAD_BYTES_MAX,
  Phase,
  PLAN_BYTES_MAX,
  PREREQUISITES_MAX,
  Reason,
  TEXT_BYTES_MAX,
  Validity,
} from '../../../build/abi.ts'
import type { Admitted, Core } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import {
  batch,
  both,
  candidate,
  cited,
  clauses,
  dice,
  ENVIRONMENT,
  field,
  forget,
  image,
  load,
  now,
  num,
  retain,
  SESSION,
  slot,
  type,
} from '../../oracle/sketch.ts'

const types = [
  type(Kind.command, {
    payload: [
      { name: 'alt', kind: 'number', optional: false },
      { name: 'name', kind: 'string', optional: false },
      { name: 'yaw', kind: 'number', optional: true },
    ],
    support: clauses({ op: 'ge', args: [now(1), cited(1)] }),
    done: both('eq', cited(2), num(0)), // never seen: retained all the same
    watches: [0],
    mayRequire: [{ type: 1, phase: Phase.released }],
    frames: [{ message: 7, length: 8, stamp: 4, sends: 1, entries: [{ offset: 0, format: 'f32', value: slot(0) }] }],
  }),
  type(Kind.notice),
  type(Kind.notice, { payload: [{ name: 'text', kind: 'string', optional: false }] }),
]

function bound(prepare: (core: Core) => void = () => {}) {
  const core = load(loadCore, image([field('map', 1000, true), field('battery', 1000), field('home', 1000)], types))
  core.observe(0, 2, 0)
  core.observe(1, 50, 0)
  prepare(core)
  const snapshot = core.snapshot(0)
  const [sequence, notice] = retain(
    core,
    batch(snapshot, [candidate(0, { payload: [12.5, 'Straße'], requires: [1] }), candidate(1)], {
      agent: 3,
      generation: 7,
    }),
    0,
  )
  core.reach(notice!, Phase.released)
  return { core, sequence: sequence! }
}

test('G2: b_e is SHA-256 of the record, and the payload is read back from it', () => {
  const { core, sequence } = bound()
  expect(core.binding(sequence)).toBe(createHash('sha256').update(core.record(sequence)).digest('hex'))
  expect(core.payload(sequence)).toEqual([12.5, 'Straße', undefined])
})

test('G2: b_e is that of its own record, whatever the one before it began with', () => {
  const core = load(loadCore, image([], [type(Kind.notice)]))
  core.snapshot(0)
  // Same beginnings and others in turn: of another agent, generation, snapshot and length of the plan.
  const batches = [{}, {}, { agent: 1 }, {}, { generation: 2 }, { generation: 2 }, { plan: 'agent/other' }, {}]
  for (const rest of batches) {
    const sequences = retain(core, batch(1, [candidate(0), candidate(0, { id: 'other' })], rest), 0)
    for (const sequence of sequences) {
      expect(core.binding(sequence)).toBe(createHash('sha256').update(core.record(sequence)).digest('hex'))
      expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
    }
  }
})

test('G2: b_e is that of its own record, however many are bound at once and however long each is', () => {
  const core = load(
    loadCore,
    image([], [type(Kind.notice, { payload: [{ name: 'text', kind: 'string', optional: false }] })]),
  )
  core.snapshot(0)
  const below = dice(1)
  for (let n = 1; n <= 64; n++) {
    const candidates = Array.from({ length: n }, () => candidate(0, { payload: ['x'.repeat(below(300))] }))
    const sequences = retain(core, batch(1, candidates), 0)
    for (const sequence of sequences) {
      expect(core.binding(sequence)).toBe(createHash('sha256').update(core.record(sequence)).digest('hex'))
    }
    forget(
      core,
      sequences.map((sequence) => ({ sequence })),
    )
  }
})

test('G2 G7: the record is laid out as PROTOCOL 6 lists it, whatever stood there before', () => {
  const dirty = (core: Core): void => {
    const text = candidate(2, { payload: ['x'.repeat(1000)] })
    const before = retain(core, batch(core.snapshot(0), [text, text]), 0)
    for (const sequence of before) core.end(sequence, Phase.completed)
    for (const sequence of before) core.release(sequence)
  }
  const { core, sequence } = bound(dirty)
  const u16 = (...values: number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer)
  const u32 = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer)
  const f64 = (value: number): Buffer => Buffer.from(Float64Array.of(value).buffer)
  const texts = ['component', 'agent/response', 'Straße'].map((text) => Buffer.from(text))
  const [id, plan, name] = texts as [Buffer, Buffer, Buffer]
  const version = 1
  const [agent, generation, ofType, snapshot] = [3, 7, 0, 2]
  const present = 0b011
  const nameAt = 80 + 3 * 8 + 3 * 16 + 2 * 4 + 8 + id.length + plan.length
  const notice = { sequence: 4, slot: 0 } // the slot given back last is taken first
  const parts = [
    [u32(version, agent), SESSION, ENVIRONMENT],
    [f64(generation), u32(snapshot, plan.length)],
    [u32(sequence, ofType, present), u16(1, id.length)],
    [f64(12.5), u32(nameAt, name.length), f64(0)], // payload; an absent field is 0
    [f64(2), u32(1, Validity.usable), f64(50), u32(0, Validity.usable), f64(0), u32(0, Validity.unknown)], // cited
    [u32(1, 0)], // the versions of the footprint, to a multiple of 8
    [u32(notice.sequence), u16(Phase.released, notice.slot)],
    texts,
  ]
  expect(Buffer.from(core.record(sequence)).toString('hex')).toBe(Buffer.concat(parts.flat()).toString('hex'))
})

test('G2: the record has the version of each discrete field of the footprint, in whichever role and tense', () => {
  const fields = Array.from({ length: 9 }, (_, f) => field(`f${f}`, 1000, true))
  const reader = type(Kind.setpoint, {
    support: clauses(now(0), { op: 'unchanged', field: 7 }),
    gate: clauses(both('ge', { op: 'age', field: 1 }, num(0))),
    holds: clauses({ op: 'drift', field: 2, angle: false }),
    done: now(3),
    frames: [{ message: 7, length: 8, stamp: -1, sends: 1, entries: [{ offset: 0, format: 'f32', value: now(4) }] }],
    watches: [5],
    tolerance: [{ field: 6, value: 1 }],
  })
  const core = load(loadCore, image(fields, [reader]))
  for (const f of fields.keys()) for (let version = 0; version <= f; version++) core.observe(f, version % 2 ? 0 : 1, 0)
  core.snapshot(0)
  const [{ sequence }] = core.admit(batch(1, [candidate(0)]), 0) as [Admitted]
  const cites = [2, 5, 7].length
  const versions = core.record(sequence).subarray(80 + 16 * cites, 80 + 16 * cites + 4 * 8)
  expect([...new Uint32Array(versions.slice().buffer)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('G2: the longest record that there can be is bound, and crosses', () => {
  const fields = Array.from({ length: 26 }, (_, f) => field(`f${f}`, 1000))
  const payload = Array.from({ length: 31 }, (_, s) =>
    s === 0
      ? ({ name: 'text', kind: 'string', optional: false } as const)
      : ({ name: `s${s}`, kind: 'number', optional: false } as const),
  )
  const mayRequire = [{ type: 1, phase: Phase.retained }]
  const all = fields.map((_, f) => both('ge', cited(f), num(0))).reduce((a, b) => both('and', a, b))
  const long = type(Kind.notice, { payload, support: clauses(all), mayRequire })
  const core = load(loadCore, image(fields, [long, type(Kind.notice)]))
  for (const f of fields.keys()) core.observe(f, 1, 0)
  core.snapshot(0)
  const others = Array.from({ length: PREREQUISITES_MAX }, () => candidate(1))
  const longest = candidate(0, {
    id: 'i'.repeat(TEXT_BYTES_MAX),
    payload: ['x'.repeat(PAYLOAD_BYTES_MAX), ...Array(30).fill(1)],
    requires: others.map((_, i) => i),
  })
  const sequences = retain(core, batch(1, [...others, longest], { plan: 'p'.repeat(PLAN_BYTES_MAX) }), 0)
  const sequence = sequences.at(-1)!
  expect(core.record(sequence)).toHaveLength(2473)
  expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
})

test('G2: whichever byte of the record is flipped between admission and gate, the gate denies', () => {
  const { core: intact, sequence: first } = bound()
  expect(intact.gate(first, 0, 0, 0).decision).toBe('allow')
  for (let i = 0; i < intact.record(first).length; i++) {
    const { core, sequence } = bound()
    core.record(sequence)[i]! ^= 1 << (i & 7)
    expect(core.gate(sequence, 0, 0, 0), `byte ${i}`).toEqual({
      decision: 'deny',
      reason: Reason.binding_mismatch,
      detail: -1,
    })
    expect(core.gate(sequence, 0, 0, 0)).toMatchObject({ reason: Reason.token_revoked })
  }
})

test('G2: a byte of the record that is flipped in a lease ends it', () => {
  const { core, sequence } = bound()
  expect(core.gate(sequence, 0, 0, 0).decision).toBe('allow')
  core.record(sequence)[20]! ^= 1
  const no = { decision: 'deny', reason: Reason.binding_mismatch, detail: -1 }
  expect(core.frame(sequence, 0, 0, 0, 0)).toEqual(no)
})

test('G4: a sequence is never used again, and a forgotten instance is not retained', () => {
  const { core, sequence } = bound()
  core.end(sequence, Phase.superseded)
  core.release(sequence)
  expect(core.gate(sequence, 0, 0, 0)).toMatchObject({ decision: 'deny', reason: Reason.not_retained })
  const [next] = retain(core, batch(1, [candidate(1)]), 0)
  expect(next).toBe(3)
})

test('G1: an instance that took the slot of a forgotten prerequisite does not stand in for it', () => {
  const { core, sequence } = bound()
  core.end(2, Phase.completed)
  core.release(2)
  const [other] = retain(core, batch(1, [candidate(1)]), 0)
  core.reach(other!, Phase.released)
  expect(core.gate(sequence, 0, 0, 0)).toEqual({ decision: 'deny', reason: Reason.prerequisite_failed, detail: 2 })
})
