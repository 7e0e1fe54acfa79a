// How fields went in a recorded flight (test/fixtures): drift that nobody has invented.

import { Framer } from '../../companion/mavlink/framer.ts'
import { readTlog } from '../../companion/mavlink/tlog.ts'
import { px4Multirotor } from '../../src/profile/px4-multirotor.ts'
import { Telemetry } from '../../src/profile/telemetry.ts'
import { fixture } from '../unit/mavlink/recording.ts'

/** The recorded companion asked for no rates: the estimator spoke once a second. */
const AGES = px4Multirotor.fields.map(({ name, maxAge_ms }) => ({
  maxAge_ms: name === 'estimator.ok' ? 2500 : maxAge_ms,
}))

interface Excerpt {
  /** A file of test/fixtures, without its ending. */
  readonly recording: string
  /** Seconds of the file. */
  readonly from: number
  readonly to: number
  readonly fields: readonly string[]
}

interface Moment {
  readonly after_ms: number
  readonly values: Readonly<Record<string, number>>
}

/** When these fields changed in the excerpt; first, at 0 ms, what they were when it began. */
export function recorded({ recording, from, to, fields }: Excerpt): Moment[] {
  const framer = new Framer()
  const telemetry = new Telemetry(px4Multirotor, AGES)
  let before: Record<string, number> = {}
  const moments: Moment[] = []
  let begin_us: number | undefined
  for (const { time_us, bytes } of readTlog(fixture(recording))) {
    begin_us ??= time_us
    const at_ms = (time_us - begin_us) / 1000
    if (at_ms > to * 1000) break
    for (const { component, message, payload } of framer.datagram(bytes)) {
      if (component !== 1) continue // the autopilot's alone
      const { observations } = telemetry.apply(message, payload, at_ms)
      const named = observations.map(({ field, value }) => [px4Multirotor.fields[field]!.name, value] as const)
      const values = Object.fromEntries(named.filter(([name]) => fields.includes(name)))
      if (at_ms < from * 1000) before = { ...before, ...values }
      else if (Object.keys(values).length > 0) moments.push({ after_ms: at_ms - from * 1000, values })
    }
  }
  return [{ after_ms: 0, values: before }, ...moments]
}
