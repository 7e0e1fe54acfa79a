import { expect, test } from 'vitest'
import { Kind, Reason, SNAPSHOTS_MAX } from '../../../build/abi.ts'
import { type Core, CorePoisoned } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { batch, candidate, field, image, load, retain, type } from '../../oracle/sketch.ts'

const DISCRETE = 0
const CONTINUOUS = 1
const fresh = () => load(loadCore, image([field('mode', 100, true), field('alt', 100)], [type(Kind.notice)]))

test('G5: a field is unknown, then usable to its maximum age, then stale; a value that is not finite makes it unknown', () => {
  const core = fresh()
  expect(core.read(DISCRETE, 0)).toEqual({ validity: 'unknown', value: Number.NaN, age_ms: Number.NaN, version: 0 })
  core.observe(DISCRETE, 3, 10)
  expect(core.read(DISCRETE, 110)).toEqual({ validity: 'usable', value: 3, age_ms: 100, version: 1 })
  expect(core.read(DISCRETE, 110.5).validity).toBe('stale')
  core.observe(DISCRETE, Number.POSITIVE_INFINITY, 111)
  expect(core.read(DISCRETE, 111).validity).toBe('unknown')
})

test('a version goes up at every change and at every return from unknown or stale, and for discrete fields only', () => {
  const core = fresh()
  const version = (value: number, at_ms: number): number => {
    core.observe(DISCRETE, value, at_ms)
    core.observe(CONTINUOUS, value, at_ms)
    expect(core.read(CONTINUOUS, at_ms).version).toBe(0)
    return core.read(DISCRETE, at_ms).version
  }
  expect(version(1, 0)).toBe(1) // from unknown
  expect(version(1, 100)).toBe(1) // the same, in time
  expect(version(2, 150)).toBe(2) // changed
  expect(version(2, 251)).toBe(3) // from stale
  expect(version(Number.NaN, 252)).toBe(3)
  expect(version(2, 253)).toBe(4) // from unknown
})

test('an observation older than the last one is ignored', () => {
  const core = fresh()
  core.observe(CONTINUOUS, 1, 50)
  core.observe(CONTINUOUS, 2, 49)
  expect(core.read(CONTINUOUS, 60)).toMatchObject({ value: 1, age_ms: 10 })
})

test(`the newest ${SNAPSHOTS_MAX} snapshots are kept, and only those can be cited`, () => {
  const core = fresh()
  for (let i = 1; i <= SNAPSHOTS_MAX + 1; i++) expect(core.snapshot(i)).toBe(i)
  expect(core.taken(1)).toBeUndefined()
  expect(core.taken(2)).toBe(2)
  expect(core.taken(SNAPSHOTS_MAX + 2)).toBeUndefined()
  expect(() => core.admit(batch(1, [candidate(0)]), 300)).toThrow('snapshot 1 is not kept')
  expect(core.admit(batch(2, [candidate(0)]), 300)[0]!.reason).toBe(Reason.none)
})

test('G5: every call that judges the present takes a later now, or traps', () => {
  const calls: readonly ((core: Core) => unknown)[] = [
    (core) => core.read(DISCRETE, 9),
    (core) => core.snapshot(9),
    (core) => core.admit(batch(1, []), 9),
    (core) => core.gate(1, 0, 9, 0),
    (core) => core.rehearse(1, 0, 9),
    (core) => core.frame(1, 0, 0, 9, 0),
    (core) => core.done(1, 0, 9),
  ]
  for (const call of calls) {
    const core = fresh()
    core.snapshot(0)
    retain(core, batch(1, [candidate(0)]), 0)
    core.read(DISCRETE, 10)
    expect(() => call(core), String(call)).toThrow(CorePoisoned)
  }
})

test.each([
  ['goes back', 9],
  ['is not a number', Number.NaN],
  ['is infinite', Number.POSITIVE_INFINITY],
])('G5: a now that %s traps, and a core that trapped is never used again', (_, now_ms) => {
  const core = fresh()
  core.read(DISCRETE, 10)
  expect(core.poisoned).toBe(false)
  expect(() => core.gate(1, 0, now_ms, 0)).toThrow(CorePoisoned)
  expect(core.poisoned).toBe(true)
  expect(() => core.read(DISCRETE, 20)).toThrow(CorePoisoned)
  expect(() => core.snapshot(20)).toThrow(CorePoisoned)
  expect(() => core.admit(batch(1, []), 20)).toThrow(CorePoisoned)
})
