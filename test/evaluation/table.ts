// The evaluation as people and machines read it: a table for a terminal, one for Markdown, and JSON.

import type { Evaluation } from './evaluation.ts'
import type { Column } from './scenario.ts'

/** One line a row, cells aligned. */
export function plainTable(evaluation: Evaluation): string {
  const [head, ...rows] = cells(evaluation)
  const titles = head!.map((title) => wrapped(title, 13))
  const height = Math.max(...titles.map((lines) => lines.length))
  const headLines = Array.from({ length: height }, (_, i) => titles.map((lines) => lines[i] ?? ''))
  const widths = head!.map((_, c) => Math.max(...[...headLines, ...rows].map((row) => row[c]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)))
      .join('  ')
      .trimEnd()
  return [...headLines.map(line), ...rows.map(line)].join('\n')
}

export function markdownTable(evaluation: Evaluation): string {
  const [head, ...rows] = cells(evaluation)
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`
  return [line(head!), `|---|${'---:|'.repeat(head!.length - 1)}`, ...rows.map(line)].join('\n')
}

/** JSON, a case a line. */
export function written({ cases, ...rest }: Evaluation): string {
  const head = JSON.stringify(rest, undefined, 2).slice(0, -2)
  return `${head},\n  "cases": [\n${cases.map((c) => `    ${JSON.stringify(c)}`).join(',\n')}\n  ]\n}\n`
}

function cells({ columns, rows }: Evaluation): string[][] {
  const names = Object.keys(columns) as Column[]
  const head = ['', ...names.map((name) => `${columns[name].title} (of ${columns[name].of})`)]
  return [head, ...Object.entries(rows).map(([variant, row]) => [variant, ...names.map((name) => String(row[name]))])]
}

function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.replace('(of ', '(of_').split(' ')) {
    if (lines.at(-1) !== '' && `${lines.at(-1)} ${word}`.length > width) lines.push(word)
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim()
  }
  return lines.map((line) => line.replace('_', ' '))
}
