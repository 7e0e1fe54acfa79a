// Stryker's runner for these tests: one process that loads the code and the tests once, switches a mutant on, and calls the
// tests that reach it until one fails. They are synchronous and share no state, so nothing has to be loaded again.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { register } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { register as transpile } from 'tsx/esm/api'
import { collect, tests } from './suite.mjs'

const FOLDERS = ['test/unit/engine', 'test/unit/wire']
/** They repeat the courses of other tests under rule after rule: half of the time, for nothing that those do not see. */
const REPEATS = /no rule lets across what the core denies|whatever the rules/
/** How many mutants each test has killed, by title, in this run and those before. */
const KILLS = new URL('../../build/mutation/kills.json', import.meta.url)
/** The tests of what has no tests of its own name; they are asked first. */
const ABOUT = {
  acknowledgement: ['command', 'contingency'],
  admission: ['admission', 'obligation', 'reception'],
  aftermath: ['contingency', 'command'],
  agent: ['reception', 'obligation'],
  batch: ['admission', 'control', 'takeover', 'obligation'],
  dispatch: ['gate', 'order', 'setpoint', 'consent', 'command', 'takeover', 'contingency', 'session', 'policy'],
  enforcement: ['policy'],
  flight: ['setpoint'],
  lease: ['setpoint', 'command', 'takeover'],
  ledger: ['obligation', 'consent', 'reception', 'gate', 'supersession'],
  operator: ['control', 'consent'],
  plan: ['reception', 'obligation', 'supersession', 'policy'],
  publisher: ['reception', 'gate'],
  read: ['response', 'profile', 'context'],
  resource: ['contingency', 'supersession'],
  runtime: ['session', 'control', 'policy', 'contingency', 'snapshot', 'reception'],
  session: ['reception', 'session'],
  takeover: ['takeover', 'session', 'contingency', 'setpoint'],
  vehicle: ['takeover', 'contingency', 'command', 'session'],
  verdict: ['catalog', 'admission', 'snapshot', 'obligation'],
}
/** Tests asked about one mutant, the likeliest to kill it first. What survives them counts as survived. */
const ASKED_MAX = 200

/** What the instrumented code asks which mutant is on, and tells what it ran. */
globalThis.__stryker__ ??= {}
const stryker = globalThis.__stryker__

class Runner {
  #tests
  #kills = new Map(existsSync(KILLS) ? Object.entries(JSON.parse(readFileSync(KILLS, 'utf8'))) : [])

  capabilities() {
    return { reloadEnvironment: false }
  }

  init() {
    register('./resolve.mjs', import.meta.url)
    transpile()
  }

  async dryRun() {
    await this.#load()
    const results = this.#tests.map((each) => {
      stryker.currentTestId = each.title
      const { failure, timeSpentMs } = call(each)
      stryker.currentTestId = undefined
      const { title, file } = each
      const result = { id: title, name: title, fileName: resolve(file), timeSpentMs }
      return failure === undefined ? { ...result, status: 0 } : { ...result, status: 1, failureMessage: failure }
    })
    return { status: 'complete', tests: results, mutantCoverage: stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit, sandboxFileName }) {
    if (mutantActivation === 'static') stryker.activeMutant = activeMutant.id
    await this.#load()
    stryker.activeMutant = activeMutant.id
    stryker.hitCount = hitLimit === undefined ? undefined : 0
    stryker.hitLimit = hitLimit
    const asked = this.#inOrder(testFilter, basename(sandboxFileName, '.ts'))
    for (const [i, each] of asked.entries()) {
      const { failure } = call(each)
      if (stryker.hitCount > hitLimit) return { status: 'timeout', reason: `more than ${hitLimit} hits` }
      if (failure === undefined) continue
      this.#kills.set(each.title, (this.#kills.get(each.title) ?? 0) + 1)
      return { status: 'killed', killedBy: [each.title], failureMessage: failure, nrOfTests: i + 1 }
    }
    return { status: 'survived', nrOfTests: asked.length }
  }

  dispose() {
    writeFileSync(KILLS, JSON.stringify(Object.fromEntries(this.#kills)))
  }

  async #load() {
    if (this.#tests !== undefined) return
    for (const folder of FOLDERS) {
      for (const name of readdirSync(folder)
        .filter((name) => name.endsWith('.test.ts'))
        .sort()) {
        const file = join(folder, name)
        await collect(file, () => import(pathToFileURL(resolve(file)).href))
      }
    }
    this.#tests = tests.filter(({ title }) => !REPEATS.test(title))
  }

  /** Those about the file first, then what has killed most, then some of every file. */
  #inOrder(titles, stem) {
    const wanted = titles && new Set(titles)
    const about = ABOUT[stem] ?? [stem]
    const rank = ({ file, title, place }) =>
      (about.includes(basename(file, '.test.ts')) ? 1e6 : 0) + (this.#kills.get(title) ?? 0) - place / 1e3
    const asked = this.#tests.filter(({ title }) => wanted?.has(title) ?? true)
    return asked.sort((a, b) => rank(b) - rank(a)).slice(0, ASKED_MAX)
  }
}

function call({ run }) {
  const began = performance.now()
  let failure
  try {
    run()
  } catch (error) {
    failure = String(error)
  }
  return { failure, timeSpentMs: performance.now() - began }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'suite', injectableClass: Runner }]
