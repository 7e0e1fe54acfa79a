// One process of the companion on the world's clock: what the daemon does, without its sockets. Its core can be made to trap, and
// to err on purpose.

import { Adapter } from '../../companion/adapter/adapter.ts'
import { Link } from '../../companion/mavlink/link.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { type Core, type CoreFactory, type CoreFrame, CorePoisoned } from '../../src/core/core.ts'
import { CORE_HASH, loadCore } from '../../src/core/wasm.ts'
import type { Journal, Publication } from '../../src/protocol/port.ts'
import { Runtime } from '../../src/protocol/runtime.ts'
import { encode } from '../../src/response/write.ts'
import type { Input, Observer } from './observer.ts'

/** A mistake built in on purpose, to see that the observer finds it. */
export interface Sabotage {
  readonly core?: (core: Core) => Partial<Core>
  readonly send?: (frame: CoreFrame, send: (frame: CoreFrame) => boolean) => boolean
}

const CALLS = [
  'target',
  'observe',
  'read',
  'snapshot',
  'taken',
  'capacity',
  'admit',
  'gate',
  'frame',
  'done',
  'reach',
  'end',
  'release',
  'payload',
  'binding',
  'record',
  'contingency',
  'contingencyFrame',
] as const
export type Call = (typeof CALLS)[number]
/** Calls in which the core may trap. */
export const TRAPS: readonly Call[] = [
  'observe',
  'read',
  'snapshot',
  'admit',
  'gate',
  'frame',
  'done',
  'reach',
  'end',
  'contingency',
  'contingencyFrame',
]

interface Surroundings {
  readonly catalog: Catalog
  readonly sabotage: Sabotage
  readonly journal: Journal
  readonly random: () => Uint8Array
  /** The world's time, ms. */
  readonly now: () => number
  readonly transmit: (bytes: Uint8Array) => boolean
  readonly note: (text: string) => void
  readonly isDeaf: () => boolean
  readonly observer: Observer
  readonly published: (publications: readonly Publication[]) => void
  /** A new session subscribes to `context/` afresh. */
  readonly subscribed: () => void
}

export class Companion {
  readonly #around: Surroundings
  readonly #runtime: Runtime
  readonly #link: Link
  readonly #adapter: Adapter
  /** Its monotonic clock begins with the process. */
  readonly #born_ms: number
  /** When the last turn of its loop ended, by its clock: what is read now counts as received then. */
  #turned_ms: number
  #stalled_ms = 0
  #inbox: (() => void)[] = []
  #heartbeat_ms = Number.NEGATIVE_INFINITY
  #trap: Call | undefined
  #session = ''
  #frames: Uint8Array[] = []
  #renewed: string | undefined

  constructor(around: Surroundings) {
    this.#around = around
    this.#born_ms = Math.floor(around.now()) - 10
    this.#turned_ms = this.#clock()
    const adapter = new Adapter({
      transmit: (bytes) => {
        if (!around.transmit(bytes)) return false
        this.#frames.push(bytes.slice())
        return true
      },
    })
    this.#adapter = adapter
    const send = around.sabotage.send
    this.#runtime = new Runtime({
      catalog: around.catalog,
      core: this.#hooked(loadCore),
      coreHash: CORE_HASH,
      port: send === undefined ? adapter : { send: (frame) => send(frame, (f) => adapter.send(f)) },
      journal: around.journal,
      random: around.random,
      wall: () => 1_700_000_000_000 + Math.floor(around.now()),
      version: 'simulation',
      log: (event) => {
        if (event.event === 'new session') this.#renewed = String(event.why)
        if (event.event !== 'component lost') around.note(`log ${JSON.stringify(event)}`)
      },
    })
    const runtime = this.#runtime
    this.#link = new Link({
      profile: around.catalog.profile,
      fields: around.catalog.fields,
      adapter,
      stream: false,
      listener: {
        identity: (system, component) => this.#take(runtime.connected(system, component, this.#clock())),
        report: (report, received_ms) => this.#take(runtime.observe(report, received_ms, this.#clock())),
        acknowledge: (ack) => this.#take(runtime.acknowledge(ack, this.#clock())),
        collision: () => around.note('collision'),
      },
    })
  }

  #published: Publication[] = []

  #take(publications: readonly Publication[]): void {
    this.#published.push(...publications)
  }

  #clock(): number {
    return this.#around.now() - this.#born_ms
  }

  /** A core that traps when it is told to, and errs as the sabotage wants. */
  #hooked(factory: CoreFactory): CoreFactory {
    return (image, session, environment) => {
      const core = factory(image, session, environment)
      let trapped = false
      const hooked: Record<string, unknown> = {}
      for (const name of CALLS) {
        const call = core[name].bind(core) as (...args: unknown[]) => unknown
        hooked[name] = (...args: unknown[]) => {
          if (trapped) throw new CorePoisoned('the core has trapped')
          if (this.#trap === name) {
            this.#trap = undefined
            trapped = true
            throw new WebAssembly.RuntimeError('unreachable')
          }
          return call(...args)
        }
      }
      Object.defineProperty(hooked, 'hash', { value: core.hash })
      Object.defineProperty(hooked, 'poisoned', { get: () => trapped || core.poisoned })
      const whole = hooked as unknown as Core
      Object.assign(hooked, this.#around.sabotage.core?.({ ...whole, hash: core.hash, poisoned: false }))
      return whole
    }
  }

  // Turns

  begin(): void {
    this.#turn({ kind: 'start' }, () => this.#take(this.#runtime.start(this.#clock())))
  }

  tickDue(): void {
    if (this.#around.now() < this.#stalled_ms) return
    const inbox = this.#inbox
    this.#inbox = []
    for (const act of inbox) act()
    this.#turn({ kind: 'tick' }, () => {
      this.#take(this.#runtime.tick(this.#clock()))
      const now_ms = this.#clock()
      this.#link.tick(now_ms)
      if (now_ms - this.#heartbeat_ms >= 1000 && this.#adapter.say({ message: 'HEARTBEAT' }, now_ms)) {
        this.#heartbeat_ms = now_ms
      }
    })
    this.#turned_ms = this.#clock()
  }

  /** `sound`: of one good frame, which the observer may read as well. */
  telemetry(bytes: Uint8Array, sound: boolean): void {
    this.#read((received_ms) => {
      // The ground station's heartbeats are on the link too; they are nobody's state.
      const said = sound && bytes[5] !== 255
      const input: Input = said
        ? { kind: 'telemetry', datagram: bytes, received_ms: received_ms + this.#born_ms }
        : { kind: 'tick' }
      this.#turn(input, () => this.#link.receive(bytes, received_ms))
    })
  }

  response(agent: string, bytes: Uint8Array, retained: boolean): void {
    this.#read(() => {
      this.#turn({ kind: 'response', agent, bytes }, () => {
        this.#take(this.#runtime.receive(agent, bytes, retained, this.#clock()))
      })
    })
  }

  context(map: number, retained: boolean): void {
    this.#read((received_ms) => {
      this.#turn({ kind: 'context', map, retained }, () => {
        this.#take(this.#runtime.context('map', encode({ v: 1, value: map }), retained, received_ms, this.#clock()))
      })
    })
  }

  operate(verb: string, bytes: Uint8Array, retained: boolean): void {
    this.#read(() => {
      this.#turn({ kind: 'operate', verb }, () =>
        this.#take(this.#runtime.operate(verb, bytes, retained, this.#clock())),
      )
    })
  }

  stop(): void {
    this.#turn({ kind: 'stop' }, () => this.#take(this.#runtime.stop(this.#clock())))
  }

  stall(for_ms: number): void {
    this.#around.note(`loop stalls for ${for_ms} ms`)
    this.#stalled_ms = this.#around.now() + for_ms
  }

  /** The core traps in the next such call. */
  trapIn(call: Call): void {
    this.#around.note(`core will trap in ${call}`)
    this.#trap = call
  }

  /** A broken clock: a time that is not finite or goes back ends the session, and nothing else happens. */
  turnBack(by_ms: number): void {
    this.#around.note(`clock is off by ${by_ms} ms`)
    if (this.#around.now() < this.#stalled_ms) return
    const session = this.#runtime.session
    // Every tick is told to the core: this is later than the last that it heard of.
    this.#turn({ kind: 'tick' }, () => this.#take(this.#runtime.tick(this.#clock())))
    this.#turn({ kind: 'tick' }, () => this.#take(this.#runtime.tick(this.#clock() + by_ms)))
    if (this.#runtime.session !== session) return
    const what = `a clock that was off by ${by_ms} ms did not end the session`
    this.#around.observer.find('G5', what)
  }

  #read(act: (received_ms: number) => void): void {
    if (this.#around.now() < this.#stalled_ms) {
      this.#inbox.push(() => act(this.#turned_ms))
      return
    }
    act(this.#turned_ms)
    if (this.#inbox.length === 0) this.#turned_ms = this.#clock()
  }

  #turn(input: Input, act: () => void): void {
    const { observer, now, isDeaf, note } = this.#around
    observer.at_ms = now()
    this.#frames = []
    this.#published = []
    this.#renewed = undefined
    try {
      act()
    } catch (error) {
      observer.find('G5', `an exception escaped on ${input.kind}: ${(error as Error).stack}`)
    }
    const { session } = this.#runtime
    for (const frame of this.#frames) {
      if (frame[7] === 76 && frame[10 + 28]! + 256 * (frame[10 + 29] ?? 0) !== 511)
        note(`sent ${Buffer.from(frame).toString('hex')}`)
    }
    observer.turn({
      input,
      frames: this.#frames,
      published: this.#published,
      renewed: this.#renewed,
      deaf: isDeaf(),
    })
    this.#around.published(this.#published)
    if (session === this.#session) return
    this.#session = session
    this.#around.subscribed()
  }
}
