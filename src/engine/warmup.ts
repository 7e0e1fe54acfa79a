// What a process does for the first time it does slowly. Before anybody relies on it, the engine flies plan after plan of a
// catalog of its own to nowhere, so that the first response of a flight is judged no later than the thousandth.

import { LANDED, MODES } from '../autopilot/profile.ts'
import { px4Multirotor } from '../autopilot/px4-multirotor.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load.ts'
import { CORE_HASH, loadCore } from '../core/wasm.ts'
import type { Observation } from '../telemetry/report.ts'
import { encode } from '../wire/write.ts'
import { Runtime } from './runtime.ts'

const CATALOG = `
catalog: 1
vehicle: px4-multirotor
evidence: { max_age: 60s }
state:
  armed: { max_age: 3500ms }
  landed: { max_age: 500ms }
  gps.fix: { max_age: 500ms }
  position.lat: { max_age: 300ms }
  position.lon: { max_age: 300ms }
  home.lat: { max_age: 3s }
  home.lon: { max_age: 3s }
  home.amsl: { max_age: 3s }
agents:
  planner: { may: [report.range, goto], rate: 100Hz }
components:
  report.range:
    kind: report
    support: { fix: state.gps.fix >= 3 }
    effect: { report: [position.lat, position.lon] }
  goto:
    kind: action
    payload:
      lat: { type: number, unit: deg, min: -90, max: 90 }
      lon: { type: number, unit: deg, min: -180, max: 180 }
      alt: { type: number, unit: m, min: 4, max: 60 }
    support:
      near_home: distance(payload.lat, payload.lon, state.home.lat, state.home.lon) <= 280
    watches: [landed]
    gate: { flying: state.armed && state.landed == landed.IN_AIR }
    requires: [report.range]
    uses: flight
    effect:
      setpoint: position-global
      rate: 10Hz
      done: distance(payload.lat, payload.lon, state.position.lat, state.position.lon) <= 1.5
      within: 120s
      otherwise: hold
`

const WORLD: Readonly<Record<string, number>> = {
  armed: 1,
  mode: MODES.indexOf('HOLD'),
  mode_intended: MODES.indexOf('HOLD'),
  landed: LANDED.indexOf('IN_AIR'),
  critical: 0,
  'estimator.ok': 1,
  'gps.fix': 3,
  'position.lat': 47,
  'position.lon': 8,
  'home.lat': 47,
  'home.lon': 8,
  'home.amsl': 500,
}

// Not a whole number: no time of a flight is one, and code that was compiled for integers is thrown away at the first other.
const ROUND_MS = 20.3

/** From here on the engine gets little faster, and this takes less than a second. */
const ROUNDS = 1_000

/**
 * Judges so many responses, each of which supersedes the one before, and returns how many frames they would have sent. To be
 * called before anything flies: a function that is compiled in flight costs a good part of a millisecond, or more. Two
 * engines take turns: what was compiled for the functions of one core alone is thrown away when the next one calls its own.
 */
export function warm(rounds = ROUNDS): number {
  const catalog = loadCatalog(CATALOG, 'warmup', [px4Multirotor])
  const engines = [new Engine(catalog), new Engine(catalog)]
  for (let round = 0; round < rounds; round++) engines[round % engines.length]!.fly()
  return engines.reduce((frames, engine) => frames + engine.frames, 0)
}

class Engine {
  /** That would have left. */
  frames = 0
  readonly #runtime: Runtime
  readonly #observations: readonly Observation[]
  #now_ms = 0
  #generation = 0
  #snapshot = ''

  constructor(catalog: Catalog) {
    this.#observations = Object.entries(WORLD).map(([name, value]) => {
      return { field: catalog.fields.findIndex((field) => field.name === name), value }
    })
    this.#runtime = new Runtime({
      catalog,
      core: loadCore,
      coreHash: CORE_HASH,
      port: {
        send: () => {
          this.frames++
          return true
        },
      },
      journal: { read: () => undefined, write: () => {} },
      random: () => new Uint8Array(8),
      wall: () => 1.7e12,
      version: '',
    })
    this.#runtime.start(this.#now_ms)
    this.#runtime.connected(1, 1, this.#now_ms)
  }

  /** The state once more, then a plan of a report and a goto that rests on it. */
  fly(): void {
    this.#now_ms += ROUND_MS
    const now_ms = this.#now_ms
    const report = { message: 0, observations: this.#observations, target: undefined }
    for (const { topic, value } of this.#runtime.observe(report, now_ms, now_ms)) {
      encode(value)
      if (topic === 'snapshot') this.#snapshot = (value as { snapshot: string }).snapshot
    }
    const generation = ++this.#generation
    const lat = 47 + (generation % 1000) * 1e-6
    const components = [
      { id: 'range', type: 'report.range', payload: {} },
      { id: 'act', type: 'goto', payload: { lat, lon: 8, alt: 20.5 }, requires: ['range'] },
    ]
    const response = encode({ v: 1, response: `r${generation}`, generation, snapshot: this.#snapshot, components })
    for (const { value } of this.#runtime.receive('planner', response, false, now_ms)) encode(value)
  }
}
