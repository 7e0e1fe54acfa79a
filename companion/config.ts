// The configuration of one companion: which vehicle, which catalog, where MAVLink and MQTT are. `examples/halo.yaml` is its
// manual. A mistake is a start-up error that says file:line:column: key.

import { dirname, relative, resolve } from 'node:path'
import { z } from 'zod'
import { ardupilotCopter } from '../src/autopilot/ardupilot-copter.ts'
import { px4Multirotor } from '../src/autopilot/px4-multirotor.ts'
import { type Catalog, MAX_SPEED, type Problem } from '../src/catalog/catalog.ts'
import { words } from '../src/catalog/issue.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import { Source } from '../src/catalog/source.ts'
import { suggestion } from '../src/catalog/suggestion.ts'
import type { Policy } from '../src/engine/rules/policy.ts'
import { readText } from './machine/file.ts'
import { isExposed, parseAddress } from './mavlink/address.ts'
import { CERTIFICATES, type CertificateFiles, isEncrypted } from './mqtt/certificates.ts'

export interface Config {
  /** Names the topics: `halo/v1/<vehicle>`. */
  readonly vehicle: string
  /** Absolute path of the catalog. */
  readonly catalog: string
  /** Absolute paths of the rule files, in the order in which they apply. */
  readonly rules: readonly string[]
  readonly mavlink: {
    /** Of the forms of `mavlink/address.ts`. */
    readonly endpoint: string
    /** MAVLink system id of the vehicle; the first good one where not given. */
    readonly system?: number
    /** Our MAVLink component id; the system id is the vehicle's. */
    readonly component: number
    /** MAVLink 2 signing, in and out, where given: absolute paths of the key, and of the files of the time stamps given and heard. */
    readonly signing?: {
      readonly key: string
      readonly linkId: number
      readonly stamps: string
      readonly heard: string
    }
  }
  /** Whether parameters of the autopilot that make setpoints unsafe refuse them. */
  readonly preflight: 'refuse' | 'warn'
  /** No velocity that leaves is longer, and the autopilot may be set to fly to a position no faster, m/s. */
  readonly maxSpeed: number
  /** A broker to connect to, with absolute paths of certificates, or one of our own to open at `host:port`. */
  readonly mqtt:
    | {
        readonly url: string
        readonly protocol: 4 | 5
        readonly certificates: CertificateFiles
        /** As whom the connection for agents is made, where that is somebody else. */
        readonly agents?: { readonly url: string; readonly certificates: CertificateFiles }
      }
    | { readonly embedded: string }
  /** Absolute path of the journal. */
  readonly journal: string
  readonly log: { readonly level: LogLevel }
}

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A mistake in a configuration: one line each, `file:line:column: key: message`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map((p) => `${p.file}:${p.line}:${p.column}: ${p.key}: ${p.message}`).join('\n'))
    this.problems = problems
  }
}

/** Every profile that a catalog can name as its vehicle. */
export const PROFILES = [px4Multirotor, ardupilotCopter]

const address = z.string().refine((text) => isAddress(text), 'must be host:port, such as 127.0.0.1:1883')

const path = z.string().min(1, 'must be the path of a file')

const brokerUrl = z.string().regex(/^(mqtts?|wss?):\/\/[^/]+/, 'must be mqtt://host:port, mqtts://, ws:// or wss://')

const agents = z.strictObject({ url: brokerUrl.optional(), cert: path.optional(), key: path.optional() })

const mqtt = z
  .strictObject({
    url: brokerUrl.optional(),
    protocol: z.union([z.literal(4), z.literal(5)], 'must be 4 (MQTT 3.1.1) or 5').optional(),
    ca: path.optional(),
    cert: path.optional(),
    key: path.optional(),
    agents: agents.optional(),
    embedded: address.optional(),
    allow_open: z.boolean().default(false),
  })
  .meta({ oneOf: [{ required: ['url'] }, { required: ['embedded'] }] })
  .refine(({ url, embedded }) => (url === undefined) !== (embedded === undefined), 'needs either `url` or `embedded`')
  .refine(({ protocol, embedded }) => protocol === undefined || embedded === undefined, {
    message: 'the embedded broker speaks 3.1.1 only: leave this key out',
    path: ['protocol'],
  })
  .refine(({ agents, embedded }) => agents === undefined || embedded === undefined, {
    message: 'the embedded broker knows the companion: leave this key out',
    path: ['agents'],
  })
  .refine(({ embedded, allow_open }) => embedded === undefined || allow_open || isLoopback(embedded), {
    message:
      'reaches beyond this machine, and the embedded broker has no access list and no encryption: anyone on that network could ' +
      'speak as an agent, the ground or the operator. Bind to 127.0.0.1, or use a broker that has both (examples/deploy), or ' +
      'accept that with `mqtt.allow_open: true`',
    path: ['embedded'],
  })
  .superRefine((broker, context) => {
    // A file that would not be used is a connection that is less than its author thinks.
    const report = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message, input: broker })
    if (broker.cert !== undefined && broker.key === undefined) report('cert', 'needs `key` beside it')
    if (broker.key !== undefined && broker.cert === undefined) report('key', 'needs `cert` beside it')
    const own = broker.agents
    if ((own?.cert === undefined) !== (own?.key === undefined)) report('agents', 'needs `cert` and `key`, or neither')
    if (broker.url !== undefined && isEncrypted(broker.url)) return
    for (const key of CERTIFICATES) {
      if (broker[key] !== undefined) report(key, 'needs an encrypted `url`: mqtts:// or wss://')
    }
    const { cert, key } = broker.agents ?? {}
    if (cert !== undefined || key !== undefined) report('agents', 'needs an encrypted `url`: mqtts:// or wss://')
  })

const byte = z.int('must be an integer')

const mavlink = z
  .strictObject({
    endpoint: z.string().superRefine((url, check) => {
      try {
        parseAddress(url)
      } catch (error) {
        check.addIssue((error as Error).message)
      }
    }),
    system: byte.min(1, 'must be 1 to 255').max(255, 'must be 1 to 255').optional(),
    component: byte
      .min(2, "must be 2 to 255: 1 is the autopilot's")
      .max(255, "must be 2 to 255: 1 is the autopilot's")
      .default(191),
    allow_unsigned: z.boolean().default(false),
    signing: z
      .strictObject({
        key: z.string().min(1),
        link_id: byte.min(0, 'must be 0 to 255').max(255, 'must be 0 to 255').default(0),
      })
      .optional(),
  })
  .refine(
    ({ endpoint, allow_unsigned, signing }) => {
      return allow_unsigned || signing !== undefined || !isExposed(parseAddress(endpoint))
    },
    {
      path: ['endpoint'],
      message:
        'reaches beyond this machine and is not signed: anyone on that network could feed it state or fly the vehicle. ' +
        'Set `mavlink.signing`, or bind to 127.0.0.1 behind a router, or accept that with `mavlink.allow_unsigned: true`',
    },
  )

/** The keys of a configuration and the kinds of their values. */
export const schema = z.strictObject({
  vehicle: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ and -'),
  catalog: z.string().min(1),
  rules: z.array(z.string().min(1)).default([]),
  mavlink,
  preflight: z.enum(['refuse', 'warn'], 'must be refuse or warn').default('refuse'),
  max_speed: z.number('must be a number of m/s').positive('must be above 0 m/s').default(MAX_SPEED),
  mqtt,
  journal: z.string().min(1).optional(),
  log: z.strictObject({ level: z.enum(LOG_LEVELS).default('info') }).default({ level: 'info' }),
})

const KEYS: readonly string[] = [
  ...Object.keys(schema.shape),
  ...Object.keys(mavlink.shape),
  ...Object.keys(mavlink.shape.signing.unwrap().shape),
  ...Object.keys(mqtt.shape),
  ...Object.keys(agents.shape),
  'level',
]

/** Reads a configuration; paths in it are relative to its file. Throws `ConfigError`, or the error of the file system. */
export function loadConfig(file: string): Config {
  return parseConfig(readText('configuration', file), file)
}

/** The same from text; `file` names it in errors and is what relative paths start from. */
export function parseConfig(text: string, file: string): Config {
  const source = new Source(text, file)
  if (source.problems.length > 0) throw new ConfigError(source.problems)
  if (typeof source.value !== 'object' || source.value === null || Array.isArray(source.value)) {
    source.problem(['(yaml)'], 'must be a map of keys, as in examples/halo.yaml')
    throw new ConfigError(source.problems)
  }
  const parsed = schema.safeParse(source.value, { reportInput: true })
  if (!parsed.success) {
    for (const issue of parsed.error.issues) report(source, issue)
    throw new ConfigError(source.problems)
  }
  const { vehicle, catalog, rules, mavlink, preflight, max_speed: maxSpeed, mqtt: broker, log } = parsed.data
  const { endpoint, system, component, signing } = mavlink
  const folder = dirname(resolve(file))
  const journal = resolve(folder, parsed.data.journal ?? `${vehicle}.journal`)
  return {
    vehicle,
    catalog: resolve(folder, catalog),
    rules: rules.map((file) => resolve(folder, file)),
    mavlink: {
      endpoint,
      component,
      ...(system !== undefined && { system }),
      ...(signing && {
        signing: {
          key: resolve(folder, signing.key),
          linkId: signing.link_id,
          stamps: resolve(dirname(journal), `${vehicle}.signing`),
          heard: resolve(dirname(journal), `${vehicle}.heard`),
        },
      }),
    },
    preflight,
    maxSpeed,
    mqtt:
      broker.embedded === undefined
        ? {
            url: broker.url!,
            protocol: broker.protocol ?? 4,
            certificates: files(folder, broker),
            ...(broker.agents && {
              agents: {
                url: broker.agents.url ?? broker.url!,
                certificates: { ...files(folder, broker), ...files(folder, broker.agents) },
              },
            }),
          }
        : { embedded: broker.embedded },
    journal,
    log,
  }
}

/** The catalog that it names; `warnings` takes what it hardly means. Throws `CatalogError`, or the error of the file system. */
export function readCatalog(
  { catalog, maxSpeed }: Pick<Config, 'catalog' | 'maxSpeed'>,
  warnings?: Problem[],
): Catalog {
  const options = { maxSpeed, ...(warnings && { warnings }) }
  return loadCatalog(readText('catalog', catalog), relative(process.cwd(), catalog), PROFILES, options)
}

/**
 * The rules that it names, against that catalog; undefined where it names none: then their parser is not loaded either, which
 * would take a fifth of the companion's memory. Rejects with `RuleError`.
 */
export async function readPolicy({ rules }: Config, catalog: Catalog): Promise<Policy | undefined> {
  if (rules.length === 0) return undefined
  const { Policy } = await import('../src/engine/rules/policy.ts')
  const files = rules.map((file) => ({ file: relative(process.cwd(), file), text: readText('rules', file) }))
  return new Policy(files, catalog)
}

function report(source: Source, issue: z.core.$ZodIssue): void {
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) source.problem([...issue.path, key], `unknown key${suggestion(key, KEYS)}`, 'key')
  } else if (issue.code === 'invalid_type' && issue.input === undefined) {
    source.problem(issue.path, 'is missing', 'key')
  } else if (/^(Invalid (input|option)|Too (small|big)):/.test(issue.message)) {
    source.problem(issue.path, words(issue, issue.input))
  } else {
    source.problem(issue.path, issue.message.charAt(0).toLowerCase() + issue.message.slice(1))
  }
}

/** Of these keys those that name a PEM file. */
function files(folder: string, keys: { readonly [key in (typeof CERTIFICATES)[number]]?: string | undefined }) {
  return Object.fromEntries(
    CERTIFICATES.flatMap((name) => (keys[name] ? [[name, resolve(folder, keys[name])]] : [])),
  ) as CertificateFiles
}

/** `localhost` is what the system makes of it, and that is this machine. */
const isLoopback = (address: string): boolean => /^(127(\.\d{1,3}){3}|localhost):/.test(address)

function isAddress(text: string): boolean {
  const match = /^[^:/\s]+:(\d{1,5})$/.exec(text)
  return match !== null && Number(match[1]) <= 65535
}
