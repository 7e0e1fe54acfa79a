// One judge, a process of its own: puts a mutant into its copy of the checkout and runs test files there, one at a time. A
// mutant that never answers is ended with the process; the threads of its tests end with it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { compile } from './compiler.ts'

export type Question =
  /** Compiles the core with one file replaced (by default as it is) and puts it in place. */
  | { readonly ask: 'place'; readonly file?: string; readonly source?: string }
  /** Is the mutant, compiled as the build does, byte for byte the core? */
  | { readonly ask: 'compare'; readonly file: string; readonly source: string }
  /** Runs a test file to its first failure. */
  | { readonly ask: 'test'; readonly path: string }

export type Answer = 'invalid' | 'same' | 'other' | 'passed' | 'failed'

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

async function answer(question: Question): Promise<Answer> {
  if (question.ask === 'test') {
    const path = join(folder, question.path)
    const project = vitest.getRootProject()
    const { testModules } = await vitest.runTestSpecifications([project.createSpecification(path)])
    return testModules.find(({ moduleId }) => moduleId === path)?.ok() ? 'passed' : 'failed'
  }
  const level = question.ask === 'place' ? 1 : 3
  const bytes = await compile(level, question.file, question.source)
  if (!bytes) return 'invalid'
  if (question.ask === 'place') writeFileSync(join(folder, 'build/core.wasm'), bytes)
  return Buffer.compare(bytes, originals[level]!) === 0 ? 'same' : 'other'
}

process.on('message', (question: Question) => {
  void answer(question).then((said) => process.send!(said))
})
process.send!('ready')
