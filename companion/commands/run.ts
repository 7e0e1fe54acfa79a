// `halo run`: the daemon as a process: signals, the log on stderr, the exit code.

import { pino } from 'pino'
import { warm } from '../../src/engine/warmup.ts'
import { loadConfig } from '../config.ts'
import { startDaemon } from '../daemon.ts'
import { openLog } from '../log.ts'
import { Watchdog } from '../machine/watchdog.ts'

/** What a reader of the log that has stopped reading can cost, bytes; beyond that lines are dropped, never flight. */
const BACKLOG_BYTES = 1 << 20

/** How long the last lines of the log may take, ms. */
const FLUSH_MS = 1000

/** Runs until a signal or a fatal error and gives the exit code. Throws where it cannot start. */
export async function run(file: string): Promise<number> {
  const config = loadConfig(file)
  const stderr = pino.destination({ fd: 2, sync: false, maxLength: BACKLOG_BYTES })
  stderr.on('error', () => {}) // nor does one that has gone away
  const log = openLog(config, stderr, process.env)
  const watchdog = Watchdog.of(process.env, (message) => log.error({ event: 'watchdog', message }))
  warm() // before anybody relies on it
  const daemon = await startDaemon(config, { log, alive: (now_ms) => watchdog?.alive(now_ms) })
  let signals = 0
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (++signals > 1) process.exit(1)
      log.info({ event: 'signal', signal })
      watchdog?.stopping()
      void daemon.stop()
    })
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => daemon.fail(error))
  }
  const code = await daemon.ended
  watchdog?.close()
  // An exit in good order would wait for a disk or a reader of the log that does not answer, and nobody could start another.
  if (!(await isFlushed(stderr)) || daemon.stuck) process.kill(process.pid, 'SIGKILL')
  return code
}

/** Whether somebody has taken the last lines. */
function isFlushed(log: ReturnType<typeof pino.destination>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), FLUSH_MS)
    log.flush(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
