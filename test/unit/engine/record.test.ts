import * as cborg from 'cborg'
import { describe, expect, it } from 'vitest'
import { loadCore as core } from '../../../src/core/wasm.ts'
import type { LogEvent } from '../../../src/engine/runtime.ts'
import { goto, notice, range, type Said, Stage } from './stage.ts'

const logged = (stage: Stage, event: string): readonly (LogEvent & Said)[] =>
  stage.log.filter((line) => line.event === event)

describe('what the engine says for an investigation', () => {
  it('each decision beside the payload that was judged', () => {
    const stage = new Stage(core).fly()
    const bad = { ...goto('bad', 30), payload: { lat: 47.4, lon: Number.NaN, alt: 10 } }
    const response = stage.response([range, goto('g', 30), goto('far', 5000), bad, { id: 'x', type: 'warp' }])
    const verdict = stage.sayBytes(cborg.encode(response))
    const [line, ...more] = logged(stage, 'judged')
    expect(more).toEqual([])
    const { snapshot } = response
    expect(line).toMatchObject({
      level: 'info',
      agent: 'planner',
      plan: 'planner/r1',
      response: 'r1',
      generation: 1,
      snapshot,
    })
    expect(line!.components).toEqual([
      { ...verdict.components[0], type: 'report.range', payload: {}, requires: [] },
      { ...verdict.components[1], type: 'goto', payload: goto('g', 30).payload, requires: ['range'] },
      { ...verdict.components[2], type: 'goto', payload: goto('far', 5000).payload, requires: ['range'] },
      { ...verdict.components[3], type: 'goto', payload: { ...bad.payload, lon: 'NaN' }, requires: ['range'] },
      { ...verdict.components[4], type: 'warp', payload: {}, requires: [] },
    ])
  })

  it('in lines that a journal does not cut', () => {
    const stage = new Stage(core).fly()
    stage.say(Array.from({ length: 250 }, (_, i) => notice(`n${i}`, 'x'.repeat(200))))
    const lines = logged(stage, 'judged')
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect(JSON.stringify(line).length).toBeLessThan(20_000)
    const told = lines.flatMap(({ components }) => components.map(({ id }: Said) => id))
    expect(told).toEqual(Array.from({ length: 250 }, (_, i) => `n${i}`))
  })

  it('a response that is refused by its name, its digest and the reason', () => {
    const stage = new Stage(core).fly()
    const { digest } = stage.say([range], { response: 'old', snapshot: 'none' })
    expect(logged(stage, 'response refused')).toMatchObject([
      { level: 'warn', agent: 'planner', response: 'old', generation: 1, digest, reason: 'unknown_snapshot' },
    ])
  })

  it('each order with who says that he gave it, and what it is about', () => {
    const stage = new Stage(core).fly()
    stage
      .operate('pause', { by: 'ada@tower' })
      .operate('resume')
      .operate('clear', { type: 'goto', by: 'x'.repeat(65) })
    stage.operate('revoke', { agent: 'planner', by: 7 }).operate('resume', { after: 99, by: 'eve' })
    expect(logged(stage, 'order').map(({ level: _, event: __, ...order }) => order)).toEqual([
      { verb: 'pause', flaw: undefined, by: 'ada@tower' },
      { verb: 'resume', by: undefined },
      { verb: 'clear', type: 'goto', by: `${'x'.repeat(64)}...` },
      { verb: 'revoke', agent: 'planner', by: undefined },
    ])
    expect(logged(stage, 'operator refused')).toMatchObject([{ name: 'resume', by: 'eve' }])
  })

  it('an answer with all that the person was shown', () => {
    const stage = new Stage(core).fly()
    stage.say([
      { id: 'ask', type: 'request.approval', payload: { text: 'may I' } },
      range,
      goto('g', 30, ['range', 'ask']),
    ])
    const [pending] = (stage.run(300).newest('control') as Said).pending
    stage.operate('approve', { consent: pending.consent, by: 'ada' })
    const { expires: _, ...shown } = pending
    expect(logged(stage, 'order')).toMatchObject([{ verb: 'approve', by: 'ada', ...shown }])
    expect(shown.covers).toMatchObject([{ component: 'g', type: 'goto', payload: goto('g', 30).payload }])
  })
})
