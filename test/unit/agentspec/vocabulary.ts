// A host for tests: a small household, a mailbox and a car, with a predicate of every kind.

import { type Context, checkRules, parseRules, type RuleSet, type Vocabulary } from '../../../src/agentspec/index.ts'

export const vocabulary: Vocabulary = {
  events: ['state_change', 'before_action', 'after_action', 'agent_finish'],
  actions: ['put', 'turn on', 'Gmail.Send', 'Gmail.SendMail', 'goto'],
  predicates: {
    is_candle: { parameters: [], test: (_, { subject }) => subject === 'candle' },
    throws: {
      parameters: [],
      test: () => {
        throw new Error('the sensor is gone')
      },
    },
    throws_anything: {
      parameters: [],
      test: () => {
        throw Object.create(null)
      },
    },
    says_yes: { parameters: [], test: () => 'yes' as unknown as boolean },
    later: { parameters: [], asynchronous: true, test: async (_, { subject }) => subject === 'candle' },
    rejects: { parameters: [], asynchronous: true, test: () => Promise.reject(new Error('timed out')) },
    recipient_is: {
      parameters: [{ name: 'address', type: 'string' }],
      test: ([address], { payload }) => payload?.to === address,
    },
    near: { parameters: [{ name: 'limit_m', type: 'number' }], clause: 'state.front.distance <= constants.limit_m' },
    light: { parameters: [{ name: 'colour', type: 'number' }], clause: 'state.light == constants.colour' },
    raining: { clause: 'state.weather == "rain"' },
    heavy: { clause: 'payload.mass >= 5' },
    impossible: { clause: 'state.weather == "sun" && 1.0 > 2.0' },
    certain: { clause: 'state.moving || 2.0 > 1.0' },
    aged: { clause: 'age(state.light) > 1.0' },
    unknowable: { clause: 'state.light / 0.0 > 1.0' },
    misspelt: { clause: 'state.lihgt == 1.0' },
  },
  invocable: ['land', 'hold'],
  settings: ['real:preference:Max_speed', 'real:obstacle:Min_stop_distance'],
  state: { 'front.distance': 'number', light: 'number', moving: 'boolean', weather: ['sun', 'rain'] },
  payload: { to: 'string', mass: 'number', fragile: 'boolean' },
  gate: false,
}

export function ruleSet(text: string, use: Partial<Vocabulary> = {}): RuleSet {
  return checkRules(parseRules(text, 'test.ar'), { ...vocabulary, ...use })
}

/** One rule at every event. */
export const rule = (id: string, check: string, enforce: string, trigger = 'any'): string =>
  `rule @${id} trigger ${trigger} check ${check} enforce ${enforce} end\n`

export const CANDLE: Context = { subject: 'candle' }
