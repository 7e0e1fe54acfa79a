// One more setpoint of a lease: what happens ten or twenty times a second while something flies (PROTOCOL 8). The record and
// the lease are hashed again, the clauses judged again, and the same bytes handed out with a new time stamp.

import type { CoreFactory, Gate } from '../src/core/core.ts'
import { loadCore } from '../src/core/wasm.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { component, Flying, LEG } from './core.ts'
import type { Work } from './work.ts'

function stream(make: CoreFactory, name: string): Work<Gate> {
  const flying = new Flying(make)
  const sequence = flying.retain([component(0, LEG, [])])[0]!
  flying.core.gate(sequence, 0, flying.now_ms, 0)
  return {
    name: `frame: ${name}`,
    before: () => flying.beat(),
    run: () => flying.core.frame(sequence, 0, 0, flying.now_ms, flying.now_ms),
    didIt: (verdict) => verdict.decision === 'allow' && verdict.frame?.payload.length === 53,
  }
}

export function frame(): Work[] {
  return [stream(loadCore, 'a further setpoint'), stream(oracle, 'a further setpoint, by the oracle')]
}
