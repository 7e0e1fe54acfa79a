// Rules as data, as a language model writes them under a JSON Schema. They become rule text and go through the one parser, so
// nothing can be said as data that the language does not have (PROTOCOL 13).

import { z } from 'zod'
import { ANY, type Parameter, printRules, type Rule, type Value, type Vocabulary } from '../../src/agentspec/index.ts'
import { json } from './domain.ts'

const NAME = '[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*'
const ID = `^${NAME}$`
const EVENT = `^${NAME}( ${NAME})*$`
const SETTING = `^${NAME}(:${NAME})+$`

const name = z.string().regex(new RegExp(ID), 'must be letters, digits, _ and dots')
const event = z.string().regex(new RegExp(EVENT), 'must be one or more names')
const setting = z.string().regex(new RegExp(SETTING), 'must be names with colons between them')
const asked = z.strictObject({
  predicate: name,
  not: z.boolean().default(false),
  arguments: z.array(z.union([z.number(), z.string()])).default([]),
})
const DECISIONS = ['stop', 'skip', 'none'] as const
const enforcement = z.union(
  [
    z.enum(DECISIONS),
    z.strictObject({ user_inspection: z.string() }),
    z.strictObject({ llm_self_examine: z.string() }),
    z.strictObject({ invoke_action: name, arguments: z.record(z.string(), z.json()).default({}) }),
    z.strictObject({ set: setting, value: z.number() }),
  ],
  'must be one of "stop", "skip", "none", {user_inspection}, {llm_self_examine}, {invoke_action, arguments}, {set, value}',
)
const schema = z.strictObject({
  rules: z.array(
    z.strictObject({
      id: name,
      trigger: z.array(event).min(1),
      check: z
        .array(z.array(z.union([z.boolean(), asked], 'must be {predicate, not, arguments} or a boolean')).min(1))
        .min(1),
      enforce: z.array(enforcement).min(1),
    }),
  ),
})
type Draft = z.output<typeof schema>['rules'][number]
type Json = z.output<ReturnType<typeof z.json>>

/** No rule text begins with a brace. */
export const isDraft = (text: string): boolean => text.trimStart().startsWith('{')

/** The rule text of rules as data. Throws with `file` and the key for what has not their form. */
export function draftText(text: string, file: string): string {
  const parsed = schema.safeParse(json(text, file))
  if (parsed.success) return printRules(parsed.data.rules.map(ruleOf))
  const lines = parsed.error.issues.map(({ path, message }) => `${file}: ${path.join('.') || 'rules'}: ${message}`)
  throw new Error(lines.join('\n'))
}

/** It is printed only, and its places are those of the print. */
const at = { file: '', line: 1, column: 1 }

function ruleOf({ id, trigger, check, enforce }: Draft): Rule {
  return {
    id,
    triggers: trigger.map((word) => ({ event: word, at })),
    check: check.map((alternative) =>
      alternative.map((literal) =>
        typeof literal === 'boolean'
          ? { kind: 'constant', value: literal, at }
          : { kind: 'predicate', negated: literal.not, name: literal.predicate, arguments: literal.arguments, at },
      ),
    ),
    enforcements: enforce.map((entry): Rule['enforcements'][number] => {
      if (typeof entry === 'string') return { kind: entry, at }
      if ('set' in entry) return { kind: 'assign', setting: entry.set, value: entry.value, at }
      if ('invoke_action' in entry) {
        return { kind: 'invoke_action', action: entry.invoke_action, arguments: mapOf(entry.arguments), at }
      }
      return 'user_inspection' in entry
        ? { kind: 'user_inspection', message: entry.user_inspection, at }
        : { kind: 'llm_self_examine', message: entry.llm_self_examine, at }
    }),
    at,
  }
}

const mapOf = (record: { readonly [key: string]: Json }) => ({
  kind: 'map' as const,
  entries: Object.entries(record).map(([key, value]) => [key, argumentOf(value)] as const),
})

function argumentOf(value: Json): Value {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(argumentOf) }
  return typeof value === 'object' && value !== null ? mapOf(value) : { kind: 'scalar', value }
}

/**
 * JSON Schema (draft 2020-12) of rules as data. With a vocabulary it allows its names only, so a model that is held to the
 * schema cannot ask for a predicate that is not there.
 */
export function draftSchema(vocabulary: Vocabulary | undefined): unknown {
  const object = (properties: Record<string, unknown>, optional: readonly string[] = []) => ({
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties).filter((key) => !optional.includes(key)),
    properties,
  })
  const list = (items: unknown) => ({ type: 'array', minItems: 1, items })
  const word = (names: readonly string[] | undefined, pattern: string) =>
    names === undefined ? { type: 'string', pattern } : { enum: names }
  const literals =
    vocabulary === undefined
      ? [
          object({ predicate: word(undefined, ID), not: { type: 'boolean' }, arguments: { type: 'array' } }, [
            'not',
            'arguments',
          ]),
        ]
      : Object.entries(vocabulary.predicates).map(([predicate, { parameters = [] }]) =>
          object({ predicate: { const: predicate }, not: { type: 'boolean' }, ...argumentsOf(parameters) }, ['not']),
        )
  const invocable = vocabulary?.invocable
  const settings = vocabulary?.settings
  const text = { type: 'string', description: 'What the person or the model is told.' }
  const rule = object({
    id: { type: 'string', pattern: ID },
    trigger: list(word(vocabulary && [...vocabulary.events, ANY, ...vocabulary.actions], EVENT)),
    check: {
      ...list(list({ anyOf: [{ type: 'boolean' }, ...literals] })),
      description: 'Alternatives: true where every entry of one of them is.',
    },
    enforce: list({
      anyOf: [
        { enum: DECISIONS },
        object({ user_inspection: text }),
        object({ llm_self_examine: text }),
        ...(invocable?.length === 0
          ? []
          : [object({ invoke_action: word(invocable, ID), arguments: { type: 'object' } }, ['arguments'])]),
        ...(settings?.length === 0 ? [] : [object({ set: word(settings, SETTING), value: { type: 'number' } })]),
      ],
    }),
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'AgentSpec rules',
    ...object({ rules: { type: 'array', items: rule } }),
  }
}

function argumentsOf(parameters: readonly Parameter[]): Record<string, unknown> {
  if (parameters.length === 0) return {}
  const prefixItems = parameters.map(({ name, type }) => ({ type, title: name }))
  return { arguments: { type: 'array', prefixItems, minItems: parameters.length, maxItems: parameters.length } }
}
