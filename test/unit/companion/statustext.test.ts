import { describe, expect, it } from 'vitest'
import { type Line, Statustext } from '../../../companion/statustext.ts'
import type { Publication } from '../../../src/engine/port.ts'

const outcome = (value: object): Publication => ({ topic: 'outcome/planner', retain: false, value })
const failed = (component: string) => outcome({ component, phase: 'failed', reason: 'taken_over' })
const control = (pilot_control: boolean): Publication => ({ topic: 'control', retain: true, value: { pilot_control } })
const notice = (value: object): Publication => ({ topic: 'notice', retain: false, value })

/** What is said of these publications, where the link takes `room` lines. */
function told(statustext: Statustext, publications: readonly Publication[], room = 100): string[] {
  for (const publication of publications) statustext.hear(publication)
  const lines: Line[] = []
  statustext.tell((line) => lines.length < room && lines.push(line) > 0)
  return lines.map(({ severity, text }) => `${severity} ${text}`)
}

describe('what a ground station is told', () => {
  it('what was denied, failed, expired or is uncertain, in the words of the outcome', () => {
    const blocked = { component: 'goto1', phase: 'blocked', reason: 'unsupported', detail: 'battery' }
    const uncertain = { component: 'drop', phase: 'uncertain', reason: 'unacknowledged' }
    expect(told(new Statustext(), [outcome(blocked), failed('goto1'), outcome(uncertain)])).toEqual([
      '4 HALO goto1 blocked unsupported battery',
      '4 HALO goto1 failed taken_over',
      '4 HALO drop uncertain unacknowledged',
    ])
  })

  it('a takeover, once', () => {
    const statustext = new Statustext()
    expect(told(statustext, [control(false), control(true), control(true)])).toEqual([
      '4 HALO pilot control: no action until resumed',
    ])
    expect(told(statustext, [control(true)])).toEqual([])
    expect(told(statustext, [control(false), control(true)])).toHaveLength(1)
  })

  it('what the companion itself finds critical, and not what a component says', () => {
    const alarm = { kind: 'alarm', severity: 'alert', text: 'a second autopilot' }
    const said = { kind: 'notice', severity: 'alert', text: 'look here', component: 'n' }
    const mild = { kind: 'operator', severity: 'warning', text: 'refused' }
    expect(told(new Statustext(), [notice(alarm), notice(said), notice(mild)])).toEqual([
      '1 HALO alarm: a second autopilot',
    ])
  })

  it('nothing about progress, or about what only fell with its prerequisite', () => {
    const silent = [
      outcome({ component: 'a', phase: 'completed' }),
      outcome({ component: 'a', phase: 'retained', reason: 'resource_busy' }),
      outcome({ component: 'a', phase: 'blocked', reason: 'prerequisite_failed' }),
      { topic: 'verdict/planner', retain: false, value: { phase: 'failed' } },
    ]
    expect(told(new Statustext(), silent)).toEqual([])
  })

  it('the same thing once, with how often it was', () => {
    expect(told(new Statustext(), [failed('a'), failed('b'), failed('a'), failed('a')])).toEqual([
      '4 HALO 3x a failed taken_over',
      '4 HALO b failed taken_over',
    ])
  })

  it('what the link takes no more of later, and beyond twenty lines only how many there were', () => {
    const statustext = new Statustext()
    const many = Array.from({ length: 25 }, (_, i) => failed(`c${i}`))
    expect(told(statustext, many, 5)).toHaveLength(5)
    const rest = told(statustext, [])
    expect(rest).toHaveLength(16)
    expect(rest[0]).toBe('4 HALO c5 failed taken_over')
    expect(rest.at(-1)).toBe('4 HALO 5 more, see the log')
    expect(told(statustext, [])).toEqual([])
  })
})
