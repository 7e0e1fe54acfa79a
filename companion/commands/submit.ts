// `halo submit`: says a response as an agent would, and follows what becomes of it (PROTOCOL 4, 12).

import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { readText } from '../machine/file.ts'
import { type Broker, connectGround, decode } from './ground.ts'
import { Progress } from './progress.ts'

export interface SubmitOptions {
  /** JSON: a response of PROTOCOL 4. `v`, `response`, `generation` and `snapshot` are filled in where they are missing. */
  readonly file: string
  readonly agent: string
  /** How long to follow it, ms. */
  readonly timeout_ms: number
  /** It is followed to its end; otherwise to its verdict. */
  readonly wait: boolean
}

/** What a shell says of a command that Ctrl-C ended. */
const INTERRUPTED = 130

/** How long a companion may take to show itself, ms: what is needed of it is retained. */
const PRESENCE_MS = 5_000

/** Only what is needed to follow it is checked: the judge of the rest is the companion. */
const draftSchema = z.looseObject({ components: z.array(z.looseObject({ id: z.string(), type: z.string() })).min(1) })

const retained = {
  status: z.looseObject({ status: z.literal('online') }),
  snapshot: z.looseObject({
    snapshot: z.string(),
    agents: z.record(z.string(), z.looseObject({ generation: z.number() })),
  }),
  catalog: z.looseObject({
    agents: z.record(z.string(), z.unknown()),
    types: z.record(z.string(), z.looseObject({ kind: z.string() })),
  }),
}

/**
 * Exit code: 0 where all of it was retained and, if it is followed, completed; otherwise 2 (withheld, failed, not ended in time),
 * or 130 after Ctrl-C. Rejects where the file, the broker, the companion or the agent cannot be had.
 */
export async function submit(broker: Broker, options: SubmitOptions, print: (line: string) => void): Promise<number> {
  const { agent, timeout_ms, wait } = options
  const draft = readDraft(options.file)
  const { promise: present, resolve: showed } = deferred<true>()
  const { promise: ended, resolve: finish } = deferred<number>()
  const { promise: interrupted, resolve: interrupt } = deferred<number>()
  const onInterrupt = (): void => interrupt(INTERRUPTED)
  const heard = new Map<string, unknown>()
  // A verdict can overtake the broker's acknowledgement of what it answers: what comes before that waits here.
  const early: [topic: string, value: unknown][] = []
  let progress: Progress | undefined

  const follow = (topic: string, value: unknown): void => {
    const code = progress!.hear(topic, value)
    if (code !== undefined) finish(code)
    else if (!wait && progress!.retainedAll !== undefined) finish(progress!.retainedAll ? 0 : 2)
  }
  const read = <K extends keyof typeof retained>(topic: K) =>
    retained[topic].safeParse(heard.get(topic)).data as z.output<(typeof retained)[K]> | undefined

  const named = ['verdict', 'outcome', 'obligation'].map((topic) => `${topic}/${agent}`)
  const ground = await connectGround(broker, [...Object.keys(retained), 'notice', ...named], ({ topic, bytes }) => {
    const value = decode(bytes)
    if (topic in retained) heard.set(topic, value)
    if (read('status') && read('snapshot') && read('catalog')) showed(true)
    if (progress !== undefined) follow(topic, value)
    else if (!(topic in retained)) early.push([topic, value])
  })
  process.on('SIGINT', onInterrupt)
  try {
    const found = await inTime(PRESENCE_MS, Promise.race([present, ground.lost, interrupted]))
    if (found === INTERRUPTED) return INTERRUPTED
    if (found === undefined) {
      const { status } = (heard.get('status') ?? { status: 'none' }) as { status?: unknown }
      throw new Error(`vehicle ${broker.vehicle}: no companion is online there (status: ${status})`)
    }
    const { types, agents: known } = read('catalog')!
    const { snapshot, agents } = read('snapshot')!
    if (!Object.hasOwn(known, agent)) {
      const names = Object.keys(known).join(', ')
      throw new Error(`agent ${agent}: the catalog of vehicle ${broker.vehicle} has none of that name; it has ${names}`)
    }
    const bytes = await ground.say(`response/${agent}`, {
      v: 1,
      response: `submit-${randomBytes(6).toString('hex')}`,
      generation: (agents[agent]?.generation ?? 0) + 1,
      snapshot,
      ...draft,
    })
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
    const typeOf = new Map(draft.components.map(({ id, type }) => [id, type]))
    progress = new Progress(digest, (component) => types[typeOf.get(component) ?? '']?.kind, print)
    for (const [topic, value] of early) follow(topic, value)
    const code = await inTime(timeout_ms, Promise.race([ended, ground.lost, interrupted]))
    if (code === INTERRUPTED && progress.open !== undefined) {
      print(
        `what was retained goes on: \`halo operator revoke ${agent}\` ends it, \`halo operator pause\` stops all that flies`,
      )
    }
    if (code !== undefined) return code
    print(progress.open === undefined ? 'no verdict in time' : `not ended in time: ${progress.open.join(', ')}`)
    return 2
  } finally {
    process.off('SIGINT', onInterrupt)
    await ground.end()
  }
}

function readDraft(file: string): z.output<typeof draftSchema> {
  const text = readText('response', file)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
  const parsed = draftSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(`${file}: ${issue!.path.join('.') || 'response'}: ${issue!.message}`)
}

function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** The promise's value, or undefined once `time_ms` have passed. */
async function inTime<T>(time_ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), time_ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
