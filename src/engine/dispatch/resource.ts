// Resources: what only one effect may have at a time, `flight` above all (PROTOCOL 3 `uses`, and 8).

import type { Plan } from '../plan/plan.ts'

interface Holding {
  readonly by: object
  /** Between two effects of one step: this plan's actions, or with `any` everybody's, may take it. */
  readonly openTo: Plan | 'any' | undefined
}

export class Resources {
  readonly #held = new Map<string, Holding>()
  readonly #fence = new Map<string, number>()

  isFree(name: string, plan: Plan): boolean {
    const holding = this.#held.get(name)
    return holding === undefined || holding.openTo === 'any' || holding.openTo === plan
  }

  take(name: string, by: object): void {
    this.#held.set(name, { by, openTo: undefined })
  }

  /** Keeps the resource for `by`, but lets an action of `openTo` take it before the step ends. */
  handOver(name: string, by: object, openTo: Plan | 'any'): void {
    this.#held.set(name, { by, openTo })
  }

  isHeldBy(name: string, by: object): boolean {
    return this.#held.get(name)?.by === by
  }

  release(name: string, by: object): void {
    if (this.isHeldBy(name, by)) this.#held.delete(name)
  }

  /** After a contingency landed or came home, only a response that cites a later snapshot may use the resource. */
  fence(name: string, newestSnapshot: number): void {
    this.#fence.set(name, newestSnapshot)
  }

  isFenced(name: string, snapshot: number): boolean {
    return snapshot <= this.fenceOf(name)
  }

  /** The newest snapshot that may not use it; 0 where there is none. */
  fenceOf(name: string): number {
    return this.#fence.get(name) ?? 0
  }
}
