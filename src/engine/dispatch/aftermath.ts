// What follows the end of a lease: contingencies, `then`, undo, and who may take the resource before they are sent (PROTOCOL 8).

import type { ContingencyName } from '../../autopilot/profile.ts'
import type { Instance, Plan } from '../plan/plan.ts'
import type { Publisher } from '../plan/publisher.ts'
import type { Session } from '../session.ts'
import { Contingency } from './contingency.ts'
import type { Flight } from './flight.ts'
import { Resources } from './resource.ts'

/** What is owed, and the resources that it holds. */
export interface Owed {
  readonly resources: readonly string[]
  readonly names: readonly ContingencyName[]
  /** When the lease began behind which it follows, ms. */
  readonly since_ms: number
}

interface Running {
  readonly contingency: Contingency
  readonly resources: readonly string[]
  readonly since_ms: number
}

export class Aftermath {
  readonly resources = new Resources()
  readonly #flight: Flight
  readonly #session: Session
  readonly #publisher: Publisher
  readonly #running = new Set<Running>()
  #handovers: Owed[] = []
  /** A frame that lands was sent, for these resources: HOLD follows once disarmed. */
  #landing: readonly string[] | undefined

  constructor(flight: Flight, session: Session, publisher: Publisher) {
    this.#flight = flight
    this.#session = session
    this.#publisher = publisher
  }

  /** Contingencies are under way. */
  get isRunning(): boolean {
    return this.#running.size > 0
  }

  /** An effect that changes the mode has crossed: one that lands ends with HOLD, any other makes that pointless. */
  crossed(landing: boolean, resources: readonly string[]): void {
    this.#landing = landing ? resources : undefined
  }

  /** Now, at once. */
  start(owed: Owed, now_ms: number): void {
    this.owe([owed])
    this.advance(now_ms)
  }

  /** The same, and whatever flies waits for it: it holds every resource of the catalog. */
  startAlone(names: readonly ContingencyName[], now_ms: number): void {
    const { types } = this.#flight.catalog
    const resources = [...new Set(types.flatMap(({ uses }) => uses ?? []))]
    this.start({ names, resources, since_ms: now_ms }, now_ms)
  }

  /** From the next `advance` on: a new session sends what the old one owed, once it knows the mode (PROTOCOL 11). */
  owe(owed: readonly Owed[]): void {
    for (const { names, resources, since_ms } of owed) {
      this.#publisher.log('info', 'contingency', { names, resources })
      const running = { contingency: new Contingency(this.#flight, names), resources, since_ms }
      this.#running.add(running)
      for (const name of resources) this.resources.take(name, running)
    }
  }

  /** What this session would still have to send. */
  owed(): Owed[] {
    const running = [...this.#running].map(({ contingency, ...rest }) => ({ ...rest, names: contingency.names }))
    return [...running, ...this.#handovers.filter((handover) => this.#isOpen(handover))]
  }

  /**
   * The effect has ended and leaves its resource to whoever of `openTo` takes it in this step. If nobody does, the names
   * follow; without names the resource is simply free.
   */
  handOver(from: Instance, handover: Owed, openTo: Plan | 'any'): void {
    const { resources, names } = handover
    if (names.length === 0) {
      for (const name of resources) this.resources.release(name, from)
      return
    }
    for (const name of resources) this.resources.handOver(name, handover, openTo)
    this.#handovers.push(handover)
  }

  /** Those under way: what the state shows is done with, the rest is repeated. */
  advance(now_ms: number): void {
    for (const running of [...this.#running]) this.#advance(running, now_ms)
  }

  /** All components have been offered: what nobody took is sent. */
  settle(now_ms: number): void {
    const handovers = this.#handovers
    this.#handovers = []
    for (const handover of handovers) {
      if (this.#isOpen(handover)) this.start(handover, now_ms)
    }
  }

  /** Nobody has taken its resources: whoever does stands for what would have followed. */
  #isOpen(handover: Owed): boolean {
    return handover.resources.every((name) => this.resources.isHeldBy(name, handover))
  }

  /** PX4 goes back to the last mode that was no landing, and refuses to arm in it: HOLD, once nothing is under way. */
  restOnGround(now_ms: number): void {
    const { view } = this.#flight
    const landed = this.#landing
    if (landed === undefined || this.isRunning || !view.standsDisarmed(now_ms)) return
    this.#landing = undefined
    this.start({ names: ['hold'], resources: landed, since_ms: now_ms }, now_ms)
  }

  /** Somebody else has the vehicle: nothing more is sent, and every resource is free. */
  abandon(now_ms: number): void {
    for (const handover of this.#handovers) {
      for (const name of handover.resources) this.resources.release(name, handover)
    }
    this.#handovers = []
    for (const running of this.#running) this.#stop(running, now_ms)
    this.#landing = undefined
  }

  #advance(running: Running, now_ms: number): void {
    const { contingency, resources } = running
    const ended = contingency.advance(now_ms)
    if (contingency.landing) {
      if (contingency.endsWithHold) this.#landing = resources
      for (const name of resources) this.resources.fence(name, this.#session.newest)
    }
    if (ended === undefined) return
    // A landing that nobody made needs no rest: its HOLD would only begin the same chain again.
    if (ended !== 'shown') this.#landing = undefined
    const { name, sends } = contingency
    this.#publisher.log(ended === 'shown' ? 'info' : 'warn', 'contingency ended', { name, ended, sends })
    if (ended !== 'shown') {
      const text = `contingency ${name} not shown after ${sends} frames: ${ended}`
      this.#publisher.notice(undefined, { kind: 'contingency', severity: 'critical', text })
    }
    this.#stop(running, now_ms)
  }

  #stop(running: Running, now_ms: number): void {
    running.contingency.finish(now_ms)
    this.#running.delete(running)
    for (const name of running.resources) this.resources.release(name, running)
  }
}

/** What an instance's effect holds while it is under way. */
export const resourcesOf = ({ is }: Instance): readonly string[] => (is.uses === undefined ? [] : [is.uses])
