// `halo watch`: every topic of a vehicle, one JSON object a line, until interrupted.

import { setTimeout as wait } from 'node:timers/promises'
import { type Broker, connectGround, decode } from './ground.ts'

const AGAIN_MS = 1_000

/** Rejects where the broker cannot be had at first; a link that is lost later is made again. */
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
  for (let ground = await listen(); ; ) {
    const why = await ground.lost.catch((error: Error) => error.message)
    warn(why)
    for (let next: typeof ground | undefined; next === undefined; ) {
      await wait(AGAIN_MS)
      next = await listen().catch(() => undefined)
      if (next !== undefined) ground = next
    }
  }
}
