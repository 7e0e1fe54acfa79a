// What a core is: the wasm module (`wasm.ts`) and the naive oracle of the tests implement it alike (PROTOCOL 2, 5, 6, 7).
//
// A core decides and makes bytes. It has no clock, no strings to print, no I/O: the engine in `src/engine` gives it times
// and readings and carries out what it says. One core serves one session: what a session leaves behind is forgotten with it.
//
// Times are milliseconds of one monotonic clock. `now` must be finite and must never go back: if it does, the core traps.
// A trap poisons the core: `poisoned` is true and every further call throws `CorePoisoned`.

import type { Phase, Reason } from '../../build/abi.ts'
import type { Image } from './image.ts'

/** Makes a core for a new session. `session` is 8 bytes, `environment` 32: both go into every binding record. */
export type CoreFactory = (image: Image, session: Uint8Array, environment: Uint8Array) => Core

export class CorePoisoned extends Error {
  override readonly name = 'CorePoisoned'
}

export type Validity = 'usable' | 'stale' | 'unknown'

export interface Reading {
  readonly validity: Validity
  /** Last value received; NaN while unknown. */
  readonly value: number
  /** ms since receipt; NaN while unknown. */
  readonly age_ms: number
  /** The epoch of a discrete field; 0 for continuous ones. */
  readonly version: number
}

/** A payload value by slot: booleans are 0/1, enumeration members their position in `values`; `undefined` is absent. */
export type SlotValue = number | string | undefined

/**
 * What a component of the response is to the core. A prerequisite is the index of another candidate, or, written as
 * `standing(i)`, of a standing component, or `UNKNOWN_PREREQUISITE`.
 */
export interface Candidate {
  /** Type index; ignored where `form` says that there is none. */
  readonly type: number
  /** At most 64 bytes. */
  readonly id: string
  readonly payload: readonly SlotValue[]
  readonly requires: readonly number[]
  /** What the host found in step 1: duplicate_id, unknown_type, type_not_permitted, payload_invalid; else none. */
  readonly form: Reason
  /** What the host found in step 3: out_of_scope, evidence_stale, attempts_exhausted; else none. */
  readonly scope: Reason
  /** What the host found in step 4: paused, pilot_control; else none. */
  readonly barrier: Reason
}

/** A live or completed component of the plan that the response does not replace. Edges as in `Candidate`. */
export interface Standing {
  readonly sequence: number
  readonly requires: readonly number[]
}

/**
 * A released notice or report of the plan that has left the core: only its type and sequence are known, and nothing stands
 * behind it. Its type must settle (`settles`); that it was released, and of which type it was, is the host's word alone.
 */
export interface Settled {
  readonly sequence: number
  readonly type: number
}

export const UNKNOWN_PREREQUISITE = -1
/** Prerequisite code of the i-th standing component. */
export const standing = (i: number): number => -2 - i

export interface Batch {
  /** Index of the agent in the catalog; it goes into the binding record. */
  readonly agent: number
  /** `<agent>/<response>`, at most 129 bytes; it goes into the binding record. */
  readonly plan: string
  readonly generation: number
  /** Ordinal of the cited snapshot, one that `has` knows. */
  readonly snapshot: number
  readonly standing: readonly (Standing | Settled)[]
  readonly candidates: readonly Candidate[]
}

/** What admission says of one candidate (PROTOCOL 5). */
export interface Admitted {
  /** none: retained. Otherwise the reason of the first step that failed. */
  readonly reason: Reason
  /**
   * payload_invalid: the bound (index in `bounds`), -1 where the host found it; state_unknown, state_stale, changed: the
   * field; unsupported: the clause (index in `support`, then `gate`); prerequisite_not_allowed, unknown_prerequisite: the
   * position in `requires`; prerequisite_missing: the type. Otherwise -1.
   */
  readonly detail: number
  /** prerequisite_withheld: the candidate that is the first root in the response's order; otherwise -1. */
  readonly cause: number
  /** Retained: the instance's sequence, from 1, in the response's order. Otherwise 0. */
  readonly sequence: number
}

/** What the engine knows and the core does not: each set bit forbids or defers (PROTOCOL 7). The core puts them in order. */
export const Barrier = {
  session_changed: 1 << 0,
  superseded: 1 << 1,
  agent_revoked: 1 << 2,
  paused: 1 << 3,
  pilot_control: 1 << 4,
  uncertain_outcome: 1 << 5,
  expired: 1 << 6,
  resource_busy: 1 << 7,
  not_in_control: 1 << 8,
} as const

/**
 * Allowed: `frame` holds the bytes to send, or is absent where the effect has none. The view is valid until the next call.
 * Denied is final: the token is revoked. Deferred: ask again. `detail` as in `Admitted`; for prerequisite_failed,
 * prerequisite_lost, prerequisite_not_ready and approval_pending it is the sequence of the prerequisite.
 */
export type Gate =
  | { readonly decision: 'allow'; readonly frame: CoreFrame | undefined }
  | { readonly decision: 'deny' | 'defer'; readonly reason: Reason; readonly detail: number }

export interface CoreFrame {
  /** MAVLink message id. */
  readonly message: number
  /** The payload, not truncated. */
  readonly payload: Uint8Array
}

export interface Core {
  /** SHA-256 of the module's bytes, hex; part of the environment. */
  readonly hash: string
  readonly poisoned: boolean

  /** The autopilot's ids, for frames. Before this call every frame is `unencodable`. */
  target(system: number, component: number): void

  // State (PROTOCOL 2)

  /** A value received at `received_ms`. Not finite means unknown. Ages count from the receipt. */
  observe(field: number, value: number, received_ms: number): void
  read(field: number, now_ms: number): Reading
  /** Copies the table; ordinals count from 1 and the newest SNAPSHOTS_MAX are kept. */
  snapshot(now_ms: number): number
  /** When a snapshot was taken, or undefined where it is not kept (any more). */
  taken(ordinal: number): number | undefined

  // Admission (PROTOCOL 5, 6)

  /** How many more instances and prerequisites fit. */
  capacity(): { readonly instances: number; readonly edges: number }
  /** Judges a response. What is retained is bound and has a token. `Batch` must fit `capacity`. */
  admit(batch: Batch, now_ms: number): readonly Admitted[]

  // The ledger and the gate (PROTOCOL 6, 7, 8)

  /**
   * The final dispatch gate. On allow it leases the token and fills in all frames; the first is returned. The phase does
   * not change: `reach` says that the crossing has happened. `stamp` is a u32 for the frame's time stamp.
   */
  gate(sequence: number, barriers: number, now_ms: number, stamp: number): Gate
  /**
   * The gate's whole decision and nothing of the crossing: its denials are as final, its deferrals start the same patience,
   * and an allow leases nothing and has no frame. What it says, `gate` says in the same state.
   */
  rehearse(sequence: number, barriers: number, now_ms: number): Gate
  /**
   * The next or the same frame of a lease, with the checks of PROTOCOL 8 (a command's: without its gate clauses). Frames
   * come in order, each at most `sends` times (a violation traps); a stream's any number of times, also after later ones.
   */
  frame(sequence: number, index: number, barriers: number, now_ms: number, stamp: number): Gate
  /** `done` of a type that has one, judged now. */
  done(sequence: number, elapsed_ms: number, now_ms: number): boolean
  /**
   * The truth of `predicates[index]` now; undefined where a field that it names is unknown or stale, a value is not finite, or
   * the record was corrupted: the caller fails closed. `sequence` is the instance whose payload it reads: 0 for a predicate
   * without a type (else a RangeError), an instance of its type for the others (else the core traps).
   */
  predicate(index: number, sequence: number, now_ms: number): boolean | undefined
  /** A phase reached: only forward. */
  reach(sequence: number, phase: Phase): void
  /** No more of this instance: its token is closed (leased) or revoked (issued). `phase` is completed or an end. */
  end(sequence: number, phase: Phase): void
  /** Forgets an ended instance; nothing that is kept may rest on it. Its sequence is never used again. */
  release(sequence: number): void
  /** The bound payload, as it will cross. */
  payload(sequence: number): readonly SlotValue[]
  /** b_e, hex (PROTOCOL 6). */
  binding(sequence: number): string
  /** The binding record itself, a live view: for audits, and for tests that corrupt it. */
  record(sequence: number): Uint8Array

  // Contingencies (PROTOCOL 8)

  /** A token of its own for CONTINGENCY_SENDS_MAX sends of `contingencies[index]`. */
  contingency(index: number): number
  /** Its bytes once more, or undefined once the token is spent. */
  contingencyFrame(token: number): CoreFrame | undefined
}
