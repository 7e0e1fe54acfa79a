// Cores with a mistake in their own source: one line of assembly/ is another one, and the rest is compiled as it stands.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'
import type { CoreFactory } from '../../src/core/core.ts'
import { coresOf } from '../../src/core/wasm.ts'

export interface Mutation {
  /** A file of assembly/. */
  readonly file: string
  /** Stands in it exactly once. */
  readonly line: string
  readonly instead: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))
// As assembly/build.mjs has them, but not optimised: it is compiled in a quarter of a second.
const FLAGS = ['--runtime', 'stub', '--use', 'abort=', '--initialMemory', '64', '--maximumMemory', '64']

/** Throws an Error where the line is not there any more, or the compiler refuses what stands instead. */
export async function mutant({ file, line, instead }: Mutation): Promise<CoreFactory> {
  const path = join(root, 'assembly', file)
  const whole = readFileSync(path, 'utf8')
  if (whole.split(line).length !== 2) throw new Error(`assembly/${file} must have exactly one: ${line}`)
  let binary: Uint8Array<ArrayBuffer> | undefined
  const { error, stderr } = await asc.main(['assembly/index.ts', ...FLAGS, '--outFile', 'core.wasm'], {
    readFile: (name) => {
      const at = resolve(root, name)
      try {
        return at === path ? whole.replace(line, instead) : readFileSync(at, 'utf8')
      } catch {
        return null // the compiler asks for names that may not be there
      }
    },
    writeFile: (name, contents) => {
      if (name.endsWith('.wasm')) binary = Uint8Array.from(contents as Uint8Array)
    },
    listFiles: () => null,
  })
  if (error !== null || binary === undefined) throw new Error(`assembly/${file}: ${stderr.toString()}`)
  return coresOf(binary)
}
