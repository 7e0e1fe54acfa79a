// Mutation testing of what decides beside the core, on demand: `npm run mutate:protocol`. Results under build/mutation;
// a second run asks only about what changed since the first.

import { fileURLToPath } from 'node:url'

const SOURCES = ['src/engine/**/*.ts', 'src/wire/**/*.ts']
/** What the tests read. */
const READ = ['assembly', 'companion', 'docs', 'examples', 'src', 'test'].map((folder) => `!${folder}/**`)

/** The log decides nothing, and no test asks for its words. */
const log = {
  shouldIgnore({ node }) {
    const { type, callee } = node
    return type === 'CallExpression' && callee.property?.name === 'log' ? 'the log only' : undefined
  },
}

export const strykerPlugins = [{ kind: 'Ignore', name: 'log', value: log }]

export default {
  mutate: SOURCES,
  testRunner: 'suite',
  plugins: ['stryker.config.mjs', 'runner.mjs'].map((file) => fileURLToPath(new URL(file, import.meta.url))),
  ignorers: ['log'],
  // A text here is a member of a union, which the type checker holds, or wording for people; reason words are no texts but
  // numbers of one table.
  mutator: { excludedMutations: ['StringLiteral'] },
  coverageAnalysis: 'perTest',
  // Constants of a module are evaluated once, when it is loaded: each would take a process of its own.
  ignoreStatic: true,
  concurrency: 1,
  disableTypeChecks: false,
  ignorePatterns: ['*', ...READ, '!build/*', '!package.json', 'build/mutation'],
  tempDirName: 'build/mutation/sandbox',
  incremental: true,
  incrementalFile: 'build/mutation/incremental.json',
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: 'build/mutation/protocol.json' },
}
