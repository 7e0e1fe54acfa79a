// A session with everything that works in it: made anew after a restart, a trap, a reboot, or for another autopilot
// (PROTOCOL 11).

import type { Catalog } from '../catalog/catalog.ts'
import type { CoreFactory } from '../core/core.ts'
import { Aftermath } from './dispatch/aftermath.ts'
import { Dispatch } from './dispatch/dispatch.ts'
import type { Flight } from './dispatch/flight.ts'
import { Admission } from './intake/admission.ts'
import { Consents } from './operator/consent.ts'
import type { Control } from './operator/control.ts'
import { Grounds } from './plan/grounds.ts'
import { Ledger } from './plan/lifecycle.ts'
import type { Publisher } from './plan/publisher.ts'
import { SnapshotSchedule } from './plan/snapshot.ts'
import type { Port } from './port.ts'
import type { Policy } from './rules/policy.ts'
import { Session } from './session.ts'
import { Acknowledgements } from './vehicle/acknowledgement.ts'
import type { Silence } from './vehicle/silence.ts'
import type { Stall } from './vehicle/stall.ts'
import { Takeover } from './vehicle/takeover.ts'
import { VehicleView } from './vehicle/view.ts'

/** What outlasts it. */
export interface Lasting {
  readonly catalog: Catalog
  readonly core: CoreFactory
  readonly port: Port
  /** Rules beside the catalog (PROTOCOL 13). */
  readonly policy?: Policy
  /** 8 random bytes: a session's id. */
  readonly random: () => Uint8Array
  /** SHA-256, hex. */
  readonly environment: string
  readonly control: Control
  readonly publisher: Publisher
  readonly stall: Stall
  /** The autopilot, once it was found. */
  readonly identity: { readonly system: number; readonly component: number } | undefined
  /** Since when nothing is heard of it. */
  readonly silence: Silence
  /** What its parameters speak against setpoints; undefined where nothing does. */
  readonly preflight: () => string | undefined
  /** What it says itself against arming. */
  readonly objections: () => string | undefined
}

export interface Round {
  readonly session: Session
  readonly flight: Flight
  readonly ledger: Ledger
  readonly aftermath: Aftermath
  readonly dispatch: Dispatch
  readonly admission: Admission
  readonly schedule: SnapshotSchedule
  /** It is settled whether this session found the vehicle flying to setpoints of an older one. */
  orphanJudged: boolean
  /** A discrete field changed in this step. */
  changed: boolean
}

/** `before` is the takeover of the session that ends, where the vehicle is still the same. */
export function beginRound(lasting: Lasting, before?: Takeover): Round {
  const { catalog, port, policy, control, publisher, stall, identity, silence, preflight } = lasting
  const id = lasting.random()
  const core = lasting.core(catalog.image, id, Buffer.from(lasting.environment, 'hex'))
  if (identity !== undefined) core.target(identity.system, identity.component)
  const session = new Session(Buffer.from(id).toString('hex'), core, catalog)
  const view = new VehicleView(core, catalog, stall)
  const takeover = new Takeover(view, catalog.profile.engagement.mode, before)
  const acks = new Acknowledgements()
  const consents = new Consents(core)
  const flight: Flight = { catalog, core, port, view, takeover, silence, acks, consents, policy, preflight }
  const grounds = new Grounds(catalog, core, lasting.objections)
  const ledger = new Ledger(session, control, publisher, grounds)
  const aftermath = new Aftermath(flight, session, publisher)
  const dispatch = new Dispatch(flight, control, ledger, aftermath, publisher)
  const admission = new Admission(session, control, ledger, dispatch, publisher)
  const schedule = new SnapshotSchedule()
  return { session, flight, ledger, aftermath, dispatch, admission, schedule, orphanJudged: false, changed: false }
}
