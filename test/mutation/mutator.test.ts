// The mutator on small sources: what it changes, and what it leaves alone.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { mutantsOf } from './mutator.ts'

/** `operator: the line with the mistake`, of each mutant of a function's line. */
function mutated(line: string): string[] {
  const [before, after] = ['function f(): void {\n', '\n}']
  return mutantsOf('f.ts', before + line + after).map(
    ({ operator, source }) => `${operator}: ${source.slice(before.length, -after.length)}`,
  )
}

test('a guard: its comparison, its bound, its two outcomes', () => {
  expect(mutated('if (a < 2) return')).toEqual([
    'condition: if (true) return',
    'condition: if (false) return',
    'boundary: if (a <= 2) return',
    'constant: if (a < 3) return',
  ])
})

test('an assertion: the whole, each operand, each comparison', () => {
  expect(mutated('assert(a == b && !c)')).toEqual([
    'check: ;',
    'check: assert(a == b)',
    'check: assert(!c)',
    'comparison: assert(a != b && !c)',
    'arithmetic: assert(a == b && c)',
  ])
})

test('an assignment, a call and a count: dropped, or the other way', () => {
  expect(mutated('a += b')).toEqual(['statement: ;', 'arithmetic: a -= b'])
  expect(mutated('revoke(slot)')).toEqual(['statement: ;'])
  expect(mutated('n++')).toEqual(['statement: ;', 'arithmetic: n--'])
})

test('a loop that never runs, and a choice of either side', () => {
  expect(mutated('for (; go; ) {}')).toEqual(['condition: for (; false; ) {}'])
  expect(mutated('return c ? a : b')).toEqual(['condition: return true ? a : b', 'condition: return false ? a : b'])
})

test('numbers: the next one, after 1 it is 0, a fraction stays one', () => {
  expect(mutated('return 0')).toEqual(['constant: return 1'])
  expect(mutated('return 1')).toEqual(['constant: return 0'])
  expect(mutated('return 0x7ff8000000000000')).toEqual(['constant: return 9221120237041090561'])
  expect(mutated('return 6.0')).toEqual(['constant: return 7.0'])
  expect(mutated('return 1e7')).toEqual(['constant: return 10000001.0'])
  expect(mutated('return true')).toEqual(['constant: return false'])
})

test('where memory is accessed is left alone, what is written is not', () => {
  expect(mutated('store<u32>(at + 8, a + b, 4)')).toEqual(['statement: ;', 'arithmetic: store<u32>(at + 8, a - b, 4)'])
  expect(mutated('return load<u32>(at + 8, 4)')).toEqual([])
})

test('enumerations, addresses and tables are left alone', () => {
  const layout = 'enum E { a = 1 }\nconst AT: usize = 8\nconst K = memory.data<u32>([1, 2])\n'
  expect(mutantsOf('f.ts', `${layout}function at(i: u32): usize { return AT + i * 8 }`)).toEqual([])
})

test('an id says file, function and change, and numbers what stands there twice', () => {
  expect(mutantsOf('f.ts', 'function g(): void { a()\n\n a() }').map(({ id, line }) => [id, line])).toEqual([
    ['f.ts g: a() → ;', 1],
    ['f.ts g: a() → ; (2)', 3],
  ])
})

test('every file of the core has mutants, and each that is explained is one of them', () => {
  const core = new URL('../../assembly/', import.meta.url)
  const files = readdirSync(core).filter((name) => name.endsWith('.ts'))
  const ids = files.flatMap((name) => mutantsOf(name, readFileSync(new URL(name, core), 'utf8')).map(({ id }) => id))
  const survivors = parse(readFileSync(new URL('survivors.yaml', import.meta.url), 'utf8'))
  const explained = survivors.flatMap(({ mutants }: { mutants: string[] }) => mutants)
  expect(explained.filter((id: string) => !ids.includes(id))).toEqual([])
})
