// PX4 v1.16 on a multirotor, as data. Where a field comes from, how often it is asked for and what each frame does was
// measured in flight in the simulator; the reasons stand beside the numbers.

import type {
  ContingencyProfile,
  FrameTemplate,
  Mode,
  Profile,
  ProfileField,
  SetpointProfile,
  Step,
  VerbProfile,
} from './profile.ts'

const DO_SET_MODE = 176
const NAV_TAKEOFF = 22
const COMPONENT_ARM_DISARM = 400

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

// Fields (PROTOCOL 3): a value stays usable for about three periods of its message, never below 300 ms.

const discrete = (name: string, type: 'boolean' | 'integer', maxAge_ms: number): ProfileField => ({
  name,
  type,
  continuous: false,
  maxAge_ms,
})
const continuous = (name: string, unit: string, maxAge_ms: number): ProfileField => ({
  name,
  type: 'number',
  unit,
  continuous: true,
  maxAge_ms,
})
const angle = (name: string, maxAge_ms: number): ProfileField => ({
  ...continuous(name, 'deg', maxAge_ms),
  angle: true,
})

const fields: readonly ProfileField[] = [
  discrete('armed', 'boolean', 3500),
  discrete('ready', 'boolean', 1000),
  discrete('estimator.ok', 'boolean', 500),
  discrete('critical', 'boolean', 3500),
  { name: 'mode', type: 'enum', enumeration: 'mode', continuous: false, maxAge_ms: 1500 },
  { name: 'mode_intended', type: 'enum', enumeration: 'mode', continuous: false, maxAge_ms: 1500 },
  { name: 'landed', type: 'enum', enumeration: 'landed', continuous: false, maxAge_ms: 500 },
  discrete('gps.fix', 'integer', 500),
  discrete('gps.satellites', 'integer', 500),
  continuous('battery.remaining', '%', 1000),
  continuous('battery.voltage', 'V', 1000),
  angle('position.lat', 300),
  angle('position.lon', 300),
  continuous('position.alt', 'm', 300),
  continuous('position.amsl', 'm', 300),
  continuous('position.accuracy', 'm', 500),
  continuous('local.north', 'm', 300),
  continuous('local.east', 'm', 300),
  continuous('local.down', 'm', 300),
  continuous('velocity.north', 'm/s', 300),
  continuous('velocity.east', 'm/s', 300),
  continuous('velocity.down', 'm/s', 300),
  angle('heading', 300),
  angle('home.lat', 3000),
  angle('home.lon', 3000),
  continuous('home.amsl', 'm', 3000),
  continuous('range.down', 'm', 500),
]

// Frames

/** A COMMAND_LONG; parameters that are not given are 0. */
const command = (id: number, params: Readonly<Record<number, number | string>>): FrameTemplate => ({
  message: 'COMMAND_LONG',
  values: {
    ...Object.fromEntries(Object.entries(params).map(([n, value]) => [`param${n}`, value])),
    command: id,
    target_system: 'target.system',
    target_component: 'target.component',
  },
})

const setMode = (mode: keyof typeof PX4_MODES): FrameTemplate =>
  command(DO_SET_MODE, { 1: 1, 2: PX4_MODES[mode].main, 3: PX4_MODES[mode].sub })

const modeStep = (mode: keyof typeof PX4_MODES, awaits_ms: number): Step => ({
  frame: setMode(mode),
  command: DO_SET_MODE,
  shows: { mode },
  awaits_ms,
  changesMode: true,
  arms: false,
})

const armFrame = (armed: boolean): FrameTemplate => command(COMPONENT_ARM_DISARM, { 1: armed ? 1 : 0 })

const armStep = (armed: boolean): Step => ({
  frame: armFrame(armed),
  command: COMPONENT_ARM_DISARM,
  shows: { armed },
  awaits_ms: armed ? 1500 : 0,
  changesMode: false,
  arms: armed,
})

// HOLD is awaited before arming: after a landing PX4 is back in OFFBOARD or TAKEOFF and refuses to arm there. The mode is
// reported twice a second at least.
const holdFirst = modeStep('HOLD', 1000)

// NAV_TAKEOFF is acknowledged even when arming is impossible, and a later arm then takes off; so it comes last.
const takeoffStep: Step = {
  frame: command(NAV_TAKEOFF, {
    1: 'nan',
    2: 'nan',
    3: 'nan',
    4: 'nan',
    5: 'nan',
    6: 'nan',
    7: 'payload.alt + state.home.amsl',
  }),
  command: NAV_TAKEOFF,
  shows: { mode: 'TAKEOFF' },
  awaits_ms: 0,
  changesMode: true,
  arms: false,
}

// Verbs (PROTOCOL 3, Effects)

const verb = (steps: readonly Step[], leads: readonly Mode[], rest: Partial<VerbProfile> = {}): VerbProfile => ({
  steps: () => steps,
  leads,
  endsWithHold: false,
  undo: { ground: [], air: [] },
  payload: [],
  ...rest,
})

const contingency = (mode: 'HOLD' | 'LAND' | 'RETURN'): ContingencyProfile => ({
  frame: setMode(mode),
  command: DO_SET_MODE,
  shows: { mode },
})

// Setpoints: a set bit of the mask says *ignore*. Bits 0-2 position, 3-5 velocity, 6-8 acceleration, 10 yaw, 11 yaw rate.

const POSITION = 0x01f8
const VELOCITY = 0x01c7
const VELOCITY_AND_HEIGHT = 0x01e3
const YAW = 0x0800
const YAW_RATE = 0x0400
const NEITHER = 0x0c00

const FRAME_LOCAL_NED = 1
// Frame 6, relative to home, holds a wrong height in v1.16 (asked 8 m, held 2.7).
const FRAME_GLOBAL_AMSL = 5
const FRAME_BODY_NED = 8

type Has = (payload: string) => boolean

/** Mask and yaw: the nose turns to `heading` (deg) where the payload has one; `without` is the mask's part where not. */
function yaw(has: Has, mask: number | string, without: number): FrameTemplate['values'] {
  if (!has('heading')) return { type_mask: typeof mask === 'number' ? mask + without : `${mask} + ${without}.0` }
  const base = typeof mask === 'number' ? `${mask}.0` : mask
  return {
    type_mask: `${base} + (has(payload.heading) ? ${YAW}.0 : ${without}.0)`,
    yaw: 'has(payload.heading) ? payload.heading * 0.017453292519943295 : 0.0',
  }
}

const target = { target_system: 'target.system', target_component: 'target.component' } as const

const positionGlobal: SetpointProfile = {
  frame: (has) => ({
    message: 'SET_POSITION_TARGET_GLOBAL_INT',
    values: {
      lat_int: 'payload.lat * 10000000.0',
      lon_int: 'payload.lon * 10000000.0',
      alt: 'payload.alt + state.home.amsl',
      ...yaw(has, POSITION, NEITHER),
      ...target,
      coordinate_frame: FRAME_GLOBAL_AMSL,
    },
    position: { lat: 'lat_int', lon: 'lon_int' },
    stamp: 'time_boot_ms',
  }),
  payload: ['lat', 'lon', 'alt'],
}

const positionLocal: SetpointProfile = {
  frame: (has) => ({
    message: 'SET_POSITION_TARGET_LOCAL_NED',
    values: {
      x: 'payload.north',
      y: 'payload.east',
      z: 'payload.down',
      ...yaw(has, POSITION, NEITHER),
      ...target,
      coordinate_frame: FRAME_LOCAL_NED,
    },
    stamp: 'time_boot_ms',
  }),
  payload: ['north', 'east', 'down'],
}

/** Without `down` it keeps the height of its first frame: a vertical speed of zero drifts 3 m in 15 s. */
const velocityLocal: SetpointProfile = {
  frame: (has) => ({
    message: 'SET_POSITION_TARGET_LOCAL_NED',
    values: {
      vx: 'payload.north',
      vy: 'payload.east',
      ...(has('down')
        ? {
            z: 'has(payload.down) ? 0.0 : state.local.down',
            vz: 'has(payload.down) ? payload.down : 0.0',
            ...yaw(has, `(has(payload.down) ? ${VELOCITY}.0 : ${VELOCITY_AND_HEIGHT}.0)`, NEITHER),
          }
        : { z: 'state.local.down', ...yaw(has, VELOCITY_AND_HEIGHT, NEITHER) }),
      ...target,
      coordinate_frame: FRAME_LOCAL_NED,
    },
    stamp: 'time_boot_ms',
  }),
  payload: ['north', 'east'],
}

/** PX4 takes no height in the body frame, so `down` must be given; the yaw rate is held at zero unless there is a heading. */
const velocityBody: SetpointProfile = {
  frame: (has) => ({
    message: 'SET_POSITION_TARGET_LOCAL_NED',
    values: {
      vx: 'payload.forward',
      vy: 'payload.right',
      vz: 'payload.down',
      ...yaw(has, VELOCITY, YAW_RATE),
      ...target,
      coordinate_frame: FRAME_BODY_NED,
    },
    stamp: 'time_boot_ms',
  }),
  payload: ['forward', 'right', 'down'],
}

export const px4Multirotor: Profile = {
  name: 'px4-multirotor',
  autopilot: 12,
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
    // Not every vehicle has a rangefinder, and the target is silent outside of OFFBOARD: asked again, but seldom missed.
    { name: 'DISTANCE_SENSOR', id: 132, interval_us: 100_000, gap_ms: 10_000 },
    { name: 'POSITION_TARGET_GLOBAL_INT', id: 87, interval_us: 500_000, gap_ms: 10_000 },
  ],
  mode(custom_mode) {
    // 0 is MAVLink's "unknown". POSITION has variants in its sub mode; the pilot's manual modes are one to us.
    if (custom_mode === 0) return undefined
    const main = Math.floor(custom_mode / 2 ** 16) % 256
    if (main === 1 || main === 5 || main === 7) return 'MANUAL'
    return modes.get(custom_mode) ?? 'OTHER'
  },
  verbs: {
    hold: verb([modeStep('HOLD', 0)], ['HOLD']),
    takeoff: verb([holdFirst, armStep(true), takeoffStep], ['HOLD', 'TAKEOFF'], {
      undo: { ground: ['disarm', 'hold'], air: ['land'] },
      payload: ['alt'],
    }),
    land: verb([modeStep('LAND', 0)], ['LAND'], { endsWithHold: true }),
    return: verb([modeStep('RETURN', 0)], ['RETURN'], { endsWithHold: true }),
    arm: verb([holdFirst, armStep(true)], ['HOLD'], { undo: { ground: ['disarm'], air: [] } }),
    disarm: verb([armStep(false)], []),
  },
  setpoints: {
    'position-global': positionGlobal,
    'position-local': positionLocal,
    'velocity-local': velocityLocal,
    'velocity-body': velocityBody,
  },
  engagement: { framesBefore: 3, step: modeStep('OFFBOARD', 500), mode: 'OFFBOARD', shown_ms: 500 },
  contingencies: {
    hold: contingency('HOLD'),
    land: contingency('LAND'),
    return: contingency('RETURN'),
    disarm: { frame: armFrame(false), command: COMPONENT_ARM_DISARM, shows: { armed: false } },
  },
  orphaned: 'hold',
}
