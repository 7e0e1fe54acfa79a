// Bytes by hand, and a second opinion on them.

import { type DecodeOptions, decode } from 'cborg'

export const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'))

/** A map with the one key "a" around the bytes of a value. */
export const inMap = (value: string): Uint8Array => hex(`a1 6161 ${value}`)

/** What cborg can be told of the profile. */
export const STRICT: DecodeOptions = {
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
  useMaps: true,
}

export const strictly = (bytes: Uint8Array): unknown => decode(bytes, STRICT)

/** A response that is in order, to be spoiled by tests. */
export const takeoff = (): Record<string, unknown> => ({
  v: 1,
  response: 'r-1',
  generation: 7,
  snapshot: 's.1',
  components: [
    { id: 'up', type: 'takeoff', payload: { alt: 8 } },
    { id: 'go', type: 'goto', payload: { lat: 47.5, lon: 8.25, alt: 10 }, requires: ['up'] },
  ],
})
