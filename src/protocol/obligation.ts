// Obligations: what was blocked, and what a fresh candidate may bring back (PROTOCOL 9, G4). They carry no authority.

import type { Reason } from '../../build/abi.ts'
import { ReasonWords } from '../../build/abi.ts'
import type { Catalog } from '../catalog/catalog.ts'

/** How long an obligation stays open, ms. */
const OPEN_MS = 600_000

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

export interface Obligation extends Loss {
  readonly name: string
  readonly plan: string
  /** The newest snapshot when it was opened: a recovery must cite a later one. */
  readonly newest: number
  readonly opened_ms: number
  readonly openedAt: number
  /** Members that have not been retained afresh. */
  readonly missing: Set<string>
}

/** The obligations of one plan. What changes is told through `tell`: the value of an `obligation/<agent>` message. */
export class Obligations {
  readonly #plan: string
  readonly #catalog: Catalog
  readonly #name: () => string
  readonly #tell: (value: unknown) => void
  readonly #open = new Map<string, Obligation>()

  constructor(plan: string, catalog: Catalog, name: () => string, tell: (value: unknown) => void) {
    this.#plan = plan
    this.#catalog = catalog
    this.#name = name
    this.#tell = tell
  }

  /** At most one a component: a later loss updates it, and asks for newer evidence. Returns its name. */
  lose(loss: Loss, newest: number, now_ms: number, wall_ms: number): string {
    const old = this.#open.get(loss.id)
    const obligation: Obligation = {
      ...loss,
      ...grown(old, [loss, ...loss.scope]),
      name: old?.name ?? this.#name(),
      plan: this.#plan,
      newest,
      opened_ms: now_ms,
      openedAt: wall_ms,
    }
    this.#put(obligation)
    return obligation.name
  }

  /** Takes uncrossed components into the obligation that a replacement answered: what returns must know of their loss too. */
  widen(obligation: Obligation, members: readonly Member[], newest: number): void {
    this.#put({ ...obligation, ...grown(obligation, members), newest })
  }

  #put(obligation: Obligation): void {
    this.#open.set(obligation.id, obligation)
    this.#tell({ v: 1, obligation: this.#wire(obligation) })
  }

  /** The open obligations that still miss this id and type. */
  covering(id: string, type: number): Obligation[] {
    return [...this.#open.values()].filter(
      (o) => o.missing.has(id) && o.scope.some((m) => m.id === id && m.type === type),
    )
  }

  get first(): Obligation | undefined {
    return this.#open.values().next().value
  }

  /** A member has been retained afresh: an obligation closes when all have. */
  retained(id: string, type: number): void {
    for (const obligation of this.covering(id, type)) {
      obligation.missing.delete(id)
      if (obligation.missing.size === 0) this.#close(obligation, 'recovered')
    }
  }

  expire(now_ms: number): void {
    for (const obligation of [...this.#open.values()]) {
      if (now_ms - obligation.opened_ms >= OPEN_MS) this.#close(obligation, 'expired')
    }
  }

  closeAll(reason: 'superseded' | 'ended'): void {
    for (const obligation of [...this.#open.values()]) this.#close(obligation, reason)
  }

  /** As a snapshot lists them. */
  list(): unknown[] {
    return [...this.#open.values()].map((obligation) => this.#wire(obligation))
  }

  #close(obligation: Obligation, reason: 'recovered' | 'superseded' | 'ended' | 'expired'): void {
    this.#open.delete(obligation.id)
    this.#tell({ v: 1, closed: obligation.name, reason })
  }

  #wire(o: Obligation): unknown {
    const type = (index: number): string => this.#catalog.types[index]!.name
    return {
      id: o.name,
      plan: o.plan,
      component: o.id,
      type: type(o.type),
      generation: o.generation,
      reason: ReasonWords[o.reason],
      detail: o.detail,
      footprint: o.footprint,
      condition: o.condition,
      scope: o.scope.map((m) => ({ id: m.id, type: type(m.type) })),
      route: o.route,
      opened: o.openedAt,
      expires: o.openedAt + OPEN_MS,
    }
  }
}

/** The scope with these members too, and what of it has not been retained afresh. */
function grown(old: Obligation | undefined, members: readonly Member[]): Pick<Obligation, 'scope' | 'missing'> {
  const all = [...(old?.scope ?? []), ...members]
  return {
    scope: [...new Map(all.map(({ id, type }) => [id, { id, type }])).values()],
    missing: new Set([...(old?.missing ?? []), ...members.map(({ id }) => id)]),
  }
}
