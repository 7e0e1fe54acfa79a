// `max_speed` bounds every velocity that leaves: its length, not its components one by one (PROTOCOL 5, 7).

import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { cores } from '../../oracle/cores.ts'
import { Stage } from '../engine/stage.ts'

const catalog = (vehicle: string, setpoint: string, names: readonly string[], maxSpeed?: number, most = 5) => {
  const fields = names.map(
    (name) =>
      `${name.replace('?', '')}: { type: number, min: -${most}, max: ${most}, optional: ${name.endsWith('?')} }`,
  )
  const text = `
catalog: 1
vehicle: ${vehicle}
state: { map: { from: context, type: integer, max_age: 1h } }
agents: { planner: { rate: 50Hz, may: [go] } }
components:
  go:
    kind: action
    uses: flight
    payload: { ${fields.join(', ')} }
    effect: { setpoint: ${setpoint}, done: elapsed() >= 60000.0, within: 60s }
`.replace('    support: { always: age(state.map) >= 0 || true }\n', '')
  return loadCatalog(text, 'catalog.yaml', [px4Multirotor, ardupilotCopter], maxSpeed === undefined ? {} : { maxSpeed })
}

const LOCAL = ['north', 'east', 'down?']
const BODY = ['forward', 'right', 'down']
const forms = ['px4-multirotor', 'ardupilot-copter'].flatMap((vehicle) => [
  [vehicle, 'velocity-local', LOCAL] as const,
  [vehicle, 'velocity-body', BODY] as const,
])

describe.each(cores)('%s', (_, core) => {
  it.each(forms)('G5 on %s a %s is withheld where its length is above max_speed', (vehicle, setpoint, names) => {
    const [first, second, third] = names.map((name) => name.replace('?', '')) as [string, string, string]
    const loaded = catalog(vehicle, setpoint, names)
    const cases: readonly (readonly [number, number, number, boolean])[] = [
      [3, 4, 0, true],
      [-3, -4, 0, true],
      [0, 0, 5, true],
      [2, 2, 4, true],
      [5, 5, 5, false],
      [3, 4, 0.1, false],
      [-4, 3.1, 0, false],
      [0, 0, 0, true],
    ]
    for (const [a, b, c, isAllowed] of cases) {
      const stage = new Stage(core, { catalog: loaded }).fly()
      const said = stage.say([{ id: 'c', type: 'go', payload: { [first]: a, [second]: b, [third]: c } }])
      const [component] = said.components as readonly Record<string, unknown>[]
      if (isAllowed) expect(component, `${a} ${b} ${c}`).toMatchObject({ decision: 'retained' })
      else
        expect(component, `${a} ${b} ${c}`).toMatchObject({
          decision: 'withheld',
          reason: 'unsupported',
          detail: expect.stringMatching(/^max_speed: speed (8.66|5.001|5.061) m\/s, at most 5 m\/s$/),
        })
      expect(stage.run(500).sent.length > 0).toBe(isAllowed)
    }
  })

  it('G5: what is optional and absent is no speed', () => {
    const stage = new Stage(core, { catalog: catalog('px4-multirotor', 'velocity-local', LOCAL) }).fly()
    stage.say([{ id: 'c', type: 'go', payload: { north: 3, east: 4 } }])
    expect(stage.run(500).sent.length).toBeGreaterThan(0)
  })
})

it('the agent is told, and the environment holds the speed', () => {
  const of = (maxSpeed?: number) => catalog('px4-multirotor', 'velocity-local', LOCAL, maxSpeed, 2)
  expect(of().agents[0]!.schema).toContain('the speed of payload.north, payload.east, payload.down together <= 5 m/s')
  const environment = (maxSpeed?: number): string =>
    new Stage(cores[0]![1], { catalog: of(maxSpeed) }).runtime.environment
  expect(environment(5)).toBe(environment())
  expect(environment(6)).not.toBe(environment())
})

it('a configuration that is faster lets the catalog be so, and a slower one refuses it', () => {
  const most = (maxSpeed: number) => () => catalog('px4-multirotor', 'velocity-body', BODY, maxSpeed, 8)
  expect(most(8)).not.toThrow()
  expect(most(7.9)).toThrow('allows 8 m/s, above max_speed: set it to 7.9 at most, or raise max_speed (7.9 m/s)')
  for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) expect(most(wrong)).toThrow(RangeError)
})
