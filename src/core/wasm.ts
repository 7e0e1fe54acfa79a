// The core as a WebAssembly module: the one file that knows WebAssembly and its loader (PROTOCOL 2, 5, 6, 7, 8).
//
// Host arguments are checked here, before the module is touched, so that a mistake of the host is a RangeError and a trap
// stays what it is: a verdict (PROTOCOL 11). After a trap the instance is never called again (G5).

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { instantiateSync } from '@assemblyscript/loader'
import type { Fault, Phase, Role } from '../../build/abi.ts'
import * as abi from '../../build/abi.ts'
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
  type Standing,
  standing,
  UNKNOWN_PREREQUISITE,
  type Validity,
} from './core.ts'
import { encode } from './encode.ts'
import type { Expression } from './expression.ts'
import { type EntryImage, type Image, settles, type TypeImage } from './image.ts'

const source = readFileSync(new URL('../../build/core.wasm', import.meta.url))
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** SHA-256 of the module's bytes, hex. */
export const CORE_HASH = sha256(source)

/** The exports of assembly/index.ts; every number is an i32, a u32 or an f64 there. */
interface Exports extends Record<string, unknown> {
  readonly memory: WebAssembly.Memory
  configure(fields: number, types: number): Fault
  declareField(field: number, maxAge_ms: number, discrete: number): void
  declareType(type: number, kind: number, slots: number, strings: number, patience_ms: number): Fault
  addMayRequire(type: number, other: number, phase: number): Fault
  addRequires(type: number, other: number): Fault
  addWatch(type: number, field: number): Fault
  addClause(type: number, role: Role, words: number): Fault
  addFrame(type: number, message: number, length: number, stamp: number, sends: number): Fault
  addFrameEntry(type: number, offset: number, format: number, part: number, words: number): Fault
  addTolerance(type: number, field: number, value: number, angle: number): Fault
  layOut(type: number): Fault
  addContingency(message: number, length: number): Fault
  addContingencyEntry(offset: number, format: number, part: number, words: number): Fault
  addPredicate(type: number, words: number): Fault
  seal(): void
  setTarget(system: number, component: number): void
  observe(field: number, value: number, received_ms: number): void
  read(field: number, now_ms: number): number
  snapshot(now_ms: number): number
  taken(ordinal: number): number
  instancesLeft(): number
  edgesLeft(): number
  openAdmission(
    candidates: number,
    standing: number,
    agent: number,
    generation: number,
    snapshot: number,
    planBytes: number,
    now_ms: number,
  ): void
  addCandidate(
    type: number,
    form: number,
    scope: number,
    barrier: number,
    present: number,
    idBytes: number,
    textBytes: number,
    prerequisites: number,
  ): void
  addStanding(sequence: number, prerequisites: number): void
  addSettled(sequence: number, type: number): void
  judge(): void
  bindRetained(): void
  gate(sequence: number, barriers: number, now_ms: number, stamp: number): number
  rehearse(sequence: number, barriers: number, now_ms: number): number
  frame(sequence: number, index: number, barriers: number, now_ms: number, stamp: number): number
  done(sequence: number, elapsed_ms: number, now_ms: number): number
  predicate(index: number, sequence: number, now_ms: number): number
  reach(sequence: number, phase: number): void
  end(sequence: number, phase: number): void
  release(sequence: number): void
  recordAt(sequence: number): number
  recordBytes(sequence: number): number
  bindingAt(sequence: number): number
  contingency(index: number): number
  contingencyFrame(token: number): number
}

const U32_MAX = 0xffffffff
const BARRIERS = Object.values(Barrier).reduce((all, bit) => all | bit, 0)
const VALIDITY: readonly Validity[] = ['unknown', 'stale', 'usable']

const utf8 = new TextEncoder()
const fromUtf8 = new TextDecoder()

// `what` is said of the i-th `of`, where there is one. Words are put together only when something is wrong.

/** An integer in [0, bound), or a RangeError that names it. */
function index(value: number, bound: number, what: string, of?: string, i?: number): number {
  if (!Number.isInteger(value) || value < 0 || value >= bound) {
    throw new RangeError(`${named(what, of, i)} must be an integer from 0 to ${bound - 1}, got ${value}`)
  }
  return value
}

function atMost(value: number, bound: number, what: string, of?: string, i?: number): void {
  if (value > bound) throw new RangeError(`${named(what, of, i)}: at most ${bound}, got ${value}`)
}

const named = (what: string, of?: string, i?: number): string => (of === undefined ? what : `${of} ${i}: ${what}`)

class WasmCore implements Core {
  readonly hash: string
  poisoned = false
  private readonly core: Exports
  private readonly image: Image
  private readonly bytes: Uint8Array
  private readonly words: Uint32Array
  private readonly signed: Int32Array
  private readonly doubles: Float64Array
  /** The last sequence that the core has given. */
  private given = 0

  constructor(module: WebAssembly.Module, hash: string, image: Image, session: Uint8Array, environment: Uint8Array) {
    this.hash = hash
    this.core = instantiateSync(module, {}).instance.exports as unknown as Exports
    this.image = image
    const { buffer } = this.core.memory
    this.bytes = new Uint8Array(buffer)
    this.words = new Uint32Array(buffer)
    this.signed = new Int32Array(buffer)
    this.doubles = new Float64Array(buffer)
    if (session.length !== 8) throw new RangeError(`a session is 8 bytes, got ${session.length}`)
    if (environment.length !== 32) throw new RangeError(`an environment is 32 bytes, got ${environment.length}`)
    this.bytes.set(session, abi.INPUT_AT)
    this.bytes.set(environment, abi.INPUT_AT + 8)
    this.load(image)
  }

  // Loading

  private load(image: Image): void {
    const { core } = this
    const { fields, types, contingencies, predicates } = image
    atMost(fields.length, abi.FIELDS_MAX, 'fields')
    atMost(types.length, abi.TYPES_MAX, 'types')
    accept(core.configure(fields.length, types.length), 'the image')
    fields.forEach(({ name, maxAge_ms, discrete }, field) => {
      if (!(maxAge_ms >= 0))
        throw new RangeError(`field ${name}: the maximum age must not be negative, got ${maxAge_ms}`)
      core.declareField(field, maxAge_ms, Number(discrete))
    })
    types.forEach(({ name, kind, payload, patience_ms }, type) => {
      atMost(payload.length, abi.SLOTS_MAX, `type ${name}: payload fields`)
      const strings = payload.reduce((mask, slot, i) => (slot.kind === 'string' ? mask | (1 << i) : mask), 0)
      accept(core.declareType(type, kind, payload.length, strings, patience_ms), `type ${name}`)
    })
    for (const [i, type] of types.entries()) this.loadType(type, i)
    contingencies.forEach(({ message, length, entries, stamp }, i) => {
      const what = `contingency ${i}`
      if (stamp !== -1) throw new RangeError(`${what}: its frame has no time stamp`)
      accept(core.addContingency(index(message, 1 << 24, what), index(length, abi.FRAME_BYTES_MAX + 1, what)), what)
      for (const entry of entries) this.loadEntry(entry, what, core.addContingencyEntry)
    })
    for (const { name, type, expression } of predicates) {
      const what = `predicate ${name}`
      const of = type === undefined ? abi.NO_TYPE : index(type, types.length, `${what}: type`)
      accept(core.addPredicate(of, this.program(expression, what)), what)
    }
    core.seal()
  }

  private loadType(type: TypeImage, i: number): void {
    const { core } = this
    const name = `type ${type.name}`
    for (const { type: other, phase } of type.mayRequire) {
      accept(core.addMayRequire(i, index(other, abi.TYPES_MAX, `${name}: may_require`), phase), `${name}: may_require`)
    }
    for (const other of type.requires) {
      accept(core.addRequires(i, index(other, abi.TYPES_MAX, `${name}: requires`)), `${name}: requires`)
    }
    for (const field of type.watches) {
      accept(core.addWatch(i, index(field, abi.FIELDS_MAX, `${name}: watches`)), `${name}: watches`)
    }
    const clause = (role: Role, word: string, expression: Expression, clauseName: string): void => {
      const what = `${name}: ${word} ${clauseName}`
      accept(core.addClause(i, role, this.program(expression, what)), what)
    }
    for (const word of ['bounds', 'support', 'gate', 'holds'] as const) {
      for (const c of type[word]) clause(abi.Role[word], word, c.expression, c.name)
    }
    if (type.done) clause(abi.Role.done, 'done', type.done, '')
    type.frames.forEach(({ message, length, entries, stamp, sends }, f) => {
      const what = `${name}: frame ${f}`
      const times = sends === Number.POSITIVE_INFINITY ? U32_MAX : index(sends, U32_MAX, `${what}: sends`)
      index(length, abi.FRAME_BYTES_MAX + 1, `${what}: length`)
      index(stamp + 1, abi.FRAME_BYTES_MAX, `${what}: stamp + 1`)
      accept(core.addFrame(i, index(message, 1 << 24, `${what}: message`), length, stamp, times), what)
      const add = (offset: number, format: number, part: number, words: number): Fault =>
        core.addFrameEntry(i, offset, format, part, words)
      for (const entry of entries) this.loadEntry(entry, what, add)
    })
    for (const { field, value, angle = false } of type.tolerance) {
      const what = `${name}: tolerance`
      accept(core.addTolerance(i, index(field, abi.FIELDS_MAX, what), value, Number(angle)), what)
    }
    accept(core.layOut(i), name)
  }

  private loadEntry(
    { offset, format, value, position }: EntryImage,
    where: string,
    add: (offset: number, format: number, part: number, words: number) => Fault,
  ): void {
    const what = `${where}, offset ${offset}`
    index(offset, abi.FRAME_BYTES_MAX, `${what}: the offset`)
    if (value === 'nan' && format !== 'f32') throw new RangeError(`${what}: a nan is an f32, not ${format}`)
    const words = value === 'nan' ? 0 : this.program(value, what)
    const as = value === 'nan' ? abi.Format.nan : abi.Format[format]
    accept(add(offset, as, position ? abi.Part[position] : abi.Part.none, words), what)
  }

  /** Writes a program to the core's input and returns how many words it has. */
  private program(expression: Expression, what: string): number {
    try {
      const program = encode(expression)
      this.bytes.set(program, abi.INPUT_AT)
      return program.length / 8
    } catch (error) {
      throw error instanceof RangeError ? new RangeError(`${what}: ${error.message}`) : error
    }
  }

  // Traps

  private ready(): void {
    if (this.poisoned) throw new CorePoisoned('the core trapped before and is not used again')
  }

  /** What to throw for what a call threw: a trap poisons (G5). */
  private trapped(error: unknown): unknown {
    if (!(error instanceof WebAssembly.RuntimeError)) return error
    this.poisoned = true
    return new CorePoisoned(`the core trapped: ${error.message}`, { cause: error })
  }

  private call<T>(run: (core: Exports) => T): T {
    this.ready()
    try {
      return run(this.core)
    } catch (error) {
      throw this.trapped(error)
    }
  }

  target(system: number, component: number): void {
    index(system, 256, 'system')
    index(component, 256, 'component')
    this.call((core) => core.setTarget(system, component))
  }

  // State

  private field(field: number): number {
    return index(field, this.image.fields.length, 'field')
  }

  observe(field: number, value: number, received_ms: number): void {
    this.field(field)
    this.ready()
    try {
      this.core.observe(field, value, received_ms)
    } catch (error) {
      throw this.trapped(error)
    }
  }

  read(field: number, now_ms: number): Reading {
    this.field(field)
    const validity = VALIDITY[this.call((core) => core.read(field, now_ms))]!
    const at = abi.OUTPUT_AT >> 3
    return {
      validity,
      value: this.doubles[at]!,
      age_ms: validity === 'unknown' ? Number.NaN : this.doubles[at + 1]!,
      version: this.words[(abi.OUTPUT_AT + 16) >> 2]!,
    }
  }

  snapshot(now_ms: number): number {
    return this.call((core) => core.snapshot(now_ms)) >>> 0
  }

  taken(ordinal: number): number | undefined {
    if (!Number.isInteger(ordinal) || ordinal < 1 || ordinal > U32_MAX) return undefined
    const taken_ms = this.call((core) => core.taken(ordinal))
    return Number.isNaN(taken_ms) ? undefined : taken_ms
  }

  // Admission

  capacity(): { readonly instances: number; readonly edges: number } {
    return this.call((core) => ({ instances: core.instancesLeft(), edges: core.edgesLeft() }))
  }

  admit(batch: Batch, now_ms: number): readonly Admitted[] {
    this.ready()
    this.check(batch)
    try {
      const { core } = this
      const planBytes = this.writeText(batch.plan, abi.INPUT_AT)
      const { candidates } = batch
      core.openAdmission(
        candidates.length,
        batch.standing.length,
        batch.agent,
        batch.generation,
        batch.snapshot,
        planBytes,
        now_ms,
      )
      for (const candidate of candidates) this.offer(candidate)
      for (const each of batch.standing) {
        if ('type' in each) core.addSettled(each.sequence, each.type)
        else {
          this.writeEdges(each.requires)
          core.addStanding(each.sequence, each.requires.length)
        }
      }
      core.judge()
      core.bindRetained()
      return candidates.map((_, i) => {
        const at = (abi.CANDIDATES_AT + i * abi.CANDIDATE_BYTES) >> 2
        const reason = this.signed[at] as Admitted['reason']
        const sequence = this.words[at + 3]!
        if (sequence !== 0) this.given = sequence
        return { reason, detail: this.signed[at + 1]!, cause: this.signed[at + 2]!, sequence }
      })
    } catch (error) {
      throw this.trapped(error)
    }
  }

  /** Everything of a batch that the core would trap on. */
  private check({ agent, plan, generation, snapshot, standing: kept, candidates }: Batch): void {
    index(agent, abi.AGENTS_MAX, 'agent')
    index(generation, Number.MAX_SAFE_INTEGER + 1, 'generation')
    atMost(Buffer.byteLength(plan), abi.PLAN_BYTES_MAX, 'bytes of the plan')
    if (this.taken(snapshot) === undefined) throw new RangeError(`snapshot ${snapshot} is not kept`)
    const capacity = this.capacity()
    atMost(candidates.length, Math.min(abi.CANDIDATES_MAX, capacity.instances), 'candidates')
    atMost(kept.length, abi.STANDING_MAX, 'standing components')
    const edges = (of: readonly (Candidate | Standing | Settled)[], what: string): number => {
      const lowest = standing(kept.length - 1)
      let sum = 0
      for (let i = 0; i < of.length; i++) {
        const each = of[i]!
        if (!('requires' in each)) continue
        const { requires } = each
        atMost(requires.length, abi.PREREQUISITES_MAX, 'prerequisites', what, i)
        for (const code of requires) {
          if (Number.isInteger(code) && code < candidates.length && code >= lowest) continue
          throw new RangeError(`${what} ${i}: prerequisite ${code} is no candidate and no standing component`)
        }
        sum += requires.length
      }
      return sum
    }
    const offered = edges(candidates, 'candidate')
    atMost(offered, Math.min(abi.RESPONSE_EDGES_MAX, capacity.edges), 'prerequisites of the candidates')
    atMost(offered + edges(kept, 'standing'), abi.EDGES_MAX, 'prerequisites of all')
    for (const each of kept) {
      const sequence = index(each.sequence, U32_MAX, 'sequence')
      if (sequence < 1 || sequence > this.given) throw new RangeError(`sequence ${sequence} was never given`)
      if (!('type' in each)) continue
      const type = this.image.types[index(each.type, this.image.types.length, 'type')]!
      if (!settles(type))
        throw new RangeError(`type ${type.name} does not settle: no notice or report, or its support reads its record`)
    }
    for (let i = 0; i < candidates.length; i++) this.checkPayload(candidates[i]!, i)
  }

  private checkPayload({ type, id, payload, form }: Candidate, i: number): void {
    if (form !== abi.Reason.unknown_type) index(type, this.image.types.length, 'type', 'candidate', i)
    if (form !== abi.Reason.none) return
    atMost(Buffer.byteLength(id), abi.TEXT_BYTES_MAX, 'bytes of the id', 'candidate', i)
    const slots = this.image.types[type]!.payload
    atMost(payload.length, slots.length, 'payload fields', 'candidate', i)
    let text = 0
    for (let slot = 0; slot < payload.length; slot++) {
      const value = payload[slot]
      const { name, kind } = slots[slot]!
      if (value !== undefined && (typeof value === 'string') !== (kind === 'string')) {
        throw new RangeError(`candidate ${i}: payload field ${name} is a ${kind}, got a ${typeof value}`)
      }
      if (typeof value === 'string') text += Buffer.byteLength(value)
    }
    atMost(text, abi.PAYLOAD_BYTES_MAX, "bytes of the payload's strings", 'candidate', i)
  }

  /** Hands one candidate to the core; assembly/binding.ts says what stands where. */
  private offer({ type, id, payload, requires, form, scope, barrier }: Candidate): void {
    let present = 0
    let idBytes = 0
    let textBytes = 0
    if (form === abi.Reason.none) {
      idBytes = this.writeText(id, abi.INPUT_TEXT_AT)
      textBytes = idBytes
      for (let slot = 0; slot < payload.length; slot++) {
        const value = payload[slot]
        if (value === undefined) continue
        present |= 1 << slot
        const at = abi.INPUT_AT + 8 * slot
        if (typeof value === 'number') this.doubles[at >> 3] = value
        else {
          const length = this.writeText(value, abi.INPUT_TEXT_AT + textBytes)
          this.words[at >> 2] = textBytes
          this.words[(at >> 2) + 1] = length
          textBytes += length
        }
      }
    }
    this.writeEdges(requires)
    const known = form === abi.Reason.unknown_type ? 0 : type
    this.core.addCandidate(known, form, scope, barrier, present, idBytes, textBytes, requires.length)
  }

  private writeEdges(requires: readonly number[]): void {
    for (let i = 0; i < requires.length; i++)
      this.signed[(abi.INPUT_EDGES_AT >> 2) + i] = requires[i] ?? UNKNOWN_PREREQUISITE
  }

  /** UTF-8 at an address; returns the number of bytes. */
  private writeText(text: string, at: number): number {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) return utf8.encodeInto(text, this.bytes.subarray(at)).written
      this.bytes[at + i] = code
    }
    return text.length
  }

  // The gate and the ledger

  gate(sequence: number, barriers: number, now_ms: number, stamp: number): Gate {
    index(sequence, U32_MAX + 1, 'sequence')
    this.ready()
    try {
      return this.verdict(this.core.gate(sequence, barriers & BARRIERS, now_ms, stamp))
    } catch (error) {
      throw this.trapped(error)
    }
  }

  rehearse(sequence: number, barriers: number, now_ms: number): Gate {
    index(sequence, U32_MAX + 1, 'sequence')
    return this.verdict(this.call((core) => core.rehearse(sequence, barriers & BARRIERS, now_ms)))
  }

  frame(sequence: number, frame: number, barriers: number, now_ms: number, stamp: number): Gate {
    index(sequence, U32_MAX + 1, 'sequence')
    index(frame, abi.FRAMES_MAX, 'frame')
    this.ready()
    try {
      return this.verdict(this.core.frame(sequence, frame, barriers & BARRIERS, now_ms, stamp))
    } catch (error) {
      throw this.trapped(error)
    }
  }

  private verdict(decision: number): Gate {
    const at = abi.OUTPUT_AT >> 2
    if (decision === abi.Decision.allow) return { decision: 'allow', frame: this.handed() }
    const reason = this.words[at] as Admitted['reason']
    return { decision: decision === abi.Decision.defer ? 'defer' : 'deny', reason, detail: this.signed[at + 1]! }
  }

  /** The frame at OUTPUT, or undefined where the effect has none. */
  private handed(): CoreFrame | undefined {
    const at = abi.OUTPUT_AT >> 2
    const length = this.words[at + 3]!
    if (length === 0) return undefined
    return {
      message: this.words[at + 2]!,
      payload: this.bytes.subarray(abi.OUTPUT_AT + 16, abi.OUTPUT_AT + 16 + length),
    }
  }

  done(sequence: number, elapsed_ms: number, now_ms: number): boolean {
    index(sequence, U32_MAX + 1, 'sequence')
    return this.call((core) => core.done(sequence, elapsed_ms, now_ms)) !== 0
  }

  predicate(predicate: number, sequence: number, now_ms: number): boolean | undefined {
    index(predicate, this.image.predicates.length, 'predicate')
    index(sequence, U32_MAX + 1, 'sequence')
    const { name, type } = this.image.predicates[predicate]!
    if (type === undefined && sequence !== 0)
      throw new RangeError(`predicate ${name} reads no payload: its sequence must be 0, got ${sequence}`)
    const truth = this.call((core) => core.predicate(predicate, sequence, now_ms))
    return truth === abi.Truth.unknown ? undefined : truth === abi.Truth.yes
  }

  reach(sequence: number, phase: Phase): void {
    index(sequence, U32_MAX + 1, 'sequence')
    this.call((core) => core.reach(sequence, phase))
  }

  end(sequence: number, phase: Phase): void {
    index(sequence, U32_MAX + 1, 'sequence')
    this.call((core) => core.end(sequence, phase))
  }

  release(sequence: number): void {
    index(sequence, U32_MAX + 1, 'sequence')
    this.call((core) => core.release(sequence))
  }

  payload(sequence: number): readonly SlotValue[] {
    index(sequence, U32_MAX + 1, 'sequence')
    const record = this.call((core) => core.recordAt(sequence))
    const slots = this.image.types[this.words[(record + abi.RECORD_TYPE) >> 2]!]?.payload ?? []
    const present = this.words[(record + abi.RECORD_PRESENT) >> 2]!
    return slots.map(({ kind }, slot): SlotValue => {
      const at = record + abi.RECORD_HEADER + 8 * slot
      if (((present >>> slot) & 1) === 0) return undefined
      if (kind !== 'string') return this.doubles[at >> 3]!
      const text = record + this.words[at >> 2]!
      return fromUtf8.decode(this.bytes.subarray(text, text + this.words[(at >> 2) + 1]!))
    })
  }

  binding(sequence: number): string {
    index(sequence, U32_MAX + 1, 'sequence')
    const at = this.call((core) => core.bindingAt(sequence))
    return Buffer.from(this.bytes.buffer, at, 32).toString('hex')
  }

  record(sequence: number): Uint8Array {
    index(sequence, U32_MAX + 1, 'sequence')
    return this.call((core) => {
      const at = core.recordAt(sequence)
      return this.bytes.subarray(at, at + core.recordBytes(sequence))
    })
  }

  // Contingencies

  contingency(contingency: number): number {
    index(contingency, this.image.contingencies.length, 'contingency')
    return this.call((core) => core.contingency(contingency)) >>> 0
  }

  contingencyFrame(token: number): CoreFrame | undefined {
    index(token, U32_MAX + 1, 'token')
    return this.call((core) => core.contingencyFrame(token)) !== 0 ? this.handed() : undefined
  }
}

/** The bound that a fault is about, where it has one. */
const BOUNDS: Partial<Record<Fault, number>> = {
  [abi.Fault.stack_too_deep]: abi.STACK_MAX,
  [abi.Fault.too_many_words]: abi.PROGRAM_WORDS_MAX,
  [abi.Fault.too_many_programs]: abi.PROGRAMS_MAX,
  [abi.Fault.too_many_clauses]: abi.CLAUSES_MAX,
  [abi.Fault.too_many_frames]: abi.FRAMES_MAX,
  [abi.Fault.too_many_entries]: abi.ENTRIES_MAX,
  [abi.Fault.too_many_entries_in_all]: abi.ENTRIES_TOTAL_MAX,
  [abi.Fault.too_many_tolerances]: abi.TOLERANCES_MAX,
  [abi.Fault.too_many_fields]: abi.CITED_MAX,
  [abi.Fault.too_many_types]: abi.TYPES_MAX,
  [abi.Fault.too_many_slots]: abi.SLOTS_MAX,
  [abi.Fault.too_many_contingencies]: abi.CONTINGENCIES_MAX,
  [abi.Fault.too_many_predicates]: abi.PREDICATES_MAX,
}

/** Throws unless the core accepted it. */
function accept(fault: Fault, what: string): void {
  if (fault === abi.Fault.none) return
  const bound = BOUNDS[fault]
  const words = abi.FaultWords[fault]?.replaceAll('_', ' ') ?? `fault ${fault}`
  throw new RangeError(`${what.trimEnd()}: ${words}${bound === undefined ? '' : ` (at most ${bound})`}`)
}

/** Makes cores of a build of the module. A core throws a RangeError that names what of the image it refuses. */
export function coresOf(build: Uint8Array<ArrayBuffer>): CoreFactory {
  const module = new WebAssembly.Module(build)
  const hash = sha256(build)
  return (image, session, environment) => new WasmCore(module, hash, image, session, environment)
}

/** Makes a core for a session. */
export const loadCore: CoreFactory = coresOf(source)
