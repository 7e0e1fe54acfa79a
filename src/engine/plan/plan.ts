// A plan: the components of the response that started it, with their later replacements (PROTOCOL 2).

import { CANDIDATES_MAX, Kind, Phase, Reason } from '../../../build/abi.ts'
import type { ComponentType } from '../../catalog/catalog.ts'
import type { Lease } from '../dispatch/lease.ts'
import type { Speaker } from './agent.ts'
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
  /** None of one that has settled. */
  prerequisites: readonly Instance[]
  readonly admitted_ms: number
  phase: Phase
  /** Time spent ready to cross, the resource free; and since when it is, as of the last offer. */
  ready_ms: number
  readySince_ms: number | undefined
  /** When a field was first awaited: patience counts from there. */
  awaited_ms: number | undefined
  /** Its first deferral has been told. */
  deferred: boolean
  /** Prerequisites that have neither reached their phase nor ended. */
  unmet: number
  /** The core has said that nothing of what it rests on is missing, which stays so. */
  rests: boolean
  /** Where it waits to be asked again, and when at the latest it is. */
  parked: { readonly in: Set<Instance>; readonly due_ms: number } | undefined
  lease: Lease | undefined
  /** What rests on it, in order of sequence; of it what the core has forgotten may still be there, and has ended. */
  dependents: Instance[]
  /** How many of them the core still knows. */
  resting: number
}

/** How a component ended, as its last outcome told it. */
export interface End {
  readonly generation: number
  readonly phase: Phase
  readonly reason: Reason
  readonly detail: string | undefined
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
  /** All instances that the core still knows, replaced ones among them, by sequence and in its order. */
  readonly instances = new Map<number, Instance>()
  /** Members that have left the core and may still be named (PROTOCOL 4), by sequence. */
  readonly #settled = new Map<number, Instance>()
  /** Those of them that nothing rests on, since the longest first. */
  readonly #idle = new Set<Instance>()
  /** By id, the newest last: no more than one response can bring. */
  readonly #ends = new Map<string, End>()
  /** Ends that gave way. */
  #forgotten = 0
  /** How many of `instances` are live. */
  live = 0
  /** One of them was a request. */
  asks = false
  /** Superseded, or ended by a handoff, a revocation or with its session: nothing of it crosses any more. */
  over = false
  /** Why it is. */
  why: Reason = Reason.none
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
    const before = this.members.get(instance.id)
    if (before !== undefined) this.#unsettle(before)
    this.members.set(instance.id, instance)
    this.instances.set(instance.sequence, instance)
    if (instance.is.kind === Kind.request) this.asks = true
    this.live++
    this.speaker.instances++
    this.speaker.edges += instance.prerequisites.length
    for (const p of instance.prerequisites) {
      p.dependents.push(instance)
      p.resting++
      this.#idle.delete(p)
      if (p.phase < phaseNeeded(instance, p)) instance.unmet++
    }
  }

  /**
   * The uncrossed instances that rest on this one, directly or not, in order of sequence. What is in `found` already is not
   * visited again.
   */
  uncrossedDependents(of: Instance, found = new Set<Instance>()): Instance[] {
    const dependents: Instance[] = []
    const frontier = [of]
    for (let at = frontier.pop(); at !== undefined; at = frontier.pop()) {
      for (const dependent of at.dependents) {
        if (dependent.phase !== Phase.retained || found.has(dependent)) continue
        found.add(dependent)
        dependents.push(dependent)
        frontier.push(dependent)
      }
    }
    return dependents.sort((a, b) => a.sequence - b.sequence)
  }

  /** What stays when a newer plan supersedes this one: commands under way, and what they rest on. */
  outlasting(): ReadonlySet<Instance> {
    const kept = new Set<Instance>()
    for (const i of this.instances.values()) {
      if (i.lease !== undefined && isLive(i) && i.is.kind !== Kind.setpoint) kept.add(i)
    }
    for (const i of kept) for (const p of i.prerequisites) kept.add(p) // visited in its turn
    return kept
  }

  /** Completed, not named, known to the core, and rested on by nothing that stays: what may go where room is needed, the oldest first. */
  spare(named: ReadonlySet<string>): Instance[] {
    const left = new Map<Instance, number>()
    const spare: Instance[] = []
    const consider = (i: Instance): void => {
      if ((left.get(i) ?? i.resting) === 0 && isCompleted(i) && !named.has(i.id)) spare.push(i)
    }
    for (const i of this.instances.values()) consider(i)
    for (const i of spare) {
      for (const p of i.prerequisites) {
        if (this.isSettled(p)) continue
        left.set(p, (left.get(p) ?? p.resting) - 1)
        consider(p) // walked in its turn
      }
    }
    return spare
  }

  /** The instance has ended, or completed. Of two with one id the later one counts. */
  ended({ id, generation, phase }: Instance, reason: Reason, detail: string | undefined): void {
    const before = this.#ends.get(id)
    if (before !== undefined && before.generation > generation) return
    this.#ends.delete(id)
    this.#ends.set(id, { generation, phase, reason, detail })
    if (this.#ends.size <= CANDIDATES_MAX) return
    this.#ends.delete(this.#ends.keys().next().value!)
    this.#forgotten++
  }

  /** How its components ended, and how many more there were. */
  get ends(): { readonly ends: ReadonlyMap<string, End>; readonly forgotten: number } {
    return { ends: this.#ends, forgotten: this.#forgotten }
  }

  /** Ended without completing, settling or replaced: the core need not know of it once nothing rests on it. */
  isDone(i: Instance): boolean {
    if (this.over) return !isLive(i)
    return isEnded(i.phase) || (isCompleted(i) && (i.is.settles || this.members.get(i.id) !== i))
  }

  isSettled({ sequence }: Instance): boolean {
    return this.#settled.has(sequence)
  }

  /** The core knows it, or it has settled. */
  find(sequence: number): Instance | undefined {
    return this.instances.get(sequence) ?? this.#settled.get(sequence)
  }

  /** Takes one out that the core forgets, and on which nothing rests: what settles may still be named. */
  remove(i: Instance): void {
    this.instances.delete(i.sequence)
    const { prerequisites } = i
    this.speaker.instances--
    this.speaker.edges -= prerequisites.length
    if (this.members.get(i.id) === i) {
      if (i.is.settles && isCompleted(i) && !this.over) this.#settle(i)
      else this.members.delete(i.id)
    }
    for (const p of prerequisites) {
      p.resting--
      if (p.resting === 0 && this.isSettled(p)) this.#idle.add(p)
      // Now and then, so that each costs the same however many there are.
      if (p.dependents.length > 2 * p.resting + FORGOTTEN_MAX) {
        p.dependents = p.dependents.filter(({ sequence }) => this.instances.has(sequence))
      }
    }
  }

  /** A chain of such is not kept behind its last: what it rested on, nobody asks. */
  #settle(i: Instance): void {
    i.prerequisites = []
    i.dependents = []
    this.#settled.set(i.sequence, i)
    this.#idle.add(i)
  }

  #unsettle(i: Instance): void {
    this.#settled.delete(i.sequence)
    this.#idle.delete(i)
  }

  /** No more have settled than the agent may have instances: of those that nothing rests on the oldest give way. */
  dropOldestSettled(): void {
    for (const i of this.#idle) {
      if (this.#settled.size <= this.speaker.quota.instances) return
      this.#unsettle(i)
      this.members.delete(i.id)
    }
  }
}

/** Of dependents that the core has forgotten, beside as many as it knows. */
const FORGOTTEN_MAX = 16

/** The phase that the prerequisite is to reach before the instance may cross. */
export function phaseNeeded({ is: { mayRequire } }: Instance, { type }: Instance): Phase {
  let at = 0
  while (mayRequire[at]!.type !== type) at++
  return mayRequire[at]!.phase
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

/** The id of an instance of the plan that the core still knows, or that has settled. */
export const idOf = (plan: Plan, sequence: number): string | undefined => plan.find(sequence)?.id
