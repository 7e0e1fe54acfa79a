// What becomes of one response, told in lines for a person (PROTOCOL 5, 9, 12).

import { z } from 'zod'

/** What the companion publishes, as far as it is told here. */
const word = z.coerce.string().optional()
const why = { reason: word, detail: word, cause: word }
const verdict = z.looseObject({
  digest: z.string(),
  accepted: z.boolean(),
  plan: z.string().default(''),
  generation: z.number().default(0),
  ...why,
  components: z
    .array(z.looseObject({ id: z.string(), decision: z.string(), obligation: z.string().optional(), ...why }))
    .default([]),
})
const outcome = z.looseObject({
  plan: z.string(),
  component: z.string(),
  generation: z.number(),
  phase: z.string(),
  ...why,
})
const obligation = z.looseObject({
  closed: z.string().optional(),
  ...why,
  obligation: z
    .looseObject({
      id: z.string(),
      plan: z.string(),
      component: z.string(),
      condition: z.string().optional(),
      scope: z.array(z.looseObject({ id: z.string() })),
      route: z.string(),
      ...why,
    })
    .optional(),
})
const notice = z.looseObject({
  plan: z.string(),
  component: z.string(),
  kind: z.string(),
  text: z.string().optional(),
  fields: z.unknown().optional(),
  consent: z.string().optional(),
})
const status = z.looseObject({ status: z.string() })

const ENDED: ReadonlySet<string> = new Set(['withheld', 'blocked', 'failed', 'expired', 'superseded', 'uncertain'])

/** A response that has been published: its `digest` finds the verdict, the verdict's plan and generation the rest. */
export class Progress {
  readonly #digest: string
  readonly #kindOf: (component: string) => string | undefined
  readonly #print: (line: string) => void
  readonly #open = new Set<string>()
  readonly #obligations = new Set<string>()
  #verdict: z.output<typeof verdict> | undefined
  #clean = true

  /** `kindOf` names the kind of the response's components: it says which phase is the last (PROTOCOL 3, Phases). */
  constructor(digest: string, kindOf: (component: string) => string | undefined, print: (line: string) => void) {
    this.#digest = digest
    this.#kindOf = kindOf
    this.#print = print
  }

  /** Retained components that have not come to an end; undefined before the verdict. */
  get open(): readonly string[] | undefined {
    return this.#verdict && [...this.#open]
  }

  /** Nothing was withheld; undefined before the verdict. */
  get retainedAll(): boolean | undefined {
    return this.#verdict?.components.every(({ decision }) => decision === 'retained')
  }

  /**
   * One message below the vehicle's root. Once nothing more is to come it gives the exit code: 0 where everything was
   * retained and completed, otherwise 2.
   */
  hear(topic: string, value: unknown): 0 | 2 | undefined {
    switch (topic.split('/')[0]) {
      case 'verdict':
        return this.#judged(verdict.safeParse(value).data)
      case 'outcome':
        return this.#reached(outcome.safeParse(value).data)
      case 'obligation':
        this.#owed(obligation.safeParse(value).data)
        return undefined
      case 'notice':
        this.#released(notice.safeParse(value).data)
        return undefined
      case 'status':
        if (status.safeParse(value).data?.status === 'online') return undefined
        this.#print('the companion went offline')
        return 2
      default:
        return undefined
    }
  }

  #judged(v: z.output<typeof verdict> | undefined): 2 | undefined {
    if (v?.digest !== this.#digest || this.#verdict !== undefined) return undefined
    this.#verdict = v
    if (!v.accepted) {
      this.#print(`refused${words(v)}`)
      return 2
    }
    this.#print(`accepted: plan ${v.plan}, generation ${v.generation}`)
    for (const c of v.components) {
      const owed = c.obligation === undefined ? '' : `; obligation ${c.obligation}`
      this.#print(`  ${c.id}: ${c.decision}${words(c)}${owed}`)
      if (c.decision === 'retained') this.#open.add(c.id)
      else this.#clean = false
    }
    return this.#open.size === 0 ? 2 : undefined
  }

  #reached(o: z.output<typeof outcome> | undefined): 0 | 2 | undefined {
    if (!this.#ours(o) || o.generation !== this.#verdict!.generation || !this.#open.has(o.component)) return undefined
    // The verdict has said `retained` already; a second one tells why it waits.
    if (o.phase !== 'retained' || o.reason !== undefined) this.#print(`  ${o.component}: ${o.phase}${words(o)}`)
    const kind = this.#kindOf(o.component)
    const last = kind === 'notice' || kind === 'report' ? 'released' : 'completed'
    if (ENDED.has(o.phase)) this.#clean = false
    if (ENDED.has(o.phase) || o.phase === last) this.#open.delete(o.component)
    if (this.#open.size > 0) return undefined
    return this.#clean ? 0 : 2
  }

  #owed(o: z.output<typeof obligation> | undefined): void {
    if (o?.closed !== undefined && this.#obligations.delete(o.closed))
      this.#print(`obligation ${o.closed}: closed${words(o)}`)
    const opened = o?.obligation
    if (!this.#ours(opened)) return
    this.#obligations.add(opened.id)
    const scope = opened.scope.map(({ id }) => id).join(', ')
    const needs = opened.condition === undefined ? '' : `needs ${opened.condition}; `
    this.#print(
      `obligation ${opened.id}: ${opened.component}${words(opened)}; ` +
        `${needs}scope ${scope}; route ${opened.route}`,
    )
  }

  #released(n: z.output<typeof notice> | undefined): void {
    if (!this.#ours(n)) return
    const consent = n.consent === undefined ? '' : `; consent ${n.consent}`
    this.#print(`${n.kind} ${n.component}: ${n.text ?? JSON.stringify(n.fields ?? {})}${consent}`)
  }

  #ours<T extends { plan: string }>(message: T | undefined): message is T {
    return message !== undefined && message.plan === this.#verdict?.plan
  }
}

function words({ reason, detail, cause }: z.output<z.ZodObject<typeof why>>): string {
  const said = [reason, detail, cause === undefined ? undefined : `because of ${cause}`].filter(
    (word) => word !== undefined,
  )
  return said.length === 0 ? '' : `, ${said.join(' ')}`
}
