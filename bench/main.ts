// npm run bench [-- FIGURE ...] [--time MS] [--json FILE]
//
// Measures the figures, all or those that are named, and prints them beside what the paper reports and what this project
// promises itself. docs/benchmarks.md says what each figure is.

import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { warm } from '../src/core/wasm.ts'
import { figures } from './figures.ts'
import { type Measured, measure, once } from './work.ts'

const { values, positionals } = parseArgs({
  options: { json: { type: 'string' }, time: { type: 'string', default: '1000' } },
  allowPositionals: true,
})
const time_ms = Number(values.time)
if (!(time_ms > 0)) throw new RangeError(`--time must be a number of ms above 0, got ${values.time}`)
for (const name of positionals) {
  if (!(name in figures))
    throw new RangeError(`no figure is named ${name}: there are ${Object.keys(figures).join(', ')}`)
}

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  arch: process.arch,
  platform: process.platform,
  node: process.version,
}
console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.platform} ${machine.arch}, Node ${machine.node}\n`)

const micros = (ms: number): string => {
  const us = ms * 1000
  return us < 10 ? us.toFixed(2) : us < 1000 ? us.toFixed(1) : us.toFixed(0)
}
const columns: readonly [head: string, width: number, cell: (m: Measured) => string][] = [
  ['', 84, (m) => m.name],
  ['p50 µs', 9, (m) => micros(m.p50_ms)],
  ['p99 µs', 9, (m) => micros(m.p99_ms)],
  ['max µs', 9, (m) => micros(m.max_ms)],
  ['samples', 9, (m) => `${m.samples}${m.calls > 1 ? `×${m.calls}` : ''}`],
  ['ops/s', 10, (m) => m.ops.toFixed(0)],
  ['paper µs', 10, (m) => (m.paper_ms === undefined ? '' : micros(m.paper_ms))],
  ['ratio', 8, (m) => (m.paper_ms === undefined ? '' : `${(m.paper_ms / m.p50_ms).toFixed(1)}×`)],
  [
    'target',
    16,
    (m) => (m.target_ms === undefined ? '' : `${micros(m.target_ms)} ${m.p50_ms < m.target_ms ? 'met' : 'MISSED'}`),
  ],
]
const row = (cells: readonly string[]): string =>
  cells.map((cell, i) => (i === 0 ? cell.padEnd(columns[i]![1]) : cell.padStart(columns[i]![1]))).join(' ')

warm()
console.log(row(columns.map(([head]) => head)))
const measured: (Measured & { readonly figure: string })[] = []
for (const [figure, works] of Object.entries(figures)) {
  if (positionals.length > 0 && !positionals.includes(figure)) continue
  for (const work of works()) {
    once(work)
    const result = measure(work, time_ms)
    once(work) // still: nothing has run out, expired or filled up meanwhile
    measured.push({ figure, ...result })
    console.log(row(columns.map(([, , cell]) => cell(result))))
  }
}
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ machine, time_ms, figures: measured }, undefined, 2)}\n`)
}
