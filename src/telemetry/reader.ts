// Reads one scalar field straight from the bytes of a message's whole payload.

import { fieldOf } from '../autopilot/frame.ts'

/** Throws for a field that the message does not have. */
export function reader(message: string, field: string): (payload: DataView) => number {
  const { offset, format } = fieldOf(message, field)
  switch (format) {
    case 'u8':
      return (payload) => payload.getUint8(offset)
    case 'i8':
      return (payload) => payload.getInt8(offset)
    case 'u16':
      return (payload) => payload.getUint16(offset, true)
    case 'i16':
      return (payload) => payload.getInt16(offset, true)
    case 'u32':
      return (payload) => payload.getUint32(offset, true)
    case 'i32':
      return (payload) => payload.getInt32(offset, true)
    case 'f32':
      return (payload) => payload.getFloat32(offset, true)
  }
}
