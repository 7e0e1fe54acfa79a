import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CANDIDATES_MAX, Kind, PREREQUISITES_MAX, Reason } from '../../../build/abi.ts'
import { type Candidate, standing } from '../../../src/core/core.ts'
import { CORE_HASH, loadCore } from '../../../src/core/wasm.ts'
import { batch, candidate, field, image, load, type } from '../../oracle/sketch.ts'

const payload = [{ name: 'text', kind: 'string', optional: false } as const]

test('the hash is that of the file', () => {
  const file = readFileSync(new URL('../../../build/core.wasm', import.meta.url))
  expect(CORE_HASH).toBe(createHash('sha256').update(file).digest('hex'))
  expect(load(loadCore, image([], [])).hash).toBe(CORE_HASH)
})

const offered: readonly (readonly [string, readonly Candidate[], string])[] = [
  ['too many candidates', Array.from({ length: CANDIDATES_MAX + 1 }, () => candidate(0)), 'candidates: at most 256'],
  ['an id too long', [candidate(0, { id: 'ä'.repeat(33) })], 'candidate 0: bytes of the id: at most 64, got 66'],
  ['a payload too long', [candidate(0, { payload: ['x'.repeat(1025)] })], "payload's strings: at most 1024, got 1025"],
  ['a number for a string', [candidate(0, { payload: [1] })], 'payload field text is a string, got a number'],
  ['a field too many', [candidate(0, { payload: ['', 1] })], 'payload fields: at most 1, got 2'],
  ['a type that does not exist', [candidate(1)], 'candidate 0: type must be an integer from 0 to 0, got 1'],
  ['a prerequisite that does not exist', [candidate(0, { requires: [1] })], 'prerequisite 1 is no candidate'],
  [
    'a standing one that does not exist',
    [candidate(0, { requires: [standing(0)] })],
    'prerequisite -2 is no candidate',
  ],
  [
    'too many prerequisites',
    [candidate(0, { requires: Array.from({ length: PREREQUISITES_MAX + 1 }, () => -1) })],
    'prerequisites: at most 64, got 65',
  ],
]
test.each(offered)('G5: %s is a RangeError before the core is touched', (_, candidates, words) => {
  const core = load(loadCore, image([field('f', 1)], [type(Kind.notice, { payload })]))
  const snapshot = core.snapshot(0)
  expect(() => core.admit(batch(snapshot, candidates), 0)).toThrow(words)
  expect(core.poisoned).toBe(false)
  expect(() => core.observe(1, 0, 0)).toThrow('field must be an integer from 0 to 0, got 1')
  expect(() => core.gate(-1, 0, 0, 0)).toThrow('sequence must be an integer')
  expect(core.admit(batch(snapshot, [candidate(0, { payload: ['ok'] })]), 0)[0]!.reason).toBe(Reason.none)
})
