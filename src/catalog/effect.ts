// Effects: what a component crosses as, from the catalog's words and the profile's frames (PROTOCOL 3, "Effects"; PROTOCOL 8).

import { FRAMES_MAX, TOLERANCES_MAX } from '../../build/abi.ts'
import { mavCmd } from '../autopilot/mav-cmd.ts'
import {
  type Arguments,
  CONTINGENCIES,
  type FrameTemplate,
  type Profile,
  type SetpointName,
  type Step,
  type Verb,
} from '../autopilot/profile.ts'
import type { Expression } from '../core/expression.ts'
import type { FrameImage, ToleranceImage } from '../core/image.ts'
import type { Effect, EffectStep, Lease, PayloadField } from './catalog.ts'
import { ClauseError, compileNumber, type Scope, type ScopeField } from './clause.ts'
import { frameReads, payloadReads } from './footprint.ts'
import { frameImage } from './frame.ts'
import { quantity } from './quantity.ts'
import { ANY, type Range, type Ranges, range } from './range.ts'
import { type ActionShape, type ComponentShape, type MavCmdShape, SETPOINTS, VERBS } from './schema.ts'
import type { Part, Path } from './source.ts'

/** The effect, and what the core needs of it. */
export interface LoadedEffect {
  readonly effect: Effect
  readonly frames: readonly FrameImage[]
  readonly tolerance: readonly ToleranceImage[]
  /** Of a velocity: that its length is within `max_speed`, and the same in words. */
  readonly speed?: { readonly expression: Expression; readonly text: string }
}

/** What loading an effect needs; `problem` takes a path below `effect`. */
export interface Setting {
  readonly profile: Profile
  readonly fields: ReadonlyMap<string, ScopeField>
  readonly payload: readonly PayloadField[]
  readonly constants: ReadonlyMap<string, number | boolean>
  /** m/s */
  readonly maxSpeed: number
  readonly ranges: Ranges
  /** `path` begins with the payload field. */
  problemOfPayload(path: Path, message: string, part?: Part): void
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
  bounded(frames, setting)
  return { effect: { kind: 'command', ...lease }, frames, tolerance: tolerance(shape, frames, setting) }
}

type LoadedLease = Lease & { readonly frames: readonly FrameImage[] }

function loadVerb(verb: Verb, shape: ActionEffect, setting: Setting): LoadedLease | undefined {
  refuseIrreversible(shape, setting)
  const { steps, leads, endsWithHold, undo, payload } = setting.profile.verbs[verb]
  if (!takes(payload, verb, ['command'], setting)) return undefined
  const loaded = loadSteps(steps(hasIn(setting)), shape.retransmit ?? 0, setting, ['command'])
  return loaded && { ...loaded, leads, endsWithHold, undo, ...ending(shape) }
}

/** A command of the catalog's own: one COMMAND_LONG. What arms, moves or changes the mode has verbs in the profile. */
function loadMavCmd(shape: MavCmdShape, path: Path, effect: ActionEffect, setting: Setting): LoadedLease | undefined {
  if (isReserved(shape.id, setting.profile)) {
    const instead = `a verb (command: ${VERBS.join(', ')}) or a setpoint (${SETPOINTS.join(', ')})`
    setting.problem(
      [...path, 'id'],
      `MAV_CMD ${mavCmd(shape.id)} arms, moves or stops the vehicle: only ${instead} may do that`,
    )
    return undefined
  }
  const values: Record<string, number | string> = {
    target_system: 'target.system',
    target_component: 'target.component',
    command: shape.id,
  }
  let sound = true
  for (const [i, param] of shape.params.entries()) {
    values[`param${i + 1}`] = param ?? 'nan'
    try {
      const { lo, hi } = rangeOf(param, setting)
      if (SPEEDS[shape.id] !== i || (lo >= 0 && hi <= setting.maxSpeed)) continue
      const bound = `is a speed, m/s: it must stay between 0 and max_speed (${setting.maxSpeed} m/s)`
      setting.problem([...path, 'params', i], bound)
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      setting.problemWithin([...path, 'params', i], error.position, error.message)
    }
    sound = false
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

/** MAV_CMDs that set how fast the vehicle flies, and which of their parameters (from 0) says it, in m/s. */
const SPEEDS: Readonly<Record<number, number>> = { 178: 1 } // DO_CHANGE_SPEED

/** What a parameter can be. Throws ClauseError. */
function rangeOf(param: MavCmdShape['params'][number], setting: Setting): Range {
  if (typeof param === 'number') return { lo: param, hi: param }
  return param === null ? ANY : range(compileNumber(param, { ...scopeOf(setting), role: 'parameter' }), setting.ranges)
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
  const { frame, payload, refuses = {}, kept } = profile.setpoints[name]
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
  for (const [field, why] of Object.entries(refuses)) {
    if (hasIn(setting)(field)) setting.problemOfPayload([field], `${name} takes no \`${field}\`: ${why}`, 'key')
  }
  if (!takes(payload, name, ['setpoint'], setting)) return undefined
  const scope = scopeOf(setting)
  const { step, mode } = profile.engagement
  const frames = attempt(setting, ['setpoint'], () => [
    frameImage(frame(hasIn(setting)), Number.POSITIVE_INFINITY, scope),
    frameImage(step.frame, ENGAGEMENT_SENDS, scope),
  ])
  if (frames === undefined) return undefined
  bounded(frames, setting)
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
  return { effect, frames, tolerance: tolerance(shape, frames, setting), ...speedOf(payload, setting) }
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

/** What the profile's frames take of the payload must be there, a number, in their unit, and within what it can be. */
function takes(args: Arguments, effect: string, path: Path, setting: Setting): boolean {
  let sound = true
  for (const [name, { unit, range, optional = false }] of Object.entries(args)) {
    const field = setting.payload.find((candidate) => candidate.name === name)
    const numeric = field?.kind === 'number' || field?.kind === 'integer'
    if (!optional && (!numeric || field.optional)) {
      const found =
        field === undefined ? 'which is missing' : numeric ? 'which is optional' : `which is of type ${field.kind}`
      setting.problem(path, `${effect} needs the number \`${name}\` in the payload, ${found}`)
      sound = false
    }
    if (field === undefined || !numeric) continue
    if (field.unit !== undefined && field.unit !== unit)
      setting.problemOfPayload([name, 'unit'], `${effect} takes \`${name}\` in ${unit}, not ${field.unit}`)
    if (range === undefined) {
      boundSpeed(field, setting)
      continue
    }
    if (field.min !== undefined && field.min < range.least)
      setting.problemOfPayload([name, 'min'], `must be at least ${range.least} ${unit}: ${range.why}`)
    if (field.max !== undefined && field.max > range.most)
      setting.problemOfPayload([name, 'max'], `must be at most ${range.most} ${unit}: ${range.why}`)
  }
  return sound
}

/** A component of a velocity that alone is too fast could only mislead who reads the catalog. */
function boundSpeed({ name, min = 0, max = 0 }: PayloadField, { maxSpeed, problemOfPayload }: Setting): void {
  const says = (speed: number, bound: string): string =>
    `allows ${speed} m/s, above max_speed: set it to ${bound}, or raise max_speed (${maxSpeed} m/s) in the configuration`
  if (min < -maxSpeed) problemOfPayload([name, 'min'], says(-min, `-${maxSpeed} at least`))
  if (max > maxSpeed) problemOfPayload([name, 'max'], says(max, `${maxSpeed} at most`))
}

/** Components within their bounds may still be too fast together. */
function speedOf(args: Arguments, { payload, maxSpeed }: Setting): Pick<LoadedEffect, 'speed'> {
  const names = Object.keys(args).filter((name) => args[name]!.unit === 'm/s')
  const slots = payload.flatMap(({ name, optional }, slot) => (names.includes(name) ? [{ name, slot, optional }] : []))
  const squares = slots.map(({ slot, optional }): Expression => {
    const value: Expression = { op: 'payload', slot, guarded: optional }
    return { op: 'mul', args: [value, value] }
  })
  if (squares.length === 0) return {}
  const square = squares.reduce((sum, next): Expression => ({ op: 'add', args: [sum, next] }))
  const text = `the speed of ${slots.map(({ name }) => `payload.${name}`).join(', ')} together <= ${maxSpeed} m/s`
  return { speed: { expression: { op: 'le', args: [square, { op: 'number', value: maxSpeed ** 2 }] }, text } }
}

/** Whatever number of an agent's goes into the bytes of a frame has bounds. */
function bounded(frames: readonly FrameImage[], setting: Setting): void {
  const slots = payloadReads(frames)
  for (const [slot, { name, kind, min, max }] of setting.payload.entries()) {
    if (!slots.has(slot) || (kind !== 'number' && kind !== 'integer')) continue
    const missing = [...(min === undefined ? ['`min`'] : []), ...(max === undefined ? ['`max`'] : [])]
    if (missing.length > 0)
      setting.problemOfPayload([name], `goes to the vehicle, so it needs bounds: give ${missing.join(' and ')}`, 'key')
  }
}

function tolerance(shape: ActionEffect, frames: readonly FrameImage[], setting: Setting): LoadedEffect['tolerance'] {
  const read = frameReads(frames)
  const values = new Map<number, { readonly value: number; readonly angle: boolean }>()
  for (const field of setting.fields.values()) {
    const value = DEFAULT_TOLERANCE[field.name]
    if (value === undefined || !read.includes(field.index)) continue
    if (!field.declared) setting.problem([], `reads state.${field.name}, which is not under \`state\``, 'key')
    values.set(field.index, { value, angle: field.angle })
  }
  for (const [name, written] of Object.entries(shape.tolerance)) {
    const path = ['tolerance', name]
    const index = setting.field(path, name)
    if (index === undefined) continue
    const { unit = '', angle } = setting.fields.get(name)!
    const given = quantity(String(written))
    if (!read.includes(index)) setting.problem(path, `no frame of this effect reads \`${name}\``, 'key')
    else if (given?.unit !== unit) setting.problem(path, `must be a number of ${unit || 'no unit'}, e.g. 1${unit}`)
    else values.set(index, { value: given.number, angle })
  }
  if (values.size > TOLERANCES_MAX)
    setting.problem(['tolerance'], `has ${values.size} references, at most ${TOLERANCES_MAX}`)
  return [...values]
    .sort(([a], [b]) => a - b)
    .map(([field, { value, angle }]) => ({ field, value, ...(angle && { angle }) }))
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
