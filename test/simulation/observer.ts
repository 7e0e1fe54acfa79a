// Watches a companion from outside and says when a guarantee is broken (PROTOCOL 1).
//
// It knows what anybody with a wiretap knows: the bytes that came in, what was published, and the frames on the wire. It asks
// the runtime and the core nothing. Where the protocol leaves the companion a choice, the observer allows all of them.

import { createHash } from 'node:crypto'
import { decode } from 'cborg'
import { Kind, PhaseWords } from '../../build/abi.ts'
import type { Catalog, ComponentType } from '../../src/catalog/catalog.ts'
import { reads } from '../../src/core/expression.ts'
import type { Publication } from '../../src/engine/port.ts'
import { encode } from '../../src/wire/write.ts'
import { messageOf } from './detour.ts'
import type { Hazard } from './hazard.ts'
import { modeName, Sight } from './sight.ts'

export type Guarantee = 'G1' | 'G2' | 'G3' | 'G4' | 'G5' | 'G6'

export interface Finding {
  readonly guarantee: Guarantee
  readonly what: string
  readonly at_ms: number
}

export type Input =
  | { readonly kind: 'tick' | 'start' | 'stop' }
  | { readonly kind: 'operate'; readonly verb: string; readonly bytes: Uint8Array; readonly retained: boolean }
  /** A good one of the field `map`. */
  | { readonly kind: 'context'; readonly map: number; readonly retained: boolean }
  | {
      readonly kind: 'telemetry'
      readonly datagram: Uint8Array
      /** As the companion has it. */
      readonly received_ms: number
      /** When it came into the companion's kernel, when the vehicle sent it, and since how many boots of any vehicle. */
      readonly arrived_ms: number
      readonly sent_ms: number
      readonly boot: number
      /** The link took it for late or repeated. */
      readonly dropped: boolean
    }
  | { readonly kind: 'response'; readonly agent: string; readonly bytes: Uint8Array }

// biome-ignore lint/suspicious/noExplicitAny: what is published is a value for CBOR, and the observer looks into it
type Said = any

/** One turn of the companion: what came in, what left meanwhile, what was published behind it. Times are the world's, ms. */
export interface Turn {
  readonly input: Input
  readonly frames: readonly Uint8Array[]
  readonly published: readonly Publication[]
  /** Why a session ended in this turn, if one did. */
  readonly renewed: string | undefined
  /** A trap of the core that nobody made. */
  readonly byItself: boolean
  /** Frames do not get out now. */
  readonly deaf: boolean
  /** The disk takes nothing now. */
  readonly full: boolean
}

/** The turn in which a process died: what it would have published, nobody heard. */
export type LastTurn = Pick<Turn, 'input' | 'frames' | 'renewed'>

/** What an agent said, as far as it is one that was accepted. */
interface Response {
  readonly response: string
  readonly generation: number
  readonly snapshot: string
  readonly recovers?: string
  readonly components: readonly {
    readonly id: string
    readonly type: string
    readonly payload: Record<string, number>
    readonly requires?: readonly string[]
  }[]
}

/** What the operator and the pilot held before a turn. */
interface Held {
  readonly session: string
  readonly n: number
  readonly paused: boolean
  readonly latched: boolean
  readonly revoked: ReadonlySet<string>
}

/** A retained component, as its verdict and its outcomes tell of it. */
interface Watched {
  readonly sequence: number
  readonly agent: string
  readonly plan: string
  readonly id: string
  readonly is: ComponentType
  readonly payload: Readonly<Record<string, number>>
  readonly requires: readonly { readonly on: Watched; readonly phase: string }[]
  readonly generation: number
  /** Changes of the map when its snapshot was taken. */
  readonly mapAt: number
  phase: string
  crossed: boolean
  crossed_ms: number | undefined
  /** What has been seen of its flight. */
  frames: number
  first: Uint8Array | undefined
  /** Where home was above the sea at its first frame, m. */
  home_m: number
  last_ms: number
  commanded: boolean
  /** The setpoint mode was shown after the command, or at its crossing. */
  engaged: boolean
  armed: boolean
  /** The autopilot has said for good what became of its frame. */
  answered: boolean
  /** Its only frame has been looked at. */
  sent: boolean
  /** Since when it is retained, ms. */
  readonly since_ms: number
  /** Of a request: what it asked for when it was released. */
  asked: ReadonlySet<Watched>
}

/** Mode commands that may, or must, still come because an effect has ended. */
interface Debt {
  readonly why: string
  /** Each alternative in order; what is refused or not shown is followed by its successors. */
  readonly names: string[]
  /** Modes that the effect itself went through: they may be shown still. */
  readonly flown: readonly string[]
  readonly since_ms: number
  /** When the flight before it began; Infinity where that is not known. */
  readonly begun_ms: number
  readonly resource: string | undefined
  owed: boolean
  readonly sends: Map<string, number>
  sent_ms: number
  /** What was sent then. */
  last: string | undefined
  permittedSince_ms: number | undefined
  givenUp: boolean
}

interface Open {
  readonly scope: readonly { readonly id: string; readonly type: string }[]
  readonly plan: string
  readonly opened: number
  /** The newest snapshot then. */
  readonly newest: number
}

interface SpokenPlan {
  readonly members: Map<string, Watched>
  over: boolean
}

const ENDS = new Set(['withheld', 'blocked', 'failed', 'expired', 'superseded', 'uncertain'])
const RANK: Readonly<Record<string, number>> = {
  retained: 0,
  released: 1,
  dispatched: 1,
  acknowledged: 2,
  completed: 3,
}
const FOLLOWS: Readonly<Record<string, string>> = { RETURN: 'HOLD', HOLD: 'LAND', disarm: 'LAND' }
const SENDS_MAX = 10
/** Accepted packets whose verdict is said again. */
const PACKETS_KEPT = 64
/** Ten times 200 ms: then the next of the chain may follow. */
const FOLLOWED_MS = 1900
/** Longer than `expires`, an unanswered command and a whole chain of contingencies together. */
const IDLE_MS = 25_000
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  takeoff: ['HOLD', 'arm', 'takeoff'],
  hold: ['HOLD'],
  'handoff.pilot': ['HOLD'],
  land: ['LAND'],
  return: ['RETURN'],
  release: ['command 211'],
}
const DO_GRIPPER = 211
const IN_PROGRESS = 5
/** A contingency that is permitted must have left after this long: its repetition, and a turn of the loop. */
const PERMITTED_MS = 450
/** What makes a position one, whatever the catalog says. */
const POSITIONED = ['gps.fix', 'estimator.ok']

export class Observer {
  readonly findings: Finding[] = []
  /** The world's time of this turn, ms. */
  at_ms = 0
  /** Crossings by type, ends by reason and contingencies by mode: what the schedules have reached. */
  readonly reached = new Map<string, number>()
  readonly #catalog: Catalog
  readonly #maxAge_ms: ReadonlyMap<string, number>
  #session = ''
  #sight: Sight
  #heard = false
  #sequences = new Map<number, Watched>()
  #live = new Set<Watched>()
  /** What a session's end, or the process's, has just cut off: a frame of it may have left, and its outcome not been told. */
  #cutOff: Watched[] = []
  /** What these owe has been handed on: once, also where one turn begins two sessions. */
  readonly #inherited = new WeakSet<Watched>()
  #plans = new Map<string, SpokenPlan>()
  #generations = new Map<string, number>()
  #accepted = new Map<string, string>()
  #lastSequence = 0
  #obligations = new Map<string, Open>()
  #newest = 0
  #map: number | undefined
  #mapChanges = 0
  /** How often the map had changed when a snapshot was taken. */
  #mapAt = new Map<string, number>()
  #pilotControl = false
  /** It is latched for an alarm. */
  #alarmed = false
  #paused = false
  #revoked: ReadonlySet<string> = new Set()
  #n = -1
  /** The process died while it dealt with this: the journal may know of it or not. */
  #dying: Input['kind'] | undefined
  #stopping = false
  /** Since when a retained action could cross and nothing holds its resource, ms. */
  #idle = new Map<Watched, number>()
  /** When an arm frame left last. */
  #armed_ms = Number.NEGATIVE_INFINITY
  /** When refusals were answered, by agent; of topics that name none, all together. */
  readonly #refusals = new Map<string, number[]>()
  #debts: Debt[] = []
  #ours = new Set(['OFFBOARD'])
  #resumed: string | undefined
  /** The mode that whoever resumed has accepted: until the next effect of ours. */
  #acceptedMode: string | undefined
  #landingSent = false
  #orphanJudged = false
  /** Types of which the last frame has no known outcome, by what was seen: no second one before a person has looked. */
  #doubtful = new Set<string>()
  /** What `control` says of them. */
  #uncertain: ReadonlySet<string> = new Set()
  /** Irreversible components whose end was told in this turn. */
  #ended: Watched[] = []
  /** Since when the disk takes nothing, ms. */
  #full_ms: number | undefined
  /** A word has not got to the disk, it said: what the next process knows is older. */
  #unsaved = false
  /** Sessions that ended: nothing of theirs may be heard of again. */
  readonly #past = new Set<string>()
  readonly #hazards: ReadonlySet<Hazard>
  /** The newest of each message that was heard: when it was sent, by which boot, and after how long. */
  #newestOf = new Map<number, { readonly sent_ms: number; readonly boot: number; readonly up_ms: number }>()
  /** Of the newest boot, by message: how long it has been up, as heard. Who has been up for longer may be newer. */
  readonly #up_ms = new Map<number, number>()
  /** The newest boot of a vehicle that was heard, and the newest when the session began. */
  #boot = 0
  #sessionBoot = 0
  /** When the newest boot was first heard. */
  #bootHeard_ms = Number.NEGATIVE_INFINITY
  /** The boot for which this process ended a session: whoever has only just begun cannot tell two from each other. */
  #believedBoot = 0
  /** A mode that nothing explains has been reported once: since when, and it may be an old report. */
  #doubt_ms: number | undefined
  /** When a takeover was last visible that was not believed: nothing leaves until it is known. */
  #doubted_ms = Number.NEGATIVE_INFINITY
  /** Since when it asks for the mode without a pause, and when it last did: it doubts one, though not what was visible here. */
  #askedSince_ms = Number.NEGATIVE_INFINITY
  #asked_ms = Number.NEGATIVE_INFINITY
  /** In an alarm: when the report came in that began a mode which nothing owed explains. */
  #foreign: { readonly mode: string; readonly since_ms: number } | undefined
  /** The last turn, and the end of the last time in which there was none for long. */
  #turned_ms: number | undefined
  #stalled_ms = Number.NEGATIVE_INFINITY
  /** When the wire last told another place than the vehicle was in. */
  #misplaced_ms = Number.NEGATIVE_INFINITY
  /** When the last mode report that counted came into the companion's kernel. */
  #modeArrived_ms = Number.NEGATIVE_INFINITY
  /** The last two reports of the mode that counted, the newest first. */
  #judgedModes: { readonly isLate: boolean; readonly mode: string }[] = []
  /** What `control` said, but for what is pending, by its counter. */
  #controls = new Map<number, string>()
  /** Each order, and each step of what cannot be undone, is a change of its own, even where nothing looks different. */
  #orders = 0

  constructor(catalog: Catalog, hazards: ReadonlySet<Hazard> = new Set()) {
    this.#catalog = catalog
    this.#hazards = hazards
    this.#sight = this.#newSight()
    this.#maxAge_ms = new Map(catalog.fields.map((f) => [f.name, f.maxAge_ms]))
  }

  #newSight(): Sight {
    return new Sight(this.#hazards.has('impossible'))
  }

  /** The process is gone, without a word, between two turns or in the middle of one. */
  died(last?: LastTurn): void {
    if (last !== undefined) this.#judgeLast(last)
    this.#dying = last?.input.kind
    const unanswered = [...this.#live, ...this.#cutOff].filter((i) => isIrreversible(i) && i.frames > 0 && !i.answered)
    for (const { is } of unanswered) this.#doubtful.add(is.name)
    if (last !== undefined) this.#clear(last.input)
    this.#ended = []
    this.#full_ms = undefined
    this.#past.add(this.#session)
    this.#forget('')
    this.#debts = []
    this.#heard = false
    this.#stopping = false
    this.#newestOf = new Map()
    this.#boot = 0
    this.#sessionBoot = 0
    this.#believedBoot = 0
    this.#doubt_ms = undefined
    this.#turned_ms = undefined
    this.#stalled_ms = Number.NEGATIVE_INFINITY
    this.#modeArrived_ms = Number.NEGATIVE_INFINITY
    this.#judgedModes = []
  }

  /** What left in a turn that was never told: allowed is all that the companion may have come to in it. */
  #judgeLast({ input, frames, renewed }: LastTurn): void {
    const resumes = input.kind === 'operate' && input.verb === 'resume'
    const before = new Set(this.#live)
    this.#judgeTime(input)
    this.#see(input)
    const takeover = renewed === undefined ? this.#visibleTakeover() : undefined
    const silent = (this.#pilotControl && !this.#alarmed && !resumes) || takeover !== undefined
    const waiting = [...this.#sequences.values()].filter(
      (i) => i.phase === 'retained' && !this.#plans.get(i.plan)?.over,
    )
    this.#cutOff = [...waiting, ...(input.kind === 'response' ? this.#unheard(input.agent, input.bytes) : [])]
    for (const i of before) {
      for (const why of ['completed', SESSION_ENDED]) this.#debts.push({ ...this.#owes(i, why), owed: false })
    }
    this.#debts.push(this.#debt('inherited', ['HOLD'], undefined, false))
    for (const frame of frames) {
      const left = new Map(this.#cutOff.map((i) => [i, i.frames]))
      this.#judgeFrame(frame, silent, before)
      for (const i of waiting) if (i.frames > left.get(i)! && !this.#mayBeOwed(i)) this.#judgeUntold(i)
    }
  }

  /** What left looks like its first frame, and may as well be what a lease that has ended owes. */
  #mayBeOwed({ is }: Watched): boolean {
    const first = COMMANDS[is.name]?.[0]
    return this.#debts.some(({ names }) => names.some((name) => name === first || FOLLOWS[name] === first))
  }

  /** It has crossed in a turn that was never told: whatever moves must have crossed in an earlier one to be completed now. */
  #judgeUntold(i: Watched): void {
    const missing = i.requires.find(({ on }) => ENDS.has(on.phase) || (isMoving(on.is) && on.phase === 'retained'))
    if (missing !== undefined) this.find('G1', `${i.id} crossed while ${missing.on.id} is ${missing.on.phase}`)
  }

  /** A response whose verdict was never told, as if all of it were retained. */
  #unheard(agent: string, bytes: Uint8Array): Watched[] {
    let response: Response
    try {
      response = decode(bytes) as Response
    } catch {
      return []
    }
    if (!Array.isArray(response?.components)) return []
    return response.components.flatMap((c) => {
      const is = this.#catalog.types.find((t) => t.name === c.type)
      return is === undefined
        ? []
        : [
            this.#watch(
              `${agent}/untold`,
              response,
              { ...c, payload: c.payload ?? {} },
              { agent, is, sequence: 0, requires: [] },
            ),
          ]
    })
  }

  turn(turn: Turn): void {
    this.#cutOff = []
    this.#ended = []
    if (!turn.full) this.#full_ms = undefined
    else this.#full_ms ??= this.at_ms
    const latched = this.#pilotControl
    const held = { session: this.#session, n: this.#n, paused: this.#paused, latched, revoked: this.#revoked }
    const liveBefore = new Set(this.#live)
    const { input, renewed } = turn
    if (input.kind === 'operate') this.#orders++
    if (turn.byItself) this.find('G5', 'the core trapped by itself')
    const reborn = renewed === 'reboot'
    const isLate = this.#judgeTime(input, reborn)
    if (!reborn) this.#see(input)
    this.#clear(input)
    const takeover = renewed === undefined ? this.#visibleTakeover() : undefined
    const debtsBefore = new Set(this.#debts)
    const [sight, ours, mapChanges, uncertain] = [this.#sight, this.#ours, this.#mapChanges, this.#uncertain]
    for (const publication of turn.published) this.#hear(publication, input, renewed)
    if (reborn) this.#see(input)
    if (reborn) this.#judgeReboot(input)
    this.#judgeLatch(takeover, input, isLate, latched)
    const silent = (latched && this.#pilotControl && !this.#alarmed) || takeover !== undefined
    this.#judgeOrphan()
    // What left in the turn of a session's end left before it.
    const after = [this.#sight, this.#ours, this.#mapChanges, this.#uncertain] as const
    const cutOff = renewed !== undefined && !reborn
    if (renewed !== undefined) this.#refusals.clear()
    if (cutOff) [this.#sight, this.#ours, this.#mapChanges, this.#uncertain] = [sight, ours, mapChanges, uncertain]
    for (const frame of turn.frames) this.#judgeFrame(frame, silent, liveBefore)
    if (cutOff) [this.#sight, this.#ours, this.#mapChanges, this.#uncertain] = after
    this.#judgeDoubt()
    this.#judgeTakenInAlarm()
    this.#settleDebts(debtsBefore, turn.deaf)
    if (input.kind === 'response') this.#judgeAnswer(input.agent, turn)
    if (input.kind === 'operate') this.#judgeOrder(input, held, turn)
    for (const publication of turn.published) this.#judgeSize(publication)
    if (input.kind === 'stop') this.#stopping = true
    if (input.kind === 'tick') this.#judgeIdle()
  }

  // Hazards

  /** Time has passed of which the companion knows nothing: what it has heard before is old. */
  stalled(): void {
    this.#stalled_ms = this.at_ms
  }

  /** From now on the wire tells another place than the vehicle is in. */
  misplaced(now_ms: number): void {
    this.#misplaced_ms = now_ms
  }

  /** No value is younger than the truth; returns whether the report is none newer than what was heard before. */
  #judgeTime(input: Input, reborn = false): boolean {
    const now_ms = this.at_ms
    if (this.#turned_ms !== undefined && now_ms - this.#turned_ms > STALL_MS) this.#stalled_ms = now_ms
    this.#turned_ms = now_ms
    if (input.kind !== 'telemetry') return false
    const { datagram, received_ms, arrived_ms, sent_ms, boot } = input
    const message = messageOf(datagram)
    if (received_ms > arrived_ms + 1e-6) {
      const lay_ms = Math.round(now_ms - arrived_ms)
      this.find(
        'G5',
        `message ${message} lay ${lay_ms} ms in the kernel and counts as ${Math.round(now_ms - received_ms)} ms old`,
      )
    }
    // Before the autopilot's first heartbeat nothing is heard of anybody.
    if (!this.#heard && message !== HEARTBEAT) return false
    if (this.#boot === 0) this.#sessionBoot = boot
    if (boot > this.#boot) {
      this.#boot = boot
      this.#bootHeard_ms = now_ms
      this.#up_ms.clear()
    }
    // What was dropped before a reboot was believed may come again and count.
    const newest = this.#newestOf.get(message)
    const newest_ms = newest?.sent_ms ?? Number.NEGATIVE_INFINITY
    const isLate = sent_ms <= newest_ms
    const up_ms = upTime(datagram)
    if (input.dropped) return isLate
    // A time that is none since boot tells of no boot, so nobody can compare them while frames of two may come.
    const isOld = now_ms - this.#bootHeard_ms > BOTH_BOOTS_MS
    // Two boots within seconds, and a process that has heard neither begin: the older one has been up for longer, so it is newer.
    const isOne = isOld || (TIMED_SINCE_BOOT.has(message) && (boot === newest?.boot || up_ms <= (newest?.up_ms ?? 0)))
    // Whether what a reboot was believed with is of one, is judged by itself.
    if (isLate && isOne && !reborn && TIMED.has(message)) {
      const older_ms = Math.round(newest_ms - sent_ms)
      this.find('G5', `message ${message} counts although it is ${older_ms} ms older than the newest`)
    }
    const isBehind = up_ms <= (this.#up_ms.get(message) ?? Number.NEGATIVE_INFINITY)
    if (boot < this.#believedBoot && TIMED_SINCE_BOOT.has(message) && isBehind) {
      this.find('G5', `message ${message} counts although it is of the boot before`)
    }
    if (message === CURRENT_MODE) {
      this.#judgedModes.unshift({ isLate, mode: reportedMode(datagram) })
      // How long the link took nobody knows.
      this.#modeArrived_ms = arrived_ms
    }
    this.#judgedModes.length = Math.min(2, this.#judgedModes.length)
    if (boot === this.#boot) this.#up_ms.set(message, up_ms)
    if (isLate) return true
    this.#newestOf.set(message, { sent_ms, boot, up_ms })
    return false
  }

  /** A session ends with the vehicle's boot, and with nothing that the link does. */
  #judgeReboot(input: Input): void {
    // One that has itself been up for some seconds only, and falls silent: its late frames may be those of a boot in the silence.
    const isYoung = this.#boot > 1 && this.at_ms - this.#bootHeard_ms <= BOTH_BOOTS_MS
    if (this.#boot <= this.#sessionBoot && !isYoung) this.find('G5', 'a session ended for a reboot that there was not')
    this.#sessionBoot = this.#boot
    this.#believedBoot = this.#boot
    // The line begins with the frame that it was believed with, and a copy of that is one.
    this.#newestOf.clear()
    if (input.kind !== 'telemetry') return
    const { datagram, sent_ms, boot } = input
    this.#newestOf.set(messageOf(datagram), { sent_ms, boot, up_ms: upTime(datagram) })
  }

  /**
   * A mode that nothing explains stops everything at once. It is believed with a second report, or when no other comes: a mode
   * report carries no time, and the first may be an old one.
   */
  #judgeLatch(takeover: string | undefined, input: Input, isLate: boolean, latched: boolean): void {
    const isModeReport = input.kind === 'telemetry' && messageOf(input.datagram) === CURRENT_MODE
    if (isLate && isModeReport && !latched && this.#pilotControl && this.#doubt_ms === undefined) {
      const [now, before] = this.#judgedModes
      // Two that are old are two: nothing in them says so. And who resumed in one mode accepted no other.
      const wasAccepted = this.#acceptedMode === undefined || before?.mode === this.#acceptedMode
      if (before !== undefined && wasAccepted && !before.isLate && before.mode !== now!.mode) {
        this.find('G5', 'one old report of a mode latched pilot control')
      }
    }
    if (takeover === undefined || this.#pilotControl || this.#resumed !== undefined) {
      this.#doubt_ms = undefined
      return
    }
    this.#doubt_ms ??= this.at_ms
    this.#doubted_ms = this.at_ms
    const again = this.#sight.mode!.received_ms > this.#doubt_ms
    if (again || this.at_ms - this.#doubt_ms > DOUBT_MS) {
      this.find('G5', `a takeover was visible (${takeover}) and nothing was latched`)
    }
  }

  /**
   * In an alarm control is latched already, so nobody is told that somebody has taken over. A mode, HOLD too, that neither what is
   * owed nor the flight before it explains is his, where the companion has doubted it (it asks for the mode) and it was borne out;
   * then nothing is owed any more.
   */
  #judgeTakenInAlarm(): void {
    const { mode, armed } = this.#sight
    const explains = (d: Debt): boolean => [...d.names, ...d.flown].includes(mode!.mode)
    if (!this.#alarmed || mode === undefined || !armed || this.#debts.some(explains)) {
      this.#foreign = undefined
      return
    }
    if (this.#foreign?.mode !== mode.mode) this.#foreign = { mode: mode.mode, since_ms: mode.received_ms }
    const { since_ms } = this.#foreign
    const isBorneOut = mode.received_ms > since_ms || this.at_ms - since_ms > DOUBT_MS
    if (!isBorneOut || this.#asked_ms < since_ms - ASKED_MS) return
    for (const debt of this.#debts) if (since_ms > debt.since_ms) debt.owed = false
  }

  /** Whatever is published fits any broker (PROTOCOL 12). */
  #judgeSize({ topic, value }: Publication): void {
    if (!this.#hazards.has('hostile') || topic === 'catalog') return
    const { length } = encode(value)
    if (length > PUBLISHED_MAX) this.find('G5', `${topic} has ${length} bytes`)
  }

  /** What was pending does not speak against an order: it protects consents, which name their own digest. */
  #judgeConflict(
    { verb, after }: { readonly verb: string; readonly after: number },
    published: Turn['published'],
  ): void {
    if (!this.#hazards.has('hostile') || verb === 'approve' || verb === 'refuse') return
    const refused = published.some(({ topic, value }) => {
      const { kind, text } = value as Said
      return topic === 'notice' && kind === 'operator' && /operator_conflict/.test(text)
    })
    if (!refused) return
    const seen = [...this.#controls].filter(([n]) => n >= after).map(([, control]) => control)
    if (this.#controls.has(after) && new Set(seen).size === 1) {
      this.find('G5', `${verb} after ${after} was refused, and since then only what waits for consent has changed`)
    }
  }

  /** Every packet gets one verdict; whoever's packet trapped the core is revoked (PROTOCOL 11, 12). */
  #judgeAnswer(agent: string, { published, renewed }: Turn): void {
    const known = this.#catalog.agents.some((a) => a.name === agent)
    if (renewed === 'trap') {
      if (known && !this.#revoked.has(agent)) this.find('G5', `${agent} trapped the core and is not revoked`)
    } else if (!this.#stopping) {
      const verdicts = published.filter((p) => p.topic === `verdict/${agent}`).map(({ value }) => value as Said)
      this.#judgeRefusals(agent, known ? agent : '', verdicts)
    }
  }

  /** Fifty refusals are answered within a second, and the fiftieth says that no more are (PROTOCOL 4). */
  #judgeRefusals(agent: string, of: string, verdicts: readonly Said[]): void {
    const lately = (this.#refusals.get(of) ?? []).filter((at_ms) => this.at_ms - at_ms < 1000)
    this.#refusals.set(of, lately)
    const [verdict] = verdicts
    const isMuted = lately.length === REFUSALS_MAX
    if (verdicts.length !== 1 && !(isMuted && verdicts.length === 0)) {
      this.find('G5', `a packet of ${agent} got ${verdicts.length} verdicts`)
    }
    if (verdict === undefined || verdict.accepted) return
    if (isMuted) this.find('G5', `${agent} was refused more than ${REFUSALS_MAX} times within a second`)
    lately.push(this.at_ms)
    if ((verdict.muted === true) !== (lately.length === REFUSALS_MAX))
      this.find('G5', `${agent} was muted without a word`)
  }

  /** An order that names another counter than the newest, or another session, lifts nothing (PROTOCOL 10). */
  #judgeOrder(
    { verb, bytes, retained }: Extract<Input, { kind: 'operate' }>,
    held: Held,
    { renewed, published }: Turn,
  ): void {
    const order = decode(bytes) as { session: string; after: number }
    if (!retained && order.session === held.session) this.#judgeConflict({ verb, after: order.after }, published)
    if (verb === 'pause' && !retained && !this.#paused) this.find('G5', 'a pause was heard and is not in force')
    const current = !retained && order.session === held.session && order.after === held.n
    if (current || (verb === 'pause' && !retained)) return
    const lifted =
      (held.paused && !this.#paused) ||
      (held.latched && !this.#pilotControl) ||
      [...held.revoked].some((agent) => !this.#revoked.has(agent))
    const approved = published.some(({ topic, value }) => {
      const said = value as Said
      return topic.startsWith('outcome/') && said.phase === 'completed' && this.#kindOf(said.sequence) === Kind.request
    })
    if (lifted || approved || renewed === 'restart')
      this.find('G5', `${verb} was obeyed after ${order.after}, at ${held.n}`)
    if (!held.paused && this.#paused) this.find('G5', `a retained ${verb} paused`)
    this.count('order in conflict')
  }

  #kindOf(sequence: number): Kind | undefined {
    return this.#sequences.get(sequence)?.is.kind
  }

  /** G6: what could cross neither waits for ever nor is forgotten. */
  #judgeIdle(): void {
    for (const i of this.#sequences.values()) {
      const waits = i.phase === 'retained' && isMoving(i.is) && i.requires.every((r) => isReached(r.on, r.phase))
      const busy = [...this.#live].some((other) => other.is.uses === i.is.uses)
      if (!waits || busy) this.#idle.delete(i)
      else if (!this.#idle.has(i)) this.#idle.set(i, this.at_ms)
      else if (this.at_ms - this.#idle.get(i)! > IDLE_MS) this.find('G6', `${i.id} (${i.sequence}) waits for nothing`)
    }
  }

  find(guarantee: Guarantee, what: string): void {
    this.findings.push({ guarantee, what, at_ms: this.at_ms })
  }

  count(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1)
  }

  // What the companion saw

  #see(input: Input): void {
    if (input.kind === 'context' && (!input.retained || this.#map === undefined)) {
      if (input.map !== this.#map) this.#mapChanges++
      this.#map = input.map
    }
    if (input.kind !== 'telemetry') return
    const { datagram } = input
    if (datagram[7] === 77) this.#answer(datagram)
    // Nothing counts before the autopilot's first heartbeat has named it.
    if (datagram[7] === 0 && datagram[8] === 0 && datagram[9] === 0) this.#heard = true
    if (!this.#heard) return
    if (input.dropped) return
    if (messageOf(datagram) === POSITION_TARGET && [...this.#live].some((i) => i.engaged)) this.count('target reported')
    this.#sight.apply(datagram, input.received_ms)
    const { mode } = this.#sight
    if (mode?.received_ms !== input.received_ms) return
    for (const debt of this.#debts) {
      // Shown: by a report that came clearly after the frame had left, and before the next of the chain followed.
      const followed = FOLLOWS[mode.mode] !== undefined && this.at_ms - debt.since_ms > FOLLOWED_MS
      const shown = mode.mode === mode.intended && debt.last === mode.mode && debt.sent_ms + 350 < mode.received_ms
      if (shown && !followed) debt.names.length = 0
    }
    this.#debts = this.#debts.filter((d) => d.names.length > 0)
    if (this.#resumed !== undefined && mode.mode !== this.#resumed) this.#resumed = undefined
  }

  /** A mode, while armed, that nothing of ours explains by any reading of the protocol. */
  #visibleTakeover(): string | undefined {
    const { mode, armed } = this.#sight
    if (mode === undefined || !armed || this.at_ms - mode.received_ms > this.#maxAge_ms.get('mode')!) return undefined
    for (const i of this.#live) {
      if (i.is.kind !== Kind.setpoint) continue
      if (i.engaged && mode.mode !== 'OFFBOARD') return `${mode.mode} in the flight of ${i.id}`
      if (i.commanded && mode.mode === 'OFFBOARD' && mode.intended === 'OFFBOARD') i.engaged = true
    }
    if (mode.mode === 'HOLD' || this.#ours.has(mode.mode)) return undefined
    if (mode.mode === this.#resumed || mode.mode === this.#acceptedMode) return undefined
    if (this.#debts.some((d) => d.names.includes(mode.mode))) return undefined // it is what was asked for
    return mode.mode
  }

  // What it published

  #hear({ topic, value }: Publication, input: Input, renewed: string | undefined): void {
    const [kind, agent = ''] = topic.split('/')
    const said = value as Said
    switch (kind) {
      case 'status':
        if (said.session !== this.#session) this.#begin(said.session, renewed, input)
        break
      case 'control':
        if (input.kind === 'start') this.#judgeMemory(said)
        // It may be stopped before it hears, and says, that the disk has not taken it.
        else if (this.#full_ms !== undefined) this.#unsaved = true
        this.#revoked = new Set(said.revoked)
        if (this.#pilotControl && !said.pilot_control) this.#resume()
        else if (said.pilot_control) this.#resumed = undefined
        if (this.#paused && !said.paused) this.#resume()
        // Also where there was nothing to lift: whoever resumes accepts the mode that is there.
        if (!said.pilot_control && input.kind === 'operate' && input.verb === 'resume' && this.#isNew(input)) {
          this.#resume()
        }
        this.#n = said.n
        this.#controls.set(
          said.n,
          JSON.stringify([said.paused, said.pilot_control, said.revoked, said.uncertain, this.#orders]),
        )
        // In an alarm nobody else has it: what is owed is owed.
        if (!said.pilot_control) this.#alarmed = false
        else if (!this.#alarmed) this.#debts = []
        this.#pilotControl = said.pilot_control
        this.#paused = said.paused
        this.#uncertain = new Set(said.uncertain)
        break
      case 'notice':
        if (said.kind === 'alarm') this.#alarm(said.text)
        if (said.kind === 'journal') this.#unsaved = true
        // It says so itself: no frame has left.
        if (/^contingency \w+ not shown after 0 frames/.test(said.text)) this.#giveUp()
        break
      case 'snapshot':
        this.#newest = Number(String(said.snapshot).split('-')[1])
        this.#mapAt.set(said.snapshot, this.#mapChanges)
        break
      case 'verdict':
        this.#verdict(agent, said, input)
        break
      case 'outcome':
        this.#outcome(said, input)
        break
      case 'obligation':
        this.#obligation(said)
        break
    }
  }

  /** Whoever resumes accepts the mode that is shown. */
  #resume(): void {
    this.#resumed = this.#sight.mode?.mode ?? 'HOLD'
    this.#acceptedMode = this.#resumed
  }

  /** What the operator and the pilot hold outlives the process (PROTOCOL 10, 11), but for what it died of telling. */
  #judgeMemory(said: Said): void {
    const ordered = this.#dying === 'operate'
    if (this.#unsaved) return this.#remember(said)
    const untold = this.#dying !== undefined
    if (said.paused !== this.#paused && !ordered) this.find('G5', 'pause was forgotten in a restart')
    if (said.pilot_control !== this.#pilotControl && !(ordered || (untold && said.pilot_control))) {
      this.find('G5', 'pilot control was forgotten in a restart')
    }
    const restored = [...this.#revoked].some((agent) => !said.revoked.includes(agent))
    if (restored && !ordered) this.find('G5', 'a revocation was forgotten in a restart')
    this.#remember(said)
  }

  /** Two speak as one, or another speaks in the silence of ours; the link alone makes no second vehicle. */
  #alarm(text: string): void {
    if (!this.#pilotControl) this.#alarmed = true
    // A place that leaps on the wire, among frames that come late, is what two vehicles look like.
    const leapt = this.at_ms - this.#misplaced_ms < MISPLACED_MS && /in two places$/.test(text)
    if (this.#boot <= 1 && !this.#hazards.has('strangers') && !leapt)
      this.find('G5', `an alarm, and there is one vehicle: ${text}`)
  }

  /** Held back by the mode guard ten times over, with the vehicle heard, is what PROTOCOL 8 calls recorded as not sent. */
  #giveUp(): void {
    const heard = this.at_ms - (this.#sight.mode?.received_ms ?? Number.NEGATIVE_INFINITY) <= 1000
    for (const d of this.#debts) {
      // Ten tries take two seconds.
      const permitted_ms = d.permittedSince_ms === undefined ? 0 : this.at_ms - d.permittedSince_ms
      if (heard && permitted_ms < 2000) d.owed = false
      else d.givenUp ||= d.owed
    }
  }

  #begin(session: string, renewed: string | undefined, input: Input): void {
    if (this.#past.has(session)) this.find('G3', `session ${session} came back`)
    if (this.#session !== '') {
      this.#past.add(this.#session)
      for (const i of this.#sequences.values()) {
        if (isLive(i)) this.find('G5', `session ended and ${i.id} (${i.sequence}) got no last outcome`)
      }
    }
    const follow = renewed === 'trap' || renewed === 'restart'
    // The new session begins with what is owed afresh.
    let debts = follow ? this.#debts.map((d) => ({ ...d, sends: new Map<string, number>() })) : []
    if (follow) {
      // The first frame may have left before the crossing could be said.
      for (const i of this.#cutOff) {
        if (this.#inherited.has(i)) continue
        this.#inherited.add(i)
        const untold = !i.crossed && i.phase === 'failed'
        // It has taken its resource and stands for what would have followed.
        if (untold) debts = debts.filter((d) => d.resource === undefined || d.resource !== i.is.uses)
        if (i.crossed || untold) debts.push(this.#owes(i, SESSION_ENDED))
      }
      // It may just have been done when the core trapped: then a flight is stopped, and a command needs nothing.
      for (const i of this.#live) {
        const debt = this.#owes(i, SESSION_ENDED)
        debts.push({ ...debt, owed: debt.owed && i.is.kind === Kind.setpoint })
      }
      // A HOLD may have been under way, or about to be, when the core trapped: the one of an undo, or after a landing.
      debts.push(this.#debt('inherited', ['HOLD'], undefined, false))
    }
    // One that has been up for longer than an effect lasted may be the one that flew it (PROTOCOL 11), and no other.
    if (renewed === 'reboot') {
      const live = [...this.#live, ...this.#cutOff].map((i) => this.#owes(i, SESSION_ENDED))
      const all = [...this.#debts, ...live]
      const on_ms = switchedOn_ms(input) - UP_SLACK_MS
      const [theirs, gone] = [all.filter((d) => d.begun_ms >= on_ms), all.filter((d) => d.begun_ms < on_ms)]
      debts = theirs.map((d) => ({ ...d, sends: new Map<string, number>(), owed: false }))
      if (gone.length > 0) this.count('gone with a boot')
      // The HOLD after a landing may have been begun since it was switched on.
      if (this.#landingSent) debts.push(this.#debt('inherited', ['HOLD'], undefined, false))
    }
    const [ours, resumed, accepted] = [this.#ours, this.#resumed, this.#acceptedMode]
    this.#forget(session)
    // The same process and the same vehicle: what it had set is still its own, what the operator had accepted is accepted.
    if (follow) [this.#ours, this.#resumed, this.#acceptedMode] = [ours, resumed, accepted]
    this.#debts = debts.filter((d) => d.names.length > 0)
    this.#orphanJudged = renewed === 'reboot'
    this.count(`session ${renewed ?? 'started'}`)
  }

  #forget(session: string): void {
    this.#session = session
    this.#sight = this.#newSight()
    this.#sequences = new Map()
    this.#idle = new Map()
    this.#live = new Set()
    this.#plans = new Map()
    this.#generations = new Map()
    this.#accepted = new Map()
    this.#lastSequence = 0
    this.#obligations = new Map()
    this.#newest = 0
    this.#map = undefined
    this.#mapChanges = 0
    this.#mapAt = new Map()
    this.#ours = new Set(['OFFBOARD'])
    this.#resumed = undefined
    this.#acceptedMode = undefined
    this.#landingSent = false
    this.#orphanJudged = false
  }

  #verdict(agent: string, said: Said, input: Input): void {
    if (input.kind !== 'response') return
    const digest = createHash('sha256').update(input.bytes).digest('hex').slice(0, 16)
    if (digest !== said.digest || agent !== input.agent) return this.find('G3', 'a verdict on bytes that nobody sent')
    const text = JSON.stringify(said)
    const before = this.#accepted.get(`${agent} ${digest}`)
    if (!said.accepted) {
      this.count(`rejected ${said.reason}`)
      // What the hostile one wrote comes in another's name as well, and is more than anybody may have.
      const few = said.reason === 'no_capacity' && (decode(input.bytes) as Response).components.length <= FEW
      if (few && agent !== 'hostile') this.find('G5', `${agent} has no room for what another took`)
      const forgotten = before !== undefined && /_not_fresh$/.test(said.reason) && this.#accepted.size < PACKETS_KEPT
      if (forgotten) this.find('G3', `an accepted packet of ${agent} came again and is ${said.reason}`)
      return
    }
    if (before !== undefined) {
      if (before !== text) this.find('G3', `the same packet of ${agent} got another verdict`)
      return
    }
    this.#accepted.set(`${agent} ${digest}`, text)
    if (this.#revoked.has(agent)) this.find('G5', `a packet of ${agent} was accepted and the agent is revoked`)
    const response = decode(input.bytes) as Response
    if (!response.snapshot.startsWith(`${this.#session}-`)) {
      this.find('G3', `${agent}/${response.response} cites ${response.snapshot}, not of this session`)
    }
    if (response.generation <= (this.#generations.get(agent) ?? 0)) {
      this.find('G4', `${agent}/${response.response} was accepted with an old generation ${response.generation}`)
    }
    this.#generations.set(agent, response.generation)
    this.count(response.recovers == null ? 'plan' : 'recovery')

    const recovers = response.recovers != null
    const name = said.plan as string
    const plan = this.#plans.get(name) ?? { members: new Map<string, Watched>(), over: false }
    if (recovers && (!this.#plans.has(name) || plan.over)) this.find('G4', `${name} was recovered and is not live`)
    this.#plans.set(name, plan)
    const decisions = said.components as { id: string; decision: string; sequence?: number }[]
    for (const { reason } of said.components as Said[]) if (reason !== undefined) this.count(`withheld ${reason}`)
    const made = new Map<string, Watched>()
    const open = [...this.#obligations.values()].filter((o) => o.plan === name)
    const mine = new Set(response.components.map((c) => c.id))
    // Twice: a component may name one that stands behind it.
    const retained = response.components.filter((_, i) => decisions[i]!.decision === 'retained')
    const sequenceOf = new Map(decisions.map((d) => [d.id, d.sequence ?? 0]))
    const make = (c: (typeof retained)[number], path: readonly string[]): Watched => {
      const done = made.get(c.id)
      if (done !== undefined) return done
      const is = this.#catalog.types.find((t) => t.name === c.type)!
      const requires: Watched['requires'][number][] = []
      for (const id of c.requires ?? []) {
        const other = retained.find((r) => r.id === id)
        if (path.includes(id)) {
          this.find('G1', `${c.id} was retained on a cycle through ${id}`)
          continue
        }
        const on = mine.has(id) ? other && make(other, [...path, c.id]) : plan.members.get(id)
        if (on === undefined || (!isLive(on) && !isComplete(on))) {
          this.find('G1', `${c.id} was retained without its prerequisite ${id}`)
          continue
        }
        const allowed = is.mayRequire.find((r) => this.#catalog.types[r.type]!.name === on.is.name)
        if (allowed === undefined) this.find('G1', `${c.id} of ${c.type} was retained on ${id} of ${on.is.name}`)
        else requires.push({ on, phase: PhaseWords[allowed.phase]! })
      }
      for (const type of is.requires) {
        if (requires.some((r) => r.on.is === this.#catalog.types[type])) continue
        this.find('G1', `${c.id} was retained and names no ${this.#catalog.types[type]!.name}`)
      }
      const watched = this.#watch(name, response, c, { agent, is, sequence: sequenceOf.get(c.id)!, requires })
      made.set(c.id, watched)
      return watched
    }
    for (const c of retained) {
      const watched = make(c, [])
      if (recovers && isMoving(watched.is)) {
        const covering = open.filter((o) => o.scope.some((m) => m.id === c.id && m.type === c.type))
        const cited = Number(response.snapshot.split('-')[1])
        if (covering.length === 0) this.find('G4', `${c.id} of ${c.type} came back outside of any open obligation`)
        else if (covering.every((o) => cited <= o.newest)) this.find('G4', `${c.id} came back on evidence ${cited}`)
      }
    }
    const ordered = retained.map((c) => made.get(c.id)!)
    for (const watched of ordered) {
      if (watched.sequence <= this.#lastSequence) this.find('G4', `${watched.id} got an old sequence`)
      this.#lastSequence = Math.max(this.#lastSequence, watched.sequence)
      this.#sequences.set(watched.sequence, watched)
      plan.members.set(watched.id, watched)
    }
    if (recovers) return
    for (const [other, p] of this.#plans) if (other !== name && other.startsWith(`${agent}/`)) p.over = true
    for (const [id, o] of this.#obligations) {
      if (o.plan !== name && o.plan.startsWith(`${agent}/`)) this.#obligations.delete(id)
    }
  }

  #watch(
    plan: string,
    { generation, snapshot }: Response,
    { id, payload }: Response['components'][number],
    known: Pick<Watched, 'agent' | 'is' | 'sequence' | 'requires'>,
  ): Watched {
    return {
      ...known,
      plan,
      id,
      payload,
      generation,
      mapAt: this.#mapAt.get(snapshot) ?? Number.NaN,
      phase: 'retained',
      crossed: false,
      crossed_ms: undefined,
      frames: 0,
      first: undefined,
      home_m: Number.NaN,
      last_ms: Number.NEGATIVE_INFINITY,
      commanded: false,
      engaged: false,
      armed: false,
      answered: false,
      sent: false,
      since_ms: this.at_ms,
      asked: new Set(),
    }
  }

  #outcome(said: Said, input: Input): void {
    const { sequence, phase, reason } = said as unknown as { sequence: number; phase: string; reason?: string }
    const i = this.#sequences.get(sequence)
    if (i === undefined || i.id !== said.component || i.plan !== said.plan || i.generation !== said.generation) {
      return this.find('G3', `an outcome of ${said.component} (${sequence}) that no verdict retained`)
    }
    if (ENDS.has(i.phase)) return this.find('G3', `${i.id} (${sequence}) was ${i.phase} and is now ${phase}`)
    const ended = ENDS.has(phase)
    if (!ended && RANK[phase]! < RANK[i.phase]!) this.find('G3', `${i.id} (${sequence}) went back from ${i.phase}`)
    const crosses = (phase === 'dispatched' || phase === 'released') && phase !== i.phase
    const approved = input.kind === 'operate' && input.verb === 'approve'
    if (i.is.kind === Kind.request && phase === 'completed' && !approved)
      this.find('G1', `${i.id} was approved by nobody`)
    if (crosses && i.crossed) this.find('G3', `${i.id} (${sequence}) crossed twice`)
    i.phase = phase
    if (crosses) this.#cross(i)
    if (crosses && this.#full_ms !== undefined) this.count('crossed beside a full disk')
    if (isIrreversible(i) && (ended || phase === 'acknowledged' || phase === 'completed')) this.#ended.push(i)
    // Its intent is on the disk or settled: what the next process would find uncertain has changed.
    if (isIrreversible(i)) this.#orders++
    if (reason === 'taken_over') this.#judgeTaken(i, input)
    if (ended) this.count(`${phase} ${reason}`)
    if (!ended && phase !== 'completed') return
    if (phase === 'completed') this.count(`completed ${i.is.name}`)
    if (reason === 'session_changed') this.#cutOff.push(i)
    const flew = this.#live.delete(i)
    if (!flew) return
    if (reason === 'session_changed' || reason === 'taken_over') return
    if (i.is.kind === Kind.setpoint && !i.commanded && !i.engaged) return
    this.#debts.push(this.#owes(i, `${phase} ${reason}`))
  }

  /** Nobody else gives a target, in any schedule: one that is reported in Offboard is ours. */
  #judgeTaken(i: Watched, input: Input): void {
    if (input.kind !== 'telemetry' || messageOf(input.datagram) !== POSITION_TARGET) return
    const { mode } = this.#sight
    const isOffboard = mode?.mode === 'OFFBOARD' && mode.intended === 'OFFBOARD'
    const isDoubted = this.at_ms - this.#asked_ms <= DOUBT_MS
    if (isOffboard && !isDoubted) this.find('G6', `${i.id} (${i.sequence}) was taken over for its own target`)
  }

  #cross(i: Watched): void {
    i.crossed = true
    i.crossed_ms = this.at_ms
    this.count(`crossed ${i.is.name}`)
    for (const { on, phase } of i.requires) {
      if (!isReached(on, phase)) {
        this.find('G1', `${i.id} crossed while ${on.id} (${on.sequence}) is ${on.phase}, not ${phase}`)
      }
    }
    if (i.is.kind === Kind.request) {
      const others = [...this.#sequences.values()].filter((o) => o.requires.some((r) => r.on === i))
      i.asked = new Set(others.filter((o) => o.generation === i.generation))
    }
    const uncovered = i.requires.find(({ on }) => on.is.kind === Kind.request && !on.asked.has(i))
    if (uncovered !== undefined) this.find('G2', `${i.id} (${i.sequence}) crossed on a consent that was for another`)
    if (this.#plans.get(i.plan)?.over) this.find('G3', `${i.id} of the superseded ${i.plan} crossed`)
    if (!isMoving(i.is)) return
    if (this.#paused && i.is.kind !== Kind.handoff) this.find('G5', `${i.id} crossed while paused`)
    for (const other of this.#live) {
      if (other.is.uses === i.is.uses && i.is.uses !== undefined) {
        this.find('G5', `${i.id} (${i.sequence}) took ${i.is.uses} from ${other.id} (${other.sequence})`)
      }
    }
    if (i.is.name === 'goto' || i.is.name === 'velocity') {
      const flying = this.#sight.armed && this.#sight.landed?.word === 'IN_AIR'
      if (!flying) this.find('G5', `${i.id} crossed and the vehicle does not fly`)
      const { mode } = this.#sight
      i.engaged = mode?.mode === 'OFFBOARD' && mode.intended === 'OFFBOARD'
    }
    // What changes no mode leaves the one that was accepted as it is.
    if (!isIrreversible(i)) this.#acceptedMode = undefined
    this.#live.add(i)
    // Whoever takes the resource stands for what would have followed, or it has been shown.
    this.#debts = this.#debts.filter((d) => d.resource !== i.is.uses)
  }

  #obligation(said: Said): void {
    if (said.closed !== undefined) {
      this.#obligations.delete(said.closed)
      return
    }
    const { id, scope, plan, opened } = said.obligation
    const before = this.#obligations.get(id)
    const newest = before?.opened === opened ? before!.newest : this.#newest // it has only grown
    this.#obligations.set(id, { scope, plan, opened, newest })
    const agent = plan.split('/')[0]
    const theirs = [...this.#obligations.values()].filter((o) => o.plan.split('/')[0] === agent)
    if (theirs.length > OBLIGATIONS_MAX) this.find('G5', `${agent} has ${theirs.length} open obligations`)
  }

  // What went out

  #judgeFrame(frame: Uint8Array, silent: boolean, liveBefore: ReadonlySet<Watched>): void {
    const message = messageOf(frame)
    const bytes = new Uint8Array(64)
    bytes.set(frame.subarray(10, 10 + frame[1]!))
    const payload = new DataView(bytes.buffer)
    this.#judgeAddress(message, frame, bytes)
    if (message === 0 || message === 253 || message === 20 || message === 111) return
    if (message === 84 || message === 86) return this.#judgeSetpoint(message, payload, bytes, silent, liveBefore)
    if (message !== 76) return this.find('G2', `message ${message} left`)
    const command = payload.getUint16(28, true)
    if (command === 512) this.#asked()
    if (command === 511 || command === 512) return
    const arms = payload.getFloat32(0, true) === 1
    const name =
      command === 176
        ? modeName(payload.getFloat32(4, true), payload.getFloat32(8, true))
        : command === 22
          ? 'takeoff'
          : command === 400
            ? arms
              ? 'arm'
              : 'disarm'
            : `command ${command}`
    if (silent) this.find('G5', `${name} left while the pilot has the vehicle`)
    const who = this.#explain(name, payload, liveBefore)
    if (who === undefined) {
      const again = [...this.#live].find((i) => COMMANDS[i.is.name]?.slice(0, i.frames).includes(name))
      if (again === undefined) this.find('G5', `${name} left and nothing explains it`)
      else this.find('G3', `${name} of ${again.id} (${again.sequence}) left twice`)
    }
    if (command === DO_GRIPPER) return this.#judgeRelease(payload, liveBefore)
    if (command === 400) return
    this.#guard(name, liveBefore)
    const mode = name === 'takeoff' ? 'TAKEOFF' : name
    this.#ours.add(mode)
    if (mode === 'LAND' || mode === 'RETURN') this.#landingSent = true
  }

  #asked(): void {
    if (this.at_ms - this.#asked_ms > ASK_MS) this.#askedSince_ms = this.at_ms
    this.#asked_ms = this.at_ms
  }

  /** Nothing is for anybody but the vehicle (PROTOCOL 11). */
  #judgeAddress(message: number, frame: Uint8Array, payload: Uint8Array): void {
    const at = TARGETS[message]
    if (at === undefined) return
    const [system, component] = [payload[at]!, payload[at + 1]!]
    if (system === VEHICLE && component === 1 && frame[5] === VEHICLE) return
    this.find('G5', `message ${message} left as ${frame[5]}/${frame[6]} for ${system}/${component}`)
  }

  // What cannot be undone (PROTOCOL 8)

  /** A COMMAND_ACK: anything but *in progress* is the last word. */
  #answer(datagram: Uint8Array): void {
    const payload = new DataView(new ArrayBuffer(16))
    new Uint8Array(payload.buffer).set(datagram.subarray(10, 10 + Math.min(datagram[1]!, 16)))
    if (payload.getUint16(0, true) !== DO_GRIPPER || payload.getUint8(2) === IN_PROGRESS) return
    for (const i of this.#live) if (isIrreversible(i) && i.frames > 0) i.answered = true
  }

  /** The operator says of a type that a person has looked; whether it is heard is judged by what is done. */
  #clear(input: Input): void {
    if (input.kind !== 'operate' || input.verb !== 'clear') return
    if (this.#isNew(input)) this.#doubtful.delete((decode(input.bytes) as { type: string }).type)
  }

  /** An order of somebody who has seen the newest `control`. */
  #isNew({ bytes, retained }: Extract<Input, { kind: 'operate' }>): boolean {
    const { session, after } = decode(bytes) as { session: string; after: number }
    return !retained && session === this.#session && after === this.#n
  }

  #judgeRelease(payload: DataView, liveBefore: ReadonlySet<Watched>): void {
    if (payload.getFloat32(0, true) !== 1) this.find('G2', 'the gripper got something else than to release')
    const all = [...new Set([...liveBefore, ...this.#live, ...this.#cutOff])]
    const i = all.find((o) => isIrreversible(o) && o.frames === 1 && !o.sent)
    if (i === undefined) return
    i.sent = true
    this.count(`sent ${i.is.name}`)
    if (this.#doubtful.has(i.is.name) || this.#uncertain.has(i.is.name)) {
      this.find('G3', `${i.id} (${i.sequence}) left, and nobody knows whether the ${i.is.name} before it happened`)
    }
    // What has ended in this very turn may have ended behind the frame.
    const wasUnderWay = (o: Watched): boolean => !ENDS.has(o.phase) || liveBefore.has(o)
    const other = all.find((o) => o !== i && o.is === i.is && o.sent && !o.answered && wasUnderWay(o))
    if (other !== undefined) this.find('G3', `${i.id} (${i.sequence}) left before ${other.id} was answered`)
    if (this.#full_ms !== undefined && i.since_ms >= this.#full_ms) {
      this.find('G3', `${i.id} (${i.sequence}) left, and no disk has taken its intent`)
    }
    const sight = this.#sight
    this.#judgePosition(i)
    if (sight.landed?.word !== 'IN_AIR' || !(sight.value('position.alt') <= 20))
      this.find('G5', `${i.id} left ${sight.landed?.word} at ${sight.value('position.alt')} m`)
    for (const axis of ['north', 'east', 'down']) {
      if (Math.abs(sight.value(`velocity.${axis}`)) > 0.7) this.find('G5', `${i.id} left in motion`)
    }
  }

  /** What was told of the irreversible is what was seen of it, and `control` says so. */
  #judgeDoubt(): void {
    for (const i of this.#ended) {
      const word = `${i.id} (${i.sequence})`
      const unanswered = i.frames > 0 && !i.answered
      if (unanswered && i.phase !== 'uncertain') this.find('G3', `${word} is ${i.phase}, and nobody has answered`)
      if (i.frames === 0 && i.phase === 'uncertain') this.find('G3', `${word} is uncertain and has never left`)
      if (i.phase === 'uncertain') this.#doubtful.add(i.is.name)
    }
    for (const type of this.#doubtful) {
      if (!this.#uncertain.has(type))
        this.find('G3', `nobody knows whether the last ${type} happened, and nobody says so`)
    }
  }

  /** What is on the disk of the irreversible outlives the process, whatever else has not got there. */
  #remember(said: Said): void {
    this.#unsaved = false
    for (const _ of said.uncertain) this.count('found uncertain')
  }

  /** The mode guard of PROTOCOL 8, by what was delivered. */
  #guard(name: string, liveBefore: ReadonlySet<Watched>): void {
    const parked = this.#sight.isParked(this.at_ms, this.#maxAge_ms.get('landed')!, this.#maxAge_ms.get('armed')!)
    if (!parked && this.#isBehindStall()) {
      const ago_ms = Math.round(this.at_ms - this.#stalled_ms)
      return this.find('G5', `${name} left ${ago_ms} ms after a stall, and the mode behind it has not been heard`)
    }
    if (!this.#permits(liveBefore)) {
      const { mode } = this.#sight
      const age_ms = mode && Math.round(this.at_ms - mode.received_ms)
      this.find('G5', `${name} left against the mode guard: ${mode?.mode}/${mode?.intended} ${age_ms} ms old`)
    }
  }

  /** No mode has been heard that came in behind the last stall: what is known of it may be what lay in the kernel. */
  #isBehindStall(): boolean {
    return this.#modeArrived_ms < this.#stalled_ms
  }

  /** `surely`: it must be sent. What was heard before a stall does not say that it stands there. */
  #permits(live: ReadonlySet<Watched>, surely = false): boolean {
    // What was heard before an arm frame of ours does not say that it stands there; unless that frame was refused.
    const heardBefore = this.at_ms - this.#sight.age_ms('armed', this.at_ms) <= this.#armed_ms
    const arming = [...this.#live].some((i) => i.armed) || (heardBefore && (surely || [...live].some((i) => i.armed)))
    const landedMax_ms = this.#maxAge_ms.get('landed')!
    const parked = this.#sight.isParked(this.at_ms, landedMax_ms, this.#maxAge_ms.get('armed')!)
    const isBehind = (name: string): boolean => this.at_ms - this.#sight.age_ms(name, this.at_ms) > this.#stalled_ms
    if (!arming && parked && (!surely || (isBehind('armed') && isBehind('landed')))) return true
    if (this.#isBehindStall()) return false
    const mode = this.#sight.mode?.mode ?? ''
    return this.#sight.isGuarded(this.at_ms) && (mode === 'HOLD' || this.#ours.has(mode))
  }

  #explain(name: string, payload: DataView, liveBefore: ReadonlySet<Watched>): string | undefined {
    for (const i of new Set([...liveBefore, ...this.#live, ...this.#cutOff])) {
      if (i.is.kind === Kind.setpoint) {
        if (name !== 'OFFBOARD' || i.frames < 3) continue
        i.commanded = true
        return i.id
      }
      if (COMMANDS[i.is.name]?.[i.frames] !== name) continue
      i.frames++
      if (name === 'arm') i.armed = true
      if (name === 'arm') this.#armed_ms = this.at_ms
      // From its first frame on, all that a take-off goes through is its own.
      if (i.is.name === 'takeoff') this.#ours.add('TAKEOFF')
      if (name === 'takeoff') {
        const asked = Math.fround((i.payload.alt ?? Number.NaN) + this.#sight.value('home.amsl'))
        const got = payload.getFloat32(24, true)
        if (Math.abs(asked - got) > 1.5) this.find('G2', `take-off to ${got} m, asked for ${asked}`)
      }
      return i.id
    }
    const debts = [...this.#debts].sort((a, b) => Number(b.owed) - Number(a.owed) || b.since_ms - a.since_ms)
    const follows = (n: string): boolean => FOLLOWS[n] === name || FOLLOWS[FOLLOWS[n] ?? ''] === name
    // What was asked for by name comes before what may follow on something else.
    const named = debts.filter((d) => d.names.includes(name))
    const after = debts.filter((d) => !d.names.includes(name) && d.names.some(follows))
    for (const debt of [...named, ...after]) {
      const sends = (debt.sends.get(name) ?? 0) + 1
      if (sends > SENDS_MAX) continue
      if (!debt.names.includes(name)) debt.names.push(name)
      debt.sends.set(name, sends)
      debt.sent_ms = this.at_ms
      debt.last = name
      debt.owed = false
      this.count(`contingency ${name}`)
      return debt.why
    }
    // The HOLD after a landing; what repeats it is of the same, also where an old report says that it is armed.
    if (name !== 'HOLD' || !this.#landingSent || this.#sight.value('armed') !== 0) return undefined
    const rest = this.#debt('landed', ['HOLD'], undefined, false)
    rest.sends.set('HOLD', 1)
    rest.sent_ms = this.at_ms
    rest.last = 'HOLD'
    this.#debts.push(rest)
    return rest.why
  }

  #judgeSetpoint(
    message: number,
    payload: DataView,
    bytes: Uint8Array,
    silent: boolean,
    liveBefore: ReadonlySet<Watched>,
  ): void {
    bytes.fill(0, 0, 4) // the time stamp
    const candidates = [...new Set([...this.#live, ...liveBefore, ...this.#cutOff])].filter(
      (i) => i.is.kind === Kind.setpoint,
    )
    const i = candidates.find((c) => this.#isOf(c, message, payload))
    if (i === undefined) {
      const live = candidates.map((c) => `${c.id} (${c.sequence})`).join(', ')
      return this.find(candidates.length > 0 ? 'G2' : 'G5', `a setpoint left that is none of: ${live || 'no lease'}`)
    }
    if (i.first === undefined) {
      i.first = bytes.slice()
      i.home_m = this.#sight.value('home.amsl')
    } else if (i.first.some((b, at) => b !== bytes[at])) this.find('G2', `a frame of ${i.id} differs from its first`)
    if (silent || this.#alarmed) this.find('G5', `a setpoint of ${i.id} left while the pilot has the vehicle`)
    if (this.at_ms - i.last_ms < 45) this.find('G2', `two frames of ${i.id} within 45 ms`)
    i.frames++
    i.last_ms = this.at_ms
    this.#judgeWorld(i)
  }

  /** Whether it decodes to this component's payload. */
  #isOf(i: Watched, message: number, payload: DataView): boolean {
    const p = i.payload
    const first = i.first && new DataView(i.first.buffer)
    if (i.is.name === 'goto') {
      const amsl = Math.fround(p.alt! + this.#sight.value('home.amsl'))
      return (
        message === 86 &&
        payload.getInt32(4, true) === Math.round(p.lat! * 1e7) &&
        payload.getInt32(8, true) === Math.round(p.lon! * 1e7) &&
        payload.getFloat32(12, true) === (first === undefined ? amsl : first.getFloat32(12, true)) &&
        payload.getUint16(48, true) === 0x0df8 &&
        payload.getUint8(52) === 5
      )
    }
    const down = Math.fround(this.#sight.value('local.down'))
    return (
      message === 84 &&
      payload.getFloat32(16, true) === Math.fround(p.north!) &&
      payload.getFloat32(20, true) === Math.fround(p.east!) &&
      payload.getFloat32(12, true) === (first === undefined ? down : first.getFloat32(12, true)) &&
      payload.getUint16(48, true) === 0x0de3 &&
      payload.getUint8(52) === 1
    )
  }

  /** Nothing that the frame rests on was unknown or stale by what was delivered, and the position was good. */
  #judgePosition(i: Watched): void {
    const { support, gate, tolerance } = this.#catalog.image.types[this.#catalog.types.indexOf(i.is)]!
    const { now } = reads(...[...support, ...gate].map((c) => c.expression))
    for (const field of [...now, ...tolerance.map((t) => t.field)]) this.#fresh(i, this.#catalog.fields[field]!.name)
    for (const name of POSITIONED) this.#fresh(i, name)
    const sight = this.#sight
    if (!(sight.value('gps.fix') >= 3)) this.find('G5', `a frame of ${i.id} left without a fix`)
    if (sight.value('estimator.ok') !== 1) this.find('G5', `a frame of ${i.id} left on a bad estimate`)
    if (!(sight.value('position.accuracy') <= 2)) this.find('G5', `a frame of ${i.id} left on a vague position`)
  }

  /** G5: what a setpoint rests on was so, and has not changed, by what was delivered. */
  #judgeWorld(i: Watched): void {
    this.#judgePosition(i)
    const sight = this.#sight
    const least = i.is.name === 'goto' ? 25 : 30
    if (!(sight.value('battery.remaining') >= least)) this.find('G5', `a frame of ${i.id} left on a low battery`)
    if (sight.value('armed') !== 1 || sight.landed?.word !== 'IN_AIR')
      this.find('G5', `a frame of ${i.id} left and the vehicle does not fly`)
    const height_m = sight.value('position.alt')
    const [lowest_m, reach_m] = i.is.name === 'goto' ? [2.5, 300] : [4, 270]
    if (!(height_m >= lowest_m && (i.is.name === 'goto' || height_m <= 60)))
      this.find('G5', `a frame of ${i.id} left at ${height_m} m`)
    const home = { lat: sight.value('home.lat'), lon: sight.value('home.lon') }
    const away_m = metres(home, { lat: sight.value('position.lat'), lon: sight.value('position.lon') })
    if (!(away_m <= reach_m + SLACK_M)) this.find('G5', `a frame of ${i.id} left ${Math.round(away_m)} m from home`)
    if (i.is.name === 'goto') {
      const target_m = metres(home, { lat: i.payload.lat!, lon: i.payload.lon! })
      if (!(target_m <= 280 + SLACK_M)) this.find('G5', `${i.id} flies to ${Math.round(target_m)} m from home`)
      const moved_m = Math.abs(sight.value('home.amsl') - i.home_m)
      if (!(moved_m <= 1 + SLACK_M)) this.find('G5', `a frame of ${i.id} left and home has moved by ${moved_m} m`)
    }
    if (this.#paused) this.find('G5', `a frame of ${i.id} left while paused`)
    if (i.is.name === 'goto' && i.mapAt !== this.#mapChanges) this.find('G5', `a frame of ${i.id} left on an old map`)
  }

  #fresh(i: Watched, name: string): void {
    const age_ms = this.#sight.age_ms(name, this.at_ms)
    if (age_ms <= this.#maxAge_ms.get(name)! + 1e-6) return
    this.find('G5', `a frame of ${i.id} left while ${name} was ${Math.round(age_ms)} ms old`)
  }

  // What must follow an end

  #owes(i: Watched, why: string): Debt {
    const names: string[] = []
    const { effect } = i.is
    const add = (name: string): unknown => (name !== 'none' && !names.includes(word(name)) ? names.push(word(name)) : 0)
    if ('otherwise' in effect) {
      if (why.startsWith('completed')) add(effect.then)
      else {
        if (i.is.kind !== Kind.setpoint) for (const n of [...effect.undo.ground, ...effect.undo.air]) add(n)
        add(effect.otherwise)
      }
    }
    // A setpoint that only may have been engaged, by whoever was before it, need not be stopped.
    const sure = i.is.kind !== Kind.setpoint || i.commanded
    const flown = 'leads' in effect ? effect.leads : []
    const rest = { flown, begun_ms: i.crossed_ms ?? this.at_ms }
    return this.#debt(`${i.id} (${i.sequence}) ${why}`, names, i.is.uses, names.length > 0 && sure, rest)
  }

  #debt(
    why: string,
    names: string[],
    resource: string | undefined,
    owed: boolean,
    { flown, begun_ms }: Pick<Debt, 'flown' | 'begun_ms'> = { flown: [], begun_ms: Number.POSITIVE_INFINITY },
  ): Debt {
    const [sends, sent_ms] = [new Map<string, number>(), Number.POSITIVE_INFINITY]
    return {
      why,
      names,
      flown,
      since_ms: this.at_ms,
      begun_ms,
      resource,
      owed,
      sends,
      sent_ms,
      last: undefined,
      permittedSince_ms: undefined,
      givenUp: false,
    }
  }

  #settleDebts(before: ReadonlySet<Debt>, deaf: boolean): void {
    this.#debts = this.#debts.filter((d) => d.names.length > 0)
    for (const debt of this.#debts) {
      if (!debt.owed) continue
      const isDoubted = this.at_ms - Math.max(this.#doubted_ms, this.#askedSince_ms) <= DOUBT_MS
      const permitted = !deaf && !isDoubted && this.#permits(NOBODY, true)
      if (!permitted) debt.permittedSince_ms = undefined
      else debt.permittedSince_ms ??= this.at_ms
      const inherited = debt.why.endsWith(SESSION_ENDED) || debt.why === ORPHAN
      const late =
        inherited || before.has(debt) ? this.at_ms - (debt.permittedSince_ms ?? this.at_ms) > PERMITTED_MS : permitted
      if (!late) continue
      debt.owed = false
      const given = debt.givenUp ? ', given up without a frame' : ''
      this.find('G5', `no contingency of ${debt.names.join(' or ')} after: ${debt.why}${given}`)
    }
  }

  /** A session that finds the vehicle armed and in Offboard (PROTOCOL 11). */
  #judgeOrphan(): void {
    const { mode, armed } = this.#sight
    if (this.#orphanJudged || mode === undefined || !armed) return
    this.#orphanJudged = true
    if (mode.mode !== 'OFFBOARD' || mode.intended !== 'OFFBOARD' || this.#pilotControl || this.#debts.length > 0) return
    // Whoever has resumed in another mode has said that this one is not his: it is doubted, and may be a takeover.
    const isOwn = this.#acceptedMode === undefined || this.#acceptedMode === 'OFFBOARD'
    this.#debts.push(this.#debt(ORPHAN, ['HOLD'], undefined, isOwn))
  }
}

/** Longer than this between two turns is a stall. */
const STALL_MS = 100
/** From a report that nothing explains to the belief, where no other comes; a turn later. */
const DOUBT_MS = 600
/** The mode is asked for each 100 ms as long as it is awaited. */
const ASK_MS = 250
/** It may have been asked for so long before a report that is doubted. */
const ASKED_MS = 150
/** A wrong place, until the last frame that tells of it or of the right one can have come. */
const MISPLACED_MS = 8000
/** Frames of the boot before may come for 3 s, and the new one is believed a second after its first. */
const BOTH_BOOTS_MS = 4500
/** So many components of one response are never all that an agent may have. */
const FEW = 32
const OBLIGATIONS_MAX = 32
const REFUSALS_MAX = 50
const PUBLISHED_MAX = 64 * 1024
const HEARTBEAT = 0
const CURRENT_MODE = 436
const POSITION_TARGET = 87
/** A time since boot has no more digits than ms, and comes a while after it was read. */
const UP_SLACK_MS = 50
/** Messages with a time of their own in them. */
const TIMED = new Set([33, 32, 24, 230, 242])
const TIMED_SINCE_BOOT = new Set([33, 32])
/** Their first field, ms. */
const upTime = (datagram: Uint8Array): number => new DataView(datagram.buffer, datagram.byteOffset).getUint32(10, true)
/** When a vehicle that says for how long it has been up was switched on; without a word of that, at any time. */
const switchedOn_ms = (input: Input): number =>
  input.kind === 'telemetry' && TIMED_SINCE_BOOT.has(messageOf(input.datagram))
    ? input.received_ms - upTime(input.datagram)
    : Number.NEGATIVE_INFINITY
const reportedMode = (datagram: Uint8Array): string => modeName(datagram[12]!, datagram[13]!)
/** The first of target_system and target_component in each message that has them. */
const TARGETS: Readonly<Record<number, number>> = { 76: 30, 84: 50, 86: 50, 20: 2 }
/** The system id of every vehicle that is flown. */
const VEHICLE = 1

/** Between two ways to reckon a distance, m. */
const SLACK_M = 0.01

type LatLon = Readonly<Record<'lat' | 'lon', number>>

/** Along the great circle, m. */
function metres(a: LatLon, b: LatLon): number {
  const rad = Math.PI / 180
  const [north, east] = [Math.sin(((b.lat - a.lat) * rad) / 2), Math.sin(((b.lon - a.lon) * rad) / 2)]
  const chord = north ** 2 + Math.cos(a.lat * rad) * Math.cos(b.lat * rad) * east ** 2
  return 2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(chord)))
}

const SESSION_ENDED = 'session ended'
const ORPHAN = 'found flying in Offboard'
const NOBODY: ReadonlySet<Watched> = new Set()
const word = (contingency: string): string => (contingency === 'disarm' ? contingency : contingency.toUpperCase())
const isMoving = (type: ComponentType): boolean =>
  type.kind === Kind.command || type.kind === Kind.setpoint || type.kind === Kind.handoff
const isIrreversible = ({ is: { effect } }: Watched): boolean => effect.kind === 'command' && effect.irreversible
const isComplete = (i: Watched): boolean =>
  i.phase === 'completed' || (i.phase === 'released' && (i.is.kind === Kind.notice || i.is.kind === Kind.report))
const isReached = (i: Watched, phase: string): boolean =>
  isComplete(i) || (!ENDS.has(i.phase) && RANK[i.phase]! >= RANK[phase]!)
const isLive = (i: Watched): boolean => !ENDS.has(i.phase) && !isComplete(i)
