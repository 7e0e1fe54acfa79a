// `halo watch`: every topic of a vehicle, one JSON object a line, until interrupted.

import { setTimeout as wait } from 'node:timers/promises'
import { type Broker, connectGround, decode } from './ground.ts'

const AGAIN_MS = 1_000

/** Waits for a broker that cannot be had, and says once why; a link that is lost is made again. */
export async function watch(
  broker: Broker,
  print: (line: string) => void,
  warn: (line: string) => void,
): Promise<void> {
  const listen = () =>
    connectGround(broker, ['#'], ({ topic, retain, bytes }) => {
      const value = decode(bytes)
      const content = value === undefined ? { malformed: Buffer.from(bytes).toString('hex') } : { value }
      print(JSON.stringify({ at: Date.now(), topic, retain, ...content }))
    })
  for (let told = ''; ; ) {
    const why = await listen().then(
      ({ lost }) => {
        told = ''
        return lost.catch((error: Error) => error.message)
      },
      (error: Error) => error.message,
    )
    if (why !== told) warn(`${why}; it is tried again`)
    told = why
    await wait(AGAIN_MS)
  }
}
