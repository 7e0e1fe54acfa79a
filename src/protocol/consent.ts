// Consents: what waits for a person, by the exact digest of what would fly (PROTOCOL 10). A consent is never inherited: it
// covers the bindings that were shown, and no later instance.

import { createHash } from 'node:crypto'
import { Phase } from '../../build/abi.ts'
import type { Core } from '../core/core.ts'
import type { Instance } from './plan.ts'
import { payloadByName } from './verdict.ts'

export interface Consent {
  /** SHA-256, hex, over b of the request and b of every component that it covers, in order of sequence. */
  readonly id: string
  readonly request: Instance
  /** The components of the same response that require the request. */
  readonly covers: readonly Instance[]
  /** b of what it covers, hex. */
  readonly bindings: ReadonlySet<string>
}

export class Consents {
  readonly #core: Core
  /** By the request's sequence; kept for the session, since dependents ask later. */
  readonly #asked = new Map<number, Consent>()

  constructor(core: Core) {
    this.#core = core
  }

  /** The request has been released: what it asks for is fixed now. */
  ask(request: Instance): Consent {
    const ofResponse = [...request.plan.instances].filter((i) => i.generation === request.generation)
    const covers = ofResponse.filter((i) => i.prerequisites.includes(request))
    covers.sort((a, b) => a.sequence - b.sequence)
    const bindings = covers.map((i) => this.#core.binding(i.sequence))
    const hash = createHash('sha256')
    for (const binding of [this.#core.binding(request.sequence), ...bindings]) hash.update(Buffer.from(binding, 'hex'))
    const consent = { id: hash.digest('hex'), request, covers, bindings: new Set(bindings) }
    this.#asked.set(request.sequence, consent)
    return consent
  }

  /** The consent that waits under this digest. */
  find(id: string): Consent | undefined {
    return this.pending.find((consent) => consent.id === id)
  }

  /** Those that no one has answered yet. */
  get pending(): readonly Consent[] {
    return [...this.#asked.values()].filter(({ request }) => isOpen(request))
  }

  /** Every request among what this instance rests on has been asked for this very binding, as far as it has been asked. */
  covers(instance: Instance): boolean {
    return instance.prerequisites.every((request) => {
      const consent = this.#asked.get(request.sequence)
      return consent === undefined || consent.bindings.has(this.#core.binding(instance.sequence))
    })
  }

  /** What a person is shown: every payload that would fly. `expires` is wall-clock ms. */
  shown({ id, request, covers }: Consent, now_ms: number, wall_ms: number): unknown {
    const payload = (i: Instance) => payloadByName(i.is, this.#core.payload(i.sequence))
    return {
      consent: id,
      agent: request.plan.speaker.agent.name,
      plan: request.plan.name,
      component: request.id,
      type: request.is.name,
      payload: payload(request),
      covers: covers.map((i) => ({ component: i.id, type: i.is.name, payload: payload(i) })),
      expires: wall_ms + Math.round(request.admitted_ms + request.is.wait_ms - now_ms),
    }
  }
}

const isOpen = (request: Instance): boolean => request.phase === Phase.released
