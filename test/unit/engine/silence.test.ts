// What ends because nothing is heard of the vehicle says so (PROTOCOL 8 and 14).

import { describe, expect, it } from 'vitest'
import { Reason } from '../../../build/abi.ts'
import { Silence } from '../../../src/engine/vehicle/silence.ts'
import { cores } from '../../oracle/cores.ts'
import { goto, plain, range, referenceCatalog, Stage } from './stage.ts'

describe.each(cores)('a link that falls silent, %s', (_, core) => {
  it('ends a setpoint as link_lost, for how long, and so says the obligation; the contingency is owed', () => {
    const stage = new Stage(core).engage()
    stage.streaming = false
    stage.run(600)
    const last = stage.values('outcome/planner').findLast((outcome) => outcome.component === 'g')
    expect(last).toMatchObject({
      phase: 'failed',
      reason: 'link_lost',
      detail: expect.stringMatching(/^nothing heard for \d+ ms$/),
    })
    expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', reason: 'link_lost', detail: last.detail })
    expect(stage.commands()).toEqual(['OFFBOARD', 'HOLD'])
  })

  it('also where what runs out first was not heard last', () => {
    const stage = new Stage(core).engage()
    stage.streaming = false
    // As messages come in turn: the one that runs out was heard 50 ms before all others.
    stage.run(50)
    const { world } = stage
    stage.set(Object.fromEntries([...world].filter(([name]) => !name.startsWith('position.')))).run(600)
    expect(stage.lastPhase('g')).toBe('failed link_lost')
  })

  it('but one message that stops is its field, and no more', () => {
    const stage = new Stage(core).engage()
    stage.streaming = false
    for (let i = 0; i < 12; i++) stage.set({ armed: 1 }).run(50)
    expect(stage.lastPhase('g')).toMatch(/^failed (state_stale|prerequisite_lost)$/)
  })

  it('blocks at the gate what it could not judge', () => {
    const stage = new Stage(core).fly()
    stage.say([
      range,
      { id: 'ask', type: 'request.approval', payload: { text: 'may I?' } },
      goto('g', 30, ['range', 'ask']),
    ])
    stage.streaming = false
    stage.run(700)
    const [{ consent }] = (stage.control as unknown as { pending: { consent: string }[] }).pending as [
      { consent: string },
    ]
    const { session, n: after } = stage.control
    stage.operate('approve', { session, after, consent })
    expect(stage.lastPhase('g')).toBe('blocked link_lost')
    expect(stage.obligations.at(-1)).toMatchObject({ component: 'g', reason: 'link_lost' })
  })

  it('is why a command is not answered', () => {
    const unanswered = (streaming: boolean): string | undefined => {
      const stage = new Stage(core, { obeys: false }).fly()
      stage.say([plain('land')])
      stage.streaming = streaming
      return stage.run(700).lastPhase('land')
    }
    expect(unanswered(false)).toBe('failed link_lost')
    expect(unanswered(true)).toBe('failed unacknowledged')
  })
})

describe('silence', () => {
  const catalog = referenceCatalog()
  const context = catalog.profile.fields.length

  it('explains nothing before half the shortest age, nor what the ground did not say', () => {
    const half_ms = Math.min(...catalog.fields.slice(0, context).map(({ maxAge_ms }) => maxAge_ms)) / 2
    const silence = new Silence(catalog)
    expect(silence.explains(Reason.state_stale, 0, 1e6)).toBeUndefined()
    silence.heard(1000)
    silence.heard(900)
    expect(silence.explains(Reason.state_stale, 0, 1000 + half_ms)).toBeUndefined()
    expect(silence.explains(Reason.state_stale, 0, 1001 + half_ms)).toBe(`nothing heard for ${half_ms + 1} ms`)
    expect(silence.explains(Reason.state_unknown, context, 1e6)).toBeUndefined()
    expect(silence.explains(Reason.unsupported, 0, 1e6)).toBeUndefined()
    expect(silence.explains(Reason.taken_over, undefined, 1e6)).toBeUndefined()
  })

  it('explains that the mode is not ours only once no report of it counts', () => {
    const silence = new Silence(catalog)
    silence.heard(0)
    expect(silence.explains(Reason.not_in_control, undefined, 500)).toBeUndefined()
    expect(silence.explains(Reason.not_in_control, undefined, 501)).toBe('nothing heard for 501 ms')
  })
})
