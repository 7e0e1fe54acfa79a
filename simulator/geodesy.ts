// The flat patch of earth on which the simulated vehicle flies: metres north and east of an origin.

/** A place on earth: degrees, and metres above mean sea level. */
export interface Place {
  readonly lat: number
  readonly lon: number
  readonly amsl: number
}

/** Metres; `down` is positive towards the ground. */
export interface Vector {
  readonly north: number
  readonly east: number
  readonly down: number
}

const METRES_PER_DEGREE = (6_371_000 * Math.PI) / 180

/** A longitude, or the difference of two, within half a turn: what is beyond the antimeridian is on its other side. */
const onGlobe = (deg: number): number => (deg > 180 ? deg - 360 : deg < -180 ? deg + 360 : deg)

export function vectorTo(origin: Place, place: Place): Vector {
  return {
    north: (place.lat - origin.lat) * METRES_PER_DEGREE,
    east: onGlobe(place.lon - origin.lon) * METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180),
    down: origin.amsl - place.amsl,
  }
}

export function placeAt(origin: Place, vector: Vector): Place {
  return {
    lat: origin.lat + vector.north / METRES_PER_DEGREE,
    lon: onGlobe(origin.lon + vector.east / (METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180))),
    amsl: origin.amsl - vector.down,
  }
}
