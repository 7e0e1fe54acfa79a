// Cores with a mistake in their own source: one line of assembly/ is another one, and the rest is compiled as it stands.

import { readFileSync } from 'node:fs'
import type { CoreFactory } from '../../src/core/core.ts'
import { coresOf } from '../../src/core/wasm.ts'
import { compile } from '../mutation/compiler.ts'

export interface Mutation {
  /** A file of assembly/. */
  readonly file: string
  /** Stands in it exactly once. */
  readonly line: string
  readonly instead: string
}

/** Throws an Error where the line is not there any more, or the compiler refuses what stands instead. */
export async function mutant({ file, line, instead }: Mutation, level: 0 | 3 = 0): Promise<CoreFactory> {
  const whole = readFileSync(`assembly/${file}`, 'utf8')
  if (whole.split(line).length !== 2) throw new Error(`assembly/${file} must have exactly one: ${line}`)
  const compiled = await compile(level, file, whole.replace(line, instead))
  if ('error' in compiled) throw new Error(`assembly/${file}: ${compiled.error}`)
  return coresOf(compiled.bytes)
}
