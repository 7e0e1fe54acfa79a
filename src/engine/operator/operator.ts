// What the operator says: `operator/<verb>` messages (PROTOCOL 10).

import type { Catalog } from '../../catalog/catalog.ts'
import { read, type ValueMap } from '../../wire/read.ts'
import { clipped } from '../plan/message.ts'
import type { Session } from '../session.ts'
import type { Consent, Consents } from './consent.ts'
import type { Control } from './control.ts'

export type Order =
  /** A pause that is not well-formed holds all the same; `flaw` says what is wrong with it. */
  | { readonly verb: 'pause'; readonly flaw: string | undefined }
  | { readonly verb: 'resume' | 'restart' }
  | { readonly verb: 'revoke' | 'restore'; readonly agent: string }
  | { readonly verb: 'clear'; readonly type: string }
  | { readonly verb: 'approve' | 'refuse'; readonly consent: Consent }

/** Of a name. */
const BY_BYTES_MAX = 64

/** What a verb is about, beside the counter. */
const ABOUT: Readonly<Partial<Record<Order['verb'], string>>> = {
  restore: 'agent',
  clear: 'type',
  approve: 'consent',
  refuse: 'consent',
}

const VERBS = ['pause', 'resume', 'revoke', 'restore', 'clear', 'restart', 'approve', 'refuse'] as const

/**
 * The order, or in words why it is refused. What only stops is taken whatever its counter: a pause in any form at all, and a
 * revocation. For the others `after` must be the counter as it is: a stale or replayed verb undoes nothing.
 */
export function readOrder(
  catalog: Catalog,
  session: Session,
  control: Control,
  consents: Consents,
  message: { readonly verb: string; readonly bytes: Uint8Array; readonly retained: boolean },
): Order | string {
  const verb = VERBS.find((known) => known === message.verb)
  if (message.retained) return 'retained_message'
  if (verb === undefined) return `unknown verb, must be one of ${VERBS.join(', ')}`
  const said = readMap(message.bytes)
  if (verb === 'pause') return { verb, flaw: typeof said === 'string' ? said : undefined }
  if (typeof said === 'string') return said
  const { map } = said
  if (verb === 'revoke') return agentOf(session, map, verb)
  const misfit = misfitOf(verb, map)
  if (misfit !== undefined) return `malformed: ${misfit}`
  if (map.get('session') !== session.id) return 'session_changed'
  if (map.get('after') !== control.n) return `operator_conflict: after must be ${control.n}`
  if (verb === 'restore') return agentOf(session, map, verb)
  if (verb === 'approve' || verb === 'refuse') {
    const consent = consents.find(map.get('consent') as string)
    return consent === undefined ? 'operator_conflict: no such consent is pending' : { verb, consent }
  }
  if (verb !== 'clear') return { verb }
  const type = map.get('type') as string
  // What is uncertain may be of a type that the catalog of before had.
  const known = [...catalog.types.map(({ name }) => name), ...control.intents.uncertain]
  return known.includes(type) ? { verb, type } : 'unknown_type'
}

/** What the log says of an order: of an answer all that the person was shown. */
export function orderWords(order: Order): Readonly<Record<string, unknown>> {
  if (!('consent' in order)) return order
  return { verb: order.verb, ...order.consent.words }
}

/** Who says that he says it, cut: MQTT does not tell. It stands in the log, and nothing is decided by it. */
export function sayerOf(bytes: Uint8Array): string | undefined {
  const said = bytes.length === 0 ? undefined : read(bytes)
  const by = said !== undefined && 'map' in said ? said.map.get('by') : undefined
  return typeof by === 'string' ? clipped(by, BY_BYTES_MAX) : undefined
}

function readMap(bytes: Uint8Array): { readonly map: ValueMap } | string {
  if (bytes.length === 0) return 'malformed: it is empty'
  const decoded = read(bytes)
  if (!('map' in decoded)) return `malformed: byte ${decoded.offset}: ${decoded.problem}`
  return decoded.map.get('v') === 1 ? decoded : 'malformed: v: must be 1'
}

/** The key that is missing, of the wrong type or none of this verb's, and what it must be: what loosens is read to the letter. */
function misfitOf(verb: Order['verb'], map: ValueMap): string | undefined {
  const about = ABOUT[verb]
  const types = new Map([
    ['session', 'string'],
    ['after', 'number'],
    ...(about === undefined ? [] : [[about, 'string'] as const]),
  ])
  for (const [key, type] of types) if (typeof map.get(key) !== type) return `${key}: must be a ${type}`
  if (!['undefined', 'string'].includes(typeof (map.get('by') ?? undefined))) return 'by: must be a string'
  const unknown = [...map.keys()].find((key) => key !== 'v' && key !== 'by' && !types.has(key))
  return unknown && `${clipped(unknown)}: no key of operator/${verb}`
}

function agentOf(session: Session, map: ValueMap, verb: 'revoke' | 'restore'): Order | string {
  const agent = map.get('agent')
  return typeof agent === 'string' && session.speakers.has(agent) ? { verb, agent } : 'unknown_agent'
}
