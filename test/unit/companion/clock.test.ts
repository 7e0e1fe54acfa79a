import { expect, it } from 'vitest'
import { Clock } from '../../../companion/machine/clock.ts'

/** What the kernel says, with the steps of its uptime, and time in which the system was suspended on top. */
class Kernel {
  suspended_s = 0
  readonly uptime_s = (): number => Math.floor((1e5 + performance.now() / 1000 + this.suspended_s) * 100) / 100
}

const nextCallback = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

it('G5: counts the time in which the system was suspended, from the first callback behind it', async () => {
  const kernel = new Kernel()
  const clock = new Clock(kernel.uptime_s)
  for (const suspended_s of [0.1, 2, 30, 86_400]) {
    await nextCallback()
    const before_ms = clock.now()
    kernel.suspended_s += suspended_s
    await nextCallback()
    const after_ms = clock.now()
    expect(after_ms - before_ms).toBeGreaterThanOrEqual(suspended_s * 1000)
  }
})

it('never takes the steps of the uptime for a suspend, and never goes back', async () => {
  const clock = new Clock(new Kernel().uptime_s)
  const ahead_ms = clock.now() - performance.now()
  let last_ms = 0
  for (let turn = 0; turn < 200; turn++) {
    await nextCallback()
    const now_ms = clock.now()
    expect(now_ms).toBeGreaterThanOrEqual(last_ms)
    last_ms = now_ms
  }
  expect(Math.abs(clock.now() - performance.now() - ahead_ms)).toBeLessThan(1)
})

it('says the same with the uptime of this machine', async () => {
  const clock = new Clock()
  await nextCallback()
  const before_ms = performance.now()
  const now_ms = clock.now()
  expect(now_ms).toBeGreaterThanOrEqual(before_ms)
})
