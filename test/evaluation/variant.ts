// The rows of the evaluation: HALO, and what is left of it when one idea after another is taken out. There is one engine
// (src/engine) and one oracle; a variant is a set of switches on them, and the AgentSpec rows run on src/agentspec.

import { readFileSync } from 'node:fs'
import type { CoreFactory } from '../../src/core/core.ts'
import { Dispatch } from '../../src/engine/dispatch/dispatch.ts'
import { Admission } from '../../src/engine/intake/admission.ts'
import { Consents } from '../../src/engine/operator/consent.ts'
import { Intents } from '../../src/engine/operator/intent.ts'
import { type Instance, Plan } from '../../src/engine/plan/plan.ts'
import { Takeover } from '../../src/engine/vehicle/takeover.ts'
import type { Omitted } from '../oracle/admission.ts'
import { ablated } from '../oracle/oracle.ts'

export interface Variant {
  readonly name: string
  /** What it is, for people. */
  readonly is: string
  readonly core: CoreFactory
  /** The text of a rule file. */
  readonly rules: string | undefined
  /** A response is what it says it is: of one session, snapshot and generation, in one plan. Otherwise every packet is news. */
  readonly identity: boolean
  /** Runs with the engine as this variant has it. */
  within<T>(run: () => T): T
}

const RULES = readFileSync(new URL('rules.ar', import.meta.url), 'utf8')

/** A switch of the engine: a method that does less. */
type Patch = (
  off: <K extends string, O extends Record<K, unknown>>(of: O, method: K, less: (whole: O[K]) => O[K]) => void,
) => void

/** Nobody looks again between admission and the vehicle: not at the mode, not at what a person was shown. */
const noSecondLook: Patch = (off) => {
  off(
    Takeover.prototype,
    'judge',
    (whole) =>
      function (this: Takeover, now_ms) {
        whole.call(this, now_ms) // it also learns which effects are confirmed
        return false
      },
  )
  off(Takeover.prototype, 'inControl', () => () => true)
  off(Consents.prototype, 'covers', () => () => true)
}
/** Nobody knows what a component rests on: a loss is the loss of one. */
const noDependents: Patch = (off) =>
  off(
    Plan.prototype,
    'add',
    (whole) =>
      function (this: Plan, instance) {
        ;(instance.prerequisites as Instance[]).length = 0
        whole.call(this, instance)
      },
  )
/** A new response stands beside the old one; what a rule stops is stopped all the same. */
const noPlan: Patch = (off) => {
  let arriving = false
  off(
    Admission.prototype,
    'receive',
    (whole) =>
      function (this: Admission, ...said) {
        arriving = true
        whole.apply(this, said)
        arriving = false
      },
  )
  off(
    Dispatch.prototype,
    'supersede',
    (whole) =>
      function (this: Dispatch, ...asked) {
        if (!arriving) whole.apply(this, asked)
      },
  )
}

/** Nothing is written down before what cannot be undone, so that nobody remembers it. */
const noIntents: Patch = (off) => {
  const begun = new WeakSet<object>()
  off(Intents.prototype, 'isDurable', () => (of) => begun.add(of) === begun)
  off(Intents.prototype, 'isOpen', () => (of) => begun.has(of))
}

function variant(
  name: string,
  is: string,
  omitted: Omitted,
  rest: { readonly patches: readonly Patch[]; readonly identity?: boolean; readonly rules?: string },
): Variant {
  return {
    name,
    is,
    core: ablated(omitted),
    rules: rest.rules,
    identity: rest.identity ?? false,
    within(run) {
      const undo: (() => void)[] = []
      for (const patch of rest.patches) {
        patch((of, method, less) => {
          const whole = of[method]
          of[method] = less(whole)
          undo.push(() => {
            of[method] = whole
          })
        })
      }
      try {
        return run()
      } finally {
        for (const put of undo) put()
      }
    },
  }
}

const PER_COMPONENT = { closure: true, support: true, gate: true }
const ON_ARRIVAL = [noSecondLook, noPlan, noIntents]
const EACH_ALONE = [...ON_ARRIVAL, noDependents]

export const VARIANTS: readonly Variant[] = [
  variant(
    'WholeResponse',
    'the whole response or nothing, judged when it arrives',
    { parts: true, gate: true },
    { patches: ON_ARRIVAL },
  ),
  variant(
    'IndependentFilter',
    'each component by itself, judged when it arrives',
    { closure: true, gate: true },
    { patches: EACH_ALONE },
  ),
  variant(
    'AgentSpec-Global',
    'one rule program over the response, asked before each component acts: the first violation stops it',
    PER_COMPONENT,
    { patches: EACH_ALONE, rules: RULES },
  ),
  variant(
    'AgentSpec-Scoped',
    'a rule a component type, asked before it acts: a violation skips that component',
    PER_COMPONENT,
    { patches: EACH_ALONE, rules: RULES.replaceAll('enforce stop', 'enforce skip') },
  ),
  variant(
    'HALO-Admission',
    'identity, support, closure and obligations; no gate: what was admitted is not looked at again',
    { gate: true },
    { patches: [noSecondLook], identity: true },
  ),
  variant('HALO-Full', 'admission and the final dispatch gate', {}, { patches: [], identity: true }),
]

/** The row that must have everything right. */
export const FULL = VARIANTS.at(-1)!
