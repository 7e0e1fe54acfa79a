// A warm-up in which nothing crosses would warm up the way of a refusal.

import { expect, test } from 'vitest'
import { warm } from '../../../src/engine/warmup.ts'

test('every response of the warm-up is judged whole: the frame of its action would leave', () => {
  expect(warm(200)).toBe(200)
})
