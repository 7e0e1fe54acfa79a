// A companion that is stopped (SIGSTOP) while the pilot takes the vehicle, with orders waiting for it at the broker. Behind it
// lie the telemetry of before, what the kernel could not keep, and the orders; nothing of ours may go against the pilot.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { common } from 'node-mavlink'
import { stringify } from 'yaml'
import type { Profile } from '../../src/autopilot/profile.ts'
import { Agent, aedes, bare, COMMAND, encode, Halo, takeoff, until, VEHICLE } from '../e2e/flight-line.ts'
import { grounded } from './session.ts'
import type { Tap } from './tap.ts'

export interface FreezeOptions {
  readonly tap: Tap
  readonly profile: Profile
  /** Path of the catalog. */
  readonly catalog: string
  readonly preflight: 'refuse' | 'warn'
  readonly rounds: number
  /** The mode that the pilot takes; a real PX4 takes POSITION only from somebody who has sticks. */
  readonly pilot: PilotMode
  readonly signal: AbortSignal
  readonly print: (line: string) => void
}

/** DO_SET_MODE's param2 and param3, by each profile. `hold` is what HALO calls HOLD, `rest` a mode to stand in. */
const MODES = {
  'px4-multirotor': { position: [3, 0], return: [4, 5], hold: [4, 3], rest: [4, 3] },
  'ardupilot-copter': { position: [5, 0], return: [6, 0], hold: [17, 0], rest: [4, 0] },
} as const
export const PILOT_MODES = ['position', 'return'] as const
export type PilotMode = (typeof PILOT_MODES)[number]

/** How long it stands still, and after how much of that the pilot comes, ms. */
const STOPS = [
  [3000, 1000],
  [600, 200],
  [1500, 1200],
  [400, 100],
] as const
/** So many other messages stand before each order that waits. */
const ORDERS = [0, 2, 5, 15]
/** What nobody has heard of by then has not left. */
const AFTER_MS = 1500
const ALT_M = 8
const PATIENCE_MS = 180_000
/** Whatever sets the mode, arms or takes off. */
const TOUCHING: ReadonlySet<number> = new Set([
  COMMAND.mode,
  COMMAND.arm,
  COMMAND.takeoff,
  COMMAND.land,
  COMMAND.return,
])

/** A quarter of the rounds before a take-off, the others in the air. Returns how many of the frames of ours went against the pilot. */
export async function freeze(options: FreezeOptions): Promise<number> {
  const { tap, profile, rounds, signal, print } = options
  const modes = MODES[profile.name as keyof typeof MODES]
  const folder = mkdtempSync(join(tmpdir(), 'halo-freeze-'))
  const broker = await aedes()
  const config = join(folder, 'halo.yaml')
  const { catalog, preflight } = options
  writeFileSync(
    config,
    stringify({
      vehicle: VEHICLE,
      catalog,
      preflight,
      mavlink: { endpoint: tap.companion },
      mqtt: { url: `mqtt://127.0.0.1:${broker.port}` },
      log: { level: 'error' },
    }),
  )
  const halo = new Halo(['run', '--config', config])
  const url = `mqtt://127.0.0.1:${broker.port}`
  let against = 0
  let watched: number[] | undefined
  /** The autopilot has given the vehicle to the pilot: only then is there anybody to go against. */
  let given = false
  let ungiven = 0
  tap.onAnswer = ({ command, result }) => {
    if ((command as number) === COMMAND.mode) given ||= result === common.MavResult.ACCEPTED
  }
  tap.onFrame = ({ message }) => {
    const commands = message instanceof common.CommandLong || message instanceof common.CommandInt
    if (commands && TOUCHING.has(message.command)) watched?.push(message.command)
  }
  const agent = await Agent.connect(url)
  const seen = (what: string, state: Readonly<Record<string, unknown>>) =>
    until(
      () => `${what}; it is ${JSON.stringify(agent.snapshot?.state)}`,
      () => {
        const now = agent.snapshot?.state ?? {}
        return Object.entries(state).every(([field, value]) => now[field] === value)
      },
      PATIENCE_MS,
    )
  const pilot = (mode: readonly [number, number]): void => tap.command(COMMAND.mode, 1, mode[0], mode[1])

  /** One round; the vehicle is as it was when it ends. */
  const round = async (number: number, type: string): Promise<void> => {
    const aloft = type !== 'takeoff'
    const [stop_ms, pilot_ms] = STOPS[number % STOPS.length]!
    if (agent.control?.pilot_control) await agent.operate('resume')
    await agent.newSnapshot((s) => s.state.armed === aloft)
    const component = (place: number) => {
      const id = `${type}${number}.${place}`
      return aloft ? bare(id, type) : takeoff(id)
    }
    const left: number[] = []
    const said = agent.on('verdict/planner').length
    halo.signal('SIGSTOP')
    watched = left
    given = false
    await pass(pilot_ms)
    pilot(modes[options.pilot])
    if (!aloft) tap.command(COMMAND.arm, 1)
    const noise = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) {
        await agent.say('response/nobody', encode({ v: 1, i }))
        await agent.say('context/map', encode({ v: 1, value: i }))
      }
    }
    // The loop takes telemetry between two messages: so the order comes before, among and behind what it finds of that.
    for (const [place, others] of ORDERS.entries()) {
      await noise(others)
      await agent.say('response/planner', encode(agent.draft({ components: [component(place)] })))
    }
    await pass(stop_ms - pilot_ms)
    const isPiloted = given
    halo.signal('SIGCONT')
    await pass(AFTER_MS)
    watched = undefined
    if (isPiloted) against += left.length
    else ungiven++
    const became = agent
      .on('verdict/planner')
      .slice(said)
      .map(({ components: [judged] = [{}], reason }, place) => {
        const last = agent.outcomes(component(place).id).at(-1)
        return [last?.phase ?? 'withheld', last?.reason ?? judged.reason ?? reason, judged.detail]
          .filter(Boolean)
          .join(' ')
      })
    const sent = left.length === 0 ? 'nothing' : `frames ${left}`
    const whom = isPiloted ? 'against the pilot' : `sent, and the autopilot has not taken ${options.pilot} of the pilot`
    print(`round ${number}: ${type} behind ${stop_ms} ms: ${sent} ${whom}; ${became.join(', ')}`)
    // The pilot gives it back.
    await until(
      'the vehicle back from the pilot',
      async () => {
        pilot(aloft ? modes.hold : modes.rest)
        if (!aloft) tap.command(COMMAND.arm, 0)
        await agent.newSnapshot()
        const { mode, armed } = agent.snapshot!.state
        return armed === aloft && (!aloft || mode === 'HOLD')
      },
      PATIENCE_MS,
    )
  }

  try {
    const ready = async (): Promise<void> => {
      await seen('a vehicle that is ready', { ready: true, armed: false, landed: 'ON_GROUND', 'estimator.ok': true })
      await agent.newSnapshot(({ unknown }) => unknown.every((field: string) => field === 'map'))
    }
    await ready()
    const standing = Math.max(1, Math.floor(rounds / 4))
    for (let number = 1; number <= standing && !signal.aborted; number++) await round(number, 'takeoff')
    for (let attempt = 1; standing < rounds && !signal.aborted; attempt++) {
      if (agent.control?.pilot_control) await agent.operate('resume')
      await ready()
      const up = { ...takeoff(`up${attempt}`), payload: { alt: ALT_M } }
      await agent.respond({ components: [up] })
      const ended = await until(
        'the take-off',
        () => agent.outcomes(up.id).find(({ phase }) => !['retained', 'dispatched', 'acknowledged'].includes(phase)),
        PATIENCE_MS,
      )
      if (ended.phase === 'completed') break
      // A stall of this machine ends it (PROTOCOL 8).
      if (attempt === 3) throw new Error(`the take-off ${ended.phase} ${ended.reason} ${ended.detail ?? ''}`)
    }
    const types = ['hold', 'return', 'land']
    if (standing < rounds && !signal.aborted) {
      pilot(modes.hold)
      await seen('a vehicle in the air', { armed: true, landed: 'IN_AIR', mode: 'HOLD' })
    }
    for (let number = standing + 1; number <= rounds && !signal.aborted; number++) {
      await round(number, types[number % types.length]!)
    }
    print(`${rounds} rounds, ${against} frames against the pilot`)
    if (ungiven > 0) throw new Error(`${ungiven} rounds show nothing: no pilot had the vehicle`)
    return against
  } finally {
    await agent.end()
    await halo.kill('SIGTERM')
    await grounded(tap)
    await broker.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
