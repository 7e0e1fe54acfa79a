// What the rules of a domain may speak about: a vocabulary.json, with or without a module of predicates, or the catalog of a
// companion (PROTOCOL 13).

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import {
  checkRules,
  EVENTS,
  type HostPredicate,
  type Predicate,
  parseRules,
  type Rule,
  type Variable,
  type Vocabulary,
} from '../../src/agentspec/index.ts'
import { ENUMERATIONS } from '../../src/autopilot/profile.ts'
import type { Catalog, StateField } from '../../src/catalog/catalog.ts'
import { INVOCABLE, Policy, type RuleFile } from '../../src/engine/rules/policy.ts'
import { loadConfig, readCatalog } from '../config.ts'
import { readText } from '../machine/file.ts'

export interface Domain {
  readonly vocabulary: Vocabulary
  /** What predicates mean, in a sentence, where somebody wrote one. */
  readonly about: Readonly<Record<string, string>>
  /** All rules of the files, as the host would take them. Throws RuleError. */
  check(files: readonly RuleFile[]): readonly Rule[]
}

export interface DomainOptions {
  readonly vocabulary?: string
  readonly config?: string
  /** A module that exports `predicates`: it is run, so it is trusted. */
  readonly predicates?: string
}

/** The domain that the options name; undefined where they name none. Throws where it is wrong or cannot be read. */
export async function readDomain({ vocabulary, config, predicates }: DomainOptions): Promise<Domain | undefined> {
  if (vocabulary !== undefined && config !== undefined) throw new Error('give either --vocabulary or --config')
  if (config !== undefined) {
    if (predicates !== undefined) throw new Error('--predicates goes with --vocabulary: a catalog names its own')
    return ofCatalog(readCatalog(loadConfig(config)))
  }
  if (vocabulary === undefined) {
    if (predicates !== undefined) throw new Error('--predicates needs --vocabulary')
    return undefined
  }
  const host = predicates === undefined ? {} : await readPredicates(predicates)
  return ofVocabulary(readText('vocabulary', vocabulary), vocabulary, host)
}

const NAME = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/
const name = z.string().regex(NAME, 'must be letters, digits, _ and dots')
const action = z.string().regex(/^[A-Za-z_][\w.]*( [A-Za-z_][\w.]*)*$/, 'must be one or more names')
const members = z.array(z.string()).min(1)
const variable = z.union(
  [z.enum(['number', 'boolean']), members],
  'must be "number", "boolean" or a list of its values',
)
const field = z.union(
  [z.enum(['number', 'boolean', 'string']), members],
  'must be "number", "boolean", "string" or a list of its values',
)
const schema = z.strictObject({
  events: z.array(z.enum(EVENTS)).min(1),
  actions: z.array(action).default([]),
  predicates: z
    .record(
      name,
      z.strictObject({ about: z.string().default(''), parameters: z.array(name).default([]), clause: z.string() }),
    )
    .default({}),
  invocable: z.array(name).default([]),
  settings: z.array(z.string()).default([]),
  state: z.record(name, variable).default({}),
  payload: z.record(name, field).default({}),
  gate: z.boolean().default(true),
})

/** A host predicate, and what it means. */
export type ToldPredicate = HostPredicate & { readonly about?: string }

/** `file` is what messages call it. */
export function ofVocabulary(text: string, file: string, host: Readonly<Record<string, ToldPredicate>>): Domain {
  const parsed = schema.safeParse(json(text, file))
  if (!parsed.success) {
    const lines = parsed.error.issues.map(
      ({ path, message }) => `${file}: ${path.join('.') || 'vocabulary'}: ${message}`,
    )
    throw new Error(lines.join('\n'))
  }
  const { predicates: clauses, ...rest } = parsed.data
  const twice = Object.keys(host).find((predicate) => Object.hasOwn(clauses, predicate))
  if (twice !== undefined) throw new Error(`${file}: predicate \`${twice}\` is a clause here and a function there`)
  const written = Object.entries(clauses).map(([predicate, { parameters, clause }]): [string, Predicate] => [
    predicate,
    { parameters: parameters.map((parameter) => ({ name: parameter, type: 'number' })), clause },
  ])
  const vocabulary: Vocabulary = { ...rest, predicates: { ...Object.fromEntries(written), ...host } }
  const told = [...Object.entries(clauses), ...Object.entries(host)]
  const about = Object.fromEntries(told.flatMap(([key, { about: text }]) => (text ? [[key, text]] : [])))
  return { vocabulary, about, check: (files) => checkRules(parseAll(files), vocabulary).rules }
}

const parseAll = (files: readonly RuleFile[]): Rule[] => files.flatMap(({ file, text }) => parseRules(text, file))

/**
 * The catalog's types and predicates. The companion's own policy checks the rules; to judge recorded steps, where no core is
 * and nothing grows old, the predicates are read as clauses of recorded values. `age`, `cited` and constants have none.
 */
export function ofCatalog(catalog: Catalog): Domain {
  const declared = catalog.fields.filter(({ declared }) => declared)
  const payload = catalog.types.flatMap((type) =>
    type.payload.map((slot) => [slot.name, slot.values ?? kindOf(slot.kind)]),
  )
  const vocabulary: Vocabulary = {
    events: EVENTS,
    actions: catalog.types.map(({ name }) => name),
    predicates: Object.fromEntries(catalog.predicates.map(({ name, text }) => [name, { clause: quoted(text) }])),
    invocable: INVOCABLE,
    settings: [],
    state: Object.fromEntries(declared.map((field) => [field.name, typeOf(field)])),
    payload: Object.fromEntries(payload),
    gate: true,
  }
  const check = (files: readonly RuleFile[]): readonly Rule[] => {
    new Policy(files, catalog)
    return parseAll(files)
  }
  return { vocabulary, about: {}, check }
}

const kindOf = (kind: string): Variable => (kind === 'boolean' || kind === 'string' ? kind : 'number')
const typeOf = ({ type, members }: StateField) => members ?? (type === 'boolean' ? 'boolean' : 'number')

/** Members of the profile's enumerations, `mode.HOLD`, as the recorded steps have them: `"HOLD"`. */
function quoted(clause: string): string {
  const enumerations = Object.keys(ENUMERATIONS).join('|')
  return clause.replace(new RegExp(`(?<![\\w."])(?:${enumerations})\\.([A-Z_]+)\\b`, 'g'), '"$1"')
}

/** Throws where the module has no `predicates` of the right form. */
async function readPredicates(file: string): Promise<Readonly<Record<string, ToldPredicate>>> {
  const module = (await import(pathToFileURL(resolve(file)).href)) as { predicates?: unknown }
  const { predicates } = module
  if (typeof predicates !== 'object' || predicates === null) throw new Error(`${file}: exports no \`predicates\``)
  for (const [key, predicate] of Object.entries(predicates)) {
    const { parameters, test } = (predicate ?? {}) as Partial<HostPredicate>
    if (!NAME.test(key) || !Array.isArray(parameters) || typeof test !== 'function') {
      throw new Error(`${file}: predicate \`${key}\` must be {parameters, test}`)
    }
  }
  return predicates as Readonly<Record<string, ToldPredicate>>
}

/** Throws with the file's name. */
export function json(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
}
