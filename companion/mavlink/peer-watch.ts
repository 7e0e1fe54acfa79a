// How long the peer of an endpoint has been silent.

/** A peer that has been silent for so long may have come back from another port: after a reboot it does. */
const SILENCE_ms = 3000

/** Tells how long there has been nothing to hear; the time is known at ticks only. */
export class PeerWatch {
  #heard = true
  #since_ms = 0

  heard(): void {
    this.#heard = true
  }

  /** Whether the peer is to be let go. */
  isOver(now_ms: number): boolean {
    if (this.#heard) this.#since_ms = now_ms
    this.#heard = false
    return now_ms - this.#since_ms >= SILENCE_ms
  }
}
