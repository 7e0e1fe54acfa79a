// How fields went in a recorded flight (test/fixtures): drift that nobody has invented.

import { px4Multirotor } from '../../src/autopilot/px4-multirotor.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { fixture, frames, RECORDED_AGES } from '../unit/mavlink/recording.ts'

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
  const telemetry = new Telemetry(px4Multirotor, RECORDED_AGES)
  let before: Record<string, number> = {}
  const moments: Moment[] = []
  for (const { at_ms, frame } of frames(fixture(recording))) {
    if (at_ms > to * 1000) break
    if (frame.component !== 1) continue // the autopilot's alone
    const { observations } = telemetry.apply(frame.message, frame.payload, at_ms)
    const named = observations.map(({ field, value }) => [px4Multirotor.fields[field]!.name, value] as const)
    const values = Object.fromEntries(named.filter(([name]) => fields.includes(name)))
    if (at_ms < from * 1000) before = { ...before, ...values }
    else if (Object.keys(values).length > 0) moments.push({ after_ms: at_ms - from * 1000, values })
  }
  return [{ after_ms: 0, values: before }, ...moments]
}
