// A catalog after loading: what the engine, the edge and the core need of it (PROTOCOL 3). Made by `load.ts`.

import type { Kind, Phase } from '../../build/abi.ts'
import type {
  ContingencyName,
  Enumeration,
  FieldType,
  Mode,
  Profile,
  SetpointName,
  Shown,
} from '../autopilot/profile.ts'
import type { Image, SlotKind } from '../core/image.ts'

export interface Catalog {
  /** SHA-256 of the file's bytes, hex. */
  readonly hash: string
  readonly profile: Profile
  /** How old a cited snapshot may be, ms. */
  readonly evidenceMaxAge_ms: number
  /** The state table: all fields of the profile, in its order, then the context fields. Index = field number. */
  readonly fields: readonly StateField[]
  readonly agents: readonly Agent[]
  /** Index = type number of the core. */
  readonly types: readonly ComponentType[]
  /** The type number behind a type's name. */
  readonly typeNumbers: ReadonlyMap<string, number>
  /** What rules may ask for (PROTOCOL 13), in the order of the file. */
  readonly predicates: readonly Predicate[]
  /** What the core is loaded with; contingencies in the order of `CONTINGENCIES`. */
  readonly image: Image
}

export interface StateField {
  readonly name: string
  readonly source: 'profile' | 'context'
  readonly type: FieldType
  /** Members of the enumeration, by number; undefined for the other types. */
  readonly members: readonly string[] | undefined
  readonly unit: string | undefined
  readonly continuous: boolean
  readonly maxAge_ms: number
  /** Named under `state`: only such fields are published and may stand in clauses. */
  readonly declared: boolean
  /** A retained context message may set it while it is unknown. */
  readonly retainedAllowed: boolean
}

export interface Agent {
  readonly name: string
  /** Type numbers. */
  readonly may: ReadonlySet<number>
  /** Responses a second. */
  readonly rate: number
  /** JSON Schema (draft 2020-12) of a response of its, as text. */
  readonly schema: string
}

export interface PayloadField {
  readonly name: string
  /** For whoever fills it in. */
  readonly description?: string | undefined
  readonly kind: SlotKind
  readonly optional: boolean
  readonly unit: string | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  /** Bytes of UTF-8. */
  readonly maxLength: number | undefined
  /** Members of an enum, by number. */
  readonly values: readonly string[] | undefined
}

export interface Clause {
  readonly name: string
  /** With the values of its constants. */
  readonly text: string
}

export interface ComponentType {
  readonly name: string
  readonly kind: Kind
  readonly description: string
  /** Index = slot of the core. */
  readonly payload: readonly PayloadField[]
  /** Of the type's bounds, in the core's order: the field and the bound in words, e.g. `alt`, `at most 60 m`. */
  readonly bounds: readonly { readonly field: string; readonly bound: string }[]
  readonly support: readonly Clause[]
  readonly gate: readonly Clause[]
  readonly holds: readonly Clause[]
  readonly done: Clause | undefined
  readonly watches: readonly number[]
  /** Field numbers that clauses, watches and effect read, per tense (PROTOCOL 2, footprint). */
  readonly footprint: { readonly now: readonly number[]; readonly cited: readonly number[] }
  readonly requires: readonly number[]
  readonly mayRequire: readonly { readonly type: number; readonly phase: Phase }[]
  /** What is released may leave the core once nothing rests on it, and be named all the same: the core asks nothing of its record. */
  readonly settles: boolean
  /** Types that an obligation's scope takes in beside the component's own dependents. */
  readonly scope: readonly number[]
  /** The resource that its crossing holds. */
  readonly uses: string | undefined
  readonly expires_ms: number
  readonly wait_ms: number
  readonly patience_ms: number
  readonly effect: Effect
}

/** A named truth over the state, or over the payload of the types that have the fields it reads (PROTOCOL 13). */
export interface Predicate {
  readonly name: string
  readonly text: string
  /** Index in `image.predicates` of one over state alone; undefined where it reads a payload. */
  readonly state: number | undefined
  /** Of one that reads a payload: by type number, its index in `image.predicates`. */
  readonly types: ReadonlyMap<number, number>
}

/** What `max_speed` is where nobody says another, m/s. */
export const MAX_SPEED = 5
/** The support clause that every velocity has beside its own: its length is at most that. */
export const SPEED_CLAUSE = 'max_speed'

/** In the order of MAV_SEVERITY. */
export const SEVERITIES = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'] as const
export type Severity = (typeof SEVERITIES)[number]

export type Effect =
  | { readonly kind: 'notice'; readonly text: number; readonly severity: Severity }
  | { readonly kind: 'report'; readonly fields: readonly number[] }
  /** `text` is the slot of the payload's string field of that name, if there is one. */
  | { readonly kind: 'request'; readonly text: number | undefined }
  | (Lease & { readonly kind: 'handoff' })
  | (Lease & { readonly kind: 'command' })
  | (Lease & {
      readonly kind: 'setpoint'
      readonly setpoint: SetpointName
      readonly period_ms: number
      readonly dwell_ms: number
      readonly engagement: EffectStep
    })

/** What every effect that goes to the vehicle has (PROTOCOL 8). A setpoint's frame 0 is the streamed one. */
export interface Lease {
  /** The frames of a command in order; for a setpoint only the engagement's mode command, frame 1 of the core. */
  readonly steps: readonly EffectStep[]
  readonly leads: readonly Mode[]
  readonly endsWithHold: boolean
  readonly undo: { readonly ground: readonly ContingencyName[]; readonly air: readonly ContingencyName[] }
  /** How many more frames may go out before any ACK. */
  readonly retransmit: number
  /** What it does cannot be undone or done twice: its intent is journalled before it crosses (PROTOCOL 8). */
  readonly irreversible: boolean
  readonly within_ms: number
  readonly otherwise: ContingencyName | 'none'
  readonly then: ContingencyName | 'none'
}

export interface EffectStep {
  /** Index among the type's frames in the core. */
  readonly frame: number
  readonly command: number
  readonly shows: Shown | undefined
  readonly awaits_ms: number
  readonly changesMode: boolean
  readonly arms: boolean
  readonly takesOff: boolean
}

/** A mistake in a catalog: where it stands and what is wrong, in one line each. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map((p) => `${p.file}:${p.line}:${p.column}: ${p.key}: ${p.message}`).join('\n'))
    this.problems = problems
  }
}

export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Dotted path, e.g. `components.goto.support.battery`. */
  readonly key: string
  readonly message: string
}

export type { Enumeration }
