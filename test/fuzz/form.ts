// What PROTOCOL 4 says of a response's form and size, and of a payload's types, as one condition after the other.

import { isDeepStrictEqual } from 'node:util'
import type { ComponentType, PayloadField } from '../../src/catalog/catalog.ts'
import type { Value } from '../../src/wire/read.ts'
import type { Payload, Response } from '../../src/wire/response.ts'
import type { Reading } from './reading.ts'

export type Form = 'response' | 'too_large' | 'malformed'

export function formOf({ map, payloads }: Reading): Form {
  const components = listOf(map.get('components'))
  const requires = components.map((component) => (component instanceof Map ? listOf(component.get('requires')) : []))
  const isLarge =
    components.length > 256 ||
    requires.some((ids) => ids.length > 64) ||
    requires.flat().length > 4096 ||
    payloads.some((bytes) => bytes > 1024)
  if (isLarge) return 'too_large'
  const generation = map.get('generation')
  const isResponse =
    hasOnly(map, 'v', 'response', 'generation', 'snapshot', 'recovers', 'components') &&
    map.get('v') === 1 &&
    isName(map.get('response')) &&
    Number.isInteger(generation) &&
    Number(generation) >= 1 &&
    Number(generation) < 2 ** 53 &&
    typeof map.get('snapshot') === 'string' &&
    ['string', 'undefined'].includes(typeof (map.get('recovers') ?? undefined)) &&
    components.length > 0 &&
    components.every(isComponent)
  return isResponse ? 'response' : 'malformed'
}

const listOf = (value: Value | undefined): readonly Value[] => (Array.isArray(value) ? value : [])
const isName = (value: Value | undefined): boolean =>
  typeof value === 'string' && value.length >= 1 && value.length <= 64 && !/[^A-Za-z0-9._-]/.test(value)
const hasOnly = (map: ReadonlyMap<string, Value>, ...keys: readonly string[]): boolean =>
  [...map.keys()].every((key) => keys.includes(key))

function isComponent(component: Value): boolean {
  if (!(component instanceof Map) || !hasOnly(component, 'id', 'type', 'payload', 'requires')) return false
  const requires = component.get('requires') ?? []
  const payload = component.get('payload')
  return (
    isName(component.get('id')) &&
    typeof component.get('type') === 'string' &&
    payload instanceof Map &&
    [...payload.values()].every((field) => field === null || typeof field !== 'object') &&
    Array.isArray(requires) &&
    requires.every((id) => typeof id === 'string') &&
    new Set(requires).size === requires.length
  )
}

/** Is it what the map, which is a response, says? Null is absent, and there is no negative zero. */
export function isWhatIsSaid(response: Response, map: ReadonlyMap<string, Value>): boolean {
  return isDeepStrictEqual(response, {
    response: map.get('response'),
    generation: map.get('generation'),
    snapshot: map.get('snapshot'),
    recovers: map.get('recovers') ?? undefined,
    components: listOf(map.get('components')).map((component) => {
      const { id, type, payload, requires } = Object.fromEntries(component as ReadonlyMap<string, Value>)
      const fields = [...(payload as ReadonlyMap<string, Value>)].filter(([, value]) => value !== null)
      return {
        id,
        type,
        payload: new Map(fields.map(([name, value]) => [name, Object.is(value, -0) ? 0 : value])),
        requires: requires ?? [],
      }
    }),
  })
}

const field = (name: string, kind: PayloadField['kind'], rest: Partial<PayloadField> = {}): PayloadField => ({
  ...{ name, kind, optional: true, unit: undefined, min: undefined, max: undefined },
  ...{ maxLength: undefined, values: undefined },
  ...rest,
})

/** A type with a field of each kind. */
export const TYPED: Pick<ComponentType, 'payload'> = {
  payload: [
    field('lat', 'number', { optional: false }),
    field('count', 'integer'),
    field('on', 'boolean'),
    field('text', 'string'),
    field('mode', 'enum', { values: ['HOLD', 'LAND'] }),
  ],
}

/** The slots of a payload of `TYPED`, or undefined where it is none. */
export function slotsOf(payload: Payload): readonly unknown[] | undefined {
  const fields = Object.fromEntries(payload)
  const { lat, count, on, text, mode } = fields
  const isTyped =
    Object.keys(fields).every((name) => ['lat', 'count', 'on', 'text', 'mode'].includes(name)) &&
    Number.isFinite(lat) &&
    (count === undefined || Number.isSafeInteger(count)) &&
    (on === undefined || typeof on === 'boolean') &&
    (text === undefined || typeof text === 'string') &&
    (mode === undefined || mode === 'HOLD' || mode === 'LAND')
  if (!isTyped) return undefined
  return [
    lat,
    count,
    on === undefined ? on : Number(on),
    text,
    mode === undefined ? mode : ['HOLD', 'LAND'].indexOf(mode),
  ]
}
