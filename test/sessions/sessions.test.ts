// `npm run sessions`, short, on the simulated vehicle; and a run that is interrupted in the air.

import { expect, it } from 'vitest'
import { startSimulatedVehicle } from '../../simulator/server.ts'
import { freeUdpPort, until } from '../e2e/flight-line.ts'
import { run } from './run.ts'

const fast = { autopilot: 'px4', speed: 4 }

it.each([
  ['px4', 2],
  ['ardupilot', 1],
])(
  'G1 G2 G4: %s, %d cold starts: the stale goto is blocked, what is unaffected kept, and a fresh one flies',
  {
    retry: 2,
    timeout: 90_000,
  },
  async (autopilot, count) => {
    const lines: string[] = []
    const { signal } = new AbortController()
    const passed = await run({ ...fast, autopilot, count, signal, print: (line) => lines.push(line) })
    expect(passed, lines.join('\n')).toBe(true)
    expect(lines).toContainEqual(expect.stringMatching(`^completed +${count}$`))
    expect(lines).toContainEqual(expect.stringMatching(/^stale setpoints seen +0$/))
  },
)

it('a run that is interrupted in the air ends with the vehicle landed and disarmed', { timeout: 90_000 }, async () => {
  const mavlink = `127.0.0.1:${await freeUdpPort()}`
  const { vehicle, close } = await startSimulatedVehicle({ listen: '127.0.0.1:0', send: mavlink, speed: 4 })
  try {
    const interrupt = new AbortController()
    const options = {
      ...fast,
      count: 2,
      endpoint: `udpin://${mavlink}`,
      preflight: 'warn',
      signal: interrupt.signal,
      print: () => {},
    }
    const passed = run(options)
    await until('the climb', () => vehicle.observations.landed === 'IN_AIR', 60_000)
    interrupt.abort()
    expect(await passed).toBe(false)
    expect(vehicle.observations).toMatchObject({ armed: false, landed: 'ON_GROUND' })
  } finally {
    await close()
  }
})

it.each([
  [{ count: 0 }, '--count'],
  [{ autopilot: 'betaflight' }, '--autopilot betaflight'],
  [{ preflight: 'maybe' }, '--preflight'],
  [{ endpoint: 'serial:///dev/serial0' }, '--endpoint serial:///dev/serial0'],
])('says what is wrong with %o', async (wrong, message) => {
  const options = { ...fast, count: 1, signal: new AbortController().signal, print: () => {} }
  await expect(run({ ...options, ...wrong })).rejects.toThrow(message)
})
