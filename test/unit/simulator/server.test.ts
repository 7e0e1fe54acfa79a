// Real sockets and a real clock, because that is what this file adds to the vehicle; nothing here depends on how long it takes.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket as TcpSocket } from 'node:net'
import { common } from 'node-mavlink'
import { afterEach, describe, expect, it } from 'vitest'
import { message } from '../../../simulator/frame.ts'
import { type SimulatedVehicleServer, startSimulatedVehicle } from '../../../simulator/server.ts'
import { Flight, position } from './flight.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

async function companion(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  open.push(socket)
  return socket
}

async function vehicleFor(socket: Socket): Promise<SimulatedVehicleServer> {
  const server = await startSimulatedVehicle({
    listen: '127.0.0.1:0',
    send: `127.0.0.1:${socket.address().port}`,
    speed: 20,
  })
  open.push(server)
  return server
}

describe('simulated vehicle: server', () => {
  it('sends unprompted, and to whoever spoke first from then on', async () => {
    const configured = await companion()
    const server = await vehicleFor(configured)
    const [datagram, sender] = (await once(configured, 'message')) as [Buffer, { port: number }]
    expect(datagram[0]).toBe(0xfd)
    expect(sender.port).toBe(server.port)

    const first = await companion()
    const second = await companion()
    first.send(new Flight().bytes(position(1, 1, 8)), server.port, '127.0.0.1')
    await once(first, 'message')
    second.on('message', () => expect.unreachable('the reply port moved'))
    second.send(new Flight().bytes(position(2, 2, 8)), server.port, '127.0.0.1')
    while (server.vehicle.observations.setpoints.length < 2) await once(first, 'message')
    await once(first, 'message')
  })

  it('takes fault lines and says what is wrong with one', async () => {
    const server = await vehicleFor(await companion())
    server.fault('pilot ALTITUDE')
    expect(server.vehicle.observations.intended).toBe('ALTITUDE')
    expect(() => server.fault('nonsense')).toThrow('unknown fault "nonsense"')
  })

  it('refuses an address or a speed that is none', async () => {
    await expect(startSimulatedVehicle({ listen: 'tcp://5760' })).rejects.toThrow('"5760" is no host:port')
    await expect(startSimulatedVehicle({ listen: '14580' })).rejects.toThrow('"14580" is no host:port')
    await expect(startSimulatedVehicle({ speed: 0 })).rejects.toThrow('speed must be above 0 and at most 1000, got 0')
  })
})

describe('simulated vehicle: TCP', () => {
  async function client(port: number): Promise<TcpSocket> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    open.push({ close: () => socket.destroy() })
    return socket
  }

  it('is one stream for one client, cut anywhere; intervals outlive a reconnect and end with a reboot', async () => {
    const server = await startSimulatedVehicle({
      autopilot: 'ardupilot',
      listen: 'tcp://127.0.0.1:0',
      speed: 20,
      readyAfter_ms: 500,
      rebootAfter_ms: 500,
    })
    open.push(server)
    const first = await client(server.port)
    const [said] = (await once(first, 'data')) as [Buffer]
    expect(said[0]).toBe(0xfd)

    const flight = new Flight()
    const ask = flight.bytes(interval(common.Attitude.MSG_ID, 50_000))
    const target = flight.bytes(position(1, 1, 8))
    first.write(Buffer.concat([Buffer.of(1, 2, 3), ask, target.subarray(0, 20)]))
    while (server.vehicle.observations.commands.length === 0) await once(first, 'data')
    expect(server.vehicle.observations.setpoints).toEqual([])
    first.write(target.subarray(20))
    while (server.vehicle.observations.setpoints.length === 0) await once(first, 'data')

    const replaced = once(first, 'close')
    const second = await client(server.port)
    await replaced
    while (!ids(((await once(second, 'data')) as [Buffer])[0]).includes(common.Attitude.MSG_ID));
    const lost = once(second, 'close')
    server.fault('reboot')
    await lost
  })

  it('an ArduPilot that reboots is on another UDP port, and sends where it was told to', async () => {
    const socket = await companion()
    const server = await startSimulatedVehicle({
      autopilot: 'ardupilot',
      listen: '127.0.0.1:0',
      send: `127.0.0.1:${socket.address().port}`,
      speed: 20,
      readyAfter_ms: 500,
      rebootAfter_ms: 500,
    })
    open.push(server)
    const source = async (): Promise<number> => ((await once(socket, 'message')) as [Buffer, { port: number }])[1].port
    const before = await source()
    expect(before).toBe(server.port)
    server.fault('reboot')
    let now = before
    while (now === before) now = await source()
    expect(server.port).toBe(now)
  })
})

/** Of the frames that a piece of the stream holds. */
function ids(bytes: Buffer): number[] {
  const found: number[] = []
  for (let at = 0; at + 10 <= bytes.length && bytes[at] === 0xfd; at += 12 + bytes[at + 1]!) found.push(bytes[at + 7]!)
  return found
}

function interval(id: number, interval_us: number) {
  return message(common.CommandLong, {
    targetSystem: 1,
    targetComponent: 1,
    command: common.MavCmd.SET_MESSAGE_INTERVAL,
    confirmation: 0,
    _param1: id,
    _param2: interval_us,
    _param3: 0,
    _param4: 0,
    _param5: 0,
    _param6: 0,
    _param7: 0,
  })
}
