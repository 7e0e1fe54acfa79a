// What each agent of a catalog has of the room that all of them share (PROTOCOL 4, 9, 10). The parts are equal and fixed: what
// one agent takes is never what another one lacks.

import { EDGES_MAX, INSTANCES_MAX, LEASES_MAX } from '../../build/abi.ts'

/** More of them would have parts too small to fly with: a catalog with more does not load. */
export const AGENTS_MOST = 16

/** Bytes of `control` for consents; the rest of the message is for what the operator holds. */
const CONSENT_BYTES_MAX = 57_344

export interface Quota {
  /** Instances that the core holds, waiting ones among them. */
  readonly instances: number
  /** Prerequisites of these. */
  readonly edges: number
  /** Effects under way. */
  readonly leases: number
  /** Bytes of its consents, as `control` shows them. */
  readonly consentBytes: number
}

/** Of each of so many agents. */
export const quotaOf = (agents: number): Quota => ({
  instances: Math.floor(INSTANCES_MAX / agents),
  edges: Math.floor(EDGES_MAX / agents),
  leases: Math.floor(LEASES_MAX / agents),
  consentBytes: Math.floor(CONSENT_BYTES_MAX / agents),
})
