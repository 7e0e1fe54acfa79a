// The predicates of a catalog: named truths that rules ask for (PROTOCOL 13). One over state alone is one of the core's; one
// that reads a payload is one for each type that has those fields, compiled to that type's slots.

import { PREDICATES_MAX } from '../../build/abi.ts'
import type { Expression } from '../core/expression.ts'
import type { PredicateImage } from '../core/image.ts'
import type { ComponentType, PayloadField, Predicate } from './catalog.ts'
import { ClauseError, compileClause, payloadFields } from './clause.ts'
import { rangesOf, type Surroundings } from './component.ts'
import { canHold, mustHold } from './range.ts'
import { suggestion } from './suggestion.ts'

export interface LoadedPredicates {
  readonly predicates: readonly Predicate[]
  readonly images: readonly PredicateImage[]
}

/** One reading of a predicate: without a type, or for the payload of one. */
interface Reading {
  readonly type: number | undefined
  readonly expression: Expression
  readonly isNever: boolean
  readonly isAlways: boolean
}

/** `types` are those that loaded; a predicate is judged against what they declare. */
export function loadPredicates(
  written: Readonly<Record<string, string>>,
  types: readonly ComponentType[],
  around: Surroundings,
): LoadedPredicates {
  const { source } = around
  const predicates: Predicate[] = []
  const images: PredicateImage[] = []
  for (const [name, text] of Object.entries(written)) {
    const path = ['predicates', name]
    try {
      const readings = read(text, types, around)
      // For one type of several it may well be settled; where it is so for all, no rule learns anything from it.
      if (readings.length > 0 && readings.every(({ isNever }) => isNever))
        source.problem(path, 'can never be true, whatever the state is')
      else if (readings.length > 0 && readings.every(({ isAlways }) => isAlways))
        source.problem(path, 'is always true, whatever the state is')
      const first = images.length
      images.push(...readings.map(({ type, expression }) => ({ name, type, expression })))
      const numbers = readings.flatMap(({ type }, i) => (type === undefined ? [] : [[type, first + i] as const]))
      predicates.push({ name, text, state: numbers.length === 0 ? first : undefined, types: new Map(numbers) })
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      source.problemWithin(path, error.position, error.message)
    }
  }
  if (images.length > PREDICATES_MAX)
    source.problem(
      ['predicates'],
      `make ${images.length}, one for each type whose payload is read, at most ${PREDICATES_MAX}`,
    )
  return { predicates, images }
}

/** For state alone, or for every type that has the fields it reads and whose fields fit. Throws ClauseError if none does. */
function read(text: string, types: readonly ComponentType[], around: Surroundings): readonly Reading[] {
  const { fields, constants, names } = around
  const reading = (type: number | undefined, payload: readonly PayloadField[]): Reading => {
    const expression = compileClause(text, { fields, payload, constants, role: 'predicate' })
    const ranges = rangesOf({ fields, payload })
    return { type, expression, isNever: !canHold(expression, ranges), isAlways: mustHold(expression, ranges) }
  }
  const asked = [...payloadFields(text)]
  if (asked.length === 0) return [reading(undefined, [])]

  const fitting = types.filter(({ payload }) => asked.every((field) => payload.some(({ name }) => name === field)))
  const readings: Reading[] = []
  let wrong: ClauseError | undefined
  for (const { name, payload } of fitting) {
    try {
      readings.push(reading(names.indexOf(name), payload))
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      wrong ??= error
    }
  }
  if (readings.length > 0) return readings
  if (wrong !== undefined) throw wrong
  // A type with a mistake of its own may be the one that has them: that mistake is reported there.
  if (types.length < names.length) return []
  throw new ClauseError(0, `reads ${asked.map((field) => `\`payload.${field}\``).join(' and ')}: ${none(asked, types)}`)
}

function none(asked: readonly string[], types: readonly ComponentType[]): string {
  const declared = new Set(types.flatMap(({ payload }) => payload.map(({ name }) => name)))
  const unknown = asked.find((field) => !declared.has(field))
  if (unknown === undefined) return 'no type has them all'
  return `no type has a payload field \`${unknown}\`${suggestion(unknown, declared)}`
}
