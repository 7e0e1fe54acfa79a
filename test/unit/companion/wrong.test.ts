import { describe, expect, it, test } from 'vitest'
import { findingsOf, wrongFiles } from './wrong.ts'

describe('of a wrong file `halo check` says what its first lines say', () => {
  it.each(wrongFiles.map((file) => [file.name, file] as const))('%s', (_, file) => {
    expect(file.expected.length, 'a file without expectation').toBeGreaterThan(0)
    expect(findingsOf(file)).toEqual(file.expected)
  })
})

test('there are enough of them, with warnings among them', () => {
  expect(wrongFiles.length).toBeGreaterThanOrEqual(60)
  const warned = wrongFiles.filter(({ expected }) => expected.every((said) => said.includes(': warning: ')))
  expect(warned.length).toBeGreaterThanOrEqual(12)
})
