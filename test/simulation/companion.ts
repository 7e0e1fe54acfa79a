// One process of the companion on the world's clock: what the daemon does, without its sockets. Its core can be made to trap, and
// to err on purpose, and the process can be made to die between any two things that it does.

import { Adapter } from '../../companion/adapter/adapter.ts'
import { Link } from '../../companion/mavlink/link.ts'
import { modeMessage } from '../../src/autopilot/profile.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { Core, CoreFactory, CoreFrame } from '../../src/core/core.ts'
import { CORE_HASH, loadCore } from '../../src/core/wasm.ts'
import type { JournalEntry, Port, Publication } from '../../src/engine/port.ts'
import { Runtime } from '../../src/engine/runtime.ts'
import { encode } from '../../src/wire/write.ts'
import { Loop } from './kernel.ts'
import type { Input, Observer } from './observer.ts'

/** A mistake built in on purpose, to see that the observer finds it. */
export interface Sabotage {
  /** Another core than the one that was built. */
  readonly load?: CoreFactory
  readonly core?: (core: Core) => Partial<Core>
  readonly send?: (frame: CoreFrame, send: (frame: CoreFrame) => boolean) => boolean
  /** So many datagrams in a turn may have left some behind. */
  readonly batch?: number
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

/** Where the process may die: before or after a call of the core, a frame on its way out, a word to the journal. */
export type Place = Call | 'send' | 'write'
export const PLACES: readonly Place[] = [...CALLS, 'send', 'write']
/** Those after which something is different. */
export const STEPS: readonly Place[] = [
  'snapshot',
  'admit',
  'gate',
  'frame',
  'reach',
  'end',
  'release',
  'contingency',
  'contingencyFrame',
  'send',
  'write',
]

/** A datagram on its way to the companion, and what the world knows of it. */
export interface Telegram {
  readonly bytes: Uint8Array
  /** One good frame, which the observer may read as well. */
  readonly sound: boolean
  /** Of the vehicle, not of somebody else on the link. */
  readonly own: boolean
  /** When it was sent, and since how many boots of however many vehicles. */
  readonly sent_ms: number
  readonly boot: number
}

class Death extends Error {}

interface Surroundings {
  readonly catalog: Catalog
  readonly sabotage: Sabotage
  readonly journal: {
    read(): JournalEntry | undefined
    /** `done` comes later, with what the disk has against it, and never to a process that has died meanwhile. */
    write(entry: JournalEntry, done: (problem: string | undefined) => void): void
  }
  readonly random: () => Uint8Array
  /** The world's time, ms. */
  readonly now: () => number
  /** What the wall clock shows, ms. */
  readonly wall: () => number
  readonly transmit: (bytes: Uint8Array) => boolean
  readonly note: (text: () => string) => void
  /** So many datagrams the kernel keeps. */
  readonly room: number
  readonly isDeaf: () => boolean
  readonly isFull: () => boolean
  readonly observer: Observer
  readonly published: (publications: readonly Publication[]) => void
  /** A new session subscribes to `context/` afresh. */
  readonly subscribed: () => void
  /** The process has died at this place. */
  readonly died: (at: string) => void
}

export class Companion {
  readonly #around: Surroundings
  readonly #runtime: Runtime
  readonly #link: Link
  readonly #adapter: Adapter
  /** Its monotonic clock begins with the process. */
  readonly #born_ms: number
  readonly #loop: Loop
  #stalled_ms = 0
  /** The link has handed on what the last datagram reports. */
  #counted = false
  /** It has been stopped, and not gone on yet. */
  #stalled = false
  #heartbeat_ms = Number.NEGATIVE_INFINITY
  #trap: Call | undefined
  #death: { readonly places: ReadonlySet<Place>; points: number } | undefined
  #dead = false
  /** What it died of: nobody catches it, and nothing leaves any more. */
  #fate: Death | undefined
  #core: Core | undefined
  #hooked: Core | undefined
  #session = ''
  #frames: Uint8Array[] = []
  /** It knows the vehicle. */
  hasMet = false
  #renewed: string | undefined
  /** The core has trapped because it was told to. */
  #told = false

  constructor(around: Surroundings) {
    this.#around = around
    this.#born_ms = Math.floor(around.now()) - 10
    this.#loop = new Loop(() => this.#clock(), around.room, around.sabotage.batch)
    const adapter = new Adapter({
      modeMessage: modeMessage(around.catalog.profile),
      transmit: (bytes) => {
        if (!around.transmit(bytes)) return false
        this.#frames.push(bytes.slice())
        return true
      },
    })
    this.#adapter = adapter
    const send = around.sabotage.send
    const port: Port = send === undefined ? adapter : { send: (frame) => send(frame, (f) => adapter.send(f)) }
    this.#runtime = new Runtime({
      catalog: around.catalog,
      core: (image, session, environment) => {
        const core = (around.sabotage.load ?? loadCore)(image, session, environment)
        this.#core = core
        Object.assign(core, around.sabotage.core?.(bound(core)))
        if (this.#trap !== undefined || this.#death !== undefined) this.#hook(core)
        return core
      },
      coreHash: CORE_HASH,
      port: {
        send: (frame) => this.#pass('send', () => port.send(frame)),
        ask: (what) => adapter.ask(what),
      },
      journal: {
        read: () => around.journal.read(),
        write: (entry) =>
          this.#pass('write', () => around.journal.write(entry, (problem) => this.#journalled(entry, problem))),
      },
      random: around.random,
      wall: around.wall,
      version: 'simulation',
      log: (event) => {
        if (event.event === 'new session') this.#renewed = String(event.why)
        if (event.event !== 'component lost' && event.event !== 'judged')
          around.note(() => `log ${JSON.stringify(event)}`)
      },
    })
    const runtime = this.#runtime
    this.#link = new Link({
      profile: around.catalog.profile,
      fields: around.catalog.fields,
      adapter,
      stream: false,
      listener: {
        identity: (system, component) => {
          this.hasMet = true
          this.#take(runtime.connected(system, component, this.#clock()))
        },
        rebooted: (up_ms, received_ms) =>
          this.#take(runtime.rebooted(up_ms + this.#clock() - received_ms, this.#clock())),
        report: (report, received_ms) => {
          this.#counted = true
          this.#take(runtime.observe(report, received_ms, this.#clock()))
        },
        acknowledge: (ack) => this.#take(runtime.acknowledge(ack, this.#clock())),
        alarm: (text) => this.#take(runtime.alarm(text, this.#clock())),
        warn: () => {},
        silent: (text, severity) => this.#take(runtime.warn('link', text, this.#clock(), severity)),
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

  /** From now on this core traps where it is told to, and the process dies where it is told to. */
  #hook(core: Core): void {
    if (this.#hooked === core) return
    this.#hooked = core
    const plain = bound(core)
    for (const name of CALLS) {
      const call = plain[name] as (...args: unknown[]) => unknown
      const hooked = (...args: unknown[]): unknown => {
        if (this.#trap === name && !core.poisoned) {
          this.#trap = undefined
          this.#told = true
          Object.assign(core, { poisoned: true })
          throw new WebAssembly.RuntimeError('unreachable')
        }
        const mortal = this.#death !== undefined || this.#fate !== undefined
        return mortal ? this.#pass(name, () => call(...args)) : call(...args)
      }
      Object.assign(core, { [name]: hooked })
    }
  }

  #pass<T>(place: Place, act: () => T): T {
    this.#point(place, 'before')
    const result = act()
    this.#point(place, 'after')
    return result
  }

  #point(place: Place, moment: string): void {
    if (this.#fate !== undefined) throw this.#fate
    const death = this.#death
    if (death === undefined || !death.places.has(place) || --death.points > 0) return
    this.#death = undefined
    this.#fate = new Death(`${moment} ${place}`)
    throw this.#fate
  }

  // Turns

  begin(): void {
    this.#turn({ kind: 'start' }, () => this.#take(this.#runtime.start(this.#clock())))
  }

  tickDue(): void {
    if (this.#around.now() < this.#stalled_ms) return
    this.#stalled = false
    this.#loop.run(() => this.#tick())
  }

  #tick(): void {
    this.#turn({ kind: 'tick' }, () => {
      this.#take(this.#runtime.tick(this.#clock()))
      const now_ms = this.#clock()
      this.#link.tick(now_ms)
      if (now_ms - this.#heartbeat_ms >= 1000 && this.#adapter.say({ message: 'HEARTBEAT' }, now_ms)) {
        this.#heartbeat_ms = now_ms
      }
    })
  }

  telemetry(telegram: Telegram): void {
    const { bytes, sound, own, sent_ms, boot } = telegram
    const arrived_ms = this.#around.now()
    this.#loop.datagram((read_ms) => {
      const received_ms = read_ms + this.#born_ms
      // What was late or repeated is nobody's state (PROTOCOL 2, "news"): the link says which that is, the observer what must be.
      const input = (): Input => {
        if (!(sound && own)) return { kind: 'tick' }
        return {
          kind: 'telemetry',
          datagram: bytes,
          received_ms,
          arrived_ms,
          sent_ms,
          boot,
          dropped: !this.#counted,
        }
      }
      this.#turn(input, () => {
        this.#counted = false
        this.#link.receive(bytes, read_ms)
      })
    })
    this.#wake()
  }

  response(agent: string, bytes: Uint8Array, retained: boolean): void {
    this.#hear(() => {
      this.#turn({ kind: 'response', agent, bytes }, () => {
        this.#take(this.#runtime.receive(agent, bytes, retained, this.#clock()))
      })
    })
  }

  context(map: number, retained: boolean): void {
    this.#hear((received_ms) => {
      this.#turn({ kind: 'context', map, retained }, () => {
        this.#take(this.#runtime.context('map', encode({ v: 1, value: map }), retained, received_ms, this.#clock()))
      })
    })
  }

  #journalled(entry: JournalEntry, problem: string | undefined): void {
    this.#hear(() => {
      this.#turn({ kind: 'tick' }, () => this.#take(this.#runtime.journalled(entry, problem, this.#clock())))
    })
  }

  operate(verb: string, bytes: Uint8Array, retained: boolean): void {
    this.#hear(() => {
      this.#turn({ kind: 'operate', verb, bytes, retained }, () =>
        this.#take(this.#runtime.operate(verb, bytes, retained, this.#clock())),
      )
    })
  }

  /** The process dies at the `points`-th of these places from now on, each counted before and after. */
  dieAt(places: Iterable<Place>, points: number): void {
    this.#death = { places: new Set(places), points }
    this.#hook(this.#core!)
  }

  stop(): void {
    this.#turn({ kind: 'stop' }, () => this.#take(this.#runtime.stop(this.#clock())))
  }

  stall(for_ms: number): void {
    this.#stalled_ms = Math.max(this.#stalled_ms, this.#around.now() + for_ms)
    this.#stalled = true
  }

  /** The core traps in the next such call. */
  trapIn(call: Call): void {
    this.#trap = call
    this.#hook(this.#core!)
  }

  /** A broken clock: a time that is not finite or goes back ends the session, and nothing else happens. */
  turnBack(by_ms: number): void {
    if (this.#around.now() < this.#stalled_ms) return
    const session = this.#runtime.session
    // Every tick is told to the core: this is later than the last that it heard of.
    this.#turn({ kind: 'tick' }, () => this.#take(this.#runtime.tick(this.#clock())))
    this.#turn({ kind: 'tick' }, () => {
      this.#told = true
      this.#take(this.#runtime.tick(this.#clock() + by_ms))
    })
    // A clock that steps has stood still for nobody knows how long.
    if (Number.isFinite(by_ms)) this.#around.observer.stalled()
    if (this.#dead || this.#runtime.session !== session) return
    const what = `a clock that was off by ${by_ms} ms did not end the session`
    this.#around.observer.find('G5', what)
  }

  #hear(act: (received_ms: number) => void): void {
    this.#loop.message(act)
    this.#wake()
  }

  /** Something has come in: a loop that is not stopped wakes, and one that was begins with its timers. */
  #wake(): void {
    if (this.#around.now() < this.#stalled_ms) return
    if (this.#stalled) this.tickDue()
    else this.#loop.run()
  }

  /** `told` is asked once the turn is over. */
  #turn(told: Input | (() => Input), act: () => void): void {
    if (this.#dead) return
    const { observer, now, isDeaf, isFull, note } = this.#around
    observer.at_ms = now()
    this.#frames = []
    this.#published = []
    this.#renewed = undefined
    this.#told = false
    try {
      act()
      // The engine takes a word that did not get to the disk for a full one, and goes on.
      if (this.#fate !== undefined) throw this.#fate
    } catch (error) {
      const input = typeof told === 'function' ? told() : told
      if (error instanceof Death) {
        this.#dead = true
        observer.died({ input, frames: this.#frames, renewed: this.#renewed })
        this.#around.died(error.message)
        return
      }
      observer.find('G5', `an exception escaped on ${input.kind}: ${(error as Error).stack}`)
    }
    const input = typeof told === 'function' ? told() : told
    const { session } = this.#runtime
    for (const frame of this.#frames) {
      if (frame[7] === 76 && frame[10 + 28]! + 256 * (frame[10 + 29] ?? 0) !== 511)
        note(() => `sent ${Buffer.from(frame).toString('hex')}`)
    }
    observer.turn({
      input,
      frames: this.#frames,
      published: this.#published,
      renewed: this.#renewed,
      byItself: this.#renewed === 'trap' && !this.#told,
      deaf: isDeaf(),
      full: isFull(),
    })
    this.#around.published(this.#published)
    if (session === this.#session) return
    this.#session = session
    this.#around.subscribed()
  }
}

/** Its calls as they are now. */
function bound(core: Core): Core {
  const calls = CALLS.map((name) => [name, core[name].bind(core)])
  return { hash: core.hash, poisoned: false, ...Object.fromEntries(calls) }
}
