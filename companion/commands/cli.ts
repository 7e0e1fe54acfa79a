// The command line. A mistake of the user is one clear line on stderr and exit code 1.

import { createInterface } from 'node:readline'
import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { RuleError } from '../../src/agentspec/problem.ts'
import { CatalogError } from '../../src/catalog/catalog.ts'
import { escaped } from '../escape.ts'
import { SCHEMAS, type SchemaName, schemaText } from '../schema.ts'
import { VERSION } from '../version.ts'
import { type CheckOptions, check } from './check.ts'
import { setContext } from './context.ts'
import type { DomainOptions } from './domain.ts'
import { brokerOf, type GroundOptions } from './ground.ts'
import { operator, VERBS, type Verb } from './operator.ts'
import { run } from './run.ts'
import { AUTOPILOTS, sim } from './sim.ts'
import { submit } from './submit.ts'
import { watch } from './watch.ts'

const print = (line: string): void => {
  process.stdout.write(`${escaped(line)}\n`)
}

const warn = (line: string): void => {
  process.stderr.write(`halo: ${escaped(line)}\n`)
}

// `halo watch | head` ends with its reader.
process.stdout.on('error', () => process.exit(0))

const number = (text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('must be a number')
  return value
}

const positive = (text: string): number => {
  const value = number(text)
  if (value <= 0) throw new InvalidArgumentError('must be greater than 0')
  return value
}

/** `NAME=value`, or `NAME=` for one that is never answered; once or more. */
const parameter = (text: string, before: Record<string, number | null>): Record<string, number | null> => {
  const [, name, value] = /^([A-Z0-9_]+)=(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('must be NAME=value, or NAME= for no answer')
  return { ...before, [name]: value === '' ? null : number(value) }
}

const program = new Command('halo')
  .description('Lets an untrusted agent act on a drone: admission, a final dispatch gate and scoped recovery.')
  .version(VERSION)
  .showHelpAfterError('(halo --help shows what there is)')

program
  .command('run')
  .description('run the companion until SIGTERM or SIGINT')
  .requiredOption('--config <file>', 'configuration, as examples/halo.yaml')
  .action(async ({ config }: { config: string }) => process.exit(await run(config)))

program
  .command('check')
  .description(
    'check a configuration, its catalog and its rules without connecting: a line for each error and each warning; exit code 1 ' +
      'where there is an error',
  )
  .requiredOption('--config <file>', 'configuration, as examples/halo.yaml')
  .option('--strict', 'warnings are errors')
  .option(
    '--json',
    'one JSON object, for editors and CI: {ok, findings: [{file, line, column, severity, key, message}]}',
  )
  .option('--explain <type>', 'say in sentences when a component type is retained, when it crosses, and how that ends')
  .action(async ({ config, ...options }: CheckOptions & { config: string }) => {
    process.exitCode = await check(config, options, print)
  })

program
  .command('sim')
  .description('simulated vehicle, never for flight; a line on stdin is a fault')
  .addOption(new Option('--autopilot <name>', 'who flies it').choices([...AUTOPILOTS]).default('px4'))
  .option('--listen <host:port>', 'where it hears the companion; tcp://<host:port> serves TCP', '127.0.0.1:14580')
  .option('--send <host:port>', 'where it sends, unasked', '127.0.0.1:14540')
  .option('--speed <factor>', 'times real speed', positive, 1)
  .option('--param <NAME=value>', 'a parameter of the autopilot; NAME= leaves it unanswered', parameter, {})
  .option('--lat <deg>', 'latitude of home', number, 47.397742)
  .option('--lon <deg>', 'longitude of home', number, 8.545594)
  .option('--amsl <m>', 'height of home above mean sea level', number, 488)
  .action((options) => sim(options, createInterface({ input: process.stdin }), print))

program
  .command('schema')
  .description(
    'print the JSON Schema of a catalog or of halo.yaml, for editors; the same stands in the package under schema/',
  )
  .addArgument(new Argument('<of>', 'of what').choices(SCHEMAS))
  .action((of: SchemaName) => print(schemaText(of).trimEnd()))

const onGround = (command: Command): Command =>
  command
    .option('--mqtt <url>', 'broker (default: of --config, else mqtt://127.0.0.1:1883)')
    .option('--vehicle <name>', 'vehicle (default: of --config, else uav1)')
    .option('--config <file>', 'take broker, certificates and vehicle from a configuration')
    .option('--ca <file>', 'who signed the certificate of an mqtts:// broker (default: of --config)')
    .option('--cert <file>', 'our own certificate (default: of --config)')
    .option('--key <file>', 'its key')

onGround(program.command('submit'))
  .description(
    'say a response as an agent would and follow it; exit code 0 only if all of it was retained and completed',
  )
  .argument('<response.json>', 'a response; v, response, generation and snapshot are filled in where they are missing')
  .option('--agent <name>', 'agent', 'planner')
  .option('--timeout <s>', 'how long to follow it', positive, 300)
  .option('--no-wait', 'end with the verdict: exit code 0 if all of it was retained')
  .action(async (file: string, options: GroundOptions & { agent: string; timeout: number; wait: boolean }) => {
    const { agent, timeout, wait } = options
    process.exitCode = await submit(brokerOf(options), { file, agent, timeout_ms: timeout * 1000, wait }, print)
  })

onGround(program.command('context'))
  .description('set a context field of the catalog, as the ground does')
  .argument('<field>', 'its name under `state`')
  .argument('<value>', 'a number, true, false, or a member of its enumeration')
  .option('--retain', 'let the broker keep it for a companion that starts later')
  .action(async (field: string, text: string, options: GroundOptions & { retain?: boolean }) => {
    process.exitCode = await setContext(brokerOf(options), { field, text, retain: options.retain ?? false }, print)
  })

onGround(program.command('operator'))
  .description(
    'list what waits for a person, with everything that would fly; or say one verb and tell what became of it: ' +
      'exit code 0 if it was applied, 2 if it was refused or not answered',
  )
  .addArgument(new Argument('[verb]', 'without one, the list').choices(VERBS))
  .argument(
    '[about]',
    'approve, refuse: at least 12 digits of the consent; revoke, restore: an agent; clear: a component type',
  )
  .option('--watch', 'list again at every change')
  .action(async (verb: Verb | undefined, about: string | undefined, options: GroundOptions & { watch?: boolean }) => {
    process.exitCode = await operator(brokerOf(options), { verb, about, watch: options.watch ?? false }, print)
  })

onGround(program.command('watch'))
  .description('print every topic of a vehicle as JSON lines: {at, topic, retain, value}')
  .action((options: GroundOptions) => watch(brokerOf(options), print, warn))

// Loaded by who uses it: the parser of rules alone would take a fifth of the memory of the companion.
const rules = program.command('rules').description('check AgentSpec rules, run them over recorded steps, score them')
const inDomain = (command: Command): Command =>
  command
    .option('--vocabulary <file>', 'what the rules may name (default: vocabulary.json beside the rules)')
    .option('--config <file>', 'take the vocabulary from the catalog of a configuration')
    .option('--predicates <module>', 'module that exports `predicates` beside those of the vocabulary; it is run')

inDomain(rules.command('check'))
  .description('check rule text, or rules as data; every mistake with file, line and column')
  .argument('<file...>', 'rule files; - is stdin')
  .option('--print', 'print the rules as text')
  .action(async (files: string[], options: DomainOptions & { print?: boolean }) => {
    const { checkFiles } = await import('./rules.ts')
    await checkFiles(files, options, print)
  })

inDomain(rules.command('run'))
  .description('which rule is violated at which step of a recorded trace')
  .argument('<file>', 'rule file')
  .requiredOption('--trace <file>', 'steps of agents, one a line of JSON: {case, event, action, state, payload}')
  .action(async (file: string, options: DomainOptions & { trace: string }) => {
    const { runTrace } = await import('./rules.ts')
    await runTrace(file, options, print)
  })

inDomain(rules.command('score'))
  .description('precision and recall by labels, each miss and false stop by name; exit code 0 if there is none, else 2')
  .argument('<file>', 'rule file')
  .requiredOption('--labels <file>', 'one a line of JSON: {case, unsafe, category, held_out}')
  .option('--trace <file>', 'the steps (default: trace.jsonl beside the labels)')
  .action(async (file: string, options: DomainOptions & { labels: string; trace?: string }) => {
    const { scoreTrace } = await import('./rules.ts')
    process.exitCode = await scoreTrace(file, options, print)
  })

inDomain(rules.command('guide'))
  .description('grammar, vocabulary, examples and a JSON Schema of rules as data, for whoever writes rules')
  .action(async (options: DomainOptions) => {
    const [{ guide }, { readDomain }] = await Promise.all([import('./guide.ts'), import('./domain.ts')])
    print(guide(await readDomain(options)).join('\n'))
  })

try {
  await program.parseAsync()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const head =
    error instanceof CatalogError
      ? 'the catalog has mistakes\n'
      : error instanceof RuleError
        ? 'the rules have mistakes\n'
        : ''
  process.stderr.write(`halo: ${escaped(`${head}${message}`)}\n`)
  process.exit(1)
}
