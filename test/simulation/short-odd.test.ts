// Half of 10,000 short, dense schedules: the odd seeds. Two files, since a file is what test workers share out.

import { expect, test } from 'vitest'
import { expectWhole } from './expectation.ts'
import { REACHED_AT_LEAST } from './reach.ts'
import { seeds } from './survey.ts'

const RUNS = 5000

test(`G1 G2 G3 G4 G5 G6 hold in ${RUNS} short schedules of odd seeds`, { timeout: 600_000 }, () => {
  const { virtual_ms } = expectWhole(seeds(1, RUNS, 2), 'short', REACHED_AT_LEAST)
  expect(virtual_ms / 3_600_000).toBeGreaterThan(3)
})
