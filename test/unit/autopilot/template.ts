// The numbers of a profile's frames, as CEL itself computes them and not as our compiler does.

import { parse } from '@marcbachmann/cel-js'
import type { FrameTemplate, Profile, SetpointName } from '../../../src/autopilot/profile.ts'

export type Payload = Readonly<Record<string, number>>
const state = { home: { amsl: 500 }, local: { down: -12 } }

/** Of a template for a payload, by field; `nan` stays. */
export function values(template: FrameTemplate, payload: Payload): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(template.values).map(([field, value]) => [
      field,
      typeof value === 'number' || value === 'nan'
        ? value
        : Number(parse(value)({ payload, state, target: { system: 2, component: 1 } })),
    ]),
  )
}

/** The streamed frame of a setpoint; `declared` are the fields that the catalog gives the payload. */
export const setpointOf = (
  profile: Profile,
  name: SetpointName,
  payload: Payload,
  declared: readonly string[] = Object.keys(payload),
) =>
  values(
    profile.setpoints[name].frame((field) => declared.includes(field)),
    payload,
  )
