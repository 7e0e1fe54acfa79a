// Admission around the core's: a response becomes instances, obligations and a verdict (PROTOCOL 5, 6 and 9).

import { Phase, Reason, ReasonWords } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { MESSAGE_BYTES_MAX } from '../../catalog/published.ts'
import type { Admitted, Candidate } from '../../core/core.ts'
import type { Payload } from '../../wire/response.ts'
import { bytesOf } from '../../wire/write.ts'
import type { Dispatch } from '../dispatch/dispatch.ts'
import type { Control } from '../operator/control.ts'
import { Rate, REFUSALS_MAX, type Speaker } from '../plan/agent.ts'
import type { Footprints, Ledger } from '../plan/lifecycle.ts'
import { clipped } from '../plan/message.ts'
import { type Member, type Obligation, Obligations } from '../plan/obligation.ts'
import { type Instance, isEnded, isLive, Plan } from '../plan/plan.ts'
import type { Publisher } from '../plan/publisher.ts'
import { conditionText, detailWords } from '../plan/wording.ts'
import type { Session } from '../session.ts'
import { ask, type Question } from './batch.ts'
import { type Accepted, judgeWhole, type Refused, wireDigest } from './reception.ts'

export class Admission {
  readonly #session: Session
  readonly #catalog: Catalog
  readonly #control: Control
  readonly #ledger: Ledger
  readonly #dispatch: Dispatch
  readonly #publisher: Publisher
  /** Of topics that name no agent, all together. */
  readonly #strangers = new Rate(REFUSALS_MAX)
  #obligations = 0

  constructor(session: Session, control: Control, ledger: Ledger, dispatch: Dispatch, publisher: Publisher) {
    this.#session = session
    this.#catalog = publisher.catalog
    this.#control = control
    this.#ledger = ledger
    this.#dispatch = dispatch
    this.#publisher = publisher
  }

  receive(agent: string, bytes: Uint8Array, retained: boolean, now_ms: number): void {
    const judged = judgeWhole(this.#session, this.#control, this.#catalog, { agent, bytes, retained }, now_ms)
    if ('again' in judged) this.#publisher.repeat(judged.again)
    else if ('accepted' in judged) this.#accept(judged.accepted, now_ms)
    else this.#refuse(agent, judged.refused, now_ms)
  }

  /** Whoever says nothing else is answered so often and no more: what he is told last says so. */
  #refuse(agent: string, { packet, reason, detail, response, generation }: Refused, now_ms: number): void {
    const left = (this.#session.speakers.get(agent)?.refusals ?? this.#strangers).take(now_ms)
    if (left < 0) return
    const muted = left === 0 ? true : undefined
    const digest = wireDigest(packet)
    this.#publisher.log('warn', 'response refused', { agent, response, generation, digest, reason, detail, muted })
    const [v, at, accepted] = [1, this.#publisher.wall(), false]
    const words = detail && clipped(detail)
    const value = { v, response, digest, generation, at, accepted, reason, detail: words, muted, components: [] }
    this.#publisher.publish(`verdict/${agent}`, value)
  }

  #accept(accepted: Accepted, now_ms: number): void {
    const { speaker, response, recovers } = accepted
    const older = speaker.plan
    const plan = recovers ?? this.#newPlan(speaker, response.response)
    speaker.accepted(response.response, response.generation)
    speaker.plan = plan

    // The verdict precedes everything that it brings about, and names obligations that are opened on its way.
    const { place } = this.#publisher
    if (recovers === undefined && older !== undefined) this.#dispatch.supersede(older, now_ms)
    this.#ledger.drop(accepted.spare)
    const question = ask(this.#catalog, this.#control, accepted, plan)
    const admitted = this.#session.core.admit(question.batch, now_ms)
    const details: (string | undefined)[] = []
    const obligations = new Map<number, string>()
    try {
      this.#retain(accepted, plan, question, admitted, now_ms)
      for (const [i, loss] of admitted.entries()) {
        details.push(this.#words(i, response.components[i]!.requires, question, loss, now_ms))
      }
      this.#oblige(accepted, plan, question, admitted, details, obligations, now_ms)
    } finally {
      // Also when the core traps on the way: what it has retained was told of, and its last word is still to come.
      this.#tell(accepted, plan, admitted, details, obligations, place)
    }
  }

  #tell(
    accepted: Accepted,
    plan: Plan,
    admitted: readonly Admitted[],
    details: readonly (string | undefined)[],
    obligations: ReadonlyMap<number, string>,
    place: number,
  ): void {
    const { speaker, response, packet } = accepted
    const components = response.components.map(({ id }, i): Decision => {
      const { reason, cause, sequence } = admitted[i]!
      if (reason === Reason.none) return { id, decision: 'retained', sequence }
      const detail = details[i]
      return {
        id,
        decision: 'withheld',
        reason: ReasonWords[reason],
        detail: detail === undefined ? undefined : clipped(detail),
        cause: cause < 0 ? undefined : response.components[cause]!.id,
        obligation: obligations.get(i),
      }
    })
    const value = {
      v: 1,
      response: response.response,
      digest: wireDigest(packet),
      plan: plan.name,
      generation: response.generation,
      at: this.#publisher.wall(),
      accepted: true,
      components,
    }
    const whole = [...components] // some of their details may have no room in the message
    this.#publisher.afterwards(() => this.#record(accepted, plan, whole))
    const verdict = { topic: `verdict/${speaker.agent.name}`, retain: false, value: withoutExcess(value) }
    this.#publisher.insert(place, verdict)
    speaker.remember(packet, verdict)
  }

  /** A withheld component's detail. Admission names a prerequisite by its position; the gate does it by its sequence. */
  #words(
    i: number,
    requires: readonly string[],
    question: Question,
    { reason, detail }: Admitted,
    now_ms: number,
  ): string | undefined {
    if (reason === Reason.none) return undefined
    const { type, payload } = question.batch.candidates[i]!
    const is = this.#catalog.types[type]!
    const grounds = (clause: number) => this.#ledger.grounds.of(type, clause, payload, now_ms)
    return question.problems[i] ?? detailWords(this.#catalog, is, reason, detail, (at) => requires[at], grounds)
  }

  /** For an investigation: each decision beside what was judged, in lines that a journal takes whole. */
  #record({ speaker, response }: Accepted, plan: Plan, decisions: readonly Decision[]): void {
    const { snapshot, generation } = response
    const about = { agent: speaker.agent.name, plan: plan.name, response: response.response, generation, snapshot }
    let components: unknown[] = []
    let bytes = 0
    const tell = (): void => {
      if (components.length > 0) this.#publisher.log('info', 'judged', { ...about, components })
      components = []
      bytes = 0
    }
    for (const [i, { type, payload, requires }] of response.components.entries()) {
      const judged = {
        ...decisions[i]!,
        type: clipped(type),
        payload: payloadWords(payload),
        requires: requires.map((id) => clipped(id)),
      }
      const more = bytesOf(judged)
      if (bytes + more > LINE_BYTES_MAX) tell()
      components.push(judged)
      bytes += more
    }
    tell()
  }

  #newPlan(speaker: Speaker, response: string): Plan {
    const { name } = speaker.agent
    const tell = (value: unknown): void => this.#publisher.publish(`obligation/${name}`, value)
    const nextName = (): string => `${this.#session.id.slice(0, 8)}-o${++this.#obligations}`
    return new Plan(speaker, response, new Obligations(`${name}/${response}`, this.#catalog, nextName, tell))
  }

  /** The retained become instances; what they replace loses its token, and so do uncrossed dependents of that. */
  #retain(
    { response, snapshot }: Accepted,
    plan: Plan,
    { batch, standing }: Question,
    admitted: readonly Admitted[],
    now_ms: number,
  ): void {
    const made = batch.candidates.map(({ id, type }, i): Made | undefined => {
      const { reason, sequence } = admitted[i]!
      if (reason !== Reason.none) return undefined
      return {
        sequence,
        plan,
        id,
        type,
        is: this.#catalog.types[type]!,
        generation: response.generation,
        snapshot,
        prerequisites: [],
        admitted_ms: now_ms,
        phase: Phase.retained,
        ready_ms: 0,
        readySince_ms: undefined,
        awaited_ms: undefined,
        deferred: false,
        unmet: 0,
        rests: false,
        parked: undefined,
        lease: undefined,
        dependents: [],
        resting: 0,
      }
    })
    const instances: Instance[] = []
    const replaced: Instance[] = []
    for (const [i, instance] of made.entries()) {
      if (instance === undefined) continue
      for (const code of batch.candidates[i]!.requires) {
        instance.prerequisites.push(code >= 0 ? made[code]! : standing[-2 - code]!)
      }
      const old = plan.members.get(instance.id)
      if (old !== undefined && !isEnded(old.phase)) replaced.push(old)
      plan.add(instance)
      this.#ledger.waiting.add(instance)
      this.#publisher.outcome(instance, Reason.none, undefined)
      instances.push(instance)
    }
    const withdrawn = new Set<Instance>()
    // Told once for each, however many are replaced: a scope is said whole.
    const widened = new Map<Obligation, Member[]>()
    for (const old of replaced) this.#replace(plan, old, withdrawn, widened, now_ms)
    for (const [obligation, members] of widened) plan.obligations.widen(obligation, members, this.#session.newest)
    for (const { id, type } of instances) plan.obligations.retained(id, type)
  }

  /** Collects in `widened` what falls with it. */
  #replace(
    plan: Plan,
    old: Instance,
    visited: Set<Instance>,
    widened: Map<Obligation, Member[]>,
    now_ms: number,
  ): void {
    const dependents = plan.uncrossedDependents(old, visited).filter((d) => plan.members.get(d.id) === d)
    if (isLive(old) && old.lease === undefined) {
      this.#ledger.end(old, Phase.superseded, Reason.superseded, undefined)
    } else this.#ledger.replaced(old)
    if (dependents.length === 0) return
    for (const dependent of dependents) this.#ledger.block(dependent, Reason.prerequisite_failed, old.id)
    const into = plan.obligations.covering(old.id, old.type)[0] ?? plan.obligations.first
    if (into !== undefined) widened.set(into, [...(widened.get(into) ?? []), ...dependents])
    else {
      const grounded = { reason: Reason.superseded, words: undefined, condition: undefined }
      this.#ledger.oblige(plan, old, grounded, dependents, now_ms)
    }
  }

  /** Roots of losses open obligations, with what fell because of them: `names` by candidate. */
  #oblige(
    { response }: Accepted,
    plan: Plan,
    question: Question,
    admitted: readonly Admitted[],
    details: readonly (string | undefined)[],
    names: Map<number, string>,
    now_ms: number,
  ): void {
    const { candidates } = question.batch
    // Each belongs to the first root in the response's order on which it rests: so scopes are disjoint.
    const fallen = new Map<number, Candidate[]>()
    for (const [i, { reason, cause }] of admitted.entries()) {
      if (reason !== Reason.prerequisite_withheld) continue
      const others = fallen.get(cause)
      if (others === undefined) fallen.set(cause, [candidates[i]!])
      else others.push(candidates[i]!)
    }
    const footprints: Footprints = new Map()
    for (const [i, loss] of admitted.entries()) {
      // What stands in no open scope opens none either, whatever else is wrong with it.
      if (!opensObligation(loss.reason) || candidates[i]!.scope === Reason.out_of_scope) continue
      const { id, type } = candidates[i]!
      const { reason, detail } = loss
      const condition = conditionText(this.#catalog, this.#catalog.types[type]!, reason, detail)
      const grounded = { reason, words: details[i], condition }
      const lost = { id, type, generation: response.generation }
      const name = this.#ledger.oblige(plan, lost, grounded, fallen.get(i) ?? [], now_ms, footprints)
      if (name !== undefined) names.set(i, name)
    }
    for (const [i, { cause }] of admitted.entries()) {
      const name = names.get(cause)
      if (name !== undefined) names.set(i, name)
    }
  }
}

/** Of one line of the log; the journal of systemd cuts lines of 48 KiB in two. */
const LINE_BYTES_MAX = 16_384

/** JSON has no NaN. */
const payloadWords = (payload: Payload): unknown =>
  Object.fromEntries([...payload].map(([name, value]) => [name, Number.isNaN(value) ? 'NaN' : value]))

type Made = Instance & { readonly prerequisites: Instance[] }

/** Losses of steps 2 to 4, and an invalid payload: not what is out of scope, and not what has no name of its own. */
function opensObligation(reason: Reason): boolean {
  switch (reason) {
    case Reason.none:
    case Reason.duplicate_id:
    case Reason.unknown_type:
    case Reason.type_not_permitted:
    case Reason.out_of_scope:
    case Reason.evidence_stale:
    case Reason.attempts_exhausted:
    case Reason.prerequisite_withheld:
      return false
    default:
      return true
  }
}

/** One component's part of a verdict. */
interface Decision {
  readonly id: string
  readonly decision: 'retained' | 'withheld'
  readonly sequence?: number
  readonly reason?: string | undefined
  readonly detail?: string | undefined
  readonly cause?: string | undefined
  readonly obligation?: string | undefined
}

/** Every decision is said; where that is too much for one message, the last details are not. */
function withoutExcess<T extends { readonly components: Decision[] }>(value: T): unknown {
  const { components } = value
  if (atMost(components) <= MESSAGE_BYTES_MAX) return value
  let excess = bytesOf(value) - MESSAGE_BYTES_MAX
  if (excess <= 0) return value
  let details = 0
  for (let i = components.length - 1; i >= 0 && excess + OMITTED_BYTES > 0; i--) {
    const { detail, ...rest } = components[i]!
    if (detail === undefined) continue
    components[i] = rest
    excess -= bytesOf({ detail })
    details++
  }
  return { ...value, omitted: { details } }
}

/** Bytes of a verdict of these, at most: told from lengths alone, since hardly any is ever cut. */
function atMost(components: readonly Decision[]): number {
  let sum = VERDICT_BYTES
  for (const { id, detail = '', cause = '', obligation = '' } of components) {
    sum += DECISION_BYTES + 3 * (id.length + detail.length + cause.length + obligation.length)
  }
  return sum
}

/** Of what stands around the components, and of keys, numbers and the reason in each. */
const VERDICT_BYTES = 1024
const DECISION_BYTES = 128

/** For `omitted` itself. */
const OMITTED_BYTES = 32
