import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { INPUT_AT, OUTPUT_AT } from '../../../build/abi.ts'

test('SHA-256 of the core is that of node:crypto for every length from 0 to 300', () => {
  const module = new WebAssembly.Module(readFileSync(new URL('../../../build/core.wasm', import.meta.url)))
  const core = new WebAssembly.Instance(module).exports as {
    memory: WebAssembly.Memory
    sha256: (length: number) => void
  }
  const bytes = new Uint8Array(core.memory.buffer)
  const message = Uint8Array.from({ length: 300 }, (_, i) => (i * 167 + 13) & 0xff)
  bytes.set(message, INPUT_AT)
  for (let length = 0; length <= 300; length++) {
    core.sha256(length)
    expect(Buffer.from(bytes.subarray(OUTPUT_AT, OUTPUT_AT + 32)).toString('hex'), `length ${length}`).toBe(
      createHash('sha256').update(message.subarray(0, length)).digest('hex'),
    )
  }
})
