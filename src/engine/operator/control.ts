// Pause, the latch after a takeover, revoked agents and uncertain outcomes: what the operator holds (PROTOCOL 10), and what
// outlives a session.

import type { Journal, JournalEntry } from '../port.ts'
import { Intents } from './intent.ts'

/** A disk that has not answered for so long is told of as one that takes nothing. */
const UNANSWERED_MS = 2000

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
  /** Something that the journal has to hold has changed in this step. */
  #dirty = false
  /** The newest entry, until the journal has told what became of it. */
  #unanswered: JournalEntry | undefined
  /** Since when the disk has answered nothing, ms. */
  #since_ms: number | undefined
  /** That it takes or answers nothing was told; once, until it does again. */
  #told = false

  /** `unsaved` hears of a change that is not on the disk. It stands all the same, until the process ends. */
  constructor(journal: Journal, unsaved: (why: string) => void) {
    const last = journal.read()
    this.#journal = journal
    this.#unsaved = unsaved
    this.intents = new Intents(last?.intents ?? [], (shown) => this.#keep(shown))
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

  /** The journal has written this entry or a newer one; `problem`: it could not. */
  journalled(entry: JournalEntry, problem: string | undefined): void {
    // An older entry's fate says that the disk answers; the newest is still awaited.
    this.#since_ms = undefined
    if (entry === this.#unanswered) this.#unanswered = undefined
    if (problem === undefined) {
      this.#told = false
      this.intents.written(entry.intents)
      return
    }
    this.intents.refuse(entry.intents)
    // A full disk must not end a flight: what the operator or the pilot said holds without it.
    this.#tell(problem)
  }

  /** A disk that says nothing is told of like one that refuses, and what waits for it does not happen. */
  judgeJournal(now_ms: number): void {
    if (this.#unanswered === undefined) return
    this.#since_ms ??= now_ms
    if (now_ms - this.#since_ms < UNANSWERED_MS) return
    this.#tell(`the disk has not answered for ${UNANSWERED_MS / 1000} s`)
    // What never leaves must not be found open by the next process.
    if (this.intents.refuse(this.intents.all)) this.#dirty = true
  }

  /** The end of a step: what has changed in it goes to the journal, as one entry. */
  save(now_ms: number): void {
    if (!this.#dirty) return
    this.#dirty = false
    this.#since_ms ??= now_ms
    const { revoked, intents } = this
    const entry = { paused: this.#paused, pilotControl: this.#pilotControl, revoked, intents: intents.all }
    this.#unanswered = entry
    this.#journal.write(entry)
  }

  /** `shown`: it stands in `control`. */
  #keep(shown = true): void {
    if (shown) this.#n++
    this.#dirty = true
  }

  #tell(why: string): void {
    if (!this.#told) this.#unsaved(why)
    this.#told = true
  }
}
