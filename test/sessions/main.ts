// npm run sessions -- [--count 10] [--autopilot px4|ardupilot] [--endpoint udpin://127.0.0.1:14540 | udpout:// | tcpout://]
//                     [--preflight refuse|warn] [--catalog FILE] [--speed 1] [--freeze position|return]
//
// Flies cold starts one after the other and counts, on the link itself, what must not be on it. With --endpoint it flies whatever
// autopilot answers there, which must have free air for 30 m around it; without, the simulated vehicle, a test double. Exit code 0
// only if every session completed and no stale setpoint was seen. With --freeze one companion is stopped --count times while the
// pilot takes that mode, with orders waiting for it (`freeze.ts`); exit code 0 only if no frame went against the pilot. After Ctrl-C the vehicle is landed before the program ends.

import { parseArgs } from 'node:util'
import { run } from './run.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10' },
    autopilot: { type: 'string', default: 'px4' },
    endpoint: { type: 'string' },
    speed: { type: 'string', default: '1' },
    catalog: { type: 'string' },
    preflight: { type: 'string' },
    freeze: { type: 'string' },
  },
})

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    console.log(`${signal}: landing the vehicle first`)
    interrupt.abort()
  })
}

const count = Number(values.count)
const speed = Number(values.speed)
try {
  const passed = await run({ ...values, count, speed, signal: interrupt.signal, print: console.log })
  process.exit(passed ? 0 : 1)
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
