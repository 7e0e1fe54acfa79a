// The counter is worth what it notices: wrong streams, frame by frame.

import { setImmediate as turn } from 'node:timers/promises'
import { common, type MavLinkData } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { FrameWriter, message } from '../../simulator/frame.ts'
import { px4Multirotor } from '../../src/autopilot/px4-multirotor.ts'
import { FrameStream } from './stream.ts'
import type { Autopilot } from './tap.ts'
import { Witness } from './witness.ts'

const HOME = { lat: 47.397742, lon: 8.545594, amsl: 488 }
const OLD = { lat: HOME.lat + 0.0002, lon: HOME.lon, alt: 8, amsl: HOME.amsl }
const FRESH = { lat: HOME.lat + 0.0001, lon: HOME.lon, alt: 8, amsl: HOME.amsl }
const [HOLD, TAKEOFF, POSITION] = [(4 << 16) + (3 << 24), (4 << 16) + (2 << 24), 3 << 16]

class Stream {
  readonly witness = new Witness(px4Multirotor)
  readonly #writer = new FrameWriter(1, 191)
  readonly #stream = new FrameStream()
  autopilot: Autopilot = { system: 1, component: 1, kind: 12, armed: true, mode: HOLD }
  #time_ms = 0

  send(data: MavLinkData): void {
    for (const frame of this.#stream.read(this.#writer.write(data))) {
      this.witness.frame(frame, this.autopilot, this.#time_ms)
    }
  }

  setpoints(count: number, { lat, lon, alt }: typeof OLD, mask = 0x0df8): void {
    for (let i = 0; i < count; i++) {
      this.#time_ms += 100
      this.send(
        message(common.SetPositionTargetGlobalInt, {
          timeBootMs: this.#time_ms,
          targetSystem: 1,
          targetComponent: 1,
          coordinateFrame: 5,
          typeMask: mask,
          latInt: Math.round(lat * 1e7),
          lonInt: Math.round(lon * 1e7),
          alt: alt + HOME.amsl,
          vx: 0,
          vy: 0,
          vz: 0,
          afx: 0,
          afy: 0,
          afz: 0,
          yaw: 0,
          yawRate: 0,
        }),
      )
    }
  }

  command(command: number, _param2 = 0, _param3 = 0): void {
    const rest = { _param1: 1, _param4: 0, _param5: 0, _param6: 0, _param7: 0, confirmation: 0 }
    this.send(message(common.CommandLong, { ...rest, command, _param2, _param3, targetSystem: 1, targetComponent: 1 }))
  }

  async said(phase: string, generation: number): Promise<void> {
    this.witness.outcome({ component: 'field', generation, phase })
    await turn()
    await turn()
    await turn()
  }
}

/** A goto that is blocked, and the fresh one under way. */
async function recovered(): Promise<Stream> {
  const stream = new Stream()
  stream.witness.ask({ component: 'field', generation: 1, ...OLD })
  await stream.said('blocked', 1)
  stream.witness.ask({ component: 'field', generation: 2, ...FRESH })
  stream.setpoints(3, FRESH)
  await stream.said('dispatched', 2)
  stream.setpoints(3, FRESH)
  return stream
}

describe('G2 G3: setpoints that the witness calls stale', () => {
  it('none, of a lease that flies to its end', async () => {
    const stream = await recovered()
    await stream.said('completed', 2)
    expect(stream.witness).toMatchObject({ setpoints: 6, stale: 0, firstSetpoint_ms: 100 })
  })

  it('of an instance that was denied, also before the denial was heard', async () => {
    const stream = new Stream()
    stream.witness.ask({ component: 'field', generation: 1, ...OLD })
    stream.setpoints(2, OLD)
    await stream.said('blocked', 1)
    stream.setpoints(1, OLD)
    expect(stream.witness).toMatchObject({ setpoints: 3, stale: 3 })
  })

  it('of an instance that a later response has replaced', async () => {
    const stream = await recovered()
    stream.setpoints(1, OLD)
    expect(stream.witness.stale).toBe(1)
  })

  it.each(['completed', 'failed', 'expired', 'superseded', 'uncertain'])('after its lease has %s', async (phase) => {
    const stream = await recovered()
    await stream.said(phase, 2)
    stream.setpoints(2, FRESH)
    expect(stream.witness.stale).toBe(2)
  })

  it('to where nobody asked to fly: a place, a height, a velocity', async () => {
    const stream = await recovered()
    stream.setpoints(1, { ...FRESH, lat: FRESH.lat + 2e-7 })
    stream.setpoints(1, { ...FRESH, alt: 10 })
    const none = { x: 0, y: 0, z: 0, afx: 0, afy: 0, afz: 0, yaw: 0, yawRate: 0, timeBootMs: 0 }
    const target = { targetSystem: 1, targetComponent: 1, coordinateFrame: 1, typeMask: 0x0dc7 }
    stream.send(message(common.SetPositionTargetLocalNed, { ...none, ...target, vx: 1, vy: 0, vz: 0 }))
    expect(stream.witness).toMatchObject({ setpoints: 9, stale: 3 })
  })

  it('different from the first frame of its lease', async () => {
    const stream = await recovered()
    stream.setpoints(1, FRESH, 0x09f8)
    stream.setpoints(1, { ...FRESH, alt: 8.001 })
    expect(stream.witness.stale).toBe(2)
  })
})

it('G5: mode commands count as intrusions while the autopilot shows a mode that nobody here asked for', () => {
  const stream = new Stream()
  stream.command(22)
  stream.autopilot = { ...stream.autopilot, mode: TAKEOFF }
  stream.command(176, 4, 3)
  expect(stream.witness).toMatchObject({ modeCommands: 2, intrusions: 0 })
  stream.autopilot = { ...stream.autopilot, mode: POSITION }
  stream.command(176, 6)
  stream.command(400, 1)
  expect(stream.witness).toMatchObject({ modeCommands: 3, intrusions: 1 })
  stream.autopilot = { ...stream.autopilot, armed: false }
  stream.command(176, 4, 3)
  expect(stream.witness).toMatchObject({ modeCommands: 4, intrusions: 1 })
})

it('bytes that are no frame are counted, and hide none', () => {
  const writer = new FrameWriter(1, 191)
  const text = message(common.StatusText, { severity: 4, text: 'hello', id: 0, chunkSeq: 0 })
  const [good, bad] = [writer.write(text), writer.write(text)]
  bad[12] = bad[12]! ^ 1
  const bytes = Buffer.concat([good, bad, Uint8Array.of(1, 2), good])
  const stream = new FrameStream()
  const frames = [...bytes].flatMap((byte) => stream.read(Uint8Array.of(byte)))
  expect(frames).toHaveLength(2)
  expect(stream.unread).toBe(bad.length + 2)
})
