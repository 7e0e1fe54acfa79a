// How much of the core an expression takes: words of its program and operands of its stack.

import { INSTRUCTIONS_MAX, PROGRAM_WORDS_MAX, PROGRAMS_MAX, STACK_MAX } from '../../build/abi.ts'
import type { Expression } from '../core/expression.ts'
import type { Image } from '../core/image.ts'

/** What is too large about an expression, or undefined. */
export function oversize(e: Expression): string | undefined {
  if (words(e) > INSTRUCTIONS_MAX) return `takes ${words(e)} words of program, at most ${INSTRUCTIONS_MAX}`
  return depth(e) > STACK_MAX ? `takes ${depth(e)} operands at once, at most ${STACK_MAX}` : undefined
}

/** The same of all programs together. */
export function oversizeOf({ types, contingencies, predicates }: Omit<Image, 'fields'>): string | undefined {
  const clauses = types.flatMap(({ bounds, support, gate, holds }) => [...bounds, ...support, ...gate, ...holds])
  const frames = [...types.flatMap((type) => type.frames), ...contingencies]
  const expressions = [
    ...[...clauses, ...predicates].map(({ expression }) => expression),
    ...types.flatMap(({ done }) => done ?? []),
    ...frames.flatMap(({ entries }) => entries.flatMap(({ value }) => (value === 'nan' ? [] : value))),
  ]
  // Equal programs are kept once.
  const programs = [...new Map(expressions.map((e) => [JSON.stringify(e), e])).values()]
  const total = programs.reduce((sum, e) => sum + words(e), 0)
  if (total > PROGRAM_WORDS_MAX)
    return `all clauses and frames take ${total} words of program, at most ${PROGRAM_WORDS_MAX}`
  return programs.length > PROGRAMS_MAX
    ? `there are ${programs.length} clauses and values, at most ${PROGRAMS_MAX}`
    : undefined
}

/** One word a node; a number is followed by itself, a text by its bytes. */
function words(e: Expression): number {
  if (e.op === 'number') return 2
  if (e.op === 'text') return 1 + Math.ceil(new TextEncoder().encode(e.value).length / 8)
  return 'args' in e ? e.args.reduce((sum, arg) => sum + words(arg), 1) : 1
}

/** While an operand is computed, those before it wait on the stack. */
function depth(e: Expression): number {
  return 'args' in e ? Math.max(...e.args.map((arg, i) => i + depth(arg))) : 1
}
