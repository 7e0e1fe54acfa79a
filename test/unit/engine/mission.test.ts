// Ten missions as a user has them on paper, each one response: the example catalogs must be able to say every one of them.

import { describe, expect, it, test } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import { type ComponentSaid, exampleCatalog, goto, notice, plain, range, Stage, takeoff, velocity } from './stage.ts'

const ask = (id: string, requires: readonly string[]): ComponentSaid => ({
  id,
  type: 'request.approval',
  payload: { text: `${id}?` },
  requires,
})
const tell = (id: string, requires: readonly string[]): ComponentSaid => ({ ...notice(id), requires })
const up = takeoff('up', ['range'])

const MISSIONS: Readonly<Record<string, readonly ComponentSaid[]>> = {
  'a hop: up, wait a moment, down': [range, up, plain('hold', 'wait', ['up']), plain('land', 'down', ['wait'])],
  'a survey of three places, and home': [
    range,
    up,
    goto('a', 30, ['range', 'up']),
    goto('b', 60, ['range', 'a']),
    goto('c', 90, ['range', 'b']),
    plain('return', 'home', ['c']),
  ],
  'a delivery: release, then land there': [
    range,
    up,
    goto('there', 60, ['range', 'up']),
    ask('drop', ['there']),
    plain('release', 'release', ['there', 'drop']),
    tell('done', ['release']),
    plain('land', 'down', ['release']),
  ],
  'a delivery on the way: release, fly on, come home': [
    range,
    up,
    goto('there', 60, ['range', 'up']),
    ask('drop', []),
    plain('release', 'release', ['there', 'drop']),
    goto('on', 90, ['range', 'release']),
    plain('return', 'home', ['on']),
  ],
  'two deliveries, each agreed to above its place': [
    range,
    up,
    goto('a', 30, ['range', 'up']),
    ask('drop_a', ['a']),
    plain('release', 'release_a', ['a', 'drop_a']),
    goto('b', 60, ['range', 'release_a']),
    ask('drop_b', ['b']),
    plain('release', 'release_b', ['b', 'drop_b']),
    plain('return', 'home', ['release_b']),
  ],
  'ask first, then fly, and say how it went': [
    ask('may', []),
    range,
    takeoff('up', ['may', 'range']),
    goto('there', 60, ['range', 'up']),
    plain('status', 'how', ['there']),
    tell('arrived', ['there']),
    plain('return', 'home', ['there']),
    tell('back', ['home']),
  ],
  'look from above, ask whether to go on, and go on': [
    range,
    up,
    goto('above', 60, ['range', 'up']),
    { id: 'seen', type: 'report.range', requires: ['above'] },
    ask('on', ['above']),
    goto('next', 90, ['range', 'above', 'on']),
    plain('land', 'down', ['next']),
  ],
  'a slow pass by hand, stopped, for the pilot to take': [
    range,
    up,
    goto('start', 30, ['range', 'up']),
    velocity('pass', 8, ['range', 'start']),
    plain('hold', 'stop', ['pass']),
    plain('handoff.pilot', 'yours', ['stop']),
  ],
  'two hops: land there, take off again, and home': [
    range,
    up,
    goto('there', 60, ['range', 'up']),
    plain('land', 'down', ['there']),
    takeoff('again', ['range', 'down']),
    goto('back', 0, ['range', 'again']),
    plain('land', 'end', ['back']),
  ],
  'a person decides in the air whether it lands there or the pilot has it': [
    range,
    up,
    goto('there', 60, ['range', 'up']),
    plain('hold', 'wait', ['there']),
    ask('land', ['wait']),
    plain('land', 'down', ['wait', 'land']),
    plain('status', 'landed', ['down']),
  ],
}

test('there are ten', () => {
  expect(Object.keys(MISSIONS)).toHaveLength(10)
})

describe.each(['px4-multirotor', 'ardupilot-copter'])('the example of %s can say', (profile) => {
  it.each(Object.entries(MISSIONS))('%s', (_, components) => {
    const stage = new Stage(core, { catalog: exampleCatalog(profile) }).context('map', 1).run(1500)
    const verdict = stage.say(components)
    expect(verdict).toMatchObject({ accepted: true })
    const judged = verdict.components as { id: string; decision: string; reason?: string; detail?: string }[]
    expect(judged.filter(({ decision }) => decision !== 'retained')).toEqual([])
  })
})

it('what was released is landed with: the landing waits for the release, and for the person behind it', () => {
  const stage = new Stage(core).fly()
  stage.say([ask('drop', []), plain('release', 'release', ['drop']), plain('land', 'down', ['release'])])
  expect(stage.run(200).lastPhase('down')).toBe('retained prerequisite_not_ready')
  const { consent } = stage.values('notice').find((said) => said.consent !== undefined)!
  stage.operate('approve', { consent }).run(200)
  expect(stage.lastPhase('release')).toBe('completed')
  expect(stage.lastPhase('down')).toBe('acknowledged')
  expect(stage.sent.map(({ command, mode }) => mode ?? command)).toEqual([211, 'LAND'])
})
