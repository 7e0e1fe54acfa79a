// What the autopilot's messages say of the state fields (PROTOCOL 3, "Fields of the built-in profiles"). Which message says
// what stands in the profile; here is only when it counts.
//
// Values are read straight from the payload's bytes: no message object is built, so no default of a message class can stand
// in for a value that was not sent. What a message calls unknown, and what cannot be, is NaN here, and NaN makes a field unknown.

import { layout, layoutOf } from '../autopilot/frame.ts'
import { isPlausible } from '../autopilot/plausibility.ts'
import type { Need, Profile, ProfileField } from '../autopilot/profile.ts'
import { reader } from './reader.ts'
import type { Observation, Report } from './report.ts'
import { Settling, unsettledBy } from './settling.ts'
import { Target } from './target.ts'

const FIX_3D = 3

type Read = (payload: DataView) => number | undefined

interface Carried {
  readonly field: number
  readonly name: string
  readonly read: Read
}
interface Timed {
  readonly value: number
  readonly received_ms: number
}
const NEVER: Timed = { value: Number.NaN, received_ms: Number.NEGATIVE_INFINITY }

/** Reads one boot of one autopilot: after a reboot or a change of identity, begin with a new one. */
export class Telemetry {
  readonly #fields: readonly ProfileField[]
  readonly #maxAge_ms: Readonly<Record<'gps.fix' | 'estimator.ok', number>>
  /** By message: what it says, and which other fields rest on that. */
  readonly #carried: ReadonlyMap<number, readonly Carried[]>
  readonly #resting: ReadonlyMap<number, readonly number[]>
  readonly #settling = new Settling()
  readonly #target: Target
  #fix = NEVER
  #estimator = NEVER
  #homeKnown = false

  /** `ages` are the catalog's fields, numbered as the profile's: how long a fix and an estimate count. */
  constructor(profile: Profile, ages: readonly { readonly maxAge_ms: number }[] = profile.fields) {
    const age = (name: string): number => ages[profile.fields.findIndex((field) => field.name === name)]!.maxAge_ms
    this.#fields = profile.fields
    this.#target = new Target(profile)
    this.#maxAge_ms = { 'gps.fix': age('gps.fix'), 'estimator.ok': age('estimator.ok') }
    const carried = new Map<number, Carried[]>()
    for (const [field, { name, from }] of profile.fields.entries()) {
      const { id } = layout(from.message)
      carried.set(id, [...(carried.get(id) ?? []), { field, name, read: evaluation(from) }])
    }
    this.#carried = carried
    this.#resting = new Map([...carried].map(([id, said]) => [id, resting(said, profile.fields)]))
  }

  /**
   * What a message says. `payload` is the whole payload, zero-extended to the length of its layout; a shorter one throws. A
   * message that carries no state gives an empty report.
   */
  apply(message: number, payload: Uint8Array, received_ms: number): Report {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
    const boot = layoutOf(message)?.fields.time_boot_ms
    const boot_ms = boot === undefined ? undefined : view.getUint32(boot.offset, true)
    return {
      message,
      observations: this.#observe(message, view, boot_ms, received_ms),
      target: this.#target.read(message, view, received_ms),
    }
  }

  #observe(message: number, view: DataView, boot_ms: number | undefined, received_ms: number): Observation[] {
    const carried = this.#carried.get(message)
    if (carried === undefined) return []
    const said = new Map<string, number>()
    const numbers: number[] = []
    for (const { field, name, read } of carried) {
      const value = read(view)
      if (value === undefined) continue
      said.set(name, isPlausible(value, this.#fields[field]!.plausible) ? value : Number.NaN)
      numbers.push(field)
    }
    this.#note(said, received_ms)
    this.#settling.follow(said, boot_ms, received_ms)
    this.#target.follow(said, received_ms)
    const observations = numbers.map((field) => {
      const { name } = this.#fields[field]!
      return { field, value: this.#counts(field, received_ms) ? said.get(name)! : Number.NaN }
    })
    // What rests on this message is unknown at once, not with its own next one (G5).
    for (const field of this.#resting.get(message)!) {
      if (!this.#counts(field, received_ms)) observations.push({ field, value: Number.NaN })
    }
    return observations
  }

  /** What other fields need. */
  #note(said: ReadonlyMap<string, number>, received_ms: number): void {
    const fix = said.get('gps.fix')
    if (fix !== undefined) this.#fix = { value: fix, received_ms }
    const estimator = said.get('estimator.ok')
    if (estimator !== undefined) this.#estimator = { value: estimator, received_ms }
    if (Number.isFinite(said.get('home.lat'))) this.#homeKnown = true
  }

  /** Nothing that the field rests on is missing, bad or old, and it has not jumped lately. */
  #counts(field: number, received_ms: number): boolean {
    const { name, needs } = this.#fields[field]!
    if (needs !== undefined) for (const need of needs) if (!this.#has(need, received_ms)) return false
    return this.#settling.isSettled(name, received_ms)
  }

  #has(need: Need, received_ms: number): boolean {
    switch (need) {
      case 'estimator':
        return (
          this.#estimator.value === 1 && received_ms - this.#estimator.received_ms <= this.#maxAge_ms['estimator.ok']
        )
      case 'fix':
        return this.#fix.value >= FIX_3D && received_ms - this.#fix.received_ms <= this.#maxAge_ms['gps.fix']
      case 'home':
        return this.#homeKnown
    }
  }
}

/** What carries each need. */
const CARRIES: Readonly<Record<string, Need>> = { 'estimator.ok': 'estimator', 'gps.fix': 'fix', 'home.lat': 'home' }

/** Fields of other messages that what this one says can make unknown, and those of the estimate one with another. */
function resting(carried: readonly Carried[], fields: readonly ProfileField[]): number[] {
  const own = carried.map(({ field }) => field)
  const unsettled = carried.flatMap(({ name }) => unsettledBy(name))
  const needs = carried.flatMap(({ name }) => CARRIES[name] ?? [])
  return fields.flatMap((field, number) => {
    const rests = unsettled.includes(field.name) || needs.some((need) => field.needs?.includes(need))
    return rests && !own.includes(number) ? [number] : []
  })
}

function evaluation({ message, fields, value }: ProfileField['from']): Read {
  const raw = fields.map((field) => reader(message, field))
  return (payload) => value(...raw.map((read) => read(payload)))
}
