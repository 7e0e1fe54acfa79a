// Decode to verdict: the packet of an agent to the verdict on it (PROTOCOL 4 to 6); and the whole step of the engine, in which
// what was retained is offered to the gate as well (PROTOCOL 7): the report and the consent cross, everything else is deferred
// until a person has answered.
//
// Each response starts a plan, so it also supersedes the one before, component by component.

import { loadCore } from '../src/core/wasm.ts'
import type { Publication } from '../src/engine/port.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { Admitting, exampleCatalog, type Hover, Hovering, retainsAll, sortie } from './sortie.ts'
import type { Work } from './work.ts'

function work(what: string, n: number, engine: Hover, target_ms?: number): Work<Publication[]> {
  const components = sortie(n)
  let bytes: Uint8Array = new Uint8Array()
  return {
    name: `${what}: ${n} components, ${2 * n} prerequisites`,
    target_ms,
    before: () => {
      engine.beat()
      bytes = engine.next(components)
    },
    run: () => engine.receive(bytes),
    after: () => engine.settle(),
    didIt: (published) => retainsAll(published, n),
  }
}

export function response(): Work[] {
  const catalog = exampleCatalog()
  return [
    work('decode to verdict', 32, new Admitting(catalog, loadCore), 0.12),
    work('decode to verdict', 256, new Admitting(catalog, loadCore)),
    work('the whole step', 32, new Hovering(catalog, loadCore)),
    work('the whole step', 256, new Hovering(catalog, loadCore)),
    work('the whole step, the oracle as core', 32, new Hovering(catalog, oracle)),
  ]
}
