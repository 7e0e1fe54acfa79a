// The bytes of SET_POSITION_TARGET_LOCAL_NED (84) as two others write them: the C library, and node-mavlink's serializer.

import { common, MavLinkProtocolV2 } from 'node-mavlink'
import { expect, test } from 'vitest'
import { CONTINGENCY_SENDS_MAX, Kind, Reason } from '../../../build/abi.ts'
import type { Core, Gate } from '../../../src/core/core.ts'
import type { EntryImage, FrameImage, Image } from '../../../src/core/image.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { batch, candidate, image, load, num, retain, slot, type } from '../../oracle/sketch.ts'

const float = (offset: number, value: EntryImage['value']): EntryImage => ({ offset, format: 'f32', value })
const setpoint: FrameImage = {
  message: 84,
  length: 53,
  stamp: 0,
  sends: Number.POSITIVE_INFINITY,
  entries: [
    float(4, 'nan'),
    float(16, slot(0)),
    float(20, slot(1)),
    float(24, slot(2)),
    float(44, num(0.1)),
    { offset: 48, format: 'u16', value: num(0x0dc7) },
    { offset: 50, format: 'u8', value: { op: 'target', part: 0 } },
    { offset: 51, format: 'u8', value: { op: 'target', part: 1 } },
    { offset: 52, format: 'u8', value: num(1) },
  ],
}
const velocity = type(Kind.setpoint, {
  payload: ['north', 'east', 'down'].map((name) => ({ name, kind: 'number', optional: false }) as const),
  frames: [setpoint],
})

function issued(what: Image, payload: readonly number[]): { core: Core; sequence: number } {
  const core = load(loadCore, what)
  const [sequence] = retain(core, batch(core.snapshot(0), [candidate(0, { payload })]), 0)
  return { core, sequence: sequence! }
}

function bytes(gate: Gate): Buffer {
  if (gate.decision !== 'allow' || !gate.frame) throw new Error(`no frame: ${JSON.stringify(gate)}`)
  return Buffer.from(gate.frame.payload)
}

test("G2: the setpoint's payload is that of the C library", () => {
  const reference = Buffer.from(
    'fd3500000001bf54000040e201000000c0ff00000000000000000000c03f000000c00000803e00000000000000000000000000000000cdcccc3dc70d010101d00f',
    'hex',
  ).subarray(10, 63)
  reference.writeUInt32LE(0x7fc00000, 4) // C wrote the other quiet NaN
  const { core, sequence } = issued(image([], [velocity]), [1.5, -2, 0.25])
  core.target(1, 1)
  expect(bytes(core.gate(sequence, 0, 0, 123456)).toString('hex')).toBe(reference.toString('hex'))
})

test("G2: the setpoint's payload is that of node-mavlink", () => {
  const message = new common.SetPositionTargetLocalNed()
  Object.assign(message, { timeBootMs: 77, x: 0, y: 0, z: 0, vx: 0.3, vy: 4, vz: -1, afx: 0, afy: 0, afz: 0, yaw: 0 })
  Object.assign(message, { yawRate: 0.1, typeMask: 0x0dc7, targetSystem: 9, targetComponent: 2, coordinateFrame: 1 })
  const theirs = new MavLinkProtocolV2(1, 191).serialize(message, 0).subarray(10, 63)
  const plain = { ...velocity, frames: [{ ...setpoint, entries: setpoint.entries.slice(1) }] }
  const { core, sequence } = issued(image([], [plain]), [0.3, 4, -1])
  core.target(9, 2)
  expect(bytes(core.gate(sequence, 0, 0, 77)).toString('hex')).toBe(theirs.toString('hex'))
})

test('G2: each further frame is the first but for its stamp, and a corrupted one is denied for ever', () => {
  const { core, sequence } = issued(image([], [velocity]), [1, 2, 3])
  core.target(1, 1)
  const first = bytes(core.gate(sequence, 0, 0, 5))
  const next = bytes(core.frame(sequence, 0, 0, 1, 6))
  expect(next.subarray(4)).toEqual(first.subarray(4))
  expect([first.readUInt32LE(), next.readUInt32LE()]).toEqual([5, 6])

  // The lease's own copy stands last in the core's memory; before it are the one handed out and the digest's scratch.
  const memory = Buffer.from(core.record(sequence).buffer)
  const kept = memory.lastIndexOf(first.subarray(4))
  memory[kept + 12]! ^= 1
  expect(core.frame(sequence, 0, 0, 2, 7)).toMatchObject({ decision: 'deny', reason: Reason.binding_mismatch })
  memory[kept + 12]! ^= 1
  expect(core.frame(sequence, 0, 0, 3, 8)).toMatchObject({ decision: 'deny', reason: Reason.token_revoked })
})

test.each([
  ['its instance', 0],
  ['that it is open', 4],
  ['its length', 12],
  ['its hash', 48],
  ['the end of its hash', 79],
  ['its first byte', 80],
  ['its last byte', 80 + 52],
])('G2: a lease of which a bit is flipped is denied: %s', (_, offset) => {
  const { core, sequence } = issued(image([], [velocity]), [1, 2, 3])
  core.target(1, 1)
  const first = bytes(core.gate(sequence, 0, 0, 5))
  const memory = Buffer.from(core.record(sequence).buffer)
  const lease = memory.lastIndexOf(first.subarray(4)) - 4 - 80
  memory[lease + offset]! ^= 1
  expect(core.frame(sequence, 0, 0, 0, 6)).toEqual({ decision: 'deny', reason: Reason.binding_mismatch, detail: -1 })
})

test.each([
  ['no target yet', { value: { op: 'target', part: 0 }, format: 'u8' } as const, 'deny'],
  ['255.4 in a byte', { value: num(255.4), format: 'u8' } as const, 'allow'],
  ['255.5 in a byte', { value: num(255.5), format: 'u8' } as const, 'deny'],
  ['-129 in an i8', { value: num(-129), format: 'i8' } as const, 'deny'],
  ['1e39 in a float', { value: num(1e39), format: 'f32' } as const, 'deny'],
  ['2^31 in an i32', { value: num(2 ** 31), format: 'i32' } as const, 'deny'],
])('G5: a frame with %s: %s', (_, value, decision) => {
  const frame: FrameImage = { message: 1, length: 4, stamp: -1, sends: 1, entries: [{ offset: 0, ...value }] }
  const { core, sequence } = issued(image([], [type(Kind.command, { frames: [frame] })]), [])
  const gate = core.gate(sequence, 0, 0, 0)
  expect(gate.decision).toBe(decision)
  if (gate.decision === 'deny') expect(gate.reason).toBe(Reason.unencodable)
})

test.each([
  [0, 0, 'deny'],
  [1e-9, -1e-9, 'deny'], // rounds to exactly 0, 0
  [0, 8.5, 'allow'],
  [47.1, 0, 'allow'],
  [132.6, 8.5, 'deny'],
  [-90.0000001, 8.5, 'deny'],
  [-90, 180, 'allow'],
  [47.1, -180.0000001, 'deny'],
])('G5: a position of %d, %d: %s', (lat, lon, decision) => {
  const at = (offset: number, index: number, position: 'lat' | 'lon'): EntryImage => ({
    offset,
    format: 'i32',
    value: { op: 'mul', args: [slot(index), num(1e7)] },
    position,
  })
  const frame = { message: 86, length: 8, stamp: -1, sends: 1, entries: [at(0, 0, 'lat'), at(4, 1, 'lon')] }
  const payload = ['lat', 'lon'].map((name) => ({ name, kind: 'number', optional: false }) as const)
  const { core, sequence } = issued(image([], [type(Kind.command, { payload, frames: [frame] })]), [lat, lon])
  expect(core.gate(sequence, 0, 0, 0).decision).toBe(decision)
})

test(`G3: a contingency's token opens ${CONTINGENCY_SENDS_MAX} sends, and none before the target is known`, () => {
  const hold: FrameImage = {
    message: 76,
    length: 2,
    stamp: -1,
    sends: 1,
    entries: [{ offset: 1, format: 'u8', value: { op: 'target', part: 0 } }],
  }
  const plain = { ...hold, entries: [] }
  const core = load(loadCore, { ...image([], []), contingencies: [hold, plain] })
  const token = core.contingency(0)
  expect(core.contingencyFrame(core.contingency(1))).toBeDefined()
  expect(core.contingencyFrame(token)).toBeUndefined()
  core.target(4, 1)
  for (let i = 0; i < CONTINGENCY_SENDS_MAX; i++) {
    expect(core.contingencyFrame(token)).toEqual({ message: 76, payload: Uint8Array.of(0, 4) })
  }
  expect(core.contingencyFrame(token)).toBeUndefined()
  expect(core.contingencyFrame(core.contingency(0))).toBeDefined()
})
