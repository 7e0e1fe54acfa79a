// What somebody would use instead, on the same decision in the same run (peers/decision.ts). No peer decides all that the
// core does: the letters beside each figure say what it leaves open. All are sampled in batches of one size, so that their
// percentiles are of one kind; only the typed arrays, which decide about one action in some nanoseconds, in larger ones.

import { legs } from './core.ts'
import { arrays } from './peers/arrays.ts'
import { cedar } from './peers/cedar.ts'
import { cel } from './peers/cel.ts'
import { type Action, CALM, LIMITS, type Peer } from './peers/decision.ts'
import { admission, gate, READY, rehearsal } from './peers/halo.ts'
import { maps } from './peers/maps.ts'
import { closure, support } from './peers/opa.ts'
import type { Work } from './work.ts'

/** Peers that decide about a whole response; HALO's gate and rehearsal decide about one action. */
export const whole: readonly Peer[] = [admission, arrays, maps, cel, cedar, support, closure]
export const single: readonly Peer[] = [gate, rehearsal]

/** The actions of a response of n, 2n prerequisites among them; of one, none. */
export function asked(n: number, firstTooHigh = false): Action[] {
  return legs(n, 2 * n).map(({ id, requires }, i) => ({
    id,
    alt_mm: i === 0 && firstTooHigh ? LIMITS.alt_mm + 1 : 30_000,
    requires,
  }))
}

function work(what: string, peer: Peer, actions: readonly Action[], calls: number, kept: boolean): Work {
  const question = peer.ask(CALM, actions)
  return {
    name: `peers: ${what}, ${peer.name}`,
    decides: peer.decides,
    calls,
    ...question,
    didIt: (answer) => {
      const said = question.kept(answer)
      return said.length === actions.length && said.every((one) => one === kept)
    },
  }
}

/** 32 actions that are all kept. */
export const against = (peer: Peer): Work => work('32 actions', peer, asked(32), 8, true)

export function peers(): Work[] {
  const closing = whole.filter(({ decides }) => decides.has('P'))
  return [
    ...whole.map(against),
    ...closing.map((peer) => work('32, all fall', peer, asked(32, true), 8, false)),
    ...[...single, ...whole].map((peer) =>
      work('one action', peer, asked(1), peer === arrays ? 16 * READY : READY, true),
    ),
  ]
}
