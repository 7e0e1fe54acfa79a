// SHA-256 of a binding record of 256 bytes: what admission and the gate spend most of their time on (PROTOCOL 6).

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OUTPUT_AT } from '../build/abi.ts'
import type { Work } from './work.ts'

const BYTES = 256
const ZEROS = '5341e6b2646979a70e57653007a1f310169421ec9bdd9f1a5648f75ade005af1'

export function digest(): Work[] {
  const module = new WebAssembly.Module(readFileSync(new URL('../build/core.wasm', import.meta.url)))
  const core = new WebAssembly.Instance(module).exports as {
    memory: WebAssembly.Memory
    sha256(length: number): void
  }
  const message = new Uint8Array(BYTES) // as the core's input is
  const ours: Work<string> = {
    name: `digest: ${BYTES} bytes in the core`,
    calls: 64,
    run: () => {
      core.sha256(BYTES)
      return ''
    },
    didIt: () => Buffer.from(core.memory.buffer, OUTPUT_AT, 32).toString('hex') === ZEROS,
  }
  const theirs: Work<string> = {
    name: `digest: ${BYTES} bytes by node:crypto`,
    calls: 64,
    run: () => createHash('sha256').update(message).digest('hex'),
    didIt: (hex) => hex === ZEROS,
  }
  return [ours, theirs]
}
