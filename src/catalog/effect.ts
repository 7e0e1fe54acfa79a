// Effects: what a component crosses as, from the catalog's words and the profile's frames (PROTOCOL 3, "Effects"; PROTOCOL 8).

import { FRAMES_MAX, TOLERANCES_MAX } from '../../build/abi.ts'
import type { FrameImage } from '../core/image.ts'
import {
  CONTINGENCIES,
  type FrameTemplate,
  type Profile,
  type SetpointName,
  type Step,
  type Verb,
} from '../profile/profile.ts'
import type { Effect, EffectStep, Lease, PayloadField } from './catalog.ts'
import { ClauseError, compileNumber, type Scope, type ScopeField } from './clause.ts'
import { frameReads } from './footprint.ts'
import { frameImage } from './frame.ts'
import { quantity } from './quantity.ts'
import type { ActionShape, ComponentShape, MavCmdShape } from './schema.ts'
import type { Part, Path } from './source.ts'

/** The effect, and what the core needs of it. */
export interface LoadedEffect {
  readonly effect: Effect
  readonly frames: readonly FrameImage[]
  readonly tolerance: readonly { readonly field: number; readonly value: number }[]
}

/** What loading an effect needs; `problem` takes a path below `effect`. */
export interface Setting {
  readonly profile: Profile
  readonly fields: ReadonlyMap<string, ScopeField>
  readonly payload: readonly PayloadField[]
  readonly constants: ReadonlyMap<string, number | boolean>
  problem(path: Path, message: string, part?: Part): void
  problemWithin(path: Path, position: number, message: string): void
  /** The number of a declared field; undefined after a problem. */
  field(path: Path, name: string): number | undefined
}

/** The engagement's mode command may be refused and repeated for a second at the stream's rate (PROTOCOL 8, Setpoint). */
const ENGAGEMENT_SENDS = 64
const COMMAND_WITHIN_MS = 10_000
const DEFAULT_RATE_HZ = 10
/** Below, the autopilot leaves Offboard between two frames, and a lease ends after 500 ms; above, the link is the bound. */
const RATE_MIN_HZ = 2
const RATE_MAX_HZ = 50

/**
 * What a reference of the autopilot may move by default: lat and lon in degrees (about 1 m), altitude in metres. A catalog
 * must list the references that its effects read, since their age ends leases. Other fields of a frame, such as the height
 * that a velocity setpoint keeps, are meant to move: read once, they come with the profile.
 */
const DEFAULT_TOLERANCE: Readonly<Record<string, number>> = { 'home.lat': 1e-5, 'home.lon': 1e-5, 'home.amsl': 1 }

const NO_UNDO = { ground: [], air: [] } as const
const NONE: Omit<LoadedEffect, 'effect'> = { frames: [], tolerance: [] }

/** Undefined after a problem that leaves nothing to load. */
export function loadEffect(shape: ComponentShape, setting: Setting): LoadedEffect | undefined {
  switch (shape.kind) {
    case 'notice': {
      const { text, severity } = shape.effect.notice
      const slot = setting.payload.findIndex(
        (field) => field.name === text && field.kind === 'string' && !field.optional,
      )
      if (slot === -1)
        setting.problem(['notice', 'text'], `\`${text}\` must be a string of the payload that is not optional`)
      return { effect: { kind: 'notice', text: slot, severity }, ...NONE }
    }
    case 'report': {
      const fields = shape.effect.report.map((name, i) => setting.field(['report', i], name))
      return { effect: { kind: 'report', fields: fields.filter((field) => field !== undefined) }, ...NONE }
    }
    case 'request': {
      const slot = setting.payload.findIndex((field) => field.name === 'text' && field.kind === 'string')
      return { effect: { kind: 'request', text: slot === -1 ? undefined : slot }, ...NONE }
    }
    case 'handoff': {
      const { within, retransmit = 0, otherwise = 'none' } = shape.effect
      const { steps, leads, endsWithHold, undo } = setting.profile.verbs.hold
      const loaded = loadSteps(steps(hasIn(setting)), retransmit, setting, [])
      if (loaded === undefined) return undefined
      const lease = { steps: loaded.steps, leads, endsWithHold, undo, retransmit, within_ms: within, otherwise }
      return {
        effect: { kind: 'handoff', ...lease, irreversible: false, then: 'none' },
        frames: loaded.frames,
        tolerance: [],
      }
    }
    case 'action':
      return loadAction(shape.effect, setting)
  }
}

type ActionEffect = ActionShape['effect']

function loadAction(shape: ActionEffect, setting: Setting): LoadedEffect | undefined {
  const given = (['setpoint', 'command', 'mav_cmd'] as const).filter((key) => shape[key] !== undefined)
  if (given.length !== 1) {
    const found = given.length === 0 ? 'none is given' : `${given.join(' and ')} are given`
    setting.problem([], `needs exactly one of setpoint, command, mav_cmd; ${found}`, 'key')
    return undefined
  }
  if (shape.setpoint !== undefined) return loadSetpoint(shape.setpoint, shape, setting)
  for (const key of ['rate', 'dwell'] as const) {
    if (shape[key] !== undefined) setting.problem([key], 'belongs to a setpoint only', 'key')
  }
  if (shape.irreversible && shape.retransmit) {
    // A frame sent a second time might release a second time.
    setting.problem(['retransmit'], 'what is irreversible is sent once: leave this key out', 'key')
  }
  const { command } = shape
  const loaded =
    typeof command === 'string'
      ? loadVerb(command, shape, setting)
      : command !== undefined
        ? loadMavCmd(command.mav_cmd, ['command', 'mav_cmd'], shape, setting)
        : loadMavCmd(shape.mav_cmd!, ['mav_cmd'], shape, setting)
  if (loaded === undefined) return undefined
  const { frames, ...lease } = loaded
  return { effect: { kind: 'command', ...lease }, frames, tolerance: tolerance(shape, frames, setting) }
}

type LoadedLease = Lease & { readonly frames: readonly FrameImage[] }

function loadVerb(verb: Verb, shape: ActionEffect, setting: Setting): LoadedLease | undefined {
  refuseIrreversible(shape, setting)
  const { steps, leads, endsWithHold, undo, payload } = setting.profile.verbs[verb]
  if (!needs(payload, verb, ['command'], setting)) return undefined
  const loaded = loadSteps(steps(hasIn(setting)), shape.retransmit ?? 0, setting, ['command'])
  return loaded && { ...loaded, leads, endsWithHold, undo, ...ending(shape) }
}

/** A command of the catalog's own: one COMMAND_LONG. What arms, moves or changes the mode has verbs in the profile. */
function loadMavCmd(shape: MavCmdShape, path: Path, effect: ActionEffect, setting: Setting): LoadedLease | undefined {
  if (isReserved(shape.id, setting.profile)) {
    setting.problem([...path, 'id'], `MAV_CMD ${shape.id} arms, moves or stops the vehicle: only a verb may do that`)
    return undefined
  }
  const values: Record<string, number | string> = {
    target_system: 'target.system',
    target_component: 'target.component',
    command: shape.id,
  }
  const parameters = { ...scopeOf(setting), role: 'parameter' as const }
  let sound = true
  for (const [i, param] of shape.params.entries()) {
    values[`param${i + 1}`] = param ?? 'nan'
    if (typeof param !== 'string') continue
    try {
      compileNumber(param, parameters)
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      setting.problemWithin([...path, 'params', i], error.position, error.message)
      sound = false
    }
  }
  if (!sound) return undefined
  const frame: FrameTemplate = { message: 'COMMAND_LONG', values }
  const step: Step = {
    frame,
    command: shape.id,
    shows: undefined,
    awaits_ms: 0,
    changesMode: false,
    arms: false,
    takesOff: false,
  }
  const loaded = loadSteps([step], effect.retransmit ?? 0, setting, path)
  return loaded && { ...loaded, leads: [], endsWithHold: false, undo: NO_UNDO, ...ending(effect) }
}

/** Setpoints are streamed; verbs can be given again, and are guarded by modes. */
function refuseIrreversible(shape: ActionEffect, { problem }: Setting): void {
  if (shape.irreversible !== undefined) problem(['irreversible'], 'belongs to a mav_cmd only', 'key')
}

/**
 * Commands that a catalog may not write itself: navigation (16-95), what the profile's verbs are made of, and the others
 * that start, stop, move or restart a vehicle.
 */
function isReserved(id: number, profile: Profile): boolean {
  if (id >= 16 && id <= 95) return true
  const anything = () => true
  const verbs = Object.values(profile.verbs).flatMap((verb) => verb.steps(anything).map((step) => step.command))
  const others = [...Object.values(profile.contingencies), profile.engagement.step].map(({ command }) => command)
  return verbs.includes(id) || others.includes(id) || RESERVED.has(id)
}

const RESERVED: ReadonlySet<number> = new Set([
  115, // CONDITION_YAW
  176, // DO_SET_MODE
  179, // DO_SET_HOME
  185, // DO_FLIGHTTERMINATION
  189, // DO_LAND_START
  190, // DO_RALLY_LAND
  191, // DO_GO_AROUND
  192, // DO_REPOSITION
  193, // DO_PAUSE_CONTINUE
  208, // DO_PARACHUTE
  209, // DO_MOTOR_TEST
  246, // PREFLIGHT_REBOOT_SHUTDOWN
  252, // OVERRIDE_GOTO
  300, // MISSION_START
  400, // COMPONENT_ARM_DISARM
  420, // INJECT_FAILURE
  3000, // DO_VTOL_TRANSITION
])

function loadSetpoint(name: SetpointName, shape: ActionEffect, setting: Setting): LoadedEffect | undefined {
  const { profile } = setting
  const { frame, payload, kept } = profile.setpoints[name]
  const rate_hz = shape.rate ?? DEFAULT_RATE_HZ
  if (rate_hz < RATE_MIN_HZ || rate_hz > RATE_MAX_HZ) {
    setting.problem(['rate'], `must be ${RATE_MIN_HZ} to ${RATE_MAX_HZ} Hz`)
  }
  for (const key of ['done', 'within'] as const) {
    if (shape[key] === undefined) setting.problem([], `a setpoint needs \`${key}\`: it never ends by itself`, 'key')
  }
  if (shape.retransmit !== undefined) setting.problem(['retransmit'], 'belongs to a command only', 'key')
  refuseIrreversible(shape, setting)
  for (const key of ['otherwise', 'then'] as const) {
    if (kept && shape[key] === 'none')
      setting.problem([key], `${profile.name} flies on to a ${name} for ever: it must end with hold, land or return`)
  }
  if (!needs(payload, name, ['setpoint'], setting)) return undefined
  const scope = scopeOf(setting)
  const { step, mode } = profile.engagement
  const frames = attempt(setting, ['setpoint'], () => [
    frameImage(frame(hasIn(setting)), Number.POSITIVE_INFINITY, scope),
    frameImage(step.frame, ENGAGEMENT_SENDS, scope),
  ])
  if (frames === undefined) return undefined
  const engagement = stepOf(step, 1)
  const { within = 0, otherwise = 'hold', then = 'hold', dwell = 0 } = shape
  const effect: Effect = {
    kind: 'setpoint',
    setpoint: name,
    steps: [engagement],
    engagement,
    leads: [mode],
    endsWithHold: false,
    undo: NO_UNDO,
    retransmit: 0,
    irreversible: false,
    within_ms: within,
    otherwise,
    then,
    period_ms: 1000 / rate_hz,
    dwell_ms: dwell,
  }
  return { effect, frames, tolerance: tolerance(shape, frames, setting) }
}

/** Contingency frames need no support, so they may read nothing but the target; in the order of CONTINGENCIES. */
export function contingencyFrames(profile: Profile, sends: number): readonly FrameImage[] {
  const scope: Scope = { fields: new Map(), payload: [], constants: new Map(), role: 'frame' }
  return CONTINGENCIES.map((name) => frameImage(profile.contingencies[name].frame, sends, scope))
}

function loadSteps(steps: readonly Step[], retransmit: number, setting: Setting, path: Path) {
  if (steps.length > FRAMES_MAX) setting.problem(path, `has ${steps.length} frames, at most ${FRAMES_MAX}`)
  const frames = attempt(setting, path, () =>
    steps.map(({ frame }) => frameImage(frame, 1 + retransmit, scopeOf(setting))),
  )
  return frames && { steps: steps.map(stepOf), frames }
}

const stepOf = ({ frame: _, ...step }: Step, index: number): EffectStep => ({ frame: index, ...step })

function ending(shape: ActionEffect) {
  const { within = COMMAND_WITHIN_MS, otherwise = 'none', then = 'none', retransmit = 0, irreversible = false } = shape
  return { within_ms: within, otherwise, then, retransmit, irreversible }
}

/** The payload fields that the profile's frames read must be there, and numbers. */
function needs(names: readonly string[], effect: string, path: Path, setting: Setting): boolean {
  let sound = true
  for (const name of names) {
    const field = setting.payload.find((candidate) => candidate.name === name)
    const numeric = field?.kind === 'number' || field?.kind === 'integer'
    if (numeric && !field.optional) continue
    const found =
      field === undefined ? 'which is missing' : numeric ? 'which is optional' : `which is of type ${field.kind}`
    setting.problem(path, `${effect} needs the number \`${name}\` in the payload, ${found}`)
    sound = false
  }
  return sound
}

function tolerance(shape: ActionEffect, frames: readonly FrameImage[], setting: Setting): LoadedEffect['tolerance'] {
  const read = frameReads(frames)
  const values = new Map<number, number>()
  for (const field of setting.fields.values()) {
    const value = DEFAULT_TOLERANCE[field.name]
    if (value === undefined || !read.includes(field.index)) continue
    if (!field.declared) setting.problem([], `reads state.${field.name}, which is not under \`state\``, 'key')
    values.set(field.index, value)
  }
  for (const [name, written] of Object.entries(shape.tolerance)) {
    const path = ['tolerance', name]
    const index = setting.field(path, name)
    if (index === undefined) continue
    const unit = setting.fields.get(name)!.unit ?? ''
    const given = quantity(String(written))
    if (!read.includes(index)) setting.problem(path, `no frame of this effect reads \`${name}\``, 'key')
    else if (given?.unit !== unit) setting.problem(path, `must be a number of ${unit || 'no unit'}, e.g. 1${unit}`)
    else values.set(index, given.number)
  }
  if (values.size > TOLERANCES_MAX)
    setting.problem(['tolerance'], `has ${values.size} references, at most ${TOLERANCES_MAX}`)
  return [...values].sort(([a], [b]) => a - b).map(([field, value]) => ({ field, value }))
}

function scopeOf({ fields, payload, constants }: Setting): Scope {
  return { fields, payload, constants, role: 'frame' }
}

const hasIn = (setting: Setting) => (name: string) => setting.payload.some((field) => field.name === name)

function attempt<T>(setting: Setting, path: Path, make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof ClauseError)) throw error
    setting.problem(path, error.message)
    return undefined
  }
}
