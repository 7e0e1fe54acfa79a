// Since when nothing at all is heard of the vehicle: what then ends for want of a fresh value ends because of the link, and says so
// (PROTOCOL 8 and 14, `link_lost`).

import { Reason } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { MODE_AGE_MS } from './view.ts'

export class Silence {
  /** Fields from here on are not the vehicle's: the ground sets them. */
  readonly #context: number
  readonly #after_ms: Readonly<Partial<Record<Reason, number>>>
  #heard_ms: number | undefined

  constructor({ profile, fields }: Catalog) {
    this.#context = profile.fields.length
    // What is stale was not the last that was heard: when it runs out, the silence is shorter than its age, by less than half.
    const shortest_ms = Math.min(...fields.slice(0, this.#context).map(({ maxAge_ms }) => maxAge_ms))
    const silent_ms = shortest_ms / 2
    this.#after_ms = {
      [Reason.state_unknown]: silent_ms,
      [Reason.state_stale]: silent_ms,
      [Reason.prerequisite_lost]: silent_ms,
      [Reason.out_of_tolerance]: silent_ms,
      [Reason.not_in_control]: MODE_AGE_MS / 2,
      [Reason.unacknowledged]: silent_ms,
    }
  }

  /** A report of the autopilot, whatever it says, was received then. */
  heard(received_ms: number): void {
    this.#heard_ms = Math.max(received_ms, this.#heard_ms ?? received_ms)
  }

  /** For how long nothing was heard, in words, where that is why: `detail` is the core's number of a field, for state_*. */
  explains(reason: Reason, detail: number | string | undefined, now_ms: number): string | undefined {
    const after_ms = this.#after_ms[reason]
    if (after_ms === undefined || this.#heard_ms === undefined) return undefined
    const isState = reason === Reason.state_unknown || reason === Reason.state_stale
    if (isState && typeof detail === 'number' && detail >= this.#context) return undefined
    const silent_ms = now_ms - this.#heard_ms
    return silent_ms > after_ms ? `nothing heard for ${Math.round(silent_ms)} ms` : undefined
  }
}
