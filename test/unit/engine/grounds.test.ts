import { describe, expect, it } from 'vitest'
import { loadCore } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { cores } from '../../oracle/cores.ts'
import { goto, range, referenceCatalog, Stage, takeoff } from './stage.ts'

const PROBE = `  probe:
    kind: notice
    payload:
      text: { type: string }
      alt: { type: number, unit: m, min: -100000, max: 100000, optional: true }
      side: { type: enum, values: [left, right], optional: true }
      loud: { type: boolean, optional: true }
    watches: [map]
    support: { it: 'CLAUSE' }
    effect: { notice: { text: text } }

  takeoff:\n`

/** The detail with which a component is withheld whose only clause is this. */
function detailOf(clause: string, payload: Readonly<Record<string, unknown>> = {}): string | undefined {
  const catalog = referenceCatalog(
    ['  takeoff:\n', PROBE.replace('CLAUSE', clause)],
    ['status, takeoff', 'status, probe, takeoff'],
  )
  const stage = new Stage(loadCore, { catalog }).fly()
  const [judged] = stage.say([{ id: 'p', type: 'probe', payload: { text: 'abc', ...payload } }]).components
  expect(judged).toMatchObject({ decision: 'withheld', reason: 'unsupported' })
  return judged.detail
}

describe('the detail of an unsupported component has the values (PROTOCOL 5)', () => {
  it.each<[string, string, Readonly<Record<string, unknown>>?]>([
    ['state.battery.remaining >= 95', 'battery.remaining 90 %, at least 95 %'],
    ['95 <= state.battery.remaining', 'battery.remaining 90 %, at least 95 %'],
    ['state.battery.remaining > 90', 'battery.remaining 90 %, above 90 %'],
    ['state.battery.remaining == 80', 'battery.remaining 90 %, must be 80 %'],
    ['state.battery.remaining != 90', 'battery.remaining 90 %, must not be 90 %'],
    ['!(state.battery.remaining >= 50)', 'battery.remaining 90 %, below 50 %'],
    ['!(50 <= state.battery.remaining)', 'battery.remaining 90 %, below 50 %'],
    ['state.landed == landed.ON_GROUND', 'landed IN_AIR, must be ON_GROUND'],
    ['mode.HOLD != state.mode', 'mode HOLD, must not be HOLD'],
    ['!state.armed', 'armed true'],
    ['!(state.armed && state.ready)', 'armed true and ready true'],
    ['!state.armed || state.battery.remaining > 95', 'armed true and battery.remaining 90 %, above 95 %'],
    ['state.armed && state.gps.fix >= 4 && !state.ready', 'gps.fix 3, at least 4, ready true'],
    ['distance(47.0, 8.5, state.home.lat, state.home.lon) <= 280', 'distance 44.36 km, at most 280 m'],
    ['distance(10.0, 50.0, state.home.lat, state.home.lon) <= 280', 'distance 5,686 km, at most 280 m'],
    ['payload.alt <= state.position.alt + 5', 'alt 12 km, at most position.alt + 5 15 m', { alt: 12_000 }],
    ['payload.alt <= 2', 'alt 2.00001 m, at most 2 m', { alt: 2.00001 }],
    ['payload.alt - state.position.alt <= 2', 'alt - position.alt 10.5 m, at most 2 m', { alt: 20.5 }],
    ['abs(payload.alt) * 2 < 3', 'abs(alt) * 2 4, below 3', { alt: -2 }],
    ['age(state.mode) > 20000', 'age of mode 0 ms, above 20 s'],
    ['has(payload.alt)', 'alt absent'],
    ['!has(payload.alt)', 'alt present', { alt: 1 }],
    ['payload.text == "abd"', 'text "abc", must be "abd"'],
    ['payload.text != "abc"', 'text "abc", must not be "abc"'],
    ['has(payload.side) && payload.side == "left"', 'side right, must be left', { side: 'right' }],
    ['has(payload.loud) && payload.loud', 'loud false', { loud: false }],
    ['!unchanged(state.map)', 'map unchanged'],
    ['drift(state.position.alt) > 5', 'drift of position.alt, above 5 m'],
    ['cited.position.alt > state.position.alt', 'cited position.alt, above position.alt 10 m'],
    ['state.armed ? state.battery.remaining > 95 : true', ''],
  ])('%s', (clause, words, payload) => {
    expect(detailOf(clause, payload)).toBe(words === '' ? 'it' : `it: ${words}`)
  })
})

describe.each(cores)('grounds (PROTOCOL 5, 12), %s', (_, core) => {
  it('are told where it is withheld, where it is denied, and where it ends, and in the obligation', () => {
    const stage = new Stage(core).fly()
    const far = 'near_home: distance 4,812 km, at most 280 m'
    const [, withheld] = stage.say([
      range,
      { ...goto('far', 0), payload: { lat: 4.1185, lon: 8.545594, alt: 10 } },
    ]).components
    expect(withheld.detail).toBe(far)
    expect(stage.obligations[0]).toMatchObject({ detail: far, condition: expect.stringMatching(/^distance/) })

    stage.say([range, goto('g', 30)])
    stage.run(500).set({ 'battery.remaining': 20 })
    const low = 'battery: battery.remaining 20 %, at least 25 %'
    expect(stage.values('outcome/planner').at(-1)).toMatchObject({ component: 'g', phase: 'failed', detail: low })
    expect(stage.obligations.at(-1)).toMatchObject({ detail: low, condition: 'state.battery.remaining >= 25' })
  })

  it('of a vehicle that is not ready are what the autopilot says against arming, as long as it says so', () => {
    const detail = (stage: Stage): string =>
      stage
        .set({ ready: 0 })
        .run(100)
        .say([takeoff('up')]).components[0].detail
    const stage = new Stage(core).run(1000)
    expect(detail(stage)).toBe('ready: ready false')
    stage.objects('PreArm: Compass not calibrated').objects('PreArm: Battery 1 below minimum arming voltage')
    const both = 'PreArm: Battery 1 below minimum arming voltage; PreArm: Compass not calibrated'
    expect(detail(stage)).toBe(`ready: ready false; the autopilot says: ${both}`)
    expect(stage.log.filter(({ event }) => event === 'autopilot objects to arming')).toHaveLength(2)
    stage.run(41_000).objects('PreArm: Compass not calibrated')
    expect(detail(stage)).toBe('ready: ready false; the autopilot says: PreArm: Compass not calibrated')
    stage.set({ 'battery.remaining': 20 })
    expect(detail(stage)).toMatch(/^battery: /)
    stage.set({ 'battery.remaining': 90, ready: 1 })
    expect(detail(stage)).toBe('ready: ready false')
    stage.objects('PreArm: Compass not calibrated').rebooted(100)
    stage.ground()
    expect(detail(stage.run(1100))).toBe('ready: ready false')
  })

  it('of 256 components that are refused are bounded: the message has room for every decision', () => {
    const stage = new Stage(core).fly()
    const far = Array.from({ length: 255 }, (_, i) => goto(`${'n'.repeat(60)}${i}`, 5000 + i))
    const verdict = stage.say([range, ...far])
    expect(verdict.components).toHaveLength(256)
    expect(verdict.components[1].detail).toBe('near_home: distance 5,000 m, at most 280 m')
    expect(encode(verdict).length).toBeLessThanOrEqual(65_536)
  })
})
