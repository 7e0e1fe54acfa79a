// Rules against a vocabulary: what a rule may name, and rules that are written for nothing.

import { describe, expect, it } from 'vitest'
import { RuleError, type Vocabulary } from '../../../src/agentspec/index.ts'
import { rule, ruleSet } from './vocabulary.ts'

function problems(text: string, use: Partial<Vocabulary> = {}): string[] {
  try {
    ruleSet(text, use)
  } catch (error) {
    if (error instanceof RuleError)
      return error.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`)
    throw error
  }
  return []
}

describe('names', () => {
  it('knows every event, action, predicate, invocation and setting that a rule uses', () => {
    expect(
      problems(
        rule('a', 'is_candle near(3) recipient_is("x")', 'real:preference:Max_speed = 1', 'turn on | finish') +
          rule('b', 'true', 'invoke_action(land, {"to": payload["to"], "all": [state]})', 'Gmail.Send | any'),
      ),
    ).toEqual([])
  })
  it('refuses unknown ones where they stand, all at once, with the nearest name', () => {
    const text =
      rule('a', 'is_candel', 'stop', 'turn off') +
      rule('b', 'near(1)', 'invoke_action(lnd) real:preference:Max_sped = 2', 'state_change') +
      rule('c', 'true', 'invoke_action(land, {"a": tool["x"], "b": [payload["tu"], invoke_action(hold)]})')
    expect(problems(text)).toEqual([
      '1:17: unknown event `turn off` (did you mean `turn on`?)',
      '1:32: unknown predicate `is_candel` (did you mean `is_candle`?)',
      '2:52: unknown action `lnd` to invoke (did you mean `land`?)',
      '2:71: unknown setting `real:preference:Max_sped` (did you mean `real:preference:Max_speed`?)',
      '3:66: unknown value `tool`: a reference begins with `state` or `payload`',
      '3:83: `payload` has no `tu` (did you mean `to`?)',
      '3:98: an invocation inside another has no answer',
    ])
  })
  it('matches exactly: neither the beginning of an action nor the name of an object property', () => {
    expect(problems(rule('a', 'true', 'stop', 'Gmail'))).toEqual(['1:17: unknown event `Gmail`'])
    expect(problems(rule('a', 'constructor', 'stop'))).toEqual(['1:27: unknown predicate `constructor`'])
  })
  it('refuses an event that the host does not raise', () => {
    expect(problems(rule('a', 'true', 'stop', 'state_change'), { events: ['before_action'] })).toEqual([
      '1:17: event `state_change` is not raised here',
    ])
  })
  it('refuses arguments of another number or type', () => {
    expect(problems(rule('a', 'near near("x") is_candle(1) near(1, 2)', 'stop'))).toEqual([
      '1:27: predicate `near` takes (limit_m: number), not 0 arguments',
      '1:32: predicate `near` takes (limit_m: number), not "x"',
      '1:42: predicate `is_candle` takes (), not 1 argument',
      '1:55: predicate `near` takes (limit_m: number), not 2 arguments',
    ])
  })
  it('refuses a duplicate id and says where the first stands', () => {
    expect(problems(rule('a', 'is_candle', 'skip') + rule('a', 'raining', 'skip'))).toEqual([
      '2:1: rule `a` stands already in test.ar:1:1',
    ])
  })
  it('names what is wrong with the clause of a predicate', () => {
    expect(problems(rule('a', 'misspelt', 'stop') + rule('b', 'aged', 'stop'))).toEqual([
      expect.stringMatching(/^1:27: the clause of `misspelt`.*unknown field `lihgt` \(did you mean `light`\?\)$/),
      expect.stringMatching(/^2:27: the clause of `aged`.*`age` is known to the core of HALO only$/),
    ])
  })
})

describe('checks that can never be known', () => {
  it('refuses a clause whose value is finite for no state', () => {
    expect(problems(rule('a', '!unknowable', 'stop'))).toEqual(['1:27: `!unknowable` can never be known'])
  })
})

describe('checks that can never be true', () => {
  const never = (check: string) => problems(rule('a', check, 'stop')).map((p) => p.replace(/^\d+:\d+: /, ''))

  it('refuses them, by constants, contradiction or the range of a clause', () => {
    for (const check of [
      'false',
      '!true',
      'is_candle False',
      'is_candle & !is_candle',
      'impossible',
      '!certain',
      'false | raining !raining',
    ]) {
      expect([check, never(check)]).toEqual([check, ['this check can never be true']])
    }
  })
  it('keeps those that can', () => {
    for (const check of [
      'true',
      'false | raining',
      '!false',
      'near(1) !near(2)',
      'certain',
      '!impossible',
      'is_candle | !is_candle',
    ]) {
      expect([check, never(check)]).toEqual([check, []])
    }
  })
})

describe('unreachable rules', () => {
  const second = (first: string, later: string) => problems(first + later)
  const shadowed = ['2:1: rule `b` is unreachable: `a` in test.ar:1:1 stops before it']

  it('refuses a rule behind one that stops in every case of its own', () => {
    const stop = rule('a', 'raining', 'stop', 'put | goto')
    expect(second(stop, rule('b', 'raining', 'stop', 'put'))).toEqual(shadowed)
    expect(second(stop, rule('b', 'near(1) raining', 'user_inspection', 'goto'))).toEqual(shadowed)
    expect(second(stop, rule('b', 'raining is_candle | raining', 'skip', 'put'))).toEqual(shadowed)
    expect(second(rule('a', 'true', 'none stop'), rule('b', 'is_candle', 'llm_self_examine'))).toEqual(shadowed)
    expect(second(rule('a', 'raining', 'stop', 'before_action'), rule('b', 'raining', 'skip', 'put'))).toEqual(shadowed)
  })
  it('keeps a rule that another event, another case or a weaker enforcement leaves something to do', () => {
    const stop = rule('a', 'raining near(1)', 'stop', 'put')
    expect(second(stop, rule('b', 'raining near(1)', 'skip', 'put | goto'))).toEqual([])
    expect(second(stop, rule('b', 'raining near(1)', 'skip', 'before_action'))).toEqual([])
    const acts = rule('a', 'raining', 'stop', 'before_action')
    for (const trigger of ['state_change', 'after_action', 'any']) {
      expect(second(acts, rule('b', 'raining', 'skip', trigger))).toEqual([])
    }
    expect(second(stop, rule('b', 'raining', 'skip', 'put'))).toEqual([])
    expect(second(stop, rule('b', 'raining near(2)', 'skip', 'put'))).toEqual([])
    expect(second(stop, rule('b', 'raining !near(1)', 'skip', 'put'))).toEqual([])
    expect(second(rule('a', 'raining', 'skip'), rule('b', 'raining', 'stop'))).toEqual([])
  })
  it('keeps a rule that invokes or sets something: it does so although the agent is stopped', () => {
    const stop = rule('a', 'raining', 'stop')
    expect(second(stop, rule('b', 'raining', 'invoke_action(land)'))).toEqual([])
    expect(second(stop, rule('b', 'raining', 'real:obstacle:Min_stop_distance = 10'))).toEqual([])
  })
})

describe('a gate', () => {
  it('G5: refuses a predicate that answers later in a rule that is judged in a gate', () => {
    const refused = ['1:37: predicate `later` answers later, and this rule is judged in a gate']
    expect(problems(rule('a', 'later', 'stop', 'before_action'), { gate: true })).toEqual(refused)
    expect(problems(rule('a', 'later', 'stop', 'Gmail.Send'), { gate: true })).toHaveLength(1)
    expect(problems(rule('a', 'later', 'stop', 'any'), { gate: true })).toHaveLength(1)
    expect(problems(rule('a', 'later', 'stop', 'after_action | finish'), { gate: true })).toEqual([])
    expect(problems(rule('a', 'later', 'stop', 'before_action'))).toEqual([])
  })
})
