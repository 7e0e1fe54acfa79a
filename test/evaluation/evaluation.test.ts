// The evaluation as a test: HALO is right in every case, on the core and on the oracle; whoever lacks a part fails where that
// part is what helps; and what the documents show is what a run gives.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { evaluate } from './evaluation.ts'
import type { Column } from './scenario.ts'
import { markdownTable, written } from './table.ts'

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const evaluation = evaluate()
const { columns, rows, cases } = evaluation
const of = (column: Column): number => columns[column].of

test('the evaluation has the shape of the published one', () => {
  const published = { supported: 248, unrelated: 128, 'stale-epoch': 72, 'wrong-binding': 72, orphan: 70 }
  for (const [column, count] of Object.entries(published)) expect(of(column as Column), column).toBe(count)
})

test('G1 G2 G3 G4 G5 G6: HALO-Full is right in every case, and core and oracle come to the same', () => {
  expect(cases.filter(({ findings }) => findings.length > 0)).toEqual([])
  for (const column of Object.keys(columns) as Column[]) expect(rows['HALO-Full']![column]).toBe(of(column))
})

test('every column is failed by somebody, and each variant where its missing part would have helped', () => {
  const fails = (variant: string): Column[] =>
    (Object.keys(columns) as Column[]).filter((column) => rows[variant]![column] < of(column))
  expect(fails('HALO-Full')).toEqual([])
  const everything = Object.keys(columns) as Column[]
  const except = (...these: Column[]): Column[] => everything.filter((column) => !these.includes(column))
  // A gate does nothing for what is refused whole, or in another life.
  const whole: Column[] = ['supported', 'unrelated', 'crash-before-dispatch', 'crash-before-send', 'second-response']
  expect(fails('HALO-Admission')).toEqual(except(...whole))
  // A part by itself is kept as well as by anybody, and so is what rests on nothing any more.
  expect(fails('IndependentFilter')).toEqual(except('supported', 'unrelated'))
  // Without order a landing may come first, and what should have flown before it is skipped.
  expect(fails('AgentSpec-Scoped')).toEqual(except('unrelated'))
  expect(fails('AgentSpec-Global')).toEqual(everything)
  expect(fails('WholeResponse')).toEqual(everything)
})

test('the documents show this run', () => {
  expect(read('docs/evaluation.json')).toBe(written(evaluation))
  for (const page of ['README.md', 'docs/evidence.md']) expect(read(page), page).toContain(markdownTable(evaluation))
})
