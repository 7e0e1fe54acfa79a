// A payload, typed by the catalog: names and types here, bounds in the core (PROTOCOL 5, step 1: `payload_invalid`).

import { PAYLOAD_BYTES_MAX } from '../../build/abi.ts'
import type { ComponentType, PayloadField } from '../catalog/catalog.ts'
import type { SlotValue } from '../core/core.ts'
import type { Payload } from './response.ts'
import { quoted } from './scan.ts'

export interface PayloadProblem {
  readonly field: string
  readonly problem: string
}

/** The core's slots in catalog order: booleans 0 or 1, enumeration members by position, `undefined` where absent. */
export function readPayload(
  payload: Payload,
  type: Pick<ComponentType, 'payload'>,
): { readonly slots: SlotValue[] } | PayloadProblem {
  const slots: SlotValue[] = []
  let present = 0
  let textBytes = 0
  for (const field of type.payload) {
    const value = payload.get(field.name)
    if (value === undefined) {
      if (!field.optional) return { field: field.name, problem: 'missing' }
      slots.push(undefined)
      continue
    }
    present++
    const slot = readField(value, field)
    if (slot === undefined) return { field: field.name, problem: `must be ${expected(field, value)}` }
    if (typeof slot === 'string') textBytes += Buffer.byteLength(slot)
    if (textBytes > PAYLOAD_BYTES_MAX) {
      return { field: field.name, problem: `more than ${PAYLOAD_BYTES_MAX} bytes of text in all` }
    }
    slots.push(slot)
  }
  if (present < payload.size) {
    const unknown = [...payload.keys()].find((name) => type.payload.every((field) => field.name !== name))!
    return { field: quoted(unknown), problem: 'no such field' }
  }
  return { slots }
}

/** Undefined where the value is not of the field's type. */
function readField(value: number | boolean | string, field: PayloadField): SlotValue {
  switch (field.kind) {
    case 'number':
      return Number.isFinite(value) ? (value as number) : undefined
    case 'integer':
      return Number.isSafeInteger(value) ? (value as number) : undefined
    case 'boolean':
      return typeof value === 'boolean' ? Number(value) : undefined
    case 'string':
      return typeof value === 'string' ? value : undefined
    case 'enum': {
      const member = typeof value === 'string' ? (field.values ?? []).indexOf(value) : -1
      return member >= 0 ? member : undefined
    }
  }
}

function expected(field: PayloadField, value: number | boolean | string): string {
  switch (field.kind) {
    case 'number':
      return typeof value === 'number' ? 'a finite number, or an integer within 2^53-1' : 'a number'
    case 'integer':
      return 'an integer within 2^53-1'
    case 'boolean':
      return 'true or false'
    case 'string':
      return 'a text'
    case 'enum':
      return `one of ${(field.values ?? []).join(', ')}`
  }
}
