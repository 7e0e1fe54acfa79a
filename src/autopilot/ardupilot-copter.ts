// ArduCopter 4.7 as data, beside px4-multirotor.ts. Where a field comes from, how often it is asked for and what each frame
// does was measured in flight in the simulator but where a comment says otherwise.
//
// What differs from PX4: a position target is flown to for ever, so silence stops nothing and every setpoint ends with BRAKE;
// there is one mode, not an intended one beside it; a take-off happens inside GUIDED, and a setpoint would cancel it without
// a word, which only the resource that the take-off holds prevents.

import { armStep, disarming, modeCommands, takeoffStep, verb } from './command.ts'
import { armable, armed, critical, ESTIMATED, flags, from, mode, profileFields, SOURCES, scaled } from './field.ts'
import { failsafe, guard, speedLimit, timeout } from './parameter.ts'
import type { Mode, Profile, SetpointProfile } from './profile.ts'
import {
  ALTITUDE,
  FRAME_LOCAL_NED,
  HEADING,
  local,
  NEITHER,
  positionGlobal,
  positionLocal,
  SPEED,
  VELOCITY,
  velocityBody,
  yaw,
} from './setpoint.ts'
import { MULTIROTORS } from './vehicle-type.ts'

/**
 * ArduCopter's `custom_mode`. A mode that we set has one number, so that no other may pass as ours: SMART_RTL (21) and
 * AUTO_RTL (27) are the pilot's or a failsafe's, and OTHER. What is not in the table is OTHER.
 */
export const ARDUPILOT_MODES = {
  STABILIZE: { number: 0, mode: 'MANUAL' },
  ACRO: { number: 1, mode: 'MANUAL' },
  ALT_HOLD: { number: 2, mode: 'ALTITUDE' },
  AUTO: { number: 3, mode: 'MISSION' },
  GUIDED: { number: 4, mode: 'OFFBOARD' },
  // With the throttle stick down, or without RC, LOITER and POSHOLD sink to the ground: a hold of the pilot's, not ours.
  LOITER: { number: 5, mode: 'POSITION' },
  RTL: { number: 6, mode: 'RETURN' },
  LAND: { number: 9, mode: 'LAND' },
  SPORT: { number: 13, mode: 'MANUAL' },
  POSHOLD: { number: 16, mode: 'POSITION' },
  BRAKE: { number: 17, mode: 'HOLD' },
} as const satisfies Readonly<Record<string, { number: number; mode: Mode }>>

const modes = new Map<number, Mode>(Object.values(ARDUPILOT_MODES).map(({ number, mode: name }) => [number, name]))

const named = (custom_mode: number): Mode => modes.get(custom_mode) ?? 'OTHER'

/** Constant position (it knows no position and holds on to one), not initialised, a GPS glitch. */
const ESTIMATOR_FORBIDS = 128 | 1024 | 32768
const heartbeatMode = from('HEARTBEAT', ['custom_mode'], mode(named))

const fields = profileFields({
  ...SOURCES,
  armed: { from: armed, maxAge_ms: 1000 },
  critical: { from: critical, maxAge_ms: 1000 },
  mode: { from: heartbeatMode, maxAge_ms: 1000 },
  mode_intended: { from: heartbeatMode, maxAge_ms: 1000 },
  // In the mode that it starts in, ArduPilot sets the bit 20 s before it knows where it is. GUIDED needs a position to arm:
  // so the bit counts with the estimate. The mode is not asked for, since a take-off sets it first.
  ready: { from: armable, maxAge_ms: 1000, needs: ['estimator', 'fix'] },
  'estimator.ok': {
    from: from('EKF_STATUS_REPORT', ['flags'], flags(ESTIMATED, ESTIMATOR_FORBIDS)),
    maxAge_ms: 500,
  },
  // ArduPilot tells of the GPS only when that has news: 5 Hz, and once a second without one.
  'gps.fix': { ...SOURCES['gps.fix'], maxAge_ms: 1000 },
  'gps.satellites': { ...SOURCES['gps.satellites'], maxAge_ms: 1000 },
  // Its estimator reports no metres; these are the receiver's own. 0 is not known.
  'position.accuracy': {
    from: from('GPS_RAW_INT', ['h_acc'], scaled(1e3, 0)),
    maxAge_ms: 1000,
    needs: ['estimator', 'fix'],
  },
})

const MODE_NUMBERS = { HOLD: 'BRAKE', RETURN: 'RTL', LAND: 'LAND', OFFBOARD: 'GUIDED' } as const

const { step, contingency } = modeCommands((name: keyof typeof MODE_NUMBERS) => ({
  1: 1,
  2: ARDUPILOT_MODES[MODE_NUMBERS[name]].number,
}))

const guidedFirst = step('OFFBOARD', 1000)

// The altitude is above home. Refused unless armed, landed and in GUIDED. Nothing shows that it has begun before the motors
// have spun up, so without an ACK it has failed.
const takeoff = takeoffStep({ 7: 'payload.alt' }, undefined)

/** A vertical speed of zero holds the height; 0x0DE3, which would name one, means *stop* here. */
const velocityLocal: Omit<SetpointProfile, 'kept'> = {
  frame: (has) =>
    local(FRAME_LOCAL_NED, {
      vx: 'payload.north',
      vy: 'payload.east',
      vz: has('down') ? 'has(payload.down) ? payload.down : 0.0' : 0,
      ...yaw(has, VELOCITY, NEITHER),
    }),
  payload: { north: SPEED, east: SPEED, down: { ...SPEED, optional: true }, heading: HEADING },
}

/** In the body frame ArduCopter adds the yaw of every frame to where the nose is: 90 deg turn at 59 deg/s without end. */
const NO_HEADING =
  'in the body frame ArduPilot takes it as relative to the nose, at every frame anew, and turns without end: ' +
  'leave it out, or use velocity-local'
const { heading: _, ...bodyArguments } = velocityBody.payload

export const ardupilotCopter: Profile = {
  name: 'ardupilot-copter',
  autopilot: 3,
  types: MULTIROTORS,
  fields,
  // The gap is about four times the longest silence that the rate explains.
  messages: [
    { name: 'HEARTBEAT', id: 0, interval_us: 200_000, gap_ms: 1000 },
    { name: 'EXTENDED_SYS_STATE', id: 245, interval_us: 50_000, gap_ms: 250 },
    { name: 'SYS_STATUS', id: 1, interval_us: 100_000, gap_ms: 500 },
    { name: 'GPS_RAW_INT', id: 24, interval_us: 100_000, gap_ms: 4000 },
    { name: 'EKF_STATUS_REPORT', id: 193, interval_us: 100_000, gap_ms: 500 },
    { name: 'GLOBAL_POSITION_INT', id: 33, interval_us: 50_000, gap_ms: 250 },
    // Silent until there is a position.
    { name: 'LOCAL_POSITION_NED', id: 32, interval_us: 50_000, gap_ms: 250 },
    { name: 'HOME_POSITION', id: 242, interval_us: 500_000, gap_ms: 2000 },
    // Not every vehicle has a rangefinder, and the targets are silent outside of GUIDED: asked again, but seldom missed.
    { name: 'DISTANCE_SENSOR', id: 132, interval_us: 100_000, gap_ms: 10_000 },
    { name: 'POSITION_TARGET_GLOBAL_INT', id: 87, interval_us: 200_000, gap_ms: 10_000 },
    { name: 'POSITION_TARGET_LOCAL_NED', id: 85, interval_us: 200_000, gap_ms: 10_000 },
  ],
  // Places are told on the globe; the local message also names one during a take-off, which is no target.
  targets: { local: 'velocity' },
  mode: named,
  verbs: {
    hold: verb([step('HOLD', 0)], ['HOLD']),
    takeoff: verb([guidedFirst, armStep(true), takeoff], ['OFFBOARD'], {
      undo: { ground: ['disarm'], air: ['land'] },
      payload: { alt: ALTITUDE },
    }),
    // Disarmed, both stay in their mode, and the next take-off sets GUIDED out of it.
    land: verb([step('LAND', 0)], ['LAND']),
    return: verb([step('RETURN', 0)], ['RETURN']),
    arm: verb([guidedFirst, armStep(true)], ['OFFBOARD'], { undo: { ground: ['disarm'], air: [] } }),
    disarm: verb([armStep(false)], []),
  },
  setpoints: {
    'position-global': { ...positionGlobal, kept: true },
    'position-local': { ...positionLocal, kept: true },
    // A velocity stops by itself, but GUID_TIMEOUT (3 s) later and 12 m further on at 3 m/s.
    'velocity-local': { ...velocityLocal, kept: false },
    // A heading with a velocity in frame 1 is absolute (flown on 4.7).
    'velocity-body': { ...velocityBody, payload: bodyArguments, refuses: { heading: NO_HEADING }, kept: false },
  },
  // Setpoints outside of GUIDED are ignored: one has left before the mode command, the next is flown.
  engagement: { framesBefore: 1, step: step('OFFBOARD', 500), mode: 'OFFBOARD', shown_ms: 500 },
  contingencies: {
    hold: contingency('HOLD'),
    land: contingency('LAND'),
    return: contingency('RETURN'),
    disarm: disarming,
  },
  integersAsBits: false,
  parameters: [
    guard('GUID_TIMEOUT', 'how long a velocity outlives its stream, s', timeout),
    // In GUIDED the sticks move nothing: the pilot takes over with the mode switch.
    guard('FLTMODE_CH', 'the channel of the pilot’s mode switch', (value) =>
      value !== 0 ? undefined : 'set it to the channel of a switch, 5 by default: the pilot could not take over',
    ),
    // m/s since 4.7, cm/s before.
    speedLimit({ WP_SPD: 1, WPNAV_SPEED: 100 }),
    failsafe('FENCE_ENABLE', 'whether there is a fence', [0], 'set it to 1'),
    failsafe('FENCE_ACTION', 'what leaving the fence does', [0], 'set it to 1 (RTL or land) or 4 (brake or land)'),
    failsafe('FS_THR_ENABLE', 'what a lost remote control does', [0], 'set it to 1 (RTL)'),
    failsafe('FS_GCS_ENABLE', 'what a lost ground station does', [0], 'set it to 1 (RTL)'),
    failsafe('FS_EKF_ACTION', 'what a lost position does', [0], 'set it to 1 (land)'),
    failsafe('BATT_FS_LOW_ACT', 'what a low battery does', [0], 'set it to 1 (land) or 2 (RTL)'),
  ],
  orphaned: 'hold',
}
