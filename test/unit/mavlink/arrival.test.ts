// G5 on real sockets: whatever lies in the kernel, and however long the loop stands still, nothing is dated later than it came
// in. The kernel's queues and the loop's way of reading them are the point, so the time is real; none of it is asserted.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { Clock } from '../../../companion/machine/clock.ts'
import { type Endpoint, openEndpoint } from '../../../companion/mavlink/endpoint.ts'
import { hasPtys } from './pty.ts'
import { PIECE_BYTES, Sender } from './sender.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close()
})

const turn = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const stand = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

class Trial {
  readonly sender: Sender
  readonly clock = new Clock()
  readonly #origin_ms: number
  readonly #stream: boolean
  /** The first piece of each that was handed on. */
  readonly #got: { piece: number; received_ms: number }[] = []
  #bytes = 0
  #endpoint: Endpoint | undefined

  private constructor(sender: Sender, stream: boolean) {
    this.sender = sender
    this.#stream = stream
    // The other clock first: whatever comes in between makes a date earlier, and the closest is taken.
    const origins = Array.from({ length: 100 }, () => Number(process.hrtime.bigint()) / 1e6 - this.clock.now())
    this.#origin_ms = Math.max(...origins)
  }

  static async open(kind: 'udpin' | 'udpout' | 'tcpout' | 'serial'): Promise<Trial> {
    const sender = new Sender(kind === 'serial' ? 'pty' : kind === 'tcpout' ? 'tcp' : 'udp')
    open.push(sender)
    const at = await sender.line()
    const trial = new Trial(sender, kind === 'serial' || kind === 'tcpout')
    const url = kind === 'serial' ? `serial://${at}?baud=921600` : `${kind}://127.0.0.1:${kind === 'udpin' ? 0 : at}`
    const endpoint = await openEndpoint(
      url,
      { recognises: () => 'fresh' as const, receive: (...args) => trial.#take(...args), lost: () => {} },
      trial.clock,
    )
    trial.#endpoint = endpoint
    const timer = setInterval(() => endpoint.tick(trial.clock.now()), 10)
    open.push({ close: () => clearInterval(timer) }, endpoint)
    if (kind !== 'tcpout') sender.say(String(endpoint.port))
    expect(await sender.line()).toBe('ready')
    sender.send(1, 0)
    await trial.#until(() => trial.#got.length > 0 && endpoint.connected)
    return trial
  }

  #take(bytes: Uint8Array, received_ms: number): boolean {
    const piece = this.#stream ? Math.floor(this.#bytes / PIECE_BYTES) : Buffer.from(bytes).readUInt32LE()
    this.#bytes += bytes.length
    this.#got.push({ piece, received_ms })
    return true
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await turn()
  }

  /** Pieces come in during the stall; afterwards a few more, until one is dated behind it. */
  async stall(stand_ms: number, pieces: number, over_ms: number, within?: 'poll'): Promise<void> {
    // In front of it all is quiet, or a datagram was just read: both happen.
    this.sender.send(3, 3)
    if (within === 'poll') await this.#standInPoll(stand_ms, pieces, over_ms)
    else {
      this.sender.send(pieces, over_ms)
      stand(stand_ms)
    }
    const ended_ms = this.clock.now()
    while ((this.#got.at(-1)?.received_ms ?? 0) < ended_ms) {
      this.sender.send(1, 0)
      await turn(5)
    }
    await this.sender.settled()
    const times = this.sender.times
    for (const { piece, received_ms } of this.#got) {
      const came_ms = times[piece]
      if (came_ms == null || received_ms + this.#origin_ms <= came_ms) continue
      const late_ms = received_ms + this.#origin_ms - came_ms
      expect.fail(`piece ${piece} is dated ${late_ms.toFixed(2)} ms later than it came (${stand_ms} ms, ${pieces})`)
    }
    expect(this.#endpoint!.connected).toBe(true)
    this.#got.length = 0
  }

  /** In the callback of another socket, while the loop is between polling and reading. */
  async #standInPoll(stand_ms: number, pieces: number, over_ms: number): Promise<void> {
    const other = createSocket('udp4').bind(0, '127.0.0.1')
    await once(other, 'listening')
    await new Promise<void>((resolve) => {
      other.on('message', () => {
        this.sender.send(pieces, over_ms)
        stand(stand_ms)
        other.close(resolve)
      })
      other.send('now', other.address().port, '127.0.0.1')
    })
  }
}

describe('arrival', () => {
  it.each(['udpin', 'udpout'] as const)(
    'G5: no datagram of %s is younger than it is',
    async (kind) => {
      const trial = await Trial.open(kind)
      for (const pieces of [1, 31, 32, 33, 64]) await trial.stall(60, pieces, 0)
      for (const pieces of [5, 40, 150]) await trial.stall(200, pieces, 180, 'poll')
      await trial.stall(200, 96, 250)
      await trial.stall(500, 200, 0)
      // More than the queue holds: the newest are lost.
      await trial.stall(kind === 'udpin' ? 4_900 : 1000, 2000, 800)
    },
    60_000,
  )

  it('G5: no byte of a TCP stream is younger than it is, those behind a closed window included', async () => {
    const trial = await Trial.open('tcpout')
    for (const pieces of [1, 100]) await trial.stall(60, pieces, 0)
    await trial.stall(200, 40, 180, 'poll')
    await trial.stall(300, 2000, 250)
    await trial.stall(1500, 1_000_000, 0)
  }, 60_000)

  it.skipIf(!hasPtys())(
    'G5: no byte of a terminal is younger than it is, those behind its line included',
    async () => {
      const trial = await Trial.open('serial')
      for (const pieces of [1, 30, 63, 64, 65]) await trial.stall(60, pieces, 0)
      await trial.stall(200, 40, 180, 'poll')
      await trial.stall(300, 100, 250)
      // As many as the kernel holds.
      for (let round = 0; round < 5; round++) await trial.stall(300, 1000, 0)
    },
    60_000,
  )
})
