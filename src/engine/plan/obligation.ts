// Obligations: what was blocked, and what a fresh candidate may bring back (PROTOCOL 9, G4). They carry no authority.

import type { Reason } from '../../../build/abi.ts'
import { CANDIDATES_MAX, ReasonWords } from '../../../build/abi.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { bytesOf } from '../../wire/write.ts'
import { fitted } from './message.ts'

/** How long an obligation stays open, ms. */
const OPEN_MS = 600_000
/** Of one plan, and so of one agent. */
export const OPEN_MAX = 32
/** Members of one scope: what one response can bring back. */
const SCOPE_MAX = CANDIDATES_MAX
/** Of one obligation, as it is published. */
const WIRE_BYTES_MAX = 8192

export interface Member {
  readonly id: string
  /** Type number. */
  readonly type: number
}

/** A loss: what opens an obligation, or updates the one of its component. */
export interface Loss extends Member {
  readonly generation: number
  readonly reason: Reason
  readonly detail: string | undefined
  /** The failed clause's text. */
  readonly condition: string | undefined
  /** Values, ages and versions as judged, by field. */
  readonly footprint: Readonly<Record<string, unknown>>
  /** What else may come back: uncrossed dependents, and what the type lists under `scope`. */
  readonly scope: readonly Member[]
  readonly route: 'agent' | 'operator'
}

export interface Obligation extends Omit<Loss, 'scope'> {
  readonly name: string
  /** Type numbers by id. */
  readonly scope: ReadonlyMap<string, number>
  /** The newest snapshot when it was opened: a recovery must cite a later one. */
  readonly newest: number
  readonly opened_ms: number
  readonly openedAt: number
  /** Members that have not been retained afresh. */
  readonly missing: Set<string>
  /** As messages show it, and the bytes of that. */
  readonly shown: unknown
  readonly bytes: number
}

/** The obligations of one plan. What changes is told through `tell`: the value of an `obligation/<agent>` message. */
export class Obligations {
  readonly #plan: string
  readonly #catalog: Catalog
  readonly #name: () => string
  readonly #tell: (value: unknown) => void
  readonly #open = new Map<string, Obligation>()
  /** The same by each id that they miss. */
  readonly #missing = new Map<string, Set<Obligation>>()
  /** None expires before. */
  #due_ms = Number.POSITIVE_INFINITY

  constructor(plan: string, catalog: Catalog, name: () => string, tell: (value: unknown) => void) {
    this.#plan = plan
    this.#catalog = catalog
    this.#name = name
    this.#tell = tell
  }

  /** One about this component may be opened, or updated. */
  hasRoom(id: string): boolean {
    return this.#open.size < OPEN_MAX || this.#open.has(id)
  }

  /** At most one a component: a later loss updates it, and asks for newer evidence. Returns its name. */
  lose({ scope, ...loss }: Loss, newest: number, now_ms: number, wall_ms: number): string {
    const old = this.#open.get(loss.id)
    const name = old?.name ?? this.#name()
    this.#put({ name, newest, opened_ms: now_ms, openedAt: wall_ms, ...loss, ...grown(old, [loss, ...scope]) }, old)
    return name
  }

  /** Takes uncrossed components into the obligation that a replacement answered: what returns must know of their loss too. */
  widen(obligation: Obligation, members: readonly Member[], newest: number): void {
    this.#put(Object.assign({}, obligation, grown(obligation, members), { newest }), obligation)
  }

  #put(said: Omit<Obligation, 'shown' | 'bytes'>, old: Obligation | undefined): void {
    if (old !== undefined) this.#drop(old)
    const shown = this.#wire(said)
    const obligation = Object.assign({}, said, { shown, bytes: bytesOf(shown) })
    this.#open.set(obligation.id, obligation)
    for (const id of obligation.missing) {
      const missing = this.#missing.get(id)
      if (missing === undefined) this.#missing.set(id, new Set([obligation]))
      else missing.add(obligation)
    }
    this.#due_ms = Math.min(this.#due_ms, obligation.opened_ms + OPEN_MS)
    this.#tell({ v: 1, obligation: shown })
  }

  #drop(obligation: Obligation): void {
    for (const id of obligation.missing) this.#found(obligation, id)
  }

  #found(obligation: Obligation, id: string): void {
    const missing = this.#missing.get(id)
    missing?.delete(obligation)
    if (missing?.size === 0) this.#missing.delete(id)
  }

  /** The open obligations that still miss this id and type. */
  covering(id: string, type: number): Obligation[] {
    const missing = this.#missing.get(id)
    return missing === undefined ? [] : [...missing].filter(({ scope }) => scope.get(id) === type)
  }

  get first(): Obligation | undefined {
    return this.#open.values().next().value
  }

  /** A member has been retained afresh: an obligation closes when all have. */
  retained(id: string, type: number): void {
    for (const obligation of this.covering(id, type)) {
      obligation.missing.delete(id)
      this.#found(obligation, id)
      if (obligation.missing.size === 0) this.#close(obligation, 'recovered')
    }
  }

  expire(now_ms: number): void {
    if (now_ms < this.#due_ms) return
    this.#due_ms = Number.POSITIVE_INFINITY
    for (const obligation of [...this.#open.values()]) {
      const due_ms = obligation.opened_ms + OPEN_MS
      if (now_ms >= due_ms) this.#close(obligation, 'expired')
      else this.#due_ms = Math.min(this.#due_ms, due_ms)
    }
  }

  closeAll(reason: 'superseded' | 'ended'): void {
    for (const obligation of [...this.#open.values()]) this.#close(obligation, reason)
  }

  /** Those that are open, the oldest first. */
  get open(): readonly Obligation[] {
    return [...this.#open.values()]
  }

  #close(obligation: Obligation, reason: 'recovered' | 'superseded' | 'ended' | 'expired'): void {
    this.#open.delete(obligation.id)
    this.#drop(obligation)
    this.#tell({ v: 1, closed: obligation.name, reason })
  }

  #wire(o: Omit<Obligation, 'shown' | 'bytes'>): unknown {
    const type = (index: number): string => this.#catalog.types[index]!.name
    const whole = {
      id: o.name,
      plan: this.#plan,
      component: o.id,
      type: type(o.type),
      generation: o.generation,
      reason: ReasonWords[o.reason],
      detail: o.detail,
      footprint: o.footprint,
      condition: o.condition,
      scope: [...o.scope].map(([id, index]) => ({ id, type: type(index) })),
      route: o.route,
      opened: o.openedAt,
      expires: o.openedAt + OPEN_MS,
    }
    return fitted(whole, ['scope', 'footprint'], WIRE_BYTES_MAX)
  }
}

/** The scope with these members too, as far as it has room, and what of it has not been retained afresh. */
function grown(old: Obligation | undefined, members: readonly Member[]): Pick<Obligation, 'scope' | 'missing'> {
  const scope = new Map(old?.scope)
  const missing = new Set(old?.missing)
  for (const { id, type } of members) {
    if (scope.size === SCOPE_MAX && !scope.has(id)) continue
    scope.set(id, type)
    missing.add(id)
  }
  return { scope, missing }
}
