// The example catalog, and catalogs made from it by one change.

import { readFileSync } from 'node:fs'
import { ardupilotCopter } from '../../../src/autopilot/ardupilot-copter.ts'
import { px4Multirotor } from '../../../src/autopilot/px4-multirotor.ts'
import { CatalogError, type Problem } from '../../../src/catalog/catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'

const example = (profile: string): string =>
  readFileSync(new URL(`../../../examples/${profile}/catalog.yaml`, import.meta.url), 'utf8')

export const EXAMPLE = example('px4-multirotor')
export const ARDUPILOT_EXAMPLE = example('ardupilot-copter')

export const load = (text: string) => loadCatalog(text, 'catalog.yaml', [px4Multirotor, ardupilotCopter])

/** The example with `from`, which must stand in it once, replaced. */
export function changed(from: string, to: string, text = EXAMPLE): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${JSON.stringify(from)} stands in the example ${parts.length - 1} times`)
  return parts.join(to)
}

/** Every problem as `line:column: key: message`; none if the catalog loads. */
export function problems(text: string): readonly string[] {
  try {
    load(text)
    return []
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return error.problems.map(({ line, column, key, message }) => `${line}:${column}: ${key}: ${message}`)
  }
}

/** Every warning in the same form. Throws where the catalog does not load. */
export function warnings(text: string): readonly string[] {
  const found: Problem[] = []
  loadCatalog(text, 'catalog.yaml', [px4Multirotor, ardupilotCopter], { warnings: found })
  return found.map(({ line, column, key, message }) => `${line}:${column}: ${key}: ${message}`)
}
