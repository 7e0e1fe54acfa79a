// Rule text to rules: what the paper's grammar and its public files write, and every mistake with its place.

import { describe, expect, it } from 'vitest'
import { parseRules, type Rule, RuleError } from '../../../src/agentspec/index.ts'

const one = (text: string): Rule => parseRules(text, 'a.ar')[0]!
const checked = (check: string): string[][] =>
  one(`rule @a trigger any check ${check} enforce none end`).check.map((alternative) =>
    alternative.map((literal) =>
      literal.kind === 'constant'
        ? String(literal.value)
        : `${literal.negated ? '!' : ''}${literal.name}(${literal.arguments.map((a) => JSON.stringify(a)).join(',')})`,
    ),
  )
const enforced = (enforce: string): unknown[] =>
  one(`rule @a trigger any check true enforce ${enforce} end`).enforcements.map(({ at, ...rest }) => rest)
const triggered = (trigger: string): string[] =>
  one(`rule @a trigger ${trigger} check true enforce none end`).triggers.map(({ event }) => event)

function problems(text: string): string[] {
  try {
    parseRules(text, 'f.ar')
  } catch (error) {
    if (error instanceof RuleError) return error.message.split('\n')
    throw error
  }
  return []
}

describe('the styles of the public rule files', () => {
  it('reads a household rule, with comments and several predicates by white space', () => {
    const text = `
      // put
      rule @no_metal_in_microwave   # the oven
      trigger
          put
      check
          is_metal
          is_into_microwave
      enforce
          stop
      end`
    expect(parseRules(text, 'h.ar')).toMatchObject([
      {
        id: 'no_metal_in_microwave',
        triggers: [{ event: 'put', at: { line: 5, column: 11 } }],
        enforcements: [{ kind: 'stop' }],
        at: { line: 3, column: 7 },
      },
    ])
    expect(one(text).check).toMatchObject([[{ name: 'is_metal' }, { name: 'is_into_microwave' }]])
  })
  it('reads actions of two words, tools with dots, and alternatives of them', () => {
    expect(triggered('turn on')).toEqual(['turn on'])
    expect(triggered('Gmail.Send | Twilio.SendSms|The23andMe.Share')).toEqual([
      'Gmail.Send',
      'Twilio.SendSms',
      'The23andMe.Share',
    ])
  })
  it('reads the event words, and `finish` as `agent_finish`', () => {
    expect(triggered('state_change | before_action | after_action | agent_finish | finish | any')).toEqual([
      'state_change',
      'before_action',
      'after_action',
      'agent_finish',
      'agent_finish',
      'any',
    ])
  })
  it('reads a driving rule: numbers in predicates, assignments with namespaces', () => {
    expect(checked('trafficlight_color(3) & traffic_light_disL(2.0)')).toEqual([
      ['trafficlight_color(3)', 'traffic_light_disL(2)'],
    ])
    expect(
      enforced('real:preference:Max_planning_speed = 8.33 real:scenario:traffic_light:Stopping_distance = -1.'),
    ).toEqual([
      { kind: 'assign', setting: 'real:preference:Max_planning_speed', value: 8.33 },
      { kind: 'assign', setting: 'real:scenario:traffic_light:Stopping_distance', value: -1 },
    ])
  })
  it('reads a message for the person or the model, and `llm_self_reflect` as `llm_self_examine`', () => {
    expect(enforced('user_inspection("who gets \\"it\\"?") llm_self_reflect llm_self_examine("think")')).toEqual([
      { kind: 'user_inspection', message: 'who gets "it"?' },
      { kind: 'llm_self_examine', message: undefined },
      { kind: 'llm_self_examine', message: 'think' },
    ])
  })
  it('lets words of the language be names of predicates and actions where they are not reserved', () => {
    expect(triggered('stop')).toEqual(['stop'])
    expect(checked('finish any')).toEqual([['finish()', 'any()']])
    expect(triggered('ending | rules.check_all')).toEqual(['ending', 'rules.check_all'])
  })
})

describe('check', () => {
  it('knows true and false in both spellings, and folds negations', () => {
    expect(checked('true True & false False')).toEqual([['true', 'true', 'false', 'false']])
    expect(checked('!true !p !!p !!!p')).toEqual([['false', '!p()', 'p()', '!p()']])
  })
  it('binds | weaker than & and white space', () => {
    expect(checked('a b | c & !d | e')).toEqual([['a()', 'b()'], ['c()', '!d()'], ['e()']])
  })
  it('takes numbers and strings as arguments', () => {
    expect(checked('p(-1.5, .5, 2e3, -0, "x, y")')).toEqual([['p(-1.5,0.5,2000,0,"x, y")']])
  })
})

describe('enforce', () => {
  it('keeps the order, and the arguments of an invocation with nested values and references', () => {
    expect(enforced('skip invoke_action(land, {"k": {"v": [1, true, null]}, "to": payload["to"]}) stop')).toMatchObject(
      [
        { kind: 'skip' },
        {
          kind: 'invoke_action',
          action: 'land',
          arguments: {
            entries: [
              ['k', { entries: [['v', { items: [{ value: 1 }, { value: true }, { value: null }] }]] }],
              ['to', { kind: 'reference', root: 'payload', path: ['to'] }],
            ],
          },
        },
        { kind: 'stop' },
      ],
    )
  })
  it('invokes without arguments', () => {
    expect(enforced('invoke_action(hold)')).toEqual(enforced('invoke_action(hold, {})'))
  })
})

describe('mistakes', () => {
  it('says what stood there and what was expected', () => {
    expect(problems('rule @a trigger put check is_hot enforce stopp end')).toEqual([
      expect.stringContaining('f.ar:1:42: found `stopp`, expected an enforcement: stop, skip, none'),
    ])
    expect(problems('rule a trigger x check y enforce stop end')).toEqual(['f.ar:1:6: found `a`, expected `@`'])
    expect(problems('rule @a trigger check y enforce stop end')).toEqual([
      'f.ar:1:17: found `check`, expected an event',
    ])
    expect(problems('rule @a trigger x check enforce stop end')).toEqual([
      'f.ar:1:25: found `enforce`, expected a predicate',
    ])
    expect(problems('rule @a trigger x check a enforce end')).toEqual([
      'f.ar:1:35: found `end`, expected an enforcement',
    ])
    expect(problems('rule @a trigger x check a(b) enforce stop end')).toEqual(['f.ar:1:27: found `b`, expected `)`'])
    expect(problems('rule @a trigger x check a enforce stop')).toEqual([
      'f.ar:1:39: found the end of the file, expected an enforcement or `end`',
    ])
  })
  it('finds the mistakes of every rule, and of every section of one', () => {
    const text =
      'rule a\ntrigger\ncheck x &\nenforce halt\nend\n\nrule @b trigger put chekc y enforce stop\nend\nrule @c trigger x check y enforce stop end'
    expect(problems(text).map((p) => p.replace(/, expected.*/, ''))).toEqual([
      'f.ar:1:6: found `a`',
      'f.ar:3:1: found `check`',
      'f.ar:4:1: found `enforce`',
      expect.stringMatching(/^f\.ar:4:9: found `halt`/),
      'f.ar:7:29: found `enforce`',
    ])
  })
  it('points to the next rule where an `end` is missing', () => {
    expect(problems('rule @a trigger x check y enforce stop\nrule @b trigger x check y enforce stop end')).toEqual([
      'f.ar:2:1: found `rule`, expected an enforcement or `end`',
    ])
  })
  it('takes nothing before, between or after rules but comments', () => {
    const sound = 'rule @a trigger x check y enforce stop end'
    expect(problems(`case 20\n${sound}`)).toEqual(['f.ar:1:1: found `case`, expected `rule`'])
    expect(problems(`${sound}\n=== below`)).toEqual(['f.ar:2:1: found `=`, expected `rule`'])
    expect(problems(`${sound}\n$`)).toEqual(['f.ar:2:1: found `$`, which begins no word of a rule'])
    expect(problems('// nothing\n')).toEqual([])
  })
  it('names strings that are not closed, escapes and keys that JSON does not allow, numbers that are not finite', () => {
    expect(problems('rule @a trigger x check a("b) enforce stop\nend')).toEqual([
      expect.stringMatching(/^f\.ar:1:27: found `"b\) enforce stop`, a string that is not closed, expected/),
    ])
    const values = problems('rule @a trigger x check a(1e999) enforce invoke_action(b, {"k": "\\q", "k": 1}) end')
    expect(values).toEqual([
      'f.ar:1:27: `1e999` is not finite',
      expect.stringMatching(/^f\.ar:1:65: "\\q" has an escape/),
      'f.ar:1:71: key "k" stands here twice',
    ])
  })
  it('refuses parentheses where they mean nothing', () => {
    const of = (check: string, enforce: string) => problems(`rule @a trigger x check ${check} enforce ${enforce} end`)
    expect(of('true(1)', 'none')).toEqual(['f.ar:1:29: `true` takes no arguments'])
    expect(of('y', 'stop(x)')).toEqual(['f.ar:1:35: `stop` takes nothing in parentheses'])
    expect(of('y', 'user_inspection(x)')).toEqual(['f.ar:1:51: found `x`, expected a string'])
    expect(of('y', 'invoke_action("x")')).toEqual(['f.ar:1:49: found "x", expected the name of an action'])
    expect(of('y', 'invoke_action')).toEqual(['f.ar:1:35: found `invoke_action` alone, expected `(`'])
  })
  it('bounds what a model may write: length, rules, nesting', () => {
    const nested = (n: number) =>
      `rule @a trigger x check y enforce invoke_action(b, ${'{"k":'.repeat(n)}1${'}'.repeat(n)}) end`
    expect(problems(nested(15))).toEqual([])
    expect(problems(nested(16))).toEqual([expect.stringContaining('more than 16 brackets')])
    expect(problems(`${' '.repeat(1 << 20)}x`)).toEqual(['f.ar:1:1: has 1048577 characters, at most 1048576'])
    expect(problems('rule @a trigger x check y enforce stop end\n'.repeat(4097))).toEqual([
      'f.ar:4097:1: there are 4097 rules, at most 4096',
    ])
  })
})
