// Checks the model with Spin: halo.pml → pan.c → pan, once for each property, every state that can be reached.
//
//   node test/model/check.mjs                        every property, and every witness
//   node test/model/check.mjs --quick                smaller bounds, all properties in one run: what the tests do
//   node test/model/check.mjs --sabotage NAME|all    a mistake built in: its property must break
//
// Ends with 1 if a property breaks, if a search is cut short, if a witness cannot happen, or if a mistake goes unnoticed.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const MODEL = fileURLToPath(new URL('halo.pml', import.meta.url))
const BOUNDS = { PACKETS: 3, SNAPSHOTS: 2, SESSIONS: 2 }
const QUICK = { PACKETS: 2, SNAPSHOTS: 2, SESSIONS: 2 }
const DEPTH_MAX = 100_000
const MEMORY_MAX_MB = 4000

const PROPERTIES = {
  G1: 'retained and dispatched only on what stands, and on what is completed and not lost',
  G3: 'a component of a packet crosses once, across redelivery, retry, link loss, crash and restart',
  G4: 'an id comes back only after a loss, on newer evidence, in a new generation, under a new token',
  DENIED: 'no frame after a denial or the end',
  PILOT: 'no frame after a takeover until the operator resumes',
  HELD: 'one effect at a time has the resource',
  STEP: 'at most one frame of a lease a step: why one draw of what becomes of it is enough',
}

/** What must be able to happen: a model in which nothing flies keeps every promise. */
const WITNESSES = [
  'a goto crosses',
  'a recovered goto crosses, in a session after a restart',
  'a take-off of a later plan crosses',
  'a takeover ends a lease that has commanded the mode',
  'a process crashes between the token and the frame',
]

/** Mistakes: the property that each breaks, and other bounds where it takes more to show. */
const SABOTAGES = {
  ready: { property: 'G1' },
  done: { property: 'G1' },
  holds: { property: 'G1' },
  closure: { property: 'G1' },
  spent: { property: 'G3' },
  generation: { property: 'G3' },
  session: { property: 'G3' },
  ledger: { property: 'G3' },
  scope: { property: 'G4' },
  evidence: { property: 'G4' },
  any: { property: 'G4', bounds: { PACKETS: 3, SNAPSHOTS: 2, SESSIONS: 1 } },
  widen: { property: 'G4', bounds: { PACKETS: 4, SNAPSHOTS: 2, SESSIONS: 1 }, minutes: true },
  denial: { property: 'DENIED' },
  leases: { property: 'DENIED' },
  order: { property: 'PILOT' },
  latch: { property: 'PILOT' },
  abandon: { property: 'PILOT' },
  busy: { property: 'HELD' },
}

const folder = mkdtempSync(join(tmpdir(), 'halo-model-'))

function run(command, args, accepted = [0]) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  if (error) throw error
  if (!accepted.includes(status)) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`)
  return stdout
}

/** Searches every state that can be reached, or to the first that breaks an assertion. */
function search(defines, bounds, optimisation) {
  const flags = Object.entries({ ...bounds, ...defines }).map(([name, value]) => `-D${name}=${value}`)
  run('spin', [...flags, '-a', MODEL])
  run('gcc', [optimisation, '-w', '-DSAFETY', '-DNOREDUCE', `-DMEMLIM=${MEMORY_MAX_MB}`, '-o', 'pan', 'pan.c'])
  const began_ms = performance.now()
  const told = run('./pan', [`-m${DEPTH_MAX}`, '-w22', '-n'])
  const elapsed_ms = performance.now() - began_ms
  const errors = /errors: (\d+)/.exec(told)?.[1]
  const states = Number(/(\d+) states, stored/.exec(told)?.[1])
  if (errors === undefined || Number.isNaN(states)) throw new Error(`pan said nothing that can be read: ${told}`)
  const violated = /assertion violated (.*)/.exec(told)?.[1]?.trim()
  const broken = Number(errors) > 0
  if (broken && violated === undefined) throw new Error(`an error, but no assertion: ${told}`)
  // Too deep, or out of memory: what was not searched is not known to hold.
  const cut = /max search depth too small|Search not completed|out of memory|memory limit/i.test(told) && !broken
  return { broken, violated, cut, states, elapsed_ms }
}

let bad = 0
function tell(ok, name, text, { states, elapsed_ms }) {
  if (!ok) bad++
  const figures = `${states.toLocaleString('en').padStart(11)} states ${(elapsed_ms / 1000).toFixed(1).padStart(6)} s`
  console.log(`${ok ? 'pass' : 'FAIL'}  ${name.padEnd(10)} ${figures}   ${text}`)
}

function checkProperty(names, text, bounds) {
  const result = search(Object.fromEntries(names.map((name) => [name, 1])), bounds, '-O2')
  const why = result.broken ? `: broken by ${result.violated}` : result.cut ? ': the search was cut short' : ''
  tell(!result.broken && !result.cut, names.length === 1 ? names[0] : 'all', text + why, result)
}

function checkWitness(number, text, bounds) {
  const result = search({ WITNESS: number }, bounds, '-O0')
  tell(result.broken, `witness ${number}`, result.broken ? text : `${text}: never`, result)
}

function checkSabotage(name) {
  const { property, bounds, minutes } = SABOTAGES[name]
  const result = search(
    { [property]: 1, [`SABOTAGE_${name.toUpperCase()}`]: 1 },
    bounds ?? BOUNDS,
    minutes ? '-O2' : '-O0',
  )
  tell(
    result.broken,
    name,
    result.broken ? `${property} breaks: ${result.violated}` : `${property} did not notice`,
    result,
  )
}

function missing() {
  return ['spin', 'gcc'].filter((command) => spawnSync(command, ['--version']).error !== undefined)
}

function main() {
  const { values } = parseArgs({
    options: { sabotage: { type: 'string' }, quick: { type: 'boolean', default: false } },
  })
  const absent = missing()
  if (absent.length > 0) {
    console.error(`the model needs ${absent.join(' and ')}: apt-get install spin gcc libc6-dev`)
    return 1
  }
  const { sabotage, quick } = values
  if (sabotage === 'all') {
    for (const name of Object.keys(SABOTAGES)) if (!quick || !SABOTAGES[name].minutes) checkSabotage(name)
  } else if (sabotage !== undefined) {
    if (!Object.hasOwn(SABOTAGES, sabotage)) {
      console.error(`no sabotage ${sabotage}: one of ${Object.keys(SABOTAGES).join(', ')}, or all`)
      return 1
    }
    checkSabotage(sabotage)
  } else {
    if (quick) checkProperty(Object.keys(PROPERTIES), 'every property at once', QUICK)
    else for (const [name, text] of Object.entries(PROPERTIES)) checkProperty([name], text, BOUNDS)
    for (const [i, text] of WITNESSES.entries()) checkWitness(i + 1, text, BOUNDS)
  }
  return bad === 0 ? 0 : 1
}

try {
  process.exitCode = main()
} finally {
  rmSync(folder, { recursive: true })
}
