// What holds for every built-in profile (PROTOCOL 3).

import { describe, expect, it } from 'vitest'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { profileFields, SOURCES } from '../../../src/autopilot/field.ts'
import { fieldOf, layout } from '../../../src/autopilot/frame.ts'
import { CONTINGENCIES, type FrameTemplate, MODES, type Verb } from '../../../src/autopilot/profile.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { values } from './template.ts'

const profiles = [px4Multirotor, ardupilotCopter].map((profile) => [profile.name, profile] as const)

it('fields have the same numbers and kinds in all profiles', () => {
  const kinds = ({ name, type, enumeration, unit, angle, continuous }: (typeof px4Multirotor.fields)[number]) =>
    [name, type, enumeration, unit, angle, continuous].join()
  expect(ardupilotCopter.fields.map(kinds)).toEqual(px4Multirotor.fields.map(kinds))
})

it('a profile that forgets a field is refused', () => {
  expect(() => profileFields(SOURCES)).toThrow('nothing says where the field armed comes from')
})

describe.each(profiles)('%s', (_, profile) => {
  it('has exactly the fields of PROTOCOL 3, discrete ones first', () => {
    const names = (continuous: boolean) => profile.fields.filter((f) => f.continuous === continuous).map((f) => f.name)
    expect(names(false).join(' ')).toBe(
      'armed ready estimator.ok critical mode mode_intended landed gps.fix gps.satellites',
    )
    expect(names(true).join(' ')).toBe(
      'battery.remaining battery.voltage position.lat position.lon position.alt position.amsl position.accuracy ' +
        'local.north local.east local.down velocity.north velocity.east velocity.down heading ' +
        'home.lat home.lon home.amsl range.down',
    )
    for (const field of profile.fields) expect(field.maxAge_ms).toBeGreaterThanOrEqual(300)
  })

  it('asks for every message that it reads, and names it as MAVLink does', () => {
    for (const { name, id } of profile.messages) expect(layout(name).id).toBe(id)
    const asked = profile.messages.map(({ name }) => name)
    for (const { from } of profile.fields) {
      expect(asked).toContain(from.message)
      for (const field of from.fields) fieldOf(from.message, field)
    }
  })

  it('G5: a value outlives two lost messages of the rate that is asked for, and not many more', () => {
    for (const { name, from, maxAge_ms } of profile.fields) {
      const { interval_us } = profile.messages.find((source) => source.name === from.message)!
      if (interval_us === undefined) continue
      expect(maxAge_ms, name).toBeGreaterThanOrEqual((3 * interval_us) / 1e3)
      expect(maxAge_ms, name).toBeLessThanOrEqual(3000)
    }
  })

  const all: readonly FrameTemplate[] = [
    ...Object.values(profile.verbs).flatMap((verb) => verb.steps(() => true).map((step) => step.frame)),
    ...Object.values(profile.setpoints).flatMap((s) => [s.frame(() => true), s.frame(() => false)]),
    ...CONTINGENCIES.map((name) => profile.contingencies[name].frame),
    profile.engagement.step.frame,
  ]

  it('names fields that its messages have, and addresses the autopilot', () => {
    for (const template of all) {
      for (const field of Object.keys(template.values)) fieldOf(template.message, field)
      if (template.stamp !== undefined) expect(fieldOf(template.message, template.stamp).format).toBe('u32')
      for (const [field, value] of Object.entries(template.values)) {
        if (value === 'nan') expect(fieldOf(template.message, field).format).toBe('f32')
      }
      expect(template.values.target_system).toBe('target.system')
      expect(template.values.target_component).toBe('target.component')
    }
  })

  it('arms only in arm and takeoff, and takes off once', () => {
    const steps = (verb: Verb) => profile.verbs[verb].steps(() => true)
    const verbs = Object.keys(profile.verbs) as Verb[]
    expect(verbs.filter((verb) => steps(verb).some((step) => step.arms)).sort()).toEqual(['arm', 'takeoff'])
    for (const verb of verbs) {
      const takesOff = steps(verb).map((step) => step.command === 22)
      expect(steps(verb).map((step) => step.takesOff)).toEqual(takesOff)
    }
  })

  it('stops without sensors: a contingency reads neither state nor payload, and never arms', () => {
    for (const name of CONTINGENCIES) {
      const { values: v } = profile.contingencies[name].frame
      expect(v.command === 400 && v.param1 !== 0).toBe(false)
      for (const value of Object.values(v)) expect(String(value)).not.toMatch(/state|payload|nan/)
    }
  })

  it('sets the mode that each step and contingency says it shows', () => {
    const steps = Object.values(profile.verbs).flatMap((verb) => verb.steps(() => true))
    const setting = [...steps, profile.engagement.step, ...CONTINGENCIES.map((name) => profile.contingencies[name])]
    const shown = setting.flatMap(({ command, frame, shows }) => {
      if (command !== 176) return []
      const { param1, param2, param3 = 0 } = values(frame, {})
      expect(param1).toBe(1)
      const number = profile.autopilot === 12 ? Number(param2) * 2 ** 16 + Number(param3) * 2 ** 24 : Number(param2)
      expect(shows).toEqual({ mode: profile.mode(number) })
      return [profile.mode(number)!]
    })
    expect(new Set(shown)).toEqual(new Set(['HOLD', 'OFFBOARD', 'LAND', 'RETURN']))
    for (const mode of shown) expect(MODES).toContain(mode)
  })
})
