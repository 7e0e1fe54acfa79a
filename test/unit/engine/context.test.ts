import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { goto, range, referenceCatalog, Stage } from './stage.ts'

describe('a context message (PROTOCOL 2, 12)', () => {
  /** The map is unknown until the ground says it. */
  const unknown = (): Stage => {
    const stage = new Stage(core).fly()
    stage.world.delete('map')
    stage.operate('restart').run(1500)
    expect(stage.snapshot.unknown).toContain('map')
    return stage
  }
  const refusals = (stage: Stage): unknown[] => stage.log.filter((l) => l.event === 'context refused')

  it('sets a field, and each change moves its version', () => {
    const stage = unknown().context('map', 7).run(10)
    expect(stage.snapshot.state.map).toBe(7)
    const version = stage.snapshot.versions.map
    stage.context('map', 8).run(1000)
    expect(stage.snapshot.versions.map).toBe(version + 1)
    stage.context('map', 8).run(1000)
    expect(stage.snapshot.versions.map).toBe(version + 1)
  })

  it('retained sets a field only while that is unknown in this session', () => {
    const stage = unknown().context('map', 7, true).run(1000)
    expect(stage.snapshot.state.map).toBe(7)
    stage.context('map', 8, true).run(1000)
    expect(stage.snapshot.state.map).toBe(7)
    expect(refusals(stage)).toEqual([])
  })

  it('retained never refreshes an age, nor brings a stale value back', () => {
    const stage = unknown().context('map', 7, true)
    stage.run(3_590_000, 10_000).context('map', 7, true).run(20_000, 10_000)
    expect(stage.snapshot.unknown).toContain('map')
    stage.context('map', 7, true).run(1000, 100)
    expect(stage.snapshot.unknown).toContain('map')
    stage.context('map', 7).run(1000, 100)
    expect(stage.snapshot.state.map).toBe(7)
  })

  it.each([1.5, '7', true, null, 2 ** 60])('of %s is not an integer and is refused', (value) => {
    const stage = unknown().context('map', value).run(1000)
    expect(stage.snapshot.unknown).toContain('map')
    expect(refusals(stage).length).toBe(1)
  })

  describe('of another type than integer', () => {
    const catalog = referenceCatalog([
      '\nagents:\n',
      `  rain: { from: context, type: boolean, max_age: 1h }
  wind: { from: context, type: number, continuous: true, max_age: 1h }
  weather: { from: context, type: enum, values: [calm, gusty], max_age: 1h }
agents:\n`,
    ])

    it.each([
      ['rain', true],
      ['rain', false],
      ['wind', 4.5],
      ['weather', 'calm'],
      ['weather', 'gusty'],
    ])('%s takes %s', (field, value) => {
      const stage = new Stage(core, { catalog }).context(field, value).run(1000)
      expect(stage.snapshot.state[field]).toBe(value)
    })

    it.each([
      ['rain', 1],
      ['rain', 'true'],
      ['wind', '4.5'],
      ['wind', true],
      ['weather', 'stormy'],
      ['weather', 0],
    ])('%s refuses %s, and says what it takes', (field, value) => {
      const stage = new Stage(core, { catalog }).context(field, value).run(1000)
      expect(stage.snapshot.unknown).toContain(field)
      const takes = { rain: 'boolean', wind: 'number', weather: 'calm | gusty' }[field]
      expect(stage.values('notice').at(-1).text).toBe(`context/${field} refused: must be {v: 1, value: ${takes}}`)
    })
  })

  it('retained is refused where the catalog does not allow it', () => {
    const catalog = referenceCatalog(['max_age: 1h, retained: allowed }', 'max_age: 1h }'])
    const stage = new Stage(core, { catalog }).fly()
    stage.world.delete('map')
    stage.operate('restart').run(1500).context('map', 7, true).run(1000)
    expect(stage.snapshot.unknown).toContain('map')
    expect(refusals(stage).length).toBe(1)
  })

  it.each([
    ['that cannot be read', Uint8Array.of(0xff), 'byte 0: '],
    ['that is too long', new Uint8Array(65_537), 'byte 65536: 65537 bytes, at most 65536'],
    ['of another version', encode({ v: 2, value: 7 }), 'must be {v: 1, value: integer}'],
    ['without a version', encode({ value: 7 }), 'must be {v: 1, value: integer}'],
  ])('%s is refused', (_, bytes, why) => {
    const stage = unknown()
    stage.published.push(...stage.runtime.context('map', bytes, false, stage.now_ms, stage.now_ms))
    stage.run(1000)
    expect(stage.snapshot.unknown).toContain('map')
    expect(stage.values('notice').at(-1).text).toContain(`context/map refused: ${why}`)
  })

  it('sets no field of the autopilot, and none that does not exist', () => {
    const stage = new Stage(core).fly().context('battery.remaining', 100).context('weather', 1).run(1000)
    expect(stage.snapshot.state['battery.remaining']).toBe(90)
    expect(refusals(stage).length).toBe(2)
  })

  it('G4: that changes a watched field ends the lease in the same step', () => {
    const stage = new Stage(core).engage()
    stage.context('map', 99)
    expect(stage.lastPhase('g')).toBe('failed changed')
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('G4: a field that was unknown and returns with the same value has another version', () => {
    const stage = unknown().context('map', 7).run(1500)
    const { snapshot } = stage.snapshot
    stage.set({ map: Number.NaN }).context('map', 7)
    stage.world.delete('map')
    const verdict = stage.say([range, goto('g', 30)], { snapshot })
    expect(verdict.components[1]).toMatchObject({ reason: 'changed', detail: 'map' })
  })
})
