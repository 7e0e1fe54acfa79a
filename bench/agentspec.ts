// AgentSpec rules: text to rules, and one event before 100 of them (PROTOCOL 13).

import {
  checkRules,
  parseRules,
  type Rule,
  type RuleSet,
  type Verdict,
  type Vocabulary,
} from '../src/agentspec/index.ts'
import type { Work } from './work.ts'

const RULES = 100
const VIOLATED = 3

const vocabulary: Vocabulary = {
  events: ['before_action'],
  actions: ['drive'],
  predicates: {
    nearer_than: { parameters: [{ name: 'limit_m', type: 'number' }], clause: 'state.gap < constants.limit_m' },
    faster_than: { parameters: [{ name: 'limit_mps', type: 'number' }], clause: 'payload.speed > constants.limit_mps' },
  },
  invocable: [],
  settings: ['real:preference:Max_planning_speed'],
  state: { gap: 'number' },
  payload: { speed: 'number' },
  gate: true,
}

/** Each with numbers of its own, so that no two share a predicate; the first is true in all, so both are always asked. */
const ruleText = (i: number): string =>
  `rule @follow_distance_${i}
trigger drive
check faster_than(${(5 + i / 16).toFixed(4)}) & nearer_than(${(10 + i / 8).toFixed(3)})
enforce
    skip
    real:preference:Max_planning_speed = 8.33
end
`

const texts = Array.from({ length: RULES }, (_, i) => ruleText(i))

export function agentspec(): Work[] {
  const one = texts[0]!
  const parse: Work<Rule[]> = {
    name: 'rules: parse one of two predicates and two enforcements',
    calls: 16,
    paper_ms: 1.42,
    target_ms: 0.05,
    run: () => parseRules(one, 'bench.ar'),
    didIt: ([rule]) => rule?.check[0]?.length === 2 && rule.enforcements.length === 2,
  }
  const rules = checkRules(parseRules(texts.join('\n'), 'bench.ar'), vocabulary)
  // The limits grow with the number of the rule: at this gap the last three see something nearer than theirs.
  const crowded_m = 10 + (RULES - VIOLATED - 0.5) / 8
  return [
    parse,
    event(rules, 'none violated', { gap: 200, speed: 20 }, 0),
    event(rules, `${VIOLATED} violated`, { gap: crowded_m, speed: 20 }, VIOLATED),
  ]
}

function event(
  rules: RuleSet,
  what: string,
  { gap, speed }: { gap: number; speed: number },
  count: number,
): Work<Verdict> {
  return {
    name: `rules: one event before ${RULES} with numeric predicates, ${what}`,
    calls: 16,
    paper_ms: 1.11,
    target_ms: 0.01,
    run: () => rules.judge({ name: 'before_action', action: 'drive' }, { state: { gap }, payload: { speed } }),
    didIt: ({ violated, faults }) => violated.length === count && faults.length === 0,
  }
}
