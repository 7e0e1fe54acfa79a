// A session: everything that must not outlive a restart, a trap or a reboot of the autopilot (PROTOCOL 2 and 11).
//
// G3 across power loss rests on forgetting: tokens, plans and snapshots carry the session's 64 random bits, so what was
// said in an older session names nothing in this one, and no disk is on the path.

import { SNAPSHOTS_MAX } from '../../build/abi.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { quotaOf } from '../catalog/quota.ts'
import type { Core } from '../core/core.ts'
import { Speaker } from './plan/agent.ts'
import type { Plan } from './plan/plan.ts'

export class Session {
  /** 16 hex digits. */
  readonly id: string
  readonly core: Core
  readonly speakers: ReadonlyMap<string, Speaker>
  /** Ordinal of the newest snapshot; 0 before the first. */
  newest = 0

  constructor(id: string, core: Core, catalog: Catalog) {
    this.id = id
    this.core = core
    const quota = quotaOf(catalog.agents.length)
    this.speakers = new Map(catalog.agents.map((agent, index) => [agent.name, new Speaker(index, agent, quota)]))
  }

  /** The live plans, one an agent at most. */
  get plans(): Plan[] {
    const plans: Plan[] = []
    for (const { plan } of this.speakers.values()) if (plan !== undefined && !plan.over) plans.push(plan)
    return plans
  }

  /** The name under which a snapshot is published: no other session has it. */
  snapshotName(ordinal: number): string {
    return `${this.id}-${ordinal}`
  }

  /** The ordinal behind a name, where it is one of the newest SNAPSHOTS_MAX of this session. */
  snapshotOrdinal(name: string): number | undefined {
    const match = /^([0-9a-f]{16})-([1-9][0-9]{0,9})$/.exec(name)
    if (match?.[1] !== this.id) return undefined
    const ordinal = Number(match[2])
    return ordinal <= this.newest && ordinal > this.newest - SNAPSHOTS_MAX ? ordinal : undefined
  }
}
