// Observing: a GLOBAL_POSITION_INT, 20 times a second of PX4's 400 messages, from its bytes to the state table and through a
// whole step of the engine (PROTOCOL 2), with and without a plan that waits.

import { layout } from '../src/autopilot/frame.ts'
import { loadCore } from '../src/core/wasm.ts'
import type { Report } from '../src/telemetry/report.ts'
import { Telemetry } from '../src/telemetry/telemetry.ts'
import { exampleCatalog, HOME, Hovering, retainsAll, sortie } from './sortie.ts'
import type { Work } from './work.ts'

/** The whole payload of a message; fields that are not named are zero. */
function payload(name: string, values: Readonly<Record<string, number>>): Uint8Array {
  const { length, fields } = layout(name)
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  for (const [field, value] of Object.entries(values)) {
    const { offset, format } = fields[field]!
    if (format === 'f32') view.setFloat32(offset, value, true)
    else if (format === 'i32' || format === 'u32') view.setInt32(offset, value, true)
    else if (format === 'i16' || format === 'u16') view.setInt16(offset, value, true)
    else view.setInt8(offset, value)
  }
  return bytes
}

export function observe(): Work[] {
  const catalog = exampleCatalog()
  const work = (name: string, waiting: boolean, target_ms?: number): Work<Report> => {
    const hovering = new Hovering(catalog, loadCore)
    const components = sortie(32)
    const telemetry = new Telemetry(catalog.profile, catalog.fields)
    const { id } = layout('GLOBAL_POSITION_INT')
    const [lat, lon] = [HOME.lat * 1e7, HOME.lon * 1e7]
    const position = payload('GLOBAL_POSITION_INT', { lat, lon, alt: 498_000, relative_alt: 10_000, hdg: 9000 })
    const around = [
      [layout('GPS_RAW_INT').id, payload('GPS_RAW_INT', { fix_type: 3, satellites_visible: 12 })],
      [layout('ESTIMATOR_STATUS').id, payload('ESTIMATOR_STATUS', { flags: 55, pos_horiz_accuracy: 0.3 })],
      [layout('HOME_POSITION').id, payload('HOME_POSITION', { latitude: lat, longitude: lon, altitude: 488_000 })],
    ] as const
    return {
      name: `observe: one GLOBAL_POSITION_INT, ${name}`,
      target_ms,
      // The rest of the vehicle's state stays fresh, so that what is measured is a position that counts.
      before: () => {
        hovering.beat()
        // Said anew each time: a consent that nobody gives expires, and then nothing waits.
        if (waiting && !retainsAll(hovering.receive(hovering.next(components)), 32)) throw new Error('nothing waits')
        for (const [message, bytes] of around) telemetry.apply(message, bytes, hovering.now_ms)
      },
      run: () => {
        const report = telemetry.apply(id, position, hovering.now_ms)
        hovering.runtime.observe(report, hovering.now_ms, hovering.now_ms)
        return report
      },
      didIt: ({ observations }) =>
        observations.length === 5 && observations.every(({ value }) => Number.isFinite(value)),
    }
  }
  return [work('nothing waits', false, 0.005), work('30 components wait', true)]
}
