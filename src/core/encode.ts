// Expression trees as programs of the core's clause machine (PROTOCOL 3; the words are drawn in assembly/program.ts).

import { INSTRUCTIONS_MAX, Op } from '../../build/abi.ts'
import type { Expression } from './expression.ts'

const utf8 = new TextEncoder()
const bytes = new Uint8Array(8 * INSTRUCTIONS_MAX)
const view = new DataView(bytes.buffer)
let words = 0

/**
 * The program of an expression: 8-byte words, little-endian; a view that is valid until the next call. Throws a RangeError
 * when it takes more than INSTRUCTIONS_MAX words. Everything else is for the core to prove.
 */
export function encode(expression: Expression): Uint8Array {
  words = 0
  write(expression)
  return bytes.subarray(0, 8 * words)
}

/** Claims `count` words and returns where they begin, in bytes. */
function claim(count: number): number {
  const at = 8 * words
  words += count
  if (words > INSTRUCTIONS_MAX) throw new RangeError(`an expression takes more than ${INSTRUCTIONS_MAX} instructions`)
  return at
}

function word(op: Op, index = 0, flag = false, extra = 0): void {
  if (!Number.isInteger(index) || index < 0 || index > 0xffff) throw new RangeError(`index ${index} is not a u16`)
  const at = claim(1)
  view.setUint8(at, op)
  view.setUint8(at + 1, Number(flag))
  view.setUint16(at + 2, index, true)
  view.setUint32(at + 4, extra, true)
}

function write(e: Expression): void {
  if ('args' in e) {
    for (const arg of e.args) write(arg)
    word(Op[e.op])
    return
  }
  switch (e.op) {
    case 'number':
      word(Op.constant)
      view.setFloat64(claim(1), e.value, true)
      break
    case 'now':
    case 'cited':
    case 'age':
    case 'unchanged':
      word(Op[e.op], e.field)
      break
    case 'drift':
      word(Op.drift, e.field, e.angle)
      break
    case 'payload':
    case 'length':
      word(Op[e.op], e.slot, e.guarded)
      break
    case 'has':
      word(Op.has, e.slot)
      break
    case 'text': {
      const literal = utf8.encode(e.value)
      word(Op.text, e.slot, e.guarded, literal.length)
      const at = claim(Math.ceil(literal.length / 8))
      bytes.fill(0, at, 8 * words)
      bytes.set(literal, at)
      break
    }
    case 'elapsed':
      word(Op.elapsed)
      break
    case 'target':
      word(Op.target, e.part)
      break
  }
}
