// The gate without its digests: a core of the same sources whose SHA-256 compresses nothing, so that every digest is the same
// and every record intact. What is left is what the gate decides, and the bytes of its frames.

import type { Gate } from '../src/core/core.ts'
import { mutant } from '../test/simulation/mutant.ts'
import { cross } from './gate.ts'
import type { Work } from './work.ts'

const NO_DIGEST = {
  file: 'digest.ts',
  line: 'function block<T>(): void {',
  instead: 'function block<T>(): void {}\nfunction spared<T>(): void {',
}

let compiled: ReturnType<typeof mutant> | undefined

export async function undigested(): Promise<Work<Gate>[]> {
  compiled ??= mutant(NO_DIGEST, 3)
  return [cross(16, await compiled, '16 prerequisites, 3 frames, without digests', { calls: 16, target_ms: 0.0007 })]
}
