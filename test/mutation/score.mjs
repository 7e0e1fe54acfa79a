// What Stryker's last report comes to: `protocol.json`, the score by file; and which survivors are not explained in
// `protocol-survivors.yaml`, where an explanation stands under the line of code on which they are.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

const folder = new URL('.', import.meta.url)
const { files } = JSON.parse(readFileSync(new URL('../../build/mutation/protocol.json', folder), 'utf8'))
const explained = parse(readFileSync(new URL('protocol-survivors.yaml', folder), 'utf8'))

const STATUS = { Killed: 'killed', Timeout: 'timeout', Survived: 'survived', NoCoverage: 'uncovered' }
const none = { killed: 0, timeout: 0, survived: 0, uncovered: 0 }

function count(mutants) {
  const counts = { ...none }
  for (const { status } of mutants) if (status in STATUS) counts[STATUS[status]]++
  return counts
}

function scored(counts) {
  const { killed, timeout, survived, uncovered } = counts
  const total = killed + timeout + survived + uncovered
  return { ...counts, total, score: total === 0 ? null : Math.round((1000 * (killed + timeout)) / total) / 10 }
}

const counts = Object.entries(files).map(([name, { mutants }]) => [name, count(mutants)])
const sum = (key) => counts.reduce((total, [, each]) => total + each[key], 0)
const all = Object.fromEntries(Object.keys(none).map((key) => [key, sum(key)]))
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
const result = {
  commit,
  all: scored(all),
  files: Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, scored(each)])),
}
writeFileSync(new URL('protocol.json', folder), `${JSON.stringify(result, null, 2)}\n`)

const needed = new Set()
for (const [name, { source, mutants }] of Object.entries(files)) {
  const lines = source.split('\n')
  for (const { status, location, replacement } of mutants) {
    if (status !== 'Survived' && status !== 'NoCoverage') continue
    const line = lines[location.start.line - 1].trim()
    needed.add(`${name}: ${line}`)
    if (explained[name]?.[line] === undefined)
      console.log(`${name}:${location.start.line} ${line}\n    -> ${replacement}`)
  }
}
for (const [name, reasons] of Object.entries(explained)) {
  for (const line of Object.keys(reasons))
    if (!needed.has(`${name}: ${line}`)) console.log(`explained, and killed: ${name} ${line}`)
}
console.log(result.all)
