// Preloaded into the companion's own process, `node --import`: how late its tick comes, what the collector takes of its time,
// and what it costs. Plain JavaScript, so that nothing but the companion itself is loaded beside it.
//
// Each message of the parent is answered with what was seen since the one before.

import { PerformanceObserver, performance } from 'node:perf_hooks'

/** No timer of the companion but its tick repeats as often as this. */
const TICK_MS_MAX = 50

let since_ms = performance.now()
let cpu = process.cpuUsage()
let late_ms = []
let missed = 0
let pauses = []

// A repeating timer of Node counts from the beginning of its last call.
const repeat = globalThis.setInterval
globalThis.setInterval = (callback, period_ms, ...args) => {
  if (!(period_ms <= TICK_MS_MAX)) return repeat(callback, period_ms, ...args)
  let due_ms = performance.now() + period_ms
  return repeat(() => {
    const now_ms = performance.now()
    const late = Math.max(0, now_ms - due_ms)
    late_ms.push(late)
    missed += Math.floor(late / period_ms)
    due_ms = now_ms + period_ms
    callback(...args)
  }, period_ms)
}

const KINDS = { 1: 'scavenge', 2: 'minor', 4: 'mark-sweep-compact', 8: 'incremental', 16: 'weak callbacks' }
new PerformanceObserver((list) => {
  for (const { startTime, duration, detail } of list.getEntries()) {
    pauses.push({ at_ms: startTime, kind: KINDS[detail.kind] ?? String(detail.kind), pause_ms: duration })
  }
}).observe({ entryTypes: ['gc'] })

process.on('message', () => {
  const now_ms = performance.now()
  const { user, system } = process.cpuUsage(cpu)
  process.send({
    age_s: now_ms / 1000,
    cpuShare: (user + system) / 1000 / (now_ms - since_ms),
    resident_bytes: process.memoryUsage.rss(),
    late_ms,
    missed,
    pauses,
  })
  since_ms = now_ms
  cpu = process.cpuUsage()
  late_ms = []
  missed = 0
  pauses = []
})

// Nobody is left to stop it.
process.on('disconnect', () => process.exit(1))
