// npm run bench:live [-- PART ...] [--quick] [--wire S] [--loop S] [--gates N] [--flood HZ] [--broker URL] [--source] [--json FILE]
//
// What only a running companion shows, on real sockets of loopback: how long an action takes to the wire, how late the tick
// comes, what it costs; and what a million gates leave behind. docs/performance.md says what each figure is.

import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Load, type Loop, loop } from './loop.ts'
import { machine, machineWords } from './machine.ts'
import { Rig, type RigOptions } from './rig.ts'
import { type Soak, soak } from './soak.ts'
import type { Spread } from './spread.ts'
import { type Wire, wire } from './wire.ts'

const PARTS = ['wire', 'loop', 'gates'] as const
type Part = (typeof PARTS)[number]

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    wire: { type: 'string' },
    loop: { type: 'string' },
    gates: { type: 'string' },
    flood: { type: 'string', default: '2000' },
    broker: { type: 'string' },
    source: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
  allowPositionals: true,
})
const unknown = positionals.find((name) => !(PARTS as readonly string[]).includes(name))
if (unknown !== undefined) throw new RangeError(`no part is named ${unknown}: there are ${PARTS.join(', ')}`)
const isWanted = (part: Part): boolean => positionals.length === 0 || positionals.includes(part)

function positive(name: 'wire' | 'loop' | 'gates' | 'flood', otherwise: number): number {
  const value = Number(values[name] ?? otherwise)
  if (!(value > 0)) throw new RangeError(`--${name} must be a number above 0, got ${values[name]}`)
  return value
}
/** Seconds of each half of `wire` and of each load of `loop`. */
const wire_s = positive('wire', values.quick ? 3 : 20)
const loop_s = positive('loop', values.quick ? 2 : 20)
const gates = positive('gates', values.quick ? 20_000 : 1_000_000)
const flood = positive('flood', 2000)

const LOADS: readonly Load[] = [
  { name: 'idle', flood: 0, dense: false },
  { name: 'flood', flood, dense: false },
  { name: 'telemetry', flood: 0, dense: true },
]

const print = (line = ''): void => {
  process.stdout.write(`${line}\n`)
}
const ms = (time_ms: number): string => (Number.isNaN(time_ms) ? '-' : time_ms.toFixed(3))
const MB = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`
const times = (name: string, { count, p50_ms, p99_ms, p999_ms, max_ms }: Spread): void =>
  print(
    name.padEnd(52) + [String(count), ...[p50_ms, p99_ms, p999_ms, max_ms].map(ms)].map((c) => c.padStart(10)).join(''),
  )
const head = (title: string): void =>
  print(
    `\n${title.padEnd(52)}${['samples', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms'].map((c) => c.padStart(10)).join('')}`,
  )

function tellWire({ flood, halo, forwarder, lost, lostByForwarder }: Wire): void {
  const beside = flood > 0 ? `, beside ${flood.toFixed(0)} messages/s` : ''
  times(`HALO${beside}`, halo)
  times(`bare forwarder${beside}`, forwarder)
  const ratio = (of: 'p50_ms' | 'p99_ms'): string => (halo[of] / forwarder[of]).toFixed(2)
  print(`  HALO / forwarder: ${ratio('p50_ms')} at p50, ${ratio('p99_ms')} at p99; lost ${lost} and ${lostByForwarder}`)
}

function tellLoop(measured: Loop): void {
  const { name, late, missed, pauses, spacing, absent, telemetry, flood, cpuShare, resident_bytes, age_s } = measured
  times(`${name}: lateness of the tick`, late)
  for (const [rate, spread] of Object.entries(spacing))
    times(`${name}: setpoints at ${rate} Hz, off their period`, spread)
  for (const [kind, spread] of Object.entries(pauses)) times(`${name}: collector, ${kind}`, spread)
  print(
    `  ${telemetry.toFixed(0)} frames/s of telemetry, ${flood.toFixed(0)} messages/s on the broker: ` +
      `${missed} ticks missed, ${absent} setpoints absent, ${(100 * cpuShare).toFixed(1)} % of a core, ` +
      `${MB(resident_bytes)} resident after ${age_s.toFixed(0)} s`,
  )
}

function tellSoak({ gates, time, heap_bytes, wasm_bytes }: Soak): void {
  times(`${gates} gates on 16 prerequisites`, time)
  print(`  heap ${MB(heap_bytes.before)} before, ${MB(heap_bytes.after)} after`)
  print(`  Wasm memory ${MB(wasm_bytes.before)} before, ${MB(wasm_bytes.after)} after`)
}

async function live(): Promise<object> {
  const options: RigOptions = {
    companion: values.source ? ['--import', 'tsx', 'companion/main.ts'] : ['dist/companion/main.js'],
    ...(values.broker !== undefined && { broker: values.broker }),
  }
  const rig = await Rig.open(options)
  try {
    const { resident_bytes } = await rig.health()
    print(`the companion after its start: ${MB(resident_bytes)} resident`)
    const wires: Wire[] = []
    if (isWanted('wire')) {
      head('agent publishes to first frame on the wire')
      for (const rate of [0, flood]) {
        wires.push(await wire(rig, wire_s, rate))
        tellWire(wires.at(-1)!)
      }
    }
    const loops: Loop[] = []
    if (isWanted('loop')) {
      head('loop of the companion')
      for (const load of LOADS) {
        loops.push(await loop(rig, loop_s, load))
        tellLoop(loops.at(-1)!)
      }
    }
    const refusals = Object.fromEntries(rig.refusals)
    print(`\nrefused, blocked or failed: ${JSON.stringify(refusals)}`)
    return { resident_bytes, wire: wires, loop: loops, refusals }
  } finally {
    await rig.close()
  }
}

print(machineWords)
const measured = {
  machine,
  ...((isWanted('wire') || isWanted('loop')) && (await live())),
  ...(isWanted('gates') && { gates: gatesMeasured() }),
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(measured, undefined, 2)}\n`)

function gatesMeasured(): Soak {
  head('gates in one core')
  const measured = soak(gates)
  tellSoak(measured)
  return measured
}
