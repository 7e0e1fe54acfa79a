// `halo rules guide`: all that a language model needs to write rules, as Markdown: the grammar, what it means, the vocabulary,
// examples in it, and the JSON Schema of rules as data (PROTOCOL 13).

import { existsSync, readFileSync } from 'node:fs'
import { type Predicate, parseRules, printRules, type Rule, RuleError } from '../../src/agentspec/index.ts'
import type { Domain } from './domain.ts'
import { draftSchema } from './draft.ts'

/** Without a domain: the language alone, with the examples of its manual. */
export function guide(domain: Domain | undefined): string[] {
  const manual = readManual()
  const examples = domain === undefined ? manual.example : examplesOf(domain)
  return [
    '# How to write AgentSpec rules',
    '',
    'A rule says what an agent must not do, when to look, and what to do about it. Write rule text, or rules as data that',
    'follow the schema below. `halo rules check -` reads either and answers with every mistake and its place. Use the names',
    'of the vocabulary only. What a predicate cannot know counts as a violation: ask what the step really carries.',
    '',
    ...(domain === undefined ? [] : vocabularyOf(domain)),
    '## Examples',
    '',
    '```',
    ...examples.trim().split('\n'),
    '```',
    '',
    manual.language.trim(),
    '',
    '## Rules as data',
    '',
    '```json',
    JSON.stringify(draftSchema(domain?.vocabulary), undefined, 2),
    '```',
  ]
}

/** Grammar and meaning stand once, in docs/agentspec.md, beside source and `dist/` alike. */
function readManual(): { readonly language: string; readonly example: string } {
  const paths = ['../../docs/agentspec.md', '../../../docs/agentspec.md'].map((path) => new URL(path, import.meta.url))
  const file = paths.find((path) => existsSync(path))
  if (file === undefined) throw new Error('guide: no docs/agentspec.md beside this program')
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf('\n## Grammar'), text.indexOf('\n## Errors at load')]
  const example = /```\n([\s\S]*?)```/.exec(text)?.[1]
  if (from === -1 || to === -1 || example === undefined)
    throw new Error(`guide: ${file.pathname} has lost its sections`)
  return { language: text.slice(from, to), example }
}

function vocabularyOf({ vocabulary, about }: Domain): string[] {
  const { events, actions, predicates, invocable, settings, state, payload } = vocabulary
  const words = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ') || 'none'
  const variables = (of: Readonly<Record<string, unknown>>): string =>
    Object.entries(of)
      .map(([name, type]) => `\`${name}\` (${Array.isArray(type) ? type.join(' \\| ') : type})`)
      .join(', ') || 'none'
  return [
    '## Vocabulary',
    '',
    `- Events: ${words([...events, 'any'])}`,
    `- Actions, as triggers: ${words(actions)}`,
    `- \`invoke_action\` may name: ${words(invocable)}`,
    `- Assignments may set: ${words(settings)}`,
    `- A step carries \`state\`: ${variables(state)}`,
    `- A step carries \`payload\`: ${variables(payload)}`,
    '',
    'Predicates:',
    '',
    ...(Object.keys(predicates).length === 0 ? ['none: a check can only be `true` here'] : []),
    ...Object.entries(predicates).map(([name, predicate]) => {
      const told = [about[name], 'clause' in predicate ? `\`${predicate.clause}\`` : undefined].filter(Boolean)
      return `- \`${signature(name, predicate)}\`${told.length > 0 ? `: ${told.join(' ')}` : ''}`
    }),
    '',
  ]
}

const signature = (name: string, { parameters = [] }: Predicate): string =>
  parameters.length === 0 ? name : `${name}(${parameters.map((p) => `${p.name}: ${p.type}`).join(', ')})`

/** Rules of every kind that this domain takes. */
function examplesOf({ vocabulary, check: judge }: Domain): string {
  const { predicates, actions, invocable, settings } = vocabulary
  const asked = Object.entries(predicates).map(([name, { parameters = [] }]) =>
    parameters.length === 0
      ? name
      : `${name}(${parameters.map(({ type }) => (type === 'number' ? '10' : '"..."')).join(', ')})`,
  )
  const literals = asked.length === 0 ? ['true'] : asked
  const triggers = ['before_action', ...actions, 'state_change']
  const enforcements = [
    'skip',
    'user_inspection("say why a person must look")',
    'llm_self_examine("say what to do instead")',
    'stop',
    ...invocable.slice(0, 1).map((action) => `skip invoke_action(${action}, {})`),
    ...settings.slice(0, 1).map((setting) => `skip ${setting} = 5`),
  ]
  const sound = (text: string): Rule | undefined => {
    try {
      judge([{ file: 'example', text }])
      return parseRules(text, 'example')[0]
    } catch (error) {
      if (error instanceof RuleError) return undefined
      throw error
    }
  }
  const rules = enforcements.flatMap((enforcement, i) => {
    // Round and round, so that the examples speak of different things.
    const checks = literals.map((_, k) => {
      const [a, b] = [literals[(i * 2 + k) % literals.length]!, literals[(i * 2 + k + 1) % literals.length]!]
      return i % 2 === 0 || a === b ? a : `${a} & !${b}`
    })
    for (const check of checks) {
      for (let k = 0; k < triggers.length; k++) {
        const trigger = triggers[(i + k) % triggers.length]!
        const rule = sound(`rule @example_${i + 1} trigger ${trigger} check ${check} enforce ${enforcement} end`)
        if (rule !== undefined) return [rule]
      }
    }
    return []
  })
  return printRules(rules)
}
