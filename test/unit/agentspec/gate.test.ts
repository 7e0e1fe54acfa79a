// `judge`: the verdict at once, as a gate needs it.

import { describe, expect, it } from 'vitest'
import { type Context, EXAMINATIONS_MAX, type RuleSet } from '../../../src/agentspec/index.ts'
import { CANDLE, rule, ruleSet } from './vocabulary.ts'

const judge = (set: RuleSet, context: Context = {}, action = 'put') =>
  set.judge({ name: 'before_action', action }, context)
const ids = (set: RuleSet, ...event: Parameters<RuleSet['judge']>) => set.judge(...event).violated.map(({ id }) => id)

describe('which rules an event concerns', () => {
  const set = ruleSet(
    rule('tool', 'true', 'none', 'Gmail.Send') +
      rule('every', 'true', 'none', 'any') +
      rule('acts', 'true', 'none', 'before_action') +
      rule('words', 'true', 'none', 'turn on | state_change') +
      rule('after', 'true', 'none', 'after_action') +
      rule('ended', 'true', 'none', 'finish'),
  )
  it('an action concerns its own rules, those of before_action and any, in the order of the file', () => {
    expect(ids(set, { name: 'before_action', action: 'Gmail.Send' }, {})).toEqual(['tool', 'every', 'acts'])
    expect(ids(set, { name: 'before_action', action: 'turn on' }, {})).toEqual(['every', 'acts', 'words'])
    expect(ids(set, { name: 'before_action' }, {})).toEqual(['every', 'acts'])
  })
  it('matches exactly: no action whose name begins like a trigger, and none that an object inherits', () => {
    expect(ids(set, { name: 'before_action', action: 'Gmail.SendMail' }, {})).toEqual(['every', 'acts'])
    expect(ids(set, { name: 'before_action', action: 'turn on the light' }, {})).toEqual(['every', 'acts'])
    expect(ids(set, { name: 'before_action', action: 'constructor' }, {})).toEqual(['every', 'acts'])
    expect(ids(set, { name: 'before_action', action: 'state_change' }, {})).toEqual(['every', 'acts'])
  })
  it('an action that has been taken is no longer about to be', () => {
    expect(ids(set, { name: 'after_action', action: 'Gmail.Send' }, {})).toEqual(['every', 'after'])
    expect(ids(set, { name: 'state_change' }, {})).toEqual(['every', 'words'])
    expect(ids(set, { name: 'agent_finish' }, {})).toEqual(['every', 'ended'])
  })
})

describe('what is violated', () => {
  it('needs every predicate of one alternative', () => {
    const set = ruleSet(rule('a', 'is_candle raining | heavy', 'stop'))
    const of = (subject: string, weather: string, mass: number) =>
      judge(set, { subject, state: { weather }, payload: { mass } }).outcome
    expect(of('candle', 'rain', 1)).toBe('stop')
    expect(of('candle', 'sun', 1)).toBe('none')
    expect(of('lamp', 'rain', 1)).toBe('none')
    expect(of('lamp', 'sun', 7)).toBe('stop')
  })
  it('no check leaks into another rule, and no enforcement is lost behind a later one', () => {
    const set = ruleSet(
      rule('a', 'is_candle', 'stop none') + rule('b', 'true', 'none') + rule('c', '!is_candle', 'skip none', 'put'),
    )
    expect(judge(set, CANDLE)).toMatchObject({ outcome: 'stop', violated: [{ id: 'a' }, { id: 'b' }] })
    expect(judge(set, {})).toMatchObject({ outcome: 'skip', violated: [{ id: 'b' }, { id: 'c' }] })
  })
  it('a driving rule compares the state with its argument', () => {
    const set = ruleSet(rule('s1', 'light(3) & near(10)', 'real:obstacle:Min_stop_distance = 10', 'state_change'))
    const at = (light: number, distance: number) =>
      set.judge({ name: 'state_change' }, { state: { light, 'front.distance': distance } })
    expect(at(3, 10).applied).toMatchObject([{ enforcement: { kind: 'assign', value: 10 }, result: 'pending' }])
    expect(at(3, 10.5)).toMatchObject({ outcome: 'none', applied: [] })
    expect(at(2, 5)).toMatchObject({ outcome: 'none', applied: [] })
  })
  it('asks each predicate once an event, however many rules name it', () => {
    let asked = 0
    const counts = { parameters: [], test: () => ++asked > 1 }
    const set = ruleSet(
      rule('a', 'counts', 'skip') + rule('b', '!counts', 'skip') + rule('c', 'counts | counts', 'none'),
      {
        predicates: { counts },
      },
    )
    judge(set)
    expect(asked).toBe(1)
  })
})

describe('G5: what cannot be known counts as violated, under ! as well, and is reported', () => {
  it.each([
    ['throws', 'the sensor is gone'],
    ['throws_anything', 'threw something that is no error'],
    ['says_yes', 'answers no boolean'],
    ['later', 'did not answer at once'],
    ['rejects', 'did not answer at once'],
    ['raining', 'state.weather is unknown'],
    ['near(3)', 'state.front.distance is unknown'],
  ])('%s', (check, reason) => {
    for (const negated of [check, `!${check}`]) {
      const verdict = judge(ruleSet(rule('a', negated, 'stop')))
      expect(verdict.outcome).toBe('stop')
      expect(verdict.faults).toEqual([{ rule: 'a', what: check, reason }])
    }
  })
  it('a clause that could never be true is not forgotten while it is unknown', () => {
    const set = ruleSet(rule('a', 'impossible | is_candle', 'stop'))
    expect(judge(set, { state: { weather: 'sun' } }).outcome).toBe('none')
    expect(judge(set, {}).outcome).toBe('stop')
  })
  it('reports a fault also where the rest of the check is false', () => {
    const verdict = judge(ruleSet(rule('a', 'throws is_candle', 'stop')))
    expect(verdict).toMatchObject({ outcome: 'none', violated: [], faults: [{ rule: 'a', what: 'throws' }] })
  })
})

describe('the verdict', () => {
  it('is the strictest of all that apply, in whatever order, and records all', () => {
    const order = ['none', 'invoke_action(land)', 'llm_self_examine', 'user_inspection', 'skip', 'stop']
    const words = ['none', 'invoke_action', 'llm_self_examine', 'user_inspection', 'skip', 'stop']
    const context = { state: { 'front.distance': 0 } }
    for (let n = 1; n <= order.length; n++) {
      for (const some of [order.slice(0, n), order.slice(0, n).reverse()]) {
        const set = ruleSet(some.map((enforce, i) => rule(`r${i}`, `near(${i})`, enforce)).join(''))
        const verdict = judge(set, context)
        expect(verdict.outcome).toBe(words[n - 1])
        expect(verdict.applied).toHaveLength(n)
      }
    }
  })
  it('leaves questions and invocations to the caller, with the arguments looked up', () => {
    const set = ruleSet(
      rule(
        'a',
        'true',
        'user_inspection("to whom?") invoke_action(land, {"to": payload["to"], "n": [1, {"s": state["light"]}]})',
      ),
    )
    const verdict = judge(set, { payload: { to: 'x' }, state: { light: 2 } })
    expect(verdict.outcome).toBe('user_inspection')
    expect(verdict.applied.map(({ result, arguments: args }) => [result, args])).toEqual([
      ['pending', undefined],
      ['pending', { to: 'x', n: [1, { s: 2 }] }],
    ])
  })
  it('asks nobody where the step is held back anyway, but still invokes', () => {
    const set = ruleSet(
      rule('a', 'true', 'user_inspection invoke_action(land) llm_self_examine') + rule('b', 'is_candle', 'skip'),
    )
    expect(judge(set, CANDLE).applied.map(({ result }) => result)).toEqual(['moot', 'pending', 'moot', 'applied'])
  })
  it('G5: skips where the argument of an invocation is not there', () => {
    const verdict = judge(ruleSet(rule('a', 'true', 'invoke_action(land, {"to": payload["to"]})')))
    expect(verdict).toMatchObject({
      outcome: 'skip',
      applied: [{ result: 'failed' }],
      faults: [{ rule: 'a', what: 'invoke_action(land, {"to": payload["to"]})', reason: 'payload.to is unknown' }],
    })
  })
  it('skips once the model has examined itself three times', () => {
    const set = ruleSet(rule('a', 'true', 'llm_self_examine'))
    expect(judge(set, { examined: EXAMINATIONS_MAX - 1 }).outcome).toBe('llm_self_examine')
    expect(judge(set, { examined: EXAMINATIONS_MAX })).toMatchObject({
      outcome: 'skip',
      applied: [{ result: 'withdrawn' }],
    })
  })
})
