// ArduCopter's modes on the wire. Written down a second time on purpose: the double must not inherit a mistake of our profile.

export const COPTER_MODES = {
  STABILIZE: 0,
  ALT_HOLD: 2,
  AUTO: 3,
  GUIDED: 4,
  LOITER: 5,
  RTL: 6,
  LAND: 9,
  POSHOLD: 16,
  BRAKE: 17,
} as const

export type CopterMode = keyof typeof COPTER_MODES
export const COPTER_MODE_NAMES = Object.keys(COPTER_MODES) as CopterMode[]

/** The mode that DO_SET_MODE's param2 names; undefined where the double has none. */
export const copterModeOf = (custom: number): CopterMode | undefined =>
  COPTER_MODE_NAMES.find((name) => COPTER_MODES[name] === custom)

export const isManual = (mode: CopterMode): boolean => mode === 'STABILIZE' || mode === 'ALT_HOLD'
/** Modes in which the throttle stick says whether it climbs or sinks. */
export const isPiloted = (mode: CopterMode): boolean => isManual(mode) || mode === 'LOITER' || mode === 'POSHOLD'
/** LAND comes down without a position too. */
export const needsGps = (mode: CopterMode): boolean => !isManual(mode) && mode !== 'LAND'
export const armable = (mode: CopterMode): boolean => isPiloted(mode) || mode === 'GUIDED'
