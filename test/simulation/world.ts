// One virtual clock for everything: the companion (engine, core, framer, link, adapter), the simulated vehicle, the network
// between them, the broker, two agents, the ground, the operator and the pilot. A seed is a schedule; there is no socket, no
// timer and no other source of chance, so a seed that fails once fails always.

import { createHash } from 'node:crypto'
import { decode } from 'cborg'
import { SimulatedVehicle } from '../../simulator/vehicle.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { JournalEntry, Publication } from '../../src/engine/port.ts'
import { encode } from '../../src/wire/write.ts'
import { Agent, ANTIMERIDIAN, HOME, type Snapshot } from './agent.ts'
import { Chance, type Range, Schedule } from './chance.ts'
import { Companion, PLACES, type Sabotage, STEPS, type Telegram, TRAPS } from './companion.ts'
import { Detour } from './detour.ts'
import { Drift } from './drift.ts'
import { Hostile } from './hostile.ts'
import { type Incident, Incidents, type SOURCES } from './incident.ts'
import { type Finding, Observer } from './observer.ts'
import type { Scenario } from './scenario.ts'
import { Speaker } from './stranger.ts'

/** What a schedule came to. */
export interface Outcome {
  readonly findings: readonly Finding[]
  /** What befell it, by name. */
  readonly incidents: readonly Incident[]
  /** How long it went, ms. */
  readonly flown_ms: number
  /** The last of what happened, in words; only where they were asked for. */
  readonly events: readonly string[]
  readonly reached: ReadonlyMap<string, number>
  /** SHA-256, hex, over every frame that left and when: two flights of one seed have the same. */
  readonly wire: string
}

export interface FlyOptions {
  readonly sabotage?: Sabotage
  /** Only these incidents happen. */
  readonly only?: ReadonlySet<string>
  /** Keep words for the report. */
  readonly told?: boolean
  /** The first companion dies at the n-th of its steps, counted before and after each. */
  readonly dieAt?: number
  /** What the wall clock shows, by the world's time, ms. */
  readonly wall?: (now_ms: number) => number
}

interface Control {
  readonly session: string
  readonly n: number
  readonly paused: boolean
  readonly pilot_control: boolean
  readonly revoked: readonly string[]
  readonly pending: readonly { readonly consent: string }[]
  readonly uncertain: readonly string[]
}

interface Packet {
  readonly agent: string
  readonly bytes: Uint8Array
}

const EVENTS_KEPT = 40
const HEARTBEAT = 0
const GROUND_STATION = 255
const ATTITUDE = 30
const COMMAND_ACK = 77
const DO_GRIPPER = 211
/** The companion hears in a later turn that an entry is on the disk, and what happens meanwhile does not wait. */
const DISK_MS = 3
const EPOCH_MS = 1_700_000_000_000
const DIRECT: readonly number[] = [0]

/** Flies one schedule and returns what was wrong with it; it stops at the first turn with a finding. */
export function fly(catalog: Catalog, scenario: Scenario, options: FlyOptions = {}): Outcome {
  return new World(catalog, scenario, options).run()
}

class World {
  readonly #catalog: Catalog
  readonly #scenario: Scenario
  readonly #options: FlyOptions
  readonly #schedule = new Schedule()
  readonly #observer: Observer
  readonly #incidents: Incidents
  readonly #events: string[] = []
  readonly #wire = createHash('sha256')
  readonly #agents: (Agent | Hostile)[]
  #now_ms = 0

  // Each part has a source of chance of its own: what one draws shifts nothing for the others.
  readonly #vehicleChance: Chance
  readonly #air: Chance
  readonly #turns: Chance
  readonly #ids: Chance
  readonly #broker: Chance
  readonly #causes: Readonly<Record<keyof typeof SOURCES, Chance>>

  #vehicle: SimulatedVehicle
  #vehicles = 0
  /** Boots of all vehicles so far, and whether the one that flies is up. */
  #boots = 1
  #isUp = true
  readonly #detour = new Detour()
  #strangers: Speaker[] = []
  /** How bad the link is: 0 perfect. */
  #noise = 0
  /** Nothing is heard of the vehicle until then. */
  #gap_ms = 0
  /** Nothing gets out to the vehicle until then: the socket refuses. */
  #deaf_ms = 0
  /** The disk takes nothing until then. */
  #full_ms = 0
  /** It takes so long over a word until then, and over one after the other. */
  #slow = { until_ms: 0, takes_ms: 0 }
  #written_ms = 0
  readonly #drain: number
  /** So many datagrams the kernel keeps. */
  readonly #room: number
  #drifts: Drift[] = []
  /** Every acknowledgement arrives twice until then. */
  #twice_ms = 0
  /** No acknowledgement of the gripper is heard until then. */
  #speechless_ms = 0

  #companion: Companion | undefined
  #journal: JournalEntry | undefined
  #map = 1
  #control: Control | undefined
  readonly #verbs: { verb: string; bytes: Uint8Array }[] = []
  readonly #packets: Packet[] = []
  /** The pilot holds the stick. */
  #flown = false
  /** The broker is gone until then; what is sent meanwhile waits at either side. */
  #offline_ms = 0
  /** By how much the wall clock is off. */
  #wall_ms = 0

  constructor(catalog: Catalog, scenario: Scenario, options: FlyOptions) {
    this.#catalog = catalog
    this.#scenario = scenario
    this.#options = options
    const chance = new Chance(scenario.seed)
    this.#vehicleChance = chance.fork()
    this.#air = chance.fork()
    this.#turns = chance.fork()
    this.#ids = chance.fork()
    this.#broker = chance.fork()
    this.#causes = {
      air: chance.fork(),
      misfortune: chance.fork(),
      planner: chance.fork(),
      scout: chance.fork(),
      operator: chance.fork(),
      ground: chance.fork(),
      courier: chance.fork(),
      disk: chance.fork(),
      detour: chance.fork(),
      stranger: chance.fork(),
      impossible: chance.fork(),
      stall: chance.fork(),
      hostile: chance.fork(),
    }
    this.#room = this.#causes.stall.pick([64, 250, 1000])
    this.#observer = new Observer(catalog, scenario.hazards)
    this.#incidents = new Incidents(options.only)
    this.#drain = this.#vehicleChance.pick([0.05, 0.05, 0.3, 1])
    this.#vehicle = this.#newVehicle()
    this.#agents = (['planner', 'scout', 'courier'] as const).map(
      (name) => new Agent(name, scenario.reach_m, this.#home),
    )
    if (scenario.hazards.has('hostile')) this.#agents.push(new Hostile())
  }

  run(): Outcome {
    const { pace, roughness, duration_ms, start } = this.#scenario
    const { dieAt } = this.#options
    if (start !== 'cold') this.#meet()
    const begun_ms = this.#now_ms
    this.#start()
    if (dieAt !== undefined) this.#companion!.dieAt(STEPS, dieAt)
    this.#every(
      () => pace.vehicle_ms,
      () => this.#stepVehicle(),
    )
    this.#every(
      () => pace.tick_ms + this.#turns.real(0, 0.8),
      () => this.#companion?.tickDue(),
    )
    for (const agent of this.#agents) {
      this.#recur(agent.name, pace[`${agent.name}_ms`], (own) => this.#think(agent, own))
    }
    this.#recur('operator', pace.operator_ms, (own) => this.#operate(own))
    this.#recur('ground', pace.ground_ms, (own) => this.#ground(own))
    if (roughness > 0) {
      this.#occasion('air', () => this.#roughen(roughness))
      const [least_ms, most_ms] = pace.misfortune_ms
      this.#recur('misfortune', [least_ms, most_ms / roughness], (own) => this.#misfortune(own))
      this.#recur('disk', pace.disk_ms, (own) => this.#irreversible(own))
    }
    const { hazards } = this.#scenario
    if (hazards.has('late')) this.#recur('detour', pace.hazard_ms, (own) => this.#takeDetour(own))
    if (hazards.has('strangers')) this.#recur('stranger', pace.hazard_ms, (own) => this.#strangerComes(own))
    if (hazards.has('impossible')) this.#recur('impossible', pace.hazard_ms, (own) => this.#mislead(own, true))
    if (hazards.has('stalls')) this.#recur('stall', pace.hazard_ms, (own) => this.#stopProcess(own))

    for (let event = this.#schedule.next(); event !== undefined; event = this.#schedule.next()) {
      if (event.at_ms - begun_ms > duration_ms) break
      this.#now_ms = event.at_ms
      event.act()
      if (this.#observer.findings.length > 0) break
    }
    const { findings, reached } = this.#observer
    for (const { name, words } of this.#incidents.happened) {
      if (/^[mdlnik]/.test(name)) this.#observer.count(kindOf(words))
    }
    return {
      findings,
      incidents: this.#incidents.happened,
      flown_ms: Math.ceil(this.#now_ms - begun_ms),
      events: this.#events,
      reached,
      wire: this.#wire.digest('hex'),
    }
  }

  note(text: () => string): void {
    if (this.#options.told !== true) return
    this.#events.push(`${(this.#now_ms / 1000).toFixed(3).padStart(8)} s  ${text()}`)
    if (this.#events.length > EVENTS_KEPT) this.#events.shift()
  }

  #every(pause_ms: () => number, act: () => void): void {
    const again = (): void => {
      act()
      this.#schedule.at(this.#now_ms + pause_ms(), again)
    }
    this.#schedule.at(this.#now_ms + pause_ms(), again)
  }

  /** Occasions of one source, at times that hang on the seed alone. */
  #recur(source: keyof typeof SOURCES, pause_ms: Range, act: (own: Chance) => string | undefined): void {
    const chance = this.#causes[source]
    this.#every(
      () => chance.within(pause_ms),
      () => this.#occasion(source, act),
    )
  }

  #occasion(source: keyof typeof SOURCES, act: (own: Chance) => string | undefined): void {
    this.#incidents.occasion(source, this.#causes[source], this.#now_ms, (own) => {
      const words = act(own)
      if (words !== undefined) this.note(() => words)
      return words
    })
  }

  #later(after_ms: number, act: () => void): void {
    this.#schedule.at(this.#now_ms + after_ms, act)
  }

  get #hostiles(): readonly string[] {
    return this.#scenario.hazards.has('hostile') ? ['hostile'] : []
  }

  get #isFar(): boolean {
    return this.#scenario.hazards.has('antimeridian')
  }

  get #home(): typeof HOME {
    return this.#isFar ? ANTIMERIDIAN : HOME
  }

  get #isFull(): boolean {
    return this.#now_ms < this.#full_ms
  }

  // The companion

  #start(): void {
    this.note(() => 'companion starts')
    const world = this
    this.#companion = new Companion({
      catalog: this.#catalog,
      sabotage: this.#options.sabotage ?? {},
      journal: {
        read: () => this.#journal,
        write: (entry, done) => {
          const problem = this.#isFull ? 'no space left on device' : undefined
          if (problem === undefined) this.#journal = entry
          const writer = this.#companion
          const takes_ms = this.#now_ms < this.#slow.until_ms ? this.#slow.takes_ms : DISK_MS
          this.#written_ms = Math.max(this.#written_ms, this.#now_ms) + takes_ms
          this.#later(this.#written_ms - this.#now_ms, () => {
            if (this.#companion === writer) done(problem)
          })
        },
      },
      random: () => this.#ids.bytes(8),
      now: () => this.#now_ms,
      wall: () => this.#options.wall?.(this.#now_ms) ?? EPOCH_MS + Math.floor(this.#now_ms) + this.#wall_ms,
      transmit: (bytes) => this.#transmit(bytes),
      note: (text) => this.note(text),
      room: this.#room,
      isDeaf: () => this.#now_ms < this.#deaf_ms,
      isFull: () => this.#isFull,
      observer: this.#observer,
      published(publications) {
        for (const publication of publications) world.#hear(publication)
      },
      subscribed: () => this.#sendMap(true),
      died: (at) => {
        this.note(() => `companion dies ${at}`)
        this.#gone(this.#ids.within(this.#scenario.pace.restart_ms))
        this.#observer.count(`died ${at}`)
      },
    })
    this.#companion.begin()
  }

  #crash(restart_ms: number): void {
    if (this.#companion === undefined) return
    this.#observer.died()
    this.#gone(restart_ms)
  }

  #gone(restart_ms: number): void {
    this.#companion = undefined
    this.#later(restart_ms, () => this.#start())
  }

  #transmit(bytes: Uint8Array): boolean {
    if (this.#now_ms < this.#deaf_ms) return false
    const copy = bytes.slice()
    this.#wire.update(`${this.#now_ms}`).update(copy)
    if (this.#air.happens(0.02 * this.#noise)) return true
    const again = this.#air.happens(0.005 * this.#noise)
    const arrives = (): void => this.#vehicle.receive(copy, this.#now_ms)
    this.#later(this.#air.real(0.3, 3), arrives)
    if (again) this.#later(this.#air.real(1, 30), arrives)
    return true
  }

  // The vehicle and the air

  /** The companion begins when a vehicle that has been on for a while says its first heartbeat. */
  #meet(): void {
    let said: Uint8Array[]
    do {
      this.#now_ms += this.#scenario.pace.vehicle_ms
      said = this.#vehicle.step(this.#now_ms)
    } while (!said.some((datagram) => datagram[7] === HEARTBEAT && datagram[5] !== GROUND_STATION))
    for (const datagram of said) this.#later(1.5, () => this.#arrives(this.#telegram(datagram)))
  }

  #newVehicle(): SimulatedVehicle {
    const { start, pace } = this.#scenario
    const chance = this.#vehicleChance
    const isFirst = this.#vehicles++ === 0
    return new SimulatedVehicle({
      system: 1,
      home: this.#home,
      // The PX4 that was measured reports none in Offboard; here it must be known for ours.
      ...(this.#isFar && { offboardTarget: true }),
      seed: chance.int(1, 1e9),
      readyAfter_ms: start === 'cold' ? 2500 : 0,
      ...(start === 'aloft' && isFirst && { aloft_m: chance.real(4.5, 10) }),
      // Whoever flies or stands ready has been up for a while: the times of another boot are not those of this one.
      ...(start !== 'cold' && isFirst && { up_ms: 60_000 }),
      ...(pace.stream_ms !== undefined && { stream_ms: pace.stream_ms }),
      ...(pace.reboot_ms !== undefined && { rebootAfter_ms: pace.reboot_ms }),
      battery: { percent: chance.pick([100, 100, 100, 60, 42]), drain: this.#drain },
      groundStation: true,
    })
  }

  #roughen(roughness: number): string {
    this.#noise = roughness
    return 'the link loses, delays, repeats and breaks datagrams'
  }

  #stepVehicle(): void {
    const chance = this.#air
    const noise = this.#noise
    this.#strangersSpeak()
    const said = this.#vehicle.step(this.#now_ms)
    const isUp = this.#vehicle.running
    if (isUp && !this.#isUp) this.#boots++
    this.#isUp = isUp
    for (const datagram of said) {
      const isAck = datagram[7] === COMMAND_ACK
      if (datagram[7] === ATTITUDE && !this.#scenario.pace.attitude) continue
      const lost = noise > 0 && chance.happens((isAck ? 0.05 : 0.01) * noise)
      if (lost || this.#now_ms < this.#gap_ms) continue
      if (isAck && this.#now_ms < this.#speechless_ms && commandOf(datagram) === DO_GRIPPER) continue
      let bytes = datagram
      for (const drift of this.#drifts) bytes = drift.over(bytes, this.#now_ms)
      // Now and then one overtakes another, and now and then one is broken.
      const broken = noise > 0 && chance.happens(0.003 * noise)
      const delay_ms = noise > 0 && chance.happens(0.01 * noise) ? chance.real(5, 60) : 1.5
      if (broken) bytes = corrupted(bytes, chance)
      const telegram = this.#telegram(bytes, !broken)
      const arrives = (): void => this.#arrives(telegram)
      for (const later_ms of this.#scenario.hazards.has('late') ? this.#detour.delays(bytes, this.#now_ms) : DIRECT) {
        this.#later(delay_ms + later_ms, arrives)
      }
      if (isAck && this.#now_ms < this.#twice_ms) this.#later(delay_ms + chance.real(1, 800), arrives)
      else if (noise > 0 && chance.happens(0.003 * noise)) this.#later(delay_ms + chance.real(1, 100), arrives)
    }
  }

  #telegram(bytes: Uint8Array, sound = true): Telegram {
    return { bytes, sound, own: bytes[5] !== GROUND_STATION, sent_ms: this.#now_ms, boot: this.#boots }
  }

  #arrives(telegram: Telegram): void {
    if (this.#companion === undefined) return
    this.#companion.telemetry(telegram)
  }

  // Hazards

  #takeDetour(chance: Chance): string | undefined {
    return this.#detour.begin(chance, this.#now_ms, (datagram, sent_ms) => {
      const telegram = { ...this.#telegram(datagram), sent_ms }
      this.#later(1.5, () => this.#arrives(telegram))
    })
  }

  #strangerComes(chance: Chance): string {
    const speaker = new Speaker(chance, this.#now_ms, this.#now_ms + chance.real(200, 5000))
    this.#strangers.push(speaker)
    // In the silence of the vehicle, if need be for longer than it takes to believe that it is gone.
    const silent_ms = chance.happens(0.4) ? chance.pick([500, 3500, 4500]) : 0
    this.#gap_ms = Math.max(this.#gap_ms, this.#now_ms + silent_ms)
    return `${speaker.stranger.name} speaks${silent_ms > 0 ? `, vehicle silent for ${silent_ms} ms` : ''}`
  }

  #strangersSpeak(): void {
    if (this.#strangers.length === 0) return
    this.#strangers = this.#strangers.filter(({ until_ms }) => this.#now_ms < until_ms)
    for (const speaker of this.#strangers) {
      for (const bytes of speaker.say(this.#now_ms)) {
        this.#later(1.5, () => {
          // Whoever is alike is taken for the vehicle by a process that knows none yet, and rightly.
          if (speaker.stranger.alike && !this.#companion?.hasMet) return
          this.#companion?.telemetry({ ...this.#telegram(bytes), own: false })
        })
      }
    }
  }

  #mislead(chance: Chance, impossible: boolean): string {
    const drift = new Drift(chance, this.#now_ms, impossible)
    this.#drifts.push(drift)
    if (/^position\.l/.test(drift.words)) this.#observer.misplaced(this.#now_ms)
    this.#later(chance.real(100, 4000), () => {
      this.#drifts = this.#drifts.filter((d) => d !== drift)
    })
    return drift.words
  }

  #stopProcess(chance: Chance): string {
    const for_ms = Math.round(chance.happens(0.5) ? chance.real(50, 800) : chance.real(800, 5000))
    this.#companion?.stall(for_ms)
    // A person takes over while nobody looks.
    if (chance.happens(0.4)) {
      this.#later(chance.real(0, for_ms), () => {
        this.#vehicle.fault({ kind: 'pilot', mode: chance.pick(['POSITION', 'ALTITUDE'] as const) }, this.#now_ms)
        this.#flown = true
        this.#later(chance.real(1000, 6000), () => this.#giveBack())
      })
    }
    return `process stopped for ${for_ms} ms`
  }

  #misfortune(chance: Chance): string | undefined {
    const vehicle = this.#vehicle
    const now_ms = this.#now_ms
    const fault = chance.int(0, 25)
    switch (fault) {
      case 0:
      case 1: {
        const mode = chance.pick(['POSITION', 'ALTITUDE', 'HOLD', 'RETURN', 'LAND', 'MISSION'] as const)
        vehicle.fault({ kind: 'pilot', mode }, now_ms)
        this.#flown = true
        this.#later(chance.real(300, 6000), () => this.#giveBack())
        return `pilot: ${mode}`
      }
      case 2:
        vehicle.fault({ kind: 'gps', on: false }, now_ms)
        this.#later(chance.real(200, 12_000), () => this.#vehicle.fault({ kind: 'gps', on: true }, this.#now_ms))
        return 'gps lost'
      case 3:
        if (!chance.happens(0.4)) return undefined
        vehicle.fault({ kind: 'reboot' }, now_ms)
        return 'autopilot reboots'
      case 4: {
        const duration_ms = chance.pick([200, 400, 900, 2500, 4500])
        this.#gap_ms = now_ms + duration_ms
        return `vehicle silent for ${duration_ms} ms`
      }
      case 5:
        vehicle.fault({ kind: 'ack_lost', count: chance.int(1, 4) }, now_ms)
        return 'acknowledgements lost'
      case 6: {
        const delay_ms = chance.pick([0, 300, 600, 1500])
        vehicle.fault({ kind: 'ack_late', delay_ms }, now_ms)
        this.#later(chance.real(500, 5000), () => this.#vehicle.fault({ kind: 'ack_late', delay_ms: 0 }, this.#now_ms))
        return `acknowledgements late, ${delay_ms} ms`
      }
      case 7: {
        const command = chance.pick([176, 400, 22])
        vehicle.fault({ kind: 'refuse', command, result: chance.int(1, 4) }, now_ms)
        const lift = { kind: 'refuse', command, result: 0 } as const
        this.#later(chance.real(200, 4000), () => this.#vehicle.fault(lift, this.#now_ms))
        return `autopilot refuses ${command}`
      }
      case 8:
        vehicle.fault({ kind: 'critical', on: true }, now_ms)
        this.#later(chance.real(500, 6000), () => this.#vehicle.fault({ kind: 'critical', on: false }, this.#now_ms))
        return 'vehicle is critical'
      case 9: {
        const percent = chance.pick([8, 20, 28, 35, 80])
        vehicle.fault({ kind: 'battery', percent }, now_ms)
        return `battery ${percent} %`
      }
      case 10: {
        const restart_ms = chance.within(this.#scenario.pace.restart_ms)
        if (chance.happens(0.5)) {
          this.#crash(restart_ms)
          return 'companion dies between two turns'
        }
        this.#stop(restart_ms)
        return 'companion is asked to stop'
      }
      case 11:
      case 12: {
        const for_ms = chance.pick([25, 60, 120, 350, 800])
        this.#companion?.stall(for_ms)
        return `loop stalls for ${for_ms} ms`
      }
      case 13: {
        const for_ms = chance.pick([50, 300, 1500])
        this.#deaf_ms = now_ms + for_ms
        return `nothing gets out for ${for_ms} ms`
      }
      case 14:
      case 15: {
        const call = chance.pick(TRAPS)
        this.#companion?.trapIn(call)
        return `core will trap: in ${call}`
      }
      case 16: {
        const by_ms = chance.pick([Number.NaN, Number.POSITIVE_INFINITY, -1, -300, -20_000])
        this.#companion?.turnBack(by_ms)
        return `monotonic clock is off: by ${by_ms} ms`
      }
      case 17: {
        if (this.#packets.length === 0) return undefined
        for (let i = 0; i < 3; i++) {
          this.#deliver(chance.pick(this.#packets), chance.real(0, 200), chance.happens(0.3))
        }
        return 'old packets come again'
      }
      case 18:
        if (!chance.happens(0.2)) return undefined
        // With the ids of the first: of another system it would be nobody's vehicle.
        this.#vehicle = this.#newVehicle()
        this.#boots++
        this.#gap_ms = now_ms + 3500
        return 'another autopilot takes its place'
      case 19:
      case 20:
        return this.#mislead(chance, false)
      case 21: {
        const for_ms = chance.pick([100, 500, 2000])
        this.#offline_ms = now_ms + for_ms
        this.#later(for_ms, () => this.#reconnect(chance))
        return `broker lost for ${for_ms} ms`
      }
      case 22:
        this.#wall_ms += chance.pick([-3_600_000, -1000, 1000, 86_400_000])
        return 'wall clock steps'
      case 23:
        this.#twice_ms = now_ms + 3000
        return 'acknowledgements come twice'
      case 24:
      case 25: {
        const anywhere = chance.happens(0.2)
        const places = anywhere ? PLACES : chance.happens(0.3) ? STEPS : [chance.pick(STEPS)]
        this.#companion?.dieAt(places, chance.int(1, anywhere ? 200 : 4))
        return `companion will die: at ${places.length === 1 ? places[0] : 'any step'}`
      }
    }
    return undefined
  }

  /** What makes trouble around an action that cannot be undone, and its word on the disk. */
  #irreversible(chance: Chance): string {
    const later_ms = chance.real(200, 3000)
    const later = (act: () => void): void => this.#later(later_ms, act)
    switch (chance.int(0, 6)) {
      case 0: {
        const for_ms = chance.pick([100, 500, 2000])
        this.#full_ms = this.#now_ms + for_ms
        return `disk is full for ${for_ms} ms`
      }
      case 1: {
        const takes_ms = chance.pick([100, 500, 1500, 6000])
        this.#slow = { until_ms: this.#now_ms + 2 * later_ms, takes_ms }
        return `disk takes ${takes_ms} ms over a word for ${Math.round(2 * later_ms)} ms`
      }
      case 2:
        this.#vehicle.fault({ kind: 'ack_progress', command: DO_GRIPPER }, this.#now_ms)
        later(() => this.#vehicle.fault({ kind: 'ack_progress', command: 0 }, this.#now_ms))
        return 'the gripper takes its time'
      case 3: {
        const result = chance.int(1, 4)
        this.#vehicle.fault({ kind: 'refuse', command: DO_GRIPPER, result }, this.#now_ms)
        later(() => this.#vehicle.fault({ kind: 'refuse', command: DO_GRIPPER, result: 0 }, this.#now_ms))
        return `the gripper is refused: ${result}`
      }
      case 4:
      case 5:
        this.#speechless_ms = this.#now_ms + later_ms
        return `the gripper is not answered for ${Math.round(later_ms)} ms`
      default: {
        const place = chance.pick(['write', 'send'] as const)
        this.#companion?.dieAt([place], chance.int(1, 4))
        return `companion will die: at its next ${place}`
      }
    }
  }

  /** The pilot lets go: the vehicle hovers. */
  #giveBack(): void {
    this.note(() => 'pilot lets go: HOLD')
    this.#flown = false
    this.#vehicle.fault({ kind: 'pilot', mode: 'HOLD' }, this.#now_ms)
  }

  #stop(restart_ms: number): void {
    const companion = this.#companion
    if (companion === undefined) return
    companion.stop()
    this.#later(Math.min(2500, 2 * restart_ms), () => {
      if (this.#companion === companion) this.#crash(restart_ms)
    })
  }

  // The broker

  /** A message takes this long, or comes once the broker is back. */
  #carry(after_ms: number, act: () => void): void {
    this.#later(after_ms, () => {
      if (this.#now_ms < this.#offline_ms) this.#carry(this.#offline_ms - this.#now_ms + after_ms / 10, act)
      else act()
    })
  }

  /** What is retained is sent again, and what was not acknowledged too. */
  #reconnect(chance: Chance): void {
    this.#sendMap(true)
    for (const packet of this.#packets.slice(-2)) this.#deliver(packet, chance.real(0, 20), false)
    const verb = this.#verbs.at(-1)
    if (verb !== undefined) this.#say(verb.verb, verb.bytes, chance.happens(0.3), chance)
  }

  #hear({ topic, value, retain }: Publication): void {
    const [kind] = topic.split('/')
    if (kind === 'control') this.#carry(0, () => (this.#control = value as Control))
    if (kind === 'verdict' || kind === 'outcome' || kind === 'status' || kind === 'control') {
      this.note(() => `${topic} ${JSON.stringify(value, (key, v) => (UNTOLD.has(key) ? undefined : v))}`)
    }
    if (topic !== 'snapshot' || !retain) return
    const snapshot = decode(encode(value)) as Snapshot
    for (const agent of this.#agents) {
      this.#carry(this.#broker.within(this.#scenario.pace.heard_ms), () => agent.hear(snapshot))
    }
  }

  #think(agent: Agent | Hostile, chance: Chance): string | undefined {
    const { said_ms, late_ms } = this.#scenario.pace
    const bytes = agent.think(chance)
    if (bytes === undefined) return undefined
    const packet = { agent: agent.name, bytes }
    this.#packets.push(packet)
    // A model thinks for a while, and the network takes its time: usually little, sometimes much.
    const after_ms = chance.within(chance.happens(0.1) ? late_ms : said_ms)
    this.#deliver(packet, after_ms, false)
    if (chance.happens(0.15)) this.#deliver(packet, after_ms + chance.within(said_ms) * 5, false)
    if (chance.happens(0.03)) this.#deliver({ agent: agent.name, bytes: corrupted(bytes, chance) }, after_ms, false)
    if (chance.happens(0.03))
      this.#deliver({ agent: chance.pick(['planner', 'scout', 'nobody']), bytes }, after_ms, false)
    if (chance.happens(0.03)) this.#deliver(packet, after_ms, true)
    return `${agent.name} says ${agent.lastWords}`
  }

  #deliver({ agent, bytes }: Packet, after_ms: number, retained: boolean): void {
    this.#carry(after_ms, () => this.#companion?.response(agent, bytes, retained))
  }

  // The ground, the operator

  #ground(chance: Chance): string {
    if (chance.happens(0.4)) this.#map = chance.int(1, 3)
    this.#sendMap(false)
    return `ground: map ${this.#map}`
  }

  #sendMap(retained: boolean): void {
    const map = this.#map
    this.#carry(this.#broker.real(1, 100), () => this.#companion?.context(map, retained))
  }

  #operate(chance: Chance): string | undefined {
    const control = this.#control
    if (control === undefined) return undefined
    const said: string[] = []
    const { roughness } = this.#scenario
    const say = (verb: string, rest: Readonly<Record<string, unknown>> = {}): void => {
      said.push(verb)
      this.#verb(verb, chance, rest)
    }
    if (control.paused || control.pilot_control) {
      if (!this.#flown && chance.happens(0.5)) say('resume')
    } else if (chance.happens((this.#hostiles.length > 0 ? 0.2 : 0.02) * roughness)) say('pause')
    for (const agent of this.#hostiles) if (chance.happens(0.05)) say('revoke', { agent })
    if (control.revoked.length > 0 && chance.happens(0.4)) say('restore', { agent: control.revoked[0] })
    if (chance.happens(0.01 * roughness))
      say('revoke', { agent: chance.pick(['planner', 'scout', 'nobody', ...this.#hostiles]) })
    const asked = control.pending[0]
    if (asked !== undefined && chance.happens(0.6))
      say(chance.pick(['approve', 'approve', 'refuse']), { consent: asked.consent })
    if (chance.happens(0.05)) say('clear', { type: chance.pick(['goto', 'takeoff', 'velocity', 'nothing']) })
    if (chance.happens(0.01 * roughness)) say('restart')
    // Another operator, who has seen the same.
    if (chance.happens(0.1 * roughness)) {
      const verb = chance.pick(['pause', 'resume', 'revoke', 'restore', 'approve', 'refuse', 'restart'])
      const isAnswer = verb === 'approve' || verb === 'refuse'
      const agent = verb === 'revoke' || verb === 'restore' ? 'planner' : undefined
      say(verb, { agent, consent: isAnswer ? (asked?.consent ?? '') : undefined })
    }
    const old = this.#verbs.at(-chance.int(1, 10))
    if (old !== undefined && chance.happens(0.05 * roughness)) {
      said.push(`${old.verb} again`)
      this.#say(old.verb, old.bytes, chance.happens(0.3), chance)
    }
    const [doubtful] = control.uncertain
    if (doubtful !== undefined && chance.happens(0.07)) say('clear', { type: doubtful })
    return said.length === 0 ? undefined : `operator: ${said.join(', ')}`
  }

  #verb(verb: string, chance: Chance, rest: Readonly<Record<string, unknown>>): void {
    const { session, n } = this.#control!
    const bytes = encode({ v: 1, session, after: n, ...rest })
    this.#verbs.push({ verb, bytes })
    this.#say(verb, bytes, false, chance)
  }

  #say(verb: string, bytes: Uint8Array, retained: boolean, chance: Chance): void {
    this.#carry(chance.real(1, 300), () => {
      this.note(() => `operator/${verb}${retained ? ', retained' : ''}`)
      this.#companion?.operate(verb, bytes, retained)
    })
  }
}

/** A misfortune's words without what is different each time. */
const kindOf = (words: string): string =>
  words.endsWith(' on the wire') ? `drift of ${words.split(' ', 1)}` : words.replace(/[:,].*| for \d.*| \d+.*/, '')

/** What a COMMAND_ACK answers. */
const commandOf = (datagram: Uint8Array): number => datagram[10]! | (datagram[11]! << 8)

/** What the wall clock says, and what every message says. */
const UNTOLD = new Set(['v', 'at', 'expires', 'environment'])

function corrupted(bytes: Uint8Array, chance: Chance): Uint8Array {
  const copy = bytes.slice()
  for (let i = chance.int(1, 3); i > 0; i--) copy[chance.int(0, copy.length - 1)]! ^= 1 << chance.int(0, 7)
  return chance.happens(0.3) ? copy.subarray(0, chance.int(0, copy.length)) : copy
}
