// What a ground station's message line says when something was refused or failed, or the vehicle is with the pilot: the same
// reason words as everywhere (PROTOCOL 14). The link bounds how many go out; what waits meanwhile is told once, with a count.

import { SEVERITIES, type Severity } from '../src/catalog/catalog.ts'
import type { Publication } from '../src/engine/port.ts'
import { escaped } from './escape.ts'

export interface Line {
  /** MAV_SEVERITY */
  readonly severity: number
  readonly text: string
}

const WARNING = SEVERITIES.indexOf('warning')
const TOLD: ReadonlySet<unknown> = new Set(['blocked', 'failed', 'expired', 'uncertain'])
/** Beyond, what comes is only counted: a list that is minutes old tells nobody anything. */
const WAITING_MAX = 20

export class Statustext {
  readonly #waiting = new Map<string, { readonly severity: number; count: number }>()
  #more = 0
  #pilotControl = false

  /** Everything that is published. */
  hear(publication: Publication): void {
    const line = this.#line(publication)
    if (line === undefined) return
    const waiting = this.#waiting.get(line.text)
    if (waiting !== undefined) waiting.count++
    else if (this.#waiting.size < WAITING_MAX) this.#waiting.set(line.text, { severity: line.severity, count: 1 })
    else this.#more++
  }

  /** Says what waits, in order, until `say` takes no more. */
  tell(say: (line: Line) => boolean): void {
    for (const [text, { severity, count }] of this.#waiting) {
      if (!say({ severity, text: `HALO ${count > 1 ? `${count}x ` : ''}${escaped(text)}` })) return
      this.#waiting.delete(text)
    }
    if (this.#more > 0 && say({ severity: WARNING, text: `HALO ${this.#more} more, see the log` })) this.#more = 0
  }

  #line({ topic, value }: Publication): Line | undefined {
    const said = value as Readonly<Record<string, unknown>>
    if (topic.startsWith('outcome/')) return outcome(said)
    if (topic === 'notice') return notice(said)
    if (topic !== 'control') return undefined
    const taken = said.pilot_control === true && !this.#pilotControl
    this.#pilotControl = said.pilot_control === true
    return taken ? { severity: WARNING, text: 'pilot control: no action until resumed' } : undefined
  }
}

function outcome({ component, phase, reason, detail }: Readonly<Record<string, unknown>>): Line | undefined {
  // What only fell with its prerequisite is told by that one's line.
  if (!TOLD.has(phase) || reason === 'prerequisite_failed') return undefined
  return { severity: WARNING, text: [component, phase, reason, detail].filter((word) => word !== undefined).join(' ') }
}

/** What the companion says by itself, where it is serious: an alarm, a contingency that did not work. */
function notice({ component, severity, kind, text }: Readonly<Record<string, unknown>>): Line | undefined {
  const grade = SEVERITIES.indexOf(severity as Severity)
  return component === undefined && grade >= 0 && grade < WARNING
    ? { severity: grade, text: `${kind}: ${text}` }
    : undefined
}
