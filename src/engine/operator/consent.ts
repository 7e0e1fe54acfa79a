// Consents: what waits for a person, by the exact digest of what would fly (PROTOCOL 10). A consent is never inherited: it
// covers the bindings that were shown, and no later instance.

import { hash } from 'node:crypto'
import { Phase } from '../../../build/abi.ts'
import type { Core } from '../../core/core.ts'
import { bytesOf } from '../../wire/write.ts'
import type { Instance } from '../plan/plan.ts'
import type { Shown } from '../plan/publisher.ts'
import { payloadByName } from '../plan/wording.ts'

/** Consents of one agent that may wait for an answer at once. */
const PENDING_MAX = 4
/** Of `expires`, with its key. */
const EXPIRES_BYTES = 17

export interface Consent {
  /**
   * SHA-256, hex, over b of the request and b of every component that it covers, in order of sequence; for an inspection,
   * over b of the component and `@<id>` of each rule.
   */
  readonly id: string
  /** What waits for the answer: a request, or a component that rules want inspected. */
  readonly asker: Instance
  /** Ids of the rules that want it; none for a request. */
  readonly rules: readonly string[]
  /** The components of the same response that rest on the request, directly or not. */
  readonly covers: readonly Instance[]
  /** b of what it covers, hex. */
  readonly bindings: ReadonlySet<string>
  /** What a person is shown of it, but for the time that is left; and the bytes of that. */
  readonly words: object
  readonly bytes: number
}

export class Consents {
  readonly #core: Core
  /** Of requests: their dependents ask later. */
  readonly #asked = new WeakMap<Instance, Consent>()
  /** Of components that rules hold. */
  readonly #inspections = new WeakMap<Instance, Consent>()
  readonly #approved = new WeakSet<Consent>()
  readonly #answered_ms = new WeakMap<Consent, number>()
  /** Those that were not answered yet when they were last looked at. */
  readonly #open = new Set<Consent>()
  #changes = 0

  constructor(core: Core) {
    this.#core = core
  }

  /** What a request that is about to be released would ask for; undefined where that has no room. */
  propose(request: Instance): Consent | undefined {
    const { generation, plan } = request
    const ofResponse = plan.uncrossedDependents(request).filter((d) => d.generation === generation)
    const consent = this.#consent(request, ofResponse, [])
    return this.#hasRoomFor(consent) ? consent : undefined
  }

  /** The request has been released: what it asks for is fixed now. */
  ask(consent: Consent): void {
    this.#asked.set(consent.asker, consent)
    this.#put(consent)
  }

  /** Rules hold this component for a person. True once approved; the approval is for these rules and this binding. */
  inspect(instance: Instance, rules: readonly string[]): boolean {
    const asked = this.#inspections.get(instance)
    const isApproved = asked !== undefined && this.#approved.has(asked)
    if (asked !== undefined && rules.every((rule) => asked.rules.includes(rule))) return isApproved
    const consent = this.#consent(instance, [], rules)
    const isPending = asked !== undefined && !isApproved
    if (isPending) this.#open.delete(asked)
    else if (!this.#hasRoomFor(consent)) return false // asked once there is room
    this.#inspections.set(instance, consent)
    this.#put(consent)
    return false
  }

  #put(consent: Consent): void {
    this.#open.add(consent)
    this.#changes++
  }

  /** A person has said yes to what a request asks for. */
  answered(consent: Consent, now_ms: number): void {
    this.#answered_ms.set(consent, now_ms)
  }

  /** An inspection is approved; what answers a request is its phase. */
  approve(consent: Consent): void {
    this.#approved.add(consent)
  }

  #consent(asker: Instance, covers: readonly Instance[], rules: readonly string[]): Consent {
    const bindings = covers.map((i) => this.#core.binding(i.sequence))
    const bound = Buffer.from([this.#core.binding(asker.sequence), ...bindings].join(''), 'hex')
    const names = Buffer.from(rules.map((rule) => `@${rule}`).join(''))
    const id = hash('sha256', Buffer.concat([bound, names]), 'hex')
    const payload = (i: Instance) => payloadByName(i.is, this.#core.payload(i.sequence))
    const words = {
      consent: id,
      agent: asker.plan.speaker.agent.name,
      plan: asker.plan.name,
      component: asker.id,
      type: asker.is.name,
      payload: payload(asker),
      rules: rules.length === 0 ? undefined : rules,
      covers: covers.map((i) => ({ component: i.id, type: i.is.name, payload: payload(i) })),
    }
    return { id, asker, rules, covers, bindings: new Set(bindings), words, bytes: bytesOf(words) + EXPIRES_BYTES }
  }

  /** The consent that waits under this digest. */
  find(id: string): Consent | undefined {
    return this.pending.find((consent) => consent.id === id)
  }

  /** Those that no one has answered yet, in the order in which they came. */
  get pending(): readonly Consent[] {
    this.#sweep()
    return [...this.#open]
  }

  /** Counts what came to `pending` and what went. */
  get changes(): number {
    this.#sweep()
    return this.#changes
  }

  #sweep(): void {
    for (const consent of this.#open) {
      if (this.#isOpen(consent)) continue
      this.#open.delete(consent)
      this.#changes++
    }
  }

  #isOpen(consent: Consent): boolean {
    const { asker, rules } = consent
    if (rules.length === 0) return asker.phase === Phase.released
    return asker.phase === Phase.retained && !this.#approved.has(consent)
  }

  /**
   * What waits of one agent is published with every change, all of it and whole, in a message of which each agent has its part:
   * so many may wait at once, of so many bytes.
   */
  #hasRoomFor({ asker, bytes }: Consent): boolean {
    const { speaker } = asker.plan
    const theirs = this.pending.filter((consent) => consent.asker.plan.speaker === speaker)
    const sum = theirs.reduce((all, consent) => all + consent.bytes, bytes)
    return theirs.length < PENDING_MAX && sum <= speaker.quota.consentBytes
  }

  /**
   * Every request that this instance names has been asked for this very binding, as far as it has been asked; and so has every
   * one that it rests on through others, unless that was answered before the instance came.
   */
  covers(instance: Instance): boolean {
    const { plan, prerequisites, sequence, admitted_ms, unmet } = instance
    if (!plan.asks) return true
    const isShown = (request: Instance): boolean => {
      const consent = this.#asked.get(request)
      return consent === undefined || consent.bindings.has(this.#core.binding(sequence))
    }
    if (!prerequisites.every(isShown)) return false
    // Nothing crosses before all that it rests on has reached its phase: then all of these have been asked.
    if (unmet > 0) return true
    const above = new Set(prerequisites)
    for (const { prerequisites: further } of above) for (const each of further) above.add(each) // walked in its turn
    for (const request of above) {
      if (!isShown(request) && !(admitted_ms > this.#answered_ms.get(this.#asked.get(request)!)!)) return false
    }
    return true
  }

  /** What a person is shown: every payload that would fly. `expires` is wall-clock ms. */
  shown({ words, bytes, asker }: Consent, now_ms: number, wall_ms: number): Shown {
    const expires = wall_ms + Math.round(asker.admitted_ms + asker.is.wait_ms - now_ms)
    return { words: { expires, ...words }, bytes }
  }
}
