// Mistakes built in on purpose, a line each: an observer that does not find them watches nothing.

import { Reason } from '../../build/abi.ts'
import { Identity } from '../../companion/mavlink/identity.ts'
import { Timeline } from '../../companion/mavlink/timeline.ts'
import { px4Multirotor } from '../../src/autopilot/px4-multirotor.ts'
import { quotaOf } from '../../src/catalog/quota.ts'
import type { CoreFrame } from '../../src/core/core.ts'
import { Aftermath } from '../../src/engine/dispatch/aftermath.ts'
import { Contingency } from '../../src/engine/dispatch/contingency.ts'
import { Dispatch } from '../../src/engine/dispatch/dispatch.ts'
import { CommandLease, Lease } from '../../src/engine/dispatch/lease.ts'
import { Consents } from '../../src/engine/operator/consent.ts'
import { Intents } from '../../src/engine/operator/intent.ts'
import { Speaker } from '../../src/engine/plan/agent.ts'
import { Obligations } from '../../src/engine/plan/obligation.ts'
import { Session } from '../../src/engine/session.ts'
import { Stall } from '../../src/engine/vehicle/stall.ts'
import { Takeover } from '../../src/engine/vehicle/takeover.ts'
import type { ReportedTarget } from '../../src/telemetry/report.ts'
import type { Sabotage } from './companion.ts'
import type { Hazard } from './hazard.ts'
import type { Mutation } from './mutant.ts'
import type { Guarantee } from './observer.ts'
import type { Length } from './scenario.ts'

interface Mistake {
  readonly guarantee: Guarantee
  /** Only in schedules with this. */
  readonly hazard?: Hazard
  /** Shows in whole missions; default: in short schedules. */
  readonly length?: Length
  /** Where the search begins, for what shows seldom; default: 1. */
  readonly from?: number
  /** Around the core or the port, made anew for each schedule. */
  readonly around?: () => Sabotage
  /** In the engine: a method that is another one, until what is returned is called. */
  readonly engine?: () => () => void
  /** In the core's source. */
  readonly core?: Mutation
}

const SETPOINT_GLOBAL = 86
const COMMAND_LONG = 76

export const SABOTAGES: Readonly<Record<string, Mistake>> = {
  'what is not ready is released all the same': {
    guarantee: 'G1',
    around: () => ({
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
    around: () => {
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
    around: () => ({ send: (frame, send) => send(frame) && (frame.message !== COMMAND_LONG || send(frame)) }),
  },
  'recovery is bound to no scope': {
    guarantee: 'G4',
    around: () => ({
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
    around: () => {
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
    around: () => {
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

  // Around the loop

  'a full batch is all that there was': {
    guarantee: 'G5',
    hazard: 'stalls',
    around: () => ({ batch: Number.POSITIVE_INFINITY }),
  },

  // On the link

  'whatever comes is news, late or repeated': {
    guarantee: 'G5',
    hazard: 'late',
    engine: () => replace(Timeline.prototype, 'judge', () => () => ({ kind: 'new', boot_ms: undefined })),
  },
  'anybody speaks for the vehicle': {
    guarantee: 'G5',
    hazard: 'strangers',
    engine: () => replace(Identity.prototype, 'has', () => () => true),
  },
  'what cannot be is taken for a value': {
    guarantee: 'G5',
    hazard: 'impossible',
    engine: () => {
      const fields = px4Multirotor.fields as unknown as { plausible: unknown }[]
      const ranges = fields.map(({ plausible }) => plausible)
      for (const field of fields) field.plausible = undefined
      return () => {
        for (const [i, field] of fields.entries()) field.plausible = ranges[i]
      }
    },
  },

  // In the engine

  'a consent covers whatever asks for it': {
    guarantee: 'G2',
    engine: () => replace(Consents.prototype, 'covers', () => () => true),
  },
  'a snapshot of any session is one of this': {
    guarantee: 'G3',
    engine: () =>
      replace(
        Session.prototype,
        'snapshotOrdinal',
        () =>
          function (this: Session, name: string) {
            const ordinal = Number(name.split('-')[1])
            return ordinal > 0 && ordinal <= this.newest ? ordinal : undefined
          },
      ),
  },
  'a packet is forgotten once it was accepted': {
    guarantee: 'G3',
    engine: () => replace(Speaker.prototype, 'remember', () => () => undefined),
  },
  'an agent may take what all of them share': {
    guarantee: 'G5',
    hazard: 'hostile',
    engine: () =>
      replace(
        Speaker.prototype,
        'accepted',
        (accepted) =>
          function (this: Speaker, ...said) {
            Object.assign(this, { quota: quotaOf(1) })
            accepted.apply(this, said)
          },
      ),
  },
  'an agent has obligations without end': {
    guarantee: 'G5',
    hazard: 'hostile',
    engine: () => replace(Obligations.prototype, 'hasRoom', () => () => true),
  },
  'old evidence is as good as new': {
    guarantee: 'G4',
    engine: () =>
      replace(
        Obligations.prototype,
        'covering',
        (covering) =>
          function (this: Obligations, id: string, type: number) {
            return covering.call(this, id, type).map((o) => ({ ...o, newest: 0 }))
          },
      ),
  },
  'nobody takes over': {
    guarantee: 'G5',
    engine: () => replace(Takeover.prototype, 'judge', () => () => false),
  },
  'the mode guard is open': {
    guarantee: 'G5',
    engine: () => replace(Takeover.prototype, 'inControl', () => () => true),
  },
  'behind a stall everything is known as before': {
    guarantee: 'G5',
    hazard: 'stalls',
    engine: () => replace(Stall.prototype, 'step', () => () => undefined),
  },
  'a boot owes what the one before it flew': {
    guarantee: 'G5',
    from: 1000,
    engine: () =>
      replace(
        Dispatch.prototype,
        'owed',
        (owed) =>
          function (this: Dispatch, onGround: boolean, now_ms: number) {
            return owed.call(this, onGround, now_ms)
          },
      ),
  },
  'a place has one longitude': {
    guarantee: 'G6',
    hazard: 'antimeridian',
    // Whoever goes there calls it 180.
    engine: () =>
      replace(
        Dispatch.prototype,
        'isForeign',
        (isForeign) =>
          function (this: Dispatch, target: ReportedTarget, now_ms: number) {
            const isOther = target.lon !== undefined && target.lon < -179
            return isForeign.call(this, isOther ? { ...target, lon: 0 } : target, now_ms)
          },
      ),
  },
  'an alarm ends what is under way, and nothing follows': {
    guarantee: 'G5',
    hazard: 'strangers',
    length: 'long',
    from: 180,
    engine: () =>
      replace(
        Dispatch.prototype,
        'alarm',
        (alarm) =>
          function (this: Dispatch, text: string, now_ms: number) {
            const mend = replace(Aftermath.prototype, 'owe', () => () => undefined)
            alarm.call(this, text, now_ms)
            mend()
          },
      ),
  },
  'a contingency is shown before it was sent': {
    guarantee: 'G5',
    engine: () => replace(Contingency.prototype, 'advance', () => () => 'shown'),
  },

  // In the engine, of what cannot be undone

  'an uncertain outcome keeps nothing back': {
    guarantee: 'G3',
    engine: () => replace(Intents.prototype, 'isUncertain', () => () => false),
  },
  'an intent is written down nowhere': {
    guarantee: 'G3',
    engine: () => replace(Intents.prototype, 'isDurable', () => () => true),
  },
  'an intent is on its way to the disk': {
    guarantee: 'G3',
    engine: () => replace(Intents.prototype, 'isDurable', () => Intents.prototype.isOpen),
  },
  'what nobody has answered is settled': {
    guarantee: 'G3',
    engine: () => replace(Intents.prototype, 'doubt', () => Intents.prototype.settle),
  },
  'what has begun is settled': {
    guarantee: 'G3',
    engine: () => replace(CommandLease.prototype, 'answered', () => Lease.prototype.answered),
  },

  // In the core

  'a prerequisite is ready when it is retained': {
    guarantee: 'G1',
    core: {
      file: 'gate.ts',
      line: 'if (isSettled(slot) || (slot != NOWHERE && reachedBy(slot) >= prerequisitePhase(record, type, i))) continue',
      instead: 'if (isSettled(slot) || (slot != NOWHERE && reachedBy(slot) >= Phase.retained)) continue',
    },
  },
  'a mandatory prerequisite need not be named': {
    guarantee: 'G1',
    core: { file: 'admission.ts', line: 'let named = false', instead: 'let named = true' },
  },
  'frames are filled in again instead of handed out': {
    guarantee: 'G2',
    core: {
      file: 'effect.ts',
      line: 'memory.copy(OUTPUT_AT + 16, from, lengthOf(frame))',
      instead: 'fill(frame, OUTPUT_AT + 16)',
    },
  },
  'an integer is off by one': {
    guarantee: 'G2',
    core: { file: 'effect.ts', line: 'store<i32>(at, <i32>value)', instead: 'store<i32>(at, <i32>value + 1)' },
  },
  'a sequence is given twice': {
    guarantee: 'G3',
    core: {
      file: 'ledger.ts',
      line: 'const sequence = ++sequences',
      instead: 'const sequence = (++sequences + 1) >> 1',
    },
  },
  'what the host says of the scope is not heard': {
    guarantee: 'G4',
    core: { file: 'admission.ts', line: 'if (scope != Reason.none) return fail(i, scope, -1)', instead: '' },
  },
  'what was known once is usable for ever': {
    guarantee: 'G5',
    core: {
      file: 'state.ts',
      line: 'return now_ms - load<f64>(at, 8) <= load<f64>(at, 16) ? Validity.usable : Validity.stale',
      instead: 'return Validity.usable',
    },
  },
  'support is not judged at a frame': {
    guarantee: 'G5',
    core: { file: 'gate.ts', line: 'reason = unsupported(type, streamed)', instead: '' },
  },
}

/** Puts another method in the place of one, and returns what puts it back. */
function replace<T extends object, K extends keyof T>(
  prototype: T,
  name: K,
  other: (method: T[K]) => T[K],
): () => void {
  const method = prototype[name]
  prototype[name] = other(method)
  return () => {
    prototype[name] = method
  }
}
