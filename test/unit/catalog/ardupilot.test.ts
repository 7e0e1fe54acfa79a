// The example of ardupilot-copter, and what a catalog may not say there: ArduPilot flies to a position for ever, and a stream
// across a take-off would cancel it (PROTOCOL 8).

import { expect, test } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { cores } from '../../oracle/cores.ts'
import { ARDUPILOT_EXAMPLE, changed, EXAMPLE, load, problems } from './example.ts'

const catalog = load(ARDUPILOT_EXAMPLE)
const at = (from: string, to: string) =>
  problems(changed(from, to, ARDUPILOT_EXAMPLE)).map((p) => p.replace(/^\S+ /, ''))

test('the example has the types of the other, with the same payloads, and its own conditions', () => {
  const other = load(EXAMPLE)
  expect(catalog.profile).toBe(ardupilotCopter)
  const shapes = (of: typeof catalog) =>
    of.types.map(({ name, kind, payload, uses }) => ({ name, kind, payload, uses }))
  expect(shapes(catalog)).toEqual(shapes(other))
  const done = (name: string, of = catalog) => of.types.find((type) => type.name === name)!.done!.text
  expect(done('takeoff')).toContain('mode.OFFBOARD')
  expect(done('takeoff', other)).toContain('mode.HOLD')
})

test.each(cores)('the %s takes what it becomes', (_, makeCore) => {
  expect(makeCore(catalog.image, new Uint8Array(8), new Uint8Array(32)).poisoned).toBe(false)
})

test('G5: a position that is kept for ever must end with something, and a velocity need not', () => {
  const goto = `      otherwise: hold
      then: hold

  velocity:`
  const end = 'ardupilot-copter flies on to a position-global for ever: it must end with hold, land or return'
  expect(at(goto, goto.replace('otherwise: hold', 'otherwise: none'))).toEqual([
    `components.goto.effect.otherwise: ${end}`,
  ])
  expect(at(goto, goto.replace('then: hold', 'then: none'))).toEqual([`components.goto.effect.then: ${end}`])
  expect(at(goto, '\n  velocity:')).toEqual([])
  const velocity = '      within: 11s\n      otherwise: hold\n      then: hold\n'
  expect(at(velocity, velocity.replaceAll('hold', 'none'))).toEqual([])
  expect(problems(changed(goto, goto.replace(/: hold/g, ': none')))).toEqual([])
})

const VELOCITY = `      north: { type: number, unit: m/s, min: -3, max: 3 }
      east: { type: number, unit: m/s, min: -3, max: 3 }
      seconds: { type: number, unit: s, min: 1, max: 10, description: how long it is flown }`
const BODY = `      forward: { type: number, unit: m/s, min: -3, max: 3 }
      right: { type: number, unit: m/s, min: -3, max: 3 }
      down: { type: number, unit: m/s, min: -1, max: 1 }
      seconds: { type: number, unit: s, min: 1, max: 10, description: how long it is flown }`
const HEADING = '\n      heading: { type: number, unit: deg, min: 0, max: 360, optional: true }'

test('a heading in the body frame is refused on ArduPilot, which would turn without end, and nowhere else', () => {
  const body = (payload: string, text: string) =>
    changed('setpoint: velocity-local', 'setpoint: velocity-body', changed(VELOCITY, payload, text))
  const found = (text: string) => problems(text).map((p) => p.replace(/^\S+ /, ''))
  expect(found(body(BODY, ARDUPILOT_EXAMPLE))).toEqual([])
  expect(found(body(BODY + HEADING, EXAMPLE))).toEqual([])
  expect(found(changed(VELOCITY, VELOCITY + HEADING, ARDUPILOT_EXAMPLE))).toEqual([])
  expect(found(body(BODY + HEADING, ARDUPILOT_EXAMPLE))).toEqual([
    'components.velocity.payload.heading: velocity-body takes no `heading`: in the body frame ArduPilot takes it as relative ' +
      'to the nose, at every frame anew, and turns without end: leave it out, or use velocity-local',
  ])
})

test('G5: a setpoint and a take-off that could cross at once are refused', () => {
  const goto = '    uses: flight\n    expires: 10s\n    patience: 0s\n'
  const apart = 'must use `flight` as takeoff does: on ardupilot-copter a stream would cancel a take-off'
  expect(at(goto, goto.replace('flight', 'path'))).toEqual([`components.goto.uses: ${apart}`])
  expect(at(goto, goto.replace('    uses: flight\n', ''))).toEqual([`components.goto: ${apart}`])
  expect(problems(changed(goto, goto.replace('    uses: flight\n', '')))).toEqual([])
  const takeoff = '    uses: flight\n    expires: 10s\n    effect:\n      command: takeoff'
  expect(at(takeoff, takeoff.replace('    uses: flight\n', ''))).toContain(
    'components.takeoff: must use a resource that every setpoint uses: on ardupilot-copter a stream would cancel a take-off',
  )
})
