// When a snapshot is due, and what it says (PROTOCOL 2 and 12).

import type { Catalog } from '../../catalog/catalog.ts'
import { MESSAGE_BYTES_MAX, phaseWord } from '../../catalog/published.ts'
import { bytesOf } from '../../wire/write.ts'
import type { Session } from '../session.ts'
import { shares } from './message.ts'
import type { Obligation } from './obligation.ts'
import { isCompleted, isLive, type Plan } from './plan.ts'
import { fieldValue } from './wording.ts'

const PERIOD_MS = 1000
/** Beyond the one a second, on a discrete change, in each second. */
const EXTRA_MAX = 2

/** One a second, and on a discrete change at most two more. */
export class SnapshotSchedule {
  #last_ms = Number.NEGATIVE_INFINITY
  #extra = 0
  #changed = false

  discreteChange(): void {
    this.#changed = true
  }

  isDue(now_ms: number): boolean {
    if (now_ms - this.#last_ms >= PERIOD_MS) {
      this.#last_ms = now_ms
      this.#extra = 0
      this.#changed = false
      return true
    }
    if (!this.#changed || this.#extra >= EXTRA_MAX) return false
    this.#extra++
    this.#changed = false
    return true
  }
}

/**
 * The value of the retained `snapshot` message for the snapshot just taken. State comes whole. What is left of the message is
 * shared among the agents: of each first what is live, then what is completed, then its obligations, the oldest first; what
 * has no room is counted under `omitted`.
 */
export function snapshotValue(session: Session, catalog: Catalog, now_ms: number, wall_ms: number): unknown {
  const state: Record<string, unknown> = {}
  const versions: Record<string, number> = {}
  const unknown: string[] = []
  for (const [index, field] of catalog.fields.entries()) {
    if (!field.declared) continue
    const { validity, value, version } = session.core.read(index, now_ms)
    if (validity === 'usable') state[field.name] = fieldValue(field, value)
    else unknown.push(field.name)
    if (!field.continuous) versions[field.name] = version
  }
  const whole = {
    v: 1,
    snapshot: session.snapshotName(session.newest),
    session: session.id,
    at: wall_ms,
    state,
    versions,
    unknown,
    agents: Object.fromEntries([...session.speakers.values()].map((s) => [s.agent.name, { generation: s.generation }])),
  }
  const all = session.plans.map((plan) => new Shown(plan))
  const room = MESSAGE_BYTES_MAX - bytesOf(whole) - FRAME_BYTES
  for (const [i, share] of shares(
    all.map(({ bytes }) => bytes),
    room,
  ).entries()) {
    all[i]!.cut(share)
  }
  const cut = all.flatMap(({ agent, omitted }) => (omitted === undefined ? [] : [[agent, omitted]]))
  return {
    ...whole,
    plans: all.map(({ agent, plan, components }) => ({ agent, plan, components: Object.fromEntries(components) })),
    obligations: all.flatMap(({ obligations }) => obligations.map(({ shown }) => shown)),
    omitted: cut.length === 0 ? undefined : Object.fromEntries(cut),
  }
}

/** For the keys around what the agents have. */
const FRAME_BYTES = 64
/** For an agent's name, its plan's, and what is omitted of it: 64 and 129 bytes of text with their keys. */
const PLAN_BYTES = 360

/** What a snapshot shows of one plan. */
class Shown {
  readonly agent: string
  readonly plan: string
  components: readonly (readonly [string, string])[]
  obligations: readonly Obligation[]
  omitted: { readonly components?: number; readonly obligations?: number } | undefined
  readonly bytes: number

  constructor(plan: Plan) {
    this.agent = plan.speaker.agent.name
    this.plan = plan.name
    const members = [...plan.members.values()]
    const kept = [...members.filter(isLive), ...members.filter(isCompleted)]
    this.components = kept.map((i) => [i.id, phaseWord(i.phase)] as const)
    this.obligations = plan.obligations.open
    this.bytes = PLAN_BYTES + sum(this.components, bytesOf) + sum(this.obligations, ({ bytes }) => bytes)
  }

  /** To so many bytes; they are enough for the plan's name. */
  cut(bytes: number): void {
    if (bytes >= this.bytes) return
    const { components, obligations } = this
    const room = bytes - PLAN_BYTES
    this.components = fitting(components, bytesOf, room)
    this.obligations = fitting(obligations, (o) => o.bytes, room - sum(this.components, bytesOf))
    const lost = [components.length - this.components.length, obligations.length - this.obligations.length] as const
    this.omitted = { ...(lost[0] > 0 && { components: lost[0] }), ...(lost[1] > 0 && { obligations: lost[1] }) }
  }
}

const sum = <T>(all: readonly T[], bytes: (each: T) => number): number => all.reduce((to, each) => to + bytes(each), 0)

/** As many from the beginning as have room. */
function fitting<T>(all: readonly T[], bytes: (each: T) => number, room: number): readonly T[] {
  let end = 0
  for (let left = room; end < all.length; end++) {
    left -= bytes(all[end]!)
    if (left < 0) break
  }
  return all.slice(0, end)
}
