// `halo context`: sets a context field, as the ground does (PROTOCOL 2, 12).

import { type Broker, connectGround, decode } from './ground.ts'

/** How long a companion may take to show the value in a snapshot, ms: there is one a second. */
const SHOWN_MS = 3_000

/**
 * `text` is a number, `true` or `false`, or else the member of an enumeration. Exit code 0 once a snapshot shows it, 2 where
 * the companion refuses it or none shows it; a retained value is kept by the broker for a companion that starts later.
 */
export async function setContext(
  broker: Broker,
  { field, text, retain }: { readonly field: string; readonly text: string; readonly retain: boolean },
  print: (line: string) => void,
): Promise<0 | 2> {
  const value = parseValue(text)
  let settle: (code: 0 | 2) => void = () => {}
  const answered = new Promise<0 | 2>((resolve) => {
    settle = resolve
  })
  const ground = await connectGround(broker, ['snapshot', 'notice'], ({ topic, retain: kept, bytes }) => {
    // What the broker keeps may be of a process that is dead.
    if (kept) return
    const said = decode(bytes) as { state?: Record<string, unknown>; text?: string } | undefined
    if (topic === 'snapshot' && said?.state?.[field] === value) settle(0)
    if (topic !== 'notice' || !said?.text?.startsWith(`context/${field} refused`)) return
    print(said.text)
    settle(2)
  })
  await ground.say(`context/${field}`, { v: 1, value }, retain)
  const timer = setTimeout(() => {
    print(retain ? 'no companion shows it yet: the broker keeps it' : 'no companion shows it')
    settle(retain ? 0 : 2)
  }, SHOWN_MS)
  const code = await Promise.race([answered, ground.lost])
  clearTimeout(timer)
  await ground.end()
  return code
}

function parseValue(text: string): number | boolean | string {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return text.trim() !== '' && Number.isFinite(number) ? number : text
}
