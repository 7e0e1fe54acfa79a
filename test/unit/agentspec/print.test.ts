// A rule printed and parsed again is the same rule, whatever it says.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Enforcement,
  type Literal,
  parseRules,
  printRule,
  printRules,
  type Rule,
  type Value,
} from '../../../src/agentspec/index.ts'

const at = { file: '', line: 0, column: 0 }
const RESERVED = ['rule', 'trigger', 'check', 'enforce', 'end']

const part = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
const name = fc
  .array(part, { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('.'))
  .filter((word) => !RESERVED.includes(word))
/** -0 is read as 0. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0 || 0)
const predicate = name.filter((word) => !/^(true|false)$/i.test(word))
const reference = predicate.filter((word) => word !== 'null' && word !== 'invoke_action')

const literal: fc.Arbitrary<Literal> = fc.oneof(
  fc.record({ kind: fc.constant('constant' as const), value: fc.boolean(), at: fc.constant(at) }),
  fc.record({
    kind: fc.constant('predicate' as const),
    negated: fc.boolean(),
    name: predicate,
    arguments: fc.array(fc.oneof(number, fc.string()), { maxLength: 3 }),
    at: fc.constant(at),
  }),
)

const scalar = fc.record({
  kind: fc.constant('scalar' as const),
  value: fc.oneof(number, fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null)),
})
const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.record({
      kind: fc.constant('reference' as const),
      root: reference,
      path: fc.array(fc.string(), { maxLength: 2 }),
      at: fc.constant(at),
    }),
    fc.record({ kind: fc.constant('list' as const), items: fc.array(tie('value'), { maxLength: 3 }) }),
    fc.record({
      kind: fc.constant('map' as const),
      entries: fc.uniqueArray(fc.tuple(fc.string(), tie('value')), { maxLength: 3, selector: ([key]) => key }),
    }),
  ),
})).value

const enforcement: fc.Arbitrary<Enforcement> = fc.oneof(
  fc.record({ kind: fc.constantFrom('stop' as const, 'skip' as const, 'none' as const), at: fc.constant(at) }),
  fc.record({
    kind: fc.constantFrom('user_inspection' as const, 'llm_self_examine' as const),
    message: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
    at: fc.constant(at),
  }),
  fc.record({
    kind: fc.constant('invoke_action' as const),
    action: name,
    arguments: fc.record({
      kind: fc.constant('map' as const),
      entries: fc.uniqueArray(fc.tuple(fc.string(), value), { maxLength: 3, selector: ([key]) => key }),
    }),
    at: fc.constant(at),
  }),
  fc.record({
    kind: fc.constant('assign' as const),
    setting: fc.array(name, { minLength: 2, maxLength: 4 }).map((names) => names.join(':')),
    value: number,
    at: fc.constant(at),
  }),
)

const rule: fc.Arbitrary<Rule> = fc.record({
  id: name,
  triggers: fc.array(
    fc
      .array(name, { minLength: 1, maxLength: 2 })
      .map((words) => words.join(' '))
      .filter((words) => words !== 'finish' && words !== 'llm_self_reflect')
      .map((event) => ({ event, at })),
    { minLength: 1, maxLength: 3 },
  ),
  check: fc.array(fc.array(literal, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  enforcements: fc.array(enforcement, { minLength: 1, maxLength: 3 }),
  at: fc.constant(at),
})

/** Positions are of the text, not of the rule. */
const said = (rules: readonly Rule[]): unknown =>
  JSON.parse(JSON.stringify(rules, (key, inner) => (key === 'at' ? undefined : inner)))

describe('printRule', () => {
  it('parses to the rule that was printed', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 3 }), (rules) => {
        expect(said(parseRules(printRules(rules), 'p.ar'))).toEqual(said(rules))
      }),
    )
  })
  it('writes the one form of this project', () => {
    const text =
      'rule @a trigger turn on|finish check !p(1) q|True enforce llm_self_reflect a:b=08.50 invoke_action(x) end'
    expect(printRule(parseRules(text, 'p.ar')[0]!)).toBe(
      [
        'rule @a',
        'trigger turn on | agent_finish',
        'check !p(1) & q',
        '    | true',
        'enforce',
        '    llm_self_examine',
        '    a:b = 8.5',
        '    invoke_action(x, {})',
        'end',
      ].join('\n'),
    )
  })
})
