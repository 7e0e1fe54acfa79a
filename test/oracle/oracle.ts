// The naive oracle: a `Core` that reads like PROTOCOL 2 and 5 to 8 and shares nothing with the wasm core but its interface.
// It is slow, allocates freely and keeps whole snapshots in its records; what it decides is what the core must decide.

import { createHash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import {
  CONTINGENCY_SENDS_MAX,
  EDGES_MAX,
  INSTANCES_MAX,
  Kind,
  LEASES_MAX,
  Phase,
  Reason,
  SNAPSHOTS_MAX,
} from '../../build/abi.ts'
import {
  type Admitted,
  Barrier,
  type Batch,
  type Candidate,
  type Core,
  type CoreFactory,
  type CoreFrame,
  CorePoisoned,
  type Gate,
  type Reading,
  type Settled,
  type SlotValue,
} from '../../src/core/core.ts'
import type { ClauseImage, Image, TypeImage } from '../../src/core/image.ts'
import { isAction, judge, type Omitted, type Rested, world } from './admission.ts'
import { drift, evaluate, holds, type No, type Scene, type Sight, unseen } from './clause.ts'
import { encode } from './effect.ts'

/** What is bound (PROTOCOL 6). The gate reads it back from the bytes that the digest covers, and from nowhere else. */
interface Record {
  readonly session: Uint8Array
  readonly environment: Uint8Array
  readonly agent: number
  readonly plan: string
  readonly generation: number
  readonly snapshot: number
  readonly sequence: number
  readonly id: string
  readonly type: number
  readonly payload: readonly SlotValue[]
  readonly cited: readonly Sight[]
  readonly prerequisites: readonly Prerequisite[]
}

interface Prerequisite {
  readonly sequence: number
  readonly phase: Phase
  /** Its type, where all else of it was forgotten before. */
  readonly settled?: number
}

interface Instance {
  readonly type: TypeImage
  readonly record: Uint8Array
  readonly digest: string
  read: { readonly bytes: Buffer; readonly says: Record } | undefined
  readonly edges: number
  token: 'issued' | 'leased' | 'closed' | 'revoked'
  reached: Phase
  ended: boolean
  awaited_ms: number | undefined
  frames: Uint8Array[]
  sent: number[]
  references: number[]
}

type Decision = { readonly decision: 'deny' | 'defer' } & No

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const IDENTITY = [
  'session_changed',
  'superseded',
  'agent_revoked',
  'paused',
  'pilot_control',
  'uncertain_outcome',
] as const

/** It reads neither the payload nor what was cited. */
const isOfThePresent = ({ expression }: ClauseImage): boolean =>
  !/"op":"(payload|has|text|length|cited|unchanged|drift)"/.test(JSON.stringify(expression))

/** A candidate that nobody knows to rest on anything. */
const alone = (candidate: Candidate): Candidate => ({ ...candidate, requires: [] })

class Oracle implements Core {
  readonly hash = '0'.repeat(64)
  poisoned = false
  private readonly image: Image
  private readonly omitted: Omitted
  private readonly session: Uint8Array
  private readonly environment: Uint8Array
  private table: Sight[]
  private readonly snapshots = new Map<number, { readonly taken_ms: number; readonly cited: readonly Sight[] }>()
  private readonly ledger = new Map<number, Instance>()
  private readonly contingencies: { readonly index: number; sends: number }[] = []
  private system: readonly [number, number] | undefined
  private snapshotCount = 0
  private sequenceCount = 0
  private latest_ms = Number.NEGATIVE_INFINITY

  constructor(image: Image, session: Uint8Array, environment: Uint8Array, omitted: Omitted) {
    this.image = image
    this.omitted = omitted
    this.session = session
    this.environment = environment
    this.table = image.fields.map(() => ({
      value: Number.NaN,
      received_ms: Number.NaN,
      version: 0,
      validity: 'unknown',
    }))
  }

  private trapUnless(condition: boolean): asserts condition {
    if (condition && !this.poisoned) return
    this.poisoned = true
    throw new CorePoisoned('the oracle was used against its contract')
  }

  private clock(now_ms: number): void {
    this.trapUnless(Number.isFinite(now_ms) && now_ms >= this.latest_ms)
    this.latest_ms = now_ms
  }

  target(system: number, component: number): void {
    this.system = [system, component]
  }

  // State

  observe(field: number, value: number, received_ms: number): void {
    this.trapUnless(Number.isFinite(received_ms))
    const last = this.table[field]!
    const { discrete, maxAge_ms } = this.image.fields[field]!
    if (received_ms < last.received_ms) return
    const returned = last.validity === 'unknown' || received_ms - last.received_ms > maxAge_ms
    const known = Number.isFinite(value)
    const epoch = discrete && known && (returned || value !== last.value) ? 1 : 0
    this.table[field] = {
      value: known ? value : Number.NaN,
      received_ms,
      version: last.version + epoch,
      validity: known ? 'usable' : 'unknown',
    }
  }

  private sight(now_ms: number): Sight[] {
    return this.table.map((_, field) => this.see(field, now_ms))
  }

  private see(field: number, now_ms: number): Sight {
    const seen = this.table[field]!
    const isStale = seen.validity === 'usable' && now_ms - seen.received_ms > this.image.fields[field]!.maxAge_ms
    return isStale ? { ...seen, validity: 'stale' } : seen
  }

  read(field: number, now_ms: number): Reading {
    this.clock(now_ms)
    const { value, received_ms, version, validity } = this.see(field, now_ms)
    return { validity, value, version, age_ms: validity === 'unknown' ? Number.NaN : now_ms - received_ms }
  }

  snapshot(now_ms: number): number {
    this.clock(now_ms)
    this.snapshots.set(++this.snapshotCount, { taken_ms: now_ms, cited: this.sight(now_ms) })
    this.snapshots.delete(this.snapshotCount - SNAPSHOTS_MAX)
    return this.snapshotCount
  }

  taken(ordinal: number): number | undefined {
    return this.snapshots.get(ordinal)?.taken_ms
  }

  // Admission

  capacity(): { readonly instances: number; readonly edges: number } {
    const edges = [...this.ledger.values()].reduce((sum, instance) => sum + instance.edges, 0)
    return { instances: INSTANCES_MAX - this.ledger.size, edges: EDGES_MAX - edges }
  }

  admit(said: Batch, now_ms: number): readonly Admitted[] {
    this.clock(now_ms)
    const batch = this.omitted.closure ? { ...said, candidates: said.candidates.map(alone) } : said
    const snapshot = this.snapshots.get(batch.snapshot)
    if (!snapshot) throw new RangeError(`snapshot ${batch.snapshot} is not kept`)
    const rested = batch.standing.map((kept) => {
      if ('type' in kept) return this.settled(kept)
      const instance = this.of(kept.sequence)
      return { type: this.open(instance).type, completed: instance.reached === Phase.completed }
    })
    const scenes = batch.candidates.map(({ payload }) => this.scene(now_ms, snapshot.cited, payload))
    const judged = judge(this.image, batch, rested, scenes, this.omitted)

    const sequences = judged.map(({ reason }) => (reason === Reason.none ? ++this.sequenceCount : 0))
    batch.candidates.forEach((candidate, i) => {
      if (sequences[i] !== 0) this.bind(batch, i, candidate.type, sequences, snapshot.cited)
    })
    return judged.map((verdict, i) => ({ ...verdict, sequence: sequences[i]! }))
  }

  private settled({ sequence, type }: Settled): Rested {
    const { kind, support } = this.image.types[type]!
    this.trapUnless(sequence >= 1 && sequence <= this.sequenceCount && !this.ledger.has(sequence))
    this.trapUnless((kind === Kind.notice || kind === Kind.report) && support.every(isOfThePresent))
    return { type, completed: true }
  }

  private bind(batch: Batch, i: number, type: number, sequences: readonly number[], cited: readonly Sight[]): void {
    const { agent, plan, generation, snapshot } = batch
    const { id, payload, requires } = batch.candidates[i]!
    const prerequisites = requires.map((node) => {
      const kept = batch.standing[-2 - node]
      const settled = kept !== undefined && 'type' in kept ? kept.type : undefined
      const sequence = node >= 0 ? sequences[node]! : kept!.sequence
      const named = settled ?? (node >= 0 ? batch.candidates[node]!.type : this.open(this.of(sequence)).type)
      const phase = this.image.types[type]!.mayRequire.find((may) => may.type === named)!.phase
      return { sequence, phase, ...(settled !== undefined && { settled }) }
    })
    const { session, environment } = this
    const sequence = sequences[i]!
    const bound: Record = {
      session,
      environment,
      agent,
      plan,
      generation,
      snapshot,
      sequence,
      id,
      type,
      payload,
      cited,
      prerequisites,
    }
    const record = new Uint8Array(serialize(bound))
    this.ledger.set(sequence, {
      type: this.image.types[type]!,
      record,
      digest: sha256(record),
      read: undefined,
      edges: requires.length,
      token: 'issued',
      reached: Phase.retained,
      ended: false,
      awaited_ms: undefined,
      frames: [],
      sent: [],
      references: [],
    })
  }

  // The gate

  rehearse(sequence: number, barriers: number, now_ms: number): Gate {
    this.clock(now_ms)
    const instance = this.ledger.get(sequence)
    for (const no of this.objections(instance, barriers, now_ms, true)) {
      if (no.decision === 'deny' && instance?.token === 'issued') instance.token = 'revoked'
      return no
    }
    return { decision: 'allow', frame: undefined }
  }

  gate(sequence: number, barriers: number, now_ms: number, stamp: number): Gate {
    const said = this.rehearse(sequence, barriers, now_ms)
    if (said.decision !== 'allow') return said
    const instance = this.of(sequence)
    instance.token = 'leased'
    if (instance.frames.length === 0) return { decision: 'allow', frame: undefined }
    return { decision: 'allow', frame: this.hand(instance, 0, stamp) }
  }

  frame(sequence: number, index: number, barriers: number, now_ms: number, stamp: number): Gate {
    this.clock(now_ms)
    const instance = this.of(sequence)
    for (const no of this.objections(instance, barriers, now_ms, false)) {
      if (instance.token === 'leased') instance.token = 'revoked'
      return no
    }
    return { decision: 'allow', frame: this.hand(instance, index, stamp) }
  }

  /** Everything that speaks against a crossing (`first`) or a further frame, in the order of PROTOCOL 7: the first decides. */
  private *objections(
    instance: Instance | undefined,
    barriers: number,
    now_ms: number,
    first: boolean,
  ): Generator<Decision> {
    const deny = (reason: Reason, detail = -1): Decision => ({ decision: 'deny', reason, detail })
    const defer = (reason: Reason, detail = -1): Decision => ({ decision: 'defer', reason, detail })

    // Identity.
    const blind = this.omitted.gate
    if (!blind) for (const word of IDENTITY) if (barriers & Barrier[word]) yield deny(Reason[word])
    if (!instance) return yield deny(Reason.not_retained)
    if (first && (instance.token === 'leased' || instance.token === 'closed')) yield deny(Reason.token_spent)
    if (instance.token !== (first ? 'issued' : 'leased')) yield deny(Reason.token_revoked)
    if (!blind && first && barriers & Barrier.expired) yield deny(Reason.expired)
    if (!this.intact(instance)) yield deny(Reason.binding_mismatch)

    // What it rests on (G1).
    const record = this.open(instance)
    const type = this.image.types[record.type]!
    const hasReached = (phase: Phase, i?: Instance): boolean => i !== undefined && i.reached >= phase
    const missing = record.prerequisites.filter(
      (p) => p.settled === undefined && !hasReached(p.phase, this.ledger.get(p.sequence)),
    )
    const failed = missing.find((p) => this.ledger.get(p.sequence)?.ended ?? true)
    if (failed) yield deny(Reason.prerequisite_failed, failed.sequence)

    const scene = this.scene(now_ms, record.cited, record.payload)
    const clauses = first || type.kind === Kind.setpoint ? [...type.support, ...type.gate] : type.support
    const references = type.tolerance.map(({ field }) => ({ op: 'now', field }) as const)
    const effect = first ? type.frames.flatMap(({ entries }) => entries.map(({ value }) => value)) : []
    const read = [...clauses.map(({ expression }) => expression), ...references, ...effect.filter((v) => v !== 'nan')]
    const unseenNow = unseen(read, type.watches, scene)

    if (first) {
      const other = missing.find((p) => this.of(p.sequence).type.kind !== Kind.request)
      if (other) yield defer(Reason.prerequisite_not_ready, other.sequence)
      if (missing[0]) yield defer(Reason.approval_pending, missing[0].sequence)
      if (barriers & Barrier.resource_busy) yield defer(Reason.resource_busy)
      const leases = [...this.ledger.values()].filter(({ token, frames }) => token === 'leased' && frames.length > 0)
      if (type.frames.length > 0 && leases.length >= LEASES_MAX) yield defer(Reason.resource_busy)
      if (!blind && unseenNow && type.patience_ms > 0) {
        instance.awaited_ms ??= now_ms
        if (now_ms - instance.awaited_ms < type.patience_ms) yield defer(Reason.state_awaited, unseenNow.detail)
      }
    }

    // The world (G5).
    if (!blind) {
      if (barriers & Barrier.not_in_control) yield deny(Reason.not_in_control)
      const lost = record.prerequisites.find((p) => this.isLost(p, now_ms))
      if (lost) yield deny(Reason.prerequisite_lost, lost.sequence)
      if (unseenNow) yield deny(unseenNow.reason, unseenNow.detail)
      const no = world(type, clauses, scene)
      if (no) yield deny(no.reason, no.detail)
    }

    if (first) {
      const frames = type.frames.map((frame) => encode(frame, scene))
      if (frames.includes(undefined)) yield deny(Reason.unencodable)
      instance.frames = frames as Uint8Array[]
      instance.references = type.tolerance.map(({ field }) => scene.now[field]!.value)
    } else if (!blind) {
      const moved = type.tolerance.find(
        ({ field, value, angle = false }, i) =>
          !(drift(scene.now[field]!.value, instance.references[i]!, angle) <= value),
      )
      if (moved) yield deny(Reason.out_of_tolerance, moved.field)
    }
  }

  /** A completed action's `holds` or a released report's support that is not true now. */
  private isLost({ sequence, settled }: Prerequisite, now_ms: number): boolean {
    if (settled !== undefined) {
      const { kind, support } = this.image.types[settled]!
      const scene = this.scene(now_ms, [], [])
      return kind === Kind.report && !support.every(({ expression }) => holds(expression, scene))
    }
    const instance = this.of(sequence)
    const { type } = instance
    const kept = isAction(type)
      ? instance.reached === Phase.completed && type.holds
      : type.kind === Kind.report && instance.reached >= Phase.released && type.support
    if (!kept) return false
    if (!this.intact(instance)) return true
    const { cited, payload } = this.open(instance)
    return !kept.every(({ expression }) => holds(expression, this.scene(now_ms, cited, payload)))
  }

  /** Frames come in order, each at most `sends` times; a stream's again also after later ones (PROTOCOL 6). */
  private hand(instance: Instance, index: number, stamp: number): CoreFrame {
    const frame = this.image.types[this.open(instance).type]!.frames[index]
    const count = instance.sent.length
    this.trapUnless(frame !== undefined)
    this.trapUnless(index <= count && (index >= count - 1 || frame.sends === Number.POSITIVE_INFINITY))
    const sent = (instance.sent[index] ?? 0) + 1
    this.trapUnless(sent <= frame.sends)
    instance.sent[index] = sent
    const payload = instance.frames[index]!.slice()
    if (frame.stamp >= 0) new DataView(payload.buffer).setUint32(frame.stamp, stamp, true)
    return { message: frame.message, payload }
  }

  done(sequence: number, elapsed_ms: number, now_ms: number): boolean {
    this.clock(now_ms)
    const { type, cited, payload } = this.open(this.of(sequence))
    const { done } = this.image.types[type]!
    return done !== undefined && holds(done, { ...this.scene(now_ms, cited, payload), elapsed_ms })
  }

  predicate(index: number, sequence: number, now_ms: number): boolean | undefined {
    const { name, type, expression } = this.image.predicates[index]!
    if (type === undefined && sequence !== 0) throw new RangeError(`predicate ${name} has no type`)
    this.clock(now_ms)
    let payload: readonly SlotValue[] = []
    if (type !== undefined) {
      const instance = this.of(sequence)
      this.trapUnless(instance.type === this.image.types[type])
      if (!this.intact(instance)) return undefined
      payload = this.open(instance).payload
    }
    const scene = this.scene(now_ms, [], payload)
    const value = unseen([expression], [], scene) ? Number.NaN : evaluate(expression, scene)
    return Number.isNaN(value) ? undefined : value === 1
  }

  // The ledger

  reach(sequence: number, phase: Phase): void {
    const instance = this.of(sequence)
    this.trapUnless(phase > instance.reached && phase <= Phase.completed && !instance.ended)
    instance.reached = phase
  }

  end(sequence: number, phase: Phase): void {
    const instance = this.of(sequence)
    this.trapUnless(phase >= Phase.completed && !instance.ended)
    instance.ended = true
    if (phase === Phase.completed) instance.reached = phase
    instance.token = instance.token === 'leased' ? 'closed' : instance.token === 'issued' ? 'revoked' : instance.token
  }

  release(sequence: number): void {
    this.trapUnless(this.of(sequence).ended)
    this.ledger.delete(sequence)
  }

  payload(sequence: number): readonly SlotValue[] {
    return this.open(this.of(sequence)).payload
  }

  binding(sequence: number): string {
    return this.of(sequence).digest
  }

  record(sequence: number): Uint8Array {
    return this.of(sequence).record
  }

  private of(sequence: number): Instance {
    const instance = this.ledger.get(sequence)
    this.trapUnless(instance !== undefined)
    return instance
  }

  private intact(instance: Instance): boolean {
    return this.omitted.gate || sha256(instance.record) === instance.digest
  }

  /** What its bytes say now: read anew when they are others than the last time. */
  private open(instance: Instance): Record {
    const { record, read } = instance
    if (read === undefined || !read.bytes.equals(record)) {
      instance.read = { bytes: Buffer.from(record), says: deserialize(record) as Record }
    }
    return instance.read!.says
  }

  private scene(now_ms: number, cited: readonly Sight[], payload: readonly SlotValue[]): Scene {
    return { now_ms, now: this.sight(now_ms), cited, payload, elapsed_ms: Number.NaN, target: this.system }
  }

  // Contingencies

  contingency(index: number): number {
    this.trapUnless(this.image.contingencies[index] !== undefined)
    return this.contingencies.push({ index, sends: CONTINGENCY_SENDS_MAX })
  }

  contingencyFrame(token: number): CoreFrame | undefined {
    const granted = this.contingencies[token - 1]
    this.trapUnless(granted !== undefined)
    if (granted.sends === 0) return undefined
    const frame = this.image.contingencies[granted.index]!
    const payload = encode(frame, this.scene(this.latest_ms, [], []))
    if (!payload) return undefined
    granted.sends--
    return { message: frame.message, payload }
  }
}

export const oracle: CoreFactory = (image, session, environment) => new Oracle(image, session, environment, {})
/** An oracle that does without some of it, to show what each part is for. */
export const ablated =
  (omitted: Omitted): CoreFactory =>
  (image, session, environment) =>
    new Oracle(image, session, environment, omitted)
