// The live benchmarks run: each part, in short, against a companion as a process. How fast it was is nobody's criterion here.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loop } from '../../bench/loop.ts'
import { Rig } from '../../bench/rig.ts'
import { soak } from '../../bench/soak.ts'
import type { Spread } from '../../bench/spread.ts'
import { wire } from '../../bench/wire.ts'

const isSpread = ({ count, p50_ms, p99_ms, p999_ms, max_ms }: Spread): boolean =>
  count > 0 && p50_ms > 0 && p50_ms <= p99_ms && p99_ms <= p999_ms && p999_ms <= max_ms

describe('what only a running companion shows', () => {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.open({ companion: ['--import', 'tsx', 'companion/main.ts'] })
  })
  afterAll(() => rig?.close())

  it('actions reach the wire, and packets the end of the bare forwarder, beside other traffic', async () => {
    const { halo, forwarder, flood } = await wire(rig, 1, 200)
    expect(halo).toSatisfy(isSpread)
    expect(forwarder).toSatisfy(isSpread)
    expect(flood).toBeGreaterThan(0)
  })

  it('the probe sees the ticks of the companion and what it costs, the relay its setpoints', async () => {
    const seen = await loop(rig, 2, { name: 'telemetry', flood: 0, dense: true })
    expect(seen.late).toSatisfy(isSpread)
    expect(Object.keys(seen.spacing)).toEqual(['10', '20'])
    expect(seen.telemetry).toBeGreaterThan(0)
    expect(seen.cpuShare).toBeGreaterThan(0)
    expect(seen.resident_bytes).toBeGreaterThan(2 ** 20)
    expect(seen.flood).toBe(0)
  })
})

it('gates leave nothing behind in the core', () => {
  const { gates, time, heap_bytes, wasm_bytes } = soak(2_000)
  expect(time).toSatisfy(isSpread)
  expect(time.count).toBe(gates)
  expect(heap_bytes.after).toBeGreaterThan(0)
  expect(wasm_bytes.before).toBeGreaterThan(0)
  expect(wasm_bytes.after).toBe(wasm_bytes.before)
})
