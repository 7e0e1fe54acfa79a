// What the figures were measured on.

import { cpus, loadavg } from 'node:os'

export const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  load: loadavg()[0]!,
  platform: process.platform,
  arch: process.arch,
  node: process.version,
}

/** In one line. */
export const machineWords =
  `${machine.cpu}, ${machine.cores} cores, load ${machine.load.toFixed(1)}, ` +
  `${machine.platform} ${machine.arch}, Node ${machine.node}`
