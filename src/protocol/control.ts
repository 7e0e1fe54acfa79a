// Pause, the latch after a takeover, revoked agents and uncertain outcomes: what the operator holds (PROTOCOL 10), and what
// outlives a session.

import { Intents } from './intent.ts'
import type { Journal } from './port.ts'

export class Control {
  /** Of irreversible actions. */
  readonly intents: Intents
  readonly #journal: Journal
  readonly #unsaved: (why: string) => void
  readonly #revoked: Set<string>
  #paused: boolean
  #pilotControl: boolean
  /** +1 at every change: a verb names the one it has seen, so no stale or replayed message undoes a newer one. */
  #n = 0

  /** `unsaved` hears of a change that is not on the disk. It stands all the same, until the process ends. */
  constructor(journal: Journal, unsaved: (why: string) => void) {
    const last = journal.read()
    this.#journal = journal
    this.#unsaved = unsaved
    this.intents = new Intents(last?.intents ?? [], () => this.#keep())
    this.#paused = last?.paused ?? false
    this.#pilotControl = last?.pilotControl ?? false
    this.#revoked = new Set(last?.revoked)
  }

  get n(): number {
    return this.#n
  }

  get paused(): boolean {
    return this.#paused
  }

  /** The pilot, a failsafe or somebody else has the vehicle: no action crosses until the operator resumes. */
  get pilotControl(): boolean {
    return this.#pilotControl
  }

  get revoked(): readonly string[] {
    return [...this.#revoked]
  }

  isRevoked(agent: string): boolean {
    return this.#revoked.has(agent)
  }

  pause(): void {
    this.#paused = true
    this.#keep()
  }

  resume(): void {
    this.#paused = false
    this.#pilotControl = false
    this.#keep()
  }

  latch(): void {
    this.#pilotControl = true
    this.#keep()
  }

  revoke(agent: string): void {
    this.#revoked.add(agent)
    this.#keep()
  }

  restore(agent: string): void {
    this.#revoked.delete(agent)
    this.#keep()
  }

  /** Something changed that does not outlive the session: an attempt that was granted. */
  changed(): void {
    this.#n++
  }

  #keep(): boolean {
    this.#n++
    try {
      const { revoked, intents } = this
      this.#journal.write({ paused: this.#paused, pilotControl: this.#pilotControl, revoked, intents: intents.all })
      return true
    } catch (error) {
      // A full disk must not end a flight: what the operator or the pilot said holds without it.
      this.#unsaved((error as Error).message)
      return false
    }
  }
}
