// What somebody gets who installs the packed tarball: a `halo` that works, with its core and every example, and without this
// clone. Nothing is asked of the network: `npm ci` has left the packages in npm's cache, and what npm wants to know about them a
// registry on loopback tells from the lock file.

import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from '../../companion/version.ts'
import { Agent, freeTcpPort, freeUdpPort, Halo, isInstalled, PROJECT, skipWithout, until } from './flight-line.ts'

const run = promisify(execFile)
const skipped = skipWithout('dist (npm run build)', existsSync(join(PROJECT, 'dist/companion/main.js')))
const withoutOpenssl = skipWithout('openssl', isInstalled('openssl', 'version'))

interface Locked {
  readonly version: string
  readonly integrity?: string
}

/** Tells of each package the versions and digests of package-lock.json: by its digest npm's cache knows a package. */
async function startRegistry(): Promise<Server> {
  const { packages } = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const versions = new Map<string, Record<string, object>>()
  const { stdout: elsewhere } = await run('npm', ['config', 'get', 'registry'])
  for (const [path, { integrity, ...manifest }] of Object.entries(packages)) {
    const name = path.split('node_modules/').at(-1)!
    // Where it would come from if the cache had lost it.
    const tarball = `${elsewhere.trim()}${name}/-/${name.split('/').at(-1)}-${manifest.version}.tgz`
    const dist = { tarball, integrity }
    versions.set(name, { ...versions.get(name), [manifest.version]: { name, ...manifest, dist } })
  }
  const server = createServer(({ url }, response) => {
    const name = decodeURIComponent(url!.slice(1))
    const known = versions.get(name)
    response.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ name, versions: known, 'dist-tags': { latest: Object.keys(known ?? {}).at(-1) } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

describe.skipIf(skipped)('the packed tarball, installed into an empty prefix', () => {
  const folder = skipped ? '' : mkdtempSync(join(tmpdir(), 'halo-packed-'))
  const prefix = join(folder, 'prefix')
  const program = join(prefix, 'bin/halo')
  const installed = join(prefix, 'lib/node_modules/halo-runtime')
  const halo = (...args: string[]) => new Halo(args, { program, cwd: folder })

  beforeAll(async () => {
    mkdirSync(prefix)
    // `prepare` would build `dist` anew while other tests use it.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: PROJECT })
    const tarball = readdirSync(folder).find((file) => file.endsWith('.tgz'))!
    const registry = await startRegistry()
    try {
      const { port } = registry.address() as { port: number }
      const offline = ['--prefer-offline', '--registry', `http://127.0.0.1:${port}`, '--replace-registry-host', 'never']
      const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier']
      await run('npm', ['i', '-g', '--prefix', prefix, ...offline, ...quiet, join(folder, tarball)], { cwd: folder })
    } finally {
      registry.close()
    }
  }, 240_000)
  afterAll(() => {
    if (!skipped) rmSync(folder, { recursive: true, force: true })
  })

  it('says its version', async () => {
    const version = halo('--version')
    expect(await version.ended).toBe(0)
    expect(version.stdout).toBe(`${VERSION}\n`)
  })

  it('has every example whole: configurations that pass `halo check`, and code that finds what it imports', async () => {
    const files = readdirSync(join(installed, 'examples'), { recursive: true, encoding: 'utf8' })
    const examples = files.map((file) => join(installed, 'examples', file))
    const configurations = examples.filter((file) => file.endsWith('/halo.yaml'))
    expect(configurations.length).toBeGreaterThanOrEqual(2)
    for (const config of configurations) {
      const script = join(dirname(config), 'certificates.sh')
      if (existsSync(script)) {
        if (withoutOpenssl) continue
        execFileSync(script, [join(dirname(config), 'certificates'), '127.0.0.1'], { stdio: 'pipe' })
      }
      const check = halo('check', '--config', config)
      expect(await check.ended, check.stdout + check.stderr).toBe(0)
      expect(check.stdout).toMatch(/halo\.yaml: all is well: vehicle uav1, /)
    }
    for (const file of examples.filter((file) => file.endsWith('.ts'))) {
      // `import type` is gone once it runs.
      for (const [, path] of readFileSync(file, 'utf8').matchAll(/^import (?!type ).*'(\.[^']*)'/gm)) {
        expect(existsSync(join(dirname(file), path!)), `${file} imports ${path}`).toBe(true)
      }
    }
  })

  it('is a library: the program of docs/embedding.md prints what the page says, and loads no grammar of rules', async () => {
    const page = readFileSync(join(installed, 'docs/embedding.md'), 'utf8')
    const [, program] = /```js\n(.*?)```/s.exec(page)!
    const [, printed] = /prints\n\n```\n(.*?)```/s.exec(page)!
    const file = join(folder, 'embedded.mjs')
    writeFileSync(file, program!)
    mkdirSync(join(folder, 'node_modules'), { recursive: true })
    symlinkSync(installed, join(folder, 'node_modules/halo-runtime'))
    const catalog = join(installed, 'examples/px4-multirotor/catalog.yaml')
    // Says of each module whence it came, where it says anything of itself.
    const loads = { ...process.env, NODE_DEBUG: 'esm' }
    const { stdout, stderr } = await run('node', [file, catalog], { env: loads, maxBuffer: 1e8 })
    expect(stdout).toBe(printed)
    expect(stderr).toContain('/@marcbachmann/cel-js/')
    expect(stderr).not.toContain('/chevrotain/')
    await run('node', ['--input-type=module', '-e', "await import('halo-runtime/policy')"], { cwd: folder })
  })

  it('runs: `halo run` and `halo sim` find each other, and an agent sees the vehicle', async () => {
    const [broker, mavlink] = [await freeTcpPort(), await freeUdpPort()]
    const config = join(folder, 'halo.yaml')
    const text = readFileSync(join(installed, 'examples/halo.yaml'), 'utf8')
      .replaceAll('127.0.0.1:1883', `127.0.0.1:${broker}`)
      .replaceAll('127.0.0.1:14540', `127.0.0.1:${mavlink}`)
      .replace('catalog: ', `catalog: ${installed}/examples/`)
    writeFileSync(config, text)
    const companion = halo('run', '--config', config)
    const vehicle = halo('sim', '--listen', '127.0.0.1:0', '--send', `127.0.0.1:${mavlink}`)
    try {
      const dead = companion.ended.then(() => Promise.reject(new Error(companion.stderr)))
      const agent = await Promise.race([Agent.connect(`mqtt://127.0.0.1:${broker}`), dead])
      dead.catch(() => {})
      await until('`online`', () => agent.on('status').find(({ status }) => status === 'online'))
      await agent.ready()
      await agent.end()
      expect(await companion.kill('SIGTERM'), companion.stderr).toBe(0)
    } finally {
      await Promise.all([companion.kill('SIGKILL'), vehicle.kill('SIGKILL')])
    }
  }, 120_000)
})
