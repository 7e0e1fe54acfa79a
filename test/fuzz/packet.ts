// Packets of an agent, good, bad and large, and bytes that are none (PROTOCOL 4).

import { RESPONSE_BYTES_MAX } from '../../build/abi.ts'
import type { Chance } from '../simulation/chance.ts'
import {
  broken,
  DEFECTS,
  drawMap,
  drawMisfit,
  drawNumber,
  drawText,
  Entries,
  type Item,
  meaning,
  Raw,
  write,
} from './item.ts'

export interface Packet {
  readonly made: string
  readonly bytes: Uint8Array
  /** What is known by construction: the value, that it has none, that it is a response. */
  readonly value?: unknown
  readonly isBroken?: boolean
  readonly isResponse?: boolean
}

// Responses

const entries = (record: Readonly<Record<string, Item>>): Entries => new Entries(Object.entries(record))
const NAMES = 'ABCXYZabcxyz0189._-'
const drawName = (chance: Chance): string =>
  Array.from({ length: chance.pick([1, 2, 5, 64]) }, () => NAMES[chance.int(0, NAMES.length - 1)]).join('')

/** Mostly of the type `TYPED`. */
function drawPayload(chance: Chance): Entries {
  const fields: [string, Item][] = []
  if (chance.happens(0.95)) fields.push(['lat', drawNumber(chance)])
  if (chance.happens(0.3)) fields.push(['count', chance.pick([0, -7, Number.MAX_SAFE_INTEGER, null])])
  if (chance.happens(0.3)) fields.push(['on', chance.pick([true, false, null])])
  if (chance.happens(0.3)) fields.push(['text', drawText(chance)])
  if (chance.happens(0.3)) fields.push(['mode', chance.pick(['HOLD', 'LAND', null])])
  if (chance.happens(0.05)) fields.push([chance.pick(['latitude', '__proto__', '']), 1])
  if (chance.happens(0.2) && fields.length > 0)
    chance.pick(fields)[1] = chance.pick([1.5, true, 'hold', 'values', null])
  return new Entries(fields)
}

function drawComponent(chance: Chance): Record<string, Item> {
  const requires = chance.pick([undefined, null, [], [drawName(chance)], ['a', 'b', 'c']])
  return {
    id: drawName(chance),
    type: drawText(chance),
    payload: drawPayload(chance),
    ...(requires === undefined ? {} : { requires }),
  }
}

function drawResponse(chance: Chance): Record<string, Item> {
  return {
    v: 1,
    response: drawName(chance),
    generation: chance.pick([1, 24, 70_000, Number.MAX_SAFE_INTEGER]),
    snapshot: drawText(chance),
    ...(chance.happens(0.3) ? { recovers: chance.pick([null, drawText(chance)]) } : {}),
    components: Array.from({ length: chance.int(1, 4) }, () => entries(drawComponent(chance))),
  }
}

/** What is put where something else belongs. */
const drawOther = (chance: Chance): Item =>
  chance.pick<Item>([
    null,
    true,
    0,
    1.5,
    -1,
    2 ** 53 - 1,
    '',
    'a',
    'a/b',
    'é',
    'x'.repeat(65),
    [],
    [1],
    ['a', 'a'],
    entries({}),
  ])

/** A key gone, another value behind one, or a key that has no place there. */
function misshape(record: Record<string, Item>, chance: Chance): Record<string, Item> {
  const shaped = { ...record }
  const key = chance.pick(Object.keys(shaped))
  const how = chance.int(0, 3)
  if (how === 0) delete shaped[key]
  else if (how === 1) shaped[chance.pick(['extra', 'kind', 'Response', ''])] = drawOther(chance)
  else shaped[key] = drawOther(chance)
  return shaped
}

function drawMisshapen(chance: Chance): Entries {
  const response = drawResponse(chance)
  if (chance.happens(0.5)) return entries(misshape(response, chance))
  const component = chance.happens(0.2)
    ? { ...drawComponent(chance), payload: entries({ lat: 1, other: chance.pick([[], entries({})]) }) }
    : misshape(drawComponent(chance), chance)
  return entries({ ...response, components: [entries(drawComponent(chance)), entries(component)] })
}

/** A response but for numbers in one payload, or one more beside it. */
function drawMisfits(chance: Chance): Entries {
  const fields: [string, Item][] = [['lat', drawMisfit(chance)]]
  if (chance.happens(0.3)) fields.push([chance.pick(['count', 'on', 'mode', 'other']), drawMisfit(chance)])
  const misfit = entries({ ...drawComponent(chance), payload: new Entries(fields) })
  return entries({ ...drawResponse(chance), components: [entries(drawComponent(chance)), misfit] })
}

/** At a bound of PROTOCOL 4, or one beyond it. */
function drawLarge(chance: Chance): Uint8Array {
  const beyond = chance.int(0, 1)
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`)
  const small = (id: string, rest: Record<string, Item> = {}): Entries =>
    entries({ id, type: 't', payload: entries({}), ...rest })
  const sized = (components: Item): Uint8Array => write(entries({ ...drawResponse(chance), components }), chance)
  switch (chance.int(0, 6)) {
    case 0:
      return sized(names(256 + beyond).map((id) => small(id)))
    case 1:
      return sized([small('a'), small('b', { requires: names(64 + beyond) })])
    case 2:
      return sized([
        ...names(64).map((id) => small(id, { requires: names(64) })),
        small('last', { requires: names(beyond) }),
      ])
    case 3: // a map of one, its key, and a text with a head of three bytes
      return sized([
        small('a', { payload: entries({ t: new Raw(0x79, 0x03, 0xfa + beyond, ...Array(1018 + beyond).fill(0x61)) }) }),
      ])
    case 4: {
      const good = write(entries(drawResponse(chance)), chance)
      const whole = new Uint8Array(chance.pick([RESPONSE_BYTES_MAX + 1, 100_000]))
      whole.set(good)
      return whole
    }
    case 5: // a bignum that takes others half a minute
      return write(entries({ big: new Raw(0xc2, 0x5a, 0, 0, 0xea, 0x60, ...Array(60_000).fill(0xff)) }), chance)
    default:
      return write(
        entries({ snapshot: 'é'.repeat(30_000), deep: new Raw(...Array(chance.int(1, 3000)).fill(0x81), 0) }),
        chance,
      )
  }
}

/** Changes a few bytes, takes some away, puts some in, or goes on with another message. */
function mutate(bytes: Uint8Array, other: Uint8Array, chance: Chance): Uint8Array {
  let changed = [...bytes]
  for (let i = chance.int(1, 3); i > 0; i--) {
    const at = chance.int(0, changed.length)
    switch (chance.int(0, 5)) {
      case 0:
        if (at < changed.length) changed[at]! ^= 1 << chance.int(0, 7)
        break
      case 1:
        if (at < changed.length) changed[at] = chance.int(0, 255)
        break
      case 2:
        changed.splice(at, chance.int(1, 3))
        break
      case 3:
        changed.splice(at, 0, ...chance.bytes(chance.int(1, 3)))
        break
      case 4:
        changed = changed.slice(0, at)
        break
      default: // splice
        changed = [...changed.slice(0, at), ...other.subarray(chance.int(0, other.length))]
    }
  }
  return Uint8Array.from(changed)
}

/** Bytes that are heads of small things, so that some of it holds together. */
const SMALL = [0x00, 0x17, 0x20, 0x60, 0x61, 0x61, 0x62, 0x80, 0x81, 0xa0, 0xa1, 0xf4, 0xf6, 0x18, 0xf9]

export function drawPacket(chance: Chance): Packet {
  const roll = chance.int(0, 999)
  if (roll < 3) return { made: 'large', bytes: drawLarge(chance) }
  if (roll < 60) return { made: 'random bytes', bytes: chance.bytes(chance.int(0, 64)) }
  if (roll < 140) {
    const rest = Array.from({ length: chance.int(0, 24) }, () =>
      chance.happens(0.7) ? chance.pick(SMALL) : chance.int(0, 255),
    )
    return { made: 'random heads', bytes: Uint8Array.of(0xa0 + chance.int(0, 3), ...rest) }
  }
  if (roll < 300) {
    const map = drawMap(chance, chance.int(1, 16))
    return { made: 'within the profile', bytes: write(map, chance), value: meaning(map) }
  }
  if (roll < 500) {
    const base = chance.happens(0.5) ? drawMap(chance, chance.int(1, 8)) : entries(drawResponse(chance))
    return { made: 'one defect', bytes: broken(base, chance.pick(DEFECTS), chance), isBroken: true }
  }
  const response = entries(drawResponse(chance))
  if (roll < 650) {
    return { made: 'a response', bytes: write(response, chance), value: meaning(response), isResponse: true }
  }
  if (roll < 680) return { made: 'misfit numbers', bytes: write(drawMisfits(chance), chance), isResponse: true }
  if (roll < 800) {
    const misshapen = drawMisshapen(chance)
    return { made: 'misshapen', bytes: write(misshapen, chance), value: meaning(misshapen) }
  }
  return { made: 'mutated', bytes: mutate(write(response, chance), write(drawMisshapen(chance), chance), chance) }
}
