// AgentSpec: runtime enforcement for agents of any kind, by rules `rule @id trigger E check P enforce A end`. It needs
// nothing of HALO but the language of its clauses. docs/agentspec.md is its manual.

export { checkRules } from './check.ts'
export { parseRules } from './parse.ts'
export { printEnforcement, printLiteral, printRule, printRules } from './print.ts'
export { type Problem, RuleError, sayProblem } from './problem.ts'
export type * from './rule.ts'
export { ANY, EVENTS, OUTCOMES, strictest } from './rule.ts'
export { EXAMINATIONS_MAX, type Hooks, type Inquiry, type RuleSet } from './ruleset.ts'
export type * from './verdict.ts'
export type * from './vocabulary.ts'
