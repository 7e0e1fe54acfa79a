import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { referenceCatalog, type Said, Stage } from './stage.ts'

describe('the catalog as agents are told it (PROTOCOL 12)', () => {
  const lamp = `  lamp:
    kind: action
    payload:
      colour: { type: enum, values: [red, green] }
      level: { type: integer, min: 0, max: 9, optional: true }
    effect: { mav_cmd: { id: 2000, params: [0, 0, 0, 0, 0, 0, 0] } }

  takeoff:\n`
  const lit = referenceCatalog(['  takeoff:\n', lamp], ['land, release]', 'land, release, lamp]'])
  const told = (): Said => new Stage(core, { catalog: lit }).newest('catalog')

  it('names what each agent may say, and how often', () => {
    const may =
      'notice.operator report.range request.approval handoff.pilot status takeoff goto velocity hold return land release lamp'
    expect(told().agents).toEqual({ planner: { may: may.split(' '), rate: 5 } })
  })

  it('names the kind of each type: agents know one kind of action', () => {
    const kinds = Object.entries<{ kind: string }>(told().types).map(([name, { kind }]) => [name, kind])
    expect(Object.fromEntries(kinds)).toEqual({
      'notice.operator': 'notice',
      'report.range': 'report',
      'request.approval': 'request',
      'handoff.pilot': 'handoff',
      status: 'report',
      lamp: 'action',
      takeoff: 'action',
      goto: 'action',
      velocity: 'action',
      hold: 'action',
      return: 'action',
      land: 'action',
      release: 'action',
    })
  })

  it('says of a type what it takes, what it rests on and what must be true', () => {
    const { types } = told()
    expect(types.goto).toEqual({
      kind: 'action',
      description: 'Flies in a straight line to a position and stops there.',
      payload: {
        lat: { type: 'number', unit: 'deg', min: -90, max: 90 },
        lon: { type: 'number', unit: 'deg', min: -180, max: 180 },
        alt: { type: 'number', unit: 'm', min: 4, max: 60 },
      },
      requires: ['report.range'],
      may_require: {
        'report.range': 'released',
        takeoff: 'completed',
        goto: 'completed',
        velocity: 'completed',
        hold: 'completed',
        release: 'completed',
        'request.approval': 'completed',
      },
      clauses: {
        battery: 'state.battery.remaining >= 25',
        gps: 'state.gps.fix >= 3',
        estimator: 'state.estimator.ok && state.position.accuracy <= 2.0',
        near_home: 'distance(payload.lat, payload.lon, state.home.lat, state.home.lon) <= 280',
        inside: 'distance(state.position.lat, state.position.lon, state.home.lat, state.home.lon) <= 300',
        flying: 'state.armed && state.landed == landed.IN_AIR && state.position.alt >= 2.5',
      },
    })
    expect(types['notice.operator'].payload).toEqual({ text: { type: 'string', max_length: 200 } })
    expect(types.lamp.payload).toEqual({
      colour: { type: 'enum', values: ['red', 'green'] },
      level: { type: 'integer', min: 0, max: 9, optional: true },
    })
  })

  it('has the schema that a response keeps', () => {
    expect(JSON.parse(told().schema)).toMatchObject({ $schema: expect.stringContaining('json-schema.org') })
  })
})
