// Consents: what waits for a person, by the exact digest of what would fly (PROTOCOL 10). A consent is never inherited: it
// covers the bindings that were shown, and no later instance.

import { hash } from 'node:crypto'
import { Phase } from '../../build/abi.ts'
import type { Core } from '../core/core.ts'
import type { Instance } from './plan.ts'
import { payloadByName } from './verdict.ts'

/** Consents of one agent that may wait for an answer at once. */
const PENDING_MAX = 4

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
  /** The components of the same response that require the request. */
  readonly covers: readonly Instance[]
  /** b of what it covers, hex. */
  readonly bindings: ReadonlySet<string>
}

export class Consents {
  readonly #core: Core
  /** By the request's sequence; kept as long as the request is, since dependents ask later. */
  readonly #asked = new Map<number, Consent>()
  /** By the sequence of the component that rules hold. */
  readonly #inspections = new Map<number, { readonly consent: Consent; approved: boolean }>()

  constructor(core: Core) {
    this.#core = core
  }

  /** The request has been released: what it asks for is fixed now. */
  ask(request: Instance): Consent {
    const ofResponse = [...request.plan.instances].filter((i) => i.generation === request.generation)
    const covers = ofResponse.filter((i) => i.prerequisites.includes(request))
    for (const [sequence, { asker }] of this.#asked) {
      if (!asker.plan.instances.has(asker)) this.#asked.delete(sequence) // nothing rests on it any more
    }
    const consent = this.#consent(request, covers, [])
    this.#asked.set(request.sequence, consent)
    return consent
  }

  /** Rules hold this component for a person. True once approved; the approval is for these rules and this binding. */
  inspect(instance: Instance, rules: readonly string[]): boolean {
    const asked = this.#inspections.get(instance.sequence)
    if (asked !== undefined && rules.every((rule) => asked.consent.rules.includes(rule))) return asked.approved
    const isPending = asked !== undefined && !asked.approved
    if (!isPending && !this.hasRoom(instance.plan.speaker.agent.name)) return false // asked once there is room
    for (const [sequence, { consent }] of this.#inspections) {
      if (consent.asker.phase !== Phase.retained) this.#inspections.delete(sequence)
    }
    this.#inspections.set(instance.sequence, { consent: this.#consent(instance, [], rules), approved: false })
    return false
  }

  /** An inspection is approved; what answers a request is its phase. */
  approve({ asker }: Consent): void {
    const asked = this.#inspections.get(asker.sequence)
    if (asked !== undefined) asked.approved = true
  }

  #consent(asker: Instance, covers: readonly Instance[], rules: readonly string[]): Consent {
    const bindings = covers.map((i) => this.#core.binding(i.sequence))
    const bound = Buffer.from([this.#core.binding(asker.sequence), ...bindings].join(''), 'hex')
    const names = Buffer.from(rules.map((rule) => `@${rule}`).join(''))
    const id = hash('sha256', Buffer.concat([bound, names]), 'hex')
    return { id, asker, rules, covers, bindings: new Set(bindings) }
  }

  /** The consent that waits under this digest. */
  find(id: string): Consent | undefined {
    return this.pending.find((consent) => consent.id === id)
  }

  /** Those that no one has answered yet. */
  get pending(): readonly Consent[] {
    const requests = [...this.#asked.values()].filter(({ asker }) => asker.phase === Phase.released)
    const inspections = [...this.#inspections.values()]
      .filter(({ consent, approved }) => !approved && consent.asker.phase === Phase.retained)
      .map(({ consent }) => consent)
    return [...requests, ...inspections]
  }

  /** So many of an agent's may wait at once: all that waits is published with every change. */
  hasRoom(agent: string): boolean {
    return this.pending.filter(({ asker }) => asker.plan.speaker.agent.name === agent).length < PENDING_MAX
  }

  /** Every request among what this instance rests on has been asked for this very binding, as far as it has been asked. */
  covers(instance: Instance): boolean {
    return instance.prerequisites.every((request) => {
      const consent = this.#asked.get(request.sequence)
      return consent === undefined || consent.bindings.has(this.#core.binding(instance.sequence))
    })
  }

  /** What a person is shown: every payload that would fly. `expires` is wall-clock ms. */
  shown({ id, asker, rules, covers }: Consent, now_ms: number, wall_ms: number): object {
    const payload = (i: Instance) => payloadByName(i.is, this.#core.payload(i.sequence))
    return {
      consent: id,
      agent: asker.plan.speaker.agent.name,
      plan: asker.plan.name,
      component: asker.id,
      type: asker.is.name,
      payload: payload(asker),
      rules: rules.length === 0 ? undefined : rules,
      covers: covers.map((i) => ({ component: i.id, type: i.is.name, payload: payload(i) })),
      expires: wall_ms + Math.round(asker.admitted_ms + asker.is.wait_ms - now_ms),
    }
  }
}
