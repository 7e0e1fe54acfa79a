// `halo operator`: what the vehicle waits for a person to decide, and the verbs that decide it (PROTOCOL 10).
//
// An answer names the counter and the digest that were on the screen. Whoever was slower than the world is refused by the
// companion, and looks again.

import { hostname, userInfo } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { UNSEEN } from '../escape.ts'
import { type Broker, connectGround, decode } from './ground.ts'

export const VERBS = ['approve', 'refuse', 'pause', 'resume', 'revoke', 'restore', 'clear', 'restart'] as const
export type Verb = (typeof VERBS)[number]

export interface OperatorOptions {
  /** Without one, what is pending is listed. */
  readonly verb: Verb | undefined
  /** The consent, agent or type that the verb is about. */
  readonly about: string | undefined
  /** List again at every change, until interrupted. */
  readonly watch: boolean
}

/** What each verb is about; the others stand alone. */
const ABOUT: Readonly<Partial<Record<Verb, 'consent' | 'agent' | 'type'>>> = {
  approve: 'consent',
  refuse: 'consent',
  revoke: 'agent',
  restore: 'agent',
  clear: 'type',
}

/** How long a companion may take to show itself, and to answer, ms. */
const ANSWER_MS = 5_000
/** A companion says a snapshot each second: without one, what the broker keeps is of a process that may be dead. */
const ALIVE_MS = 3_000
/** What only stops: it is accepted from anybody who has seen nothing, and waits for no control that cannot be read. */
const STOPS: ReadonlySet<Verb> = new Set(['pause', 'revoke'])
/** How long these look for the newest control before they go out without, ms. */
const STOP_MS = 500
/** Hex digits of a digest that are shown, and how many an answer needs: an agent could search for a twin of a shorter one. */
const SHOWN_DIGITS = 16
const NAMED_DIGITS = 12

const payload = z.record(z.string(), z.union([z.number(), z.boolean(), z.string()]))
const pendingSchema = z.looseObject({
  consent: z.string().regex(/^[0-9a-f]{64}$/),
  agent: z.string(),
  plan: z.string(),
  component: z.string(),
  type: z.string(),
  payload,
  /** The rules that hold this very component for a person; none where a request asks for what it covers. */
  rules: z.array(z.string()).optional(),
  covers: z.array(z.looseObject({ component: z.string(), type: z.string(), payload })),
  expires: z.number(),
})
const outcomeSchema = z.looseObject({
  plan: z.string(),
  component: z.string(),
  phase: z.string(),
  reason: z.string().optional(),
  detail: z.string().optional(),
})
/** Fail closed: a control of which one consent cannot be read is not shown without it, but not at all. */
const retained = {
  status: z.looseObject({ status: z.literal('online'), session: z.string() }),
  control: z.looseObject({
    session: z.string(),
    n: z.number(),
    paused: z.boolean(),
    pilot_control: z.boolean(),
    revoked: z.array(z.string()),
    pending: z.array(pendingSchema),
    uncertain: z.array(z.string()),
  }),
  catalog: z.looseObject({
    types: z.record(
      z.string(),
      z.looseObject({ payload: z.record(z.string(), z.looseObject({ unit: z.string().optional() })) }),
    ),
  }),
}

export type Control = z.output<typeof retained.control>
export type Pending = z.output<typeof pendingSchema>
export type Types = z.output<typeof retained.catalog>['types']
type Outcome = z.output<typeof outcomeSchema>

/**
 * Lists, or says one verb and tells what became of it. Exit code: 0 where it was listed or applied, 2 where the companion
 * refused or did not answer. Rejects where the order makes no sense, and where broker or companion cannot be had; what
 * only stops, a pause or a revocation, is sent to a companion all the same that does not show itself.
 */
export async function operator(
  broker: Broker,
  { verb, about, watch }: OperatorOptions,
  print: (line: string) => void,
): Promise<0 | 2> {
  if (verb !== undefined) checkAbout(verb, about)
  const desk = new Desk()
  const topics = [...Object.keys(retained), 'snapshot', 'notice', 'outcome/+']
  const ground = await connectGround(broker, topics, ({ topic, retain, bytes }) =>
    topic === 'snapshot' ? retain || desk.heard() : desk.hear(topic, decode(bytes)),
  )
  const until = <T>(find: () => T | undefined, time_ms = ANSWER_MS): Promise<T | undefined> =>
    Promise.race([desk.until(find, time_ms), ground.lost])
  try {
    const stops = verb !== undefined && STOPS.has(verb)
    const seen = await until(() => desk.view, stops ? STOP_MS : ANSWER_MS)
    if (seen === undefined && !stops) {
      throw new Error(`vehicle ${broker.vehicle}: no companion is online there, or its control cannot be read`)
    }
    if (verb === undefined) {
      if ((await until(() => desk.isAlive || undefined, ALIVE_MS)) === undefined) {
        const kept = `what the broker keeps is of session ${seen!.control.session}, which may be over`
        throw new Error(`vehicle ${broker.vehicle}: no companion speaks there; ${kept}`)
      }
      const list = ({ control, types }: View): void =>
        print(listing(broker.vehicle, control, types, Date.now()).join('\n'))
      list(seen!)
      if (!watch) return 0
      desk.changed = list
      return await ground.lost
    }
    const what = ABOUT[verb]
    const consent = what === 'consent' ? named(seen!.control.pending, about!) : undefined
    if (consent !== undefined) {
      print(`${verb === 'approve' ? 'approving' : 'refusing'}:`)
      for (const line of shown(consent, seen!.types, Date.now())) print(line)
    }
    desk.forget()
    const newest = seen && { session: seen.control.session, after: seen.control.n }
    await ground.say(`operator/${verb}`, {
      v: 1,
      ...newest,
      ...(what && { [what]: consent?.consent ?? about }),
      by: sayer(),
    })
    const answer = await until(() => answerTo({ verb, about, consent }, seen?.control, desk))
    if (answer === undefined) print(`${verb}: nothing tells within ${ANSWER_MS / 1000} s whether it was applied`)
    for (const line of answer?.lines ?? []) print(line)
    return answer?.code ?? 2
  } finally {
    await ground.end()
  }
}

function checkAbout(verb: Verb, about: string | undefined): void {
  const what = ABOUT[verb]
  if (what === undefined && about !== undefined)
    throw new Error(`operator ${verb}: is about nothing, not ${said(about)}`)
  if (what !== undefined && about === undefined) throw new Error(`operator ${verb}: its ${what} is missing`)
  if (what === 'consent' && !/^[0-9a-f]+$/i.test(about!)) {
    throw new Error(`operator ${verb}: consent ${said(about!)}: must be hex digits, as listed`)
  }
}

/** The one pending consent that begins like this. Throws where there is none, or more. */
export function named(pending: readonly Pending[], prefix: string): Pending {
  if (prefix.length < NAMED_DIGITS) {
    throw new Error(`consent ${prefix}: must be ${NAMED_DIGITS} hex digits or more: a short one can be imitated`)
  }
  const found = pending.filter(({ consent }) => consent.startsWith(prefix.toLowerCase()))
  if (found.length === 0) throw new Error(`consent ${prefix}: nothing of that name is pending`)
  if (found.length > 1) throw new Error(`consent ${prefix}: is ambiguous, ${found.length} begin like this`)
  return found[0]!
}

// What is shown

/** The control, and everything that waits for an answer. `wall_ms` is this machine's clock. */
export function listing(vehicle: string, control: Control, types: Types, wall_ms: number): string[] {
  const { session, n, paused, pilot_control, revoked, uncertain, pending } = control
  const names = (list: readonly string[]): string => list.map(said).join(', ') || '-'
  return [
    `vehicle ${vehicle}: session ${said(session)}, control ${n}`,
    `  paused         ${paused ? 'yes' : 'no'}`,
    `  pilot control  ${pilot_control ? 'yes: no action crosses until resume' : 'no'}`,
    `  revoked        ${names(revoked)}`,
    `  uncertain      ${names(uncertain)}`,
    `  pending        ${pending.length === 0 ? '-' : pending.length}`,
    ...pending.flatMap((consent) => ['', ...shown(consent, types, wall_ms)]),
  ]
}

/** One consent with every payload that would fly. */
export function shown(
  { consent, agent, plan, component, type, payload, rules, covers, expires }: Pending,
  types: Types,
  wall_ms: number,
): string[] {
  const line = (id: string, of: string, values: Pending['payload']): string =>
    `    ${said(id)}: ${said(of)}${withUnits(values, types[of]?.payload)}`
  const left_s = Math.round((expires - wall_ms) / 1000)
  return [
    `consent ${consent.slice(0, SHOWN_DIGITS)}`,
    `  agent ${said(agent)}, plan ${said(plan)}, expires ${left_s < 0 ? 'now' : `in ${left_s} s`}`,
    rules === undefined ? '  asks' : `  held by rule ${rules.map(said).join(', ')}`,
    line(component, type, payload),
    ...(covers.length === 0 ? [] : ['  and would let pass']),
    ...covers.map((covered) => line(covered.component, covered.type, covered.payload)),
  ]
}

function withUnits(values: Pending['payload'], fields: Types[string]['payload'] | undefined): string {
  const each = Object.entries(values).map(([name, value]) => {
    const unit = fields?.[name]?.unit
    return `${said(name)} ${typeof value === 'string' ? quoted(value) : value}${unit === undefined ? '' : ` ${unit}`}`
  })
  return each.length === 0 ? '' : ` ${each.join(', ')}`
}

/** An agent chooses its names: what could move the cursor or hide a line is spelled out. */
const said = (name: string): string => (/^[A-Za-z0-9_./-]+$/.test(name) ? name : quoted(name))

const quoted = (text: string): string =>
  JSON.stringify(text).replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

// What is heard

interface View {
  readonly control: Control
  readonly types: Types
}

/** The newest of what is retained, and what was said since the order went out. */
export class Desk {
  /** Called for every readable control from now on. */
  changed: (view: View) => void = () => {}
  outcomes: Outcome[] = []
  refusals: string[] = []
  /** Something was said now, and not kept by the broker. */
  isAlive = false
  readonly #heard = new Map<string, unknown>()
  #look: () => void = () => {}

  hear(topic: string, value: { readonly [key: string]: unknown } | undefined): void {
    if (topic in retained) this.#heard.set(topic, retained[topic as keyof typeof retained].safeParse(value).data)
    else if (topic === 'notice') {
      if (value?.kind === 'operator' && typeof value.text === 'string') this.refusals.push(value.text)
    } else {
      const { data } = outcomeSchema.safeParse(value)
      if (data !== undefined) this.outcomes.push(data)
    }
    this.#look()
    const { view } = this
    if (topic === 'control' && view !== undefined) this.changed(view)
  }

  /** A companion has spoken. */
  heard(): void {
    this.isAlive = true
    this.#look()
  }

  /** Undefined while no companion is online, or what the broker keeps is of an older session of it. */
  get view(): View | undefined {
    const read = <K extends keyof typeof retained>(topic: K) =>
      this.#heard.get(topic) as z.output<(typeof retained)[K]> | undefined
    const [status, control, catalog] = [read('status'), read('control'), read('catalog')]
    if (control === undefined || catalog === undefined || status?.session !== control.session) return undefined
    return { control, types: catalog.types }
  }

  forget(): void {
    this.outcomes = []
    this.refusals = []
  }

  /** What `find` gives, asked after every message; undefined once `time_ms` have passed. One at a time. */
  until<T>(find: () => T | undefined, time_ms: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), time_ms)
      this.#look = () => {
        const found = find()
        if (found === undefined) return
        this.#look = () => {}
        clearTimeout(timer)
        resolve(found)
      }
      this.#look()
    })
  }
}

/** The verb that went out; `consent` is what `about` names, where it is about one. */
export interface Spoken {
  readonly verb: Verb
  readonly about: string | undefined
  readonly consent: Pending | undefined
}

export interface Answer {
  readonly code: 0 | 2
  readonly lines: readonly string[]
}

/**
 * What became of a verb that named the control `seen`: refused by a notice, or shown by a newer control. Undefined while
 * neither has come. What a step brings about is published before its control.
 */
export function answerTo(
  { verb, about, consent }: Spoken,
  seen: Control | undefined,
  { view, refusals, outcomes }: Desk,
): Answer | undefined {
  const refusal = refusals.find((text) => text.startsWith(`operator/${verb} refused: `))
  if (refusal !== undefined) return { code: 2, lines: [refusal] }
  if (view === undefined) return undefined
  const now = view.control
  const applied = `${verb}: applied, control ${now.n}`
  if (consent === undefined) return isShown(verb, about, seen, now) ? { code: 0, lines: [applied] } : undefined
  if (now.pending.some((still) => still.consent === consent.consent)) return undefined
  const ended = outcomes.find((o) => o.plan === consent.plan && o.component === consent.component && isEnd(o.phase))
  const wanted = verb === 'refuse' ? ended?.reason === 'consent_refused' : isApproved(consent, ended?.phase, now, seen)
  const theirs = [consent, ...consent.covers].flatMap(({ component }) =>
    outcomes.filter((o) => o.plan === consent.plan && o.component === component),
  )
  const told = theirs.map(
    (o) => `  ${[`${said(o.component)}: ${o.phase}`, o.reason, o.detail].filter(Boolean).join(' ')}`,
  )
  if (wanted) return { code: 0, lines: [applied, ...told] }
  return { code: 2, lines: [`${verb}: the consent is not pending any more, and not because of this`, ...told] }
}

/** A request is completed by it; what rules held is only not held any more, and may cross later. */
function isApproved({ rules }: Pending, phase: string | undefined, now: Control, seen: Control | undefined): boolean {
  if (rules === undefined) return phase === 'completed'
  return now.session === seen?.session && (phase === undefined || CROSSED.has(phase))
}

const CROSSED: ReadonlySet<string> = new Set(['dispatched', 'acknowledged', 'completed'])

const isEnd = (phase: string): boolean => phase !== 'retained' && phase !== 'released'

/** A control that shows what the verb is for. */
function isShown(verb: Verb, about: string | undefined, seen: Control | undefined, now: Control): boolean {
  if (verb === 'pause') return now !== seen && now.paused // whatever counter or session it named
  if (verb === 'revoke') return now !== seen && now.revoked.includes(about!)
  if (seen === undefined) return false
  if (verb === 'restart') return now.session !== seen.session
  if (now.session !== seen.session || now.n <= seen.n) return false
  if (verb === 'resume') return !now.paused && !now.pilot_control
  if (verb === 'restore') return !now.revoked.includes(about!)
  // An attempt that was granted shows in nothing but the counter: then nothing else may have moved it.
  // What was uncertain of the type goes with it, which is a change of its own.
  const uncertain = seen.uncertain.filter((type) => type !== about)
  const changes = uncertain.length === seen.uncertain.length ? 1 : 2
  return now.n === seen.n + changes && isDeepStrictEqual(holds(now), holds({ ...seen, uncertain }))
}

/** Without the counter, and what it does not count. */
const holds = ({ paused, pilot_control, revoked, uncertain }: Control): unknown[] => [
  paused,
  pilot_control,
  revoked,
  uncertain,
]

/** For the companion's log: nobody else knows who sat here. */
function sayer(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return hostname() // this user has no name
  }
}
