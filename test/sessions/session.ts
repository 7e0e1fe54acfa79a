// One cold start: broker and companion as a fresh process, one flight that an agent asks for over MQTT, down again and off.
//
// The agent answers with a mixed bag; while the vehicle climbs, the ground's map changes, so that the goto is blocked at the gate
// and its dependent with it, while the notice and the report that the change does not touch go through; a fresh candidate on new
// evidence flies. Places are counted from where the vehicle stands: nothing here knows whose it is.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Profile } from '../../src/autopilot/profile.ts'
import {
  Agent,
  type Component,
  decisions,
  encode,
  freeTcpPort,
  Halo,
  isListening,
  until,
  type Value,
  VEHICLE,
} from '../e2e/flight-line.ts'
import type { Tap } from './tap.ts'
import { type Outcome, Witness } from './witness.ts'

export interface SessionOptions {
  readonly tap: Tap
  readonly profile: Profile
  /** Path of the catalog. */
  readonly catalog: string
  /** What the companion does about parameters of the autopilot that make setpoints unsafe. */
  readonly preflight: 'refuse' | 'warn'
  /** Of the session, from 1: odd ones fly north and even ones back. */
  readonly number: number
  /** Ends the session early: it is brought down like one that fails. */
  readonly signal: AbortSignal
}

export interface Session {
  /** Undefined: everything happened as it must. */
  readonly failure: string | undefined
  readonly setpoints: number
  readonly stale: number
  readonly modeCommands: number
  /** Mode commands while the mode was not ours. */
  readonly intrusions: number
  /** From the recovery's publish to the first setpoint. */
  readonly recovery_ms: number | undefined
  /** From the start of the companion to a vehicle that is ready, and to the end of the companion. */
  readonly ready_s: number | undefined
  readonly duration_s: number
}

/** The longest that each takes on an autopilot that is itself just starting. */
const PATIENCE_MS = { ready: 180_000, takeoff: 90_000, gate: 30_000, goto: 150_000, land: 240_000, grounded: 300_000 }
const LAND_AGAIN_MS = 1000
const STOP_MS = 10_000
/** A metre, in degrees of latitude. */
const NORTH_M = 1 / 111_195
const ALT_M = 8
const RECOVERIES = 3

/** Never rejects. The vehicle is disarmed when it resolves, or the failure says that it may not be. */
export async function fly(options: SessionOptions): Promise<Session> {
  const { tap, profile, signal } = options
  const witness = new Witness(profile)
  const { unread } = tap
  tap.onFrame = (frame, autopilot) => witness.frame(frame, autopilot, performance.now())
  const folder = mkdtempSync(join(tmpdir(), 'halo-session-'))
  const start_ms = performance.now()
  const failures: string[] = []
  const flight: Flight = { recovery_ms: undefined, ready_s: undefined }
  try {
    const port = await freeTcpPort()
    const config = join(folder, 'halo.yaml')
    writeFileSync(config, configuration(options, port))
    const halo = new Halo(['run', '--config', config])
    const ended = halo.ended.then((code) => {
      throw new Error(`the companion ended by itself with ${code}: ${halo.stderr.trim().split('\n').at(-1)}`)
    })
    const aborted = new Promise<never>((_, reject) => {
      signal.throwIfAborted()
      signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true })
    })
    try {
      await Promise.race([mission(options, port, witness, flight, start_ms), ended, aborted])
    } finally {
      ended.catch(() => {})
      const killed = setTimeout(() => halo.kill('SIGKILL'), STOP_MS)
      const code = await halo.kill('SIGTERM')
      clearTimeout(killed)
      if (code !== 0) failures.push(`the companion ended with ${code}`)
    }
  } catch (error) {
    failures.unshift((error as Error).message)
  }
  await grounded(tap).catch((error: Error) => failures.push(error.message))
  rmSync(folder, { recursive: true, force: true })
  if (tap.unread > unread) failures.push(`${tap.unread - unread} bytes of the companion are no frame`)
  if (witness.intrusions > 0) failures.push(`${witness.intrusions} mode commands while the mode was not ours`)
  const { setpoints, stale, modeCommands, intrusions } = witness
  if (stale > 0) failures.push(`${stale} stale setpoints`)
  return {
    failure: failures.length === 0 ? undefined : failures.join('; '),
    setpoints,
    stale,
    modeCommands,
    intrusions,
    ...flight,
    duration_s: (performance.now() - start_ms) / 1000,
  }
}

interface Flight {
  recovery_ms: number | undefined
  ready_s: number | undefined
}

function configuration({ tap, catalog, preflight }: SessionOptions, broker: number): string {
  return stringify({
    vehicle: VEHICLE,
    catalog,
    preflight,
    mavlink: { endpoint: tap.companion },
    mqtt: { embedded: `127.0.0.1:${broker}` },
    log: { level: 'warn' },
  })
}

async function mission(
  { tap, number }: SessionOptions,
  broker: number,
  witness: Witness,
  flight: Flight,
  start_ms: number,
): Promise<void> {
  const map = 2 * number - 1
  const north = number % 2 === 1 ? NORTH_M : -NORTH_M
  await until('the broker', () => isListening(broker), PATIENCE_MS.ready)
  const agent = await Agent.connect(`mqtt://127.0.0.1:${broker}`)
  agent.onMessage = ({ topic, value }) => {
    if (topic.startsWith('outcome/')) witness.outcome(value as Outcome)
  }
  try {
    await until('the companion', () => agent.session)
    await agent.say('context/map', encode({ v: 1, value: map }))
    const wanted = { ready: true, armed: false, landed: 'ON_GROUND', 'estimator.ok': true, map }
    const { state } = await until(
      () => `a vehicle that is ready; it is ${JSON.stringify(agent.snapshot)}`,
      () => (matches(agent.snapshot, wanted) ? agent.snapshot : undefined),
      PATIENCE_MS.ready,
    )
    flight.ready_s = (performance.now() - start_ms) / 1000
    const place = (away_m: number) => ({
      lat: state['position.lat'] + away_m * north,
      lon: state['position.lon'],
      alt: ALT_M,
    })

    const respond = async (components: readonly Component[], recovers?: string): Promise<Value> => {
      const draft = agent.draft({ components, ...(recovers && { recovers }) })
      const { generation } = draft
      for (const { id: component, type, payload } of components)
        if (type === 'goto') {
          const { lat, lon, alt } = payload as { lat: number; lon: number; alt: number }
          witness.ask({ component, generation, lat, lon, alt, amsl: agent.snapshot!.state['home.amsl'] })
        }
      const withheld = Object.entries(decisions(await agent.verdictOn(encode(draft)))).filter(
        ([, d]) => d !== 'retained',
      )
      expectThat(withheld.length === 0, `withheld: ${withheld.map((w) => w.join(' ')).join(', ')}`)
      return draft
    }
    /** The first phase of these that a component of this response, or a later one, reaches. */
    const reaches = (id: string, phases: RegExp, patience_ms: number, { generation }: Value): Promise<Value> =>
      until(
        () => `${id} to be ${phases.source}; it is ${JSON.stringify(agent.outcomes(id).at(-1))}`,
        () => agent.outcomes(id).find((o) => o.generation >= generation && phases.test(o.phase)),
        patience_ms,
      )

    const range: Component = { id: 'range', type: 'report.range', payload: {} }
    const after: Component = { id: 'after', type: 'status', payload: {}, requires: ['field'] }
    const field = (away_m: number, ...requires: string[]): Component => ({
      id: 'field',
      type: 'goto',
      payload: place(away_m),
      requires,
    })
    const first = await respond([
      { id: 'tell', type: 'notice.operator', payload: { text: 'surveying the north field' } },
      range,
      { id: 'up', type: 'takeoff', payload: { alt: ALT_M }, requires: ['range'] },
      { id: 'aloft', type: 'notice.operator', payload: { text: 'in the air' }, requires: ['up'] },
      { id: 'seen', type: 'status', payload: {}, requires: ['up'] },
      field(20, 'range', 'up'),
      after,
    ])
    await reaches('up', /^dispatched$/, PATIENCE_MS.gate, first)
    await agent.say('context/map', encode({ v: 1, value: map + 1 }))

    const up = await reaches('up', ENDED, PATIENCE_MS.takeoff, first)
    expectThat(up.phase === 'completed', `the take-off ${said(up)}`)
    const blocked = await reaches('field', /^(dispatched|blocked)$/, PATIENCE_MS.gate, first)
    expectThat(said(blocked) === 'blocked changed map', `the goto on the old map was ${said(blocked)}`)
    for (const [id, phase] of [
      ['tell', 'released'],
      ['range', 'released'],
      ['aloft', 'released'],
      ['seen', 'released'],
      ['after', 'blocked'],
    ] as const)
      await reaches(id, new RegExp(`^${phase}$`), PATIENCE_MS.gate, first)

    for (let attempt = 1; ; attempt++) {
      await until(
        'newer evidence of the obligation',
        () =>
          agent.snapshot?.state.map === map + 1 &&
          agent.snapshot.obligations.some((o: Value) => o.component === 'field'),
      )
      const published_ms = performance.now()
      const fresh = await respond([range, field(12, 'range'), after], first.response)
      const flown = await reaches('field', ENDED, PATIENCE_MS.goto, fresh)
      flight.recovery_ms = witness.firstSetpoint_ms === undefined ? undefined : witness.firstSetpoint_ms - published_ms
      if (flown.phase === 'completed') break
      // A stall of this machine ends a lease, as it must (PROTOCOL 8): then its obligation is answered once more.
      expectThat(flown.reason === 'tick_missed' && attempt < RECOVERIES, `the fresh goto ${said(flown)}`)
    }
    expectThat(flight.recovery_ms !== undefined, 'the fresh goto has flown without a setpoint')
    await reaches('after', /^released$/, PATIENCE_MS.gate, first)

    const home_ = await respond([{ id: 'down', type: 'land', payload: {} }])
    const down = await reaches('down', ENDED, PATIENCE_MS.land, home_)
    expectThat(down.phase === 'completed', `the landing ${said(down)}`)
    await until('the autopilot to say that it is disarmed', () => tap.autopilot?.armed === false)
  } finally {
    await agent.end()
  }
}

const ENDED = /^(completed|blocked|failed|expired|superseded|uncertain|withheld)$/

const said = ({ phase, reason, detail }: Value): string => [phase, reason, detail].filter(Boolean).join(' ')

function expectThat(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise)
}

const matches = (
  { state, unknown }: Value = { state: {}, unknown: ['all'] },
  wanted: Readonly<Record<string, unknown>>,
): boolean =>
  unknown.length === 0 &&
  state['gps.fix'] >= 3 &&
  Object.entries(wanted).every(([field, value]) => state[field] === value)

/** Resolves once the autopilot says, and has not said it long ago, that it is disarmed; lands it until then as a ground station. */
export async function grounded(tap: Tap): Promise<void> {
  if (tap.autopilot === undefined) return
  const { heartbeats } = tap
  let landed_ms = -Infinity
  await until(
    'the vehicle to be disarmed: IT MAY STILL BE IN THE AIR',
    () => {
      // The first may have been on its way already.
      if (tap.heartbeats < heartbeats + 2) return false
      if (!tap.autopilot!.armed) return true
      if (performance.now() - landed_ms < LAND_AGAIN_MS) return false
      landed_ms = performance.now()
      tap.land()
      return false
    },
    PATIENCE_MS.grounded,
  )
}
