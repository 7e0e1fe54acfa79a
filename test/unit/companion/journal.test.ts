import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FileJournal, JournalError } from '../../../companion/journal.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-journal-'))
  file = join(folder, 'uav1.journal')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('journal', () => {
  it('has no entry before the first', () => {
    expect(new FileJournal(file).read()).toBeUndefined()
  })

  it('proves that it can write without touching the entry', () => {
    const journal = new FileJournal(file)
    journal.write({ paused: true, pilotControl: false, revoked: [], intents: [] })
    journal.prove()
    expect(journal.read()?.paused).toBe(true)
    expect(readdirSync(folder)).toEqual(['uav1.journal'])
  })

  it('gives back in another process what was written, the last entry only', () => {
    const journal = new FileJournal(file)
    journal.write({ paused: true, pilotControl: false, revoked: ['planner', 'scout'], intents: [] })
    journal.write({ paused: false, pilotControl: true, revoked: [], intents: [] })
    expect(new FileJournal(file).read()).toEqual({ paused: false, pilotControl: true, revoked: [], intents: [] })
    expect(readdirSync(folder)).toEqual(['uav1.journal'])
  })

  it('keeps the old entry where the process died before the new one was whole', () => {
    new FileJournal(file).write({ paused: true, pilotControl: false, revoked: [], intents: [] })
    writeFileSync(`${file}.next`, '{"journal":1,"pau')
    const journal = new FileJournal(file)
    expect(journal.read()).toEqual({ paused: true, pilotControl: false, revoked: [], intents: [] })
    journal.write({ paused: false, pilotControl: false, revoked: [], intents: [] })
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

  it('G5: throws where it cannot read or write', () => {
    const gone = new FileJournal(join(folder, 'absent', 'uav1.journal'))
    expect(() => gone.write({ paused: true, pilotControl: false, revoked: [], intents: [] })).toThrow(/absent.*ENOENT/)
    expect(() => gone.prove()).toThrow(/absent.*ENOENT/)
    expect(() => new FileJournal(folder).read()).toThrow(/EISDIR/)
  })
})
