// Where the fields of a MAVLink message lie, read from node-mavlink's definitions so that no offset is written down twice.

import { ardupilotmega, common, minimal, standard } from 'node-mavlink'
import type { Format } from '../core/image.ts'

export interface FieldLayout {
  readonly offset: number
  readonly format: Format
}

export interface MessageLayout {
  readonly id: number
  readonly name: string
  /** Bytes of the whole payload, MAVLink 2 extensions included, not truncated. */
  readonly length: number
  /** Bytes without the extensions: all that MAVLink 1 carries. */
  readonly lengthV1: number
  readonly crcExtra: number
  /** By the name in the XML, e.g. `time_boot_ms`. Arrays and 64-bit fields are left out: no frame of ours needs them. */
  readonly fields: Readonly<Record<string, FieldLayout>>
  /** Where the 64 bits of `time_usec` are, in a message that has them. */
  readonly usec: number | undefined
}

const FORMATS: Readonly<Record<string, Format>> = {
  char: 'u8',
  uint8_t: 'u8',
  uint8_t_mavlink_version: 'u8',
  int8_t: 'i8',
  uint16_t: 'u16',
  int16_t: 'i16',
  uint32_t: 'u32',
  int32_t: 'i32',
  float: 'f32',
}

const byId = new Map<number, MessageLayout>()
const byName = new Map<string, MessageLayout>()

for (const dialect of [minimal, standard, common, ardupilotmega]) {
  for (const definition of Object.values(dialect.REGISTRY)) {
    const fields: Record<string, FieldLayout> = {}
    let lengthV1 = 0
    let usec: number | undefined
    for (const field of definition.FIELDS) {
      const format = FORMATS[field.type]
      if (format !== undefined) fields[field.source] = { offset: field.offset, format }
      if (field.source === 'time_usec' && field.type === 'uint64_t') usec = field.offset
      if (!field.extension) lengthV1 = Math.max(lengthV1, field.offset + field.size * Math.max(1, field.length))
    }
    const layout = {
      id: definition.MSG_ID,
      name: definition.MSG_NAME,
      length: definition.PAYLOAD_LENGTH,
      lengthV1,
      crcExtra: definition.MAGIC_NUMBER,
      fields,
      usec,
    }
    byId.set(layout.id, layout)
    byName.set(layout.name, layout)
  }
}

/** The layout of a message by its MAVLink name, e.g. `COMMAND_LONG`; throws for a name that no dialect has. */
export function layout(messageName: string): MessageLayout {
  const found = byName.get(messageName)
  if (found === undefined) throw new Error(`no MAVLink message is named ${messageName}`)
  return found
}

/** The layout of a message by its id, or undefined: such a frame cannot be checked and means nothing to us. */
export function layoutOf(message: number): MessageLayout | undefined {
  return byId.get(message)
}

/** Where a scalar field lies; throws for a name that the message does not have. */
export function fieldOf(messageName: string, field: string): FieldLayout {
  const found = layout(messageName).fields[field]
  if (found === undefined) throw new Error(`${messageName} has no scalar field ${field}`)
  return found
}
