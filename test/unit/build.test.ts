// G7: the same sources give the same core, wherever the checkout lies; and a core that imports nothing has no clock, no
// randomness and no way out.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const built = readFileSync(join(root, 'build/core.wasm'))

test('G7: two builds in two folders are the same bytes, and those of build/', { timeout: 120_000 }, () => {
  const folders = ['a', 'another-folder'].map((name) => mkdtempSync(join(tmpdir(), `halo-${name}-`)))
  try {
    const builds = folders.map((folder) => {
      cpSync(join(root, 'assembly'), join(folder, 'assembly'), { recursive: true })
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
      execFileSync(process.execPath, ['assembly/build.mjs'], { cwd: folder, stdio: 'pipe' })
      return {
        core: readFileSync(join(folder, 'build/core.wasm')),
        abi: readFileSync(join(folder, 'build/abi.ts'), 'utf8'),
      }
    })
    expect(builds[0]!.core.equals(builds[1]!.core)).toBe(true)
    expect(builds[0]!.abi).toBe(builds[1]!.abi)
    expect(builds[0]!.core.equals(built), 'build/core.wasm is older than assembly/').toBe(true)
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true })
  }
})

test('G7: the core imports nothing, and its memory is fixed', () => {
  const module = new WebAssembly.Module(built)
  expect(WebAssembly.Module.imports(module)).toEqual([])
  const { memory } = new WebAssembly.Instance(module).exports as { memory: WebAssembly.Memory }
  expect(memory.buffer.byteLength).toBe(64 * 65536)
  expect(() => memory.grow(1)).toThrow(RangeError)
})
