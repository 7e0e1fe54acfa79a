import { setImmediate as turnEnds } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Clock } from '../../../companion/clock.ts'

/** Blocks the event loop. */
function stall(clock: Clock, time_ms: number): void {
  const until_ms = clock.now() + time_ms
  while (clock.now() < until_ms);
}

it('G5: counts what a turn reads as received at the end of the turn before, so a stall makes it older', async () => {
  const clock = new Clock()
  clock.turn()
  await turnEnds()
  const ended_ms = clock.now()

  stall(clock, 30)
  const received_ms = clock.turn()
  expect(received_ms).toBeLessThanOrEqual(ended_ms)
  stall(clock, 5)
  expect(clock.turn()).toBe(received_ms) // still the same turn

  await turnEnds()
  await turnEnds()
  expect(clock.turn()).toBeGreaterThanOrEqual(received_ms + 35)
  expect(clock.turn()).toBeLessThanOrEqual(clock.now())
})
