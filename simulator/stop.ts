// Where a mode that stops the vehicle will hold it: first it runs on, then it brakes, then it stays.

import type { Body, HorizontalDemand } from './body.ts'
import type { Vector } from './geodesy.ts'

const COAST_ABOVE_MPS = 0.5
const HOLD_SPEED_MPS = 3

export class Stop {
  readonly #body: Body
  readonly #coasts_ms: number
  #until_ms = 0
  #velocity: Vector = { north: 0, east: 0, down: 0 }
  #point: { readonly north: number; readonly east: number } | undefined
  /** The height that it keeps; m below the origin. */
  down = 0

  /** `coasts_ms`: how long it runs on before it brakes. */
  constructor(body: Body, coasts_ms: number) {
    this.#body = body
    this.#coasts_ms = coasts_ms
  }

  /** Where it holds, once it stands. */
  get point(): { readonly north: number; readonly east: number } | undefined {
    return this.#point
  }

  /** From here and now. */
  begin(now_ms: number): void {
    const { velocity, position, speed_mps } = this.#body
    const coasts = speed_mps > COAST_ABOVE_MPS
    this.#until_ms = now_ms + (coasts ? this.#coasts_ms : 0)
    this.#velocity = velocity
    this.#point = coasts ? undefined : position
    this.down = position.down
  }

  demand(now_ms: number): HorizontalDemand {
    if (now_ms < this.#until_ms) {
      return { kind: 'velocity', north: this.#velocity.north, east: this.#velocity.east }
    }
    if (this.#point === undefined) {
      if (this.#body.speed_mps > 0.1) return { kind: 'brake' }
      this.#point = this.#body.position
    }
    return { kind: 'position', ...this.#point, speed_mps: HOLD_SPEED_MPS }
  }
}
