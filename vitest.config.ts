import { defineConfig } from 'vitest/config'

/** What answers in a minute: no process, no broker, no socket that another test could not do without. */
const QUICK = ['test/unit/**/*.test.ts', 'test/tidy/*.test.ts', 'test/exhaustive/{clauses,gate,graphs}.test.ts']
/** Fewer of what `npm test` has more of. */
const SAMPLES = ['test/simulation/sample.test.ts', 'test/fuzz/sample.test.ts']
/** Units over real sockets, compilers or processes. */
const SLOW = [
  'test/unit/{bench,build}.test.ts',
  'test/unit/companion/{daemon,ground}.test.ts',
  'test/unit/mavlink/arrival.test.ts',
  'test/unit/mqtt/{broker,client}.test.ts',
  'test/unit/rules/command.test.ts',
]

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'quick', include: [...QUICK, ...SAMPLES], exclude: SLOW, isolate: false } },
      { extends: true, test: { name: 'whole', include: ['test/**/*.test.ts'], exclude: SAMPLES } },
    ],
  },
})
