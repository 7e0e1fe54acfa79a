// `halo check` as a function: lines, JSON, strictness, and a type in sentences.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CheckOptions, check } from '../../../companion/commands/check.ts'
import { readCatalog } from '../../../companion/config.ts'
import { MAX_SPEED, type Problem } from '../../../src/catalog/catalog.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-check-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const EXAMPLE = readFileSync('examples/px4-multirotor/catalog.yaml', 'utf8')

/** Checks the example after changes of its catalog, with more of a configuration. */
async function run(
  edit: (text: string) => string,
  options: CheckOptions = {},
  more = '',
): Promise<{ code: number; lines: string[]; catalog: string; config: string }> {
  const [catalog, config] = [join(folder, 'catalog.yaml'), join(folder, 'halo.yaml')]
  writeFileSync(catalog, edit(EXAMPLE))
  const link = 'mavlink: { endpoint: "udpin://127.0.0.1:14540" }\nmqtt: { embedded: "127.0.0.1:1883" }\n'
  writeFileSync(config, `vehicle: uav1\ncatalog: catalog.yaml\n${link}${more}`)
  const lines: string[] = []
  const code = await check(config, options, (line) => lines.push(line))
  return { code, lines, catalog: relative(process.cwd(), catalog), config }
}

const NEVER = (text: string) =>
  text.replace('battery: state.battery.remaining >= 40', 'battery: state.battery.remaining > 130')
const WRONG = (text: string) => text.replace('state.gps.fix >= 3', 'state.gps.fixx >= 3')
const SAID =
  'components.takeoff.support.battery: can never hold, since `battery.remaining` is 0 to 100 %: change it, or leave it out'

test.each(['examples/halo.yaml', 'examples/ardupilot-copter/halo.yaml'])(
  'all is well in %s, in one line',
  async (file) => {
    const lines: string[] = []
    expect(await check(file, { strict: true }, (line) => lines.push(line))).toBe(0)
    expect(lines).toEqual([
      expect.stringMatching(/: all is well: vehicle uav1, 12 types, 1 agent, 8 predicates, 0 rules; catalog \S+ \(/),
    ])
    expect(lines[0]!.startsWith(`${file}: `)).toBe(true)
  },
)

const catalogs = readdirSync('examples', { recursive: true, encoding: 'utf8' }).filter((file) =>
  /(^|\/)catalog[^/]*\.yaml$/.test(file),
)

test.each(catalogs)('nothing is to be said of examples/%s', (file) => {
  const warnings: Problem[] = []
  readCatalog({ catalog: join('examples', file), maxSpeed: MAX_SPEED }, warnings)
  expect(warnings).toEqual([])
})

test('rules are counted, and their mistakes are errors at their place', async () => {
  writeFileSync(join(folder, 'rules.ar'), 'rule @r trigger goto check high_target enforce skip end\n')
  const good = await run((text) => text, {}, 'rules: [rules.ar]\n')
  expect(good).toMatchObject({ code: 0, lines: [expect.stringContaining('8 predicates, 1 rule; ')] })
  writeFileSync(join(folder, 'rules.ar'), 'rule @r trigger goto check hihg enforce skip end\n')
  const bad = await run((text) => text, {}, 'rules: [rules.ar]\n')
  expect(bad.code).toBe(1)
  expect(bad.lines[0]).toMatch(/rules\.ar:1:28: error: unknown predicate `hihg`/)
})

test('a warning is told and passes; strictly it is an error', async () => {
  const { code, lines, catalog, config } = await run(NEVER)
  expect([code, ...lines]).toEqual([0, `${catalog}:118:16: warning: ${SAID}`, `${config}: 0 errors, 1 warning`])
  const strict = await run(NEVER, { strict: true })
  expect([strict.code, ...strict.lines]).toEqual([
    1,
    `${catalog}:118:16: error: ${SAID}`,
    `${config}: 1 error, 0 warnings`,
  ])
})

test('an error stands at its place, whether in the catalog or in what the configuration names', async () => {
  const { code, lines, catalog } = await run(WRONG)
  expect(code).toBe(1)
  expect(lines[0]).toMatch(
    `${catalog}:81:22: error: components.report.range.support.position_good: unknown field \`gps.fixx\``,
  )
  const missing = await run((text) => text, {}, 'rules: [no.ar]\n')
  expect(missing.lines[0]).toBe(`${missing.config}:5:8: error: rules: rules ${join(folder, 'no.ar')}: no such file`)
  const unknown = await run((text) => text, {}, 'colour: red\n')
  expect(unknown.lines[0]).toBe(`${unknown.config}:5:1: error: colour: unknown key`)
})

test('G5: a key that JavaScript would swallow is told in the configuration as well', async () => {
  const { lines, config } = await run((text) => text, {}, '__proto__: { preflight: warn }\n')
  expect(lines[0]).toBe(`${config}:5:1: error: __proto__: is no name that can be used: choose another`)
})

test('as JSON, for editors and CI', async () => {
  const { code, lines, catalog } = await run(NEVER, { json: true })
  expect([code, JSON.parse(lines.join('\n'))]).toEqual([
    0,
    {
      ok: true,
      findings: [
        {
          file: catalog,
          line: 118,
          column: 16,
          severity: 'warning',
          key: 'components.takeoff.support.battery',
          message: SAID.replace(/^\S+: /, ''),
        },
      ],
    },
  ])
  expect(JSON.parse((await run((text) => text, { json: true })).lines.join('\n'))).toEqual({ ok: true, findings: [] })
  expect(await run(WRONG, { json: true })).toMatchObject({ code: 1, lines: [expect.stringContaining('"ok": false')] })
})

test('a type is explained in sentences: when it is retained, when it crosses, how it ends', async () => {
  const said = async (explain: string) => (await run((text) => text, { explain })).lines.join('\n')
  const goto = await said('goto')
  for (const sentence of [
    'goto is an action: a stream of position-global, a frame each 100 ms. Flies in a straight line',
    '  - planner says it, citing a snapshot of this session that is at most 1 min old\n',
    '    alt: at most 60 m\n',
    '  - it names a report.range under its `requires`\n',
    '  - map has not changed since the cited snapshot\n',
    '    battery: state.battery.remaining >= 25\n',
    '  - its gate holds, unless it rests on an action that is not completed yet:\n    flying: state.armed',
    '    takeoff: completed\n',
    '    report.range: released\n',
    '  - `flight` is free: no other action holds it\n',
    ', for 1 s without a break; then hold is sent.\n',
    'If it ends in any other way, or is not done within 2 min, hold is sent.\n',
    'It reads in the cited snapshot: map',
  ])
    expect(goto).toContain(sentence)
  expect(await said('release')).toContain(
    'It cannot be undone: it is on the disk before it is sent, and it is sent once.',
  )
  expect(await said('notice.operator')).toContain('Then its text is published, severity info.')
  expect(await said('report.range')).toContain('Then it publishes battery.remaining, position.lat,')
  expect(await said('request.approval')).toContain('Then a person is asked')
  expect(await said('handoff.pilot')).toContain('once HOLD is shown the pilot has control and the plan ends')
  await expect(said('tekoff')).rejects.toThrow('the catalog has no type `tekoff` (did you mean `takeoff`?)')
})
