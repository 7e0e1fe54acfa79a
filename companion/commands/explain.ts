// A component type in sentences: when a response's component of it is retained, when it crosses, and how that ends. For whoever
// reviews a catalog without knowing the protocol (PROTOCOL 5, 7, 8).

import { Kind, KindWords, PhaseWords } from '../../build/abi.ts'
import type { Catalog, Clause, ComponentType, Lease } from '../../src/catalog/catalog.ts'

/** Lines; what belongs together is indented. */
export function explain(type: ComponentType, catalog: Catalog): string[] {
  return [
    `${type.name} is ${kindOf(type)}.${type.description === '' ? '' : ` ${type.description}`}`,
    '',
    'It is retained when',
    ...retained(type, catalog).map(item),
    '',
    'It crosses when',
    ...crosses(type, catalog).map(item),
    '',
    ...ends(type, catalog),
    '',
    `It reads now: ${list(type.footprint.now.map((field) => catalog.fields[field]!.name))}`,
    `It reads in the cited snapshot: ${list(type.footprint.cited.map((field) => catalog.fields[field]!.name))}`,
  ]
}

const item = (text: string): string => `  - ${text.replaceAll('\n', '\n    ')}`
const list = (words: readonly string[], none = 'nothing'): string => (words.length === 0 ? none : words.join(', '))
const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')
const clauses = (of: readonly Clause[]): string => of.map(({ name, text }) => `\n${name}: ${oneLine(text)}`).join('')

function time(ms: number): string {
  const [unit, size] = (
    [
      ['h', 3_600_000],
      ['min', 60_000],
      ['s', 1000],
    ] as const
  ).find(([, size]) => ms >= size && ms % size === 0) ?? ['ms', 1]
  return `${ms / size} ${unit}`
}

function kindOf({ kind, effect }: ComponentType): string {
  switch (effect.kind) {
    case 'setpoint':
      return `an action: a stream of ${effect.setpoint}, a frame each ${effect.period_ms} ms`
    case 'command':
      return `an action: a command of ${effect.steps.length} frame${effect.steps.length === 1 ? '' : 's'}`
    default:
      return `a ${KindWords[kind]}`
  }
}

function retained(type: ComponentType, { agents, types, evidenceMaxAge_ms, fields }: Catalog): string[] {
  const speakers = agents.filter(({ may }) => may.has(types.indexOf(type))).map(({ name }) => name)
  const named = (numbers: readonly number[]) => numbers.map((number) => types[number]!.name)
  const others = named(type.mayRequire.map((other) => other.type)).filter(
    (name) => !named(type.requires).includes(name),
  )
  const bounds = type.bounds.map(({ field, bound }) => `\n${field}: ${bound}`).join('')
  const fieldNames = type.payload.map(({ name, optional }) => (optional ? `${name} (optional)` : name))
  return [
    `${list(speakers)} says it, citing a snapshot of this session that is at most ${time(evidenceMaxAge_ms)} old`,
    type.payload.length === 0
      ? 'its payload is empty'
      : `its payload has ${list(fieldNames)}${bounds && `, within${bounds}`}`,
    ...named(type.requires).map((name) => `it names a ${name} under its \`requires\``),
    `it rests on nothing else${others.length === 0 ? '' : ` but ${others.join(', ')}`}, and all that it names is retained too`,
    ...(type.watches.length === 0
      ? []
      : [`${list(type.watches.map((field) => fields[field]!.name))} has not changed since the cited snapshot`]),
    ...(type.support.length === 0 ? [] : [`all of its support holds:${clauses(type.support)}`]),
    ...(type.gate.length === 0
      ? []
      : [`its gate holds, unless it rests on an action that is not completed yet:${clauses(type.gate)}`]),
    ...(isAction(type) ? ['HALO is not paused, and the pilot does not have control'] : []),
  ]
}

function crosses(type: ComponentType, { types, fields }: Catalog): string[] {
  const waits = type.mayRequire.map(({ type: other, phase }) => `\n${types[other]!.name}: ${PhaseWords[phase]}`)
  const again = [...type.support, ...type.gate].map(({ name }) => name)
  const held = type.mayRequire.filter(({ type: other }) => types[other]!.holds.length > 0)
  return [
    `at most ${time(type.wait_ms)} have passed since it was retained, and at most ${time(type.expires_ms)} in which nothing but its patience held it back`,
    ...(waits.length === 0 ? [] : [`each component that it names has reached its phase:${waits.join('')}`]),
    ...(held.length === 0
      ? []
      : [
          `what these hold is still true:${held.map(({ type: other }) => `\n${types[other]!.name}${clauses(types[other]!.holds).replaceAll('\n', '\n  ')}`).join('')}`,
        ]),
    ...(type.uses === undefined ? [] : [`\`${type.uses}\` is free: no other action holds it`]),
    ...(again.length === 0 ? [] : [`all of these hold now: ${again.join(', ')}`]),
    ...(type.watches.length === 0
      ? []
      : [`${list(type.watches.map((field) => fields[field]!.name))} has still not changed`]),
    type.patience_ms === 0
      ? 'every field that its clauses name is known and fresh: it has no patience'
      : `every field that its clauses name is known and fresh; where one is not, it waits ${time(type.patience_ms)} and is then denied`,
  ]
}

function ends({ effect, done, watches, support, gate }: ComponentType, { fields }: Catalog): string[] {
  switch (effect.kind) {
    case 'notice':
      return [`Then its text is published, severity ${effect.severity}.`]
    case 'report':
      return [
        `Then it publishes ${list(effect.fields.map((field) => fields[field]!.name))}, as they are at that moment.`,
      ]
    case 'request':
      return ['Then a person is asked, and what rests on it waits for the answer.']
    case 'handoff':
      return [`Then it holds, and once HOLD is shown the pilot has control and the plan ends. ${late(effect)}`]
    default: {
      const finish = done === undefined ? 'once all its frames are confirmed' : `when ${oneLine(done.text)}`
      const dwell =
        effect.kind === 'setpoint' && effect.dwell_ms > 0 ? `, for ${time(effect.dwell_ms)} without a break` : ''
      const asked = effect.kind === 'setpoint' ? [...support, ...gate] : support
      const meanwhile = [
        ...asked.map(({ name }) => name),
        ...watches.map((field) => `${fields[field]!.name} unchanged`),
      ]
      return [
        `It is completed ${finish}${dwell}; then ${sent(effect.then)}.`,
        ...(meanwhile.length === 0 ? [] : [`Until then ${meanwhile.join(', ')} must hold at every frame.`]),
        late(effect),
        ...(effect.irreversible
          ? ['It cannot be undone: it is on the disk before it is sent, and it is sent once.']
          : []),
      ]
    }
  }
}

const late = ({ within_ms, otherwise }: Lease): string =>
  `If it ends in any other way, or is not done within ${time(within_ms)}, ${sent(otherwise)}.`
const sent = (contingency: Lease['then']): string =>
  contingency === 'none' ? 'nothing more is sent' : `${contingency} is sent`

const isAction = ({ kind }: ComponentType): boolean => kind === Kind.command || kind === Kind.setpoint
