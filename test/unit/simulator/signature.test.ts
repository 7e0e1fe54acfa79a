// Signing on the vehicle's side of the link, beside node-mavlink's own.

import { common, MavLinkPacketSignature, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { message } from '../../../simulator/frame.ts'
import { SimulatedVehicle } from '../../../simulator/vehicle.ts'
import { HOME } from './flight.ts'

const key = Uint8Array.from({ length: 32 }, (_, i) => i * 7)
const START_MS = Date.UTC(2026, 0, 1)
const EPOCH_MS = Date.UTC(2015, 0, 1)
const signed = (): SimulatedVehicle =>
  new SimulatedVehicle({ home: HOME, readyAfter_ms: 0, signing: { key, linkId: 3, start_ms: START_MS } })
const stamp = (frame: Uint8Array): number => Buffer.from(frame).readUIntLE(frame.length - 12, 6)

const text = message(common.StatusText, { severity: 6, text: 'hello', id: 0, chunkSeq: 0 })
const writer = new MavLinkProtocolV2(1, 191, MavLinkProtocolV2.IFLAG_SIGNED)
const frame = (at_ms: number, by = key): Uint8Array =>
  writer.sign(writer.serialize(text, 0), 1, Buffer.from(by), START_MS + at_ms)

describe('simulated vehicle: signing', () => {
  it('signs what it sends as node-mavlink does, with stamps that only grow', () => {
    const vehicle = signed()
    vehicle.step(0)
    const frames = vehicle.step(3_000)
    expect(frames.length).toBeGreaterThan(100)
    let last = 0
    for (const each of frames) {
      expect(each[2]! & 1).toBe(1)
      const signature = new MavLinkPacketSignature(Buffer.from(each))
      expect(signature.matches(Buffer.from(key))).toBe(true)
      expect(signature.linkId).toBe(3)
      expect(stamp(each)).toBeGreaterThan(last)
      last = stamp(each)
    }
    expect(last / 100 + EPOCH_MS - START_MS).toBeGreaterThan(2_900)
    expect(last / 100 + EPOCH_MS - START_MS).toBeLessThan(3_100)
    const type = minimal.Heartbeat
    const heartbeat = frames.find((each) => each[7] === type.MSG_ID && each[8] === 0)!
    expect(writer.data(writer.payload(Buffer.from(heartbeat)), type).autopilot).toBe(12)
  })

  it('drops what is unsigned, signed with another key, changed, or replayed', () => {
    const vehicle = signed()
    vehicle.step(0)
    const good = frame(100)
    vehicle.receive(good, 100)
    expect(vehicle.observations.texts).toHaveLength(1)
    const changed = frame(400)
    changed[changed.length - 1]! ^= 1
    const plain = new MavLinkProtocolV2(1, 191).serialize(text, 0)
    for (const bad of [
      good,
      frame(50),
      changed,
      plain,
      frame(
        500,
        key.map((byte) => byte ^ 1),
      ),
    ])
      vehicle.receive(bad, 600)
    expect(vehicle.observations.texts).toHaveLength(1)
    expect(vehicle.observations.unsigned).toBe(5)
    vehicle.receive(frame(700), 700)
    expect(vehicle.observations.texts).toHaveLength(2)
  })

  it('refuses a key that is none', () => {
    const signing = { key: key.subarray(1), linkId: 0 }
    expect(() => new SimulatedVehicle({ home: HOME, signing })).toThrow('a key is 32 bytes, got 31')
  })
})
