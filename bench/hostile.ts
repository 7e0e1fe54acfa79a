// npm run bench -- hostile: what agents can cost others with responses that HALO accepts, or refuses, at their full rate.
//
// One process, one engine, the real clock: a ward flies a setpoint stream, one or four others say the worst that we could
// construct or find, a loop ticks every 10 ms as the companion does, and at the end the operator pauses. A step is one call of
// the runtime and the first slice of what it publishes, or another slice, encoded. No sockets, no broker, no disk: what these cost is not in here. What
// another process of the machine takes is: read the load, and the processor time beside the time.

import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { CANDIDATES_MAX, RESPONSE_EDGES_MAX } from '../build/abi.ts'
import { Outbox } from '../companion/outbox.ts'
import { LANDED, MODES, type Mode } from '../src/autopilot/profile.ts'
import { px4Multirotor } from '../src/autopilot/px4-multirotor.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import { quotaOf } from '../src/catalog/quota.ts'
import type { CoreFrame } from '../src/core/core.ts'
import { CORE_HASH, loadCore } from '../src/core/wasm.ts'
import type { JournalEntry, Publication } from '../src/engine/port.ts'
import { Runtime } from '../src/engine/runtime.ts'
import { encode } from '../src/wire/write.ts'
import { dice } from '../test/oracle/sketch.ts'
import { Times } from './spread.ts'

const TICK_MS = 10
const TELEMETRY_MS = 50
const PERIOD_MS = 100
const RATE_HZ = 5
const JUNK_HZ = 50
const DISK_MS = 5
const COMMAND_LONG = 76
const SET_MODE = 176
const MODE_OF: Readonly<Record<string, Mode>> = { '6/0': 'OFFBOARD', '4/3': 'HOLD' }
const TARGETS = { step_ms: 5, message_bytes: 65_536, missed: 0, pause_ms: 100 }
const HOME = { lat: 47.397742, lon: 8.545594 }

interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly requires?: readonly string[]
}

/** What one attacker says as its n-th response. */
interface Sequence {
  readonly name: string
  readonly hz?: number
  /** All but the first recover the first. */
  readonly recovers?: boolean
  components(room: Room, n: number): readonly Component[]
  /** The first, byte by byte, again and again. */
  readonly repeats?: boolean
  /** In place of a response. */
  bytes?(n: number): Uint8Array
}

const range: Component = { id: 'range', type: 'report.range', payload: {} }
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const notice = (id: string, requires: readonly string[] = [], text = ''): Component => {
  return { id, type: 'notice.operator', payload: { text }, requires }
}
const goto = (id: string, requires: readonly string[] = ['range'], far = 0): Component => {
  return { id, type: 'goto', payload: { lat: HOME.lat + 1e-3 + far * 1e-6, lon: HOME.lon, alt: 20 }, requires }
}
const malformed = (id: string, requires: readonly string[] = ['range']): Component => ({
  ...goto(id, requires),
  payload: {},
})
/** 64 bytes of name. */
const long = (id: string): string => id.padEnd(64, 'x')

/** What has room in a response and in an agent's part of the core. */
interface Room {
  readonly components: number
  readonly edges: number
}

const roomOf = (agents: number): Room => {
  const { instances, edges } = quotaOf(agents)
  return { components: Math.min(CANDIDATES_MAX, instances), edges: Math.min(RESPONSE_EDGES_MAX, edges) }
}

const backwards = ({ components }: Room): Component[] => {
  const roots = Math.floor(components * 0.43)
  const chain = components - roots - 1
  const bad = times(roots, (i) => malformed(`bad-${i}`))
  const on = bad.slice(0, 60).map(({ id }) => id)
  const link = (i: number): Component => goto(`l${i}`, ['range', ...(i === chain - 1 ? on : [`l${i + 1}`])])
  return [range, ...times(chain, link), ...bad]
}
const star = ({ components, edges }: Room): Component[] => {
  const ids = times(Math.min(63, components >> 2), (i) => `r${i}`)
  const width = Math.min(components >> 2, Math.floor((edges - components) / (ids.length + 1)))
  const on = times(width, (i) => goto(`s${i}`, ['range', ...ids]))
  const alone = components - 1 - ids.length - width
  return [range, ...on, ...ids.map((id) => malformed(id, [])), ...times(alone, (i) => malformed(`a${i}`))]
}
const full = ({ components, edges }: Room): Component[] => {
  const width = Math.min(63, components >> 1, Math.floor(Math.sqrt(edges)) - 1)
  const below = times(width, (i) => `b${i}`)
  const chain = below.map((id, i) => notice(id, i < width - 1 ? [below[i + 1]!] : []))
  return [...times(width, (i) => notice(`t${i}`, below)), ...chain]
}
const waiting = (count: number, requires: (i: number) => readonly string[]): Component[] =>
  times(count, (i) => goto(`g${i}`, requires(i), i))
const chained = ({ components }: Room): Component[] => [
  range,
  ...waiting(components - 1, (i) => (i === 0 ? ['range'] : ['range', `g${i - 1}`])),
]

const sequences: readonly Sequence[] = [
  { name: 'a chain written backwards on malformed roots', components: backwards },
  { name: 'a star of malformed roots', components: star },
  { name: 'all edges, over a chain written backwards', components: full },
  {
    name: 'notices, each on the next',
    components: ({ components }) => times(components, (i) => notice(`n${i}`, i < components - 1 ? [`n${i + 1}`] : [])),
  },
  {
    name: 'notices with the longest names, recoveries for ever',
    recovers: true,
    components: ({ components }, n) => times(components, (i) => notice(long(`n${n}-${i}`))),
  },
  {
    name: 'recoveries of new ids with nothing in them',
    recovers: true,
    components: ({ components }, n) => times(components - 1, (i) => ({ ...notice(long(`e${n}-${i}`)), payload: {} })),
  },
  {
    name: 'a request that covers all others',
    components: ({ components }, n) => {
      const ask = { id: 'ask', type: 'request.approval', payload: { text: `${n}` } }
      return [range, ask, ...waiting(components - 2, () => ['range', 'ask'])]
    },
  },
  {
    name: 'gotos that wait for the resource',
    components: ({ components }) => [range, ...waiting(components - 1, () => ['range'])],
  },
  { name: 'gotos in a chain, superseded each time', components: chained },
  {
    name: 'irreversible actions, each of which waits for the disk',
    components: ({ components }) => times(components, (i) => ({ id: `d${i}`, type: 'drop', payload: {} })),
  },
  {
    name: 'half as many, replaced each time',
    recovers: true,
    components: ({ components, edges }) => chained({ components: components >> 1, edges }),
  },
]

/** What is not a response of its own. */
const outside: readonly Sequence[] = [
  { name: 'one accepted packet, repeated', repeats: true, components: backwards },
  {
    name: 'junk of 64 KiB',
    hz: JUNK_HZ,
    components: () => [],
    bytes: (n) => new Uint8Array(65_536).fill(0x80 + (n % 16)),
  },
  {
    name: 'a map of 64 KiB that is no response',
    hz: JUNK_HZ,
    components: () => [],
    bytes: (n) => encode({ v: 1, [`k${n}`]: times(9_000, () => [1, 'x', true]) }),
  },
]

class Flight {
  readonly steps = new Times()
  /** Of the attackers' responses alone. */
  readonly responses = new Times()
  /** Of the longest step: ms of the clock, and of the processor. */
  longest = { wall_ms: 0, cpu_ms: 0, what: '' }
  snapshotBytes = 0
  largest = { bytes: 0, topic: '' }
  bytes = 0
  refused = new Map<string, number>()
  readonly setpoints: number[] = []
  held_ms: number | undefined
  readonly #runtime: Runtime
  readonly #fields: ReadonlyMap<string, number>
  readonly #generations = new Map<string, number>()
  readonly #said = new Map<string, Uint8Array>()
  readonly #acks: { at_ms: number; command: number; mode: Mode | undefined }[] = []
  #mode: Mode = 'HOLD'
  #snapshot = ''
  #ended = false
  readonly #encoded: { readonly topic: string; readonly value: unknown; readonly length: number }[] = []
  readonly #outbox = new Outbox(
    ({ topic, value }) => this.#encoded.push({ topic, value, length: encode(value).length }),
    (slice) => setImmediate(() => this.#timed('slice', slice)),
  )

  constructor(attackers: number) {
    const catalog = loadCatalog(catalogText(attackers), 'catalog.yaml', [px4Multirotor])
    this.#fields = new Map(catalog.fields.map(({ name }, i) => [name, i]))
    let sessions = 0
    this.#runtime = new Runtime({
      catalog,
      core: loadCore,
      coreHash: CORE_HASH,
      port: { send: (frame) => this.#send(frame) },
      journal: { read: () => undefined, write: (entry) => this.#write(entry) },
      random: () => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, ++sessions),
      wall: Date.now,
      version: 'bench',
    })
    this.step('start', (now_ms) => this.#runtime.start(now_ms))
    this.step('connected', (now_ms) => this.#runtime.connected(1, 1, now_ms))
    this.step('context', (now_ms) => this.#runtime.context('map', encode({ v: 1, value: 1 }), false, now_ms, now_ms))
  }

  /** A stream of the ward is lost, or ended. */
  get wardEnded(): boolean {
    return this.#ended
  }

  step(what: string, call: (now_ms: number) => readonly Publication[]): void {
    this.#timed(what, () => this.#outbox.put(call(performance.now())))
  }

  #timed(what: string, run: () => void): void {
    const cpu = process.cpuUsage()
    const begun_ms = performance.now()
    run()
    const wall_ms = performance.now() - begun_ms
    const { user, system } = process.cpuUsage(cpu)
    this.steps.add(wall_ms)
    if (what === 'response') this.responses.add(wall_ms)
    if (wall_ms > this.longest.wall_ms) this.longest = { wall_ms, cpu_ms: (user + system) / 1000, what }
    for (const { topic, value, length } of this.#encoded.splice(0)) {
      this.bytes += length
      if (length > this.largest.bytes) this.largest = { bytes: length, topic }
      if (topic === 'snapshot') {
        this.#snapshot = (value as { snapshot: string }).snapshot
        this.snapshotBytes = Math.max(this.snapshotBytes, length)
      }
      if (topic.startsWith('verdict/')) this.#note(value as { accepted: boolean; reason?: string })
      const { component, phase } = value as { component?: string; phase?: string }
      if (topic === 'outcome/ward' && component === 'fly' && phase === 'failed') this.#ended = true
    }
  }

  #note({ accepted, reason }: { accepted: boolean; reason?: string }): void {
    const word = accepted ? 'accepted' : reason!
    this.refused.set(word, (this.refused.get(word) ?? 0) + 1)
  }

  forget(): void {
    this.longest = { wall_ms: 0, cpu_ms: 0, what: '' }
  }

  tick(): void {
    const now_ms = performance.now()
    for (const { command, mode } of this.#acks.splice(
      0,
      this.#acks.findLastIndex(({ at_ms }) => at_ms <= now_ms) + 1,
    )) {
      this.step('acknowledge', (at_ms) => this.#runtime.acknowledge({ command, result: 0 }, at_ms))
      if (mode !== undefined) this.#mode = mode
      this.telemetry()
    }
    this.step('tick', (at_ms) => this.#runtime.tick(at_ms))
  }

  telemetry(): void {
    const mode = MODES.indexOf(this.#mode)
    const observations = Object.entries({ ...WORLD, mode, mode_intended: mode }).map(([name, value]) => {
      return { field: this.#fields.get(name)!, value }
    })
    const report = { message: 0, boot_ms: undefined, observations, target: undefined }
    this.step('observe', (at_ms) => this.#runtime.observe(report, at_ms, at_ms))
  }

  say(agent: string, components: readonly Component[], over: Readonly<Record<string, unknown>> = {}): void {
    const generation = (this.#generations.get(agent) ?? 0) + 1
    this.#generations.set(agent, generation)
    const snapshot = this.#snapshot
    const bytes = encode({ v: 1, response: `r${generation}`, generation, snapshot, components, ...over })
    this.#said.set(agent, bytes)
    this.sayBytes(agent, bytes)
  }

  repeat(agent: string): void {
    this.sayBytes(agent, this.#said.get(agent)!)
  }

  sayBytes(agent: string, bytes: Uint8Array): void {
    this.step('response', (at_ms) => this.#runtime.receive(agent, bytes, false, at_ms))
  }

  pause(): void {
    this.step('pause', (at_ms) => this.#runtime.operate('pause', encode({ v: 1 }), false, at_ms))
  }

  /** A disk, and one that takes its time. */
  #write(entry: JournalEntry): void {
    const written = (): void => this.step('journalled', (at_ms) => this.#runtime.journalled(entry, undefined, at_ms))
    globalThis.setTimeout(written, DISK_MS)
  }

  #send({ message, payload }: CoreFrame): boolean {
    const now_ms = performance.now()
    if (message !== COMMAND_LONG) {
      this.setpoints.push(now_ms)
      return true
    }
    const view = new DataView(payload.buffer, payload.byteOffset)
    const command = view.getUint16(28, true)
    const mode = command === SET_MODE ? MODE_OF[`${view.getFloat32(4, true)}/${view.getFloat32(8, true)}`] : undefined
    if (mode === 'HOLD') this.held_ms ??= now_ms
    this.#acks.push({ at_ms: now_ms + 10, command, mode })
    return true
  }
}

const WORLD: Readonly<Record<string, number>> = {
  armed: 1,
  landed: LANDED.indexOf('IN_AIR'),
  ready: 1,
  critical: 0,
  'estimator.ok': 1,
  'gps.fix': 3,
  'battery.remaining': 90,
  'position.lat': HOME.lat,
  'position.lon': HOME.lon,
  'position.alt': 10,
  'position.amsl': 498,
  'position.accuracy': 0.3,
  'local.down': -10,
  'velocity.north': 0,
  'velocity.east': 0,
  'velocity.down': 0,
  'home.lat': HOME.lat,
  'home.lon': HOME.lon,
  'home.amsl': 488,
}

/** Opens the gripper and asks nobody. */
const DROP = `
  drop:
    kind: action
    expires: 10s
    effect: { mav_cmd: { id: 211, params: [1, 0, 0, 0, 0, 0, 0] }, irreversible: true, within: 5s }
`

/** The example with a ward and attackers that may do all that it may; notices may rest on notices. */
function catalogText(attackers: number): string {
  const text = readFileSync('examples/px4-multirotor/catalog.yaml', 'utf8')
  // All of them: what nobody may say is a mistake.
  const may =
    'notice.operator, report.range, status, request.approval, goto, velocity, hold, drop, ' +
    'handoff.pilot, takeoff, return, land, release'
  const names = ['ward', ...times(attackers, (i) => `hostile_${i}`)]
  const agents = names.map((name) => `  ${name}: { may: [${may}], rate: ${RATE_HZ}Hz }\n`).join('')
  const [before, rest] = text.split(/^agents:\n/m)
  const after = rest!.slice(rest!.search(/^\S/m))
  return `${before}agents:\n${agents}\n${after}`
    .replace(
      '    may_require: { takeoff: completed,',
      '    may_require: { notice.operator: released, takeoff: completed,',
    )
    .replace(/^components:\n/m, (line) => `${line}${DROP}`)
}

/** A response of random shape: kinds, faults, and edges forwards and backwards, as many as may be. */
export function shaped(seed: number, room: Room): Component[] {
  const throws = dice(seed)
  const roll = (): number => throws(1 << 20) / (1 << 20)
  const below = (most: number): number => Math.floor(roll() * most)
  const count = 2 + below(room.components - 3)
  const faults = roll() ** 2
  const width = 1 + below(63)
  const moves = roll()
  const span = 1 + below(count)
  const most = room.edges - room.components
  let edges = 0
  return [
    range,
    ...times(count, (i) => {
      const wanted = edges < most ? below(width) : 0
      const names = new Set(
        times(wanted, () => i - span + below(2 * span + 1)).filter((k) => k >= 0 && k < count && k !== i),
      )
      const requires = [...names].slice(0, most - edges).map((k) => `c${k}`)
      edges += requires.length
      const made = roll() < moves ? goto(`c${i}`, ['range', ...requires.slice(0, 63)]) : notice(`c${i}`, requires)
      return roll() < faults ? { ...made, payload: {} } : made
    }),
  ]
}

const SEARCHED = 150

/** The worst of many shapes, each said once to an engine of its own. */
function search(): Sequence {
  let worst = { seed: 0, cpu_ms: 0 }
  for (let seed = 1; seed <= SEARCHED; seed++) {
    const flight = new Flight(1)
    flight.telemetry()
    flight.tick()
    flight.forget()
    flight.say('hostile_0', shaped(seed, roomOf(2)))
    const { cpu_ms } = flight.longest
    if (cpu_ms > worst.cpu_ms) worst = { seed, cpu_ms }
  }
  return {
    name: `the worst of ${SEARCHED} shapes (seed ${worst.seed})`,
    components: (room) => shaped(worst.seed, room),
  }
}

interface Told {
  readonly name: string
  readonly attackers: number
  readonly p50_ms: number
  /** Of a response. */
  readonly response_ms: number
  readonly longest: Flight['longest']
  readonly snapshotBytes: number
  readonly largest: Flight['largest']
  readonly bytesPerSecond: number
  readonly setpoints: number
  readonly missed: number
  readonly late_ms: number
  readonly ended: boolean
  readonly pause_ms: number
  readonly answers: string
}

/** So many attackers say it in turn for so long; then the operator pauses. */
async function attack(sequence: Sequence, attackers: number, time_ms: number): Promise<Told> {
  const flight = new Flight(attackers)
  const room = roomOf(attackers + 1)
  const names = times(attackers, (i) => `hostile_${i}`)
  const said = new Map(names.map((name) => [name, 0]))
  for (let i = 0; i < 20; i++) {
    flight.telemetry()
    flight.tick()
    await pause(TICK_MS)
  }
  flight.say(
    'ward',
    [range, goto('fly', ['range'], 500)].map((c) => (c.id === 'fly' ? { ...c, requires: ['range'] } : c)),
  )
  for (let i = 0; i < 50; i++) {
    if (i % 5 === 0) flight.telemetry()
    flight.tick()
    await pause(TICK_MS)
  }
  flight.forget()
  flight.bytes = 0
  const first = flight.setpoints.length
  const begun_ms = performance.now()
  const period_ms = 1000 / (sequence.hz ?? RATE_HZ) / attackers
  let next = { tick_ms: begun_ms, telemetry_ms: begun_ms, say_ms: begun_ms }
  let turn = 0
  while (performance.now() - begun_ms < time_ms) {
    const now_ms = performance.now()
    if (now_ms >= next.say_ms) {
      next = { ...next, say_ms: next.say_ms + period_ms }
      const agent = names[turn++ % attackers]!
      const n = said.get(agent)!
      said.set(agent, n + 1)
      if (sequence.repeats && n > 0) flight.repeat(agent)
      else if (sequence.bytes !== undefined) flight.sayBytes(agent, sequence.bytes(n))
      else flight.say(agent, sequence.components(room, n), sequence.recovers && n > 0 ? { recovers: 'r1' } : {})
    }
    if (now_ms >= next.telemetry_ms) {
      next = { ...next, telemetry_ms: next.telemetry_ms + TELEMETRY_MS }
      flight.telemetry()
    }
    if (now_ms >= next.tick_ms) {
      next = { ...next, tick_ms: next.tick_ms + TICK_MS }
      flight.tick()
    }
    const until_ms = Math.min(next.tick_ms, next.telemetry_ms, next.say_ms) - performance.now()
    await pause(Math.max(0, Math.floor(until_ms)))
  }
  const elapsed_s = (performance.now() - begun_ms) / 1000
  const gaps = flight.setpoints.slice(first).map((at_ms, i) => at_ms - flight.setpoints[first + i - 1]!)
  const { bytes, wardEnded: ended } = flight
  // It comes while the attack goes on, behind whatever the loop is just doing.
  flight.held_ms = undefined
  const paused_ms = performance.now()
  if (sequence.bytes === undefined)
    flight.say(names[0]!, sequence.components(room, 999), sequence.recovers ? { recovers: 'r1' } : {})
  else flight.sayBytes(names[0]!, sequence.bytes(999))
  flight.pause()
  const pause_ms = (flight.held_ms ?? Number.POSITIVE_INFINITY) - paused_ms
  return {
    name: sequence.name,
    attackers,
    p50_ms: flight.steps.spread.p50_ms,
    response_ms: flight.responses.spread.p50_ms,
    longest: flight.longest,
    snapshotBytes: flight.snapshotBytes,
    largest: flight.largest,
    bytesPerSecond: bytes / elapsed_s,
    setpoints: gaps.length,
    missed: gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / PERIOD_MS) - 1), 0),
    late_ms: Math.max(0, ...gaps.map((gap) => gap - PERIOD_MS)),
    ended,
    pause_ms,
    answers: [...flight.refused].map(([word, count]) => `${count} ${word}`).join(', '),
  }
}

/** What runs for the first time runs slowly: each is said a few times before any of it is measured. */
function rehearse(all: readonly Sequence[]): void {
  for (const sequence of all) {
    const flight = new Flight(1)
    for (let n = 0; n < 20; n++) {
      flight.telemetry()
      flight.tick()
      if (sequence.bytes !== undefined) flight.sayBytes('hostile_0', sequence.bytes(n))
      else
        flight.say('hostile_0', sequence.components(roomOf(2), n), sequence.recovers && n > 0 ? { recovers: 'r1' } : {})
    }
  }
}

/** Runs all of them, and prints a line each. */
export async function hostile(time_ms: number, print: (line: string) => void): Promise<void> {
  const { step_ms, message_bytes, missed, pause_ms } = TARGETS
  print(
    `each of 1 and of 4 agents at ${RATE_HZ} Hz (junk at ${JUNK_HZ} Hz) for ${time_ms / 1000} s, load ${loadavg()[0]!.toFixed(1)}`,
  )
  print(
    `targets: a step ${step_ms} ms, a message ${message_bytes} bytes, ${missed} setpoints missed, the pause within ${pause_ms} ms\n`,
  )
  const all = [...sequences, ...outside]
  rehearse(all)
  for (const sequence of [...all, search()]) {
    for (const attackers of [1, 4]) {
      const told = await attack(sequence, attackers, time_ms)
      const { longest, largest } = told
      print(`${told.name}, ${attackers === 1 ? '1 agent' : `${attackers} agents`} (${told.answers})`)
      print(
        `  step p50 ${(told.p50_ms * 1000).toFixed(0)} us, of a response ${told.response_ms.toFixed(1)} ms, longest ${longest.wall_ms.toFixed(1)} ms (${longest.cpu_ms.toFixed(1)} ms of processor, ${longest.what})` +
          ` · snapshot ${told.snapshotBytes}, largest ${largest.bytes} (${largest.topic}), ${Math.round(told.bytesPerSecond / 1000)} kB/s`,
      )
      print(
        `  ward: ${told.setpoints} setpoints, ${told.missed} missed, latest ${told.late_ms.toFixed(1)} ms${told.ended ? ', ENDED' : ''}` +
          ` · pause ${told.ended ? 'of nothing that flew' : `${told.pause_ms.toFixed(1)} ms`}`,
      )
    }
  }
  print(`\nload ${loadavg()[0]!.toFixed(1)} at the end`)
}
