// The bytes of one frame, or undefined where a value cannot be written (PROTOCOL 6, `unencodable`).

import type { Format, FrameImage } from '../../src/core/image.ts'
import { evaluate, type Scene } from './clause.ts'

export function encode(frame: FrameImage, scene: Scene): Uint8Array | undefined {
  const bytes = new Uint8Array(frame.length)
  const position = { lat: Number.NaN, lon: Number.NaN }
  for (const { offset, format, value, position: part } of frame.entries) {
    const number = value === 'nan' ? Number.NaN : evaluate(value, scene)
    if (value !== 'nan' && !fits(format, number)) return undefined
    write(bytes, offset, format, number)
    if (!part) continue
    position[part] = read(bytes, offset, format)
    const degrees = format === 'f32' ? position[part] : nearest(number) / 1e7
    if (Math.abs(degrees) > (part === 'lat' ? 90 : 180)) return undefined
  }
  return position.lat === 0 && position.lon === 0 ? undefined : bytes
}

const RANGE = {
  u8: [0, 0xff],
  i8: [-0x80, 0x7f],
  u16: [0, 0xffff],
  i16: [-0x8000, 0x7fff],
  u32: [0, 0xffffffff],
  i32: [-0x80000000, 0x7fffffff],
} as const

function fits(format: Format, value: number): boolean {
  if (format === 'f32') return Number.isFinite(Math.fround(value))
  const [low, high] = RANGE[format]
  return nearest(value) >= low && nearest(value) <= high
}

/** To the nearest integer, ties to the even one. */
function nearest(value: number): number {
  const floor = Math.floor(value)
  const up = value - floor > 0.5 || (value - floor === 0.5 && floor % 2 !== 0)
  return up ? floor + 1 : floor
}

function write(bytes: Uint8Array, at: number, format: Format, value: number): void {
  const view = new DataView(bytes.buffer)
  if (format === 'f32') {
    if (Number.isNaN(value)) view.setUint32(at, 0x7fc00000, true)
    else view.setFloat32(at, value, true)
  } else if (format === 'u8' || format === 'i8') view.setUint8(at, nearest(value))
  else if (format === 'u16' || format === 'i16') view.setUint16(at, nearest(value), true)
  else view.setUint32(at, nearest(value), true)
}

function read(bytes: Uint8Array, at: number, format: Format): number {
  const view = new DataView(bytes.buffer)
  if (format === 'f32') return view.getFloat32(at, true)
  if (format === 'u8' || format === 'i8') return view.getUint8(at)
  if (format === 'u16' || format === 'i16') return view.getUint16(at, true)
  return view.getUint32(at, true)
}
