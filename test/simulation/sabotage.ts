// Mistakes built in on purpose, a line each: an observer that does not find them watches nothing.

import { Reason } from '../../build/abi.ts'
import type { CoreFrame } from '../../src/core/core.ts'
import type { Sabotage } from './companion.ts'
import type { Guarantee } from './observer.ts'

interface Mistake {
  readonly guarantee: Guarantee
  /** The first schedule that is tried: one in which it shows soon. */
  readonly seed: number
  /** Made anew for each schedule. */
  sabotage(): Sabotage
}

const SETPOINT_GLOBAL = 86
const COMMAND_LONG = 76

export const SABOTAGES: Readonly<Record<string, Mistake>> = {
  'what is not ready is released all the same': {
    guarantee: 'G1',
    seed: 4,
    sabotage: () => ({
      core: (core) => ({
        gate: (...asked) => {
          const verdict = core.gate(...asked)
          const early = verdict.decision === 'defer' && verdict.reason === Reason.prerequisite_not_ready
          return early ? { decision: 'allow', frame: undefined } : verdict
        },
      }),
    }),
  },
  'a byte of every fifth position setpoint is another': {
    guarantee: 'G2',
    seed: 4,
    sabotage: () => {
      let count = 0
      return {
        send: (frame, send) => {
          if (frame.message !== SETPOINT_GLOBAL || ++count % 5 !== 0) return send(frame)
          const payload = frame.payload.slice()
          payload[5]! ^= 1 // of the latitude
          return send({ ...frame, payload })
        },
      }
    },
  },
  'a command is sent twice': {
    guarantee: 'G3',
    seed: 4,
    sabotage: () => ({ send: (frame, send) => send(frame) && (frame.message !== COMMAND_LONG || send(frame)) }),
  },
  'recovery is bound to no scope': {
    guarantee: 'G4',
    seed: 4,
    sabotage: () => ({
      core: (core) => ({
        admit: (batch, now_ms) => {
          const candidates = batch.candidates.map((c) => ({ ...c, scope: Reason.none }))
          return core.admit({ ...batch, candidates }, now_ms)
        },
      }),
    }),
  },
  'nothing grows old': {
    guarantee: 'G5',
    seed: 22,
    sabotage: () => {
      const last = new Map<number, number>()
      return {
        core: (core) => ({
          observe: (field, value, received_ms) => {
            last.set(field, value)
            core.observe(field, value, received_ms)
          },
          frame: (sequence, index, barriers, now_ms, stamp) => {
            for (const [field, value] of last) core.observe(field, value, now_ms)
            return core.frame(sequence, index, barriers, now_ms, stamp)
          },
        }),
      }
    },
  },
  'a denial is not heard': {
    guarantee: 'G5',
    seed: 14,
    sabotage: () => {
      let allowed: CoreFrame | undefined
      return {
        core: (core) => ({
          frame: (...asked) => {
            const verdict = core.frame(...asked)
            if (verdict.decision === 'allow' && verdict.frame?.message === SETPOINT_GLOBAL) {
              allowed = { ...verdict.frame, payload: verdict.frame.payload.slice() }
            }
            return verdict.decision === 'allow' || allowed === undefined
              ? verdict
              : { decision: 'allow', frame: allowed }
          },
        }),
      }
    },
  },
}
