// The topics of PROTOCOL 12, below `halo/v1/<vehicle>`: their names, and what an arriving name means.

/** Topics that stand alone, and those that end with the name of an agent, a field or a verb; a catalog does either. */
const SINGLE = ['status', 'catalog', 'snapshot', 'control', 'notice'] as const
const NAMED = ['catalog', 'response', 'verdict', 'outcome', 'obligation', 'end', 'context', 'operator'] as const

export type SingleTopic = (typeof SINGLE)[number]
export type NamedTopic = (typeof NAMED)[number]

/** `name` is the agent, the context field (dots allowed) or the operator's verb. */
export type Topic = { readonly kind: SingleTopic } | { readonly kind: NamedTopic; readonly name: string }

/** Of a vehicle, an agent, a field or a verb: no level, no wildcard, no control character, nothing long. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/

/** `halo/v1/<vehicle>`; throws where the vehicle's name could not be one level of a topic. */
export function root(vehicle: string): string {
  if (!NAME.test(vehicle))
    throw new RangeError(`vehicle ${JSON.stringify(vehicle)}: must be 1 to 64 of A-Z a-z 0-9 . _ -`)
  return `halo/v1/${vehicle}`
}

/** The name below the root, as a `Publication` carries it. */
export const topicName = (topic: Topic): string => ('name' in topic ? `${topic.kind}/${topic.name}` : topic.kind)

/** What a full topic of this vehicle means; undefined for every other, and for names that nothing could have. */
export function parseTopic(vehicle: string, topic: string): Topic | undefined {
  const prefix = `${root(vehicle)}/`
  if (!topic.startsWith(prefix)) return undefined
  const [kind, name, ...rest] = topic.slice(prefix.length).split('/')
  if (rest.length > 0) return undefined
  if (name === undefined) {
    const single = SINGLE.find((known) => known === kind)
    return single === undefined ? undefined : { kind: single }
  }
  const named = NAMED.find((known) => known === kind)
  return named === undefined || !NAME.test(name) ? undefined : { kind: named, name }
}
