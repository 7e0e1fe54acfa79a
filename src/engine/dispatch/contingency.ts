// Contingencies: what is sent when a lease ends without being done, since silence is not a stop (PROTOCOL 8). `then`, a
// verb's undo, and the HOLD after a landing are sent in the same way.

import { CONTINGENCY_SENDS_MAX } from '../../../build/abi.ts'
import { CONTINGENCIES, type ContingencyName } from '../../autopilot/profile.ts'
import type { Acknowledgement } from '../port.ts'
import { type Awaiting, isGood } from '../vehicle/acknowledgement.ts'
import { SETTLING_MS, type Underway } from '../vehicle/takeover.ts'
import { MODE_AGE_MS } from '../vehicle/view.ts'
import type { Flight } from './flight.ts'

const REPEAT_MS = 200

/** What follows a contingency that is refused or not shown; land is last. */
const NEXT: Readonly<Record<ContingencyName, ContingencyName | undefined>> = {
  return: 'hold',
  hold: 'land',
  land: undefined,
  disarm: 'land',
}

export type ContingencyEnd = 'shown' | 'exhausted' | 'taken'

/** One contingency, or an undo's several in order, until the vehicle shows them or nothing is left to try. */
export class Contingency implements Awaiting {
  readonly #flight: Flight
  readonly #left: ContingencyName[]
  #name: ContingencyName
  /** Made with the first frame: nothing here asks the core before `advance`. */
  #token: number | undefined
  #tries = 0
  #next_ms = Number.NEGATIVE_INFINITY
  /** Only reports received after this show it. */
  #since_ms = Number.POSITIVE_INFINITY
  #refused = false
  #underway: Underway | undefined
  /** Frames that left, over all names: for the log. */
  sends = 0

  /** `names` is not empty. Nothing leaves before `advance`. */
  constructor(flight: Flight, names: readonly ContingencyName[]) {
    const [first, ...left] = names
    if (first === undefined) throw new Error('a contingency needs a name')
    this.#flight = flight
    this.#left = left
    this.#name = first
    this.#begin(first)
  }

  get name(): ContingencyName {
    return this.#name
  }

  /** It and what follows it. */
  get names(): readonly ContingencyName[] {
    return [this.#name, ...this.#left]
  }

  /** The vehicle is coming down or home: what follows needs newer evidence. */
  get landing(): boolean {
    return this.#name === 'land' || this.#name === 'return'
  }

  /** As the verb of that name: it ends with HOLD once disarmed. */
  get endsWithHold(): boolean {
    return this.#flight.catalog.profile.verbs[this.#name].endsWithHold
  }

  get #profile() {
    return this.#flight.catalog.profile.contingencies[this.#name]
  }

  #begin(name: ContingencyName): void {
    this.#name = name
    this.#token = undefined
    this.#tries = 0
    this.#next_ms = Number.NEGATIVE_INFINITY
    this.#since_ms = Number.POSITIVE_INFINITY
    this.#refused = false
    const { shows } = this.#profile
    this.#underway = {
      leads: 'mode' in shows ? [shows.mode] : [],
      endsWithHold: this.endsWithHold,
      since_ms: undefined,
      confirmed: false,
      armed_ms: undefined,
    }
    this.#flight.takeover.begin(this.#underway)
  }

  answered(ack: Acknowledgement): void {
    // The mode confirms; an ACK can only refuse.
    if (ack.command === this.#profile.command && !isGood(ack.result)) this.#refused = true
  }

  /** Sends, repeats, moves on. Returns how it ended, or undefined while it goes on. */
  advance(now_ms: number): ContingencyEnd | undefined {
    for (;;) {
      const { shows } = this.#profile
      if (this.#flight.view.shows(shows, this.#since_ms, now_ms)) {
        this.finish(now_ms)
        const next = this.#left.shift()
        if (next === undefined) return 'shown'
        this.#begin(next)
        continue
      }
      // Who has the vehicle will be known in half a second: until then nothing is sent, counted or given up.
      if (this.#flight.takeover.doubted) return undefined
      if (this.#isTaken(now_ms)) {
        this.finish(now_ms)
        return 'taken'
      }
      if (now_ms < this.#next_ms && !this.#refused) return undefined
      if (!this.#refused && this.#tries < CONTINGENCY_SENDS_MAX) {
        this.#send(now_ms)
        return undefined
      }
      // Not shown is a word of the vehicle's: silence only tells that it is not heard.
      if (!this.#refused && this.#isDeaf(now_ms)) return undefined
      this.finish(now_ms)
      const next = NEXT[this.#name]
      const { view } = this.#flight
      // Standing there disarmed, there is nothing to bring down.
      if (next === undefined || view.standsDisarmed(now_ms)) return 'exhausted'
      this.#begin(next)
    }
  }

  /** The mode is neither ours nor this contingency's own: somebody else has the vehicle, and is not disturbed again. */
  #isTaken(now_ms: number): boolean {
    if (this.#tries === 0) return false
    const seen = this.#flight.view.mode(now_ms)
    const { shows } = this.#profile
    const own = seen !== undefined && 'mode' in shows && seen.mode === shows.mode
    return seen !== undefined && !own && !this.#flight.takeover.isOurs(seen.mode)
  }

  /** The newest mode report, if there is any, is too old to show what a frame did, or from before a stall. */
  #isDeaf(now_ms: number): boolean {
    const seen = this.#flight.view.mode(now_ms)
    return !seen?.current || seen.age_ms > MODE_AGE_MS
  }

  #send(now_ms: number): void {
    const { core, port, view, takeover, acks } = this.#flight
    const changesMode = 'mode' in this.#profile.shows
    const allowed = changesMode ? takeover.inControl(now_ms) : !takeover.awaitsMode(now_ms)
    // Asked again once the vehicle is heard.
    if (!allowed && (this.#isDeaf(now_ms) || takeover.awaitsMode(now_ms))) return
    this.#next_ms = now_ms + REPEAT_MS
    this.#tries++
    if (!allowed) return // recorded as not sent: `sends` stays
    this.#token ??= core.contingency(CONTINGENCIES.indexOf(this.#name))
    const frame = core.contingencyFrame(this.#token)
    if (frame === undefined || !port.send(frame)) return
    this.sends++
    if (this.#since_ms === Number.POSITIVE_INFINITY) {
      const already = view.shows(this.#profile.shows, Number.NEGATIVE_INFINITY, now_ms)
      this.#since_ms = already ? now_ms + SETTLING_MS : now_ms
    }
    acks.sent(this.#profile.command, this)
    if (changesMode && this.#underway) takeover.commands(this.#underway, now_ms)
  }

  /** No more of it: what it still waits for must not be taken for another's. */
  finish(now_ms: number): void {
    this.#flight.acks.abandon(this, now_ms)
    if (this.#underway) this.#flight.takeover.finish(this.#underway)
    this.#underway = undefined
  }
}
