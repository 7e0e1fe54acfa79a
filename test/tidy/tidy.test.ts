// Tests about the code itself: what no type checker sees, and what the guarantees rest on.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

interface Source {
  /** Relative to the root. */
  readonly path: string
  readonly text: string
  /** Without comments and strings, line by line. */
  readonly lines: readonly string[]
  readonly imports: readonly string[]
}

function sources(folder: string): Source[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((e) => e.isFile() && /\.(ts|mjs)$/.test(e.name))
    .map((e) => read(relative(root, join(e.parentPath, e.name))))
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const imports = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((m) => m[1]!)
  const code = text.replace(/\/\*[\s\S]*?\*\//g, (c) => c.replace(/[^\n]/g, '')).replace(/\/\/[^\n]*/g, '')
  return { path, text, lines: code.replace(/'[^'\n]*'/g, "''").split('\n'), imports }
}

/** `path:line: text` of every line of code that matches. */
function findings(files: readonly Source[], pattern: RegExp): string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  )
}

/** The folder of the project that a relative import leads to, e.g. `src/core`; a package's name otherwise. */
function leadsTo({ path }: Source, specifier: string): string {
  return specifier.startsWith('.') ? relative(root, resolve(root, dirname(path), specifier)) : specifier
}

const core = sources('assembly').filter(({ path }) => path.endsWith('.ts'))
const library = sources('src')
const companion = sources('companion')
const simulator = sources('simulator')
const examples = sources('examples')
const all = [...core, ...library, ...companion, ...simulator, ...sources('bench'), ...sources('test'), ...examples]

describe('imports go one way: companion, src, the build of assembly', () => {
  const wrong = (files: readonly Source[], allowed: RegExp): string[] =>
    files.flatMap((file) =>
      file.imports
        .filter((specifier) => specifier.startsWith('.') && !allowed.test(leadsTo(file, specifier)))
        .map((specifier) => `${file.path} imports ${specifier}`),
    )

  it('the core imports only itself', () => {
    expect(wrong(core, /^assembly\//)).toEqual([])
    expect(core.flatMap(({ imports }) => imports).filter((specifier) => !specifier.startsWith('.'))).toEqual([])
  })
  it('the library imports itself and the build', () => {
    expect(wrong(library, /^(src|build)\//)).toEqual([])
  })
  it('the companion imports itself, the library, the build and, in one command, the simulated vehicle', () => {
    expect(wrong(companion, /^(companion|src|build)\/|^package\.json$|^simulator\//)).toEqual([])
  })
  it('the simulated vehicle shares the bytes of the link with the companion, and nothing else', () => {
    expect(wrong(simulator, /^(simulator|src|build)\/|^companion\/mavlink\/|^companion\/adapter\//)).toEqual([])
  })
  it('MAVLink and MQTT do not know each other', () => {
    const between = companion.flatMap((file) =>
      file.imports
        .map((specifier) => leadsTo(file, specifier))
        .filter(
          (to) =>
            (file.path.startsWith('companion/mqtt/') && /^companion\/(mavlink|adapter)|node-mavlink|dgram/.test(to)) ||
            (/^companion\/(mavlink|adapter)\//.test(file.path) && /^companion\/mqtt|^mqtt$|^aedes/.test(to)),
        )
        .map((to) => `${file.path} -> ${to}`),
    )
    expect(between).toEqual([])
  })
  it('one file knows WebAssembly', () => {
    const known = library.filter(({ imports, lines }) => {
      return imports.includes('@assemblyscript/loader') || lines.some((line) => /\bWebAssembly\b/.test(line))
    })
    expect(known.map(({ path }) => path)).toEqual(['src/core/wasm.ts'])
  })
  it('the simulated vehicle is used by its command only, never by the flying parts', () => {
    const users = companion.filter((file) =>
      file.imports.some((specifier) => leadsTo(file, specifier).startsWith('simulator/')),
    )
    expect(users.map(({ path }) => path)).toEqual(['companion/commands/sim.ts'])
  })
})

describe('nothing goes in a circle once it is compiled', () => {
  /** What each file loads when it is loaded: `import type` is gone by then. */
  const loads = (file: Source): string[] =>
    [...file.text.matchAll(/^(?:import|export) (?!type )(?:[^'=();]* from )?'(\.[^']+)'/gm)].map(([, to]) =>
      leadsTo(file, to!),
    )
  const files = [...library, ...companion, ...simulator]

  it('no file', () => {
    expect(circle(new Map(files.map((file) => [file.path, new Set(loads(file))])))).toEqual([])
  })
  it('no folder', () => {
    const rooms = new Map<string, Set<string>>()
    for (const file of files) {
      const room = dirname(file.path)
      const others = loads(file).map(dirname)
      rooms.set(room, new Set([...(rooms.get(room) ?? []), ...others.filter((other) => other !== room)]))
    }
    expect(circle(rooms)).toEqual([])
  })
})

/** The names of a circle, in its order; none where there is none. */
function circle(leads: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>()
  const walk = (at: string, path: readonly string[]): string[] => {
    if (path.includes(at)) return path.slice(path.indexOf(at))
    if (done.has(at)) return []
    for (const next of leads.get(at) ?? []) {
      const found = walk(next, [...path, at])
      if (found.length > 0) return found
    }
    done.add(at)
    return []
  }
  for (const at of leads.keys()) {
    const found = walk(at, [])
    if (found.length > 0) return found
  }
  return []
}

it('who flies without rules does not load their parser: it takes a fifth of the memory of the companion', () => {
  const loaded = new Set<string>()
  const load = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    if (!existsSync(join(root, path))) return
    const file = read(path)
    // `import type` is gone once compiled, `import()` comes when it is called.
    const imports = file.text.matchAll(/^(?:import|export) (?!type )(?:[^'=();]* from )?'([^']+)'/gm)
    for (const [, specifier] of imports) load(leadsTo(file, specifier!))
  }
  load('companion/commands/cli.ts')
  expect(loaded).toContain('companion/daemon.ts')
  expect([...loaded].filter((path) => path.startsWith('chevrotain'))).toEqual([])
})

it('nothing is loaded before V8 is told how much memory it may take for what is young', () => {
  const { text } = read('companion/main.ts')
  expect([...text.matchAll(/^import .*'(.*)'/gm)].map(([, from]) => from)).toEqual(['node:v8'])
  expect(text.indexOf('setFlagsFromString(')).toBeLessThan(text.indexOf("await import('./commands/cli.ts')"))
})

describe('the library has no I/O, no clock, no timers, no chance', () => {
  it('G7: reads no clock and draws no number', () => {
    expect(
      findings(library, /performance\.|Date\b|Math\.random|randomBytes|setTimeout|setInterval|setImmediate/),
    ).toEqual([])
  })
  it('does no I/O but to read the core', () => {
    const io = /^node:(fs|net|dgram|http|child_process|worker_threads|tls|dns|os|process)/
    const users = library.filter(({ imports }) => imports.some((specifier) => io.test(specifier)))
    expect(users.map(({ path }) => path)).toEqual(['src/core/wasm.ts'])
    expect(findings(library, /\bprocess\.|\bconsole\./)).toEqual([])
  })
  it('only the clock reads the monotonic clock', () => {
    expect(findings(companion, /performance\.now/).map((f) => f.split(':')[0])).toEqual(['companion/machine/clock.ts'])
  })
})

describe('one owner of effects: only the adapter sends, and only what the gate handed out', () => {
  it('the gate and the send are one synchronous step: nothing between them can wait', () => {
    const step = library.filter(({ path }) => /^src\/(engine|core)\//.test(path))
    expect(
      findings([...step, ...sources('companion/adapter')], /\bawait\b|\basync\b|\bPromise\b|\.then\(|\byield\b/),
    ).toEqual([])
  })
  it('frames leave the engine through port.send, each in the file of its kind of effect', () => {
    const senders = new Set(findings(library, /\bport\.send\(/).map((f) => f.split(':')[0]))
    expect([...senders].sort()).toEqual([
      'src/engine/dispatch/contingency.ts',
      'src/engine/dispatch/dispatch.ts',
      'src/engine/dispatch/lease.ts',
    ])
  })
  it('every port.send takes a frame that the core returned', () => {
    const sends = findings(library, /\bport\.send\(/).map((f) => /port\.send\(([^)]*)\)/.exec(f)?.[1])
    expect(new Set(sends)).toEqual(new Set(['frame', 'verdict.frame!']))
    // Nobody but the one file that knows the core can make a frame.
    expect(
      findings(
        library.filter(({ path }) => path !== 'src/core/wasm.ts'),
        /\bpayload: new Uint8Array|as CoreFrame/,
      ),
    ).toEqual([])
  })
  it('only the adapter is given the way to the wire, and only endpoints hold a socket', () => {
    // The daemon ties the two together, behind the switch that a fatal error throws; nobody else transmits.
    expect(findings(companion, /\.transmit\(/)).toEqual([
      expect.stringMatching(
        /^companion\/daemon\.ts:\d+: transmit: \(bytes\) => !over && endpoint\.transmit\(bytes\),$/,
      ),
    ])
    expect(findings(companion, /#transmit\(/).map((f) => f.split(':')[0])).toEqual(['companion/adapter/adapter.ts'])
    const sockets = companion.filter(({ imports }) => imports.some((s) => /^node:(dgram)$/.test(s)))
    expect(sockets.map(({ path }) => path)).toEqual(['companion/mavlink/endpoint.ts'])
  })
  it('the second door commands nothing', () => {
    const { text } = read('companion/adapter/adapter.ts')
    const union = /export type Harmless =([\s\S]*?)\n\n/.exec(text)?.[1] ?? ''
    const names = [...union.matchAll(/message: '([A-Z_]+)'/g)].map((m) => m[1])
    expect(names.sort()).toEqual([
      'HEARTBEAT',
      'PARAM_REQUEST_READ',
      'REQUEST_MESSAGE',
      'SET_MESSAGE_INTERVAL',
      'STATUSTEXT',
      'TIMESYNC',
    ])
  })
})

describe('the project speaks for itself', () => {
  it('files are named after one noun each', () => {
    const named = all
      .map(({ path }) => path)
      .filter((path) => /(util|helper|manager|misc|common|data|info)s?\b/i.test(path))
    expect(named).toEqual([])
  })
  it('no skipped or lonely test, no leftover', () => {
    const tests = all.filter(({ path }) => path.startsWith('test/') && path !== 'test/tidy/tidy.test.ts')
    expect(findings(tests, /\b(it|test|describe)\.(only|todo|fails)\b/)).toEqual([])
    expect(
      findings(
        all.filter(({ path }) => path !== 'test/tidy/tidy.test.ts'),
        /\bdebugger\b/,
      ),
    ).toEqual([])
    expect(
      all.filter(({ path, text }) => path !== 'test/tidy/tidy.test.ts' && /\b(TODO|FIXME|XXX)\b/.test(text)),
    ).toEqual([])
  })
  it('no constant of the core exists twice', () => {
    const limits = [...read('assembly/limits.ts').text.matchAll(/export const ([A-Z_]+)/g)].map((m) => m[1]!)
    expect(limits.length).toBeGreaterThan(10)
    const again = findings([...library, ...companion], new RegExp(`\\bconst (${limits.join('|')})\\b`))
    expect(again).toEqual([])
  })
  it('recordings outside the checkout are named by tests only', () => {
    const naming = all.filter(({ path, text }) => !path.startsWith('test/') && /\.\.\/shared/.test(text))
    expect(naming.map(({ path }) => path)).toEqual([])
  })
})
