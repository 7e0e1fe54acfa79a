// The autopilot's parameters, read once it is known and judged by the profile: what would make a setpoint unsafe refuses it,
// and says what to set; a failsafe that is off is told (docs/configuration: `preflight`). What is not read is not known, and
// refuses as well (G5).
//
// No I/O and no clock, as in link.ts, which feeds it.

import { fieldOf } from '../../src/autopilot/frame.ts'
import type { Parameter, Wanted } from '../../src/autopilot/parameter.ts'
import type { Profile } from '../../src/autopilot/profile.ts'
import type { Harmless } from '../adapter/adapter.ts'

export interface PreflightListener {
  /** A value as the autopilot gave it, by the name that it knows. */
  parameter(name: string, value: number, meaning: string): void
  /**
   * What now stands against setpoints, in words for whoever can set it; undefined where nothing does. At every change. `asked`:
   * it is the last word, all that setpoints depend on having been read or given up.
   */
  judged(problem: string | undefined, asked: boolean): void
  /** A value that stops nothing and yet is to be thought about, or one that the autopilot did not tell. */
  warn(text: string): void
}

export interface PreflightOptions {
  readonly profile: Profile
  readonly wanted: Wanted
  say(message: Harmless, now_ms: number): boolean
  readonly listener: PreflightListener
}

const ANSWER_ms = 500
const ATTEMPTS_MAX = 3
/** What nobody answered is asked again. */
const ASK_AGAIN_ms = 10_000

/** PARAM_VALUE's `param_id`, 16 characters, 0 after a shorter name. */
const NAME = { offset: 8, length: 16 }
const VALUE = fieldOf('PARAM_VALUE', 'param_value').offset
const TYPE = fieldOf('PARAM_VALUE', 'param_type').offset

/** MAV_PARAM_TYPE of the integers that fit into a float's place. */
const INTEGERS: Readonly<Record<number, (view: DataView) => number>> = {
  1: (view) => view.getUint8(VALUE),
  2: (view) => view.getInt8(VALUE),
  3: (view) => view.getUint16(VALUE, true),
  4: (view) => view.getInt16(VALUE, true),
  5: (view) => view.getUint32(VALUE, true),
  6: (view) => view.getInt32(VALUE, true),
}
const REAL32 = 9

interface Question {
  readonly parameter: Parameter
  readonly name: string
  attempts: number
  sent_ms: number
}

export class Preflight {
  readonly #options: PreflightOptions
  readonly #answers = new Map<Parameter, { readonly name: string; readonly value: number }>()
  /** Not answered under any name, and when that was given up. */
  readonly #silent_ms = new Map<Parameter, number>()
  #question: Question | undefined
  #told: { readonly problem: string | undefined; readonly asked: boolean }

  constructor(options: PreflightOptions) {
    this.#options = options
    this.#told = { problem: this.problem, asked: false }
  }

  /** Of the first moment on: nothing is read yet. */
  get problem(): string | undefined {
    const guards = this.#options.profile.parameters.filter(({ guards }) => guards)
    const unread = guards.filter((parameter) => !this.#answers.has(parameter))
    const problems = guards.flatMap((parameter) => this.#judge(parameter) ?? [])
    if (unread.length > 0) problems.push(`not read from the autopilot: ${unread.map(namesOf).join(', ')}`)
    return problems.length === 0 ? undefined : problems.join('; ')
  }

  /** Another autopilot, or another boot of it: nothing is known of it. */
  begin(): void {
    this.#answers.clear()
    this.#silent_ms.clear()
    this.#question = undefined
    this.#tell()
  }

  /** A PARAM_VALUE of the autopilot, its whole payload: the answer to a question, or a change that somebody made. */
  hear(payload: Uint8Array): void {
    const bytes = payload.subarray(NAME.offset, NAME.offset + NAME.length)
    const end = bytes.indexOf(0)
    const name = new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end))
    const parameter = this.#options.profile.parameters.find(({ names }) => Object.hasOwn(names, name))
    const value = parameter === undefined ? Number.NaN : this.#decode(payload)
    if (parameter === undefined || !Number.isFinite(value)) return
    if (this.#question?.parameter === parameter) this.#question = undefined
    const known = this.#answers.get(parameter)
    if (known?.name === name && known.value === value) return
    this.#answers.set(parameter, { name, value })
    this.#options.listener.parameter(name, value, parameter.meaning)
    const advice = parameter.guards ? undefined : this.#judge(parameter)
    if (advice !== undefined) this.#options.listener.warn(advice)
    this.#tell()
  }

  /** Asks for one after the other. Only once the autopilot is known. */
  tick(now_ms: number): void {
    const asked = this.#question
    if (asked !== undefined) {
      if (now_ms - asked.sent_ms < ANSWER_ms) return
      if (asked.attempts < ATTEMPTS_MAX) {
        if (this.#ask(asked.name, now_ms)) {
          asked.attempts++
          asked.sent_ms = now_ms
        }
        return
      }
      const { parameter, name } = asked
      const names = Object.keys(parameter.names)
      const next = names[names.indexOf(name) + 1]
      this.#question = undefined
      if (next !== undefined) {
        this.#begin(parameter, next, now_ms)
        return
      }
      this.#giveUp(parameter, now_ms)
    }
    const next = this.#options.profile.parameters.find((parameter) => this.#isDue(parameter, now_ms))
    if (next !== undefined) this.#begin(next, Object.keys(next.names)[0]!, now_ms)
  }

  #isDue(parameter: Parameter, now_ms: number): boolean {
    const silent_ms = this.#silent_ms.get(parameter) ?? Number.NEGATIVE_INFINITY
    return !this.#answers.has(parameter) && now_ms - silent_ms >= ASK_AGAIN_ms
  }

  #begin(parameter: Parameter, name: string, now_ms: number): void {
    if (this.#ask(name, now_ms)) this.#question = { parameter, name, attempts: 1, sent_ms: now_ms }
  }

  #ask(name: string, now_ms: number): boolean {
    return this.#options.say({ message: 'PARAM_REQUEST_READ', parameter: name }, now_ms)
  }

  #giveUp(parameter: Parameter, now_ms: number): void {
    const first = !this.#silent_ms.has(parameter)
    this.#silent_ms.set(parameter, now_ms)
    if (first && !parameter.guards) {
      this.#options.listener.warn(`the autopilot does not tell ${namesOf(parameter)}: ${parameter.meaning}`)
    }
    this.#tell()
  }

  #decode(payload: Uint8Array): number {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
    const type = view.getUint8(TYPE)
    const integer = INTEGERS[type]
    if (integer === undefined && type !== REAL32) return Number.NaN
    return integer !== undefined && this.#options.profile.integersAsBits ? integer(view) : view.getFloat32(VALUE, true)
  }

  /** What speaks against the value that was read, or undefined. */
  #judge(parameter: Parameter): string | undefined {
    const answer = this.#answers.get(parameter)
    if (answer === undefined) return undefined
    const { name, value } = answer
    const per = parameter.names[name]!
    const advice = parameter.judge(value / per, this.#options.wanted, (ours) => shown(ours * per))
    return advice === undefined ? undefined : `${name} is ${shown(value)}: ${advice}`
  }

  #tell(): void {
    const { problem } = this
    const guards = this.#options.profile.parameters.filter(({ guards }) => guards)
    const asked = guards.every((parameter) => this.#answers.has(parameter) || this.#silent_ms.has(parameter))
    if (problem === this.#told.problem && asked === this.#told.asked) return
    this.#told = { problem, asked }
    this.#options.listener.judged(problem, asked)
  }
}

const namesOf = ({ names }: Parameter): string => Object.keys(names).join(' or ')

/** As few digits as a float has. */
const shown = (value: number): string => String(Number(value.toPrecision(6)))
