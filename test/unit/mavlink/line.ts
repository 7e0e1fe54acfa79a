// A flight on a virtual clock: the real runtime, adapter, link and core, the simulated vehicle, and between them a way that a
// test makes as bad as it likes.

import { Adapter } from '../../../companion/adapter/adapter.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import { type AutopilotName, SimulatedVehicle, type VehicleOptions } from '../../../simulator/vehicle.ts'
import { modeMessage } from '../../../src/autopilot/profile.ts'
import { CORE_HASH, loadCore } from '../../../src/core/wasm.ts'
import type { Publication } from '../../../src/engine/port.ts'
import { Runtime } from '../../../src/engine/runtime.ts'
import { encode } from '../../../src/wire/write.ts'
import { exampleCatalog, HOME, type Said } from '../engine/stage.ts'

const STEP_MS = 5
const TRANSIT_MS = 2

/** What comes of a frame: how long each of its copies takes, ms. None: it is lost. */
export type Way = (frame: Uint8Array, now_ms: number) => readonly number[]

export class Line {
  readonly vehicle: SimulatedVehicle
  readonly link: Link
  readonly adapter: Adapter
  readonly runtime: Runtime
  readonly published: Publication[] = []
  readonly alarms: string[] = []
  readonly warnings: string[] = []
  readonly reboots: number[] = []
  /** Everything that we sent, and when. */
  readonly sent: { readonly at_ms: number; readonly bytes: Uint8Array }[] = []
  now_ms = 0
  /** From the vehicle to us. */
  down: Way = () => [TRANSIT_MS]
  /** How much later our own frames come back to us. */
  loop: Way = () => []
  readonly autopilot: AutopilotName
  #due: { readonly at_ms: number; readonly order: number; readonly bytes: Uint8Array }[] = []
  #order = 0
  #session = 0

  constructor(autopilot: AutopilotName, options: Partial<VehicleOptions> = {}) {
    const profile = autopilot === 'px4' ? 'px4-multirotor' : 'ardupilot-copter'
    const catalog = exampleCatalog(profile)
    this.autopilot = autopilot
    this.vehicle = new SimulatedVehicle({
      autopilot,
      home: HOME,
      seed: 5,
      readyAfter_ms: 0,
      aloft_m: 10,
      groundStation: true,
      ...options,
    })
    this.adapter = new Adapter({
      modeMessage: modeMessage(catalog.profile),
      transmit: (bytes) => {
        const copy = bytes.slice()
        this.sent.push({ at_ms: this.now_ms, bytes: copy })
        this.vehicle.receive(copy, this.now_ms)
        for (const late_ms of this.loop(copy, this.now_ms)) this.arrive(copy, late_ms)
        return true
      },
    })
    this.runtime = new Runtime({
      catalog,
      core: loadCore,
      coreHash: CORE_HASH,
      port: this.adapter,
      journal: { read: () => undefined, write: () => {} },
      random: () => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, ++this.#session),
      wall: () => 1_700_000_000_000 + this.now_ms,
      version: 'test',
    })
    const { runtime } = this
    this.link = new Link({
      profile: catalog.profile,
      fields: catalog.fields,
      adapter: this.adapter,
      stream: false,
      listener: {
        identity: (system, component) => this.#take(runtime.connected(system, component, this.now_ms)),
        rebooted: (up_ms) => {
          this.reboots.push(this.now_ms)
          this.#take(runtime.rebooted(up_ms, this.now_ms))
        },
        report: (report, received_ms) => this.#take(runtime.observe(report, received_ms, this.now_ms)),
        acknowledge: (ack) => this.#take(runtime.acknowledge(ack, this.now_ms)),
        alarm: (text) => {
          this.alarms.push(text)
          this.#take(runtime.alarm(text, this.now_ms))
        },
        silent: () => {},
        warn: (text) => this.warnings.push(text),
      },
    })
    this.#take(runtime.start(0))
  }

  /** These bytes come to us so much later. */
  arrive(bytes: Uint8Array, late_ms: number): void {
    this.#due.push({ at_ms: this.now_ms + late_ms, order: this.#order++, bytes })
  }

  run(for_ms: number): this {
    for (const end_ms = this.now_ms + for_ms; this.now_ms < end_ms; ) {
      this.now_ms += STEP_MS
      for (const frame of this.vehicle.step(this.now_ms)) {
        for (const late_ms of this.down(frame, this.now_ms)) this.arrive(frame, late_ms)
      }
      const due = this.#due.filter(({ at_ms }) => at_ms <= this.now_ms)
      this.#due = this.#due.filter(({ at_ms }) => at_ms > this.now_ms)
      due.sort((a, b) => a.at_ms - b.at_ms || a.order - b.order)
      for (const { bytes } of due) this.link.receive(bytes, this.now_ms)
      if (this.now_ms % 10 !== 0) continue
      this.#take(this.runtime.tick(this.now_ms))
      this.link.tick(this.now_ms)
      if (this.now_ms % 1000 === 0) this.adapter.say({ message: 'HEARTBEAT' }, this.now_ms)
    }
    return this
  }

  /** Runs until it is so, for so long at most. */
  until(what: () => boolean, most_ms = 60_000): this {
    for (const end_ms = this.now_ms + most_ms; !what(); this.run(STEP_MS)) {
      if (this.now_ms >= end_ms) throw new Error(`not so within ${most_ms} ms: ${what}`)
    }
    return this
  }

  /** A response; its verdict. */
  say(components: readonly object[]): Said {
    const generation = this.published.filter(({ topic }) => topic === 'verdict/planner').length + 1
    const { snapshot } = this.newest('snapshot')
    const response = { v: 1, response: `r${generation}`, generation, snapshot, components }
    this.#take(this.runtime.receive('planner', encode(response), false, this.now_ms))
    return this.newest('verdict/planner')
  }

  newest(topic: string): Said {
    return this.published.findLast((p) => p.topic === topic)?.value
  }

  lastPhase(component: string): string | undefined {
    const said: Said = this.published.findLast(
      ({ topic, value }) => topic === 'outcome/planner' && (value as Said).component === component,
    )?.value
    return said && (said.reason === undefined ? said.phase : `${said.phase} ${said.reason}`)
  }

  /** Found, everything asked for, and a goto so many metres north under way. */
  engage(north_m = 40): this {
    this.run(4000)
    this.#take(this.runtime.context('map', encode({ v: 1, value: 1 }), false, this.now_ms, this.now_ms))
    this.until(() => this.newest('snapshot')?.unknown?.includes('map') !== true)
    const target = { lat: HOME.lat + north_m / 111_195, lon: HOME.lon, alt: 10 }
    this.say([
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'g', type: 'goto', payload: target, requires: ['range'] },
    ])
    return this.until(() => this.vehicle.observations.mode === this.own.engaged, 5000)
  }

  /** What the autopilot calls its modes. */
  get own() {
    return this.autopilot === 'px4'
      ? ({ engaged: 'OFFBOARD', hold: 'HOLD', pilot: 'POSITION' } as const)
      : ({ engaged: 'GUIDED', hold: 'BRAKE', pilot: 'LOITER' } as const)
  }

  /** Setpoints and commands of ours that the vehicle heard, but for requests. */
  get frames(): number {
    const { setpoints, commands } = this.vehicle.observations
    return setpoints.length + commands.filter(({ command }) => command !== 511 && command !== 512).length
  }

  #take(publications: readonly Publication[]): void {
    this.published.push(...publications)
  }
}

/** MAVLink message id of a frame. */
export const messageOf = (frame: Uint8Array): number => frame[7]! | (frame[8]! << 8) | (frame[9]! << 16)
