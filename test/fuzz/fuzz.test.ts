// The doors for bytes of strangers, under seeded fuzz: `npm run fuzz` goes on for longer.

import { expect, test } from 'vitest'
import { cbor } from './cbor.ts'
import { mavlink } from './mavlink.ts'
import { fuzz, unsaid } from './run.ts'

const RUNS = 50_000
const SLOW_MS = 300_000

test.each([cbor, mavlink].map((door) => [door.name, door] as const))(
  'G5: 50,000 seeded inputs to the %s door: it never throws, takes what is good and nothing else',
  async (_, door) => {
    const tally = await fuzz(door, { runs: RUNS, seed: 1 })
    // A door that takes nothing keeps everything out, and one that is never wrong about some word was not asked.
    expect(tally.accepted).toBeGreaterThan(RUNS / 8)
    expect(unsaid(door, tally)).toEqual([])
  },
  SLOW_MS,
)

test('G5: next to no good frame is lost to bytes before it that happen to be one', async () => {
  const { accepted, said } = await fuzz(mavlink, { runs: 5000, seed: 2 })
  expect(said.get('a good frame lost to one that reaches into it') ?? 0).toBeLessThan(accepted / 100)
})
