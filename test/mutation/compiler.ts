// The core's compiler in this process, on the sources of the checkout with one of them replaced. The checkout is the working
// directory, as everywhere: once compiled itself, as in a benchmark, this file lies elsewhere.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import asc from 'assemblyscript/asc'

/** What came of it: the module's bytes, or what the compiler says against them. */
export type Compiled = { readonly bytes: Uint8Array<ArrayBuffer> } | { readonly error: string }

/** Level 3 is the build's own; level 1 means the same and is there in half the time, level 0 sooner still. */
export async function compile(level: 0 | 1 | 3, file?: string, source?: string): Promise<Compiled> {
  let bytes: Uint8Array<ArrayBuffer> | undefined
  let said = ''
  const flags = ['--config', 'assembly/asconfig.json', '--optimizeLevel', `${level}`, '--outFile', 'core.wasm']
  const { error } = await asc.main(flags, {
    stderr: {
      write: (text) => {
        said += text
      },
    },
    listFiles: () => [],
    readFile(name, folder) {
      if (source !== undefined && name === `assembly/${file}`) return source
      try {
        return readFileSync(join(folder, name), 'utf8')
      } catch {
        return null // asc looks in several places
      }
    },
    writeFile(_, contents) {
      bytes = Uint8Array.from(contents as Uint8Array)
    },
  })
  return error || bytes === undefined ? { error: said } : { bytes }
}
