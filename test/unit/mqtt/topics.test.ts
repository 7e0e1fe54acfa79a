import { describe, expect, test } from 'vitest'
import { parseTopic, root, type Topic, topicName } from '../../../companion/mqtt/topics.ts'

const topics: [string, Topic][] = [
  ['status', { kind: 'status' }],
  ['catalog', { kind: 'catalog' }],
  ['catalog/planner', { kind: 'catalog', name: 'planner' }],
  ['snapshot', { kind: 'snapshot' }],
  ['control', { kind: 'control' }],
  ['notice', { kind: 'notice' }],
  ['response/planner', { kind: 'response', name: 'planner' }],
  ['verdict/planner', { kind: 'verdict', name: 'planner' }],
  ['outcome/planner', { kind: 'outcome', name: 'planner' }],
  ['obligation/planner', { kind: 'obligation', name: 'planner' }],
  ['end/planner', { kind: 'end', name: 'planner' }],
  ['context/wind.speed', { kind: 'context', name: 'wind.speed' }],
  ['operator/resume', { kind: 'operator', name: 'resume' }],
]

describe('topics (PROTOCOL 12)', () => {
  test.each(topics)('%s', (name, topic) => {
    expect(topicName(topic)).toBe(name)
    expect(parseTopic('v1', `halo/v1/v1/${name}`)).toEqual(topic)
  })

  test.each([
    'halo/v1/other/response/planner',
    'halo/v2/v1/response/planner',
    'halo/v1/v1',
    'halo/v1/v1/',
    'halo/v1/v1/response',
    'halo/v1/v1/response/',
    'halo/v1/v1/response/a/b',
    'halo/v1/v1/context/a/b',
    'halo/v1/v1/response/+',
    'halo/v1/v1/response/#',
    'halo/v1/v1/response/a\n',
    'halo/v1/v1/response/ä',
    `halo/v1/v1/response/${'a'.repeat(65)}`,
    'halo/v1/v1/status/x',
    'halo/v1/v1/constructor',
    'x/halo/v1/v1/status',
    '',
  ])('G5 %j means nothing', (topic) => {
    expect(parseTopic('v1', topic)).toBeUndefined()
  })

  test('a vehicle is one level of a topic', () => {
    expect(root('px4-1.a')).toBe('halo/v1/px4-1.a')
    for (const vehicle of ['', 'a/b', '+', '#', 'a b', 'v'.repeat(65)]) expect(() => root(vehicle)).toThrow(RangeError)
  })
})
