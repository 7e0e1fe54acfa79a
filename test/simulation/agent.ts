// An agent that nobody should trust: it mostly flies sensible plans on the newest snapshot it has, answers its obligations,
// and now and then says what it must not.

import { encode } from '../../src/wire/write.ts'
import type { Chance } from './chance.ts'

export const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 }
/** On the antimeridian, by the name that a target there does not have. */
export const ANTIMERIDIAN: typeof HOME = { ...HOME, lon: -180 }
const METRES_PER_DEGREE = 111_195

interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly requires: readonly string[]
}

export interface Snapshot {
  readonly snapshot: string
  readonly state: Readonly<Record<string, unknown>>
  readonly plans: readonly { agent: string; plan: string; components: Record<string, string> }[]
  readonly obligations: readonly { plan: string; scope: { id: string; type: string }[] }[]
}

export type AgentName = 'planner' | 'scout' | 'courier'

export class Agent {
  readonly name: AgentName
  /** Where it wants to go, m from home. */
  readonly #reach_m: number
  readonly #home: typeof HOME
  #chance!: Chance
  readonly #snapshots: Snapshot[] = []
  /** The newest snapshot when it last had a say. */
  #answered: Snapshot | undefined
  /** What it said under an id, to say it again. */
  readonly #said = new Map<string, Component>()
  #generation = 0
  /** What it last said, in words. */
  lastWords = ''

  constructor(name: AgentName, reach_m: number, home = HOME) {
    this.name = name
    this.#reach_m = reach_m
    this.#home = home
  }

  /** A `snapshot` message arrives. */
  hear(snapshot: Snapshot): void {
    this.#snapshots.push(snapshot)
    if (this.#snapshots.length > 100) this.#snapshots.shift()
  }

  /** The bytes of its next response, or undefined while it waits. */
  think(chance: Chance): Uint8Array | undefined {
    this.#chance = chance
    const newest = this.#snapshots.at(-1)
    if (newest === undefined) return undefined
    if (chance.happens(0.03)) {
      this.lastWords = 'nonsense'
      return chance.bytes(chance.int(1, 80))
    }
    // Whoever has had a say waits for news, and whoever knows nothing yet for knowledge, as a rule.
    const ignorant = ['armed', 'map', 'position.lat'].some((field) => newest.state[field] === undefined)
    if ((ignorant || newest === this.#answered) && chance.happens(0.85)) return undefined
    this.#answered = newest
    const plan = newest.plans.find((p) => p.agent === this.name)
    const owed = newest.obligations.filter((o) => o.plan === plan?.plan)
    const busy = Object.values(plan?.components ?? {}).some(
      (phase) => phase === 'dispatched' || phase === 'acknowledged',
    )
    if (owed.length > 0 && plan !== undefined && chance.happens(0.6)) return this.#recover(newest, plan, owed)
    if (busy && chance.happens(0.85)) return undefined
    return this.#respond(newest, chance.happens(0.1) ? this.#nonsense() : this.#mission(newest.state))
  }

  #mission(state: Snapshot['state']): Component[] {
    if (this.name === 'courier') return this.#delivery()
    const chance = this.#chance
    const range = this.#component('range', 'report.range')
    if (state.armed !== true) {
      const up = this.#component('up', 'takeoff', { alt: chance.int(4, 8) }, chance.happens(0.5) ? ['range'] : [])
      const legs = this.#legs(['up'])
      return [
        this.#notice(['up']),
        range,
        up,
        ...legs,
        this.#component('after', 'status', {}, [legs.at(-1)?.id ?? 'up']),
      ]
    }
    if (chance.happens(0.2)) {
      const ask = this.#component('ask', 'request.approval', { text: 'may I' })
      return [range, ask, this.#goto('leg0', ['ask']), this.#goto('leg1', ['leg0'])]
    }
    if (chance.happens(0.7)) return [range, ...this.#legs([])]
    const type = chance.pick(['hold', 'hold', 'land', 'return', 'handoff.pilot'])
    if (type === 'handoff.pilot' && chance.happens(0.6)) return [this.#component('stop', 'hold')]
    return [this.#component('end', type), this.#component('after', 'status')]
  }

  /** One or two drops on one consent, perhaps after a stop. */
  #delivery(): Component[] {
    const chance = this.#chance
    const ask = this.#component('may', 'request.approval', { text: 'may I drop it' })
    const stop = chance.happens(0.3) ? [this.#component('stop', 'hold')] : []
    const drops = (chance.happens(0.3) ? ['drop', 'another'] : ['drop']).map((id) =>
      this.#component(id, 'release', {}, ['may', ...stop.map((s) => s.id)]),
    )
    return [ask, ...stop, ...drops]
  }

  /** Flights one after another, the last of them perhaps a stop or a landing. */
  #legs(after: readonly string[]): Component[] {
    const chance = this.#chance
    const legs: Component[] = []
    for (let i = chance.int(0, 3); i >= 0; i--) {
      const id = `leg${legs.length}`
      const requires = [legs.at(-1)?.id ?? after[0]].filter((r) => r !== undefined)
      legs.push(chance.happens(0.7) ? this.#goto(id, requires) : this.#velocity(id, requires))
    }
    const last = legs.at(-1)!.id
    if (chance.happens(0.3)) legs.push(this.#component('end', chance.pick(['hold', 'land', 'return']), {}, [last]))
    return legs
  }

  #nonsense(): Component[] {
    const range = this.#component('range', 'report.range')
    switch (this.#chance.int(0, 6)) {
      case 0:
        return [range, this.#goto('a', ['b']), this.#goto('b', ['a'])]
      case 1:
        return [range, this.#goto('a', ['nobody'])]
      case 2:
        return [range, this.#component('far', 'goto', { lat: 0, lon: 0, alt: 10 }, ['range'])]
      case 3:
        return [
          range,
          this.#component('fast', 'velocity', { north: 300, east: 0, seconds: 5 }, ['range']),
          this.#notice(['fast']),
        ]
      case 4:
        return [range, range, this.#goto('a', [])]
      case 5:
        return [
          this.#component('x', 'self_destruct'),
          this.#component('ask', 'request.approval', { text: 'may I' }),
          this.#notice([]),
        ]
      default:
        return [this.#component('bare', 'goto', { lat: this.#home.lat, lon: this.#home.lon, alt: 8 })]
    }
  }

  #recover(newest: Snapshot, plan: Snapshot['plans'][number], owed: Snapshot['obligations']): Uint8Array {
    const chance = this.#chance
    const standing = new Set(Object.keys(plan.components))
    const members = new Map(owed.flatMap((o) => o.scope).map((m) => [m.id, m.type]))
    const ids = new Set([...members.keys(), ...standing, 'range'])
    const components = [...members].map(([id, type]): Component => {
      const before = this.#said.get(id)
      const requires = (before?.requires ?? []).filter((r) => ids.has(r) && r !== id)
      if (type === 'goto')
        return this.#goto(
          id,
          requires.filter((r) => r !== 'range'),
        )
      if (type === 'velocity')
        return this.#velocity(
          id,
          requires.filter((r) => r !== 'range'),
        )
      return this.#component(id, type, before?.payload ?? {}, requires)
    })
    if (!members.has('range')) components.unshift(this.#component('range', 'report.range'))
    // What must not work: more than it was asked for, or yesterday's picture.
    if (chance.happens(0.15))
      components.push(this.#component('more', chance.pick(['hold', 'land', 'takeoff']), { alt: 5 }))
    const cited = chance.happens(0.25) ? chance.pick(this.#snapshots.slice(-6)) : newest
    return this.#respond(cited, components, plan.plan.slice(this.name.length + 1))
  }

  #respond(cited: Snapshot, components: readonly Component[], recovers?: string): Uint8Array {
    const chance = this.#chance
    for (const c of components) this.#said.set(c.id, c)
    if (!chance.happens(0.04)) this.#generation++
    const list = components.map(({ id, type }) => (id === type ? id : `${id} ${type}`)).join(', ')
    this.lastWords = `r${this.#generation}${recovers === undefined ? '' : ` for ${recovers}`}: ${list}`
    return encode({
      v: 1,
      response: `r${this.#generation}${chance.happens(0.03) ? '-again' : ''}`,
      generation: this.#generation,
      snapshot: chance.happens(0.05) ? chance.pick(this.#snapshots).snapshot : cited.snapshot,
      recovers,
      components,
    })
  }

  #component(
    id: string,
    type: string,
    payload: Component['payload'] = {},
    requires: readonly string[] = [],
  ): Component {
    return {
      id,
      type,
      payload: type === 'takeoff' || Object.keys(payload).length > 1 || 'text' in payload ? payload : {},
      requires,
    }
  }

  #notice(requires: readonly string[]): Component {
    return this.#component('tell', 'notice.operator', { text: 'on my way' }, this.#chance.happens(0.5) ? requires : [])
  }

  #goto(id: string, requires: readonly string[]): Component {
    const chance = this.#chance
    const reach_m = chance.happens(0.05) ? 900 : this.#reach_m
    return this.#component(
      id,
      'goto',
      {
        lat: this.#home.lat + chance.real(-reach_m, reach_m) / METRES_PER_DEGREE,
        lon: this.#lon(chance.real(-reach_m, reach_m) / METRES_PER_DEGREE),
        alt: chance.real(5, 12),
      },
      ['range', ...requires],
    )
  }

  /** So far east of home. From the antimeridian it goes nowhere but west, or stays on it. */
  #lon(east_deg: number): number {
    const { lon } = this.#home
    if (lon !== ANTIMERIDIAN.lon) return lon + east_deg
    return 180 + Math.min(0, east_deg)
  }

  #velocity(id: string, requires: readonly string[]): Component {
    const chance = this.#chance
    const payload = { north: chance.real(-2, 2), east: chance.real(-2, 2), seconds: chance.int(1, 6) }
    return this.#component(id, 'velocity', payload, ['range', ...requires])
  }
}
