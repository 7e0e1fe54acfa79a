// Decoding: the packet of an agent to a response (PROTOCOL 4). The scanner, then cbor-x, then the shape.

import { Decoder } from 'cbor-x'
import { readResponse } from '../src/wire/response.ts'
import { checkProfile } from '../src/wire/scan.ts'
import { respond, sortie } from './sortie.ts'
import type { Work } from './work.ts'

export function decode(): Work[] {
  const bytes = respond(1, '0000000000000000-1', sortie(32))
  const decoder = new Decoder({ useRecords: false, mapsAsObjects: false })
  const what = `32 components, ${bytes.length} bytes`
  const whole: Work<ReturnType<typeof readResponse>> = {
    name: `decode: ${what}`,
    run: () => readResponse(bytes),
    didIt: (read) => 'response' in read && read.response.components.length === 32,
  }
  const scan: Work<ReturnType<typeof checkProfile>> = {
    name: 'decode: the scanner alone',
    run: () => checkProfile(bytes),
    didIt: (problem) => problem === undefined,
  }
  const bare: Work<ReadonlyMap<string, unknown>> = {
    name: 'decode: cbor-x alone, as a peer: it checks nothing',
    run: () => decoder.decode(bytes),
    didIt: (map) => map.size === 5,
  }
  return [whole, scan, bare]
}
