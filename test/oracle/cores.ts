// The two cores that every conformance test runs on: same interface, same answers.

import type { CoreFactory } from '../../src/core/core.ts'
import { loadCore } from '../../src/core/wasm.ts'
import { oracle } from './oracle.ts'

export const cores: readonly (readonly [string, CoreFactory])[] = [
  ['oracle', oracle],
  ['core', loadCore],
]
