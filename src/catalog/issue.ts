// What zod finds, in our words: lower case, naming what is wrong and what would be right.

import type { z } from 'zod'
import { KEYS } from './schema.ts'
import type { Path, Source } from './source.ts'
import { suggestion } from './suggestion.ts'

type Issue = z.core.$ZodIssue

export function reportIssues(issues: readonly Issue[], base: Path, source: Source): void {
  for (const issue of issues) {
    const path = [...base, ...issue.path]
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) source.problem([...path, key], `unknown key${suggestion(key, KEYS)}`, 'key')
      continue
    }
    const branch = issue.code === 'invalid_union' ? meant(issue) : undefined
    if (branch !== undefined) reportIssues(branch, path, source)
    else source.problem(path, words(issue, valueAt(source, path)), issue.code === 'invalid_key' ? 'key' : 'value')
  }
}

/** A branch of a union that got inside is the one that was meant. */
function meant(issue: Issue & { code: 'invalid_union' }): readonly Issue[] | undefined {
  return issue.errors.find((branch) =>
    branch.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  )
}

/** What is wrong with a value, where the shape has no words of its own for it. */
export function words(issue: Issue, written: unknown): string {
  if (issue.code === 'invalid_union' && issue.discriminator !== undefined) {
    return choice(written, (issue as { options?: readonly unknown[] }).options ?? [])
  }
  if (issue.code === 'invalid_value') return choice(written, issue.values)
  if (written === undefined) return 'is missing'
  switch (issue.code) {
    case 'invalid_key':
      return issue.issues.map(({ message }) => message).join('; ')
    case 'invalid_type': {
      if (!issue.message.startsWith('Invalid input')) return issue.message
      const expected =
        { record: 'map', object: 'map', array: 'list', int: 'integer' }[issue.expected as string] ?? issue.expected
      return `must be ${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}, not ${JSON.stringify(written)}`
    }
    case 'too_small':
      return `must ${extent(issue.origin, `at least ${issue.minimum}`)}`
    case 'too_big':
      return `must ${extent(issue.origin, `at most ${issue.maximum}`)}`
    default:
      return issue.message
  }
}

function extent(origin: string, bound: string): string {
  return origin === 'array' ? `have ${bound} items` : `be ${bound}${origin === 'string' ? ' characters long' : ''}`
}

function choice(written: unknown, options: readonly unknown[]): string {
  const list = options.length === 1 ? String(options[0]) : `one of ${options.join(', ')}`
  if (written === undefined) return `is missing: ${list}`
  const near = typeof written === 'string' ? suggestion(written, options.map(String)) : ''
  return `must be ${list}, not ${JSON.stringify(written)}${near}`
}

function valueAt(source: Source, path: Path): unknown {
  let at = source.value
  for (const step of path) at = at === null || at === undefined ? undefined : (at as Record<PropertyKey, unknown>)[step]
  return at
}
