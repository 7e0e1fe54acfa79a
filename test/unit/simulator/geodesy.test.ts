// The flat patch of earth may lie across the antimeridian.

import { expect, test } from 'vitest'
import { placeAt, vectorTo } from '../../../simulator/geodesy.ts'

test.each([179.9999, -179.9999, 180, -180, 8.5])('metres lead there and back around longitude %d', (lon) => {
  const origin = { lat: 47.4, lon, amsl: 500 }
  for (const east of [-50, 0, 50]) {
    const place = placeAt(origin, { north: 10, east, down: -8 })
    expect(Math.abs(place.lon)).toBeLessThanOrEqual(180)
    const back = vectorTo(origin, place)
    expect(back.north).toBeCloseTo(10, 6)
    expect(back.east).toBeCloseTo(east, 6)
    expect(back.down).toBe(-8)
  }
})
