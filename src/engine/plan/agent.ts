// What a session knows of one agent: what it has said, and what it may say next (PROTOCOL 2, 4 and 9).

import type { Agent } from '../../catalog/catalog.ts'
import type { Quota } from '../../catalog/quota.ts'
import type { Publication } from '../port.ts'
import type { Plan } from './plan.ts'

/** Accepted packets whose verdict is repeated to a redelivery. */
const PACKETS_KEPT = 64
/** Names of accepted responses; older ones are refused by their generation all the same. */
const RESPONSES_KEPT = 4096
/** Recovering responses that may bring a type before the operator must grant another (PROTOCOL 9). */
export const ATTEMPTS_MAX = 3

/** Refusals that are answered within a second: whoever says more than that is not listening. */
export const REFUSALS_MAX = 50

/** So many a second: 5 within any second, 1 within any 5 s at 0.2, and 2 within any 0.8 s at 2.5. */
export class Rate {
  readonly #most: number
  readonly #within_ms: number
  #at_ms: number[] = []

  constructor(rate_hz: number) {
    this.#most = Math.max(1, Math.floor(rate_hz))
    this.#within_ms = (1000 * this.#most) / rate_hz
  }

  /** Counts one more; how many more there may be then, or -1 where this is one too many, which is not counted. */
  take(now_ms: number): number {
    this.#at_ms = this.#at_ms.filter((at_ms) => now_ms - at_ms < this.#within_ms)
    if (this.#at_ms.length >= this.#most) return -1
    this.#at_ms.push(now_ms)
    return this.#most - this.#at_ms.length
  }
}

export class Speaker {
  /** Position in the catalog: it goes into the binding record. */
  readonly index: number
  readonly agent: Agent
  /** Of the newest accepted response; 0 before the first. */
  generation = 0
  plan: Plan | undefined
  /** Its part of the core, of which it holds so many instances, and so many prerequisites of them, over all its plans. */
  readonly quota: Quota
  instances = 0
  edges = 0
  /** Of its effects under way. */
  leases = 0
  readonly #responses = new Set<string>()
  readonly #packets = new Map<string, Publication>()
  /** Refusals that are still answered (PROTOCOL 4). */
  readonly refusals = new Rate(REFUSALS_MAX)
  readonly #rate: Rate
  readonly #attempts = new Map<number, number>()

  constructor(index: number, agent: Agent, quota: Quota) {
    this.index = index
    this.agent = agent
    this.quota = quota
    this.#rate = new Rate(agent.rate)
  }

  /** Counts a well-formed response against the rate; false when it is one too many. */
  withinRate(now_ms: number): boolean {
    return this.#rate.take(now_ms) >= 0
  }

  /** The verdict on an accepted packet with this digest, if it is one of the last 64. */
  verdictOn(packet: string): Publication | undefined {
    return this.#packets.get(packet)
  }

  has(response: string): boolean {
    return this.#responses.has(response)
  }

  /** G3: an accepted packet, response name and generation are never accepted again in this session. */
  accepted(response: string, generation: number): void {
    this.generation = generation
    this.#responses.add(response)
    dropOldest(this.#responses, RESPONSES_KEPT)
  }

  remember(packet: string, verdict: Publication): void {
    this.#packets.set(packet, verdict)
    dropOldest(this.#packets, PACKETS_KEPT)
  }

  /** Recovering responses that brought this type since it last completed. */
  attempts(type: number): number {
    return this.#attempts.get(type) ?? 0
  }

  attempted(type: number): void {
    this.#attempts.set(type, this.attempts(type) + 1)
  }

  completed(type: number): void {
    this.#attempts.delete(type)
  }

  /** The operator grants one more attempt. */
  grant(type: number): void {
    this.#attempts.set(type, Math.min(this.attempts(type), ATTEMPTS_MAX - 1))
  }
}

function dropOldest(
  kept: { size: number; keys(): Iterator<string>; delete(key: string): boolean },
  most: number,
): void {
  while (kept.size > most) kept.delete(kept.keys().next().value as string)
}
