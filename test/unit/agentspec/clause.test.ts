// Clauses over a step's variables: three-valued, and the same language as the catalog's (PROTOCOL 3).

import { describe, expect, it } from 'vitest'
import { Unknown, Variables } from '../../../src/agentspec/clause.ts'
import type { Context } from '../../../src/agentspec/index.ts'

const variables = new Variables({
  state: { speed: 'number', 'front.distance': 'number', on: 'boolean', light: ['red', 'green'] },
  payload: { mass: 'number', to: 'string', kind: ['cup', 'pan'], hot: 'boolean' },
})
const known: Context = {
  state: { speed: 3, 'front.distance': 12, on: true, light: 'green' },
  payload: { mass: 2, to: 'kitchen', kind: 'pan', hot: false },
}
const say = (text: string, context: Context = known): boolean | string => {
  const said = variables.compile(text, new Map([['limit', 10]])).test(variables.read(context))
  return said instanceof Unknown ? said.what : said
}

describe('a clause', () => {
  it('computes what CEL says', () => {
    const truths = [
      'state.speed * 2.0 - 1.0 == 5',
      'state.speed != 4 && state.front.distance > constants.limit',
      'state.on ? state.speed < 4 : state.speed > 4',
      'min(state.speed, 1.0) + max(state.speed, 7.0) == 8 && abs(-state.speed) <= 3 && state.speed / 2.0 >= 1.5',
      'state.light == "green" && payload.kind != "cup" && payload.to == "kitchen"',
      '!payload.hot || state.speed > 100',
      'has(payload.mass) && payload.mass == 2',
      'distance(0.0, 0.0, 0.0, 1.0) > 111000 && distance(0.0, 0.0, 0.0, 1.0) < 111300',
    ]
    for (const text of truths) {
      expect([text, say(text), say(`!(${text})`)]).toEqual([text, true, false])
    }
  })
  it('G5: is unknown where a variable is absent, null, of another type or not finite, negated or not', () => {
    for (const speed of [undefined, null, '3', true, Number.NaN, Number.POSITIVE_INFINITY]) {
      const context = { state: { ...known.state, speed } }
      expect(say('state.speed > 1', context)).toBe('state.speed')
      expect(say('!(state.speed > 1)', context)).toBe('state.speed')
    }
    expect(say('state.on', { state: { on: 1 } })).toBe('state.on')
    expect(say('state.light == "red"', { state: { light: 'blue' } })).toBe('state.light')
    expect(say('payload.to == "x"', { payload: { to: 4 } })).toBe('payload.to')
    expect(say('payload.to != "x"', {})).toBe('payload.to')
    expect(say('state.on', {})).toBe('state.on')
  })
  it('G5: is unknown even where the other side of && or ||, or the branch taken, would have decided', () => {
    const context = { state: { speed: 3, on: true } }
    expect(say('state.on || state.front.distance > 1', context)).toBe('state.front.distance')
    expect(say('!state.on && state.front.distance > 1', context)).toBe('state.front.distance')
    expect(say('state.on ? state.speed > 1 : state.front.distance > 1', context)).toBe('state.front.distance')
  })
  it('G5: is unknown where a result is not finite', () => {
    expect(say('state.speed / (state.speed - 3.0) > 0')).toBe('a result that is not finite')
    expect(say('state.on || state.speed * 1e308 * 10.0 > 0')).toBe('a result that is not finite')
    expect(say('distance(132.6, 8.5, 47.4, 8.5) < 280')).toBe('a result that is not finite')
    expect(say('distance(47.4, 8.5, 47.4, -180.1) > 280')).toBe('a result that is not finite')
  })
  it('asks `has`: absent is then an answer, and another type still is none', () => {
    const text = 'has(payload.mass) && payload.mass > 1'
    expect(say(text, { payload: {} })).toBe(false)
    expect(say(text, { payload: { mass: null } })).toBe(false)
    expect(say(text, { payload: { mass: 'heavy' } })).toBe('payload.mass')
    expect(say('!has(payload.to) || payload.to == "x"', { payload: {} })).toBe(true)
  })
  it('reads only what the step itself holds, not what objects inherit', () => {
    const inherited = Object.create({ speed: 3 }) as Record<string, unknown>
    expect(say('state.speed > 1', { state: inherited })).toBe('state.speed')
  })
})
