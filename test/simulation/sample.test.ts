// A sample of the schedules that `npm test` flies, for `npm run test:quick`.

import { test } from 'vitest'
import { expectWhole } from './expectation.ts'
import { seeds } from './survey.ts'

const FIRST = 1
const RUNS = 300

test(`G1 G2 G3 G4 G5 G6 hold in ${RUNS} short schedules from seed ${FIRST}`, { timeout: 120_000 }, () => {
  expectWhole(seeds(FIRST, RUNS), 'short', { 'crossed goto': 1, 'session trap': 1, recovery: 1 })
})
