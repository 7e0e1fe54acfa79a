// The decision that every peer is asked for: which of a response's actions may be kept.
//
// An action is supported while battery >= 25 %, gps fix >= 3, height <= 60 m and its own altitude <= 120 m. It is kept if it
// is supported and everything that it rests on is kept. Comparisons only, since Cedar and Rego have no trigonometry, and
// whole numbers, since Cedar has no others. Every condition is judged for every action, as if each were of its own type.

import type { Part, Work } from '../work.ts'

export interface State {
  /** % */
  readonly battery: number
  /** As in GPS_RAW_INT: 3 is 3D. */
  readonly fix: number
  /** Above home. */
  readonly height_mm: number
}

export interface Action {
  readonly id: string
  readonly alt_mm: number
  /** Positions of the actions that it rests on. */
  readonly requires: readonly number[]
}

export const LIMITS = { battery: 25, fix: 3, height_mm: 60_000, alt_mm: 120_000 } as const

/** A state in which every condition on it holds. */
export const CALM: State = { battery: 90, fix: 3, height_mm: 10_000 }

/** One question, ready to be asked again and again: only what changes with each response or state is in `run`. */
export interface Question<Answer> extends Pick<Work<Answer>, 'before' | 'run' | 'after'> {
  /** Whether each action is kept; of a peer that does not decide prerequisites, whether it is supported. */
  kept(answer: Answer): readonly boolean[]
}

export interface Peer<Answer = unknown> {
  readonly name: string
  readonly decides: ReadonlySet<Part>
  ask(state: State, actions: readonly Action[]): Question<Answer>
}

export const parts = (letters: string): ReadonlySet<Part> => new Set(letters as Iterable<Part>)
