// Irreversible actions (PROTOCOL 8): the intent is on the disk before the action crosses. What was not answered, or is found
// open after a restart, is uncertain: nothing of its type crosses until a person has looked and cleared it (G3).

import type { Intent } from './port.ts'

export class Intents {
  /** Of this session: under way, by whoever it is of. */
  readonly #open = new Map<object, Intent>()
  #uncertain: readonly Intent[]
  readonly #keep: () => boolean

  /** `found` were open or uncertain when the process before this one ended. `keep` is false where the disk did not take it. */
  constructor(found: readonly Intent[], keep: () => boolean) {
    this.#uncertain = found
    this.#keep = keep
  }

  /** What the journal has to hold. */
  get all(): readonly Intent[] {
    return [...this.#uncertain, ...this.#open.values()]
  }

  /** Types of which nobody knows whether the last one took effect. */
  get uncertain(): readonly string[] {
    return [...new Set(this.#uncertain.map(({ type }) => type))]
  }

  isUncertain(type: string): boolean {
    return this.#uncertain.some((intent) => intent.type === type)
  }

  /** It is uncertain, or one is under way that is about to be. */
  concern(type: string): boolean {
    return this.all.some((intent) => intent.type === type)
  }

  isOpen(of: object): boolean {
    return this.#open.has(of)
  }

  /** False: it is not on the disk, so it must not happen. */
  open(of: object, intent: Intent): boolean {
    this.#open.set(of, intent)
    if (this.#keep()) return true
    this.#open.delete(of)
    return false
  }

  /** It is known what became of it: it took effect, was refused, or never left. */
  settle(of: object): void {
    if (this.#open.delete(of)) this.#keep()
  }

  /** Nobody knows, and nobody will tell. */
  doubt(of: object): void {
    const intent = this.#open.get(of)
    if (intent === undefined) return
    this.#open.delete(of)
    this.#uncertain = [...this.#uncertain, intent]
    this.#keep()
  }

  /** A person has looked. */
  clear(type: string): void {
    if (!this.isUncertain(type)) return
    this.#uncertain = this.#uncertain.filter((intent) => intent.type !== type)
    this.#keep()
  }
}
