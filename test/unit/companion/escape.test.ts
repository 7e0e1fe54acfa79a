import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { escaped } from '../../../companion/escape.ts'

const code = (text: string): string => [...text].map((c) => c.codePointAt(0)!.toString(16)).join(' ')

test.each([
  ['a control sequence', '\u001b[2J', '\\u001b[2J'],
  ['one of C1', '\u009b31m', '\\u009b31m'],
  ['a carriage return over what stood there', 'refused\rok', 'refused\\u000dok'],
  ['a line turned round', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['spaces without width', 'de\u200bny\ufeff\u00ad', 'de\\u200bny\\ufeff\\u00ad'],
  ['separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['tags', 'a\u{e0041}b', 'a\\udb40\\udc41b'],
])('%s is shown', (_, text, shown) => {
  expect(escaped(text)).toBe(shown)
})

test('what people write in their languages is left as it is', () => {
  const text = 'Wände 風 עברית عربي हिन्दी 🚁 👍🏽\tand\n"quotes"'
  expect(escaped(text)).toBe(text)
})

test('JSON stays the same JSON', () => {
  const value = { text: '\u009b\u202e\u{e0041}\u2028\u0000\n', other: 'ä' }
  expect(JSON.parse(escaped(JSON.stringify(value)))).toEqual(value)
})

test('no character of a class that moves, hides or turns comes through', () => {
  for (let i = 0; i < 0x10000; i++) {
    const text = String.fromCharCode(i)
    const isUnseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) && text !== '\n' && text !== '\t'
    // Joiners and marks that scripts are written with, as Arabic's signs around numbers, are no harm.
    const isWritten = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]/.test(text)
    if (isUnseen && !isWritten) expect(escaped(text), code(text)).toMatch(/^\\u/)
  }
})

test('the command line says nothing that a terminal would obey', async () => {
  const args = ['--import', 'tsx', 'companion/main.ts', 'check', '--config', '\u009b2Jno\u202esuch']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  await once(child, 'close')
  expect(said).toContain('\\u009b2Jno\\u202esuch')
  expect(said).not.toContain('\u009b')
})
