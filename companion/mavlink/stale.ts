// Signed frames with an old time stamp, before the autopilot is known. One that lost its clock stamps so, and takes our time once
// it is spoken to; whoever has recorded it stamps so as well, and can say nothing that he has not said. So each counts once.

/** Heartbeats of more than four hours. */
const REMEMBERED_MAX = 16_384

export class Stale {
  readonly #said = new Set<string>()

  /** Whether this very frame is heard for the first time, by its stream and stamp. */
  isNew(name: string): boolean {
    if (this.#said.has(name)) return false
    if (this.#said.size >= REMEMBERED_MAX) this.#said.delete(this.#said.values().next().value!)
    this.#said.add(name)
    return true
  }
}
