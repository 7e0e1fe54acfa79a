// What is wrong with a rule file, and where.

import type { Position } from './rule.ts'

export interface Problem extends Position {
  /** Lower-case; what stands there and what was expected, or what is wrong with it. */
  readonly message: string
}

/** All problems of one or more rule files, in the order of the text. */
export class RuleError extends Error {
  override readonly name = 'RuleError'
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map(sayProblem).join('\n'))
    this.problems = problems
  }
}

/** `file:line:column: message`. */
export const sayProblem = ({ file, line, column, message }: Problem): string => `${file}:${line}:${column}: ${message}`

/** Throws RuleError if there is any problem. Those of one file are sorted by their place. */
export function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  throw new RuleError([...problems].sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : 0)))
}
