// The engine's doors (docs/architecture.md): what comes in, what is published, and the one synchronous port to the vehicle.

import type { CoreFrame } from '../core/core.ts'

/** A COMMAND_ACK of the autopilot, addressed to us. */
export interface Acknowledgement {
  readonly command: number
  /** MAV_RESULT: 0 accepted, 5 in progress, all others refuse. */
  readonly result: number
}

/**
 * The only way to the vehicle. `send` puts the frame on the wire before it returns and says whether it did; the engine calls
 * it right after the core has allowed the bytes, in the same synchronous step.
 */
export interface Port {
  send(frame: CoreFrame): boolean
  /** Has the autopilot say this at once, besides its rates. Moves nothing; the answer comes as a report, or not at all. */
  ask?(what: 'mode'): void
}

/** A message for the broker: the topic below `halo/v1/<vehicle>/` and a value for CBOR. */
export interface Publication {
  readonly topic: string
  readonly retain: boolean
  readonly value: unknown
}

/**
 * What outlives the process: pause, the latch, revoked agents, and what of the irreversible has no known outcome (PROTOCOL 8,
 * 10, 11). `write` takes the entry and returns at once: no disk is on the path of a stop. `Runtime.journalled` is told in a
 * later call what became of it. An entry holds all that the one before it held, so one that still waits when the next comes
 * need not be written: it shares the fate of the next.
 */
export interface Journal {
  read(): JournalEntry | undefined
  write(entry: JournalEntry): void
}

export interface JournalEntry {
  readonly paused: boolean
  readonly pilotControl: boolean
  readonly revoked: readonly string[]
  readonly intents: readonly Intent[]
}

/** An irreversible action that is about to cross, or of which nobody knows whether it took effect. */
export interface Intent {
  readonly agent: string
  readonly type: string
  /** By the names of its fields. */
  readonly payload: Readonly<Record<string, unknown>>
}
