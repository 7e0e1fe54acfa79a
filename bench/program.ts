// A part of the live rig in a process of its own: started, asked, and ended with this one, whatever happens to it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { PROJECT } from '../test/e2e/flight-line.ts'

/** After this a process that was asked to end is ended. */
const PATIENCE_MS = 5_000

export class Program {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  readonly #name: string

  /** `args` of Node. Its errors go to ours. */
  constructor(args: readonly string[]) {
    this.#name = args.join(' ')
    this.#child = spawn(process.execPath, args, { cwd: PROJECT, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#ended = once(this.#child, 'exit')
    this.#ended.catch(() => {})
  }

  /** A TypeScript program of this folder. */
  static of(file: string, ...args: readonly string[]): Program {
    return new Program(['--import', import.meta.resolve('tsx'), `bench/${file}`, ...args])
  }

  /** Resolves once it has said that it is ready. */
  async ready(): Promise<this> {
    await this.#hear()
    return this
  }

  /** Asks it for its figures. Rejects where it ends instead. */
  async ask<T>(): Promise<T> {
    const heard = this.#hear()
    this.#child.send('figures')
    return (await heard) as T
  }

  async #hear(): Promise<unknown> {
    const ended = this.#ended.then(() => {
      throw new Error(`${this.#name} ended by itself: ${this.#child.signalCode ?? this.#child.exitCode}`)
    })
    const [message] = (await Promise.race([once(this.#child, 'message'), ended])) as [unknown]
    return message
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS)
    this.#child.kill('SIGTERM')
    await this.#ended
    clearTimeout(timer)
  }
}
