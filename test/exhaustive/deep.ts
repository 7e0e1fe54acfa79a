// Every labelled DAG of a size with every support, on the wasm core: of six components 3,781,503 graphs and 242,016,192 cases,
// more than a test run has time for. One process a processor, and each judges its share of the graphs.

import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { DAGS } from './digraph.ts'
import type { Share } from './share.ts'
import type { Mismatch } from './trial.ts'

export interface Progress {
  readonly graphs: number
  /** Graphs of the whole run. */
  readonly of: number
  readonly cases: number
  readonly elapsed_ms: number
}

export interface Deep extends Progress {
  /** At most one of each process: the first one ends the run. */
  readonly mismatches: readonly Mismatch[]
}

export interface DeepOptions {
  /** 1 to 6. */
  readonly components: number
  /** Judges every so manieth graph only; default 1, all of them. */
  readonly stride?: number
  readonly report?: (progress: Progress) => void
}

const SHARE = fileURLToPath(new URL('share.ts', import.meta.url))

/** Rejects where a process fails, or judged other than its share. */
export async function deep({ components, stride = 1, report }: DeepOptions): Promise<Deep> {
  const known = DAGS[components]
  if (known === undefined || components < 1) throw new RangeError(`components must be 1 to ${DAGS.length - 1}`)
  const processes = availableParallelism()
  const began_ms = performance.now()
  const shares: Share[] = []
  const progress = (): Progress => ({
    graphs: shares.reduce((sum, { graphs }) => sum + graphs, 0),
    of: Math.ceil(known / stride),
    cases: shares.reduce((sum, { cases }) => sum + cases, 0),
    elapsed_ms: performance.now() - began_ms,
  })

  const children: ChildProcess[] = []
  const ended = Array.from({ length: processes }, (_, i) => {
    const argv = [components, stride * processes, stride * i].map(String)
    const child = fork(SHARE, argv, { execArgv: ['--import', 'tsx'] })
    children.push(child)
    shares[i] = { graphs: 0, cases: 0 }
    child.on('message', (share: Share) => {
      shares[i] = { ...shares[i], ...share }
      if (share.mismatch !== undefined) for (const other of children) if (other !== child) other.kill()
      report?.(progress())
    })
    return new Promise<void>((resolve, reject) => {
      child.on('error', reject)
      child.on('exit', (code, signal) => {
        if (code === 0 || signal !== null) resolve()
        else reject(new Error(`a share of the deep run ended with ${code}`))
      })
    })
  })
  await Promise.all(ended)
  const mismatches = shares.flatMap(({ mismatch }) => mismatch ?? [])
  const all = progress()
  if (mismatches.length === 0 && all.graphs !== all.of) throw new Error(`${all.graphs} of ${all.of} graphs were judged`)
  return { ...all, mismatches }
}

const WIDTH = 30

/** A report on stderr: a bar, the cases, their rate, and the time that is left. */
export function bar({ graphs, of, cases, elapsed_ms }: Progress): void {
  const filled = Math.floor((WIDTH * graphs) / of)
  const left_s = Math.round((elapsed_ms / 1000) * (of / graphs - 1))
  const left = `${Math.floor(left_s / 60)} min ${String(left_s % 60).padStart(2, '0')} s left`
  const rate = Math.round(cases / (elapsed_ms / 1000)).toLocaleString('en')
  const line = `${'█'.repeat(filled).padEnd(WIDTH, '░')} ${((100 * graphs) / of).toFixed(1)} %  ${cases.toLocaleString('en')} cases  ${rate}/s  ${left}`
  process.stderr.write(`\r${line}\x1b[K${graphs === of ? '\n' : ''}`)
}
