// `halo watch`: every topic of a vehicle, one JSON object a line, until interrupted.

import { type Broker, connectGround, decode } from './ground.ts'

/** Rejects when the broker is gone. */
export async function watch(broker: Broker, print: (line: string) => void): Promise<never> {
  const ground = await connectGround(broker, ['#'], ({ topic, retain, bytes }) => {
    const value = decode(bytes)
    const content = value === undefined ? { malformed: Buffer.from(bytes).toString('hex') } : { value }
    print(JSON.stringify({ at: Date.now(), topic, retain, ...content }))
  })
  return ground.lost
}
