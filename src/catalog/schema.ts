// The keys of a catalog and the kinds of their values (PROTOCOL 3). What a value means is checked where it is used.

import { z } from 'zod'
import { MAV_CMDS } from '../autopilot/mav-cmd.ts'
import type { Verb } from '../autopilot/profile.ts'
import { SEVERITIES } from './catalog.ts'
import { duration, rate } from './quantity.ts'
import { suggestion } from './suggestion.ts'

const NAME = /^[a-z_][a-z0-9_.]*$/

export const name = z
  .string()
  .regex(NAME, 'a name is lower case: a-z, 0-9, _ and dots, and does not begin with a digit or a dot')

/** `json` is what editors are told of it, who know no transform. */
const written = (read: (value: unknown) => number | undefined, form: string, json: object) =>
  z
    .unknown()
    .meta({ ...json })
    .transform((value, context) => {
      const number = read(value)
      if (number !== undefined) return number
      context.addIssue(value === undefined ? 'is missing' : `must be ${form}, not ${JSON.stringify(value)}`)
      return z.NEVER
    })

const NUMBER = '\\d+(\\.\\d+)?(e[+-]?\\d+)?'
const NOT_ZERO = '(?!\\s*0+(\\.0+)?([a-zA-Z]|$))'
const quantityOf = (unit: string, head = '') => ({ type: 'string', pattern: `^${head}\\s*${NUMBER}${unit}\\s*$` })
const DURATION = 'a duration such as 300ms, 10s, 5min or 1h'
const time = written(duration, DURATION, { anyOf: [quantityOf('(ms|s|min|h)'), { const: 0 }] })
const someTime = written(duration, DURATION, quantityOf('(ms|s|min|h)', NOT_ZERO)).refine(
  (value) => value > 0,
  'must be longer than 0',
)
const hertz = written(rate, 'a rate such as 10Hz', quantityOf('Hz', NOT_ZERO))

const clause = z.string({ error: 'must be CEL text: quote it' })
const clauses = z.record(name, clause).default({})

const field = z.strictObject({
  from: z.literal('context').optional(),
  type: z.enum(['boolean', 'integer', 'number', 'enum']).optional(),
  values: z.array(z.string()).min(1).optional(),
  unit: z.string().optional(),
  continuous: z.boolean().default(false),
  max_age: someTime.optional(),
  retained: z.enum(['allowed', 'refused']).default('refused'),
})

const about = { description: z.string().optional(), optional: z.boolean().default(false) }
const bounds = { unit: z.string().optional(), min: z.number().optional(), max: z.number().optional(), ...about }

const payloadField = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('number'), ...bounds }),
  z.strictObject({ type: z.literal('integer'), ...bounds }),
  z.strictObject({ type: z.literal('boolean'), ...about }),
  z.strictObject({ type: z.literal('string'), max_length: z.int().min(1).optional(), ...about }),
  z.strictObject({ type: z.literal('enum'), values: z.array(z.string().min(1)).min(1), ...about }),
])

export const VERBS = ['arm', 'disarm', 'takeoff', 'land', 'return', 'hold'] as const satisfies readonly Verb[]
export const SETPOINTS = ['position-global', 'position-local', 'velocity-local', 'velocity-body'] as const
const PHASES = ['retained', 'released', 'dispatched', 'acknowledged', 'completed'] as const

const MAV_CMD_NAMES = [...MAV_CMDS.keys()] as [string, ...string[]]

const mavCmdId = z
  .union([z.int().min(0).max(65535), z.enum(MAV_CMD_NAMES)], {
    error: ({ input }) => {
      if (input === undefined) return 'is missing'
      const near = typeof input === 'string' ? suggestion(input.replace(/^MAV_CMD_/, ''), MAV_CMD_NAMES) : ''
      return `must be 0 to 65535, or a name of MAVLink's list without MAV_CMD_, such as DO_GRIPPER, not ${JSON.stringify(input)}${near}`
    },
  })
  .transform((id) => (typeof id === 'number' ? id : MAV_CMDS.get(id)!))

const mavCmd = z.strictObject({
  id: mavCmdId,
  params: z.array(z.union([z.number(), z.string(), z.null()], 'must be a number, CEL text, or null for NaN')).length(7),
})

const contingency = z.enum(['hold', 'land', 'return', 'none'])
const retransmit = z.int().min(0).max(10).optional()

const common = {
  description: z.string().optional(),
  payload: z.record(name, payloadField).default({}),
  support: clauses,
  gate: clauses,
  watches: z.array(z.string()).default([]),
  requires: z.array(z.string()).default([]),
  may_require: z.record(z.string(), z.enum(PHASES).nullable()).default({}),
  scope: z.array(z.string()).default([]),
  expires: someTime.default(10_000),
  wait: someTime.default(300_000),
  patience: time.default(0),
}

/** A component's keys, by its kind. */
export const component = {
  notice: z.strictObject({
    kind: z.literal('notice'),
    ...common,
    effect: z.strictObject({
      notice: z.strictObject({ text: z.string(), severity: z.enum(SEVERITIES).default('info') }),
    }),
  }),
  report: z.strictObject({
    kind: z.literal('report'),
    ...common,
    effect: z.strictObject({ report: z.array(z.string()).min(1) }),
  }),
  request: z.strictObject({
    kind: z.literal('request'),
    ...common,
    effect: z.strictObject({ request: z.literal('operator') }),
  }),
  handoff: z.strictObject({
    kind: z.literal('handoff'),
    ...common,
    uses: name.optional(),
    effect: z.strictObject({
      handoff: z.literal('pilot'),
      within: someTime.default(3_000),
      retransmit,
      otherwise: contingency.optional(),
    }),
  }),
  action: z.strictObject({
    kind: z.literal('action'),
    ...common,
    holds: clauses,
    uses: name.optional(),
    effect: z.strictObject({
      setpoint: z.enum(SETPOINTS).optional(),
      command: z
        .union([z.enum(VERBS), z.strictObject({ mav_cmd: mavCmd })], `must be ${VERBS.join(', ')} or { mav_cmd: ... }`)
        .optional(),
      mav_cmd: mavCmd.optional(),
      rate: hertz.optional(),
      done: clause.optional(),
      dwell: time.optional(),
      within: someTime.optional(),
      tolerance: z.record(z.string(), z.union([z.string(), z.number()], 'must be a length such as 1m')).default({}),
      retransmit,
      irreversible: z.boolean().optional(),
      otherwise: contingency.optional(),
      then: contingency.optional(),
    }),
  }),
} as const

export type KindKey = keyof typeof component
export type ComponentShape = z.output<(typeof component)[KindKey]>
export type ActionShape = z.output<typeof component.action>
export type PayloadShape = z.output<typeof payloadField>
export type FieldShape = z.output<typeof field>
export type MavCmdShape = z.output<typeof mavCmd>

/** Components are left open here: each is checked by itself, so that a mistake in one hides none in another. */
export const catalog = z.strictObject({
  catalog: z.literal(1),
  vehicle: z.string(),
  evidence: z.strictObject({ max_age: someTime }).default({ max_age: 60_000 }),
  constants: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _'),
      z.union([z.number(), z.boolean()], 'must be a number or a boolean'),
    )
    .default({}),
  state: z.record(name, field.nullable()),
  agents: z.record(name, z.strictObject({ may: z.array(z.string()), rate: hertz.default(5) })),
  predicates: clauses,
  components: z.record(name, z.looseObject({ kind: z.enum(Object.keys(component) as [KindKey, ...KindKey[]]) })),
})

export type CatalogShape = z.output<typeof catalog>

/** The same, with the keys of every kind: for editors, which take one schema. */
export const whole = catalog.extend({
  components: z.record(name, z.discriminatedUnion('kind', Object.values(component) as [typeof component.action])),
})

/** Every key of the language, for suggestions. */
export const KEYS: readonly string[] = [
  ...Object.keys(catalog.shape),
  ...Object.keys(field.shape),
  ...payloadField.options.flatMap((option) => Object.keys(option.shape)),
  ...Object.values(component).flatMap(({ shape }) => [...Object.keys(shape), ...Object.keys(shape.effect.shape)]),
  ...Object.keys(mavCmd.shape),
  'severity',
  'text',
  'may',
]
