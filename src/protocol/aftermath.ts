// What follows the end of a lease: contingencies, `then`, undo, and who may take the resource before they are sent (PROTOCOL 8).

import type { ContingencyName } from '../profile/profile.ts'
import { Contingency } from './contingency.ts'
import type { Flight } from './flight.ts'
import type { Instance, Plan } from './plan.ts'
import type { Publisher } from './publisher.ts'
import { Resources } from './resource.ts'
import type { Session } from './session.ts'

/** What is owed for a resource. */
export interface Owed {
  readonly resource: string | undefined
  readonly names: readonly ContingencyName[]
}

interface Running {
  readonly contingency: Contingency
  readonly resource: string | undefined
}

export class Aftermath {
  readonly resources = new Resources()
  readonly #flight: Flight
  readonly #session: Session
  readonly #publisher: Publisher
  readonly #running = new Set<Running>()
  #handovers: Owed[] = []
  /** A frame that lands was sent, for this resource: HOLD follows once disarmed. */
  #landing: { readonly resource: string | undefined } | undefined

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
  crossed(landing: boolean, resource: string | undefined): void {
    this.#landing = landing ? { resource } : undefined
  }

  /** Now, at once: silence is not a stop. */
  start(names: readonly ContingencyName[], resource: string | undefined, now_ms: number): void {
    this.#publisher.log('info', 'contingency', { names, resource })
    this.#advance(this.#add({ names, resource }), now_ms)
  }

  /** In the next steps: a new session sends what the old one owed, once it knows the mode (PROTOCOL 11). */
  owe(owed: readonly Owed[]): void {
    for (const each of owed) this.#add(each)
  }

  /** What this session would still have to send. */
  owed(): Owed[] {
    const running = [...this.#running].map((r) => ({ resource: r.resource, names: [r.contingency.name] }))
    return [...running, ...this.#handovers]
  }

  /**
   * The effect has ended and leaves its resource to whoever of `openTo` takes it in this step. If nobody does, `names`
   * follow; without names the resource is simply free.
   */
  handOver(from: Instance, names: readonly ContingencyName[], openTo: Plan | 'any'): void {
    const resource = from.is.uses
    if (names.length === 0) {
      if (resource !== undefined) this.resources.release(resource, from)
      return
    }
    const handover = { resource, names }
    if (resource !== undefined) this.resources.handOver(resource, handover, openTo)
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
      const { resource, names } = handover
      if (resource !== undefined && !this.resources.isHeldBy(resource, handover)) continue // taken
      this.start(names, resource, now_ms)
    }
  }

  /** PX4 goes back to the last mode that was no landing, and refuses to arm in it: HOLD, once nothing is under way. */
  restOnGround(now_ms: number): void {
    const { view } = this.#flight
    const landed = this.#landing
    if (landed === undefined || this.isRunning || !view.isDisarmed(now_ms) || !view.isOnGround(now_ms)) return
    this.#landing = undefined
    this.start(['hold'], landed.resource, now_ms)
  }

  /** Somebody else has the vehicle: nothing more is sent, and every resource is free. */
  abandon(now_ms: number): void {
    for (const handover of this.#handovers) {
      if (handover.resource !== undefined) this.resources.release(handover.resource, handover)
    }
    this.#handovers = []
    for (const running of this.#running) this.#stop(running, now_ms)
    this.#landing = undefined
  }

  #add({ names, resource }: Owed): Running {
    const running = { contingency: new Contingency(this.#flight, names), resource }
    this.#running.add(running)
    if (resource !== undefined) this.resources.take(resource, running)
    return running
  }

  #advance(running: Running, now_ms: number): void {
    const { contingency, resource } = running
    const ended = contingency.advance(now_ms)
    if (contingency.landing) {
      this.#landing = { resource }
      if (resource !== undefined) this.resources.fence(resource, this.#session.newest)
    }
    if (ended === undefined) return
    const { name, sends } = contingency
    this.#publisher.log(ended === 'shown' ? 'info' : 'warn', 'contingency ended', { name, ended, sends })
    this.#stop(running, now_ms)
  }

  #stop(running: Running, now_ms: number): void {
    running.contingency.finish(now_ms)
    this.#running.delete(running)
    if (running.resource !== undefined) this.resources.release(running.resource, running)
  }
}
