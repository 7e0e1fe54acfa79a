// When what is read from a socket was received at the latest (PROTOCOL 2, "age"): it may have lain in the kernel since the last
// moment at which the socket was known to be empty.
//
// The event loop takes pieces off a socket in its poll phase only, and leaves it alone once it has found it empty or has taken a
// whole batch. So a time that is noted in front of a poll phase is one at which the socket was empty, if that phase took less
// than a batch or nothing. Nothing is said about the time since: another socket's callback may have taken long behind the poll.

import type { Clock } from '../machine/clock.ts'

export class Backlog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #batch: number
  readonly #refill_ms: number
  readonly #behindPoll: (act: () => void) => unknown
  /** The last moment at which the source is known to have been empty. */
  #empty_ms: number
  /** Noted in front of every poll phase from here on. */
  #mark_ms: number
  #pieces = 0
  #full = false
  /** What was full may be filled again from behind until then: found empty before, it proves nothing. */
  #refilled_ms = Number.NEGATIVE_INFINITY
  /** Immediates run once a turn, behind its poll phase. */
  #awaitsEnd = false
  #looks = false

  /**
   * To be made before its source is opened: that is empty at first. `batch`: so many pieces in a turn may have left some behind
   * (32 datagrams of a UDP socket); a stream tells with each piece instead. `refill_ms`: how long what a full source kept out
   * (in the sender's kernel, behind a terminal's line buffer) takes to come in once there is room. `behindPoll` runs something
   * behind the poll phase of this turn, once.
   */
  constructor(
    clock: Pick<Clock, 'now'>,
    batch = Number.POSITIVE_INFINITY,
    refill_ms = 0,
    behindPoll: (act: () => void) => unknown = setImmediate,
  ) {
    this.#clock = clock
    this.#batch = batch
    this.#refill_ms = refill_ms
    this.#behindPoll = behindPoll
    this.#empty_ms = clock.now()
    this.#mark_ms = this.#empty_ms
  }

  /**
   * When the piece that was just read counts as received. `full`: it filled its buffer, or for another reason (an error, a
   * pause) its source was not read to the end.
   */
  piece(full = false): number {
    this.#pieces++
    if (full) this.#full = true
    this.#awaitEnd()
    return this.#empty_ms
  }

  /** Sees whether there is anything to read, in the next turn. Call it with each tick while the source is being read. */
  look(): void {
    this.#looks = true
    this.#awaitEnd()
  }

  #awaitEnd(): void {
    if (this.#awaitsEnd) return
    this.#awaitsEnd = true
    this.#behindPoll(() => this.#turnEnds())
  }

  #turnEnds(): void {
    this.#awaitsEnd = false
    const now_ms = this.#clock.now()
    if (this.#full || this.#pieces >= this.#batch) this.#refilled_ms = now_ms + this.#refill_ms
    else if (this.#mark_ms >= this.#refilled_ms) this.#empty_ms = this.#mark_ms
    this.#mark_ms = now_ms
    this.#pieces = 0
    this.#full = false
    if (!this.#looks) return
    // A whole poll phase lies between this mark and the next end, wherever `look` was called.
    this.#looks = false
    this.#awaitEnd()
  }
}
