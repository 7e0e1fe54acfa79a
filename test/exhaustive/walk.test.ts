// The core and the oracle side by side on long random walks over random catalogs: every answer is the same, all the way
// (G1 to G6). A walk is its seed: HALO_SEED=n runs that one alone.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Kind, Phase, Reason } from '../../build/abi.ts'
import { Barrier, type Core, type SlotValue, standing, UNKNOWN_PREREQUISITE } from '../../src/core/core.ts'
import type { Expression } from '../../src/core/expression.ts'
import { type FrameImage, type Image, type PredicateImage, settles, type TypeImage } from '../../src/core/image.ts'
import { loadCore } from '../../src/core/wasm.ts'
import {
  clauseTree,
  FIELDS,
  isDiscrete,
  predicateTree,
  SLOTS,
  stateTree,
  TEXTS,
  valuesOf,
} from '../oracle/expressions.ts'
import { oracle } from '../oracle/oracle.ts'
import { both, candidate, clause, dice, entry, frame, load, now, num, PHASES, slot, type } from '../oracle/sketch.ts'

const WALKS = 40
const STEPS = 500
const TYPES = 6

type Roll = (n: number) => number
const pick = <T>(roll: Roll, from: readonly T[]): T => from[roll(from.length)]!
const some = <T>(roll: Roll, most: number, make: () => T): T[] => Array.from({ length: roll(most + 1) }, make)
const ENDS = [Phase.blocked, Phase.failed, Phase.expired, Phase.superseded, Phase.uncertain]
const KINDS = [Kind.notice, Kind.report, Kind.request, Kind.handoff, Kind.command, Kind.setpoint]

/** A catalog in which most things hold most of the time, so that walks get somewhere. */
function catalog(seed: number, roll: Roll): Image {
  const wild = fc.sample(clauseTree, { seed, numRuns: 40 })
  const tame = (): Expression => {
    const f = roll(FIELDS.length)
    return both('ge', now(f), num(isDiscrete(f) ? roll(2) : -0.5))
  }
  const clauses = (most: number) => some(roll, most, () => clause(roll(16) > 0 ? tame() : pick(roll, wild)))
  const kinds = Array.from({ length: TYPES }, () => pick(roll, KINDS))
  const types = kinds.map((kind): TypeImage => {
    const isAction = kind === Kind.command || kind === Kind.setpoint
    const mayRequire = kinds.flatMap((of, t) =>
      roll(3) > 0 ? [{ type: t, phase: pick(roll, PHASES[of].slice(1)) }] : [],
    )
    const frames = isAction
      ? some(roll, 4, (): FrameImage => {
          const value = pick(roll, [slot(0), now(2), both('add', slot(0), now(3)), { op: 'target', part: 0 } as const])
          return frame([entry(4, 'f32', value), entry(8, pick(roll, ['u8', 'i16', 'i32'] as const), slot(0))], {
            stamp: roll(2) === 0 ? 0 : -1,
            sends: pick(roll, [1, 2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]),
          })
        })
      : []
    return type(kind, {
      payload: SLOTS,
      bounds: roll(2) === 0 ? [clause(both('le', slot(0), num(300)))] : [],
      support: clauses(2),
      gate: clauses(1),
      holds: isAction ? clauses(3) : [],
      done: roll(2) === 0 ? both('ge', { op: 'elapsed' }, num(20)) : undefined,
      watches: [4, 5].filter(() => roll(6) === 0),
      requires: roll(6) === 0 && mayRequire[0] ? [mayRequire[0].type] : [],
      mayRequire,
      patience_ms: pick(roll, [0, 0, 30]),
      frames,
      tolerance: frames.length > 0 && roll(3) === 0 ? [{ field: 3, value: 1 }] : [],
    })
  })
  // As many over the payload of each type as over state alone.
  const predicate = (t: number | undefined, expression: Expression): PredicateImage => ({
    name: 'predicate',
    type: t,
    expression,
  })
  const ofState = fc.sample(stateTree, { seed, numRuns: 4 }).map((e) => predicate(undefined, e))
  const ofPayload = fc.sample(predicateTree, { seed, numRuns: TYPES }).map((e, t) => predicate(t, e))
  const plain = types.map((_, t) => predicate(t, both('or', tame(), both('gt', slot(1), num(1)))))
  return {
    fields: FIELDS,
    types,
    contingencies: [frame([entry(0, 'u16', num(20))])],
    predicates: [...ofState, ...ofPayload, ...plain],
  }
}

/** What the walker must know to keep to the contract of `Core`. */
interface Known {
  readonly type: number
  readonly rests: readonly number[]
  token: 'issued' | 'leased' | 'dead'
  depth: number
  ended: boolean
  sent: number[]
}

function walk(seed: number, counts: Map<string, number>): void {
  const roll = dice(seed)
  const what = catalog(seed, roll)
  const pair: readonly [Core, Core] = [load(oracle, what), load(loadCore, what)]
  const known = new Map<number, Known>()
  /** Released to the core, and still to be named. */
  const settled = new Map<number, { readonly type: number; readonly rests?: undefined }>()
  let now_ms = 1000
  let snapshot = 0
  let step = 0
  /** What a deferred one waits for: the walk tends to it. */
  let awaited = 0

  /** Asks both, and expects one answer. */
  const ask = <T>(name: string, call: (core: Core) => T): T => {
    const a = call(pair[0])
    const b = call(pair[1])
    expect(b, `HALO_SEED=${seed}, step ${step}, ${name}`).toEqual(a)
    return a
  }
  const tally = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
  const observe = (f: number, received_ms: number): void => {
    const value =
      roll(40) === 0 ? Number.NaN : roll(isDiscrete(f) ? 30 : 12) === 0 ? pick(roll, valuesOf(f)) : valuesOf(f)[1]!
    ask('observe', (core) => core.observe(f, value, received_ms))
  }
  const admit = (): void => {
    const gone = [...settled].filter(() => roll(3) === 0).slice(-2)
    const rested = [...[...known].filter(() => roll(3) === 0).slice(-6), ...gone]
    const count = 1 + roll(5)
    const codes = [...rested.map((_, i) => standing(i)), ...Array(count).keys()]
    const candidates = Array.from({ length: count }, (_, i) => {
      const t = roll(TYPES)
      const allowed = codes.filter((code) => {
        const of = code < 0 ? rested[-2 - code]![1].type : -1
        return code < 0 ? what.types[t]!.mayRequire.some((may) => may.type === of) : code < i || roll(12) === 0
      })
      const edges = allowed.length === 0 ? [] : some(roll, 2, () => pick(roll, allowed))
      if (roll(40) === 0) edges.push(UNKNOWN_PREREQUISITE)
      const payload: SlotValue[] = [
        pick(roll, [0, 1, 7.5, 200, 301]),
        pick(roll, [undefined, 2]),
        pick(roll, [undefined, ...TEXTS]),
      ]
      return candidate(t, {
        id: `c${roll(9)}`,
        payload,
        requires: [...new Set(edges)],
        form: roll(30) === 0 ? Reason.duplicate_id : Reason.none,
        scope: roll(40) === 0 ? Reason.evidence_stale : Reason.none,
        barrier: roll(40) === 0 ? Reason.pilot_control : Reason.none,
      })
    })
    const codeOf = new Map(rested.map(([sequence], i) => [sequence, standing(i)]))
    const rest = rested.map(([sequence, { type: t, rests }]) =>
      rests === undefined ? { sequence, type: t } : { sequence, requires: rests.flatMap((s) => codeOf.get(s) ?? []) },
    )
    const whole = { agent: 1, plan: `a/${step}`, generation: step + 1, snapshot, standing: rest, candidates }
    const admitted = ask('admit', (core) => core.admit(whole, now_ms))
    for (const [i, { reason, sequence }] of admitted.entries()) {
      tally(`admit ${reason}`)
      if (sequence === 0) continue
      const rests = candidates[i]!.requires.map((code) => (code < 0 ? rested[-2 - code]![0] : admitted[code]!.sequence))
      if (rests.some((s) => settled.has(s))) tally('rests on what has settled')
      known.set(sequence, { type: candidates[i]!.type, rests, token: 'issued', depth: 0, ended: false, sent: [] })
    }
  }
  const barriers = (): number => (roll(8) > 0 ? 0 : 1 << roll(Object.keys(Barrier).length))
  const gate = (sequence: number, of: Known): void => {
    const set = barriers()
    const said = ask('gate', (core) => core.gate(sequence, set, now_ms, step))
    tally(said.decision === 'allow' ? 'gate allow' : `gate ${said.reason}`)
    if (said.decision === 'allow') Object.assign(of, { token: 'leased', sent: said.frame ? [1] : [] })
    else if (said.decision === 'deny' && of.token === 'issued') of.token = 'dead'
    else if (said.decision === 'defer' && said.detail > 0) awaited = said.detail
  }
  const rehearse = (sequence: number, of: Known): void => {
    const set = barriers()
    const said = ask('rehearse', (core) => core.rehearse(sequence, set, now_ms))
    tally(said.decision === 'allow' ? 'rehearse allow' : `rehearse ${said.reason}`)
    if (said.decision === 'deny' && of.token === 'issued') of.token = 'dead'
    // What was rehearsed is what the gate says, at the same time and over the same barriers.
    if (said.decision === 'deny' || roll(2) === 0) return
    const meant = ask('gate', (core) => core.gate(sequence, set, now_ms, step))
    const { decision } = meant
    expect(decision === 'allow' ? { decision, frame: undefined } : meant, `HALO_SEED=${seed}, step ${step}`).toEqual(
      said,
    )
    if (meant.decision === 'allow') Object.assign(of, { token: 'leased', sent: meant.frame ? [1] : [] })
  }
  const predicates = (sequence: number, of: Known): void => {
    for (const [i, { type: t }] of what.predicates.entries()) {
      if (t !== undefined && t !== of.type) continue
      tally(`predicate ${ask('predicate', (core) => core.predicate(i, t === undefined ? 0 : sequence, now_ms))}`)
    }
  }
  const next = (sequence: number, of: Known): void => {
    const { frames } = what.types[of.type]!
    const last = of.sent.length - 1
    const open = frames.flatMap(({ sends }, i) =>
      (i === last || i === last + 1 || (i < last && sends === Number.POSITIVE_INFINITY)) && (of.sent[i] ?? 0) < sends
        ? [i]
        : [],
    )
    if (of.token !== 'leased' || of.ended || open.length === 0) return
    const index = pick(roll, open)
    const set = barriers()
    const said = ask('frame', (core) => core.frame(sequence, index, set, now_ms, step))
    tally(said.decision === 'allow' ? 'frame allow' : `frame ${said.reason}`)
    if (said.decision === 'allow') of.sent[index] = (of.sent[index] ?? 0) + 1
    else of.token = 'dead'
  }
  const reach = (sequence: number, of: Known): void => {
    const phase = PHASES[what.types[of.type]!.kind][of.depth + 1]
    if (sequence === awaited) awaited = [...known].find(([, { rests }]) => rests.includes(sequence))?.[0] ?? 0
    if (of.token !== 'leased' || of.ended || phase === undefined) return
    of.depth++
    ask('reach', (core) => core.reach(sequence, phase))
  }
  const end = (sequence: number, of: Known): void => {
    if (roll(3) > 0) return
    of.ended = true
    const phase = of.token === 'leased' && roll(2) === 0 ? Phase.completed : pick(roll, ENDS)
    ask('end', (core) => core.end(sequence, phase))
  }
  const release = (sequence: number, of: Known): void => {
    if (!of.ended || [...known.values()].some(({ rests }) => rests.includes(sequence))) return
    known.delete(sequence)
    ask('release', (core) => core.release(sequence))
    if (settles(what.types[of.type]!)) settled.set(sequence, { type: of.type })
  }

  for (const f of FIELDS.keys()) observe(f, now_ms)
  snapshot = ask('snapshot', (core) => core.snapshot(now_ms))
  const mute = roll(60)
  for (step = 0; step < STEPS; step++) {
    now_ms += pick(roll, [0, 0, 1, 5, 12])
    if (step === mute) ask('target', (core) => core.target(1, 191))
    for (const f of FIELDS.keys()) if (roll(3) === 0) observe(f, now_ms - roll(4))
    if (roll(8) === 0) snapshot = ask('snapshot', (core) => core.snapshot(now_ms))
    if (roll(6) === 0) admit()
    // Mostly what can still move; now and then what is over.
    const open = [...known].filter(([, { token, ended }]) => (token !== 'dead' && !ended) || roll(8) === 0)
    const [sequence, of] = open.find(([s]) => s === awaited && roll(4) > 0) ?? pick(roll, open.slice(-16)) ?? []
    if (sequence === undefined || of === undefined) continue
    const doing =
      of.token === 'leased' ? [next, next, next, reach, reach, reach, gate, end] : [gate, gate, rehearse, end]
    pick(roll, of.ended ? [gate, rehearse, release, release] : doing)(sequence, of)
    if (roll(10) === 0) {
      const f = roll(FIELDS.length)
      ask('read', (core) => core.read(f, now_ms))
      ask('capacity', (core) => core.capacity().instances)
      if (known.has(sequence)) predicates(sequence, of)
      if (known.has(sequence)) ask('payload', (core) => core.payload(sequence))
      if (known.has(sequence)) ask('done', (core) => core.done(sequence, step % 40, now_ms))
    }
  }
}

describe('core beside oracle', () => {
  test('G1 G2 G3 G4 G5 G6: equal answers on every step of long random walks', () => {
    const counts = new Map<string, number>()
    const only = Number(process.env.HALO_SEED ?? 0)
    for (let seed = only || 1; seed <= (only || WALKS); seed++) walk(seed, counts)
    if (only) return
    // The walks go where it matters: everything that can be said here is said.
    for (const reason of [
      'payload_invalid',
      'unknown_prerequisite',
      'prerequisite_not_allowed',
      'prerequisite_missing',
      'prerequisite_cycle',
      'state_unknown',
      'state_stale',
      'changed',
      'unsupported',
      'prerequisite_withheld',
      'none',
    ] as const)
      expect(counts.get(`admit ${Reason[reason]}`) ?? 0, `admit ${reason}`).toBeGreaterThan(0)
    for (const reason of [
      'token_spent',
      'token_revoked',
      'prerequisite_failed',
      'prerequisite_not_ready',
      'approval_pending',
      'state_awaited',
      'prerequisite_lost',
      'state_unknown',
      'state_stale',
      'changed',
      'unsupported',
      'unencodable',
    ] as const)
      for (const call of ['gate', 'rehearse'])
        expect(counts.get(`${call} ${Reason[reason]}`) ?? 0, `${call} ${reason}`).toBeGreaterThan(0)
    for (const reason of ['state_unknown', 'state_stale', 'unsupported', 'out_of_tolerance'] as const)
      expect(counts.get(`frame ${Reason[reason]}`) ?? 0, `frame ${reason}`).toBeGreaterThan(0)
    expect(counts.get('rests on what has settled') ?? 0).toBeGreaterThan(50)
    for (const said of ['gate allow', 'rehearse allow', 'frame allow'])
      expect(counts.get(said) ?? 0, said).toBeGreaterThan(50)
    for (const truth of [true, false, undefined])
      expect(counts.get(`predicate ${truth}`) ?? 0, `predicate ${truth}`).toBeGreaterThan(50)
  })
})
