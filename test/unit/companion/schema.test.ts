// The JSON Schemas that are shipped for editors: what they say of a file is what the shapes say that HALO reads it with.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { schema as configShape, PROFILES } from '../../../companion/config.ts'
import { SCHEMAS, type SchemaName, schemaText } from '../../../companion/schema.ts'
import { whole as catalogShape } from '../../../src/catalog/schema.ts'
import { Source } from '../../../src/catalog/source.ts'
import { EXAMPLE } from '../catalog/example.ts'
import { findingsOf, wrongFiles } from './wrong.ts'

const shipped = (name: SchemaName) => new URL(`../../../schema/${name}.json`, import.meta.url)
const compiled = (name: SchemaName) =>
  new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(JSON.parse(readFileSync(shipped(name), 'utf8')))
const catalog = compiled('catalog')
const halo = compiled('halo')

const parsed = (text: string): unknown => new Source(text, 'file.yaml').value
const isCatalog = (value: unknown): boolean =>
  catalogShape.safeParse(value).success && PROFILES.some(({ name }) => name === (value as { vehicle: string }).vehicle)

test.each(SCHEMAS)('schema/%s.json is derived from the shape: `npx vitest -u` writes it anew', async (name) => {
  await expect(schemaText(name)).toMatchFileSnapshot(shipped(name).pathname)
})

const examples = readdirSync('examples', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => join('examples', file))

test.each(examples)('%s names its schema in its first line, and keeps it', (file) => {
  const text = readFileSync(file, 'utf8')
  const [, path] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? []
  expect(existsSync(resolve(dirname(file), path!))).toBe(true)
  const keeps = path!.endsWith('/catalog.json') ? catalog : halo
  keeps(parsed(text))
  expect(keeps.errors ?? []).toEqual([])
})

describe('a wrong catalog is wrong in the editor as well', () => {
  const times = [
    '10s',
    '300ms',
    '1e3ms',
    ' 5min ',
    '0.5h',
    '0',
    '0s',
    '0.0s',
    '60',
    '1m',
    '-1s',
    '10 s',
    's',
    '"0"',
    '1e-3s',
    '[]',
  ]
  const rates = ['10Hz', '0.2Hz', '0Hz', '10hz', '10', '1e1Hz', '-2Hz', '00.5Hz']
  const replaced: [from: string, to: string][] = [
    ...times.map((time): [string, string] => ['{ max_age: 60s }', `{ max_age: ${time} }`]),
    ...times.map((time): [string, string] => ['    patience: 0s', `    patience: ${time}`]),
    ...rates.map((rate): [string, string] => ['      rate: 10Hz', `      rate: ${rate}`]),
    ['max_age: 60s', 'max_ago: 60s'],
    ['catalog: 1', 'catalog: 2'],
    ['vehicle: px4-multirotor', 'vehicle: px4'],
    ['kind: notice', 'kind: notce'],
    ['type: number, unit: m, min: 4, max: 30', 'type: numbr'],
    ['type: number, unit: m, min: 4, max: 30', 'type: number, values: [a]'],
    ['id: 211', 'id: DO_GRIPPER'],
    ['id: 211', 'id: DO_GRIPER'],
    ['id: 211', 'id: 70000'],
    ['params: [1, 0, 0, 0, 0, 0, 0]', 'params: [1]'],
    ['otherwise: hold', 'otherwise: disarm'],
    ['      command: hold', '      comand: hold'],
    ['  goto:\n', '  Goto:\n'],
    ['battery_low: state.battery.remaining < 35', 'battery_low: true'],
    ['    retained: allowed', '    retained: perhaps'],
    ['may: [notice', 'may: notice #'],
  ]
  test.each(replaced)('%s → %s', (from, to) => {
    const value = parsed(EXAMPLE.replace(from, to))
    expect(catalog(value), JSON.stringify(catalog.errors)).toBe(isCatalog(value))
  })
})

const parsable = wrongFiles.filter(({ name, text }) => new Source(text, name).value !== undefined)

test.each(parsable.map((file) => [file.name, file] as const))(
  'the wrong file %s is as wrong in the editor',
  (_, file) => {
    const value = parsed(file.text)
    const [keeps, isOfShape] = file.isConfiguration ? [halo(value), true] : [catalog(value), isCatalog(value)]
    // What one key of a configuration says of another is no form, so of a configuration the editor may know less.
    if (!isOfShape) expect(keeps).toBe(false)
    if (!keeps) expect(findingsOf(file).join()).toContain('error: ')
  },
)

test('the editor underlines a good part of the wrong files', () => {
  const underlined = parsable.filter(({ text, isConfiguration }) => !(isConfiguration ? halo : catalog)(parsed(text)))
  expect(underlined.length).toBeGreaterThanOrEqual(20)
})

test.each([
  ['colour: red', false],
  ['preflight: perhaps', false],
  ['max_speed: 0', false],
  ['max_speed: 3', true],
  ['log: { level: loud }', false],
  ['rules: rules.ar', false],
  ['mqtt: {}', false],
  ['mqtt: { url: "mqtt://a", embedded: "127.0.0.1:1" }', false],
  ['mqtt: { url: "http://a" }', false],
])('a configuration with %s', (line, isRight) => {
  const key = line.split(':')[0]!
  const lines = {
    vehicle: 'vehicle: uav1',
    catalog: 'catalog: c.yaml',
    mavlink: 'mavlink: { endpoint: "udpin://127.0.0.1:1" }',
    mqtt: 'mqtt: { url: "mqtt://a" }',
    [key]: line,
  }
  const value = parsed(Object.values(lines).join('\n'))
  expect(configShape.safeParse(value).success).toBe(isRight)
  expect(halo(value)).toBe(isRight)
})
