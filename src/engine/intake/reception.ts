// A response as a whole: the checks that refuse all of it, in their order, and nothing changes (PROTOCOL 4).

import type { ReasonWord } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { packetDigest, type Response, readResponse } from '../../wire/response.ts'
import type { Control } from '../operator/control.ts'
import type { Speaker } from '../plan/agent.ts'
import type { Instance, Plan } from '../plan/plan.ts'
import type { Publication } from '../port.ts'
import type { Session } from '../session.ts'

/** Its first 16 hex digits go on the wire. */
export const wireDigest = (packet: string): string => packet.slice(0, 16)

export interface Refused {
  readonly packet: string
  readonly reason: ReasonWord
  readonly detail: string | undefined
  readonly response: string | undefined
  readonly generation: number | undefined
}

export interface Accepted {
  readonly packet: string
  readonly speaker: Speaker
  readonly response: Response
  /** Ordinal of the cited snapshot. */
  readonly snapshot: number
  /** The live plan that it recovers; undefined when it starts one. */
  readonly recovers: Plan | undefined
  /** Completed components of that plan that make room for it. */
  readonly spare: readonly Instance[]
}

/** Refused, accepted, or the verdict on an accepted packet once more. */
export function judgeWhole(
  session: Session,
  control: Control,
  catalog: Catalog,
  input: { readonly agent: string; readonly bytes: Uint8Array; readonly retained: boolean },
  now_ms: number,
): { readonly refused: Refused } | { readonly accepted: Accepted } | { readonly again: Publication } {
  const packet = packetDigest(input.bytes)
  const refuse = (reason: ReasonWord, detail?: string, claimed?: { response?: string; generation?: number }) => ({
    refused: { packet, reason, detail, response: claimed?.response, generation: claimed?.generation },
  })
  if (input.retained) return refuse('retained_message')
  const read = readResponse(input.bytes)
  if ('reason' in read) return refuse(read.reason, read.detail, read.claimed)
  const { response } = read
  const speaker = session.speakers.get(input.agent)
  if (speaker === undefined) return refuse('unknown_agent', input.agent, response)
  if (control.isRevoked(input.agent)) return refuse('agent_revoked', undefined, response)
  if (!speaker.withinRate(now_ms)) return refuse('rate_limited', `${speaker.agent.rate} a second`, response)

  const again = speaker.verdictOn(packet)
  if (again !== undefined) return { again }
  // G3: what was accepted once is never accepted again, and nothing older than it.
  if (speaker.has(response.response)) return refuse('response_not_fresh', undefined, response)
  if (response.generation <= speaker.generation) {
    const isLast = speaker.generation === Number.MAX_SAFE_INTEGER
    const rest = isLast ? ', and no number is greater: only a new session (operator/restart) begins again' : ''
    return refuse('generation_not_fresh', `the last was ${speaker.generation}${rest}`, response)
  }
  const snapshot = session.snapshotOrdinal(response.snapshot)
  const taken_ms = snapshot === undefined ? undefined : session.core.taken(snapshot)
  if (snapshot === undefined || taken_ms === undefined) return refuse('unknown_snapshot', undefined, response)
  if (now_ms - taken_ms > catalog.evidenceMaxAge_ms) {
    const detail = `${Math.round(now_ms - taken_ms)} ms old, at most ${catalog.evidenceMaxAge_ms}`
    return refuse('evidence_expired', detail, response)
  }
  const recovers = response.recovers === undefined ? undefined : livePlan(speaker, response.recovers)
  if (response.recovers !== undefined && recovers === undefined) return refuse('no_such_plan', undefined, response)
  const room = roomFor(speaker, response, recovers)
  if ('lacking' in room) return refuse('no_capacity', room.lacking, response)
  return { accepted: { packet, speaker, response, snapshot, recovers, spare: room.spare } }
}

/** This agent's live plan under the id of its starting response, or under its whole name. */
function livePlan(speaker: Speaker, named: string): Plan | undefined {
  const { plan } = speaker
  return plan !== undefined && !plan.over && (named === plan.response || named === plan.name) ? plan : undefined
}

/**
 * In what is the agent's own, whatever others hold: a response that starts a plan takes the room of the one that it supersedes;
 * a recovery comes beside what there is, and where that is too much, the oldest of what is completed goes.
 */
function roomFor(
  speaker: Speaker,
  { components }: Response,
  recovers: Plan | undefined,
): { readonly spare: readonly Instance[] } | { readonly lacking: string } {
  const { quota, plan } = speaker
  const edges = components.reduce((sum, { requires }) => sum + requires.length, 0)
  let over = speaker.instances + components.length - quota.instances
  let overEdges = speaker.edges + edges - quota.edges
  const isOver = (): boolean => over > 0 || overEdges > 0
  const leave = (i: Instance): void => {
    over--
    overEdges -= i.prerequisites.length
  }
  const spare: Instance[] = []
  if (recovers === undefined && plan !== undefined) {
    const kept = plan.outlasting()
    for (const i of plan.instances.values()) if (!kept.has(i)) leave(i)
  } else if (recovers !== undefined && isOver()) {
    const named = new Set(components.flatMap(({ requires }) => requires))
    for (const i of recovers.spare(named)) {
      if (!isOver()) break
      leave(i)
      spare.push(i)
    }
  }
  if (!isOver()) return { spare }
  const used = (what: string, most: number, excess: number, asked: number): string =>
    `${what}: ${most + excess - asked} of ${most} in use, ${asked} more asked for`
  const { instances } = quota
  return {
    lacking:
      over > 0
        ? used('instances', instances, over, components.length)
        : used('prerequisites', quota.edges, overEdges, edges),
  }
}
