// What the autopilot says against arming, for whoever is told that it is not ready (PROTOCOL 5). No decision rests on it.

/** So many are kept, the newest. */
const MOST = 4
/** ArduPilot says each again after 30 s: what it does not say again with the others is mended. */
const AGAIN_MS = 40_000

export class Objections {
  readonly #said_ms = new Map<string, number>()

  /** Returns whether it is new. */
  say(words: string, now_ms: number): boolean {
    const isNew = !this.#said_ms.delete(words)
    this.#said_ms.set(words, now_ms)
    for (const [old, at_ms] of this.#said_ms) {
      if (this.#said_ms.size > MOST || now_ms - at_ms > AGAIN_MS) this.#said_ms.delete(old)
    }
    return isNew
  }

  /** It is ready, or another boot. */
  clear(): void {
    this.#said_ms.clear()
  }

  /** The newest first; undefined where it says nothing. */
  get words(): string | undefined {
    return this.#said_ms.size === 0 ? undefined : [...this.#said_ms.keys()].reverse().join('; ')
  }
}
