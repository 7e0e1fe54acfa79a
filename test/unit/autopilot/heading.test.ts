// Every form of every setpoint of both profiles, flown on the double: it goes where the catalog says, and a heading that the
// profile takes is where the nose comes to rest.

import { common, type MavLinkData } from 'node-mavlink'
import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import type { Profile, SetpointName } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { aloft, globalTarget, HOME, local, OFFBOARD } from '../simulator/flight.ts'
import { setpointOf } from './template.ts'

const EAST = 90
const FAR_DEG = 1e-3

/** North, or ahead; never there within the test. */
const PAYLOADS: Readonly<Record<SetpointName, Readonly<Record<string, number>>>> = {
  'position-global': { lat: HOME.lat + FAR_DEG, lon: HOME.lon, alt: 0 },
  'position-local': { north: 111, east: 0, down: -12 },
  'velocity-local': { north: 2, east: 0 },
  'velocity-body': { forward: 2, right: 0, down: 0 },
}

function message(profile: Profile, name: SetpointName, payload: Readonly<Record<string, number>>): MavLinkData {
  const v = setpointOf(profile, name, payload)
  const n = (field: string): number => Number(v[field] ?? 0)
  const nose = { yaw: n('yaw'), yawRate: n('yaw_rate') }
  if (v.lat_int === undefined) {
    const rest = { x: n('x'), y: n('y'), z: n('z'), vx: n('vx'), vy: n('vy'), vz: n('vz') }
    return local(n('coordinate_frame'), n('type_mask'), { ...rest, ...nose })
  }
  const place = [n('lat_int'), n('lon_int')].map(Math.round) as [number, number]
  return Object.assign(globalTarget(...place, n('alt'), n('coordinate_frame'), n('type_mask')), nose)
}

/** Nose and course (deg) after 6 s of the setpoint, and the nose 6 s later. */
function fly(profile: Profile, target: MavLinkData) {
  const autopilot = profile === px4Multirotor ? 'px4' : 'ardupilot'
  const flight = aloft(autopilot)
  flight.stream = target
  if (autopilot === 'px4') {
    flight.run(300)
    if (flight.command(...OFFBOARD) !== 0) throw new Error('offboard refused')
  }
  const nose = (): number => (flight.latest(common.Attitude).yaw * 180) / Math.PI
  flight.run(6_000)
  const { north, east } = flight.seen.velocity
  const first = { nose: nose(), course: (Math.atan2(east, north) * 180) / Math.PI, speed: flight.speed_mps }
  flight.run(6_000)
  return { ...first, later: nose() }
}

const profiles = [px4Multirotor, ardupilotCopter]
const forms = profiles.flatMap((profile) =>
  (Object.keys(PAYLOADS) as SetpointName[]).map((name) => [profile.name, name, profile] as const),
)

describe('what a heading does', () => {
  it.each(forms.filter(([, name, { setpoints }]) => setpoints[name].payload.heading !== undefined))(
    '%s, %s: the nose comes to rest there',
    (_, name, profile) => {
      const { nose, later, course, speed } = fly(profile, message(profile, name, { ...PAYLOADS[name], heading: EAST }))
      expect(nose).toBeCloseTo(EAST, 0)
      expect(later).toBeCloseTo(EAST, 0)
      expect(speed).toBeGreaterThan(1)
      expect(course).toBeCloseTo(name === 'velocity-body' ? EAST : 0, -1)
    },
  )

  it.each(forms)('%s, %s: without one it flies the same way, and the nose stays where it is', (_, name, profile) => {
    const { nose, later, course, speed } = fly(profile, message(profile, name, PAYLOADS[name]))
    expect(speed).toBeGreaterThan(1)
    expect(course).toBeCloseTo(0, -1)
    expect(nose).toBeCloseTo(0, -1) // it looked that way already: ArduPilot flies nose first
    expect(later).toBeCloseTo(0, -1)
  })
})
