import { common, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { Adapter, type Harmless } from '../../../companion/adapter/adapter.ts'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { layout } from '../../../src/autopilot/frame.ts'

function adapter(component = 191) {
  const wire: Uint8Array[] = []
  let open = true
  const made = new Adapter({
    component,
    transmit: (bytes) => {
      if (open) wire.push(Uint8Array.from(bytes))
      return open
    },
  })
  return {
    adapter: made,
    wire,
    shut: () => {
      open = false
    },
    hex: () => wire.map((bytes) => Buffer.from(bytes).toString('hex')),
  }
}

/** A frame of node-mavlink with every field set: its defaults are not to be trusted. */
function reference(message: minimal.Heartbeat, values: Record<string, unknown>, sequence = 0, system = 1): string {
  const fields = (message.constructor as typeof minimal.Heartbeat).FIELDS
  for (const field of fields) Object.assign(message, { [field.name]: field.type.startsWith('char') ? '' : 0 })
  for (const field of fields) if (field.type === 'int64_t') Object.assign(message, { [field.name]: 0n })
  Object.assign(message, values)
  return new MavLinkProtocolV2(system, 191).serialize(message, sequence).toString('hex')
}

describe('adapter, first door', () => {
  it('G2: wraps a payload as the C library does', () => {
    const { adapter: a, hex } = adapter()
    a.address(1, 1)
    const payload = new Uint8Array(53)
    const view = new DataView(payload.buffer)
    view.setUint32(0, 123456, true)
    view.setUint32(4, 0xffc00000, true) // the NaN of C on x64
    view.setFloat32(16, 1.5, true)
    view.setFloat32(20, -2, true)
    view.setFloat32(24, 0.25, true)
    view.setFloat32(44, 0.1, true)
    view.setUint16(48, 0x0dc7, true)
    payload.set([1, 1, 1], 50)
    expect(a.send({ message: 84, payload })).toBe(true)
    expect(a.send({ message: 84, payload: new Uint8Array(53) })).toBe(true)
    expect(hex()).toEqual([
      'fd3500000001bf54000040e201000000c0ff00000000000000000000c03f000000c00000803e00000000000000000000000000000000cdcccc3dc70d010101d00f',
      'fd0100000101bf54000000a660',
    ])
  })

  it('G5: sends nothing before there is a vehicle, and says so where the wire does not take it', () => {
    const { adapter: a, wire, shut } = adapter()
    const frame = { message: 76, payload: new Uint8Array(33) }
    expect(a.send(frame)).toBe(false)
    a.address(7, 1)
    expect(a.send(frame)).toBe(true)
    shut()
    expect(a.send(frame)).toBe(false)
    expect(wire.length).toBe(1)
  })

  it('counts its sequence over both doors and is a component of the vehicle', () => {
    const { adapter: a, wire } = adapter(42)
    a.address(7, 1)
    for (let i = 0; i < 300; i++) {
      if (i % 2 === 0) a.send({ message: 76, payload: new Uint8Array(33) })
      else a.say({ message: 'HEARTBEAT' }, 0)
    }
    const frames = wire.flatMap((bytes) => new Framer().datagram(bytes))
    expect(frames.map((f) => f.sequence)).toEqual(Array.from({ length: 300 }, (_, i) => i % 256))
    expect(new Set(frames.map((f) => `${f.system}/${f.component}`))).toEqual(new Set(['7/42']))
  })

  it('refuses a payload that is not whole', () => {
    const { adapter: a } = adapter()
    a.address(1, 1)
    expect(() => a.send({ message: 76, payload: new Uint8Array(32) })).toThrow(
      'payload of COMMAND_LONG has 32 bytes, not 33',
    )
    expect(() => a.send({ message: 65000, payload: new Uint8Array(1) })).toThrow('message 65000 has no definition')
  })
})

describe('adapter, second door', () => {
  it('says what node-mavlink would write', () => {
    const { adapter: a, hex } = adapter()
    a.address(1, 1)
    const messages: Harmless[] = [
      { message: 'HEARTBEAT' },
      { message: 'STATUSTEXT', severity: 4, text: 'halo: land' },
      { message: 'PARAM_REQUEST_READ', parameter: 'COM_OF_LOSS_T' },
      { message: 'SET_MESSAGE_INTERVAL', id: 33, interval_us: 50_000 },
      { message: 'REQUEST_MESSAGE', id: 148 },
      { message: 'TIMESYNC', tc1_ns: 5n, ts1_ns: 2n ** 60n + 1n },
    ]
    for (const message of messages) expect(a.say(message, 0)).toBe(true)
    const target = { targetSystem: 1, targetComponent: 1 }
    const command = (values: object): common.CommandLong => Object.assign(new common.CommandLong(), values)
    expect(hex()).toEqual([
      reference(new minimal.Heartbeat(), { type: 18, autopilot: 8, systemStatus: 4, mavlinkVersion: 3 }, 0),
      reference(new common.StatusText() as never, { severity: 4, text: 'halo: land' }, 1),
      reference(new common.ParamRequestRead() as never, { ...target, paramId: 'COM_OF_LOSS_T', paramIndex: -1 }, 2),
      reference(command({}) as never, { ...target, _param1: 33, _param2: 50_000, command: 511 }, 3),
      reference(command({}) as never, { ...target, _param1: 148, command: 512 }, 4),
      reference(new common.TimeSync() as never, { ...target, tc1: 5n, ts1: 2n ** 60n + 1n }, 5),
    ])
  })

  it('keeps a STATUSTEXT to 50 bytes of whole characters and to five a second', () => {
    const { adapter: a, wire } = adapter()
    a.address(1, 1)
    for (let i = 0; i < 12; i++) a.say({ message: 'STATUSTEXT', severity: 6, text: 'ä'.repeat(40) }, i)
    expect(wire.length).toBe(5)
    expect(a.say({ message: 'STATUSTEXT', severity: 6, text: 'x' }, 999)).toBe(false)
    expect(a.say({ message: 'STATUSTEXT', severity: 6, text: 'x' }, 1000)).toBe(true)
    const text = new Framer().datagram(wire[0]!)[0]!.payload.subarray(1, 51)
    expect(new TextDecoder().decode(text)).toBe('ä'.repeat(25))
  })

  it('asks for the mode by the message that carries it, once there is a vehicle', () => {
    const wire: Uint8Array[] = []
    const a = new Adapter({ modeMessage: 436, transmit: (bytes) => wire.push(bytes) > 0 })
    a.ask('mode')
    expect(wire).toEqual([])
    a.address(1, 1)
    a.ask('mode')
    const asked = { targetSystem: 1, targetComponent: 1, _param1: 436, command: 512 }
    expect(Buffer.from(wire[0]!).toString('hex')).toBe(reference(new common.CommandLong() as never, asked))
  })

  it('only beats its heart before there is a vehicle', () => {
    const { adapter: a } = adapter()
    expect(a.say({ message: 'REQUEST_MESSAGE', id: 0 }, 0)).toBe(false)
    expect(a.say({ message: 'HEARTBEAT' }, 0)).toBe(true)
  })

  it('never has the shape of a command that moves', () => {
    const { adapter: a, wire } = adapter()
    a.address(1, 1)
    const command = layout('COMMAND_LONG').fields.command!.offset
    a.say({ message: 'SET_MESSAGE_INTERVAL', id: 400, interval_us: 1 }, 0)
    a.say({ message: 'REQUEST_MESSAGE', id: 400 }, 0)
    const ids = wire
      .flatMap((b) => new Framer().datagram(b))
      .map((f) => new DataView(f.payload.buffer).getUint16(command, true))
    expect(ids).toEqual([511, 512])
  })
})
