// An embedded broker for the demo, for tests and for a vehicle without another: aedes, MQTT 3.1.1, all in memory.
//
// It has no access list, so it belongs on the loopback address; an agent from outside needs a broker that has one
// (PROTOCOL 1 trusts it).

import { createServer, type Socket } from 'node:net'
import { Aedes } from 'aedes'

export interface Broker {
  /** The port that it listens on, also where 0 was asked for. */
  readonly port: number
  /** Drops every client without a word and frees the port. */
  close(): Promise<void>
}

/** Listens on `host:port` (an IPv6 host in brackets). Rejects where the address is no address or cannot be had. */
export async function startBroker(address: string): Promise<Broker> {
  const at = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(address)
  if (at === null || Number(at[3]) > 65535)
    throw new RangeError(`broker address ${JSON.stringify(address)}: must be host:port`)
  const host = at[1] ?? at[2]!
  const aedes = await Aedes.createBroker()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    // A response must not wait until the companion's kernel acknowledges what came before it: that takes up to 40 ms.
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    aedes.handle(socket)
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(Number(at[3]), host, resolve)
    })
  } catch (error) {
    aedes.close()
    throw error
  }
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error(`broker address ${address}: not bound to a port`)
  return {
    port: bound.port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
      await closed
    },
  }
}
