// `halo rules`: check, run, score and guide, on good files and bad (PROTOCOL 13).

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type Domain, ofVocabulary, readDomain } from '../../../companion/commands/domain.ts'
import { draftSchema, draftText } from '../../../companion/commands/draft.ts'
import { guide } from '../../../companion/commands/guide.ts'
import { checkFiles, runTrace, scoreTrace } from '../../../companion/commands/rules.ts'
import { parseRules } from '../../../src/agentspec/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'halo-rules-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const lines = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join('\n')

const vocabulary = file(
  'words.json',
  JSON.stringify({
    events: ['before_action', 'agent_finish'],
    actions: ['pour', 'turn on'],
    state: { speed: 'number' },
    payload: { amount: 'number', to: 'string' },
    predicates: {
      more_than: { about: 'How much.', parameters: ['limit'], clause: 'payload.amount > constants.limit' },
      moving: { clause: 'state.speed > 0.5' },
    },
    invocable: ['halt'],
    settings: ['robot:speed'],
  }),
)
const good = file(
  'good.ar',
  'rule @much trigger pour check more_than(5) enforce skip end\nrule @on_the_move trigger turn on check moving enforce none end',
)
const said = async (run: (print: (line: string) => void) => unknown): Promise<string[]> => {
  const printed: string[] = []
  await run((line) => printed.push(line))
  return printed
}

describe('halo rules check', () => {
  it('counts the rules of good files, each by itself', async () => {
    const more = file('more.ar', 'rule @far trigger any check moving enforce none end')
    expect(await said((print) => checkFiles([good, more], { vocabulary }, print))).toEqual([
      `${good}: 2 rules`,
      `${more}: 1 rule`,
    ])
  })
  it('names every mistake of every file with its place', async () => {
    const bad = file(
      'bad.ar',
      'rule @a trigger poor check more_than enforce skip end\nrule @much trigger any check true enforce none end',
    )
    await expect(checkFiles([good, bad], { vocabulary }, () => {})).rejects.toThrow(
      [
        `${bad}:1:17: unknown event \`poor\` (did you mean \`pour\`?)`,
        `${bad}:1:28: predicate \`more_than\` takes (limit: number), not 0 arguments`,
        `${bad}:2:1: rule \`much\` stands already in ${good}:1:1`,
      ].join('\n'),
    )
  })
  it('without a vocabulary checks the grammar, and says that it is no more', async () => {
    const alone = file('alone.ar', 'rule @a trigger whatever check anything enforce stop end')
    expect((await said((print) => checkFiles([alone], {}, print)))[0]).toMatch(/: 1 rule, grammar only/)
    await expect(checkFiles([file('no.ar', 'rule @a trigger x check y end')], {}, () => {})).rejects.toThrow(
      /no\.ar:1:/,
    )
  })
  it('with a configuration takes the catalog, and refuses what the companion would refuse', async () => {
    const config = 'examples/halo.yaml'
    const rule = (text: string): string => file('config.ar', `rule @a trigger ${text} end`)
    await checkFiles([rule('goto check far_target enforce skip')], { config }, () => {})
    await expect(checkFiles([rule('any check airborne enforce skip')], { config }, () => {})).rejects.toThrow(
      /needs a component/,
    )
    await expect(checkFiles([rule('land check far_target enforce skip')], { config }, () => {})).rejects.toThrow(
      /reads a payload/,
    )
  })
  it('refuses a vocabulary that is none, by key, and options that contradict each other', async () => {
    const bad = file('bad.json', '{"events": ["sometimes"], "predicates": {"p": {}}}')
    await expect(readDomain({ vocabulary: bad })).rejects.toThrow(/bad\.json: events\.0: .*\n.*predicates\.p\.clause: /)
    await expect(readDomain({ vocabulary: file('no.json', '{') })).rejects.toThrow(/no\.json: /)
    await expect(readDomain({ vocabulary, config: 'examples/halo.yaml' })).rejects.toThrow('either')
    await expect(readDomain({ predicates: 'x.ts' })).rejects.toThrow('needs --vocabulary')
  })
  it('refuses a module without predicates, and a predicate that exists twice', async () => {
    const none = file('none.mjs', 'export const rules = 1')
    await expect(readDomain({ vocabulary, predicates: none })).rejects.toThrow('exports no `predicates`')
    const odd = file('odd.mjs', 'export const predicates = { p: {} }')
    await expect(readDomain({ vocabulary, predicates: odd })).rejects.toThrow('`p` must be {parameters, test}')
    const twice = file('twice.mjs', 'export const predicates = { moving: { parameters: [], test: () => true } }')
    await expect(readDomain({ vocabulary, predicates: twice })).rejects.toThrow('`moving` is a clause here')
  })
})

describe('halo rules run and score', () => {
  const steps = [
    { case: 'a', action: 'pour', payload: { amount: 2 } },
    { case: 'a', action: 'pour', payload: { amount: 9 } },
    { case: 'b', action: 'pour', payload: { amount: 3 } },
    { case: 'c', action: 'turn on', state: { speed: 2 } },
    { case: 'd', event: 'agent_finish' },
  ]
  const trace = file('trace.jsonl', lines(steps))
  const label = (name: string, unsafe: boolean, held_out = false) => ({ case: name, unsafe, category: 'x', held_out })

  it('run: tells which rule is violated at which line', async () => {
    expect(await said((print) => runTrace(good, { vocabulary, trace }, print))).toEqual([
      `${trace}:2: a: pour: skip @much`,
      `${trace}:4: c: turn on: none @on_the_move`,
      '5 steps, 2 with a violation, 1 held back',
    ])
  })
  it('G5: run tells what could not be known, and counts it', async () => {
    const blind = file('blind.jsonl', lines([{ case: 'a', action: 'pour' }]))
    expect(await said((print) => runTrace(good, { vocabulary, trace: blind }, print))).toEqual([
      `${blind}:1: a: pour: skip @much`,
      '  @much: more_than(5): payload.amount is unknown',
      '1 steps, 1 with a violation, 1 held back',
    ])
  })
  it('refuses steps of what does not exist', async () => {
    const run = (step: unknown) =>
      runTrace(good, { vocabulary, trace: file('odd.jsonl', lines([steps[0], step])) }, () => {})
    await expect(run({ case: 'a', action: 'put' })).rejects.toThrow('odd.jsonl:2: action: unknown action `put`')
    await expect(run({ case: 'a', event: 'state_change' })).rejects.toThrow('odd.jsonl:2: event `state_change`')
    await expect(run({ case: 'a' })).rejects.toThrow('odd.jsonl:2: action: is missing')
    await expect(run({ action: 'pour' })).rejects.toThrow('odd.jsonl:2: case: ')
  })
  it('score: counts by part and names each miss and each false stop', async () => {
    const labels = file(
      'labels.jsonl',
      lines([label('a', false), label('b', true, true), label('c', true), label('d', false)]),
    )
    let code: number | undefined
    const printed = await said(async (print) => {
      code = await scoreTrace(good, { vocabulary, labels }, print)
    })
    expect(code).toBe(2)
    expect(printed.map((line) => line.replace(/ +/g, ' '))).toEqual([
      ' unsafe stopped safe stopped precision recall categories',
      'written for 1 0 2 1 0.000 0.000 0 of 1',
      'held out 1 0 0 0 - 0.000 0 of 1',
      'all 2 0 2 1 0.000 0.000 0 of 1',
      'miss: b (x, held out)',
      'miss: c (x)',
      'false stop: a (x) by @much',
    ])
    const right = file(
      'right.jsonl',
      lines([label('a', true), label('b', false), label('c', false), label('d', false)]),
    )
    expect(await scoreTrace(good, { vocabulary, labels: right, trace }, () => {})).toBe(0)
  })
  it('score: refuses cases without a label, without a step, and labelled twice', async () => {
    const of = (labels: unknown[]) =>
      scoreTrace(good, { vocabulary, trace, labels: file('l.jsonl', lines(labels)) }, () => {})
    const all = ['a', 'b', 'c', 'd'].map((name) => label(name, false))
    await expect(of(all.slice(1))).rejects.toThrow('case `a` has no label')
    await expect(of([...all, label('e', true)])).rejects.toThrow('case `e` has a label and no step')
    await expect(of([...all, all[0]])).rejects.toThrow('l.jsonl:5: case `a` is labelled twice')
  })
  it('needs a vocabulary', async () => {
    await expect(runTrace(good, { trace }, () => {})).rejects.toThrow('needs --vocabulary or --config')
  })
})

describe('rules as data', () => {
  const draft = {
    rules: [
      {
        id: 'a',
        trigger: ['pour', 'turn on'],
        check: [[{ predicate: 'more_than', arguments: [5], not: true }, { predicate: 'moving' }], [true]],
        enforce: [
          'skip',
          { user_inspection: 'say "yes"' },
          { invoke_action: 'halt', arguments: { how: ['now', 1, { hard: null }] } },
          { set: 'robot:speed', value: 0.5 },
        ],
      },
    ],
  }
  it('become the text that says the same', () => {
    expect(draftText(JSON.stringify(draft), 'x')).toBe(
      [
        'rule @a',
        'trigger pour | turn on',
        'check !more_than(5) & moving',
        '    | true',
        'enforce',
        '    skip',
        '    user_inspection("say \\"yes\\"")',
        '    invoke_action(halt, {"how": ["now", 1, {"hard": null}]})',
        '    robot:speed = 0.5',
        'end\n',
      ].join('\n'),
    )
  })
  it('cannot smuggle text into the language', () => {
    const with_ = (change: object): string => JSON.stringify({ rules: [{ ...draft.rules[0], ...change }] })
    for (const bad of ['a trigger any check true enforce none end rule @b', 'a\n', '', 'a b']) {
      expect(() => draftText(with_({ id: bad }), 'x'), bad).toThrow('x: rules.0.id: ')
    }
    expect(() => draftText(with_({ trigger: ['pour check'] }), 'x')).not.toThrow()
    expect(() => parseRules(draftText(with_({ trigger: ['pour check'] }), 'x'), 'x')).toThrow()
    expect(() => draftText(with_({ check: [[{ predicate: 'a | b' }]] }), 'x')).toThrow('x: rules.0.check.0.0')
    expect(() => draftText(with_({ enforce: ['invoke'] }), 'x')).toThrow('x: rules.0.enforce.0: ')
  })
  it('are read from stdin like text, and printed as text', () => {
    const halo = (input: string, ...args: string[]) =>
      spawnSync(
        'node',
        ['--import', 'tsx', 'companion/main.ts', 'rules', 'check', '-', '--vocabulary', vocabulary, ...args],
        {
          input,
          encoding: 'utf8',
        },
      )
    const printed = halo(
      JSON.stringify({ rules: [{ ...draft.rules[0], check: draft.rules[0]!.check.slice(0, 1) }] }),
      '--print',
    )
    expect(printed.status).toBe(0)
    expect(parseRules(printed.stdout, 'x').map(({ id }) => id)).toEqual(['a'])
    const wrong = halo('rule @a trigger pour check mooving enforce skip end')
    expect(wrong.status).toBe(1)
    expect(wrong.stderr).toBe(
      'halo: the rules have mistakes\nstdin:1:28: unknown predicate `mooving` (did you mean `moving`?)\n',
    )
  }, 30_000)
  it('the schema allows the names of the vocabulary only, with their arguments', async () => {
    const { vocabulary: words } = (await readDomain({ vocabulary }))!
    const text = JSON.stringify(draftSchema(words))
    expect(text).toContain('{"enum":["before_action","agent_finish","any","pour","turn on"]}')
    expect(text).toContain('"predicate":{"const":"more_than"}')
    expect(text).toContain('"prefixItems":[{"type":"number","title":"limit"}],"minItems":1,"maxItems":1')
    expect(text).not.toContain('"pattern":"^[A-Za-z_][A-Za-z0-9_]*(\\\\.[A-Za-z_][A-Za-z0-9_]*)*(:')
  })
})

describe('halo rules guide', () => {
  const block = (text: string): string => /## Examples\n\n```\n([\s\S]*?)```/.exec(text)![1]!
  const check = (domain: Domain) => {
    const text = guide(domain).join('\n')
    return { text, rules: domain.check([{ file: 'guide', text: block(text) }]) }
  }
  it.each([
    ['a vocabulary', { vocabulary }, 6],
    [
      'a vocabulary with a module',
      { vocabulary: 'examples/rules/code/vocabulary.json', predicates: 'examples/rules/code/predicates.ts' },
      4,
    ],
    ['the catalog of a configuration', { config: 'examples/halo.yaml' }, 5],
  ] as const)('of %s: its examples are rules there', async (_, options, count) => {
    const { text, rules } = check((await readDomain(options))!)
    expect(rules).toHaveLength(count)
    expect(text).toContain('## Grammar')
    JSON.parse(/```json\n([\s\S]*?)\n```/.exec(text)![1]!)
  })
  it('of a vocabulary without a predicate still has examples', () => {
    const { rules } = check(ofVocabulary('{"events": ["before_action"]}', 'x', {}))
    expect(rules.length).toBeGreaterThan(0)
  })
  it('names predicates with parameters, meaning and clause', async () => {
    const { text } = check((await readDomain({ vocabulary }))!)
    expect(text).toContain('- `more_than(limit: number)`: How much. `payload.amount > constants.limit`')
  })
  it('of no domain has the examples of the manual', () => {
    expect(parseRules(block(guide(undefined).join('\n')), 'guide')).toHaveLength(3)
  })
})
