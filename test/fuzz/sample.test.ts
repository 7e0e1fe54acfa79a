// A sample of the inputs that `npm test` gives the doors, for `npm run test:quick`.

import { expect, test } from 'vitest'
import { cbor } from './cbor.ts'
import { mavlink } from './mavlink.ts'
import { fuzz } from './run.ts'

const RUNS = 2000

test.each([cbor, mavlink].map((door) => [door.name, door] as const))(
  'G5: 2,000 seeded inputs to the %s door: it never throws, takes what is good and nothing else',
  async (_, door) => {
    const tally = await fuzz(door, { runs: RUNS, seed: 1 })
    expect(tally.accepted).toBeGreaterThan(RUNS / 8)
  },
)
