// Messages of an autopilot, written for the tests.

import { fieldOf, layout } from '../../../src/autopilot/frame.ts'

/** Id and whole payload of a message; fields that are not given are zero. */
export function message(name: string, values: Readonly<Record<string, number>>): [number, Uint8Array] {
  const payload = new Uint8Array(layout(name).length)
  const view = new DataView(payload.buffer)
  for (const [field, value] of Object.entries(values)) {
    const { offset, format } = fieldOf(name, field)
    if (format === 'f32') view.setFloat32(offset, value, true)
    else if (format === 'u32' || format === 'i32') view.setUint32(offset, value, true)
    else if (format === 'u16' || format === 'i16') view.setUint16(offset, value, true)
    else view.setUint8(offset, value)
  }
  return [layout(name).id, payload]
}
