// The core's compiler in this process, on the sources of the checkout with one of them replaced.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import asc from 'assemblyscript/asc'

const root = resolve(import.meta.dirname, '../..')

/**
 * The module's bytes, or undefined where it does not compile. Level 3 is the build's own; level 1 means the same and is
 * there in half the time.
 */
export async function compile(level: 1 | 3, file?: string, source?: string): Promise<Uint8Array | undefined> {
  let bytes: Uint8Array | undefined
  const flags = ['--config', 'assembly/asconfig.json', '--optimizeLevel', `${level}`, '--outFile', 'core.wasm']
  const { error } = await asc.main(flags, {
    stderr: { write: () => {} },
    listFiles: () => [],
    readFile(name, folder) {
      if (source !== undefined && name === `assembly/${file}`) return source
      try {
        return readFileSync(join(root, folder, name), 'utf8')
      } catch {
        return null // asc looks in several places
      }
    },
    writeFile(_, contents) {
      bytes = contents as Uint8Array
    },
  })
  return error ? undefined : bytes
}
