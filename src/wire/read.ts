// From bytes to values: the scanner first, `cbor-x` behind it (PROTOCOL 4). For all that comes in, on every topic.

// Not 'cbor-x': that takes in a native part where one is installed, which does not know a text's length in eight bytes.
import { Decoder, type Options } from 'cbor-x/decode-no-eval'
import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import { checkProfile, type Measure, type ProfileProblem } from './scan.ts'

/** A decoded value of the profile. Maps stay `Map`s: no key of a stranger ever names a property of an object. */
export type Value = number | boolean | string | null | readonly Value[] | ValueMap
export type ValueMap = ReadonlyMap<string, Value>

// `int64AsNumber` is missing in the types of cbor-x; with it no width of an integer becomes a BigInt.
const OPTIONS: Options & { int64AsNumber: boolean } = { useRecords: false, mapsAsObjects: false, int64AsNumber: true }

/**
 * One map within the profile and at most `bytes_max` long; otherwise what is wrong and at which byte. Never throws.
 * `measure` is taken by `checkProfile` on its way; a misfit number that it found is NaN.
 */
export function read(
  bytes: Uint8Array,
  measure?: Measure,
  bytes_max: number = RESPONSE_BYTES_MAX,
): { readonly map: ValueMap } | ProfileProblem {
  if (bytes.length > bytes_max) return { offset: bytes_max, problem: `${bytes.length} bytes, at most ${bytes_max}` }
  const problem = checkProfile(bytes, measure)
  if (problem !== undefined) return problem
  try {
    // A fresh decoder each time: nothing that a message could define outlives it.
    return { map: new Decoder(OPTIONS).decode(mended(bytes, measure?.misfits ?? [])) }
  } catch (error) {
    return { offset: 0, problem: String(error) }
  }
}

const NAN = Uint8Array.of(0xf9, 0x7e, 0x00)

/** The same message with NaN for each misfit number: no decoder sees an integer of 60,000 bytes. */
function mended(bytes: Uint8Array, misfits: Measure['misfits']): Uint8Array {
  if (misfits.length === 0) return bytes
  const parts: Uint8Array[] = []
  let from = 0
  for (const { start, end } of misfits) {
    parts.push(bytes.subarray(from, start), NAN)
    from = end
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}
