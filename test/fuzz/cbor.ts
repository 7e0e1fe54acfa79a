// The CBOR door: from the bytes of a packet to a response and its payloads (PROTOCOL 4; G5).
//
// Whatever it takes means what the bytes say, as cborg's tokens have it; whatever is within the profile it takes; and what was
// made to be within it, or not to be, is judged so. It never throws.

import { isDeepStrictEqual } from 'node:util'
import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import { readPayload } from '../../src/wire/payload.ts'
import { read } from '../../src/wire/read.ts'
import { type Payload, readResponse } from '../../src/wire/response.ts'
import { checkProfile } from '../../src/wire/scan.ts'
import type { Chance } from '../simulation/chance.ts'
import { formOf, isWhatIsSaid, slotsOf, TYPED } from './form.ts'
import { drawPacket, type Packet } from './packet.ts'
import { reading } from './reading.ts'
import { type Door, Flaw, type Offered } from './run.ts'

/** The words of a refusal, without what is particular to one input: places, numbers, texts. */
const wordsOf = (detail: string): string =>
  detail
    .replaceAll(/"(\\.|[^"\\])*"/g, '""')
    .replace(/^byte \d+: /, '')
    .replaceAll(/\[\d+\]/g, '[]')
    .replace(/^tag \d+/, 'tag')
    .replaceAll(/\b\d+ (?=bytes|components|prerequisites)/g, '')

const PROFILE = [
  'no bytes',
  'not a map',
  'not a map: it looks like JSON, and CBOR is meant',
  'bytes after the map',
  'ends in the middle',
  'a byte string',
  'tag: nothing may be tagged',
  'tag (self-described CBOR): nothing may be tagged',
  'an integer above 2^53-1',
  'an integer below -(2^53-1)',
  'nested deeper than 16',
  'an indefinite length',
  'a reserved length',
  'a text longer than the message',
  'a text that is not valid UTF-8',
  'a text that begins with a byte order mark',
  'an array longer than the message',
  'a map longer than the message',
  'a key that is not a text',
  'duplicate key ""',
  'undefined',
  'a break',
  'an unknown simple value',
  'a number that is not finite',
]
const FORM = [
  'unknown key ""',
  'v: must be 1',
  'response: must be 1 to 64 of A-Z a-z 0-9 . _ -',
  'generation: must be an integer from 1 to 2^53-1',
  'snapshot: must be a text',
  'recovers: must be a text',
  'components: must be an array of at least one',
  'components[]: must be a map',
  'components[]: unknown key ""',
  'components[].id: must be 1 to 64 of A-Z a-z 0-9 . _ -',
  'components[].type: must be a text',
  'components[].payload: must be a map',
  'components[].payload."": must be a number, a boolean or a text',
  'components[].requires: must be an array of texts',
  'components[].requires: names one twice',
]
const SIZE = [
  'more than bytes',
  'components, at most 256',
  'components[]: prerequisites, at most 64',
  'prerequisites in all, at most 4096',
  'a payload of bytes, at most 1024',
]
const PAYLOAD = [
  'a payload',
  'missing',
  'no such field',
  'must be a number',
  'must be a finite number, or an integer within 2^53-1',
  'must be an integer within 2^53-1',
  'must be true or false',
  'must be a text',
  'must be one of HOLD, LAND',
]

function judge({ bytes, value, isBroken, isResponse }: Packet): { said: string[]; accepted: number } {
  const flaw = (what: string): never => {
    throw new Flaw(what, bytes)
  }
  const problem = checkProfile(bytes)
  const got = read(bytes)
  const heard = readResponse(bytes)
  const truth = reading(bytes, 'message')
  const told = reading(bytes, 'response')
  const isSmall = bytes.length <= RESPONSE_BYTES_MAX

  if (truth === undefined ? problem === undefined : problem !== undefined)
    flaw(`the profile: ${problem?.problem ?? 'kept'}, but ${truth ? 'it is kept' : 'it is not'}`)
  if (problem !== undefined && !(problem.offset >= 0 && problem.offset <= bytes.length))
    flaw(`at byte ${problem.offset}`)
  if (isBroken && problem === undefined) flaw('a defect was let through')
  if (value !== undefined && problem !== undefined) flaw(`refused what is in order: ${problem.problem}`)
  if ('map' in got !== (isSmall && truth !== undefined)) flaw(`read: ${'map' in got ? 'a map' : got.problem}`)
  if ('map' in got && !isDeepStrictEqual(got.map, truth!.map)) flaw('read other than cborg reads it')
  if ('map' in got && value !== undefined && !isDeepStrictEqual(got.map, value)) flaw('read other than it was written')

  const form = !isSmall ? 'too_large' : told === undefined ? 'malformed' : formOf(told)
  if (!('response' in heard)) {
    if (isResponse) flaw(`refused a response: ${heard.detail}`)
    if (heard.reason !== form) flaw(`${heard.reason} (${heard.detail}), but it is: ${form}`)
    for (const [key, claim] of Object.entries(heard.claimed ?? {}))
      if (told?.map.get(key) !== claim) flaw(`claims ${key}`)
    return { said: [wordsOf(heard.detail)], accepted: 0 }
  }
  if (form !== 'response') flaw(`a response, but it is: ${form}`)
  if (!isWhatIsSaid(heard.response, told!.map)) flaw('a response other than was said')
  return {
    said: ['a response', ...heard.response.components.map(({ payload }) => judgePayload(payload, flaw))],
    accepted: 1,
  }
}

function judgePayload(payload: Payload, flaw: (what: string) => never): string {
  const typed = readPayload(payload, TYPED)
  const slots = slotsOf(payload)
  if (!('slots' in typed)) return slots === undefined ? typed.problem : flaw(`payload.${typed.field}: ${typed.problem}`)
  return isDeepStrictEqual(typed.slots, slots) ? 'a payload' : flaw('a payload other than was said')
}

export const cbor: Door = {
  name: 'CBOR',
  words: ['a response', ...PROFILE, ...FORM, ...SIZE, ...PAYLOAD],
  offer(chance: Chance): Offered {
    const packet = drawPacket(chance)
    return { made: packet.made, ...judge(packet) }
  },
}
