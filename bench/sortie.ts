// What the figures about whole responses share: an agent's sortie of n components and 2n prerequisites over the example
// catalog, and an engine on virtual time, whole or as far as the verdict, whose vehicle hovers and whose state is fresh.

import { readFileSync } from 'node:fs'
import { LANDED, MODES } from '../src/autopilot/profile.ts'
import { px4Multirotor } from '../src/autopilot/px4-multirotor.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { CoreFactory } from '../src/core/core.ts'
import { Control } from '../src/engine/operator/control.ts'
import { Publisher } from '../src/engine/plan/publisher.ts'
import type { Publication } from '../src/engine/port.ts'
import { beginRound, type Round } from '../src/engine/round.ts'
import { Runtime } from '../src/engine/runtime.ts'
import { Silence } from '../src/engine/vehicle/silence.ts'
import { Stall } from '../src/engine/vehicle/stall.ts'
import type { Observation } from '../src/telemetry/report.ts'
import { encode } from '../src/wire/write.ts'

// From the folder of the project, in which npm runs everything: once compiled, this file lies elsewhere.
const file = 'examples/px4-multirotor/catalog.yaml'

export const exampleCatalog = (): Catalog => loadCatalog(readFileSync(file, 'utf8'), 'catalog.yaml', [px4Multirotor])

export const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 } as const
const METRE_deg = 1 / 111_195

/**
 * n components, 2n prerequisites: a report and a consent; n - 4 gotos, each on the one before; a notice after the last, a
 * status after the last seven. All of it is retained, and nothing of it moves the vehicle before a person has consented.
 */
export function sortie(n: number) {
  const gotos = n - 4
  const goto = (i: number) => ({
    id: `leg-${i}`,
    type: 'goto',
    payload: { lat: HOME.lat + ((i * 200) / gotos) * METRE_deg, lon: HOME.lon, alt: 10 + (i % 20) },
    requires: ['range', i === 1 ? 'consent' : `leg-${i - 1}`],
  })
  const text = 'survey of the north field, along the fence'
  return [
    { id: 'range', type: 'report.range', payload: {} },
    { id: 'consent', type: 'request.approval', payload: { text } },
    ...Array.from({ length: gotos }, (_, i) => goto(i + 1)),
    { id: 'arrived', type: 'notice.operator', payload: { text }, requires: [`leg-${gotos}`] },
    { id: 'status', type: 'status', payload: {}, requires: Array.from({ length: 7 }, (_, i) => `leg-${gotos - i}`) },
  ]
}

/** A response's bytes. */
export function respond(generation: number, snapshot: string, components: ReturnType<typeof sortie>): Uint8Array {
  return encode({ v: 1, response: `r${generation}`, generation, snapshot, components })
}

const WORLD: Readonly<Record<string, number>> = {
  armed: 1,
  mode: MODES.indexOf('HOLD'),
  mode_intended: MODES.indexOf('HOLD'),
  landed: LANDED.indexOf('IN_AIR'),
  ready: 1,
  critical: 0,
  'estimator.ok': 1,
  'gps.fix': 3,
  'gps.satellites': 12,
  'battery.remaining': 90,
  'battery.voltage': 16,
  'position.lat': HOME.lat,
  'position.lon': HOME.lon,
  'position.alt': 10,
  'position.amsl': HOME.amsl + 10,
  'position.accuracy': 0.3,
  'local.north': 0,
  'local.east': 0,
  'local.down': -10,
  'velocity.north': 0,
  'velocity.east': 0,
  'velocity.down': 0,
  heading: 0,
  'home.lat': HOME.lat,
  'home.lon': HOME.lon,
  'home.amsl': HOME.amsl,
  map: 1,
}

/** What a hovering vehicle reports in a second, and who hears it. Only `beat` lets time pass, so every response has a snapshot. */
export abstract class Hover {
  now_ms = 1000
  /** The newest one's name. */
  snapshot = ''
  protected readonly observations: readonly Observation[]
  #generation = 0

  constructor(catalog: Catalog) {
    this.observations = Object.entries(WORLD).map(([name, value]) => {
      const field = catalog.fields.findIndex((f) => f.name === name)
      if (field < 0) throw new Error(`the catalog has no field ${name}`)
      return { field, value }
    })
  }

  /** The next response's bytes: a fresh generation on the newest snapshot. */
  next(components: ReturnType<typeof sortie>): Uint8Array {
    return respond(++this.#generation, this.snapshot, components)
  }

  /** A second later, in steps as a companion makes them: every field is received again, and a snapshot is taken. */
  beat(): void {
    for (let i = 0; i < 20; i++) {
      this.now_ms += 50
      if (i < 19) this.tick()
    }
    this.snapshot = this.observe()
  }

  /** What the engine does when nothing comes. */
  protected tick(): void {}

  /** Receives every field, and names the snapshot taken behind it. */
  protected abstract observe(): string
  abstract receive(bytes: Uint8Array): Publication[]
  /** What `receive` left of its step. */
  settle(): void {}
}

const IN_MEMORY = {
  port: { send: () => true },
  journal: { read: () => undefined, write: () => {} },
  random: () => new Uint8Array(8),
} as const

/** The engine: each input is a whole step. */
export class Hovering extends Hover {
  readonly runtime: Runtime

  constructor(catalog: Catalog, core: CoreFactory) {
    super(catalog)
    const coreHash = '00'.repeat(32)
    this.runtime = new Runtime({ ...IN_MEMORY, catalog, core, coreHash, wall: () => this.now_ms, version: 'bench' })
    this.runtime.start(this.now_ms)
    this.runtime.connected(1, 1, this.now_ms)
    this.beat()
  }

  protected observe(): string {
    const report = { message: 0, observations: this.observations, target: undefined }
    const published = this.runtime.observe(report, this.now_ms, this.now_ms)
    const newest = published.findLast((p) => p.topic === 'snapshot')?.value as { snapshot: string } | undefined
    if (newest === undefined) throw new Error(`no snapshot was published at ${this.now_ms} ms`)
    return newest.snapshot
  }

  protected override tick(): void {
    this.runtime.tick(this.now_ms)
  }

  receive(bytes: Uint8Array): Publication[] {
    return this.runtime.receive('planner', bytes, false, this.now_ms)
  }
}

/** What of the engine turns a response into a verdict, and stops there: nothing is offered to the gate before `settle`. */
export class Admitting extends Hover {
  readonly #publisher: Publisher
  readonly #round: Round

  constructor(catalog: Catalog, core: CoreFactory) {
    super(catalog)
    this.#publisher = new Publisher(catalog, () => this.now_ms, undefined)
    this.#round = beginRound({
      ...IN_MEMORY,
      catalog,
      core,
      environment: '00'.repeat(32),
      control: new Control(IN_MEMORY.journal, () => {}),
      publisher: this.#publisher,
      identity: { system: 1, component: 1 },
      silence: new Silence(catalog),
      preflight: () => undefined,
      objections: () => undefined,
      stall: new Stall(),
    })
    this.beat()
  }

  protected observe(): string {
    const { session } = this.#round
    for (const { field, value } of this.observations) session.core.observe(field, value, this.now_ms)
    session.newest = session.core.snapshot(this.now_ms)
    return session.snapshotName(session.newest)
  }

  receive(bytes: Uint8Array): Publication[] {
    this.#round.admission.receive('planner', bytes, false, this.now_ms)
    return this.#publisher.take()
  }

  override settle(): void {
    this.#round.dispatch.offerAll(this.now_ms)
    this.#round.ledger.tidy(this.now_ms)
    this.#publisher.take()
  }
}

interface Verdict {
  readonly accepted: boolean
  readonly components: readonly { readonly decision: string }[]
}

/** The publications hold a verdict that retains `n` components of n. */
export function retainsAll(published: readonly Publication[], n: number): boolean {
  const verdict = published.find((p) => p.topic === 'verdict/planner')?.value as Verdict | undefined
  return verdict?.components.length === n && verdict.components.every(({ decision }) => decision === 'retained')
}
