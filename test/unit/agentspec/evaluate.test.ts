// `evaluate`: persons and the model are asked, actions are invoked, and what came of it is the verdict.

import { describe, expect, it } from 'vitest'
import type { Hooks, Step, Verdict } from '../../../src/agentspec/index.ts'
import { CANDLE, rule, ruleSet } from './vocabulary.ts'

/** A host that notes what it is asked. */
function host(answers: Partial<Hooks> = {}): { hooks: Hooks; said: string[] } {
  const said: string[] = []
  const hooks: Hooks = {
    inspect: async (inquiry) => {
      said.push(`inspect ${inquiry.rule.id} ${inquiry.message ?? '-'}`)
      return (await answers.inspect?.(inquiry)) ?? true
    },
    examine: async (inquiry) => {
      said.push(`examine ${inquiry.rule.id} of ${inquiry.violated.map(({ id }) => id).join(',')}`)
      return answers.examine?.(inquiry)
    },
    invoke: async (enforcement, args, step) => {
      said.push(
        `${enforcement.kind === 'assign' ? `set ${enforcement.setting}` : enforcement.action} ${JSON.stringify(args)}`,
      )
      await answers.invoke?.(enforcement, args, step)
    },
  }
  return { hooks, said }
}

const before = { name: 'before_action', action: 'put' } as const
const results = ({ applied }: Verdict) => applied.map(({ result }) => result)
const candidate = (subject: string): Step => ({ event: before, context: { subject } })

describe('evaluate', () => {
  it('asks and invokes in the order of the file, and waits for predicates', async () => {
    const { hooks, said } = host()
    const set = ruleSet(
      rule('a', 'later', 'user_inspection("really?") invoke_action(land, {"m": 1})') +
        rule('b', '!later', 'stop') +
        rule('c', 'is_candle', 'real:obstacle:Min_stop_distance = 4 none user_inspection'),
    )
    const verdict = await set.evaluate(before, CANDLE, hooks)
    expect(said).toEqual(['inspect a really?', 'land {"m":1}', 'set real:obstacle:Min_stop_distance {}', 'inspect c -'])
    expect(results(verdict)).toEqual(['approved', 'applied', 'applied', 'applied', 'approved'])
    expect(verdict).toMatchObject({ outcome: 'invoke_action', faults: [], candidate: undefined })
  })
  it('lets a step pass that a person approved', async () => {
    const verdict = await ruleSet(rule('a', 'true', 'user_inspection')).evaluate(before, {}, host().hooks)
    expect(verdict).toMatchObject({ outcome: 'none', violated: [{ id: 'a' }], applied: [{ result: 'approved' }] })
  })
  it('G5: refused, unanswered or failed inspection ends where stop does, and nobody else is asked', async () => {
    const set = ruleSet(rule('a', 'true', 'user_inspection user_inspection llm_self_examine invoke_action(hold)'))
    for (const inspect of [() => false, () => 'yes' as unknown as boolean, () => Promise.reject(new Error('gone'))]) {
      const { hooks, said } = host({ inspect })
      const verdict = await set.evaluate(before, {}, hooks)
      expect(verdict.outcome).toBe('stop')
      expect(results(verdict)).toEqual(['refused', 'moot', 'moot', 'applied'])
      expect(said).toEqual(['inspect a -', 'hold {}'])
    }
  })
  it('asks nobody about a step that another rule stops', async () => {
    const { hooks, said } = host()
    const verdict = await ruleSet(rule('a', 'true', 'user_inspection') + rule('b', 'true', 'stop')).evaluate(
      before,
      {},
      hooks,
    )
    expect(verdict.outcome).toBe('stop')
    expect(said).toEqual([])
  })
  it('G5: a predicate that rejects or answers no boolean counts as violated', async () => {
    for (const check of ['rejects', '!rejects', 'says_yes', '!throws']) {
      const verdict = await ruleSet(rule('a', check, 'stop')).evaluate(before, {}, host().hooks)
      expect([check, verdict.outcome, verdict.faults.length]).toEqual([check, 'stop', 1])
    }
    expect((await ruleSet(rule('a', '!later', 'stop')).evaluate(before, CANDLE, host().hooks)).outcome).toBe('none')
  })
  it('G5: skips where an invocation fails, and reports it', async () => {
    const { hooks } = host({
      invoke: () => {
        throw new Error('no engine')
      },
    })
    const verdict = await ruleSet(rule('a', 'true', 'invoke_action(land)')).evaluate(before, {}, hooks)
    expect(verdict).toMatchObject({
      outcome: 'skip',
      applied: [{ result: 'failed' }],
      faults: [{ rule: 'a', what: 'invoke_action(land, {})', reason: 'no engine' }],
    })
  })
})

describe('self-examination', () => {
  const set = ruleSet(rule('a', 'is_candle', 'llm_self_examine') + rule('b', 'is_candle', 'none'))

  it('judges what the model proposes instead', async () => {
    const { hooks, said } = host({ examine: () => candidate('lamp') })
    const verdict = await set.evaluate(before, CANDLE, hooks)
    expect(said).toEqual(['examine a of a,b'])
    expect(verdict.outcome).toBe('none')
    expect(results(verdict)).toEqual(['examined', 'applied'])
    expect(verdict.candidate?.context.subject).toBe('lamp')
  })
  it('gives the model three chances, whatever it says about their number, then skips', async () => {
    const { hooks, said } = host({ examine: () => ({ event: before, context: { subject: 'candle', examined: 0 } }) })
    const verdict = await set.evaluate(before, CANDLE, hooks)
    expect(said).toHaveLength(3)
    expect(verdict.outcome).toBe('skip')
    expect(results(verdict).filter((result) => result !== 'applied')).toEqual([
      'examined',
      'examined',
      'examined',
      'withdrawn',
    ])
  })
  it('skips where the model has nothing else, or fails', async () => {
    for (const examine of [() => undefined, () => Promise.reject(new Error('no tokens'))]) {
      expect((await set.evaluate(before, CANDLE, host({ examine }).hooks)).outcome).toBe('skip')
    }
  })
  it('holds the new step to every rule, also those that the first did not violate', async () => {
    const strict = ruleSet(rule('a', 'is_candle', 'llm_self_examine') + rule('b', '!is_candle', 'stop'))
    const verdict = await strict.evaluate(before, CANDLE, host({ examine: () => candidate('petrol') }).hooks)
    expect(verdict).toMatchObject({ outcome: 'stop', violated: [{ id: 'a' }, { id: 'b' }] })
  })
  it('does not examine what a person refused', async () => {
    const { hooks, said } = host({ inspect: () => false })
    const both = ruleSet(rule('a', 'true', 'user_inspection') + rule('b', 'true', 'llm_self_examine'))
    expect((await both.evaluate(before, {}, hooks)).outcome).toBe('stop')
    expect(said).toEqual(['inspect a -'])
  })
})
