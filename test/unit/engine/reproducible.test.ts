import { describe, expect, it } from 'vitest'
import { fly } from './whole-flight.ts'

describe('G7 reproducible', () => {
  it('the same inputs give the same decisions and frames, byte for byte', () => {
    const first = fly()
    expect(first.frames).toBeGreaterThan(20)
    expect(fly()).toEqual(first)
  })

  it('and other inputs give others', () => {
    expect(fly(40).hash).not.toBe(fly().hash)
  })
})
