// Publications leave in the order in which they were said, a slice at a time.

import { describe, expect, it } from 'vitest'
import { Outbox, SLICE_MAX } from '../../../companion/outbox.ts'
import type { Publication } from '../../../src/engine/port.ts'

const said = (from: number, count: number): Publication[] =>
  Array.from({ length: count }, (_, i) => ({ topic: 'outcome/planner', retain: false, value: from + i }))
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** An outbox whose next turn comes when the test says so. */
function box(fails: (value: unknown) => boolean = () => false) {
  const out: unknown[] = []
  const turns: (() => void)[] = []
  const outbox = new Outbox(
    ({ value }) => {
      if (fails(value)) throw new Error(`cannot encode ${value}`)
      out.push(value)
    },
    (slice) => turns.push(slice),
  )
  return { outbox, out, turns }
}

describe('outbox', () => {
  it('hands out at once what one slice holds, and waits for no turn', () => {
    const { outbox, out, turns } = box()
    outbox.put(said(0, SLICE_MAX))
    expect(out).toEqual(upTo(SLICE_MAX))
    expect(turns).toEqual([])
  })

  it('leaves the rest of a large step to later turns, a slice in each', () => {
    const { outbox, out, turns } = box()
    outbox.put(said(0, 2 * SLICE_MAX + 1))
    expect(out).toEqual(upTo(SLICE_MAX))
    turns.shift()!()
    expect(out).toEqual(upTo(2 * SLICE_MAX))
    turns.shift()!()
    expect(out).toEqual(upTo(2 * SLICE_MAX + 1))
    expect(turns).toEqual([])
  })

  it('keeps the order when a step comes while another still goes out', () => {
    const { outbox, out, turns } = box()
    outbox.put(said(0, SLICE_MAX + 2))
    outbox.put(said(SLICE_MAX + 2, 3))
    expect(out).toEqual(upTo(SLICE_MAX))
    expect(turns).toHaveLength(1)
    turns.shift()!()
    expect(out).toEqual(upTo(SLICE_MAX + 5))
  })

  it('hands out all that waits before the process ends, and nothing twice', () => {
    const { outbox, out, turns } = box()
    outbox.put(said(0, 3 * SLICE_MAX))
    outbox.flush()
    expect(out).toEqual(upTo(3 * SLICE_MAX))
    turns.shift()!()
    expect(out).toEqual(upTo(3 * SLICE_MAX))
    outbox.put(said(3 * SLICE_MAX, 1))
    expect(out).toEqual(upTo(3 * SLICE_MAX + 1))
  })

  it('loses nothing but what cannot go out, whether that comes in a slice or at the end', () => {
    const { outbox, out, turns } = box((value) => value === 1 || value === 10)
    expect(() => outbox.put(said(0, SLICE_MAX + 6))).toThrow('cannot encode 1')
    outbox.put(said(SLICE_MAX + 6, 1))
    expect(() => turns.shift()!()).toThrow('cannot encode 10')
    expect(() => outbox.flush()).not.toThrow()
    expect(out).toEqual(upTo(SLICE_MAX + 7).filter((value) => value !== 1 && value !== 10))
    turns.shift()!()
    outbox.put(said(100 * SLICE_MAX, 1))
    expect(out.at(-1)).toBe(100 * SLICE_MAX)
  })

  it('lets whoever called hear of what cannot go out', () => {
    const { outbox, turns } = box((value) => value === SLICE_MAX + 1)
    outbox.put(said(0, SLICE_MAX + 2))
    expect(() => turns.shift()!()).toThrow(`cannot encode ${SLICE_MAX + 1}`)
  })
})
