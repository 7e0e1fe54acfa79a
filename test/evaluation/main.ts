// npm run eval [-- --deep]
//
// Flies every scenario on every variant and prints the table; writes it to docs/evaluation.json and into README.md and
// docs/evidence.md. Exits with 1 if HALO-Full is wrong anywhere, or if the core and the oracle differ. `--deep` judges every
// graph of six components behind it.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bar, deep } from '../exhaustive/deep.ts'
import { evaluate } from './evaluation.ts'
import { markdownTable, plainTable, written } from './table.ts'

const { values } = parseArgs({ options: { deep: { type: 'boolean', default: false } } })
const root = new URL('../../', import.meta.url)

const evaluation = evaluate((done, of) => {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${of} cases${done === of ? '\n' : ''}`)
})
console.log(plainTable(evaluation))

const findings = evaluation.cases.flatMap(({ case: name, findings }) => findings.map((found) => `${name}: ${found}`))
for (const found of findings) console.log(`HALO-Full is wrong: ${found}`)
if (findings.length > 0) process.exitCode = 1
else console.log(`\nHALO-Full: core and oracle come to the same in all ${evaluation.cases.length} cases`)

writeFileSync(new URL('docs/evaluation.json', root), written(evaluation))
for (const page of ['README.md', 'docs/evidence.md']) {
  const file = new URL(page, root)
  const text = readFileSync(file, 'utf8')
  const marked = /(<!-- npm run eval -->\n)[\s\S]*?(\n<!-- end -->)/
  if (!marked.test(text)) throw new Error(`${page} has no place for the table`)
  writeFileSync(
    file,
    text.replace(marked, (_, begin, end) => `${begin}\n${markdownTable(evaluation)}\n${end}`),
  )
}

if (values.deep) {
  console.log('\nEvery directed acyclic graph of six components, with every support:')
  const { graphs, cases, mismatches, elapsed_ms } = await deep({ components: 6, report: bar })
  for (const { rows, supported, wrong } of mismatches) console.log(`${rows} with ${supported}: ${wrong}`)
  if (mismatches.length > 0) process.exitCode = 1
  else console.log(`${cases} cases of ${graphs} graphs in ${Math.round(elapsed_ms / 1000)} s, none wrong`)
}
