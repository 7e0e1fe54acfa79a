// A second autopilot with the ids of ours: nothing in a frame says whose it is, but two have two clocks and two heartbeats.
//
// A time since boot that falls is a reboot (PROTOCOL 11), once; if what was before it then goes on, it was none. That a late
// frame of *another* message type is older, as PX4's are by 200 ms, says nothing: times are compared within a type only.

import { fieldOf, layout } from '../../src/profile/frame.ts'

/** What one estimator alone fills in; of others, such as DISTANCE_SENSOR, an autopilot sends several by turns, each with its time. */
const CLOCKS = new Set(
  ['SYSTEM_TIME', 'ATTITUDE', 'GLOBAL_POSITION_INT', 'LOCAL_POSITION_NED'].map((name) => layout(name).id),
)
/** How far a time since boot may be off the line that it is on, ms. A fall by more is a reboot. */
const TOLERANCE_ms = 1000
const MODULUS = 2 ** 32
/** Two clocks within the tolerance show in falls, about every second frame; a network that reorders so much is no link either. */
const FALL_WEIGHT = 3
const FALLS_MAX = 12
/** A heartbeat after a longer silence may be that of a new boot. */
const SILENCE_ms = 3000
/** Four heartbeats that alternate take a single autopilot three seconds, two of them less than two. */
const ALTERNATION_ms = 2500

interface Line {
  readonly boot_ms: number
  readonly received_ms: number
}

interface Clock {
  current: Line
  /** Where the time was before it last fell or leapt. */
  previous?: Line
  falls: number
}

interface Heartbeat {
  readonly kind: string
  readonly state: string
  readonly received_ms: number
}

const at = {
  type: fieldOf('HEARTBEAT', 'type').offset,
  autopilot: fieldOf('HEARTBEAT', 'autopilot').offset,
  base_mode: fieldOf('HEARTBEAT', 'base_mode').offset,
  custom_mode: fieldOf('HEARTBEAT', 'custom_mode').offset,
  system_status: fieldOf('HEARTBEAT', 'system_status').offset,
}

/** Watches what comes from one (system, component). Each call says what speaks for a second one, or undefined. */
export class TwinWatch {
  readonly #clocks = new Map<number, Clock>()
  #heartbeats: Heartbeat[] = []

  /** `boot_ms` is the time since boot that a message of this id carries. */
  timed(message: number, boot_ms: number, received_ms: number): string | undefined {
    if (!CLOCKS.has(message)) return undefined
    const line = { boot_ms, received_ms }
    const clock = this.#clocks.get(message)
    if (clock === undefined) {
      this.#clocks.set(message, { current: line, falls: 0 })
      return undefined
    }
    const { current, previous } = clock
    const advance_ms = advance(current, line)
    clock.current = line
    const elapsed_ms = received_ms - current.received_ms
    if (advance_ms < -TOLERANCE_ms || advance_ms > elapsed_ms + TOLERANCE_ms) {
      clock.previous = current
      if (previous === undefined) return undefined
      const off_ms = advance(previous, line) - (received_ms - previous.received_ms)
      return Math.abs(off_ms) > TOLERANCE_ms ? undefined : 'two clocks alternate'
    }
    clock.falls = advance_ms < 0 ? clock.falls + FALL_WEIGHT : Math.max(0, clock.falls - 1)
    if (clock.falls < FALLS_MAX) return undefined
    clock.falls = 0
    return 'two clocks less than a second apart alternate, or the same one comes by two ways'
  }

  /** `payload` is a whole HEARTBEAT. */
  heartbeat(payload: Uint8Array, received_ms: number): string | undefined {
    const last = this.#heartbeats.at(-1)
    const heard: Heartbeat = {
      kind: `type ${payload[at.type]} autopilot ${payload[at.autopilot]}`,
      state: [
        payload[at.base_mode],
        payload[at.system_status],
        ...payload.subarray(at.custom_mode, at.custom_mode + 4),
      ].join(),
      received_ms,
    }
    if (last !== undefined && received_ms - last.received_ms >= SILENCE_ms) this.#heartbeats = []
    this.#heartbeats = [...this.#heartbeats.slice(-3), heard]
    if (last !== undefined && this.#heartbeats.length > 1 && last.kind !== heard.kind) {
      return `heartbeats of ${last.kind} and of ${heard.kind}`
    }
    const [a, b, c, d] = this.#heartbeats
    if (d === undefined || a!.state === b!.state || a!.state !== c!.state || b!.state !== d.state) return undefined
    return d.received_ms - a!.received_ms < ALTERNATION_ms ? 'two heartbeats alternate' : undefined
  }
}

/** ms from one time since boot to another, the short way round: it wraps after 49 days. */
function advance(from: Line, to: Line): number {
  const forward_ms = (to.boot_ms - from.boot_ms + MODULUS) % MODULUS
  return forward_ms < MODULUS / 2 ? forward_ms : forward_ms - MODULUS
}
