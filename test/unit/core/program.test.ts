// What the core refuses to load, on the raw module: the encoder would never write these words.

import { describe, expect, test } from 'vitest'
import { type Fault, FaultWords, INSTRUCTIONS_MAX, Kind, Op, Role, STACK_MAX } from '../../../build/abi.ts'
import type { Expression } from '../../../src/core/expression.ts'
import { loadCore } from '../../../src/core/wasm.ts'
import { both, clauses, field, image, load, now, num, type } from '../../oracle/sketch.ts'
import { type Bare, bare, type Word } from './bare.ts'

/** Two fields (the second discrete), one type with a number (slot 0) and a string (slot 1). */
function fresh(): { core: Bare['core']; add: (role: Role, words: readonly Word[]) => string } {
  const { core, write } = bare()
  core.configure!(2, 1)
  core.declareField!(0, 100, 0)
  core.declareField!(1, 100, 1)
  core.declareType!(0, Kind.command, 2, 0b10, 0)
  return { core, add: (role, words) => FaultWords[core.addClause!(0, role, write(words))]! }
}

const zero = [[Op.constant], 0] as const
const { support, bounds, done } = Role

describe('G5: a program is proven when it is loaded', () => {
  const refused: readonly (readonly [string, keyof typeof Fault, Role, readonly Word[]])[] = [
    ['an opcode that does not exist', 'unknown_opcode', support, [[Op.distance + 1]]],
    ['nothing', 'result_not_one', support, []],
    ['two results', 'result_not_one', support, [...zero, ...zero]],
    ['an operand too few', 'stack_underflow', support, [...zero, [Op.add]]],
    ['no operand at all', 'stack_underflow', support, [[Op.not]]],
    ['a condition without branches', 'stack_underflow', support, [...zero, ...zero, [Op.select]]],
    ['three coordinates', 'stack_underflow', support, [...zero, ...zero, ...zero, [Op.distance]]],
    ['a constant without its value', 'text_out_of_range', support, [[Op.constant]]],
    ['a string that is cut off', 'text_out_of_range', support, [[Op.text, 1, 9], 0]],
    ['a string of 4 GiB', 'text_out_of_range', support, [[Op.text, 1, -1], 0]],
    ['a field that does not exist', 'field_out_of_range', support, [[Op.now, 2]]],
    ['a cited field that does not exist', 'field_out_of_range', support, [[Op.cited, 65535]]],
    ['the epoch of a continuous field', 'not_discrete', support, [[Op.unchanged, 0]]],
    ['a slot that does not exist', 'slot_out_of_range', support, [[Op.payload, 2]]],
    ['a string as a number', 'slot_of_other_kind', support, [[Op.payload, 1]]],
    ['a number as a string', 'slot_of_other_kind', support, [[Op.text, 0, 0]]],
    ['the length of a slot that does not exist', 'slot_out_of_range', support, [[Op.length, 2]]],
    ['the length of a number', 'slot_of_other_kind', support, [[Op.length, 0]]],
    ['state in a payload bound', 'not_allowed_here', bounds, [[Op.now, 0]]],
    ['elapsed() outside done', 'not_allowed_here', support, [[Op.elapsed]]],
    ['the target outside a frame', 'not_allowed_here', done, [[Op.target, 0]]],
    [
      'more operands than the stack holds',
      'stack_too_deep',
      support,
      Array.from({ length: STACK_MAX + 1 }, (): Word => [Op.now, 0]),
    ],
    [
      'more words than a program has',
      'too_many_words',
      support,
      Array.from({ length: INSTRUCTIONS_MAX + 1 }, (): Word => [Op.now, 0]),
    ],
  ]
  test.each(refused)('refused: %s', (_, fault, role, words) => {
    expect(fresh().add(role, words)).toBe(fault)
  })

  test('what is in bounds is taken', () => {
    const { add } = fresh()
    expect(add(bounds, [[Op.payload, 0], ...zero, [Op.ge]])).toBe('none')
    expect(add(support, [[Op.text, 1, 8], 0])).toBe('none')
    expect(add(support, [[Op.unchanged, 1]])).toBe('none')
    const deepest = Array.from({ length: STACK_MAX }, (): Word => [Op.now, 0])
    expect(add(support, [...deepest, ...deepest.slice(1).map((): Word => [Op.add])])).toBe('none')
    expect(add(done, [[Op.elapsed]])).toBe('none')
    expect(add(support, zero)).toBe('clauses_out_of_order')
  })

  test('after the seal nothing is loaded', () => {
    const { core, add } = fresh()
    core.layOut!(0)
    core.seal!()
    expect(() => add(support, zero)).toThrow(WebAssembly.RuntimeError)
  })
})

describe('an image that is refused says what and where', () => {
  const refuse = (expression: Expression): (() => unknown) => {
    const named = { ...type(Kind.command), name: 'goto', support: [{ name: 'battery', expression }] }
    return () => load(loadCore, image([field('f', 1)], [named]))
  }
  test('type, role, clause and the reason', () => {
    expect(refuse(now(1))).toThrow('type goto: support battery: field out of range')
    expect(refuse({ op: 'elapsed' })).toThrow('type goto: support battery: not allowed here')
  })
  test('an expression that is too long', () => {
    let long: Expression = num(0)
    for (let i = 0; i < INSTRUCTIONS_MAX / 2; i++) long = both('add', long, num(1))
    expect(refuse(long)).toThrow(`more than ${INSTRUCTIONS_MAX} instructions`)
  })
  test('a record that the footprint would not fit', () => {
    const fields = Array.from({ length: 64 }, (_, i) => field(`f${i}`, 1, true))
    const wide = type(Kind.command, { watches: fields.map((_, i) => i) })
    expect(() => load(loadCore, image(fields, [wide]))).toThrow('record too large')
  })
  test('a mandatory type that may not be named', () => {
    expect(() => load(loadCore, image([], [type(Kind.command, { requires: [0] })]))).toThrow('requires not allowed')
  })
  test('a value beyond its frame', () => {
    const beyond = {
      message: 1,
      length: 4,
      stamp: -1,
      sends: 1,
      entries: [{ offset: 1, format: 'f32', value: num(0) }],
    } as const
    expect(() => load(loadCore, image([], [type(Kind.command, { frames: [beyond] })]))).toThrow('entry out of range')
  })
  test('a clause list per role names the clause', () => {
    const bad = type(Kind.command, { gate: clauses(num(1), now(7)) })
    expect(() => load(loadCore, image([field('f', 1)], [bad]))).toThrow('gate clause: field out of range')
  })
})
