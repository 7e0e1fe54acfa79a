// What an effect under way works with, in one session.

import type { Catalog } from '../../catalog/catalog.ts'
import type { Core } from '../../core/core.ts'
import type { Consents } from '../operator/consent.ts'
import type { Port } from '../port.ts'
import type { Policy } from '../rules/policy.ts'
import type { Acknowledgements } from '../vehicle/acknowledgement.ts'
import type { Silence } from '../vehicle/silence.ts'
import type { Takeover } from '../vehicle/takeover.ts'
import type { VehicleView } from '../vehicle/view.ts'

export interface Flight {
  readonly catalog: Catalog
  readonly core: Core
  readonly port: Port
  readonly view: VehicleView
  readonly takeover: Takeover
  readonly silence: Silence
  readonly acks: Acknowledgements
  readonly consents: Consents
  readonly policy: Policy | undefined
  /** What the autopilot's parameters speak against setpoints; undefined where nothing does. */
  readonly preflight: () => string | undefined
}

/** The u32 that goes into a frame's time stamp: ms of our monotonic clock. */
export const stamp = (now_ms: number): number => Math.floor(now_ms) % 2 ** 32
