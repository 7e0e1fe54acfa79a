// What a change may not do to the speed: ratios of medians within one run, never times, so that a slow or busy machine says
// the same as a fast one. The bounds are wide, since what others do on the machine moves medians too, and what fails is
// measured once more.

import { loadCore } from '../src/core/wasm.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { admit, admitAll } from './admission.ts'
import { cross } from './gate.ts'
import { arrays } from './peers/arrays.ts'
import { admission } from './peers/halo.ts'
import { against } from './peers.ts'
import { measure, once, type Work } from './work.ts'

interface Ratio {
  readonly of: Work
  readonly to: Work
  readonly atMost: number
}

const EFFORT = { time_ms: 300, warmup_ms: 100 }

function ratios(): Ratio[] {
  const few = admit(32, loadCore, '32 components')
  return [
    // Against what does not change with the core: the model without care for speed, and the floor. Four times what was seen.
    { of: few, to: admit(32, oracle, '32 components by the oracle'), atMost: 0.15 },
    { of: against(admission), to: against(arrays), atMost: 1000 },
    // Growth: three times linear. What grows with the square of its size would be at 64, 1,024 and 256.
    { of: admit(256, loadCore, '256 components'), to: few, atMost: 3 * 8 },
    { of: admitAll(loadCore, '1,024 components, four prerequisites each'), to: few, atMost: 3 * 64 },
    { of: cross(64, loadCore, '64 prerequisites'), to: cross(4, loadCore, '4 prerequisites'), atMost: 3 * 16 },
  ]
}

function median_ms(work: Work): number {
  once(work)
  return measure(work, EFFORT).p50
}

/** Whether all ratios are within their bounds; says a line of each. */
export function check(say: (line: string) => void): boolean {
  const within = ({ of, to, atMost }: Ratio): boolean => {
    const ratio = median_ms(of) / median_ms(to)
    const holds = ratio <= atMost
    say(`${holds ? 'ok  ' : 'SLOW'} ${ratio.toPrecision(3)} (at most ${atMost}): ${of.name}, over ${to.name}`)
    return holds
  }
  const all = ratios()
  const slow = all.filter((ratio) => !within(ratio) && !within(ratio)).length
  say(
    slow === 0
      ? `all ${all.length} ratios are within their bounds`
      : `${slow} of ${all.length} ratios are beyond their bounds, twice`,
  )
  return slow === 0
}
