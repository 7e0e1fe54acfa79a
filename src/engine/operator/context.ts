// What the ground sets over MQTT: `context/<field>` messages (PROTOCOL 2 and 12).

import type { Catalog, StateField } from '../../catalog/catalog.ts'
import type { Core } from '../../core/core.ts'
import { read, type ValueMap } from '../../wire/read.ts'

/** The field and the number that the table takes, or in words why not; undefined where a retained message has no effect. */
export function readContext(
  catalog: Catalog,
  core: Core,
  message: { readonly name: string; readonly bytes: Uint8Array; readonly retained: boolean },
  now_ms: number,
): { readonly field: number; readonly value: number } | string | undefined {
  const index = catalog.fields.findIndex((f) => f.name === message.name && f.source === 'context')
  const field = catalog.fields[index]
  if (field === undefined) return 'no such context field'
  const decoded = read(message.bytes)
  if (!('map' in decoded)) return `byte ${decoded.offset}: ${decoded.problem}`
  const value = contextValue(field, decoded.map)
  if (value === undefined) return `must be {v: 1, value: ${field.members?.join(' | ') ?? field.type}}`
  if (message.retained) {
    // It says what was, not when: it fills a gap, and never makes a value younger.
    if (!field.retainedAllowed) return 'retained messages are not allowed for this field'
    if (core.read(index, now_ms).validity !== 'unknown') return undefined
  }
  return { field: index, value }
}

function contextValue(field: StateField, map: ValueMap): number | undefined {
  const value = map.get('value')
  if (map.get('v') !== 1) return undefined
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? Number(value) : undefined
    case 'enum': {
      const member = typeof value === 'string' ? (field.members ?? []).indexOf(value) : -1
      return member >= 0 ? member : undefined
    }
    case 'integer':
      return Number.isSafeInteger(value) ? (value as number) : undefined
    case 'number':
      return typeof value === 'number' ? value : undefined
  }
}
