// Admission as PROTOCOL 5 says it, step by step, with sets and "repeat until stable". A node is a candidate's index or, as in
// `Batch`, the code of a standing component.

import { Kind, Reason } from '../../build/abi.ts'
import { type Batch, UNKNOWN_PREREQUISITE } from '../../src/core/core.ts'
import type { ClauseImage, Image, TypeImage } from '../../src/core/image.ts'
import { evaluate, holds, type No, type Scene, unseen } from './clause.ts'

export interface Judged extends No {
  readonly cause: number
}

/** What is known of a standing component: the ledger's, not the agent's. */
export interface Rested {
  readonly type: number
  readonly completed: boolean
}

export const isAction = (type: TypeImage): boolean => type.kind === Kind.command || type.kind === Kind.setpoint

/** What an ablated oracle does without: the evaluation's reduced variants (test/evaluation). The oracle itself omits nothing. */
export interface Omitted {
  /** Components: a loss anywhere takes the whole response with it. */
  readonly parts?: boolean
  /** Prerequisites, in admission and in the gate. */
  readonly closure?: boolean
  /** Clauses and watched fields at admission. */
  readonly support?: boolean
  /** The second look: what was admitted crosses when it is ready, and its lease goes on, whatever has become of it. */
  readonly gate?: boolean
}

/** One verdict a candidate; `scenes[i]` is what its clauses see. */
export function judge(
  image: Image,
  batch: Batch,
  rested: readonly Rested[],
  scenes: readonly Scene[],
  omitted: Omitted = {},
): Judged[] {
  const { candidates } = batch
  const no = (reason: Reason, detail = -1): No => ({ reason, detail })
  const typeOf = (node: number): number => (node >= 0 ? candidates[node]!.type : rested[-2 - node]!.type)
  const requiresOf = (node: number): readonly number[] => {
    if (node >= 0) return candidates[node]!.requires
    const kept = batch.standing[-2 - node]!
    return 'type' in kept ? [] : kept.requires
  }
  const order = candidates.map((_, i) => i)

  const form = order.map((i): No | undefined => {
    const candidate = candidates[i]!
    if (candidate.form !== Reason.none) return no(candidate.form)
    const bound = image.types[candidate.type]!.bounds.findIndex(
      ({ expression }) => evaluate(expression, scenes[i]!) !== 1,
    )
    return bound < 0 ? undefined : no(Reason.payload_invalid, bound)
  })

  const judged = (node: number): boolean => node !== UNKNOWN_PREREQUISITE && !(node >= 0 && form[node])
  const below = (node: number, follow: (node: number) => boolean): Set<number> => {
    const found = new Set<number>()
    const frontier = [node]
    for (let at = frontier.pop(); at !== undefined; at = frontier.pop())
      for (const next of requiresOf(at))
        if (follow(next) && !found.has(next)) {
          found.add(next)
          frontier.push(next)
        }
    return found
  }

  const typeless = (p: number): boolean => p >= 0 && candidates[p]!.form === Reason.unknown_type

  const graph = (i: number): No | undefined => {
    if (omitted.closure) return undefined
    const { type, requires } = candidates[i]!
    const { mayRequire, requires: mandatory } = image.types[type]!
    const unknown = requires.indexOf(UNKNOWN_PREREQUISITE)
    if (unknown >= 0) return no(Reason.unknown_prerequisite, unknown)
    const refused = requires.findIndex((p) => judged(p) && !mayRequire.some((may) => may.type === typeOf(p)))
    if (refused >= 0) return no(Reason.prerequisite_not_allowed, refused)
    // What failed step 1 is not judged here: it counts as what it claims to be, or as anything where it has no type.
    const absent = mandatory.find((t) => !requires.some((p) => typeless(p) || typeOf(p) === t))
    if (absent !== undefined) return no(Reason.prerequisite_missing, absent)
    return below(i, judged).has(i) ? no(Reason.prerequisite_cycle) : undefined
  }

  const support = (i: number): No | undefined => {
    if (omitted.support) return undefined
    const type = image.types[candidates[i]!.type]!
    // Also on one that failed step 1: then it falls with it. What has no type might have been an action.
    const unfinished = (node: number): boolean =>
      typeless(node) || (isAction(image.types[typeOf(node)]!) && !(node < 0 && rested[-2 - node]!.completed))
    const isLater = omitted.closure || [...below(i, (node) => node !== UNKNOWN_PREREQUISITE)].some(unfinished)
    const clauses = [...type.support, ...(isLater ? [] : type.gate)]
    return world(type, clauses, scenes[i]!)
  }

  const roots = order.map((i): No | undefined => {
    const { scope, barrier } = candidates[i]!
    if (form[i]) return form[i]
    return (
      graph(i) ??
      (scope !== Reason.none ? no(scope) : undefined) ??
      (barrier !== Reason.none ? no(barrier) : support(i))
    )
  })

  // The greatest fixed point (G6): start from all that passed and strike out until nothing changes.
  let kept = new Set(omitted.parts && roots.some(Boolean) ? [] : order.filter((i) => !roots[i]))
  for (let before = -1; before !== kept.size; ) {
    before = kept.size
    const last: Set<number> = kept
    kept = new Set([...last].filter((i) => candidates[i]!.requires.every((p) => p < 0 || last.has(p))))
  }

  return order.map((i) => {
    if (roots[i]) return { ...roots[i]!, cause: -1 }
    if (kept.has(i)) return { ...no(Reason.none), cause: -1 }
    const rests = below(i, (p) => p >= 0)
    return {
      ...no(Reason.prerequisite_withheld),
      cause: order.find((r) => roots[r] && (omitted.parts || rests.has(r)))!,
    }
  })
}

/** Step 4, and the last checks of the gate: fields, then watches, then clauses. */
export function world(type: TypeImage, clauses: readonly ClauseImage[], scene: Scene): No | undefined {
  const missing = unseen(
    clauses.map(({ expression }) => expression),
    type.watches,
    scene,
  )
  if (missing) return missing
  const changed = type.watches.find((field) => scene.now[field]!.version !== scene.cited[field]!.version)
  if (changed !== undefined) return { reason: Reason.changed, detail: changed }
  const fallen = clauses.findIndex(({ expression }) => !holds(expression, scene))
  return fallen < 0 ? undefined : { reason: Reason.unsupported, detail: fallen }
}
