// COMMAND_ACKs: an ACK names a MAV_CMD, never an instance, so only one of each may be outstanding (PROTOCOL 8, "Command").

import type { Acknowledgement } from './port.ts'

/** After an unanswered command no other of its id crosses, and ACKs of that id are ignored, for this long. */
const UNANSWERED_MS = 5000

/** Whoever sent the command: a lease or a contingency. */
export interface Awaiting {
  answered(ack: Acknowledgement, now_ms: number): void
}

const MAV_RESULT_IN_PROGRESS = 5

export class Acknowledgements {
  readonly #outstanding = new Map<number, { by: Awaiting; sends: number }>()
  readonly #ignoredUntil_ms = new Map<number, number>()

  sent(command: number, by: Awaiting): void {
    const entry = this.#outstanding.get(command)
    if (entry?.by === by) entry.sends++
    else this.#outstanding.set(command, { by, sends: 1 })
  }

  /** Hands an ACK to whoever waits for it. One that may answer an older command of the same id reaches nobody. */
  deliver(ack: Acknowledgement, now_ms: number): void {
    if (this.#isIgnored(ack.command, now_ms)) return
    const entry = this.#outstanding.get(ack.command)
    if (entry === undefined) return
    if (ack.result !== MAV_RESULT_IN_PROGRESS && --entry.sends === 0) this.#outstanding.delete(ack.command)
    entry.by.answered(ack, now_ms)
  }

  /** Another component with this command would be second. */
  isBusy(command: number, now_ms: number): boolean {
    return this.#outstanding.has(command) || this.#isIgnored(command, now_ms)
  }

  /** No answer came, or nobody waits for it any more: what comes late must not be taken for somebody else's. */
  abandon(by: Awaiting, now_ms: number): void {
    for (const [command, entry] of this.#outstanding) {
      if (entry.by !== by) continue
      this.#outstanding.delete(command)
      this.#ignoredUntil_ms.set(command, now_ms + UNANSWERED_MS)
    }
  }

  #isIgnored(command: number, now_ms: number): boolean {
    return now_ms < (this.#ignoredUntil_ms.get(command) ?? Number.NEGATIVE_INFINITY)
  }
}
