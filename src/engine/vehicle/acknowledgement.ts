// COMMAND_ACKs: an ACK names a MAV_CMD, never an instance, so only one of each may be outstanding (PROTOCOL 8, "Command").

import type { Acknowledgement } from '../port.ts'

/** How long an ACK that nobody waits for any more may still come: until then, or until it has, no other of its id crosses. */
const UNANSWERED_MS = 5000

/** Whoever sent the command: a lease or a contingency. */
export interface Awaiting {
  answered(ack: Acknowledgement, now_ms: number): void
}

/** MAV_RESULT */
const ACCEPTED = 0
export const IN_PROGRESS = 5
/** All others refuse. */
export const isGood = (result: number): boolean => result === ACCEPTED || result === IN_PROGRESS

export class Acknowledgements {
  readonly #outstanding = new Map<number, { by: Awaiting; sends: number }>()
  /** ACKs that are due for commands that were given up. */
  readonly #late = new Map<number, { sends: number; until_ms: number }>()

  sent(command: number, by: Awaiting): void {
    const entry = this.#outstanding.get(command)
    if (entry?.by === by) entry.sends++
    else this.#outstanding.set(command, { by, sends: 1 })
  }

  /** Hands an ACK to whoever waits for it. One that may answer an older command of the same id reaches nobody. */
  deliver(ack: Acknowledgement, now_ms: number): void {
    const { command } = ack
    const isLast = ack.result !== IN_PROGRESS
    const late = this.#lateOf(command, now_ms)
    if (late !== undefined) {
      if (isLast && --late.sends === 0) this.#late.delete(command)
      return
    }
    const entry = this.#outstanding.get(command)
    if (entry === undefined) return
    if (isLast && --entry.sends === 0) this.#outstanding.delete(command)
    entry.by.answered(ack, now_ms)
  }

  /** Another component with this command would be second. */
  isBusy(command: number, now_ms: number): boolean {
    return this.#outstanding.has(command) || this.#lateOf(command, now_ms) !== undefined
  }

  /** No answer came, or nobody waits for it any more: what comes late must not be taken for somebody else's. */
  abandon(by: Awaiting, now_ms: number): void {
    for (const [command, entry] of this.#outstanding) {
      if (entry.by !== by) continue
      this.#outstanding.delete(command)
      const before = this.#lateOf(command, now_ms)?.sends ?? 0
      this.#late.set(command, { sends: before + entry.sends, until_ms: now_ms + UNANSWERED_MS })
    }
  }

  #lateOf(command: number, now_ms: number): { sends: number } | undefined {
    const late = this.#late.get(command)
    return late !== undefined && now_ms < late.until_ms ? late : undefined
  }
}
