// When a snapshot is due, and what it says (PROTOCOL 2 and 12).

import type { Catalog } from '../catalog/catalog.ts'
import { isCompleted, isLive, type Plan } from './plan.ts'
import type { Session } from './session.ts'
import { fieldValue, phaseWord } from './verdict.ts'

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

/** The value of the retained `snapshot` message for the snapshot just taken. */
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
  const speakers = [...session.speakers.values()]
  const { plans } = session
  return {
    v: 1,
    snapshot: session.snapshotName(session.newest),
    session: session.id,
    at: wall_ms,
    state,
    versions,
    unknown,
    agents: Object.fromEntries(speakers.map((s) => [s.agent.name, { generation: s.generation }])),
    plans: plans.map((plan) => ({ agent: plan.speaker.agent.name, plan: plan.name, components: phases(plan) })),
    obligations: plans.flatMap((plan) => plan.obligations.list()),
  }
}

function phases(plan: Plan): Record<string, string> {
  const kept = [...plan.members.values()].filter((i) => isLive(i) || isCompleted(i))
  return Object.fromEntries(kept.map((i) => [i.id, phaseWord(i.phase)]))
}
