// What is in use on the heap once the collector has taken the rest.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes. */
export function heap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
