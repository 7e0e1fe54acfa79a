// What the core itself lets settle, whatever the host would have checked before.

import { expect } from 'vitest'
import { Fault, INPUT_AT, Kind, Phase, Reason, Role } from '../../../build/abi.ts'
import { encode } from '../../../src/core/encode.ts'
import type { FieldImage, TypeImage } from '../../../src/core/image.ts'
import { FIELDS, SLOTS } from '../../oracle/expressions.ts'
import { bare } from './bare.ts'

/** Of each type whether the module lets it settle. Types without a payload have the slots of `oracle/expressions.ts`. */
export function allowed(types: readonly TypeImage[], fields: readonly FieldImage[] = FIELDS): boolean[] {
  const { core, memory } = bare()
  core.configure!(fields.length, types.length + 1)
  for (const [f, { maxAge_ms, discrete }] of fields.entries()) core.declareField!(f, maxAge_ms, Number(discrete))
  for (const [t, { kind, payload, support, gate }] of types.entries()) {
    const slots = payload.length > 0 ? payload : SLOTS
    const strings = slots.reduce((set, slot, i) => (slot.kind === 'string' ? set | (1 << i) : set), 0)
    core.declareType!(t, kind, slots.length, strings, 0)
    for (const [role, said] of [[Role.support, support] as const, [Role.gate, gate] as const])
      for (const { expression } of said) {
        const program = encode(expression)
        new Uint8Array(memory.buffer).set(program, INPUT_AT)
        expect(core.addClause!(t, role, program.length / 8)).toBe(Fault.none)
      }
    core.layOut!(t)
  }
  // The number of a plain notice, that is forgotten: the core cannot know which type had it.
  core.declareType!(types.length, Kind.notice, 0, 0, 0)
  core.layOut!(types.length)
  core.seal!()
  core.snapshot!(0)
  core.openAdmission!(1, 0, 0, 1, 1, 4, 0)
  core.addCandidate!(types.length, Reason.none, Reason.none, Reason.none, 0, 4, 4, 0)
  core.judge!()
  core.bindRetained!()
  core.end!(1, Phase.completed)
  core.release!(1)
  core.openAdmission!(0, types.length, 0, 1, 1, 4, 0)
  return types.map((_, t) => {
    try {
      core.addSettled!(1, t)
      return true
    } catch (error) {
      expect(error).toBeInstanceOf(WebAssembly.RuntimeError)
      return false
    }
  })
}
