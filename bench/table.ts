// The table for people. It is as wide as a terminal of 160 columns and no wider.

import { type Measured, PARTS } from './work.ts'

const micros = (ms: number): string => {
  const us = ms * 1000
  return us.toFixed(us < 1 ? 3 : us < 10 ? 2 : us < 1000 ? 1 : 0)
}

const columns: readonly (readonly [head: string, width: number, cell: (m: Measured) => string])[] = [
  ['', 72, (m) => m.name],
  ['p50 µs', 8, (m) => micros(m.p50)],
  ['p99 µs', 8, (m) => micros(m.p99)],
  ['p99.9 µs', 8, (m) => micros(m.p999)],
  ['max µs', 8, (m) => micros(m.max)],
  ['samples', 10, (m) => `${m.samples}${m.batch > 1 ? `×${m.batch}` : ''}`],
  ['decides', 7, (m) => m.decides ?? ''],
  ['paper µs', 14, (m) => (m.paper === undefined ? '' : `${micros(m.paper)} (${(m.paper / m.p50).toFixed(1)}×)`)],
  [
    'target µs',
    12,
    (m) => (m.target === undefined ? '' : `${micros(m.target)} ${m.p50 <= m.target ? 'met' : 'MISSED'}`),
  ],
]

const line = (cells: readonly string[]): string =>
  cells
    .map((cell, i) => (i === 0 ? cell.padEnd(columns[i]![1]) : cell.padStart(columns[i]![1])))
    .join(' ')
    .trimEnd()

export const head = (): string => line(columns.map(([name]) => name))

export const row = (measured: Measured): string => line(columns.map(([, , cell]) => cell(measured)))

/** What stands under a table that has letters in the column of what is decided. */
export const legend = (): string =>
  ['decides:', ...Object.entries(PARTS).map(([letter, what]: [string, string]) => `  ${letter} ${what}`)].join('\n')

/** How fast bytes are read by the median, and what of a core 10 MB/s take. */
export function rate({ name, p50, bytes = 0 }: Measured): string {
  const megabytes = bytes / p50 / 1000
  return `${name}: ${megabytes.toFixed(0)} MB/s, ${(1000 / megabytes).toFixed(1)} % of a core at 10 MB/s`
}
