// What outlives the process (PROTOCOL 8, 10, 11): pause, the pilot's latch, revoked agents and what of the irreversible is
// open, in one small JSON file. It is replaced as a whole and synced before `write` returns, so a power cut leaves the old
// entry or the new one, never a part.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { Journal, JournalEntry } from '../src/protocol/port.ts'

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

export class FileJournal implements Journal {
  readonly #file: string

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
    this.#guarded(() => {
      writeSynced(probe, '')
      rmSync(probe)
    })
  }

  /** Throws `JournalError` where the entry could not be made durable. */
  write(entry: JournalEntry): void {
    const next = `${this.#file}.next`
    this.#guarded(() => {
      writeSynced(next, `${JSON.stringify({ journal: 1, ...entry })}\n`)
      renameSync(next, this.#file)
      // The rename itself is durable only once the folder is.
      withFile(dirname(this.#file), 'r', fsyncSync)
    })
  }

  #guarded(step: () => void): void {
    try {
      step()
    } catch (error) {
      throw new JournalError(`journal ${this.#file}: ${(error as Error).message}`, { cause: error })
    }
  }
}

function writeSynced(file: string, text: string): void {
  withFile(file, 'w', (open) => {
    writeSync(open, text)
    fsyncSync(open)
  })
}

function withFile(file: string, flags: 'r' | 'w', step: (open: number) => void): void {
  const open = openSync(file, flags, 0o600)
  try {
    step(open)
  } finally {
    closeSync(open)
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
