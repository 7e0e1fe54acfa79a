import { describe, expect, it } from 'vitest'
import { Reason } from '../../../build/abi.ts'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { goto, range, referenceCatalog, type Said, Stage } from './stage.ts'

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
        alt: { type: 'number', description: 'height above home', unit: 'm', min: 4, max: 60 },
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
      support: {
        battery: 'state.battery.remaining >= 25',
        gps: 'state.gps.fix >= 3',
        estimator: 'state.estimator.ok && state.position.accuracy <= 2.0',
        near_home: 'distance(payload.lat, payload.lon, state.home.lat, state.home.lon) <= 280',
        inside: 'distance(state.position.lat, state.position.lon, state.home.lat, state.home.lon) <= 300',
      },
      gate: {
        flying: 'state.armed && state.landed == landed.IN_AIR && state.position.alt >= 2.5',
      },
    })
    expect(types['notice.operator'].payload).toEqual({ text: { type: 'string', max_length: 200 } })
    expect(types.lamp.payload).toEqual({
      colour: { type: 'enum', values: ['red', 'green'] },
      level: { type: 'integer', min: 0, max: 9, optional: true },
    })
  })

  describe('to one of them', () => {
    const CALM = 'state.velocity.down - constants.SINK > 0 || constants . RESERVE < 1'
    const scout = `  scout: { may: [report.range, takeoff, hold], rate: 2Hz }\n`
    const catalog = referenceCatalog(
      ['agents:\n', `constants: { RESERVE: 40, SINK: -1.5 }\nagents:\n${scout}`],
      ['battery: state.battery.remaining >= 40', "battery: 'state.battery.remaining >= constants.RESERVE'"],
      ['      ready: state.ready\n', `      ready: state.ready\n      calm: ${CALM}\n`],
    )
    const stage = new Stage(core, { catalog })
    const ours: Said = stage.newest('catalog/scout')
    const types = Object.keys(ours.types)

    it('are only its types, and of what they may require only those', () => {
      expect(types).toEqual(['report.range', 'takeoff', 'hold'])
      expect(ours).toMatchObject({ v: 1, agent: 'scout', rate: 2, max_age_ms: 60_000 })
      expect(ours.environment).toBe((stage.newest('catalog') as Said).environment)
      expect(ours.types.hold.may_require).toEqual({ takeoff: 'completed' })
      expect(ours.types.takeoff.may_require).toEqual({ 'report.range': 'released' })
      expect(Object.keys((stage.newest('catalog/planner') as Said).types)).toContain('goto')
    })

    it('have the values of constants in their clauses, and support and gate apart', () => {
      const { support, gate } = ours.types.takeoff
      expect(support.battery).toBe('state.battery.remaining >= 40')
      expect(Object.keys(gate)).toEqual(['on_ground', 'ready', 'calm'])
      expect(gate.calm).toBe('state.velocity.down - (-1.5) > 0 || 40 < 1')
    })

    it('have a schema of the same, that says when each clause must hold, and patterns of ids', () => {
      const { $schema, properties } = JSON.parse(ours.schema)
      expect($schema).toMatch(/json-schema.org/)
      const said = properties.components.items.anyOf
      expect(said.map(({ title }: { title: string }) => title)).toEqual(types)
      const [, takeoff] = said
      expect(takeoff.description.split('\n')).toEqual([
        'Takes off from the ground and hovers.',
        'must hold when you answer: battery: state.battery.remaining >= 40',
        'must hold when you answer: gps: state.gps.fix >= 3',
        'must hold when you answer: estimator: state.estimator.ok && state.position.accuracy <= 1.5',
        'must hold when it is its turn, which an earlier action may bring about: on_ground: state.landed == landed.ON_GROUND && !state.armed',
        'must hold when it is its turn, which an earlier action may bring about: ready: state.ready',
        'must hold when it is its turn, which an earlier action may bring about: calm: state.velocity.down - (-1.5) > 0 || 40 < 1',
        'may require: report.range (released)',
      ])
      expect(takeoff.properties.id.pattern).toBe('^[A-Za-z0-9._-]{1,64}$')
      expect(takeoff.properties.requires.items.pattern).toBe('^[A-Za-z0-9._-]{1,64}$')
      expect(takeoff.properties.payload.properties.alt.description).toBe('height above home; unit: m')
    })

    it('come with what to do about each reason that it may hear', () => {
      const { reasons } = ours
      expect(reasons.unknown_snapshot).toBe('Not of this session, or no longer kept. Cite the newest `snapshot`.')
      const unheard = ['none', 'not_retained', 'token_spent', 'token_revoked', 'operator_conflict', 'cleared']
      expect([...Object.keys(reasons), ...unheard].sort()).toEqual(Object.keys(Reason).sort())
    })
  })

  it('tells the condition of an obligation with the values of its constants', () => {
    const reserve: [string, string] = [
      'battery: state.battery.remaining >= 25',
      'battery: state.battery.remaining >= constants.RESERVE',
    ]
    const catalog = referenceCatalog(['agents:\n', 'constants: { RESERVE: 26 }\nagents:\n'], reserve)
    const stage = new Stage(core, { catalog }).fly().set({ 'battery.remaining': 20 })
    stage.say([range, goto('g', 30)])
    expect(stage.obligations[0].condition).toBe('state.battery.remaining >= 26')
  })
})
