import { describe, expect, it } from 'vitest'
import { Backoff } from '../../../companion/mavlink/backoff.ts'

/** The waits between attempts that all fail, ms, seen by ticks of 5 ms. */
function waits(random: () => number, attempts: number): number[] {
  const backoff = new Backoff(random)
  const made: number[] = []
  let last = 0
  for (let now = 0; made.length < attempts; now += 5) {
    if (!backoff.due(now)) continue
    made.push(now - last)
    last = now + 5
  }
  return made
}

describe('backoff', () => {
  it('doubles to a bound, within half to the whole of each period', () => {
    expect(waits(() => 0, 7)).toEqual([125, 250, 500, 1000, 2000, 2000, 2000])
    expect(waits(() => 1, 7)).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000])
  })

  it('spreads by chance', () => {
    const draws = [0, 0.5, 1, 0.25]
    expect(waits(() => draws.shift()!, 4)).toEqual([125, 375, 1000, 1250])
  })

  it('begins anew once it worked', () => {
    const backoff = new Backoff(() => 1)
    for (const now of [0, 250, 251, 751]) backoff.due(now)
    backoff.reset()
    expect([backoff.due(1000), backoff.due(1249), backoff.due(1250)]).toEqual([false, false, true])
  })
})
