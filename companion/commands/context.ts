// `halo context`: sets a context field, as the ground does (PROTOCOL 2, 12).

import { type Broker, connectGround } from './ground.ts'

/** `text` is a number, `true` or `false`, or else the member of an enumeration. */
export async function setContext(broker: Broker, field: string, text: string, retain: boolean): Promise<void> {
  const ground = await connectGround(broker, [], () => {})
  await ground.say(`context/${field}`, { v: 1, value: parseValue(text) }, retain)
  await ground.end()
}

function parseValue(text: string): number | boolean | string {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return text.trim() !== '' && Number.isFinite(number) ? number : text
}
