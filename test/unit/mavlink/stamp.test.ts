import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE, Stamps } from '../../../companion/mavlink/stamp.ts'

const NOW_ms = Date.UTC(2025, 5, 1)
const NOW = (NOW_ms - Date.UTC(2015, 0, 1)) * 100

let folder: string
let file: string
let wall_ms: number
const failures: string[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-stamp-'))
  file = join(folder, 'uav1.signing')
  wall_ms = NOW_ms
  failures.length = 0
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (): Promise<Stamps> =>
  Stamps.open({ file, wall: () => wall_ms, failed: ({ message }) => failures.push(message) })
const bound = (): number => JSON.parse(readFileSync(file, 'utf8')).reserved

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}

describe('time stamps', () => {
  it('are the time in steps of 10 µs since 2015, and strictly increase also within a step', async () => {
    const stamps = await open()
    expect(stamps.next()).toBe(NOW + 1)
    expect(stamps.next()).toBe(NOW + 2)
    wall_ms += 1
    expect(stamps.next()).toBe(NOW + 100)
    wall_ms -= 3_600_000
    expect(stamps.next()).toBe(NOW + 101)
  })

  it('G3: never repeat after a kill, whatever the clock does', async () => {
    let last = 0
    for (const back_ms of [0, 1000, -20_000, 3_600_000, NOW_ms, NOW_ms, 0, 1]) {
      wall_ms = NOW_ms - back_ms
      const stamps = await open()
      for (let i = 0; i < 100; i++) {
        const stamp = stamps.next()!
        expect(stamp).toBeGreaterThan(last)
        last = stamp
      }
      // The process ends here, without a word.
    }
  })

  it('reserve a minute ahead, renewed at the half, and not in the call', async () => {
    const stamps = await open()
    expect(bound()).toBe(NOW + MINUTE)
    wall_ms += 29_000
    stamps.tick(0)
    expect(bound()).toBe(NOW + MINUTE)
    wall_ms += 2_000
    stamps.tick(10)
    expect(bound()).toBe(NOW + MINUTE)
    await until(() => bound() === NOW + MINUTE + 3_100_000)
  })

  it('go on step by step while the clock is ahead of what is reserved, and stop before it is used up', async () => {
    const stamps = await open()
    wall_ms += 3_600_000
    expect(stamps.next()).toBe(NOW + 1)
    expect(stamps.next()).toBe(NOW + 2)
    stamps.tick(0)
    await until(() => stamps.next()! > NOW + 360_000_000)

    rmSync(folder, { recursive: true })
    wall_ms += 59_900
    let last = 0
    while (true) {
      const stamp = stamps.next()
      if (stamp === undefined) break
      last = stamp
    }
    expect(last).toBe(NOW + 360_000_000 + MINUTE - 1)
    expect(stamps.next()).toBeUndefined()
  })

  it('survive a disk that fails, and try it again every 5 s', async () => {
    const stamps = await open()
    rmSync(folder, { recursive: true })
    wall_ms += 40_000
    stamps.tick(0)
    await until(() => failures.length === 1)
    expect(failures[0]).toMatch(/uav1\.signing: ENOENT/)
    await turn()
    stamps.tick(4999)
    expect(stamps.next()).toBe(NOW + 4_000_000)
    stamps.tick(5000)
    await until(() => failures.length === 2)
  })

  it('give back at the end what was not used', async () => {
    const stamps = await open()
    stamps.next()
    await stamps.close()
    expect(stamps.next()).toBeUndefined()
    expect(bound()).toBe(NOW + 2)
    expect((await open()).next()).toBe(NOW + 3)
  })

  it('G5: are not to be had without the file and with a clock of 1970, until somebody with the key tells the time', async () => {
    wall_ms = 1000
    const stamps = await open()
    expect(stamps.next()).toBeUndefined()
    stamps.tick(0)
    await turn()
    expect(stamps.next()).toBeUndefined()
    stamps.adopt(NOW)
    expect(stamps.next()).toBeUndefined()
    stamps.tick(10)
    await until(() => stamps.next() !== undefined)
    expect(stamps.next()).toBeGreaterThan(NOW)
    expect(bound()).toBe(NOW + MINUTE)
  })

  it('or until the clock is set', async () => {
    wall_ms = 1000
    const stamps = await open()
    wall_ms = NOW_ms
    expect(stamps.next()).toBeUndefined()
    stamps.tick(0)
    await until(() => stamps.next() !== undefined)
    expect(stamps.next()).toBeGreaterThan(NOW)
  })

  it('follow a peer whose clock is ahead', async () => {
    const stamps = await open()
    stamps.adopt(NOW + 1000)
    expect(stamps.next()).toBe(NOW + 1000)
    expect(stamps.now).toBe(NOW + 1000)
  })

  it.each(['', 'x', '{"signing":1}', '{"signing":1,"reserved":-1}', '{"signing":2,"reserved":1}'])(
    'refuse a file that says %j',
    async (text) => {
      writeFileSync(file, text)
      await expect(open()).rejects.toThrow(/uav1\.signing: not readable.*delete the file/)
    },
  )

  it('refuse a folder that cannot be written', async () => {
    file = join(folder, 'absent', 'uav1.signing')
    await expect(open()).rejects.toThrow(/absent.*ENOENT/)
  })
})
