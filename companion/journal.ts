// What outlives the process (PROTOCOL 8, 10, 11): pause, the pilot's latch, revoked agents and what of the irreversible is
// open, in one small JSON file. It is replaced as a whole and synced before it counts as written, so a power cut leaves the old
// entry or the new one, never a part.
//
// A disk may take seconds, or for ever. It is only ever waited for by a thread of Node's pool: one at a time, so of its four
// threads a dead disk holds this one, and one more where the time stamps of signing are on it too.

import { closeSync, fsyncSync, openSync, readFileSync, rmSync } from 'node:fs'
import { z } from 'zod'
import type { JournalEntry } from '../src/engine/port.ts'
import { replaceFile } from './machine/durable.ts'

export class JournalError extends Error {
  override readonly name = 'JournalError'
}

const schema = z.strictObject({
  journal: z.literal(1),
  paused: z.boolean(),
  pilotControl: z.boolean(),
  revoked: z.array(z.string()),
  intents: z
    .array(z.strictObject({ agent: z.string(), type: z.string(), payload: z.record(z.string(), z.unknown()) }))
    .default([]),
})

/** Hears, later, that its entry is durable, or why it could not be made so; not at all where a newer one has taken its place. */
export type Done = (error?: JournalError) => void

interface Writing {
  readonly entry: JournalEntry
  readonly done: Done
}

export class FileJournal {
  readonly #file: string
  /** One write at a time: who comes meanwhile waits here, the newest for all. */
  #next: Writing | undefined
  #writing = false
  #idle: (() => void)[] = []

  constructor(file: string) {
    this.#file = file
  }

  /** The last entry, or undefined where there never was one. What cannot be read is never taken for that (G5): it throws. */
  read(): JournalEntry | undefined {
    let text: string
    try {
      text = readFileSync(this.#file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw new JournalError(`journal ${this.#file}: ${(error as Error).message}`)
    }
    const parsed = schema.safeParse(json(text))
    if (parsed.success) {
      const { journal: _, ...entry } = parsed.data
      return entry
    }
    throw new JournalError(
      `journal ${this.#file}: not readable as a journal, so what the operator had paused or revoked is unknown, and ` +
        'whether something irreversible was under way; if none of it matters any more, delete the file and start again',
    )
  }

  /** Throws `JournalError` where `write` would: better known at the start than when the operator pauses in the air. */
  prove(): void {
    const probe = `${this.#file}.probe`
    try {
      const file = openSync(probe, 'w', 0o600)
      try {
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      rmSync(probe)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** Takes the entry, which stands for all before it, and returns at once; `done` comes in a later turn of the loop. */
  write(entry: JournalEntry, done: Done): void {
    this.#next = { entry, done }
    if (!this.#writing) void this.#drain()
  }

  /** Resolves once all that was to be written has been dealt with. On a disk that does not answer that is never. */
  async flush(): Promise<void> {
    if (this.#writing) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  async #drain(): Promise<void> {
    this.#writing = true
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined
      const text = `${JSON.stringify({ journal: 1, ...next.entry })}\n`
      const error = await replaceFile('journal', this.#file, text).catch(
        ({ message, cause }: Error) => new JournalError(message, { cause }),
      )
      next.done(error ?? undefined)
    }
    this.#writing = false
    for (const idle of this.#idle.splice(0)) idle()
  }

  #failed(cause: unknown): JournalError {
    return new JournalError(`journal ${this.#file}: ${(cause as Error).message}`, { cause })
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
