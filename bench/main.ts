// npm run bench [-- FIGURE ...] [--time MS] [--quick] [--json FILE]
// npm run bench -- --check
// npm run bench -- hostile
//
// Measures the figures, all or those that are named, and prints them beside what the paper reports and what this project
// promises itself. docs/performance.md says what each figure is. --check compares ratios instead, and fails (check.ts).
// hostile, alone, is what agents can cost each other (hostile.ts); it fails nothing.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CORE_HASH } from '../src/core/wasm.ts'
import { warm } from '../src/engine/warmup.ts'
import { check } from './check.ts'
import { figures } from './figures.ts'
import { hostile } from './hostile.ts'
import { machine, machineWords } from './machine.ts'
import { head, legend, rate, row } from './table.ts'
import { type Effort, isLongEnough, type Measured, measure, once } from './work.ts'

const { values, positionals } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    time: { type: 'string' },
  },
  allowPositionals: true,
})
// Of a quick run the medians may be read. Its p99.9 are of a few hundred samples, so little more than its max.
const effort: Effort = {
  time_ms: Number(values.time ?? (values.quick ? 60 : 1000)),
  warmup_ms: values.quick ? 20 : 300,
}
if (!(effort.time_ms > 0)) throw new RangeError(`--time must be a number of ms above 0, got ${values.time}`)
const isHostile = positionals.length === 1 && positionals[0] === 'hostile'
for (const name of isHostile ? [] : positionals) {
  if (!(name in figures))
    throw new RangeError(`no figure is named ${name}: there are ${Object.keys(figures).join(', ')}`)
}

/** What is measured, to the byte; marked where the tree holds what no commit does. */
function commit(): string {
  try {
    const flags = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']
    return execFileSync('git', flags, { encoding: 'utf8', cwd: new URL('.', import.meta.url), stdio: 'pipe' }).trim()
  } catch {
    return 'unknown' // an archive, not a clone
  }
}

const made = { core: CORE_HASH, commit: commit() }
console.log(`${machineWords}\ncore ${made.core.slice(0, 16)}, commit ${made.commit}\n`)

warm()
if (values.check) {
  process.exitCode = check(console.log) ? 0 : 1
} else if (isHostile) {
  await hostile(values.time === undefined ? 3000 : effort.time_ms, console.log)
} else {
  if (values.quick)
    console.log('--quick: few samples, short warm-up. Read the medians; the rest is not to be quoted.\n')
  console.log(head())
  const measured: (Measured & { readonly figure: string })[] = []
  for (const [figure, works] of Object.entries(figures)) {
    if (positionals.length > 0 && !positionals.includes(figure)) continue
    for (const work of await works()) {
      once(work)
      const result = measure(work, effort)
      once(work) // still: nothing has run out, expired or filled up meanwhile
      measured.push({ figure, ...result })
      console.log(row(result))
    }
  }
  if (measured.some(({ decides }) => decides !== undefined)) console.log(`\n${legend()}`)
  for (const each of measured.filter(({ bytes }) => bytes !== undefined)) console.log(rate(each))
  const timer_ns = Math.max(...measured.map(({ timer }) => timer)) * 1e6
  console.log(`\nreading the clock costs ${timer_ns.toFixed(0)} ns at most, which is subtracted from each sample`)
  for (const short of measured.filter((m) => !isLongEnough(m)))
    console.log(`${short.name}: a sample is under a microsecond, so mostly clock: it needs more calls a sample`)
  if (values.json !== undefined) {
    const document = { machine, ...made, quick: values.quick, ...effort, figures: measured }
    writeFileSync(values.json, `${JSON.stringify(document, undefined, 2)}\n`)
  }
}
