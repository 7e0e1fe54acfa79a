// npm run fuzz [-- --runs N] [--seed S] [--from I]
//
// Offers N seeded inputs, the I-th and those behind it, to each door for bytes of strangers: CBOR packets and MAVLink frames.
// Prints what was made and what the doors said. Ends with 1 at the first flaw, if an input takes seconds, if the heap grows, or
// if a door never says one of its words, which of a few inputs nobody expects.

import { parseArgs } from 'node:util'
import { heap } from '../../bench/heap.ts'
import { cbor } from './cbor.ts'
import { mavlink } from './mavlink.ts'
import { type Door, fuzz, type Tally, unsaid } from './run.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
  },
})
const [runs, seed, from] = [values.runs, values.seed, values.from].map((text) => {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(`not a whole number: ${text}`)
  return number
}) as [number, number, number]

const SLOW_MS = 5000
const RUNS_FOR_EVERY_WORD = 50_000
const GROWTH_MAX_MB = 16

const heap_MB = (): number => heap() / 2 ** 20

const number = (value: number): string => Math.round(value).toLocaleString('en')
const list = (of: ReadonlyMap<string, number>): string =>
  [...of]
    .sort(([, a], [, b]) => b - a)
    .map(([word, count]) => `  ${number(count).padStart(11)}  ${word}`)
    .join('\n')

/** Runs it, prints what it found, and returns what is wrong. */
async function attack(door: Door): Promise<string[]> {
  const began_ms = performance.now()
  // What is compiled and cached once is no growth: the first tenth does not count.
  let warm_MB: number | undefined
  const report = ({ inputs }: Tally): void => {
    if (inputs >= runs / 10) warm_MB ??= heap_MB()
    if (process.stderr.isTTY) process.stderr.write(`\r${door.name}: ${number(inputs)} of ${number(runs)}\x1b[K`)
  }
  const tally = await fuzz(door, { runs, seed, from, report })
  const seconds = (performance.now() - began_ms) / 1000
  const grown_MB = warm_MB === undefined ? 0 : heap_MB() - warm_MB
  console.log(
    `${process.stderr.isTTY ? '\r' : ''}${door.name}: ${number(tally.inputs)} inputs in ${seconds.toFixed(1)} s, ` +
      `${number(tally.inputs / seconds)}/s; ${number(tally.accepted)} accepted; ` +
      `the slowest took ${tally.slowest_ms.toFixed(1)} ms; the heap grew by ${grown_MB.toFixed(1)} MB`,
  )
  console.log(` made\n${list(tally.made)}\n said\n${list(tally.said)}`)
  return [
    ...(runs < RUNS_FOR_EVERY_WORD ? [] : unsaid(door, tally)).map((word) => `${door.name} never said: ${word}`),
    ...(tally.slowest_ms > SLOW_MS ? [`${door.name}: an input took ${tally.slowest_ms.toFixed(0)} ms`] : []),
    ...(grown_MB > GROWTH_MAX_MB ? [`${door.name}: the heap grew by ${grown_MB.toFixed(1)} MB`] : []),
  ]
}

const wrong = [...(await attack(cbor)), ...(await attack(mavlink))]
for (const what of wrong) console.error(what)
if (wrong.length > 0) process.exitCode = 1
