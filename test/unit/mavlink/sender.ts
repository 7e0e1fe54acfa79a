// A child process that sends numbered pieces while this one stands still, and says at which time each was in the kernel.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

export const PIECE_BYTES = 64

/** Reads `<pieces> <over_ms>`, sends so many over that time or until nobody takes more, answers with the times after each. */
const LOOP = `
const pieceOf = (n) => { const piece = Buffer.alloc(${PIECE_BYTES}); piece.writeUInt32LE(n); return piece }
const now_ms = () => Number(process.hrtime.bigint()) / 1e6
const rest = new Int32Array(new SharedArrayBuffer(4))
let n = 0
const serve = (send) => require('readline').createInterface(process.stdin).on('line', (line) => {
  const [pieces, over_ms] = line.split(' ').map(Number)
  const times = []
  for (let i = 0; i < pieces; i++) {
    const taken = send(pieceOf(n))
    n++
    times.push(taken ? now_ms() : null)
    if (!taken) break
    if (over_ms > 0) Atomics.wait(rest, 0, 0, over_ms / pieces)
  }
  console.log(JSON.stringify(times))
})
`
const UDP = `
const socket = require('dgram').createSocket('udp4')
socket.on('error', () => {})
socket.bind(0, '127.0.0.1', () => console.log(socket.address().port))
require('readline').createInterface(process.stdin).once('line', (port) => {
  socket.connect(Number(port), '127.0.0.1', () => { serve((piece) => (socket.send(piece), true)); console.log('ready') })
})
${LOOP}`
const TCP = `
const server = require('net').createServer({ noDelay: true }, (socket) => {
  serve((piece) => { socket.write(piece); return socket.writableLength === 0 })
  console.log('ready')
}).listen(0, '127.0.0.1', () => console.log(server.address().port))
${LOOP}`
const PTY = `
import json, os, pty, struct, sys, time, tty
master, slave = pty.openpty()
tty.setraw(slave)
os.set_blocking(master, False)
print(os.ttyname(slave), flush=True)
sys.stdin.readline()
print('ready', flush=True)
n = 0
for line in iter(sys.stdin.readline, ''):
    pieces, over_ms = line.split()
    times = []
    for _ in range(int(pieces)):
        try: taken = os.write(master, struct.pack('<I', n).ljust(${PIECE_BYTES}, b'.')) == ${PIECE_BYTES}
        except BlockingIOError: break
        n += 1
        times.append(time.clock_gettime(time.CLOCK_MONOTONIC) * 1000 if taken else None)
        if not taken: break
        if float(over_ms) > 0: time.sleep(float(over_ms) / 1000 / int(pieces))
    print(json.dumps(times), flush=True)
`

export type Transport = 'udp' | 'tcp' | 'pty'

export class Sender {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterableIterator<string>
  #asked = 0
  #answered = 0
  /** When piece n was in the kernel, ms of CLOCK_MONOTONIC; null where that is not known. */
  readonly times: (number | null)[] = []

  constructor(transport: Transport) {
    this.#child = spawn(
      transport === 'pty' ? 'python3' : process.execPath,
      transport === 'pty' ? ['-c', PTY] : ['-e', transport === 'udp' ? UDP : TCP],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  /** Its port, the device's name, then `ready`. */
  async line(): Promise<string> {
    return (await this.#lines.next()).value as string
  }

  say(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** It is on its way to do so when this returns. */
  send(pieces: number, over_ms: number): void {
    this.#asked++
    this.say(`${pieces} ${over_ms}`)
  }

  /** All that was asked for has been sent, and `times` are complete. */
  async settled(): Promise<void> {
    for (; this.#answered < this.#asked; this.#answered++) this.times.push(...JSON.parse(await this.line()))
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await once(this.#child, 'close')
  }
}
