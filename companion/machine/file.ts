// A file that the user named. What cannot be read is said with what it was to be.

import { readFileSync } from 'node:fs'

/** Its text. Throws an Error that names what it was to be, the file, and why not. */
export function readText(what: string, file: string | 0): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'it is a folder' : message
    throw new Error(`${what} ${file === 0 ? '(standard input)' : file}: ${why}`)
  }
}
