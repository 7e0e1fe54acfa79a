// Against node-mavlink's signer, which is somebody else's reading of the same standard.

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MavLinkPacketSignature, MavLinkProtocolV1, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Adapter } from '../../../companion/adapter/adapter.ts'
import { Framer } from '../../../companion/mavlink/framer.ts'
import { Link } from '../../../companion/mavlink/link.ts'
import { readKey, Signing } from '../../../companion/mavlink/signing.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'

const KEY = Buffer.alloc(32, 7)
const NOW_ms = Date.UTC(2025, 5, 1)

let folder: string
let wall_ms: number
let signing: Signing
const failures: string[] = []

const open = (key: Uint8Array = KEY, linkId = 0): Promise<Signing> =>
  Signing.open({
    key,
    linkId,
    file: join(folder, 'uav1.signing'),
    heard: join(folder, 'uav1.heard'),
    wall: () => wall_ms,
    failed: ({ message }) => failures.push(message),
  })

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halo-signing-'))
  wall_ms = NOW_ms
  failures.length = 0
  signing = await open()
})
afterEach(async () => {
  await signing.close().catch(() => {})
  rmSync(folder, { recursive: true, force: true })
})

const beat = Object.assign(new minimal.Heartbeat(), { type: 2, autopilot: 12, systemStatus: 4, mavlinkVersion: 3 })

interface Theirs {
  readonly at_ms?: number
  readonly linkId?: number
  readonly key?: Buffer
  readonly system?: number
}

/** A heartbeat of the autopilot, signed by node-mavlink. */
function theirs({ at_ms = wall_ms, linkId = 3, key = KEY, system = 1 }: Theirs = {}): Uint8Array {
  const protocol = new MavLinkProtocolV2(system, 1, MavLinkProtocolV2.IFLAG_SIGNED)
  return protocol.sign(protocol.serialize(beat, 0), linkId, key, at_ms)
}

/** Of each datagram, whether it was taken. */
function taken(framer: Framer, ...datagrams: readonly Uint8Array[]): boolean[] {
  return datagrams.map((datagram) => framer.datagram(datagram).length === 1)
}

/** Until a frame is taken that goes beyond what is on the disk: its bound has to be written first. */
async function written(framer: Framer, frame: () => Uint8Array): Promise<void> {
  while (framer.datagram(frame()).length === 0) await turn()
}

describe('signing, what we send', () => {
  it('is signed as node-mavlink checks it, with our link id, and stamps that increase within a millisecond', async () => {
    signing = await open(KEY, 9)
    const sent: Buffer[] = []
    const adapter = new Adapter({ signing, transmit: (bytes) => sent.push(Buffer.from(bytes)) > 0 })
    adapter.address(1, 1)
    for (let i = 0; i < 5; i++) adapter.say({ message: 'HEARTBEAT' }, 0)
    adapter.say({ message: 'STATUSTEXT', severity: 4, text: 'hello' }, 0)
    const stamps = sent.map((bytes) => {
      expect(new MavLinkProtocolV2().header(bytes).incompatibilityFlags).toBe(MavLinkProtocolV2.IFLAG_SIGNED)
      const signature = new MavLinkPacketSignature(bytes)
      expect(signature.matches(KEY)).toBe(true)
      expect(signature.matches(Buffer.alloc(32, 8))).toBe(false)
      expect(signature.linkId).toBe(9)
      return signature.timestamp
    })
    const begin = (NOW_ms - Date.UTC(2015, 0, 1)) * 100
    expect(stamps[0]).toBeGreaterThanOrEqual(begin)
    for (let i = 1; i < stamps.length; i++) expect(stamps[i]).toBe(stamps[i - 1]! + 1)
    // A peer with the key takes all of them, one without a key too.
    const peer = await open()
    expect(taken(new Framer(peer), ...sent)).toEqual(sent.map(() => true))
    expect(taken(new Framer(), ...sent)).toEqual(sent.map(() => true))
  })

  it('G5: does not go out where it cannot be signed', () => {
    const sent: Uint8Array[] = []
    const adapter = new Adapter({ signing: { sign: () => false }, transmit: (bytes) => sent.push(bytes) > 0 })
    expect(adapter.say({ message: 'HEARTBEAT' }, 0)).toBe(false)
    expect(sent).toEqual([])
  })

  it('is greater after a restart, also with a clock that went back', async () => {
    const stampOf = (by: Signing): number => {
      const frame = theirs()
      by.sign(frame)
      return new MavLinkPacketSignature(Buffer.from(frame)).timestamp
    }
    const before = stampOf(signing)
    wall_ms -= 86_400_000
    expect(stampOf(signing)).toBe(before + 1)
    expect(stampOf(await open())).toBeGreaterThan(before + 1)
  })
})

describe('signing, what we hear', () => {
  it('takes what node-mavlink signs, each time stamp once', () => {
    const framer = new Framer(signing)
    const frame = theirs()
    expect(taken(framer, frame, frame, theirs({ at_ms: NOW_ms + 1 }))).toEqual([true, false, true])
    // The trap of a signer that steps in milliseconds: of two frames in one, the second is old.
    expect(taken(framer, theirs({ at_ms: NOW_ms + 2 }), theirs({ at_ms: NOW_ms + 2 }))).toEqual([true, false])
    expect(framer.refused).toEqual({ version1: 0, unsigned: 0, forged: 0, old: 2, crowded: 0, unwritten: 0 })
  })

  it('keeps streams apart by system, component and link', () => {
    const framer = new Framer(signing)
    expect(taken(framer, theirs({ at_ms: NOW_ms + 5 }), theirs({ system: 2 }), theirs({ at_ms: NOW_ms + 6 }))).toEqual([
      true,
      true,
      true,
    ])
    // The same component over another link: not with what it had said before.
    expect(taken(framer, theirs({ linkId: 4, at_ms: NOW_ms + 6 }))).toEqual([false])
    expect(taken(framer, theirs({ linkId: 4, at_ms: NOW_ms + 7 }))).toEqual([true])
    expect(taken(framer, theirs({ at_ms: NOW_ms + 7 }))).toEqual([true])
  })

  it('refuses what comes out of order, is forged, or says another link or time than was signed', () => {
    const framer = new Framer(signing)
    expect(taken(framer, theirs({ at_ms: NOW_ms + 50 }), theirs({ at_ms: NOW_ms + 49 }))).toEqual([true, false])
    expect(taken(framer, theirs({ at_ms: NOW_ms + 60, key: Buffer.alloc(32, 8) }))).toEqual([false])
    const good = theirs({ at_ms: NOW_ms + 70 })
    // From the link id on each byte is under the signature; of what is before, the checksum says no first.
    for (let at = good.length - 13; at < good.length; at++) {
      const bad = Uint8Array.from(good)
      bad[at]! ^= 1
      expect(taken(framer, bad)).toEqual([false])
    }
    expect(framer.refused).toEqual({ version1: 0, unsigned: 0, forged: 14, old: 1, crowded: 0, unwritten: 0 })
    expect(taken(framer, good)).toEqual([true])
  })

  it('takes no frame whose signature is cut off, and loses none behind it', () => {
    const good = theirs()
    for (let length = good.length - 13; length < good.length; length++) {
      expect(new Framer(signing).datagram(good.subarray(0, length))).toEqual([])
    }
    const framer = new Framer(signing)
    const cut = theirs({ at_ms: NOW_ms + 1 }).subarray(0, good.length - 13)
    const stream = Buffer.concat([cut, theirs({ at_ms: NOW_ms + 2 }), theirs({ at_ms: NOW_ms + 3 })])
    expect(framer.stream(stream).length).toBe(2)
    expect(framer.frameBytes + framer.refusedBytes + framer.junkBytes + framer.pending).toBe(framer.bytes)
  })

  it('drops MAVLink 1 and unsigned frames, and counts them', () => {
    const framer = new Framer(signing)
    const unsigned = new MavLinkProtocolV2(1, 1).serialize(beat, 0)
    const version1 = new MavLinkProtocolV1(1, 1).serialize(beat, 0)
    expect(taken(framer, unsigned, version1, theirs())).toEqual([false, false, true])
    expect(framer.refused).toEqual({ version1: 1, unsigned: 1, forged: 0, old: 0, crowded: 0, unwritten: 0 })
    expect(taken(new Framer(), unsigned, version1)).toEqual([true, true])
  })

  it('takes the first of a stream up to a minute late, and follows a clock that is ahead', async () => {
    const framer = new Framer(signing)
    expect(taken(framer, theirs({ at_ms: NOW_ms - 60_001 }))).toEqual([false])
    expect(taken(framer, theirs({ at_ms: NOW_ms - 59_999 }))).toEqual([true])
    // From now on it is an hour later, for all.
    await written(framer, () => theirs({ at_ms: NOW_ms + 3_600_000 }))
    expect(taken(framer, theirs({ at_ms: NOW_ms, system: 2 }))).toEqual([false])
    const ours = theirs()
    signing.sign(ours)
    expect(new MavLinkPacketSignature(Buffer.from(ours)).timestamp).toBeGreaterThan(
      (NOW_ms - Date.UTC(2015, 0, 1)) * 100,
    )
  })

  it('takes after a restart nothing from more than a minute before it, though the clock went back', async () => {
    const framer = new Framer(signing)
    const recorded = theirs()
    expect(taken(framer, recorded)).toEqual([true])
    wall_ms += 120_000
    signing.tick(0)
    await signing.close()
    signing.sign(theirs())
    wall_ms = 1000
    expect(taken(new Framer(await open()), recorded)).toEqual([false])
  })

  it('keeps 64 streams and takes no other then', () => {
    const framer = new Framer(signing)
    const streams = Array.from({ length: 65 }, (_, linkId) => theirs({ linkId, at_ms: NOW_ms + linkId }))
    expect(taken(framer, ...streams)).toEqual(streams.map((_, i) => i < 64))
    expect(framer.refused.crowded).toBe(1)
    expect(taken(framer, theirs({ linkId: 0, at_ms: NOW_ms + 100 }))).toEqual([true])
  })
})

describe('signing, over restarts: what was said once is not heard twice', () => {
  /** 120 frames within a minute, on two links of the autopilot and of a ground station whose clock is 40 s behind; all are taken. */
  async function recorded(framer: Framer): Promise<Uint8Array[]> {
    const all: Uint8Array[] = []
    for (let i = 0; i < 40; i++) {
      wall_ms += 1500
      const now = [
        theirs({ linkId: 3 }),
        theirs({ linkId: 4, at_ms: wall_ms + 1 }),
        theirs({ system: 255, at_ms: wall_ms - 40_000 }),
      ]
      for (const frame of now) await written(framer, () => frame)
      all.push(...now)
      signing.tick(i * 1500)
    }
    return all
  }
  const later = (by_ms: number): Uint8Array[] => [
    theirs({ at_ms: wall_ms + by_ms }),
    theirs({ linkId: 4, at_ms: wall_ms + by_ms + 1 }),
    theirs({ system: 255, at_ms: wall_ms + by_ms - 40_000 }),
  ]

  it('G5: none of 120 recorded ones is taken after a stop, and what is newer is, at once', async () => {
    const replayed = await recorded(new Framer(signing))
    await signing.close()
    signing = await open()
    const framer = new Framer(signing)
    expect(taken(framer, ...replayed)).toEqual(replayed.map(() => false))
    expect(framer.refused.old).toBe(120)
    for (const frame of later(1)) await written(framer, () => frame)
    expect(taken(framer, ...replayed)).toEqual(replayed.map(() => false))
  })

  it('G5: none after a kill at any time, and what is newer is after 6 s', async () => {
    const framer = new Framer(signing)
    const killed = join(folder, 'killed')
    const replayed: Uint8Array[] = []
    for (let i = 0; i < 8; i++) {
      wall_ms += 1700
      for (const frame of later(0)) {
        await written(framer, () => frame)
        replayed.push(frame)
      }
      signing.tick(i * 1700)
      const listed = (): string => readFileSync(join(folder, 'uav1.heard'), 'utf8')
      while (!listed().includes('255/1/3')) {
        signing.tick(i * 1700)
        await turn()
      }
      // What a process finds that begins after this one was killed here.
      mkdirSync(killed)
      for (const file of ['uav1.signing', 'uav1.heard']) copyFileSync(join(folder, file), join(killed, file))
      const next = await Signing.open({
        key: KEY,
        linkId: 0,
        file: join(killed, 'uav1.signing'),
        heard: join(killed, 'uav1.heard'),
        wall: () => wall_ms,
        failed: () => {},
      })
      const after = new Framer(next)
      expect(taken(after, ...replayed)).toEqual(replayed.map(() => false))
      for (const frame of later(6001)) await written(after, () => frame)
      await next.close()
      rmSync(killed, { recursive: true })
    }
  })

  it('G5: a frame whose bound is not on the disk yet is not taken', async () => {
    const framer = new Framer(signing)
    const ahead = theirs({ at_ms: NOW_ms + 60_000 })
    expect(taken(framer, ahead)).toEqual([false])
    expect(framer.refused.unwritten).toBe(1)
    await written(framer, () => ahead)
    const { streams } = JSON.parse(readFileSync(join(folder, 'uav1.heard'), 'utf8'))
    expect(streams['1/1/3']).toBe((NOW_ms + 66_000 - Date.UTC(2015, 0, 1)) * 100)
  })

  it('goes on with a disk that takes nothing, and says so once', async () => {
    const framer = new Framer(signing)
    await written(framer, () => theirs())
    const gone = `${folder}.gone`
    renameSync(folder, gone)
    await written(framer, () => theirs({ at_ms: NOW_ms + 60_000 }))
    expect(failures).toEqual([expect.stringMatching(/uav1\.heard: ENOENT/)])
    for (let i = 1; i < 20; i++) {
      signing.tick(i * 1000)
      await turn()
      expect(taken(framer, theirs({ at_ms: NOW_ms + 60_000 + i * 1000 }))).toEqual([true])
    }
    expect(failures.filter((text) => text.includes('uav1.heard'))).toHaveLength(1)
    renameSync(gone, folder)
  })

  it('takes over what an older HALO knew: nothing that is not newer than its own stamps', async () => {
    const frame = theirs()
    await signing.close()
    rmSync(join(folder, 'uav1.heard'))
    const reserved = (NOW_ms + 5000 - Date.UTC(2015, 0, 1)) * 100
    writeFileSync(join(folder, 'uav1.signing'), JSON.stringify({ signing: 1, reserved }))
    signing = await open()
    const framer = new Framer(signing)
    expect(taken(framer, frame, theirs({ at_ms: NOW_ms + 5000 }))).toEqual([false, false])
    await written(framer, () => theirs({ at_ms: NOW_ms + 5001 }))
  })

  it('keeps no stream for ever: one that has been silent for a minute makes room', async () => {
    const framer = new Framer(signing)
    for (let linkId = 0; linkId < 64; linkId++) await written(framer, () => theirs({ linkId, at_ms: NOW_ms + linkId }))
    const first = theirs({ linkId: 0, at_ms: NOW_ms })
    wall_ms += 61_000
    await written(framer, () => theirs({ linkId: 99 }))
    expect(framer.refused.crowded).toBe(0)
    expect(taken(framer, first)).toEqual([false])
    // Whatever the clock does: it made room for what is newer than it was itself.
    wall_ms -= 61_000
    expect(taken(framer, theirs({ linkId: 0, at_ms: NOW_ms }))).toEqual([false])
  })

  it.each(['', '{"heard":1}', '{"heard":1,"others":0,"streams":{"x":1}}', '{"heard":2,"others":0,"streams":{}}'])(
    'refuses a file that says %j, and what to do',
    async (text) => {
      await signing.close()
      writeFileSync(join(folder, 'uav1.heard'), text)
      await expect(open()).rejects.toThrow(/uav1\.heard: not readable.*delete the file and start again/)
    },
  )
})

describe('signing, a link', () => {
  const linked = () => {
    const identities: string[] = []
    const warnings: string[] = []
    const silences: string[] = []
    const link = new Link({
      profile: px4Multirotor,
      adapter: { system: 1, component: 191, address: () => {}, hasSent: () => false, say: () => false },
      stream: false,
      signing,
      listener: {
        identity: (system, component) => identities.push(`${system}/${component}`),
        rebooted: () => {},
        report: () => {},
        acknowledge: () => {},
        alarm: () => {},
        warn: (text) => warnings.push(text),
        silent: (text) => silences.push(text),
      },
    })
    return { link, identities, warnings, silences }
  }

  it('G5: hears the autopilot only with the key, and says why it does not', () => {
    const { link, identities, warnings } = linked()
    const unsigned = new MavLinkProtocolV2(1, 1).serialize(beat, 0)
    for (const datagram of [unsigned, theirs({ key: Buffer.alloc(32, 8) })]) {
      expect(link.recognises(datagram)).toBeUndefined()
      expect(link.receive(datagram, 0)).toBe(false)
    }
    link.tick(0)
    expect(identities).toEqual([])
    expect(warnings).toContain('1 unsigned frames dropped on a signed link: is the key set on the autopilot?')
    expect(warnings).toContain('1 frames with a wrong signature dropped: is it the same key on both sides?')
    expect(link.recognises(theirs())).toBe('fresh')
    expect(link.receive(theirs(), 0)).toBe(true)
    expect(identities).toEqual(['1/1'])
  })

  it('speaks to an autopilot that has the key and an old clock, but believes nothing that it says', () => {
    const { link, identities } = linked()
    const old = theirs({ at_ms: NOW_ms - 86_400_000 })
    expect(link.recognises(old)).toBe('stale')
    // Said again it counts no more.
    expect(link.recognises(old)).toBeUndefined()
    expect(link.receive(old, 0)).toBe(false)
    expect(identities).toEqual([])
  })
})

describe('signing, the key', () => {
  const key = (text: string, mode = 0o600): Uint8Array => {
    const file = join(folder, 'key')
    writeFileSync(file, text)
    chmodSync(file, mode)
    return readKey(file)
  }

  it('is 64 hexadecimal digits or base64 of 32 bytes', () => {
    expect(Buffer.from(key('07'.repeat(32)))).toEqual(KEY)
    expect(Buffer.from(key(`${'0A'.repeat(32)}\n`))).toEqual(Buffer.alloc(32, 10))
    expect(Buffer.from(key(`${KEY.toString('base64')}\n`, 0o640))).toEqual(KEY)
    expect(Buffer.from(key(KEY.toString('base64').replace('=', ''), 0o400))).toEqual(KEY)
  })

  it('is refused where anybody else can read or change it', () => {
    for (const mode of [0o604, 0o644, 0o660, 0o602]) {
      expect(() => key('07'.repeat(32), mode)).toThrow(
        `its permissions are ${mode.toString(8)}, so others can read or change it: chmod 600`,
      )
    }
  })

  it.each(['', '07', '07'.repeat(31), '07'.repeat(33), `${'07'.repeat(32)} x`, 'correct horse battery staple'])(
    'is refused as %j',
    (text) => {
      expect(() => key(text)).toThrow('must be 64 hexadecimal digits or base64 of 32 bytes')
    },
  )

  it('is refused as zeros, which means none to an autopilot, and where there is no file', () => {
    expect(() => key('00'.repeat(32))).toThrow('all zeros is no key')
    expect(() => readKey(join(folder, 'absent'))).toThrow(/mavlink\.signing\.key .*absent: ENOENT/)
  })
})
