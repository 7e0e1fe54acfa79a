// An agent that says nothing that is forbidden, and means harm: as much as it may, at the rate that it may, of what costs the
// companion and the others most.

import { encode } from '../../src/wire/write.ts'
import { HOME, type Snapshot } from './agent.ts'
import type { Chance } from './chance.ts'

interface Component {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly requires?: readonly string[]
}

const GOTO = { lat: HOME.lat, lon: HOME.lon, alt: 8 }
const COMPONENTS = 256

const many = (count: number, of: (i: number) => Component): Component[] =>
  Array.from({ length: count }, (_, i) => of(i))

/** A flight that waits for a person. */
const asking = (name: string): Component[] => [
  { id: `${name}-range`, type: 'report.range', payload: {} },
  { id: `${name}-ask`, type: 'request.approval', payload: { text: 'may I' } },
  { id: `${name}-waits`, type: 'goto', payload: GOTO, requires: [`${name}-ask`, `${name}-range`] },
]

export class Hostile {
  readonly name = 'hostile'
  lastWords = ''
  #snapshot: Snapshot | undefined
  #generation = 0
  #plan: string | undefined
  /** What of its plan waits for a person: what rests on that stays in the core. */
  #waits: string | undefined
  /** How often it has said more that rests on it. */
  #piled = 0
  /** What it does most of the time: some harm comes of doing one thing often. */
  #habit: number | undefined

  hear(snapshot: Snapshot): void {
    this.#snapshot = snapshot
  }

  think(chance: Chance): Uint8Array | undefined {
    const snapshot = this.#snapshot
    if (snapshot === undefined) return undefined
    this.#generation++
    const name = `h${this.#generation}`
    const [words, components, recovers] = this.#say(chance, name)
    if (!recovers) {
      this.#plan = name
      this.#waits = components.find(({ requires }) => requires?.some((id) => id.endsWith('ask')))?.id
    }
    this.lastWords = `${name}: ${words}`
    const rest = recovers ? { recovers: this.#plan } : {}
    return encode({
      v: 1,
      response: name,
      generation: this.#generation,
      snapshot: snapshot.snapshot,
      ...rest,
      components,
    })
  }

  #say(chance: Chance, name: string): readonly [words: string, components: Component[], recovers: boolean] {
    this.#habit ??= chance.int(0, 4)
    const recovers = this.#plan !== undefined && chance.happens(0.9)
    // Who piles up must not begin again.
    switch (chance.happens(this.#habit === 2 ? 0.97 : 0.8) ? this.#habit : chance.int(0, 4)) {
      case 0: {
        // Backwards: each names the one behind it, and the last of them rests on what is wrong.
        const resting = many(145, (i) => ({
          id: `c${i}`,
          type: 'goto',
          payload: GOTO,
          requires: [i === 144 ? 'bad0' : `c${i + 1}`],
        }))
        const bad = many(110, (i) => ({ id: `bad${i}`, type: 'goto', payload: { ...GOTO, alt: -1 } }))
        return ['malformed ones and a chain on them', [...resting, ...bad], false]
      }
      case 1:
        return [
          'new ids without payload',
          many(COMPONENTS, (i) => ({ id: `${name}-${i}`, type: 'goto', payload: {} })),
          recovers,
        ]
      case 2: {
        const payload = { text: 'x'.repeat(chance.int(1, 100)) }
        const waits = recovers ? this.#waits : undefined
        this.#piled = waits === undefined ? 0 : this.#piled + 1
        // The last of them leave no room for anybody. They rest on what waits for a person, so that none of them settles.
        const count = chance.pick([...Array<number>(5).fill(COMPONENTS >> Math.max(0, this.#piled - 3)), 4])
        const first = waits === undefined ? asking(name) : []
        const requires = [waits ?? `${name}-waits`]
        const notices = many(Math.min(count, COMPONENTS - first.length), (i) => ({
          id: `${name}-${i}`,
          type: 'notice.operator',
          payload,
          requires,
        }))
        return ['notices', [...first, ...notices], waits !== undefined]
      }
      case 3:
        return ['a request', asking(name), recovers && chance.happens(0.5)]
      default: {
        const ask: Component = { id: 'ask', type: 'request.approval', payload: { text: 'may I' } }
        const range: Component = { id: 'range', type: 'report.range', payload: {} }
        const waits = many(COMPONENTS - 2, (i) => ({
          id: `w${i}`,
          type: 'goto',
          payload: GOTO,
          requires: ['range', 'ask'],
        }))
        return ['many that wait', [range, ask, ...waits], false]
      }
    }
  }
}
