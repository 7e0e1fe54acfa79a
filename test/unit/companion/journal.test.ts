import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FileJournal, JournalError } from '../../../companion/journal.ts'
import type { JournalEntry } from '../../../src/engine/port.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-journal-'))
  file = join(folder, 'uav1.journal')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Until it is durable, or rejects with what the disk has against it. */
const write = (journal: FileJournal, entry: JournalEntry): Promise<void> =>
  new Promise((resolve, reject) => journal.write(entry, (error) => (error ? reject(error) : resolve())))
const PAUSED = { paused: true, pilotControl: false, revoked: [], intents: [] }

describe('journal', () => {
  it('has no entry before the first', () => {
    expect(new FileJournal(file).read()).toBeUndefined()
  })

  it('proves that it can write without touching the entry', async () => {
    const journal = new FileJournal(file)
    await write(journal, { paused: true, pilotControl: false, revoked: [], intents: [] })
    journal.prove()
    expect(journal.read()?.paused).toBe(true)
    expect(readdirSync(folder)).toEqual(['uav1.journal'])
  })

  it('gives back in another process what was written, the last entry only', async () => {
    const journal = new FileJournal(file)
    await write(journal, { paused: true, pilotControl: false, revoked: ['planner', 'scout'], intents: [] })
    await write(journal, { paused: false, pilotControl: true, revoked: [], intents: [] })
    expect(new FileJournal(file).read()).toEqual({ paused: false, pilotControl: true, revoked: [], intents: [] })
    expect(readdirSync(folder)).toEqual(['uav1.journal'])
  })

  it('keeps the old entry where the process died before the new one was whole', async () => {
    await write(new FileJournal(file), { paused: true, pilotControl: false, revoked: [], intents: [] })
    writeFileSync(`${file}.next`, '{"journal":1,"pau')
    const journal = new FileJournal(file)
    expect(journal.read()).toEqual({ paused: true, pilotControl: false, revoked: [], intents: [] })
    await write(journal, { paused: false, pilotControl: false, revoked: [], intents: [] })
    expect(journal.read()?.paused).toBe(false)
    expect(existsSync(`${file}.next`)).toBe(false)
  })

  it.each([
    '',
    '{',
    'null',
    '{"journal":1}',
    '{"journal":2,"paused":false,"pilotControl":false,"revoked":[]}',
    '{"journal":1,"paused":0,"pilotControl":false,"revoked":[]}',
    '{"journal":1,"paused":false,"pilotControl":false,"revoked":[1]}',
  ])('G5: does not take %j for an empty journal', (text) => {
    writeFileSync(file, text)
    expect(() => new FileJournal(file).read()).toThrow(JournalError)
    expect(() => new FileJournal(file).read()).toThrow(/uav1\.journal: .*delete the file and start again/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('G5: says so where it cannot read or write', async () => {
    const gone = new FileJournal(join(folder, 'absent', 'uav1.journal'))
    await expect(write(gone, PAUSED)).rejects.toThrow(/absent.*ENOENT/)
    expect(() => gone.prove()).toThrow(/absent.*ENOENT/)
    expect(() => new FileJournal(folder).read()).toThrow(/EISDIR/)
  })

  it('keeps nobody waiting for a disk that does not answer, and asks it for one entry at a time, the newest', async () => {
    // Opening a pipe for writing blocks until somebody reads from it: a disk that does not answer.
    execFileSync('mkfifo', [`${file}.next`])
    const journal = new FileJournal(file)
    const answers: string[] = []
    for (const name of ['a', 'b', 'c']) {
      const entry = { ...PAUSED, revoked: [name] }
      journal.write(entry, (error) => {
        answers.push(`${name} ${error === undefined ? 'durable' : 'refused'}`)
        if (name === 'a') rmSync(`${file}.next`)
      })
    }
    for (let turns = 0; turns < 50; turns++) await turn()
    expect(answers).toEqual([])
    // A pipe cannot be synced: the first is refused, and what came meanwhile finds a disk that answers.
    const reader = openSync(`${file}.next`, constants.O_RDWR)
    await journal.flush()
    closeSync(reader)
    expect(answers[0]).toBe('a refused')
    expect(answers.slice(1)).toEqual(['c durable'])
    expect(journal.read()).toEqual({ ...PAUSED, revoked: ['c'] })
  })
})
