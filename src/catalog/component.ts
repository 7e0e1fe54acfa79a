// One component type of a catalog: payload, clauses, prerequisites and effect, checked and compiled (PROTOCOL 3).

import { CITED_MAX, CLAUSES_MAX, Kind, Phase, type PhaseWord, SLOTS_MAX } from '../../build/abi.ts'
import type { Profile } from '../autopilot/profile.ts'
import { type Expression, reads } from '../core/expression.ts'
import { type ClauseImage, settles, type TypeImage } from '../core/image.ts'
import { type Clause, type ComponentType, type PayloadField, SPEED_CLAUSE } from './catalog.ts'
import { ClauseError, compileClause, type Scope, type ScopeField } from './clause.ts'
import { inlined } from './constant.ts'
import { type LoadedEffect, loadEffect } from './effect.ts'
import { footprint } from './footprint.ts'
import { boundsOf, fieldRange, payloadField, slotRange } from './payload.ts'
import { canHold, type Ranges } from './range.ts'
import type { ComponentShape } from './schema.ts'
import type { Part, Path, Source } from './source.ts'
import { suggestion } from './suggestion.ts'

/** What all components of a catalog share. */
export interface Surroundings {
  readonly source: Source
  readonly profile: Profile
  readonly fields: ReadonlyMap<string, ScopeField>
  readonly constants: ReadonlyMap<string, number | boolean>
  /** Names of all types, in the order of their numbers. */
  readonly names: readonly string[]
  /** Shapes by name, of those types whose keys were right. */
  readonly shapes: ReadonlyMap<string, ComponentShape>
  /** m/s */
  readonly maxSpeed: number
}

export interface LoadedComponent {
  readonly type: ComponentType
  readonly image: TypeImage
}

/** The resource that what goes to the vehicle holds. */
const usesOf = (shape: ComponentShape): string | undefined => ('uses' in shape ? shape.uses : undefined)

/** Undefined after a problem that leaves nothing to load. */
export function loadComponent(name: string, shape: ComponentShape, around: Surroundings): LoadedComponent | undefined {
  const { source } = around
  const base = ['components', name]
  const payload = Object.entries(shape.payload).map(([field, of]) => payloadField(field, of))
  checkPayload(payload, [...base, 'payload'], source)

  const compile = (key: Path, text: string, role: Scope['role'] = 'clause') =>
    clause([...base, ...key], text, { fields: around.fields, payload, constants: around.constants, role }, source)
  const all = (key: 'support' | 'gate' | 'holds', clauses: Readonly<Record<string, string>>): readonly ClauseImage[] =>
    Object.entries(clauses).flatMap(([clauseName, text]) => {
      const expression = compile([key, clauseName], text)
      return expression === undefined ? [] : [{ name: clauseName, expression }]
    })

  const action = shape.kind === 'action' ? shape : undefined
  const written = all('support', shape.support)
  const gate = all('gate', shape.gate)
  const holds = all('holds', action?.holds ?? {})
  const done = action?.effect.done === undefined ? undefined : compile(['effect', 'done'], action.effect.done, 'done')

  const watches = shape.watches.flatMap((field, i) => watched(field, [...base, 'watches', i], around))
  const { requires, mayRequire } = prerequisites(shape, base, around)
  const scope = shape.scope.flatMap((other, i) => typeNumber(other, [...base, 'scope', i], around) ?? [])
  const loaded = loadEffect(shape, {
    profile: around.profile,
    fields: around.fields,
    payload,
    constants: around.constants,
    maxSpeed: around.maxSpeed,
    ranges: rangesOf({ fields: around.fields, payload }),
    problemOfPayload: (path, message, part) => source.problem([...base, 'payload', ...path], message, part),
    problem: (path, message, part) => source.problem([...base, 'effect', ...path], message, part),
    problemWithin: (path, position, message) => source.problemWithin([...base, 'effect', ...path], position, message),
    field: (path, field) => fieldNumber(field, [...base, 'effect', ...path], around),
  })
  if (loaded === undefined) return undefined
  const { speed } = loaded
  if (speed !== undefined && (Object.hasOwn(shape.support, SPEED_CLAUSE) || Object.hasOwn(shape.gate, SPEED_CLAUSE)))
    source.problem(base, `\`${SPEED_CLAUSE}\` is the name of a velocity’s own clause: name yours otherwise`, 'key')
  const support = speed === undefined ? written : [...written, { name: SPEED_CLAUSE, expression: speed.expression }]

  const bounds = boundsOf(payload)
  const clauses = [...support, ...gate, ...holds]
  const expressions = [...clauses.map(({ expression }) => expression), ...(done === undefined ? [] : [done])]
  const count = bounds.length + expressions.length
  if (count > CLAUSES_MAX) source.problem(base, `has ${count} clauses, payload bounds included, at most ${CLAUSES_MAX}`)
  const cited = new Set([...reads(...expressions).cited, ...watches]).size
  if (cited > CITED_MAX) source.problem(base, `reads ${cited} fields of the cited snapshot, at most ${CITED_MAX}`)

  const kind = kindOf(shape)
  const texts = (of: Readonly<Record<string, string>>): Clause[] =>
    Object.entries(of).map(([n, text]) => ({ name: n, text: inlined(text, around.constants) }))
  const type: ComponentType = {
    name,
    kind,
    description: shape.description ?? '',
    payload,
    bounds: bounds.map(({ clause: { name: field }, bound }) => ({ field, bound })),
    support: [...texts(shape.support), ...(speed === undefined ? [] : [{ name: SPEED_CLAUSE, text: speed.text }])],
    gate: texts(shape.gate),
    holds: texts(action?.holds ?? {}),
    done: texts(action?.effect.done === undefined ? {} : { done: action.effect.done })[0],
    watches,
    footprint: footprint(expressions, watches, loaded.frames, reported(loaded)),
    requires,
    mayRequire,
    scope,
    settles: settles({ kind, support }),
    uses: usesOf(shape),
    expires_ms: shape.expires,
    wait_ms: shape.wait,
    patience_ms: shape.patience,
    effect: loaded.effect,
  }
  const image: TypeImage = {
    name,
    kind,
    payload: payload.map(({ name: slot, kind: slotKind, optional }) => ({ name: slot, kind: slotKind, optional })),
    bounds: bounds.map((bound) => bound.clause),
    support,
    gate,
    holds,
    done,
    watches,
    requires,
    mayRequire,
    patience_ms: shape.patience,
    frames: loaded.frames,
    tolerance: loaded.tolerance,
  }
  return { type, image }
}

const reported = ({ effect }: LoadedEffect): readonly number[] => (effect.kind === 'report' ? effect.fields : [])

/** An action is a command or a setpoint by its effect. */
function kindOf(shape: ComponentShape): Kind {
  if (shape.kind !== 'action') return Kind[shape.kind]
  return shape.effect.setpoint === undefined ? Kind.command : Kind.setpoint
}

function checkPayload(payload: readonly PayloadField[], path: Path, source: Source): void {
  if (payload.length > SLOTS_MAX) source.problem(path, `has ${payload.length} fields, at most ${SLOTS_MAX}`)
  for (const { name, min, max, values } of payload) {
    if (min !== undefined && max !== undefined && min > max)
      source.problem([...path, name, 'min'], `is above max, ${max}`)
    if (values !== undefined) unique(values, [...path, name, 'values'], source)
  }
}

/** Members of an enumeration are told apart by their text. */
export function unique(values: readonly string[], path: Path, source: Source): void {
  for (const [i, value] of values.entries()) {
    if (values.indexOf(value) !== i) source.problem([...path, i], `\`${value}\` is named twice`)
  }
}

function clause(path: Path, text: string, scope: Scope, source: Source): Expression | undefined {
  try {
    const expression = compileClause(text, scope)
    if (!canHold(expression, rangesOf(scope))) source.problem(path, 'can never hold, whatever the state is')
    return expression
  } catch (error) {
    if (!(error instanceof ClauseError)) throw error
    source.problemWithin(path, error.position, error.message)
    return undefined
  }
}

/** What the names of a scope can be. */
export function rangesOf({ fields, payload }: Pick<Scope, 'fields' | 'payload'>): Ranges {
  const numbered = [...fields.values()]
  return {
    field: (index) => fieldRange(numbered[index]!),
    slot: (slot) => slotRange(payload[slot]!),
    optional: (slot) => payload[slot]!.optional,
  }
}

function fieldNumber(name: string, path: Path, { fields, source }: Surroundings): number | undefined {
  const field = fields.get(name)
  if (field?.declared) return field.index
  const declared = [...fields.values()].filter((f) => f.declared).map((f) => f.name)
  const wrong = field
    ? `field \`${name}\` is not under \`state\``
    : `unknown field \`${name}\`${suggestion(name, declared)}`
  source.problem(path, wrong)
  return undefined
}

function watched(name: string, path: Path, around: Surroundings): number[] {
  const index = fieldNumber(name, path, around)
  if (index === undefined) return []
  if (!around.fields.get(name)!.continuous) return [index]
  around.source.problem(path, `\`${name}\` is continuous and has no version: only discrete fields can be watched`)
  return []
}

function typeNumber(
  name: string,
  path: Path,
  { names, source }: Surroundings,
  part: Part = 'value',
): number | undefined {
  const index = names.indexOf(name)
  if (index !== -1) return index
  source.problem(path, `unknown type \`${name}\`${suggestion(name, names)}`, part)
  return undefined
}

// Prerequisites (PROTOCOL 3, "Phases")

function prerequisites(shape: ComponentShape, base: Path, around: Surroundings) {
  const phases = new Map<number, Phase>()
  const requires: number[] = []
  for (const [name, word] of Object.entries(shape.may_require)) {
    const path = [...base, 'may_require', name]
    const index = typeNumber(name, path, around, 'key')
    if (index !== undefined) phases.set(index, phase(shape, name, word ?? undefined, path, around))
  }
  for (const [i, name] of shape.requires.entries()) {
    const path = [...base, 'requires', i]
    const index = typeNumber(name, path, around)
    if (index === undefined) continue
    if (requires.includes(index)) around.source.problem(path, `\`${name}\` is named twice`)
    else requires.push(index)
    if (!phases.has(index)) phases.set(index, phase(shape, name, undefined, path, around))
  }
  return { requires, mayRequire: [...phases].map(([type, of]) => ({ type, phase: of })) }
}

const REACHES: Readonly<
  Record<'notice' | 'report' | 'request' | 'handoff' | 'command' | 'setpoint', readonly PhaseWord[]>
> = {
  notice: ['retained', 'released'],
  report: ['retained', 'released'],
  request: ['retained', 'released', 'completed'],
  handoff: ['retained', 'dispatched', 'completed'],
  command: ['retained', 'dispatched', 'acknowledged', 'completed'],
  setpoint: ['retained', 'dispatched', 'completed'],
}

/** The phase that `other` must reach before a component of `shape` may cross. */
function phase(
  shape: ComponentShape,
  name: string,
  word: PhaseWord | undefined,
  path: Path,
  around: Surroundings,
): Phase {
  const other = around.shapes.get(name)
  if (other === undefined) return Phase.completed // Its own keys are wrong, and that is reported there.
  const kind = other.kind !== 'action' ? other.kind : other.effect.setpoint === undefined ? 'command' : 'setpoint'
  const reached = REACHES[kind]
  const asked = word ?? (kind === 'notice' || kind === 'report' ? 'released' : 'completed')
  if (!reached.includes(asked)) {
    around.source.problem(path, `a ${kind} never reaches \`${asked}\`, only ${reached.join(', ')}`)
  } else if (asked !== 'completed' && usesOf(shape) !== undefined && usesOf(shape) === usesOf(other)) {
    around.source.problem(path, `both use \`${usesOf(shape)}\`: only \`completed\` can be waited for, not \`${asked}\``)
  }
  return Phase[asked]
}
