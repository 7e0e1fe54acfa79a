// This project's core on the peers' decision: a whole admission, which binds what it keeps, and the final gate of one action.

import { Kind, Phase } from '../../build/abi.ts'
import type { Admitted, Gate } from '../../src/core/core.ts'
import { loadCore } from '../../src/core/wasm.ts'
import {
  both,
  candidate,
  clauses,
  entry,
  field,
  forget,
  frame,
  image,
  now,
  num,
  slot,
  type,
} from '../../test/oracle/sketch.ts'
import { Flying, isRetained } from '../core.ts'
import { type Action, CALM, LIMITS, type Peer, parts, type State } from './decision.ts'

const IMAGE = image(
  [field('battery', 1000), field('fix', 1000, true), field('height_mm', 1000)],
  [
    type(Kind.command, {
      payload: [{ name: 'alt_mm', kind: 'number', optional: false }],
      support: clauses(
        both('ge', now(0), num(LIMITS.battery)),
        both('ge', now(1), num(LIMITS.fix)),
        both('le', now(2), num(LIMITS.height_mm)),
        both('le', slot(0), num(LIMITS.alt_mm)),
      ),
      mayRequire: [{ type: 0, phase: Phase.completed }],
      frames: [frame([entry(24, 'f32', slot(0)), entry(28, 'u16', num(22))], { message: 76, length: 33 })],
    }),
  ],
)
const world = ({ battery, fix, height_mm }: State) => [battery, fix, height_mm]
const offer = ({ id, alt_mm, requires }: Action) => candidate(0, { id, payload: [alt_mm], requires })

export const admission: Peer<readonly Admitted[]> = {
  name: 'HALO, Core.admit',
  decides: parts('CPAB'),
  ask(state, actions) {
    const flying = new Flying(loadCore, IMAGE, world(state))
    const candidates = actions.map(offer)
    const brought: (readonly Admitted[])[] = []
    return {
      before: () => flying.beat(),
      run: () => {
        const admitted = flying.admit(candidates)
        brought.push(admitted)
        return admitted
      },
      after: () => {
        for (const admitted of brought.splice(0)) forget(flying.core, admitted)
      },
      kept: (admitted) => admitted.map(isRetained),
    }
  },
}

/** Tokens made ready for a sample: each opens one crossing. As many as there can be leases. */
export const READY = 64

function final(name: string, decides: string, judge: (flying: Flying, sequence: number) => Gate): Peer<Gate> {
  return {
    name,
    decides: parts(decides),
    ask(state, [action]) {
      const flying = new Flying(loadCore, IMAGE, world(CALM))
      const candidates = Array.from({ length: READY }, () => offer(action!))
      let sequences: number[] = []
      let next = 0
      return {
        // Admitted in calm air, judged in the state that it meets.
        before: () => {
          flying.world = world(CALM)
          flying.beat()
          sequences = flying.retain(candidates)
          next = 0
          flying.world = world(state)
          flying.beat()
        },
        run: () => judge(flying, sequences[next++]!),
        after: () =>
          forget(
            flying.core,
            sequences.map((sequence) => ({ sequence })),
          ),
        kept: ({ decision }) => [decision === 'allow'],
      }
    },
  }
}

export const gate = final('HALO, Core.gate', 'CPABF', ({ core, now_ms }, sequence) => core.gate(sequence, 0, now_ms, 0))
export const rehearsal = final('HALO, Core.rehearse', 'CPAB', ({ core, now_ms }, sequence) =>
  core.rehearse(sequence, 0, now_ms),
)
