// Seeded chance, and a schedule of what is still to come: all that a virtual world needs besides its rules.

import { type Random, seededRandom } from '../../simulator/random.ts'

/** From, to. */
export type Range = readonly [number, number]

export class Chance {
  readonly #random: Random

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  /** A source of its own: what one part of the world draws does not shift what another one draws. */
  fork(): Chance {
    return new Chance(this.int(0, 0xffffffff))
  }

  real(min: number, max: number): number {
    return min + (max - min) * this.#random()
  }

  within([min, max]: Range): number {
    return this.real(min, max)
  }

  int(min: number, max: number): number {
    return min + Math.floor(this.#random() * (max - min + 1))
  }

  happens(probability: number): boolean {
    return this.#random() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(0, from.length - 1)]!
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.int(0, 255))
  }
}

interface Event {
  readonly at_ms: number
  readonly order: number
  readonly act: () => void
}

/** Events by time, and of one time in the order in which they were planned: a binary heap. */
export class Schedule {
  readonly #heap: Event[] = []
  #planned = 0

  at(at_ms: number, act: () => void): void {
    const heap = this.#heap
    let i = heap.push({ at_ms, order: this.#planned++, act }) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(heap[i]!, heap[parent]!)) break
      this.#swap(i, parent)
      i = parent
    }
  }

  next(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    heap[0] = last
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child
      }
      if (least === i) return first
      this.#swap(i, least)
      i = least
    }
  }

  #swap(a: number, b: number): void {
    const kept = this.#heap[a]!
    this.#heap[a] = this.#heap[b]!
    this.#heap[b] = kept
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.order < b.order)
