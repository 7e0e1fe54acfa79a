// `distance` of the core beside the closed formulas (PROTOCOL 3).

import { expect, test } from 'vitest'
import { Kind, PREDICATES_MAX } from '../../../build/abi.ts'
import type { Expression } from '../../../src/core/expression.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { evaluate, type Scene } from '../../oracle/clause.ts'
import { oracle } from '../../oracle/oracle.ts'
import { batch, both, candidate, dice, image, load, num, retain, type } from '../../oracle/sketch.ts'

const NOWHERE: Scene = { now_ms: 0, now: [], cited: [], payload: [], elapsed_ms: Number.NaN, target: undefined }

test('distance agrees with the spherical law where that is exact, from centimetres to half way round', () => {
  const metres = (lat1: number, lon1: number, lat2: number, lon2: number): number => {
    const core = load(
      loadCore,
      image(
        [],
        [
          type(Kind.command, {
            frames: [
              {
                message: 1,
                length: 4,
                stamp: -1,
                sends: 1,
                entries: [
                  {
                    offset: 0,
                    format: 'u32',
                    value: both('mul', num(100), {
                      op: 'distance',
                      args: [num(lat1), num(lon1), num(lat2), num(lon2)],
                    }),
                  },
                ],
              },
            ],
          }),
        ],
      ),
    )
    const [sequence] = retain(core, batch(core.snapshot(0), [candidate(0)]), 0)
    const gate = core.gate(sequence!, 0, 0, 0)
    if (gate.decision !== 'allow') throw new Error('no frame')
    return Buffer.from(gate.frame!.payload).readUInt32LE() / 100
  }
  const degree = (6371008.8 * Math.PI) / 180
  expect(metres(47, 8, 47.000001, 8)).toBeCloseTo(degree * 1e-6, 2)
  expect(metres(0, 0, 0, 1)).toBeCloseTo(degree, 1)
  expect(metres(0, 0, 1.2, 0)).toBeCloseTo(1.2 * degree, 1)
  expect(metres(10, 179.9999, 10, -179.9999)).toBeCloseTo(2e-4 * degree * Math.cos((10 * Math.PI) / 180), 1)
  expect(metres(0, 0, 0, 180)).toBeCloseTo(180 * degree, 1)
})

test("distance is the oracle's haversine formula to the last bits, from millimetres to a quarter of the way round", () => {
  const roll = dice(20)
  const between = (low: number, high: number): number => low + ((high - low) * roll(2 ** 32)) / 2 ** 32
  const pairs = Array.from({ length: PREDICATES_MAX }, (): Expression => {
    const reach = 10 ** between(-8, 1.6)
    const off = (): number => between(-reach, reach)
    const [lat, lon] = [between(-45, 45), between(-140, 140)]
    return { op: 'distance', args: [num(lat), num(lon), num(lat + off()), num(lon + off())] }
  })
  const predicates = pairs.map((pair) => {
    const expected = evaluate(pair, NOWHERE)
    const off: Expression = { op: 'abs', args: [both('sub', pair, num(expected))] }
    return { name: 'close', type: undefined, expression: both('le', off, num(expected * 2e-15)) }
  })
  const core = load(loadCore, { ...image([], []), predicates })
  expect(pairs.filter((_, i) => core.predicate(i, 0, 0) !== true)).toEqual([])
})

test('G5: from or to a place that there is not, no distance is finite: whatever is asked of it does not hold', () => {
  const asked = (place: readonly [number, number, number, number], op: 'ge' | 'lt'): Expression =>
    both(op, { op: 'distance', args: [num(place[0]), num(place[1]), num(place[2]), num(place[3])] }, num(1000))
  const nowhere = [
    [132.6, 8.5, 47.4, 8.5],
    [47.4, 8.5, 132.6, 8.5],
    [-90.1, 8.5, 47.4, 8.5],
    [47.4, 180.1, 47.4, -179.9],
    [47.4, 8.5, 47.4, -180.1],
    [47.4, 368.5, 47.4, 8.5],
  ] as const
  const somewhere = [
    [90, 180, -90, -180],
    [47.4, 180, 47.4, -180],
  ] as const
  const predicates = [...nowhere, ...somewhere].flatMap((place) =>
    (['ge', 'lt'] as const).map((op) => ({ name: 'asked', type: undefined, expression: asked(place, op) })),
  )
  for (const make of [loadCore, oracle]) {
    const core = load(make, { ...image([], []), predicates })
    const said = predicates.map((_, i) => core.predicate(i, 0, 0))
    expect(said.slice(0, 2 * nowhere.length)).toEqual(nowhere.flatMap(() => [undefined, undefined]))
    expect(said.slice(2 * nowhere.length)).toEqual([true, false, false, true])
  }
})
