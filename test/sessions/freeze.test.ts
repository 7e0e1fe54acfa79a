// `npm run sessions -- --freeze`, short, on the simulated vehicles.

import { expect, it } from 'vitest'
import { run } from './run.ts'

it.each(['px4', 'ardupilot'])(
  'G5: %s: a companion that was stopped while the pilot took over sends nothing against him, whatever waits for it',
  { timeout: 120_000 },
  async (autopilot) => {
    const lines: string[] = []
    const { signal } = new AbortController()
    const options = { autopilot, count: 5, speed: 4, freeze: 'position', signal }
    const passed = await run({ ...options, print: (line) => lines.push(line) })
    expect(passed, lines.join('\n')).toBe(true)
    expect(lines).toContain('5 rounds, 0 frames against the pilot')
  },
)
