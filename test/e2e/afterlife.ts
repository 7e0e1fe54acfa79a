// An observer on the wire: after an instance has ended, no setpoint of it may arrive at the vehicle any more (PROTOCOL 8).

import { decode } from 'cborg'
import type { Agent, FlightLine, Value } from './flight-line.ts'

const ENDED = /^(completed|blocked|failed|expired|superseded|uncertain)$/
/** What left before the end was told may still be on its way, ms. */
const UNDERWAY_MS = 300

interface Ended {
  readonly id: string
  readonly reason: string
  /** Setpoints that had arrived when it was over. */
  readonly after: number
}

export class Afterlife {
  readonly #line: FlightLine
  readonly #agent: Agent
  /** By the target that only this instance has: longitude, 1e-7 deg. */
  readonly #ended = new Map<number, Ended>()

  constructor(line: FlightLine, agent: Agent) {
    this.#line = line
    this.#agent = agent
    agent.onMessage = ({ topic, value }) => {
      if (topic !== 'outcome/planner' || !ENDED.test(value.phase)) return
      const target = this.#targetOf(value.component)
      if (target !== undefined) setTimeout(() => this.#over(target, value), UNDERWAY_MS)
    }
  }

  /** Why those ended whose end was watched, each word once. */
  get reasons(): string[] {
    return [...new Set([...this.#ended.values()].map(({ reason }) => reason))].sort()
  }

  /** Setpoints of an instance that was over, each by its id and why it had ended. */
  get sightings(): string[] {
    return this.#line.setpoints.flatMap(({ values }, i) => {
      const ended = 'lonInt' in values ? this.#ended.get(values.lonInt) : undefined
      return ended !== undefined && i >= ended.after ? [`${ended.id} after ${ended.reason}`] : []
    })
  }

  #over(target: number, { component, phase, reason }: Value): void {
    this.#ended.set(target, { id: component, reason: reason ?? phase, after: this.#line.setpoints.length })
  }

  #targetOf(id: string): number | undefined {
    for (const packet of this.#agent.packets.toReversed()) {
      const said = (decode(packet) as Value).components.find((c: Value) => c.id === id)
      if (said?.payload.lon !== undefined) return Math.round(said.payload.lon * 1e7)
    }
    return undefined
  }
}
