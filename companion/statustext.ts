// What a ground station's message line says when something was refused or failed: the same reason words as everywhere
// (PROTOCOL 14). The adapter cuts it to what a STATUSTEXT holds and bounds the rate.

import type { Publication } from '../src/protocol/port.ts'

const TOLD: ReadonlySet<unknown> = new Set(['blocked', 'failed', 'expired', 'uncertain'])

/** The line for a publication, or undefined where there is nothing to tell. */
export function statustext({ topic, value }: Publication): string | undefined {
  if (!topic.startsWith('outcome/')) return undefined
  const { component, phase, reason, detail } = value as Readonly<Record<string, unknown>>
  // What only fell with its prerequisite is told by that one's line.
  if (!TOLD.has(phase) || reason === 'prerequisite_failed') return undefined
  return ['HALO', component, phase, reason, detail].filter((word) => word !== undefined).join(' ')
}
