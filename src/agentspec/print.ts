// A rule as text, in the one form that this project writes. Parsing it again gives the same rule, but for positions.

import type { Enforcement, Literal, Rule, Value } from './rule.ts'

/** Ends without a line break. */
export function printRule({ id, triggers, check, enforcements }: Rule): string {
  return [
    `rule @${id}`,
    `trigger ${triggers.map(({ event }) => event).join(' | ')}`,
    `check ${check.map((alternative) => alternative.map(printLiteral).join(' & ')).join('\n    | ')}`,
    'enforce',
    ...enforcements.map((enforcement) => `    ${printEnforcement(enforcement)}`),
    'end',
  ].join('\n')
}

/** Several rules, with an empty line between two. */
export function printRules(rules: readonly Rule[]): string {
  return rules.map((rule) => `${printRule(rule)}\n`).join('\n')
}

export function printLiteral(literal: Literal): string {
  if (literal.kind === 'constant') return String(literal.value)
  const { negated, name, arguments: list } = literal
  const called = list.length === 0 ? name : `${name}(${list.map((argument) => JSON.stringify(argument)).join(', ')})`
  return negated ? `!${called}` : called
}

export function printEnforcement(enforcement: Enforcement): string {
  switch (enforcement.kind) {
    case 'invoke_action':
      return printValue(enforcement)
    case 'assign':
      return `${enforcement.setting} = ${enforcement.value}`
    case 'user_inspection':
    case 'llm_self_examine': {
      const { kind, message } = enforcement
      return message === undefined ? kind : `${kind}(${JSON.stringify(message)})`
    }
    default:
      return enforcement.kind
  }
}

function printValue(value: Value): string {
  switch (value.kind) {
    case 'scalar':
      return JSON.stringify(value.value)
    case 'list':
      return `[${value.items.map(printValue).join(', ')}]`
    case 'map':
      return `{${value.entries.map(([key, inner]) => `${JSON.stringify(key)}: ${printValue(inner)}`).join(', ')}}`
    case 'reference':
      return `${value.root}${value.path.map((key) => `[${JSON.stringify(key)}]`).join('')}`
    case 'invoke_action':
      return `invoke_action(${value.action}, ${printValue(value.arguments)})`
  }
}
