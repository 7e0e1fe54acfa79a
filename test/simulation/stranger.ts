// Others on the link, who say that they are there and more: none of them is the vehicle, whatever its heartbeat looks like.

import { common, type MavLinkData, minimal } from 'node-mavlink'
import { FrameWriter, message } from '../../simulator/frame.ts'
import { HOME } from './agent.ts'
import type { Chance } from './chance.ts'

const PX4 = minimal.MavAutopilot.PX4
const { MavType } = minimal

interface Stranger {
  readonly name: string
  readonly system: number
  readonly component: number
  readonly type: minimal.MavType
  /** It could be a vehicle of ours: it comes only where ours is known. */
  readonly alike?: true
}

export const STRANGERS: readonly Stranger[] = [
  { name: 'a gimbal', system: 1, component: 154, type: MavType.GIMBAL },
  { name: 'a camera', system: 1, component: 100, type: MavType.CAMERA },
  { name: 'an antenna tracker', system: 88, component: 1, type: MavType.ANTENNA_TRACKER },
  { name: 'a neighbour', system: 77, component: 1, type: MavType.QUADROTOR, alike: true },
  { name: 'system 0', system: 0, component: 1, type: MavType.QUADROTOR },
  { name: 'a plane', system: 66, component: 1, type: MavType.FIXED_WING },
]

/** Says a heartbeat of the autopilot's kind at a time, and that it flies in a mode of its own, from a place of its own. */
export class Speaker {
  readonly stranger: Stranger
  readonly until_ms: number
  readonly #writer: FrameWriter
  readonly #each_ms: number
  #next_ms: number
  readonly #boot_ms: number

  constructor(chance: Chance, now_ms: number, until_ms: number) {
    this.stranger = chance.pick(STRANGERS)
    this.until_ms = until_ms
    this.#writer = new FrameWriter(this.stranger.system, this.stranger.component)
    this.#each_ms = chance.pick([50, 200, 1000])
    this.#next_ms = now_ms
    this.#boot_ms = now_ms - chance.real(1000, 1e6)
  }

  /** The datagrams that are due. */
  say(now_ms: number): Uint8Array[] {
    if (now_ms < this.#next_ms || now_ms >= this.until_ms) return []
    this.#next_ms += this.#each_ms
    return this.#messages(now_ms).map((data) => this.#writer.write(data))
  }

  #messages(now_ms: number): MavLinkData[] {
    return [
      message(minimal.Heartbeat, {
        type: this.stranger.type,
        autopilot: PX4,
        baseMode: 0x80 as number,
        customMode: 3 << 16,
        systemStatus: 4 as number,
        mavlinkVersion: 3,
      }),
      message(common.CurrentMode, { standardMode: 0 as number, customMode: 3 << 16, intendedCustomMode: 3 << 16 }),
      message(common.GlobalPositionInt, {
        timeBootMs: Math.floor(now_ms - this.#boot_ms),
        lat: Math.round((HOME.lat + 0.01) * 1e7),
        lon: Math.round(HOME.lon * 1e7),
        alt: 520_000,
        relativeAlt: 32_000,
        vx: 0,
        vy: 0,
        vz: 0,
        hdg: 0,
      }),
    ]
  }
}
