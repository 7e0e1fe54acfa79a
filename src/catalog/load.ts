// Loads a catalog: the text of the YAML file to what engine, edge and core need (PROTOCOL 3). It says all that is wrong at
// once, each with its line and column, and loads nothing unless all is right.

import { createHash } from 'node:crypto'
import { CONTINGENCY_SENDS_MAX, FIELDS_MAX, TEXT_BYTES_MAX, TYPES_MAX } from '../../build/abi.ts'
import { ENUMERATIONS, type Profile } from '../autopilot/profile.ts'
import type { TypeImage } from '../core/image.ts'
import { agentSchema } from './agent-schema.ts'
import {
  type Agent,
  type Catalog,
  CatalogError,
  type ComponentType,
  MAX_SPEED,
  type Problem,
  type StateField,
} from './catalog.ts'
import type { ScopeField } from './clause.ts'
import { loadComponent, type Surroundings, unique } from './component.ts'
import { contingencyFrames } from './effect.ts'
import { reportIssues } from './issue.ts'
import { refuseUnreachable } from './permission.ts'
import { loadPredicates } from './predicate.ts'
import { excessOf } from './published.ts'
import { AGENTS_MOST } from './quota.ts'
import {
  type CatalogShape,
  type ComponentShape,
  catalog as catalogShape,
  component,
  type FieldShape,
} from './schema.ts'
import { oversizeOf } from './size.ts'
import { Source } from './source.ts'
import { suggestion } from './suggestion.ts'
import { warn } from './warning.ts'

export interface LoadOptions {
  /** No velocity that leaves is longer, m/s; above 0. Default 5. */
  readonly maxSpeed?: number
  /** Takes what the catalog may say and hardly means, in the order of the file; without it nobody looks. */
  readonly warnings?: Problem[]
}

/**
 * `file` is what problems are reported under. Throws CatalogError with every problem found, in the order of the file, and
 * RangeError for a `maxSpeed` that is none.
 */
export function loadCatalog(
  text: string,
  file: string,
  profiles: readonly Profile[],
  { maxSpeed = MAX_SPEED, warnings }: LoadOptions = {},
): Catalog {
  if (!(maxSpeed > 0 && maxSpeed < Number.POSITIVE_INFINITY))
    throw new RangeError(`maxSpeed must be above 0 m/s and finite, not ${maxSpeed}`)
  const source = new Source(text, file)
  const catalog = source.problems.length > 0 ? undefined : read(source, text, profiles, maxSpeed)
  if (catalog === undefined || source.problems.length > 0) throw new CatalogError(source.problems.sort(byPlace))
  if (warnings !== undefined) {
    warn(catalog, source)
    warnings.push(...source.warnings.sort(byPlace))
  }
  return catalog
}

const byPlace = (a: Problem, b: Problem): number => a.line - b.line || a.column - b.column

function read(source: Source, text: string, profiles: readonly Profile[], maxSpeed: number): Catalog | undefined {
  const shapes = componentShapes(source)
  const parsed = catalogShape.safeParse(source.value)
  if (!parsed.success) reportIssues(parsed.error.issues, [], source)
  const vehicle = entry(source.value, 'vehicle')
  const profile = profiles.find(({ name }) => name === vehicle)
  if (profile === undefined && typeof vehicle === 'string') {
    const known = profiles.map(({ name }) => name)
    source.problem(['vehicle'], `must be one of ${known.join(', ')}${suggestion(vehicle, known)}`)
  }
  // A mistake in one section hides none in another; but without sound fields and profile no name can be looked up.
  const section = <K extends keyof CatalogShape>(key: K) =>
    catalogShape.shape[key].safeParse(entry(source.value, key)).data as CatalogShape[K] | undefined
  const [state, constants] = [section('state'), section('constants')]
  if (profile === undefined || state === undefined || constants === undefined) return undefined

  const fields = stateFields(state, profile, source)
  const names = Object.keys(entry(source.value, 'components') ?? {})
  const writtenAgents = section('agents')
  const agents = writtenAgents ?? {}
  limit(source, ['components'], 'types', names, TYPES_MAX)
  const shared = ': each has its own part of what the core holds. Leave out those that do not fly here'
  limit(source, ['agents'], 'agents', Object.keys(agents), AGENTS_MOST, shared)

  const around: Surroundings = {
    source,
    profile,
    fields: new Map(fields.map((field) => [field.name, field])),
    constants: new Map(Object.entries(constants)),
    names,
    shapes,
    maxSpeed,
  }
  const types: ComponentType[] = []
  const images: TypeImage[] = []
  for (const name of names) {
    const componentShape = shapes.get(name)
    const loaded = componentShape && loadComponent(name, componentShape, around)
    if (loaded === undefined) continue
    types.push(loaded.type)
    images.push(loaded.image)
  }
  refuseCycles(names, shapes, source)
  // Agents with a mistake of their own may be those that are missing.
  if (writtenAgents !== undefined) refuseUnreachable(writtenAgents, names, shapes, source)
  refuseStreamsAcrossTakeoff(profile, shapes, source)
  const loadedAgents = Object.entries(agents).map(([name, { may, rate }]): Omit<Agent, 'schema'> => {
    const numbers = may.flatMap((type, i) => {
      const index = names.indexOf(type)
      if (index === -1) source.problem(['agents', name, 'may', i], `unknown type \`${type}\`${suggestion(type, names)}`)
      return index === -1 ? [] : [index]
    })
    return { name, may: new Set(numbers), rate }
  })
  const contingencies = contingencyFrames(profile, CONTINGENCY_SENDS_MAX)
  const predicates = loadPredicates(section('predicates') ?? {}, types, around)
  const excess = oversizeOf({ types: images, contingencies, predicates: predicates.images })
  if (excess !== undefined) source.problem(['components'], excess)
  // Type numbers are positions, so every type must have loaded.
  if (!parsed.success || source.problems.length > 0) return undefined

  const catalog: Catalog = {
    hash: createHash('sha256').update(text).digest('hex'),
    profile,
    evidenceMaxAge_ms: parsed.data.evidence.max_age,
    fields: fields.map(stateField),
    agents: loadedAgents.map((agent) => ({ ...agent, schema: agentSchema(types, agent.may) })),
    types,
    typeNumbers: new Map(types.map(({ name }, number) => [name, number])),
    predicates: predicates.predicates,
    image: {
      fields: fields.map(({ name, maxAge_ms, continuous }) => ({ name, maxAge_ms, discrete: !continuous })),
      types: images,
      contingencies,
      predicates: predicates.images,
    },
  }
  const tooLarge = excessOf(catalog)
  if (tooLarge === undefined) return catalog
  source.problem([tooLarge.section], tooLarge.problem)
  return undefined
}

const entry = (value: unknown, key: string): unknown => (value as Record<string, unknown> | null | undefined)?.[key]

/** Each component by its own kind's keys, so that a mistake in one hides none in another. */
function componentShapes(source: Source): ReadonlyMap<string, ComponentShape> {
  const shapes = new Map<string, ComponentShape>()
  const written = entry(source.value, 'components')
  if (typeof written !== 'object' || written === null) return shapes
  for (const [name, value] of Object.entries(written)) {
    const kind = entry(value, 'kind')
    if (typeof kind !== 'string' || !Object.hasOwn(component, kind)) continue // Reported with the catalog's own keys.
    const parsed = component[kind as keyof typeof component].safeParse(value)
    if (parsed.success) shapes.set(name, parsed.data)
    else reportIssues(parsed.error.issues, ['components', name], source)
  }
  return shapes
}

function limit(
  source: Source,
  path: readonly string[],
  what: string,
  names: readonly string[],
  most: number,
  why = '',
): void {
  if (names.length > most) source.problem(path, `has ${names.length} ${what}, at most ${most}${why}`)
  for (const name of names) {
    if (name.length > TEXT_BYTES_MAX)
      source.problem([...path, name], `has ${name.length} bytes, at most ${TEXT_BYTES_MAX}`, 'key')
  }
}

// State (PROTOCOL 3, "Fields of the built-in profiles")

/** All fields of the profile, in its order, then those that come from the ground. */
function stateFields(
  declared: Readonly<Record<string, FieldShape | null>>,
  profile: Profile,
  source: Source,
): readonly ScopeField[] {
  const own = profile.fields.map((field, index): ScopeField => {
    for (const key of ['from', 'type', 'values', 'unit', 'continuous', 'retained'] as const) {
      if (Object.hasOwn((entry(entry(source.value, 'state'), field.name) as object | null) ?? {}, key)) {
        source.problem(
          ['state', field.name, key],
          `\`${field.name}\` comes from the vehicle: only max_age can be set`,
          'key',
        )
      }
    }
    return {
      index,
      name: field.name,
      source: 'profile',
      type: field.type,
      enumeration: field.enumeration,
      members: field.enumeration === undefined ? undefined : ENUMERATIONS[field.enumeration],
      unit: field.unit,
      angle: field.angle ?? false,
      continuous: field.continuous,
      maxAge_ms: declared[field.name]?.max_age ?? field.maxAge_ms,
      declared: Object.hasOwn(declared, field.name),
      retainedAllowed: false,
    }
  })
  const known = profile.fields.map(({ name }) => name)
  const context: ScopeField[] = []
  for (const [name, shape] of Object.entries(declared)) {
    if (known.includes(name)) continue
    if (shape?.from === 'context') context.push(contextField(name, shape, own.length + context.length, source))
    else
      source.problem(
        ['state', name],
        `unknown field${suggestion(name, known)}; one that the ground sets says \`from: context\``,
        'key',
      )
  }
  const fields = [...own, ...context]
  if (fields.length > FIELDS_MAX)
    source.problem(['state'], `makes ${fields.length} fields with the profile's, at most ${FIELDS_MAX}`)
  return fields
}

/** After a problem it stands in with what is missing, so that clauses can still be checked. */
function contextField(name: string, shape: FieldShape, index: number, source: Source): ScopeField {
  const path = ['state', name]
  const { type, values, max_age, continuous, unit, retained } = shape
  if (type === undefined) source.problem(path, 'a context field needs its `type`', 'key')
  if (max_age === undefined) source.problem(path, 'a context field needs its `max_age`', 'key')
  if (type === 'enum' && values === undefined) source.problem(path, 'an enum needs its `values`', 'key')
  if (type !== 'enum' && values !== undefined)
    source.problem([...path, 'values'], 'belong to the type enum only', 'key')
  if (continuous && type !== 'number') source.problem([...path, 'continuous'], 'only a number can be continuous', 'key')
  unique(values ?? [], [...path, 'values'], source)
  return {
    index,
    name,
    source: 'context',
    type: type ?? 'number',
    enumeration: undefined,
    members: type === 'enum' ? (values ?? []) : undefined,
    unit,
    angle: false,
    continuous,
    maxAge_ms: max_age ?? 0,
    declared: true,
    retainedAllowed: retained === 'allowed',
  }
}

const stateField = ({ index: _, enumeration: __, angle: ___, ...field }: ScopeField): StateField => field

/** Types that must name each other round a circle could never be admitted: their components would be a cycle. */
function refuseCycles(names: readonly string[], shapes: ReadonlyMap<string, ComponentShape>, source: Source): void {
  const found = new Set<string>()
  const visit = (name: string, trail: readonly string[]): void => {
    const at = trail.indexOf(name)
    if (at !== -1) {
      const first = trail[at]!
      if (!found.has(first))
        source.problem(['components', first, 'requires'], `is a cycle: ${[...trail.slice(at), name].join(' → ')}`)
      for (const member of trail.slice(at)) found.add(member)
      return
    }
    if (found.has(name)) return
    for (const next of shapes.get(name)?.requires ?? []) visit(next, [...trail, name])
  }
  for (const name of names) visit(name, [])
}

/** Where a take-off happens inside the setpoint mode a stream would cancel it: one resource must keep them apart. */
function refuseStreamsAcrossTakeoff(
  profile: Profile,
  shapes: ReadonlyMap<string, ComponentShape>,
  source: Source,
): void {
  if (!profile.verbs.takeoff.leads.includes(profile.engagement.mode)) return
  const actions = [...shapes].flatMap(([name, shape]) => (shape.kind === 'action' ? [{ name, ...shape }] : []))
  const why = `on ${profile.name} a stream would cancel a take-off`
  const setpoints = actions.filter(({ effect }) => effect.setpoint !== undefined)
  for (const takeoff of actions.filter(({ effect }) => effect.command === 'takeoff')) {
    if (takeoff.uses === undefined) {
      const message = `must use a resource that every setpoint uses: ${why}`
      if (setpoints.length > 0) source.problem(['components', takeoff.name], message, 'key')
      continue
    }
    for (const { name, uses } of setpoints) {
      const path = ['components', name, ...(uses === undefined ? [] : ['uses'])]
      const message = `must use \`${takeoff.uses}\` as ${takeoff.name} does: ${why}`
      if (uses !== takeoff.uses) source.problem(path, message, uses === undefined ? 'key' : 'value')
    }
  }
}
