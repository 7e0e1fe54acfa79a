// A catalog as it is published: what an agent may say, and whether that and the picture of the world have room in their
// messages (PROTOCOL 12).

import { Kind, type Phase, PhaseWords } from '../../build/abi.ts'
import { bytesOf } from '../wire/write.ts'
import type { Agent, Catalog, Clause, ComponentType, PayloadField, StateField } from './catalog.ts'
import { REMEDIES } from './remedy.ts'

/** Of every message that HALO publishes. */
export const MESSAGE_BYTES_MAX = 65_536
/** Of a snapshot for the state alone; the rest is for what the agents have under way. */
const STATE_BYTES_MAX = 32_768

/** The value of the retained `catalog` message: everything that anybody may say, for people and their tools. */
export function catalogValue(catalog: Catalog, environment: string): unknown {
  const every = new Set(catalog.types.keys())
  return {
    v: 1,
    environment,
    agents: Object.fromEntries(
      catalog.agents.map(({ name, may, rate }) => [name, { may: [...may].map((type) => nameOf(catalog, type)), rate }]),
    ),
    types: typesOf(catalog, every),
  }
}

/**
 * The value of an agent's retained `catalog/<agent>` message: all that it needs to know of what it may say, and nothing of what
 * others may. `schema` is for the language model behind it, `reasons` says what to do about each answer.
 */
export function agentCatalogValue(catalog: Catalog, agent: Agent, environment: string): unknown {
  const { name, may, rate, schema } = agent
  const types = typesOf(catalog, may)
  return {
    v: 1,
    environment,
    agent: name,
    rate,
    max_age_ms: catalog.evidenceMaxAge_ms,
    types,
    schema,
    reasons: REMEDIES,
  }
}

const nameOf = ({ types }: Catalog, type: number): string => types[type]!.name

/** Of these types what a response needs, in the order of the catalog; prerequisites of other types are left out. */
function typesOf(catalog: Catalog, told: ReadonlySet<number>): unknown {
  const clauses = (of: readonly Clause[]) => Object.fromEntries(of.map(({ name, text }) => [name, text]))
  const type = (t: ComponentType) => ({
    kind: kindWord(t.kind),
    description: t.description,
    payload: Object.fromEntries(t.payload.map((field) => [field.name, fieldValue(field)])),
    requires: t.requires.map((required) => nameOf(catalog, required)),
    may_require: Object.fromEntries(
      t.mayRequire.flatMap((r) => (told.has(r.type) ? [[nameOf(catalog, r.type), phaseWord(r.phase)]] : [])),
    ),
    support: clauses(t.support),
    gate: clauses(t.gate),
  })
  return Object.fromEntries(catalog.types.flatMap((t, i) => (told.has(i) ? [[t.name, type(t)]] : [])))
}

const fieldValue = (field: PayloadField) => ({
  type: field.kind,
  description: field.description,
  unit: field.unit,
  min: field.min,
  max: field.max,
  max_length: field.maxLength,
  values: field.values,
  optional: field.optional || undefined,
})

/** What has no room in its message, in words; undefined where all has. */
export function excessOf(
  catalog: Catalog,
): { readonly section: 'components' | 'state'; readonly problem: string } | undefined {
  const environment = '0'.repeat(64)
  const messages: readonly (readonly [topic: string, value: unknown])[] = [
    ['catalog', catalogValue(catalog, environment)],
    ...catalog.agents.map(
      (agent) => [`catalog/${agent.name}`, agentCatalogValue(catalog, agent, environment)] as const,
    ),
  ]
  for (const [topic, value] of messages) {
    const bytes = bytesOf(value)
    if (bytes <= MESSAGE_BYTES_MAX) continue
    const how = 'shorten descriptions and clauses, or declare fewer types'
    return {
      section: 'components',
      problem: `make a \`${topic}\` message of ${bytes} bytes, at most ${MESSAGE_BYTES_MAX}: ${how}`,
    }
  }
  const state = catalog.fields.filter(({ declared }) => declared).reduce((sum, field) => sum + widest(field), 0)
  if (state <= STATE_BYTES_MAX) return undefined
  const problem = `makes ${state} bytes of a \`snapshot\`, at most ${STATE_BYTES_MAX}: declare fewer fields, or shorter names`
  return { section: 'state', problem }
}

/** What a field can take of a snapshot. */
function widest({ name, members, continuous }: StateField): number {
  const value = Math.max(9, ...(members ?? []).map(bytesOf))
  return bytesOf(name) + value + (continuous ? 0 : bytesOf(name) + 9)
}

export const phaseWord = (phase: Phase): string => PhaseWords[phase]!

/** Agents know one kind of action; whether it crosses as a command or as setpoints is the catalog's business. */
export function kindWord(kind: Kind): string {
  switch (kind) {
    case Kind.notice:
      return 'notice'
    case Kind.report:
      return 'report'
    case Kind.request:
      return 'request'
    case Kind.handoff:
      return 'handoff'
    default:
      return 'action'
  }
}
