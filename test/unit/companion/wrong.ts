// The wrong catalogs and configurations of test/fixtures/wrong. The first lines of each are comments, one for everything that
// `halo check` says of it: `# line:column: severity: key: what, and what to do`.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, sayFinding } from '../../../companion/commands/check.ts'
import { ConfigError, parseConfig, readCatalog } from '../../../companion/config.ts'
import { CatalogError, MAX_SPEED, type Problem } from '../../../src/catalog/catalog.ts'

const FOLDER = 'test/fixtures/wrong'

export interface WrongFile {
  readonly name: string
  readonly isConfiguration: boolean
  readonly text: string
  /** What its comments say. */
  readonly expected: readonly string[]
}

export const wrongFiles: readonly WrongFile[] = readdirSync(FOLDER).map((name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8')
  const head = /^(# .*\n)*/.exec(text)![0]
  const expected = [...head.matchAll(/^# (\d+:\d+: .*)$/gm)].map(([, said]) => said!)
  return { name, isConfiguration: name.startsWith('halo-'), text, expected }
})

/** What is found in it, without the file's name. */
export function findingsOf({ name, isConfiguration, text }: WrongFile): readonly string[] {
  const file = join(FOLDER, name)
  const warnings: Problem[] = []
  const say = (severity: Finding['severity']) => (problem: Problem) =>
    sayFinding({ ...problem, severity }).replace(/^.*?:(?=\d+:\d+: )/, '')
  try {
    if (isConfiguration) parseConfig(text, file)
    else readCatalog({ catalog: file, maxSpeed: MAX_SPEED }, warnings)
  } catch (error) {
    if (!(error instanceof CatalogError || error instanceof ConfigError)) throw error
    return error.problems.map(say('error'))
  }
  return warnings.map(say('warning'))
}
