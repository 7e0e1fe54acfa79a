// What a field can be: the farthest values that physics, the earth or the unit allow a multirotor. What a message says beyond is
// not a value but a fault of the sensor, of the link or of who speaks, and makes the field unknown (PROTOCOL 2). These are no
// limits of a good flight: those are the catalog's clauses.

/** A range, both ends included, in the field's unit. */
export interface Plausible {
  readonly least: number
  readonly most: number
  readonly why: string
}

const within = (least: number, most: number, why: string): Plausible => ({ least, most, why })
const around = (most: number, why: string): Plausible => within(-most, most, why)

const LATITUDE = around(90, 'from pole to pole')
const LONGITUDE = around(180, 'half way round')
const AMSL = within(-500, 10_000, 'from below the Dead Sea, -430 m, to above Mount Everest, 8,849 m')
const HEIGHT = around(AMSL.most - AMSL.least, 'the difference of two heights above the sea')
const LOCAL = around(200_000, 'farther from its origin a flat frame means nothing')
const SPEED = around(100, 'faster than a multirotor falls or flies')

/** Of every number and integer that a profile has, by the field's name. */
export const PLAUSIBLE: Readonly<Record<string, Plausible>> = {
  'gps.fix': within(0, 8, 'GPS_FIX_TYPE'),
  'gps.satellites': within(0, 100, 'more are never above the horizon'),
  'battery.remaining': within(0, 100, 'per cent'),
  'battery.voltage': within(0, 65, 'above any pack; and the message ends at 65.5'),
  'position.lat': LATITUDE,
  'position.lon': LONGITUDE,
  'position.alt': HEIGHT,
  'position.amsl': AMSL,
  'position.accuracy': within(0, 100_000, 'no error is negative; beyond, nothing is known'),
  'local.north': LOCAL,
  'local.east': LOCAL,
  'local.down': HEIGHT,
  'velocity.north': SPEED,
  'velocity.east': SPEED,
  'velocity.down': SPEED,
  heading: within(0, 360, 'once round'),
  'home.lat': LATITUDE,
  'home.lon': LONGITUDE,
  'home.amsl': AMSL,
  'range.down': within(0, 655, 'the message ends there'),
}

export const isPlausible = (value: number, range: Plausible | undefined): boolean =>
  Number.isFinite(value) && (range === undefined || (value >= range.least && value <= range.most))
