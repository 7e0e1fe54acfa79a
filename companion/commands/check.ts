// `halo check`: every mistake and every doubt in a configuration, its catalog and its rules, without connecting to anything
// (PROTOCOL 3). A line each, as compilers write them, or JSON for editors and CI.

import { relative } from 'node:path'
import { RuleError } from '../../src/agentspec/problem.ts'
import { type Catalog, CatalogError, type Problem } from '../../src/catalog/catalog.ts'
import { Source } from '../../src/catalog/source.ts'
import { suggestion } from '../../src/catalog/suggestion.ts'
import type { Policy } from '../../src/engine/rules/policy.ts'
import { type Config, ConfigError, parseConfig, readCatalog, readPolicy } from '../config.ts'
import { readText } from '../machine/file.ts'
import { readKey } from '../mavlink/signing.ts'
import { readCertificates } from '../mqtt/certificates.ts'
import { explain } from './explain.ts'

export interface CheckOptions {
  /** Warnings are errors. */
  readonly strict?: boolean
  /** One JSON object instead of lines. */
  readonly json?: boolean
  /** A component type: say when it is retained and when it crosses. */
  readonly explain?: string
}

export interface Finding extends Omit<Problem, 'key'> {
  readonly severity: 'error' | 'warning'
  /** Of a rule there is none. */
  readonly key?: string
}

/** Exit code: 0 where nothing is an error. Rejects where the configuration cannot be read, or has no type to explain. */
export async function check(file: string, options: CheckOptions, print: (line: string) => void): Promise<0 | 1> {
  const { findings, config, catalog, policy } = await examine(file, options.strict ?? false)
  const errors = findings.filter(({ severity }) => severity === 'error').length
  if (options.json) {
    print(JSON.stringify({ ok: errors === 0, findings }, null, 2))
    return errors === 0 ? 0 : 1
  }
  for (const finding of findings) print(sayFinding(finding))
  if (options.explain !== undefined && catalog !== undefined) {
    for (const line of explain(typeNamed(options.explain, catalog), catalog)) print(line)
  } else if (findings.length > 0) {
    print(`${file}: ${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`)
  } else {
    print(`${file}: all is well: ${checked(config!, catalog!, policy)}`)
  }
  return errors === 0 ? 0 : 1
}

/** `file:line:column: severity: key: what, and what to do`. */
export const sayFinding = ({ file, line, column, severity, key, message }: Finding): string =>
  `${file}:${line}:${column}: ${severity}: ${key === undefined ? '' : `${key}: `}${message}`

interface Examined {
  readonly findings: readonly Finding[]
  readonly config?: Config
  /** Undefined where it has mistakes; so is the rest. */
  readonly catalog?: Catalog | undefined
  readonly policy?: Policy | undefined
}

async function examine(file: string, strict: boolean): Promise<Examined> {
  const text = readText('configuration', file)
  const findings: Finding[] = []
  const report = (problems: readonly Omit<Finding, 'severity'>[], severity: Finding['severity'] = 'error') =>
    findings.push(...problems.map((problem) => ({ ...problem, severity })))
  // What a file that the configuration names is not is a mistake at that name.
  const source = new Source(text, file)
  const attempt = async <T>(key: readonly string[], read: () => T): Promise<Awaited<T> | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (error instanceof ConfigError || error instanceof CatalogError || error instanceof RuleError)
        report(error.problems)
      else if (error instanceof Error && error.name === 'Error') source.problem(key, error.message)
      else throw error
      return undefined
    }
  }
  const config = await attempt([], () => parseConfig(text, file))
  if (config === undefined) return { findings }
  const warnings: Problem[] = []
  const catalog = await attempt(['catalog'], () => readCatalog(config, warnings))
  report(warnings, strict ? 'error' : 'warning')
  const policy = catalog && (await attempt(['rules'], () => readPolicy(config, catalog)))
  const { signing } = config.mavlink
  if (signing !== undefined) await attempt(['mavlink', 'signing', 'key'], () => readKey(signing.key))
  const { mqtt } = config
  if ('certificates' in mqtt) await attempt(['mqtt'], () => readCertificates(mqtt.certificates))
  report(source.problems)
  return { findings, config, catalog, policy }
}

function typeNamed(name: string, { types, typeNumbers }: Catalog) {
  const number = typeNumbers.get(name)
  if (number === undefined)
    throw new Error(`the catalog has no type \`${name}\`${suggestion(name, typeNumbers.keys())}`)
  return types[number]!
}

function checked(config: Config, catalog: Catalog, policy: Policy | undefined): string {
  const { types, agents, predicates, profile, hash } = catalog
  const what = [
    count(types.length, 'type'),
    count(agents.length, 'agent'),
    count(predicates.length, 'predicate'),
    count(policy?.rules.length ?? 0, 'rule'),
  ]
  const from = `${relative(process.cwd(), config.catalog)} (${profile.name}, ${hash.slice(0, 16)})`
  return `vehicle ${config.vehicle}, ${what.join(', ')}; catalog ${from}`
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
