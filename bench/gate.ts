// The final dispatch gate: a flight of three frames that rests on 16 others (PROTOCOL 7). Eight are completed actions whose
// `holds` is judged again, four are released reports whose support is, four are notices. The record's SHA-256 is recomputed,
// four clauses are judged, three frames are filled in and hashed.

import { Phase } from '../build/abi.ts'
import { type CoreFactory, type Gate, standing } from '../src/core/core.ts'
import { loadCore } from '../src/core/wasm.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { component, FLIGHT, Flying, LEG, NOTICE, REPORT } from './core.ts'
import type { Work } from './work.ts'

/** Half of the n prerequisites are actions, a quarter reports, a quarter notices. */
export function cross(
  n: number,
  make: CoreFactory,
  name: string,
  beside?: Pick<Work, 'paper_ms' | 'target_ms' | 'calls'>,
): Work<Gate> {
  const flying = new Flying(make)
  const types = Array.from({ length: n }, (_, i) => (i < n / 2 ? LEG : i < (n * 3) / 4 ? REPORT : NOTICE))
  const sequences = flying.retain(types.map((type, i) => component(i, type, [])))
  for (const [i, sequence] of sequences.entries()) {
    flying.complete(sequence, types[i] === LEG ? Phase.dispatched : Phase.released)
  }
  const kept = sequences.map((sequence) => ({ sequence, requires: [] }))
  const flight = component(
    n,
    FLIGHT,
    sequences.map((_, i) => standing(i)),
  )
  // A token opens one crossing, so every call has an instance of its own. The state is newer than its admission.
  const flights = Array.from({ length: beside?.calls ?? 1 }, () => flight)
  let offered: readonly number[] = []
  let next = 0
  return {
    name: `gate: ${name}`,
    ...beside,
    before: () => {
      offered = flying.retain(flights, kept)
      next = 0
      flying.beat()
    },
    run: () => flying.core.gate(offered[next++]!, 0, flying.now_ms, 0),
    after: () => {
      for (const sequence of offered) {
        flying.core.end(sequence, Phase.completed)
        flying.core.release(sequence)
      }
    },
    didIt: (verdict) => verdict.decision === 'allow' && verdict.frame?.message === 76,
  }
}

export function gate(): Work[] {
  return [
    cross(16, loadCore, '16 prerequisites, 3 frames', { paper_ms: 0.035, target_ms: 0.003 }),
    cross(16, oracle, '16 prerequisites, 3 frames, by the oracle'),
  ]
}
