// The documents say what the code does: its words, its fields, its messages, its errors, and links that lead somewhere.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Reason } from '../../build/abi.ts'
import { ardupilotCopter } from '../../src/autopilot/ardupilot-copter.ts'
import { px4Multirotor } from '../../src/autopilot/px4-multirotor.ts'
import { CatalogError, type Problem } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { REMEDIES } from '../../src/catalog/remedy.ts'
import { loadCore } from '../../src/core/wasm.ts'
import { readResponse } from '../../src/wire/response.ts'
import { encode } from '../../src/wire/write.ts'
import { type ComponentSaid, Stage } from './engine/stage.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const protocol = read('docs/protocol.md')
const catalog = read('docs/catalog.md')
const documents = [
  ...readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
  ...['README.md'].filter((file) => existsSync(join(ROOT, file))),
]

/** The code in a cell: between backticks, one or two. */
const code = (cell: string): string => cell.trim().match(/^(`{1,2}) ?(.*?) ?\1/)?.[2] ?? cell.trim()
/** Rows of all tables of a text, by cells. */
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\|(.*)\|$/gm)].map(([, row]) => row!.split('|').map(code)).filter(([first]) => first !== '---')
const after = (text: string, heading: string): string => {
  const at = text.indexOf(heading)
  if (at === -1) throw new Error(`no ${JSON.stringify(heading)}`)
  return text.slice(at + heading.length)
}

test('every reason word stands once in the table of PROTOCOL 14, and no other', () => {
  const words = rows(after(protocol, '## 14.')).map(([word]) => word!)
  expect([...words.slice(1)].sort()).toEqual(Object.keys(Reason).sort())
})

test('what the catalog tells agents to do about a reason is what the table says', () => {
  const table = [...after(protocol, '## 14.').matchAll(/^\| `(\w+)` \| [^|]* \| (.*) \|$/gm)]
  const said = new Map(table.map(([, word, what]) => [word, what]))
  for (const [word, remedy] of Object.entries(REMEDIES)) expect(said.get(word), word).toBe(remedy)
})

test('every field of the profile stands in the catalog manual, with its type, unit and age', () => {
  const table = rows(after(catalog, '## Fields of px4-multirotor').split('\n## ')[0]!).slice(1)
  const written = table.map(([name, type, unit, , , age]) => [name, type, unit, age].join(' ')).sort()
  const fields = px4Multirotor.fields.map(({ name, type, unit, maxAge_ms }) =>
    [name, type, unit ?? '', `${maxAge_ms} ms`].join(' '),
  )
  expect(written).toEqual([...fields].sort())
})

test('every plausible range stands in the catalog manual', () => {
  const table = rows(after(catalog, 'no vehicle can have at all').split('\n## ')[0]!).slice(1)
  const ranges = px4Multirotor.fields.flatMap(({ name, unit, plausible }) =>
    plausible === undefined
      ? []
      : [[name, `${plausible.least}`, `${plausible.most}${unit === undefined ? '' : ` ${unit}`}`, plausible.why]],
  )
  expect(table).toEqual(ranges)
})

test('the fields of ArduPilot that differ stand there with their message and age', () => {
  const written = [
    ...after(catalog, '## Fields of ardupilot-copter')
      .split('| mode |')[0]!
      .matchAll(/^\|(.*)\|$/gm),
  ]
    .map(([, row]) => row!.split('|').map((cell) => cell.trim()))
    .filter(([first]) => first!.startsWith('`'))
    .flatMap(([names, message, , age]) =>
      [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => `${name} ${/^[A-Z_]+/.exec(message!)![0]} ${age}`),
    )
  const said = (profile: typeof px4Multirotor) =>
    profile.fields.map(({ name, from, maxAge_ms }) => `${name} ${from.message} ${maxAge_ms} ms`)
  const px4 = said(px4Multirotor)
  const estimate = ['ready SYS_STATUS 1000 ms'] // needs more than the message says
  expect(written.sort()).toEqual([...said(ardupilotCopter).filter((line) => !px4.includes(line)), ...estimate].sort())
})

test.each(documents)('%s: every relative link resolves, and nothing outside of the repository is named', (file) => {
  const text = read(file)
  for (const [, link] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
    if (/^[a-z]+:/.test(link!)) continue
    expect(existsSync(join(ROOT, dirname(file), link!)), `${file}: ${link}`).toBe(true)
  }
  expect(text).not.toMatch(/(\/work|\.\.)\/shared/)
})

test('every file that the life of a response names exists', () => {
  const sources = ['assembly', 'src', 'companion'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `/${folder}/${file}`),
  )
  for (const [, file] of read('docs/life-of-a-response.md').matchAll(/`([a-z0-9/-]+\.ts)`/g)) {
    expect(
      sources.some((source) => source.endsWith(`/${file}`)),
      file,
    ).toBe(true)
  }
})

/** The JSON examples below each `#### topic` of PROTOCOL 12. */
const examples = after(protocol, '## 12.')
  .split('\n## ')[0]!
  .split('\n#### ')
  .slice(1)
  .flatMap((part) =>
    [...part.matchAll(/```json\n(.*?)```/gs)].map(
      ([, json]) =>
        [/^[a-z/.]+/.exec(part)![0], JSON.parse(json!)] as [topic: string, message: Record<string, unknown>],
    ),
  )

/** Every path of keys; an array counts as its elements, a map by names as its values. */
const BY_NAME = new Set([
  'state',
  'ends',
  'versions',
  'agents',
  'types',
  'support',
  'gate',
  'reasons',
  'may_require',
  'footprint',
  'fields',
])
function shape(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => shape(element, path))
  if (typeof value !== 'object' || value === null) return [path]
  const byName = BY_NAME.has(path.split('.').at(-1)!) || /(^|\.)plans\.components$|types\.\*\.payload$/.test(path)
  return Object.entries(value).flatMap(([key, inner]) => {
    if (inner === undefined) return []
    const at = path === '' ? key : `${path}.${byName ? '*' : key}`
    return typeof inner === 'object' && inner !== null ? [at, ...shape(inner, at)] : [at]
  })
}

test('the messages of PROTOCOL 12 have no key that the engine does not build, and the responses can be read', () => {
  const stage = new Stage(loadCore).fly()
  const components = examples.find(([topic]) => topic === 'response/planner')![1].components as ComponentSaid[]
  stage.say(components)
  stage.run(500).context('map', 2).run(1500)
  stage.say([components[0]!, components[2]!], { recovers: 'r1' })
  stage.sayBytes(Uint8Array.of(0xa1))
  stage.operate('resume', { after: 99 }).run(1500)

  const built = new Map<string, Set<string>>()
  for (const { topic, value } of stage.published) {
    built.set(topic, new Set([...(built.get(topic) ?? []), ...shape(value)]))
  }
  expect(examples.length).toBeGreaterThanOrEqual(12)
  for (const [topic, message] of examples) {
    if (topic.startsWith('response/')) expect(readResponse(encode(message)), topic).toHaveProperty('response')
    else if (!/^(context|operator)\//.test(topic)) {
      expect(
        shape(message).filter((path) => !built.get(topic)?.has(path)),
        topic,
      ).toEqual([])
    }
  }
})

const small = catalog.match(/```yaml\n(.*?)```/s)![1]!
function problems(text: string): string {
  try {
    loadCatalog(text, 'catalog.yaml', [px4Multirotor])
    return ''
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return error.message
  }
}

function warnings(text: string): string[] {
  const found: Problem[] = []
  loadCatalog(text, 'catalog.yaml', [px4Multirotor], { warnings: found })
  return found.map(({ key, message }) => `${key}: ${message}`)
}

test('the small catalog of the manual loads, without a warning', () => {
  expect(problems(small)).toBe('')
  expect(warnings(small)).toEqual([])
})

const doubts = rows(after(catalog, '### Warnings').split('What a number can be')[0]!).filter(([clause]) =>
  /^(battery|home): /.test(clause!),
)
test.each(doubts)('the manual tells the warning of a clause: %s', (clause, message) => {
  const name = clause!.split(':')[0]
  const text = small.replace('battery: state.battery.remaining >= 40', clause!)
  expect(warnings(text)).toEqual([`components.takeoff.support.${name}: ${message}`])
})

const mistakes = rows(after(catalog, '\nClauses, here as').split('\nEverything else')[0]!).slice(1)
test.each(mistakes)('the manual tells the error of a clause: %s', (clause, message) => {
  const text = small.replace('battery: state.battery.remaining >= 40', `battery: ${JSON.stringify(clause)}`)
  expect(problems(text).replace(/^\S+ /, '')).toBe(`components.takeoff.support.battery: ${message}`)
})
