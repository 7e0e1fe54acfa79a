// A scenario is a file: a mission, what goes wrong, what must happen then and why. Each of its cases is one run.

import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** The columns, and of how many each is counted: components kept, or cases in which what must not happen did not. */
export const COLUMNS = {
  supported: { title: 'supported kept', counts: 'components' },
  unrelated: { title: 'kept beside an unrelated change', counts: 'components' },
  'stale-epoch': { title: 'stale epoch blocked', counts: 'cases' },
  'wrong-binding': { title: 'wrong binding blocked', counts: 'cases' },
  orphan: { title: 'orphan blocked', counts: 'cases' },
  duplicate: { title: 'duplicate delivery', counts: 'cases' },
  'crash-before-dispatch': { title: 'crash between admission and dispatch', counts: 'cases' },
  'crash-before-send': { title: 'crash between token and send', counts: 'cases' },
  'second-response': { title: 'concurrent second response', counts: 'cases' },
  'old-evidence': { title: 'recovery with old evidence', counts: 'cases' },
  consent: { title: 'consent reused by a replaced action', counts: 'cases' },
  takeover: { title: 'pilot takeover inside a lease', counts: 'cases' },
  irreversible: { title: 'irreversible action', counts: 'cases' },
} as const
export type Column = keyof typeof COLUMNS

const Time = z.string().regex(/^\d+(\.\d+)?(ms|s|min)$/, 'a time like 200ms, 1.5s or 2min')
const Id = z.string()

/** `to: [north, east]` in metres from home stands for a latitude and a longitude. */
const Payload = z.record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.array(z.number()).length(2)]))
const Said = z.strictObject({
  id: Id,
  type: z.string(),
  payload: Payload.default({}),
  requires: z.array(Id).default([]),
})

const Step = z.strictObject({
  /** `written` (its snapshot is the newest), `arrived`, `<component> <phase>`, `restarted`. */
  when: z.string(),
  after: Time.default('0ms'),
  /** What happens, one of: */
  set: z.record(z.string(), z.union([z.number(), z.string(), z.null()])).optional(),
  pilot: z.string().optional(),
  /** Fields go on as they went in a flight of test/fixtures, from this second of it. */
  replay: z
    .strictObject({ recording: z.string(), from: z.number(), to: z.number(), fields: z.array(z.string()) })
    .optional(),
  /** The autopilot answers nothing from now on, or everything again; or nothing gets out to it. */
  autopilot: z.enum(['mute', 'obedient', 'unreachable']).optional(),
  /** The disk takes nothing more, or takes it again. */
  disk: z.enum(['full', 'free']).optional(),
  /** The first packet once more: the same bytes, or the same words in other bytes. */
  again: z.enum(['bytes', 'words']).optional(),
  say: z
    .strictObject({
      response: z.string(),
      recovers: z.boolean().default(false),
      cites: z.enum(['first', 'newest']).default('newest'),
      components: z.array(Said).min(1),
    })
    .optional(),
  operate: z.enum(['approve', 'refuse', 'pause', 'resume', 'restart']).optional(),
  /** The operator has looked after an irreversible action of this type. */
  clear: z.string().optional(),
  /** The bound record of an uncrossed component is altered in memory. */
  corrupt: z
    .strictObject({
      component: Id,
      field: z.string().optional(),
      to: z.union([z.number(), z.string(), z.array(z.number()).length(2)]).optional(),
      part: z.enum(['id', 'plan', 'environment']).optional(),
    })
    .optional(),
  /** The process dies now, or in the instant before or after this component's first frame leaves, and starts again. */
  crash: z.union([z.literal('now'), z.strictObject({ before: Id }), z.strictObject({ after: Id })]).optional(),
})

/** What must happen. */
const Expected = {
  /** These go out: released or dispatched. `rest`: all that are said and named nowhere else. */
  goes: z.union([z.array(Id), z.literal('rest')]).optional(),
  /** These never do. */
  stays: z.array(Id).optional(),
  /** These go out once, however often they are said. */
  once: z.array(Id).optional(),
  /** From the named step on no setpoint leaves (`stops`), no frame at all (`silent`), nothing of these after a restart. */
  stops: z.boolean().optional(),
  silent: z.boolean().optional(),
  never_again: z.array(Id).optional(),
}
const Change = z.strictObject({
  type: z.string().optional(),
  payload: Payload.optional(),
  requires: z.array(Id).optional(),
})

const Case = z.strictObject({
  name: z.string(),
  /** Components of the response that are otherwise here. */
  with: z.record(Id, Change).optional(),
  steps: z.array(Step).optional(),
  ...Expected,
})

const File = z.strictObject({
  scenario: z.string(),
  column: z.enum(Object.keys(COLUMNS) as [Column, ...Column[]]),
  why: z.string(),
  starts: z.enum(['parked', 'flying']),
  /** From the snapshot to the arrival of the response. */
  thinks: Time.default('300ms'),
  response: z.array(Said).min(1),
  steps: z.array(Step).default([]),
  cases: z.array(Case).min(1),
  ...Expected,
})

export type Said = z.infer<typeof Said>
export type Step = z.infer<typeof Step>
type Labels = z.infer<z.ZodObject<typeof Expected>>
export type Expectation = Omit<Labels, 'goes'> & { readonly goes?: readonly string[] | undefined }

export interface Trial {
  /** `file: case` */
  readonly name: string
  readonly scenario: string
  readonly column: Column
  readonly starts: 'parked' | 'flying'
  readonly thinks_ms: number
  readonly response: readonly Said[]
  readonly steps: readonly Step[]
  readonly expected: Expectation
}

export const timeOf = (text: string): number => {
  const [, number, unit] = /^([\d.]+)(ms|s|min)$/.exec(text)!
  return Number(number) * { ms: 1, s: 1000, min: 60_000 }[unit as 'ms' | 's' | 'min']
}

const folder = new URL('scenarios/', import.meta.url)

/** All cases of all scenarios, in the order of the columns and of the files' names. */
export function trials(): Trial[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const read = files.sort().flatMap((name) => casesOf(name, readFileSync(new URL(name, folder), 'utf8')))
  const order = Object.keys(COLUMNS)
  return read.sort((a, b) => order.indexOf(a.column) - order.indexOf(b.column))
}

function casesOf(name: string, text: string): Trial[] {
  const read = File.safeParse(parse(text))
  if (!read.success) throw new Error(`${name}: ${z.prettifyError(read.error)}`)
  const file = read.data
  return file.cases.map((c) => {
    const response = file.response.map((said) => ({ ...said, ...c.with?.[said.id] }) as Said)
    for (const id of Object.keys(c.with ?? {})) {
      if (!response.some((said) => said.id === id)) throw new Error(`${name}: ${c.name}: no component ${id}`)
    }
    const { goes = file.goes, stays = file.stays, once = file.once } = c
    const { stops = file.stops, silent = file.silent, never_again = file.never_again } = c
    const expected = { goes, stays, once, stops, silent, never_again }
    return {
      name: `${name.replace('.yaml', '')}: ${c.name}`,
      scenario: file.scenario,
      column: file.column,
      starts: file.starts,
      thinks_ms: timeOf(file.thinks),
      response,
      steps: [...file.steps, ...(c.steps ?? [])],
      expected: { ...expected, goes: goes === 'rest' ? rest(response, expected) : goes },
    }
  })
}

/** What the response says and nothing else is expected of. */
function rest(response: readonly Said[], { stays = [], once = [], never_again = [] }: Labels): string[] {
  const named = new Set([...stays, ...once, ...never_again])
  return response.map(({ id }) => id).filter((id) => !named.has(id))
}
