// Pause, the latch after a takeover, and revoked agents: what the operator holds (PROTOCOL 10), and what outlives a session.

import type { Journal } from './port.ts'

export class Control {
  readonly #journal: Journal
  readonly #revoked: Set<string>
  #paused: boolean
  #pilotControl: boolean
  /** +1 at every change: a verb names the one it has seen, so no stale or replayed message undoes a newer one. */
  #n = 0

  constructor(journal: Journal) {
    const last = journal.read()
    this.#journal = journal
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

  /** Something changed that does not outlive the session: what is pending, an attempt that was granted. */
  changed(): void {
    this.#n++
  }

  #keep(): void {
    this.#n++
    this.#journal.write({ paused: this.#paused, pilotControl: this.#pilotControl, revoked: this.revoked })
  }
}
