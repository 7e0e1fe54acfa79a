// Mutation testing of the core: does every mistake in assembly/ make a test fail? The tests are those of `npm test`.
//
//   npm run mutate -- [--only FILE] [--id TEXT] [--again] [--explained] [--all] [--jobs N]
//
// --only        mutants of one file                    --all    every mutant, not a sample
// --id          mutants whose id contains a text       --jobs   judges at once, by default 1
// --again       the last result's survivors, after tests were added
// --explained   judges those of survivors.yaml, too
//
// A whole run, and --again, write core.json. survivors.yaml says why no test can tell a mutant from the core; such a one
// counts as a survivor unheard. A sample is drawn by a seed: at most SAMPLE mutants of one operator in one file.

import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { CORE_HASH } from '../../src/core/wasm.ts'
import { dice } from '../oracle/sketch.ts'
import type { Answer, Question } from './judge.ts'
import { type Mutant, mutantsOf } from './mutator.ts'
import { count, type Outcome, type Result } from './result.ts'

const SAMPLE = 6
const SEED = 1
/** Names and numbers alone: changing them changes what the host reads, too. */
const WORDS = ['layout.ts', 'limits.ts', 'phase.ts', 'reason.ts']

const root = resolve(import.meta.dirname, '../..')
const resultFile = join(import.meta.dirname, 'core.json')
/** The walk first: it tells most mutants from the core, and soon. */
const tests = [
  ...new Set([
    'test/exhaustive/walk.test.ts',
    'test/unit/conformance.test.ts',
    ...['test/unit/core', 'test/exhaustive'].flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => `${folder}/${name}`),
    ),
  ]),
]

function sample(mutants: readonly Mutant[]): Mutant[] {
  const left = new Map<string, number>()
  const roll = dice(SEED)
  const drawn = new Set(
    mutants
      .map((mutant) => ({ mutant, lot: roll(2 ** 32) }))
      .sort((a, b) => a.lot - b.lot)
      .filter(({ mutant: { file, operator } }) => {
        const n = left.get(file + operator) ?? SAMPLE
        left.set(file + operator, n - 1)
        return n > 0
      })
      .map(({ mutant }) => mutant),
  )
  return mutants.filter((mutant) => drawn.has(mutant))
}

const mutantsIn = ({ mutants }: { readonly mutants: readonly string[] }): readonly string[] => mutants

/** A judge and its copy of the checkout; started again after a mutant that hung. */
class Bench {
  private readonly folder = mkdtempSync(join(tmpdir(), 'halo-mutation-'))
  private process: ChildProcess | undefined
  order: readonly string[] = tests

  constructor() {
    for (const part of ['src', 'test', 'build', 'package.json', 'vitest.config.ts']) {
      cpSync(join(root, part), join(this.folder, part), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
  }

  async ask(question: Question): Promise<Answer> {
    if (!this.process) {
      this.process = fork(join(import.meta.dirname, 'judge.ts'), [this.folder], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      await this.heard()
    }
    this.process.send(question)
    const said = await this.heard()
    if (said === 'hung') {
      this.process.removeAllListeners('exit').kill('SIGKILL')
      this.process = undefined
    }
    return said
  }

  private async heard(): Promise<Answer> {
    const exit = new AbortController()
    const died = once(this.process!, 'exit', exit).then(([code]) => {
      throw new Error(`a judge ended with ${code}`)
    })
    const [said] = await Promise.race([once(this.process!, 'message'), died])
    died.catch(() => {})
    exit.abort()
    return said
  }

  close(): void {
    this.process?.removeAllListeners('exit').kill()
    rmSync(this.folder, { recursive: true })
  }
}

/** A test that fails on the core as it is would kill every mutant. */
async function prepare(bench: Bench): Promise<void> {
  await bench.ask({ ask: 'place' })
  for (const path of tests) {
    if ((await bench.ask({ ask: 'test', path })) !== 'passed') throw new Error(`${path} fails on the core as it is`)
  }
}

async function trial(bench: Bench, { id, file, source }: Mutant): Promise<Outcome> {
  if (explained.has(id) && !options.explained) return 'survived'
  const placed = await bench.ask({ ask: 'place', file, source })
  if (placed === 'invalid' || placed === 'same') return placed
  for (const path of [...bench.order]) {
    const said = await bench.ask({ ask: 'test', path })
    if (said === 'passed') continue
    // What told this one from the core will tell its neighbour, too.
    bench.order = [path, ...bench.order.filter((other) => other !== path)]
    return said === 'hung' ? 'hung' : 'killed'
  }
  return (await bench.ask({ ask: 'compare', file, source })) === 'same' ? 'same' : 'survived'
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    id: { type: 'string' },
    again: { type: 'boolean', default: false },
    explained: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
  },
})
const last: Result | undefined = options.again ? JSON.parse(readFileSync(resultFile, 'utf8')) : undefined
if (last && last.core !== CORE_HASH) throw new Error('the last result is of another core: a whole run is due')

const files = readdirSync(join(root, 'assembly')).filter((name) => name.endsWith('.ts') && !WORDS.includes(name))
const every = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, 'assembly', file), 'utf8')))
const chosen = last
  ? every.filter(({ id }) => last.survivors.includes(id))
  : (options.all || options.id ? every : sample(every)).filter(
      ({ file, id }) => (options.only ?? file) === file && id.includes(options.id ?? ''),
    )

const explained = new Set(parse(readFileSync(join(import.meta.dirname, 'survivors.yaml'), 'utf8')).flatMap(mutantsIn))
const outcomes = new Map<Mutant, Outcome>()
const waiting = [...chosen]
const benches = Array.from({ length: Number(options.jobs) }, () => new Bench())
process.on('SIGINT', () => {
  for (const bench of benches) bench.close()
  process.exit(130)
})
await prepare(benches[0]!)
await Promise.all(
  benches.map(async (bench) => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      const outcome = await trial(bench, mutant)
      outcomes.set(mutant, outcome)
      console.log(
        `${outcomes.size}/${chosen.length} ${outcome} ${mutant.file}:${mutant.line} ${mutant.operator} ${mutant.id}`,
      )
    }
    bench.close()
  }),
)

const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
const drawn = options.all ? 'all' : { most: SAMPLE, seed: SEED }
const result = count(every, outcomes, { core: CORE_HASH, commit, sample: last?.sample ?? drawn }, last)
if (!options.only && !options.id) writeFileSync(resultFile, `${JSON.stringify(result, undefined, 2)}\n`)

const { killed, hung, survived, same, invalid } = result.total
console.log(
  `${killed} killed, ${hung} hung, ${survived} survived: ${result.score} %, about ${result.estimate} % of all ${every.length}`,
)
console.log(`not counted: ${same} the same bytes, ${invalid} not valid`)
for (const id of result.survivors) console.log(`${explained.has(id) ? 'explained' : 'NOT EXPLAINED'}: ${id}`)
