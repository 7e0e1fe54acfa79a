// Many gates in one core: what is left of them in memory, and how long the longest took. The work is that of `gate.ts`.

import { performance } from 'node:perf_hooks'
import { gate } from './gate.ts'
import { heap } from './heap.ts'
import { type Spread, Times } from './spread.ts'

export interface Soak {
  readonly gates: number
  readonly time: Spread
  readonly heap_bytes: Sides
  readonly wasm_bytes: Sides
}

interface Sides {
  readonly before: number
  readonly after: number
}

/** Gates before the first look at the memory: whatever is made once has been made. */
const WARM = 20_000

export function soak(gates: number): Soak {
  const [work, memory] = withMemory(() => gate()[0]!)
  const time = new Times()
  const turn = (times: Times): void => {
    work.before?.()
    const start_ms = performance.now()
    const verdict = work.run()
    const elapsed_ms = performance.now() - start_ms
    if (!work.didIt(verdict)) throw new Error(`${work.name}: the work did not do what its name says`)
    work.after?.()
    times.add(elapsed_ms)
  }
  const warming = new Times()
  for (let i = 0; i < Math.min(WARM, gates); i++) turn(warming)
  const before = { heap: heap(), wasm: memory.buffer.byteLength }
  for (let i = 0; i < gates; i++) turn(time)
  return {
    gates,
    time: time.spread,
    heap_bytes: { before: before.heap, after: heap() },
    wasm_bytes: { before: before.wasm, after: memory.buffer.byteLength },
  }
}

/** Nobody but the core's own file sees its memory: it is caught as the first core is made. */
function withMemory<T>(make: () => T): [T, WebAssembly.Memory] {
  const { Instance } = WebAssembly
  let memory: WebAssembly.Memory | undefined
  WebAssembly.Instance = class extends Instance {
    constructor(module: WebAssembly.Module, imports?: WebAssembly.Imports) {
      super(module, imports)
      memory ??= this.exports.memory as WebAssembly.Memory
    }
  }
  try {
    const made = make()
    if (memory === undefined) throw new Error('no core was made')
    return [made, memory]
  } finally {
    WebAssembly.Instance = Instance
  }
}
