// One case on one variant: the engine on virtual time with a scripted autopilot (test/unit/engine/stage.ts), an agent's
// response that was written a while ago, and what the scenario says goes wrong.

import { decode } from 'cborg'
import { LANDED, MODES, type Mode } from '../../src/autopilot/profile.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { Core, CoreFactory } from '../../src/core/core.ts'
import { encode } from '../../src/wire/write.ts'
import { CMD, HOME, MSG, predicates, referenceCatalog, type Sent, Stage } from '../unit/engine/stage.ts'
import { recorded } from './recording.ts'
import { type Expectation, type Said, type Step, type Trial, timeOf } from './scenario.ts'
import type { Variant } from './variant.ts'

const TICK_MS = 20
/** The longest that a case lasts after its last step, ms; most end when nothing is live any more. */
const LASTS_MS = 20_000
/** How long the scripted vehicle takes to climb, to arrive, to land. */
const CLIMB_MS = 1500
const LEG_MS = 1500
const DESCENT_MS = 1500
const METRES_PER_DEGREE = 111_195

/** What the AgentSpec rows ask: the catalog's clauses, as an AgentSpec user would write them down beside it. */
export const CATALOG: Catalog = referenceCatalog(
  predicates(
    'goto_battery: state.battery.remaining < 25',
    'unsure: state.gps.fix < 3 || !state.estimator.ok || state.position.accuracy > 2.0',
    'goto_far: distance(payload.lat, payload.lon, state.home.lat, state.home.lon) > 280',
    'goto_low: state.position.alt < 2.5',
    'velocity_battery: state.battery.remaining < 30',
    'velocity_height: state.position.alt < 4 || state.position.alt > 60',
    'not_flying: state.landed != landed.IN_AIR || !state.armed',
    'takeoff_battery: state.battery.remaining < 40',
    'takeoff_unfit: state.position.accuracy > 1.5 || !state.ready',
    'takeoff_flying: state.landed != landed.ON_GROUND || state.armed',
    'disarmed: state.armed == false',
    'release_high: state.landed != landed.IN_AIR || state.position.alt > 20',
    'release_moving: abs(state.velocity.north) > 0.7 || abs(state.velocity.east) > 0.7 || abs(state.velocity.down) > 0.7',
  ),
)

/** What a case came to on a variant. */
export interface Score {
  /** Of the components that must go out: which did, and which did not. */
  readonly kept: readonly string[]
  readonly missed: readonly string[]
  /** What must not happen and did, in words. */
  readonly broken: readonly string[]
}

/** Flies it. `core` takes the place of the variant's own. */
export function fly(trial: Trial, variant: Variant, core: CoreFactory = variant.core): Score {
  return variant.within(() => new Flight(trial, variant, core).run())
}

class Flight {
  readonly #trial: Trial
  readonly #variant: Variant
  readonly #make: CoreFactory
  #stage: Stage
  readonly #pending: Step[]
  readonly #due: { at_ms: number; step: Step }[] = []
  /** The response's own bytes, as the agent wrote it. */
  readonly #packet: Uint8Array
  readonly #firstSnapshot: string
  readonly #arrives_ms: number
  readonly #happened = new Set<string>()
  /** Of the present life: how many of the publications and frames have been looked at. */
  #heard = 0
  #seen = 0
  /** Ids by sequence, in the present core. */
  #ids = new Map<number, string>()
  #core: Core | undefined
  #crashAt: { readonly before?: string; readonly after?: string } | undefined
  #generation = 0
  readonly #goesOut = new Map<string, number>()
  /** Retained or under way, of the present life. */
  readonly #live = new Set<string>()
  #life = 1
  readonly #afterRestart = new Set<string>()
  /** Frames that had left when the last step of the scenario came. */
  #frames = { before: 0, stopped: false }
  #target: string | undefined
  #last_ms = 0

  constructor(trial: Trial, variant: Variant, core: CoreFactory) {
    this.#trial = trial
    this.#variant = variant
    this.#make = core
    this.#pending = [...trial.steps]
    this.#stage = this.#boot(0, undefined)
    if (trial.starts === 'flying') this.#stage.fly()
    this.#stage.run(1100, TICK_MS) // a snapshot of it has been published
    this.#arrives_ms = this.#stage.now_ms + trial.thinks_ms
    this.#firstSnapshot = this.#stage.snapshot.snapshot
    this.#packet = this.#response('r1', trial.response, this.#firstSnapshot, undefined)
    this.#occur('written')
  }

  run(): Score {
    this.#last_ms = this.#arrives_ms
    while (this.#stage.now_ms < this.#last_ms + LASTS_MS) {
      if (this.#arrives_ms <= this.#stage.now_ms && !this.#happened.has('arrived')) {
        this.#alive(() => this.#deliver(this.#packet))
        this.#occur('arrived')
        this.#watch()
      }
      this.#takeSteps()
      if (this.#isOver()) break
      this.#alive(() => this.#stage.run(TICK_MS, TICK_MS))
      this.#watch()
    }
    return this.#score(this.#trial.expected)
  }

  // Lives

  #boot(sessions: number, before: Stage | undefined): Stage {
    const armed = before?.world.get('armed') === 1
    const mode = MODES[before?.world.get('mode') ?? -1]
    const stage = new Stage((image, session, environment) => this.#watched(this.#make(image, session, environment)), {
      catalog: CATALOG,
      rules: this.#variant.rules,
      sessions,
      ...(armed && mode !== undefined && { found: mode }),
      ...(before?.journal && { journal: before.journal }),
    })
    if (before !== undefined) {
      stage.now_ms = Math.max(stage.now_ms, before.now_ms + 500)
      stage.set(Object.fromEntries(before.world))
    }
    return stage
  }

  /** A core whose ids can be asked for, and in whose calls the process can die. */
  #watched(core: Core): Core {
    this.#core = core
    this.#ids = new Map()
    const { admit, gate, reach, release } = core
    core.admit = (batch, now_ms) => {
      const admitted = admit.call(core, batch, now_ms)
      for (const [i, { sequence }] of admitted.entries()) this.#ids.set(sequence, batch.candidates[i]!.id)
      return admitted
    }
    core.gate = (...asked) => {
      const verdict = gate.apply(core, asked)
      // The token is leased, and nothing has left.
      if (verdict.decision === 'allow' && this.#ids.get(asked[0]) === this.#crashAt?.before) this.#die()
      return verdict
    }
    core.reach = (sequence, phase) => {
      // The first frame has left, and nobody has been told.
      if (this.#ids.get(sequence) === this.#crashAt?.after) this.#die()
      return reach.call(core, sequence, phase)
    }
    core.release = (sequence) => {
      release.call(core, sequence)
      this.#ids.delete(sequence)
    }
    return core
  }

  /** Whatever the living process does; where it dies, another one starts. */
  #alive(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!this.#stage.dead) throw error
    }
    if (this.#stage.dead) this.#restart()
  }

  /** The process dies here, at a point of the scenario's choice. The runtime catches what is thrown, and it helps nobody. */
  #die(): never {
    this.#stage.dead = true
    throw new Error('the process has died')
  }

  #restart(): void {
    this.#watch()
    this.#crashAt = undefined
    const before = this.#stage
    this.#stage = this.#boot(this.#life++, before)
    this.#heard = 0
    this.#seen = 0
    this.#live.clear()
    this.#frames = { before: 0, stopped: this.#frames.stopped }
    this.#stage.run(1100, TICK_MS)
    this.#watch()
    this.#occur('restarted')
  }

  // What is said

  #response(name: string, said: readonly Said[], snapshot: string, recovers: string | undefined): Uint8Array {
    const components = said.map(({ id, type, payload, requires }) => ({
      id,
      type,
      payload: located(payload),
      ...(requires.length > 0 && { requires }),
    }))
    return encode({ v: 1, response: name, generation: ++this.#generation, snapshot, recovers, components })
  }

  #deliver(bytes: Uint8Array): void {
    this.#stage.sayBytes(this.#variant.identity ? bytes : this.#asNews(bytes))
  }

  /** For whoever knows of no session, snapshot, generation or plan: whatever arrives is the newest word. */
  #asNews(bytes: Uint8Array): Uint8Array {
    const { v, components } = decode(bytes)
    const generation = ++this.#generation
    return encode({ v, response: `news${generation}`, generation, snapshot: this.#stage.snapshot.snapshot, components })
  }

  // What happens

  #occur(what: string): void {
    this.#happened.add(what)
    for (let i = 0; i < this.#pending.length; i++) {
      const step = this.#pending[i]!
      if (step.when !== what) continue
      this.#pending.splice(i--, 1)
      this.#due.push({ at_ms: this.#stage.now_ms + timeOf(step.after), step })
    }
  }

  #takeSteps(): void {
    this.#due.sort((a, b) => a.at_ms - b.at_ms)
    while (this.#due.length > 0 && this.#due[0]!.at_ms <= this.#stage.now_ms) {
      const { step } = this.#due.shift()!
      this.#last_ms = this.#stage.now_ms
      this.#frames = { before: this.#stage.sent.length, stopped: true }
      this.#alive(() => this.#take(step))
      this.#watch()
    }
  }

  #take(step: Step): void {
    const stage = this.#stage
    if (step.set !== undefined) stage.set(numbered(step.set))
    if (step.pilot !== undefined) stage.show({ mode: step.pilot as Mode })
    if (step.replay !== undefined) {
      for (const { after_ms, values } of recorded(step.replay)) stage.later(after_ms, () => stage.set(values))
    }
    if (step.autopilot === 'mute' || step.autopilot === 'obedient') stage.obeys = step.autopilot === 'obedient'
    if (step.autopilot === 'unreachable') stage.down = true
    if (step.again !== undefined) this.#deliver(step.again === 'bytes' ? this.#packet : reworded(this.#packet))
    if (step.say !== undefined) {
      const { response, components, recovers, cites } = step.say
      const snapshot = cites === 'first' ? this.#firstSnapshot : stage.snapshot.snapshot
      this.#deliver(this.#response(response, components, snapshot, recovers ? 'r1' : undefined))
    }
    if (step.disk !== undefined) stage.full = step.disk === 'full'
    if (step.operate === 'approve' || step.operate === 'refuse') {
      const [asked] = (stage.control as unknown as { pending: { consent: string }[] }).pending
      if (asked !== undefined) stage.operate(step.operate, { consent: asked.consent })
    } else if (step.operate !== undefined) stage.operate(step.operate)
    if (step.clear !== undefined) stage.operate('clear', { type: step.clear })
    if (step.corrupt !== undefined) this.#corrupt(step.corrupt)
    if (step.crash === 'now') return this.#die()
    if (step.crash !== undefined) this.#crashAt = step.crash
  }

  #corrupt({ component, field, to, part }: NonNullable<Step['corrupt']>): void {
    const sequence = [...this.#ids].findLast(([, id]) => id === component)?.[0]
    // It was never bound, or it has gone out and nothing rests on it: there is nothing to alter.
    if (sequence === undefined || sequence === 0) return
    const record = this.#core!.record(sequence)
    if (part === 'environment')
      return replace(record, Buffer.from(this.#stage.runtime.environment, 'hex'), (b) => b ^ 1)
    if (part === 'id') return replace(record, Buffer.from(component), (b, i) => (i === 0 ? 0x7a : b))
    if (part === 'plan') return replace(record, Buffer.from('planner/'), (b, i) => (i === 0 ? 0x7a : b))
    const type = CATALOG.types.find(({ name }) => name === this.#typeOf(component))!
    const slots = this.#core!.payload(sequence)
    const values = Object.entries(located({ [field!]: to! }))
    for (const [name, value] of values) {
      const slot = type.payload.findIndex((p) => p.name === name)
      const [was, is] = [bytesOf(slots[slot]!), bytesOf(value)]
      replace(record, was, (_, i) => is[i]!)
    }
  }

  #typeOf(id: string): string {
    return this.#trial.response.find((said) => said.id === id)!.type
  }

  // What is seen from outside

  #watch(): void {
    const { published, sent } = this.#stage
    for (; this.#heard < published.length; this.#heard++) {
      const { topic, value } = published[this.#heard]!
      if (topic !== 'outcome/planner') continue
      const { plan, component, generation, phase } = value as Readonly<Record<string, string>>
      const instance = `${plan} ${component} ${generation}`
      if (OVER.has(phase!) || (phase === 'released' && !this.#asks(component!))) this.#live.delete(instance)
      else this.#live.add(instance)
      if (phase === 'released' || phase === 'dispatched') {
        this.#goesOut.set(component!, (this.#goesOut.get(component!) ?? 0) + 1)
        if (this.#life > 1) this.#afterRestart.add(component!)
      }
      this.#occur(`${component} ${phase}`)
    }
    for (; this.#seen < sent.length; this.#seen++) this.#fly(sent[this.#seen]!)
  }

  /** The vehicle does what it is told, in a straight line and in its own time. */
  #fly({ message, payload, command, mode }: Sent): void {
    const stage = this.#stage
    const view = new DataView(payload.buffer)
    const later = (after_ms: number, act: () => void): void => {
      if (stage.obeys) stage.later(after_ms, act)
    }
    if (command === CMD.takeoff) {
      const alt = view.getFloat32(24, true) - HOME.amsl
      later(CLIMB_MS, () => {
        stage.set({ 'position.alt': alt, 'local.down': -alt })
        stage.show({ mode: 'HOLD', landed: 'IN_AIR' })
      })
    } else if (mode === 'LAND' || mode === 'RETURN') {
      later(DESCENT_MS, () => {
        if (stage.world.get('mode') !== MODES.indexOf(mode)) return
        stage.set({ 'position.alt': 0, 'local.down': 0 })
        stage.show({ landed: 'ON_GROUND', armed: false })
      })
    } else if (message === MSG.setpointGlobal) {
      const target = payload.subarray(4, 16).join()
      if (target === this.#target) return
      this.#target = target
      const at = {
        'position.lat': view.getInt32(4, true) / 1e7,
        'position.lon': view.getInt32(8, true) / 1e7,
        'position.alt': view.getFloat32(12, true) - HOME.amsl,
      }
      later(LEG_MS, () => this.#target === target && stage.set(at))
    }
  }

  /** Nothing is to come: no step, and nothing that is retained or under way. */
  #isOver(): boolean {
    const isQuiet = this.#due.length === 0 && this.#live.size === 0
    return isQuiet && this.#happened.has('arrived') && this.#stage.runtime.settled
  }

  #asks(component: string): boolean {
    return this.#trial.response.some(({ id, type }) => id === component && type.startsWith('request'))
  }

  #score({ goes = [], stays = [], once = [], stops, silent, never_again = [] }: Expectation): Score {
    const went = (id: string): number => this.#goesOut.get(id) ?? 0
    const broken = [
      ...stays.filter((id) => went(id) > 0).map((id) => `${id} went out`),
      ...once.filter((id) => went(id) !== 1).map((id) => `${id} went out ${went(id)} times`),
      ...never_again.filter((id) => this.#afterRestart.has(id)).map((id) => `${id} went out after the restart`),
    ]
    const after = this.#frames.stopped ? this.#stage.sent.slice(this.#frames.before) : []
    const setpoints = after.filter(({ message }) => message !== MSG.commandLong)
    if (stops && setpoints.length > 0) broken.push(`${setpoints.length} setpoints left afterwards`)
    if (silent && after.length > 0) broken.push(`${after.length} frames left afterwards`)
    if ((stops || silent) && !this.#frames.stopped) broken.push('it never came to that')
    return { kept: goes.filter((id) => went(id) > 0), missed: goes.filter((id) => went(id) === 0), broken }
  }
}

const OVER = new Set(['completed', 'withheld', 'blocked', 'failed', 'expired', 'superseded', 'uncertain'])

/** `to: [north, east]` as degrees; everything else as it stands. */
function located(payload: Said['payload']): Record<string, unknown> {
  const { to, ...rest } = payload
  if (!Array.isArray(to)) return payload
  const [north, east] = to as [number, number]
  const lon = HOME.lon + east / (METRES_PER_DEGREE * Math.cos((HOME.lat * Math.PI) / 180))
  return { lat: HOME.lat + north / METRES_PER_DEGREE, lon, ...rest }
}

/** Fields with their words as numbers; null makes one unknown. */
function numbered(fields: Readonly<Record<string, number | string | null>>): Record<string, number> {
  const number = (value: number | string | null): number => {
    if (typeof value === 'number') return value
    if (value === null) return Number.NaN
    const at = [MODES.indexOf(value as Mode), (LANDED as readonly string[]).indexOf(value)].find((i) => i >= 0)
    if (at === undefined) throw new Error(`no mode and no landed state is called ${value}`)
    return at
  }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, number(value)]))
}

/** The same words, their keys in another order: another digest. */
function reworded(bytes: Uint8Array): Uint8Array {
  return encode(Object.fromEntries(Object.entries(decode(bytes) as object).reverse()))
}

function bytesOf(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value as number)
  return bytes
}

/** Alters these bytes where they stand in a record; both cores keep text and doubles as they are. */
function replace(record: Uint8Array, was: Uint8Array, is: (byte: number, i: number) => number): void {
  const at = Buffer.from(record.buffer, record.byteOffset, record.byteLength).indexOf(was)
  if (at < 0) throw new Error('the record does not hold that value')
  record.set(was.map(is), at)
}
