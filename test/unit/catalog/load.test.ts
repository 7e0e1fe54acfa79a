// What a catalog becomes: fields, types, footprints, frames, and the JSON Schema for agents (PROTOCOL 2, 3, 12).

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Kind, Phase } from '../../../build/abi.ts'
import { CONTINGENCIES } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { reads } from '../../../src/core/expression.ts'
import { cores } from '../../oracle/cores.ts'
import { changed, EXAMPLE, load, problems } from './example.ts'

const catalog = load(EXAMPLE)
const typeOf = (name: string, of: Catalog = catalog) => of.types.find((type) => type.name === name)!
const imageOf = (name: string, of: Catalog = catalog) => of.image.types.find((type) => type.name === name)!
const names = (fields: readonly number[]) => fields.map((index) => catalog.fields[index]!.name)
const typeNames = (numbers: Iterable<number>) => [...numbers].map((index) => catalog.types[index]!.name)

test('the reference catalog that was flown loads', ({ skip }) => {
  const reference = new URL('../../../../shared/design/reference-catalog.yaml', import.meta.url)
  if (!existsSync(reference)) {
    console.log('skipped: the reference catalog is not on this machine')
    return skip()
  }
  expect(problems(readFileSync(reference, 'utf8'))).toEqual([])
})

test.each(cores)('the %s takes what a catalog becomes', (_, makeCore) => {
  expect(makeCore(catalog.image, new Uint8Array(8), new Uint8Array(32)).poisoned).toBe(false)
})

test('the hash is that of the bytes, and environments differ with it', () => {
  expect(catalog.hash).toBe(createHash('sha256').update(EXAMPLE).digest('hex'))
  expect(load(`${EXAMPLE}# one more word\n`).hash).not.toBe(catalog.hash)
})

test('fields: all of the profile in its order, then those of the ground', () => {
  expect(catalog.fields.map(({ name }) => name)).toEqual([...px4Multirotor.fields.map(({ name }) => name), 'map'])
  expect(catalog.image.fields.map(({ name }) => name)).toEqual(catalog.fields.map(({ name }) => name))
  const of = (name: string) => catalog.fields.find((field) => field.name === name)
  expect(of('armed')).toMatchObject({ source: 'profile', maxAge_ms: 3500, declared: true, continuous: false })
  expect(of('heading')).toMatchObject({ declared: false, maxAge_ms: 300 })
  expect(of('map')).toMatchObject({ source: 'context', type: 'integer', maxAge_ms: 3_600_000, retainedAllowed: true })
  expect(load(changed('armed: { max_age: 3500ms }', 'armed:')).fields[0]).toMatchObject({
    declared: true,
    maxAge_ms: 3500,
  })
})

test('kinds, prerequisites, resources and times', () => {
  expect(catalog.types.map(({ name, kind }) => [name, kind])).toEqual([
    ['notice.operator', Kind.notice],
    ['report.range', Kind.report],
    ['status', Kind.report],
    ['request.approval', Kind.request],
    ['handoff.pilot', Kind.handoff],
    ['takeoff', Kind.command],
    ['goto', Kind.setpoint],
    ['velocity', Kind.setpoint],
    ['hold', Kind.command],
    ['return', Kind.command],
    ['land', Kind.command],
    ['release', Kind.command],
  ])
  const goto = typeOf('goto')
  expect(typeNames(goto.requires)).toEqual(['report.range'])
  expect(goto.mayRequire.map(({ type, phase }) => [catalog.types[type]!.name, phase])).toEqual([
    ['takeoff', Phase.completed],
    ['goto', Phase.completed],
    ['velocity', Phase.completed],
    ['hold', Phase.completed],
    ['release', Phase.completed],
    ['request.approval', Phase.completed],
    ['report.range', Phase.released],
  ])
  expect(goto).toMatchObject({ uses: 'flight', expires_ms: 10_000, wait_ms: 300_000, patience_ms: 0 })
  expect(typeOf('hold').wait_ms).toBe(1_200_000)
  expect(catalog.agents).toMatchObject([{ name: 'planner', may: new Set(catalog.types.map((_, i) => i)), rate: 5 }])
})

test('a phase that is not said is the default of its kind', () => {
  const text = changed(
    '    may_require: { request.approval: completed, report.range: released, return: completed, land: completed }',
    '    may_require: { request.approval: , status: , goto: }',
  )
  expect(typeOf('takeoff', load(text)).mayRequire.map(({ phase }) => phase)).toEqual([
    Phase.completed,
    Phase.released,
    Phase.completed,
  ])
})

test('bounds are clauses of the core, each with its words', () => {
  const text = changed(
    '      seconds: { type: number, unit: s, min: 1, max: 10, description: how long it is flown }',
    `      seconds: { type: integer, unit: s, min: 1, max: 10 }
      pace: { type: enum, values: [slow, fast] }
      note: { type: string, max_length: 20, optional: true }`,
  )
  const loaded = load(text)
  const { bounds } = typeOf('velocity', loaded)
  expect(bounds.slice(4)).toEqual([
    { field: 'seconds', bound: 'at least 1 s' },
    { field: 'seconds', bound: 'at most 10 s' },
    { field: 'pace', bound: 'one of slow, fast' },
    { field: 'note', bound: 'at most 20 bytes' },
  ])
  const images = imageOf('velocity', loaded).bounds
  expect(images.map(({ name }) => name)).toEqual(bounds.map(({ field }) => field))
  expect(images.at(-1)!.expression).toEqual({
    op: 'or',
    args: [
      { op: 'not', args: [{ op: 'has', slot: 4 }] },
      {
        op: 'le',
        args: [
          { op: 'length', slot: 4, guarded: true },
          { op: 'number', value: 20 },
        ],
      },
    ],
  })
})

describe('footprint, per tense', () => {
  test('clauses, watches and effect, now and cited', () => {
    const goto = typeOf('goto').footprint
    expect(names(goto.now).sort()).toEqual([
      'armed',
      'battery.remaining',
      'estimator.ok',
      'gps.fix',
      'home.amsl',
      'home.lat',
      'home.lon',
      'landed',
      'map',
      'position.accuracy',
      'position.alt',
      'position.lat',
      'position.lon',
      'velocity.down',
      'velocity.east',
      'velocity.north',
    ])
    expect(names(goto.cited)).toEqual(['map'])
    expect(names(typeOf('status').footprint.now)).toEqual([
      'armed',
      'ready',
      'mode',
      'landed',
      'gps.fix',
      'battery.remaining',
    ])
    expect(names(typeOf('velocity').footprint.now)).toContain('local.down')
  })

  test('age reads now, unchanged and drift read both tenses, cited only its own', () => {
    const clause = 'age(state.armed) < 9 && unchanged(state.landed) && drift(state.home.lat) < 1 && cited.gps.fix > 2'
    const { footprint } = typeOf(
      'notice.operator',
      load(changed('    kind: notice\n', `    kind: notice\n    support: { a: ${clause} }\n`)),
    )
    expect(names(footprint.now)).toEqual(['armed', 'landed', 'home.lat'])
    expect(names(footprint.cited)).toEqual(['landed', 'gps.fix', 'home.lat'])
  })
})

describe('effects', () => {
  test('a command: the steps of the profile, once each, and retransmits where asked for', () => {
    const { effect } = typeOf('takeoff')
    expect(effect).toMatchObject({ kind: 'command', within_ms: 60_000, otherwise: 'land', retransmit: 0 })
    expect(effect).toHaveProperty('then', 'none')
    if (effect.kind !== 'command') throw new Error('takeoff is a command')
    const own = px4Multirotor.verbs.takeoff.steps(() => true)
    expect(effect.steps.map(({ frame, command }) => [frame, command])).toEqual(
      own.map(({ command }, i) => [i, command]),
    )
    expect(imageOf('takeoff').frames.map(({ sends }) => sends)).toEqual([1, 1, 1])
    const again = load(changed('      command: hold\n', '      command: hold\n      retransmit: 2\n'))
    expect(imageOf('hold', again).frames.map(({ sends }) => sends)).toEqual([3])
  })

  test('a setpoint: the stream without end, then the mode command', () => {
    expect(typeOf('goto').effect).toMatchObject({
      kind: 'setpoint',
      period_ms: 100,
      dwell_ms: 1000,
      within_ms: 120_000,
      otherwise: 'hold',
      leads: ['OFFBOARD'],
      engagement: { frame: 1, command: 176, shows: { mode: 'OFFBOARD' } },
    })
    expect(typeOf('goto').effect).toHaveProperty('then', 'hold')
    expect(imageOf('goto').frames.map(({ message, sends }) => [message, sends])).toEqual([
      [86, Number.POSITIVE_INFINITY],
      [76, 64],
    ])
  })

  test('G2 frames: offsets and formats of MAVLink, the position marked, the stamp apart', () => {
    const [frame] = imageOf('goto').frames
    const at = (offset: number) => frame!.entries.find((entry) => entry.offset === offset)
    expect(frame).toMatchObject({ length: 53, stamp: 0 })
    expect(at(4)).toMatchObject({ format: 'i32', position: 'lat' })
    expect(at(8)).toMatchObject({ format: 'i32', position: 'lon' })
    expect(reads(at(12)!.value as never).now).toEqual(
      new Set([catalog.fields.findIndex(({ name }) => name === 'home.amsl')]),
    )
    expect(
      imageOf('takeoff')
        .frames[2]!.entries.filter(({ value }) => value === 'nan')
        .map(({ offset }) => offset),
    ).toEqual([0, 4, 8, 12, 16, 20])
  })

  test('tolerance: 1 m for home by default, what the catalog says, none for a height that is kept', () => {
    const home = catalog.fields.findIndex(({ name }) => name === 'home.amsl')
    const line = '      tolerance: { home.amsl: 1m } '
    expect(imageOf('goto', load(changed(line, '      # '))).tolerance).toEqual([{ field: home, value: 1 }])
    expect(imageOf('goto', load(changed(line, '      tolerance: { home.amsl: 0.5m } #'))).tolerance).toEqual([
      { field: home, value: 0.5 },
    ])
    expect(imageOf('velocity').tolerance).toEqual([])
  })

  test('a handoff holds first, for 3 s', () => {
    expect(typeOf('handoff.pilot').effect).toMatchObject({
      kind: 'handoff',
      within_ms: 3000,
      otherwise: 'none',
    })
    expect(typeOf('handoff.pilot').effect).toHaveProperty('then', 'none')
    expect(imageOf('handoff.pilot').frames).toHaveLength(1)
  })

  test.each([
    'command: { mav_cmd: { id: 2000, params: [0, payload.alt * 2.0, 1, null, 0, 0, 0] } }',
    'mav_cmd: { id: 2000, params: [0, payload.alt * 2.0, 1, null, 0, 0, 0] }',
  ])('a command of the catalog itself: %s', (effect) => {
    const loaded = load(changed('      command: takeoff ', `      ${effect} #`))
    expect(typeOf('takeoff', loaded).effect).toMatchObject({
      kind: 'command',
      leads: [],
      steps: [{ frame: 0, command: 2000 }],
    })
    const { entries } = imageOf('takeoff', loaded).frames[0]!
    expect(entries.find(({ offset }) => offset === 12)!.value).toBe('nan')
    expect(entries.find(({ offset }) => offset === 28)!.value).toEqual({ op: 'number', value: 2000 })
  })

  test('G5 contingencies, in order, read nothing but the target', () => {
    expect(catalog.image.contingencies).toHaveLength(CONTINGENCIES.length)
    for (const { entries, sends } of catalog.image.contingencies) {
      expect(sends).toBe(10)
      for (const { value } of entries)
        expect(['number', 'target', undefined]).toContain(value === 'nan' ? undefined : value.op)
    }
  })
})

describe('the JSON Schema for agents', () => {
  const schema = z.fromJSONSchema(JSON.parse(catalog.agents[0]!.schema))
  const goto = { id: 'go', type: 'goto', payload: { lat: 47.4, lon: 8.5, alt: 20 }, requires: ['r'] }
  const response = (...components: readonly unknown[]) => ({
    v: 1,
    response: 'r-1',
    generation: 1,
    snapshot: 's',
    components,
  })
  const fits = (value: unknown) => schema.safeParse(value).success

  test('is draft 2020-12 and names units', () => {
    expect(JSON.parse(catalog.agents[0]!.schema).$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(catalog.agents[0]!.schema).toContain('"description":"height above home; unit: m"')
  })

  test('takes what an agent may say', () => {
    const notice = { id: 'n', type: 'notice.operator', payload: { text: 'hello' } }
    expect(fits(response(goto, notice, { id: 'r', type: 'report.range', payload: {} }))).toBe(true)
    expect(fits({ ...response(notice), recovers: null })).toBe(true)
    expect(fits({ ...response(notice), recovers: 'r-0' })).toBe(true)
  })

  test.each([
    ['no components', response()],
    ['another version', { ...response(goto), v: 2 }],
    ['an unknown key', { ...response(goto), colour: 'red' }],
    ['a name with a slash', { ...response(goto), response: 'a/b' }],
    ['a generation that is no integer', { ...response(goto), generation: 1.5 }],
    ['an unknown type', response({ ...goto, type: 'dive' })],
    ['a payload out of bounds', response({ ...goto, payload: { ...goto.payload, alt: 61 } })],
    ['an unknown payload field', response({ ...goto, payload: { ...goto.payload, speed: 3 } })],
    ['a missing payload field', response({ ...goto, payload: { lat: 1, lon: 2 } })],
    ['no mandatory prerequisite', response({ ...goto, requires: [] })],
    ['an unknown key of a component', response({ ...goto, priority: 1 })],
    ['an id with a slash', response({ ...goto, id: 'a/b' })],
    ['a prerequisite with a slash', response({ ...goto, requires: ['a/b'] })],
  ])('refuses %s', (_, value) => expect(fits(value)).toBe(false))
})

test('a command of the catalog’s own is named as MAVLink names it, or by its number', () => {
  const named = load(changed('id: 211', 'id: DO_GRIPPER'))
  expect(named.image).toEqual(load(EXAMPLE).image)
})
