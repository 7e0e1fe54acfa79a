// What is told of a response in whose judgement the core traps (PROTOCOL 11, 12).

import { describe, expect, it } from 'vitest'
import type { Core, CoreFactory } from '../../../src/core/core.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { goto, notice, plain, range, type Said, Stage, twoAgents } from './stage.ts'

/** A core that traps in the next such call once it has been told to. */
function trapping(call: 'admit' | 'end' | 'reach' | 'read'): { core: CoreFactory; arm: () => void } {
  let armed = false
  const core: CoreFactory = (image, session, environment) => {
    const made = loadCore(image, session, environment)
    const plain = made[call].bind(made) as (...args: unknown[]) => unknown
    const trapped = (...args: unknown[]): unknown => {
      if (!armed) return plain(...args)
      armed = false
      Object.assign(made, { poisoned: true })
      throw new WebAssembly.RuntimeError('unreachable')
    }
    return Object.assign(made, { [call]: trapped }) as Core
  }
  return {
    core,
    arm: () => {
      armed = true
    },
  }
}

describe('a core that traps while it judges a response', () => {
  it('G5: has said no to all of it when it traps in admission', () => {
    const { core, arm } = trapping('admit')
    const stage = new Stage(core).fly()
    arm()
    expect(stage.say([range])).toBeUndefined()
    expect(stage.phases('range')).toEqual([])
  })

  it.each([
    ['while an obligation is opened', 'read', {}],
    ['while what was replaced ends', 'end', { recovers: 'r1' }],
  ] as const)('G3: has told the verdict before the outcomes when it traps %s', (_, call, over) => {
    const { core, arm } = trapping(call)
    const stage = new Stage(core).fly()
    const far = { ...goto('far', 30), payload: { lat: 0, lon: 0, alt: 10 } }
    if (call === 'end') stage.say([range, goto('g', 30), goto('h', 40, ['range', 'g']), far])
    stage.run(1100)
    const from = stage.published.length
    arm()
    const verdict = stage.say([range, far], over)
    const told = stage.published.slice(from)
    expect(verdict.components[0]).toMatchObject({ id: 'range', decision: 'retained' })
    const of = (id: string): number[] =>
      told.flatMap(({ value }, at) =>
        (value as Said).component === id && (value as Said).sequence === verdict.components[0].sequence ? [at] : [],
      )
    expect(of('range').length).toBe(2)
    expect(told.findIndex(({ topic }) => topic === 'verdict/planner')).toBeLessThan(of('range')[0]!)
    expect(stage.lastPhase('range')).toBe('blocked session_changed')
    expect(stage.control.revoked).toEqual(['planner'])
  })

  it('G5: what took over in the same call stands for what it took over from', () => {
    const { core, arm } = trapping('reach')
    const stage = new Stage(core).engage()
    arm()
    // Its frame has left and the core traps before that can be said. It owes a landing; the flight that it stopped owes nothing.
    stage.say([plain('hold')])
    stage.obeys = false
    stage.run(1000)
    const [engaged, crossed, ...owed] = stage.commands()
    expect([engaged, crossed]).toEqual(['OFFBOARD', 'HOLD'])
    expect(new Set(owed)).toEqual(new Set(['LAND']))
  })
})

it('G5: what breaks off while a response is judged costs its agent and the session, not the process and nobody else', () => {
  let broken = false
  const core: CoreFactory = (...made) => {
    const whole = loadCore(...made)
    const admit = whole.admit.bind(whole)
    return Object.assign(whole, {
      admit: (...args: Parameters<Core['admit']>) => {
        if (broken) throw new RangeError('candidates: at most 0, got 1')
        return admit(...args)
      },
    })
  }
  const stage = new Stage(core, { catalog: twoAgents() }).engage()
  const { session } = stage.control
  broken = true
  expect(stage.say([notice('n')], { recovers: 'r1' })).toBeUndefined()
  broken = false
  expect(stage.runtime.healthy).toBe(false)
  expect(stage.run(1000).control).toMatchObject({ revoked: ['planner'] })
  expect(stage.control.session).not.toBe(session)
  expect(stage.commands().at(-1)).toBe('HOLD')
  expect(stage.say([notice('n')], {}, 'scout')).toMatchObject({ accepted: true })
})

it('G5: a step in which the core trapped is not a healthy one: no heartbeat speaks for it', () => {
  const { core, arm } = trapping('admit')
  const stage = new Stage(core).fly()
  expect(stage.runtime.healthy).toBe(true)
  arm()
  stage.say([range])
  expect(stage.runtime.healthy).toBe(false)
  expect(stage.run(10).runtime.healthy).toBe(true)
})
