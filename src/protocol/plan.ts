// A plan: the components of the response that started it, with their later replacements (PROTOCOL 2).

import { Kind, Phase } from '../../build/abi.ts'
import type { ComponentType } from '../catalog/catalog.ts'
import type { Speaker } from './agent.ts'
import type { Lease } from './lease.ts'
import type { Obligations } from './obligation.ts'

/** A retained component, from its admission to its end. `sequence` is its name in the core's ledger. */
export interface Instance {
  readonly sequence: number
  readonly plan: Plan
  readonly id: string
  /** Type number and type. */
  readonly type: number
  readonly is: ComponentType
  readonly generation: number
  /** Ordinal of the snapshot that it cites. */
  readonly snapshot: number
  readonly prerequisites: readonly Instance[]
  readonly admitted_ms: number
  phase: Phase
  /** Time spent ready to cross, the resource free; and since when it is, as of the last offer. */
  ready_ms: number
  readySince_ms: number | undefined
  /** Its first deferral has been told. */
  deferred: boolean
  /** It waits for others: the ledger's progress and the barriers with which the core said so, and would say so again. */
  waits: { readonly progress: number; readonly barriers: number } | undefined
  lease: Lease | undefined
  /** How many instances that the core still knows rest on it. */
  dependents: number
}

export class Plan {
  readonly speaker: Speaker
  /** The response that started it: what `recovers` names. */
  readonly response: string
  /** `<agent>/<response>` */
  readonly name: string
  readonly obligations: Obligations
  /** The instance that stands for each id now. */
  readonly members = new Map<string, Instance>()
  /** All instances that the core still knows, replaced ones among them, in order of sequence. */
  readonly instances = new Set<Instance>()
  /** Superseded, or ended by a handoff: nothing of it crosses any more. */
  over = false
  /** It has been told that nothing of it is live any more. */
  finished = false

  constructor(speaker: Speaker, response: string, obligations: Obligations) {
    this.speaker = speaker
    this.response = response
    this.name = `${speaker.agent.name}/${response}`
    this.obligations = obligations
  }

  add(instance: Instance): void {
    this.finished = false
    this.members.set(instance.id, instance)
    this.instances.add(instance)
    for (const p of instance.prerequisites) p.dependents++
  }

  /** The uncrossed instances that rest on this one, directly or not, in order of sequence. */
  uncrossedDependents(of: Instance): Instance[] {
    const found = new Set<Instance>([of])
    for (let grown = true; grown; ) {
      grown = false
      for (const i of this.instances) {
        if (found.has(i) || i.phase !== Phase.retained || !i.prerequisites.some((p) => found.has(p))) continue
        found.add(i)
        grown = true
      }
    }
    found.delete(of)
    return [...found].sort((a, b) => a.sequence - b.sequence)
  }

  /** What stays when a newer plan supersedes this one: commands under way, and what they rest on. */
  outlasting(): ReadonlySet<Instance> {
    const kept = new Set<Instance>()
    const keep = (i: Instance): void => {
      if (kept.has(i)) return
      kept.add(i)
      for (const p of i.prerequisites) keep(p)
    }
    for (const i of this.instances) if (i.lease !== undefined && isLive(i) && i.is.kind !== Kind.setpoint) keep(i)
    return kept
  }

  /** Ended without completing, or replaced: nothing will ask for it once nothing rests on it. */
  isDone(i: Instance): boolean {
    return this.over ? !isLive(i) : isEnded(i.phase) || (isCompleted(i) && this.members.get(i.id) !== i)
  }

  /** Takes out what is done and what nothing that stays rests on; dependents come before what they rest on. */
  prune(): readonly Instance[] {
    const gone = [...this.instances].filter((i) => i.dependents === 0 && this.isDone(i))
    for (const i of gone) {
      this.instances.delete(i)
      if (this.members.get(i.id) === i) this.members.delete(i.id)
      for (const p of i.prerequisites) if (--p.dependents === 0 && this.isDone(p)) gone.push(p) // walked in its turn
    }
    return gone
  }
}

export const isEnded = (phase: Phase): boolean => phase >= Phase.withheld

const LAST_PHASE: Readonly<Record<Kind, Phase>> = {
  [Kind.notice]: Phase.released,
  [Kind.report]: Phase.released,
  [Kind.request]: Phase.completed,
  [Kind.handoff]: Phase.completed,
  [Kind.command]: Phase.completed,
  [Kind.setpoint]: Phase.completed,
}

/** A kind's last phase counts as completed (PROTOCOL 2). */
export const isCompleted = (i: Instance): boolean => i.phase === LAST_PHASE[i.is.kind]
/** Retained or crossed, and not ended. */
export const isLive = (i: Instance): boolean => !isEnded(i.phase) && !isCompleted(i)
export const isAction = (kind: Kind): boolean => kind === Kind.command || kind === Kind.setpoint
/** Its effect goes to the vehicle: actions, and a handoff, which holds first. */
export const movesVehicle = (kind: Kind): boolean => isAction(kind) || kind === Kind.handoff

/** The id of an instance of the plan that the core still knows. */
export function idOf(plan: Plan, sequence: number): string | undefined {
  for (const i of plan.instances) if (i.sequence === sequence) return i.id
  return undefined
}
