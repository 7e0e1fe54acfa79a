// A run of sessions: one vehicle, one tap on its link, cold start after cold start; a line for each and the table.

import { join } from 'node:path'
import { type SimulatedVehicleServer, startSimulatedVehicle } from '../../simulator/server.ts'
import { AUTOPILOTS, type AutopilotName } from '../../simulator/vehicle.ts'
import { ardupilotCopter } from '../../src/autopilot/ardupilot-copter.ts'
import type { Profile } from '../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../src/autopilot/px4-multirotor.ts'
import { freeUdpPort, PROJECT } from '../e2e/flight-line.ts'
import { freeze, PILOT_MODES } from './freeze.ts'
import { fly, type Session } from './session.ts'
import { Tap } from './tap.ts'

export interface RunOptions {
  /** Cold starts, 1 to 1000. */
  readonly count: number
  /** A name of `AUTOPILOTS`. */
  readonly autopilot: string
  /** Of the autopilot, as a companion would be configured; the simulated vehicle where not given. */
  readonly endpoint?: string | undefined
  /** The simulated vehicle's seconds in one of ours. */
  readonly speed: number
  /** Path of the catalog; the autopilot's example where not given. */
  readonly catalog?: string | undefined
  /** As in a companion's configuration. By default an autopilot that answers at an endpoint is refused what is unsafe. */
  readonly preflight?: string | undefined
  /** Stops the companion while the pilot takes this mode, instead of sessions. */
  readonly freeze?: string | undefined
  /** Ends the run, the vehicle on the ground. */
  readonly signal: AbortSignal
  readonly print: (line: string) => void
}

const PROFILES: Readonly<Record<AutopilotName, Profile>> = { px4: px4Multirotor, ardupilot: ardupilotCopter }

/** Whether every session completed and no stale setpoint was seen. Rejects for options that make no sense. */
export async function run({ count, autopilot, endpoint, speed, signal, print, ...rest }: RunOptions): Promise<boolean> {
  if (!Number.isInteger(count) || count < 1 || count > 1000) throw new RangeError(`--count must be 1 to 1000`)
  if (!isKnown(autopilot)) {
    throw new RangeError(`--autopilot ${autopilot}: must be one of ${AUTOPILOTS.join(', ')}`)
  }
  // The simulated vehicle has an autopilot's default parameters, which are not fit for setpoints.
  const preflight = rest.preflight ?? (endpoint === undefined ? 'warn' : 'refuse')
  if (preflight !== 'refuse' && preflight !== 'warn') throw new RangeError('--preflight must be refuse or warn')
  const pilot = PILOT_MODES.find((mode) => mode === rest.freeze)
  if (rest.freeze !== undefined && pilot === undefined) {
    throw new RangeError(`--freeze ${rest.freeze}: must be one of ${PILOT_MODES.join(', ')}`)
  }
  const profile = PROFILES[autopilot]
  const catalog = rest.catalog ?? join(PROJECT, `examples/${profile.name}/catalog.yaml`)
  const mavlink = `127.0.0.1:${await freeUdpPort()}`
  const tap = await Tap.open(endpoint ?? `udpin://${mavlink}`)
  let vehicle: SimulatedVehicleServer | undefined
  const sessions: Session[] = []
  try {
    if (endpoint === undefined) {
      vehicle = await startSimulatedVehicle({ autopilot, listen: '127.0.0.1:0', send: mavlink, speed })
      print(`the simulated vehicle, a test double, never for flight; ${speed} times real speed`)
    } else print(`the autopilot at ${endpoint}`)
    if (pilot !== undefined) {
      return (await freeze({ tap, profile, catalog, preflight, rounds: count, pilot, signal, print })) === 0
    }
    for (let number = 1; number <= count && !signal.aborted; number++) {
      const session = await fly({ tap, profile, catalog, preflight, number, signal })
      sessions.push(session)
      print(line(number, session))
    }
  } finally {
    await vehicle?.close()
    await tap.close()
  }
  for (const row of table(sessions, count)) print(row)
  return sessions.length === count && sessions.every(({ failure }) => failure === undefined)
}

const isKnown = (name: string): name is AutopilotName => (AUTOPILOTS as readonly string[]).includes(name)

const ms = (value: number | undefined): string => (value === undefined ? '-' : `${value.toFixed(1)} ms`)
const s = (value: number | undefined): string => (value === undefined ? '-' : `${value.toFixed(1)} s`)

function line(number: number, session: Session): string {
  const { failure, ready_s, setpoints, stale, modeCommands, intrusions, recovery_ms, duration_s } = session
  return [
    `session ${String(number).padStart(2)}: ${failure === undefined ? 'completed' : `FAILED: ${failure}`}`,
    `ready ${s(ready_s)}`,
    `${setpoints} setpoints, ${stale} stale`,
    `${modeCommands} mode commands, ${intrusions} while not ours`,
    `recovery to setpoint ${ms(recovery_ms)}`,
    s(duration_s),
  ].join('; ')
}

function table(sessions: readonly Session[], count: number): string[] {
  const sum = (of: (session: Session) => number): string => String(sessions.reduce((all, each) => all + of(each), 0))
  const spread = (
    of: (session: Session) => number | undefined,
    unit: (value: number | undefined) => string,
  ): string => {
    const known = sessions.flatMap((session) => of(session) ?? []).sort((a, b) => a - b)
    return `${unit(known[Math.floor((known.length - 1) / 2)])} (${unit(known[0])} to ${unit(known.at(-1))})`
  }
  const rows: readonly (readonly [string, string])[] = [
    ['sessions', String(count)],
    ['completed', sum(({ failure }) => (failure === undefined ? 1 : 0))],
    ['setpoints seen', sum(({ setpoints }) => setpoints)],
    ['stale setpoints seen', sum(({ stale }) => stale)],
    ['mode commands seen', sum(({ modeCommands }) => modeCommands)],
    ['mode commands while not ours', sum(({ intrusions }) => intrusions)],
    ['start to ready, median', spread(({ ready_s }) => ready_s, s)],
    ['recovery published to first setpoint, median', spread(({ recovery_ms }) => recovery_ms, ms)],
    ['session, median', spread(({ duration_s }) => duration_s, s)],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return ['', ...rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`)]
}
