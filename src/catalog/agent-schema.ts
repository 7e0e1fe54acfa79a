// What an agent may say, as a JSON Schema (draft 2020-12) of a whole response: given to a language model, it keeps most
// mistakes from being written at all. It grants nothing; every response is judged all the same (PROTOCOL 4, 12).

import { CANDIDATES_MAX, Kind, KindWords, PhaseWords, PREREQUISITES_MAX, TEXT_BYTES_MAX } from '../../build/abi.ts'
import type { ComponentType, PayloadField } from './catalog.ts'

type Schema = Readonly<Record<string, unknown>>

/** JSON text. Null means absent, so what is optional may be null. */
export function agentSchema(types: readonly ComponentType[]): string {
  const name = { type: 'string', pattern: `^[A-Za-z0-9._-]{1,${TEXT_BYTES_MAX}}$` }
  const schema: Schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'HALO response',
    type: 'object',
    additionalProperties: false,
    required: ['v', 'response', 'generation', 'snapshot', 'components'],
    properties: {
      v: { const: 1 },
      response: { ...name, description: 'A name never used before.' },
      generation: {
        type: 'integer',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Greater than that of any response accepted from you in this session.',
      },
      snapshot: { type: 'string', description: 'The id of the snapshot that this response was written from.' },
      recovers: {
        type: ['string', 'null'],
        description: 'The plan (the id of the response that started it) whose obligations this answers.',
      },
      components: {
        type: 'array',
        minItems: 1,
        maxItems: CANDIDATES_MAX,
        items: { anyOf: types.map((type) => componentSchema(type, types)) },
      },
    },
  }
  return JSON.stringify(schema)
}

function componentSchema(type: ComponentType, types: readonly ComponentType[]): Schema {
  const required = type.payload.filter((field) => !field.optional).map((field) => field.name)
  const bound = type.requires.length > 0
  return {
    type: 'object',
    title: type.name,
    description: describe(type, types),
    additionalProperties: false,
    required: ['id', 'type', 'payload', ...(bound ? ['requires'] : [])],
    properties: {
      id: { type: 'string', minLength: 1, maxLength: TEXT_BYTES_MAX },
      type: { const: type.name },
      payload: {
        type: 'object',
        additionalProperties: false,
        required,
        properties: Object.fromEntries(type.payload.map((field) => [field.name, fieldSchema(field)])),
      },
      requires: {
        type: bound ? 'array' : ['array', 'null'],
        items: { type: 'string' },
        ...(bound && { minItems: 1 }),
        maxItems: type.mayRequire.length === 0 ? 0 : PREREQUISITES_MAX,
        description: 'Ids of the components that this one rests on.',
      },
    },
  }
}

function describe(type: ComponentType, types: readonly ComponentType[]): string {
  const isAction = type.kind === Kind.command || type.kind === Kind.setpoint
  const lines = [type.description || `${isAction ? 'action' : KindWords[type.kind]} ${type.name}`]
  for (const { name, text } of [...type.support, ...type.gate]) lines.push(`holds only while ${name}: ${oneLine(text)}`)
  if (type.requires.length > 0) lines.push(`must require: ${type.requires.map((t) => types[t]!.name).join(', ')}`)
  const allowed = type.mayRequire.map(({ type: t, phase }) => `${types[t]!.name} (${PhaseWords[phase]})`)
  if (allowed.length > 0) lines.push(`may require: ${allowed.join(', ')}`)
  return lines.join('\n')
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

function fieldSchema(field: PayloadField): Schema {
  const nullable = (type: string) => (field.optional ? [type, 'null'] : type)
  const description = field.unit === undefined ? {} : { description: `unit: ${field.unit}` }
  switch (field.kind) {
    case 'number':
    case 'integer':
      return {
        type: nullable(field.kind),
        ...(field.min !== undefined && { minimum: field.min }),
        ...(field.max !== undefined && { maximum: field.max }),
        ...description,
      }
    case 'boolean':
      return { type: nullable('boolean') }
    case 'enum':
      return { enum: field.optional ? [...field.values!, null] : field.values }
    case 'string':
      if (field.maxLength === undefined) return { type: nullable('string') }
      // JSON Schema counts characters; the bound is bytes.
      return {
        type: nullable('string'),
        maxLength: field.maxLength,
        description: `at most ${field.maxLength} bytes of UTF-8`,
      }
  }
}
