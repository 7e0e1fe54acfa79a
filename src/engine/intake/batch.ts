// From a response's names to the core's numbers: what admission is asked (PROTOCOL 5). Nothing is decided here that the core
// can decide: only form against the catalog, and scope against the open obligations.

import { Reason, TEXT_BYTES_MAX } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { suggestion } from '../../catalog/suggestion.ts'
import {
  type Batch,
  type Candidate,
  type Settled,
  type SlotValue,
  type Standing,
  standing,
  UNKNOWN_PREREQUISITE,
} from '../../core/core.ts'
import { readPayload } from '../../wire/payload.ts'
import type { Component } from '../../wire/response.ts'
import type { Control } from '../operator/control.ts'
import { ATTEMPTS_MAX, type Speaker } from '../plan/agent.ts'
import { type Instance, isAction, isCompleted, isLive, movesVehicle, type Plan } from '../plan/plan.ts'
import type { Accepted } from './reception.ts'

export interface Question {
  readonly batch: Batch
  /** The instances behind `batch.standing`. */
  readonly standing: readonly Instance[]
  /** Words for what the host found wrong in step 1, by candidate. */
  readonly problems: readonly (string | undefined)[]
}

export function ask(catalog: Catalog, control: Control, accepted: Accepted, plan: Plan): Question {
  const { response, speaker, snapshot, recovers } = accepted
  const { components } = response
  const first = new Map<string, number>()
  const twice = new Set<string>()
  for (const [i, { id }] of components.entries()) {
    if (first.has(id)) twice.add(id)
    else first.set(id, i)
  }
  // The graph is over ids: what the response brings again stands for what the plan had under that id.
  const kept = reached(plan, components, first)
  const place = new Map(kept.map((m, i) => [m.id, standing(i)]))
  const edge = (id: string): number => first.get(id) ?? place.get(id) ?? UNKNOWN_PREREQUISITE

  const problems: (string | undefined)[] = []
  const misnamed = new Map<string, string>()
  // What people hold is no attempt, and neither is what comes with it.
  const attempted = control.paused || control.pilotControl ? undefined : new Set<number>()
  const candidates = components.map((component, index): Candidate => {
    const type = catalog.typeNumbers.get(component.type) ?? -1
    const formed = form(catalog, accepted, component, type, twice, misnamed)
    problems[index] = formed.problem
    const known = type >= 0 ? catalog.types[type]! : undefined
    const moves = known !== undefined && movesVehicle(known.kind)
    const held = barrier(control, known !== undefined && isAction(known.kind), moves)
    return {
      type: Math.max(type, 0),
      id: component.id,
      payload: formed.slots,
      requires: component.requires.map(edge),
      form: formed.reason,
      scope: recovers === undefined ? Reason.none : scope(accepted, recovers, component.id, type, moves, attempted),
      barrier: held,
    }
  })
  for (const type of attempted ?? []) speaker.attempted(type)

  const standings = kept.map((m): Standing | Settled => {
    if (plan.isSettled(m)) return { sequence: m.sequence, type: m.type }
    const requires = m.prerequisites.map((p) => edge(p.id)).filter((e) => e !== UNKNOWN_PREREQUISITE)
    return { sequence: m.sequence, requires }
  })
  const batch = {
    agent: speaker.index,
    plan: plan.name,
    generation: response.generation,
    snapshot,
    standing: standings,
    candidates,
  }
  return { batch, standing: kept, problems }
}

/** What of the plan the response rests on, directly or not, and does not bring again, in order of sequence. */
function reached(plan: Plan, components: readonly Component[], brought: ReadonlyMap<string, number>): Instance[] {
  if (plan.members.size === 0) return []
  const found = new Set<Instance>()
  const reach = (id: string): void => {
    const member = brought.has(id) ? undefined : plan.members.get(id)
    if (member !== undefined && (isLive(member) || isCompleted(member))) found.add(member)
  }
  for (const { requires } of components) for (const id of requires) reach(id)
  for (const { prerequisites } of found) for (const { id } of prerequisites) reach(id) // each in its turn
  return [...found].sort((a, b) => a.sequence - b.sequence)
}

/** Step 1, as far as it is about names: bounds are the core's. */
function form(
  catalog: Catalog,
  { speaker }: Accepted,
  component: Component,
  type: number,
  twice: ReadonlySet<string>,
  misnamed: Map<string, string>,
): { reason: Reason; slots: readonly SlotValue[]; problem?: string } {
  if (twice.has(component.id)) return { reason: Reason.duplicate_id, slots: [] }
  const known = catalog.types[type]
  if (known === undefined)
    return { reason: Reason.unknown_type, slots: [], problem: near(component.type, catalog, speaker, misnamed) }
  if (!speaker.agent.may.has(type)) return { reason: Reason.type_not_permitted, slots: [], problem: component.type }
  const payload = readPayload(component.payload, known)
  if ('slots' in payload) return { reason: Reason.none, slots: payload.slots }
  return { reason: Reason.payload_invalid, slots: [], problem: `${payload.field}: ${payload.problem}` }
}

/** Of one response so many names are compared with those of the catalog: each costs as much as some tens of components. */
const NEAR_MOST = 8

/** The name, and which of the agent's it may mean; told once for each name. */
function near(name: string, { types }: Catalog, { agent }: Speaker, misnamed: Map<string, string>): string {
  if (name.length > TEXT_BYTES_MAX || (misnamed.size === NEAR_MOST && !misnamed.has(name))) return name
  const told =
    misnamed.get(name) ??
    name +
      suggestion(
        name,
        [...agent.may].map((type) => types[type]!.name),
      )
  misnamed.set(name, told)
  return told
}

/** Step 3 (G4): what moves the vehicle returns only inside an open obligation's scope; every member on newer evidence. */
function scope(
  accepted: Accepted,
  plan: Plan,
  id: string,
  type: number,
  moves: boolean,
  attempted: Set<number> | undefined,
): Reason {
  const covering = plan.obligations.covering(id, type)
  if (covering.length === 0) return moves ? Reason.out_of_scope : Reason.none
  // Newer than every one of them: the evidence must know of all that was lost.
  if (covering.some((obligation) => accepted.snapshot <= obligation.newest)) return Reason.evidence_stale
  if (accepted.speaker.attempts(type) >= ATTEMPTS_MAX) return Reason.attempts_exhausted
  // One attempt is one response that brings the type, however many of it.
  attempted?.add(type)
  return Reason.none
}

function barrier(control: Control, action: boolean, moves: boolean): Reason {
  if (control.paused && action) return Reason.paused
  return control.pilotControl && moves ? Reason.pilot_control : Reason.none
}
