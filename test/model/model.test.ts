// The model of the protocol, in bounds that a test run has time for; `npm run model` has wider ones (docs/model.md).

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const CHECK = fileURLToPath(new URL('check.mjs', import.meta.url))
const absent = ['spin', 'gcc'].filter((command) => spawnSync(command, ['--version']).error !== undefined)
if (absent.length > 0) console.log(`the model is not checked: ${absent.join(' and ')} not installed`)

function check(...args: string[]): { lines: string[]; status: number | null } {
  const { stdout, stderr, status } = spawnSync(process.execPath, [CHECK, ...args], { encoding: 'utf8' })
  return { lines: `${stdout}${stderr}`.trim().split('\n'), status }
}

describe.skipIf(absent.length > 0)('the model', { timeout: 120_000 }, () => {
  test('G1 G3 G4, no frame after a denial or a takeover: no reachable state breaks them, and missions do fly', () => {
    const { lines, status } = check('--quick')
    expect(
      lines.filter((line) => !line.startsWith('pass')),
      lines.join('\n'),
    ).toEqual([])
    expect(lines).toHaveLength(6)
    expect(status).toBe(0)
  })

  test('G1 G3 G4: every mistake that is built in is found, each by its own property', () => {
    const { lines, status } = check('--sabotage', 'all', '--quick')
    expect(
      lines.filter((line) => !line.startsWith('pass')),
      lines.join('\n'),
    ).toEqual([])
    expect(lines).toHaveLength(17)
    expect(status).toBe(0)
  })

  test('a mistake that nobody has built in is an error', () => {
    expect(check('--sabotage', 'none').status).toBe(1)
  })
})
