// What a core is loaded with, once, before its first decision: the catalog and the profile as plain numbers (PROTOCOL 3).
// The wasm core and the naive oracle take the same image. Indices are positions in these arrays.

import { Kind, type Phase } from '../../build/abi.ts'
import { type Expression, readsRecord } from './expression.ts'

export interface Image {
  readonly fields: readonly FieldImage[]
  readonly types: readonly TypeImage[]
  /** Frames that need no support and read no state and no payload: hold, land, return, disarm (PROTOCOL 8). */
  readonly contingencies: readonly FrameImage[]
  readonly predicates: readonly PredicateImage[]
}

/** A truth that rules ask for: over the present state (`now`, `age`) and, where it has a type, that type's payload (PROTOCOL 13). */
export interface PredicateImage {
  readonly name: string
  readonly type: number | undefined
  readonly expression: Expression
}

export interface FieldImage {
  readonly name: string
  /** How long a value stays usable after its receipt, ms. */
  readonly maxAge_ms: number
  /** Discrete fields have a version. */
  readonly discrete: boolean
}

export interface ClauseImage {
  readonly name: string
  readonly expression: Expression
}

export interface TypeImage {
  readonly name: string
  readonly kind: Kind
  readonly payload: readonly SlotImage[]
  /** Payload bounds, judged in step 1 of admission; each names its field. */
  readonly bounds: readonly ClauseImage[]
  readonly support: readonly ClauseImage[]
  readonly gate: readonly ClauseImage[]
  readonly holds: readonly ClauseImage[]
  readonly done: Expression | undefined
  /** Discrete fields whose version must be the cited one, from admission to every frame. */
  readonly watches: readonly number[]
  /** Types of which one must be among the prerequisites. */
  readonly requires: readonly number[]
  /** All types that may be named, `requires` among them, with the phase to wait for. */
  readonly mayRequire: readonly { readonly type: number; readonly phase: Phase }[]
  readonly patience_ms: number
  /** The effect's frames in order; empty for what does not go to the vehicle. */
  readonly frames: readonly FrameImage[]
  /** References that went into the frames, and how far each may move while the lease lives (PROTOCOL 3, `tolerance`). */
  readonly tolerance: readonly ToleranceImage[]
}

/** What is released of the type stands without its record: a notice or a report whose support reads the present alone. */
export function settles({ kind, support }: Pick<TypeImage, 'kind' | 'support'>): boolean {
  if (kind !== Kind.notice && kind !== Kind.report) return false
  return !support.some(({ expression }) => readsRecord(expression))
}

export interface ToleranceImage {
  readonly field: number
  readonly value: number
  /** Degrees, measured the short way round: a longitude may pass from 180 to -180. Default false. */
  readonly angle?: boolean
}

export type SlotKind = 'number' | 'integer' | 'boolean' | 'enum' | 'string'

export interface SlotImage {
  readonly name: string
  readonly kind: SlotKind
  readonly optional: boolean
}

export type Format = 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32' | 'f32'

/** A MAVLink payload to be filled in by the core. Bytes that no entry writes are zero. */
export interface FrameImage {
  /** MAVLink message id. */
  readonly message: number
  /** Length of the whole payload in bytes, not truncated. */
  readonly length: number
  readonly entries: readonly EntryImage[]
  /** Where a u32 time stamp goes, patched into the copy that is handed out; -1 for none. */
  readonly stamp: number
  /** How often the frame may be handed out in a lease: 1 for a command's, 1 + n with retransmits, Infinity for a stream. */
  readonly sends: number
}

export interface EntryImage {
  readonly offset: number
  readonly format: Format
  /** `'nan'` is the quiet NaN 0x7FC00000 that MAVLink itself wants (f32 only). An integer format rounds to nearest. */
  readonly value: Expression | 'nan'
  /**
   * Latitude and longitude of one position, in degrees (f32) or 1e-7 deg (integers): both exactly 0, or one beyond 90 or 180
   * deg, denies (`unencodable`).
   */
  readonly position?: 'lat' | 'lon'
}
