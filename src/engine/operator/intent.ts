// Irreversible actions (PROTOCOL 8): the intent is on the disk before the action crosses. What was not answered, or is found
// open after a restart, is uncertain: nothing of its type crosses until a person has looked and cleared it (G3).

import type { Intent } from '../port.ts'

export class Intents {
  /** Of this session: about to cross or under way, by whoever it is of. */
  readonly #open = new Map<object, Intent>()
  /** Those of them that the disk has. */
  readonly #durable = new Set<Intent>()
  /** Of whom the disk has not taken the intent: they must not happen. */
  readonly #refused = new WeakSet<object>()
  #uncertain: readonly Intent[]
  readonly #keep: (shown: boolean) => void
  /** How often the disk has answered something of these. */
  answers = 0

  /** `found` were open or uncertain when the process before this one ended. `keep`: it has changed, and is `shown` to people or not. */
  constructor(found: readonly Intent[], keep: (shown: boolean) => void) {
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

  /** The disk has it: it may happen. */
  isDurable(of: object): boolean {
    const intent = this.#open.get(of)
    return intent !== undefined && this.#durable.has(intent)
  }

  /** The disk does not take it: it must not happen. */
  isRefused(of: object): boolean {
    return this.#refused.has(of)
  }

  open(of: object, intent: Intent): void {
    this.#open.set(of, intent)
    this.#keep(false)
  }

  /** The disk has these, and whatever else an entry held. */
  written(intents: readonly Intent[]): void {
    const open = new Set(this.#open.values())
    for (const intent of intents) if (open.has(intent)) this.#durable.add(intent)
    this.answers++
  }

  /** The disk has not taken an entry with these. True where one of them was waiting for it. */
  refuse(intents: readonly Intent[]): boolean {
    const lost = new Set(intents)
    let waited = false
    for (const [of, intent] of this.#open) {
      if (!lost.has(intent) || this.#durable.has(intent)) continue
      this.#open.delete(of)
      this.#refused.add(of)
      waited = true
    }
    this.answers++
    return waited
  }

  /** It is known what became of it: it took effect, was refused, or never left. */
  settle(of: object): void {
    if (this.#close(of) !== undefined) this.#keep(false)
  }

  /** Nobody knows, and nobody will tell. */
  doubt(of: object): void {
    const intent = this.#close(of)
    if (intent === undefined) return
    this.#uncertain = [...this.#uncertain, intent]
    this.#keep(true)
  }

  /** A person has looked. */
  clear(type: string): void {
    if (!this.isUncertain(type)) return
    this.#uncertain = this.#uncertain.filter((intent) => intent.type !== type)
    this.#keep(true)
  }

  #close(of: object): Intent | undefined {
    const intent = this.#open.get(of)
    if (intent === undefined) return undefined
    this.#open.delete(of)
    this.#durable.delete(intent)
    return intent
  }
}
