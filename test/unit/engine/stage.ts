// A stage for the engine on virtual time: a fake port, a scripted autopilot, the reference catalog. What the tests of
// `src/engine` share. The autopilot here only does what a test tells it; the simulated vehicle is another thing.

import { readFileSync } from 'node:fs'
import type { HostPredicate } from '../../../src/agentspec/index.ts'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { LANDED, type Landed, MODES, type Mode } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import type { CoreFactory, CoreFrame } from '../../../src/core/core.ts'
import type { JournalEntry, Publication } from '../../../src/engine/port.ts'
import { Policy } from '../../../src/engine/rules/policy.ts'
import { type LogEvent, Runtime } from '../../../src/engine/runtime.ts'
import type { ReportedTarget } from '../../../src/telemetry/report.ts'
import { encode } from '../../../src/wire/write.ts'

const example = (profile: string): string => `examples/${profile}/catalog.yaml`

/** Loading one takes longer than most tests. */
const loaded = new Map<string, Catalog>()

/** The reference catalog, with parts of its text replaced. */
export const referenceCatalog = (...replacements: [string, string][]): Catalog =>
  exampleCatalog('px4-multirotor', ...replacements)

/** The example of a profile, with parts of its text replaced. */
export function exampleCatalog(profile: string, ...replacements: [string, string][]): Catalog {
  let text = readFileSync(example(profile), 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`the catalog of ${profile} has no ${from}`)
    text = text.replace(from, to)
  }
  return catalogOf(text)
}

export function catalogOf(text: string): Catalog {
  const catalog = loaded.get(text) ?? loadCatalog(text, 'catalog.yaml', [px4Multirotor, ardupilotCopter])
  loaded.set(text, catalog)
  return catalog
}

/** A replacement that gives it more predicates, one `name: clause` a line. */
export const predicates = (...lines: string[]): [string, string] => [
  '\npredicates:\n',
  `\npredicates:\n${lines.map((line) => `  ${line}\n`).join('')}`,
]

export const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 }
export const CMD = { setMode: 176, arm: 400, takeoff: 22 } as const
/** Message ids of the frames. */
export const MSG = { commandLong: 76, setpointLocal: 84, setpointGlobal: 86 } as const

const CALM = {
  ready: 1,
  critical: 0,
  'estimator.ok': 1,
  'gps.fix': 3,
  'gps.satellites': 12,
  'battery.remaining': 90,
  'battery.voltage': 16,
  'position.lat': HOME.lat,
  'position.lon': HOME.lon,
  'position.alt': 0,
  'position.amsl': HOME.amsl,
  'position.accuracy': 0.3,
  'local.north': 0,
  'local.east': 0,
  'local.down': 0,
  'velocity.north': 0,
  'velocity.east': 0,
  'velocity.down': 0,
  heading: 0,
  'home.lat': HOME.lat,
  'home.lon': HOME.lon,
  'home.amsl': HOME.amsl,
  map: 1,
} as const
const ALOFT = { 'position.alt': 10, 'position.amsl': HOME.amsl + 10, 'local.down': -10 } as const

export interface Sent {
  readonly at_ms: number
  readonly message: number
  readonly payload: Uint8Array
  /** COMMAND_LONG only. */
  readonly command: number | undefined
  /** DO_SET_MODE only: the mode asked for. */
  readonly mode: Mode | undefined
}

export interface ComponentSaid {
  readonly id: string
  readonly type: string
  readonly payload?: Readonly<Record<string, unknown>>
  readonly requires?: readonly string[]
}

// biome-ignore lint/suspicious/noExplicitAny: what is published is a value for CBOR, and tests look into it
export type Said = any

export class Stage {
  readonly catalog: Catalog
  readonly runtime: Runtime
  readonly sent: Sent[] = []
  readonly published: Publication[] = []
  readonly log: LogEvent[] = []
  /** When the engine had the autopilot asked for its mode. */
  readonly asked_ms: number[] = []
  readonly world = new Map<string, number>()
  now_ms = 1000
  /** Refuses to send. */
  down = false
  /** The disk takes nothing more. */
  full = false
  /** The process has died in the midst of a step: whatever that step still does, nothing of it is sent, written or told. */
  dead = false
  /** How long the disk takes for an entry; its answer is heard at the first tick after that. */
  disk_ms = 0
  /** Telemetry flows: every field of the world is observed again each 50 ms. */
  streaming = true
  /** Answers every COMMAND_LONG with this result after 10 ms, and shows a mode or arming that it asks for after 30 ms. */
  obeys: boolean
  journal: JournalEntry | undefined
  /** How many sessions there were before this process: their ids are never used again. */
  #sessions: number
  #later: { at_ms: number; act: () => void }[] = []
  #streamed_ms = Number.NEGATIVE_INFINITY

  constructor(
    core: CoreFactory,
    options: {
      catalog?: Catalog
      /** A rule file's text, `rules.ar`, and the functions of the host that it may name. */
      rules?: string | undefined
      host?: Readonly<Record<string, HostPredicate>>
      obeys?: boolean
      journal?: JournalEntry
      sessions?: number
      found?: Mode
    } = {},
  ) {
    this.#sessions = options.sessions ?? 0
    this.catalog = options.catalog ?? referenceCatalog()
    this.obeys = options.obeys ?? true
    this.journal = options.journal
    const { rules, host } = options
    const policy = rules === undefined ? undefined : new Policy([{ file: 'rules.ar', text: rules }], this.catalog, host)
    this.runtime = new Runtime({
      catalog: this.catalog,
      ...(policy && { policy }),
      core,
      coreHash: '00'.repeat(32),
      port: { send: (frame) => this.#send(frame), ask: () => this.asked_ms.push(this.now_ms) },
      journal: {
        read: () => this.journal,
        write: (entry) => {
          if (this.disk_ms === 0 && !this.full && !this.dead) this.journal = entry
          this.later(this.disk_ms, () => this.#written(entry))
        },
      },
      random: () => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, ++this.#sessions),
      wall: () => 1_700_000_000_000 + this.now_ms,
      version: 'test',
      log: (event) => this.log.push(event),
    })
    this.#take(this.runtime.start(this.now_ms))
    this.#take(this.runtime.connected(1, 1, this.now_ms))
    if (options.found === undefined) this.ground()
    else this.#find(options.found)
  }

  /** Disarmed, on the ground, in HOLD, everything as it should be. */
  ground(): void {
    this.show({ mode: 'HOLD', armed: false, landed: 'ON_GROUND' })
    this.set(CALM)
  }

  /** The session finds the vehicle in the air, in this mode. */
  #find(mode: Mode): void {
    const number = MODES.indexOf(mode)
    this.set({ ...CALM, ...ALOFT, mode: number, mode_intended: number, armed: 1, landed: LANDED.indexOf('IN_AIR') })
  }

  /** Armed, in the air at 10 m, in HOLD (or another mode). */
  fly(mode: Mode = 'HOLD'): this {
    this.set(ALOFT)
    this.show({ mode, armed: true, landed: 'IN_AIR' })
    return this.run(1000)
  }

  /** Fields by name; NaN makes one unknown. */
  set(fields: Readonly<Record<string, number>>): this {
    for (const [name, value] of Object.entries(fields)) this.world.set(name, value)
    this.#stream(Object.keys(fields))
    return this
  }

  /** A report that lay in the socket: of fields by name, received then. The world is another by now, or is not. */
  hear(fields: Readonly<Record<string, number>>, received_ms: number): this {
    this.#observe(Object.entries(fields), received_ms)
    return this
  }

  show(what: { mode?: Mode; intended?: Mode; armed?: boolean; landed?: Landed }): this {
    const fields: Record<string, number> = {}
    if (what.mode !== undefined) fields.mode = MODES.indexOf(what.mode)
    const intended = what.intended ?? what.mode
    if (intended !== undefined) fields.mode_intended = MODES.indexOf(intended)
    if (what.armed !== undefined) fields.armed = Number(what.armed)
    if (what.landed !== undefined) fields.landed = LANDED.indexOf(what.landed)
    return this.set(fields)
  }

  /** Somebody else has the vehicle: a mode is shown, and once more. */
  taken(mode: Mode): this {
    return this.show({ mode }).run(20).show({ mode }).run(10)
  }

  acknowledge(command: number, result = 0): this {
    this.#take(this.runtime.acknowledge({ command, result }, this.now_ms))
    return this
  }

  /** Lets time pass, a tick every `every_ms`. */
  run(for_ms: number, every_ms = 10): this {
    const end_ms = this.now_ms + for_ms
    while (this.now_ms < end_ms) {
      this.now_ms = Math.min(this.now_ms + every_ms, end_ms)
      for (const { act } of this.#due()) act()
      if (this.streaming && this.now_ms - this.#streamed_ms >= 50) this.#stream([...this.world.keys()])
      this.#take(this.runtime.tick(this.now_ms))
    }
    return this
  }

  /** Time passes and nobody ticks. */
  stall(for_ms: number): this {
    this.now_ms += for_ms
    return this
  }

  later(after_ms: number, act: () => void): void {
    this.#later.push({ at_ms: this.now_ms + after_ms, act })
  }

  /** A response that cites the newest snapshot and has the next generation, unless told otherwise. Returns its verdict. */
  say(components: readonly ComponentSaid[], over: Readonly<Record<string, unknown>> = {}, agent = 'planner'): Said {
    return this.sayBytes(encode(this.response(components, over, agent)), agent)
  }

  response(components: readonly ComponentSaid[], over: Readonly<Record<string, unknown>> = {}, agent = 'planner') {
    const snapshot: Said = this.newest('snapshot')
    const generation = this.#generation(agent) + 1
    return {
      v: 1,
      response: `r${generation}`,
      generation,
      snapshot: snapshot.snapshot,
      components: components.map((c) => ({ payload: {}, ...c })),
      ...over,
    }
  }

  sayBytes(bytes: Uint8Array, agent = 'planner', retained = false): Said {
    const from = this.published.length
    this.#take(this.runtime.receive(agent, bytes, retained, this.now_ms))
    return this.published.slice(from).find((p) => p.topic === `verdict/${agent}`)?.value
  }

  context(field: string, value: unknown, retained = false): this {
    const bytes = encode({ v: 1, value })
    this.#take(this.runtime.context(field, bytes, retained, this.now_ms, this.now_ms))
    return this
  }

  operate(verb: string, message: Readonly<Record<string, unknown>> = {}): this {
    const control: Said = this.newest('control')
    const bytes = encode({ v: 1, session: control.session, after: control.n, ...message })
    this.#take(this.runtime.operate(verb, bytes, false, this.now_ms))
    return this
  }

  alarm(text: string): this {
    this.#take(this.runtime.alarm(text, this.now_ms))
    return this
  }

  objects(words: string): this {
    this.#take(this.runtime.objects(words, this.now_ms))
    return this
  }

  preflight(problem: string | undefined): this {
    this.#take(this.runtime.preflight(problem, this.now_ms))
    return this
  }

  stop(): this {
    this.#take(this.runtime.stop(this.now_ms))
    return this
  }

  rebooted(up_ms: number): this {
    this.#take(this.runtime.rebooted(up_ms, this.now_ms))
    return this
  }

  reportTarget(target: ReportedTarget): this {
    const report = { message: 87, observations: [], target }
    this.#take(this.runtime.observe(report, this.now_ms, this.now_ms))
    return this
  }

  newest(topic: string): unknown {
    return this.published.findLast((p) => p.topic === topic)?.value
  }

  values(topic: string): Said[] {
    return this.published.filter((p) => p.topic === topic).map((p) => p.value)
  }

  /** `phase` or `phase reason` of a component, in order. */
  phases(component: string, agent = 'planner'): string[] {
    return this.values(`outcome/${agent}`)
      .filter((o) => o.component === component)
      .map((o) => (o.reason === undefined ? o.phase : `${o.phase} ${o.reason}`))
  }

  lastPhase(component: string, agent = 'planner'): string | undefined {
    return this.phases(component, agent).at(-1)
  }

  get obligations(): Said[] {
    return this.values('obligation/planner').flatMap((o) => (o.obligation === undefined ? [] : [o.obligation]))
  }

  /** A setpoint's flight is under way: a goto 30 m north, engaged, for as long as the tests want. */
  engage(component: ComponentSaid = goto('g', 30)): this {
    this.fly().say([range, component])
    return this.run(500)
  }

  /** The vehicle stands still, where the goto wanted it. */
  arrive(at: ComponentSaid): this {
    return this.set({ 'position.lat': at.payload!.lat as number, 'position.lon': at.payload!.lon as number })
  }

  /** One input at the moment at which the time was up as well. */
  after(ms: number): this {
    this.run(ms - 10)
    return this.stall(10)
  }

  get control(): { session: string; n: number; paused: boolean; pilot_control: boolean; revoked: string[] } {
    return this.newest('control') as never
  }

  get snapshot(): Said {
    return this.newest('snapshot')
  }

  /** `closed` messages, as `reason` words. */
  get closed(): string[] {
    return this.values('obligation/planner').flatMap((o) => (o.closed === undefined ? [] : [o.reason]))
  }

  /** Everything sent that is no setpoint, by name: a mode, `arm`, `disarm` or `takeoff`. */
  commands(since_ms = 0): string[] {
    return this.sent.filter((s) => s.at_ms >= since_ms && s.command !== undefined).map(nameOf)
  }

  /** Mode commands sent, in order. */
  modesSent(since_ms = 0): Mode[] {
    return this.sent.filter((s) => s.at_ms >= since_ms).flatMap((s) => (s.mode === undefined ? [] : [s.mode]))
  }

  setpoints(since_ms = 0): Sent[] {
    return this.sent.filter((s) => s.message !== MSG.commandLong && s.at_ms >= since_ms)
  }

  #generation(agent: string): number {
    const accepted = this.values(`verdict/${agent}`).filter((v) => v.accepted)
    return Math.max(0, ...accepted.map((v) => v.generation))
  }

  #written(entry: JournalEntry): void {
    if (!this.full) this.journal = entry
    const problem = this.full ? 'no space left on device' : undefined
    this.#take(this.runtime.journalled(entry, problem, this.now_ms))
  }

  #send(frame: CoreFrame): boolean {
    if (this.down || this.dead) return false
    const payload = frame.payload.slice()
    const command = frame.message === MSG.commandLong ? new DataView(payload.buffer).getUint16(28, true) : undefined
    const mode = modeOf(this.catalog.profile.name, payload, command)
    const sent = { at_ms: this.now_ms, message: frame.message, payload, command, mode }
    this.sent.push(sent)
    if (this.obeys && command !== undefined) this.#obey(sent)
    return true
  }

  #obey({ command, mode, payload }: Sent): void {
    this.later(10, () => this.acknowledge(command!))
    if (mode !== undefined) this.later(30, () => this.show({ mode }))
    if (command === CMD.arm) {
      const armed = new DataView(payload.buffer).getFloat32(0, true) === 1
      this.later(30, () => this.show({ armed }))
    }
    const climbs = this.catalog.profile.name === 'px4-multirotor' ? { mode: 'TAKEOFF' } : { landed: 'TAKING_OFF' }
    if (command === CMD.takeoff) this.later(30, () => this.show(climbs as { mode: Mode } | { landed: Landed }))
  }

  #due(): { act: () => void }[] {
    const due = this.#later.filter((l) => l.at_ms <= this.now_ms)
    this.#later = this.#later.filter((l) => l.at_ms > this.now_ms)
    return due
  }

  #stream(names: readonly string[]): void {
    if (names.length === this.world.size) this.#streamed_ms = this.now_ms
    this.#observe(
      names.map((name) => [name, this.world.get(name)!]),
      this.now_ms,
    )
  }

  #observe(values: readonly (readonly [string, number])[], received_ms: number): void {
    const observations = values.map(([name, value]) => {
      const field = this.catalog.fields.findIndex((f) => f.name === name)
      if (field < 0) throw new Error(`no field ${name}`)
      return { field, value }
    })
    const report = { message: 0, observations, target: undefined }
    this.#take(this.runtime.observe(report, received_ms, this.now_ms))
  }

  #take(publications: readonly Publication[]): void {
    if (this.dead) return
    this.published.push(...publications)
  }
}

function nameOf({ command, mode, payload }: Sent): string {
  if (mode !== undefined) return mode
  if (command === CMD.takeoff) return 'takeoff'
  return new DataView(payload.buffer).getFloat32(0, true) === 1 ? 'arm' : 'disarm'
}

/** By the second and third parameter of DO_SET_MODE. */
const AUTOPILOT_MODES: Readonly<Record<string, Readonly<Record<string, Mode>>>> = {
  'px4-multirotor': { '4/2': 'TAKEOFF', '4/3': 'HOLD', '4/5': 'RETURN', '4/6': 'LAND', '6/0': 'OFFBOARD' },
  'ardupilot-copter': { '17/0': 'HOLD', '6/0': 'RETURN', '9/0': 'LAND', '4/0': 'OFFBOARD' },
}

function modeOf(profile: string, payload: Uint8Array, command: number | undefined): Mode | undefined {
  if (command !== CMD.setMode) return undefined
  const view = new DataView(payload.buffer)
  return AUTOPILOT_MODES[profile]![`${view.getFloat32(4, true)}/${view.getFloat32(8, true)}`]
}

/** A goto so many metres north of home. */
export const goto = (id: string, north_m: number, requires: readonly string[] = ['range']): ComponentSaid => ({
  id,
  type: 'goto',
  payload: { lat: HOME.lat + north_m / 111_195, lon: HOME.lon, alt: 10 },
  requires,
})
export const range: ComponentSaid = { id: 'range', type: 'report.range' }
export const notice = (id: string, text = 'on my way'): ComponentSaid => ({
  id,
  type: 'notice.operator',
  payload: { text },
})
export const takeoff = (id: string, requires: readonly string[] = []): ComponentSaid => ({
  id,
  type: 'takeoff',
  payload: { alt: 10 },
  requires,
})
export const velocity = (id: string, seconds: number, requires: readonly string[] = ['range']): ComponentSaid => ({
  id,
  type: 'velocity',
  payload: { north: 1, east: 0, seconds },
  requires,
})
/** `hold`, `land`, `return`, `status` and whatever else has no payload. */
export const plain = (type: string, id: string = type, requires: readonly string[] = []): ComponentSaid => ({
  id,
  type,
  requires,
})

const MAY = 'notice.operator, report.range, status, takeoff, goto, velocity, hold, return, land'
/** A replacement that gives it a second agent, `scout`, that may do what the planner may. */
export const SCOUT: [string, string] = ['agents:\n', `agents:\n  scout:\n    may: [${MAY}]\n`]
export const twoAgents = (): Catalog => referenceCatalog(SCOUT)

/** Replacements that give it `click`, a command that changes no mode. */
export const CLICK: [[string, string], [string, string]] = [
  [
    '  takeoff:\n',
    '  click:\n    kind: action\n    effect: { mav_cmd: { id: 2000, params: [0, 0, 0, 0, 0, 0, 0] } }\n\n  takeoff:\n',
  ],
  ['status, takeoff', 'status, click, takeoff'],
]

/** A replacement that lets a notice rest on a notice. */
export const CHAINED: [string, string] = [
  '    may_require: { takeoff: completed,',
  '    may_require: { notice.operator: released, takeoff: completed,',
]
