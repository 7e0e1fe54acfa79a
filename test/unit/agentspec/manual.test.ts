// docs/agentspec.md says what the code does: its examples are rules, its grammar has every word, its outcomes are ours.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { EVENTS, OUTCOMES, parseRules, printRules } from '../../../src/agentspec/index.ts'
import { TOKENS } from '../../../src/agentspec/token.ts'

const manual = readFileSync(new URL('../../../docs/agentspec.md', import.meta.url), 'utf8')
const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(manual)?.[1] ?? ''

describe('the manual', () => {
  it('shows rules that parse', () => {
    const rules = parseRules(block(''), 'docs/agentspec.md')
    expect(rules.map(({ id }) => id)).toEqual(['no_metal_in_microwave', 'strangers_need_a_person', 'follow_distance'])
    expect(parseRules(printRules(rules), 'again')).toHaveLength(3)
  })
  it('has every fixed word of the lexer in its grammar', () => {
    const words = TOKENS.map(({ PATTERN }) => PATTERN).filter((pattern) => typeof pattern === 'string')
    expect(words.length).toBeGreaterThan(10)
    for (const word of words) expect(block('ebnf')).toContain(`"${word}"`)
  })
  it('lists the outcomes from the strictest to the mildest, and names every event', () => {
    const table = manual.slice(manual.indexOf('| outcome |'))
    const listed = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, word]) => word)
    expect(listed.slice(0, OUTCOMES.length)).toEqual([...OUTCOMES])
    for (const event of EVENTS) expect(manual).toContain(`\`${event}\``)
  })
})
