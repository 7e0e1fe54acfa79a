// Rule text to rules, or everything that is wrong with it (PROTOCOL 13).

import { EOF, type IToken, Lexer } from 'chevrotain'
import { Grammar } from './grammar.ts'
import { type Problem, refuse } from './problem.ts'
import type { Rule } from './rule.ts'
import {
  LeftBrace,
  LeftBracket,
  LeftParen,
  RightBrace,
  RightBracket,
  RightParen,
  RuleWord,
  TOKENS,
  Unclosed,
} from './token.ts'

/** Bounds on what may come from a language model: UTF-16 units of a file, rules of a file, brackets inside each other. */
const TEXT_MAX = 1 << 20
const RULES_MAX = 4096
const NESTING_MAX = 16

const lexer = new Lexer(TOKENS, { positionTracking: 'full', ensureOptimizations: true })
const grammar = new Grammar()

/**
 * The rules of a text in its order; `file` is only what messages call it. Throws RuleError with every problem: each rule is
 * read by itself, so one mistake hides no other rule's. What names mean is checked by `checkRules`.
 */
export function parseRules(text: string, file: string): Rule[] {
  if (text.length > TEXT_MAX) {
    const message = `has ${text.length} characters, at most ${TEXT_MAX}`
    refuse([{ file, line: 1, column: 1, message }])
  }
  const { tokens, errors } = lexer.tokenize(text)
  const problems: Problem[] = errors.map(({ line, column, offset, length }) => {
    const found = text.slice(offset, offset + length)
    return {
      file,
      line: line ?? 1,
      column: column ?? 1,
      message: `found ${quote(found)}, which begins no word of a rule`,
    }
  })
  const starts = tokens.flatMap((token, i) => (token.tokenType === RuleWord ? [i] : []))
  const first = starts[0] ?? tokens.length
  if (first > 0) problems.push(unexpected(tokens[0]!, '`rule`', file))
  if (starts.length > RULES_MAX) {
    const message = `there are ${starts.length} rules, at most ${RULES_MAX}`
    problems.push({ ...place(tokens[starts[RULES_MAX]!]!, file), message })
  }
  const end = { ...endOf(text), tokenType: EOF } as IToken
  const rules = starts.slice(0, RULES_MAX).flatMap((start, i) => {
    const next = starts[i + 1] ?? tokens.length
    return parseOne(tokens.slice(start, next), tokens[next] ?? end, file, problems)
  })
  refuse(problems)
  return rules
}

function parseOne(tokens: IToken[], next: IToken, file: string, problems: Problem[]): Rule[] {
  const deep = tooDeep(tokens)
  if (deep !== undefined) {
    problems.push({ ...place(deep, file), message: `more than ${NESTING_MAX} brackets are open here` })
    return []
  }
  grammar.file = file
  grammar.mistakes = []
  grammar.input = tokens
  const rule = grammar.rule()
  const found = [
    ...grammar.errors.map(({ token, message }) => unexpected(token.tokenType === EOF ? next : token, message, file)),
    ...grammar.mistakes.map(({ token, message }) => ({ ...place(token, file), message })),
  ]
  problems.push(...found)
  return found.length === 0 ? [rule] : []
}

/** The bracket that opens too many: the parser recurses, and a text must not choose how deep. */
function tooDeep(tokens: readonly IToken[]): IToken | undefined {
  let depth = 0
  return tokens.find(({ tokenType }) => {
    if (tokenType === LeftParen || tokenType === LeftBrace || tokenType === LeftBracket) depth++
    if (tokenType === RightParen || tokenType === RightBrace || tokenType === RightBracket) depth--
    return depth > NESTING_MAX
  })
}

function unexpected(token: IToken, expected: string, file: string): Problem {
  const unclosed = token.tokenType === Unclosed ? ', a string that is not closed' : ''
  const found = token.tokenType === EOF ? 'the end of the file' : `${quote(token.image)}${unclosed}`
  return { ...place(token, file), message: `found ${found}, expected ${expected}` }
}

const place = ({ startLine, startColumn }: IToken, file: string) => ({
  file,
  line: startLine ?? 1,
  column: startColumn ?? 1,
})

/** Long and broken lines are cut: a message is one line. */
function quote(text: string): string {
  const line = text.split(/[\r\n]/, 1)[0]!
  return `\`${line.length > 40 ? `${line.slice(0, 40)}...` : line}\``
}

function endOf(text: string): { startLine: number; startColumn: number } {
  const lines = text.split(/\r\n|\r|\n/)
  return { startLine: lines.length, startColumn: lines.at(-1)!.length + 1 }
}
