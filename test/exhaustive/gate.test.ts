// The final dispatch gate, every case of it (PROTOCOL 6, 7, 8): what a prerequisite can have come to, every byte of a record,
// every field of a footprint, every pair of reasons.

import { describe, expect, test } from 'vitest'
import { Kind, Phase, Reason, type ReasonWord } from '../../build/abi.ts'
import { Barrier, type Core, type Gate, standing } from '../../src/core/core.ts'
import type { Expression } from '../../src/core/expression.ts'
import type { Image, TypeImage } from '../../src/core/image.ts'
import { cores } from '../oracle/cores.ts'
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
  PHASES,
  retain,
  slot,
  TRUE,
  type,
} from '../oracle/sketch.ts'

const KINDS = [Kind.notice, Kind.report, Kind.request, Kind.handoff, Kind.command, Kind.setpoint] as const
const ENDS = [Phase.withheld, Phase.blocked, Phase.failed, Phase.expired, Phase.superseded, Phase.uncertain] as const
const NO_STAMP = 0

const word = (gate: Gate): string | readonly [string, Reason, number] =>
  gate.decision === 'allow' ? 'allow' : [gate.decision, gate.reason, gate.detail]
const deny = (reason: Reason, detail = -1) => ['deny', reason, detail] as const
const defer = (reason: Reason, detail = -1) => ['defer', reason, detail] as const
const bytesOf = (gate: Gate): Uint8Array => {
  if (gate.decision !== 'allow') throw new Error(`not allowed: ${JSON.stringify(gate)}`)
  return gate.frame!.payload.slice()
}
const gateOf = (core: Core, sequence: number, barriers = 0, now_ms = 0): Gate =>
  core.gate(sequence, barriers, now_ms, NO_STAMP)

// A position setpoint with everything that can go into a frame: payload, state, the target's ids, MAVLink's own NaN.
const HOME = 0
const COMMON = { stamp: 0, length: 24 } as const
const STREAM: TypeImage = type(Kind.setpoint, {
  payload: [
    { name: 'lat', kind: 'number', optional: false },
    { name: 'alt', kind: 'number', optional: false },
    { name: 'label', kind: 'string', optional: true },
  ],
  frames: [
    frame(
      [
        entry(4, 'i32', both('mul', slot(0), num(1e7))),
        entry(8, 'f32', both('add', slot(1), now(HOME))),
        entry(12, 'f32', 'nan'),
        entry(16, 'u8', { op: 'target', part: 0 }),
        entry(17, 'u8', { op: 'target', part: 1 }),
        entry(18, 'u16', num(0x0df8)),
      ],
      { ...COMMON, sends: Number.POSITIVE_INFINITY },
    ),
    frame([entry(4, 'u16', num(176)), entry(8, 'i8', num(-6)), entry(10, 'i16', num(-300))], COMMON),
  ],
  tolerance: [{ field: HOME, value: 1 }],
})
const STREAMING = image([field('home', 1000)], [STREAM])
const LAT = 47.397742
const ALT = 12.5

function streaming(make: Parameters<typeof load>[0]): Core {
  const core = load(make, STREAMING)
  core.target(1, 1)
  core.observe(HOME, 488.25, 0)
  core.snapshot(0)
  return core
}

const streamed = (core: Core, now_ms = 0): number =>
  retain(core, batch(1, [candidate(0, { payload: [LAT, ALT, 'north pad'] })]), now_ms)[0]!

describe.each(cores)('%s', (_, make) => {
  test('G1: nothing crosses before each prerequisite has reached its phase, whatever kind, phase and end', () => {
    const needs = KINDS.flatMap((kind) => PHASES[kind].slice(1).map((phase) => ({ kind, phase })))
    const types = [
      ...KINDS.map((kind) => type(kind)),
      ...needs.map(({ kind, phase }) => type(Kind.notice, { mayRequire: [{ type: kind, phase }] })),
    ]
    const core = load(make, image([], types))
    core.snapshot(0)
    for (const [n, { kind, phase }] of needs.entries())
      for (const [depth, reached] of PHASES[kind].entries())
        for (const end of [undefined, Phase.completed, ...ENDS]) {
          const both = [candidate(kind, { id: 'a' }), candidate(KINDS.length + n, { id: 'b', requires: [0] })]
          const [before, after] = retain(core, batch(1, both), 0) as [number, number]
          if (reached > Phase.retained) expect(gateOf(core, before)).toEqual({ decision: 'allow', frame: undefined })
          for (const next of PHASES[kind].slice(1, depth + 1)) core.reach(before, next)
          if (end !== undefined) core.end(before, end)
          const isMet = reached >= phase || end === Phase.completed
          const unready = kind === Kind.request ? Reason.approval_pending : Reason.prerequisite_not_ready
          const expected = isMet
            ? 'allow'
            : end === undefined
              ? defer(unready, before)
              : deny(Reason.prerequisite_failed, before)
          expect(word(gateOf(core, after)), JSON.stringify({ kind, phase, reached, end })).toEqual(expected)
          core.end(after, Phase.superseded)
          if (end === undefined) core.end(before, Phase.superseded)
          core.release(after)
          core.release(before)
        }
  })

  test('G1: a completed action that does not hold any more, or a released report without support, is lost', () => {
    const up = both('gt', now(0), num(0))
    const types = [
      type(Kind.report, { support: clauses(up) }),
      type(Kind.command, { holds: clauses(up) }),
      type(Kind.setpoint, { holds: clauses(up) }),
      type(Kind.notice, { support: clauses(up) }),
      type(Kind.request, { support: clauses(up) }),
    ]
    const phases = [Phase.released, Phase.completed, Phase.completed, Phase.released, Phase.completed]
    const mayRequire = phases.map((phase, t) => ({ type: t, phase }))
    const what = image([field('up', 100)], [...types, type(Kind.notice, { mayRequire })])
    for (const [t, phase] of phases.entries())
      for (const world of ['true', 'false', 'unknown', 'stale'] as const) {
        const core = load(make, what)
        core.observe(0, 1, 0)
        core.snapshot(0)
        const [a, b] = retain(core, batch(1, [candidate(t), candidate(5, { requires: [0] })]), 0) as [number, number]
        gateOf(core, a)
        core.reach(a, phase)
        if (world === 'false' || world === 'unknown') core.observe(0, world === 'false' ? 0 : Number.NaN, 1)
        const at_ms = world === 'stale' ? 101 : 1
        const isJudged = t <= 2 && world !== 'true'
        expect(word(gateOf(core, b, 0, at_ms)), `${t} ${world}`).toEqual(
          isJudged ? deny(Reason.prerequisite_lost, a) : 'allow',
        )
      }
  })

  test('G1: what has settled has reached whatever phase is needed, and a report of it is lost with its support, in a lease too', () => {
    const up = both('gt', now(0), num(0))
    const heard = both('ge', { op: 'age', field: 0 }, num(0))
    // What else it read of its record is gone, and asked for by nobody.
    const bound = { watches: [0], gate: clauses(both('gt', cited(0), num(0)), both('eq', slot(0), num(1))) }
    const payload = [{ name: 'x', kind: 'number', optional: false }] as const
    const ofKind = [
      [type(Kind.notice, { support: clauses(up) }), []],
      [type(Kind.notice, { payload, support: clauses(up), ...bound }), []],
      [type(Kind.report), []],
      [type(Kind.report, { payload, support: clauses(up), ...bound }), ['false', 'unknown', 'stale']],
      [type(Kind.report, { support: clauses(TRUE, up) }), ['false', 'unknown', 'stale']],
      [type(Kind.report, { support: clauses(heard) }), ['unknown']],
    ] as const
    const phases = [Phase.retained, Phase.released, Phase.completed]
    const flight = (phase: Phase): TypeImage =>
      type(Kind.setpoint, {
        mayRequire: ofKind.map((_, t) => ({ type: t, phase })),
        frames: [frame([entry(0, 'u8', num(1))], { sends: Number.POSITIVE_INFINITY })],
      })
    const what = image([field('up', 100, true)], [...ofKind.map(([of]) => of), ...phases.map(flight)])
    for (const [t, [of, lostIn]] of ofKind.entries())
      for (const p of phases.keys())
        for (const world of ['true', 'false', 'unknown', 'stale'] as const)
          for (const isLeased of [false, true]) {
            const core = load(make, what)
            core.observe(0, 1, 0)
            core.snapshot(0)
            const [gone] = retain(core, batch(1, [candidate(t, { payload: of.payload.map(() => 1) })]), 0) as [number]
            gateOf(core, gone)
            core.reach(gone, Phase.released)
            core.end(gone, Phase.completed)
            core.release(gone)
            const kept = { standing: [{ sequence: gone, type: t }] }
            const rests = candidate(ofKind.length + p, { requires: [standing(0)] })
            const [sequence] = retain(core, batch(1, [rests], kept), 0) as [number]
            if (isLeased) bytesOf(gateOf(core, sequence))
            if (world === 'false' || world === 'unknown') core.observe(0, world === 'false' ? 0 : Number.NaN, 1)
            const at_ms = world === 'stale' ? 101 : 1
            const said = isLeased ? core.frame(sequence, 0, 0, at_ms, 0) : gateOf(core, sequence, 0, at_ms)
            const isLost = (lostIn as readonly string[]).includes(world)
            expect(word(said), JSON.stringify({ t, phase: phases[p], world, isLeased })).toEqual(
              isLost ? deny(Reason.prerequisite_lost, gone) : 'allow',
            )
          }
  })

  test('G1: of all that a component names the first that is lost is said, settled or not, and none that has settled ever fails', () => {
    const support = clauses(both('gt', now(0), num(0)))
    const may = [0, 1, 2].map((t) => ({ type: t, phase: Phase.released }))
    const what = image(
      [field('up', 100)],
      [type(Kind.report, { support }), type(Kind.notice), type(Kind.handoff), type(Kind.notice, { mayRequire: may })],
    )
    const core = load(make, what)
    core.observe(0, 1, 0)
    core.snapshot(0)
    const [report, notice, live, failed] = retain(
      core,
      batch(
        1,
        [0, 1, 0, 2].map((t) => candidate(t)),
      ),
      0,
    ) as [number, number, number, number]
    for (const sequence of [report, notice, live]) {
      gateOf(core, sequence)
      core.reach(sequence, Phase.released)
      core.end(sequence, Phase.completed)
      if (sequence !== live) core.release(sequence)
    }
    core.end(failed, Phase.failed)
    const kept = [
      { sequence: report, type: 0 },
      { sequence: notice, type: 1 },
      { sequence: live, requires: [] },
      { sequence: failed, requires: [] },
    ]
    const rests = (...nodes: number[]) => candidate(3, { requires: nodes.map(standing) })
    const named = [rests(1, 0, 2), rests(1, 2, 0), rests(1), rests(0, 1, 3)]
    const [settledFirst, liveFirst, onNotice, onFailed] = retain(core, batch(1, named, { standing: kept }), 0) as [
      number,
      number,
      number,
      number,
    ]
    core.observe(0, 0, 1)
    expect(word(gateOf(core, settledFirst, 0, 1))).toEqual(deny(Reason.prerequisite_lost, report))
    expect(word(gateOf(core, liveFirst, 0, 1))).toEqual(deny(Reason.prerequisite_lost, live))
    expect(word(gateOf(core, onNotice, 0, 1))).toBe('allow')
    expect(word(gateOf(core, onFailed, 0, 1))).toEqual(deny(Reason.prerequisite_failed, failed))
  })

  test('G1: a dependent rests on the instance that was bound, not on a later one of the same name', () => {
    const what = image(
      [],
      [type(Kind.handoff), type(Kind.notice, { mayRequire: [{ type: 0, phase: Phase.completed }] })],
    )
    // Even if the host forgets the old one too early, and the new one takes its place in memory.
    for (const isForgotten of [false, true]) {
      const core = load(make, what)
      core.snapshot(0)
      const [old, rests] = retain(core, batch(1, [candidate(0), candidate(1, { requires: [0] })]), 0) as [
        number,
        number,
      ]
      core.end(old, Phase.superseded)
      if (isForgotten) core.release(old)
      const [fresh] = retain(core, batch(1, [candidate(0)], { generation: 2 }), 0) as [number]
      gateOf(core, fresh)
      core.reach(fresh, Phase.completed)
      expect(word(gateOf(core, rests))).toEqual(deny(Reason.prerequisite_failed, old))
      const later = candidate(1, { requires: [standing(0)] })
      const [onFresh] = retain(core, batch(1, [later], { standing: [{ sequence: fresh, requires: [] }] }), 0) as [
        number,
      ]
      expect(word(gateOf(core, onFresh))).toBe('allow')
    }
  })

  test('G2: the bytes are what the payload says, and every frame equals the first but for the stamp', () => {
    const core = streaming(make)
    const sequence = streamed(core)
    expect(core.payload(sequence)).toEqual([LAT, ALT, 'north pad'])

    const wanted = new DataView(new ArrayBuffer(24))
    wanted.setUint32(0, 7, true)
    wanted.setInt32(4, Math.round(LAT * 1e7), true)
    wanted.setFloat32(8, ALT + 488.25, true)
    wanted.setUint32(12, 0x7fc00000, true)
    wanted.setUint8(16, 1)
    wanted.setUint8(17, 1)
    wanted.setUint16(18, 0x0df8, true)
    const first = bytesOf(core.gate(sequence, 0, 0, 7))
    expect(Buffer.from(first)).toEqual(Buffer.from(wanted.buffer))

    core.target(9, 9)
    for (let i = 1; i < 50; i++) {
      core.observe(HOME, 488.25 + (i % 3) / 3, i)
      if (i === 20) {
        const engage = bytesOf(core.frame(sequence, 1, 0, i, 77))
        const mode = new DataView(new ArrayBuffer(24))
        mode.setUint32(0, 77, true)
        mode.setUint16(4, 176, true)
        mode.setInt8(8, -6)
        mode.setInt16(10, -300, true)
        expect(Buffer.from(engage)).toEqual(Buffer.from(mode.buffer))
      }
      const again = bytesOf(core.frame(sequence, 0, 0, i, 0xfffffff0 + (i % 16)))
      expect(Buffer.from(again.subarray(4))).toEqual(Buffer.from(first.subarray(4)))
      expect(new DataView(again.buffer).getUint32(0, true)).toBe(0xfffffff0 + (i % 16))
    }
  })

  test('G2: a corrupted byte of the record is denied, every one, in the gate and in a lease', () => {
    const core = streaming(make)
    for (let at = 0, isInside = true; isInside; at++) {
      for (const isLeased of [false, true]) {
        const sequence = streamed(core)
        const record = core.record(sequence)
        isInside = at < record.length
        if (!isInside) break
        if (isLeased) bytesOf(gateOf(core, sequence))
        record[at]! ^= 1 << (at % 8)
        const said = isLeased ? core.frame(sequence, 0, 0, 0, 0) : gateOf(core, sequence)
        if (word(said)[1] !== Reason.binding_mismatch) expect([at, isLeased, said]).toBe('binding_mismatch')
        record[at]! ^= 1 << (at % 8)
        core.end(sequence, Phase.failed)
        core.release(sequence)
      }
      if (!isInside) expect(at).toBeGreaterThan(64)
    }
  })

  test('G1 G2: a prerequisite whose own record is corrupted is lost', () => {
    const action = type(Kind.command, {
      payload: [{ name: 'x', kind: 'number', optional: false }],
      holds: clauses(both('gt', slot(0), num(0))),
    })
    const rests = type(Kind.notice, { mayRequire: [{ type: 0, phase: Phase.completed }] })
    const core = load(make, image([], [action, rests]))
    core.snapshot(0)
    const [before] = retain(core, batch(1, [candidate(0, { payload: [1] })]), 0) as [number]
    gateOf(core, before)
    core.reach(before, Phase.completed)
    const record = core.record(before)
    const dependent = (): number => {
      const what = batch(1, [candidate(1, { requires: [standing(0)] })], {
        standing: [{ sequence: before, requires: [] }],
      })
      return retain(core, what, 0)[0]!
    }
    expect(word(gateOf(core, dependent()))).toBe('allow')
    for (const at of record.keys()) {
      const after = dependent()
      record[at]! ^= 1 << (at % 8)
      expect(word(gateOf(core, after)), `byte ${at}`).toEqual(deny(Reason.prerequisite_lost, before))
      record[at]! ^= 1 << (at % 8)
      core.end(after, Phase.superseded)
      core.release(after)
    }
  })

  test('G2 G5: what cannot be written, is a position of 0, 0, or is no place on earth, is unencodable', () => {
    const extremes: readonly (readonly ['u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f32', number, boolean])[] = [
      ['u8', 0, true],
      ['u8', 255, true],
      ['u8', 256, false],
      ['u8', -1, false],
      ['i8', -128, true],
      ['i8', 127, true],
      ['i8', 128, false],
      ['i8', -129, false],
      ['u16', 65535, true],
      ['u16', 65536, false],
      ['i16', -32768, true],
      ['i16', -32769, false],
      ['i16', 32768, false],
      ['u32', 0, true],
      ['u32', 4294967295, true],
      ['u32', 4294967296, false],
      ['u32', -1, false],
      ['i32', 2147483647, true],
      ['i32', 2147483648, false],
      ['i32', -2147483648, true],
      ['i32', -2147483649, false],
      ['f32', 3.4028234663852886e38, true],
      ['f32', 3.5e38, false],
      ['f32', -3.5e38, false],
      ['f32', -0.5, true],
    ]
    for (const [format, value, fits] of extremes) {
      const effect = type(Kind.command, {
        payload: [{ name: 'x', kind: 'number', optional: false }],
        frames: [frame([entry(0, format, slot(0))])],
      })
      const core = load(make, image([], [effect]))
      core.snapshot(0)
      const [sequence] = retain(core, batch(1, [candidate(0, { payload: [value] })]), 0) as [number]
      const said = gateOf(core, sequence)
      expect(said.decision === 'allow' || said.reason, `${format} ${value}`).toEqual(fits || Reason.unencodable)
      if (said.decision === 'allow') {
        const view = new DataView(bytesOf(said).buffer)
        const read = {
          u8: 'getUint8',
          i8: 'getInt8',
          u16: 'getUint16',
          i16: 'getInt16',
          u32: 'getUint32',
          i32: 'getInt32',
          f32: 'getFloat32',
        } as const
        expect(view[read[format]](0, true)).toBe(value)
      } else expect(word(gateOf(core, sequence))).toEqual(deny(Reason.token_revoked))
    }

    const places: readonly (readonly [number, number, boolean])[] = [
      [0, 0, false],
      [0, 1, true],
      [1, 0, true],
      [-0, 0, false],
      [1, 1, true],
      ...[-90, 90].flatMap((lat) => [-180, 180].map((lon) => [lat, lon, true] as const)),
      ...[-132.6, -90.0000001, 90.0000001, 132.6].map((lat) => [lat, 8, false] as const),
      ...[-180.0000001, 180.0000001, 190].map((lon) => [47, lon, false] as const),
      [90.00000004, 180.00000004, true], // rounds to what there is
    ]
    const formats = [
      ['i32', 1e7],
      ['f32', 1],
    ] as const
    for (const [format, scale] of formats)
      for (const [lat, lon, allowed] of places) {
        // A float has no digits for the last two rows but one: there it is the same as the place itself.
        if (format === 'f32' && Math.fround(lat) === Math.sign(lat) * 90 && !allowed) continue
        if (format === 'f32' && Math.fround(lon) === Math.sign(lon) * 180 && !allowed) continue
        const scaled = (s: number): Expression => both('mul', slot(s), num(scale))
        const effect = type(Kind.command, {
          payload: [
            { name: 'lat', kind: 'number', optional: false },
            { name: 'lon', kind: 'number', optional: false },
          ],
          frames: [
            frame([
              { ...entry(0, format, scaled(0)), position: 'lat' },
              { ...entry(4, format, scaled(1)), position: 'lon' },
            ]),
          ],
        })
        const core = load(make, image([], [effect]))
        core.snapshot(0)
        const [sequence] = retain(core, batch(1, [candidate(0, { payload: [lat, lon] })]), 0) as [number]
        expect(gateOf(core, sequence).decision, `${format} ${lat} ${lon}`).toBe(allowed ? 'allow' : 'deny')
      }
  })

  test('G2 G5: before the target is known every frame that names it is unencodable', () => {
    const core = load(make, STREAMING)
    core.observe(HOME, 0, 0)
    core.snapshot(0)
    const said = gateOf(core, streamed(core))
    expect(said.decision !== 'allow' && said.reason).toBe(Reason.unencodable)
  })

  test('G3: a token opens one crossing', () => {
    const core = streaming(make)
    const crossed = streamed(core)
    bytesOf(gateOf(core, crossed))
    expect(word(gateOf(core, crossed))).toEqual(deny(Reason.token_spent))
    bytesOf(core.frame(crossed, 0, 0, 0, 0))
    core.reach(crossed, Phase.dispatched)
    expect(word(gateOf(core, crossed))).toEqual(deny(Reason.token_spent))
    core.end(crossed, Phase.completed)
    expect(word(gateOf(core, crossed))).toEqual(deny(Reason.token_spent))
    core.release(crossed)
    expect(word(gateOf(core, crossed))).toEqual(deny(Reason.not_retained))

    const revoked = streamed(core)
    core.end(revoked, Phase.superseded)
    expect(word(gateOf(core, revoked))).toEqual(deny(Reason.token_revoked))

    const denied = streamed(core)
    expect(word(gateOf(core, denied, Barrier.paused))).toEqual(deny(Reason.paused))
    expect(word(gateOf(core, denied))).toEqual(deny(Reason.token_revoked))

    const deferred = streamed(core)
    expect(word(gateOf(core, deferred, Barrier.resource_busy))).toEqual(defer(Reason.resource_busy))
    bytesOf(gateOf(core, deferred))

    const lost = streamed(core)
    bytesOf(gateOf(core, lost))
    expect(word(core.frame(lost, 0, Barrier.not_in_control, 0, 0))).toEqual(deny(Reason.not_in_control))
    expect(word(gateOf(core, lost))).not.toBe('allow')
    expect(gateOf(core, 4_000_000_000).decision).toBe('deny')
  })

  test('G3: a command gives each frame as often as it may, in order; anything else traps', () => {
    const bursts = type(Kind.command, {
      frames: [1, 2, 1].map((sends, i) => frame([entry(0, 'u8', num(i))], { sends })),
    })
    const order = [1, 1, 2]
    const wrong: readonly (readonly number[])[] = [[0], [2], [1, 0], [1, 1, 1], [1, 2, 2], [1, 2, 1], [1, 2, 3]]
    for (const calls of [order, ...wrong]) {
      const core = load(make, image([], [bursts]))
      core.snapshot(0)
      const [sequence] = retain(core, batch(1, [candidate(0)]), 0) as [number]
      expect(bytesOf(gateOf(core, sequence))[0]).toBe(0)
      const run = (): void => calls.forEach((i) => void expect(bytesOf(core.frame(sequence, i, 0, 0, 0))[0]).toBe(i))
      if (calls === order) run()
      else expect(run, `${calls}`).toThrow()
    }
  })

  test('G3: a contingency has ten sends of its own', () => {
    const hold = frame([entry(0, 'u16', num(176)), entry(2, 'u8', { op: 'target', part: 0 })])
    const core = load(make, { ...image([], []), contingencies: [hold] })
    core.target(3, 1)
    for (const token of [core.contingency(0), core.contingency(0)]) {
      for (let i = 0; i < 10; i++) {
        const sent = core.contingencyFrame(token)!
        expect([...sent.payload.subarray(0, 3)]).toEqual([176, 0, 3])
      }
      expect(core.contingencyFrame(token)).toBeUndefined()
    }
  })

  test('G4: a replacement is a new instance: new sequence, new binding, and the old token stays dead', () => {
    const core = streaming(make)
    const seen = new Set<number>()
    const bindings = new Set<string>()
    let last = 0
    for (let generation = 1; generation <= 1200; generation++) {
      const what = batch(1, [candidate(0, { payload: [LAT, ALT, undefined] })], { generation })
      const [sequence] = retain(core, what, 0) as [number]
      expect(sequence).toBeGreaterThan(last)
      expect(core.binding(sequence)).toMatch(/^[0-9a-f]{64}$/)
      seen.add(sequence)
      bindings.add(core.binding(sequence))
      last = sequence
      core.end(sequence, Phase.superseded)
      core.release(sequence)
    }
    expect(seen.size).toBe(1200)
    expect(bindings.size).toBe(1200)
    expect(word(gateOf(core, 1))).toEqual(deny(Reason.not_retained))
    expect(core.capacity().instances).toBe(1024)
  })

  test('G5: each field of the footprint unknown, stale, not finite or changed is a no at admission, gate and frame', () => {
    type Role = 'now' | 'age' | 'cited' | 'unchanged' | 'drift' | 'watch' | 'gate' | 'effect'
    const roles: readonly Role[] = ['now', 'age', 'cited', 'unchanged', 'drift', 'watch', 'gate', 'effect']
    const at = (role: Role): number => roles.indexOf(role)
    const isTrue = (f: number): Expression => both('or', TRUE, both('gt', now(f), num(0)))
    const footprint = (kind: Kind): TypeImage =>
      type(kind, {
        support: clauses(
          isTrue(at('now')),
          not(both('lt', { op: 'age', field: at('age') }, num(0))),
          both('or', TRUE, both('gt', cited(at('cited')), num(0))),
          both('or', TRUE, { op: 'unchanged', field: at('unchanged') }),
          both('or', TRUE, both('lt', { op: 'drift', field: at('drift'), angle: false }, num(1))),
        ),
        gate: clauses(isTrue(at('gate'))),
        watches: [at('watch')],
        frames: [frame([entry(0, 'f32', now(at('effect')))], { sends: Number.POSITIVE_INFINITY })],
      })
    const fields = roles.map((name) => field(name, 100, name === 'unchanged' || name === 'watch'))
    const isNow: readonly Role[] = ['now', 'unchanged', 'drift', 'watch', 'gate']
    const isCited: readonly Role[] = ['cited', 'unchanged', 'drift', 'watch']

    const HURT = { unknown: Number.NaN, infinite: Number.NEGATIVE_INFINITY, changed: 2 } as const

    for (const kind of [Kind.command, Kind.setpoint])
      for (const moment of ['snapshot', 'admission', 'gate', 'frame'] as const)
        for (const role of roles)
          for (const hurt of ['unknown', 'infinite', 'stale', 'changed'] as const) {
            const core = load(make, image(fields, [footprint(kind)]))
            core.target(1, 1)
            let now_ms = 0
            /** Two steps in which all fields are seen again, but one is hurt if `isHere`: so only that one can be stale. */
            const pass = (isHere: boolean): number => {
              for (let step = 0; step < 2; step++) {
                now_ms += 60
                for (const [f, name] of roles.entries()) {
                  if (!isHere || name !== role) core.observe(f, 1, now_ms)
                  else if (hurt !== 'stale') core.observe(f, HURT[hurt], now_ms)
                }
              }
              return now_ms
            }
            const mask = (now: readonly Role[], known: readonly Role[]): Gate | undefined => {
              const isUnknown = hurt === 'unknown' || hurt === 'infinite'
              if (isUnknown && (now.includes(role) || known.includes(role)))
                return { decision: 'deny', reason: Reason.state_unknown, detail: at(role) }
              if (hurt === 'stale' && now.includes(role))
                return { decision: 'deny', reason: Reason.state_stale, detail: at(role) }
              if (hurt === 'changed' && role === 'watch' && moment !== 'snapshot')
                return { decision: 'deny', reason: Reason.changed, detail: at(role) }
              return undefined
            }
            const title = JSON.stringify({ kind, moment, role, hurt })

            pass(false)
            const ordinal = core.snapshot(pass(moment === 'snapshot'))
            // In the present all is well again. A return from unknown or stale is a new version of what is watched.
            if (moment === 'snapshot') pass(false)
            const [admitted] = core.admit(batch(ordinal, [candidate(0)]), pass(moment === 'admission'))
            const atAdmission =
              moment === 'snapshot' ? mask(isCited, []) : moment === 'admission' ? mask(isNow, ['age']) : undefined
            const isBack = moment === 'snapshot' && role === 'watch' && hurt === 'changed'
            const said = isBack ? deny(Reason.changed, at(role)) : atAdmission ? word(atAdmission) : 'allow'
            expect(admitted!.sequence > 0 ? 'allow' : ['deny', admitted!.reason, admitted!.detail], title).toEqual(said)
            if (moment === 'snapshot' || moment === 'admission') continue

            const gate = core.gate(admitted!.sequence, 0, pass(moment === 'gate'), 0)
            const atGate = moment === 'gate' ? mask([...isNow, 'effect'], ['age']) : undefined
            expect(word(gate), title).toEqual(atGate ? word(atGate) : 'allow')
            if (moment === 'gate') continue

            const live = kind === Kind.setpoint ? isNow : isNow.filter((r) => r !== 'gate')
            const next = core.frame(admitted!.sequence, 0, 0, pass(true), 0)
            const atFrame = mask(live, ['age'])
            expect(word(next), title).toEqual(atFrame ? word(atFrame) : 'allow')
          }
  })

  test('G5: a reference that moved too far, or is not usable any more, ends the lease', () => {
    const cases: readonly (readonly [number, number, Reason])[] = [
      [489.25, 1, Reason.none],
      [487.25, 1, Reason.none],
      [489.26, 1, Reason.out_of_tolerance],
      [487.24, 1, Reason.out_of_tolerance],
      [Number.NaN, 1, Reason.state_unknown],
      [488.25, 1002, Reason.state_stale],
    ]
    for (const [home, at_ms, reason] of cases) {
      const core = streaming(make)
      const sequence = streamed(core)
      bytesOf(gateOf(core, sequence))
      core.observe(HOME, home, 1)
      const said = core.frame(sequence, 0, 0, at_ms, 0)
      expect(said.decision === 'allow' ? Reason.none : said.reason, `${home} at ${at_ms}`).toBe(reason)
    }
  })

  test('G5: a longitude that went into the frames moves the short way round: 180 is where -180 is', () => {
    for (const angle of [true, false])
      for (const from of [-180, -179.99999, 8, 179.99999, 180])
        for (const to of [-180, -179.99999, 8, 8.00001, 179.99999, 180]) {
          const tolerance = [
            { field: 1, value: 1 },
            { field: 0, value: 2e-5, angle },
          ]
          const effect = { ...STREAM, tolerance }
          const core = load(make, image([field('lon', 1000), field('amsl', 1000)], [effect]))
          core.target(1, 1)
          core.observe(0, from, 0)
          core.observe(1, from, 0)
          core.snapshot(0)
          const sequence = streamed(core)
          bytesOf(gateOf(core, sequence))
          core.observe(0, to, 1)
          const said = core.frame(sequence, 0, 0, 1, 0)
          const apart = Math.abs(to - from)
          const near = (angle ? Math.min(apart, 360 - apart) : apart) <= 2e-5
          expect(word(said), `${from} to ${to}, ${angle}`).toEqual(near ? 'allow' : deny(Reason.out_of_tolerance, 0))
        }
  })

  test('G5: patience defers from the first time on, never longer, never restarted, never in a lease', () => {
    const waits = type(Kind.setpoint, {
      gate: clauses(both('gt', now(0), num(0))),
      patience_ms: 50,
      mayRequire: [{ type: 1, phase: Phase.completed }],
      frames: [frame([entry(0, 'u8', num(1))], { sends: Number.POSITIVE_INFINITY })],
    })
    const core = load(make, image([field('up', 100), field('other', 100)], [waits, type(Kind.command)]))
    core.observe(0, 1, 0)
    core.snapshot(0)
    // Gate clauses are not judged while it rests on an action; so it waits for that, and only then for the field.
    const sequences = retain(core, batch(1, [candidate(1), candidate(0, { requires: [0] })]), 0)
    const [action, waiting] = sequences as [number, number]
    core.observe(0, Number.NaN, 1)
    expect(word(gateOf(core, waiting, 0, 5))).toEqual(defer(Reason.prerequisite_not_ready, action))
    gateOf(core, action, 0, 10)
    core.reach(action, Phase.completed)
    expect(word(gateOf(core, waiting, 0, 20))).toEqual(defer(Reason.state_awaited, 0))
    core.observe(0, 1, 30)
    expect(word(gateOf(core, waiting, Barrier.resource_busy, 30))).toEqual(defer(Reason.resource_busy))
    core.observe(0, Number.NaN, 40)
    expect(word(gateOf(core, waiting, 0, 69))).toEqual(defer(Reason.state_awaited, 0))
    expect(word(gateOf(core, waiting, 0, 70))).toEqual(deny(Reason.state_unknown, 0))

    core.observe(0, 1, 80)
    const ordinal = core.snapshot(80)
    const [leased] = retain(core, batch(ordinal, [candidate(0)]), 80) as [number]
    bytesOf(gateOf(core, leased, 0, 80))
    core.observe(0, Number.NaN, 81)
    expect(word(core.frame(leased, 0, 0, 81, 0))).toEqual(deny(Reason.state_unknown, 0))
  })

  test('G5: of any two reasons that apply, the gate says the earlier one of PROTOCOL 7', () => {
    const ORDER = [
      'session_changed',
      'superseded',
      'agent_revoked',
      'paused',
      'pilot_control',
      'uncertain_outcome',
      'not_retained',
      'token_spent',
      'token_revoked',
      'expired',
      'binding_mismatch',
      'prerequisite_failed',
      'prerequisite_not_ready',
      'approval_pending',
      'resource_busy',
      'state_awaited',
      'not_in_control',
      'prerequisite_lost',
      'state_unknown',
      'state_stale',
      'changed',
      'unsupported',
      'unencodable',
    ] as const satisfies readonly ReasonWord[]
    type Word = (typeof ORDER)[number]
    const DEFERRED: readonly Word[] = ['prerequisite_not_ready', 'approval_pending', 'resource_busy', 'state_awaited']
    // An instance that is not there has no token, and a token is spent or revoked, not both; nor was it crossed over a
    // prerequisite that never came, nor is a field that is awaited anything but unknown or stale.
    const isImpossible = (a: Word, b: Word): boolean =>
      (a === 'not_retained' && !(b in Barrier)) || (a === 'token_spent' && b === 'token_revoked')

    // Types: notice, handoff, request, report; then the action under test, impatient and patient.
    const UNKNOWN = 0
    const STALE = 1
    const WATCHED = 2
    const SUPPORT = 3
    const EFFECT = 4
    const REPORT = 5
    const fields = ['unknown', 'stale', 'watched', 'support', 'effect', 'report'].map((name, f) =>
      field(name, f === STALE ? 10 : 1000, f === WATCHED),
    )
    const prerequisites = [
      type(Kind.notice),
      type(Kind.handoff),
      type(Kind.request),
      type(Kind.report, { support: clauses(both('gt', now(REPORT), num(0))) }),
    ]
    const needed = [Phase.released, Phase.completed, Phase.completed, Phase.released]
    const action = (patience_ms: number): TypeImage =>
      type(Kind.command, {
        support: clauses(both('gt', now(SUPPORT), num(0)), isKnown(UNKNOWN), isKnown(STALE)),
        watches: [WATCHED],
        mayRequire: needed.map((phase, t) => ({ type: t, phase })),
        frames: [frame([entry(0, 'u8', now(EFFECT))])],
        patience_ms,
      })
    const isKnown = (f: number): Expression => both('or', TRUE, both('gt', now(f), num(0)))
    const what: Image = image(fields, [...prerequisites, action(0), action(500)])

    const judge = (present: readonly Word[]): string | readonly [string, Reason, number] => {
      const is = (w: Word): boolean => present.includes(w)
      const core = load(make, what)
      for (const f of fields.keys()) core.observe(f, 1, 0)
      core.snapshot(0)
      const subject = candidate(is('state_awaited') ? 5 : 4, { id: 'subject', requires: [0, 1, 2, 3] })
      const all = [...prerequisites.map((_, t) => candidate(t, { id: `p${t}` })), subject]
      const sequences = retain(core, batch(1, all), 0)
      const sequence = sequences[4]!
      const missing = { prerequisite_failed: 0, prerequisite_not_ready: 1, approval_pending: 2 } as const
      const settle = (w: keyof typeof missing | undefined, p: number): void => {
        gateOf(core, sequences[p]!)
        if (w === 'prerequisite_failed') core.end(sequences[p]!, Phase.failed)
        else if (w === undefined) core.reach(sequences[p]!, needed[p]!)
      }
      // A spent token was spent when all was well.
      const isSpent = is('token_spent')
      for (const [w, p] of Object.entries(missing) as [keyof typeof missing, number][])
        settle(is(w) && !isSpent ? w : undefined, p)
      settle(undefined, 3)
      if (isSpent) bytesOf(gateOf(core, sequence))
      if (is('token_revoked')) core.end(sequence, Phase.superseded)
      if (is('binding_mismatch')) core.record(sequence)[20]! ^= 1

      if (is('prerequisite_lost')) core.observe(REPORT, 0, 1)
      if (is('state_unknown') || is('state_awaited')) core.observe(UNKNOWN, Number.NaN, 1)
      if (!is('state_stale')) core.observe(STALE, 1, 20)
      if (is('changed')) core.observe(WATCHED, 2, 1)
      if (is('unsupported')) core.observe(SUPPORT, 0, 1)
      if (is('unencodable')) core.observe(EFFECT, 256, 1)
      const barriers = present.reduce((set, w) => set | (w in Barrier ? Barrier[w as keyof typeof Barrier] : 0), 0)
      const said = gateOf(core, is('not_retained') ? 99 : sequence, barriers, 20)
      return said.decision === 'allow' ? 'allow' : [said.decision, said.reason, 0]
    }

    expect(judge([])).toBe('allow')
    for (const [i, first] of ORDER.entries()) {
      const expected = [DEFERRED.includes(first) ? 'defer' : 'deny', Reason[first], 0]
      expect(judge([first]), first).toEqual(expected)
      for (const second of ORDER.slice(i + 1))
        if (!isImpossible(first, second)) expect(judge([first, second]), `${first}, ${second}`).toEqual(expected)
    }
  })

  test('G5: a time that is not finite or goes back poisons the core for ever', () => {
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 9]) {
      const core = load(make, image([], [type(Kind.notice)]))
      core.snapshot(10)
      const [sequence] = retain(core, batch(1, [candidate(0)]), 10) as [number]
      expect(core.poisoned).toBe(false)
      expect(() => gateOf(core, sequence, 0, wrong), `${wrong}`).toThrow()
      expect(core.poisoned).toBe(true)
      expect(() => gateOf(core, sequence, 0, 20)).toThrow()
    }
  })
})
