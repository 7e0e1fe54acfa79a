// `npm run simulate -- --seed S --runs N`: flies schedules until one breaks a guarantee, then says which and makes it small.
//
//   --long       whole missions of 90 s instead of short, dense schedules
//   --jobs J     that many processes
//   --only a,b   one seed again, with these incidents and no others
//   --hazards a  that schedules can have: some, all or none, where it is not those that hold (hazard.ts)

import { fork } from 'node:child_process'
import { parseArgs } from 'node:util'
import { hazardsNamed } from './hazard.ts'
import { failure, found, reached } from './report.ts'
import { type Length, scenarioOf } from './scenario.ts'
import { shrink } from './shrink.ts'
import { catalog, type Survey, seeds, survey } from './survey.ts'
import { fly } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1000' },
    long: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    only: { type: 'string' },
    hazards: { type: 'string' },
    /** Of a job: the k-th of J takes each J-th seed, and reports to the one that started it. */
    part: { type: 'string' },
  },
})

function whole(name: 'seed' | 'runs' | 'jobs' | 'part', least: number): number {
  const number = Number(values[name])
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new RangeError(`--${name} must be an integer from ${least}, got "${values[name]}"`)
}

const [seed, runs, jobs] = [whole('seed', 0), whole('runs', 1), whole('jobs', 1)]
const length: Length = values.long ? 'long' : 'short'
const hazards = values.hazards === undefined ? undefined : hazardsNamed(values.hazards)
const begun_ms = performance.now()
const TOLD_EVERY_MS = 5000

if (values.only !== undefined) process.exitCode = again(new Set(values.only.split(',')))
else if (values.part !== undefined) job(whole('part', 0))
else process.exitCode = await all()

function again(only: ReadonlySet<string>): number {
  const scenario = scenarioOf(seed, length, hazards)
  const outcome = fly(catalog, scenario, { only })
  if (outcome.findings.length === 0) {
    console.log(`seed ${seed} with ${[...only].join(', ')}: nothing found`)
    return 0
  }
  console.log(failure(scenario, length, { only, outcome, flights: 1 }))
  return 1
}

/** What a job tells of its runs so far. */
interface Told {
  readonly runs: number
  readonly virtual_ms: number
  readonly reached: readonly (readonly [string, number])[]
  readonly failed: number | undefined
}

function job(part: number): void {
  const share = Math.floor(runs / jobs) + (part < runs % jobs ? 1 : 0)
  let told_ms = 0
  const tell = ({ runs, virtual_ms, reached, failed }: Survey): void => {
    process.send!({ runs, virtual_ms, reached: [...reached], failed: failed?.scenario.seed } satisfies Told)
  }
  const each = (soFar: Survey): void => {
    if (performance.now() - told_ms < TOLD_EVERY_MS) return
    told_ms = performance.now()
    tell(soFar)
  }
  tell(survey(seeds(seed + part, share, jobs), length, { each, hazards }))
}

/** Every job, until all are done or one has found something. */
async function all(): Promise<number> {
  const told: Told[] = []
  const children = Array.from({ length: jobs }, (_, part) => {
    const args = [...process.argv.slice(2), '--part', `${part}`]
    const child = fork(import.meta.filename, args, { execArgv: process.execArgv })
    child.on('message', (message) => {
      told[part] = message as Told
      if (told[part].failed !== undefined) for (const other of children) if (other !== child) other.kill()
    })
    return child
  })
  const progress = setInterval(() => console.log(figures(told)), TOLD_EVERY_MS)
  const codes = await Promise.all(children.map((child) => new Promise((done) => child.once('exit', done))))
  clearInterval(progress)

  console.log(figures(told))
  console.log(reached(sum(told)))
  const failed = told.flatMap((t) => t.failed ?? [])[0]
  if (failed === undefined) {
    const whole = codes.every((code) => code === 0)
    console.log(whole ? 'no guarantee was broken' : `a job ended with ${codes.join(', ')}`)
    return whole ? 0 : 1
  }
  const scenario = scenarioOf(failed, length, hazards)
  const outcome = fly(catalog, scenario)
  console.log(`seed ${failed} breaks ${found(outcome)}; it is made small`)
  console.log(failure(scenario, length, shrink(scenario, outcome)))
  return 1
}

function sum(told: readonly Told[]): Survey {
  const reached = new Map<string, number>()
  for (const [what, count] of told.flatMap((t) => t.reached)) reached.set(what, (reached.get(what) ?? 0) + count)
  const total = (of: (t: Told) => number): number => told.reduce((all, t) => all + of(t), 0)
  return { runs: total((t) => t.runs), virtual_ms: total((t) => t.virtual_ms), reached, failed: undefined }
}

function figures(told: readonly Told[]): string {
  const { runs: done, virtual_ms } = sum(told)
  const real_s = (performance.now() - begun_ms) / 1000
  const hours = (virtual_ms / 3_600_000).toFixed(2)
  return `${done} of ${runs} schedules, ${hours} virtual hours, ${real_s.toFixed(0)} s, ${(done / real_s).toFixed(0)} a second`
}
