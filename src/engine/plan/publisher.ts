// What the engine says in one step, in order: publications for the broker, and events for the log (PROTOCOL 12).

import type { Reason } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { MESSAGE_BYTES_MAX } from '../../catalog/published.ts'
import type { Publication } from '../port.ts'
import { clipped, fitted } from './message.ts'
import { type Instance, idOf, type Plan } from './plan.ts'
import { detailWords, endValue, outcome } from './wording.ts'

/** Of the words of an outcome's detail: what a preflight says to set is longer than a stranger's text may be. */
const OUTCOME_BYTES_MAX = 512

/** What is shown of a consent, and how many bytes that has at most. */
export interface Shown {
  readonly words: object
  readonly bytes: number
}

export interface LogEvent {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
  readonly [key: string]: unknown
}

export class Publisher {
  readonly catalog: Catalog
  /** Wall-clock ms: informative, no decision rests on it. */
  readonly wall: () => number
  readonly #log: ((event: LogEvent) => void) | undefined
  #out: Publication[] = []
  #afterwards: (() => void)[] = []

  constructor(catalog: Catalog, wall: () => number, log: ((event: LogEvent) => void) | undefined) {
    this.catalog = catalog
    this.wall = wall
    this.#log = log
  }

  publish(topic: string, value: unknown, retain = false): void {
    this.#out.push({ topic, retain, value })
  }

  /** A publication said once more, as it was. */
  repeat(publication: Publication): void {
    this.#out.push(publication)
  }

  /** A place in what is being said, for `insert`. */
  get place(): number {
    return this.#out.length
  }

  /** What must precede that which it brings about, known only afterwards. */
  insert(place: number, publication: Publication): void {
    this.#out.splice(place, 0, publication)
  }

  /**
   * A component's change of phase, or its first deferral. `detail` is the core's number, or words; `opensNone`: it is lost, and
   * there are too many open obligations for one about it. Returns the words of the detail.
   */
  outcome(
    instance: Instance,
    reason: Reason,
    detail: number | string | undefined,
    opensNone = false,
  ): string | undefined {
    const nameOf = (sequence: number): string | undefined => idOf(instance.plan, sequence)
    const words = detailWords(this.catalog, instance.is, reason, detail, nameOf)
    this.publish(
      `outcome/${instance.plan.speaker.agent.name}`,
      outcome(instance, this.wall(), reason, words && clipped(words, OUTCOME_BYTES_MAX), opensNone),
    )
    return words && clipped(words)
  }

  /** Nothing of the plan is live any more. */
  end(plan: Plan): void {
    const { ends, forgotten } = plan.ends
    const value = fitted(endValue(plan.name, this.wall(), plan.why, ends), ['ends'])
    const omitted = forgotten + ((value.omitted as { ends?: number } | undefined)?.ends ?? 0)
    this.publish(`end/${plan.speaker.agent.name}`, omitted === 0 ? value : { ...value, omitted: { ends: omitted } })
  }

  /** For people: what is said of a component, or by the companion itself; and a consent, that is never cut. */
  notice(about: Instance | undefined, value: Readonly<Record<string, unknown>>, consent?: Shown): void {
    const component = about && {
      agent: about.plan.speaker.agent.name,
      plan: about.plan.name,
      component: about.id,
      generation: about.generation,
      sequence: about.sequence,
    }
    const whole = { v: 1, ...component, at: this.wall(), ...value }
    const most = MESSAGE_BYTES_MAX - (consent?.bytes ?? 0)
    const kept = fitted(whole, ['faults', 'rules', 'fields', 'text'], most)
    this.publish('notice', consent === undefined ? kept : Object.assign({}, kept, consent.words))
  }

  /** What only stands in a log, where one is kept, is made once the step's frames have left. */
  afterwards(tell: () => void): void {
    if (this.#log !== undefined) this.#afterwards.push(tell)
  }

  log(level: LogEvent['level'], event: string, about: Readonly<Record<string, unknown>>): void {
    this.#log?.({ ...about, level, event })
  }

  /** Everything that was said since the last call. */
  take(): Publication[] {
    for (const tell of this.#afterwards.splice(0)) tell()
    const out = this.#out
    this.#out = []
    return out
  }
}
