// A broker that freezes: it greets both connections of a companion, takes their subscriptions, and from then on neither reads,
// nor answers, nor closes.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import mqttPacket from 'mqtt-packet'

const CONNECTIONS = 2

export async function startFreezing(): Promise<{ readonly port: number; close(): void }> {
  const sockets: Socket[] = []
  let subscribed = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const parser = mqttPacket.parser()
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect')
        socket.write(mqttPacket.generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }))
      if (packet.cmd !== 'subscribe') return
      const granted = packet.subscriptions.map(({ qos }) => qos)
      socket.write(mqttPacket.generate({ cmd: 'suback', messageId: packet.messageId!, granted }))
      if (++subscribed === CONNECTIONS) for (const each of sockets) each.pause()
    })
    socket.on('data', (bytes) => parser.parse(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
