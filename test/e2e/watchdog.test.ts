// What a service manager hears (sd_notify), on a real unix datagram socket. Node has none, so python3 listens.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Watchdog } from '../../companion/machine/watchdog.ts'
import { Halo, isInstalled, PROJECT, skipWithout, until } from './flight-line.ts'

const skipped = [
  skipWithout('python3', isInstalled('python3', '--version')),
  skipWithout('systemd-notify', isInstalled('systemd-notify', '--version')),
].includes(true)

const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    print(s.recv(4096).decode(), flush=True)
`
const TIMEOUT_US = 300_000

let folder: string
const open: (() => unknown)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-watchdog-'))
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

/** A manager that listens: what it has heard, and what it tells a service that it starts. */
async function manager(name: string) {
  const socket = join(folder, name)
  const child = spawn('python3', ['-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  open.push(async () => {
    child.kill()
    await once(child, 'close')
  })
  const heard: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(line))
  await until('the listener', () => heard.shift())
  const feeds = () => heard.filter((line) => line === 'WATCHDOG=1').length
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: String(TIMEOUT_US) }
  return { heard, feeds, env }
}

/** A loop that turns until the end of the test. */
function turn(watchdog: Watchdog): void {
  const turning = setInterval(() => watchdog.alive(performance.now()), 50)
  open.push(() => clearInterval(turning))
}

describe.skipIf(skipped)('the watchdog', () => {
  it('G5: is fed while the loop of the companion turns, and not while it is stuck', async () => {
    const { heard, feeds, env } = await manager('companion')
    const other = await manager('other')
    const config = join(folder, 'halo.yaml')
    const text = `vehicle: uav1\ncatalog: ${PROJECT}/examples/px4-multirotor/catalog.yaml\nmavlink: { endpoint: "udpin://127.0.0.1:0" }\nmqtt: { embedded: "127.0.0.1:0" }\n`
    writeFileSync(config, text)
    const halo = new Halo(['run', '--config', config], { env })
    open.push(() => halo.kill('SIGKILL'))
    await until('three feeds', () => feeds() >= 3)
    expect(heard[0]).toBe('READY=1')
    expect(heard.filter((line) => line === 'READY=1').length).toBe(1)

    // A loop that is stuck: the kernel gives it no turn, while the shell beside it runs on.
    halo.signal('SIGSTOP')
    const watchdog = Watchdog.of({ ...process.env, ...other.env }, () => {})!
    open.push(() => watchdog.close())
    turn(watchdog)
    await until('what was under way', () => other.feeds() >= 3)
    const before = feeds()
    await until('a manager who would have lost patience', () => other.feeds() >= 12)
    expect(feeds()).toBe(before)

    halo.signal('SIGCONT')
    await until('the next feed', () => feeds() > before)
    halo.signal('SIGTERM')
    expect(await halo.ended).toBe(0)
    await until('the last word', () => heard.includes('STOPPING=1'))
  }, 120_000)

  it('starts another shell where the first was killed', async () => {
    const { feeds, env } = await manager('manager')
    const lost: string[] = []
    const watchdog = Watchdog.of({ ...process.env, ...env, PATH: `${folder}:${process.env.PATH}` }, (message) =>
      lost.push(message),
    )!
    open.push(() => watchdog.close())
    // The first call of `systemd-notify` ends the shell that makes it.
    writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\nrm "$0"\nkill -KILL $PPID\n`, { mode: 0o755 })
    turn(watchdog)
    await until('feeds', () => feeds() >= 2)
    expect(lost).toEqual([expect.stringMatching(/^the shell that feeds the watchdog ended: /)])
  })

  it('says nothing of life to a manager whose watchdog is another process’s', async () => {
    const { heard, env } = await manager('manager')
    const watchdog = Watchdog.of({ ...process.env, ...env, WATCHDOG_PID: '1' }, () => {})!
    open.push(() => watchdog.close())
    for (const now_ms of [0, 1_000, 2_000]) watchdog.alive(now_ms)
    watchdog.stopping()
    await until('the last word', () => heard.includes('STOPPING=1'))
    expect(heard.filter((line) => line !== 'BARRIER=1')).toEqual(['READY=1', 'STOPPING=1'])
  })
})

it('does nothing where no manager listens', () => {
  expect(Watchdog.of({}, () => {})).toBeUndefined()
  expect(Watchdog.of({ NOTIFY_SOCKET: '' }, () => {})).toBeUndefined()
})
