// From the agent's publish to the first frame of its action on the wire, and beside it, in turn, the same way through a bare
// forwarder: the same broker, client library and kind of sockets, no HALO.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { type Random, seededRandom } from '../simulator/random.ts'
import { fieldOf, layout } from '../src/autopilot/frame.ts'
import { HOME } from '../test/e2e/flight-line.ts'
import type { Arrived } from './relay.ts'
import type { Component, Rig } from './rig.ts'
import { type Spread, Times } from './spread.ts'

export interface Wire {
  /** Messages a second of the other traffic, as heard at its end. */
  readonly flood: number
  readonly halo: Spread
  readonly forwarder: Spread
  /** Actions of which no frame came within a second. */
  readonly lost: number
  /** Packets of which the forwarder sent nothing within a second. */
  readonly lostByForwarder: number
}

const LOST_MS = 1_000
const PAUSE_MS = { min: 20, max: 60 }
const GLOBAL = 'SET_POSITION_TARGET_GLOBAL_INT'
const LOCAL = 'SET_POSITION_TARGET_LOCAL_NED'
const LAT_AT = fieldOf(GLOBAL, 'lat_int').offset
const VX_AT = fieldOf(LOCAL, 'vx').offset

interface Act {
  readonly action: Pick<Component, 'type' | 'payload'>
  /** Whether a frame is of this action and of no other. */
  isOf(frame: Arrived): boolean
}

/** Goto and velocity in turn, each with numbers that no other has. */
function act(i: number): Act {
  if (i % 2 === 0) {
    const steps = i % 2_000
    const lat = HOME.lat + steps * 1e-7
    const wanted = Math.round(lat * 1e7)
    return {
      action: { type: 'goto', payload: { lat, lon: HOME.lon, alt: 20 } },
      isOf: ({ message, payload }) => message === layout(GLOBAL).id && payload.getInt32(LAT_AT, true) === wanted,
    }
  }
  const north = ((i % 2_000) + 1) / 2_000
  return {
    action: { type: 'velocity', payload: { north, east: 0, seconds: 10 } },
    isOf: ({ message, payload }) =>
      message === layout(LOCAL).id && payload.getFloat32(VX_AT, true) === Math.fround(north),
  }
}

/** For `time_s`, with `flood` messages a second of other traffic. The vehicle must be in Offboard, or come to be. */
export async function wire(rig: Rig, time_s: number, flood: number): Promise<Wire> {
  const random = seededRandom(1)
  const receiver = createSocket('udp4').bind(0, '127.0.0.1')
  await once(receiver, 'listening')
  const forwarder = await rig.start('forwarder.ts', rig.url, String(receiver.address().port))
  const other = flood > 0 ? await rig.start('flood.ts', rig.url, String(flood)) : undefined
  try {
    await engage(rig)
    const halo = new Times()
    const bare = new Times()
    let [lost, lostByForwarder] = [0, 0]
    const end_ms = performance.now() + time_s * 1000
    for (let i = 0; performance.now() < end_ms; i++) {
      await between(random)
      const plan = rig.plan(act(i).action)
      const time_ms = await crossing(rig, plan, act(i))
      if (time_ms === undefined) lost++
      else halo.add(time_ms)

      await between(random)
      const forwarded_ms = await forwarding(rig, receiver, plan.length, i)
      if (forwarded_ms === undefined) lostByForwarder++
      else bare.add(forwarded_ms)
    }
    const heard = await other?.ask<{ rate: number }>()
    return { flood: heard?.rate ?? 0, halo: halo.spread, forwarder: bare.spread, lost, lostByForwarder }
  } finally {
    rig.relay.onFrame = () => {}
    await forwarder.stop()
    await other?.stop()
    receiver.close()
  }
}

/** What follows is one setpoint taking over from another. */
async function engage(rig: Rig): Promise<void> {
  for (let i = 0; rig.snapshot?.state.mode !== 'OFFBOARD'; i++) {
    if (i % 40 === 0) rig.say(rig.plan({ type: 'goto', payload: { lat: HOME.lat, lon: HOME.lon, alt: 25 } }))
    if (i === 400) throw new Error(`no goto engages: ${[...rig.refusals.keys()].join(', ')}`)
    await pause(50)
  }
}

/** Out of step with the companion's tick and with the telemetry. */
const between = (random: Random): Promise<void> =>
  pause(PAUSE_MS.min + (PAUSE_MS.max - PAUSE_MS.min) * random()) as Promise<void>

function crossing(rig: Rig, plan: Uint8Array, { isOf }: Act): Promise<number | undefined> {
  return firstOf((arrived) => {
    rig.relay.onFrame = (frame) => {
      if (isOf(frame)) arrived(frame.at_ms)
    }
    const start_ms = performance.now()
    rig.say(plan)
    return start_ms
  })
}

function forwarding(
  rig: Rig,
  receiver: ReturnType<typeof createSocket>,
  bytes: number,
  number: number,
): Promise<number | undefined> {
  return firstOf((arrived) => {
    receiver.removeAllListeners('message').on('message', (datagram) => {
      const at_ms = performance.now()
      if (datagram.readUInt32LE() === number) arrived(at_ms)
    })
    const packet = Buffer.alloc(bytes)
    packet.writeUInt32LE(number)
    const start_ms = performance.now()
    rig.publish('bench/forward', packet)
    return start_ms
  })
}

/** `begin` gives the time of its start; the time from there to the first arrival, or undefined where none came. */
function firstOf(begin: (arrived: (at_ms: number) => void) => number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), LOST_MS)
    const start_ms = begin((at_ms) => {
      clearTimeout(timer)
      resolve(at_ms - start_ms)
    })
  })
}
