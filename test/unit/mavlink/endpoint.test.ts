// Real sockets on loopback. What is awaited is awaited as an event; no assertion depends on how long it took.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket as TcpSocket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Endpoint, type EndpointListener, openEndpoint } from '../../../companion/mavlink/endpoint.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

async function udp(): Promise<Socket & { at: number }> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  open.push(socket)
  return Object.assign(socket, { at: socket.address().port })
}

async function endpoint(url: string, listener: Partial<EndpointListener> = {}): Promise<Endpoint & { got: string[] }> {
  const got: string[] = []
  const made = await openEndpoint(url, {
    recognises: (datagram) => datagram[0] === 1,
    receive: (bytes) => got.push(Buffer.from(bytes).toString('hex')),
    ...listener,
  })
  open.push(made)
  return Object.assign(made, { got })
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}

const send = (socket: Socket, port: number, ...bytes: number[]): Promise<void> =>
  new Promise((resolve) => socket.send(Uint8Array.from(bytes), port, '127.0.0.1', () => resolve()))

describe('endpoint, udpin', () => {
  it('waits for the autopilot, then knows nobody else', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    const stranger = await udp()
    const autopilot = await udp()
    expect(e.transmit(Uint8Array.of(9))).toBe(false)
    await send(stranger, e.port, 7)
    await send(autopilot, e.port, 1, 1)
    await until(() => e.connected)
    await send(stranger, e.port, 1, 9)
    await send(autopilot, e.port, 2)
    await until(() => e.got.length === 2)
    expect(e.got).toEqual(['0101', '02'])

    const answer = once(autopilot, 'message')
    expect(e.transmit(Uint8Array.of(5, 6))).toBe(true)
    expect(Buffer.from((await answer)[0] as Buffer).toString('hex')).toBe('0506')
  })

  it('G5: a transmit is in the kernel when it returns', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    const autopilot = await udp()
    await send(autopilot, e.port, 1)
    await until(() => e.connected)
    let received = 0
    autopilot.on('message', () => received++)
    // What is not sent in the call would be sent by a later turn, which a closed socket does not have.
    for (let i = 0; i < 20; i++) expect(e.transmit(Uint8Array.of(i))).toBe(true)
    await e.close()
    expect(e.transmit(Uint8Array.of(1))).toBe(false)
    await until(() => received === 20)
  })

  it('lets go of a peer after 3 s of silence and takes the autopilot from another port', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    const before = await udp()
    const after = await udp()
    await send(before, e.port, 1)
    await until(() => e.connected)
    const { port } = e
    e.tick(0)
    e.tick(2999)
    expect(e.connected).toBe(true)
    e.tick(3000)
    expect(e.connected).toBe(false)
    expect(e.transmit(Uint8Array.of(1))).toBe(false)
    await until(() => e.port === port)
    await send(after, port, 1, 2)
    await until(() => e.connected)
    expect(e.got).toEqual(['01', '0102'])
    const answer = once(after, 'message')
    expect(e.transmit(Uint8Array.of(3))).toBe(true)
    await answer
  })

  it('refuses a port that is taken', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    await expect(
      openEndpoint(`udpin://127.0.0.1:${e.port}`, { recognises: () => true, receive: () => {} }),
    ).rejects.toThrow('EADDRINUSE')
  })
})

describe('endpoint, udpout', () => {
  it('speaks first and hears only its peer', async () => {
    const autopilot = await udp()
    const stranger = await udp()
    const e = await endpoint(`udpout://127.0.0.1:${autopilot.at}`)
    expect(e.connected).toBe(true)
    const first = once(autopilot, 'message')
    expect(e.transmit(Uint8Array.of(1))).toBe(true)
    await first
    await send(stranger, e.port, 8)
    await send(autopilot, e.port, 2)
    await until(() => e.got.length === 1)
    expect(e.got).toEqual(['02'])
  })

  it('survives a peer that is not there', async () => {
    const gone = await udp()
    const e = await endpoint(`udpout://127.0.0.1:${gone.at}`)
    gone.close()
    open.splice(open.indexOf(gone), 1)
    for (let i = 0; i < 5; i++) {
      e.transmit(Uint8Array.of(1))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(e.connected).toBe(true)
  })
})

describe('endpoint, tcpout', () => {
  it('connects, sends in the call, drops a full link and connects again', async () => {
    const peers: TcpSocket[] = []
    const server = createServer((socket) => {
      socket.on('error', () => {})
      peers.push(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    open.push({
      close: () => {
        for (const peer of peers) peer.destroy()
        server.close()
      },
    })
    const e = await endpoint(`tcpout://127.0.0.1:${(server.address() as { port: number }).port}`)
    await until(() => e.connected && peers.length === 1)
    expect(e.stream).toBe(true)
    const bytes = once(peers[0]!, 'data')
    expect(e.transmit(Uint8Array.of(1, 2))).toBe(true)
    expect(Buffer.from((await bytes)[0] as Buffer).toString('hex')).toBe('0102')
    peers[0]!.write(Uint8Array.of(3))
    await until(() => e.got.length === 1)

    // G5: nobody reads, so at some point the kernel takes no more: the link is dropped, nothing waits in user space.
    peers[0]!.pause()
    const megabyte = new Uint8Array(1 << 20)
    let sent = 0
    while (e.transmit(megabyte) && sent < 100) sent++
    expect(sent).toBeLessThan(100)
    expect(e.connected).toBe(false)
    e.tick(0)
    e.tick(999)
    expect(e.connected).toBe(false)
    e.tick(1000)
    await until(() => e.connected && peers.length === 2)
  })
})

describe('endpoint, URLs', () => {
  const refused = [
    ['serial:///dev/ttyACM0?baudrate=921600', 'serial ports are not supported yet'],
    ['http://host:1', 'must be udpin://host:port, udpout://host:port or tcpout://host:port'],
    ['udpin', 'must be udpin://host:port'],
    ['udpin://0.0.0.0', 'host and port are missing'],
  ]
  for (const [url, message] of refused) {
    it(`refuses ${url}`, async () => {
      await expect(openEndpoint(url!, { recognises: () => true, receive: () => {} })).rejects.toThrow(message)
    })
  }
})
