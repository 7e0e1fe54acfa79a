// The unit of examples/deploy, as systemd reads it; nothing is started.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { isInstalled, skipWithout } from '../e2e/flight-line.ts'

const unit = fileURLToPath(new URL('../../examples/deploy/halo.service', import.meta.url))
const skipped = skipWithout('systemd-analyze', isInstalled('systemd-analyze', '--version'))

it.skipIf(skipped)('systemd understands every line of halo.service', () => {
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
