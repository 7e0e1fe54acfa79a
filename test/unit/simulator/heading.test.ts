// Where the nose goes under each form of a target, and whether it flies at all: the same table for both autopilots, as it was
// measured on PX4 1.16 and ArduCopter 4.7. The nose points north when the target begins.

import { common, type MavLinkData } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { aloft, local, OFFBOARD, position } from './flight.ts'

const DEG = Math.PI / 180
const FLOWN_MS = 6_000

interface Flown {
  /** deg, the whole way that the nose has turned; clockwise is positive. */
  readonly turned: number
  /** The fastest that it turned, deg/s. */
  readonly rate: number
  readonly moves: boolean
}

/** Streams the target for 6 s. `undefined` where the autopilot does not take the stream as a setpoint at all. */
function flown(autopilot: 'px4' | 'ardupilot', target: MavLinkData, duration_ms = FLOWN_MS): Flown | undefined {
  const flight = aloft(autopilot)
  const since_ms = flight.now_ms
  flight.stream = target
  if (autopilot === 'px4') {
    flight.run(300)
    if (flight.command(...OFFBOARD) !== 0) return undefined
  }
  flight.run(duration_ms)
  const attitudes = flight.all(common.Attitude, since_ms)
  let turned = 0
  let rate = 0
  for (const [i, { data, at_ms }] of attitudes.entries()) {
    const before = attitudes[i - 1]
    if (before === undefined) continue
    const step = Math.atan2(Math.sin(data.yaw - before.data.yaw), Math.cos(data.yaw - before.data.yaw)) / DEG
    turned += step
    rate = Math.max(rate, Math.abs(step) / ((at_ms - before.at_ms) / 1e3))
  }
  return { turned, rate, moves: flight.speed_mps > 0.5 }
}

const east = { yaw: 90 * DEG }
const ahead = { vx: 2 }
const sideways = { vy: 2 }

type Row = readonly [
  form: string,
  target: MavLinkData,
  px4: { turned: number; rate?: number; moves?: boolean } | undefined,
  ardupilot: { turned: number; rate?: number; moves?: boolean },
]
const kept = { turned: 0 }
const table: readonly Row[] = [
  ['a position in frame 5 without a yaw', position(0, 60, 8), kept, { turned: 90, rate: 72 }],
  ['a position in frame 6 without a yaw', position(0, 60, 8, 6), kept, { turned: 90, rate: 72 }],
  ['a position in frame 1 without a yaw', local(1, 0x0df8, { y: 60, z: -8 }), kept, { turned: 90, rate: 72 }],
  [
    'a position with a yaw, while it moves',
    local(1, 0x09f8, { x: 60, z: -8, ...east }),
    { turned: 90, rate: 160, moves: true },
    { turned: 90, rate: 72, moves: true },
  ],
  [
    'a position with a yaw rate',
    local(1, 0x05f8, { x: 60, z: -8, yawRate: 20 * DEG }),
    { turned: 120, rate: 20 },
    { turned: 120, rate: 20 },
  ],
  [
    'a velocity in frame 1 without a yaw',
    local(1, 0x0dc7, sideways),
    { ...kept, moves: true },
    { turned: 90, moves: true },
  ],
  [
    'a velocity in frame 1, mask 0x0DE3',
    local(1, 0x0de3, { z: -8, ...sideways }),
    { ...kept, moves: true },
    { ...kept, moves: false },
  ],
  [
    'a velocity in frame 8 at yaw rate 0',
    local(8, 0x05c7, sideways),
    { ...kept, moves: true },
    { ...kept, moves: true },
  ],
  [
    'a velocity in frame 8 without a yaw',
    local(8, 0x0dc7, ahead),
    { ...kept, moves: true },
    { turned: 9, moves: true },
  ],
  [
    'a velocity in frame 8 with a yaw',
    local(8, 0x09c7, { ...ahead, ...east }),
    { turned: 90, rate: 160 },
    { turned: 354, rate: 59 },
  ],
  ['a velocity in frame 9 with a yaw', local(9, 0x09c7, { ...ahead, ...east }), undefined, { turned: 354, rate: 59 }],
  ['a velocity in frame 9 at yaw rate 0', local(9, 0x05c7, ahead), undefined, { ...kept, moves: true }],
]

describe.each(['px4', 'ardupilot'] as const)('the nose of the simulated vehicle: %s', (autopilot) => {
  it.each(table)('%s', (_form, target, px4, ardupilot) => {
    const expected = autopilot === 'px4' ? px4 : ardupilot
    const seen = flown(autopilot, target)
    if (expected === undefined) {
      expect(seen).toBeUndefined()
      return
    }
    expect(seen!.turned).toBeGreaterThan(expected.turned - 6)
    expect(seen!.turned).toBeLessThan(expected.turned + 6)
    if (expected.rate !== undefined) {
      expect(seen!.rate).toBeGreaterThan(0.9 * expected.rate)
      expect(seen!.rate).toBeLessThan(1.1 * expected.rate)
    }
    if (expected.moves !== undefined) expect(seen!.moves).toBe(expected.moves)
  })
})

it('a yaw of the body frame never ends on ArduPilot: twice the time, twice the turn', () => {
  const { turned } = flown('ardupilot', local(8, 0x09c7, { ...ahead, ...east }), 2 * FLOWN_MS)!
  expect(turned).toBeGreaterThan(690)
})

it('a velocity in frame 12 is no setpoint to PX4', () => {
  expect(flown('px4', local(12, 0x05c7, ahead))).toBeUndefined()
})
