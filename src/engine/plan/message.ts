// How large a message may be, and what gives way where one would be larger (PROTOCOL 12).

import { MESSAGE_BYTES_MAX } from '../../catalog/published.ts'
import { bytesOf } from '../../wire/write.ts'

/** For the keys and counts of `omitted`. */
const OMITTED_BYTES = 128

/** A text of a stranger in a field that needs no more of it. */
export function clipped(text: string, bytes = 128): string {
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text
  // A character cut in two at the end is left out whole.
  return `${Buffer.from(text)
    .toString('utf8', 0, bytes)
    .replace(/\ufffd$/, '')}...`
}

/**
 * The value, where it has `most` bytes at most. Otherwise what stands under `keys` gives way, in this order and each from its
 * end, until it has: entries of lists and maps, and the end of a text. `omitted` says how many entries of which.
 */
export function fitted(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  most = MESSAGE_BYTES_MAX,
): Readonly<Record<string, unknown>> {
  let excess = bytesOf(value) - most
  if (excess <= 0) return value
  excess += OMITTED_BYTES
  const omitted: Record<string, number> = {}
  const cut: Record<string, unknown> = { ...value }
  for (const key of keys) {
    if (excess <= 0) break
    const whole = value[key]
    if (typeof whole === 'string') {
      const bytes = Buffer.byteLength(whole)
      cut[key] = clipped(whole, Math.max(0, bytes - excess - 3))
      excess -= bytes - Buffer.byteLength(cut[key] as string)
    } else if (typeof whole === 'object' && whole !== null) {
      const entries = Object.entries(whole)
      let kept = entries.length
      const isList = Array.isArray(whole)
      for (; kept > 0 && excess > 0; kept--) {
        const [name, element] = entries[kept - 1]!
        excess -= bytesOf(element) + (isList ? 0 : bytesOf(name))
      }
      if (kept === entries.length) continue
      omitted[key] = entries.length - kept
      cut[key] = isList ? whole.slice(0, kept) : Object.fromEntries(entries.slice(0, kept))
    }
  }
  return { ...cut, omitted }
}

/** Shares `room` out by need: nobody gets less than an equal part unless he needs less, and what is left over is not lost. */
export function shares(needs: readonly number[], room: number): number[] {
  const shares = needs.map(() => 0)
  const byNeed = [...needs.keys()].sort((a, b) => needs[a]! - needs[b]!)
  for (const [i, each] of byNeed.entries()) {
    shares[each] = Math.min(needs[each]!, Math.floor(room / (needs.length - i)))
    room -= shares[each]
  }
  return shares
}
