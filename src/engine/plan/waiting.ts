// What is retained and has not crossed, and when it is asked again (PROTOCOL 7).
//
// Asking the core costs a digest of the record, so only what may have another answer is asked: what is new, what the last of
// its prerequisites has just reached, and what waits for the world once the world has moved. All others are parked and cost
// nothing in a step; components of one plan and type are parked together, since the same speaks against all of them.

import { Phase } from '../../../build/abi.ts'
import type { ComponentType } from '../../catalog/catalog.ts'
import type { Instance, Plan } from './plan.ts'

/** Of what rules hold, so many of one plan and type are asked in each step, in turns: rules may change their mind at any time. */
const HELD_ASKED_MAX = 4

/** What is parked of one plan and type. */
export interface Queue {
  readonly plan: Plan
  readonly is: ComponentType
  /** They wait for what they rest on. */
  readonly others: Set<Instance>
  /** For the resource or the MAV_CMD. */
  readonly busy: Set<Instance>
  /** For a field. */
  readonly awaiting: Set<Instance>
  /** For a person or a contingency, by a rule. */
  readonly held: Set<Instance>
  /** The field that the last of `awaiting` waits for. */
  field: number
  /** The fence of its resource when the first was parked. */
  fence: number
  /** When the next of them is due. */
  due_ms: number
}

/** What is true of all that are parked together. */
export interface Surroundings {
  /** Something that denies has come: identity, or a fence. */
  speaksAgainst(queue: Queue): boolean
  isBusy(queue: Queue): boolean
  isUsable(field: number): boolean
}

export class Waiting {
  readonly #queues = new Map<Plan, Map<number, Queue>>()
  /** To be asked in the next round, or in the next step; each once. What does not wait any more is passed over. */
  #woken: Instance[] = []
  #later: Instance[] = []
  /** The round under way, in order of sequence, and how far it has come. */
  #round: Instance[] = []
  #at = 0

  add(instance: Instance): void {
    this.#woken.push(instance)
  }

  /** It has crossed, or ended. */
  unpark(instance: Instance): void {
    if (instance.parked === undefined) return
    instance.parked.in.delete(instance)
    instance.parked = undefined
  }

  /** Asked in this step: by the round under way where that has not passed it yet, else by the next. */
  wake(instance: Instance): void {
    if (instance.parked === undefined) return
    this.unpark(instance)
    const last = this.#round[this.#at - 1]
    if (last === undefined || instance.sequence < last.sequence) this.#woken.push(instance)
    else this.#round.splice(this.#place(instance), 0, instance)
  }

  /** Where it belongs in what is left of the round. */
  #place({ sequence }: Instance): number {
    let [low, high] = [this.#at, this.#round.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#round[middle]!.sequence < sequence) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Asked again in the next step. */
  later(instance: Instance): void {
    this.#later.push(instance)
  }

  /** Not asked again before it is woken or due. */
  park(
    instance: Instance,
    where: 'others' | 'busy' | 'awaiting' | 'held',
    fence: number,
    due_ms: number,
    field = -1,
  ): void {
    const queue = this.#queueOf(instance)
    if (size(queue) === 0) {
      queue.fence = fence
      queue.due_ms = due_ms
    }
    queue.due_ms = Math.min(queue.due_ms, due_ms)
    if (where === 'awaiting') queue.field = field
    queue[where].add(instance)
    instance.parked = { in: queue[where], due_ms }
  }

  #queueOf({ plan, type, is }: Instance): Queue {
    const queues = this.#queues.get(plan) ?? new Map<number, Queue>()
    this.#queues.set(plan, queues)
    const found = queues.get(type)
    if (found !== undefined) return found
    const set = (): Set<Instance> => new Set()
    const queue = { plan, is, others: set(), busy: set(), awaiting: set(), held: set(), field: -1, fence: 0, due_ms: 0 }
    queues.set(type, queue)
    return queue
  }

  /** Begins the rounds of a step: wakes what may have another answer now. */
  wakeAnswerable(around: Surroundings, now_ms: number): void {
    this.#woken.push(...this.#later)
    this.#later = []
    for (const [plan, queues] of this.#queues) {
      for (const [type, queue] of queues) {
        if (size(queue) === 0) queues.delete(type)
        else this.#wakeFrom(queue, around, now_ms)
      }
      if (queues.size === 0) this.#queues.delete(plan)
    }
  }

  #wakeFrom(queue: Queue, around: Surroundings, now_ms: number): void {
    const { others, busy, awaiting, held } = queue
    if (around.speaksAgainst(queue)) return this.#wakeAll(others, busy, awaiting, held)
    if (busy.size > 0 && !around.isBusy(queue)) this.#wakeAll(busy)
    if (awaiting.size > 0 && (around.isBusy(queue) || around.isUsable(queue.field))) this.#wakeAll(awaiting)
    let asked = 0
    for (const instance of held) {
      if (asked++ === HELD_ASKED_MAX) break
      this.wake(instance)
    }
    if (now_ms <= queue.due_ms) return
    queue.due_ms = Number.POSITIVE_INFINITY
    for (const parked of [others, busy, awaiting, held]) {
      for (const instance of parked) {
        const { due_ms } = instance.parked!
        if (now_ms > due_ms) this.wake(instance)
        else queue.due_ms = Math.min(queue.due_ms, due_ms)
      }
    }
  }

  #wakeAll(...parked: readonly Set<Instance>[]): void {
    for (const instances of parked) for (const instance of instances) this.wake(instance)
  }

  /** The next to be asked, in order of sequence; then, from the beginning, what was woken behind; undefined at the end. */
  next(): Instance | undefined {
    for (;;) {
      for (; this.#at < this.#round.length; ) {
        const instance = this.#round[this.#at++]!
        if (isWaiting(instance)) return instance
      }
      this.#round = this.#woken.sort((a, b) => a.sequence - b.sequence)
      this.#at = 0
      this.#woken = []
      if (this.#round.length === 0) return undefined
    }
  }
}

/** It has neither crossed nor ended. */
export const isWaiting = ({ phase }: Instance): boolean => phase === Phase.retained

const size = ({ others, busy, awaiting, held }: Queue): number => others.size + busy.size + awaiting.size + held.size
