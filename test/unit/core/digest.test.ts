import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { INPUT_AT, OUTPUT_AT } from '../../../build/abi.ts'
import { bare } from './bare.ts'

test('SHA-256 of the core is that of node:crypto for every length from 0 to 300', () => {
  const { core, memory } = bare()
  const bytes = new Uint8Array(memory.buffer)
  const message = Uint8Array.from({ length: 300 }, (_, i) => (i * 167 + 13) & 0xff)
  bytes.set(message, INPUT_AT)
  for (let length = 0; length <= 300; length++) {
    core.sha256!(length)
    expect(Buffer.from(bytes.subarray(OUTPUT_AT, OUTPUT_AT + 32)).toString('hex'), `length ${length}`).toBe(
      createHash('sha256').update(message.subarray(0, length)).digest('hex'),
    )
  }
})
