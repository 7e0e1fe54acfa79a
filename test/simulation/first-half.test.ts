// The first half of 10,000 short, dense schedules; in two files, since a file is what the workers share out.

import { expect, test } from 'vitest'
import { expectWhole } from './expectation.ts'
import { REACHED_AT_LEAST } from './reach.ts'
import { seeds } from './survey.ts'

const FIRST = 1
const RUNS = 5000

test(`G1 G2 G3 G4 G5 G6 hold in ${RUNS} short schedules from seed ${FIRST}`, { timeout: 600_000 }, () => {
  const { virtual_ms } = expectWhole(seeds(FIRST, RUNS), 'short', REACHED_AT_LEAST)
  expect(virtual_ms / 3_600_000).toBeGreaterThan(3)
})
