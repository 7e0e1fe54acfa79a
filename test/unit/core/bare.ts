// The core's module as it is, without the host's checks before it: for tests of what it refuses by itself.

import { readFileSync } from 'node:fs'
import { INPUT_AT } from '../../../build/abi.ts'

const module = new WebAssembly.Module(readFileSync(new URL('../../../build/core.wasm', import.meta.url)))

/** opcode, index, extra; or the bare f64 that follows a constant. */
export type Word = readonly [op: number, index?: number, extra?: number] | number

export interface Bare {
  /** The exports of assembly/index.ts, by name. */
  readonly core: Readonly<Record<string, (...args: number[]) => number>>
  readonly memory: WebAssembly.Memory
  /** Writes a program to INPUT and returns how many words it has. */
  write(words: readonly Word[]): number
}

export function bare(): Bare {
  const core = new WebAssembly.Instance(module).exports as Bare['core'] & { memory: WebAssembly.Memory }
  const view = new DataView(core.memory.buffer, INPUT_AT)
  return {
    core,
    memory: core.memory,
    write(words) {
      for (const [i, word] of words.entries()) {
        if (typeof word === 'number') view.setFloat64(8 * i, word, true)
        else {
          view.setUint32(8 * i, word[0] | ((word[1] ?? 0) << 16), true)
          view.setUint32(8 * i + 4, word[2] ?? 0, true)
        }
      }
      return words.length
    },
  }
}
