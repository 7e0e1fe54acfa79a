// Which types of the example catalogs settle (PROTOCOL 5): the core says the same of each.

import { expect, test } from 'vitest'
import { settles } from '../../../src/core/image.ts'
import { allowed } from '../core/allowed.ts'
import { ARDUPILOT_EXAMPLE, EXAMPLE, load } from './example.ts'

test.each([
  ['PX4', EXAMPLE],
  ['ArduPilot', ARDUPILOT_EXAMPLE],
])('a type of the example catalog for %s settles for the host where it does for the core', (_, text) => {
  const { image, types } = load(text)
  const said = types.map((type) => type.settles)
  expect(said).toEqual(image.types.map(settles))
  expect(allowed(image.types, image.fields)).toEqual(said)
  const settling = types.filter((type) => type.settles).map(({ name }) => name)
  expect(settling).toEqual(['notice.operator', 'report.range', 'status'])
})
