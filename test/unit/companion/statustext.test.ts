import { expect, it } from 'vitest'
import { statustext } from '../../../companion/statustext.ts'

const outcome = (value: object) => ({ topic: 'outcome/planner', retain: false, value })

it('tells a ground station what was denied or failed, in the words of the outcome', () => {
  const blocked = { component: 'goto1', phase: 'blocked', reason: 'unsupported', detail: 'battery' }
  expect(statustext(outcome(blocked))).toBe('HALO goto1 blocked unsupported battery')
  expect(statustext(outcome({ component: 'goto1', phase: 'failed', reason: 'taken_over' }))).toBe(
    'HALO goto1 failed taken_over',
  )
})

it('is silent about progress, about what only fell with its prerequisite, and about other topics', () => {
  expect(statustext(outcome({ component: 'a', phase: 'completed' }))).toBeUndefined()
  expect(statustext(outcome({ component: 'a', phase: 'retained', reason: 'resource_busy' }))).toBeUndefined()
  expect(statustext(outcome({ component: 'a', phase: 'blocked', reason: 'prerequisite_failed' }))).toBeUndefined()
  expect(statustext({ topic: 'notice', retain: false, value: { phase: 'failed' } })).toBeUndefined()
})
