// The version of this package, from source and from `dist/` alike.

import { existsSync, readFileSync } from 'node:fs'

const file = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url)).find(existsSync)
if (file === undefined) throw new Error('version: no package.json above this file')

export const VERSION: string = JSON.parse(readFileSync(file, 'utf8')).version
