// What editors complete and underline in a catalog and a configuration: JSON Schemas (draft 2020-12), derived from the shapes that
// HALO itself reads with, so that the two cannot drift. They know keys, kinds and forms of values; what names and clauses mean,
// `halo check` says. The files under schema/ are these, written by the test that compares them (`vitest -u`).

import { z } from 'zod'
import { whole } from '../src/catalog/schema.ts'
import { PROFILES, schema } from './config.ts'

type Json = Record<string, unknown>

export const SCHEMAS = ['catalog', 'halo'] as const
export type SchemaName = (typeof SCHEMAS)[number]

/** Its text, as it stands in schema/<name>.json. */
export function schemaText(name: SchemaName): string {
  const of = name === 'catalog' ? catalogSchema() : { title: 'HALO configuration', ...derive(schema) }
  return `${JSON.stringify(of, null, 2)}\n`
}

const derive = (shape: z.ZodType): Json => z.toJSONSchema(shape, { io: 'input', reused: 'ref' }) as Json

function catalogSchema(): Json {
  const derived = derive(whole.extend({ vehicle: z.enum(PROFILES.map(({ name }) => name)) }))
  const properties = derived.properties as { state: Json & { additionalProperties: { anyOf: [Json] } } }
  const { state } = properties
  // The vehicle's own fields by name, for completion: of these only the age can be set.
  const { max_age } = state.additionalProperties.anyOf[0].properties as Json
  const own = PROFILES[0]!.fields.map(({ name, type, unit }) => {
    const description = `${type}${unit === undefined ? '' : `, ${unit}`}, from the vehicle`
    return [name, { description, type: ['object', 'null'], properties: { max_age }, additionalProperties: false }]
  })
  return {
    title: 'HALO catalog',
    ...derived,
    properties: { ...properties, state: { ...state, properties: Object.fromEntries(own) } },
  }
}
