import { describe, expect, it } from 'vitest'
import { Progress } from '../../../companion/commands/progress.ts'

const VERDICT = {
  digest: 'd1',
  accepted: true,
  plan: 'planner/r1',
  generation: 4,
  components: [
    { id: 'a', decision: 'retained', sequence: 1 },
    { id: 'b', decision: 'retained', sequence: 2 },
  ],
}
const outcome = (component: string, phase: string, more: object = {}) => ({
  plan: 'planner/r1',
  component,
  generation: 4,
  phase,
  ...more,
})

function follow(...messages: [topic: string, value: unknown][]): { codes: unknown[]; lines: string[] } {
  const lines: string[] = []
  const kinds: Record<string, string> = { a: 'report', b: 'setpoint' }
  const progress = new Progress(
    'd1',
    (id) => kinds[id],
    (line) => lines.push(line),
  )
  return { codes: messages.map(([topic, value]) => progress.hear(topic, value)), lines }
}

describe('progress of a response', () => {
  it('ends with 0 once every component came to the last phase of its kind', () => {
    const { codes, lines } = follow(
      ['verdict/planner', VERDICT],
      ['outcome/planner', outcome('a', 'retained')],
      ['outcome/planner', outcome('a', 'released')],
      ['outcome/planner', outcome('b', 'retained', { reason: 'resource_busy' })],
      ['outcome/planner', outcome('b', 'dispatched')],
      ['outcome/planner', outcome('b', 'completed')],
    )
    expect(codes).toEqual([undefined, undefined, undefined, undefined, undefined, 0])
    expect(lines).toEqual([
      'accepted: plan planner/r1, generation 4',
      '  a: retained',
      '  b: retained',
      '  a: released',
      '  b: retained, resource_busy',
      '  b: dispatched',
      '  b: completed',
    ])
  })

  it('ends with 2 where something failed, and tells its obligation', () => {
    const { codes, lines } = follow(
      ['verdict/planner', VERDICT],
      ['outcome/planner', outcome('a', 'released')],
      [
        'obligation/planner',
        {
          obligation: {
            id: 'o1',
            plan: 'planner/r1',
            component: 'b',
            reason: 'unsupported',
            detail: 'battery',
            condition: 'state.battery.remaining >= 25',
            scope: [{ id: 'b' }],
            route: 'agent',
          },
        },
      ],
      ['outcome/planner', outcome('b', 'blocked', { reason: 'unsupported', detail: 'battery' })],
      ['obligation/planner', { closed: 'o1', reason: 'superseded' }],
    )
    expect(codes[3]).toBe(2)
    expect(lines.slice(4)).toEqual([
      'obligation o1: b, unsupported battery; needs state.battery.remaining >= 25; scope b; route agent',
      '  b: blocked, unsupported battery',
      'obligation o1: closed, superseded',
    ])
  })

  it('ends with 2 where a component is withheld, though the rest completes', () => {
    const [a] = VERDICT.components
    const b = { id: 'b', decision: 'withheld', reason: 'prerequisite_withheld', cause: 'c' }
    const { codes, lines } = follow(
      ['verdict/planner', { ...VERDICT, components: [a, b] }],
      ['outcome/planner', outcome('a', 'released')],
    )
    expect(codes).toEqual([undefined, 2])
    expect(lines[2]).toBe('  b: withheld, prerequisite_withheld because of c')
  })

  it('ends with 2 at a refusal, or when the companion goes', () => {
    const refused = { digest: 'd1', accepted: false, reason: 'generation_not_fresh' }
    expect(follow(['verdict/planner', refused])).toEqual({ codes: [2], lines: ['refused, generation_not_fresh'] })
    expect(follow(['verdict/planner', VERDICT], ['status', { status: 'offline' }]).codes[1]).toBe(2)
  })

  it('takes no notice of other responses, plans and generations, nor of what is malformed', () => {
    const { codes, lines } = follow(
      ['verdict/planner', { ...VERDICT, digest: 'd2' }],
      ['outcome/planner', outcome('a', 'released')],
      ['verdict/planner', VERDICT],
      ['outcome/planner', { ...outcome('a', 'failed'), plan: 'planner/r0' }],
      ['outcome/planner', { ...outcome('a', 'failed'), generation: 3 }],
      ['outcome/planner', undefined],
      ['notice', { plan: 'planner/r1', component: 'a', kind: 'report', fields: { mode: 'HOLD' } }],
    )
    expect(codes.every((code) => code === undefined)).toBe(true)
    expect(lines.slice(3)).toEqual(['report a: {"mode":"HOLD"}'])
  })
})
