// Real sockets on loopback. What is awaited is awaited as an event; no assertion depends on how long it took.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { createServer, type Socket as TcpSocket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Clock } from '../../../companion/machine/clock.ts'
import { isExposed, parseAddress } from '../../../companion/mavlink/address.ts'
import { type Endpoint, type EndpointListener, openEndpoint } from '../../../companion/mavlink/endpoint.ts'
import { Device, hasPtys } from './pty.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

async function udp(port = 0): Promise<Socket & { at: number }> {
  const socket = createSocket('udp4')
  socket.bind(port, '127.0.0.1')
  await once(socket, 'listening')
  open.push(socket)
  return Object.assign(socket, { at: socket.address().port })
}

interface Opened {
  /** What was received, in hex. */
  readonly got: string[]
  readonly lost: string[]
}

async function endpoint(url: string, random = () => 1): Promise<Endpoint & Opened> {
  const got: string[] = []
  const lost: string[] = []
  const listener: EndpointListener = {
    recognises: (datagram) => (datagram[0] === 1 ? 'fresh' : datagram[0] === 2 ? 'stale' : undefined),
    receive: (bytes) => got.push(Buffer.from(bytes).toString('hex')) > 0,
    lost: (reason) => lost.push(reason),
  }
  const made = await openEndpoint(url, listener, new Clock(), random)
  open.push(made)
  return Object.assign(made, { got, lost })
}

/** Sends a frame of its own kind until one is not taken; gives the bytes of those that were. */
function fill(e: Endpoint, frame_bytes: number): Buffer {
  const taken: Buffer[] = []
  for (let i = 0; i < 100_000; i++) {
    const frame = Buffer.alloc(frame_bytes, 0xaa)
    frame.writeUInt32BE(i)
    if (!e.transmit(frame)) return Buffer.concat([...taken, frame])
    taken.push(frame)
  }
  throw new Error('it takes everything')
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Ticks, on a clock of its own, until there is a link again. */
async function reconnected(e: Endpoint): Promise<void> {
  let now_ms = 10_000
  await until(() => {
    now_ms += 50
    if (!e.connected) e.tick(now_ms)
    return e.connected
  })
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

  it('G5: what was not sent to a lost peer does not go to the next one', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    const before = await udp()
    await send(before, e.port, 1)
    await until(() => e.connected)
    const { port } = e
    before.close()
    open.splice(open.indexOf(before), 1)
    e.transmit(Uint8Array.of(0xb0))
    e.tick(0)
    e.tick(3000)
    for (let i = 0; i < 10; i++) expect(e.transmit(Uint8Array.of(0xb1))).toBe(false)
    await until(() => e.port === port)
    // The autopilot comes back to the very port that it had.
    const after = await udp(before.at)
    const received: number[] = []
    after.on('message', (datagram) => received.push(datagram[0]!))
    expect(e.transmit(Uint8Array.of(0xb2))).toBe(false)
    await send(after, port, 1)
    await until(() => e.connected)
    expect(e.transmit(Uint8Array.of(0xa0))).toBe(true)
    await until(() => received.length > 0)
    expect(received).toEqual([0xa0])
  })

  it('lets go of a peer that says nothing good, however much it says', async () => {
    const good = [true, false, false]
    const listener = { recognises: () => 'fresh' as const, receive: () => good.shift()!, lost: () => {} }
    const e = await openEndpoint('udpin://127.0.0.1:0', listener, new Clock())
    open.push(e)
    const peer = await udp()
    await send(peer, e.port, 1)
    await until(() => e.connected)
    e.tick(0)
    for (const now of [1000, 2000]) {
      await send(peer, e.port, 1)
      await until(() => good.length === (now === 1000 ? 1 : 0))
      e.tick(now)
    }
    expect(e.connected).toBe(true)
    e.tick(3000)
    expect(e.connected).toBe(false)
  })

  it('refuses a port that is taken', async () => {
    const e = await endpoint('udpin://127.0.0.1:0')
    await expect(endpoint(`udpin://127.0.0.1:${e.port}`)).rejects.toThrow('EADDRINUSE')
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

  it('G5: survives a peer that is not there; what it missed does not come when it is back', async () => {
    const gone = await udp()
    const e = await endpoint(`udpout://127.0.0.1:${gone.at}`)
    const { port } = e
    gone.close()
    open.splice(open.indexOf(gone), 1)
    for (let i = 0; i < 5; i++) {
      e.transmit(Uint8Array.of(0xb0))
      e.tick(i * 1000)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(e.connected).toBe(true)
    const back = await udp(gone.at)
    const received: number[] = []
    back.on('message', (datagram, sender) => received.push(datagram[0]!, sender.port))
    expect(e.transmit(Uint8Array.of(0xa0))).toBe(true)
    await until(() => received.length > 0)
    // From the same port: PX4 answers for ever to the one that it heard first.
    expect(received).toEqual([0xa0, port])
  })
})

async function tcp(port = 0) {
  const peers: TcpSocket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    peers.push(socket)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    for (const peer of peers) peer.destroy()
    server.close()
    await once(server, 'close')
  }
  return { peers, at: (server.address() as { port: number }).port, close }
}

describe('endpoint, tcpout', () => {
  it('G5: connects, sends in the call, and drops a full link with all that the kernel still holds', async () => {
    const { peers, at, close } = await tcp()
    open.push({ close })
    const e = await endpoint(`tcpout://127.0.0.1:${at}`)
    await until(() => e.connected && peers.length === 1)
    const old = peers[0]!
    expect(e.stream).toBe(true)
    const bytes = once(old, 'data')
    expect(e.transmit(Uint8Array.of(1, 2))).toBe(true)
    expect(Buffer.from((await bytes)[0] as Buffer).toString('hex')).toBe('0102')
    old.write(Uint8Array.of(3))
    await until(() => e.got.length === 1)

    // Nobody reads, so at some point the kernel takes no more, and holds megabytes.
    old.pause()
    const taken = fill(e, 1 << 16).length
    expect(e.connected).toBe(false)
    expect(e.lost).toEqual(['it takes no more'])
    const ended = new Promise((resolve) => old.once('close', resolve))
    old.resume()
    await ended
    // A read or two may have been under way.
    expect(old.bytesRead).toBeLessThan(taken / 2)

    e.tick(0)
    e.tick(249)
    expect(e.port).toBe(0)
    e.tick(250)
    await until(() => e.connected && peers.length === 2)
    const first = once(peers[1]!, 'data')
    expect(e.transmit(Uint8Array.of(0xa0))).toBe(true)
    expect(Buffer.from((await first)[0] as Buffer).toString('hex')).toBe('a0')
  })

  it('comes again, with jitter, to a server that comes later or goes away; what was not sent stays unsent', async () => {
    const first = await tcp()
    const { at } = first
    await first.close()
    const draws = [0, 1, 0]
    const e = await endpoint(`tcpout://127.0.0.1:${at}`, () => draws.shift()!)
    await until(() => e.lost.length === 1)
    expect(e.lost[0]).toMatch('ECONNREFUSED')
    expect(e.transmit(Uint8Array.of(0xb0))).toBe(false)
    e.tick(0)
    e.tick(124)
    const second = await tcp(at)
    open.push({ close: () => second.close().catch(() => {}) })
    expect(second.peers.length).toBe(0)
    e.tick(125)
    await until(() => e.connected && second.peers.length === 1)
    const received: string[] = []
    second.peers[0]!.on('data', (bytes) => received.push(bytes.toString('hex')))
    expect(e.transmit(Uint8Array.of(0xa0))).toBe(true)
    await until(() => received.length > 0)
    expect(received).toEqual(['a0'])
    // Nothing was heard, so the wait goes on growing.
    second.peers[0]!.destroy()
    await until(() => e.lost.length === 2)
    e.tick(1000)
    e.tick(1499)
    expect(e.port).toBe(0)
    e.tick(1500)
    await until(() => second.peers.length === 2)
  })

  it('lets go of a peer that is silent for 3 s', async () => {
    const { peers, at, close } = await tcp()
    open.push({ close })
    const e = await endpoint(`tcpout://127.0.0.1:${at}`)
    await until(() => e.connected && peers.length === 1)
    e.tick(0)
    peers[0]!.write(Uint8Array.of(3))
    await until(() => e.got.length === 1)
    e.tick(2000)
    e.tick(4999)
    expect(e.connected).toBe(true)
    e.tick(5000)
    expect(e.connected).toBe(false)
    expect(e.lost).toEqual(['nothing was heard for 3 s'])
  })
})

describe.skipIf(!hasPtys())('endpoint, serial', () => {
  async function device(): Promise<Device> {
    const made = new Device()
    open.push(made)
    return made
  }
  const at = ({ path }: Device): string => `serial://${path}?baud=921600`

  it('opens, hears and sends in the call', async () => {
    const d = await device()
    await d.plug()
    const e = await endpoint(at(d))
    expect([e.connected, e.stream, e.port]).toEqual([true, true, 0])
    d.send(Uint8Array.of(3, 4, 0xfd, 0x0a, 0x0d, 0x11, 0x13))
    await until(() => e.got.join('').length === 14)
    expect(e.got.join('')).toBe('0304fd0a0d1113')
    for (const byte of [1, 2, 0x0a, 0x0d, 0x11, 0x13]) expect(e.transmit(Uint8Array.of(byte))).toBe(true)
    await until(() => d.received.length === 6)
    expect(d.received.toString('hex')).toBe('01020a0d1113')
  })

  // The kernel carries bytes from one end of a pty to the other in its own time. Where it has carried all of them before the
  // flush, there is nothing to be thrown away, and the test is made again.
  it('G5: drops a full link: the rest of a frame never follows, nor anything else of before', {
    retry: 4,
  }, async () => {
    const d = await device()
    await d.plug()
    const e = await endpoint(at(d))
    d.pause()
    const before = fill(e, 61)
    expect(e.connected).toBe(false)
    expect(e.lost).toEqual(['it takes no more'])
    expect(e.transmit(Uint8Array.of(0xb0))).toBe(false)
    d.resume()
    await reconnected(e)
    const after = Buffer.from('a0a1a2a3', 'hex')
    expect(e.transmit(after)).toBe(true)
    await until(() => d.received.includes(after))
    const head = d.received.subarray(0, -after.length)
    expect(d.received.subarray(-after.length)).toEqual(after)
    expect(head).toEqual(before.subarray(0, head.length))
    // The kernel held more than the other end had taken.
    expect(head.length).toBeLessThan(before.length - 61)
  })

  it('G5: throws away with the link what the kernel still holds, when nobody opens it again', async () => {
    const d = await device()
    await d.plug()
    const e = await endpoint(at(d))
    d.pause()
    const before = fill(e, 61)
    await e.close()
    d.resume()
    // Somebody else's byte comes out behind what was left.
    const other = openSync(d.path, 'w')
    writeSync(other, Uint8Array.of(0xee))
    closeSync(other)
    await until(() => d.received.includes(0xee))
    expect(d.received.length).toBeLessThan(before.length / 2)
  })

  it('G5: waits for a device that is not there, and after it was pulled out; what was not sent stays unsent', async () => {
    const d = await device()
    const draws = [0, 1, 0, 0]
    const e = await endpoint(at(d), () => draws.shift() ?? 0)
    expect(e.connected).toBe(false)
    expect(e.lost[0]).toMatch(/ttyUSB0 is not there \(No such file or directory\): plug it in/)
    expect(e.transmit(Uint8Array.of(0xb0))).toBe(false)
    await d.plug()
    e.tick(0)
    e.tick(124)
    expect(e.connected).toBe(false)
    e.tick(125)
    await until(() => e.connected)
    d.send(Uint8Array.of(7))
    await until(() => e.got.length === 1)
    expect(e.transmit(Uint8Array.of(1))).toBe(true)
    await until(() => d.received.length === 1)

    await d.unplug()
    await until(() => !e.connected)
    expect(e.lost.at(-1)).toBe('the device is gone')
    expect(e.transmit(Uint8Array.of(0xb1))).toBe(false)
    await d.plug()
    expect(e.transmit(Uint8Array.of(0xb2))).toBe(false)
    await reconnected(e)
    expect(e.transmit(Uint8Array.of(2))).toBe(true)
    await until(() => d.received.length === 2)
    expect(d.received.toString('hex')).toBe('0102')
  })

  it('says that another program has the device', async () => {
    const d = await device()
    await d.plug()
    await endpoint(at(d))
    const second = await endpoint(at(d))
    expect(second.lost[0]).toMatch('another program has it open')
  })

  it('opens a silent device again after 3 s', async () => {
    const d = await device()
    await d.plug()
    const e = await endpoint(at(d))
    e.tick(0)
    e.tick(2999)
    expect(e.connected).toBe(true)
    e.tick(3000)
    expect(e.connected).toBe(false)
    expect(e.lost).toEqual(['nothing was heard for 3 s'])
  })
})

it('says what is missing where the optional package of serial ports is', async () => {
  vi.doMock('@serialport/bindings-cpp', () => {
    throw new Error('Cannot find package')
  })
  try {
    await expect(endpoint('serial:///dev/ttyAMA0?baud=57600')).rejects.toThrow(
      /the optional package @serialport\/bindings-cpp.*npm install/,
    )
  } finally {
    vi.doUnmock('@serialport/bindings-cpp')
  }
})

describe('endpoint, URLs', () => {
  it('reads every form', () => {
    expect(parseAddress('udpin://0.0.0.0:14540')).toEqual({ kind: 'udpin', host: '0.0.0.0', port: 14540 })
    expect(parseAddress('tcpout://autopilot.local:5760')).toEqual({
      kind: 'tcpout',
      host: 'autopilot.local',
      port: 5760,
    })
    expect(parseAddress('serial:///dev/serial/by-id/usb-3D_Robotics-if00?baud=57600')).toEqual({
      kind: 'serial',
      path: '/dev/serial/by-id/usb-3D_Robotics-if00',
      baud: 57600,
    })
  })

  const forms = 'must be udpin://host:port, udpout://host:port or tcpout://host:port'
  const refused: [url: string, message: string][] = [
    ['serial:///dev/ttyACM0?baudrate=921600', forms],
    ['serial:///dev/ttyACM0', '?baud= must be 1 to 12000000'],
    ['serial:///dev/ttyACM0?baud=fast', '?baud= must be 1 to 12000000'],
    ['serial:///dev/ttyACM0?baud=0', '?baud= must be 1 to 12000000'],
    ['serial://dev/ttyACM0?baud=57600', forms],
    ['serial:///?baud=57600', forms],
    ['http://host:1', forms],
    ['udpin', forms],
    ['udpin://0.0.0.0', 'host and port are missing'],
    ['udpin://0.0.0.0:65536', forms],
    ['udpin://[::1]:14540', forms],
    ['udpin://0.0.0.0:14540/x', forms],
    ['udpin://0.0.0.0:14540?x=1', forms],
  ]
  it.each(refused)('refuses %s', async (url, message) => {
    await expect(endpoint(url)).rejects.toThrow(message)
  })

  it('knows which of them others reach', () => {
    const exposed = (url: string): boolean => isExposed(parseAddress(url))
    expect(
      ['udpin://0.0.0.0:1', 'udpin://192.168.1.2:1', 'udpout://10.0.0.1:1', 'udpout://px4:1'].map(exposed),
    ).toEqual([true, true, true, true])
    expect(
      ['udpin://127.0.0.1:1', 'udpin://127.8.0.1:1', 'udpout://localhost:1', 'tcpout://10.0.0.1:1'].map(exposed),
    ).toEqual([false, false, false, false])
    expect(exposed('serial:///dev/ttyAMA0?baud=57600')).toBe(false)
    // Not an address of this machine, whatever it looks like.
    expect(exposed('udpout://127.0.0.1.example.org:1')).toBe(true)
  })
})
