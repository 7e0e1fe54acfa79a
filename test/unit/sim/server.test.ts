// Real sockets and a real clock, because that is what this file adds to the vehicle; nothing here depends on how long it takes.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { type SimulatedVehicleServer, startSimulatedVehicle } from '../../../companion/sim/server.ts'
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
    await expect(startSimulatedVehicle({ listen: '14580' })).rejects.toThrow('"14580" is no host:port')
    await expect(startSimulatedVehicle({ speed: 0 })).rejects.toThrow('speed must be above 0 and at most 1000, got 0')
  })
})
