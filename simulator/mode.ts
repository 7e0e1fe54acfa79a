// PX4's modes on the wire. Written down a second time on purpose: the double must not inherit a mistake of our profile.

export const PX4_MODES = {
  MANUAL: { main: 1, sub: 0, standard: 0 },
  ALTITUDE: { main: 2, sub: 0, standard: 4 },
  POSITION: { main: 3, sub: 0, standard: 1 },
  TAKEOFF: { main: 4, sub: 2, standard: 8 },
  HOLD: { main: 4, sub: 3, standard: 0 },
  MISSION: { main: 4, sub: 4, standard: 6 },
  RETURN: { main: 4, sub: 5, standard: 5 },
  LAND: { main: 4, sub: 6, standard: 7 },
  OFFBOARD: { main: 6, sub: 0, standard: 0 },
} as const

export type Px4Mode = keyof typeof PX4_MODES
export const PX4_MODE_NAMES = Object.keys(PX4_MODES) as Px4Mode[]

export function customMode(mode: Px4Mode): number {
  const { main, sub } = PX4_MODES[mode]
  return ((main << 16) | (sub << 24)) >>> 0
}

/** The mode that DO_SET_MODE's param2 and param3 name; undefined where PX4 has none. */
export function modeOf(main: number, sub: number): Px4Mode | undefined {
  return PX4_MODE_NAMES.find((name) => PX4_MODES[name].main === main && (main !== 4 || PX4_MODES[name].sub === sub))
}

export const isAuto = (mode: Px4Mode): boolean => PX4_MODES[mode].main === 4
export const isLanding = (mode: Px4Mode): boolean => mode === 'LAND' || mode === 'RETURN'
export const needsPosition = (mode: Px4Mode): boolean => mode !== 'LAND' && mode !== 'ALTITUDE' && mode !== 'MANUAL'
