// A response of an agent: what its bytes say, once, at the edge (PROTOCOL 4). Nothing in it is trusted or judged here.

import { hash } from 'node:crypto'
import {
  CANDIDATES_MAX,
  PAYLOAD_BYTES_MAX,
  PREREQUISITES_MAX,
  RESPONSE_BYTES_MAX,
  RESPONSE_EDGES_MAX,
} from '../../build/abi.ts'
import { read, type Value, type ValueMap } from './read.ts'
import { Measure, quoted } from './scan.ts'

export interface Response {
  readonly response: string
  readonly generation: number
  readonly snapshot: string
  /** The starting response of the plan whose obligations it answers. */
  readonly recovers: string | undefined
  readonly components: readonly Component[]
}

export interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Payload
  readonly requires: readonly string[]
}

/** The present fields by name; the catalog gives them their types (`payload.ts`). NaN is a number beyond the profile. */
export type Payload = ReadonlyMap<string, number | boolean | string>

/** What an unreadable response says of itself, as far as that has the right form: for its verdict only. */
export interface Claimed {
  readonly response?: string
  readonly generation?: number
}

export type ReadResponse =
  | { readonly response: Response }
  | { readonly reason: 'too_large' | 'malformed'; readonly detail: string; readonly claimed: Claimed | undefined }

const NAME = /^[A-Za-z0-9._-]{1,64}$/
const RESPONSE_KEYS: ReadonlySet<string> = new Set([
  'v',
  'response',
  'generation',
  'snapshot',
  'recovers',
  'components',
])
const COMPONENT_KEYS: ReadonlySet<string> = new Set(['id', 'type', 'payload', 'requires'])

/** Depth of a component's values: the response, its array, the component. */
const COMPONENT_DEPTH = 3

/**
 * Reads one packet (PROTOCOL 4, G5): `too_large` before `malformed`, both before anything else is known of the agent. The
 * bounds on what is inside are judged once the bytes keep the profile. Never throws.
 */
export function readResponse(bytes: Uint8Array): ReadResponse {
  if (bytes.length > RESPONSE_BYTES_MAX) {
    // How many there were nobody may know: what is too long is cut before it is read whole.
    return { reason: 'too_large', detail: `more than ${RESPONSE_BYTES_MAX} bytes`, claimed: undefined }
  }
  const payload = new Measure('payload', COMPONENT_DEPTH)
  const scanned = read(bytes, payload)
  if (!('map' in scanned)) {
    return { reason: 'malformed', detail: `byte ${scanned.offset}: ${scanned.problem}`, claimed: undefined }
  }
  const excess = tooLarge(scanned.map, payload.bytes)
  if (excess !== undefined) return { reason: 'too_large', detail: excess, claimed: claimed(scanned.map) }
  const shaped = shape(scanned.map)
  if (typeof shaped === 'string') return { reason: 'malformed', detail: shaped, claimed: claimed(scanned.map) }
  return { response: shaped }
}

/**
 * SHA-256 of the received bytes, hex; the wire's `digest` is its first 16 digits (PROTOCOL 12). Of more than a response may have
 * it is that of the beginning, with one byte too many.
 */
export function packetDigest(bytes: Uint8Array): string {
  return hash('sha256', bytes.subarray(0, RESPONSE_BYTES_MAX + 1), 'hex')
}

function tooLarge(map: ValueMap, payloadBytes: number): string | undefined {
  const components = map.get('components')
  if (!isArray(components)) return undefined
  if (components.length > CANDIDATES_MAX) return `${components.length} components, at most ${CANDIDATES_MAX}`
  let edges = 0
  for (const [i, component] of components.entries()) {
    const requires = component instanceof Map ? component.get('requires') : undefined
    if (!isArray(requires)) continue
    edges += requires.length
    if (requires.length > PREREQUISITES_MAX) {
      return `components[${i}]: ${requires.length} prerequisites, at most ${PREREQUISITES_MAX}`
    }
  }
  if (edges > RESPONSE_EDGES_MAX) return `${edges} prerequisites in all, at most ${RESPONSE_EDGES_MAX}`
  if (payloadBytes > PAYLOAD_BYTES_MAX) return `a payload of ${payloadBytes} bytes, at most ${PAYLOAD_BYTES_MAX}`
  return undefined
}

function claimed(map: ValueMap): Claimed {
  const response = map.get('response')
  const generation = map.get('generation')
  return {
    ...(isName(response) ? { response } : {}),
    ...(isGeneration(generation) ? { generation } : {}),
  }
}

/** The response, or in words what is wrong with its form. */
function shape(map: ValueMap): Response | string {
  const unknown = unknownKey(map, RESPONSE_KEYS)
  if (unknown !== undefined) return `unknown key ${quoted(unknown)}`
  if (map.get('v') !== 1) return 'v: must be 1'
  const response = map.get('response')
  if (!isName(response)) return 'response: must be 1 to 64 of A-Z a-z 0-9 . _ -'
  const generation = map.get('generation')
  if (!isGeneration(generation)) return 'generation: must be an integer from 1 to 2^53-1'
  const snapshot = map.get('snapshot')
  if (typeof snapshot !== 'string') return 'snapshot: must be a text'
  const recovers = map.get('recovers') ?? undefined
  if (recovers !== undefined && typeof recovers !== 'string') return 'recovers: must be a text'
  const entries = map.get('components')
  if (!isArray(entries) || entries.length === 0) return 'components: must be an array of at least one'
  const components: Component[] = []
  for (const [i, entry] of entries.entries()) {
    const component = shapeComponent(entry)
    if (typeof component === 'string') return `components[${i}]${component}`
    components.push(component)
  }
  return { response, generation, snapshot, recovers, components }
}

/** Compared one with another only where they are few. */
function namesTwice(ids: readonly string[]): boolean {
  return ids.length > 8 ? new Set(ids).size < ids.length : ids.some((id, i) => ids.indexOf(id) < i)
}

function shapeComponent(entry: Value): Component | string {
  if (!(entry instanceof Map)) return ': must be a map'
  const unknown = unknownKey(entry, COMPONENT_KEYS)
  if (unknown !== undefined) return `: unknown key ${quoted(unknown)}`
  const id = entry.get('id')
  if (!isName(id)) return '.id: must be 1 to 64 of A-Z a-z 0-9 . _ -'
  const type = entry.get('type')
  if (typeof type !== 'string') return '.type: must be a text'
  if (!entry.has('payload')) return '.payload: missing; {} where there is nothing to say'
  const payload = shapePayload(entry.get('payload'))
  if (typeof payload === 'string') return `.payload${payload}`
  const requires = entry.get('requires') ?? []
  if (!isArray(requires) || !requires.every((id) => typeof id === 'string'))
    return '.requires: must be an array of texts'
  if (namesTwice(requires)) return '.requires: names one twice'
  return { id, type, payload, requires }
}

function shapePayload(value: Value | undefined): Payload | string {
  if (!(value instanceof Map)) return ': must be a map'
  // The decoded map is nobody else's: what it may not keep is taken out of it.
  const payload: Map<string, Value> = value
  for (const [name, field] of payload) {
    if (field === null)
      payload.delete(name) // absent
    else if (typeof field === 'object') return `.${quoted(name)}: must be a number, a boolean or a text`
    else if (field === 0) payload.set(name, 0) // no negative zero
  }
  return payload as Payload
}

const unknownKey = (map: ValueMap, known: ReadonlySet<string>): string | undefined => {
  for (const key of map.keys()) if (!known.has(key)) return key
  return undefined
}
const isArray = (value: Value | undefined): value is readonly Value[] => Array.isArray(value)
const isName = (value: Value | undefined): value is string => typeof value === 'string' && NAME.test(value)
const isGeneration = (value: Value | undefined): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 1
