// The contract of the ABI, on the module itself: what is just within it is done, what is just beyond traps or is refused by
// name. The host checks the same before; the core does not rely on that (G5).

import { describe, expect, test } from 'vitest'
import {
  CANDIDATES_MAX,
  CITED_MAX,
  CLAUSES_MAX,
  CONTINGENCIES_MAX,
  EDGES_MAX,
  ENTRIES_MAX,
  ENTRIES_TOTAL_MAX,
  type Fault,
  FaultWords,
  FIELDS_MAX,
  Format,
  FRAME_BYTES_MAX,
  FRAMES_MAX,
  GRANTS_MAX,
  INPUT_AT,
  INPUT_EDGES_AT,
  INSTANCES_MAX,
  INSTRUCTIONS_MAX,
  Kind,
  NO_TYPE,
  Op,
  PAYLOAD_BYTES_MAX,
  Part,
  Phase,
  PLAN_BYTES_MAX,
  PREREQUISITES_MAX,
  PROGRAM_WORDS_MAX,
  PROGRAMS_MAX,
  RESPONSE_EDGES_MAX,
  Reason,
  Role,
  SLOTS_MAX,
  STANDING_MAX,
  TEXT_BYTES_MAX,
  TOLERANCES_MAX,
  TYPES_MAX,
} from '../../../build/abi.ts'
import { type Bare, bare, type Word } from './bare.ts'

type Core = Bare['core']
/** Brings a core to where the call is made. */
type Stage = () => Bare
type Row = readonly [title: string, stage: Stage, call: (bare: Bare) => unknown]

const number = (value: number): Word[] => [[Op.constant], value]
function times(n: number, call: (i: number) => unknown): void {
  for (let i = 0; i < n; i++) call(i)
}

/** Two fields, the second discrete; one type with a number (slot 0) and a string (slot 1). */
function loading(fields = 2, types = 1, isDiscrete = (field: number) => field > 0): Bare {
  const made = bare()
  made.core.configure!(fields, types)
  times(fields, (f) => made.core.declareField!(f, 100, Number(isDiscrete(f))))
  times(types, (t) => made.core.declareType!(t, Kind.command, 2, 0b10, 0))
  return made
}

function seal(made: Bare): Bare {
  made.core.layOut!(0)
  made.core.seal!()
  made.core.snapshot!(0)
  return made
}

const sealed: Stage = () => {
  const made = loading()
  made.core.addMayRequire!(0, 0, Phase.completed)
  made.core.addFrame!(0, 84, 8, -1, 1)
  made.core.addContingency!(76, 8)
  made.core.addPredicate!(NO_TYPE, made.write(number(1)))
  return seal(made)
}

const admitting =
  (candidates: number, standing = 0): Stage =>
  () => {
    const made = sealed()
    made.core.openAdmission!(candidates, standing, 0, 1, 1, 4, 0)
    return made
  }

const NONE = [Reason.none, Reason.none, Reason.none] as const
/** A candidate with an id of 4 bytes and nothing else. */
const add = ({ core }: Bare): unknown => core.addCandidate!(0, ...NONE, 0, 4, 4, 0)

const judged: Stage = () => {
  const made = admitting(1)()
  add(made)
  made.core.judge!()
  return made
}

const retained: Stage = () => {
  const made = judged()
  made.core.bindRetained!()
  return made
}

const ended =
  (phase: Phase): Stage =>
  () => {
    const made = retained()
    made.core.end!(1, phase)
    return made
  }

/** Writes the codes of prerequisites, and adds a candidate that names them. */
function name({ core, memory }: Bare, ...codes: number[]): void {
  new Int32Array(memory.buffer, INPUT_EDGES_AT).set(codes)
  core.addCandidate!(0, ...NONE, 0, 4, 4, codes.length)
}

/** Adds a candidate with an id of 4 bytes, 10 bytes of text in all, and its string there. */
function say({ core, memory }: Bare, offset: number, length: number): void {
  new Uint32Array(memory.buffer, INPUT_AT + 8).set([offset, length])
  core.addCandidate!(0, ...NONE, 0b10, 4, 10, 0)
}

/** Admits candidates that name each other. */
function admit(made: Bare, ...requires: readonly number[][]): void {
  made.core.openAdmission!(requires.length, 0, 0, 1, 1, 4, 0)
  for (const codes of requires) name(made, ...codes)
  made.core.judge!()
  made.core.bindRetained!()
}
/** As many prerequisites as one response can have: 64 candidates that each name 64 others. */
function connect(made: Bare): void {
  const others = Array.from({ length: PREREQUISITES_MAX }, (_, i) => i)
  const dependents = RESPONSE_EDGES_MAX / PREREQUISITES_MAX
  admit(made, ...others.map(() => []), ...Array.from({ length: dependents }, () => others))
}
const connected: Stage = () => {
  const made = sealed()
  times(EDGES_MAX / RESPONSE_EDGES_MAX, () => connect(made))
  return made
}
const filled: Stage = () => {
  const made = sealed()
  times(INSTANCES_MAX / CANDIDATES_MAX, () => admit(made, ...Array.from({ length: CANDIDATES_MAX }, () => [])))
  return made
}
function open({ core }: Bare): unknown {
  return core.openAdmission!(0, 0, 0, 1, core.snapshot!(0), 0, 0)
}
function contingent(made: Bare): Bare {
  made.core.addContingency!(76, 8)
  return made
}
function added(made: Bare): Bare {
  add(made)
  return made
}
/** One component is standing. */
function admittingBeside(candidates: number): Stage {
  return () => {
    const made = retained()
    made.core.openAdmission!(candidates, 1, 0, 2, 1, 4, 0)
    return made
  }
}
function standTwice({ core }: Bare): unknown {
  return [core.addStanding!(1, 0), core.addStanding!(1, 0)]
}

/** A component of that kind was retained, and is forgotten where `forget` says so; one that stands is announced. */
function beside(candidates: number, kind: Kind, forget: boolean, support: Word[] = number(1)): Stage {
  return () => {
    const made = bare()
    made.core.configure!(2, 1)
    times(2, (f) => made.core.declareField!(f, 100, Number(f > 0)))
    made.core.declareType!(0, kind, 2, 0b10, 0)
    made.core.addClause!(0, Role.support, made.write(support))
    seal(made)
    made.core.openAdmission!(1, 0, 0, 1, 1, 4, 0)
    add(made)
    made.core.judge!()
    made.core.bindRetained!()
    if (forget) {
      made.core.end!(1, Phase.completed)
      made.core.release!(1)
    }
    made.core.openAdmission!(candidates, 1, 0, 2, 1, 4, 0)
    return made
  }
}
const besideKnown = (kind: Kind): Stage => beside(1, kind, false)
const besideForgotten = (candidates: number, kind: Kind = Kind.notice, support?: Word[]): Stage =>
  beside(candidates, kind, true, support)

const within: readonly Row[] = [
  ['a settled notice', () => added(besideForgotten(1)()), ({ core }) => core.addSettled!(1, 0)],
  ['a settled report', () => added(besideForgotten(1, Kind.report)()), ({ core }) => core.addSettled!(1, 0)],
  ['the most fields and types', bare, ({ core }) => core.configure!(FIELDS_MAX, TYPES_MAX)],
  ['a maximum age of 0', loading, ({ core }) => core.declareField!(1, 0, 0)],
  ['the most candidates', sealed, ({ core }) => core.openAdmission!(CANDIDATES_MAX, 0, 0, 1, 1, 4, 0)],
  ['the most standing components', sealed, ({ core }) => core.openAdmission!(1, STANDING_MAX, 0, 1, 1, 4, 0)],
  ['the longest plan', sealed, ({ core }) => core.openAdmission!(1, 0, 0, 1, 1, PLAN_BYTES_MAX, 0)],
  ['the longest id', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0, TEXT_BYTES_MAX, TEXT_BYTES_MAX, 0)],
  ['the longest text', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0, 4, 4 + PAYLOAD_BYTES_MAX, 0)],
  ['every payload field', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0b1, 4, 4, 0)],
  [
    'every payload field of 32',
    () => {
      const made = loading()
      made.core.declareType!(0, Kind.notice, SLOTS_MAX, 0, 0)
      seal(made)
      made.core.openAdmission!(1, 0, 0, 1, 1, 4, 0)
      return made
    },
    ({ core }) => core.addCandidate!(0, ...NONE, -1, 4, 4, 0),
  ],
  ['a type that is unknown', admitting(1), ({ core }) => core.addCandidate!(99, Reason.unknown_type, 0, 0, 0, 0, 0, 0)],
  ['the most prerequisites', admitting(1), (made) => name(made, ...Array(PREREQUISITES_MAX).fill(-1))],
  ['the last candidate as a prerequisite', admitting(2), (made) => name(made, 1)],
  ['the last standing one as a prerequisite', admitting(1, 2), (made) => name(made, -3)],
  ['a string right after the id', admitting(1), (made) => say(made, 4, 6)],
  ['an empty string at the end', admitting(1), (made) => say(made, 10, 0)],
  ['the most prerequisites in all', connected, (made) => admit(made, [])],
  ['the last predicate', sealed, ({ core }) => core.predicate!(0, 0, 0)],
  ['an end in the last phase', retained, ({ core }) => core.end!(1, Phase.uncertain)],
  ['an end in the first', retained, ({ core }) => core.end!(1, Phase.completed)],
  ['the record of what is ended', ended(Phase.failed), ({ core }) => core.recordAt!(1)],
]

const beyond: readonly Row[] = [
  ['a field too many', bare, ({ core }) => core.configure!(FIELDS_MAX + 1, 1)],
  ['a field beyond the table', loading, ({ core }) => core.declareField!(2, 100, 0)],
  ['a negative maximum age', loading, ({ core }) => core.declareField!(1, -1, 0)],
  ['a maximum age that is none', loading, ({ core }) => core.declareField!(1, Number.NaN, 0)],
  ['a type beyond the table', loading, ({ core }) => core.declareType!(1, 0, 0, 0, 0)],
  ['what another type may require', loading, ({ core }) => core.addMayRequire!(1, 0, Phase.completed)],
  ['what another type requires', loading, ({ core }) => core.addRequires!(1, 0)],
  ['a watch of another type', loading, ({ core }) => core.addWatch!(1, 1)],
  ['a clause of another type', loading, ({ core, write }) => core.addClause!(1, Role.support, write(number(1)))],
  ['a frame of another type', loading, ({ core }) => core.addFrame!(1, 84, 8, -1, 1)],
  ['a tolerance of another type', loading, ({ core }) => core.addTolerance!(1, 0, 1)],
  ['the layout of another type', loading, ({ core }) => core.layOut!(1)],
  ['a predicate of another type', loading, ({ core, write }) => core.addPredicate!(1, write(number(1)))],
  ['an entry without a frame', loading, ({ core }) => core.addFrameEntry!(0, 0, Format.nan, 0, 0)],
  ['an entry without a contingency', loading, ({ core }) => core.addContingencyEntry!(0, Format.nan, 0, 0)],
  ['a clause of no type', loading, ({ core, write }) => core.addClause!(NO_TYPE, Role.support, write(number(1)))],
  ['a clause for watches', loading, ({ core, write }) => core.addClause!(0, Role.watches, write(number(1)))],
  ['a clause for a contingency', loading, ({ core, write }) => core.addClause!(0, Role.contingency, write(number(1)))],
  ['an admission before the seal', () => loading(), open],
  ['a contingency before the seal', () => contingent(loading()), ({ core }) => core.contingency!(0)],
  ['a receipt for no field', sealed, ({ core }) => core.observe!(2, 1, 0)],
  ['a receipt at no time', sealed, ({ core }) => core.observe!(0, 1, Number.POSITIVE_INFINITY)],
  ['a reading of no field', sealed, ({ core }) => core.read!(2, 0)],
  ['a candidate too many', sealed, ({ core }) => core.openAdmission!(CANDIDATES_MAX + 1, 0, 0, 1, 1, 4, 0)],
  ['a standing one too many', sealed, ({ core }) => core.openAdmission!(1, STANDING_MAX + 1, 0, 1, 1, 4, 0)],
  ['a plan too long', sealed, ({ core }) => core.openAdmission!(1, 0, 0, 1, 1, PLAN_BYTES_MAX + 1, 0)],
  ['no snapshot', sealed, ({ core }) => core.openAdmission!(1, 0, 0, 1, 0, 4, 0)],
  ['a snapshot to come', sealed, ({ core }) => core.openAdmission!(1, 0, 0, 1, 2, 4, 0)],
  ['more candidates than announced', admitting(1), (made) => [add(made), add(made)]],
  ['a candidate of another type', admitting(1), ({ core }) => core.addCandidate!(1, ...NONE, 0, 4, 4, 0)],
  ['an id too long', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0, TEXT_BYTES_MAX + 1, 80, 0)],
  ['a text too long', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0, 4, 5 + PAYLOAD_BYTES_MAX, 0)],
  ['a text shorter than the id', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0, 4, 3, 0)],
  ['a payload field beyond', admitting(1), ({ core }) => core.addCandidate!(0, ...NONE, 0b100, 4, 4, 0)],
  ['a prerequisite too many', admitting(1), (made) => name(made, ...Array(PREREQUISITES_MAX + 1).fill(-1))],
  ['a candidate that is not offered', admitting(2), (made) => name(made, 2)],
  ['a standing one that is not', admitting(1, 2), (made) => name(made, -4)],
  ['a string in the id', admitting(1), (made) => say(made, 3, 1)],
  ['a string after the text', admitting(1), (made) => say(made, 11, 0)],
  ['a string beyond the text', admitting(1), (made) => say(made, 4, 7)],
  ['a string of 4 GiB', admitting(1), (made) => say(made, 4, -1)],
  ['a standing one before the last candidate', admittingBeside(2), ({ core }) => core.addStanding!(1, 0)],
  ['a standing one that nobody knows', () => added(admitting(1, 1)()), ({ core }) => core.addStanding!(1, 0)],
  ['more standing ones than announced', () => added(admittingBeside(1)()), standTwice],
  ['a settled one before the last candidate', besideForgotten(2), ({ core }) => core.addSettled!(1, 0)],
  ['a settled one that was never retained', () => added(besideForgotten(1)()), ({ core }) => core.addSettled!(2, 0)],
  ['a settled one of number 0', () => added(besideForgotten(1)()), ({ core }) => core.addSettled!(0, 0)],
  ['a settled one of the type after the last', () => added(besideForgotten(1)()), ({ core }) => core.addSettled!(1, 1)],
  ['a settled one that is known', () => added(besideKnown(Kind.notice)()), ({ core }) => core.addSettled!(1, 0)],
  ['a settled action', () => added(besideForgotten(1, Kind.command)()), ({ core }) => core.addSettled!(1, 0)],
  ['a settled request', () => added(besideForgotten(1, Kind.request)()), ({ core }) => core.addSettled!(1, 0)],
  ...(['notice', 'report'] as const).map(
    (kind): Row => [
      `a settled ${kind} whose support reads its payload`,
      () => added(besideForgotten(1, Kind[kind], [[Op.has, 0], [Op.not]])()),
      ({ core }) => core.addSettled!(1, 0),
    ],
  ),
  [
    'more settled ones than announced',
    () => added(besideForgotten(1)()),
    ({ core }) => [core.addSettled!(1, 0), core.addSettled!(1, 0)],
  ],
  ['a judgement without the candidates', admitting(1), ({ core }) => core.judge!()],
  ['a judgement without the standing ones', () => added(admittingBeside(1)()), ({ core }) => core.judge!()],
  ['a judgement again', judged, ({ core }) => core.judge!()],
  ['an admission over what is judged and not bound', judged, ({ core }) => core.openAdmission!(1, 0, 0, 1, 1, 4, 0)],
  ['a binding of what is not judged', () => added(admitting(1)()), ({ core }) => core.bindRetained!()],
  ['a binding again', retained, ({ core }) => core.bindRetained!()],
  ['an instance too many', filled, (made) => admit(made, [])],
  ['a prerequisite too many in all', connected, (made) => admit(made, [], [0])],
  ['a predicate that is not there', retained, ({ core }) => core.predicate!(1, 1, 0)],
  ['an instance for a predicate of state alone', retained, ({ core }) => core.predicate!(0, 1, 0)],
  ['a frame of nothing', sealed, ({ core }) => core.frame!(1, 0, 0, 0, 0)],
  ['done of nothing', sealed, ({ core }) => core.done!(1, 0, 0)],
  ['the number 0', retained, ({ core }) => core.recordAt!(0)],
  ['the length of nothing', retained, ({ core }) => core.recordBytes!(2)],
  ['the binding of nothing', retained, ({ core }) => core.bindingAt!(2)],
  ['an end of nothing', retained, ({ core }) => core.end!(2, Phase.failed)],
  ['an end before the ends', retained, ({ core }) => core.end!(1, Phase.acknowledged)],
  ['an end beyond them', retained, ({ core }) => core.end!(1, Phase.uncertain + 1)],
  ['a phase again', retained, ({ core }) => core.reach!(1, Phase.retained)],
  ['a phase after the end', ended(Phase.failed), ({ core }) => core.reach!(1, Phase.completed)],
  ['a release before the end', retained, ({ core }) => core.release!(1)],
  ['a contingency that is not there', sealed, ({ core }) => core.contingency!(1)],
  ['no token', sealed, ({ core }) => [core.contingency!(0), core.contingencyFrame!(0)]],
  ['a token to come', sealed, ({ core }) => [core.contingency!(0), core.contingencyFrame!(2)]],
]

const loaders: readonly (readonly [string, (bare: Bare) => unknown])[] = [
  ['configure', ({ core }) => core.configure!(2, 1)],
  ['declareField', ({ core }) => core.declareField!(0, 100, 0)],
  ['declareType', ({ core }) => core.declareType!(0, 0, 0, 0, 0)],
  ['addMayRequire', ({ core }) => core.addMayRequire!(0, 0, Phase.completed)],
  ['addRequires', ({ core }) => core.addRequires!(0, 0)],
  ['addWatch', ({ core }) => core.addWatch!(0, 1)],
  ['addClause', ({ core, write }) => core.addClause!(0, Role.support, write(number(1)))],
  ['addFrame', ({ core }) => core.addFrame!(0, 84, 8, -1, 1)],
  ['addFrameEntry', ({ core }) => core.addFrameEntry!(0, 0, Format.nan, 0, 0)],
  ['addTolerance', ({ core }) => core.addTolerance!(0, 0, 1)],
  ['layOut', ({ core }) => core.layOut!(0)],
  ['addContingency', ({ core }) => core.addContingency!(76, 8)],
  ['addContingencyEntry', ({ core }) => core.addContingencyEntry!(0, Format.nan, 0, 0)],
  ['addPredicate', ({ core, write }) => core.addPredicate!(0, write(number(1)))],
  ['seal', ({ core }) => core.seal!()],
]

describe('G5: a call that breaks the contract traps', () => {
  test.each(within)('within: %s', (_, stage, call) => {
    const made = stage()
    expect(() => call(made)).not.toThrow()
  })
  test.each(beyond)('beyond: %s', (_, stage, call) => {
    const made = stage()
    expect(() => call(made)).toThrow(WebAssembly.RuntimeError)
  })
  test.each(loaders)('after the seal: %s', (_, call) => {
    const made = sealed()
    expect(() => call(made)).toThrow(WebAssembly.RuntimeError)
  })
  test('before the seal each of them is fine', () => {
    const made = contingent(loading())
    for (const [title, call] of loaders) expect(() => call(made), title).not.toThrow()
  })
})

/** A call that loads; it says a fault. */
type Load = (core: Core, bare: Bare) => number

function clause(role: Role, words = number(1)): Load {
  return (core, { write }) => core.addClause!(0, role, write(words))
}
function predicate(words: readonly Word[]): Load {
  return (core, { write }) => core.addPredicate!(NO_TYPE, write(words))
}
function entry(offset: number, format: number, part: number = Part.none, words = number(1)): Load {
  return (core, { write }) => core.addFrameEntry!(0, offset, format, part, write(words))
}
/** A program of `count` words, one of its own for each value. */
function long(count: number, value: number): Word[] {
  return [...number(value), ...Array.from({ length: count - 2 }, (): Word => [Op.neg])]
}

/** What a call that loads says, in words: of each what is just taken, and what is just refused. */
type Verdicts = readonly (readonly [call: Load, said: keyof typeof Fault])[]
const faults: readonly (readonly [title: string, stage: Stage, Verdicts])[] = [
  ['types', bare, [[(core) => core.configure!(0, TYPES_MAX + 1), 'too_many_types']]],
  [
    'a type',
    loading,
    [
      [(core) => core.declareType!(0, Kind.setpoint, 0, 0, 0), 'none'],
      [(core) => core.declareType!(0, Kind.setpoint + 1, 0, 0, 0), 'value_out_of_range'],
      [(core) => core.declareType!(0, 0, SLOTS_MAX, 0, 0), 'none'],
      [(core) => core.declareType!(0, 0, SLOTS_MAX + 1, 0, 0), 'too_many_slots'],
      [(core) => core.declareType!(0, 0, 0, 0, -1), 'value_out_of_range'],
      [(core) => core.declareType!(0, 0, 0, 0, Number.NaN), 'value_out_of_range'],
    ],
  ],
  [
    'what it may require',
    () => loading(2, 2),
    [
      [(core) => core.addMayRequire!(0, 1, Phase.retained), 'none'],
      [(core) => core.addMayRequire!(0, 1, Phase.completed), 'none'],
      [(core) => core.addMayRequire!(0, 1, Phase.none), 'phase_out_of_range'],
      [(core) => core.addMayRequire!(0, 1, Phase.completed + 1), 'phase_out_of_range'],
      [(core) => core.addMayRequire!(0, 2, Phase.completed), 'type_out_of_range'],
      [(core) => core.addRequires!(0, 0), 'requires_not_allowed'],
      [(core) => core.addRequires!(0, 2), 'type_out_of_range'],
      ...Array.from({ length: TYPES_MAX }, () => [(core: Core) => core.addRequires!(0, 1), 'none'] as const),
      [(core) => core.addRequires!(0, 1), 'too_many_types'],
    ],
  ],
  [
    'watches',
    loading,
    [
      [(core) => core.addWatch!(0, 2), 'field_out_of_range'],
      [(core) => core.addWatch!(0, 0), 'not_discrete'],
      ...Array.from({ length: CITED_MAX }, () => [(core: Core) => core.addWatch!(0, 1), 'none'] as const),
      [(core) => core.addWatch!(0, 1), 'too_many_fields'],
    ],
  ],
  [
    'clauses, in the order of their roles',
    loading,
    [
      [clause(Role.bounds), 'none'],
      [clause(Role.gate), 'none'],
      [clause(Role.support), 'clauses_out_of_order'],
      [clause(Role.gate), 'none'],
      [clause(Role.done), 'none'],
      [clause(Role.done), 'too_many_clauses'],
      [clause(Role.effect), 'not_allowed_here'],
    ],
  ],
  [
    'clauses, as many as there may be',
    loading,
    [
      ...Array.from({ length: CLAUSES_MAX - 1 }, () => [clause(Role.bounds), 'none'] as const),
      [clause(Role.support), 'none'],
      [clause(Role.support), 'too_many_clauses'],
      [clause(Role.done), 'too_many_clauses'],
    ],
  ],
  [
    'frames',
    loading,
    [
      [(core) => core.addFrame!(0, 1 << 24, 8, -1, 1), 'value_out_of_range'],
      [(core) => core.addFrame!(0, 84, FRAME_BYTES_MAX + 1, -1, 1), 'value_out_of_range'],
      [(core) => core.addFrame!(0, 84, 8, -1, 0), 'value_out_of_range'],
      [(core) => core.addFrame!(0, 84, 8, -2, 1), 'entry_out_of_range'],
      [(core) => core.addFrame!(0, 84, 8, 5, 1), 'entry_out_of_range'],
      [(core) => core.addFrame!(0, 84, 3, 0, 1), 'entry_out_of_range'],
      [(core) => core.addFrame!(0, 84, 8, 4, 1), 'none'],
      [(core) => core.addFrame!(0, 84, 8, 0, 1), 'none'],
      [(core) => core.addFrame!(0, (1 << 24) - 1, FRAME_BYTES_MAX, -1, 1), 'none'],
      ...Array.from(
        { length: FRAMES_MAX - 3 },
        () => [(core: Core) => core.addFrame!(0, 84, 0, -1, 1), 'none'] as const,
      ),
      [(core) => core.addFrame!(0, 84, 8, -1, 1), 'too_many_frames'],
    ],
  ],
  [
    'entries',
    () => {
      const made = loading()
      made.core.addFrame!(0, 84, 8, -1, 1)
      return made
    },
    [
      [entry(8, Format.u8), 'entry_out_of_range'],
      [entry(7, Format.i16), 'entry_out_of_range'],
      [entry(5, Format.nan), 'entry_out_of_range'],
      [entry(5, Format.f32), 'entry_out_of_range'],
      [entry(0, Format.nan + 1), 'format_out_of_range'],
      [entry(0, Format.u8, Part.lon + 1), 'format_out_of_range'],
      [entry(0, Format.u8, Part.none, [[Op.now, 2]]), 'field_out_of_range'],
      [entry(7, Format.i8), 'none'],
      [entry(6, Format.u16), 'none'],
      [entry(6, Format.i16), 'none'],
      [entry(4, Format.u32), 'none'],
      [entry(4, Format.nan, Part.lon), 'none'],
      ...Array.from({ length: ENTRIES_MAX - 5 }, () => [entry(0, Format.u8), 'none'] as const),
      [entry(0, Format.u8), 'too_many_entries'],
    ],
  ],
  [
    'an entry that is longer than its frame',
    () => {
      const made = loading()
      made.core.addFrame!(0, 84, 1, -1, 1)
      return made
    },
    [
      [entry(0, Format.u16), 'entry_out_of_range'],
      [entry(0, Format.u8), 'none'],
    ],
  ],
  [
    'entries of all frames together',
    () => {
      const made = loading(2, TYPES_MAX)
      times(ENTRIES_TOTAL_MAX / ENTRIES_MAX, (f) => {
        const type = Math.floor(f / FRAMES_MAX)
        made.core.addFrame!(type, 84, 8, -1, 1)
        times(ENTRIES_MAX - Number(f === 0), () => made.core.addFrameEntry!(type, 0, Format.nan, 0, 0))
      })
      made.core.addContingency!(76, 8)
      return made
    },
    [
      [(core) => core.addContingencyEntry!(0, Format.nan, 0, 0), 'none'],
      [(core) => core.addContingencyEntry!(0, Format.nan, 0, 0), 'too_many_entries_in_all'],
    ],
  ],
  [
    'tolerances',
    loading,
    [
      [(core) => core.addTolerance!(0, 2, 1), 'field_out_of_range'],
      [(core) => core.addTolerance!(0, 0, -1), 'value_out_of_range'],
      [(core) => core.addTolerance!(0, 0, Number.NaN), 'value_out_of_range'],
      ...Array.from({ length: TOLERANCES_MAX }, () => [(core: Core) => core.addTolerance!(0, 0, 0), 'none'] as const),
      [(core) => core.addTolerance!(0, 0, 1), 'too_many_tolerances'],
    ],
  ],
  [
    'contingencies',
    loading,
    [
      ...Array.from(
        { length: CONTINGENCIES_MAX },
        () => [(core: Core) => core.addContingency!(76, 8), 'none'] as const,
      ),
      [(core) => core.addContingency!(76, 8), 'too_many_contingencies'],
      [(core, { write }) => core.addContingencyEntry!(0, Format.u8, 0, write([[Op.now, 0]])), 'not_allowed_here'],
      [(core, { write }) => core.addContingencyEntry!(0, Format.u8, 0, write([[Op.target, 1]])), 'none'],
    ],
  ],
  [
    'a record of cited fields, 16 bytes each',
    () => loading(FIELDS_MAX, 1, () => false),
    [
      ...Array.from({ length: 40 }, (_, f) => [clause(Role.support, [[Op.cited, f]]), 'none'] as const),
      [(core) => core.layOut!(0), 'none'],
      [clause(Role.support, [[Op.cited, 40]]), 'none'],
      [(core) => core.layOut!(0), 'record_too_large'],
      ...Array.from({ length: 22 }, (_, f) => [clause(Role.support, [[Op.cited, 41 + f]]), 'none'] as const),
      [clause(Role.support, [[Op.cited, 63]]), 'none'],
      [(core) => core.layOut!(0), 'record_too_large'],
    ],
  ],
  [
    'cited fields',
    () => loading(FIELDS_MAX, 1, () => false),
    [
      ...Array.from({ length: 62 }, (_, f) => [clause(Role.support, [[Op.cited, f]]), 'none'] as const),
      [clause(Role.support, [[Op.cited, 62], [Op.cited, 63], [Op.cited, 64], [Op.add], [Op.add]]), 'none'],
      [(core) => core.layOut!(0), 'too_many_fields'],
    ],
  ],
  [
    'a record of watched fields, 20 bytes each, in pairs',
    () => loading(FIELDS_MAX),
    [
      ...Array.from({ length: 32 }, (_, f) => [(core: Core) => core.addWatch!(0, f + 1), 'none'] as const),
      [(core) => core.layOut!(0), 'none'],
      [(core) => core.addWatch!(0, 255), 'none'],
      [(core) => core.layOut!(0), 'record_too_large'],
    ],
  ],
  [
    'programs',
    () => {
      const made = loading(2, TYPES_MAX)
      times(PROGRAMS_MAX - 1, (i) => {
        made.core.addClause!(i % TYPES_MAX, Role.support, made.write(number(i)))
      })
      return made
    },
    [
      [predicate(number(PROGRAMS_MAX)), 'none'],
      [predicate(number(PROGRAMS_MAX + 1)), 'too_many_programs'],
      [predicate(number(0)), 'none'], // one of those kept already
    ],
  ],
  [
    'words of all programs together',
    () => {
      const made = loading()
      times(PROGRAM_WORDS_MAX / INSTRUCTIONS_MAX - 1, (i) => {
        made.core.addClause!(0, Role.support, made.write(long(INSTRUCTIONS_MAX, i)))
      })
      return made
    },
    [
      [predicate(long(INSTRUCTIONS_MAX + 1, 98)), 'too_many_words'],
      [predicate(long(INSTRUCTIONS_MAX, 99)), 'none'],
      [predicate(number(100)), 'too_many_words'],
    ],
  ],
]

describe('G5: what is loaded is bounded', () => {
  test.each(faults)('%s', (_, stage, verdicts) => {
    const made = stage()
    for (const [i, [call, said]] of verdicts.entries())
      expect(FaultWords[call(made.core, made)], `call ${i}`).toBe(said)
  })
})

test(`G3: after ${GRANTS_MAX} more contingencies a token is spent`, () => {
  const { core } = sealed()
  times(GRANTS_MAX, (i) => expect(core.contingency!(0)).toBe(i + 1))
  expect(core.contingencyFrame!(1)).toBe(1)
  core.contingency!(0)
  expect(core.contingencyFrame!(1)).toBe(0)
  expect(core.contingencyFrame!(2)).toBe(1)
})
