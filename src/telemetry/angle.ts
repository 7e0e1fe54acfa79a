// Directions and longitudes, which begin anew after half a turn.

/** From one direction or longitude to another the short way round, -180 to 180 deg; positive is clockwise, or eastwards. */
export function turn_deg(from: number, to: number): number {
  const turn = (to - from) % 360
  return turn > 180 ? turn - 360 : turn < -180 ? turn + 360 : turn
}
