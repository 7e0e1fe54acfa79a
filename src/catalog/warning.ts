// What a catalog may say and hardly means: a clause that decides nothing, seconds taken for milliseconds, what nobody reads, what
// can never happen after what it rests on. Such a catalog loads and flies; `halo check` says each, with what to do.

import { Kind } from '../../build/abi.ts'
import { PLAUSIBLE } from '../autopilot/plausibility.ts'
import { type Expression, reads } from '../core/expression.ts'
import type { ClauseImage, TypeImage } from '../core/image.ts'
import { type Catalog, type ComponentType, SPEED_CLAUSE, type StateField } from './catalog.ts'
import { type Clauses, inConflict } from './conflict.ts'
import { payloadReads, slotsOf } from './footprint.ts'
import { fieldRange, slotRange } from './payload.ts'
import { canHold, mustHold, type Range, type Ranges, range } from './range.ts'
import type { Path, Source } from './source.ts'

/** No autopilot is asked for a message more often than each 50 ms: a younger value is luck, or was meant in seconds. */
const AGE_LEAST_MS = 50
/** And what may be an hour old is not asked for within the blink of an eye. */
const AGE_LEAST_OF_MAX = 1e-4

/** Records them at their places in the file that the catalog was loaded from. */
export function warn(catalog: Catalog, source: Source): void {
  const { types, image } = catalog
  for (const [number, type] of types.entries()) {
    const typeImage = image.types[number]!
    warnOfClauses(type, typeImage, catalog, source)
    warnOfPayload(number, catalog, source)
    warnOfEffect(type, source)
    warnOfPrerequisites(number, catalog, source)
  }
  warnOfPredicates(catalog, source)
  warnOfState(catalog, source)
}

// Clauses

function warnOfClauses(type: ComponentType, image: TypeImage, catalog: Catalog, source: Source): void {
  const ranges = rangesOf(type, catalog)
  const base = ['components', type.name]
  for (const key of ['support', 'gate', 'holds'] as const) {
    for (const { name, expression } of image[key]) {
      if (name !== SPEED_CLAUSE) warnOfClause(expression, [...base, key, name], ranges, catalog, source)
    }
  }
  if (image.done !== undefined) warnOfClause(image.done, [...base, 'effect', 'done'], ranges, catalog, source)
  if (inConflict(...[...image.support, ...image.gate].map((clause) => clausesOf([clause], ranges))))
    source.warning(base, 'can never be dispatched: its clauses never all hold at once. Change one of them', 'key')
}

function warnOfClause(e: Expression, path: Path, ranges: Ranges, catalog: Catalog, source: Source): void {
  for (const { field, bound_ms } of ages(e, ranges)) {
    const { name, maxAge_ms } = catalog.fields[field]!
    if (bound_ms <= 0 || bound_ms >= Math.max(AGE_LEAST_MS, maxAge_ms * AGE_LEAST_OF_MAX)) continue
    const meant = `\`age\` is in ms, and no \`${name}\` stays younger than ${bound_ms} ms`
    source.warning(path, `${meant}: for ${bound_ms} s say ${bound_ms * 1000}`)
  }
  const where = bounds(e, catalog)
  if (!canHold(e, ranges)) source.warning(path, `can never hold${where}: change it, or leave it out`)
  else if (mustHold(e, ranges)) source.warning(path, `always holds${where}: ${instead(e, catalog)}`)
}

/** Comparisons of an age with a constant. */
function ages(e: Expression, of: Ranges): { readonly field: number; readonly bound_ms: number }[] {
  if (!('args' in e)) return []
  const inner = e.args.flatMap((arg) => ages(arg, of))
  if (e.op !== 'lt' && e.op !== 'le' && e.op !== 'gt' && e.op !== 'ge') return inner
  const [left, right] = e.args
  const [age, other] = left.op === 'age' ? [left, right] : [right, left]
  if (age.op !== 'age') return inner
  const { lo, hi } = range(other, of)
  return lo === hi ? [...inner, { field: age.field, bound_ms: lo }] : inner
}

/** Of the vehicle's numbers that a clause names, what they can be. */
function bounds(e: Expression, { fields }: Catalog): string {
  const { now, cited } = reads(e)
  const known = [...new Set([...now, ...cited])].flatMap((index) => {
    const { name, unit, source } = fields[index]!
    const can = source === 'profile' ? PLAUSIBLE[name] : undefined
    return can === undefined
      ? []
      : [`\`${name}\` is ${can.least} to ${can.most}${unit === undefined ? '' : ` ${unit}`}`]
  })
  return known.length === 0 ? ', whatever the state is' : `, since ${known.join(' and ')}`
}

/** What to say where a clause decides nothing but that its fields are known. */
function instead(e: Expression, { fields }: Catalog): string {
  const [first] = reads(e).now
  if (first === undefined) return 'change it, or leave it out'
  const { name, maxAge_ms } = fields[first]!
  return `change it, or ask whether the value is known: age(state.${name}) <= ${maxAge_ms}`
}

function warnOfPredicates(catalog: Catalog, source: Source): void {
  const { predicates, image, types } = catalog
  for (const { name } of predicates) {
    const readings = image.predicates.filter((reading) => reading.name === name)
    const over = readings.map(({ type, expression }) => ({
      expression,
      ranges: rangesOf(type === undefined ? { payload: [] } : types[type]!, catalog),
    }))
    const path = ['predicates', name]
    const [first] = over
    if (first === undefined) continue
    const where = bounds(first.expression, catalog)
    if (over.every(({ expression, ranges }) => !canHold(expression, ranges)))
      source.warning(path, `is never true${where}: change it, or leave it out`)
    else if (over.every(({ expression, ranges }) => mustHold(expression, ranges)))
      source.warning(path, `is always true${where}: change it, or leave it out`)
  }
}

// What nobody reads

function warnOfPayload(number: number, { types, image }: Catalog, source: Source): void {
  const { name: type, payload, effect } = types[number]!
  const { support, gate, holds, done, frames } = image.types[number]!
  const clauses = [...support, ...gate, ...holds, ...image.predicates.filter((predicate) => predicate.type === number)]
  const read = new Set([
    ...clauses.flatMap(({ expression }) => slotsOf(expression)),
    ...(done === undefined ? [] : slotsOf(done)),
    ...payloadReads(frames),
    ...('text' in effect && effect.text !== undefined ? [effect.text] : []),
  ])
  for (const [slot, { name }] of payload.entries()) {
    const what = 'no clause and no effect reads it, so it does nothing'
    if (!read.has(slot))
      source.warning(['components', type, 'payload', name], `${what}: use it, or leave it out`, 'key')
  }
}

function warnOfState({ fields, types, image }: Catalog, source: Source): void {
  const asked = reads(...image.predicates.map(({ expression }) => expression))
  const read = new Set([
    ...types.flatMap(({ footprint }) => [...footprint.now, ...footprint.cited]),
    ...asked.now,
    ...asked.known,
  ])
  for (const [index, { name, declared }] of fields.entries()) {
    if (!declared || read.has(index)) continue
    const what = 'no clause, `watches`, report or effect reads it'
    source.warning(['state', name], `${what}: leave it out, or report it to whoever should know`, 'key')
  }
}

// What flies

function warnOfEffect({ name, kind, uses, effect }: ComponentType, source: Source): void {
  const base = ['components', name]
  if (kind !== Kind.command && kind !== Kind.setpoint && kind !== Kind.handoff) return
  if (uses === undefined) {
    const what = 'has no `uses`, so it may fly at the same time as any other action'
    source.warning(
      base,
      `${what}: name what it takes, the same for all that move the vehicle, as \`uses: flight\``,
      'key',
    )
  }
  if (effect.kind !== 'command' || !effect.steps.some(({ takesOff }) => takesOff)) return
  if (effect.otherwise === 'none' || effect.otherwise === 'hold') {
    const what = `a take-off that fails is left armed, close to the ground, ${effect.otherwise === 'none' ? 'without `otherwise`' : 'by a hold'}`
    source.warning([...base, 'effect', 'otherwise'], `${what}: say \`otherwise: land\``)
  }
}

/** What rests on another in one plan must be able to follow it. */
function warnOfPrerequisites(number: number, catalog: Catalog, source: Source): void {
  const { types, image } = catalog
  const clauses = (at: number, keys: readonly ('support' | 'gate' | 'holds')[]): Clauses => {
    const images = keys.flatMap((key) => image.types[at]![key])
    return clausesOf(images, rangesOf(types[at]!, catalog))
  }
  const { name, requires, mayRequire } = types[number]!
  for (const { type: before } of mayRequire) {
    const other = types[before]!.name
    const required = requires.indexOf(before)
    const path = ['components', name, ...(required === -1 ? ['may_require', other] : ['requires', required])]
    const part = required === -1 ? 'key' : 'value'
    if (inConflict(clauses(number, ['support']), clauses(before, ['support']))) {
      const what = `no response can bring both \`${other}\` and \`${name}\`: their \`support\` never holds at once`
      source.warning(path, `${what}. What an earlier action brings about belongs under \`gate\``, part)
    } else if (inConflict(clauses(number, ['support', 'gate']), clauses(before, ['holds']))) {
      const what = `can never be dispatched after a \`${other}\`: its clauses never hold while what that one \`holds\` does`
      source.warning(path, `${what}. Change one of them, or leave \`${other}\` out here`, part)
    }
  }
}

const clausesOf = (clauses: readonly ClauseImage[], ranges: Ranges): Clauses => ({
  expressions: clauses.map(({ expression }) => expression),
  ranges,
})

/** What fields and payload can be, within what any vehicle can have. */
function rangesOf({ payload }: Pick<ComponentType, 'payload'>, { fields }: Catalog): Ranges {
  return {
    field: (index) => plausible(fields[index]!),
    slot: (slot) => slotRange(payload[slot]!),
    optional: (slot) => payload[slot]!.optional,
  }
}

function plausible(field: StateField): Range {
  const can = field.source === 'profile' ? PLAUSIBLE[field.name] : undefined
  return can === undefined ? fieldRange(field) : { lo: can.least, hi: can.most }
}
