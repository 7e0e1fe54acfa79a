// What the service manager is told (systemd's sd_notify): that we are ready, that we still live, that we are about to end.
//
// It is told so by whoever proves it: nothing here has a timer, so a loop that is stuck, or a core that does not answer, falls
// silent, and WatchdogSec later the manager ends the process and starts another.
//
// sd_notify is a datagram on a unix socket. Node has none, and the packages that do are compiled on the machine; systemd's own
// `systemd-notify` does. One shell, started before anything flies, runs it for each line: what forks is small, and never waited
// for.

import { type ChildProcess, spawn } from 'node:child_process'

/** Of the time that the manager waits, so that one feed may be late, and another lost. */
const FEEDS_PER_TIMEOUT = 3

/** Ends with its input. A signal to the whole service is ours to answer, and its last line is still to be said. */
const SHELL = 'trap "" TERM INT HUP; while read -r state; do systemd-notify "$state"; done'

export class Watchdog {
  readonly #env: NodeJS.ProcessEnv
  readonly #log: (message: string) => void
  readonly #period_ms: number
  #fed_ms = -Infinity
  #ready = false
  #shell: ChildProcess | undefined

  private constructor(env: NodeJS.ProcessEnv, log: (message: string) => void) {
    this.#env = env
    this.#log = log
    // Inherited from a parent, it is the parent's.
    const ours = env.WATCHDOG_PID === undefined || env.WATCHDOG_PID === String(process.pid)
    const timeout_ms = ours ? Number(env.WATCHDOG_USEC) / 1000 : 0
    this.#period_ms = timeout_ms > 0 ? timeout_ms / FEEDS_PER_TIMEOUT : Infinity
    this.#shell = this.#start()
  }

  /** Undefined where no manager listens (`NOTIFY_SOCKET`). */
  static of(env: NodeJS.ProcessEnv, log: (message: string) => void): Watchdog | undefined {
    return env.NOTIFY_SOCKET ? new Watchdog(env, log) : undefined
  }

  /** To be called after each turn that proves us alive; says so as often as the manager wants to hear it. */
  alive(now_ms: number): void {
    if (!this.#ready) this.#say('READY=1')
    this.#ready = true
    if (now_ms - this.#fed_ms < this.#period_ms) return
    this.#fed_ms = now_ms
    if (this.#period_ms < Infinity) this.#say('WATCHDOG=1')
  }

  stopping(): void {
    this.#say('STOPPING=1')
  }

  /** Nothing is said any more; the shell ends. */
  close(): void {
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #say(state: string): void {
    try {
      this.#shell ??= this.#start()
      this.#shell.stdin?.write(`${state}\n`)
    } catch (error) {
      // No memory for a shell ends no flight; the manager may.
      this.#log(`no shell to feed the watchdog: ${(error as Error).message}`)
    }
  }

  #start(): ChildProcess {
    const shell = spawn('/bin/sh', ['-c', SHELL], { env: this.#env, stdio: ['pipe', 'ignore', 'inherit'] })
    const lost = (why: string): void => {
      if (this.#shell !== shell) return
      this.#shell = undefined // the next line starts another
      this.#log(`the shell that feeds the watchdog ended: ${why}`)
    }
    shell.on('error', (error) => lost(error.message))
    shell.stdin.on('error', (error) => lost(error.message))
    shell.on('exit', (code, signal) => lost(String(signal ?? code)))
    return shell
  }
}
