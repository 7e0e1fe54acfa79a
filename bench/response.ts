// Decode to verdict: the packet of an agent to the verdict, in one call of the engine (PROTOCOL 4 to 7).
//
// Each response starts a plan, so the call also supersedes the one before it, component by component, and offers all that is
// new to the gate: the report and the consent cross, everything else is deferred until a person has answered.

import type { CoreFactory } from '../src/core/core.ts'
import { loadCore } from '../src/core/wasm.ts'
import type { Publication } from '../src/protocol/port.ts'
import { oracle } from '../test/oracle/oracle.ts'
import { exampleCatalog, Hovering, retainsAll, sortie } from './sortie.ts'
import type { Work } from './work.ts'

export function response(): Work[] {
  const catalog = exampleCatalog()
  const work = (n: number, core: CoreFactory, peer: string, target?: { target_ms: number }): Work<Publication[]> => {
    const hovering = new Hovering(catalog, core)
    const components = sortie(n)
    let bytes: Uint8Array = new Uint8Array()
    return {
      name: `decode to verdict: ${n} components, ${2 * n} prerequisites${peer}`,
      ...target,
      before: () => {
        hovering.beat()
        bytes = hovering.next(components)
      },
      run: () => hovering.receive(bytes),
      didIt: (published) => retainsAll(published, n),
    }
  }
  return [work(32, loadCore, '', { target_ms: 1 }), work(256, loadCore, ''), work(32, oracle, ', the oracle as core')]
}
