// `distance` (PROTOCOL 3): great circle on a sphere, by the haversine formula, which keeps its precision where drones fly.

export const EARTH_RADIUS_M: f64 = 6371008.8

const RADIANS: f64 = 0.017453292519943295
/** Below this angle (rad) the series below are exact to the last bit or two; 0.02 rad are 127 km. */
const SMALL: f64 = 0.02

/** deg; beyond is no place. */
export const LATITUDE_MAX: f64 = 90
export const LONGITUDE_MAX: f64 = 180

/** A turn of any size or the difference of two longitudes, not negative, as the short way round; deg. */
// @ts-ignore: decorator
@inline
export function shortWay(turn: f64): f64 {
  const rest = turn % 360
  return min<f64>(rest, 360 - rest)
}

/** sin(angle / 2)². */
function haversine(angle: f64): f64 {
  const x = angle * 0.5
  if (abs(angle) < SMALL) {
    const q = x * x
    const s = x * (1 - q * (1 / 6.0) * (1 - q * (1 / 20.0) * (1 - q * (1 / 42.0))))
    return s * s
  }
  const s = NativeMath.sin(x)
  return s * s
}

function arcsine(y: f64): f64 {
  if (y >= SMALL * 0.5) return NativeMath.asin(y)
  const q = y * y
  return y * (1 + q * (1 / 6.0 + q * (3 / 40.0 + q * (15 / 336.0 + q * (105 / 3456.0)))))
}

/** The latitude (deg) to which was measured last, and its cosine: what a response measures is mostly from one place. */
let lastLatitude: f64 = NaN
let lastCosine: f64 = NaN

function cosineTo(latitude: f64): f64 {
  if (latitude != lastLatitude) {
    lastLatitude = latitude
    lastCosine = NativeMath.cos(latitude * RADIANS)
  }
  return lastCosine
}

/** Degrees in, metres out. Not finite if an argument is not, or if there is no such place. */
export function distance(lat1: f64, lon1: f64, lat2: f64, lon2: f64): f64 {
  if (max<f64>(abs(lat1), abs(lat2)) > LATITUDE_MAX || max<f64>(abs(lon1), abs(lon2)) > LONGITUDE_MAX) return NaN
  const h =
    haversine((lat2 - lat1) * RADIANS) +
    NativeMath.cos(lat1 * RADIANS) * cosineTo(lat2) * haversine((lon2 - lon1) * RADIANS)
  return 2 * EARTH_RADIUS_M * arcsine(sqrt(min<f64>(1, h)))
}
