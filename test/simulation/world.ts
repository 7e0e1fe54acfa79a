// One virtual clock for everything: the companion (engine, core, framer, link, adapter), the simulated vehicle, the network
// between them, the broker, two agents, the ground, the operator and the pilot. A seed is a schedule; there is no socket, no
// timer and no other source of chance, so a seed that fails once fails always.

import { SimulatedVehicle } from '../../companion/sim/vehicle.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { JournalEntry, Publication } from '../../src/protocol/port.ts'
import { encode } from '../../src/response/write.ts'
import { Agent, HOME } from './agent.ts'
import { Chance, Schedule } from './chance.ts'
import { Companion, type Sabotage, TRAPS } from './companion.ts'
import { type Finding, Observer } from './observer.ts'

/** What a schedule came to. */
export interface Outcome {
  readonly findings: readonly Finding[]
  /** The last of what happened, in words. */
  readonly events: readonly string[]
  readonly reached: ReadonlyMap<string, number>
}

interface Control {
  readonly session: string
  readonly n: number
  readonly paused: boolean
  readonly pilot_control: boolean
  readonly revoked: readonly string[]
  readonly pending: readonly { readonly consent: string }[]
}

const VEHICLE_MS = 5
const TICK_MS = 10
const EVENTS_KEPT = 40

/** Flies one schedule and returns what was wrong with it; it stops at the first turn with a finding. */
export function fly(
  catalog: Catalog,
  seed: number,
  duration_ms: number,
  { sabotage = {} }: { readonly sabotage?: Sabotage } = {},
): Outcome {
  return new World(catalog, seed, sabotage).run(duration_ms)
}

class World {
  readonly #catalog: Catalog
  readonly #sabotage: Sabotage
  readonly #chance: Chance
  readonly #schedule = new Schedule()
  readonly #observer: Observer
  readonly #events: string[] = []
  readonly #agents: Agent[]
  #now_ms = 0

  #vehicle: SimulatedVehicle
  #vehicles = 0
  /** How rough this schedule is: 0 calm, 1 everything at once. */
  readonly #roughness: number
  /** Nothing is heard of the vehicle until then. */
  #gap_ms = 0
  /** Nothing gets out to the vehicle until then: the socket refuses. */
  #deaf_ms = 0
  readonly #drain: number

  #companion: Companion | undefined
  #journal: JournalEntry | undefined
  #map = 1
  #control: Control | undefined
  readonly #verbs: { verb: string; bytes: Uint8Array }[] = []
  readonly #packets: { agent: string; bytes: Uint8Array }[] = []
  /** The pilot holds the stick. */
  #flown = false

  constructor(catalog: Catalog, seed: number, sabotage: Sabotage) {
    this.#catalog = catalog
    this.#sabotage = sabotage
    this.#chance = new Chance(seed)
    this.#observer = new Observer(catalog)
    this.#roughness = seed % 4 === 0 ? 0 : this.#chance.real(0.2, 1)
    this.#drain = this.#chance.pick([0.05, 0.05, 0.3, 1])
    this.#vehicle = this.#newVehicle()
    this.#agents = ['planner', 'scout'].map((name) => new Agent(name, this.#chance.fork()))
  }

  run(duration_ms: number): Outcome {
    const chance = this.#chance
    this.#start()
    this.#every(
      () => VEHICLE_MS,
      () => this.#stepVehicle(),
    )
    this.#every(
      () => TICK_MS + chance.real(0, 0.8),
      () => this.#companion?.tickDue(),
    )
    for (const agent of this.#agents) {
      // The scout says little: mostly it is in the way.
      this.#every(
        () => chance.real(300, agent.name === 'scout' ? 20_000 : 3000),
        () => this.#think(agent),
      )
    }
    this.#every(
      () => chance.real(500, 3000),
      () => this.#operate(),
    )
    this.#every(
      () => chance.real(2000, 40_000),
      () => this.#ground(),
    )
    if (this.#roughness > 0)
      this.#every(
        () => chance.real(500, 9000 / this.#roughness),
        () => this.#misfortune(),
      )

    for (let event = this.#schedule.next(); event !== undefined; event = this.#schedule.next()) {
      if (event.at_ms > duration_ms) break
      this.#now_ms = event.at_ms
      event.act()
      if (this.#observer.findings.length > 0) break
    }
    return { findings: this.#observer.findings, events: this.#events, reached: this.#observer.reached }
  }

  note(text: string): void {
    this.#events.push(`${(this.#now_ms / 1000).toFixed(3).padStart(8)} s  ${text}`)
    if (this.#events.length > EVENTS_KEPT) this.#events.shift()
  }

  #every(pause_ms: () => number, act: () => void): void {
    const again = (): void => {
      act()
      this.#schedule.at(this.#now_ms + pause_ms(), again)
    }
    this.#schedule.at(this.#now_ms + pause_ms(), again)
  }

  #later(after_ms: number, act: () => void): void {
    this.#schedule.at(this.#now_ms + after_ms, act)
  }

  // The companion

  #start(): void {
    this.note('companion starts')
    const chance = this.#chance
    const world = this
    this.#companion = new Companion({
      catalog: this.#catalog,
      sabotage: this.#sabotage,
      journal: {
        read: () => this.#journal,
        write: (entry) => {
          this.#journal = entry
        },
      },
      random: () => chance.bytes(8),
      now: () => this.#now_ms,
      transmit: (bytes) => this.#transmit(bytes),
      note: (text) => this.note(text),
      isDeaf: () => this.#now_ms < this.#deaf_ms,
      observer: this.#observer,
      published(publications) {
        for (const publication of publications) world.#hear(publication)
      },
      subscribed: () => this.#sendMap(true),
    })
    this.#companion.begin()
  }

  #crash(): void {
    this.note('companion dies')
    this.#companion = undefined
    this.#observer.died()
    this.#later(this.#chance.real(50, 4000), () => this.#start())
  }

  #transmit(bytes: Uint8Array): boolean {
    if (this.#now_ms < this.#deaf_ms) return false
    const copy = bytes.slice()
    if (this.#chance.happens(0.02 * this.#roughness)) return true
    this.#later(this.#chance.real(0.3, 3), () => this.#vehicle.receive(copy, this.#now_ms))
    return true
  }

  // The vehicle and the air

  #newVehicle(): SimulatedVehicle {
    return new SimulatedVehicle({
      system: 1 + this.#vehicles++,
      home: HOME,
      seed: this.#chance.int(1, 1e9),
      readyAfter_ms: 2500,
      battery: { percent: this.#chance.pick([100, 100, 100, 60, 42]), drain: this.#drain },
      faults: { ackLoss: 0.05 * this.#roughness, ackDelay_ms: this.#chance.pick([0, 0, 50, 400]) * this.#roughness },
      groundStation: true,
    })
  }

  #stepVehicle(): void {
    const chance = this.#chance
    for (const datagram of this.#vehicle.step(this.#now_ms)) {
      if (this.#now_ms < this.#gap_ms || chance.happens(0.01 * this.#roughness)) continue
      // Now and then one overtakes another, and now and then one is broken.
      const delay_ms = chance.happens(0.01 * this.#roughness) ? chance.real(5, 60) : 1.5
      const broken = chance.happens(0.003 * this.#roughness)
      const bytes = broken ? corrupted(datagram, chance) : datagram
      this.#later(delay_ms, () => this.#companion?.telemetry(bytes, !broken))
    }
  }

  #misfortune(): void {
    const chance = this.#chance
    const vehicle = this.#vehicle
    const now_ms = this.#now_ms
    const fault = chance.int(0, 18)
    switch (fault) {
      case 0:
      case 1: {
        const mode = chance.pick(['POSITION', 'ALTITUDE', 'HOLD', 'RETURN', 'LAND', 'MISSION'] as const)
        this.note(`pilot: ${mode}`)
        vehicle.fault({ kind: 'pilot', mode }, now_ms)
        this.#flown = true
        this.#later(chance.real(1000, 6000), () => this.#giveBack())
        return
      }
      case 2:
        this.note('gps lost')
        vehicle.fault({ kind: 'gps', on: false }, now_ms)
        this.#later(chance.real(200, 12_000), () => this.#vehicle.fault({ kind: 'gps', on: true }, this.#now_ms))
        return
      case 3:
        if (!chance.happens(0.4)) return
        this.note('autopilot reboots')
        return vehicle.fault({ kind: 'reboot' }, now_ms)
      case 4: {
        const duration_ms = chance.pick([200, 400, 900, 2500, 4500])
        this.note(`vehicle silent for ${duration_ms} ms`)
        this.#gap_ms = now_ms + duration_ms
        return
      }
      case 5:
        this.note('acknowledgements lost')
        return vehicle.fault({ kind: 'ack_lost', count: chance.int(1, 4) }, now_ms)
      case 6: {
        const delay_ms = chance.pick([0, 300, 600, 1500])
        this.note(`acknowledgements ${delay_ms} ms late`)
        vehicle.fault({ kind: 'ack_late', delay_ms }, now_ms)
        this.#later(chance.real(500, 5000), () => this.#vehicle.fault({ kind: 'ack_late', delay_ms: 0 }, this.#now_ms))
        return
      }
      case 7: {
        const command = chance.pick([176, 400, 22])
        this.note(`autopilot refuses ${command}`)
        vehicle.fault({ kind: 'refuse', command, result: chance.int(1, 4) }, now_ms)
        const lift = { kind: 'refuse', command, result: 0 } as const
        this.#later(chance.real(200, 4000), () => this.#vehicle.fault(lift, this.#now_ms))
        return
      }
      case 8:
        this.note('vehicle is critical')
        vehicle.fault({ kind: 'critical', on: true }, now_ms)
        this.#later(chance.real(500, 6000), () => this.#vehicle.fault({ kind: 'critical', on: false }, this.#now_ms))
        return
      case 9: {
        const percent = chance.pick([8, 20, 28, 35, 80])
        this.note(`battery ${percent} %`)
        return vehicle.fault({ kind: 'battery', percent }, now_ms)
      }
      case 10:
        if (chance.happens(0.5)) return this.#crash()
        return this.#stop()
      case 11:
      case 12:
        return this.#companion?.stall(chance.pick([25, 60, 120, 350, 800]))
      case 13:
        this.note('nothing gets out')
        this.#deaf_ms = now_ms + chance.pick([50, 300, 1500])
        return
      case 14:
      case 15:
        return this.#companion?.trapIn(chance.pick(TRAPS))
      case 16:
        return this.#companion?.turnBack(chance.pick([Number.NaN, Number.POSITIVE_INFINITY, -1, -300, -20_000]))
      case 17:
        if (this.#packets.length === 0) return
        this.note('old packets come again')
        for (let i = 0; i < 3; i++) this.#deliver(chance.pick(this.#packets), chance.real(0, 200), chance.happens(0.3))
        return
      case 18:
        if (!chance.happens(0.2)) return
        this.note('another autopilot takes its place')
        this.#vehicle = this.#newVehicle()
        this.#gap_ms = now_ms + 3500
        return
    }
  }

  /** The pilot lets go: the vehicle hovers. */
  #giveBack(): void {
    this.note('pilot lets go: HOLD')
    this.#flown = false
    this.#vehicle.fault({ kind: 'pilot', mode: 'HOLD' }, this.#now_ms)
  }

  #stop(): void {
    const companion = this.#companion
    if (companion === undefined) return
    this.note('companion is asked to stop')
    companion.stop()
    this.#later(2500, () => {
      if (this.#companion === companion) this.#crash()
    })
  }

  // The broker

  #hear({ topic, value, retain }: Publication): void {
    const [kind] = topic.split('/')
    if (kind === 'control') this.#control = value as Control
    if (kind === 'verdict' || kind === 'outcome' || kind === 'status' || kind === 'control') {
      this.note(
        `${topic} ${JSON.stringify(value, (key, v) => (key === 'v' || key === 'at' || key === 'environment' ? undefined : v))}`,
      )
    }
    const bytes = encode(value)
    if (topic !== 'snapshot' || !retain) return
    for (const agent of this.#agents) this.#later(this.#chance.real(3, 400), () => agent.hear(bytes))
  }

  #think(agent: Agent): void {
    const chance = this.#chance
    const bytes = agent.think()
    if (bytes === undefined) return
    const packet = { agent: agent.name, bytes }
    this.#packets.push(packet)
    // A model thinks for a while, and the network takes its time: usually little, sometimes much.
    const late_ms = chance.happens(0.1) ? chance.real(1000, 15_000) : chance.real(5, 900)
    this.#deliver(packet, late_ms, false)
    if (chance.happens(0.15)) this.#deliver(packet, late_ms + chance.real(0, 5000), false)
    if (chance.happens(0.03)) this.#deliver({ agent: agent.name, bytes: corrupted(bytes, chance) }, late_ms, false)
    if (chance.happens(0.03))
      this.#deliver({ agent: chance.pick(['planner', 'scout', 'nobody']), bytes }, late_ms, false)
    if (chance.happens(0.03)) this.#deliver(packet, late_ms, true)
  }

  #deliver({ agent, bytes }: { agent: string; bytes: Uint8Array }, after_ms: number, retained: boolean): void {
    this.#later(after_ms, () => this.#companion?.response(agent, bytes, retained))
  }

  // The ground, the operator

  #ground(): void {
    if (this.#chance.happens(0.4)) this.#map = this.#chance.int(1, 3)
    this.#sendMap(false)
  }

  #sendMap(retained: boolean): void {
    const map = this.#map
    this.#later(this.#chance.real(1, 100), () => this.#companion?.context(map, retained))
  }

  #operate(): void {
    const chance = this.#chance
    const control = this.#control
    if (control === undefined) return
    if (control.paused || control.pilot_control) {
      if (!this.#flown && chance.happens(0.5)) this.#verb('resume')
    } else if (chance.happens(0.02 * this.#roughness)) this.#verb('pause')
    if (control.revoked.length > 0 && chance.happens(0.4)) this.#verb('restore', { agent: control.revoked[0] })
    if (chance.happens(0.01 * this.#roughness))
      this.#verb('revoke', { agent: chance.pick(['planner', 'scout', 'nobody']) })
    const asked = control.pending[0]
    if (asked !== undefined && chance.happens(0.6))
      this.#verb(chance.pick(['approve', 'approve', 'refuse']), { consent: asked.consent })
    if (chance.happens(0.05)) this.#verb('clear', { type: chance.pick(['goto', 'takeoff', 'velocity', 'nothing']) })
    if (chance.happens(0.01 * this.#roughness)) this.#verb('restart')
    const old = this.#verbs.at(-chance.int(1, 10))
    if (old !== undefined && chance.happens(0.05 * this.#roughness)) this.#say(old.verb, old.bytes, chance.happens(0.3))
  }

  #verb(verb: string, rest: Readonly<Record<string, unknown>> = {}): void {
    const { session, n } = this.#control!
    const bytes = encode({ v: 1, session, after: n, ...rest })
    this.#verbs.push({ verb, bytes })
    this.#say(verb, bytes, false)
  }

  #say(verb: string, bytes: Uint8Array, retained: boolean): void {
    this.#later(this.#chance.real(1, 300), () => {
      this.note(`operator/${verb}${retained ? ', retained' : ''}`)
      this.#companion?.operate(verb, bytes, retained)
    })
  }
}

function corrupted(bytes: Uint8Array, chance: Chance): Uint8Array {
  const copy = bytes.slice()
  for (let i = chance.int(1, 3); i > 0; i--) copy[chance.int(0, copy.length - 1)]! ^= 1 << chance.int(0, 7)
  return chance.happens(0.3) ? copy.subarray(0, chance.int(0, copy.length)) : copy
}
