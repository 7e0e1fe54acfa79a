// PX4 v1.16 on a multirotor, as data. Where a field comes from, how often it is asked for and what each frame does was
// measured in flight in the simulator; the reasons stand beside the numbers.

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

/** PX4's `custom_mode` is main << 16 | sub << 24. Only these are set by us or told apart in clauses. */
export const PX4_MODES = {
  MANUAL: { main: 1, sub: 0 },
  ALTITUDE: { main: 2, sub: 0 },
  POSITION: { main: 3, sub: 0 },
  TAKEOFF: { main: 4, sub: 2 },
  HOLD: { main: 4, sub: 3 },
  MISSION: { main: 4, sub: 4 },
  RETURN: { main: 4, sub: 5 },
  LAND: { main: 4, sub: 6 },
  OFFBOARD: { main: 6, sub: 0 },
} as const satisfies Partial<Record<Mode, { main: number; sub: number }>>

const modes = new Map<number, Mode>(
  Object.entries(PX4_MODES).map(([mode, { main, sub }]) => [customMode(main, sub), mode as Mode]),
)

function customMode(main: number, sub: number): number {
  return main * 2 ** 16 + sub * 2 ** 24
}

/** What a `custom_mode` is called. */
function named(custom_mode: number): Mode | undefined {
  // 0 is MAVLink's "unknown". POSITION has variants in its sub mode; the pilot's manual modes are one to us.
  if (custom_mode === 0) return undefined
  const main = Math.floor(custom_mode / 2 ** 16) % 256
  if (main === 1 || main === 5 || main === 7) return 'MANUAL'
  return modes.get(custom_mode) ?? 'OTHER'
}

/** Neither a GPS glitch nor a bad accelerometer. */
const ESTIMATOR_FORBIDS = 1024 | 2048

const fields = profileFields({
  ...SOURCES,
  armed: { from: armed, maxAge_ms: 3500 },
  critical: { from: critical, maxAge_ms: 3500 },
  ready: { from: armable, maxAge_ms: 1000 },
  mode: { from: from('CURRENT_MODE', ['custom_mode'], mode(named)), maxAge_ms: 1500 },
  mode_intended: { from: from('CURRENT_MODE', ['intended_custom_mode'], mode(named)), maxAge_ms: 1500 },
  'estimator.ok': {
    from: from('ESTIMATOR_STATUS', ['flags'], flags(ESTIMATED, ESTIMATOR_FORBIDS)),
    maxAge_ms: 500,
  },
  'position.accuracy': {
    from: from('ESTIMATOR_STATUS', ['pos_horiz_accuracy'], scaled(1)),
    maxAge_ms: 500,
    needs: ['estimator', 'fix'],
  },
})

const { step, contingency } = modeCommands((mode: keyof typeof PX4_MODES) => ({
  1: 1,
  2: PX4_MODES[mode].main,
  3: PX4_MODES[mode].sub,
}))

// HOLD is awaited before arming: after a landing PX4 is back in OFFBOARD or TAKEOFF and refuses to arm there. The mode is
// reported twice a second at least.
const holdFirst = step('HOLD', 1000)

// NAV_TAKEOFF is acknowledged even when arming is impossible, and a later arm then takes off; so it comes last.
const takeoff = takeoffStep(
  { 1: 'nan', 2: 'nan', 3: 'nan', 4: 'nan', 5: 'nan', 6: 'nan', 7: 'payload.alt + state.home.amsl' },
  { mode: 'TAKEOFF' },
)

const VELOCITY_AND_HEIGHT = 0x01e3

/** Without `down` it keeps the height of its first frame: a vertical speed of zero drifts 3 m in 15 s. */
const velocityLocal: Omit<SetpointProfile, 'kept'> = {
  frame: (has) =>
    local(FRAME_LOCAL_NED, {
      vx: 'payload.north',
      vy: 'payload.east',
      ...(has('down')
        ? {
            z: 'has(payload.down) ? 0.0 : state.local.down',
            vz: 'has(payload.down) ? payload.down : 0.0',
            ...yaw(has, `(has(payload.down) ? ${VELOCITY}.0 : ${VELOCITY_AND_HEIGHT}.0)`, NEITHER),
          }
        : { z: 'state.local.down', ...yaw(has, VELOCITY_AND_HEIGHT, NEITHER) }),
    }),
  payload: { north: SPEED, east: SPEED, down: { ...SPEED, optional: true }, heading: HEADING },
}

/** A bit of COM_RC_OVERRIDE. */
const OVERRIDE_IN_OFFBOARD = 2

/** PX4 leaves OFFBOARD when the stream ends. */
const kept = false

export const px4Multirotor: Profile = {
  name: 'px4-multirotor',
  autopilot: 12,
  types: MULTIROTORS,
  fields,
  // The gap is about four times the longest silence that the rate explains. The interval of HEARTBEAT is refused.
  messages: [
    { name: 'HEARTBEAT', id: 0, interval_us: undefined, gap_ms: 3500 },
    { name: 'CURRENT_MODE', id: 436, interval_us: 20_000, gap_ms: 1200 },
    { name: 'EXTENDED_SYS_STATE', id: 245, interval_us: 50_000, gap_ms: 250 },
    { name: 'SYS_STATUS', id: 1, interval_us: 100_000, gap_ms: 500 },
    { name: 'GPS_RAW_INT', id: 24, interval_us: 125_000, gap_ms: 500 },
    { name: 'ESTIMATOR_STATUS', id: 230, interval_us: 100_000, gap_ms: 500 },
    { name: 'GLOBAL_POSITION_INT', id: 33, interval_us: 50_000, gap_ms: 250 },
    { name: 'LOCAL_POSITION_NED', id: 32, interval_us: 50_000, gap_ms: 250 },
    { name: 'HOME_POSITION', id: 242, interval_us: 500_000, gap_ms: 2000 },
    // Not every vehicle has a rangefinder, and the targets have their modes: asked again, but seldom missed.
    { name: 'DISTANCE_SENSOR', id: 132, interval_us: 100_000, gap_ms: 10_000 },
    { name: 'POSITION_TARGET_GLOBAL_INT', id: 87, interval_us: 500_000, gap_ms: 10_000 },
    { name: 'POSITION_TARGET_LOCAL_NED', id: 85, interval_us: 200_000, gap_ms: 10_000 },
  ],
  // In OFFBOARD the one on the globe is silent.
  targets: { local: 'place' },
  mode: named,
  verbs: {
    hold: verb([step('HOLD', 0)], ['HOLD']),
    takeoff: verb([holdFirst, armStep(true), takeoff], ['HOLD', 'TAKEOFF'], {
      undo: { ground: ['disarm', 'hold'], air: ['land'] },
      payload: { alt: ALTITUDE },
    }),
    land: verb([step('LAND', 0)], ['LAND'], { endsWithHold: true }),
    return: verb([step('RETURN', 0)], ['RETURN'], { endsWithHold: true }),
    arm: verb([holdFirst, armStep(true)], ['HOLD'], { undo: { ground: ['disarm'], air: [] } }),
    disarm: verb([armStep(false)], []),
  },
  setpoints: {
    'position-global': { ...positionGlobal, kept },
    'position-local': { ...positionLocal, kept },
    'velocity-local': { ...velocityLocal, kept },
    'velocity-body': { ...velocityBody, kept },
  },
  engagement: { framesBefore: 3, step: step('OFFBOARD', 500), mode: 'OFFBOARD', shown_ms: 500 },
  contingencies: {
    hold: contingency('HOLD'),
    land: contingency('LAND'),
    return: contingency('RETURN'),
    disarm: disarming,
  },
  integersAsBits: true,
  parameters: [
    guard('COM_OF_LOSS_T', 'how long OFFBOARD outlives its stream, s', timeout),
    guard('COM_OBL_RC_ACT', 'what follows a lost OFFBOARD stream', (value) =>
      value === 5 ? undefined : 'set it to 5 (hold): with a stick down, the others may descend or fly away',
    ),
    guard('COM_RC_OVERRIDE', 'whether the sticks take over', (value) =>
      (value & OVERRIDE_IN_OFFBOARD) !== 0 ? undefined : `set it to ${value | OVERRIDE_IN_OFFBOARD} (also in Offboard)`,
    ),
    speedLimit({ MPC_XY_VEL_MAX: 1 }),
    failsafe('COM_LOW_BAT_ACT', 'what a low battery does', [0], 'set it to 2 (land) or 3 (return, then land)'),
    failsafe('GF_ACTION', 'what leaving the geofence does', [0, 1], 'set it to 2 (hold) or 3 (return)'),
    failsafe('NAV_RCL_ACT', 'what a lost remote control does', [0], 'set it to 1 (hold), 2 (return) or 3 (land)'),
    failsafe('NAV_DLL_ACT', 'what a lost ground station does', [0], 'set it to 1 (hold), 2 (return) or 3 (land)'),
  ],
  orphaned: 'hold',
}
