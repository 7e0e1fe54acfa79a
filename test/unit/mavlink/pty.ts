// A serial device for the tests: a pseudo-terminal whose other end is a child process, which python3 can open and Node cannot.

import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** Says its device's name in the first line, then copies between its own ends and the terminal's. */
const RELAY = `
import os, pty, select, sys, tty
master, slave = pty.openpty()
tty.setraw(slave)
os.write(1, (os.ttyname(slave) + '\\n').encode())
while True:
    for fd in select.select([0, master], [], [])[0]:
        bytes = os.read(fd, 4096)
        if not bytes: sys.exit()
        os.write(master if fd == 0 else 1, bytes)
`

/** Whether there is a python3 with ptys; where not, says so once. */
export function hasPtys(): boolean {
  const present = spawnSync('python3', ['-c', 'import pty; pty.openpty()'], { stdio: 'ignore' }).status === 0
  if (!present) process.stderr.write('skipped: no python3 with pseudo-terminals on this machine\n')
  return present
}

export class Device {
  /** Of the device; as a USB adapter it is the same when it is plugged in again. */
  readonly path: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'halo-pty-'))
  #relay: ChildProcessByStdio<Writable, Readable, null> | undefined
  /** All that has come out at the other end. */
  received = Buffer.alloc(0)
  heard = (_bytes: Buffer): void => {}

  constructor() {
    this.path = join(this.#folder, 'ttyUSB0')
  }

  async plug(): Promise<void> {
    const relay = spawn('python3', ['-c', RELAY], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#relay = relay
    relay.stdin.on('error', () => {})
    const [first] = (await once(relay.stdout, 'data')) as [Buffer]
    symlinkSync(first.toString().trim(), this.path)
    relay.stdout.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes])
      this.heard(bytes)
    })
  }

  async unplug(): Promise<void> {
    const relay = this.#relay
    this.#relay = undefined
    if (relay === undefined) return
    rmSync(this.path)
    relay.kill('SIGKILL')
    await once(relay, 'exit')
  }

  /** What the autopilot says; nobody hears it while nothing is plugged in. */
  send(bytes: Uint8Array): void {
    this.#relay?.stdin.write(bytes)
  }

  /** Nobody takes bytes any more until `resume`. */
  pause(): void {
    this.#relay!.kill('SIGSTOP')
  }

  resume(): void {
    this.#relay!.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.unplug()
    rmSync(this.#folder, { recursive: true })
  }
}
