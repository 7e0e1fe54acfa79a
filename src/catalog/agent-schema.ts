// What an agent may say, as a JSON Schema (draft 2020-12) of a whole response: given to a language model, it keeps most
// mistakes from being written at all. It grants nothing; every response is judged all the same (PROTOCOL 4, 12).

import { CANDIDATES_MAX, Kind, KindWords, PhaseWords, PREREQUISITES_MAX, TEXT_BYTES_MAX } from '../../build/abi.ts'
import type { Clause, ComponentType, PayloadField } from './catalog.ts'

type Schema = Readonly<Record<string, unknown>>

const name = { type: 'string', pattern: `^[A-Za-z0-9._-]{1,${TEXT_BYTES_MAX}}$` }

/** JSON text, of the types that the agent may say. Null means absent, so what is optional may be null. */
export function agentSchema(types: readonly ComponentType[], may: ReadonlySet<number>): string {
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
        description:
          'Greater than that of any response accepted from you in this session: count up by one. After the greatest none is taken any more before a new session.',
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
        items: { anyOf: types.filter((_, i) => may.has(i)).map((type) => componentSchema(type, types, may)) },
      },
    },
  }
  return JSON.stringify(schema)
}

function componentSchema(type: ComponentType, types: readonly ComponentType[], may: ReadonlySet<number>): Schema {
  const required = type.payload.filter((field) => !field.optional).map((field) => field.name)
  const bound = type.requires.length > 0
  return {
    type: 'object',
    title: type.name,
    description: describe(type, types, may),
    additionalProperties: false,
    required: ['id', 'type', 'payload', ...(bound ? ['requires'] : [])],
    properties: {
      id: { ...name, description: 'A name of your own for this component, no other of the response has it.' },
      type: { const: type.name },
      payload: {
        type: 'object',
        additionalProperties: false,
        required,
        properties: Object.fromEntries(type.payload.map((field) => [field.name, fieldSchema(field)])),
      },
      requires: {
        type: bound ? 'array' : ['array', 'null'],
        items: name,
        ...(bound && { minItems: 1 }),
        maxItems: type.mayRequire.length === 0 ? 0 : PREREQUISITES_MAX,
        description: 'Ids of the components that this one rests on.',
      },
    },
  }
}

function describe(type: ComponentType, types: readonly ComponentType[], may: ReadonlySet<number>): string {
  const isAction = type.kind === Kind.command || type.kind === Kind.setpoint
  const lines = [type.description || `${isAction ? 'action' : KindWords[type.kind]} ${type.name}`]
  const clauses = (when: string, of: readonly Clause[]): void => {
    for (const { name, text } of of) lines.push(`${when}: ${name}: ${oneLine(text)}`)
  }
  clauses('must hold when you answer', type.support)
  clauses('must hold when it is its turn, which an earlier action may bring about', type.gate)
  if (type.requires.length > 0) lines.push(`must require: ${type.requires.map((t) => types[t]!.name).join(', ')}`)
  const allowed = type.mayRequire
    .filter(({ type: t }) => may.has(t))
    .map(({ type: t, phase }) => `${types[t]!.name} (${PhaseWords[phase]})`)
  if (allowed.length > 0) lines.push(`may require: ${allowed.join(', ')}`)
  return lines.join('\n')
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

function fieldSchema(field: PayloadField): Schema {
  const nullable = (type: string) => (field.optional ? [type, 'null'] : type)
  // JSON Schema counts characters; the bound of a text is bytes.
  const bytes = field.maxLength === undefined ? undefined : `at most ${field.maxLength} bytes of UTF-8`
  const said = [field.description, field.unit && `unit: ${field.unit}`, bytes].filter((words) => words !== undefined)
  const description = said.length === 0 ? {} : { description: said.join('; ') }
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
      return { type: nullable('boolean'), ...description }
    case 'enum':
      return { enum: field.optional ? [...field.values!, null] : field.values, ...description }
    case 'string':
      return {
        type: nullable('string'),
        ...(field.maxLength !== undefined && { maxLength: field.maxLength }),
        ...description,
      }
  }
}
