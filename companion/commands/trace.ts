// A recorded run of agents, one step a line of JSON, and what the rules say about each step (PROTOCOL 13).

import { z } from 'zod'
import { EVENTS, type Outcome, type RuleSet, type Verdict, type Vocabulary } from '../../src/agentspec/index.ts'
import { readText } from '../machine/file.ts'
import { json } from './domain.ts'

const values = z.record(z.string(), z.unknown()).default({})
const stepSchema = z.strictObject({
  /** One run of an agent; its steps stand in their order. */
  case: z.string().min(1),
  event: z.enum(EVENTS).default('before_action'),
  action: z.string().optional(),
  state: values,
  payload: values,
})

export interface RecordedStep extends z.output<typeof stepSchema> {
  readonly line: number
}

export interface Ruled {
  readonly step: RecordedStep
  readonly verdict: Verdict
}

/** The steps of a file. Throws for what is no step, and for an action that the vocabulary does not have. */
export function readTrace(file: string, { events, actions }: Vocabulary): RecordedStep[] {
  return readLines(file, stepSchema).map(({ line, value }) => {
    const { event, action } = value
    if (!events.includes(event)) throw new Error(`${file}:${line}: event \`${event}\` is not raised here`)
    if (event === 'before_action' && action === undefined) throw new Error(`${file}:${line}: action: is missing`)
    if (action !== undefined && !actions.includes(action)) {
      throw new Error(`${file}:${line}: action: unknown action \`${action}\``)
    }
    return { line, ...value }
  })
}

/** Each step by itself: nobody is asked and nothing is invoked, so every step is judged as it was recorded. */
export function replay(rules: RuleSet, steps: readonly RecordedStep[]): Ruled[] {
  return steps.map((step) => {
    const { event: name, action, state, payload } = step
    const event = action === undefined ? { name } : { name, action }
    return { step, verdict: rules.judge(event, { state, payload }) }
  })
}

/** Such a step is not taken as it stands: not at all, or not before somebody has answered. */
export const holdsBack = (outcome: Outcome): boolean => outcome !== 'none' && outcome !== 'invoke_action'

export interface Line<T> {
  readonly line: number
  readonly value: T
}

/** JSON Lines; empty lines are skipped. Throws with file, line and key. */
export function readLines<T>(file: string, schema: z.ZodType<T>): Line<T>[] {
  return readText('trace', file)
    .split('\n')
    .flatMap((text, i) => {
      if (text.trim() === '') return []
      const parsed = schema.safeParse(json(text, `${file}:${i + 1}`))
      if (parsed.success) return [{ line: i + 1, value: parsed.data }]
      const { path, message } = parsed.error.issues[0]!
      throw new Error(`${file}:${i + 1}: ${path.join('.') || 'line'}: ${message}`)
    })
}
