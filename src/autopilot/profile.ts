// What an autopilot is, as data (PROTOCOL 3, "Fields of the built-in profiles" and "Effects"): the state fields and the
// messages that carry them, the modes, and every verb as a fixed sequence of frames with what confirms each and its undo.
// Only frames and masks that stand in a profile can ever leave.

import { layout } from './frame.ts'
import type { Parameter } from './parameter.ts'
import type { Plausible } from './plausibility.ts'

/** One vocabulary of modes for all autopilots. The number of a mode in the state table is its position here. */
export const MODES = [
  'HOLD',
  'RETURN',
  'LAND',
  'TAKEOFF',
  'MISSION',
  'OFFBOARD',
  'POSITION',
  'ALTITUDE',
  'MANUAL',
  'OTHER',
] as const
export type Mode = (typeof MODES)[number]

export const LANDED = ['ON_GROUND', 'IN_AIR', 'TAKING_OFF', 'LANDING'] as const
export type Landed = (typeof LANDED)[number]

/** The enumerations that clauses can name: `mode.HOLD`, `landed.IN_AIR`. */
export const ENUMERATIONS = { mode: MODES, landed: LANDED } as const
export type Enumeration = keyof typeof ENUMERATIONS

export type FieldType = 'boolean' | 'integer' | 'number' | 'enum'

/** Where a field comes from: a message of the autopilot, and its value by the named fields of that message. */
export interface Carrier {
  /** MAVLink name, e.g. `GLOBAL_POSITION_INT`. */
  readonly message: string
  readonly fields: readonly string[]
  /** Of the raw numbers, in the order of `fields`. NaN: not known; undefined: the message says nothing of it. */
  value(...raw: readonly number[]): number | undefined
}

/** What must be good for a field to be known: an estimate, a 3D fix, a home that was once heard. */
export type Need = 'estimator' | 'fix' | 'home'

export interface ProfileField {
  readonly name: string
  readonly from: Carrier
  readonly needs?: readonly Need[]
  readonly type: FieldType
  /** Which enumeration, where `type` is `enum`. */
  readonly enumeration?: Enumeration
  readonly unit?: string
  /** What a number or an integer can be; beyond, it is unknown. */
  readonly plausible?: Plausible
  /** A direction in degrees: `drift` goes the short way round. */
  readonly angle?: boolean
  /** Continuous fields have no version. */
  readonly continuous: boolean
  /** How long a value stays usable where the catalog does not say, ms. */
  readonly maxAge_ms: number
}

/** A MAVLink message that carries state, and how often to ask for it. */
export interface MessageSource {
  /** MAVLink name, e.g. `GLOBAL_POSITION_INT`. */
  readonly name: string
  readonly id: number
  /** SET_MESSAGE_INTERVAL, µs; undefined where the autopilot refuses to change it. */
  readonly interval_us: number | undefined
  /** A longer silence than this means that the rate is missed: ask again. ms */
  readonly gap_ms: number
}

/**
 * A frame by the names of its MAVLink fields. A value is a number, the CEL text of a number over `payload.*`, `state.*` and
 * `target.system` / `target.component` (with `has`), or `nan`, the quiet NaN that MAVLink itself wants. A field that is not
 * named is zero.
 */
export interface FrameTemplate {
  /** MAVLink message name, e.g. `COMMAND_LONG`. */
  readonly message: string
  readonly values: Readonly<Record<string, number | string>>
  /** Fields that are the latitude and longitude of one position. */
  readonly position?: { readonly lat: string; readonly lon: string }
  /** The field that takes the time stamp. */
  readonly stamp?: string
}

/** What the state shows once a frame has had its effect. */
export type Shown = { readonly mode: Mode } | { readonly armed: boolean }

/** One frame of a command, sent once and confirmed before the next (PROTOCOL 8, Command). */
export interface Step {
  readonly frame: FrameTemplate
  /** MAV_CMD of the frame: what its COMMAND_ACK names. */
  readonly command: number
  /** What shows that it has begun, where an ACK is missing. */
  readonly shows: Shown | undefined
  /** The next frame waits, after the ACK, until `shows` is shown, at most this long (ms); 0: the ACK is enough. */
  readonly awaits_ms: number
  readonly changesMode: boolean
  readonly arms: boolean
  /** Not sent a second time in the air: it would climb again, or be refused for having worked. */
  readonly takesOff: boolean
}

export type ContingencyName = 'hold' | 'land' | 'return' | 'disarm'
export const CONTINGENCIES: readonly ContingencyName[] = ['hold', 'land', 'return', 'disarm']

/** A frame that needs no support: what stops or brings home (PROTOCOL 8, Contingency). It reads no state and no payload. */
export interface ContingencyProfile {
  readonly frame: FrameTemplate
  readonly command: number
  /** Repeated until this is shown (of a mode: as mode and as intended mode). */
  readonly shows: Shown
}

/** A number that a verb or a setpoint takes from the payload. */
export interface Argument {
  /** What its frame takes it as; the catalog may leave its own unit out, but may name no other. */
  readonly unit: string
  /** What it can be: the catalog's bounds must lie within. Of a velocity `max_speed` is the bound. */
  readonly range?: Plausible
  /** It may be left out of the catalog, or be optional there. */
  readonly optional?: boolean
}
/** By the name of the payload field. */
export type Arguments = Readonly<Record<string, Argument>>

export interface VerbProfile {
  /** Frames in order. `has` says whether the type's payload declares a field. */
  steps(has: (payload: string) => boolean): readonly Step[]
  /** Modes that the vehicle goes through because of this verb. */
  readonly leads: readonly Mode[]
  /** Once disarmed it goes back to a mode that we set, and HOLD is sent: the autopilot would not arm there (land, return). */
  readonly endsWithHold: boolean
  /** What takes the verb back when it failed half-way: on the ground and in the air. */
  readonly undo: { readonly ground: readonly ContingencyName[]; readonly air: readonly ContingencyName[] }
  readonly payload: Arguments
}

export type Verb = 'arm' | 'disarm' | 'takeoff' | 'land' | 'return' | 'hold'
export type SetpointName = 'position-global' | 'position-local' | 'velocity-local' | 'velocity-body'

export interface SetpointProfile {
  /** The streamed frame; `has` says whether the type's payload declares a field. */
  frame(has: (payload: string) => boolean): FrameTemplate
  /** Those in m/s are one velocity together: its length is bounded by `max_speed`. */
  readonly payload: Arguments
  /** Payload fields that this autopilot would not do as the catalog says: why, and what to use instead. */
  readonly refuses?: Readonly<Record<string, string>>
  /** The autopilot flies on to it for ever once the stream ends: it must end with a contingency (PROTOCOL 8). */
  readonly kept: boolean
}

export interface Profile {
  readonly name: string
  /** MAV_AUTOPILOT of the heartbeat. */
  readonly autopilot: number
  /** MAV_TYPE of the vehicles that it flies: any other is none of ours. */
  readonly types: readonly number[]
  readonly fields: readonly ProfileField[]
  readonly messages: readonly MessageSource[]
  /**
   * What counts of POSITION_TARGET_LOCAL_NED, which tells the target that it flies to: a place, which stands for all else, or
   * velocities only. A place in POSITION_TARGET_GLOBAL_INT always counts.
   */
  readonly targets: { readonly local: 'place' | 'velocity' }
  /** What a `custom_mode` of the autopilot is called; undefined where the number means that it is not known. */
  mode(custom_mode: number): Mode | undefined
  readonly verbs: Readonly<Record<Verb, VerbProfile>>
  readonly setpoints: Readonly<Record<SetpointName, SetpointProfile>>
  /** How a setpoint stream is engaged: frames before the mode command, the command, the mode that shows it. */
  readonly engagement: {
    readonly framesBefore: number
    readonly step: Step
    readonly mode: Mode
    readonly shown_ms: number
  }
  readonly contingencies: Readonly<Record<ContingencyName, ContingencyProfile>>
  /** What a preflight reads, and in the order in which. */
  readonly parameters: readonly Parameter[]
  /** A PARAM_VALUE carries an integer as its bits in the float's place; otherwise as a float of that value. */
  readonly integersAsBits: boolean
  /** Which contingency a session sends that finds the vehicle armed and in `engagement.mode` (PROTOCOL 11). */
  readonly orphaned: ContingencyName
}

/** MAVLink id of the message that carries the mode. */
export function modeMessage({ fields }: Profile): number {
  return layout(fields.find(({ name }) => name === 'mode')!.from.message).id
}
