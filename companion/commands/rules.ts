// `halo rules`: rule files checked, run over recorded steps, scored by labels, and explained to whoever writes them
// (PROTOCOL 13).

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkRules, parseRules, printRules, type RuleSet } from '../../src/agentspec/index.ts'
import type { RuleFile } from '../../src/engine/rules/policy.ts'
import { readText } from '../machine/file.ts'
import { type Domain, type DomainOptions, readDomain } from './domain.ts'
import { draftText, isDraft } from './draft.ts'
import { describeScore, readLabels, score } from './score.ts'
import { holdsBack, readTrace, replay } from './trace.ts'

type Print = (line: string) => void

/** `-` is stdin. Throws RuleError with every mistake, or the error of the file system. */
export async function checkFiles(
  files: readonly string[],
  options: DomainOptions & { readonly print?: boolean },
  print: Print,
): Promise<void> {
  const domain = await domainOf(files, options)
  const texts = files.map(readRules)
  const rules = domain?.check(texts) ?? texts.flatMap(({ file, text }) => parseRules(text, file))
  if (options.print) {
    print(printRules(rules).trimEnd())
    return
  }
  for (const { file } of texts) {
    const count = rules.filter(({ at }) => at.file === file).length
    print(
      `${file}: ${count} rule${count === 1 ? '' : 's'}${domain === undefined ? ', grammar only: no --vocabulary' : ''}`,
    )
  }
}

/** Which rule is violated at which step, what came of it, and what could not be known. */
export async function runTrace(
  file: string,
  options: DomainOptions & { readonly trace: string },
  print: Print,
): Promise<void> {
  const { vocabulary, rules } = await rulesOf(file, options)
  const ruled = replay(rules, readTrace(options.trace, vocabulary))
  for (const { step, verdict } of ruled) {
    const { outcome, violated, faults } = verdict
    if (violated.length === 0 && faults.length === 0) continue
    const ids = violated.map(({ id }) => `@${id}`).join(' ')
    print(`${options.trace}:${step.line}: ${step.case}: ${step.action ?? step.event}: ${outcome} ${ids}`.trimEnd())
    for (const { rule, what, reason } of faults) print(`  @${rule}: ${what}: ${reason}`)
  }
  const violating = ruled.filter(({ verdict }) => verdict.violated.length > 0).length
  const held = ruled.filter(({ verdict }) => holdsBack(verdict.outcome)).length
  print(`${ruled.length} steps, ${violating} with a violation, ${held} held back`)
}

/** Exit code: 0 where every unsafe case is stopped and no safe one, else 2. */
export async function scoreTrace(
  file: string,
  options: DomainOptions & { readonly labels: string; readonly trace?: string },
  print: Print,
): Promise<0 | 2> {
  const { vocabulary, rules } = await rulesOf(file, options)
  const trace = options.trace ?? join(dirname(options.labels), 'trace.jsonl')
  const result = score(replay(rules, readTrace(trace, vocabulary)), readLabels(options.labels))
  for (const line of describeScore(result)) print(line)
  return result.misses.length === 0 && result.falseStops.length === 0 ? 0 : 2
}

async function rulesOf(file: string, options: DomainOptions): Promise<Pick<Domain, 'vocabulary'> & { rules: RuleSet }> {
  const domain = await domainOf([file], options)
  if (domain === undefined) throw new Error(`${file}: needs --vocabulary or --config: no vocabulary.json is beside it`)
  const rules = domain.check([readRules(file)])
  return { vocabulary: domain.vocabulary, rules: checkRules(rules, domain.vocabulary) }
}

/** What the options name, else the vocabulary.json beside the first file. Code is only run where it is named. */
async function domainOf([first]: readonly string[], options: DomainOptions): Promise<Domain | undefined> {
  const beside = first === undefined || first === '-' ? undefined : join(dirname(first), 'vocabulary.json')
  const found = options.config === undefined && beside !== undefined && existsSync(beside) ? { vocabulary: beside } : {}
  return readDomain({ ...found, ...options })
}

/** Rule text, or rules as data made text: then places are those of that text. */
function readRules(name: string): RuleFile {
  const file = name === '-' ? 'stdin' : name
  const text = readText('rules', name === '-' ? 0 : name)
  return isDraft(text) ? { file: `${file} as text`, text: draftText(text, file) } : { file, text }
}
