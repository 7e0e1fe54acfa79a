// `halo check`: what a configuration, its catalog and its rules say, without connecting to anything (PROTOCOL 3).

import { KindWords, PhaseWords } from '../../build/abi.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { loadConfig, readCatalog, readPolicy } from '../config.ts'
import { readKey } from '../mavlink/signing.ts'
import { readCertificates } from '../mqtt/certificates.ts'

/** Rejects with `ConfigError`, `CatalogError`, `RuleError` or the error of the file system. */
export async function check(file: string, print: (line: string) => void): Promise<void> {
  const config = loadConfig(file)
  const catalog = readCatalog(config)
  const policy = await readPolicy(config, catalog)
  if (config.mavlink.signing !== undefined) readKey(config.mavlink.signing.key)
  if ('certificates' in config.mqtt) readCertificates(config.mqtt.certificates)
  print(`vehicle ${config.vehicle}: profile ${catalog.profile.name}, catalog ${catalog.hash.slice(0, 16)}`)
  for (const line of describe(catalog)) print(line)
  if (policy !== undefined) print(`rules: ${policy.rules.map(({ id }) => `@${id}`).join(' ')}`)
}

/** One block a component type: kind, what it must and may rest on, and its footprint per tense. */
export function describe({ types, fields, agents }: Catalog): string[] {
  const names = (numbers: readonly number[], of: readonly { readonly name: string }[]): string =>
    numbers.length === 0 ? '-' : numbers.map((n) => of[n]!.name).join(', ')
  return [
    ...types.flatMap((type) => [
      `${type.name}: ${KindWords[type.kind]}`,
      `  requires     ${names(type.requires, types)}`,
      `  may require  ${type.mayRequire.map((m) => `${types[m.type]!.name} (${PhaseWords[m.phase]})`).join(', ') || '-'}`,
      `  reads now    ${names(type.footprint.now, fields)}`,
      `  reads cited  ${names(type.footprint.cited, fields)}`,
    ]),
    ...agents.map(({ name, may }) => `agent ${name} may: ${names([...may], types)}`),
  ]
}
