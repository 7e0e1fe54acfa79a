// One judge, a process of its own: puts a mutant into its copy of the checkout and runs test files there, one at a time. A
// test that hangs ends with the process; it is a thread of it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createVitest } from 'vitest/node'
import { compile } from './compiler.ts'

export type Question =
  /** Compiles the core with one file replaced (by default as it is) and puts it in place. */
  | { readonly ask: 'place'; readonly file?: string; readonly source?: string }
  /** Is the mutant, compiled as the build does, byte for byte the core? */
  | { readonly ask: 'compare'; readonly file: string; readonly source: string }
  /** Runs a test file to its first failure. */
  | { readonly ask: 'test'; readonly path: string }

export type Answer = 'invalid' | 'same' | 'other' | 'passed' | 'failed' | 'hung'

const folder = process.argv[2]!
const originals = { 1: await compile(1), 3: await compile(3) }
const vitest = await createVitest('test', {
  root: folder,
  watch: false,
  pool: 'threads',
  maxWorkers: 1,
  bail: 1,
  reporters: [{}],
})

async function run(path: string): Promise<Answer> {
  const { testModules } = await vitest.runTestSpecifications([vitest.getRootProject().createSpecification(path)])
  return testModules.find(({ moduleId }) => moduleId === path)?.ok() ? 'passed' : 'failed'
}

/** Of the processor's time, so that no test hangs for what else the machine does; the longest needs a fifth of it. */
const HANGS_MS = 30_000

function unlessHung(running: Promise<Answer>): Promise<Answer> {
  const before = process.cpuUsage()
  return new Promise((done, fail) => {
    const watch = setInterval(() => {
      const { user, system } = process.cpuUsage(before)
      if ((user + system) / 1000 > HANGS_MS) done('hung')
    }, 100)
    running.then(done, fail).finally(() => clearInterval(watch))
  })
}

async function answer(question: Question): Promise<Answer> {
  if (question.ask === 'test') return unlessHung(run(join(folder, question.path)))
  const level = question.ask === 'place' ? 1 : 3
  const compiled = await compile(level, question.file, question.source)
  if ('error' in compiled) return 'invalid'
  if (question.ask === 'place') writeFileSync(join(folder, 'build/core.wasm'), compiled.bytes)
  return isDeepStrictEqual(compiled, originals[level]) ? 'same' : 'other'
}

process.on('message', (question: Question) => {
  void answer(question).then((said) => process.send!(said))
})
process.send!('ready')
