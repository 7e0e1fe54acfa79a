// A catalog as it is published: what an agent may say, and whether that and the picture of the world have room in their
// messages (PROTOCOL 12).

import { Kind, type Phase, PhaseWords } from '../../build/abi.ts'
import { bytesOf } from '../wire/write.ts'
import type { Catalog, StateField } from './catalog.ts'

/** Of every message that HALO publishes. */
export const MESSAGE_BYTES_MAX = 65_536
/** Of a snapshot for the state alone; the rest is for what the agents have under way. */
const STATE_BYTES_MAX = 32_768

/** The value of the retained `catalog` message: what an agent may say. */
export function catalogValue(catalog: Catalog, environment: string): unknown {
  const name = (type: number): string => catalog.types[type]!.name
  const clause = ({ name, text }: { name: string; text: string }) => [name, text]
  return {
    v: 1,
    environment,
    agents: Object.fromEntries(catalog.agents.map((a) => [a.name, { may: [...a.may].map(name), rate: a.rate }])),
    types: Object.fromEntries(
      catalog.types.map((t) => [
        t.name,
        {
          kind: kindWord(t.kind),
          description: t.description,
          payload: Object.fromEntries(
            t.payload.map((f) => [
              f.name,
              {
                type: f.kind,
                unit: f.unit,
                min: f.min,
                max: f.max,
                max_length: f.maxLength,
                values: f.values,
                optional: f.optional || undefined,
              },
            ]),
          ),
          requires: t.requires.map(name),
          may_require: Object.fromEntries(t.mayRequire.map((r) => [name(r.type), phaseWord(r.phase)])),
          clauses: Object.fromEntries([...t.support, ...t.gate].map(clause)),
        },
      ]),
    ),
    schema: catalog.schema,
  }
}

/** What has no room in its message, in words; undefined where all has. */
export function excessOf(
  catalog: Catalog,
): { readonly section: 'components' | 'state'; readonly problem: string } | undefined {
  const bytes = bytesOf(catalogValue(catalog, '0'.repeat(64)))
  if (bytes > MESSAGE_BYTES_MAX) {
    const how = 'shorten descriptions and clauses, or declare fewer types'
    return {
      section: 'components',
      problem: `make a \`catalog\` message of ${bytes} bytes, at most ${MESSAGE_BYTES_MAX}: ${how}`,
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
