// Who may say what: a type that no agent may say never happens, whatever else the catalog says of it (PROTOCOL 3).

import type { CatalogShape, ComponentShape } from './schema.ts'
import type { Source } from './source.ts'

/** `shapes` are those of the types whose keys were right. */
export function refuseUnreachable(
  agents: CatalogShape['agents'],
  names: readonly string[],
  shapes: ReadonlyMap<string, ComponentShape>,
  source: Source,
): void {
  if (Object.keys(agents).length === 0) {
    source.problem(['agents'], 'is empty: nobody may say anything. Name an agent, and under `may` its types', 'key')
    return
  }
  const said = new Set(Object.values(agents).flatMap(({ may }) => may))
  for (const type of names) {
    if (said.has(type)) continue
    source.problem(
      ['components', type],
      'nobody may say it: name it under `may` of an agent, or leave the type out',
      'key',
    )
  }
  for (const [agent, { may }] of Object.entries(agents)) {
    for (const [i, type] of may.entries()) {
      const wanting = (shapes.get(type)?.requires ?? []).filter((name) => names.includes(name) && !may.includes(name))
      for (const required of wanting) {
        const wrong = `\`${type}\` requires a \`${required}\` of the same agent, and ${agent} may not say one`
        source.problem(['agents', agent, 'may', i], `${wrong}: add \`${required}\` here, or leave \`${type}\` out`)
      }
    }
  }
}
