// What the tests import as `vitest` while mutants are judged: they are collected once and called as often as there are
// mutants. Of vitest only the matchers are needed for that; starting a worker a mutant takes longer than the tests.

import { inspect } from 'node:util'
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect'

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)
export const { expect } = chai

/** Every test, with its place in its file. `run` throws where it fails. */
export const tests = []
let titles = []
let file = ''
let place = 0

/** Collects the tests of one file, which `load` imports. */
export async function collect(path, load) {
  file = path
  place = 0
  await load()
}

const rows = (declare) => (table) => (title, body) => {
  for (const [i, row] of table.entries()) {
    const values = Array.isArray(row) ? row : [row]
    if (values[0] === 'oracle') continue // the host is the same beside either core
    const first = typeof values[0] === 'object' ? inspect(values[0], { depth: 0, breakLength: 200 }) : String(values[0])
    declare(`${title} (${i + 1}: ${first.slice(0, 60)})`, () => body(...values))
  }
}

export const it = (title, run) => tests.push({ title: [file, ...titles, title].join(' > '), file, place: place++, run })
it.each = rows(it)
it.skipIf = (condition) => (condition ? { each: () => () => undefined } : it)
export const test = it

export function describe(title, body) {
  const outer = titles
  titles = [...outer, title]
  body()
  titles = outer
}
describe.each = rows(describe)
