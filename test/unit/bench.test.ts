// A benchmark of something that was refused would be a fast one: here each does its work once, untimed.

import { describe, expect, it } from 'vitest'
import { legs } from '../../bench/core.ts'
import { figures } from '../../bench/figures.ts'
import { sortie } from '../../bench/sortie.ts'
import { head, row } from '../../bench/table.ts'
import { type Measured, once, type Work } from '../../bench/work.ts'

const prerequisites = (of: readonly { readonly requires?: readonly unknown[] }[]): number =>
  of.reduce((sum, { requires }) => sum + (requires?.length ?? 0), 0)

describe('what the benchmarks measure is what their names say', () => {
  it.each([32, 256])('the sortie and the legs of %i components have twice as many prerequisites', (n) => {
    expect(sortie(n)).toHaveLength(n)
    expect(prerequisites(sortie(n))).toBe(2 * n)
    expect(legs(n, 2 * n)).toHaveLength(n)
    expect(prerequisites(legs(n, 2 * n))).toBe(2 * n)
  })

  it.each(Object.entries(figures))('%s: every work does it, and again', (_, works) => {
    for (const work of works()) {
      once(work)
      once(work)
    }
  })

  it('a work that does not do it throws', () => {
    const idle: Work<boolean> = { name: 'idle', run: () => false, didIt: (did) => did }
    expect(() => once(idle)).toThrow('idle: the work did not do what its name says')
  })

  it('no two have the same name', () => {
    const names = Object.values(figures).flatMap((works) => works().map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the table', () => {
  const slowest: Measured = {
    name: 'x',
    unit: 'ms',
    p50: 99,
    p99: 99,
    p999: 99,
    max: 999,
    samples: 999_999,
    batch: 64,
    timer: 0,
    paper: 9,
    target: 9,
  }
  it('is at most 160 columns wide, whatever it says', () => {
    for (const works of Object.values(figures)) {
      for (const { name } of works()) expect(row({ ...slowest, name }).length, name).toBeLessThanOrEqual(160)
    }
    expect(head().length).toBeLessThanOrEqual(160)
  })
})
